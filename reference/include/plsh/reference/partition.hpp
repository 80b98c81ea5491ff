/// \file
/// A partition of the positions 0..n-1 into contiguous blocks, and its binary mask.
#pragma once

#include <Eigen/SparseCore>
#include <plsh/reference/real.hpp>
#include <span>
#include <vector>

namespace plsh::reference {

/// The half-open range of positions [begin, end).
struct Block {
  Index begin;
  Index end;
  Index size() const { return end - begin; }
  bool operator==(const Block&) const = default;
};

/// Block starts 0 = c_0 < c_1 < ... < c_{m-1} < n. That the blocks are contiguous, disjoint, not
/// empty and cover every position (claim C2) holds by this representation.
class Partition {
 public:
  /// \throws std::invalid_argument unless 0 = starts[0] < starts[1] < ... < length.
  Partition(Index length, std::vector<Index> starts);

  Index length() const { return length_; }
  Index block_count() const { return static_cast<Index>(starts_.size()); }
  Block block(Index b) const;
  const std::vector<Index>& starts() const { return starts_; }
  /// The number of the block that holds `position`, in O(log blocks).
  Index block_of(Index position) const;
  Index largest_block() const;
  /// The number of (i, j) pairs that share a block: the sum of the squared block sizes.
  Index pair_count() const;
  bool operator==(const Partition&) const = default;

 private:
  Index length_;
  std::vector<Index> starts_;
};

/// M with M_ij = 1 when i and j share a block, else 0; shape [n, n].
Matrix<Index> mask(const Partition& partition);

/// The number of samples in which i and j share a block: s M~, shape [n, n].
Matrix<Index> co_occurrence_counts(std::span<const Partition> samples);

/// M~ = counts / s, shape [n, n].
template <class Real>
Matrix<Real> mean_mask(std::span<const Partition> samples);

/// The one-hot random binning features of all samples side by side, before the factor 1/sqrt(s):
/// an integer matrix Z of shape [n, total number of blocks] with Z Z^T = s M~ (claim C12).
Eigen::SparseMatrix<Index> binning_features(std::span<const Partition> samples);

}  // namespace plsh::reference
