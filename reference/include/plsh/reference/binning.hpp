/// \file
/// The hash h(i) = floor((i-u)/w) and its blocks, in exact arithmetic.
///
/// A double is a rational number, so the bins of given doubles (w, u) are decided without rounding,
/// also for positions on a bin edge and up to 10^12.
#pragma once

#include <plsh/reference/partition.hpp>

namespace plsh::reference {

/// One random binning: bins of width w, shifted by u, both in positions.
struct Binning {
  double width;
  double shift;
  bool operator==(const Binning&) const = default;
};

/// h(position) = floor((position - u)/w), exactly.
/// \throws std::invalid_argument unless w is finite and above 0 and u is finite.
Integer bin_of(Index position, const Binning& binning);

/// The block that holds `position` within 0..length-1, exactly and without listing the others.
/// \throws std::invalid_argument on a bad binning, length < 1, or a position outside the range.
Block block_around(Index position, Index length, const Binning& binning);

/// All blocks of 0..length-1, exactly. Time and memory O(number of blocks).
/// \throws std::invalid_argument on a bad binning or length < 1.
Partition partition_of(Index length, const Binning& binning);

}  // namespace plsh::reference
