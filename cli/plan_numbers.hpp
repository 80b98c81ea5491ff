/// \file
/// The numbers of a sampling plan.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <plsh/reference/bounds.hpp>
#include <plsh/reference/kernel.hpp>
#include <plsh/reference/laws.hpp>
#include <string>

#include "arguments.hpp"

namespace plsh::cli {

enum class Norm { max, spectral, output };

struct PlanRequest {
  Index length = 0;
  Rational error;
  Rational delta;  ///< failure probability of one head
  Norm norm = Norm::spectral;
  Rational logit_bound;  ///< used by Norm::output
  bool causal = false;
  Index head_dim = 64;
};

/// The plan of one head. Counts of pairs and operations are doubles: they pass 2^64.
struct Plan {
  std::string sigma;
  Index samples;           ///< the least s whose proven bound is within the error
  double error_bound;      ///< the bound at that s, in the unit of the request
  Index largest_block;     ///< holds with probability 1 - delta
  double expected_blocks;  ///< of one mask
  double pairs_expected;   ///< of all masks together
  double pairs_high;       ///< holds with probability 1 - delta
  double dense_pairs;      ///< exact attention
  Index window_radius;     ///< of exact ALiBi in a window with the same error
  double window_pairs;
  double partition_bytes;  ///< expected, 8 bytes per block start
  double tensor_bytes;     ///< Q, K, V and O in f32
};

/// Most samples that a plan may ask for.
inline constexpr Index most_samples = 1'000'000'000'000'000;

/// The proven error bound of s masks in the unit of the request: absolute for the max norm,
/// relative to ||L*|| for the spectral norm, relative to max|V| for the output.
template <class Real>
Real error_bound(const PlanRequest& request, const Real& sigma, const Real& delta, Index samples) {
  namespace ref = reference;
  const Index n = request.length;
  if (n == 1) return Real(0);  // the only mask is L* itself
  if (request.norm == Norm::max) return ref::max_norm_bound(n, samples, delta);
  if (request.norm == Norm::spectral)
    return ref::spectral_bound(n, sigma, samples, delta).total /
           ref::AlibiKernel<Real>(n, sigma).spectral_norm();
  const Real b = ref::from_rational<Real>(request.logit_bound);
  return Real(2) * exp(Real(Real(2) * b)) * ref::row_relative_error_bound(n, sigma, samples, delta);
}

/// The s with holds(s) and not holds(s-1), found from a guess; none up to most_samples.
inline std::optional<Index> least_samples(const std::function<bool(Index)>& holds, Index guess) {
  Index low = 0;  // does not hold, or 0
  Index high = std::clamp<Index>(guess, 1, most_samples);
  if (holds(high)) {
    for (Index step = 1; high > 1; step *= 2) {
      const Index next = std::max<Index>(1, high - step);
      if (!holds(next)) {
        low = next;
        break;
      }
      high = next;
    }
  } else {
    for (Index step = 1;; step *= 2) {
      if (high == most_samples) return std::nullopt;
      low = high;
      high = std::min(most_samples, high + step);
      if (holds(high)) break;
    }
  }
  while (high - low > 1) {
    const Index middle = low + (high - low) / 2;
    (holds(middle) ? high : low) = middle;
  }
  return high;
}

/// The same bound in doubles finds a good guess quickly; a bad one costs time only.
inline Index guess_samples(const PlanRequest& request, const Rational& sigma) {
  const auto error = request.error.convert_to<double>();
  const auto delta = request.delta.convert_to<double>();
  Index low = 0;
  Index high = most_samples;
  while (high - low > 1) {
    const Index middle = low + (high - low) / 2;
    const double bound = error_bound(request, sigma.convert_to<double>(), delta, middle);
    (bound <= error ? high : low) = middle;
    if (high - low < high / 1'000'000'000) break;
  }
  return high;
}

/// What the weights left out on one side of a row are multiplied with to give the error of a window
/// in the unit of the request.
inline Interval window_factor(const PlanRequest& request, const Interval& sigma) {
  const reference::AlibiKernel<Interval> kernel(request.length, sigma);
  if (request.norm == Norm::spectral) return Interval(2) / kernel.spectral_norm();
  // The share of a row that is cut is largest at an end. A row is two sides with half the diagonal
  // each, and the share of one side grows with its length.
  const Interval b = reference::from_rational<Interval>(request.logit_bound);
  return Interval(2) * exp(Interval(Interval(2) * b)) /
         (kernel.row_sum(0) - reference::ratio<Interval>(1, 2));
}

/// The smallest radius at which exact ALiBi attention restricted to |i-j| <= radius has an error
/// proven to be within the request. No probability is involved.
inline Index window_radius(const PlanRequest& request, const Interval& sigma) {
  const Index n = request.length;
  const Interval error = reference::from_rational<Interval>(request.error);
  const Interval factor = request.norm == Norm::max ? Interval(1) : window_factor(request, sigma);
  const auto within = [&](Index radius) {
    Interval cut = exp(Interval(-Interval(radius + 1) / sigma));  // the largest weight left out
    // Their sum on one side: rho^(radius+1) (1 - rho^m) / (1 - rho), m = n - 1 - radius.
    if (request.norm != Norm::max)
      cut *= expm1(Interval(-Interval(n - 1 - radius) / sigma)) /
             expm1(Interval(Interval(-1) / sigma));
    return upper(Interval(factor * cut)) <= lower(error);
  };
  Index low = -1;      // not within, or -1
  Index high = n - 1;  // the window is everything
  while (high - low > 1) {
    const Index middle = low + (high - low) / 2;
    (within(middle) ? high : low) = middle;
  }
  return high;
}

/// The plan of one head of decay length `sigma`, a decimal or an exact double.
/// \throws std::invalid_argument when no allowed number of samples reaches the error.
inline Plan make_plan(const PlanRequest& request, const std::string& sigma_text,
                      const Rational& sigma_exact) {
  namespace ref = reference;
  constexpr unsigned digits = 60;  // totals cancel where sigma is far above n
  const ref::PrecisionScope scope(digits);
  const Index n = request.length;
  const Interval sigma = ref::from_rational<Interval>(sigma_exact);
  const Interval delta = ref::from_rational<Interval>(request.delta);
  const Interval error = ref::from_rational<Interval>(request.error);

  // The output bound sums over the distances that a bin is likely to reach.
  if (request.norm == Norm::output && n > 50'000 && sigma_exact > 1000)
    refuse("--norm output: sigma = " + sigma_text +
           " takes too long to sum; allowed: sigma up to 1000, or --length up to 50000");
  const auto holds = [&](Index samples) {
    const ref::PrecisionScope short_scope(25);
    return upper(error_bound(request, ref::from_rational<Interval>(sigma_exact),
                             ref::from_rational<Interval>(request.delta), samples)) <= lower(error);
  };
  const auto samples = least_samples(holds, guess_samples(request, sigma_exact));
  if (!samples)
    refuse("no number of samples up to 10^15 is proven to reach this --error at sigma = " +
           sigma_text + "; raise --error or lower --confidence");

  Plan plan{};
  plan.sigma = sigma_text;
  plan.samples = *samples;
  plan.error_bound = to_double(error_bound(request, sigma, delta, *samples));
  const Mpfr t = upper(ref::max_width_quantile(delta, sigma, *samples));
  plan.largest_block = t < n ? Mpfr(ceil(t)).convert_to<Index>() : n;
  const Interval rho_cut = -expm1(Interval(Interval(-1) / sigma));  // P(a cut between neighbours)
  plan.expected_blocks = to_double(Interval(Interval(1) + Interval(n - 1) * rho_cut));

  const auto s = static_cast<double>(*samples);
  const auto length = static_cast<double>(n);
  const double total = to_double(ref::AlibiKernel<Interval>(n, sigma).total());
  const auto block = static_cast<double>(plan.largest_block);
  const auto radius = static_cast<double>(plan.window_radius = window_radius(request, sigma));
  if (request.causal) {
    plan.pairs_expected = s * (total + length) / 2;
    plan.pairs_high = s * length * (block + 1) / 2;
    plan.dense_pairs = length * (length + 1) / 2;
    plan.window_pairs = length * (radius + 1) - radius * (radius + 1) / 2;
  } else {
    plan.pairs_expected = s * total;
    plan.pairs_high = s * length * block;
    plan.dense_pairs = length * length;
    plan.window_pairs = length * (2 * radius + 1) - radius * (radius + 1);
  }
  plan.partition_bytes = 8 * s * plan.expected_blocks;
  plan.tensor_bytes = 4 * 4 * length * static_cast<double>(request.head_dim);
  return plan;
}

}  // namespace plsh::cli
