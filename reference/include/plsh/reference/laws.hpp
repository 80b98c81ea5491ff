/// \file
/// Closed-form laws of the random masks. All follow from w ~ Gamma(2, sigma), u ~ U[0, w).
#pragma once

#include <plsh/reference/real.hpp>

namespace plsh::reference {

/// P(h(i) = h(j) | w) = max(0, 1 - distance/w).
template <class Real>
Real pair_probability_given_width(Index distance, const Real& width);

/// P(all positions in one bin) = exp(-span/sigma), span = max - min; for a pair this is L*_ij.
template <class Real>
Real set_probability(Index span, const Real& sigma);

/// The density of the width, (w/sigma^2) exp(-w/sigma), w >= 0.
template <class Real>
Real width_density(const Real& w, const Real& sigma);

/// P(w > t) = (1 + t/sigma) exp(-t/sigma), t >= 0.
template <class Real>
Real width_tail(const Real& t, const Real& sigma);

/// P(the largest of s widths > t) = 1 - (1 - P(w > t))^s.
template <class Real>
Real max_width_tail(const Real& t, const Real& sigma, Index samples);

/// The t with P(the largest of s widths > t) = delta: sigma (-1 - W_{-1}(-p/e)) with
/// p = 1 - (1-delta)^(1/s), found as the root of (1+x) exp(-x) = p. delta in (0, 1).
template <class Real>
Real max_width_quantile(const Real& delta, const Real& sigma, Index samples);

/// E[(M^2)_ij] = sum_k exp(-(max(i,j,k) - min(i,j,k))/sigma)
///            = rho^d ((d+1) + g(min(i,j)) + g(n-1-max(i,j))), d = |i-j|, g as in row_sum.
template <class Real>
Real second_moment(Index length, const Real& sigma, Index i, Index j);

/// The matrix variance V = E[M^2] - L*^2, shape [n, n]:
/// V_ij = rho^d (f(min(i,j)) + f(n-1-max(i,j))), f(m) = rho (1-rho^m)/(1-rho)
/// - rho^2 (1-rho^(2m))/(1-rho^2).
template <class Real>
Matrix<Real> matrix_variance(Index length, const Real& sigma);

/// An upper bound on the spectral norm of V for every n: f increases to rho/(1-rho^2), so that
/// 0 <= V_ij <= L*_ij / sinh(1/sigma), and ||V|| <= coth(1/(2 sigma)) / sinh(1/sigma)
/// = 1 / (2 sinh(1/(2 sigma))^2), just below 2 sigma^2. It is the limit for n to infinity.
template <class Real>
Real matrix_variance_norm_bound(const Real& sigma);

/// P(s M~_ij = k), the binomial law with s trials and success probability exp(-distance/sigma).
template <class Real>
Real entry_probability(Index samples, Index k, Index distance, const Real& sigma);

/// P(|M~_ij - L*_ij| >= epsilon), by summation of the binomial law.
template <class Real>
Real entry_deviation_probability(Index samples, const Real& epsilon, Index distance,
                                 const Real& sigma);

/// Expected number of (i, j) pairs that at least one of s masks keeps: sum_ij 1 - (1 - p_ij)^s. It
/// is the work of a pass that scores each pair once; about 2 H_s sigma n, H_s = 1 + 1/2 + ... +
/// 1/s.
template <class Real>
Real expected_union_pairs(Index length, const Real& sigma, Index samples);

/// Expected number of (i, j) pairs that s masks keep, with multiplicity: s 1^T L* 1. It is the work
/// of the block-by-block algorithm; about 2 s sigma n.
template <class Real>
Real expected_block_pairs(Index length, const Real& sigma, Index samples);

/// Probability bounds for the largest block of one mask.
template <class Real>
struct ProbabilityBounds {
  Real low;
  Real high;
};

/// P(b_max > b) for one mask of length n lies between P(w >= b+1) and P(w > b).
///
/// Above: every block is at most ceil(w). Below, for b + 1 <= ceil(n/3): a width w <= n/2 has a
/// whole bin inside, of at least floor(w) positions; a wider one leaves at most three blocks.
/// Beyond that b the lower bound is 0, and for b >= n both are 0.
template <class Real>
ProbabilityBounds<Real> largest_block_tail(Index length, const Real& sigma, Index b);

}  // namespace plsh::reference
