/// \file
/// The number types of the reference, and the few functions that every formula needs.
///
/// A formula is written once, templated on `Real`, and compiled for
///   - `double`:   what an ordinary program would compute;
///   - `Mpfr`:     MPFR at run-time precision;
///   - `Interval`: MPFI, every result a proven enclosure of the exact value.
/// The working precision is process-wide and is set by a `PrecisionScope`.
#pragma once

#include <Eigen/Core>
#include <boost/multiprecision/eigen.hpp>
#include <boost/multiprecision/gmp.hpp>
#include <boost/multiprecision/mpfi.hpp>
#include <boost/multiprecision/mpfr.hpp>
#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>

namespace plsh::reference {

/// Positions, lengths and counts.
using Index = std::int64_t;

using Integer =
    boost::multiprecision::number<boost::multiprecision::gmp_int, boost::multiprecision::et_off>;
using Rational = boost::multiprecision::number<boost::multiprecision::gmp_rational,
                                               boost::multiprecision::et_off>;
using Mpfr = boost::multiprecision::number<boost::multiprecision::mpfr_float_backend<0>,
                                           boost::multiprecision::et_off>;
using Interval = boost::multiprecision::number<boost::multiprecision::mpfi_float_backend<0>,
                                               boost::multiprecision::et_off>;

template <class Real>
using Vector = Eigen::Matrix<Real, Eigen::Dynamic, 1>;
template <class Real>
using Matrix = Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

template <class Real>
inline constexpr bool is_interval = std::is_same_v<Real, Interval>;

/// Sets the working precision of `Mpfr` and `Interval` for its lifetime.
///
/// The precision is process-wide: do not create one while other threads compute.
class PrecisionScope {
 public:
  /// \param decimal_digits precision of the significand, 17 to 100 000.
  /// \throws std::invalid_argument outside that range.
  explicit PrecisionScope(unsigned decimal_digits);
  ~PrecisionScope();
  PrecisionScope(const PrecisionScope&) = delete;
  PrecisionScope& operator=(const PrecisionScope&) = delete;

 private:
  unsigned saved_mpfr_;
  unsigned saved_interval_;
};

/// The current working precision in bits.
unsigned working_precision_bits();

/// Reads a decimal such as "0.1" or "1e-9": nearest for double and Mpfr, enclosing for Interval.
/// \throws std::invalid_argument when `text` is not one finite decimal number.
template <class Real>
Real from_decimal(const std::string& text);

/// A rational as a Real: nearest for double and Mpfr, enclosing for Interval.
template <class Real>
Real from_rational(const Rational& value);

/// An integer quotient, for constants such as 1/3 that no binary number holds.
template <class Real>
Real ratio(Index numerator, Index denominator) {
  return Real(numerator) / Real(denominator);
}

// ---- elementary functions, with the ones that Boost does not take from MPFI ------------------

/// exp(x).
inline double exp(double x) { return std::exp(x); }
Mpfr exp(const Mpfr& x);
Interval exp(const Interval& x);
/// exp(x) - 1 without cancellation.
inline double expm1(double x) { return std::expm1(x); }
Mpfr expm1(const Mpfr& x);
Interval expm1(const Interval& x);
/// Natural logarithm.
inline double log(double x) { return std::log(x); }
Mpfr log(const Mpfr& x);
Interval log(const Interval& x);
/// ln(1 + x) without cancellation.
inline double log1p(double x) { return std::log1p(x); }
Mpfr log1p(const Mpfr& x);
Interval log1p(const Interval& x);
inline double sqrt(double x) { return std::sqrt(x); }
Mpfr sqrt(const Mpfr& x);
Interval sqrt(const Interval& x);
inline double sin(double x) { return std::sin(x); }
Mpfr sin(const Mpfr& x);
Interval sin(const Interval& x);
inline double tan(double x) { return std::tan(x); }
Mpfr tan(const Mpfr& x);
Interval tan(const Interval& x);
inline double sinh(double x) { return std::sinh(x); }
Mpfr sinh(const Mpfr& x);
Interval sinh(const Interval& x);
inline double tanh(double x) { return std::tanh(x); }
Mpfr tanh(const Mpfr& x);
Interval tanh(const Interval& x);
inline double abs(double x) { return std::fabs(x); }
Mpfr abs(const Mpfr& x);
Interval abs(const Interval& x);
/// The larger of two values; for intervals the enclosure of the maximum.
inline double max(double a, double b) { return a < b ? b : a; }
Mpfr max(const Mpfr& a, const Mpfr& b);
Interval max(const Interval& a, const Interval& b);

/// pi.
template <class Real>
Real pi();

// ---- points and intervals --------------------------------------------------------------------

/// The end points and the (absolute) width of an interval; a point is its own end points.
Mpfr lower(const Interval& x);
Mpfr upper(const Interval& x);
Mpfr width(const Interval& x);
/// The smallest interval that holds both.
Interval hull(const Interval& a, const Interval& b);
/// True when every number of the interval is below (above) zero.
inline bool certainly_negative(double x) { return x < 0; }
bool certainly_negative(const Mpfr& x);
bool certainly_negative(const Interval& x);
inline bool certainly_positive(double x) { return x > 0; }
bool certainly_positive(const Mpfr& x);
bool certainly_positive(const Interval& x);
/// True when the interval holds the value.
bool contains(const Interval& x, double value);
bool contains(const Interval& x, const Mpfr& value);
bool contains(const Interval& x, const Rational& value);
/// True when every number of `inner` lies in `outer`.
bool contains(const Interval& outer, const Interval& inner);
/// True when the two have a number in common.
bool overlap(const Interval& a, const Interval& b);
/// A representative point: the value itself, or the middle of the interval.
inline double point(double x) { return x; }
Mpfr point(const Mpfr& x);
Interval point(const Interval& x);
/// The upper end as a value of the same type; a point is its own end.
inline double upper_point(double x) { return x; }
Mpfr upper_point(const Mpfr& x);
Interval upper_point(const Interval& x);
/// The nearest double (of the middle, for an interval).
inline double to_double(double x) { return x; }
double to_double(const Mpfr& x);
double to_double(const Interval& x);

/// The decimal digits of `x` that are certain, at most `digits` significant ones.
///
/// Both end points rounded to the printed digits agree, so each printed digit is right up to one
/// unit in the last place. \throws std::domain_error when not even one digit is certain.
std::string certified_digits(const Interval& x, unsigned digits);

}  // namespace plsh::reference
