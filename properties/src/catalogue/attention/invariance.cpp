#include "invariance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "../catalogue.hpp"

namespace plsh::properties {
namespace {

constexpr const char* name_of(Part part) {
  switch (part) {
    case Part::query:
      return "query";
    case Part::key:
      return "key";
    case Part::value:
      return "value";
    case Part::output_gradient:
      return "output_gradient";
    case Part::output:
      return "output";
    case Part::log_sum_exp:
      return "log_sum_exp";
    case Part::query_gradient:
      return "query_gradient";
    case Part::key_gradient:
      return "key_gradient";
    case Part::value_gradient:
      return "value_gradient";
  }
  return "?";
}

bool is_of_keys(Part part) {
  return part == Part::key || part == Part::value || part == Part::key_gradient ||
         part == Part::value_gradient;
}

// The place along the length axis.
Index row_in_tensor(const AttentionProblem& problem, const Element& e) {
  const Sequence& s = problem.sequences()[static_cast<std::size_t>(e.sequence)];
  return (is_of_keys(e.part) ? s.key_begin : s.query_begin) + e.row;
}

Index batch_in_tensor(const AttentionProblem& problem, const Element& e) {
  return problem.sequences()[static_cast<std::size_t>(e.sequence)].batch;
}

// Calls access with the index of the element in its tensor.
template <class Access>
auto access(const AttentionProblem& problem, const Element& e, const Access& with) {
  const Index b = batch_in_tensor(problem, e);
  const Index row = row_in_tensor(problem, e);
  if (e.part == Part::log_sum_exp) return with(std::initializer_list<Index>{b, e.head, row});
  return with(std::initializer_list<Index>{b, row, e.head, e.component});
}

std::uint64_t bits_at(const AttentionProblem& problem, const Element& e) {
  return access(problem, e, [&](auto index) { return tensor_of(problem, e.part).bits(index); });
}

}  // namespace

Operation Kind::operation() const {
  if (exact) return backward ? Operation::exact_backward : Operation::exact_forward;
  return backward ? Operation::sampled_backward : Operation::sampled_forward;
}

const Tensor& tensor_of(const AttentionProblem& problem, Part part) {
  switch (part) {
    case Part::query:
      return problem.query;
    case Part::key:
      return problem.key;
    case Part::value:
      return problem.value;
    case Part::output_gradient:
      return problem.output_gradient;
    case Part::log_sum_exp:
      return problem.log_sum_exp;
    case Part::query_gradient:
      return problem.query_gradient;
    case Part::key_gradient:
      return problem.key_gradient;
    case Part::value_gradient:
      return problem.value_gradient;
    default:
      return problem.output;
  }
}

Tensor& tensor_of(AttentionProblem& problem, Part part) {
  return const_cast<Tensor&>(tensor_of(static_cast<const AttentionProblem&>(problem), part));
}

double get(const AttentionProblem& problem, const Element& e) {
  return access(problem, e, [&](auto index) { return tensor_of(problem, e.part).get(index); });
}

void set(AttentionProblem& problem, const Element& e, double value) {
  access(problem, e, [&](auto index) { tensor_of(problem, e.part).set(index, value); });
}

std::string to_string(const AttentionProblem& problem, const Element& e) {
  return access(problem, e, [&](std::initializer_list<Index> index) {
    std::string text;
    for (const Index i : index) text += (text.empty() ? "" : ", ") + std::to_string(i);
    return fmt::format("{}[{}]", name_of(e.part), text);
  });
}

std::size_t flat_index(const AttentionProblem& problem, const Element& e) {
  const std::vector<Index>& shape = tensor_of(problem, e.part).shape();
  return access(problem, e, [&](std::initializer_list<Index> index) {
    Index flat = 0;
    std::size_t a = 0;
    for (const Index i : index) flat = flat * shape[a++] + i;
    return static_cast<std::size_t>(flat);
  });
}

Index rows_of(const AttentionProblem& problem, Part part, Index sequence) {
  const Sequence& s = problem.sequences()[static_cast<std::size_t>(sequence)];
  return is_of_keys(part) ? s.key_length : s.query_length;
}

Index heads_of(const AttentionProblem& problem, Part part) {
  return is_of_keys(part) ? problem.parameters().kv_heads : problem.parameters().heads();
}

Index components_of(const AttentionProblem& problem, Part part) {
  return part == Part::log_sum_exp ? 1 : tensor_of(problem, part).shape()[3];
}

std::string Setup::choice(const char* member, const char* otherwise) const {
  const auto found = parameters.find(member);
  return found != parameters.end() && found->is_string() ? found->get<std::string>() : otherwise;
}

Index Setup::pick(Index count, std::uint64_t what) const {
  constexpr std::uint64_t kStream = 100;
  return static_cast<Index>(uniform_at(c.seed, kStream, what) * static_cast<double>(count));
}

void Setup::run(AttentionProblem& problem) const {
  problem.forward(implementation, kind.exact);
  if (kind.backward) problem.backward(implementation, kind.exact);
}

std::vector<Part> Setup::results() const {
  if (kind.backward) return {Part::query_gradient, Part::key_gradient, Part::value_gradient};
  if (!c.log_sum_exp) return {Part::output};
  return {Part::output, Part::log_sum_exp};
}

bool Setup::promises_same_bits() const {
  // Gradients follow from the output as well.
  return implementation.promises(PLSH_DETERMINISTIC_FORWARD) &&
         (!kind.backward || implementation.promises(PLSH_DETERMINISTIC_BACKWARD));
}

Index position_of(const Setup& setup, const AttentionProblem& problem, Index sequence,
                  Index query) {
  return query + query_offset(setup.implementation.conventions(),
                              problem.sequences()[static_cast<std::size_t>(sequence)]);
}

Index kv_head_of(const Setup& setup, const AttentionProblem& problem, Index head) {
  return kv_head(setup.implementation.conventions(), problem.parameters(), head);
}

double lse_unit(const Setup& setup) {
  return setup.implementation.conventions().lse_base == PLSH_LSE_BASE_2 ? std::numbers::log2e : 1.0;
}

std::vector<bool> seen_keys(const Setup& setup, const AttentionProblem& problem, Index sequence,
                            Index query, Index head) {
  const Index length = rows_of(problem, Part::key, sequence);
  const Index position = position_of(setup, problem, sequence, query);
  const Index end =
      problem.parameters().causal ? std::clamp<Index>(position + 1, 0, length) : length;
  std::vector<bool> seen(static_cast<std::size_t>(length), false);
  if (setup.kind.exact) {
    std::fill(seen.begin(), seen.begin() + end, true);
    return seen;
  }
  if (position < 0 || position >= length) return seen;
  for (const reference::Partition& partition : problem.partitions(sequence, head)) {
    const reference::Block block = partition.block(partition.block_of(position));
    std::fill(seen.begin() + block.begin,
              seen.begin() + std::max(block.begin, std::min(block.end, end)), true);
  }
  return seen;
}

Reading operator+(const Reading& a, const Reading& b) {
  return {a.value + b.value, a.tolerance + b.tolerance};
}
Reading operator-(const Reading& a, const Reading& b) {
  return {a.value - b.value, a.tolerance + b.tolerance};
}
Reading operator*(double factor, const Reading& a) {
  return {factor * a.value, std::abs(factor) * a.tolerance};
}

Readings::Readings(const Setup& setup, const AttentionProblem& problem) : problem_(problem) {
  const plsh_conventions& conventions = setup.implementation.conventions();
  if (setup.kind.backward) {
    BackwardExpectation all = expected_backward(problem, conventions, setup.kind.exact);
    expected_[Part::query_gradient] = std::move(all.query_gradient);
    expected_[Part::key_gradient] = std::move(all.key_gradient);
    expected_[Part::value_gradient] = std::move(all.value_gradient);
  } else {
    ForwardExpectation all = expected_forward(problem, conventions, setup.kind.exact);
    expected_[Part::output] = std::move(all.output);
    expected_[Part::log_sum_exp] = std::move(all.log_sum_exp);
  }
}

Reading Readings::at(const Element& e) const {
  return {get(problem_, e), expected_.at(e.part).tolerance[flat_index(problem_, e)]};
}

void Differences::add(const std::string& text) {
  if (count_++ == 0) first_ = text;
}

void Differences::within(const AttentionProblem& problem, const Element& e, const Reading& got,
                         const Reading& expected) {
  const double tolerance = got.tolerance + expected.tolerance;
  if (std::isinf(tolerance)) return;
  if (got.value == expected.value || (std::isnan(got.value) && std::isnan(expected.value))) return;
  const double error = std::abs(got.value - expected.value);
  if (error <= tolerance) {
    ratio_ = std::max(ratio_, error / tolerance);
    return;
  }
  add(fmt::format("{} is {}, expected {} +- {:.3g}", to_string(problem, e), got.value,
                  expected.value, tolerance));
}

void Differences::exactly(const AttentionProblem& problem, const Element& e, double expected) {
  const double got = get(problem, e);
  if (got == expected || (std::isnan(got) && std::isnan(expected))) return;
  add(fmt::format("{} is {}, expected {} exactly", to_string(problem, e), got, expected));
}

void Differences::same(const Setup& setup, const AttentionProblem& got, const Element& e,
                       const AttentionProblem& expected, const Element& from,
                       const Readings* tolerances) {
  const double a = get(got, e);
  const double b = get(expected, from);
  if (a == b || bits_at(got, e) == bits_at(expected, from) || (std::isnan(a) && std::isnan(b)))
    return;
  if (!setup.promises_same_bits() && tolerances != nullptr) {
    const Reading reading = tolerances->at(from);
    return within(got, e, {a, reading.tolerance}, reading);
  }
  add(fmt::format("{} is {}, expected the same bits as before: {}", to_string(got, e), a, b));
}

Outcome Differences::outcome() const {
  Outcome result;
  if (count_ > 0)
    result = failed(fmt::format("{}: {}{}", change_, first_,
                                count_ == 1 ? "" : fmt::format("; {} elements are wrong", count_)));
  result.error_ratio = ratio_;
  return result;
}

void copy_slopes_and_partitions(const AttentionProblem& from, AttentionProblem& to) {
  for (Index s = 0; s < to.parameters().batch; ++s)
    for (Index h = 0; h < to.parameters().heads(); ++h) {
      to.slopes.set({s, h}, from.slope(s, h));
      if (!from.partitions(s, h).empty()) to.set_partitions(s, h, from.partitions(s, h));
    }
  to.seal_inputs();
}

void add_invariance(std::vector<Property>& all, const Invariance& invariance) {
  for (const Kind kind : invariance.kinds) {
    Property property;
    std::string area = to_string(kind.operation());
    std::replace(area.begin(), area.end(), '_', '-');
    property.id = area + "." + invariance.name;
    property.claim = !invariance.claim.empty() ? invariance.claim : kind.exact ? "C8" : "C6";
    property.statement = fmt::format(fmt::runtime(invariance.statement),
                                     kind.backward ? "gradients" : "output and log-sum-exp");
    property.needs = {Kind{kind.exact, false}.operation()};
    if (kind.backward) property.needs.push_back(kind.operation());
    for (const Operation operation : invariance.needs) property.needs.push_back(operation);
    property.families = invariance.families;
    property.check = [kind, check = invariance.check](const Implementation& implementation,
                                                      const Case& parameters, const Budget&) {
      AttentionCase c = parameters.get<AttentionCase>();
      if (!implementation.supports(c.type)) c.type = implementation.supported_types().front();
      if (kind.backward) c.log_sum_exp = true;
      return check(Setup{implementation, kind, c, parameters});
    };
    all.push_back(std::move(property));
  }
}

void add_attention_invariance_properties(std::vector<Property>& all) {
  add_weight_invariances(all);
  add_logit_invariances(all);
  add_locality_invariances(all);
  add_row_invariances(all);
  add_block_invariances(all);
  add_sample_invariances(all);
  add_part_invariances(all);
  add_mask_invariances(all);
  add_symmetry_invariances(all);
}

}  // namespace plsh::properties
