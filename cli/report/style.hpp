/// \file
/// The style sheet of the page.
#pragma once

#include <string>

namespace plsh::cli::report {

/// CSS for screen (light and dark, wide and narrow) and paper.
std::string style_sheet();

}  // namespace plsh::cli::report
