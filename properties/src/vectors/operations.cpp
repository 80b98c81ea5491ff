#include "operations.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace plsh::properties::vectors {

const std::map<std::string, VectorOperation>& vector_operations() {
  static const std::map<std::string, VectorOperation> all{
      {"slopes", {compute_slopes, run_slopes, {Operation::slopes}}},
      {"kernel", {compute_kernel, nullptr, {}}},
      {"width_quantile", {compute_width_quantile, nullptr, {}}},
      {"partition_law", {compute_partition_law, nullptr, {}}},
      {"bins", {compute_bins, run_bins, {Operation::bins}}},
      {"partition", {compute_partition, run_partition, {Operation::bins}}},
      {"sample", {compute_sample, run_sample, {Operation::sample_partitions}}},
      {"mean_mask", {compute_mean_mask, run_mean_mask, {Operation::mean_mask}}},
      {"exact_forward",
       {compute_attention<true, false>, run_attention<true, false>, {Operation::exact_forward}}},
      {"exact_backward",
       {compute_attention<true, true>,
        run_attention<true, true>,
        {Operation::exact_forward, Operation::exact_backward}}},
      {"sampled_forward",
       {compute_attention<false, false>,
        run_attention<false, false>,
        {Operation::sampled_forward}}},
      {"sampled_backward",
       {compute_attention<false, true>,
        run_attention<false, true>,
        {Operation::sampled_forward, Operation::sampled_backward}}}};
  return all;
}

const VectorOperation& vector_operation(const std::string& name) {
  const auto found = vector_operations().find(name);
  if (found != vector_operations().end()) return found->second;
  std::vector<std::string> known;
  for (const auto& [each, operation] : vector_operations()) known.push_back(each);
  throw std::invalid_argument(
      fmt::format("unknown operation \"{}\"; known are {}", name, fmt::join(known, ", ")));
}

PartitionLists read_partitions(const Json& input, Index length) {
  const Nested list = read_nested(member(input, "block_starts"), 3, "block_starts");
  PartitionLists result{list.shape[0], list.shape[1], list.shape[2], {}};
  for (std::size_t k = 0; k < list.leaves.size(); ++k) {
    std::vector<Index> starts;
    const Nested each = read_nested(list.leaves[k], 1, "block_starts");
    for (const Json& start : each.leaves)
      starts.push_back(read_integer(Json{{"block_starts", start}}, "block_starts", 0, length - 1));
    if (k % static_cast<std::size_t>(result.samples) == 0) result.of_head.emplace_back();
    result.of_head.back().emplace_back(length, std::move(starts));
  }
  return result;
}

void require_written(const Tensor& tensor, const char* name) {
  if (const auto damage = tensor.damage(name)) throw Violation(*damage);
  if (const auto index = tensor.first_unwritten())
    throw Violation(fmt::format("{}{} was never written", name, *index));
}

}  // namespace plsh::properties::vectors
