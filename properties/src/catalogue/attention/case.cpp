#include "case.hpp"

#include <Random123/philox.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <plsh/reference/sampling.hpp>

namespace plsh::properties {
namespace {

using reference::Partition;

constexpr std::array<std::pair<Fill, const char*>, 10> kFills{
    {{Fill::normal, "normal"},
     {Fill::dyadic, "dyadic"},
     {Fill::zero_scores, "zero_scores"},
     {Fill::sharp, "sharp"},
     {Fill::large_logits, "large_logits"},
     {Fill::ties, "ties"},
     {Fill::constant_value, "constant_value"},
     {Fill::indicator_value, "indicator_value"},
     {Fill::half_overflow, "half_overflow"},
     {Fill::far_below_zero, "far_below_zero"}}};
constexpr std::array<std::pair<Blocks, const char*>, 6> kBlocks{{{Blocks::random, "random"},
                                                                 {Blocks::whole, "whole"},
                                                                 {Blocks::singletons, "singletons"},
                                                                 {Blocks::equal, "equal"},
                                                                 {Blocks::uneven, "uneven"},
                                                                 {Blocks::cut_once, "cut_once"}}};

template <class Names, class Value>
const char* name_of(const Names& names, Value value) {
  for (const auto& [known, text] : names)
    if (known == value) return text;
  return "?";
}

template <class Names>
auto value_of(const Names& names, const std::string& name) {
  std::vector<std::string> known;
  for (const auto& [value, text] : names) {
    if (name == text) return value;
    known.emplace_back(text);
  }
  throw std::invalid_argument(
      fmt::format("unknown \"{}\"; known are {}", name, fmt::join(known, ", ")));
}

// The streams of uniform_at, one a tensor.
enum Stream : std::uint64_t { kQuery = 1, kKey, kValue, kOutputGradient, kTies, kCut };

Partition make_partition(const AttentionCase& c, Index length, Index sequence, Index head,
                         Index sample) {
  std::vector<Index> starts{0};
  switch (c.blocks) {
    case Blocks::random: {
      const auto id = static_cast<std::uint32_t>(sequence * c.heads() + head);
      return reference::draw_partitions(length, c.sigma * std::exp2(static_cast<double>(head % 4)),
                                        c.seed, id, 1, static_cast<std::uint64_t>(sample))[0];
    }
    case Blocks::whole:
      break;
    case Blocks::singletons:
      for (Index p = 1; p < length; ++p) starts.push_back(p);
      break;
    case Blocks::equal:
      for (Index p = 3; p < length; p += 3) starts.push_back(p);
      break;
    case Blocks::uneven:
      for (Index p = 1, size = 2; p < length; p += size, ++size) starts.push_back(p);
      break;
    case Blocks::cut_once:
      if (length > 1) {
        const double u = uniform_at(
            c.seed, kCut, static_cast<std::uint64_t>((sequence * 64 + head) * 4096 + sample));
        starts.push_back(1 + static_cast<Index>(u * static_cast<double>(length - 1)));
      }
      break;
  }
  return {length, starts};
}

Index total(const std::vector<Index>& lengths) {
  Index sum = 0;
  for (const Index length : lengths) sum += length;
  return sum;
}

Index batch_axis(const AttentionCase& c) { return c.variable() ? 1 : c.batch; }
Index query_axis(const AttentionCase& c) {
  return c.variable() ? total(c.query_lengths) : c.query_length;
}
Index key_axis(const AttentionCase& c) {
  return c.variable() ? total(c.key_lengths) : c.key_length;
}
Index longest_keys(const AttentionCase& c) {
  return c.variable() ? *std::max_element(c.key_lengths.begin(), c.key_lengths.end())
                      : c.key_length;
}
Type lse_type(Type type) { return type == Type::f64 ? Type::f64 : Type::f32; }

AttentionCase validated(AttentionCase c) {
  const auto require = [](bool condition, const std::string& what) {
    if (!condition) throw std::invalid_argument("attention case: " + what);
  };
  require(c.type != Type::i64, "type must be a floating type");
  require(c.query_lengths.size() == c.key_lengths.size(),
          "query_lengths and key_lengths must have the same size");
  if (c.variable()) c.batch = static_cast<Index>(c.query_lengths.size());
  const auto in_range = [&](const char* name, Index value, Index low, Index high) {
    require(value >= low && value <= high,
            fmt::format("{} is {}, must be {} to {}", name, value, low, high));
  };
  in_range("batch", c.batch, 1, 1 << 17);
  in_range("query_length", c.query_length, 0, 1 << 24);
  in_range("key_length", c.key_length, 0, 1 << 24);
  for (const Index length : c.query_lengths) in_range("query_lengths", length, 0, 1 << 24);
  for (const Index length : c.key_lengths) in_range("key_lengths", length, 0, 1 << 24);
  in_range("kv_heads", c.kv_heads, 1, 1 << 16);
  in_range("group", c.group, 1, 1 << 16);
  in_range("head_dim", c.head_dim, 1, 1 << 16);
  in_range("value_dim", c.value_dim, 1, 1 << 16);
  in_range("samples", c.samples, 1, 1 << 20);
  require(c.scale >= 0 && std::isfinite(c.scale), "scale must be finite and at least 0");
  require(c.sigma >= 0.01 && c.sigma <= 1e6, "sigma must be 0.01 to 1e6");
  const double elements = static_cast<double>(batch_axis(c)) * static_cast<double>(c.heads()) *
                          (static_cast<double>(query_axis(c) + key_axis(c)) *
                               static_cast<double>(c.head_dim + c.value_dim) +
                           static_cast<double>(c.samples) * static_cast<double>(longest_keys(c)));
  require(elements <= 3e8, "the tensors would be too large");
  return c;
}

/// The weights of an operation: slopes, or partitions.
void pass_weights(const AttentionProblem& problem, bool exact, plsh_attention& a) {
  if (exact) {
    a.slopes = problem.slopes.view();
  } else {
    a.block_counts = problem.block_counts.view();
    a.block_starts = problem.block_starts.view();
  }
}

/// What forward and backward must leave unchanged.
std::vector<std::pair<const char*, Tensor*>> named_inputs(AttentionProblem& problem) {
  return {{"query", &problem.query},
          {"key", &problem.key},
          {"value", &problem.value},
          {"slopes", &problem.slopes},
          {"block_counts", &problem.block_counts},
          {"block_starts", &problem.block_starts},
          {"query_starts", &problem.query_starts},
          {"key_starts", &problem.key_starts}};
}

}  // namespace

double uniform_at(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  r123::Philox4x32 philox;
  const r123::Philox4x32::ctr_type words =
      philox({{static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32),
               static_cast<std::uint32_t>(stream), 0xA77E}},
             {{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}});
  const std::uint64_t word = (std::uint64_t{words[1]} << 32) | words[0];
  return static_cast<double>(word >> 11) * 0x1p-53;
}

