// What the definition does not tell apart: the two directions, and rows that have no future.
#include <algorithm>

#include "invariance.hpp"

namespace plsh::properties {
namespace {

using reference::Partition;

Partition reversed(const Partition& partition) {
  std::vector<Index> starts;
  for (Index b = partition.block_count() - 1; b >= 0; --b)
    starts.push_back(partition.length() - partition.block(b).end);
  return {partition.length(), std::move(starts)};
}

Outcome check_reversed(const Setup& setup) {
  AttentionProblem base(setup.c);
  AttentionProblem mirrored(setup.c);
  const auto origin = [&](Element e) {
    e.row = rows_of(base, e.part, e.sequence) - 1 - e.row;
    return e;
  };
  for (const Part part : {Part::query, Part::key, Part::value, Part::output_gradient})
    fill_input(mirrored, part, [&](const Element& e) { return get(base, origin(e)); });
  for (Index s = 0; s < base.parameters().batch; ++s)
    for (Index h = 0; h < setup.c.heads(); ++h) {
      std::vector<Partition> samples;
      for (const Partition& partition : base.partitions(s, h))
        samples.push_back(reversed(partition));
      if (!samples.empty()) mirrored.set_partitions(s, h, std::move(samples));
    }
  Differences differences("the sequence reversed");
  compare_runs(setup, base, mirrored, differences,
               [&](const Readings& readings, const Element& e) { return readings.at(origin(e)); });
  return differences.outcome();
}

// The last position has no future: causal or not is the same for its row.
Outcome check_last_row(const Setup& setup) {
  AttentionCase c = setup.c;
  c.causal = false;
  AttentionProblem bidirectional(c);
  c.causal = true;
  AttentionProblem causal(c);
  const auto is_last = [&](const Element& e) {
    return e.row == rows_of(bidirectional, Part::query, e.sequence) - 1;
  };
  for (AttentionProblem* problem : {&bidirectional, &causal})
    fill_input(*problem, Part::output_gradient,
               [&](const Element& e) { return is_last(e) ? get(*problem, e) : 0.0; });
  Differences differences("causal, against bidirectional, for the last row");
  compare_runs(setup, bidirectional, causal, differences,
               [&](const Readings& readings, const Element& e) {
                 const bool compared =
                     e.part == Part::key_gradient || e.part == Part::value_gradient || is_last(e);
                 return compared ? readings.at(e) : Reading{0, anything};
               });
  return differences.outcome();
}

void square_bidirectional(AttentionCase& c) {
  square(c);
  c.causal = false;
}

}  // namespace

void add_symmetry_invariances(std::vector<Property>& all) {
  add_invariance(all,
                 {"reversed",
                  "Bidirectional attention of the reversed sequence, with reversed blocks, has "
                  "the reversed {}.",
                  all_kinds,
                  usual_families(square_bidirectional),
                  check_reversed,
                  {},
                  {}});
  add_invariance(all,
                 {"last-row",
                  "With as many queries as keys, the last row has the same {} whether causal or "
                  "not.",
                  all_kinds,
                  usual_families(square),
                  check_last_row,
                  {},
                  {}});
}

}  // namespace plsh::properties
