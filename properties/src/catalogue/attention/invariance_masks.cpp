// Attention and the mean mask are two views of the same samples.
#include <algorithm>

#include "invariance.hpp"

namespace plsh::properties {
namespace {

// With zero scores and the unit vectors as values, row i of the output is row i of M~ over its sum.
Outcome check_mean_mask(const Setup& setup) {
  AttentionCase c = setup.c;
  c.value_dim = c.key_length;
  AttentionProblem problem(c);
  fill_input(problem, Part::query, [](const Element&) { return 0.0; });
  fill_input(problem, Part::value,
             [](const Element& e) { return e.component == e.row ? 1.0 : 0.0; });
  const Type type = c.type == Type::f64 ? Type::f64 : Type::f32;
  Tensor mask(type, {c.batch, c.heads(), c.key_length, c.key_length});
  setup.implementation.mean_mask(problem.block_counts, problem.block_starts, mask);
  setup.run(problem);

  const Readings readings(setup, problem);
  // An entry may have two roundings (mask.multiples), so a quotient of sums of them is off by a
  // factor of at most (1 + u)^2 / (1 - u)^2 < 1 + 5u.
  const double relative = 5 * unit_roundoff(type);
  Differences differences("zero scores, unit values: the output against the mean mask");
  for_each_element(problem, Part::output, [&](const Element& e) {
    const Index position = position_of(setup, problem, e.sequence, e.row);
    if (position < 0 || position >= c.key_length) return;
    const Index last = c.causal ? position : c.key_length - 1;
    double sum = 0;
    for (Index j = 0; j <= last; ++j) sum += mask.get({e.sequence, e.head, position, j});
    const double share =
        e.component <= last ? mask.get({e.sequence, e.head, position, e.component}) / sum : 0;
    differences.within(problem, e, readings.at(e), {share, relative * share});
  });
  return differences.outcome();
}

void short_enough(AttentionCase& c) {
  c.key_length = std::clamp<Index>(c.key_length, 1, 48);
  c.fill = Fill::zero_scores;
}

}  // namespace

void add_mask_invariances(std::vector<Property>& all) {
  add_invariance(all,
                 {"mean-mask",
                  "Zero scores and unit values give the rows of the mean mask, over their sums.",
                  {{false, false}},
                  {short_cases([](AttentionCase& c) {
                     c.query_lengths.clear();
                     c.key_lengths.clear();
                     short_enough(c);
                   }),
                   head_cases(short_enough), unequal_cases(short_enough)},
                  check_mean_mask,
                  "C12",
                  {Operation::mean_mask}});
}

}  // namespace plsh::properties
