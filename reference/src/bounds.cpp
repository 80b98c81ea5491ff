#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <plsh/reference/bounds.hpp>
#include <plsh/reference/kernel.hpp>
#include <plsh/reference/laws.hpp>

#include "geometric.hpp"
#include "validate.hpp"

namespace plsh::reference {

template <class Real>
Real max_norm_bound(Index length, Index samples, const Real& delta) {
  require_length(length);
  require_range("samples", samples, 1, max_length);
  require_probability("delta", delta);
  if (length == 1) return Real(0);
  return sqrt(Real(log(Real(Real(length) * Real(length - 1) / delta)) / (Real(2) * Real(samples))));
}

double max_norm_bound_exact(Index length, double sigma, Index samples, double delta) {
  require_length(length);
  require_sigma(sigma);
  require_range("samples", samples, 1, 1'000'000);
  require_probability("delta", delta);
  if (length == 1) return 0;
  const auto s = static_cast<double>(samples);
  const auto failure = [&](double epsilon) {
    double sum = 0;
    for (Index d = 1; d < length; ++d) {
      const double p = decay(d, sigma);
      const double pairs = static_cast<double>(length - d);
      const boost::math::binomial_distribution<double> law(s, p);
      const double high = std::floor(s * (p + epsilon));  // P(count > high)
      const double low = std::ceil(s * (p - epsilon));    // P(count < low)
      if (high < s) sum += pairs * boost::math::cdf(boost::math::complement(law, high));
      if (low > 0) sum += pairs * boost::math::cdf(law, low - 1);
      if (sum > delta) break;
      if (s * static_cast<double>(length) * p < delta * 1e-12) break;  // the rest is negligible
    }
    return sum;
  };
  // failure() falls as epsilon grows; Hoeffding's epsilon always suffices.
  Index low = 0;
  Index high =
      static_cast<Index>(std::ceil(2 * s * std::min(1.0, max_norm_bound(length, samples, delta))));
  while (low < high) {
    const Index middle = low + (high - low) / 2;
    if (failure(static_cast<double>(middle) / (2 * s)) <= delta)
      high = middle;
    else
      low = middle + 1;
  }
  return std::min(static_cast<double>(low) / (2 * s), max_norm_bound(length, samples, delta));
}

template <class Real>
SpectralBound<Real> spectral_bound(Index length, const Real& sigma, Index samples,
                                   const Real& delta) {
  require_length(length);
  require_probability("delta", delta);
  const Real half = delta / Real(2);
  const Real cut = max_width_quantile(half, sigma, samples);
  const Real x = cut / sigma;
  // E[(w+1) 1{w>B}] for w ~ Gamma(2, sigma).
  const Real bias = (sigma * (x * x + Real(2) * x + Real(2)) + Real(1) + x) * exp(Real(-x));
  const Real range =
      to_double(cut) < static_cast<double>(length) ? Real(cut + Real(1)) : Real(length);
  const Real variance = matrix_variance_norm_bound(sigma) +
                        Real(2) * AlibiKernel<Real>(length, sigma).spectral_norm() * bias;
  const Real s = Real(samples);
  const Real l = log(Real(Real(4) * Real(length) / delta));
  const Real linear = l * range / Real(3);
  const Real deviation = (linear + sqrt(Real(linear * linear + Real(2) * s * l * variance))) / s;
  return {deviation + bias, deviation, bias, cut};
}

namespace {

// The margin covers the rounding of the quantile in double; a wider block than needed is valid too.
template <class Real>
double quantile_rounded_up(const Real& delta, const Real& sigma, Index samples) {
  return std::ceil(to_double(max_width_quantile(delta, sigma, samples)) * (1 + 1e-12));
}

}  // namespace

Index largest_block_bound(Index length, double sigma, Index samples, double delta) {
  require_length(length);
  const double t = quantile_rounded_up(delta, sigma, samples);
  return t < static_cast<double>(length) ? static_cast<Index>(t) : length;
}

template <class Real>
Real row_relative_error_bound(Index length, const Real& sigma, Index samples, const Real& delta) {
  require_length(length);
  require_range("samples", samples, 1, max_length);
  require_probability("delta", delta);
  if (length == 1) return Real(0);
  const Real half = delta / Real(2);
  const double quantile = quantile_rounded_up(half, sigma, samples);
  // Compared as doubles first: the quantile may be above every Index.
  const Index reach =
      quantile < static_cast<double>(length - 1) ? static_cast<Index>(quantile) : length - 1;
  // Each pair at distance <= reach deviates by at most sqrt(2 p (1-p) l / s) + l / (3 s), by
  // Bernstein and a union over at most n reach pairs and both signs; farther pairs have M~ = 0.
  const Real s = Real(samples);
  const Real l = log(Real(Real(2) * Real(length) * Real(reach) / half));
  // One side of a row: F(m) = sum of the deviations up to distance m, G(m) = 1/2 + g(m). A row has
  // (F(a) + F(b)) / (G(a) + G(b)) <= max_m F(m) / G(m).
  Real deviations(0);
  Real sums = ratio<Real>(1, 2);
  Real worst(0);
  for (Index m = 1; m <= reach; ++m) {
    const Real p = decay(m, sigma);
    deviations += sqrt(Real(Real(2) * p * (Real(1) - p) * l / s)) + l / (Real(3) * s);
    sums += p;
    worst = max(worst, Real(deviations / sums));
  }
  const Real tail = geometric_sum(length - 1, sigma) - geometric_sum(reach, sigma);
  return max(worst, Real((deviations + tail) / sums));
}

template <class Real>
Vector<Real> output_error_bound(const HeadInput<Real>& input, const Real& sigma,
                                const Matrix<Real>& weights) {
  const Matrix<Real> logit = logits(input);
  require(weights.rows() == logit.rows() && weights.cols() == logit.cols(),
          "weights must have shape [n_q, n_k]");
  require_sigma(sigma);
  Real largest_value(0);
  for (Index j = 0; j < input.value.rows(); ++j)
    for (Index c = 0; c < input.value.cols(); ++c)
      largest_value = max(largest_value, abs(input.value(j, c)));
  std::vector<Real> kernel;
  for (Index d = 0; d < logit.rows() + std::abs(input.query_offset) + logit.cols(); ++d)
    kernel.push_back(decay(d, sigma));
  Vector<Real> bound(logit.rows());
  for (Index i = 0; i < logit.rows(); ++i) {
    const Index position = i + input.query_offset;
    const Index keys =
        input.causal ? std::clamp<Index>(position + 1, 0, logit.cols()) : logit.cols();
    Real shift = logit.cols() > 0 ? point(logit(i, 0)) : Real(0);
    for (Index j = 1; j < keys; ++j)
      if (to_double(logit(i, j)) > to_double(shift)) shift = point(logit(i, j));
    Real error(0);
    Real denominator(0);
    for (Index j = 0; j < keys; ++j) {
      const Real& l = kernel[static_cast<std::size_t>(std::abs(position - j))];
      const Real e = exp(Real(logit(i, j) - shift));
      error += abs(Real(l - weights(i, j))) * e;
      denominator += l * e;
    }
    bound[i] = Real(2) * largest_value * error / denominator;
  }
  return bound;
}

#define PLSH_INSTANTIATE(REAL)                                                         \
  template REAL max_norm_bound(Index, Index, const REAL&);                             \
  template SpectralBound<REAL> spectral_bound(Index, const REAL&, Index, const REAL&); \
  template REAL row_relative_error_bound(Index, const REAL&, Index, const REAL&);      \
  template Vector<REAL> output_error_bound(const HeadInput<REAL>&, const REAL&,        \
                                           const Matrix<REAL>&);
PLSH_FOR_EACH_REAL(PLSH_INSTANTIATE)

}  // namespace plsh::reference
