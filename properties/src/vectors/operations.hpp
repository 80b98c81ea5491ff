/// \file
/// What a vector of each operation expects, and how an implementation is asked for it.
#pragma once

#include <map>
#include <plsh/reference/partition.hpp>

#include "numbers.hpp"

namespace plsh::properties::vectors {

/// What the input of a vector leads to.
struct Computed {
  Json expected;
  Json tolerance = Json::object();  ///< by type; empty where none is derived
};

struct Run {
  VectorResult::Status status = VectorResult::Status::passed;
  std::string message;
};
inline Run fail(std::string message) { return {VectorResult::Status::failed, std::move(message)}; }
inline Run unsuitable(std::string why) {
  return {VectorResult::Status::unsuitable, std::move(why)};
}

/// \throws std::invalid_argument for an input that is damaged, or larger than a vector may be.
using Compute = Computed (*)(const Json& input, const Digits& digits);
/// Null: no operation of the interface tells. \throws Violation, Refused, std::invalid_argument.
using RunVector = Run (*)(const Implementation&, const Json& vector);

struct VectorOperation {
  Compute compute;
  RunVector run;
  std::vector<Operation> needs;  ///< of the interface
};

/// By the name of the operation.
const std::map<std::string, VectorOperation>& vector_operations();
/// \throws std::invalid_argument naming the known ones.
const VectorOperation& vector_operation(const std::string& name);

Computed compute_slopes(const Json& input, const Digits& digits);
Run run_slopes(const Implementation& implementation, const Json& vector);
Computed compute_kernel(const Json& input, const Digits& digits);
Computed compute_width_quantile(const Json& input, const Digits& digits);
Computed compute_partition_law(const Json& input, const Digits& digits);
Computed compute_bins(const Json& input, const Digits& digits);
Run run_bins(const Implementation& implementation, const Json& vector);
Computed compute_partition(const Json& input, const Digits& digits);
Run run_partition(const Implementation& implementation, const Json& vector);
Computed compute_sample(const Json& input, const Digits& digits);
Run run_sample(const Implementation& implementation, const Json& vector);
Computed compute_mean_mask(const Json& input, const Digits& digits);
Run run_mean_mask(const Implementation& implementation, const Json& vector);
template <bool exact, bool backward>
Computed compute_attention(const Json& input, const Digits& digits);
template <bool exact, bool backward>
Run run_attention(const Implementation& implementation, const Json& vector);

/// Partitions as "block_starts", [batch][heads][samples] and the starts of each.
struct PartitionLists {
  Index batch, heads, samples;
  std::vector<std::vector<reference::Partition>> of_head;  ///< [batch * heads][samples]
};
PartitionLists read_partitions(const Json& input, Index length);

/// An output that was called for: written everywhere, and nothing beside it. \throws Violation
void require_written(const Tensor& tensor, const char* name);

}  // namespace plsh::properties::vectors
