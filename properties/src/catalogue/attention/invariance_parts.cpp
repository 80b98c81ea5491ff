// A call is many small calls: batch items, sequences, heads and rows do not know of each other.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "invariance.hpp"

namespace plsh::properties {
namespace {

// What a smaller problem takes from a larger one.
struct Origin {
  Index sequence = 0;  // added to the sequence of the small problem
  Index head = 0;      // added to its query heads
  Index kv_head = 0;   // added to its key heads
  Index query = 0;     // added to its queries
};

bool is_of_keys(Part part) {
  return part == Part::key || part == Part::value || part == Part::key_gradient ||
         part == Part::value_gradient;
}

Element origin_of(Element e, const Origin& from) {
  e.sequence += from.sequence;
  if (is_of_keys(e.part)) {
    e.head += from.kv_head;
  } else {
    e.head += from.head;
    e.row += from.query;
  }
  return e;
}

AttentionProblem cut_out(const AttentionProblem& whole, const AttentionCase& c,
                         const Origin& from) {
  AttentionProblem small(c);
  for (const Part part : {Part::query, Part::key, Part::value, Part::output_gradient})
    fill_input(small, part, [&](const Element& e) { return get(whole, origin_of(e, from)); });
  for (Index s = 0; s < c.batch; ++s)
    for (Index h = 0; h < c.heads(); ++h) {
      small.slopes.set({s, h}, whole.slope(s + from.sequence, h + from.head));
      const auto& samples = whole.partitions(s + from.sequence, h + from.head);
      if (!samples.empty()) small.set_partitions(s, h, samples);
    }
  small.seal_inputs();
  return small;
}

AttentionCase one_sequence(const AttentionProblem& whole, Index sequence) {
  AttentionCase c = whole.parameters();
  const Sequence& s = whole.sequences()[static_cast<std::size_t>(sequence)];
  c.batch = 1;
  c.query_length = s.query_length;
  c.key_length = s.key_length;
  c.query_lengths.clear();
  c.key_lengths.clear();
  c.scale = whole.scale();
  return c;
}

// Batch items or sequences, each against a call of its own.
Outcome check_sequences(const Setup& setup) {
  AttentionProblem whole(setup.c);
  setup.run(whole);
  const Readings of_whole(setup, whole);
  // All, or of very many the ends and some between.
  std::set<Index> chosen;
  const Index count = whole.parameters().batch;
  for (Index k = 0; k < std::min<Index>(count, 5); ++k)
    chosen.insert(count <= 5 ? k
                  : k == 0   ? 0
                  : k == 1   ? count - 1
                             : setup.pick(count, 30 + static_cast<std::uint64_t>(k)));
  const char* what = setup.c.variable() ? "sequence" : "batch item";
  for (const Index s : chosen) {
    Differences differences(fmt::format("{} {} against a call of its own", what, s));
    const AttentionCase c = one_sequence(whole, s);
    if (c.query_length == 0 || c.key_length == 0) {
      // Nothing to attend to: a call of its own would be a call for nothing.
      for (const Part part : {Part::key_gradient, Part::value_gradient})
        if (setup.kind.backward)
          for_each_element(whole, part, s,
                           [&](const Element& e) { differences.exactly(whole, e, 0); });
    } else {
      const Origin from{s, 0, 0, 0};
      AttentionProblem alone = cut_out(whole, c, from);
      setup.run(alone);
      const Readings of_alone(setup, alone);
      for (const Part part : setup.results())
        for_each_element(alone, part, [&](const Element& e) {
          const Element there = origin_of(e, from);
          differences.within(whole, there, of_whole.at(there), of_alone.at(e));
        });
    }
    const Outcome outcome = differences.outcome();
    if (outcome.status != Outcome::Status::passed) return outcome;
  }
  return passed();
}

// Adds up what several problems contribute to the gradients of keys and values.
class Sums {
 public:
  void add(const AttentionProblem& whole, const Element& there, const Reading& reading) {
    Reading& sum = sums_[to_string(whole, there)];
    sum = sum + reading;
  }
  Reading at(const AttentionProblem& whole, const Element& e) const {
    const auto found = sums_.find(to_string(whole, e));
    return found == sums_.end() ? Reading{} : found->second;
  }

