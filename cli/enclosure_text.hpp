/// \file
/// Enclosures as decimal text.
#pragma once

#include <mpfr.h>

#include <optional>
#include <plsh/reference/real.hpp>
#include <string>

#include "arguments.hpp"

namespace plsh::cli {

inline bool is_finite(const Interval& x) {
  return mpfr_number_p(x.backend().left_data()) != 0 &&
         mpfr_number_p(x.backend().right_data()) != 0;
}

/// d.ddde+xx -> 0.000ddd, dd.dd or d.ddde-12: plain where no digit has to be added that the
/// scientific form does not hold.
inline std::string plain(const std::string& scientific) {
  const std::size_t mark = scientific.find('e');
  const long exponent = std::stol(scientific.substr(mark + 1));
  std::string digits = scientific.substr(0, mark);
  const std::string sign = digits[0] == '-' ? "-" : "";
  digits.erase(0, sign.size());
  if (digits.size() > 1) digits.erase(1, 1);  // the point
  const auto count = static_cast<long>(digits.size());
  if (digits.find_first_not_of('0') == std::string::npos) return "0";
  if (-7 <= exponent && exponent < 0)
    return sign + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  if (0 <= exponent && exponent < count) {
    const auto whole = static_cast<std::size_t>(exponent + 1);
    return sign + digits.substr(0, whole) +
           (whole < digits.size() ? "." + digits.substr(whole) : "");
  }
  return sign + digits.substr(0, 1) + (count > 1 ? "." + digits.substr(1) : "") + "e" +
         std::to_string(exponent);
}

/// `digits` significant digits of x, rounded as told.
inline std::string scientific(const Mpfr& x, unsigned digits, mpfr_rnd_t rounding) {
  char* text = nullptr;
  mpfr_asprintf(&text, "%.*R*e", static_cast<int>(digits) - 1, rounding, x.backend().data());
  std::string result(text);
  mpfr_free_str(text);
  return result;
}

/// Below and above `x`, in `digits` digits.
inline std::string text_below(const Interval& x, unsigned digits) {
  return plain(scientific(lower(x), digits, MPFR_RNDD));
}
inline std::string text_above(const Interval& x, unsigned digits) {
  return plain(scientific(upper(x), digits, MPFR_RNDU));
}

/// Distance from the lowest to the highest number of two enclosures, rounded up.
inline std::string width_text(const Interval& low, const Interval& high) {
  Mpfr difference;
  mpfr_sub(difference.backend().data(), upper(high).backend().data(), lower(low).backend().data(),
           MPFR_RNDU);
  return plain(scientific(difference, 3, MPFR_RNDU));
}

/// Digits of a value.
struct DecidedText {
  std::string text;
  bool exact;  ///< the text is the value itself, not a rounding
};

/// A single number that `digits` digits hold exactly, such as 0, 1 or 0.25.
inline std::optional<DecidedText> exact_text(const Interval& x, unsigned digits) {
  const Mpfr value = lower(x);
  if (value != upper(x)) return std::nullopt;
  if (value == 0) return DecidedText{"0", true};
  if (std::abs(mpfr_get_exp(value.backend().data())) > 10'000) return std::nullopt;
  std::string text = scientific(value, digits, MPFR_RNDN);
  Rational exact;
  mpfr_get_q(exact.backend().data(), value.backend().data());
  if (read_decimal(text)->exact != exact) return std::nullopt;
  // Drop trailing zeros of the significand, but not of a whole number: 1200, not 1.2e3.
  const std::size_t mark = text.find('e');
  const long exponent = std::stol(text.substr(mark + 1));
  std::string significand = text.substr(0, mark);
  const long keep =
      2 + std::max(0L, exponent) + (significand[0] == '-' ? 1 : 0);  // up to the point
  while (static_cast<long>(significand.size()) > keep && significand.back() == '0')
    significand.pop_back();
  if (significand.back() == '.') significand.pop_back();
  return DecidedText{plain(significand + text.substr(mark)), true};
}

/// The `digits` digits to which every number of `x` rounds; none while the enclosure is too wide.
inline std::optional<DecidedText> decided_text(const Interval& x, unsigned digits) {
  if (!is_finite(x)) return std::nullopt;
  if (auto exact = exact_text(x, digits)) return exact;
  const std::string low = scientific(lower(x), digits, MPFR_RNDN);
  if (low != scientific(upper(x), digits, MPFR_RNDN)) return std::nullopt;
  return DecidedText{plain(low), false};
}

}  // namespace plsh::cli
