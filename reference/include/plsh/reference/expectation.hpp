/// \file
/// E[M(h)]_ij by certified integration, as a route independent of the closed form (claim C1).
#pragma once

#include <plsh/reference/real.hpp>

namespace plsh::reference {

/// The integral over w of max(0, 1 - distance/w) times the Gamma(2, sigma) density, as an interval.
///
/// On [distance, T] the integrand is (w - distance) exp(-w/sigma) / sigma^2. Each panel of width
/// sigma/2 is integrated by a Taylor polynomial about its middle, with the Lagrange remainder
/// evaluated over the whole panel; the rest beyond T lies in [0, P(w > T)]. The antiderivative is
/// not used.
Interval integrated_pair_probability(Index distance, const Interval& sigma);

}  // namespace plsh::reference
