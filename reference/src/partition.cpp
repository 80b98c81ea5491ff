#include <algorithm>
#include <plsh/reference/partition.hpp>

#include "validate.hpp"

namespace plsh::reference {

Partition::Partition(Index length, std::vector<Index> starts)
    : length_(length), starts_(std::move(starts)) {
  require_length(length);
  require(!starts_.empty() && starts_.front() == 0, "block starts must begin with 0");
  require(
      std::adjacent_find(starts_.begin(), starts_.end(), std::greater_equal<>()) == starts_.end(),
      "block starts must increase strictly");
  require(starts_.back() < length, "block start " + std::to_string(starts_.back()) +
                                       " is not below the length " + std::to_string(length));
}

Block Partition::block(Index b) const {
  require_range("block", b, 0, block_count() - 1);
  const auto k = static_cast<std::size_t>(b);
  return {starts_[k], k + 1 < starts_.size() ? starts_[k + 1] : length_};
}

Index Partition::block_of(Index position) const {
  require_range("position", position, 0, length_ - 1);
  return std::upper_bound(starts_.begin(), starts_.end(), position) - starts_.begin() - 1;
}

Index Partition::largest_block() const {
  Index largest = 0;
  for (Index b = 0; b < block_count(); ++b) largest = std::max(largest, block(b).size());
  return largest;
}

Index Partition::pair_count() const {
  Index pairs = 0;
  for (Index b = 0; b < block_count(); ++b) pairs += block(b).size() * block(b).size();
  return pairs;
}

Matrix<Index> mask(const Partition& partition) {
  return co_occurrence_counts(std::span(&partition, 1));
}

Matrix<Index> co_occurrence_counts(std::span<const Partition> samples) {
  require(!samples.empty(), "at least one sample is needed");
  const Index n = samples.front().length();
  Matrix<Index> counts = Matrix<Index>::Zero(n, n);
  for (const Partition& partition : samples) {
    require(partition.length() == n, "all samples must have the same length");
    for (Index b = 0; b < partition.block_count(); ++b) {
      const Block block = partition.block(b);
      counts.block(block.begin, block.begin, block.size(), block.size()).array() += 1;
    }
  }
  return counts;
}

template <class Real>
Matrix<Real> mean_mask(std::span<const Partition> samples) {
  const Matrix<Index> counts = co_occurrence_counts(samples);
  const Real s = Real(static_cast<Index>(samples.size()));
  Matrix<Real> result(counts.rows(), counts.cols());
  for (Index i = 0; i < counts.rows(); ++i)
    for (Index j = 0; j < counts.cols(); ++j) result(i, j) = Real(counts(i, j)) / s;
  return result;
}

Eigen::SparseMatrix<Index> binning_features(std::span<const Partition> samples) {
  require(!samples.empty(), "at least one sample is needed");
  const Index n = samples.front().length();
  std::vector<Eigen::Triplet<Index>> ones;
  Index column = 0;
  for (const Partition& partition : samples) {
    require(partition.length() == n, "all samples must have the same length");
    for (Index b = 0; b < partition.block_count(); ++b, ++column) {
      const Block block = partition.block(b);
      for (Index i = block.begin; i < block.end; ++i)
        ones.emplace_back(static_cast<int>(i), static_cast<int>(column), 1);
    }
  }
  Eigen::SparseMatrix<Index> features(n, column);
  features.setFromTriplets(ones.begin(), ones.end());
  return features;
}

#define PLSH_INSTANTIATE(REAL) template Matrix<REAL> mean_mask(std::span<const Partition>);
PLSH_FOR_EACH_REAL(PLSH_INSTANTIATE)

}  // namespace plsh::reference
