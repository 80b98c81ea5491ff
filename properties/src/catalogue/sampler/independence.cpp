// Samples, heads, batch items, seeds and calls against each other.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <plsh/reference/laws.hpp>

#include "parts.hpp"

namespace plsh::properties {
namespace {

// ---- pairs of partitions ---------------------------------------------------------------------

/// What one partition tells of its width and phase; not known for a partition that only the
/// rounding of the bins explains.
struct Marks {
  bool known = false;
  CellWeights both;
  CellWeights width;
  CellWeights phase;
};
using Stream = std::vector<Marks>;

constexpr std::size_t kBoth = 16;
constexpr std::size_t kOne = 6;

/// Cells of equal probability: 4 x 4 of width and phase, 6 of each alone.
class Marker {
 public:
  explicit Marker(double sigma)
      : both_(sigma, {0.75, 0.5, 0.25}, 4),
        width_(sigma, {5.0 / 6, 4.0 / 6, 3.0 / 6, 2.0 / 6, 1.0 / 6}, 1),
        phase_(sigma, {}, 6) {}
  Marks operator()(const std::optional<reference::PartitionRegion>& region) const {
    if (!region) return {};
    return {true, both_.weights(*region), width_.weights(*region), phase_.weights(*region)};
  }

 private:
  CellGrid both_;
  CellGrid width_;
  CellGrid phase_;
};

/// Pairs of n x n cells of equal probability, of which a fraction has equal cells.
std::vector<double> partly_equal(std::size_t n, double fraction) {
  const auto cells = static_cast<double>(n);
  std::vector<double> law(n * n, (1 - fraction) / (cells * cells));
  for (std::size_t c = 0; c < n; ++c) law[c * n + c] += fraction / cells;
  return law;
}

/// The same under the density 1 + slope (2x - 1)(2y - 1), whose correlation is slope/3.
std::vector<double> correlated(std::size_t n, double slope) {
  std::vector<double> law;
  const auto cells = static_cast<double>(n);
  const auto centre = [&](std::size_t c) { return (2 * static_cast<double>(c) + 1) / cells - 1; };
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = 0; b < n; ++b)
      law.push_back((1 + slope * centre(a) * centre(b)) / (cells * cells));
  return law;
}

constexpr std::array<double, 3> kEqualFractions{0.05, 0.3, 1};

/// Independence of two partitions, from independent pairs of them.
class PairTest {
 public:
  /// \param fraction which of kEqualFractions has to be excluded.
  PairTest(std::string name, std::size_t fraction)
      : name_(std::move(name)), fraction_(fraction), both_(uniform(kBoth), equal_laws()) {
    for (int k = 0; k < 4; ++k)
      single_.emplace_back(uniform(kOne), std::vector<std::vector<double>>{correlated(kOne, 0.6),
                                                                           correlated(kOne, -0.6)});
  }

  void observe(const Marks& a, const Marks& b) {
    if (!a.known || !b.known) return;
    both_.observe(product(a.both, b.both, kBoth));
    single_[0].observe(product(a.width, b.width, kOne));
    single_[1].observe(product(a.phase, b.phase, kOne));
    single_[2].observe(product(a.width, b.phase, kOne));
    single_[3].observe(product(a.phase, b.width, kOne));
  }

  void report(Standing& standing) const {
    standing.findings.push_back(
        {name_ + " are not distributed as independent draws", both_.log_e_value()});
    static constexpr std::array<const char*, 4> kWhat{
        "the widths", "the shifts", "a width and the other shift", "a shift and the other width"};
    standing.deviations.push_back(
        {fmt::format("{} are equal in {}% of the pairs", name_, 100 * kEqualFractions[fraction_]),
         both_.log_alternatives()[fraction_]});
    for (std::size_t k = 0; k < single_.size(); ++k) {
      standing.findings.push_back(
          {fmt::format("{} of {} are not distributed as independent draws", kWhat[k], name_),
           single_[k].log_e_value()});
      if (fraction_ > 0) continue;
      for (std::size_t a = 0; a < 2; ++a)
        standing.deviations.push_back(
            {fmt::format("{} of {} have correlation {}", kWhat[k], name_, a == 0 ? 0.2 : -0.2),
             single_[k].log_alternatives()[a]});
    }
  }

