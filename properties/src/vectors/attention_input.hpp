/// \file
/// The input of an attention vector.
#pragma once

#include "../catalogue/attention/case.hpp"
#include "operations.hpp"

namespace plsh::properties::vectors {

struct AttentionInput {
  AttentionCase shape;  ///< lengths, heads, dimensions, causal, scale; its data are not used
  bool exact;
  bool backward;
  plsh_conventions conventions{};  ///< what the vector assumes, and the standard precisions
  std::vector<double> query, key, value;
  std::vector<double> output_gradient;                        ///< backward
  std::vector<double> slopes;                                 ///< exact, [batch, heads]
  std::vector<std::vector<reference::Partition>> partitions;  ///< sampled, [batch * heads]

  Index rows() const { return shape.batch * shape.query_length * shape.heads(); }
  std::vector<Index> query_shape() const;
  std::vector<Index> key_shape() const;
  std::vector<Index> value_shape() const;
  std::vector<Index> output_shape() const;
  std::vector<Index> log_sum_exp_shape() const;
  /// Every number is exact in the type.
  bool fits(Type type) const;
};

/// \throws std::invalid_argument
AttentionInput read_attention(const Json& input, bool exact, bool backward);
/// The members of "input".
Json attention_json(const AttentionInput& input);

/// The tensors of the input in one type.
AttentionProblem attention_problem(const AttentionInput& input, Type type);

/// All of f32 for f32 and the half precisions, f64 for f64: what tolerances assume.
plsh_precision standard_precision(Type type);

}  // namespace plsh::properties::vectors
