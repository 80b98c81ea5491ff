// The same call gives the same results: after another one, and with other numbers of threads.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "conduct.hpp"

namespace plsh::properties {
namespace {

// The results of a first run, set aside.
class Kept {
 public:
  Kept(const Setup& setup, AttentionProblem& problem) : setup_(setup), problem_(problem) {
    setup.run(problem);
    for (const Part part : setup.results()) {
      values_.push_back(tensor_of(problem, part).values());
      bits_.push_back(tensor_of(problem, part).all_bits());
    }
  }
  /// Compares what the problem holds now.
  Outcome compare(const std::string& change, bool to_the_bit) const {
    std::optional<Readings> readings;
    if (!to_the_bit) readings.emplace(setup_, problem_);
    Differences differences(change);
    std::size_t p = 0;
    for (const Part part : setup_.results()) {
      std::vector<double> now = tensor_of(problem_, part).values();
      const std::vector<std::uint64_t> bits = tensor_of(problem_, part).all_bits();
      const std::vector<double>& before = values_[p];
      if (bits != bits_[p])
        for_each_element(problem_, part, [&](const Element& e) {
          const std::size_t k = flat_index(problem_, e);
          if (to_the_bit ? bits[k] == bits_[p][k] : now[k] == before[k]) return;
          // NaNs may differ in what they carry.
          if (std::isnan(now[k]) && std::isnan(before[k])) return;
          const double tolerance = to_the_bit ? 0 : readings->at(e).tolerance;
          differences.within(problem_, e, {now[k], tolerance}, {before[k], tolerance});
        });
      ++p;
    }
    return differences.outcome();
  }

 private:
  const Setup& setup_;
  AttentionProblem& problem_;
  std::vector<std::vector<double>> values_;
  std::vector<std::vector<std::uint64_t>> bits_;
};

// A problem of another shape with other data: whatever is kept from one call to the next is wrong.
AttentionCase another(const Setup& setup) {
  AttentionCase c = setup.c;
  c.seed += 1;
  c.causal = !c.causal;
  c.query_lengths.clear();
  c.key_lengths.clear();
  c.batch = 1;
  c.query_length = std::min<Index>(setup.c.key_length, 30) + 1;
  c.key_length = std::min<Index>(setup.c.key_length, 30) + 2;
  c.blocks = Blocks::uneven;
  return c;
}

Outcome check_repeat(const Setup& setup) {
  AttentionProblem problem(setup.c);
  const Kept first(setup, problem);
  setup.run(problem);
  const Outcome again = first.compare("the same call again", setup.promises_same_bits());
  if (again.status != Outcome::Status::passed) return again;
  AttentionProblem between(another(setup));
  setup.run(between);
  setup.run(problem);
  return first.compare("the same call after one of another shape", setup.promises_same_bits());
}

// The same memory and the same shapes with other data and other partitions: results must follow.
Outcome check_fresh(const Setup& setup) {
  AttentionCase other_case = setup.c;
  other_case.seed += 1;
  other_case.sigma = std::min(2 * setup.c.sigma, 1e6);
  AttentionProblem problem(setup.c);
  const AttentionProblem other(other_case);
  // Only the new data, in new memory.
  AttentionProblem fresh(setup.c);
  const auto take_other = [&](AttentionProblem& to) {
    for (const Part part : {Part::query, Part::key, Part::value, Part::output_gradient})
      fill_input(to, part, [&](const Element& e) { return get(other, e); });
    copy_slopes_and_partitions(other, to);
  };
  setup.run(problem);
  take_other(problem);
  setup.run(problem);
  take_other(fresh);
  Kept of_fresh(setup, fresh);
  Differences differences(
      "other data in the memory of the call before, against the same data elsewhere");
  const Readings readings(setup, fresh);
  const Readings now(setup, problem);
  for (const Part part : setup.results())
    for_each_element(problem, part, [&](const Element& e) {
      differences.within(problem, e, now.at(e), readings.at(e));
    });
  return differences.outcome();
}

Outcome check_threads(const Setup& setup) {
  AttentionCase c = setup.c;
  c.threads = 1;
  AttentionProblem one(c);
  setup.run(one);
  const bool to_the_bit =
      setup.promises_same_bits() && setup.implementation.promises(PLSH_THREAD_INDEPENDENT);
  std::optional<Readings> readings;
  if (!to_the_bit) readings.emplace(setup, one);
  for (const int threads : {2, 3, 8}) {
    c.threads = threads;
    AttentionProblem several(c);
    setup.run(several);
    Differences differences(fmt::format("{} threads against one", threads));
    for (const Part part : setup.results())
      for_each_element(one, part, [&](const Element& e) {
        if (to_the_bit) return differences.same(setup, several, e, one, e, nullptr);
        const Reading expected = readings->at(e);
        differences.within(several, e, {get(several, e), expected.tolerance}, expected);
      });
    const Outcome outcome = differences.outcome();
    if (outcome.status != Outcome::Status::passed) return outcome;
  }
  return passed();
}

}  // namespace

void add_repeat_properties(std::vector<Property>& all) {
  add_invariance(all,
                 {"repeat",
                  "The same call gives the same {}, to the bit where that is promised, also after "
                  "a call of another shape.",
                  all_kinds,
                  usual_families(),
                  check_repeat,
                  {},
                  {}});
  add_invariance(all,
                 {"fresh-data",
                  "Other data in the same memory give the {} of a first call on them: nothing is "
                  "kept.",
                  all_kinds,
                  {short_cases(), tail_cases(), variable_cases(), head_cases()},
                  check_fresh,
                  {},
                  {}});
  add_invariance(all,
                 {"threads",
                  "Any number of threads gives the same {}, to the bit where that is promised.",
                  all_kinds,
                  {short_cases(), tail_cases(), head_cases(), variable_cases(), sample_cases()},
                  check_threads,
                  {},
                  {}});
}

}  // namespace plsh::properties
