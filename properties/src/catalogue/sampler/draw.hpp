/// \file
/// Calls `sample_partitions` and reads what comes back.
#pragma once

#include <optional>
#include <plsh/properties/implementation.hpp>
#include <plsh/properties/partition_evidence.hpp>
#include <span>
#include <string>
#include <vector>

namespace plsh::properties {

/// The arguments of one call. Shapes: sigmas [heads].
struct SamplerCall {
  std::uint64_t seed = 0;
  Index first_sample = 0;
  Index length = 1;
  std::vector<double> sigmas{1};
  Index batch = 1;
  Index samples = 1;
  int threads = 1;
  Layout layout = Layout::packed;
};

/// A number of samples per call that keeps the output below about 24 MB, at most 4096.
Index samples_per_call(Index length, Index heads = 1, Index batch = 1);

class Sampler {
 public:
  explicit Sampler(const Implementation& implementation) : implementation_(implementation) {}

  /// One call; its results replace the ones before. \throws Refused, Violation.
  void draw(const SamplerCall& call);
  /// What the last call did to memory: wrote outside its outputs, changed its input, left a block
  /// count or a block start unwritten.
  std::optional<std::string> damage() const;

  /// Block starts of one sample, as returned. \throws Violation when the count is not in 1..length.
  std::vector<Index> starts(Index item, Index head, Index sample) const;
  /// \throws Violation with the first wrong entries when these are not block starts.
  reference::Partition partition(Index item, Index head, Index sample) const;
  /// The region of a partition. Empty when the partition is unreachable, but only within what the
  /// declared precision of the bins explains. \throws Violation with the block sizes when no (w, u)
  /// gives the partition at all.
  std::optional<reference::PartitionRegion> region(Index item, Index head, Index sample) const;

 private:
  const Implementation& implementation_;
  SamplerCall call_;
  std::optional<Tensor> sigma_;
  std::optional<Tensor> counts_;
  std::optional<Tensor> starts_;
};

/// "5, 4, 5, ...": the first block sizes, at most `limit`.
std::string block_sizes(const reference::Partition& partition, Index limit = 24);
/// A 64-bit key of block starts (FNV-1a over the numbers).
std::uint64_t partition_key(std::span<const Index> starts);
/// How far a boundary may be misplaced, in positions, by bins in the declared precision.
double boundary_slack(const Implementation& implementation, Index length);
/// A seed for part `part` of a case, well mixed (SplitMix64).
std::uint64_t mixed_seed(std::uint64_t seed, std::uint64_t part);

}  // namespace plsh::properties
