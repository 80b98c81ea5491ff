/// \file
/// Random partitions: the documented stream of binnings, and bins in exact arithmetic.
#pragma once

#include <vector>

#include "tensor.hpp"

namespace plsh::optimized::cpu {

/// Bin k holds the positions i with floor((i - shift)/width) = k.
struct Binning {
  double width;  ///< > 0
  double shift;  ///< 0 <= shift <= width
};

/// The binning of one sample of one head: Philox4x32-10 with key (low, high half of seed) and
/// counter (low, high half of sample, head, block). Blocks 0 and 1 give words x0..x3 and y0..y3;
/// with U(high:low) = (2 floor(z / 2^12) + 1) / 2^53 for z = high:low, w = -sigma ln(U(x1:x0)
/// U(x3:x2)) and u = w U(y1:y0), each correctly rounded to double.
Binning draw(std::uint64_t seed, std::uint32_t head, std::uint64_t sample, double sigma);

/// The least integer >= shift + k width for 0 <= k: in exact arithmetic below 2^52, and 2^62 for
/// all that is larger.
Index first_of_bin(const Binning& binning, Index k);

/// The first positions of the blocks of 0..length-1, ascending, from 0 on.
void block_starts(const Binning& binning, Index length, std::vector<Index>& starts);

/// Labels of ascending positions: equal exactly when the bins are.
void bins(const Binning& binning, const DLTensor& positions, Index* labels, Index stride);

}  // namespace plsh::optimized::cpu
