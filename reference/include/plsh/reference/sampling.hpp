/// \file
/// Random binnings as a pure function of (seed, head, sample).
///
/// The stream is counter-based (Philox4x32-10, Random123): no state, no order, no dependence on
/// threads or batches. Another implementation that follows the lines below draws the same binnings.
///
///  - Philox key: the low and high 32 bits of `seed`.
///  - Philox counter: (sample low 32 bits, sample high 32 bits, head, block), block = 0, 1.
///    Block 0 gives four 32-bit words x0..x3, block 1 gives y0..y3.
///  - Three uniforms, each from 52 bits, the midpoint of its cell: for a 64-bit word
///    z = high:low, U(z) = (2 floor(z / 2^12) + 1) / 2^53. It is an odd multiple of 2^-53, exact in
///    double, never 0 and never 1.
///    U1 = U(x1:x0), U2 = U(x3:x2), U3 = U(y1:y0).
///  - Width: w = -sigma ln(U1 U2), correctly rounded to double. -ln U1 - ln U2 is a sum of two
///    exponentials, hence Gamma(shape 2), whose density with scale sigma is (w/sigma^2)
///    exp(-w/sigma).
///  - Shift: u = w U3, correctly rounded; since U3 <= 1 - 2^-53, 0 < u < w.
///
/// End points: 2^-53 <= U <= 1 - 2^-53, so 2.2e-16 < w/sigma < 73.5: no zero, infinite or NaN width
/// can arise. The tail cut off beyond 73.5 sigma has probability below 1e-30.
#pragma once

#include <plsh/reference/binning.hpp>
#include <vector>

namespace plsh::reference {

/// Names one draw.
struct SampleId {
  std::uint64_t seed;
  std::uint32_t head;
  std::uint64_t sample;
};

/// The three uniforms of a draw, each an odd multiple of 2^-53 in (0, 1).
struct Uniforms {
  double first;
  double second;
  double third;
};
Uniforms draw_uniforms(const SampleId& id);

/// The binning of a draw. \param sigma decay length, 1e-150 to 1e150 positions.
/// \throws std::invalid_argument when sigma is outside that range.
Binning draw_binning(const SampleId& id, double sigma);

/// The partitions of samples first, ..., first + count - 1 of one head.
std::vector<Partition> draw_partitions(Index length, double sigma, std::uint64_t seed,
                                       std::uint32_t head, Index count, std::uint64_t first = 0);

}  // namespace plsh::reference
