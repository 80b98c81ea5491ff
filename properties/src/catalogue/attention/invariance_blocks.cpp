// Partitions for which the result is known, and what does not depend on the order inside a block.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "invariance.hpp"

namespace plsh::properties {
namespace {

using reference::Partition;

// The key that a row is alone with: at its position; for exact attention with a steep slope the
// nearest one. -1: none.
Index only_key(const Setup& setup, const AttentionProblem& problem, Index sequence, Index query) {
  const Index length = rows_of(problem, Part::key, sequence);
  const Index position = position_of(setup, problem, sequence, query);
  if (length == 0) return -1;
  if (position >= 0 && position < length) return position;
  if (!setup.kind.exact || (problem.parameters().causal && position < 0)) return -1;
  return std::clamp<Index>(position, 0, length - 1);
}

Outcome check_alone(const Setup& setup) {
  AttentionProblem problem(setup.c);
  if (setup.kind.exact) {
    // exp of the distance 1 is 0 in every type, and no type overflows.
    for (Index s = 0; s < problem.parameters().batch; ++s)
      for (Index h = 0; h < setup.c.heads(); ++h) problem.slopes.set({s, h}, 1024);
    problem.seal_inputs();
  }
  setup.run(problem);
  const Readings readings(setup, problem);
  Differences differences(setup.kind.exact ? "every row sees its nearest key alone (slope 1024)"
                                           : "every position is a block of its own");
  if (!setup.kind.backward) {
    // With logits 0 all weights are 1 and nothing is left to round. From three samples on the sum
    // of equal values may be.
    const bool to_the_bit =
        !setup.kind.exact && setup.c.fill == Fill::zero_scores && setup.c.samples <= 2;
    for_each_element(problem, Part::output, [&](const Element& e) {
      const Index key = only_key(setup, problem, e.sequence, e.row);
      if (key < 0) return;
      const double value = get(
          problem, {Part::value, e.sequence, key, kv_head_of(setup, problem, e.head), e.component});
      if (to_the_bit) return differences.exactly(problem, e, value);
      differences.within(problem, e, readings.at(e), {value, 0});
    });
    return differences.outcome();
  }
  // One weight of 1 does not change with the logits.
  for (const Part part : {Part::query_gradient, Part::key_gradient})
    for_each_element(problem, part, [&](const Element& e) {
      if (part == Part::query_gradient && only_key(setup, problem, e.sequence, e.row) < 0) return;
      differences.within(problem, e, readings.at(e), {0, 0});
    });
  for_each_element(problem, Part::value_gradient, [&](const Element& e) {
    double sum = 0;
    for (Index i = 0; i < rows_of(problem, Part::query, e.sequence); ++i)
      for (Index h = 0; h < setup.c.heads(); ++h)
        if (kv_head_of(setup, problem, h) == e.head &&
            only_key(setup, problem, e.sequence, i) == e.row)
          sum += get(problem, {Part::output_gradient, e.sequence, i, h, e.component});
    differences.within(problem, e, readings.at(e), {sum, 0});
  });
  return differences.outcome();
}

Outcome check_one_block(const Setup& setup) {
  AttentionProblem sampled(setup.c);
  AttentionProblem exact(setup.c);
  for (Index s = 0; s < exact.parameters().batch; ++s)
    for (Index h = 0; h < setup.c.heads(); ++h) exact.slopes.set({s, h}, 0);
  exact.seal_inputs();
  const Setup exact_setup{
      setup.implementation, {true, setup.kind.backward}, setup.c, setup.parameters};
  setup.run(sampled);
  exact_setup.run(exact);
  const Readings of_sampled(setup, sampled);
  const Readings of_exact(exact_setup, exact);
  const plsh_conventions& conventions = setup.implementation.conventions();
  const double shift = conventions.lse_weights == PLSH_LSE_COUNT
                           ? std::log(static_cast<double>(setup.c.samples)) * lse_unit(setup)
                           : 0;
  Differences differences("one block, against exact attention with slope 0");
  for (const Part part : setup.results())
    for_each_element(sampled, part, [&](const Element& e) {
      Reading expected = of_exact.at(e);
      if (part == Part::log_sum_exp) expected.value += shift;
      differences.within(sampled, e, of_sampled.at(e), expected);
    });
  return differences.outcome();
}

// Sequences of positions that no sample cuts, for any head: [begin, end) each.
std::vector<reference::Block> common_blocks(const AttentionProblem& problem, Index sequence) {
  const Index length = rows_of(problem, Part::key, sequence);
  std::vector<bool> cut(static_cast<std::size_t>(length) + 1, false);
  cut.back() = true;
  for (Index h = 0; h < problem.parameters().heads(); ++h)
    for (const Partition& partition : problem.partitions(sequence, h))
      for (const Index start : partition.starts()) cut[static_cast<std::size_t>(start)] = true;
  std::vector<reference::Block> blocks;
  Index begin = 0;
  for (Index p = 1; p <= length; ++p)
    if (cut[static_cast<std::size_t>(p)]) {
      blocks.push_back({begin, p});
      begin = p;
    }
  return blocks;
}

Outcome check_permuted(const Setup& setup) {
  AttentionProblem base(setup.c);
  AttentionProblem permuted(setup.c);
  if (setup.kind.exact)
    for (AttentionProblem* problem : {&base, &permuted}) {
      for (Index s = 0; s < base.parameters().batch; ++s)
        for (Index h = 0; h < setup.c.heads(); ++h) problem->slopes.set({s, h}, 0);
      problem->seal_inputs();
    }
  // Where each key and each query of the permuted problem is in the base.
  std::vector<std::vector<Index>> key_from;
  std::vector<std::vector<Index>> query_from;
  for (Index s = 0; s < base.parameters().batch; ++s) {
    const Index keys = rows_of(base, Part::key, s);
    std::vector<reference::Block> blocks = common_blocks(base, s);
    if (setup.kind.exact && keys > 0) blocks = {{0, keys}};
    std::vector<Index> from(static_cast<std::size_t>(keys));
    std::iota(from.begin(), from.end(), Index{0});
    std::vector<Index> queries(static_cast<std::size_t>(rows_of(base, Part::query, s)));
    std::iota(queries.begin(), queries.end(), Index{0});
    const Index offset = position_of(setup, base, s, 0);
    for (const reference::Block& block : blocks) {
      const auto shift = 1 + setup.pick(std::max<Index>(block.size() - 1, 1),
                                        static_cast<std::uint64_t>(20 + block.begin));
      for (Index p = block.begin; p < block.end; ++p) {
        from[static_cast<std::size_t>(p)] = block.begin + (p - block.begin + shift) % block.size();
        // Queries in the opposite order, where all positions of the block have one.
        const Index first = block.begin - offset;
        const Index last = block.end - 1 - offset;
        if (first >= 0 && last < static_cast<Index>(queries.size()))
          queries[static_cast<std::size_t>(p - offset)] = first + last - (p - offset);
      }
    }
    key_from.push_back(std::move(from));
    query_from.push_back(std::move(queries));
  }
  const auto origin = [&](Element e) {
    const bool key = e.part == Part::key || e.part == Part::value || e.part == Part::key_gradient ||
                     e.part == Part::value_gradient;
    e.row =
        (key ? key_from
             : query_from)[static_cast<std::size_t>(e.sequence)][static_cast<std::size_t>(e.row)];
    return e;
  };
  for (const Part part : {Part::query, Part::key, Part::value, Part::output_gradient})
    fill_input(permuted, part, [&](const Element& e) { return get(base, origin(e)); });
  Differences differences(setup.kind.exact ? "keys and queries in another order, slope 0"
                                           : "keys and queries in another order inside each block");
  compare_runs(setup, base, permuted, differences,
               [&](const Readings& readings, const Element& e) { return readings.at(origin(e)); });
  return differences.outcome();
}

// Two sequences behind each other, cut between them in every sample: neither notices.
Outcome check_concatenated(const Setup& setup) {
  AttentionProblem first(setup.c);
  AttentionCase second_case = setup.c;
  second_case.seed += 1;
  second_case.query_length = second_case.key_length = 1 + setup.pick(setup.c.key_length + 3);
  AttentionProblem second(second_case);
  AttentionCase c = setup.c;
  c.key_length += second_case.key_length;
  c.query_length = c.key_length;
  AttentionProblem both(c);
  const Index cut = setup.c.key_length;
  const auto origin = [&](Element e) -> std::pair<bool, Element> {
    const bool in_second = e.row >= cut;
    if (in_second) e.row -= cut;
    return {in_second, e};
  };
  for (const Part part : {Part::query, Part::key, Part::value, Part::output_gradient})
    fill_input(both, part, [&](const Element& e) {
      const auto [in_second, from] = origin(e);
      return get(in_second ? second : first, from);
    });
  for (Index s = 0; s < c.batch; ++s)
    for (Index h = 0; h < c.heads(); ++h) {
      std::vector<Partition> joined;
      for (Index k = 0; k < c.samples; ++k) {
        std::vector<Index> starts = first.partitions(s, h)[static_cast<std::size_t>(k)].starts();
        for (const Index start : second.partitions(s, h)[static_cast<std::size_t>(k)].starts())
          starts.push_back(cut + start);
        joined.emplace_back(c.key_length, std::move(starts));
      }
      both.set_partitions(s, h, std::move(joined));
    }
  setup.run(first);
  setup.run(second);
  setup.run(both);
  const Readings of_first(setup, first);
  const Readings of_second(setup, second);
  const Readings of_both(setup, both);
  Differences differences(
      fmt::format("two sequences behind each other, all samples cut at {}", cut));
  for (const Part part : setup.results())
    for_each_element(both, part, [&](const Element& e) {
      const auto [in_second, from] = origin(e);
      differences.within(both, e, of_both.at(e), (in_second ? of_second : of_first).at(from));
    });
  return differences.outcome();
}

void singletons(AttentionCase& c) {
  c.blocks = Blocks::singletons;
  // The steep slope must outweigh all differences of logits.
  if (c.fill == Fill::large_logits || c.fill == Fill::sharp) c.fill = Fill::ties;
}
void zero_singletons(AttentionCase& c) {
  singletons(c);
  c.fill = Fill::zero_scores;
  c.samples = std::min<Index>(c.samples, 2);
}
void one_block(AttentionCase& c) {
  c.blocks = Blocks::whole;
  // A query outside the keys' positions shares no block, but exact attention lets it see.
  c.query_length = std::min(c.query_length, c.key_length);
  for (std::size_t b = 0; b < c.query_lengths.size(); ++b)
    c.query_lengths[b] = std::min(c.query_lengths[b], c.key_lengths[b]);
}
void permutable(AttentionCase& c) {
  c.causal = false;
  if (c.blocks == Blocks::singletons) c.blocks = Blocks::uneven;
  if (c.blocks == Blocks::random) c.samples = std::min<Index>(c.samples, 2);
}
void joinable(AttentionCase& c) { square(c); }

}  // namespace

void add_block_invariances(std::vector<Property>& all) {
  std::vector<Family> alone = usual_families(singletons);
  Family zero = short_cases(zero_singletons);
  zero.name = "zero-scores";
  zero.purpose = "Logits of 0, where the values must come back to the bit.";
  alone.push_back(zero);
  alone.push_back(sample_cases(singletons));
  add_invariance(all,
                 {"identity-partition",
                  "When every position is a block of its own, values come back as they are (to "
                  "the bit for logits of 0), output gradients too, and queries and keys get none "
                  "(the {} are those of the identity).",
                  sampled_kinds,
                  alone,
                  check_alone,
                  "C2",
                  {}});
  add_invariance(all,
                 {"steep-slope",
                  "With a slope so steep that every row sees its nearest key alone, the {} are "
                  "those of copying its value.",
                  exact_kinds,
                  usual_families(singletons),
                  check_alone,
                  {},
                  {}});
  std::vector<Family> whole = usual_families(one_block);
  whole.push_back(sample_cases(one_block));
  add_invariance(all, {"one-block",
                       "With one block the {} are those of exact attention with slope 0.",
                       {{false, false}},
                       whole,
                       check_one_block,
                       {},
                       {Operation::exact_forward}});
  add_invariance(all, {"one-block",
                       "With one block the {} are those of exact attention with slope 0.",
                       {{false, true}},
                       whole,
                       check_one_block,
                       {},
                       {Operation::exact_forward, Operation::exact_backward}});
  add_invariance(all,
                 {"permutation-inside-blocks",
                  "Keys in another order inside each block give the same {}, queries in another "
                  "order the same rows in that order.",
                  sampled_kinds,
                  usual_families(permutable),
                  check_permuted,
                  {},
                  {}});
  add_invariance(all,
                 {"permutation",
                  "With slope 0, keys in another order give the same {}, queries in another order "
                  "the same rows in that order.",
                  exact_kinds,
                  usual_families(permutable),
                  check_permuted,
                  {},
                  {}});
  add_invariance(all,
                 {"concatenated",
                  "Two sequences behind each other, with a cut between them in every sample, have "
                  "the {} that each has alone.",
                  sampled_kinds,
                  dense_families(joinable),
                  check_concatenated,
                  "C2",
                  {}});
}

}  // namespace plsh::properties