double normal_at(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  // Box and Muller; 1 - u is above 0.
  const double radius = std::sqrt(-2 * std::log(1 - uniform_at(seed, stream, 2 * index)));
  return radius * std::cos(2 * std::numbers::pi * uniform_at(seed, stream, 2 * index + 1));
}

void to_json(nlohmann::json& json, const AttentionCase& c) {
  json = {{"type", to_string(c.type)},
          {"batch", c.batch},
          {"query_length", c.query_length},
          {"key_length", c.key_length},
          {"kv_heads", c.kv_heads},
          {"group", c.group},
          {"head_dim", c.head_dim},
          {"value_dim", c.value_dim},
          {"samples", c.samples},
          {"causal", c.causal},
          {"query_lengths", c.query_lengths},
          {"key_lengths", c.key_lengths},
          {"scale", c.scale},
          {"sigma", c.sigma},
          {"fill", name_of(kFills, c.fill)},
          {"blocks", name_of(kBlocks, c.blocks)},
          {"query_layout", to_string(c.query_layout)},
          {"key_layout", to_string(c.key_layout)},
          {"value_layout", to_string(c.value_layout)},
          {"output_layout", to_string(c.output_layout)},
          {"log_sum_exp", c.log_sum_exp},
          {"threads", c.threads},
          {"seed", c.seed}};
}

