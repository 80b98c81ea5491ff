#include <plsh/reference/kernel.hpp>
#include <plsh/reference/roots.hpp>

#include "geometric.hpp"
#include "validate.hpp"

namespace plsh::reference {

template <class Real>
AlibiKernel<Real>::AlibiKernel(Index length, const Real& sigma) : length_(length), sigma_(sigma) {
  require_length(length);
  require_sigma(sigma);
}

template <class Real>
Real AlibiKernel<Real>::at_distance(Index distance) const {
  require_range("distance", distance, 0, max_length);
  return decay(distance, sigma_);
}

template <class Real>
Real AlibiKernel<Real>::entry(Index i, Index j) const {
  require_range("i", i, 0, length_ - 1);
  require_range("j", j, 0, length_ - 1);
  return at_distance(i < j ? j - i : i - j);
}

template <class Real>
Vector<Real> AlibiKernel<Real>::row(Index i) const {
  Vector<Real> result(length_);
  for (Index j = 0; j < length_; ++j) result[j] = entry(i, j);
  return result;
}

template <class Real>
Real AlibiKernel<Real>::row_sum(Index i) const {
  require_range("i", i, 0, length_ - 1);
  return Real(1) + geometric_sum(i, sigma_) + geometric_sum(length_ - 1 - i, sigma_);
}

namespace {

// sum_{i,j} exp(-|i-j|/sigma) = n (1 + 2 q) - 2 q (1 - rho^n) / (1 - rho), q = rho/(1-rho), i, j =
// 0..n-1. In rho, not 1/rho, which overflows where sigma is small. The two terms cancel where n is
// far below sigma; intervals show how far.
template <class Real>
Real total_of(Index length, const Real& sigma) {
  const Real n = Real(length);
  const Real one_minus_rho = -expm1(Real(Real(-1) / sigma));
  const Real q = decay(1, sigma) / one_minus_rho;
  const Real one_minus_rho_n = -expm1(Real(-n / sigma));
  return n * (Real(1) + Real(2) * q) - Real(2) * q * one_minus_rho_n / one_minus_rho;
}

}  // namespace

template <class Real>
Real AlibiKernel<Real>::total() const {
  return total_of(length_, sigma_);
}

template <class Real>
Real AlibiKernel<Real>::total_entry_variance() const {
  // p (1-p) = p - p^2, and p^2 is the kernel at half the decay length.
  return total_of(length_, sigma_) - total_of(length_, Real(sigma_ / Real(2)));
}

template <class Real>
Matrix<Real> AlibiKernel<Real>::dense() const {
  Vector<Real> by_distance(length_);
  for (Index d = 0; d < length_; ++d) by_distance[d] = at_distance(d);
  Matrix<Real> result(length_, length_);
  for (Index i = 0; i < length_; ++i)
    for (Index j = 0; j < length_; ++j) result(i, j) = by_distance[i < j ? j - i : i - j];
  return result;
}

template <class Real>
Vector<Real> AlibiKernel<Real>::apply(const Vector<Real>& x) const {
  require(x.size() == length_,
          "x must have " + std::to_string(length_) + " entries, not " + std::to_string(x.size()));
  const Real rho = at_distance(1);
  Vector<Real> y(length_);
  Real left(0);  // sum_{j <= i} rho^(i-j) x_j
  for (Index i = 0; i < length_; ++i) {
    left = rho * left + x[i];
    y[i] = left;
  }
  Real right(0);  // sum_{j > i} rho^(j-i) x_j
  for (Index i = length_ - 1; i >= 0; --i) {
    y[i] += right;
    right = rho * (right + x[i]);
  }
  return y;
}

template <class Real>
Real AlibiKernel<Real>::spectral_norm() const {
  if (length_ == 1) return Real(1);
  const Real h = Real(1) / (Real(2) * sigma_);
  const Real target = tanh(h);
  const Real n = Real(length_);
  // On (0, pi/(n+1)) both tangents increase and n a/2 < pi/2; at the right end the left-hand side
  // is cot(a/2) tan(a/2) = 1 > tanh h.
  const std::function<Real(const Real&)> f = [&](const Real& a) {
    return Real(target - tan(Real(n * a / Real(2))) * tan(Real(a / Real(2))));
  };
  const Real a =
      root_of_decreasing<Real>(f, Real(0), upper_point(Real(pi<Real>() / Real(length_ + 1))));
  // sinh(2h) / (cosh(2h) - cos a) = coth(h) / (1 + (sin(a/2) / sinh(h))^2).
  const Real quotient = sin(Real(a / Real(2))) / sinh(h);
  return Real(1) / (target * (Real(1) + quotient * quotient));
}

template <class Real>
Real spectral_norm_limit(const Real& sigma) {
  require_sigma(sigma);
  return Real(1) / tanh(Real(Real(1) / (Real(2) * sigma)));
}

#define PLSH_INSTANTIATE(REAL)      \
  template class AlibiKernel<REAL>; \
  template REAL spectral_norm_limit(const REAL&);
PLSH_FOR_EACH_REAL(PLSH_INSTANTIATE)

}  // namespace plsh::reference
