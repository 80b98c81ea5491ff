// What a query does not see has no influence on its row, to the last bit and whatever it holds.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "invariance.hpp"

namespace plsh::properties {
namespace {

using Rows = std::function<bool(Index sequence, Index query, Index head)>;

const std::vector<std::string> poisons{"others", "huge", "infinite", "nan"};

// What to put in the place of a value.
double poison(const Setup& setup, double before, std::uint64_t index) {
  const std::string kind = setup.choice("poison", "others");
  const double sign = index % 2 == 0 ? 1 : -1;
  if (kind == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (kind == "infinite") return sign * std::numeric_limits<double>::infinity();
  if (kind == "huge") return sign * largest_finite(setup.c.type);
  return sign * 3 - before;
}

void poison_row(const Setup& setup, AttentionProblem& problem, Part part, Index sequence, Index row,
                Index head) {
  for (Index x = 0; x < components_of(problem, part); ++x) {
    const Element e{part, sequence, row, head, x};
    set(problem, e, poison(setup, get(problem, e), static_cast<std::uint64_t>(x + row)));
  }
}

// Runs both; rows that are not affected, and the gradients of keys that no affected row sees, must
// keep their bits.
Outcome check_others_unchanged(const Setup& setup, const std::string& change,
                               AttentionProblem& base, AttentionProblem& changed,
                               const Rows& affected) {
  changed.seal_inputs();
  setup.run(base);
  setup.run(changed);
  std::optional<Readings> tolerances;
  if (!setup.promises_same_bits()) tolerances.emplace(setup, base);
  const Readings* const readings = tolerances ? &*tolerances : nullptr;
  const plsh_conventions& conventions = setup.implementation.conventions();
  Differences differences(fmt::format("{} ({})", change, setup.choice("poison", "others")));
  for (Index s = 0; s < base.parameters().batch; ++s) {
    // [key/value head][key]: whether an affected row sees it.
    std::vector<std::vector<bool>> touched(
        static_cast<std::size_t>(setup.c.kv_heads),
        std::vector<bool>(static_cast<std::size_t>(rows_of(base, Part::key, s)), false));
    for (Index i = 0; i < rows_of(base, Part::query, s); ++i)
      for (Index h = 0; h < setup.c.heads(); ++h) {
        const bool is_affected = affected(s, i, h);
        const std::vector<bool> seen = seen_keys(setup, base, s, i, h);
        const bool empty = std::find(seen.begin(), seen.end(), true) == seen.end();
        if (is_affected && setup.kind.backward) {
          std::vector<bool>& keys = touched[static_cast<std::size_t>(kv_head_of(setup, base, h))];
          for (std::size_t j = 0; j < keys.size(); ++j) keys[j] = keys[j] || seen[j];
        }
        if (is_affected || (empty && conventions.empty_row == PLSH_EMPTY_ANYTHING)) continue;
        for (const Part part : setup.results()) {
          if (part == Part::key_gradient || part == Part::value_gradient) continue;
          for (Index x = 0; x < components_of(base, part); ++x) {
            const Element e{part, s, i, h, x};
            differences.same(setup, changed, e, base, e, readings);
          }
        }
      }
    if (!setup.kind.backward) continue;
    for (const Part part : {Part::key_gradient, Part::value_gradient})
      for_each_element(base, part, s, [&](const Element& e) {
        if (!touched[static_cast<std::size_t>(e.head)][static_cast<std::size_t>(e.row)])
          differences.same(setup, changed, e, base, e, readings);
      });
  }
  return differences.outcome();
}

// The rows that see one of some keys.
Rows rows_that_see(const Setup& setup, const AttentionProblem& problem,
                   const std::function<bool(Index sequence, Index key, Index kv_head)>& keys) {
  return [&setup, &problem, keys](Index s, Index i, Index h) {
    const std::vector<bool> seen = seen_keys(setup, problem, s, i, h);
    const Index g = kv_head_of(setup, problem, h);
    for (std::size_t j = 0; j < seen.size(); ++j)
      if (seen[j] && keys(s, static_cast<Index>(j), g)) return true;
    return false;
  };
}

Outcome check_changed_keys(const Setup& setup, const std::string& change,
                           const std::function<bool(const AttentionProblem&, Index sequence,
                                                    Index key, Index kv_head)>& which) {
  AttentionProblem base(setup.c);
  AttentionProblem changed(setup.c);
  const auto keys = [&](Index s, Index j, Index g) { return which(base, s, j, g); };
  for (Index s = 0; s < base.parameters().batch; ++s)
    for (Index j = 0; j < rows_of(base, Part::key, s); ++j)
      for (Index g = 0; g < setup.c.kv_heads; ++g)
        if (keys(s, j, g)) {
          poison_row(setup, changed, Part::key, s, j, g);
          poison_row(setup, changed, Part::value, s, j, g);
        }
  return check_others_unchanged(setup, change, base, changed, rows_that_see(setup, base, keys));
}

// A sequence of the case, by the seed.
Index some_sequence(const Setup& setup, const AttentionProblem& problem) {
  return setup.pick(problem.parameters().batch, 10);
}

Outcome check_locality(const Setup& setup) {
  const AttentionProblem problem(setup.c);
  const Index sequence = some_sequence(setup, problem);
  const Index queries = rows_of(problem, Part::query, sequence);
  if (queries == 0) return passed();
  const Index query = setup.pick(queries, 11);
  const Index head = setup.pick(setup.c.heads(), 12);
  const std::vector<bool> seen = seen_keys(setup, problem, sequence, query, head);
  return check_changed_keys(
      setup,
      fmt::format("keys and values changed that query {} of head {} of sequence {} does not see",
                  query, head, sequence),
      [&](const AttentionProblem& base, Index s, Index j, Index g) {
        return s != sequence || g != kv_head_of(setup, base, head) ||
               !seen[static_cast<std::size_t>(j)];
      });
}

Outcome check_causality(const Setup& setup) {
  const AttentionProblem problem(setup.c);
  const Index sequence = some_sequence(setup, problem);
  const Index after = setup.pick(std::max<Index>(rows_of(problem, Part::key, sequence), 1), 11);
  return check_changed_keys(
      setup,
      fmt::format("keys and values after position {} of sequence {} changed", after, sequence),
      [=](const AttentionProblem&, Index s, Index j, Index) { return s == sequence && j > after; });
}

Outcome check_one_key(const Setup& setup) {
  const AttentionProblem problem(setup.c);
  const Index sequence = some_sequence(setup, problem);
  const Index key = setup.pick(std::max<Index>(rows_of(problem, Part::key, sequence), 1), 11);
  const Index kv = setup.pick(setup.c.kv_heads, 12);
  return check_changed_keys(
      setup, fmt::format("key and value {} of head {} of sequence {} changed", key, kv, sequence),
      [=](const AttentionProblem&, Index s, Index j, Index g) {
        return s == sequence && j == key && g == kv;
      });
}

Outcome check_one_query(const Setup& setup) {
  AttentionProblem base(setup.c);
  AttentionProblem changed(setup.c);
  const Index sequence = some_sequence(setup, base);
  const Index queries = rows_of(base, Part::query, sequence);
  if (queries == 0) return passed();
  const Index query = setup.pick(queries, 11);
  const Index head = setup.pick(setup.c.heads(), 12);
  poison_row(setup, changed, Part::query, sequence, query, head);
  poison_row(setup, changed, Part::output_gradient, sequence, query, head);
  return check_others_unchanged(
      setup, fmt::format("query {} of head {} of sequence {} changed", query, head, sequence), base,
      changed, [=](Index s, Index i, Index h) { return s == sequence && i == query && h == head; });
}

void causal(AttentionCase& c) { c.causal = true; }

// Small blocks, so that there is much to be blind to.
void local(AttentionCase& c) {
  c.sigma = std::min(c.sigma, 4.0);
  if (c.blocks == Blocks::whole) c.blocks = Blocks::random;
}

}  // namespace

void add_locality_invariances(std::vector<Property>& all) {
  const auto poisoned = [](const Adjust& adjust) {
    std::vector<Family> families = usual_families(adjust);
    families.push_back(layout_cases(adjust));
    return with_choice(families, "poison", poisons);
  };
  add_invariance(all,
                 {"locality",
                  "What the keys and values hold that share no block with a query, even infinity "
                  "or NaN, does not change a bit of the {} of its row.",
                  sampled_kinds,
                  poisoned(local),
                  check_locality,
                  "C2",
                  {}});
  add_invariance(all,
                 {"causality",
                  "What later keys and values hold, even infinity or NaN, does not change a bit "
                  "of the {} of the rows before them.",
                  all_kinds,
                  poisoned(causal),
                  check_causality,
                  {},
                  {}});
  add_invariance(all,
                 {"one-key",
                  "What one key and value hold, even infinity or NaN, is confined to the {} of "
                  "the rows that see it.",
                  all_kinds,
                  poisoned({}),
                  check_one_key,
                  {},
                  {}});
  add_invariance(all,
                 {"one-query",
                  "What one query holds, even infinity or NaN, is confined to the {} of its row "
                  "and of the keys it sees.",
                  all_kinds,
                  poisoned({}),
                  check_one_query,
                  {},
                  {}});
}

}  // namespace plsh::properties