void from_json(const nlohmann::json& json, AttentionCase& c) {
  const auto read = [&](const char* name, auto& field) {
    if (!json.contains(name)) return;
    try {
      json.at(name).get_to(field);
    } catch (const nlohmann::json::exception&) {
      throw std::invalid_argument(fmt::format("attention case: bad value of {}: {}", name,
                                              json.at(name).dump().substr(0, 100)));
    }
  };
  const auto read_name = [&](const char* name, auto& field, const auto& parse) {
    std::string text;
    read(name, text);
    if (json.contains(name)) field = parse(text);
  };
  read_name("type", c.type, type_from_string);
  read("batch", c.batch);
  read("query_length", c.query_length);
  read("key_length", c.key_length);
  read("kv_heads", c.kv_heads);
  read("group", c.group);
  read("head_dim", c.head_dim);
  read("value_dim", c.value_dim);
  read("samples", c.samples);
  read("causal", c.causal);
  read("query_lengths", c.query_lengths);
  read("key_lengths", c.key_lengths);
  read("scale", c.scale);
  read("sigma", c.sigma);
  read_name("fill", c.fill, [](const std::string& name) { return value_of(kFills, name); });
  read_name("blocks", c.blocks, [](const std::string& name) { return value_of(kBlocks, name); });
  read_name("query_layout", c.query_layout, layout_from_string);
  read_name("key_layout", c.key_layout, layout_from_string);
  read_name("value_layout", c.value_layout, layout_from_string);
  read_name("output_layout", c.output_layout, layout_from_string);
  read("log_sum_exp", c.log_sum_exp);
  read("threads", c.threads);
  read("seed", c.seed);
}

