// Only differences of logits matter, and logits are scale q.k, component by component.
#include <fmt/format.h>

#include <cmath>

#include "invariance.hpp"

namespace plsh::properties {
namespace {

// The inputs of `to` are those of `from`, where `from` has the component; else others(e).
template <class Others>
void fill_with_more_components(const AttentionProblem& from, AttentionProblem& to,
                               const Others& others) {
  for (const Part part : {Part::query, Part::key, Part::value, Part::output_gradient})
    fill_input(to, part, [&](const Element& e) {
      return e.component < components_of(from, part) ? get(from, e) : others(e);
    });
  copy_slopes_and_partitions(from, to);
}

Outcome check_row_constant(const Setup& setup) {
  AttentionProblem base(setup.c);
  AttentionCase c = setup.c;
  c.scale = base.scale();  // the default would follow the dimension
  c.head_dim += 1;
  AttentionProblem shifted(c);
  // Far from zero, where a stand-in for minus infinity may lie above all logits of a row, or exp
  // overflows without a shift by their maximum.
  const std::string level = setup.choice("level", "near");
  const double offset = level == "near" ? 0 : level == "far below" ? -0x1p17 : 0x1p17;
  const Index start = setup.pick(8);
  const auto constant = [&](const Element& row) {
    return offset + static_cast<double>((3 * row.row + row.head + start) % 8 - 3) * 2;
  };
  fill_with_more_components(
      base, shifted, [&](const Element& e) { return e.part == Part::query ? constant(e) : 1.0; });
  Differences differences("a constant added to the logits of each row, as one more component");
  const double unit = lse_unit(setup);
  compare_runs(setup, base, shifted, differences, [&](const Readings& readings, const Element& e) {
    if (e.component == setup.c.head_dim && e.part == Part::key_gradient)
      return Reading{0, anything};
    // It changes nothing, so nothing depends on it.
    if (e.component == setup.c.head_dim && e.part == Part::query_gradient) return Reading{0, 0};
    Reading expected = readings.at(e);
    if (e.part == Part::log_sum_exp) expected.value += c.scale * constant(e) * unit;
    return expected;
  });
  return differences.outcome();
}

Outcome check_scale(const Setup& setup) {
  AttentionProblem base(setup.c);
  AttentionCase c = setup.c;
  c.scale = base.scale() / 2;
  AttentionProblem doubled(c);
  fill_input(doubled, Part::query, [&](const Element& e) { return 2 * get(base, e); });
  Differences differences("queries doubled and the scale halved");
  compare_runs(setup, base, doubled, differences, [](const Readings& readings, const Element& e) {
    const Reading reading = readings.at(e);
    return e.part == Part::query_gradient ? 0.5 * reading : reading;
  });
  return differences.outcome();
}

Outcome check_more_components(const Setup& setup) {
  AttentionProblem base(setup.c);
  AttentionCase c = setup.c;
  c.scale = base.scale();
  c.head_dim += 1 + setup.pick(4, 0);
  c.value_dim += 1 + setup.pick(4, 1);
  AttentionProblem larger(c);
  // Zeros say nothing in a dot product; more components of the values are no business of the
  // others, if nothing comes back through them.
  fill_with_more_components(base, larger, [](const Element& e) {
    return e.part == Part::value ? static_cast<double>(e.row % 5) - 2 : 0.0;
  });
  Differences differences(
      fmt::format("{} components of zeros appended to queries and keys, {} to values",
                  c.head_dim - setup.c.head_dim, c.value_dim - setup.c.value_dim));
  compare_runs(setup, base, larger, differences, [&](const Readings& readings, const Element& e) {
    if (e.part == Part::log_sum_exp || e.component < components_of(base, e.part))
      return readings.at(e);
    return Reading{0, e.part == Part::output ? anything : 0};
  });
  return differences.outcome();
}

Outcome check_component_order(const Setup& setup) {
  AttentionProblem base(setup.c);
  AttentionProblem reversed(setup.c);
  const auto origin = [&](Element e) {
    e.component = components_of(base, e.part) - 1 - e.component;
    return e;
  };
  for (const Part part : {Part::query, Part::key, Part::value, Part::output_gradient})
    fill_input(reversed, part, [&](const Element& e) { return get(base, origin(e)); });
  Differences differences("components of queries, keys and values in the opposite order");
  compare_runs(setup, base, reversed, differences,
               [&](const Readings& readings, const Element& e) { return readings.at(origin(e)); });
  return differences.outcome();
}

// The constant must be exact in the type.
void wide_type(AttentionCase& c) {
  if (c.type == Type::f16) c.type = Type::f32;
  if (c.type == Type::bf16) c.type = Type::f64;
  if (c.fill == Fill::large_logits) c.fill = Fill::normal;
}

// Doubled, the queries of half-precision cases must stay far from the largest number.
void moderate(AttentionCase& c) {
  if (c.type == Type::f16 && c.fill == Fill::large_logits) c.fill = Fill::sharp;
}

}  // namespace

void add_logit_invariances(std::vector<Property>& all) {
  std::vector<Family> shifted = usual_families();
  Family far = with_choice(short_cases(wide_type), "level", {"far below", "far above"});
  far.name = "far";
  far.purpose = "Logits of all keys below -2^15, or above 2^15.";
  shifted.push_back(far);
  add_invariance(all,
                 {"row-constant",
                  "A constant added to all logits of a row changes none of the {}, but for the "
                  "log-sum-exp, which grows by it.",
                  all_kinds,
                  shifted,
                  check_row_constant,
                  {},
                  {}});
  std::vector<Family> scaled = usual_families(moderate);
  scaled.push_back(layout_cases(moderate));
  add_invariance(all,
                 {"scale",
                  "Queries doubled and the scale halved give the same {} (the query's gradient "
                  "halved).",
                  all_kinds,
                  scaled,
                  check_scale,
                  {},
                  {}});
  add_invariance(all, {"more-components",
                       "Zeros appended to queries and keys, and components appended to the values, "
                       "leave the {} of the components before as they are.",
                       all_kinds,
                       usual_families(),
                       check_more_components,
                       {},
                       {}});
  add_invariance(all,
                 {"component-order",
                  "Components in the opposite order give the same {}, in that order where they "
                  "have components: no component is special.",
                  all_kinds,
                  {dimension_cases(), short_cases(), variable_cases()},
                  check_component_order,
                  {},
                  {}});
}

}  // namespace plsh::properties
