/// \file
/// Formulas written in plain letters, such as "||L* - M~||_2 <= sigma sqrt(2/s)".
#pragma once

#include <string>
#include <string_view>

namespace plsh::cli::report {

/// Escapes `text` for HTML and sets the formulas in it: Greek letters, roots, norms, subscripts and
/// superscripts, relation signs and a true minus. Words are left as they are.
std::string math(std::string_view text);

}  // namespace plsh::cli::report
