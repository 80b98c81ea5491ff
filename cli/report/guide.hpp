/// \file
/// The parts of the page that explain, the same for every audit.
#pragma once

#include <string>
#include <string_view>

namespace plsh::cli::report {

/// What Positional LSH is, in two paragraphs.
std::string introduction();
/// What each verdict means.
std::string verdict_guide();
/// The words and letters that the page uses.
std::string glossary();

/// A verdict as a coloured word with a sign of its own. \param verdict as in audit.json.
std::string badge(std::string_view verdict);

}  // namespace plsh::cli::report
