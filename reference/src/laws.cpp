#include <plsh/reference/kernel.hpp>
#include <plsh/reference/laws.hpp>
#include <plsh/reference/roots.hpp>

#include "geometric.hpp"
#include "validate.hpp"

namespace plsh::reference {

template <class Real>
Real pair_probability_given_width(Index distance, const Real& width) {
  require_range("distance", distance, 0, max_length);
  require_sigma(width);
  return max(Real(0), Real(Real(1) - Real(distance) / width));
}

template <class Real>
Real set_probability(Index span, const Real& sigma) {
  require_range("span", span, 0, max_length);
  require_sigma(sigma);
  return decay(span, sigma);
}

template <class Real>
Real width_density(const Real& w, const Real& sigma) {
  require_sigma(sigma);
  return w / (sigma * sigma) * exp(Real(-w / sigma));
}

template <class Real>
Real width_tail(const Real& t, const Real& sigma) {
  require_sigma(sigma);
  const Real x = t / sigma;
  return (Real(1) + x) * exp(Real(-x));
}

template <class Real>
Real max_width_tail(const Real& t, const Real& sigma, Index samples) {
  require_range("samples", samples, 1, max_length);
  const Real tail = width_tail(t, sigma);
  const Real within = Real(1) - tail;
  // Zero for t = 0, and not told from zero by the working precision for small t.
  if (!certainly_positive(within))
    return Real(1) - exp(Real(Real(samples) * log(max(Real(0), within))));
  return -expm1(Real(Real(samples) * log1p(Real(-tail))));
}

template <class Real>
Real max_width_quantile(const Real& delta, const Real& sigma, Index samples) {
  require_probability("delta", delta);
  require_sigma(sigma);
  require_range("samples", samples, 1, max_length);
  const Real p = -expm1(Real(log1p(Real(-delta)) / Real(samples)));
  const Real log_p = log(p);
  // (1+x) exp(-x) = p in logarithms. At x = 3 - 2 ln p, x - ln(1+x) >= x/2 > -ln p.
  const std::function<Real(const Real&)> f = [&](const Real& x) {
    return Real(log1p(x) - x - log_p);
  };
  return sigma * root_of_decreasing<Real>(f, Real(0), upper_point(Real(Real(3) - Real(2) * log_p)));
}

template <class Real>
Real second_moment(Index length, const Real& sigma, Index i, Index j) {
  require_length(length);
  require_sigma(sigma);
  require_range("i", i, 0, length - 1);
  require_range("j", j, 0, length - 1);
  const Index low = std::min(i, j);
  const Index high = std::max(i, j);
  return decay(high - low, sigma) * (Real(high - low + 1) + geometric_sum(low, sigma) +
                                     geometric_sum(length - 1 - high, sigma));
}

template <class Real>
Matrix<Real> matrix_variance(Index length, const Real& sigma) {
  require_length(length);
  require_sigma(sigma);
  const Real half = sigma / Real(2);  // rho^2 is the decay at sigma/2
  Vector<Real> f(length);
  Vector<Real> rho(length);
  for (Index m = 0; m < length; ++m) {
    f[m] = geometric_sum(m, sigma) - geometric_sum(m, half);
    rho[m] = decay(m, sigma);
  }
  Matrix<Real> v(length, length);
  for (Index i = 0; i < length; ++i)
    for (Index j = 0; j < length; ++j) {
      const Index low = std::min(i, j);
      const Index high = std::max(i, j);
      v(i, j) = rho[high - low] * (f[low] + f[length - 1 - high]);
    }
  return v;
}

template <class Real>
Real matrix_variance_norm_bound(const Real& sigma) {
  require_sigma(sigma);
  const Real sinh_h = sinh(Real(Real(1) / (Real(2) * sigma)));
  return Real(1) / (Real(2) * sinh_h * sinh_h);
}

template <class Real>
Real entry_probability(Index samples, Index k, Index distance, const Real& sigma) {
  require_range("samples", samples, 1, max_length);
  require_range("k", k, 0, samples);
  require_range("distance", distance, 0, max_length);
  require_sigma(sigma);
  if (distance == 0) return Real(k == samples ? 1 : 0);
  // C(s, k) p^k (1-p)^(s-k); the logarithm of p is -distance/sigma exactly.
  const Real log_p = -Real(distance) / sigma;
  Real exponent = Real(k) * log_p;
  if (k < samples) exponent += Real(samples - k) * log(Real(-expm1(log_p)));
  Real coefficient(1);
  for (Index m = 1; m <= std::min(k, samples - k); ++m) {
    coefficient *= Real(samples + 1 - m) / Real(m);
    if (to_double(coefficient) > 1e30) {  // C(s, k) may be beyond the range of double
      exponent += log(coefficient);
      coefficient = Real(1);
    }
  }
  return coefficient * exp(exponent);
}

template <class Real>
Real entry_deviation_probability(Index samples, const Real& epsilon, Index distance,
                                 const Real& sigma) {
  require_range("samples", samples, 1, max_length);
  require_range("distance", distance, 0, max_length);
  require_sigma(sigma);
  const Real p = decay(distance, sigma);
  Real result(0);
  for (Index k = 0; k <= samples; ++k) {
    const Real excess = abs(Real(Real(k) / Real(samples) - p)) - epsilon;
    if (certainly_negative(excess)) continue;
    const Real probability = entry_probability(samples, k, distance, sigma);
    if constexpr (is_interval<Real>) {
      // Where it is undecided whether k counts, both answers are enclosed.
      result += lower(excess) >= 0 ? probability : hull(Real(0), probability);
    } else {
      result += probability;
    }
  }
  return result;
}

template <class Real>
Real expected_union_pairs(Index length, const Real& sigma, Index samples) {
  require_length(length);
  require_sigma(sigma);
  require_range("samples", samples, 1, max_length);
  // Far apart pairs contribute at most s p each; beyond `last` all of them together contribute less
  // than s n^2 exp(-last/sigma), which intervals add as an enclosure and points leave out.
  // exp(-accuracy) is below the working precision.
  const double accuracy =
      std::is_same_v<Real, double> ? 60 : 10 + 0.7 * static_cast<double>(working_precision_bits());
  const double reach = to_double(sigma) * (accuracy + 2 * std::log(static_cast<double>(length)) +
                                           std::log(static_cast<double>(samples)));
  const Index last =
      reach < static_cast<double>(length - 1) ? static_cast<Index>(reach) + 1 : length - 1;
  const Real s = Real(samples);
  Real result = Real(length);
  for (Index d = 1; d <= last; ++d)
    result -= Real(2) * Real(length - d) * expm1(Real(s * log1p(Real(-decay(d, sigma)))));
  if constexpr (is_interval<Real>) {
    if (last < length - 1) {
      const Real n = Real(length);
      result += hull(Real(0), Real(s * n * n * decay(last, sigma)));
    }
  }
  return result;
}

template <class Real>
Real expected_block_pairs(Index length, const Real& sigma, Index samples) {
  require_range("samples", samples, 1, max_length);
  return Real(samples) * AlibiKernel<Real>(length, sigma).total();
}

template <class Real>
ProbabilityBounds<Real> largest_block_tail(Index length, const Real& sigma, Index b) {
  require_length(length);
  require_sigma(sigma);
  if (b < 1) return {Real(1), Real(1)};
  if (b >= length) return {Real(0), Real(0)};
  const Index third = (length + 2) / 3;
  return {b + 1 <= third ? width_tail(Real(b + 1), sigma) : Real(0), width_tail(Real(b), sigma)};
}

#define PLSH_INSTANTIATE(REAL)                                                       \
  template REAL pair_probability_given_width(Index, const REAL&);                    \
  template REAL set_probability(Index, const REAL&);                                 \
  template REAL width_density(const REAL&, const REAL&);                             \
  template REAL width_tail(const REAL&, const REAL&);                                \
  template REAL max_width_tail(const REAL&, const REAL&, Index);                     \
  template REAL max_width_quantile(const REAL&, const REAL&, Index);                 \
  template REAL second_moment(Index, const REAL&, Index, Index);                     \
  template Matrix<REAL> matrix_variance(Index, const REAL&);                         \
  template REAL matrix_variance_norm_bound(const REAL&);                             \
  template REAL entry_probability(Index, Index, Index, const REAL&);                 \
  template REAL entry_deviation_probability(Index, const REAL&, Index, const REAL&); \
  template REAL expected_union_pairs(Index, const REAL&, Index);                     \
  template REAL expected_block_pairs(Index, const REAL&, Index);                     \
  template ProbabilityBounds<REAL> largest_block_tail(Index, const REAL&, Index);
PLSH_FOR_EACH_REAL(PLSH_INSTANTIATE)

}  // namespace plsh::reference
