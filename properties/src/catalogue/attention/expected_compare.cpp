#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "expected.hpp"

namespace plsh::properties {
namespace {

std::string element(const std::string& name, const std::vector<Index>& shape, std::size_t k) {
  std::string index;
  for (std::size_t a = shape.size(); a-- > 0;) {
    const auto extent = static_cast<std::size_t>(shape[a]);
    index = std::to_string(k % extent) + (index.empty() ? "" : ", ") + index;
    k /= extent;
  }
  return fmt::format("{}[{}]", name, index);
}

/// What a value is compared to as a ratio: inside is at most 1.
double ratio_of(double got, double value, double tolerance) {
  if (std::isinf(tolerance)) return 0;
  if (std::isnan(value)) return std::isnan(got) ? 0 : HUGE_VAL;
  if (got == value) return 0;
  const double error = std::fabs(got - value);
  return std::isnan(error) || tolerance == 0 ? HUGE_VAL : error / tolerance;
}

}  // namespace

Comparison compare(const std::string& name, const std::vector<double>& got,
                   const std::vector<Index>& shape, Type type, const Expectation& expected,
                   const std::vector<double>& plain) {
  Comparison result;
  std::size_t worst = 0;
  double plain_error = 0;
  double largest = 0;
  double widest = 0;
  for (std::size_t k = 0; k < got.size(); ++k) {
    const double value = expected.value[k];
    const double tolerance = expected.tolerance[k];
    const double ratio = ratio_of(got[k], value, tolerance);
    if (ratio > result.error_ratio) {
      result.error_ratio = ratio;
      worst = k;
    }
    if (std::isinf(tolerance) || !std::isfinite(value)) continue;
    result.error = std::max(result.error, std::fabs(got[k] - value));
    largest = std::max(largest, std::fabs(value));
    widest = std::max(widest, tolerance);
    if (!plain.empty()) plain_error = std::max(plain_error, std::fabs(plain[k] - value));
  }
  // The plain run may happen to be exact: it is granted one rounding of the result, and a hundredth
  // of the tolerance where the result itself is no more than rounding.
  const double granted = std::max({plain_error, unit_roundoff(type) * largest, widest / 100});
  if (!plain.empty() && granted > 0) result.plain_ratio = result.error / granted;
  if (result.error_ratio > 1) {
    const Index seen = expected.seen[worst];
    const bool row = name == "output" || name == "log_sum_exp" || name == "query_gradient";
    result.message = fmt::format(
        "{} is {:.9g}, expected {:.9g} within {:.2g}{} ({})", element(name, shape, worst),
        got[worst], expected.value[worst], expected.tolerance[worst],
        std::isfinite(result.error_ratio) ? fmt::format(", {:.3g} times that", result.error_ratio)
                                          : "",
        row ? fmt::format("its row sees {} key{}", seen, seen == 1 ? "" : "s")
            : fmt::format("{} row{} its key", seen, seen == 1 ? " sees" : "s see"));
  }
  // A ratio must stay a number in reports.
  if (std::isinf(result.error_ratio)) result.error_ratio = 1e300;
  return result;
}

Comparison compare(const std::string& name, const Tensor& got, const Expectation& expected,
                   const std::vector<double>& plain) {
  return compare(name, got.values(), got.shape(), got.type(), expected, plain);
}

}  // namespace plsh::properties
