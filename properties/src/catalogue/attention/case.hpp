/// \file
/// One case of an attention property: a few parameters from which every tensor follows, and the
/// calls on it.
#pragma once

#include <plsh/properties/property.hpp>
#include <plsh/reference/partition.hpp>

namespace plsh::properties {

/// What the queries, keys and values hold.
enum class Fill {
  normal,           ///< standard normal: what a network has at initialisation
  dyadic,           ///< small multiples of 1/4: exact in every type
  zero_scores,      ///< queries 0, so that outputs are the weights; values normal
  sharp,            ///< large queries: one key takes nearly all weight
  large_logits,     ///< logits up to some thousands, far beyond exp's range without a shift
  ties,             ///< queries and keys from a handful of vectors: equal logits
  constant_value,   ///< values the same for every key
  indicator_value,  ///< value j is 1 in component j mod value_dim: outputs show which keys were
                    ///< used
  half_overflow,    ///< queries and keys 32 throughout: with head_dim 64 their product is 65536
  far_below_zero    ///< queries 32, keys -32 throughout: every logit far below zero
};

/// The partitions of sampled attention.
enum class Blocks {
  random,      ///< drawn from the law, by the reference's sampler
  whole,       ///< one block
  singletons,  ///< every position alone
  equal,       ///< blocks of 3
  uneven,      ///< sizes 1, 2, 3, ... : block ends at all offsets of a tile
  cut_once     ///< two blocks, the cut anywhere
};

struct AttentionCase {
  Type type = Type::f32;
  Index batch = 1;         ///< also the number of sequences when lengths are given
  Index query_length = 1;  ///< ignored when lengths are given
  Index key_length = 1;
  Index kv_heads = 1;
  Index group = 1;  ///< query heads = kv_heads * group
  Index head_dim = 1;
  Index value_dim = 1;
  Index samples = 1;
  bool causal = false;
  std::vector<Index> query_lengths;  ///< of each sequence; empty: not variable
  std::vector<Index> key_lengths;    ///< as many
  double scale = 0;                  ///< 0: 1/sqrt(head_dim)
  double sigma = 4;                  ///< of head 0, batch item 0; others differ
  Fill fill = Fill::normal;
  Blocks blocks = Blocks::random;
  Layout query_layout = Layout::packed;
  Layout key_layout = Layout::packed;
  Layout value_layout = Layout::packed;
  Layout output_layout = Layout::packed;  ///< of output, gradients
  bool log_sum_exp = true;
  int threads = 0;
  std::uint64_t seed = 0;

  Index heads() const { return kv_heads * group; }
  bool variable() const { return !query_lengths.empty(); }
};
void to_json(nlohmann::json& json, const AttentionCase& c);
/// Absent members keep their defaults. \throws std::invalid_argument naming a bad member.
void from_json(const nlohmann::json& json, AttentionCase& c);

/// One sequence (batch item) of a case: where its rows lie and how long it is.
struct Sequence {
  Index batch;        ///< index along the batch axis of Q, K, V
  Index query_begin;  ///< along the length axis
  Index key_begin;
  Index query_length;
  Index key_length;
};

/// The tensors of a case, filled, and the calls on them.
class AttentionProblem {
 public:
  /// Inputs are filled and sealed. Which partitions, slopes and values: a pure function of `c`.
  explicit AttentionProblem(const AttentionCase& c);

  const AttentionCase& parameters() const { return case_; }
  const std::vector<Sequence>& sequences() const { return sequences_; }
  double scale() const;
  /// The slope of a head, as stored (an f32 value).
  double slope(Index sequence, Index head) const { return slopes.get({sequence, head}); }
  /// The partitions of 0..key_length-1 of one head; empty when the sequence has no keys.
  const std::vector<reference::Partition>& partitions(Index sequence, Index head) const;
  /// Replaces the partitions of a head and writes them to the tensors (sealed again).
  void set_partitions(Index sequence, Index head, std::vector<reference::Partition> partitions);
  /// Call after changing an input tensor.
  void seal_inputs();

  /// Runs forward (exact or sampled) on cleared outputs. Every output element must have been
  /// written, nothing else may have been. \throws Violation, Refused.
  void forward(const Implementation& implementation, bool exact);
  /// Runs backward; forward of the same kind must have been run, with log-sum-exp.
  void backward(const Implementation& implementation, bool exact);

  Tensor query, key, value, slopes, block_counts, block_starts, query_starts, key_starts;
  Tensor output, log_sum_exp, output_gradient, query_gradient, key_gradient, value_gradient;

 private:
  plsh_attention arguments();
  void write_partitions();
  void check(const std::vector<std::pair<const char*, Tensor*>>& inputs,
             const std::vector<std::pair<const char*, Tensor*>>& outputs) const;
  AttentionCase case_;
  std::vector<Sequence> sequences_;
  std::vector<std::vector<reference::Partition>> partitions_;  // [sequence * heads + head]
};

/// The position of query i: i, or i + n_k - n_q, as declared.
Index query_offset(const plsh_conventions& conventions, const Sequence& sequence);
/// The key/value head of a query head, as declared.
Index kv_head(const plsh_conventions& conventions, const AttentionCase& c, Index head);

/// A uniform double in [0, 1) and a standard normal, as pure functions of (seed, stream, index).
double uniform_at(std::uint64_t seed, std::uint64_t stream, std::uint64_t index);
double normal_at(std::uint64_t seed, std::uint64_t stream, std::uint64_t index);

/// True when the implementation can run this case at all: the type is supported, and a huge layout
/// has tiny tensors.
std::optional<std::string> unsuitable_reason(const Implementation& implementation,
                                             const AttentionCase& c);

}  // namespace plsh::properties
