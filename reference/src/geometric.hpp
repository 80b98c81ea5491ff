/// The powers rho^d, rho = exp(-1/sigma), and their sums, from which the closed forms are built.
#pragma once

#include <plsh/reference/real.hpp>

namespace plsh::reference {

/// rho^distance.
template <class Real>
Real decay(Index distance, const Real& sigma) {
  return exp(Real(-Real(distance) / sigma));
}

/// g(m) = rho + rho^2 + ... + rho^m = rho (1 - rho^m) / (1 - rho)
///      = (1 - rho^m) / (exp(1/sigma) - 1).
template <class Real>
Real geometric_sum(Index m, const Real& sigma) {
  return -expm1(Real(-Real(m) / sigma)) / expm1(Real(Real(1) / sigma));
}

}  // namespace plsh::reference
