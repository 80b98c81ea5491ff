#include <plsh/reference/binning.hpp>

#include "validate.hpp"

namespace plsh::reference {
namespace {

void require_binning(const Binning& binning) {
  require(std::isfinite(binning.width) && binning.width > 0,
          "bin width w = " + std::to_string(binning.width) + " must be finite and above 0");
  require(std::isfinite(binning.shift),
          "shift u = " + std::to_string(binning.shift) + " must be finite");
}

Integer floor(const Rational& x) {
  Integer quotient;
  mpz_fdiv_q(quotient.backend().data(), mpq_numref(x.backend().data()),
             mpq_denref(x.backend().data()));
  return quotient;
}

Integer ceil(const Rational& x) { return -floor(Rational(-x)); }

Index clamp(const Integer& x, Index low, Index high) {
  if (x <= low) return low;
  if (x >= high) return high;
  return x.convert_to<Index>();
}

}  // namespace

Integer bin_of(Index position, const Binning& binning) {
  require_binning(binning);
  return floor(Rational((Rational(position) - Rational(binning.shift)) / Rational(binning.width)));
}

Block block_around(Index position, Index length, const Binning& binning) {
  require_length(length);
  require_range("position", position, 0, length - 1);
  // Bin k holds the positions i with u + k w <= i < u + (k+1) w.
  const Integer k = bin_of(position, binning);
  const Rational low = Rational(binning.shift) + Rational(k) * Rational(binning.width);
  const Rational high = low + Rational(binning.width);
  return {clamp(ceil(low), 0, length), clamp(ceil(high), 0, length)};
}

Partition partition_of(Index length, const Binning& binning) {
  require_length(length);
  require_binning(binning);
  std::vector<Index> starts;
  if (binning.width <= 1) {  // a half-open bin no longer than 1 holds at most one position
    starts.resize(static_cast<std::size_t>(length));
    for (Index i = 0; i < length; ++i) starts[static_cast<std::size_t>(i)] = i;
    return {length, std::move(starts)};
  }
  // The next start is the first position at or above the next boundary u + k w. The boundary is
  // kept as an integer multiple of 2^-shift, the common denominator of u and w.
  const Rational w(binning.width);
  const Integer first_bin = bin_of(0, binning);
  const Rational first_boundary = Rational(binning.shift) + Rational(Integer(first_bin + 1)) * w;
  const auto bits_of = [](const Rational& x) {
    return mpz_sizeinbase(mpq_denref(x.backend().data()), 2) - 1;  // denominators are powers of two
  };
  const auto shift = std::max(bits_of(w), bits_of(first_boundary));
  const auto scaled = [shift](const Rational& x) {
    return numerator(Rational(x * Rational(Integer(Integer(1) << shift))));
  };
  const Integer step = scaled(w);
  Integer boundary = scaled(first_boundary);
  Integer start;
  for (starts.push_back(0);;) {
    mpz_cdiv_q_2exp(start.backend().data(), boundary.backend().data(), shift);
    if (start >= length) break;
    const Index position = start.convert_to<Index>();
    if (position > starts.back()) starts.push_back(position);
    boundary += step;
  }
  return {length, std::move(starts)};
}

}  // namespace plsh::reference
