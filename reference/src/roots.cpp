#include <array>
#include <plsh/reference/roots.hpp>

#include "validate.hpp"

namespace plsh::reference {
namespace {

Interval enclose(const Interval& low, const Interval& high) { return hull(low, high); }
double enclose(double low, double high) { return low + (high - low) / 2; }
Mpfr enclose(const Mpfr& low, const Mpfr& high) { return low + (high - low) / 2; }

}  // namespace

template <class Real>
Real root_of_decreasing(const std::function<Real(const Real&)>& f, const Real& low,
                        const Real& high) {
  Real a = low;
  Real b = high;
  // The middle first; where its sign is undecided (it is the root, or too near) two others, so that
  // one unlucky point does not end the search early.
  constexpr std::array<double, 3> fractions{0.5, 0.40625, 0.59375};
  for (bool progress = true; progress;) {
    progress = false;
    const Real span = b - a;
    const Real a0 = a;
    for (const double fraction : fractions) {
      const Real middle = point(Real(a0 + span * fraction));
      if (!certainly_positive(Real(middle - a)) || !certainly_positive(Real(b - middle))) continue;
      const Real value = f(middle);
      if (certainly_positive(value)) {
        a = middle;
        progress = true;
      } else if (certainly_negative(value)) {
        b = middle;
        progress = true;
      } else if constexpr (!is_interval<Real>) {
        return middle;  // f(middle) == 0
      }
      if (progress && fraction == fractions[0]) break;
    }
  }
  return enclose(a, b);
}

#define PLSH_INSTANTIATE(REAL)                                                           \
  template REAL root_of_decreasing(const std::function<REAL(const REAL&)>&, const REAL&, \
                                   const REAL&);
PLSH_FOR_EACH_REAL(PLSH_INSTANTIATE)

}  // namespace plsh::reference
