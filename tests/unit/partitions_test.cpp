// Binnings, partitions, masks and the draws.
#include <algorithm>
#include <array>
#include <plsh/reference/binning.hpp>
#include <plsh/reference/sampling.hpp>

#include "support.hpp"

namespace plsh::reference::test {
namespace {

// ---- the hash, from its defining inequality --------------------------------------------------

// k is the bin of i exactly when u + k w <= i < u + (k+1) w.
bool is_bin_of(const Integer& k, Index i, const Binning& b) {
  const Rational low = Rational(b.shift) + Rational(k) * Rational(b.width);
  return low <= i && i < Rational(low + Rational(b.width));
}

// Floor division of integers by hand, on (i-u)/w = numerator/denominator.
Integer brute_bin_of(Index i, const Binning& b) {
  const Rational x = (Rational(i) - Rational(b.shift)) / Rational(b.width);
  const Integer p = numerator(x);
  const Integer q = denominator(x);  // above 0
  Integer k = p / q;                 // towards zero
  if (k * q > p) k -= 1;
  return k;
}

std::vector<Index> brute_starts(Index length, const Binning& b) {
  std::vector<Index> starts{0};
  for (Index i = 1; i < length; ++i)
    if (brute_bin_of(i, b) != brute_bin_of(i - 1, b)) starts.push_back(i);
  return starts;
}

// Widths and shifts of every kind: dyadic, decimal, subnormal, tiny, huge; shifts on edges,
// negative and beyond w.
double random_width(Source& source) {
  switch (source.integer(0, 7)) {
    case 0:
      return static_cast<double>(source.integer(1, 12));
    case 1:
      return static_cast<double>(source.integer(1, 200)) / 16;
    case 2:
      return static_cast<double>(source.integer(1, 200)) / 10;
    case 3:
      return 40 * source.uniform();
    case 4:
      return 1 + 0x1p-40 * source.uniform();
    case 5:
      return 1e300 * source.uniform();
    case 6:
      return std::nextafter(static_cast<double>(source.integer(1, 9)),
                            source.integer(0, 1) == 0 ? 0.0 : 100.0);
    default:
      return source.integer(0, 1) == 0 ? 5e-324 : 1e-300;
  }
}

double random_shift(Source& source, double width) {
  switch (source.integer(0, 6)) {
    case 0:
      return 0;
    case 1:
      return width * source.uniform();
    case 2:
      return -width * source.uniform();
    case 3:
      return std::min(1e300, width * 50 * source.uniform());
    case 4:
      return static_cast<double>(source.integer(-20, 20));
    case 5:
      return static_cast<double>(source.integer(-200, 200)) / 10;
    default:
      return source.integer(0, 1) == 0 ? 5e-324 : -1e-310;
  }
}

TEST(Binning, AgreesWithItsDefinitionForEveryKindOfWidthAndShift) {
  Source source(3);
  constexpr Index n = 24;
  int cases = 0;
  int with_several_positions = 0;
  for (int k = 0; k < 1500; ++k) {
    const double width = random_width(source);
    const Binning b{width, random_shift(source, width)};
    const Partition partition = partition_of(n, b);
    ASSERT_EQ(partition.starts(), brute_starts(n, b)) << b.width << ' ' << b.shift;
    for (Index i = 0; i < n; ++i, ++cases) {
      ASSERT_TRUE(is_bin_of(bin_of(i, b), i, b)) << i << ' ' << b.width << ' ' << b.shift;
      ASSERT_FALSE(is_bin_of(Integer(bin_of(i, b) + 1), i, b));
      const Block block = block_around(i, n, b);
      ASSERT_EQ(block, partition.block(partition.block_of(i)))
          << i << ' ' << b.width << ' ' << b.shift;
      ASSERT_TRUE(block.begin <= i && i < block.end);
    }
    with_several_positions += partition.largest_block() > 1 && partition.block_count() > 1 ? 1 : 0;
  }
  EXPECT_EQ(cases, 1500 * n);
  EXPECT_GT(with_several_positions, 400);
}

TEST(Binning, DecidesEdgesExactly) {
  EXPECT_EQ(partition_of(10, {3, 0}).starts(), (std::vector<Index>{0, 3, 6, 9}));
  EXPECT_EQ(bin_of(3, {3, 0}), 1);
  EXPECT_EQ(bin_of(2, {3, 0}), 0);
  EXPECT_EQ(bin_of(0, {3, std::nextafter(0.0, 1.0)}), -1);
  EXPECT_EQ(bin_of(0, {3, std::nextafter(0.0, -1.0)}), 0);
  // The boundary at 3 moves up by an ulp of w: position 3 stays in bin 0.
  EXPECT_EQ(partition_of(7, {std::nextafter(3.0, 4.0), 0}).starts(), (std::vector<Index>{0, 4}));
  EXPECT_EQ(partition_of(7, {std::nextafter(3.0, 2.0), 0}).starts(), (std::vector<Index>{0, 3, 6}));
  EXPECT_EQ(partition_of(4, {2.5, 2.5}).starts(), (std::vector<Index>{0, 3}));
  EXPECT_EQ(partition_of(4, {100, -200}).block_count(), 1);
  EXPECT_EQ(partition_of(1, {0.5, 0.25}).block_count(), 1);
}

TEST(Binning, IsRightWhereDoubleArithmeticIsWrong) {
  // (i - u)/w rounds up to the next integer in double, although i lies below the boundary.
  struct Case {
    double width;
    double shift;
    Index position;
  };
  for (const auto& [width, shift, position] :
       {Case{0.1, 0.3, 2}, Case{1.1, 0.3, 8}, Case{1.1, 0.1, 10}, Case{2.1, 0.2, 17},
        Case{1.3, 0.7, 15}}) {
    const Binning b{width, shift};
    const double in_double = std::floor((static_cast<double>(position) - shift) / width);
    EXPECT_NE(bin_of(position, b), Integer(in_double)) << width << ' ' << shift;
    EXPECT_FALSE(is_bin_of(Integer(in_double), position, b));
    EXPECT_TRUE(is_bin_of(bin_of(position, b), position, b));
  }
  // It moves a block edge: a new block at 8 by double arithmetic, in truth at 9.
  const Partition partition = partition_of(12, {1.1, 0.3});
  const auto in_double = [](Index i) { return std::floor((static_cast<double>(i) - 0.3) / 1.1); };
  ASSERT_NE(in_double(8), in_double(7));
  ASSERT_EQ(in_double(9), in_double(8));
  EXPECT_EQ(partition.block_of(8), partition.block_of(7));
  EXPECT_NE(partition.block_of(9), partition.block_of(8));
}

RC_GTEST_PROP(Binning, IsExactAtPositionsUpToATrillion, ()) {
  const auto position = *rc::gen::inRange<Index>(0, 1'000'000'000'000);
  const auto numerator = *rc::gen::inRange<Index>(1, 1'000'000'000);
  const auto part = *rc::gen::inRange<Index>(-1'000'000'000, 1'000'000'000);
  const auto scale = *rc::gen::element(1e-9, 1e-6, 1e-3, 1.0, 1e3);
  const Binning b{static_cast<double>(numerator) * scale, static_cast<double>(part) * scale};
  constexpr Index length = 1'000'000'000'000;
  const Integer k = bin_of(position, b);
  RC_ASSERT(is_bin_of(k, position, b));
  const Block block = block_around(position, length, b);
  RC_ASSERT(block.begin <= position && position < block.end);
  RC_ASSERT(is_bin_of(k, block.begin, b));
  RC_ASSERT(is_bin_of(k, block.end - 1, b));
  RC_ASSERT(block.begin == 0 || !is_bin_of(k, block.begin - 1, b));
  RC_ASSERT(block.end == length || !is_bin_of(k, block.end, b));
}

TEST(Binning, InteriorBlocksHaveTwoNeighbouringSizes) {
  Source source(4);
  int interior = 0;
  int fractional = 0;
  for (int k = 0; k < 2000; ++k) {
    const double width = random_width(source);
    const Partition partition = partition_of(60, {width, random_shift(source, width)});
    const double floor = std::floor(width);  // exact
    const double ceil = std::ceil(width);
    for (Index b = 0; b < partition.block_count(); ++b) {
      const auto size = static_cast<double>(partition.block(b).size());
      ASSERT_LE(size, ceil);
      if (b == 0 || b + 1 == partition.block_count()) continue;
      ++interior;
      fractional += floor == ceil ? 0 : 1;
      if (width <= 1)
        ASSERT_EQ(size, 1);
      else
        ASSERT_TRUE(size == floor || size == ceil) << size << ' ' << width;
    }
    if (width <= 1) {
      ASSERT_EQ(partition.block_count(), 60);
    }
  }
  EXPECT_GT(interior, 10'000);
  EXPECT_GT(fractional, 5'000);
}

TEST(Binning, RejectsBadArguments) {
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double width : {0.0, -1.0, inf, nan}) {
    EXPECT_TRUE(rejects("width", [&] { bin_of(0, {width, 0}); }));
    EXPECT_TRUE(rejects("width", [&] { block_around(0, 5, {width, 0}); }));
    EXPECT_TRUE(rejects("width", [&] { partition_of(5, {width, 0}); }));
  }
  for (const double shift : {inf, -inf, nan}) {
    EXPECT_TRUE(rejects("shift", [&] { bin_of(0, {1, shift}); }));
    EXPECT_TRUE(rejects("shift", [&] { partition_of(5, {2, shift}); }));
  }
  for (const Index length : {Index{0}, Index{-3}}) {
    EXPECT_TRUE(rejects("length", [&] { partition_of(length, {2, 0}); }));
    EXPECT_TRUE(rejects("length", [&] { block_around(0, length, {2, 0}); }));
  }
  EXPECT_TRUE(rejects("position", [] { block_around(5, 5, {2, 0}); }));
  EXPECT_TRUE(rejects("position", [] { block_around(-1, 5, {2, 0}); }));
}

// ---- partitions and masks --------------------------------------------------------------------

TEST(Partition, RejectsWhatIsNotAPartition) {
  const auto make = [](Index length, std::vector<Index> starts) {
    return [length, starts] { Partition partition(length, starts); };
  };
  EXPECT_TRUE(rejects("length", make(0, {0})));
  EXPECT_TRUE(rejects("length", make(-1, {0})));
  EXPECT_TRUE(rejects("start", make(4, {})));
  EXPECT_TRUE(rejects("start", make(4, {1, 2})));
  EXPECT_TRUE(rejects("start", make(4, {0, 2, 2})));
  EXPECT_TRUE(rejects("start", make(4, {0, 3, 2})));
  EXPECT_TRUE(rejects("start", make(4, {0, 4})));
  EXPECT_TRUE(rejects("start", make(4, {-1, 0})));
  EXPECT_NO_THROW(Partition(4, {0, 1, 2, 3}));
  const Partition partition(4, {0, 2});
  EXPECT_TRUE(rejects("block", [&] { partition.block(2); }));
  EXPECT_TRUE(rejects("block", [&] { partition.block(-1); }));
  EXPECT_TRUE(rejects("position", [&] { partition.block_of(4); }));
  EXPECT_TRUE(rejects("position", [&] { partition.block_of(-1); }));
}

TEST(Partition, BlocksCoverEveryPositionOnce) {
  Source source(5);
  int positions = 0;
  for (int k = 0; k < 200; ++k) {
    const Index n = source.integer(1, 40);
    const Partition partition = random_partition(source, n, source.integer(1, 8));
    Index next = 0;
    Index largest = 0;
    Index pairs = 0;
    for (Index b = 0; b < partition.block_count(); ++b) {
      const Block block = partition.block(b);
      ASSERT_EQ(block.begin, next);
      ASSERT_GT(block.size(), 0);
      next = block.end;
      largest = std::max(largest, block.size());
      pairs += block.size() * block.size();
      for (Index i = block.begin; i < block.end; ++i, ++positions)
        ASSERT_EQ(partition.block_of(i), b);
    }
    ASSERT_EQ(next, n);
    ASSERT_EQ(partition.largest_block(), largest);
    ASSERT_EQ(partition.pair_count(), pairs);
    ASSERT_EQ(mask(partition).sum(), pairs);
  }
  EXPECT_GT(positions, 2000);
}

std::vector<Partition> random_samples(Source& source, Index n, Index count) {
  std::vector<Partition> samples;
  for (Index k = 0; k < count; ++k)
    samples.push_back(random_partition(source, n, source.integer(1, 9)));
  return samples;
}

TEST(Mask, FollowsFromBlockMembership) {
  PrecisionScope scope(30);
  Source source(6);
  for (int k = 0; k < 60; ++k) {
    const Index n = source.integer(1, 30);
    const Index s = source.integer(1, 7);
    const std::vector<Partition> samples = random_samples(source, n, s);
    const Matrix<Index> counts = co_occurrence_counts(samples);
    const Matrix<double> mean = mean_mask<double>(samples);
    const Matrix<Interval> certain = mean_mask<Interval>(samples);
    ASSERT_EQ(counts.rows(), n);
    ASSERT_EQ(counts.cols(), n);
    for (Index i = 0; i < n; ++i)
      for (Index j = 0; j < n; ++j) {
        Index expected = 0;
        for (const Partition& p : samples) {
          // i and j share a block when no start lies in (min, max].
          const bool together = std::none_of(p.starts().begin(), p.starts().end(), [&](Index c) {
            return c > std::min(i, j) && c <= std::max(i, j);
          });
          expected += together ? 1 : 0;
        }
        ASSERT_EQ(counts(i, j), expected);
        ASSERT_EQ(mean(i, j), static_cast<double>(expected) / static_cast<double>(s));
        ASSERT_TRUE(holds(certain(i, j), Rational(expected, s)));
        ASSERT_EQ(counts(i, j), counts(j, i));
        if (i == j) {
          ASSERT_EQ(counts(i, j), s);
        }
      }
    // M~ = Z Z^T, in integers, with one 1 per row and sample.
    const Eigen::SparseMatrix<Index> z = binning_features(samples);
    const Matrix<Index> product = Matrix<Index>(z) * Matrix<Index>(z).transpose();
    ASSERT_EQ(product, counts);
    ASSERT_EQ(z.nonZeros(), n * s);
  }
}

TEST(Mask, LargestEigenvalueIsTheLargestBlock) {
  Source source(7);
  for (int k = 0; k < 60; ++k) {
    const Index n = source.integer(1, 40);
    const Partition partition = random_partition(source, n, source.integer(1, 12));
    const Matrix<Index> m = mask(partition);
    const Index b = partition.largest_block();
    // Upper limit: the largest absolute row sum bounds every eigenvalue. Attained: the indicator of
    // a largest block is an eigenvector with eigenvalue b. Both are exact in integers.
    ASSERT_EQ(m.rowwise().sum().maxCoeff(), b);
    Vector<Index> indicator = Vector<Index>::Zero(n);
    for (Index c = 0; c < partition.block_count(); ++c) {
      const Block block = partition.block(c);
      if (block.size() == b) {
        indicator.segment(block.begin, b).setOnes();
        break;
      }
    }
    ASSERT_EQ(indicator.sum(), b);
    ASSERT_EQ(Vector<Index>(m * indicator), Vector<Index>(b * indicator));
  }
}

TEST(Mask, RejectsNoSamplesAndMixedLengths) {
  const std::vector<Partition> none;
  const std::vector<Partition> mixed{Partition(3, {0}), Partition(4, {0})};
  EXPECT_TRUE(rejects("sample", [&] { co_occurrence_counts(none); }));
  EXPECT_TRUE(rejects("sample", [&] { mean_mask<double>(none); }));
  EXPECT_TRUE(rejects("sample", [&] { binning_features(none); }));
  EXPECT_TRUE(rejects("length", [&] { co_occurrence_counts(mixed); }));
  EXPECT_TRUE(rejects("length", [&] { binning_features(mixed); }));
}

// ---- the draws -------------------------------------------------------------------------------

using Words4 = std::array<std::uint32_t, 4>;
using Words2 = std::array<std::uint32_t, 2>;

// Philox4x32-10 as published (Salmon, Moraes, Dror, Shaw, SC 2011).
Words4 philox(Words4 c, Words2 k) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = 0xD2511F53ull * c[0];
    const std::uint64_t p1 = 0xCD9E8D57ull * c[2];
    const auto high = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); };
    const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
    c = {high(p1) ^ c[1] ^ k[0], low(p1), high(p0) ^ c[3] ^ k[1], low(p0)};
    k = {k[0] + 0x9E3779B9u, k[1] + 0xBB67AE85u};
  }
  return c;
}

