#include "attention_input.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace plsh::properties::vectors {
namespace {

constexpr Index kMostOfEach = 64;      // of any axis
constexpr Index kMostPairs = 100'000;  // of queries and keys

void require(bool condition, const std::string& what) {
  if (!condition) throw std::invalid_argument(what);
}

std::vector<Index> shape_of(const Json& input, const char* name) {
  const Nested list = read_nested(member(input, name), 4, name);
  for (const Index extent : list.shape)
    require(extent <= kMostOfEach, fmt::format("\"{}\" is too large", name));
  return list.shape;
}

void read_conventions(const Json& input, AttentionInput& result) {
  if (input.contains("causal_alignment")) {
    const std::string alignment = read_text(input, "causal_alignment");
    require(alignment == "top_left" || alignment == "bottom_right",
            "\"causal_alignment\" is neither top_left nor bottom_right");
    result.conventions.causal_alignment =
        alignment == "top_left" ? PLSH_ALIGN_TOP_LEFT : PLSH_ALIGN_BOTTOM_RIGHT;
  } else {
    require(result.shape.query_length == result.shape.key_length,
            "\"causal_alignment\" is missing");
  }
  const bool several = result.shape.kv_heads > 1 && result.shape.group > 1;
  if (input.contains("head_grouping")) {
    const std::string grouping = read_text(input, "head_grouping");
    require(grouping == "consecutive" || grouping == "interleaved",
            "\"head_grouping\" is neither consecutive nor interleaved");
    result.conventions.head_grouping =
        grouping == "consecutive" ? PLSH_GROUP_CONSECUTIVE : PLSH_GROUP_INTERLEAVED;
  } else {
    require(!several, "\"head_grouping\" is missing");
  }
  for (const Type type : {Type::f32, Type::f64, Type::f16, Type::bf16})
    result.conventions.precision[static_cast<std::size_t>(type)] = standard_precision(type);
}

void set_all(Tensor& tensor, const std::vector<double>& values) {
  const std::vector<Index> shape = tensor.shape();
  auto value = values.begin();
  for (Index b = 0; b < shape[0]; ++b)
    for (Index i = 0; i < shape[1]; ++i)
      for (Index h = 0; h < shape[2]; ++h)
        for (Index x = 0; x < shape[3]; ++x) tensor.set({b, i, h, x}, *value++);
}

}  // namespace

plsh_precision standard_precision(Type type) {
  const auto inner = static_cast<int32_t>(type == Type::f64 ? PLSH_F64 : PLSH_F32);
  return {1, inner, inner, inner, inner};
}

std::vector<Index> AttentionInput::query_shape() const {
  return {shape.batch, shape.query_length, shape.heads(), shape.head_dim};
}
std::vector<Index> AttentionInput::key_shape() const {
  return {shape.batch, shape.key_length, shape.kv_heads, shape.head_dim};
}
std::vector<Index> AttentionInput::value_shape() const {
  return {shape.batch, shape.key_length, shape.kv_heads, shape.value_dim};
}
std::vector<Index> AttentionInput::output_shape() const {
  return {shape.batch, shape.query_length, shape.heads(), shape.value_dim};
}
std::vector<Index> AttentionInput::log_sum_exp_shape() const {
  return {shape.batch, shape.heads(), shape.query_length};
}

bool AttentionInput::fits(Type type) const {
  return std::ranges::all_of(
      std::array{&query, &key, &value, &output_gradient}, [&](const std::vector<double>* list) {
        return std::ranges::all_of(*list, [&](double x) { return round_to(type, x) == x; });
      });
}

