// The exact likelihood of one partition, against the complete law and against drawn binnings.
#include <algorithm>
#include <numeric>
#include <plsh/reference/laws.hpp>
#include <plsh/reference/partition_law.hpp>
#include <plsh/reference/partition_region.hpp>
#include <plsh/reference/sampling.hpp>

#include "support.hpp"

namespace plsh::reference::test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// All block starts of 0..length-1, one for each of the 2^(length-1) sets of cuts.
std::vector<Partition> all_compositions(Index length) {
  std::vector<Partition> result;
  for (Index cuts = 0; cuts < Index{1} << (length - 1); ++cuts) {
    std::vector<Index> starts{0};
    for (Index i = 1; i < length; ++i)
      if ((cuts >> (i - 1)) & 1) starts.push_back(i);
    result.emplace_back(length, starts);
  }
  return result;
}

TEST(PartitionRegion, GivesTheProbabilitiesOfTheCompleteLaw) {
  for (const Index n : {1, 2, 3, 4, 6, 10, 16}) {
    const PartitionLaw law(n);
    std::vector<PartitionRegion> regions;
    for (const Partition& partition : law.partitions()) regions.emplace_back(partition);
    for (const double sigma : {0.01, 0.3, 1.0, 4.0, 37.5, 1e6}) {
      const PrecisionScope precision(60);
      const Vector<Interval> expected = law.probabilities(Interval(sigma));
      Interval sum(0);
      for (std::size_t k = 0; k < regions.size(); ++k) {
        const Interval p = regions[k].probability(Interval(sigma));
        const Interval& e = expected[static_cast<Index>(k)];
        ASSERT_TRUE(regions[k].reachable());
        ASSERT_TRUE(overlaps(p, e)) << n << ' ' << sigma << ' ' << k;
        ASSERT_TRUE(narrower(p, "1e-40"));
        sum += p;
        // A sum of a few terms above zero, each within a few roundings; the exponent -w/sigma, up
        // to 1600 here, is rounded too.
        if (lower(p) > Mpfr(1e-300)) {
          const double exact = to_double(p);
          ASSERT_NEAR(regions[k].probability(sigma) / exact, 1, 4000 * unit_roundoff)
              << n << ' ' << sigma << ' ' << k;
          ASSERT_NEAR(regions[k].log_probability(sigma), std::log(exact),
                      4000 * unit_roundoff * (1 + std::fabs(std::log(exact))));
        }
      }
      EXPECT_TRUE(contains(sum, 1.0)) << n << ' ' << sigma;
    }
  }
}

TEST(PartitionRegion, TellsReachablePartitionsFromAllOthers) {
  for (Index n = 1; n <= 10; ++n) {
    const PartitionLaw law(n);
    Index reachable = 0;
    for (const Partition& partition : all_compositions(n)) {
      const PartitionRegion region(partition);
      ASSERT_EQ(region.reachable(), law.find(partition) >= 0) << n;
      if (region.reachable()) {
        ++reachable;
        continue;
      }
      EXPECT_LE(region.margin(), 0);
      EXPECT_EQ(region.probability(3.0), 0);
      EXPECT_EQ(region.log_probability(3.0), -infinity);
    }
    EXPECT_EQ(reachable, static_cast<Index>(law.partitions().size()));
  }
}