Uniforms expected_uniforms(const SampleId& id) {
  const Words2 key{static_cast<std::uint32_t>(id.seed & 0xffffffffu),
                   static_cast<std::uint32_t>(id.seed >> 32)};
  const auto words = [&](std::uint32_t block) {
    return philox({static_cast<std::uint32_t>(id.sample & 0xffffffffu),
                   static_cast<std::uint32_t>(id.sample >> 32), id.head, block},
                  key);
  };
  const Words4 x = words(0);
  const Words4 y = words(1);
  const auto uniform = [](std::uint32_t high, std::uint32_t low) {
    // The upper 52 bits of high:low: 32 of high and 20 of low.
    const std::uint64_t cell = (std::uint64_t{high} << 20) + (low >> 12);
    return (static_cast<double>(cell) + 0.5) * 0x1p-52;
  };
  return {uniform(x[1], x[0]), uniform(x[3], x[2]), uniform(y[1], y[0])};
}

TEST(Sampling, ThePhiloxOfThisTestPassesThePublishedKnownAnswers) {
  // Random123, tests/kat_vectors, philox4x32 10.
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Words4{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (Words4{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words4{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Sampling, FollowsThePublishedKnownAnswerThroughTheDocumentedStream) {
  // Counter 0 and key 0 give x0..x3 = 6627e8d5 e169c58d bc57ac4c 9b00dbd8, so the upper 52 bits of
  // x1:x0 are e169c58d6627e and those of x3:x2 are 9b00dbd8bc57a.
  const Uniforms u = draw_uniforms({0, 0, 0});
  EXPECT_EQ(u.first, static_cast<double>(2 * 0xe169c58d6627eull + 1) * 0x1p-53);
  EXPECT_EQ(u.second, static_cast<double>(2 * 0x9b00dbd8bc57aull + 1) * 0x1p-53);
}

TEST(Sampling, FollowsTheDocumentedStreamForEveryPartOfTheName) {
  Source source(8);
  std::vector<SampleId> ids{
      {0, 0, 1}, {0, 1, 0}, {1, 0, 0}, {1ull << 32, 0, 0}, {0, 0, 1ull << 32}};
  for (int k = 0; k < 2000; ++k)
    ids.push_back({static_cast<std::uint64_t>(source.integer(0, 1ll << 62)),
                   static_cast<std::uint32_t>(source.integer(0, 0xffffffffll)),
                   static_cast<std::uint64_t>(source.integer(0, 1ll << 62))});
  for (const SampleId& id : ids) {
    const Uniforms actual = draw_uniforms(id);
    const Uniforms expected = expected_uniforms(id);
    ASSERT_EQ(actual.first, expected.first);
    ASSERT_EQ(actual.second, expected.second);
    ASSERT_EQ(actual.third, expected.third);
  }
  EXPECT_NE(draw_uniforms({0, 0, 1}).first, draw_uniforms({0, 1, 0}).first);
}

TEST(Sampling, GoldenDraws) {
  // Computed from the lines in sampling.hpp alone by a separate program: integer arithmetic for
  // Philox, an 80-digit decimal logarithm, correctly rounded conversion of rationals.
  const Binning first = draw_binning({0, 0, 0}, 4.0);
  EXPECT_EQ(first.width, 0x1.4208c30741646p+1);
  EXPECT_EQ(first.shift, 0x1.842558b99d882p-3);
  const Binning second = draw_binning({20260605, 3, 12345678901}, 0.1);
  EXPECT_EQ(second.width, 0x1.23130d8464beep-3);
  EXPECT_EQ(second.shift, 0x1.96266c1b79e61p-4);
  const Binning third = draw_binning({~0ull, ~0u, ~0ull}, 256.0);
  EXPECT_EQ(third.width, 0x1.2a118949269e9p+7);
  EXPECT_EQ(third.shift, 0x1.db4e621748c92p+6);
}

TEST(Sampling, UniformsAreOddMultiplesAndShiftsLieInsideTheBin) {
  int draws = 0;
  for (std::uint64_t k = 0; k < 100'000; ++k, ++draws) {
    const SampleId id{42, static_cast<std::uint32_t>(k % 8), k};
    const Uniforms u = draw_uniforms(id);
    for (const double x : {u.first, u.second, u.third}) {
      const double scaled = x * 0x1p53;  // exact
      ASSERT_EQ(scaled, std::floor(scaled));
      ASSERT_EQ(std::fmod(scaled, 2.0), 1.0);
      ASSERT_GT(x, 0);
      ASSERT_LT(x, 1);
    }
    const Binning b = draw_binning(id, 4.0);
    ASSERT_GT(b.shift, 0);
    ASSERT_LT(b.shift, b.width);
    ASSERT_EQ(b.shift, b.width * u.third);
  }
  EXPECT_EQ(draws, 100'000);
}

TEST(Sampling, WidthsAreCorrectlyRounded) {
  PrecisionScope scope(90);  // 300 bits
  int draws = 0;
  for (const double sigma : {4.0, 0.1, 1e-150, 1e150, 256.0, 7.3}) {
    for (std::uint64_t k = 0; k < 1000; ++k, ++draws) {
      const SampleId id{7, 1, k};
      const Uniforms u = expected_uniforms(id);
      // Enclosed twice as a sum of logarithms; both ends round to the same double.
      const Interval exact = -Interval(sigma) * (log(Interval(u.first)) + log(Interval(u.second)));
      const double low = to_double(lower(exact));
      ASSERT_EQ(low, to_double(upper(exact)));
      const double width = draw_binning(id, sigma).width;
      ASSERT_EQ(width, low) << sigma << ' ' << k;
      ASSERT_NE(std::nextafter(width, 0.0), low);
    }
  }
  EXPECT_EQ(draws, 6000);
}

TEST(Sampling, ExtremeUniformsGiveTheStatedLimits) {
  PrecisionScope scope(60);
  const Interval smallest = Interval(0x1p-53);
  const Interval largest = Interval(1 - 0x1p-53);
  const Interval narrowest = Interval(-2) * log(largest);
  const Interval widest = Interval(-2) * log(smallest);
  EXPECT_TRUE(certainly_less(from_decimal<Interval>("2.2e-16"), narrowest));
  EXPECT_TRUE(certainly_less(widest, from_decimal<Interval>("73.5")));
  EXPECT_TRUE(certainly_less(from_decimal<Interval>("73.4"), widest));
  // The mass beyond: (1 + x) exp(-x) with exp(-x) = 2^-106.
  EXPECT_TRUE(
      certainly_less((Interval(1) + widest) * Interval(0x1p-106), from_decimal<Interval>("1e-30")));
  for (std::uint64_t k = 0; k < 20'000; ++k) {
    const double width = draw_binning({9, 0, k}, 1.0).width;
    ASSERT_GT(width, 2.2e-16);
    ASSERT_LT(width, 73.5);
  }
}

TEST(Sampling, IsAPureFunctionOfItsName) {
  const std::vector<Partition> all = draw_partitions(100, 5.0, 11, 2, 40);
  ASSERT_EQ(all.size(), 40u);
  // Any part, in any order, alone or together.
  for (Index k = 39; k >= 0; --k) {
    const auto first = static_cast<std::uint64_t>(k);
    const Partition expected = partition_of(100, draw_binning({11, 2, first}, 5.0));
    EXPECT_EQ(all[static_cast<std::size_t>(k)], expected);
    EXPECT_EQ(draw_partitions(100, 5.0, 11, 2, 1, first).front(), expected);
  }
  const std::vector<Partition> tail = draw_partitions(100, 5.0, 11, 2, 15, 25);
  EXPECT_TRUE(std::equal(tail.begin(), tail.end(), all.begin() + 25, all.end()));
  // Seed, head and sample each matter.
  EXPECT_NE(draw_partitions(100, 5.0, 12, 2, 40), all);
  EXPECT_NE(draw_partitions(100, 5.0, 11, 3, 40), all);
  EXPECT_NE(draw_partitions(100, 5.0, 11, 2, 40, 1), all);
}

TEST(Sampling, ScalesExactlyWithPowersOfTwo) {
  for (std::uint64_t k = 0; k < 1000; ++k) {
    const Binning b = draw_binning({13, 0, k}, 3.0);
    const Binning scaled = draw_binning({13, 0, k}, 3.0 * 1024);
    ASSERT_EQ(scaled.width, b.width * 1024);
    ASSERT_EQ(scaled.shift, b.shift * 1024);
  }
}

TEST(Sampling, RejectsBadArguments) {
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double sigma : {0.0, -1.0, inf, nan, 9e-151, 1.1e150})
    EXPECT_TRUE(rejects("sigma", [&] { draw_binning({0, 0, 0}, sigma); })) << sigma;
  EXPECT_NO_THROW(draw_binning({0, 0, 0}, 1e-150));
  EXPECT_NO_THROW(draw_binning({0, 0, 0}, 1e150));
  EXPECT_TRUE(rejects("count", [] { draw_partitions(5, 1.0, 0, 0, 0); }));
  EXPECT_TRUE(rejects("count", [] { draw_partitions(5, 1.0, 0, 0, -1); }));
  EXPECT_TRUE(rejects("length", [] { draw_partitions(0, 1.0, 0, 0, 1); }));
  EXPECT_TRUE(rejects("sigma", [] { draw_partitions(5, -1.0, 0, 0, 1); }));
}

}  // namespace
}  // namespace plsh::reference::test
