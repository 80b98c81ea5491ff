// E-values from the likelihood of partitions: their mean under the hypothesis is exactly 1, summed
// over the complete law.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <plsh/properties/partition_evidence.hpp>
#include <plsh/reference/partition_law.hpp>
#include <plsh/reference/sampling.hpp>

namespace plsh::properties {
namespace {

using namespace reference;

/// The regions and probabilities of all partitions of a short length.
struct CompleteLaw {
  CompleteLaw(Index length, double sigma) : law(length) {
    const Vector<double> p = law.probabilities(sigma);
    probabilities.assign(p.begin(), p.end());
    for (const Partition& partition : law.partitions()) regions.emplace_back(partition);
  }
  PartitionLaw law;
  std::vector<double> probabilities;
  std::vector<PartitionRegion> regions;
};

/// The mean of exp(log e-value) over all sequences of `steps` independent partitions.
double mean_e_value(const CompleteLaw& complete, int steps,
                    const std::function<double(const std::vector<std::size_t>&)>& log_e_value) {
  double sum = 0;
  std::vector<std::size_t> outcomes;
  const std::function<void(double)> visit = [&](double probability) {
    if (static_cast<int>(outcomes.size()) == steps) {
      sum += probability * std::exp(log_e_value(outcomes));
      return;
    }
    for (std::size_t x = 0; x < complete.regions.size(); ++x) {
      outcomes.push_back(x);
      visit(probability * complete.probabilities[x]);
      outcomes.pop_back();
    }
  };
  visit(1);
  return sum;
}

// The sums run over some thousand sequences; cell masses are right to about 1e-12.
constexpr double rounding = 1e-10;

TEST(ScaleEvidence, HasMeanOne) {
  const CompleteLaw complete(5, 2.0);
  for (const auto& factors : std::vector<std::vector<double>>{{0.5}, {1.01, 2, 0.9}})
    EXPECT_NEAR(mean_e_value(complete, 2,
                             [&](const std::vector<std::size_t>& outcomes) {
                               ScaleEvidence evidence(2.0, factors);
                               for (const std::size_t x : outcomes)
                                 evidence.observe(complete.regions[x]);
                               return evidence.log_e_value();
                             }),
                1, rounding);
  EXPECT_THROW(ScaleEvidence(1, {}), std::invalid_argument);
}

TEST(SoftCellEvidence, HasMeanOneForWidthPhaseAndBoth) {
  const CompleteLaw complete(4, 1.5);
  for (const CellGrid& grid :
       {CellGrid(1.5, {0.7, 0.3, 0.05}, 1), CellGrid(1.5, {}, 4), CellGrid(1.5, {0.5, 0.1}, 3)}) {
    EXPECT_NEAR(std::accumulate(grid.law().begin(), grid.law().end(), 0.0), 1, rounding);
    // Each conditional law averages to the law of the cells.
    std::vector<double> cells(grid.law().size(), 0);
    for (std::size_t x = 0; x < complete.regions.size(); ++x)
      for (const auto& [cell, weight] : grid.weights(complete.regions[x]))
        cells[cell] += complete.probabilities[x] * weight;
    for (std::size_t c = 0; c < cells.size(); ++c) EXPECT_NEAR(cells[c], grid.law()[c], rounding);

    std::vector<double> other(grid.law().size(), 1.0 / static_cast<double>(grid.law().size()));
    EXPECT_NEAR(mean_e_value(complete, 3,
                             [&](const std::vector<std::size_t>& outcomes) {
                               SoftCellEvidence evidence(grid.law(), {other}, 5);
                               for (const std::size_t x : outcomes)
                                 evidence.observe(grid.weights(complete.regions[x]));
                               return evidence.log_e_value();
                             }),
                1, rounding);
  }
  EXPECT_THROW(CellGrid(1, {0.3, 0.7}, 1), std::invalid_argument);
  EXPECT_THROW(CellGrid(1, {}, 0), std::invalid_argument);
  EXPECT_THROW(SoftCellEvidence({0.5, 0.5}, {{1.0}}), std::invalid_argument);
}

TEST(SoftCellEvidence, HasMeanOneForIndependentPairs) {
  const CompleteLaw complete(3, 1.0);
  const CellGrid width(1, {0.5}, 1);
  const CellGrid phase(1, {}, 2);
  const std::vector<double> law = product(width.law(), phase.law());
  EXPECT_NEAR(
      mean_e_value(complete, 4,
                   [&](const std::vector<std::size_t>& outcomes) {
                     SoftCellEvidence evidence(law, {{0.4, 0.1, 0.1, 0.4}}, 2);
                     for (std::size_t t = 0; t + 1 < outcomes.size(); t += 2)
                       evidence.observe(product(width.weights(complete.regions[outcomes[t]]),
                                                phase.weights(complete.regions[outcomes[t + 1]]),
                                                phase.law().size()));
                     return evidence.log_e_value();
                   }),
      1, rounding);
}

TEST(RepeatEvidence, HasMeanOneAndFindsRepeats) {
  const CompleteLaw complete(3, 1.0);
  for (const double rare : {1.0, 0.3})
    EXPECT_NEAR(mean_e_value(complete, 5,
                             [&](const std::vector<std::size_t>& outcomes) {
                               RepeatEvidence evidence(rare);
                               for (const std::size_t x : outcomes)
                                 evidence.observe(x, complete.probabilities[x]);
                               return evidence.log_e_value();
                             }),
                1, rounding);
  RepeatEvidence fresh;
  RepeatEvidence repeating;
  for (std::uint64_t k = 0; k < 1000; ++k) {
    fresh.observe(k, 1e-10);
    repeating.observe(k % 100 == 99 ? k - 1 : k, 1e-10);
  }
  EXPECT_LT(fresh.log_e_value(), 0);
  EXPECT_LT(fresh.log_ratio(5), -30);
  EXPECT_EQ(repeating.repeats(), 10);
  EXPECT_GT(repeating.log_e_value(), 60);
}

TEST(Evidence, StaysSmallOnTheReferencesOwnDraws) {
  const double sigma = 8;
  const CellGrid both(sigma, {0.75, 0.5, 0.25}, 4);
  ScaleEvidence scale(sigma, {1.01, 1 / 1.01, 1.1, 1 / 1.1});
  SoftCellEvidence cells(both.law(), {});
  SoftCellEvidence pairs(product(both.law(), both.law()), {});
  RepeatEvidence repeats;
  CellWeights before;
  for (std::uint64_t k = 0; k < 4000; ++k) {
    const Partition partition = partition_of(160, draw_binning({5, 0, k}, sigma));
    const PartitionRegion region(partition);
    scale.observe(region);
    const CellWeights now = both.weights(region);
    cells.observe(now);
    if (k % 2 == 1) pairs.observe(product(before, now, both.law().size()));
    before = now;
    const auto& starts = partition.starts();
    std::uint64_t key = 0;
    for (const Index start : starts) key = key * 1'000'003 + static_cast<std::uint64_t>(start);
    repeats.observe(key, region.probability(sigma));
  }
  for (const double log_e :
       {scale.log_e_value(), cells.log_e_value(), pairs.log_e_value(), repeats.log_e_value()})
    EXPECT_LT(log_e, std::log(1e9));
  // 10% off is excluded by far.
  EXPECT_LT(scale.log_ratios()[2], std::log(1e-3));
  EXPECT_LT(scale.log_ratios()[3], std::log(1e-3));
}

}  // namespace
}  // namespace plsh::properties
