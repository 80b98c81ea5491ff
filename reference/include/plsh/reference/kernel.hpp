/// \file
/// The ALiBi bias matrix as a multiplicative weight: L*_ij = exp(-|i-j| / sigma).
///
/// It is the Laplace kernel on the positions 0..n-1, known in linear algebra as the
/// Kac-Murdock-Szego matrix with rho = exp(-1/sigma).
#pragma once

#include <plsh/reference/real.hpp>

namespace plsh::reference {

template <class Real>
class AlibiKernel {
 public:
  /// \param length context length n, at least 1.
  /// \param sigma decay length in positions, finite and above 0; the ALiBi slope is 1/sigma.
  /// \throws std::invalid_argument outside these ranges.
  AlibiKernel(Index length, const Real& sigma);

  Index length() const { return length_; }
  const Real& sigma() const { return sigma_; }

  /// exp(-distance/sigma), distance >= 0.
  Real at_distance(Index distance) const;
  /// L*_ij.
  Real entry(Index i, Index j) const;
  /// Row i, shape [n].
  Vector<Real> row(Index i) const;
  /// Sum of row i: 1 + g(i) + g(n-1-i) with g(m) = rho (1 - rho^m) / (1 - rho).
  Real row_sum(Index i) const;
  /// Sum of all entries, 1^T L* 1 = n (1+rho)/(1-rho) - 2 rho (1-rho^n)/(1-rho)^2: by C1 the
  /// expected number of (query, key) pairs that one mask keeps.
  Real total() const;
  /// Sum over all pairs of p (1-p), p = L*_ij: s times the expected squared Frobenius error of the
  /// mean of s masks.
  Real total_entry_variance() const;
  /// The whole matrix, shape [n, n].
  Matrix<Real> dense() const;
  /// L* x in O(n): one recursion from the left, one from the right.
  Vector<Real> apply(const Vector<Real>& x) const;

  /// Spectral norm of L*, at any n.
  ///
  /// The largest eigenvalue is sinh(1/sigma) / (cosh(1/sigma) - cos a), where a is the only root in
  /// (0, pi/(n+1)) of the Kac-Murdock-Szego equation. On the symmetric eigenvectors that equation
  /// is cos((n+1)a/2) = rho cos((n-1)a/2), or, without cancellation,
  ///     tan(n a/2) tan(a/2) = tanh(1/(2 sigma)).
  /// For `Interval` the result encloses the norm.
  Real spectral_norm() const;

 private:
  Index length_;
  Real sigma_;
};

/// Upper limit of the spectral norm for every n: coth(1/(2 sigma)).
template <class Real>
Real spectral_norm_limit(const Real& sigma);

}  // namespace plsh::reference