 private:
  static std::vector<double> uniform(std::size_t n) { return partly_equal(n, 0); }
  static std::vector<std::vector<double>> equal_laws() {
    std::vector<std::vector<double>> laws;
    for (const double fraction : kEqualFractions) laws.push_back(partly_equal(kBoth, fraction));
    return laws;
  }

  std::string name_;
  std::size_t fraction_;
  SoftCellEvidence both_;
  std::vector<SoftCellEvidence> single_;
};

/// Pairs (t, t + lag) of one stream that share no element.
void observe_lag(PairTest& test, const Stream& stream, std::size_t lag) {
  for (std::size_t t = 0; t + lag < stream.size(); ++t)
    if (t / lag % 2 == 0) test.observe(stream[t], stream[t + lag]);
}

/// Pairs (t, t + shift) of two streams.
void observe_shift(PairTest& test, const Stream& a, const Stream& b, Index shift) {
  const auto size = static_cast<Index>(std::min(a.size(), b.size()));
  for (Index t = std::max<Index>(0, -shift); t < size && t + shift < size; ++t)
    test.observe(a[static_cast<std::size_t>(t)], b[static_cast<std::size_t>(t + shift)]);
}

Standing report_all(const std::vector<PairTest>& tests, Index observations) {
  Standing standing;
  standing.observations = observations;
  for (const PairTest& test : tests) test.report(standing);
  return standing;
}

constexpr Index kLength = 96;
constexpr double kSigma = 6;

Stream read_stream(const Sampler& sampler, Index item, Index head, Index samples,
                   const Marker& marker) {
  Stream stream;
  for (Index k = 0; k < samples; ++k) stream.push_back(marker(sampler.region(item, head, k)));
  return stream;
}

std::uint64_t seed_of(const Case& parameters, Index part) {
  return mixed_seed(parameters.at("seed").get<std::uint64_t>(), static_cast<std::uint64_t>(part));
}

Outcome check_samples(const Implementation& implementation, const Case& parameters,
                      const Budget& budget) {
  const Index samples = call_samples(budget, kLength);
  std::vector<std::size_t> lags;
  for (const Index lag :
       {1, 2, 3, 4, 5, 7, 8, 16, 31, 32, 64, 100, 128, 256, 512, 1000, 1024, 2048})
    if (lag < samples) lags.push_back(static_cast<std::size_t>(lag));
  std::vector<PairTest> tests;
  for (const std::size_t lag : lags)
    tests.emplace_back(fmt::format("samples t and t + {}", lag), 0);
  Sampler sampler(implementation);
  const Marker marker(kSigma);
  Index observations = 0;
  return run_trial(
      budget,
      [&](Index round) {
        sampler.draw({.seed = seed_of(parameters, round),
                      .length = kLength,
                      .sigmas = {kSigma},
                      .samples = samples,
                      .threads = parameters.at("threads").get<int>()});
        const Stream stream = read_stream(sampler, 0, 0, samples, marker);
        for (std::size_t k = 0; k < lags.size(); ++k) observe_lag(tests[k], stream, lags[k]);
        observations += samples;
      },
      [&] { return report_all(tests, observations); });
}

/// One test of two streams of the same call.
struct StreamPair {
  std::size_t a;
  std::size_t b;
  Index shift;
};

Outcome check_heads(const Implementation& implementation, const Case& parameters,
                    const Budget& budget) {
  const std::vector<double> sigmas{6, 6, 6, 3, 12, 6};
  std::vector<Marker> markers(sigmas.begin(), sigmas.end());
  std::vector<StreamPair> pairs;
  std::vector<PairTest> tests;
  for (std::size_t a = 0; a < sigmas.size(); ++a)
    for (std::size_t b = a + 1; b < sigmas.size(); ++b)
      for (const Index shift : b == a + 1 ? std::vector<Index>{0, 1, -1} : std::vector<Index>{0}) {
        pairs.push_back({a, b, shift});
        tests.emplace_back(shift == 0
                               ? fmt::format("heads {} and {}", a, b)
                               : fmt::format("heads {} and {}, {} sample later,", a, b, shift),
                           0);
      }
  Sampler sampler(implementation);
  Index observations = 0;
  return run_trial(
      budget,
      [&](Index round) {
        const Index samples = call_samples(budget, kLength, static_cast<Index>(sigmas.size()));
        sampler.draw({.seed = seed_of(parameters, round),
                      .length = kLength,
                      .sigmas = sigmas,
                      .samples = samples,
                      .threads = parameters.at("threads").get<int>()});
        std::vector<Stream> streams;
        for (std::size_t h = 0; h < sigmas.size(); ++h)
          streams.push_back(read_stream(sampler, 0, static_cast<Index>(h), samples, markers[h]));
        for (std::size_t k = 0; k < pairs.size(); ++k)
          observe_shift(tests[k], streams[pairs[k].a], streams[pairs[k].b], pairs[k].shift);
        observations += samples;
      },
      [&] { return report_all(tests, observations); });
}

Outcome check_batches(const Implementation& implementation, const Case& parameters,
                      const Budget& budget) {
  if (implementation.conventions().batch_samples == PLSH_BATCH_SHARED)
    return unsuitable("the items of a batch share their samples, as declared");
  constexpr Index batch = 4;
  constexpr Index heads = 2;
  const Marker marker(kSigma);
  std::vector<StreamPair> pairs;
  std::vector<PairTest> tests;
  for (std::size_t a = 0; a < batch * heads; ++a)
    for (std::size_t b = a + 1; b < batch * heads; ++b) {
      if (a / heads == b / heads) continue;
      for (const Index shift : a % heads == b % heads && b == a + heads
                                   ? std::vector<Index>{0, 1, -1}
                                   : std::vector<Index>{0}) {
        pairs.push_back({a, b, shift});
        const std::string later = shift == 0 ? "" : fmt::format(", {} sample later,", shift);
        tests.emplace_back(fmt::format("batch item {} head {} and item {} head {}{}", a / heads,
                                       a % heads, b / heads, b % heads, later),
                           0);
      }
    }
  Sampler sampler(implementation);
  Index observations = 0;
  return run_trial(
      budget,
      [&](Index round) {
        const Index samples = call_samples(budget, kLength, heads, batch);
        sampler.draw({.seed = seed_of(parameters, round),
                      .length = kLength,
                      .sigmas = {kSigma, kSigma},
                      .batch = batch,
                      .samples = samples,
                      .threads = parameters.at("threads").get<int>()});
        std::vector<Stream> streams;
        for (Index item = 0; item < batch; ++item)
          for (Index h = 0; h < heads; ++h)
            streams.push_back(read_stream(sampler, item, h, samples, marker));
        for (std::size_t k = 0; k < pairs.size(); ++k)
          observe_shift(tests[k], streams[pairs[k].a], streams[pairs[k].b], pairs[k].shift);
        observations += samples;
      },
      [&] { return report_all(tests, observations); });
}

Outcome check_seeds(const Implementation& implementation, const Case& parameters,
                    const Budget& budget) {
  // Every test has base seeds of its own, so that all pairs it sees are independent.
  std::vector<PairTest> tests;
  for (int bit = 0; bit < 64; ++bit)
    tests.emplace_back(fmt::format("seeds that differ in bit {}", bit), 1);
  for (const Index shift : {-1, 0, 1})
    tests.emplace_back(fmt::format("sample t of seed s and sample t{}{} of seed s + 1",
                                   shift < 0 ? "" : "+", shift),
                       1);
  tests.emplace_back("seeds that differ in one bit", 0);
  const Marker marker(kSigma);
  Sampler sampler(implementation);
  Index observations = 0;
  const Index samples = budget.samples > 0 ? std::clamp<Index>(budget.samples / 134, 1, 64) : 64;
  const auto stream_of = [&](std::uint64_t seed) {
    sampler.draw({.seed = seed, .length = kLength, .sigmas = {kSigma}, .samples = samples});
    observations += samples;
    return read_stream(sampler, 0, 0, samples, marker);
  };
  return run_trial(
      budget,
      [&](Index round) {
        for (Index k = 0; k < 67; ++k) {
          const std::uint64_t base = seed_of(parameters, 67 * round + k);
          const std::uint64_t other = k < 64 ? base ^ (std::uint64_t{1} << k) : base + 1;
          const Stream a = stream_of(base);
          const Stream b = stream_of(other);
          observe_shift(tests[static_cast<std::size_t>(k)], a, b, k < 64 ? 0 : k - 65);
          if (k < 64) observe_shift(tests.back(), a, b, 0);
        }
      },
      [&] { return report_all(tests, observations); });
}

Outcome check_calls(const Implementation& implementation, const Case& parameters,
                    const Budget& budget) {
  if (!implementation.promises(PLSH_SAMPLE_OFFSETS))
    return unsuitable("first_sample is not supported, as declared");
  const std::vector<Index> offsets{1, 1024, Index{1} << 16, Index{1} << 32, Index{1} << 40};
  std::vector<PairTest> tests;
  for (const Index offset : offsets)
    tests.emplace_back(fmt::format("the calls with first_sample f and f + {}", offset), 0);
  const Marker marker(kSigma);
  Sampler sampler(implementation);
  Index observations = 0;
  return run_trial(
      budget,
      [&](Index round) {
        const Index samples = std::min<Index>(1024, call_samples(budget, kLength));
        const auto stream_of = [&](Index first) {
          sampler.draw({.seed = seed_of(parameters, round),
                        .first_sample = first,
                        .length = kLength,
                        .sigmas = {kSigma},
                        .samples = samples});
          observations += samples;
          return read_stream(sampler, 0, 0, samples, marker);
        };
        const Stream start = stream_of(0);
        for (std::size_t k = 0; k < offsets.size(); ++k) {
          const Stream later = stream_of(offsets[k]);
          // Calls that overlap have samples in common: pair only those that differ.
          if (offsets[k] == 1) {
            for (std::size_t t = 0; t + 1 < start.size(); t += 2)
              tests[k].observe(start[t], later[t]);
          } else {
            observe_shift(tests[k], start, later, 0);
          }
        }
      },
      [&] { return report_all(tests, observations); });
}

// ---- repeats ---------------------------------------------------------------------------------

Outcome check_duplicates(const Implementation& implementation, const Case& parameters,
                         const Budget& budget) {
  const auto length = parameters.at("length").get<Index>();
  const auto sigmas = parameters.at("sigmas").get<std::vector<double>>();
  const auto batch = parameters.at("batch").get<Index>();
  const bool shared = implementation.conventions().batch_samples == PLSH_BATCH_SHARED;
  const auto heads = static_cast<Index>(sigmas.size());
  RepeatEvidence evidence;
  Sampler sampler(implementation);
  const std::uint64_t seed = seed_of(parameters, 0);
  return run_trial(
      budget,
      [&](Index round) {
        const Index samples = call_samples(budget, length, heads, batch);
        // Neighbouring seeds: streams of theirs that overlap show here too.
        sampler.draw({.seed = seed + static_cast<std::uint64_t>(round),
                      .length = length,
                      .sigmas = sigmas,
                      .batch = batch,
                      .samples = samples,
                      .threads = round % 2 == 0 ? 1 : 4});
        for (Index item = 0; item < (shared ? 1 : batch); ++item)
          for (Index h = 0; h < heads; ++h)
            for (Index k = 0; k < samples; ++k) {
              const auto region = sampler.region(item, h, k);
              if (!region) continue;
              evidence.observe(partition_key(sampler.starts(item, h, k)),
                               region->probability(sigmas[static_cast<std::size_t>(h)]));
            }
      },
      [&] {
        Standing standing;
        standing.observations = evidence.observations();
        standing.findings.push_back(
            {fmt::format("{} of {} partitions repeat an earlier one, although each is rare",
                         evidence.repeats(), evidence.observations()),
             evidence.log_e_value()});
        standing.deviations.push_back(
            {"one partition in 1024 repeats an earlier one", evidence.log_ratio(10)});
        return standing;
      });
}

// ---- the variance of the mean mask ------------------------------------------------------------

/// Counts 0..s with a normal shape of the binomial mean and a multiple of its variance.
std::vector<double> spread_counts(Index samples, double p, double variance_ratio) {
  const auto s = static_cast<double>(samples);
  std::vector<double> law;
  double sum = 0;
  for (Index k = 0; k <= samples; ++k) {
    const double z = (static_cast<double>(k) - s * p);
    law.push_back(std::exp(-z * z / (2 * variance_ratio * s * p * (1 - p))) + 1e-12);
    sum += law.back();
  }
  for (double& q : law) q /= sum;
  return law;
}

Outcome check_variance(const Implementation& implementation, const Case& parameters,
                       const Budget& budget) {
  constexpr Index samples = 64;
  constexpr Index length = 48;
  constexpr double sigma = 8;
  const std::vector<double> ratios{0.4, 1 / 1.7, 1.7, 4};
  struct Test {
    Index i;
    Index j;
    KnownLawEvidence evidence;
  };
  std::vector<Test> tests;
  for (const auto& [i, j] : {std::pair<Index, Index>{0, 2}, {20, 26}, {30, 42}}) {
    std::vector<double> law;
    for (Index k = 0; k <= samples; ++k)
      law.push_back(reference::entry_probability(samples, k, j - i, sigma));
    std::vector<std::vector<double>> alternatives;
    for (const double ratio : ratios)
      alternatives.push_back(
          spread_counts(samples, reference::set_probability(j - i, sigma), ratio));
    tests.push_back({i, j, KnownLawEvidence(law, alternatives)});
  }
  Sampler sampler(implementation);
  Index part = 0;
  return run_trial(
      budget,
      [&](Index) {
        const Index calls = budget.samples > 0 ? std::min<Index>(budget.samples, 32) : 32;
        for (Index call = 0; call < calls; ++call) {
          sampler.draw({.seed = seed_of(parameters, part++),
                        .length = length,
                        .sigmas = {sigma},
                        .samples = samples});
          std::vector<Index> counts(tests.size(), 0);
          for (Index k = 0; k < samples; ++k) {
            const reference::Partition partition = sampler.partition(0, 0, k);
            for (std::size_t t = 0; t < tests.size(); ++t)
              counts[t] += partition.block_of(tests[t].i) == partition.block_of(tests[t].j) ? 1 : 0;
          }
          for (std::size_t t = 0; t < tests.size(); ++t) tests[t].evidence.observe(counts[t]);
        }
      },
      [&] {
        Standing standing;
        standing.observations = tests.front().evidence.observations();
        for (const Test& test : tests) {
          const std::string what = fmt::format(
              "the number of {} samples in which {} and {} share a block", samples, test.i, test.j);
          standing.findings.push_back({what + " is not binomial", test.evidence.log_e_value()});
          for (std::size_t a = 0; a < ratios.size(); ++a)
            standing.deviations.push_back(
                {fmt::format("{} has {:.2g} times its variance", what, ratios[a]),
                 test.evidence.log_alternatives()[a]});
        }
        return standing;
      });
}

}  // namespace