TEST(PartitionRegion, RefutesLongPartitionsThatNoBinningGives) {
  const Index n = 1'000'000'000;
  EXPECT_TRUE(
      PartitionRegion(Partition(n, {0, 100, 300'000'100, 600'000'100, 900'000'100})).reachable());
  // Widths 3 and 5 in one mask; and three sizes that differ by one.
  EXPECT_FALSE(PartitionRegion(Partition(20, {0, 3, 8, 11, 16})).reachable());
  EXPECT_FALSE(
      PartitionRegion(Partition(n, {0, 100, 300'000'100, 600'000'102, 900'000'102})).reachable());
  // An interior block may differ by one from the others, but not two close to each other: the
  // boundaries would have to be irregular. Sizes 5,5,4,4,4,4,5,5 need a width on both sides of 4.5.
  EXPECT_FALSE(PartitionRegion(Partition(37, {0, 1, 6, 11, 15, 19, 23, 27, 32, 36})).reachable());
  EXPECT_TRUE(PartitionRegion(Partition(37, {0, 1, 6, 10, 15, 19, 24, 28, 33})).reachable());
  EXPECT_TRUE(rejects("length", [] { PartitionRegion(Partition(1'000'000'001, {0})); }));
}

/// The first boundary above 0: u itself, since 0 < u < w.
double first_boundary(const Binning& binning) { return binning.shift; }

TEST(PartitionRegion, HoldsTheDrawnWidthAndPhase) {
  Source source(7);
  int narrow = 0;
  for (int draw = 0; draw < 400; ++draw) {
    const double sigma =
        std::array{0.5, 4.0, 50.0, 3000.0, 1e6}[static_cast<std::size_t>(draw % 5)];
    const Index n = source.integer(1, 20'000);
    const Binning binning =
        draw_binning({11, static_cast<std::uint32_t>(draw), static_cast<std::uint64_t>(n)}, sigma);
    const PartitionRegion region(partition_of(n, binning));
    ASSERT_TRUE(region.reachable()) << draw;
    const double w = binning.width;
    const double phase = first_boundary(binning) / w;
    ASSERT_LE(region.lowest_width(), w * (1 + 4 * unit_roundoff));
    ASSERT_GE(region.highest_width(), w * (1 - 4 * unit_roundoff));
    if (w > 1) {
      ASSERT_LE(region.lowest_phase(), phase + 1e-12);
      ASSERT_GE(region.highest_phase(), phase - 1e-12);
      EXPECT_GT(region.margin(), 0);
    }
    ASSERT_GT(region.log_probability(sigma), -100);
    // A cell around the truth has mass, one beside it has none.
    const double low = region.lowest_width();
    const double high = region.highest_width();
    EXPECT_GT(region.log_probability(sigma, {0.999 * w, 1.001 * w, 0, 1}), -infinity);
    EXPECT_EQ(region.log_probability(sigma, {high * (1 + 1e-12), infinity, 0, 1}), -infinity);
    EXPECT_EQ(region.log_probability(sigma, {0, low * (1 - 1e-12), 0, 1}), -infinity);
    narrow += high < 1.001 * low ? 1 : 0;
  }
  EXPECT_GT(narrow, 100);
}

TEST(PartitionRegion, CellsAddUpToTheWhole) {
  Source source(8);
  for (int draw = 0; draw < 300; ++draw) {
    const double sigma = std::array{0.7, 6.0, 80.0}[static_cast<std::size_t>(draw % 3)];
    const Index n = source.integer(1, draw % 2 == 0 ? 12 : 400);
    const PartitionRegion region(
        partition_of(n, draw_binning({12, static_cast<std::uint32_t>(draw), 0}, sigma)));
    const double whole = region.log_probability(sigma);
    std::vector<double> widths{0};
    for (int k = 0; k < 6; ++k) widths.push_back(3 * sigma * source.uniform());
    widths.push_back(infinity);
    std::vector<double> phases{0};
    for (int k = 0; k < 5; ++k) phases.push_back(source.uniform());
    phases.push_back(1);
    std::sort(widths.begin(), widths.end());
    std::sort(phases.begin(), phases.end());
    double by_width = 0;
    double by_both = 0;
    for (std::size_t k = 0; k + 1 < widths.size(); ++k) {
      const double strip =
          std::exp(region.log_probability(sigma, {widths[k], widths[k + 1], 0, 1}) - whole);
      double cells = 0;
      for (std::size_t j = 0; j + 1 < phases.size(); ++j)
        cells += std::exp(
            region.log_probability(sigma, {widths[k], widths[k + 1], phases[j], phases[j + 1]}) -
            whole);
      ASSERT_NEAR(strip, cells, 1e-9) << draw;
      by_width += strip;
      by_both += cells;
    }
    ASSERT_NEAR(by_width, 1, 1e-11) << draw;
    ASSERT_NEAR(by_both, 1, 1e-9) << draw;
  }
}

// Over all partitions the mass of a cell is the product of a gamma and a uniform probability.
TEST(PartitionRegion, CellsHaveTheLawOfWidthAndPhase) {
  for (const Index n : {2, 5, 12}) {
    const PartitionLaw law(n);
    for (const double sigma : {0.5, 3.0, 20.0}) {
      for (const PartitionRegion::Cell cell : {PartitionRegion::Cell{0, 0.6 * sigma, 0, 1},
                                               {0.6 * sigma, 2 * sigma, 0.2, 0.7},
                                               {2 * sigma, infinity, 0.7, 1},
                                               {0.3, 1.7, 0.1, 0.15}}) {
        double mass = 0;
        for (const Partition& partition : law.partitions())
          mass += std::exp(PartitionRegion(partition).log_probability(sigma, cell));
        const double tail_to = cell.width_to == infinity ? 0 : width_tail(cell.width_to, sigma);
        const double expected =
            (width_tail(cell.width_from, sigma) - tail_to) * (cell.phase_to - cell.phase_from);
        EXPECT_NEAR(mass, expected, 1e-12) << n << ' ' << sigma;
      }
    }
  }
}

TEST(PartitionRegion, TinyProbabilitiesKeepTheirLogarithm) {
  // One block of 1000 at sigma = 1: exp(-999), below the range of double.
  const PartitionRegion region(Partition(1000, {0}));
  EXPECT_EQ(region.probability(1.0), 0);
  EXPECT_NEAR(region.log_probability(1.0), -999, 1e-9);
  EXPECT_EQ(region.highest_width(), infinity);
  EXPECT_EQ(region.lowest_width(), 999);
  EXPECT_TRUE(rejects("sigma", [&] { static_cast<void>(region.log_probability(0)); }));
}

}  // namespace
}  // namespace plsh::reference::test
