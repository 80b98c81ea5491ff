#include <plsh/reference/expectation.hpp>
#include <plsh/reference/laws.hpp>

#include "validate.hpp"

namespace plsh::reference {
namespace {

// The k-th derivative of f(w) = (w - d) exp(-w/sigma) / sigma^2:
// (-1/sigma)^k ((w - d) - k sigma) exp(-w/sigma) / sigma^2.
Interval derivative(Index k, const Interval& w, const Interval& d, const Interval& sigma) {
  Interval factor = exp(Interval(-w / sigma)) / (sigma * sigma);
  for (Index m = 0; m < k; ++m) factor /= -sigma;
  return factor * ((w - d) - Interval(k) * sigma);
}

// The integral over [c - h, c + h]: odd Taylor terms cancel; the term of order `order` (even) taken
// over the whole panel encloses the remainder.
Interval panel_integral(const Interval& c, const Interval& h, const Interval& d,
                        const Interval& sigma, Index order) {
  Interval sum(0);
  Interval weight = Interval(2) * h;  // 2 h^(k+1) / (k+1)!
  for (Index k = 0; k < order; k += 2) {
    sum += weight * derivative(k, c, d, sigma);
    weight *= h * h / Interval((k + 2) * (k + 3));
  }
  return sum + weight * derivative(order, hull(Interval(c - h), Interval(c + h)), d, sigma);
}

}  // namespace

Interval integrated_pair_probability(Index distance, const Interval& sigma) {
  require_range("distance", distance, 0, max_length);
  require_sigma(sigma);
  const unsigned bits = working_precision_bits();
  const Interval d(distance);
  const Interval h = sigma / Interval(4);
  // On a panel the remainder is about (1/4)^order / order!; 2^-bits is reached well before this.
  const Index order = 2 * (static_cast<Index>(bits) / 8 + 4);
  // Beyond T = d + x sigma the mass is at most (1 + T/sigma) exp(-T/sigma).
  const Index panels = 2 * (static_cast<Index>(bits) * 7 / 10 + 64);
  Interval sum(0);
  for (Index k = 0; k < panels; ++k)
    sum += panel_integral(Interval(d + h * Interval(2 * k + 1)), h, d, sigma, order);
  const Interval end = d + h * Interval(2 * panels);
  return sum + hull(Interval(0), width_tail(end, sigma));
}

}  // namespace plsh::reference