void add_sampler_independence_properties(std::vector<Property>& all) {
  const std::vector<Family> threads{
      seed_family("one thread", "The order of one stream.", {{"threads", 1}}),
      seed_family("four threads", "Streams that are cut into parts.", {{"threads", 4}})};
  all.push_back(sampler_property("sampler.independent-samples", "C3",
                                 "The samples of a head are independent, at short and long lags.",
                                 threads, check_samples));
  all.push_back(sampler_property("sampler.independent-heads", "C3",
                                 "Heads draw independently, whatever their decay lengths.",
                                 {threads.front()}, check_heads));
  all.push_back(sampler_property("sampler.independent-batches", "C3",
                                 "The items of a batch draw independently, where declared so.",
                                 {threads.front()}, check_batches));
  all.push_back(sampler_property(
      "sampler.independent-seeds", "C3",
      "Seeds that differ in any one bit, or by one, give independent samples.",
      {seed_family("one bit", "Each of the 64 bits, and the next seed with shifted samples.")},
      check_seeds));
  all.push_back(sampler_property("sampler.independent-calls", "C3",
                                 "Calls with other first samples give independent samples.",
                                 {seed_family("offsets", "Offsets from 1 to 2^40.")}, check_calls));
  all.push_back(sampler_property(
      "sampler.duplicates", "C3",
      "No partition of a long sequence is drawn twice: not within a call, nor by another head, "
      "batch item or seed.",
      {seed_family("one head", "Within one stream.",
                   {{"length", 2048}, {"sigmas", {8}}, {"batch", 1}}),
       seed_family("heads and items", "Across streams of equal sigma.",
                   {{"length", 2048}, {"sigmas", {8, 8, 8}}, {"batch", 2}})},
      check_duplicates));
  all.push_back(sampler_property(
      "sampler.sample-variance", "C3",
      "An entry of s times the mean mask is binomial: its spread over calls is that of independent "
      "samples.",
      {seed_family("64 samples", "Entries at distances from sigma/4 to 1.5 sigma.")},
      check_variance));
}

}  // namespace plsh::properties