AttentionProblem::AttentionProblem(const AttentionCase& c)
    : query(c.type, {batch_axis(c), query_axis(c), validated(c).heads(), c.head_dim},
            c.query_layout),
      key(c.type, {batch_axis(c), key_axis(c), c.kv_heads, c.head_dim}, c.key_layout),
      value(c.type, {batch_axis(c), key_axis(c), c.kv_heads, c.value_dim}, c.value_layout),
      slopes(Type::f32, {validated(c).batch, c.heads()}),
      block_counts(Type::i64, {validated(c).batch, c.heads(), c.samples}),
      block_starts(Type::i64,
                   {validated(c).batch, c.heads(), c.samples, std::max<Index>(longest_keys(c), 1)}),
      query_starts(Type::i64, {validated(c).batch + 1}),
      key_starts(Type::i64, {validated(c).batch + 1}),
      output(c.type, {batch_axis(c), query_axis(c), c.heads(), c.value_dim}, c.output_layout),
      log_sum_exp(lse_type(c.type), {batch_axis(c), c.heads(), query_axis(c)}),
      output_gradient(c.type, {batch_axis(c), query_axis(c), c.heads(), c.value_dim},
                      c.output_layout),
      query_gradient(c.type, {batch_axis(c), query_axis(c), c.heads(), c.head_dim},
                     c.output_layout),
      key_gradient(c.type, {batch_axis(c), key_axis(c), c.kv_heads, c.head_dim}, c.output_layout),
      value_gradient(c.type, {batch_axis(c), key_axis(c), c.kv_heads, c.value_dim},
                     c.output_layout),
      case_(validated(c)) {
  Index query_begin = 0;
  Index key_begin = 0;
  for (Index b = 0; b < case_.batch; ++b) {
    const auto k = static_cast<std::size_t>(b);
    const Sequence s{case_.variable() ? 0 : b, case_.variable() ? query_begin : 0,
                     case_.variable() ? key_begin : 0,
                     case_.variable() ? case_.query_lengths[k] : case_.query_length,
                     case_.variable() ? case_.key_lengths[k] : case_.key_length};
    sequences_.push_back(s);
    query_starts.set_integer({b}, query_begin);
    key_starts.set_integer({b}, key_begin);
    query_begin += s.query_length;
    key_begin += s.key_length;
  }
  query_starts.set_integer({case_.batch}, query_begin);
  key_starts.set_integer({case_.batch}, key_begin);

  const auto fill = [&](Tensor& tensor, Stream stream, const auto& entry) {
    const std::vector<Index> shape = tensor.shape();
    std::uint64_t index = 0;
    for (Index b = 0; b < shape[0]; ++b)
      for (Index i = 0; i < shape[1]; ++i)
        for (Index h = 0; h < shape[2]; ++h)
          for (Index x = 0; x < shape[3]; ++x)
            tensor.set({b, i, h, x}, entry(stream, index++, b, i, h, x));
  };
  const auto dyadic = [&](Stream stream, std::uint64_t index) {
    return std::floor(9 * uniform_at(case_.seed, stream, index) - 4) / 4;
  };
  const auto vector_of = [&](Stream stream, std::uint64_t index, Index x) {
    // One of three vectors for each row.
    const auto row = index / static_cast<std::uint64_t>(case_.head_dim);
    const auto which = static_cast<std::uint64_t>(3 * uniform_at(case_.seed, stream, row));
    return normal_at(
        case_.seed, kTies,
        which * static_cast<std::uint64_t>(case_.head_dim) + static_cast<std::uint64_t>(x));
  };
  const double root = std::sqrt(static_cast<double>(case_.head_dim));
  const auto query_or_key = [&](Stream stream, std::uint64_t index, Index, Index, Index, Index x) {
    const double normal = normal_at(case_.seed, stream, index);
    switch (case_.fill) {
      case Fill::zero_scores:
        return stream == kQuery ? 0.0 : normal;
      case Fill::dyadic:
        return dyadic(stream, index);
      case Fill::sharp:
        return stream == kQuery ? 30 * normal : normal;
      case Fill::large_logits:  // about +-2500 for the usual scale
        return 50 * normal / std::sqrt(root);
      case Fill::ties:
        return vector_of(stream, index, x);
      case Fill::half_overflow:
        return 32.0;
      case Fill::far_below_zero:
        return stream == kQuery ? 32.0 : -32.0;
      default:
        return normal;
    }
  };
  const auto values = [&](Stream stream, std::uint64_t index, Index, Index j, Index h, Index x) {
    switch (case_.fill) {
      case Fill::dyadic:
        return dyadic(stream, index);
      case Fill::constant_value:
        return static_cast<double>((x + h) % 7 - 3) / 4;
      case Fill::indicator_value:
        return j % case_.value_dim == x ? 1.0 : 0.0;
      default:
        return normal_at(case_.seed, stream, index);
    }
  };
  fill(query, kQuery, query_or_key);
  fill(key, kKey, query_or_key);
  fill(value, kValue, values);
  fill(output_gradient, kOutputGradient,
       [&](Stream stream, std::uint64_t index, Index, Index, Index, Index) {
         return case_.fill == Fill::dyadic ? dyadic(stream, index)
                                           : normal_at(case_.seed, stream, index);
       });
  for (Index b = 0; b < case_.batch; ++b)
    for (Index h = 0; h < case_.heads(); ++h)
      slopes.set({b, h}, 1 / (case_.sigma * std::exp2(static_cast<double>(h % 4)) *
                              (1 + 0.25 * static_cast<double>(b % 3))));
  for (Index b = 0; b < case_.batch; ++b)
    for (Index h = 0; h < case_.heads(); ++h) {
      std::vector<Partition> drawn;
      const Index length = sequences_[static_cast<std::size_t>(b)].key_length;
      for (Index k = 0; k < case_.samples && length > 0; ++k)
        drawn.push_back(make_partition(case_, length, b, h, k));
      partitions_.push_back(std::move(drawn));
    }
  write_partitions();
  seal_inputs();
}

double AttentionProblem::scale() const {
  return case_.scale > 0 ? case_.scale : 1 / std::sqrt(static_cast<double>(case_.head_dim));
}

const std::vector<Partition>& AttentionProblem::partitions(Index sequence, Index head) const {
  return partitions_[static_cast<std::size_t>(sequence * case_.heads() + head)];
}

void AttentionProblem::set_partitions(Index sequence, Index head,
                                      std::vector<Partition> partitions) {
  if (static_cast<Index>(partitions.size()) != case_.samples)
    throw std::logic_error("the number of samples cannot change");
  partitions_[static_cast<std::size_t>(sequence * case_.heads() + head)] = std::move(partitions);
  write_partitions();
  seal_inputs();
}