 private:
  std::map<std::string, Reading> sums_;
};

// Every query head with its key head, in a call of its own.
Outcome check_heads(const Setup& setup) {
  AttentionProblem whole(setup.c);
  setup.run(whole);
  const Readings of_whole(setup, whole);
  Differences differences("each head against a call of its own");
  Sums sums;
  AttentionCase c = setup.c;
  c.kv_heads = c.group = 1;
  for (Index h = 0; h < setup.c.heads(); ++h) {
    const Origin from{0, h, kv_head_of(setup, whole, h), 0};
    AttentionProblem alone = cut_out(whole, c, from);
    setup.run(alone);
    const Readings of_alone(setup, alone);
    for (const Part part : setup.results())
      for_each_element(alone, part, [&](const Element& e) {
        const Element there = origin_of(e, from);
        if (is_of_keys(part))
          sums.add(whole, there, of_alone.at(e));
        else
          differences.within(whole, there, of_whole.at(there), of_alone.at(e));
      });
  }
  if (setup.kind.backward)
    for (const Part part : {Part::key_gradient, Part::value_gradient})
      for_each_element(whole, part, [&](const Element& e) {
        differences.within(whole, e, of_whole.at(e), sums.at(whole, e));
      });
  return differences.outcome();
}

// Key heads written out once for every query head.
Outcome check_grouped(const Setup& setup) {
  AttentionProblem grouped(setup.c);
  AttentionCase c = setup.c;
  c.kv_heads = setup.c.heads();
  c.group = 1;
  AttentionProblem repeated(c);
  for (const Part part : {Part::query, Part::key, Part::value, Part::output_gradient})
    fill_input(repeated, part, [&](Element e) {
      if (is_of_keys(part)) e.head = kv_head_of(setup, grouped, e.head);
      return get(grouped, e);
    });
  copy_slopes_and_partitions(grouped, repeated);
  setup.run(grouped);
  setup.run(repeated);
  const Readings of_grouped(setup, grouped);
  const Readings of_repeated(setup, repeated);
  Differences differences("grouped heads against key heads repeated for each query head");
  Sums sums;
  for (const Part part : setup.results()) {
    for_each_element(repeated, part, [&](const Element& e) {
      if (!is_of_keys(part))
        return differences.within(grouped, e, of_grouped.at(e), of_repeated.at(e));
      Element there = e;
      there.head = kv_head_of(setup, grouped, e.head);
      sums.add(grouped, there, of_repeated.at(e));
    });
    if (is_of_keys(part))
      for_each_element(grouped, part, [&](const Element& e) {
        differences.within(grouped, e, of_grouped.at(e), sums.at(grouped, e));
      });
  }
  return differences.outcome();
}

// A square call, and one with the queries of some of its positions only: the first under top-left
// alignment, the last under bottom-right. Outputs at positions without a key are not compared.
Outcome check_some_queries(const Setup& setup) {
  const AttentionCase& c = setup.c;
  AttentionCase square_case = c;
  square_case.query_length = c.key_length;
  AttentionProblem small(c);
  AttentionProblem square(square_case);
  const Index offset = position_of(setup, small, 0, 0);
  const auto in_square = [&](Element e) -> std::optional<Element> {
    if (is_of_keys(e.part)) return e;
    e.row += offset;
    if (e.row < 0 || e.row >= c.key_length) return std::nullopt;
    return e;
  };
  for (const Part part : {Part::query, Part::key, Part::value}) {
    // What positions both calls have, both get.
    for_each_element(small, part, [&](const Element& e) {
      if (const auto there = in_square(e)) set(square, *there, get(small, e));
    });
  }
  copy_slopes_and_partitions(small, square);
  // What only one of them has, nothing comes back from.
  fill_input(square, Part::output_gradient, [](const Element&) { return 0.0; });
  fill_input(small, Part::output_gradient, [&](const Element& e) {
    const auto there = in_square(e);
    if (!there) return 0.0;
    const double gradient = get(small, e);
    set(square, *there, gradient);
    return gradient;
  });
  square.seal_inputs();
  setup.run(small);
  setup.run(square);
  const Readings of_small(setup, small);
  const Readings of_square(setup, square);
  Differences differences(fmt::format("{} queries and {} keys, against as many queries as keys",
                                      c.query_length, c.key_length));
  for (const Part part : setup.results())
    for_each_element(small, part, [&](const Element& e) {
      if (const auto there = in_square(e))
        differences.within(small, e, of_small.at(e), of_square.at(*there));
    });
  return differences.outcome();
}

void several_heads(AttentionCase& c) {
  if (c.kv_heads == 1) c.kv_heads = 2;
}
void in_groups(AttentionCase& c) {
  if (c.group == 1) c.group = 2;
}
void few_heads(AttentionCase& c) {
  several_heads(c);
  c.kv_heads = std::min<Index>(c.kv_heads, 3);
}

}  // namespace

void add_part_invariances(std::vector<Property>& all) {
  std::vector<Family> batches{head_cases(), short_cases(), many_batch_cases(), sample_cases()};
  add_invariance(all, {"batch-alone",
                       "Every item of a batch has the {} of a call of its own.",
                       all_kinds,
                       batches,
                       check_sequences,
                       {},
                       {}});
  Family sequences = variable_cases();
  sequences.cases = 25;
  add_invariance(all, {"variable-lengths",
                       "Every sequence of a call with variable lengths has the {} of a call of its "
                       "own.",
                       all_kinds,
                       {sequences},
                       check_sequences,
                       {},
                       {}});
  add_invariance(all,
                 {"heads-alone",
                  "Every head has the {} of a call of its own with its slope or partitions and "
                  "its key head.",
                  all_kinds,
                  {head_cases(few_heads), short_cases(several_heads), variable_cases(few_heads),
                   tail_cases(several_heads)},
                  check_heads,
                  {},
                  {}});
  add_invariance(all,
                 {"grouped-heads",
                  "Key heads shared by a group of query heads give the {} of key heads repeated "
                  "for each, summed over the group where they are of keys and values.",
                  all_kinds,
                  {head_cases(in_groups), short_cases(in_groups), variable_cases(in_groups),
                   dimension_cases(in_groups)},
                  check_grouped,
                  {},
                  {}});
  add_invariance(all, {"some-queries",
                       "With fewer or more queries than keys, the positions that a square call has "
                       "too have the same {}.",
                       all_kinds,
                       {unequal_cases(), tail_cases(), short_cases(), dimension_cases()},
                       check_some_queries,
                       {},
                       {}});
}

}  // namespace plsh::properties
