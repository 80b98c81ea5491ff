// Attention: what is asked for. A scenario gives vectors of all four operations.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <plsh/reference/sampling.hpp>

#include "attention_input.hpp"
#include "groups.hpp"

namespace plsh::properties::vectors {
namespace {

using reference::Partition;

using Starts = std::vector<Index>;

struct Scenario {
  const char* name;
  const char* comment;
  std::vector<std::string> flags{};
  Index batch = 1, query_length = 4, key_length = 4, kv_heads = 1, group = 1;
  Index head_dim = 2, value_dim = 2;
  double scale = 0;  ///< 0: 1/sqrt(head_dim), rounded to f32
  /// Changes the data, multiples of 1/4 from -1 to 1.
  std::function<void(AttentionInput&)> adapt = [](AttentionInput&) {};
  std::vector<double> slopes{0.5, 0.125, 1, 0.25};
  /// The partitions of every head, or empty: three draws for each.
  std::vector<Starts> starts{};
  bool interleaved = false;
  bool exact = true, sampled = true, backward = true;
  bool causal = true, full = true;
};

constexpr std::uint64_t kSeed = 20260'509;

std::vector<double> quarters(Index count, std::uint64_t stream) {
  std::vector<double> result;
  for (Index k = 0; k < count; ++k)
    result.push_back(std::floor(9 * uniform_at(kSeed, stream, static_cast<std::uint64_t>(k)) - 4) /
                     4);
  return result;
}

void multiply(std::vector<double>& list, double factor) {
  for (double& x : list) x *= factor;
}

std::vector<Scenario> scenarios() {
  const auto fill = [](std::vector<double> AttentionInput::*list, double value) {
    return [list, value](AttentionInput& input) {
      std::fill((input.*list).begin(), (input.*list).end(), value);
    };
  };
  return {
      {.name = "one-position",
       .comment = "one query, one key: the output is the value, the gradients of Q and K are 0",
       .flags = {"cancellation"},
       .query_length = 1,
       .key_length = 1,
       .starts = {{0}}},
      {.name = "two-positions",
       .comment = "the smallest softmax",
       .flags = {"basic"},
       .query_length = 2,
       .key_length = 2,
       .head_dim = 1,
       .value_dim = 1,
       .starts = {{0}, {0, 1}}},
      {.name = "small", .comment = "n = 4", .flags = {"basic"}},
      {.name = "odd-sizes",
       .comment = "n = 7, head_dim 3, value_dim 1",
       .flags = {"different_dims"},
       .query_length = 7,
       .key_length = 7,
       .head_dim = 3,
       .value_dim = 1},
      {.name = "wide-values",
       .comment = "head_dim 1, value_dim 3",
       .flags = {"different_dims"},
       .query_length = 5,
       .key_length = 5,
       .head_dim = 1,
       .value_dim = 3,
       .backward = false},
      {.name = "eight-positions",
       .comment = "n = 8",
       .flags = {"basic"},
       .query_length = 8,
       .key_length = 8,
       .value_dim = 1,
       .backward = false},
      {.name = "heads",
       .comment = "three heads",
       .flags = {"heads"},
       .query_length = 3,
       .key_length = 3,
       .kv_heads = 3},
      {.name = "batch",
       .comment = "two batch items",
       .flags = {"batch"},
       .batch = 2,
       .query_length = 3,
       .key_length = 3},
      {.name = "multi-query",
       .comment = "three query heads share one key/value head",
       .flags = {"grouped_heads", "heads"},
       .query_length = 3,
       .key_length = 3,
       .group = 3,
       .full = false},
      {.name = "grouped-consecutive",
       .comment = "query heads 0, 1 use key/value head 0; 2, 3 use 1",
       .flags = {"grouped_heads", "heads"},
       .query_length = 3,
       .key_length = 3,
       .kv_heads = 2,
       .group = 2,
       .head_dim = 1,
       .full = false},
      {.name = "grouped-interleaved",
       .comment = "query heads 0, 2 use key/value head 0; 1, 3 use 1",
       .flags = {"grouped_heads", "heads"},
       .query_length = 3,
       .key_length = 3,
       .kv_heads = 2,
       .group = 2,
       .head_dim = 1,
       .interleaved = true,
       .full = false},
      {.name = "decode", .comment = "one query, six keys", .query_length = 1, .key_length = 6},
      {.name = "chunk", .comment = "three queries, six keys", .query_length = 3, .key_length = 6},
      {.name = "more-queries",
       .comment = "five queries, three keys",
       .query_length = 5,
       .key_length = 3},
      {.name = "zero-queries",
       .comment = "the outputs are the weights of the bias",
       .flags = {"zero_logits", "ties"},
       .adapt =
           [](AttentionInput& input) {
             std::fill(input.query.begin(), input.query.end(), 0.0);
             for (std::size_t k = 0; k < input.value.size(); ++k)
               input.value[k] = k / 4 == k % 4 ? 1.0 : 0.0;
           },
       .backward = false},
      {.name = "large-logits",
       .comment = "logits of either sign up to some thousands",
       .flags = {"large_logits"},
       .adapt =
           [](AttentionInput& input) {
             multiply(input.query, 64);
             multiply(input.key, 64);
           }},
      {.name = "all-logits-4096",
       .comment = "every logit 4096",
       .flags = {"large_logits", "ties"},
       .head_dim = 1,
       .scale = 1,
       .adapt =
           [fill](AttentionInput& input) {
             fill(&AttentionInput::query, 64)(input);
             fill(&AttentionInput::key, 64)(input);
           },
       .backward = false},
      {.name = "all-logits-minus-4096",
       .comment = "every logit -4096",
       .flags = {"large_logits", "ties"},
       .head_dim = 1,
       .scale = 1,
       .adapt =
           [fill](AttentionInput& input) {
             fill(&AttentionInput::query, 64)(input);
             fill(&AttentionInput::key, -64)(input);
           },
       .backward = false},
      {.name = "equal-keys",
       .comment = "all keys the same",
       .flags = {"ties"},
       .adapt = [fill](AttentionInput& input) { fill(&AttentionInput::key, 0.75)(input); }},
      {.name = "equal-values",
       .comment = "all values the same: so is every output",
       .flags = {"cancellation"},
       .adapt = [fill](AttentionInput& input) { fill(&AttentionInput::value, -0.5)(input); },
       .full = false},
      {.name = "scale-2", .comment = "scale 2", .flags = {"scale"}, .scale = 2, .full = false},
      {.name = "scale-2^-6",
       .comment = "scale 2^-6",
       .flags = {"scale"},
       .scale = 0x1p-6,
       .backward = false,
       .full = false},
      // exact ALiBi only
      {.name = "slope-0",
       .comment = "no bias",
       .flags = {"zero_slope"},
       .slopes = {0},
       .sampled = false},
      {.name = "slope-64",
       .comment = "each position sees little but itself",
       .flags = {"steep_slope"},
       .slopes = {64},
       .sampled = false},
      {.name = "slope-64-far-key",
       .comment = "the logits of far keys outweigh a steep slope",
       .flags = {"steep_slope", "large_logits"},
       .query_length = 3,
       .key_length = 3,
       .head_dim = 1,
       .scale = 1,
       .adapt =
           [](AttentionInput& input) {
             input.query = {64, 64, 64};
             input.key = {4, -4, 6};
           },
       .slopes = {64},
       .sampled = false,
       .backward = false},
      {.name = "slope-2^-8",
       .comment = "a flat slope",
       .flags = {"basic"},
       .slopes = {0x1p-8},
       .sampled = false,
       .backward = false,
       .full = false},
      // sampled only
      {.name = "one-block",
       .comment = "plain softmax attention",
       .flags = {"one_block"},
       .starts = {{0}},
       .exact = false},
      {.name = "singletons",
       .comment = "outputs are the values; gradients of Q and K are 0",
       .flags = {"singletons", "cancellation"},
       .starts = {{0, 1, 2, 3}},
       .exact = false},
      {.name = "repeated-sample",
       .comment = "one partition three times, another once",
       .flags = {"repeated_sample"},
       .starts = {{0, 2}, {0, 2}, {0, 1}, {0, 2}},
       .exact = false},
      {.name = "one-sample",
       .comment = "s = 1",
       .flags = {"basic"},
       .query_length = 6,
       .key_length = 6,
       .starts = {{0, 2, 5}},
       .exact = false,
       .backward = false},
      {.name = "mixed-samples",
       .comment = "one block, singletons and cuts between",
       .flags = {"one_block", "singletons"},
       .query_length = 5,
       .key_length = 5,
       .starts = {{0}, {0, 1, 2, 3, 4}, {0, 3}, {0, 1}, {0, 4}},
       .exact = false},
      {.name = "many-samples",
       .comment = "17 samples",
       .flags = {"many_samples"},
       .starts = {{0, 1},
                  {0, 2},
                  {0, 3},
                  {0, 1, 2},
                  {0, 1, 3},
                  {0, 2, 3},
                  {0},
                  {0, 1},
                  {0, 2},
                  {0, 3},
                  {0, 1, 2, 3},
                  {0},
                  {0, 3},
                  {0, 3},
                  {0, 1},
                  {0},
                  {0, 2}},
       .exact = false,
       .backward = false},
  };
}

AttentionInput input_of(const Scenario& scenario, bool exact, bool backward, bool causal,
                        int32_t alignment) {
  AttentionInput input{{}, exact, backward, {}, {}, {}, {}, {}, {}, {}};
  AttentionCase& c = input.shape;
  c.batch = scenario.batch;
  c.query_length = scenario.query_length;
  c.key_length = scenario.key_length;
  c.kv_heads = scenario.kv_heads;
  c.group = scenario.group;
  c.head_dim = scenario.head_dim;
  c.value_dim = scenario.value_dim;
  c.causal = causal;
  c.scale = scenario.scale > 0
                ? scenario.scale
                : round_to(Type::f32, 1 / std::sqrt(static_cast<double>(c.head_dim)));
  input.conventions.causal_alignment = alignment;
  input.conventions.head_grouping =
      scenario.interleaved ? PLSH_GROUP_INTERLEAVED : PLSH_GROUP_CONSECUTIVE;
  const auto size = [](const std::vector<Index>& shape) {
    return shape[0] * shape[1] * shape[2] * shape[3];
  };
  input.query = quarters(size(input.query_shape()), 1);
  input.key = quarters(size(input.key_shape()), 2);
  input.value = quarters(size(input.value_shape()), 3);
  scenario.adapt(input);
  if (backward) input.output_gradient = quarters(size(input.output_shape()), 4);
  for (Index k = 0; k < c.batch * c.heads(); ++k) {
    if (exact) {
      input.slopes.push_back(scenario.slopes[static_cast<std::size_t>(k) % scenario.slopes.size()]);
      continue;
    }
    std::vector<Partition> samples;
    for (const Starts& starts : scenario.starts) samples.emplace_back(c.key_length, starts);
    if (samples.empty())
      samples =
          reference::draw_partitions(c.key_length, 2.5, kSeed, static_cast<std::uint32_t>(k), 3);
    c.samples = static_cast<Index>(samples.size());
    input.partitions.push_back(std::move(samples));
  }
  return input;
}

/// Whether some query sees no key.
bool has_empty_row(const AttentionInput& input) {
  const AttentionCase& c = input.shape;
  const Index offset =
      input.conventions.causal_alignment == PLSH_ALIGN_TOP_LEFT ? 0 : c.key_length - c.query_length;
  const bool before = offset < 0;
  const bool after = c.query_length + offset > c.key_length;
  return input.exact ? before && c.causal : before || after;
}

Json attention(const char* id, const char* operation, const std::string& source, bool exact,
               bool backward) {
  Json conventions{
      {"layout",
       "query, output: [batch][n_q][heads][dim]; key, value: [batch][n_k][kv_heads][dim]; "
       "log_sum_exp: [batch][heads][n_q]"},
      {"position",
       "query i is at position i (causal_alignment top_left) or i + n_k - n_q (bottom_right); with "
       "n_q = n_k both are the same. The alignment also holds when not causal."},
      {"head_grouping",
       "for H query heads and G key/value heads head h uses h/(H/G) (consecutive) or h mod G "
       "(interleaved); with G = 1 or G = H both are the same"}};
  conventions["weights"] =
      exact
          ? "exp(scale q_i.k_j - m |p_i - j|), m the head's slope"
          : "M~_ij exp(scale q_i.k_j), M~ the mean of the masks of the head's partitions; a query "
            "whose position is outside 0..n_k-1 sees no key";
  if (backward)
    conventions["gradients"] =
        "of the sum of output_gradient times output; those of key and value are summed over the "
        "query heads that use them. A query that sees no key contributes nothing.";
  else
    conventions["empty_row"] =
        "a query that sees no key has output 0 and log-sum-exp -inf; log_sum_exp is the natural "
        "logarithm of the sum of the weights above";
  conventions["precision"] =
      "tolerances are proved for f64: everything in f64; f32, bf16, f16: input and result in the "
      "type; logits, bias, exponentials and sums in f32. A type is absent when it cannot hold the "
      "input exactly. Each is the largest of the tensor.";
  Group group(id, operation, source, conventions);
  for (const Scenario& scenario : scenarios()) {
    if (exact ? !scenario.exact : !scenario.sampled) continue;
    if (backward && !scenario.backward) continue;
    const bool aligned = scenario.query_length == scenario.key_length;
    for (const bool causal : {true, false}) {
      if (causal ? !scenario.causal : !scenario.full) continue;
      for (const int32_t alignment : {PLSH_ALIGN_TOP_LEFT, PLSH_ALIGN_BOTTOM_RIGHT}) {
        if (aligned && alignment == PLSH_ALIGN_BOTTOM_RIGHT) continue;
        // Backward repeats the forward's rows: half of the combinations will do.
        if (backward && !aligned && !causal && alignment == PLSH_ALIGN_TOP_LEFT) continue;
        const AttentionInput input = input_of(scenario, exact, backward, causal, alignment);
        std::vector<std::string> flags = scenario.flags;
        const char* where = alignment == PLSH_ALIGN_TOP_LEFT ? "top_left" : "bottom_right";
        if (causal) flags.emplace_back("causal");
        if (!aligned) flags.emplace_back(where);
        if (has_empty_row(input)) flags.emplace_back("empty_row");
        group.add(fmt::format("{}/{}{}", causal ? "causal" : "full", scenario.name,
                              aligned                            ? ""
                              : alignment == PLSH_ALIGN_TOP_LEFT ? "/top-left"
                                                                 : "/bottom-right"),
                  scenario.comment, flags, attention_json(input));
      }
    }
  }
  return group.json();
}

}  // namespace

std::vector<Json> attention_groups() {
  const std::string alibi =
      "Press, Smith, Lewis 2022 (ALiBi), section 3: softmax(q_i K^T - m |i-j|)";
  const std::string sampled =
      "arXiv 2605.09472: T~ = D^-1 (M~ * exp(scale Q K^T)) V, * entry by entry, D the row sums";
  return {
      attention("exact-forward", "exact_forward", alibi, true, false),
      attention("exact-backward", "exact_backward", alibi + ", differentiated", true, true),
      attention("sampled-forward", "sampled_forward", sampled, false, false),
      attention("sampled-backward", "sampled_backward", sampled + ", differentiated", false, true)};
}

}  // namespace plsh::properties::vectors
