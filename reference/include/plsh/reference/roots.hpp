/// \file
/// Bracketing root finder, the same for points and for intervals.
#pragma once

#include <functional>
#include <plsh/reference/real.hpp>

namespace plsh::reference {

/// The root of a function that is strictly decreasing on [low, high], with f(low) > 0 > f(high).
///
/// Bisection by sign. For `Interval` a step is taken only where the sign is certain, so the result
/// encloses the root, and its width is about the precision with which f's sign can be decided
/// there.
template <class Real>
Real root_of_decreasing(const std::function<Real(const Real&)>& f, const Real& low,
                        const Real& high);

}  // namespace plsh::reference
