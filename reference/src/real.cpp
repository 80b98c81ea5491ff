#include <mpfi.h>
#include <mpfi_io.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <plsh/reference/real.hpp>

#include "validate.hpp"

namespace plsh::reference {

PrecisionScope::PrecisionScope(unsigned decimal_digits)
    : saved_mpfr_(Mpfr::default_precision()), saved_interval_(Interval::default_precision()) {
  require_range("precision in decimal digits", decimal_digits, 17, 100'000);
  Mpfr::default_precision(decimal_digits);
  Interval::default_precision(decimal_digits);
}

PrecisionScope::~PrecisionScope() {
  Mpfr::default_precision(saved_mpfr_);
  Interval::default_precision(saved_interval_);
}

unsigned working_precision_bits() {
  return static_cast<unsigned>(mpfi_get_prec(Interval().backend().data()));
}

namespace {

// One finite decimal number and nothing else: digits, at most one point, an optional exponent.
bool is_decimal(const std::string& text) {
  double ignored = 0;
  const char* begin = text.data() + (!text.empty() && text[0] == '+' ? 1 : 0);
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(begin, end, ignored);
  return begin != end && stop == end && error != std::errc::invalid_argument &&
         text.find_first_of("iInN") == std::string::npos && text.rfind("+-", 0) != 0;
}

void require_decimal(const std::string& text) {
  require(is_decimal(text), "\"" + text + "\" is not a finite decimal number");
}

template <class Function>
Mpfr apply(Function function, const Mpfr& x) {
  Mpfr result;
  function(result.backend().data(), x.backend().data(), MPFR_RNDN);
  return result;
}

template <class Function>
Interval apply(Function function, const Interval& x) {
  Interval result;
  function(result.backend().data(), x.backend().data());
  return result;
}

}  // namespace

template <>
double from_decimal<double>(const std::string& text) {
  require_decimal(text);
  const double value = std::strtod(text.c_str(), nullptr);  // stod refuses subnormal numbers
  require(std::isfinite(value), "the decimal \"" + text + "\" is beyond the range of double");
  return value;
}
template <>
Mpfr from_decimal<Mpfr>(const std::string& text) {
  require_decimal(text);
  return Mpfr(text.c_str());
}
template <>
Interval from_decimal<Interval>(const std::string& text) {
  require_decimal(text);
  Interval result;
  mpfi_set_str(result.backend().data(), text.c_str(), 10);
  return result;
}

template <>
double from_rational<double>(const Rational& value) {
  return value.convert_to<double>();
}
template <>
Mpfr from_rational<Mpfr>(const Rational& value) {
  Mpfr result;
  mpfr_set_q(result.backend().data(), value.backend().data(), MPFR_RNDN);
  return result;
}
template <>
Interval from_rational<Interval>(const Rational& value) {
  Interval result;
  mpfi_set_q(result.backend().data(), value.backend().data());
  return result;
}

#define PLSH_DEFINE_FUNCTION(NAME)                           \
  Mpfr NAME(const Mpfr& x) { return apply(mpfr_##NAME, x); } \
  Interval NAME(const Interval& x) { return apply(mpfi_##NAME, x); }
PLSH_DEFINE_FUNCTION(exp)
PLSH_DEFINE_FUNCTION(expm1)
PLSH_DEFINE_FUNCTION(log)
PLSH_DEFINE_FUNCTION(log1p)
PLSH_DEFINE_FUNCTION(sqrt)
PLSH_DEFINE_FUNCTION(sin)
PLSH_DEFINE_FUNCTION(tan)
PLSH_DEFINE_FUNCTION(sinh)
PLSH_DEFINE_FUNCTION(tanh)
PLSH_DEFINE_FUNCTION(abs)
#undef PLSH_DEFINE_FUNCTION

Mpfr max(const Mpfr& a, const Mpfr& b) { return a < b ? b : a; }
Interval max(const Interval& a, const Interval& b) {
  Interval result;
  mpfr_max(result.backend().left_data(), a.backend().left_data(), b.backend().left_data(),
           MPFR_RNDD);
  mpfr_max(result.backend().right_data(), a.backend().right_data(), b.backend().right_data(),
           MPFR_RNDU);
  return result;
}

template <>
double pi<double>() {
  return 3.14159265358979323846;
}
template <>
Mpfr pi<Mpfr>() {
  Mpfr result;
  mpfr_const_pi(result.backend().data(), MPFR_RNDN);
  return result;
}
template <>
Interval pi<Interval>() {
  Interval result;
  mpfi_const_pi(result.backend().data());
  return result;
}

Mpfr lower(const Interval& x) {
  Mpfr result;
  mpfr_set(result.backend().data(), x.backend().left_data(), MPFR_RNDD);
  return result;
}
Mpfr upper(const Interval& x) {
  Mpfr result;
  mpfr_set(result.backend().data(), x.backend().right_data(), MPFR_RNDU);
  return result;
}
Mpfr width(const Interval& x) {
  Mpfr result;
  mpfi_diam_abs(result.backend().data(), x.backend().data());
  return result;
}
Interval hull(const Interval& a, const Interval& b) {
  Interval result;
  mpfi_union(result.backend().data(), a.backend().data(), b.backend().data());
  return result;
}

bool certainly_negative(const Mpfr& x) { return x < 0; }
bool certainly_negative(const Interval& x) { return mpfi_is_strictly_neg(x.backend().data()) > 0; }
bool certainly_positive(const Mpfr& x) { return x > 0; }
bool certainly_positive(const Interval& x) { return mpfi_is_strictly_pos(x.backend().data()) > 0; }

bool contains(const Interval& x, double value) {
  return mpfi_is_inside_d(value, x.backend().data()) > 0;
}
bool contains(const Interval& x, const Mpfr& value) {
  return mpfi_is_inside_fr(value.backend().data(), x.backend().data()) > 0;
}
bool contains(const Interval& x, const Rational& value) {
  return mpfi_is_inside_q(value.backend().data(), x.backend().data()) > 0;
}
bool contains(const Interval& outer, const Interval& inner) {
  return mpfi_is_inside(inner.backend().data(), outer.backend().data()) > 0;
}
bool overlap(const Interval& a, const Interval& b) {
  return mpfr_lessequal_p(a.backend().left_data(), b.backend().right_data()) != 0 &&
         mpfr_lessequal_p(b.backend().left_data(), a.backend().right_data()) != 0;
}

Mpfr point(const Mpfr& x) { return x; }
Interval point(const Interval& x) {
  Interval result;
  Mpfr middle;
  mpfi_mid(middle.backend().data(), x.backend().data());
  mpfi_set_fr(result.backend().data(), middle.backend().data());
  return result;
}

Mpfr upper_point(const Mpfr& x) { return x; }
Interval upper_point(const Interval& x) {
  Interval result;
  mpfi_set_fr(result.backend().data(), x.backend().right_data());
  return result;
}

double to_double(const Mpfr& x) { return mpfr_get_d(x.backend().data(), MPFR_RNDN); }
double to_double(const Interval& x) { return mpfi_get_d(x.backend().data()); }

std::string certified_digits(const Interval& x, unsigned digits) {
  require_range("digits", digits, 1, 100'000);
  // Print as many digits as both end points, each rounded to nearest, agree on.
  const Mpfr low = lower(x);
  Mpfr high = upper(x);
  if (high == 0) high = Mpfr(0);  // MPFI's upper zero is -0, which would print a sign
  const auto print = [](const Mpfr& value, int significant) {
    char* text = nullptr;
    mpfr_asprintf(&text, "%.*Re", significant - 1, value.backend().data());
    std::string result(text);
    mpfr_free_str(text);
    return result;
  };
  const bool finite =
      mpfr_number_p(low.backend().data()) != 0 && mpfr_number_p(high.backend().data()) != 0;
  for (unsigned significant = digits; finite && significant >= 1; --significant) {
    const std::string text = print(low, static_cast<int>(significant));
    if (text == print(high, static_cast<int>(significant))) return text;
  }
  throw std::domain_error("no digit of the value is certain at this precision");
}

}  // namespace plsh::reference