AttentionInput read_attention(const Json& input, bool exact, bool backward) {
  AttentionInput result{{}, exact, backward, {}, {}, {}, {}, {}, {}, {}};
  const std::vector<Index> query = shape_of(input, "query");
  const std::vector<Index> key = shape_of(input, "key");
  const std::vector<Index> value = shape_of(input, "value");
  AttentionCase& c = result.shape;
  c.batch = query[0];
  c.query_length = query[1];
  c.key_length = key[1];
  c.kv_heads = key[2];
  require(query[2] % key[2] == 0, "the heads of \"key\" do not divide those of \"query\"");
  c.group = query[2] / key[2];
  c.head_dim = query[3];
  c.value_dim = value[3];
  require(c.batch * c.heads() * c.query_length * c.key_length <= kMostPairs,
          "the tensors are too large");
  c.causal = read_bool(input, "causal");
  c.scale = read_float(input, "scale");
  require(c.scale > 0 && c.scale <= 1e6, "\"scale\" is not above 0 and at most 10^6");
  read_conventions(input, result);
  result.query = read_floats(input, "query", result.query_shape());
  result.key = read_floats(input, "key", result.key_shape());
  result.value = read_floats(input, "value", result.value_shape());
  for (const auto* list : {&result.query, &result.key, &result.value})
    for (const double x : *list)
      require(std::abs(x) <= 0x1p20, "\"query\", \"key\" or \"value\" is beyond 2^20");
  if (backward)
    result.output_gradient = read_floats(input, "output_gradient", result.output_shape());
  if (exact) {
    result.slopes = read_floats(input, "slopes", {c.batch, c.heads()});
    for (const double m : result.slopes)
      require(m >= 0 && m <= 1e6, "\"slopes\" are not from 0 to 10^6");
  } else {
    PartitionLists lists = read_partitions(input, c.key_length);
    require(lists.batch == c.batch && lists.heads == c.heads() && lists.samples <= 4096,
            "\"block_starts\" has the wrong shape");
    c.samples = lists.samples;
    result.partitions = std::move(lists.of_head);
  }
  return result;
}

Json attention_json(const AttentionInput& input) {
  const AttentionCase& c = input.shape;
  Json json{{"query", nested_hex(input.query_shape(), input.query)},
            {"key", nested_hex(input.key_shape(), input.key)},
            {"value", nested_hex(input.value_shape(), input.value)},
            {"scale", hex_text(c.scale)},
            {"causal", c.causal}};
  if (input.exact) {
    json["slopes"] = nested_hex({c.batch, c.heads()}, input.slopes);
  } else {
    std::vector<Json> starts;
    for (const auto& samples : input.partitions)
      for (const auto& partition : samples) starts.emplace_back(partition.starts());
    json["block_starts"] = nested({c.batch, c.heads(), c.samples}, starts);
  }
  if (input.backward)
    json["output_gradient"] = nested_hex(input.output_shape(), input.output_gradient);
  if (c.query_length != c.key_length)
    json["causal_alignment"] =
        input.conventions.causal_alignment == PLSH_ALIGN_TOP_LEFT ? "top_left" : "bottom_right";
  if (c.kv_heads > 1 && c.group > 1)
    json["head_grouping"] =
        input.conventions.head_grouping == PLSH_GROUP_CONSECUTIVE ? "consecutive" : "interleaved";
  return json;
}

AttentionProblem attention_problem(const AttentionInput& input, Type type) {
  AttentionCase c = input.shape;
  c.type = type;
  c.fill = Fill::dyadic;
  c.blocks = Blocks::whole;
  AttentionProblem problem(c);
  set_all(problem.query, input.query);
  set_all(problem.key, input.key);
  set_all(problem.value, input.value);
  if (input.backward) set_all(problem.output_gradient, input.output_gradient);
  for (Index b = 0; b < c.batch; ++b)
    for (Index h = 0; h < c.heads(); ++h) {
      const auto k = static_cast<std::size_t>(b * c.heads() + h);
      if (input.exact)
        problem.slopes.set({b, h}, input.slopes[k]);
      else
        problem.set_partitions(b, h, input.partitions[k]);
    }
  problem.seal_inputs();
  return problem;
}

}  // namespace plsh::properties::vectors
