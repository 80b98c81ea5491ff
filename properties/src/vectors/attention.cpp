// Attention: certified outputs and gradients, proved tolerances, and an implementation against
// them.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <plsh/reference/gradients.hpp>

#include "../catalogue/attention/expected.hpp"
#include "attention_input.hpp"

namespace plsh::properties::vectors {
namespace {

using reference::HeadInput;
using reference::Matrix;
using reference::Partition;

/// Row r, head h of a [batch, length, heads, dim] list.
std::size_t row_start(const std::vector<Index>& shape, Index b, Index r, Index h) {
  return static_cast<std::size_t>(((b * shape[1] + r) * shape[2] + h) * shape[3]);
}

Matrix<Interval> rows_of(const std::vector<double>& list, const std::vector<Index>& shape, Index b,
                         Index h) {
  Matrix<Interval> result(shape[1], shape[3]);
  for (Index r = 0; r < shape[1]; ++r)
    for (Index x = 0; x < shape[3]; ++x)
      result(r, x) = Interval(list[row_start(shape, b, r, h) + static_cast<std::size_t>(x)]);
  return result;
}

/// W of one head: exp(-m |p_i - j|), or the mean of the masks.
Matrix<Interval> weights_of(const AttentionInput& input, Index b, Index h, Index offset) {
  const AttentionCase& c = input.shape;
  const auto k = static_cast<std::size_t>(b * c.heads() + h);
  Matrix<Interval> result(c.query_length, c.key_length);
  for (Index i = 0; i < c.query_length; ++i)
    for (Index j = 0; j < c.key_length; ++j) {
      const Index position = i + offset;
      if (input.exact) {
        const Interval bias = Interval(input.slopes[k]) * Interval(std::abs(position - j));
        result(i, j) = reference::exp(Interval(-bias));
        continue;
      }
      Index count = 0;
      if (position >= 0 && position < c.key_length)
        for (const Partition& partition : input.partitions[k])
          count += partition.block_of(position) == partition.block_of(j) ? 1 : 0;
      result(i, j) = count == 0 ? Interval(0) : Interval(Interval(count) / Interval(c.samples));
    }
  return result;
}

/// A tensor of intervals in row-major order.
struct Enclosures {
  std::vector<Index> shape;
  std::vector<Interval> values;
  explicit Enclosures(std::vector<Index> extents) : shape(std::move(extents)) {
    Index size = 1;
    for (const Index extent : shape) size *= extent;
    values.assign(static_cast<std::size_t>(size), Interval(0));
  }
  void add(Index b, Index h, const Matrix<Interval>& rows) {
    for (Index r = 0; r < rows.rows(); ++r)
      for (Index x = 0; x < rows.cols(); ++x)
        values[row_start(shape, b, r, h) + static_cast<std::size_t>(x)] += rows(r, x);
  }
  Json json(const Digits& digits) const {
    std::vector<Json> leaves;
    for (const Interval& x : values) leaves.push_back(number(x, digits));
    return nested(shape, leaves);
  }
};

Json certified(const AttentionInput& input, const Digits& digits) {
  const AttentionCase& c = input.shape;
  Enclosures output(input.output_shape());
  Enclosures log_sum_exp(input.log_sum_exp_shape());
  Enclosures query(input.query_shape());
  Enclosures key(input.key_shape());
  Enclosures value(input.value_shape());
  const Sequence sequence{0, 0, 0, c.query_length, c.key_length};
  const Index offset = query_offset(input.conventions, sequence);
  for (Index b = 0; b < c.batch; ++b)
    for (Index h = 0; h < c.heads(); ++h) {
      const Index g = kv_head(input.conventions, c, h);
      const HeadInput<Interval> head{rows_of(input.query, input.query_shape(), b, h),
                                     rows_of(input.key, input.key_shape(), b, g),
                                     rows_of(input.value, input.value_shape(), b, g),
                                     Interval(c.scale),
                                     c.causal,
                                     offset};
      const Matrix<Interval> weights = weights_of(input, b, h, offset);
      if (input.backward) {
        const auto gradients = reference::weighted_attention_gradients(
            head, weights, rows_of(input.output_gradient, input.output_shape(), b, h));
        query.add(b, h, gradients.query);
        key.add(b, g, gradients.key);
        value.add(b, g, gradients.value);
        continue;
      }
      const auto result = reference::weighted_attention(head, weights);
      output.add(b, h, result.output);
      for (Index i = 0; i < c.query_length; ++i)
        log_sum_exp.values[static_cast<std::size_t>((b * c.heads() + h) * c.query_length + i)] =
            result.log_sum_exp[i];
    }
  if (input.backward)
    return {{"query_gradient", query.json(digits)},
            {"key_gradient", key.json(digits)},
            {"value_gradient", value.json(digits)}};
  return {{"output", output.json(digits)}, {"log_sum_exp", log_sum_exp.json(digits)}};
}

/// The expectations of the tensors by name.
std::vector<std::pair<const char*, Expectation>> expectations(const AttentionProblem& problem,
                                                              const plsh_conventions& conventions,
                                                              bool exact, bool backward) {
  std::vector<std::pair<const char*, Expectation>> result;
  if (backward) {
    BackwardExpectation expected = expected_backward(problem, conventions, exact);
    result.emplace_back("query_gradient", std::move(expected.query_gradient));
    result.emplace_back("key_gradient", std::move(expected.key_gradient));
    result.emplace_back("value_gradient", std::move(expected.value_gradient));
  } else {
    ForwardExpectation expected = expected_forward(problem, conventions, exact);
    result.emplace_back("output", std::move(expected.output));
    result.emplace_back("log_sum_exp", std::move(expected.log_sum_exp));
  }
  return result;
}

/// The largest tolerance of each tensor; nothing for a type that cannot hold the input, or in which
/// some element could not be compared.
Json tolerances(const AttentionInput& input) {
  Json result = Json::object();
  for (const Type type : {Type::f64, Type::f32, Type::bf16, Type::f16}) {
    if (!input.fits(type)) continue;
    Json of_type = Json::object();
    bool finite = true;
    for (const auto& [name, expected] : expectations(
             attention_problem(input, type), input.conventions, input.exact, input.backward)) {
      double largest = 0;
      for (std::size_t k = 0; k < expected.value.size(); ++k)
        if (std::isfinite(expected.value[k])) largest = std::max(largest, expected.tolerance[k]);
      finite &= std::isfinite(largest);
      if (finite) of_type[name] = bound(largest);
    }
    if (finite) result[to_string(type)] = of_type;
  }
  return result;
}

// ---- an implementation against a vector --------------------------------------------------------

bool same(const plsh_precision& a, const plsh_precision& b) {
  return a.logits == b.logits && a.bias == b.bias && a.weights == b.weights &&
         a.accumulation == b.accumulation;
}

/// What a recorded log-sum-exp is under the declared conventions.
double declared_log_sum_exp(double recorded, const plsh_conventions& declared, Index samples,
                            bool exact) {
  double value = recorded;
  if (!exact && declared.lse_weights == PLSH_LSE_COUNT)
    value += std::log(static_cast<double>(samples));
  return declared.lse_base == PLSH_LSE_BASE_2 ? value / std::numbers::ln2 : value;
}

/// Puts the recorded values and, where they apply, the recorded tolerances in place of the derived
/// ones. The derived ones stand where other precisions or another log-sum-exp are declared.
void use_recorded(Expectation& expected, const std::string& name, const Json& vector,
                  const AttentionInput& input, const plsh_conventions& declared, Type type) {
  const Json& list = member(member(vector, "expected"), name.c_str());
  const Nested recorded = read_nested(list, name == "log_sum_exp" ? 3 : 4, name);
  if (recorded.leaves.size() != expected.value.size())
    throw std::invalid_argument("\"" + name + "\" has the wrong shape");
  const bool log_sum_exp = name == "log_sum_exp";
  const bool standard =
      same(declared.precision[static_cast<std::size_t>(type)], standard_precision(type)) &&
      declared.lse_bias == PLSH_LSE_DISTANCE &&
      (!log_sum_exp ||
       (declared.lse_base == PLSH_LSE_NATURAL && declared.lse_weights == PLSH_LSE_MEAN));
  const Json& tolerance =
      member(member(member(vector, "tolerance"), to_string(type).c_str()), name.c_str());
  if (!tolerance.is_number()) throw std::invalid_argument("a tolerance is not a number");
  for (std::size_t k = 0; k < expected.value.size(); ++k) {
    // Rows without keys are compared with what is declared for them.
    if (!std::isfinite(expected.value[k]) || std::isinf(expected.tolerance[k])) continue;
    if (expected.tolerance[k] == 0 && expected.value[k] == 0) continue;
    const double value = read_number(recorded.leaves[k]).value;
    expected.value[k] =
        log_sum_exp ? declared_log_sum_exp(value, declared, input.shape.samples, input.exact)
                    : value;
    if (standard) expected.tolerance[k] = tolerance.get<double>();
  }
}

std::optional<std::string> other_convention(const AttentionInput& input,
                                            const plsh_conventions& declared) {
  const AttentionCase& c = input.shape;
  if (c.query_length != c.key_length &&
      declared.causal_alignment != input.conventions.causal_alignment)
    return "the other causal alignment is declared";
  if (c.kv_heads > 1 && c.group > 1 && declared.head_grouping != input.conventions.head_grouping)
    return "the other head grouping is declared";
  return std::nullopt;
}

}  // namespace

template <bool exact, bool backward>
Computed compute_attention(const Json& input, const Digits& digits) {
  const AttentionInput parsed = read_attention(input, exact, backward);
  return {certified(parsed, digits), tolerances(parsed)};
}

template <bool exact, bool backward>
Run run_attention(const Implementation& implementation, const Json& vector) {
  const AttentionInput input = read_attention(member(vector, "input"), exact, backward);
  const plsh_conventions& declared = implementation.conventions();
  if (const auto why = other_convention(input, declared)) return unsuitable(*why);
  std::string refusals = "no type of this vector is supported";
  bool any = false;
  for (const Type type : {Type::f64, Type::f32, Type::bf16, Type::f16}) {
    if (!implementation.supports(type) || !input.fits(type) ||
        !member(vector, "tolerance").contains(to_string(type)))
      continue;
    AttentionProblem problem = attention_problem(input, type);
    try {
      problem.forward(implementation, exact);
      if (backward) problem.backward(implementation, exact);
    } catch (const Refused& refusal) {
      refusals = refusal.what();
      continue;
    } catch (const Violation& violation) {
      return fail(fmt::format("{}: {}", to_string(type), violation.what()));
    }
    any = true;
    for (auto& [name, expected] : expectations(problem, declared, exact, backward)) {
      use_recorded(expected, name, vector, input, declared, type);
      const std::string text = name;
      const Tensor& got = text == "output"           ? problem.output
                          : text == "log_sum_exp"    ? problem.log_sum_exp
                          : text == "query_gradient" ? problem.query_gradient
                          : text == "key_gradient"   ? problem.key_gradient
                                                     : problem.value_gradient;
      const Comparison comparison = compare(text, got, expected);
      if (!comparison.message.empty())
        return fail(fmt::format("{}: {}", to_string(type), comparison.message));
    }
  }
  if (!any) throw Refused(refusals);
  return {};
}

template Computed compute_attention<true, false>(const Json&, const Digits&);
template Computed compute_attention<true, true>(const Json&, const Digits&);
template Computed compute_attention<false, false>(const Json&, const Digits&);
template Computed compute_attention<false, true>(const Json&, const Digits&);
template Run run_attention<true, false>(const Implementation&, const Json&);
template Run run_attention<true, true>(const Implementation&, const Json&);
template Run run_attention<false, false>(const Implementation&, const Json&);
template Run run_attention<false, true>(const Implementation&, const Json&);

}  // namespace plsh::properties::vectors
