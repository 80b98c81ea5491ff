#include <plsh/reference/expectation.hpp>
#include <plsh/reference/laws.hpp>

#include "validate.hpp"

namespace plsh::reference {
namespace {

// The integral of f(w) = (w - d) exp(-w/sigma) / sigma^2 over [c - h, c + h]. Its k-th derivative
// is (-1/sigma)^k ((w - d) - k sigma) exp(-w/sigma) / sigma^2. Odd Taylor terms cancel; the term of
// order `order` (even) taken over the whole panel encloses the remainder.
Interval panel_integral(const Interval& c, const Interval& h, const Interval& d,
                        const Interval& sigma, Index order) {
  const Interval sigma_squared = sigma * sigma;
  const Interval step = h * h / sigma_squared;
  const auto scaled = [&](Index k,
                          const Interval& w) {  // sigma^k times the k-th derivative, k even
    return Interval(((w - d) - Interval(k) * sigma) / sigma_squared);
  };
  Interval sum(0);
  Interval weight = Interval(2) * h;  // 2 h^(k+1) / (sigma^k (k+1)!)
  for (Index k = 0; k < order; k += 2) {
    sum += weight * scaled(k, c);
    weight *= step / Interval((k + 2) * (k + 3));
  }
  const Interval panel = hull(Interval(c - h), Interval(c + h));
  return sum * exp(Interval(-c / sigma)) +
         weight * scaled(order, panel) * exp(Interval(-panel / sigma));
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
