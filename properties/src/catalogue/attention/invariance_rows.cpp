// Rows that see nothing, keys that nobody sees, and gradients that nothing flows into.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "invariance.hpp"

namespace plsh::properties {
namespace {

bool is_empty(const std::vector<bool>& seen) {
  return std::find(seen.begin(), seen.end(), true) == seen.end();
}

// The gradient of a row that sees nothing is 0 whatever it holds; what an implementation makes of a
// NaN that it is allowed to return is its own affair.
bool empty_gradient_is_zero(const Setup& setup) {
  return setup.implementation.conventions().empty_row == PLSH_EMPTY_ZERO;
}

// The output's gradient is 0 but for one row, or nowhere: what flows back stays with the keys seen.
Outcome check_zero_outside(const Setup& setup) {
  AttentionProblem problem(setup.c);
  const bool one_row = setup.choice("rows", "one") == "one";
  const Index sequence = setup.pick(problem.parameters().batch, 10);
  const Index queries = rows_of(problem, Part::query, sequence);
  if (one_row && queries == 0) return passed();
  const Index query = setup.pick(std::max<Index>(queries, 1), 11);
  const Index head = setup.pick(setup.c.heads(), 12);
  const auto is_source = [&](Index s, Index i, Index h) {
    return !one_row || (s == sequence && i == query && h == head);
  };
  fill_input(problem, Part::output_gradient, [&](const Element& e) {
    return is_source(e.sequence, e.row, e.head) ? get(problem, e) : 0.0;
  });
  setup.run(problem);
  Differences differences(
      one_row ? fmt::format("output_gradient is 0 except in row {} of head {} of sequence {}",
                            query, head, sequence)
              : std::string("rows that see no key, and keys that no row sees"));
  for (Index s = 0; s < problem.parameters().batch; ++s) {
    std::vector<std::vector<bool>> reached(
        static_cast<std::size_t>(setup.c.kv_heads),
        std::vector<bool>(static_cast<std::size_t>(rows_of(problem, Part::key, s)), false));
    for (Index i = 0; i < rows_of(problem, Part::query, s); ++i)
      for (Index h = 0; h < setup.c.heads(); ++h) {
        const std::vector<bool> seen = seen_keys(setup, problem, s, i, h);
        const bool source = is_source(s, i, h);
        if (is_empty(seen) ? empty_gradient_is_zero(setup) : !source)
          for (Index x = 0; x < setup.c.head_dim; ++x)
            differences.exactly(problem, {Part::query_gradient, s, i, h, x}, 0);
        if (!source) continue;
        std::vector<bool>& keys = reached[static_cast<std::size_t>(kv_head_of(setup, problem, h))];
        for (std::size_t j = 0; j < keys.size(); ++j) keys[j] = keys[j] || seen[j];
      }
    for (const Part part : {Part::key_gradient, Part::value_gradient})
      for_each_element(problem, part, s, [&](const Element& e) {
        if (!reached[static_cast<std::size_t>(e.head)][static_cast<std::size_t>(e.row)])
          differences.exactly(problem, e, 0);
      });
  }
  return differences.outcome();
}

Outcome check_empty_rows(const Setup& setup) {
  AttentionProblem problem(setup.c);
  setup.run(problem);
  const plsh_conventions& conventions = setup.implementation.conventions();
  Differences differences("rows that see no key, and those that see one");
  for (Index s = 0; s < problem.parameters().batch; ++s)
    for (Index i = 0; i < rows_of(problem, Part::query, s); ++i)
      for (Index h = 0; h < setup.c.heads(); ++h) {
        const bool empty = is_empty(seen_keys(setup, problem, s, i, h));
        if (empty && conventions.empty_row == PLSH_EMPTY_ANYTHING) continue;
        const Element lse{Part::log_sum_exp, s, i, h};
        if (empty) differences.exactly(problem, lse, -std::numeric_limits<double>::infinity());
        for (Index x = 0; x < setup.c.value_dim; ++x) {
          const Element e{Part::output, s, i, h, x};
          if (empty)
            differences.exactly(problem, e,
                                conventions.empty_row == PLSH_EMPTY_ZERO
                                    ? 0
                                    : std::numeric_limits<double>::quiet_NaN());
          else if (!std::isfinite(get(problem, e)))
            differences.within(problem, e, {get(problem, e), 0}, {0, largest_finite(setup.c.type)});
        }
      }
  return differences.outcome();
}

// What is sent back into rows that see nothing goes nowhere.
Outcome check_empty_gradients(const Setup& setup) {
  AttentionProblem base(setup.c);
  AttentionProblem changed(setup.c);
  fill_input(changed, Part::output_gradient, [&](const Element& e) {
    const bool empty = is_empty(seen_keys(setup, base, e.sequence, e.row, e.head));
    return empty ? 1000.0 * static_cast<double>(1 + e.component) : get(base, e);
  });
  setup.run(base);
  setup.run(changed);
  std::optional<Readings> tolerances;
  if (!setup.promises_same_bits()) tolerances.emplace(setup, base);
  Differences differences("another output_gradient in the rows that see no key");
  for (const Part part : {Part::key_gradient, Part::value_gradient})
    for_each_element(base, part, [&](const Element& e) {
      differences.same(setup, changed, e, base, e, tolerances ? &*tolerances : nullptr);
      if (!std::isfinite(get(base, e)))
        differences.within(base, e, {get(base, e), 0}, {0, largest_finite(setup.c.type)});
    });
  return differences.outcome();
}

void finite(AttentionCase& c) {
  if (c.fill == Fill::large_logits && c.type == Type::f16) c.fill = Fill::sharp;
}
void more_queries(AttentionCase& c) {
  finite(c);
  if (c.query_length <= c.key_length) c.query_length += c.key_length;
}
void causal_unequal(AttentionCase& c) {
  more_queries(c);
  c.causal = true;
}

}  // namespace

void add_row_invariances(std::vector<Property>& all) {
  std::vector<Family> families = usual_families(finite);
  families.push_back(layout_cases(finite));
  const std::vector<Family> sources = with_choice(families, "rows", {"one", "all"});
  const std::string exactly =
      "Keys and values that no row with an output gradient sees get gradients of exactly 0, and so "
      "do the queries of rows without one.";
  add_invariance(
      all, {"zero-outside-rows", exactly, {{true, true}}, sources, check_zero_outside, {}, {}});
  add_invariance(
      all,
      {"zero-outside-blocks", exactly, {{false, true}}, sources, check_zero_outside, "C2", {}});

  std::vector<Family> empty{unequal_cases(finite), unequal_cases(causal_unequal),
                            variable_cases(finite), many_row_cases(finite)};
  empty[1].name = "causal-unequal";
  empty[1].purpose = "More queries than keys, causal: the first rows may see nothing.";
  std::vector<Family> empty_tails{tail_cases(more_queries)};
  empty.push_back(empty_tails[0]);
  add_invariance(all,
                 {"empty-rows",
                  "Rows that see no key have the declared output and log-sum-exp -infinity; all "
                  "others have finite {}.",
                  forward_kinds,
                  empty,
                  check_empty_rows,
                  {},
                  {}});
  empty.erase(empty.begin() + 3);  // 65537 rows say no more about gradients
  add_invariance(all, {"empty-rows",
                       "What flows into rows that see no key changes no {} of keys and values.",
                       backward_kinds,
                       empty,
                       check_empty_gradients,
                       {},
                       {}});
}

}  // namespace plsh::properties
