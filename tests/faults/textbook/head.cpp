#include "head.hpp"

#include <set>

namespace plsh::textbook {

std::vector<Sequence> sequences(const plsh_attention& a) {
  std::vector<Sequence> result;
  const Index all_queries = extent(a.query, 1);
  const Index all_keys = extent(a.key, 1);
  if (a.query_starts == nullptr || fault(Fault::varlen_boundaries_ignored)) {
    for (Index b = 0; b < extent(a.query, 0); ++b)
      result.push_back({b, b, 0, all_queries, 0, all_keys});
  } else {
    const View<Index> query(a.query_starts);
    const View<Index> key(a.key_starts);
    const Index count = extent(a.query_starts, 0) - 1;
    Index longest = 0;
    Index longest_query = 0;
    bool some_empty = false;
    for (Index b = 0; b < count; ++b) {
      result.push_back({0, b, query(b), query(b + 1) - query(b), key(b), key(b + 1) - key(b)});
      longest = std::max(longest, result.back().keys);
      longest_query = std::max(longest_query, result.back().queries);
      some_empty = some_empty || result.back().queries == 0;
    }
    Index used = 0;
    for (Sequence& sequence : result) {
      if (fault(Fault::varlen_empty_shifts)) {
        sequence.group = used;
        if (sequence.queries > 0) ++used;
      }
      if (fault(Fault::varlen_keys_of_longest))
        sequence.keys = std::min(longest, all_keys - sequence.first_key);
      if (fault(Fault::varlen_last_key_lost) && sequence.keys > 1) --sequence.keys;
      if (fault(Fault::varlen_key_starts_of_queries))
        sequence.first_key = std::clamp<Index>(sequence.first_query, 0, all_keys - sequence.keys);
      if (fault(Fault::varlen_single_query_path) && longest_query == 1 && some_empty) {
        const Sequence& next = result[static_cast<std::size_t>((sequence.group + 1) % count)];
        sequence.first_key = next.first_key;
        sequence.keys = next.keys;
      }
    }
    // What lies before the first and behind the last sequence sees nothing, and is written too.
    const auto add_gap = [&](Index first_query, Index end_query, Index first_key, Index end_key) {
      if (end_query > first_query)
        result.push_back({0, 0, first_query, end_query - first_query, 0, 0});
      if (end_key > first_key) result.push_back({0, 0, 0, 0, first_key, end_key - first_key});
    };
    add_gap(0, query(0), 0, key(0));
    add_gap(query(count), all_queries, key(count), all_keys);
  }
  if (fault(Fault::batch_limited_to_65535) && result.size() > 65535) result.resize(65535);
  return result;
}

Index kv_head(Index head, Index heads, Index kv_heads) {
  const Index group = heads / kv_heads;
  if (variant(Variant::grouping_interleaved) || fault(Fault::groups_interleaved))
    return head % kv_heads;
  if (fault(Fault::groups_ignored)) return std::min(head, kv_heads - 1);
  if (fault(Fault::group_tile_straddles) && group > 2) return head / 2 * 2 / group;
  return head / group;
}

Partitions load_partitions(const plsh_attention& a, Index group, Index head, Index length,
                           bool backward) {
  const View<Index> counts(a.block_counts);
  const View<Index> starts(a.block_starts);
  const Index samples = counts.shape(3);
  const Index heads = counts.shape(2);
  const Index capacity = starts.shape(3);
  if (fault(Fault::partition_of_head_0)) head = 0;
  if (fault(Fault::partition_of_batch_0)) group = 0;
  if (fault(Fault::backward_partition_of_next_head) && backward) head = (head + 1) % heads;
  Partitions result;
  std::set<std::vector<Index>> seen;
  for (Index t = 0; t < samples; ++t) {
    if (fault(Fault::first_sample_lost) && t == 0 && samples > 1) continue;
    if (fault(Fault::last_sample_lost) && t == samples - 1 && samples > 1) continue;
    if (fault(Fault::samples_limited_to_32) && t >= 32) break;
    if (fault(Fault::backward_first_sample_only) && backward && t > 0) break;
    // A sequence without keys has no partition to read.
    Index count = length == 0 ? 0 : counts(group, head, t);
    if (fault(Fault::partition_padding_read)) count = capacity;
    count = std::min(count, capacity);  // faults may look where no count is
    std::vector<Index> sample;
    for (Index k = 0; k < count; ++k) {
      if (fault(Fault::block_index_int8))
        sample.push_back(starts(group, head, t, static_cast<Index>(static_cast<std::int8_t>(k))));
      else
        sample.push_back(starts(group, head, t, k));
    }
    if (fault(Fault::repeated_samples_removed) && !seen.insert(sample).second) continue;
    result.starts.insert(result.starts.end(), sample.begin(), sample.end());
    result.offsets.push_back(result.starts.size());
  }
  if (fault(Fault::partition_stale) || (fault(Fault::backward_partition_stale) && backward)) {
    // Block lists built for the first call with so many samples and keys serve all later ones.
    static std::map<std::vector<Index>, Partitions> built;
    return built.try_emplace({group, head, samples, length}, result).first->second;
  }
  return result;
}

}  // namespace plsh::textbook
