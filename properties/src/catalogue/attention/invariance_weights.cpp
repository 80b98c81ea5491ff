// Outputs are averages of the values, with weights that sum to one and do not depend on them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "invariance.hpp"

namespace plsh::properties {
namespace {

Outcome check_convex(const Setup& setup) {
  AttentionProblem problem(setup.c);
  setup.run(problem);
  const Readings readings(setup, problem);
  Differences differences("an output outside the range of the values its row sees");
  for (Index s = 0; s < problem.parameters().batch; ++s)
    for (Index i = 0; i < rows_of(problem, Part::query, s); ++i)
      for (Index h = 0; h < setup.c.heads(); ++h) {
        const std::vector<bool> seen = seen_keys(setup, problem, s, i, h);
        if (std::find(seen.begin(), seen.end(), true) == seen.end()) continue;
        for (Index x = 0; x < setup.c.value_dim; ++x) {
          double low = std::numeric_limits<double>::infinity();
          double high = -low;
          for (std::size_t j = 0; j < seen.size(); ++j) {
            if (!seen[j]) continue;
            const double v = get(
                problem, {Part::value, s, static_cast<Index>(j), kv_head_of(setup, problem, h), x});
            low = std::min(low, v);
            high = std::max(high, v);
          }
          const Element e{Part::output, s, i, h, x};
          const Reading got = readings.at(e);
          differences.within(problem, e, got,
                             {std::isnan(got.value) ? low : std::clamp(got.value, low, high), 0});
        }
      }
  return differences.outcome();
}

// What is linear: the output in the values, the gradients in the output's gradient.
Outcome check_linear(const Setup& setup) {
  const Part input = setup.kind.backward ? Part::output_gradient : Part::value;
  // Multiples of 1/4 up to 1, and their sums, are exact in every type.
  const auto dyadic = [&](std::uint64_t stream) {
    std::uint64_t index = 0;
    std::vector<double> entries(
        static_cast<std::size_t>(tensor_of(AttentionProblem(setup.c), input).size()));
    for (double& entry : entries)
      entry = std::floor(9 * uniform_at(setup.c.seed, stream, index++) - 4) / 4;
    return entries;
  };
  const std::vector<double> first = dyadic(101);
  const std::vector<double> second = dyadic(102);
  const auto problem_with = [&](const auto& entry) {
    AttentionProblem problem(setup.c);
    std::size_t k = 0;
    fill_input(problem, input, [&](const Element&) {
      const double value = entry(k);
      ++k;
      return value;
    });
    setup.run(problem);
    return problem;
  };
  const AttentionProblem a = problem_with([&](std::size_t k) { return first[k]; });
  const AttentionProblem b = problem_with([&](std::size_t k) { return second[k]; });
  const AttentionProblem sum = problem_with([&](std::size_t k) { return first[k] + second[k]; });
  const Readings of_a(setup, a);
  const Readings of_b(setup, b);
  const Readings of_sum(setup, sum);
  Differences differences(
      fmt::format("two {}s added up", setup.kind.backward ? "output_gradient" : "value"));
  for (const Part part : setup.results())
    for_each_element(sum, part, [&](const Element& e) {
      // Weights do not depend on the values: the log-sum-exp stays.
      const Reading expected = part == Part::log_sum_exp ? of_a.at(e) : of_a.at(e) + of_b.at(e);
      differences.within(sum, e, of_sum.at(e), expected);
    });
  return differences.outcome();
}

// The keys in two calls, merged by their log-sum-exp, as split and ring attention do.
Outcome check_merged(const Setup& setup) {
  const Index keys = setup.c.key_length;
  if (keys < 2) return unsuitable("one key cannot be split");
  if (setup.kind.exact && setup.implementation.conventions().lse_bias == PLSH_LSE_SHIFTED)
    return unsuitable("a shifted log-sum-exp does not tell the weight of a row's keys");
  AttentionCase whole_case = setup.c;
  whole_case.causal = false;
  whole_case.blocks = Blocks::whole;  // one block: positions do not matter
  const Index cut = 1 + setup.pick(keys - 1);
  // A sampled query outside the keys' positions would see nothing.
  whole_case.query_length = std::min({setup.c.query_length, cut, keys - cut});
  AttentionProblem whole(whole_case);
  const auto without_bias = [](AttentionProblem& problem) {
    for (Index s = 0; s < problem.parameters().batch; ++s)
      for (Index h = 0; h < problem.parameters().heads(); ++h) problem.slopes.set({s, h}, 0);
    problem.seal_inputs();
  };
  without_bias(whole);
  setup.run(whole);
  const auto part_of = [&](Index begin, Index length) {
    AttentionCase c = whole_case;
    c.key_length = length;
    AttentionProblem problem(c);
    without_bias(problem);
    fill_input(problem, Part::query, [&](const Element& e) { return get(whole, e); });
    for (const Part input : {Part::key, Part::value})
      fill_input(problem, input, [&](Element e) {
        e.row += begin;
        return get(whole, e);
      });
    setup.run(problem);
    return problem;
  };
  const AttentionProblem front = part_of(0, cut);
  const AttentionProblem back = part_of(cut, keys - cut);
  const Readings of_whole(setup, whole);
  const Readings of_front(setup, front);
  const Readings of_back(setup, back);
  const double unit = lse_unit(setup);
  Differences differences(
      fmt::format("keys 0..{} and {}..{} in two calls, merged", cut - 1, cut, keys - 1));
  for_each_element(whole, Part::output, [&](const Element& e) {
    const Element lse{Part::log_sum_exp, e.sequence, e.row, e.head};
    const Reading total = of_whole.at(lse);
    if (std::isinf(total.tolerance) || std::isinf(of_front.at(lse).tolerance) ||
        std::isinf(of_back.at(lse).tolerance))
      return;
    Reading merged;
    for (const Readings* half : {&of_front, &of_back}) {
      const Reading share = half->at(lse);
      const Reading output = half->at(e);
      const double weight = std::exp((share.value - total.value) / unit);
      if (weight == 0) continue;
      // exp of an exponent that is wrong by `slack` is wrong by a factor of at most exp(slack).
      const double slack = (share.tolerance + total.tolerance) / unit;
      merged.value += weight * output.value;
      merged.tolerance += weight * (std::exp(slack) * output.tolerance +
                                    std::expm1(slack) * std::abs(output.value));
    }
    differences.within(whole, e, of_whole.at(e), merged);
  });
  for_each_element(whole, Part::log_sum_exp, [&](const Element& e) {
    const Reading a = of_front.at(e);
    const Reading b = of_back.at(e);
    const double high = std::max(a.value, b.value);
    const double sum = high + unit * std::log(std::exp((a.value - high) / unit) +
                                              std::exp((b.value - high) / unit));
    differences.within(whole, e, of_whole.at(e), {sum, a.tolerance + b.tolerance});
  });
  return differences.outcome();
}

Outcome check_optional(const Setup& setup) {
  AttentionCase c = setup.c;
  c.log_sum_exp = true;
  AttentionProblem with(c);
  c.log_sum_exp = false;
  AttentionProblem without(c);
  setup.run(with);
  setup.run(without);
  const Readings of_with(setup, with);
  Differences differences("without the log-sum-exp");
  for_each_element(without, Part::output, [&](const Element& e) {
    const Reading expected = of_with.at(e);
    differences.within(without, e, {get(without, e), expected.tolerance}, expected);
  });
  return differences.outcome();
}

// Each key of its own group: 1 in the value of that key only, so the outputs are its weight, and
// the value's gradient is the sum of the weights that others give to it.
void constant(AttentionCase& c) { c.fill = Fill::constant_value; }

// Sums of logits in the thousands leave nothing to compare after a merge.
void moderate(AttentionCase& c) {
  if (c.fill == Fill::large_logits) c.fill = Fill::normal;
}

}  // namespace

void add_weight_invariances(std::vector<Property>& all) {
  std::vector<Family> convex = usual_families();
  Family constants = short_cases(constant);
  constants.name = "constant";
  constants.purpose = "All values of a head are the same: so is every output.";
  convex.push_back(constants);
  Family long_constants = tail_cases(constant);
  long_constants.name = "constant-tails";
  long_constants.purpose = "The same for partial tiles: keys beyond the end must have no weight.";
  convex.push_back(long_constants);
  convex.push_back(sample_cases(constant));
  convex.push_back(many_row_cases(constant));
  add_invariance(all,
                 {"convex",
                  "Every output lies between the least and the greatest of the values that its "
                  "row sees, and equals them when they are the same.",
                  forward_kinds,
                  convex,
                  check_convex,
                  {},
                  {}});
  add_invariance(all,
                 {"linear",
                  "Weights do not depend on what they are multiplied with: of two sets of values "
                  "(of output gradients in backward) added up, the {} add up.",
                  all_kinds,
                  usual_families(),
                  check_linear,
                  {},
                  {}});
  std::vector<Family> dense{short_cases(moderate), tail_cases(moderate), sample_cases(moderate),
                            head_cases(moderate), many_key_cases(moderate)};
  add_invariance(all,
                 {"merged",
                  "Without a bias, two calls on a part of the keys each, merged by the weights "
                  "exp(log-sum-exp), give the {} of one call.",
                  forward_kinds,
                  dense,
                  check_merged,
                  {},
                  {}});
  add_invariance(all, {"log-sum-exp-optional",
                       "The output is the same whether the log-sum-exp is wanted or not.",
                       forward_kinds,
                       {short_cases(), tail_cases(), variable_cases()},
                       check_optional,
                       {},
                       {}});
}

}  // namespace plsh::properties
