/// \file
/// Attention of one head of one sequence, as the kernels see it.
#pragma once

#include <limits>

#include "tensor.hpp"

namespace plsh::optimized::cpu {

/// One partition of the positions 0..length-1.
struct Blocks {
  const Index* starts = nullptr;
  Index stride = 1;
  Index count = 0;
  Index length = 0;

  Index begin(Index block) const { return starts[block * stride]; }
  Index end(Index block) const { return block + 1 < count ? begin(block + 1) : length; }
  /// The block that holds a position of 0..length-1; fast when `near` is not far from it.
  Index find(Index position, Index near = 0) const;
};

struct Head {
  Rows query;                    ///< [queries, head_dim]
  Rows key;                      ///< [keys, head_dim]
  Rows value;                    ///< [keys, value_dim]
  Rows output;                   ///< [queries, value_dim]
  float* log_sum_exp = nullptr;  ///< [queries], or null
  Index log_sum_exp_stride = 1;
  Index queries = 0;
  Index keys = 0;
  Index head_dim = 0;
  Index value_dim = 0;
  Index offset = 0;  ///< query i is at position i + offset
  double scale = 1;
  bool causal = false;

  // Exact attention.
  double slope = 0;
  double window = std::numeric_limits<double>::infinity();

  // Sampled attention.
  const Blocks* partitions = nullptr;  ///< [samples]; null for exact attention
  Index samples = 0;
};

/// The keys [first, last) that a row at this position may see, before weights of zero.
struct KeyRange {
  Index first = 0;
  Index last = 0;
};
KeyRange visible_keys(const Head& head, Index position);

/// Writes one row by the definition, in double: the maximum first, keys that the row does not see
/// never touched. For rows without a key, and for those that the kernels could not hold in float.
void careful_row(const Head& head, Index row);

}  // namespace plsh::optimized::cpu
