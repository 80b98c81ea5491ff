/// \file
/// Helpers shared by the tests of the reference.
#pragma once

#include <gtest/gtest.h>
// After gtest.h, which it does not include.
#include <rapidcheck/gtest.h>
#include <stdlib.h>

#include <limits>
#include <plsh/reference/attention.hpp>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace plsh::reference::test {

/// Unit roundoff of double.
inline constexpr double unit_roundoff = 0x1p-53;

/// RapidCheck reads its parameters once, before the first property. A seed given in the environment
/// wins.
inline const bool rapidcheck_seed_is_fixed =
    setenv("RC_PARAMS", "seed=20260511 max_success=200", 0) == 0;

inline std::string show(const Interval& x) {
  std::ostringstream text;
  text << '[' << lower(x).str(25) << ", " << upper(x).str(25) << ']';
  return text.str();
}

inline ::testing::AssertionResult overlaps(const Interval& a, const Interval& b) {
  if (overlap(a, b)) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << show(a) << " and " << show(b) << " are disjoint";
}

template <class Value>
::testing::AssertionResult holds(const Interval& x, const Value& value) {
  if (contains(x, value)) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << show(x) << " does not hold the value";
}

/// The width of `x` is below `limit`; an interval with a NaN end is not narrow.
inline ::testing::AssertionResult narrower(const Interval& x, const char* limit) {
  if (width(x) < Mpfr(limit)) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << show(x) << " has width " << width(x).str(5);
}

/// Every number of `a` is below every number of `b`.
inline bool certainly_less(const Interval& a, const Interval& b) {
  return certainly_negative(Interval(a - b));
}

/// `action` throws std::invalid_argument and the message names `argument`.
template <class Action>
::testing::AssertionResult rejects(const std::string& argument, Action&& action) {
  try {
    action();
  } catch (const std::invalid_argument& error) {
    if (std::string(error.what()).find(argument) != std::string::npos)
      return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure()
           << "the message \"" << error.what() << "\" does not name " << argument;
  } catch (const std::exception& error) {
    return ::testing::AssertionFailure() << "another exception: " << error.what();
  }
  return ::testing::AssertionFailure() << "nothing was thrown for a bad " << argument;
}

/// A 64-bit generator used through integers alone, so that every standard library draws the same.
class Source {
 public:
  explicit Source(std::uint64_t seed) : engine_(seed) {}
  /// An integer in low..high. The modulo bias does not matter for choosing test inputs.
  Index integer(Index low, Index high) {
    return low + static_cast<Index>(engine_() % static_cast<std::uint64_t>(high - low + 1));
  }
  /// A double in (0, 1).
  double uniform() { return static_cast<double>(2 * (engine_() >> 12) + 1) * 0x1p-53; }

 private:
  std::mt19937_64 engine_;
};

/// Random contiguous blocks: each position after 0 starts a block with probability 1/`mean_size`.
inline Partition random_partition(Source& source, Index length, Index mean_size) {
  std::vector<Index> starts{0};
  for (Index i = 1; i < length; ++i)
    if (source.integer(1, mean_size) == 1) starts.push_back(i);
  return {length, starts};
}

/// A head whose entries are multiples of 1/16 within -`range`..`range`: exact in every number type.
inline HeadInput<double> random_head(Source& source, Index queries, Index keys, Index head_dim,
                                     Index value_dim, Index range = 2) {
  const auto fill = [&](Index rows, Index cols) {
    Matrix<double> result(rows, cols);
    for (Index i = 0; i < rows; ++i)
      for (Index j = 0; j < cols; ++j)
        result(i, j) = static_cast<double>(source.integer(-16 * range, 16 * range)) / 16;
    return result;
  };
  return {fill(queries, head_dim), fill(keys, head_dim), fill(keys, value_dim), 0.5, false, 0};
}

/// The product of two matrices by its definition.
template <class Real>
Matrix<Real> product(const Matrix<Real>& a, const Matrix<Real>& b) {
  Matrix<Real> result = Matrix<Real>::Constant(a.rows(), b.cols(), Real(0));
  for (Index i = 0; i < a.rows(); ++i)
    for (Index j = 0; j < b.cols(); ++j)
      for (Index k = 0; k < a.cols(); ++k) result(i, j) += a(i, k) * b(k, j);
  return result;
}

template <class Real>
Matrix<Real> convert(const Matrix<double>& x) {
  Matrix<Real> result(x.rows(), x.cols());
  for (Index i = 0; i < x.rows(); ++i)
    for (Index j = 0; j < x.cols(); ++j) result(i, j) = Real(x(i, j));
  return result;
}

template <class Real>
HeadInput<Real> convert(const HeadInput<double>& x) {
  return {convert<Real>(x.query),
          convert<Real>(x.key),
          convert<Real>(x.value),
          Real(x.logit_scale),
          x.causal,
          x.query_offset};
}

}  // namespace plsh::reference::test
