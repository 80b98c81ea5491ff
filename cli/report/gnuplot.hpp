/// \file
/// Figures drawn by gnuplot, as SVG that can stand inside an HTML page.
#pragma once

#include <string>
#include <string_view>

namespace plsh::cli::report {

/// Text as a gnuplot string, in single quotes, inside which gnuplot runs no commands and knows no
/// escape sequences. What could end the string is replaced: apostrophes by the typographic one,
/// control characters by spaces.
std::string plot_string(std::string_view text);
/// The same for tick labels, which gnuplot takes for number formats.
std::string tick_string(std::string_view text);

/// Runs a gnuplot script and returns the SVG that it draws, with colours taken from the style sheet
/// and ids that are unique in a page if `name` is. The script must not set terminal or output.
/// \param name a word, no spaces.
/// \param description what the figure shows, for readers who do not see it.
/// \throws std::runtime_error with one line when gnuplot is not on PATH or fails.
std::string gnuplot_svg(const std::string& name, const std::string& description, int width,
                        int height, const std::string& script);

}  // namespace plsh::cli::report
