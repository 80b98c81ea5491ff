#include "draw.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace plsh::properties {
namespace {

std::string place(Index item, Index head, Index sample) {
  return fmt::format("batch item {}, head {}, sample {}", item, head, sample);
}

const std::int64_t* entry(const Tensor& tensor, std::initializer_list<Index> index) {
  const DLTensor& view = *tensor.view();
  const auto* at = static_cast<const std::int64_t*>(view.data);
  std::size_t axis = 0;
  for (const Index i : index) at += i * view.strides[axis++];
  return at;
}

}  // namespace

Index samples_per_call(Index length, Index heads, Index batch) {
  return std::clamp<Index>(3'000'000 / (length * heads * batch), 1, 4096);
}

void Sampler::draw(const SamplerCall& call) {
  const auto heads = static_cast<Index>(call.sigmas.size());
  const std::vector<Index> counts_shape{call.batch, heads, call.samples};
  const std::vector<Index> starts_shape{call.batch, heads, call.samples, call.length};
  const bool reuse = counts_ && call.layout == call_.layout && counts_->shape() == counts_shape &&
                     starts_->shape() == starts_shape;
  if (reuse) {
    counts_->clear();
    starts_->clear();
  } else {
    sigma_.emplace(Type::f64, std::vector<Index>{heads},
                   call.layout == Layout::packed ? Layout::packed : Layout::padded);
    counts_.emplace(Type::i64, counts_shape, call.layout);
    starts_.emplace(Type::i64, starts_shape, call.layout);
  }
  if (!reuse || call.sigmas != call_.sigmas) {
    for (Index h = 0; h < heads; ++h) sigma_->set({h}, call.sigmas[static_cast<std::size_t>(h)]);
    sigma_->seal();
  }
  call_ = call;
  plsh_sampling arguments{};
  arguments.seed = call.seed;
  arguments.first_sample = call.first_sample;
  arguments.length = call.length;
  arguments.sigma = sigma_->view();
  arguments.threads = call.threads;
  arguments.block_counts = counts_->view();
  arguments.block_starts = starts_->view();
  implementation_.sample_partitions(arguments);
}

std::optional<std::string> Sampler::damage() const {
  if (auto text = sigma_->damage("sigma")) return text;
  if (auto text = counts_->damage("block_counts")) return text;
  if (auto text = starts_->damage("block_starts")) return text;
  if (auto index = counts_->first_unwritten()) return "block_counts" + *index + " was not written";
  return std::nullopt;
}

std::vector<Index> Sampler::starts(Index item, Index head, Index sample) const {
  const Index count = *entry(*counts_, {item, head, sample});
  if (count < 1 || count > call_.length)
    throw Violation(
        fmt::format("block_counts is {} ({}), must be 1 to {}; -1 is an entry that was "
                    "never written",
                    count, place(item, head, sample), call_.length));
  const std::int64_t* first = entry(*starts_, {item, head, sample});
  const Index stride = starts_->view()->strides[3];
  std::vector<Index> result(static_cast<std::size_t>(count));
  for (Index b = 0; b < count; ++b) result[static_cast<std::size_t>(b)] = first[b * stride];
  return result;
}

reference::Partition Sampler::partition(Index item, Index head, Index sample) const {
  std::vector<Index> all = starts(item, head, sample);
  for (std::size_t b = 0; b < all.size(); ++b) {
    const bool good = b == 0 ? all[b] == 0 : all[b] > all[b - 1] && all[b] < call_.length;
    if (!good)
      throw Violation(fmt::format(
          "block_starts[{}] is {}{} ({}, length {}, sigma {}); starts must be 0, then strictly "
          "increasing and below the length",
          b, all[b], b == 0 ? std::string() : fmt::format(" after {}", all[b - 1]),
          place(item, head, sample), call_.length, call_.sigmas[static_cast<std::size_t>(head)]));
  }
  return {call_.length, std::move(all)};
}

std::optional<reference::PartitionRegion> Sampler::region(Index item, Index head,
                                                          Index sample) const {
  const reference::Partition drawn = partition(item, head, sample);
  reference::PartitionRegion region(drawn);
  if (region.reachable()) return region;
  if (region.margin() + 2 * boundary_slack(implementation_, call_.length) > 0) return std::nullopt;
  throw Violation(fmt::format(
      "no width and shift give blocks of the sizes {} ({}, seed {}, length {}, sigma {}): the "
      "boundaries are {:.3g} positions away from equally spaced ones",
      block_sizes(drawn), place(item, head, sample), call_.seed, call_.length,
      call_.sigmas[static_cast<std::size_t>(head)], -region.margin() / 2));
}

std::string block_sizes(const reference::Partition& partition, Index limit) {
  // The first cuts are often regular: show the part up to a little beyond the first odd size.
  std::string text;
  const Index shown = std::min(partition.block_count(), limit);
  for (Index b = 0; b < shown; ++b)
    text += fmt::format("{}{}", b == 0 ? "" : ", ", partition.block(b).size());
  if (shown < partition.block_count()) {
    Index smallest = partition.length();
    Index largest = 0;
    for (Index b = 1; b + 1 < partition.block_count(); ++b) {
      smallest = std::min(smallest, partition.block(b).size());
      largest = std::max(largest, partition.block(b).size());
    }
    text += fmt::format(", ... ({} blocks, the inner ones of {} to {} positions)",
                        partition.block_count(), smallest, largest);
  }
  return text;
}

std::uint64_t partition_key(std::span<const Index> starts) {
  std::uint64_t key = 0xcbf29ce484222325u;
  for (const Index start : starts) key = (key ^ static_cast<std::uint64_t>(start)) * 0x100000001b3u;
  return key;
}

double boundary_slack(const Implementation& implementation, Index length) {
  // A boundary t + k w is one product, one sum and the rounding of w and t, in either order.
  const auto n = static_cast<double>(length);
  return implementation.conventions().bin_precision == PLSH_BINS_F32 ? n * 0x1p-22 : n * 0x1p-51;
}

std::uint64_t mixed_seed(std::uint64_t seed, std::uint64_t part) {
  std::uint64_t z = seed + 0x9e3779b97f4a7c15u * (part + 1);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

}  // namespace plsh::properties
