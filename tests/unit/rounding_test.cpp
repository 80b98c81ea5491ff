// Every quantity of the reference, in double, against its enclosure.
//
// The tolerance of each is derived from the operations of its formula, in units of u = 2^-53: an
// operation is within u, exp, expm1, log and log1p within 2 u (1 ulp, as glibc states), sinh and
// tanh within 4 u; an error in an argument counts with the condition of the function there. First
// order in u; the second order is below 10^-10 of it here.
#include <algorithm>
#include <plsh/reference/bounds.hpp>
#include <plsh/reference/kernel.hpp>
#include <plsh/reference/laws.hpp>
#include <plsh/reference/partition_law.hpp>

#include "support.hpp"

namespace plsh::reference::test {
namespace {

class Rounding : public ::testing::TestWithParam<double> {
 protected:
  // exp may underflow: half the smallest subnormal, times a binomial coefficient below 10^30, in
  // units of u.
  static constexpr double underflow = 1e30 * 0x1p-1074 / unit_roundoff;

  // `relative` and `absolute` in units of u.
  void check(const std::string& name, double value, const Interval& exact, double relative,
             double absolute = 0) {
    ++checked_;
    const double size = std::fabs(to_double(exact));
    const double allowed = unit_roundoff * (relative * size + absolute);
    ASSERT_LT(width(exact), Mpfr(unit_roundoff) * (Mpfr(size) + Mpfr(absolute)) + Mpfr("1e-300"))
        << name << ": the enclosure is wide";
    const double error = std::fabs(to_double(Interval(Interval(value) - exact)));
    ASSERT_LE(error, allowed) << name << ", sigma " << GetParam() << ": " << value << " and "
                              << show(exact);
    // The tolerance decides something: it is below 10^-9 of the value, or of 1.
    ASSERT_LT(allowed, 1e-9 * std::max(size, absolute > 1e-200 ? 1.0 : 0.0) + 1e-250) << name;
  }

