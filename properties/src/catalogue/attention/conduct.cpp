// Every output element is written and nothing else is: each call looks, these cases are made for
// it.
#include "conduct.hpp"
#include "../catalogue.hpp"

namespace plsh::properties {
namespace {

Outcome check_writes(const Setup& setup) {
  AttentionProblem problem(setup.c);
  setup.run(problem);
  return passed();
}

void some_without_lse(AttentionCase& c) { c.log_sum_exp = c.seed % 4 != 1; }

}  // namespace

void add_attention_conduct_properties(std::vector<Property>& all) {
  add_invariance(
      all, {"writes",
            "All of the {} is written, and nothing else: no gap between elements, nothing "
            "before or behind a tensor, no input, nothing beside the workspace.",
            all_kinds,
            {short_cases(some_without_lse), dimension_cases(some_without_lse),
             tail_cases(some_without_lse), unequal_cases(some_without_lse),
             head_cases(some_without_lse), variable_cases(some_without_lse),
             layout_cases(some_without_lse), many_row_cases(some_without_lse), many_key_cases()},
            check_writes,
            {},
            {}});
  add_repeat_properties(all);
  add_layout_properties(all);
}

}  // namespace plsh::properties
