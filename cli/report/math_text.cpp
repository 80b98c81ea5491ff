// With sanitizers GCC 12 takes the inside of std::regex for uninitialized (GCC bug 105562).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include "math_text.hpp"

#include <regex>
#include <utility>
#include <vector>

#include "text.hpp"

namespace plsh::cli::report {

std::string math(std::string_view text) {
  // In order: a later rule sees what the earlier ones wrote. All work on escaped text, where "<"
  // and
  // ">" are entities, so that the tags written here are the only ones.
  static const std::vector<std::pair<std::regex, std::string>> rules = [] {
    std::vector<std::pair<std::regex, std::string>> list;
    const auto add = [&](const char* pattern, const char* replacement) {
      list.emplace_back(std::regex(pattern), replacement);
    };
    // A subscript follows a single letter, a starred or tilded one, or a norm; never a longer word,
    // because that would be a name such as find_string.
    add("(\\|\\||\\b[A-Za-z][~*]?|\\bmax|\\bmin|\\bsum)_(max|[a-z]{1,2}|[0-9]{1,2})(?![A-Za-z0-9_]"
        ")",
        "$1<sub>$2</sub>");
    add("\\^(-?[0-9]{1,3}|T|[a-z])(?![A-Za-z0-9])", "<sup>$1</sup>");
    add("\\bsqrt\\(([A-Za-z0-9]+)\\)", "√$1");
    add("\\bsqrt\\b ?", "√");
    add("\\bsigma\\b", "σ");
    add("\\bdelta\\b", "δ");
    add("\\brho\\b", "ρ");
    add("\\beps(ilon)?\\b", "ε");
    add("\\balpha\\b", "α");
    add("\\b([MT])~", "$1\u0303");
    add("\\|\\|", "‖");
    add("&lt;=", "≤");
    add("&gt;=", "≥");
    add(" - ", " \u2212 ");
    add("\\(1-", "(1\u2212");
    add("(^|[^A-Za-z0-9-])([ijkn])-([ijkn1])(?![A-Za-z0-9])", "$1$2\u2212$3");
    add("(^|[ (,>=])-(?=[0-9A-Za-zσρδε|√])", "$1\u2212");
    return list;
  }();
  std::string result = escape(text);
  for (const auto& [pattern, replacement] : rules)
    result = std::regex_replace(result, pattern, replacement);
  return result;
}

}  // namespace plsh::cli::report