  PrecisionScope scope_{60};
  double sigma_ = GetParam();
  Interval certain_ = Interval(GetParam());
  double inverse_ = 1 / GetParam();
  int checked_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Sigma, Rounding, ::testing::Values(0.3, 1.0, 4.0, 33.7, 256.0));

TEST_P(Rounding, Kernel) {
  for (const Index n : {1, 2, 33, 500}) {
    const AlibiKernel<double> kernel(n, sigma_);
    const AlibiKernel<Interval> certain(n, certain_);
    for (Index d = 0; d < n; d += std::max<Index>(1, n / 7)) {
      const double x = static_cast<double>(d) / sigma_;
      // exp(-x): x is rounded once and exp carries it over as x u.
      check("at_distance", kernel.at_distance(d), certain.at_distance(d), x + 2);
      check("set_probability", set_probability(d, sigma_), set_probability(d, certain_), x + 2);
      // g = expm1(-m/sigma)/expm1(1/sigma): 3 u for the numerator (condition below 1), 3 + 1/sigma
      // for the denominator (condition x e^x/(e^x - 1) <= 1 + x), 1 for the quotient; two positive
      // sums.
      check("row_sum", kernel.row_sum(d), certain.row_sum(d), 9 + inverse_);
    }
    // n (1 + 2 q) - B: q within (x + 6) u, x = 1/sigma, each term within (x + 15) u, the difference
    // 1 u of the result; the terms cancel.
    const auto total_error = [&](double sigma) {
      const double first = static_cast<double>(n) * (1 + 2 / std::expm1(1 / sigma));
      return (1 / sigma + 16) * 2 * first;
    };
    check("total", kernel.total(), certain.total(), 0, total_error(sigma_));
    check("total_entry_variance", kernel.total_entry_variance(), certain.total_entry_variance(), 1,
          total_error(sigma_) + total_error(sigma_ / 2));
    check("expected_block_pairs", expected_block_pairs(n, sigma_, 7),
          expected_block_pairs(n, certain_, 7), 1, 7 * total_error(sigma_));
    // Derived with the spectral norm's own tests.
    check("spectral_norm", kernel.spectral_norm(), certain.spectral_norm(), 70);
  }
  // 1/tanh(h): h within u, tanh 4 u with condition at most 1, the quotient.
  check("spectral_norm_limit", spectral_norm_limit(sigma_), spectral_norm_limit(certain_), 6);
  // 1/(2 sinh(h)^2), h = 1/(2 sigma): the condition of sinh is h coth h <= 1 + h, twice, and three
  // more.
  check("matrix_variance_norm_bound", matrix_variance_norm_bound(sigma_),
        matrix_variance_norm_bound(certain_), 14 + inverse_);
  EXPECT_GT(checked_, 60);
}

TEST_P(Rounding, Widths) {
  for (const double x : {0.05, 0.7, 1.0, 5.3, 40.0}) {
    const double t = x * sigma_;
    // exp(-x): x + 2; 1 + x: 2; the product. The density: three operations beside the exponential.
    check("width_tail", width_tail(t, sigma_), width_tail(Interval(t), certain_), x + 5);
    check("width_density", width_density(t, sigma_), width_density(Interval(t), certain_), x + 6);
    for (const Index samples : {1, 5, 100}) {
      // y = s log1p(-tail): an error (x+5) u tail of the tail becomes s (x+5) u tail/(1-tail) in y,
      // and y is rounded three times more; the result 1 - exp(y) changes by exp(y) times that, and
      // 3 u.
      const double tail = (1 + x) * std::exp(-x);
      const double within = -std::expm1(-x) - x * std::exp(-x);
      const double s = static_cast<double>(samples);
      const double y = s * std::log(within);
      const double argument = s * (x + 5) * tail / within + 3 * std::fabs(y);
      check("max_width_tail", max_width_tail(t, sigma_, samples),
            max_width_tail(Interval(t), certain_, samples), 3, 2 * std::exp(y) * argument);
    }
  }
  for (const double delta : {1e-9, 0.1, 0.5, 0.9})
    for (const Index samples : {1, 16, 1000}) {
      const Interval exact = max_width_quantile(Interval(delta), certain_, samples);
      // ln p within 5 u + 2 u |ln p|, log1p(x) - x within (x + ln(1+x)) u, |ln p| = x - ln(1+x):
      // together (3x + 5) u, and the slope of x - ln(1+x) is x/(1+x). The bisection's last step and
      // sigma: 4 u.
      const double x = to_double(exact) / sigma_;
      check("max_width_quantile", max_width_quantile(delta, sigma_, samples), exact,
            (3 * x + 5) * (1 + x) / (x * x) + 4);
    }
  for (const Index d : {0, 1, 3, 9})
    // 1 - d/w cancels: two roundings of numbers up to 1 (0 beyond w).
    check("pair_probability_given_width", pair_probability_given_width(d, 1.3 * sigma_),
          pair_probability_given_width(d, Interval(1.3 * sigma_)), 0, 2);
  EXPECT_EQ(checked_, 5 * (2 + 3) + 12 + 4);
}

TEST_P(Rounding, Entries) {
  for (const Index samples : {1, 16, 64})
    for (const Index distance : {0, 1, 5, 60}) {
      const double x = static_cast<double>(distance) / sigma_;
      const double s = static_cast<double>(samples);
      const double log_q = distance == 0 ? 0 : std::fabs(std::log(-std::expm1(-x)));
      double worst = 0;
      for (Index k = 0; k <= samples; k += std::max<Index>(1, samples / 8)) {
        const double m = static_cast<double>(k);
        // The exponent: k x within 3 u; (s-k) ln q, q within 3 u and ln with 2 u, product and sum;
        // the coefficient: 3 u for each factor; exp and product 3 u.
        const double relative = 4 * m * x + (s - m) * (3 + 4 * log_q) + 3 * std::min(m, s - m) + 3;
        worst = std::max(worst, relative);
        check("entry_probability", entry_probability(samples, k, distance, sigma_),
              entry_probability(samples, k, distance, certain_), relative, underflow);
      }
      // A positive sum of s + 1 terms, each within the largest of the above over all k.
      const double all = 4 * s * x + s * (3 + 4 * log_q) + 3 * s + 3 + s;
      ASSERT_GE(all, worst);
      check("entry_deviation_probability",
            entry_deviation_probability(samples, 0.2113, distance, sigma_),
            entry_deviation_probability(samples, Interval(0.2113), distance, certain_), all,
            (s + 1) * underflow);
    }
  for (const Index n : {1, 2, 20, 60})
    for (const Index samples : {1, 16}) {
      // 1 - (1-p)^s: p within (x + 2) u, which log1p(-p) magnifies by 1/(1-p) <= 1 + sigma at most
      // where x is smallest and by less than 2 beyond x = 1, 3 u each for log1p, product and expm1;
      // positive sum.
      const double size = static_cast<double>(n);
      check("expected_union_pairs", expected_union_pairs(n, sigma_, samples),
            expected_union_pairs(n, certain_, samples),
            2 * (size / sigma_ + 2) + (inverse_ + 3) * (sigma_ + 1) + 10 + size);
    }
  EXPECT_GT(checked_, 80);
}

TEST_P(Rounding, Moments) {
  constexpr Index n = 40;
  const Matrix<double> variance = matrix_variance(n, sigma_);
  const Matrix<Interval> certain = matrix_variance(n, certain_);
  const auto g = [](Index m, double sigma) {
    return -std::expm1(-static_cast<double>(m) / sigma) / std::expm1(1 / sigma);
  };
  for (Index i = 0; i < n; i += 3)
    for (Index j = i; j < n; j += 5) {
      const double x = static_cast<double>(j - i) / sigma_;
      // Positive terms: rho^d within x + 2, each g within 7 + 1/sigma, sums and product.
      check("second_moment", second_moment(n, sigma_, i, j), second_moment(n, certain_, i, j),
            x + inverse_ + 13);
      // f = g(sigma) - g(sigma/2) cancels: (7 + 2/sigma) u of the sum of the two, relative to
      // rho^d.
      const double sum =
          g(i, sigma_) + g(n - 1 - j, sigma_) + g(i, sigma_ / 2) + g(n - 1 - j, sigma_ / 2);
      check("matrix_variance", variance(i, j), certain(i, j), x + 5,
            std::exp(-x) * (8 + 2 * inverse_) * sum);
    }
  const PartitionLaw law(8);
  const Matrix<double> mean = law.mean_mask(sigma_);
  const Matrix<Interval> certain_mean = law.mean_mask(certain_);
  // 2 strips terms exp(-w/sigma) ((A + B w)/sigma + B), |A|, |B| <= n, so each at most n (1/sigma
  // + 1.4), as (w/sigma) exp(-w/sigma) < 0.4, and within 10 u of that; sums of as many terms below
  // 1 in total: another strips u.
  const double strips = static_cast<double>(law.strip_count());
  for (Index j = 0; j < 8; ++j)
    check("PartitionLaw::mean_mask", mean(0, j), certain_mean(0, j), 0,
          2 * strips * 10 * 8 * (inverse_ + 1.4) + strips);
  EXPECT_GT(checked_, 100);
}

TEST_P(Rounding, Bounds) {
  for (const Index n : {2, 300, 100'000})
    for (const Index samples : {1, 64}) {
      for (const double delta : {1e-9, 0.1}) {
        // L = ln(...): 3 u in the argument, 2 u: (3/L + 2) u; two operations; half of it by the
        // root, and 1.
        const double l = std::log(static_cast<double>(n) * static_cast<double>(n - 1) / delta);
        check("max_norm_bound", max_norm_bound(n, samples, delta),
              max_norm_bound(n, samples, Interval(delta)), (3 / l + 4) / 2 + 1);
        const SpectralBound<double> bound = spectral_bound(n, sigma_, samples, delta);
        const SpectralBound<Interval> certain =
            spectral_bound(n, certain_, samples, Interval(delta));
        const double x = to_double(certain.cut) / sigma_;
        const double quantile = (3 * x + 5) * (1 + x) / (x * x) + 4;  // as for max_width_quantile
        check("spectral cut", bound.cut, certain.cut, quantile);
        // The logarithm of the bias has slope between -1 and 0 in x; its own operations: x + 12.
        const double bias = x * quantile + x + 12;
        check("spectral bias", bound.bias, certain.bias, bias);
        // All parts are positive and enter at most linearly: range, variance (14 + 1/sigma, and the
        // norm's 70 with the bias), logarithm 4 + 2/L, ten operations.
        const double deviation = quantile + bias + 14 + inverse_ + 70 + 8 + 10;
        check("spectral deviation", bound.deviation, certain.deviation, deviation);
        check("spectral total", bound.total, certain.total, deviation + bias + 1);
      }
      const double bound = row_relative_error_bound(n, sigma_, samples, 0.1);
      const Interval certain = row_relative_error_bound(n, certain_, samples, Interval(0.1));
      const double reach =
          std::min(static_cast<double>(n - 1),
                   std::ceil(max_width_quantile(0.05, sigma_, samples) * (1 + 1e-12)));
      // Positive sums of `reach` terms, over as many; a term: p within (x + 2) u, 1 - p within
      // (x + 2) p/(1-p) <= (1/sigma + 3)(sigma + 1), l within 6, the root and six operations. The
      // tail cancels: 2 (7 + 1/sigma) u g(n-1) <= that much of the row sum.
      check("row_relative_error_bound", bound, certain,
            2 * reach + (reach / sigma_ + 2) + (inverse_ + 3) * (sigma_ + 1) + 20,
            2 * (8 + inverse_));
    }
  for (const Index b : {1, 2, 9, 30}) {
    const ProbabilityBounds<double> bounds = largest_block_tail(100, sigma_, b);
    const ProbabilityBounds<Interval> certain = largest_block_tail(100, certain_, b);
    const double x = static_cast<double>(b + 1) / sigma_;
    check("largest_block_tail low", bounds.low, certain.low, x + 5);
    check("largest_block_tail high", bounds.high, certain.high, x + 5);
  }
  EXPECT_EQ(checked_, 6 * (2 * 5 + 1) + 8);
}

}  // namespace
}  // namespace plsh::reference::test