void AttentionProblem::write_partitions() {
  block_counts.clear();
  block_starts.clear();
  for (Index b = 0; b < case_.batch; ++b)
    for (Index h = 0; h < case_.heads(); ++h)
      for (Index k = 0; k < case_.samples; ++k) {
        const std::vector<Partition>& all = partitions(b, h);
        if (all.empty()) {  // a sequence without keys: no position, no block
          block_counts.set_integer({b, h, k}, 0);
          continue;
        }
        const Partition& partition = all[static_cast<std::size_t>(k)];
        block_counts.set_integer({b, h, k}, partition.block_count());
        for (Index c = 0; c < partition.block_count(); ++c)
          block_starts.set_integer({b, h, k, c}, partition.starts()[static_cast<std::size_t>(c)]);
      }
}

void AttentionProblem::seal_inputs() {
  for (Tensor* input : {&query, &key, &value, &slopes, &block_counts, &block_starts, &query_starts,
                        &key_starts, &output_gradient})
    input->seal();
}

plsh_attention AttentionProblem::arguments() {
  plsh_attention a{};
  a.query = query.view();
  a.key = key.view();
  a.value = value.view();
  a.scale = scale();
  a.causal = case_.causal ? 1 : 0;
  a.threads = case_.threads;
  if (case_.variable()) {
    a.query_starts = query_starts.view();
    a.key_starts = key_starts.view();
  }
  a.output = output.view();
  return a;
}

void AttentionProblem::check(const std::vector<std::pair<const char*, Tensor*>>& inputs,
                             const std::vector<std::pair<const char*, Tensor*>>& outputs) const {
  for (const auto& [name, tensor] : inputs)
    if (const auto damage = tensor->damage(name)) throw Violation(*damage);
  for (const auto& [name, tensor] : outputs) {
    if (const auto damage = tensor->damage(name)) throw Violation(*damage);
    if (const auto index = tensor->first_unwritten())
      throw Violation(fmt::format("{}{} was never written", name, *index));
  }
}

void AttentionProblem::forward(const Implementation& implementation, bool exact) {
  output.clear();
  log_sum_exp.clear();
  plsh_attention a = arguments();
  pass_weights(*this, exact, a);
  std::vector<std::pair<const char*, Tensor*>> outputs{{"output", &output}};
  if (case_.log_sum_exp) {
    a.log_sum_exp = log_sum_exp.view();
    outputs.emplace_back("log_sum_exp", &log_sum_exp);
  }
  implementation.attention(exact ? Operation::exact_forward : Operation::sampled_forward, a);
  check(named_inputs(*this), outputs);
}

void AttentionProblem::backward(const Implementation& implementation, bool exact) {
  if (!case_.log_sum_exp) throw std::logic_error("backward needs the log-sum-exp of forward");
  query_gradient.clear();
  key_gradient.clear();
  value_gradient.clear();
  output.seal();
  log_sum_exp.seal();
  plsh_attention a = arguments();
  pass_weights(*this, exact, a);
  a.log_sum_exp = log_sum_exp.view();
  a.output_gradient = output_gradient.view();
  a.query_gradient = query_gradient.view();
  a.key_gradient = key_gradient.view();
  a.value_gradient = value_gradient.view();
  implementation.attention(exact ? Operation::exact_backward : Operation::sampled_backward, a);
  std::vector<std::pair<const char*, Tensor*>> inputs = named_inputs(*this);
  inputs.emplace_back("output", &output);
  inputs.emplace_back("log_sum_exp", &log_sum_exp);
  inputs.emplace_back("output_gradient", &output_gradient);
  check(inputs, {{"query_gradient", &query_gradient},
                 {"key_gradient", &key_gradient},
                 {"value_gradient", &value_gradient}});
}

Index query_offset(const plsh_conventions& conventions, const Sequence& sequence) {
  return conventions.causal_alignment == PLSH_ALIGN_TOP_LEFT
             ? 0
             : sequence.key_length - sequence.query_length;
}

Index kv_head(const plsh_conventions& conventions, const AttentionCase& c, Index head) {
  return conventions.head_grouping == PLSH_GROUP_CONSECUTIVE ? head / c.group : head % c.kv_heads;
}

std::optional<std::string> unsuitable_reason(const Implementation& implementation,
                                             const AttentionCase& c) {
  if (!implementation.supports(c.type)) return to_string(c.type) + " is not supported";
  return std::nullopt;
}

}  // namespace plsh::properties
