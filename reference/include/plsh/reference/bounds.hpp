/// \file
/// The error bounds with explicit constants. Proofs: proofs-notes/.
#pragma once

#include <plsh/reference/attention.hpp>

namespace plsh::reference {

/// Max-norm error that s masks stay within with probability 1 - delta, by Hoeffding's inequality
/// and a union over the n (n-1)/2 pairs: sqrt(ln(n (n-1) / delta) / (2 s)); 0 for n = 1.
template <class Real>
Real max_norm_bound(Index length, Index samples, const Real& delta);

/// The same from the exact binomial tails: the smallest multiple of 1/(2s) for which the sum over
/// distances d of (n-d) P(|M~ - L*| > epsilon) is at most delta. Never larger than max_norm_bound.
/// Computed in double and accurate to its rounding, not certified.
double max_norm_bound_exact(Index length, double sigma, Index samples, double delta);

/// The parts of the spectral bound.
template <class Real>
struct SpectralBound {
  Real total;      ///< with probability 1 - delta, ||L* - M~||_2 <= total
  Real deviation;  ///< matrix Bernstein for the masks with widths cut at B
  Real bias;       ///< what cutting the widths at B changes in the mean
  Real cut;        ///< B
};

/// Spectral error bound. The widths are cut at B, P(any of s widths > B) = delta/2; N = the part of
/// the mean that is cut off, ||N|| <= E[(w+1) 1{w>B}] = bias; then matrix Bernstein with failure
/// probability delta/2, R = B + 1 (n where B >= n) and v = ||V|| + 2 ||L*|| bias:
///   deviation = (l R/3 + sqrt((l R/3)^2 + 2 s l v)) / s,  l = ln(4 n / delta).
/// \param delta in (0, 1).
template <class Real>
SpectralBound<Real> spectral_bound(Index length, const Real& sigma, Index samples,
                                   const Real& delta);

/// Bound on b_max, the largest block over s masks: with probability 1 - delta,
/// b_max <= min(n, ceil(t)), t = max_width_quantile(delta, sigma, s).
Index largest_block_bound(Index length, double sigma, Index samples, double delta);

/// A bound that holds for all Q, K, V at once, with probability 1 - delta over the masks alone:
/// row_relative_error_bound(...) >= max_i sum_j |L*_ij - M~_ij| / sum_j L*_ij.
/// With |logit| <= B it gives |T* - T~| <= 2 exp(2B) max|V| times it.
template <class Real>
Real row_relative_error_bound(Index length, const Real& sigma, Index samples, const Real& delta);

/// The deterministic output bound (claim C8), per query row:
/// |T*_i - T~_i| <= (2 max|V| / D_i) sum_j |L*_ij - M~_ij| E_ij, D_i = sum_j L*_ij E_ij.
/// Shape [n_q]. `weights` are the approximating weights (M~), shape [n_q, n_k], with at least one
/// visible positive weight in each row.
template <class Real>
Vector<Real> output_error_bound(const HeadInput<Real>& input, const Real& sigma,
                                const Matrix<Real>& weights);

}  // namespace plsh::reference
