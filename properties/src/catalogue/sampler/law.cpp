// One mask at a time: the law of the partition, of pairs, of the width, of the phase.
#include <fmt/format.h>

#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <map>
#include <numbers>
#include <plsh/reference/laws.hpp>
#include <plsh/reference/partition_law.hpp>

#include "parts.hpp"

namespace plsh::properties {
namespace {

using reference::PartitionLaw;
using reference::PartitionRegion;

std::uint64_t seed_of(const Case& parameters, Index part) {
  return mixed_seed(parameters.at("seed").get<std::uint64_t>(), static_cast<std::uint64_t>(part));
}

// ---- the complete law at short lengths -------------------------------------------------------

/// A length and a decay length whose complete law is known.
struct Setting {
  Index length;
  double sigma;
};

const std::vector<double>& joint_scales() {
  static const std::vector<double> factors{0.5, 0.7, 0.9, 1 / 1.05, 1.05, 1.1, 1.4, 2};
  return factors;
}

/// Cuts between neighbours that are independent, each with probability 1 - rho: the same mean mask,
/// contiguous blocks, and another law.
std::vector<double> independent_cuts(const PartitionLaw& law, double sigma) {
  std::vector<double> result;
  const double kept = std::exp(-1 / sigma);
  for (const auto& partition : law.partitions()) {
    const auto cuts = static_cast<double>(partition.block_count() - 1);
    const double joins = static_cast<double>(law.length() - 1) - cuts;
    result.push_back(std::pow(kept, joins) * std::pow(1 - kept, cuts));
  }
  return result;
}

/// One sample in fifty replaced by any reachable partition.
std::vector<double> contaminated(const std::vector<double>& law) {
  std::vector<double> result;
  for (const double p : law) result.push_back(0.98 * p + 0.02 / static_cast<double>(law.size()));
  return result;
}

struct LawTest {
  Setting setting;
  const PartitionLaw* law;
  KnownLawEvidence evidence;
};

const PartitionLaw& law_of(Index length) {
  static std::map<Index, PartitionLaw> laws;
  return laws.try_emplace(length, length).first->second;
}

LawTest law_test(const Setting& setting) {
  const PartitionLaw& law = law_of(setting.length);
  const auto probabilities = [&](double sigma) {
    const auto p = law.probabilities(sigma);
    return std::vector<double>(p.begin(), p.end());
  };
  const std::vector<double> null = probabilities(setting.sigma);
  std::vector<std::vector<double>> alternatives;
  for (const double factor : joint_scales())
    alternatives.push_back(probabilities(factor * setting.sigma));
  alternatives.push_back(independent_cuts(law, setting.sigma));
  alternatives.push_back(contaminated(null));
  return {setting, &law, KnownLawEvidence(null, alternatives)};
}

Outcome check_joint_law(const Implementation& implementation, const Case& parameters,
                        const Budget& budget, const std::vector<Setting>& settings) {
  std::vector<LawTest> tests;
  for (const Setting& setting : settings) tests.push_back(law_test(setting));
  std::vector<std::string> names;
  for (const double factor : joint_scales())
    names.push_back(fmt::format("sigma {:.3g} times too large", factor));
  names.emplace_back("independent cuts with the right mean");
  names.emplace_back("one sample in fifty with another partition");
  Sampler sampler(implementation);
  Index part = 0;
  return run_trial(
      budget,
      [&](Index) {
        for (LawTest& test : tests) {
          const Index samples =
              budget.samples > 0
                  ? std::max<Index>(1, budget.samples / static_cast<Index>(tests.size()))
                  : 1024;
          sampler.draw({.seed = seed_of(parameters, part++),
                        .length = test.setting.length,
                        .sigmas = {test.setting.sigma},
                        .samples = samples});
          for (Index k = 0; k < samples; ++k) {
            if (!sampler.region(0, 0, k)) continue;
            test.evidence.observe(test.law->find(sampler.partition(0, 0, k)));
          }
        }
      },
      [&] {
        Standing standing;
        // The settings are drawn independently: their likelihood ratios multiply.
        std::vector<double> ratios(names.size(), 0.0);
        for (const LawTest& test : tests) {
          standing.observations += test.evidence.observations();
          standing.findings.push_back(
              {fmt::format("the partitions of length {} at sigma {} do not have their exact law",
                           test.setting.length, test.setting.sigma),
               test.evidence.log_predictive()});
          for (std::size_t a = 0; a < names.size(); ++a)
            ratios[a] += test.evidence.log_alternatives()[a];
        }
        for (std::size_t a = 0; a < names.size(); ++a) {
          standing.findings.push_back({"the partitions look like " + names[a], ratios[a]});
          standing.deviations.push_back({names[a], ratios[a]});
        }
        return standing;
      });
}

// ---- pairs -----------------------------------------------------------------------------------

struct Pair {
  Index i;
  Index j;
};

/// Distances about sigma/4, sigma and 3 sigma, at the given places.
std::vector<Pair> pairs_at(const std::vector<Index>& places, Index length, double sigma) {
  std::vector<Pair> result;
  for (const double multiple : {0.25, 1.0, 3.0}) {
    const Index distance = std::max<Index>(1, static_cast<Index>(std::lround(multiple * sigma)));
    for (const Index place : places) {
      const Index i = std::min(place, length - 1 - distance);
      result.push_back({i, i + distance});
    }
  }
  return result;
}

Outcome check_pair_law(const Implementation& implementation, const Case& parameters,
                       const Budget& budget) {
  const auto length = parameters.at("length").get<Index>();
  const auto sigma = parameters.at("sigma").get<double>();
  const auto odds = parameters.at("odds").get<double>();
  const std::vector<Pair> pairs =
      pairs_at(parameters.at("places").get<std::vector<Index>>(), length, sigma);
  std::vector<KnownLawEvidence> tests;
  for (const auto& [i, j] : pairs) {
    const double p = reference::set_probability(j - i, sigma);
    std::vector<std::vector<double>> alternatives;
    for (const double factor : {1 / odds, odds}) {
      const double shifted = p * factor / (1 - p + p * factor);
      alternatives.push_back({1 - shifted, shifted});
    }
    tests.emplace_back(std::vector<double>{1 - p, p}, alternatives);
  }
  Sampler sampler(implementation);
  return run_trial(
      budget,
      [&](Index round) {
        const Index samples = call_samples(budget, length);
        sampler.draw({.seed = seed_of(parameters, round),
                      .length = length,
                      .sigmas = {sigma},
                      .samples = samples});
        for (Index k = 0; k < samples; ++k) {
          const reference::Partition partition = sampler.partition(0, 0, k);
          for (std::size_t t = 0; t < pairs.size(); ++t)
            tests[t].observe(partition.block_of(pairs[t].i) == partition.block_of(pairs[t].j) ? 1
                                                                                              : 0);
        }
      },
      [&] {
        Standing standing;
        standing.observations = tests.front().observations();
        for (std::size_t t = 0; t < pairs.size(); ++t) {
          const std::string pair = fmt::format("positions {} and {}", pairs[t].i, pairs[t].j);
          standing.findings.push_back(
              {fmt::format("{} do not share a block with probability exp(-{}/{})", pair,
                           pairs[t].j - pairs[t].i, sigma),
               tests[t].log_e_value()});
          for (std::size_t a = 0; a < 2; ++a)
            standing.deviations.push_back({fmt::format("the odds that {} share a block {} {}", pair,
                                                       a == 0 ? "divided by" : "times", odds),
                                           tests[t].log_alternatives()[a]});
        }
        return standing;
      });
}

// ---- the scale -------------------------------------------------------------------------------

const std::vector<double>& scale_factors() {
  static const std::vector<double> factors{
      1 / 1.01, 1.01, 1 / 1.03, 1.03, 1 / 1.1, 1.1, std::numbers::sqrt2 / 2, std::numbers::sqrt2};
  return factors;
}

Outcome check_scale(const Implementation& implementation, const Case& parameters,
                    const Budget& budget) {
  const auto length = parameters.at("length").get<Index>();
  const auto sigma = parameters.at("sigma").get<double>();
  ScaleEvidence evidence(sigma, scale_factors());
  Sampler sampler(implementation);
  Index observations = 0;
  return run_trial(
      budget,
      [&](Index round) {
        const Index samples = call_samples(budget, length);
        sampler.draw({.seed = seed_of(parameters, round),
                      .length = length,
                      .sigmas = {sigma},
                      .samples = samples});
        for (Index k = 0; k < samples; ++k, ++observations)
          if (const auto region = sampler.region(0, 0, k)) evidence.observe(*region);
      },
      [&] {
        Standing standing;
        standing.observations = observations;
        for (std::size_t k = 0; k < evidence.factors().size(); ++k) {
          const double factor = evidence.factors()[k];
          const double ratio = evidence.log_ratios()[k];
          standing.findings.push_back(
              {fmt::format("the widths look like those of sigma {:.4g} instead of {}",
                           factor * sigma, sigma),
               ratio});
          if (std::abs(std::log(factor)) >= std::log1p(budget.scale_error) - 1e-12)
            standing.deviations.push_back({fmt::format("sigma times {:.4g}", factor), ratio});
        }
        return standing;
      });
}

// ---- widths and phases -----------------------------------------------------------------------

/// P(w > t) of the borders between width cells: quantiles, and a long tail.
const std::vector<double>& width_tails() {
  static const std::vector<double> tails{
      0.97, 0.92, 0.85, 0.75, 0.65, 0.55, 0.45, 0.35, 0.25, 0.15, 0.08, 0.04, 7 * std::exp(-6.0),
      0.004};
  return tails;
}

/// The width cells under a gamma law of another shape and the same mean.
std::vector<double> gamma_cells(const CellGrid& grid, double shape) {
  std::vector<double> result;
  const double scale = 2 * grid.sigma() / shape;
  double before = 0;
  for (std::size_t c = 1; c < grid.widths().size(); ++c) {
    const double up_to =
        c + 1 == grid.widths().size() ? 1 : boost::math::gamma_p(shape, grid.widths()[c] / scale);
    result.push_back(up_to - before);
    before = up_to;
  }
  return result;
}

/// The law with all cells from `first` on moved into the one before.
std::vector<double> capped(std::vector<double> law, std::size_t first) {
  for (std::size_t c = first; c < law.size(); ++c) {
    law[first - 1] += law[c];
    law[c] = 0;
  }
  return law;
}

/// Uniform cells under a density 1 + slope (2x - 1).
std::vector<double> tilted(std::size_t cells, double slope) {
  std::vector<double> result;
  const auto n = static_cast<double>(cells);
  for (std::size_t c = 0; c < cells; ++c)
    result.push_back((1 + slope * ((2 * static_cast<double>(c) + 1) / n - 1)) / n);
  return result;
}

/// Pairs of cells under the density 1 + slope (2x - 1)(2y - 1), x the place of the width in its
/// law and y the phase.
std::vector<double> linked(const CellGrid& grid, double slope) {
  std::vector<double> result;
  const auto phases = static_cast<std::size_t>(grid.phases());
  double before = 0;
  for (std::size_t w = 0; w < grid.width_cells(); ++w) {
    double mass = 0;
    for (std::size_t p = 0; p < phases; ++p) mass += grid.law()[w * phases + p];
    const double x = before + mass / 2;
    for (std::size_t p = 0; p < phases; ++p) {
      const double y = (static_cast<double>(p) + 0.5) / static_cast<double>(phases);
      result.push_back(grid.law()[w * phases + p] * (1 + slope * (2 * x - 1) * (2 * y - 1)));
    }
    before += mass;
  }
  return result;
}

struct NamedLaw {
  std::string name;
  std::vector<double> law;
};

Outcome check_cells(const Implementation& implementation, const Case& parameters,
                    const Budget& budget, const CellGrid& grid,
                    const std::vector<NamedLaw>& alternatives, const std::string& what) {
  const auto length = parameters.at("length").get<Index>();
  std::vector<std::vector<double>> laws;
  for (const NamedLaw& alternative : alternatives) laws.push_back(alternative.law);
  SoftCellEvidence evidence(grid.law(), laws);
  Sampler sampler(implementation);
  return run_trial(
      budget,
      [&](Index round) {
        const Index samples = call_samples(budget, length);
        sampler.draw({.seed = seed_of(parameters, round),
                      .length = length,
                      .sigmas = {grid.sigma()},
                      .samples = samples});
        for (Index k = 0; k < samples; ++k)
          if (const auto region = sampler.region(0, 0, k)) evidence.observe(grid.weights(*region));
      },
      [&] {
        Standing standing;
        standing.observations = evidence.observations();
        standing.findings.push_back({what + " does not have its law", evidence.log_predictive()});
        for (std::size_t a = 0; a < alternatives.size(); ++a) {
          const double ratio = evidence.log_alternatives()[a];
          standing.findings.push_back({what + " looks like this: " + alternatives[a].name, ratio});
          standing.deviations.push_back({alternatives[a].name, ratio});
        }
        return standing;
      });
}

Outcome check_width_law(const Implementation& implementation, const Case& parameters,
                        const Budget& budget) {
  const CellGrid grid(parameters.at("sigma").get<double>(), width_tails(), 1);
  return check_cells(implementation, parameters, budget, grid,
                     {{"a gamma law of shape 1.9", gamma_cells(grid, 1.9)},
                      {"a gamma law of shape 2.1", gamma_cells(grid, 2.1)},
                      {"a gamma law of shape 1", gamma_cells(grid, 1)},
                      {"a gamma law of shape 3", gamma_cells(grid, 3)},
                      {"no width above 6 sigma", capped(grid.law(), grid.width_cells() - 2)}},
                     "the width of the bins");
}

Outcome check_phase_law(const Implementation& implementation, const Case& parameters,
                        const Budget& budget) {
  const CellGrid grid(parameters.at("sigma").get<double>(), {}, 12);
  return check_cells(implementation, parameters, budget, grid,
                     {{"a density that falls by 20%", tilted(12, -0.1)},
                      {"a density that rises by 20%", tilted(12, 0.1)}},
                     "the shift over the width");
}

Outcome check_width_phase_law(const Implementation& implementation, const Case& parameters,
                              const Budget& budget) {
  const CellGrid grid(parameters.at("sigma").get<double>(),
                      {5.0 / 6, 4.0 / 6, 3.0 / 6, 2.0 / 6, 1.0 / 6}, 6);
  return check_cells(implementation, parameters, budget, grid,
                     {{"wider bins with larger shifts (correlation 0.1)", linked(grid, 0.3)},
                      {"wider bins with smaller shifts (correlation -0.1)", linked(grid, -0.3)}},
                     "the width with the shift over the width");
}

// ---- the ends of the uniforms ----------------------------------------------------------------

/// Widths far beyond the sequence, or below a position, where either is next to impossible: what a
/// uniform that is exactly 0 or 1, or a width that is not a number, turns into.
Outcome check_end_points(const Implementation& implementation, const Case& parameters,
                         const Budget& budget) {
  struct Test {
    Index length;
    double sigma;
    bool one_block;  // the event is one block, else all singletons
    KnownLawEvidence evidence;
  };
  std::vector<Test> tests;
  std::vector<double> fractions;
  for (int power = 6; power <= 18; power += 2) fractions.push_back(std::exp2(-power));
  constexpr std::size_t kExcluded = 4;  // 2^-14
  const auto add = [&](Index length, double sigma, bool one_block) {
    std::vector<Index> starts{0};
    for (Index i = 1; i < length && !one_block; ++i) starts.push_back(i);
    const double p = PartitionRegion(reference::Partition(length, starts)).probability(sigma);
    std::vector<std::vector<double>> alternatives;
    for (const double f : fractions) alternatives.push_back({(1 - f) * (1 - p), (1 - f) * p + f});
    tests.push_back({length, sigma, one_block, KnownLawEvidence({1 - p, p}, alternatives)});
  };
  add(96, 1.5, true);
  add(12, 1e6, false);
  Sampler sampler(implementation);
  Index part = 0;
  return run_trial(
      budget,
      [&](Index) {
        for (Test& test : tests) {
          const Index samples = call_samples(budget, test.length);
          sampler.draw({.seed = seed_of(parameters, part++),
                        .length = test.length,
                        .sigmas = {test.sigma},
                        .samples = samples});
          for (Index k = 0; k < samples; ++k) {
            const Index blocks = sampler.partition(0, 0, k).block_count();
            test.evidence.observe(blocks == (test.one_block ? 1 : test.length) ? 1 : 0);
          }
        }
      },
      [&] {
        Standing standing;
        for (const Test& test : tests) {
          standing.observations += test.evidence.observations();
          const std::string event =
              fmt::format("{} for {} positions at sigma {}",
                          test.one_block ? "one block" : "all singletons", test.length, test.sigma);
          standing.findings.push_back(
              {event + ", next to impossible, occurs", test.evidence.log_e_value()});
          standing.deviations.push_back(
              {event + " once in 16384 samples", test.evidence.log_alternatives()[kExcluded]});
        }
        return standing;
      });
}

// ---- the largest block -----------------------------------------------------------------------

Outcome check_largest_block(const Implementation& implementation, const Case& parameters,
                            const Budget& budget) {
  const auto length = parameters.at("length").get<Index>();
  const auto sigma = parameters.at("sigma").get<double>();
  struct Test {
    Index b;
    bool above;  // the event is b_max > b, else b_max <= b
    ExceedanceEvidence evidence;
    double log_ratio;  // of twice the odds
    double if_so;
    double if_not;
  };
  std::vector<Test> tests;
  for (const double tail : {0.6, 0.3, 0.05}) {
    const auto b = static_cast<Index>(reference::max_width_quantile(tail, sigma, 1));
    const auto bounds = reference::largest_block_tail(length, sigma, b);
    for (const bool above : {true, false}) {
      const double p = above ? bounds.high : 1 - bounds.low;
      const double twice = 2 * p / (1 + p);
      tests.push_back({b, above, ExceedanceEvidence(p), 0, std::log(twice / p),
                       std::log((1 - twice) / (1 - p))});
    }
  }
  Sampler sampler(implementation);
  return run_trial(
      budget,
      [&](Index round) {
        const Index samples = call_samples(budget, length);
        sampler.draw({.seed = seed_of(parameters, round),
                      .length = length,
                      .sigmas = {sigma},
                      .samples = samples});
        for (Index k = 0; k < samples; ++k) {
          const Index largest = sampler.partition(0, 0, k).largest_block();
          for (Test& test : tests) {
            const bool so = (largest > test.b) == test.above;
            test.evidence.observe(so);
            test.log_ratio += so ? test.if_so : test.if_not;
          }
        }
      },
      [&] {
        Standing standing;
        standing.observations = tests.front().evidence.observations();
        for (const Test& test : tests) {
          const std::string event = fmt::format("the largest block of {} positions is {} {}",
                                                length, test.above ? "above" : "at most", test.b);
          standing.findings.push_back({event + " too often", test.evidence.log_e_value()});
          standing.deviations.push_back({"twice the odds that " + event, test.log_ratio});
        }
        return standing;
      });
}

// ---- several heads ---------------------------------------------------------------------------

Outcome check_per_head_sigma(const Implementation& implementation, const Case& parameters,
                             const Budget& budget) {
  const auto length = parameters.at("length").get<Index>();
  const auto sigmas = parameters.at("sigmas").get<std::vector<double>>();
  const bool shared = implementation.conventions().batch_samples == PLSH_BATCH_SHARED;
  const Index batch = 2;
  std::vector<ScaleEvidence> tests;
  for (const double own : sigmas) {
    std::vector<double> factors{1 / 1.1, 1.1};
    for (const double other : sigmas)
      if (other != own) factors.push_back(other / own);
    tests.emplace_back(own, factors);
  }
  Sampler sampler(implementation);
  Index observations = 0;
  return run_trial(
      budget,
      [&](Index round) {
        const auto heads = static_cast<Index>(sigmas.size());
        const Index samples = call_samples(budget, length, heads, batch);
        sampler.draw({.seed = seed_of(parameters, round),
                      .length = length,
                      .sigmas = sigmas,
                      .batch = batch,
                      .samples = samples});
        for (Index item = 0; item < (shared ? 1 : batch); ++item)
          for (Index k = 0; k < samples; ++k, ++observations)
            for (Index h = 0; h < heads; ++h)
              if (const auto region = sampler.region(item, h, k))
                tests[static_cast<std::size_t>(h)].observe(*region);
      },
      [&] {
        Standing standing;
        standing.observations = observations;
        for (std::size_t h = 0; h < tests.size(); ++h)
          for (std::size_t k = 0; k < tests[h].factors().size(); ++k) {
            const double factor = tests[h].factors()[k];
            const double ratio = tests[h].log_ratios()[k];
            standing.findings.push_back(
                {fmt::format("head {} looks like sigma {:.4g} instead of {}", h, factor * sigmas[h],
                             sigmas[h]),
                 ratio});
            if (factor > 0.9 && factor < 1.11)
              standing.deviations.push_back(
                  {fmt::format("sigma of head {} times {:.3g}", h, factor), ratio});
          }
        return standing;
      });
}

}  // namespace

void add_sampler_law_properties(std::vector<Property>& all) {
  all.push_back(sampler_property(
      "sampler.joint-law", "C1",
      "Partitions of a few positions have exactly the probabilities of w ~ Gamma(2, sigma), u "
      "uniform on [0, w).",
      {seed_family("short lengths",
                   "Lengths whose complete law is listed, sigma below and above.")},
      [](const Implementation& implementation, const Case& parameters, const Budget& budget) {
        return check_joint_law(implementation, parameters, budget,
                               {{4, 1.5}, {8, 4}, {12, 7}, {8, 0.7}});
      }));
  all.push_back(sampler_property(
      "sampler.small-sigma", "C1",
      "Decay lengths of a position and less give nearly all singletons, with the exact law.",
      {seed_family("sigma 0.01 to 1", "Where exp(-1/sigma) is tiny and a lost factor is fatal.")},
      [](const Implementation& implementation, const Case& parameters, const Budget& budget) {
        return check_joint_law(implementation, parameters, budget,
                               {{8, 0.01}, {8, 0.1}, {8, 0.3}, {8, 1}});
      }));
  all.push_back(sampler_property(
      "sampler.pair-law", "C1",
      "Positions i and j share a block with probability exp(-|i-j|/sigma), wherever they are.",
      {seed_family("near", "The start, the middle and the end of a short sequence.",
                   {{"length", 512}, {"sigma", 16}, {"odds", 1.3}, {"places", {0, 1, 256, 511}}}),
       seed_family("far", "Places up to 100 000, on both sides of 32 768 and 65 536.",
                   {{"length", 100'100},
                    {"sigma", 16},
                    {"odds", 3},
                    {"places", {0, 32'764, 65'532, 100'000}}})},
      check_pair_law));
  all.push_back(sampler_property(
      "sampler.scale", "C1", "The widths have the scale sigma, to 1% (a quick run excludes 3%).",
      {seed_family("sigma 4", "Short blocks, many samples.", {{"length", 48}, {"sigma", 4}})},
      check_scale));
  all.push_back(sampler_property(
      "sampler.width-law", "C5", "The width of the bins follows Gamma(2, sigma), tail included.",
      {seed_family("sigma 16", "Long enough to fix the width.", {{"length", 256}, {"sigma", 16}})},
      check_width_law));
  all.push_back(sampler_property(
      "sampler.phase-law", "C1", "The shift is uniform on [0, w).",
      {seed_family("sigma 16", "Long enough to fix the shift.", {{"length", 192}, {"sigma", 16}})},
      check_phase_law));
  all.push_back(sampler_property(
      "sampler.width-phase-law", "C1", "The shift over the width is independent of the width.",
      {seed_family("sigma 16", "Long enough to fix both.", {{"length", 192}, {"sigma", 16}})},
      check_width_phase_law));
  all.push_back(sampler_property(
      "sampler.end-points", "C1",
      "No sample has an endless or a vanishing width: uniforms of exactly 0 or 1 do no harm.",
      {seed_family("rare widths", "Settings in which such a sample shows at once.")},
      check_end_points));
  all.push_back(sampler_property(
      "sampler.largest-block", "C5",
      "The largest block of a long sequence has the tail of the width, not one that grows with the "
      "length.",
      {seed_family("length 20 000", "1000 blocks, where independent cuts would differ at once.",
                   {{"length", 20'000}, {"sigma", 16}})},
      check_largest_block));
  all.push_back(sampler_property("sampler.per-head-sigma", "C1",
                                 "Each head follows its own decay length, in every batch item.",
                                 {seed_family("falling", "Very different heads, the longest first.",
                                              {{"length", 256}, {"sigmas", {48, 16, 4, 0.5}}}),
                                  seed_family("rising", "The same, the shortest first.",
                                              {{"length", 256}, {"sigmas", {0.5, 4, 16, 48}}})},
                                 check_per_head_sigma));
}

}  // namespace plsh::properties
