/// \file
/// Numbers on the command line, read exactly: "0.1" is one tenth and not the double next to it.
#pragma once

#include <cctype>
#include <optional>
#include <plsh/reference/real.hpp>
#include <stdexcept>
#include <string>

namespace plsh::cli {

using reference::Index;
using reference::Integer;
using reference::Interval;
using reference::Mpfr;
using reference::Rational;

// Named here so that they, and not Boost's templates of the same names, are chosen: some of those
// do not enclose.
using reference::exp;
using reference::expm1;
using reference::log;
using reference::lower;
using reference::to_double;
using reference::upper;
using reference::width;

/// Wrong use, in one line.
[[noreturn]] inline void refuse(const std::string& message) {
  throw std::invalid_argument(message);
}

/// A decimal number: as it was written, and its exact value.
struct Decimal {
  std::string text;
  Rational exact;
};

/// 10^exponent, exponent >= 0.
inline Integer power_of_ten(unsigned exponent) {
  Integer result;
  mpz_ui_pow_ui(result.backend().data(), 10, exponent);
  return result;
}

/// Reads [+-]digits[.digits][e[+-]digits] and nothing else: no "nan", "inf", "0x10" or "12abc".
///
/// Exponents are clipped to +-10000, so that a few characters cannot ask for gigabytes; every range
/// in this program excludes such values anyway.
inline std::optional<Decimal> read_decimal(const std::string& text) {
  constexpr std::size_t longest = 2000;
  if (text.empty() || text.size() > longest) return std::nullopt;
  std::size_t at = 0;
  const auto digit = [&] {
    return at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])) != 0;
  };
  const auto sign = [&] {
    const bool negative = at < text.size() && text[at] == '-';
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
    return negative;
  };
  const bool negative = sign();
  std::string digits;
  long exponent = 0;
  for (; digit(); ++at) digits += text[at];
  if (at < text.size() && text[at] == '.')
    for (++at; digit(); ++at, --exponent) digits += text[at];
  if (digits.empty()) return std::nullopt;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    const bool down = sign();
    if (!digit()) return std::nullopt;
    long size = 0;
    for (; digit(); ++at) size = std::min(10'000L, size * 10 + (text[at] - '0'));
    exponent += down ? -size : size;
  }
  if (at != text.size()) return std::nullopt;

  Integer mantissa;
  mpz_set_str(mantissa.backend().data(), digits.c_str(), 10);
  if (mantissa == 0) return Decimal{"0", Rational(0)};
  if (negative) mantissa = -mantissa;
  const Integer scale = power_of_ten(static_cast<unsigned>(exponent < 0 ? -exponent : exponent));
  return Decimal{text[0] == '+' ? text.substr(1) : text,
                 exponent < 0 ? Rational(mantissa, scale) : Rational(mantissa * scale)};
}

/// An allowed range; the ends are decimals. When open, the ends themselves are excluded.
struct Range {
  const char* low;
  const char* high;
  bool open = false;

  bool holds(const Rational& x) const {
    const Rational a = read_decimal(low)->exact;
    const Rational b = read_decimal(high)->exact;
    return open ? a < x && x < b : a <= x && x <= b;
  }
  std::string words() const {
    return open ? std::string("above ") + low + " and below " + high
                : std::string(low) + " to " + high;
  }
};

/// Long junk is not echoed in full.
inline std::string shown(const std::string& text) {
  return text.size() <= 40 ? text : text.substr(0, 37) + "...";
}

/// A real argument. `name` is the option as it is typed, such as "--sigma".
inline Decimal parse_decimal(const std::string& name, const std::string& text, const Range& range) {
  const auto value = read_decimal(text);
  if (!value)
    refuse(name + ": \"" + shown(text) + "\" is not a decimal number; allowed: " + range.words());
  if (!range.holds(value->exact))
    refuse(name + ": " + shown(text) + " is out of range; allowed: " + range.words());
  return *value;
}

/// A whole number; 1e6 and 2.5e3 are whole numbers too.
inline Index parse_count(const std::string& name, const std::string& text, const Range& range) {
  const auto value = read_decimal(text);
  if (!value || denominator(value->exact) != 1)
    refuse(name + ": \"" + shown(text) + "\" is not a whole number; allowed: " + range.words());
  if (!range.holds(value->exact))
    refuse(name + ": " + shown(text) + " is out of range; allowed: " + range.words());
  return numerator(value->exact).convert_to<Index>();
}

}  // namespace plsh::cli
