#include "text.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace plsh::cli::report {
namespace {

constexpr std::string_view minus = "\u2212";

/// Commas between groups of three digits of the whole part.
std::string grouped(const std::string& digits) {
  const std::size_t whole_digits = std::min(digits.find('.'), digits.size());
  std::string result;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && i < whole_digits && (whole_digits - i) % 3 == 0) result += ',';
    result += digits[i];
  }
  return result;
}

std::string superscript(int exponent) {
  static constexpr std::array<std::string_view, 10> digits{"⁰", "¹", "²", "³", "⁴",
                                                           "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string result = exponent < 0 ? "⁻" : "";
  for (const char digit : std::to_string(std::abs(exponent)))
    result += digits[static_cast<std::size_t>(digit - '0')];
  return result;
}

/// Without zeros at the end of the fraction.
std::string trimmed(std::string digits) {
  if (digits.find('.') == std::string::npos) return digits;
  digits.erase(digits.find_last_not_of('0') + 1);
  if (digits.back() == '.') digits.pop_back();
  return digits;
}

bool starts_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; }

}  // namespace

std::string escape(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t')
          result += "\uFFFD";
        else
          result += c;
    }
  }
  return result;
}

std::string number(double value, int digits) {
  if (!std::isfinite(value)) return std::isnan(value) ? "\u2013" : (value > 0 ? "∞" : "−∞");
  if (value < 0) return std::string(minus) + number(-value, digits);
  if (value == 0) return "0";
  if (value == std::round(value) && value < 1e7) return grouped(fmt::format("{:.0f}", value));
  if (value >= 1e6 || value < 1e-3) {
    // Through the printed form: rounding may carry 9.99e5 to 1.00e6.
    const std::string printed = fmt::format("{:.{}e}", value, digits - 1);
    const std::size_t e = printed.find('e');
    const std::string mantissa = trimmed(printed.substr(0, e));
    const std::string power = power_of_ten(std::stoi(printed.substr(e + 1)));
    return mantissa == "1" ? power : mantissa + " × " + power;
  }
  const int before_point = static_cast<int>(std::floor(std::log10(value))) + 1;
  return grouped(trimmed(fmt::format("{:.{}f}", value, std::max(0, digits - before_point))));
}

std::string number(const nlohmann::json& value, int digits) {
  return value.is_null() ? "\u2013" : number(value.get<double>(), digits);
}

std::string fixed(double value, int decimals) {
  const std::string digits = grouped(fmt::format("{:.{}f}", std::abs(value), decimals));
  return value < 0 ? std::string(minus) + digits : digits;
}

std::string whole(double value) { return value < 1e15 ? fixed(value, 0) : number(value); }

std::string power_of_ten(int exponent) { return "10" + superscript(exponent); }

std::string duration(double seconds) {
  if (seconds < 0.1) return fmt::format("{:.0f} ms", 1e3 * seconds);
  if (seconds < 60) return fmt::format("{:.1f} s", seconds);
  const auto rounded = static_cast<long long>(std::llround(seconds));
  if (rounded < 3600) return fmt::format("{} min {} s", rounded / 60, rounded % 60);
  return fmt::format("{} h {} min", rounded / 3600, rounded % 3600 / 60);
}

std::string greek(std::string text) {
  constexpr std::string_view word = "sigma";
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at))
    text.replace(at, word.size(), "σ");
  return text;
}

std::size_t characters(std::string_view text) {
  std::size_t count = 0;
  for (const char byte : text)
    if (starts_character(byte)) ++count;
  return count;
}

std::string shortened(const std::string& text, std::size_t length) {
  if (characters(text) <= length) return text;
  std::size_t count = 0;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (starts_character(text[i]) && ++count == length) return text.substr(0, i) + "…";
  return text;
}

std::string counted(std::size_t count, std::string_view singular, std::string_view plural) {
  static constexpr std::array<std::string_view, 10> words{"no",   "one", "two",   "three", "four",
                                                          "five", "six", "seven", "eight", "nine"};
  const std::string amount =
      count < words.size() ? std::string(words[count]) : std::to_string(count);
  return fmt::format("{} {}", amount, count == 1 ? singular : plural);
}

}  // namespace plsh::cli::report
