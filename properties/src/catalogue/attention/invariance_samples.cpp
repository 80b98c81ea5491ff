// The samples are averaged: their order and a common multiplicity say nothing.
#include <algorithm>
#include <cmath>

#include "invariance.hpp"

namespace plsh::properties {
namespace {

using reference::Partition;

// The same inputs and slopes, with partitions rearranged by `arrange`.
template <class Arrange>
void copy_with_samples(const AttentionProblem& base, AttentionProblem& changed,
                       const Arrange& arrange) {
  for (Index s = 0; s < base.parameters().batch; ++s)
    for (Index h = 0; h < base.parameters().heads(); ++h) {
      std::vector<Partition> samples = base.partitions(s, h);
      if (samples.empty()) continue;
      arrange(samples);
      changed.set_partitions(s, h, std::move(samples));
    }
}

Outcome check_repeated(const Setup& setup) {
  AttentionProblem base(setup.c);
  AttentionCase c = setup.c;
  const Index times = 2 + setup.pick(2);
  c.samples *= times;
  AttentionProblem repeated(c);
  copy_with_samples(base, repeated, [&](std::vector<Partition>& samples) {
    std::vector<Partition> all;
    for (Index k = 0; k < times; ++k) all.insert(all.end(), samples.begin(), samples.end());
    samples = std::move(all);
  });
  const double shift = setup.implementation.conventions().lse_weights == PLSH_LSE_COUNT
                           ? std::log(static_cast<double>(times)) * lse_unit(setup)
                           : 0;
  Differences differences("all samples listed " + std::to_string(times) + " times");
  compare_runs(setup, base, repeated, differences, [&](const Readings& readings, const Element& e) {
    Reading expected = readings.at(e);
    if (e.part == Part::log_sum_exp) expected.value += shift;
    return expected;
  });
  return differences.outcome();
}

Outcome check_reordered(const Setup& setup) {
  AttentionProblem base(setup.c);
  AttentionProblem reordered(setup.c);
  const auto shift = setup.pick(setup.c.samples);
  copy_with_samples(base, reordered, [&](std::vector<Partition>& samples) {
    std::reverse(samples.begin(), samples.end());
    std::rotate(samples.begin(), samples.begin() + shift, samples.end());
  });
  Differences differences("samples in another order");
  compare_runs(setup, base, reordered, differences,
               [](const Readings& readings, const Element& e) { return readings.at(e); });
  return differences.outcome();
}

// Numerators and denominators are pooled over the samples: each sample weighs as much as the
// log-sum-exp of its row says.
Outcome check_pooled(const Setup& setup) {
  AttentionCase one = setup.c;
  one.samples = 1;
  AttentionProblem pooled(setup.c);
  Differences differences("samples pooled by hand from calls with one sample each");
  setup.run(pooled);
  const Readings of_pooled(setup, pooled);
  std::vector<AttentionProblem> single;
  for (Index k = 0; k < setup.c.samples; ++k) {
    single.emplace_back(one);
    AttentionProblem& problem = single.back();
    for (Index s = 0; s < pooled.parameters().batch; ++s)
      for (Index h = 0; h < setup.c.heads(); ++h)
        if (!pooled.partitions(s, h).empty())
          problem.set_partitions(s, h, {pooled.partitions(s, h)[static_cast<std::size_t>(k)]});
    setup.run(problem);
  }
  std::vector<Readings> of_single;
  of_single.reserve(single.size());
  for (const AttentionProblem& problem : single) of_single.emplace_back(setup, problem);
  const double unit = lse_unit(setup);
  const double share = setup.implementation.conventions().lse_weights == PLSH_LSE_COUNT
                           ? 1
                           : 1 / static_cast<double>(setup.c.samples);
  for_each_element(pooled, Part::output, [&](const Element& e) {
    const Element lse{Part::log_sum_exp, e.sequence, e.row, e.head};
    const Reading total = of_pooled.at(lse);
    if (std::isinf(total.value) || std::isinf(total.tolerance)) return;
    Reading merged;
    for (const Readings& readings : of_single) {
      const Reading part = readings.at(lse);
      if (std::isinf(part.tolerance)) return;
      const double weight = share * std::exp((part.value - total.value) / unit);
      if (weight == 0) continue;
      const Reading output = readings.at(e);
      // exp of an exponent that is wrong by `slack` is wrong by a factor of at most exp(slack).
      const double slack = (part.tolerance + total.tolerance) / unit;
      merged.value += weight * output.value;
      merged.tolerance += weight * (std::exp(slack) * output.tolerance +
                                    std::expm1(slack) * std::abs(output.value));
    }
    differences.within(pooled, e, of_pooled.at(e), merged);
  });
  return differences.outcome();
}

void several(AttentionCase& c) {
  c.samples = std::max<Index>(c.samples, 2);
  if (c.blocks != Blocks::cut_once) c.blocks = Blocks::random;  // others repeat one partition
}
void few(AttentionCase& c) {
  several(c);
  c.samples = std::min<Index>(c.samples, 4);
}

}  // namespace

void add_sample_invariances(std::vector<Property>& all) {
  std::vector<Family> families = usual_families(several);
  families.push_back(sample_cases(several));
  add_invariance(all, {"repeated-samples",
                       "All samples listed twice or three times give the same {}; the log-sum-exp "
                       "moves only when it counts samples.",
                       sampled_kinds,
                       families,
                       check_repeated,
                       {},
                       {}});
  add_invariance(all, {"reordered-samples",
                       "Samples in another order give the same {}.",
                       sampled_kinds,
                       families,
                       check_reordered,
                       {},
                       {}});
  add_invariance(all,
                 {"pooled-samples",
                  "Calls with one sample each, merged by the weights exp(log-sum-exp), give the "
                  "output of the call with all of them.",
                  {{false, false}},
                  usual_families(few),
                  check_pooled,
                  {},
                  {}});
}

}  // namespace plsh::properties
