// The exact law of the partition, the three routes to E[M] = L*, and the closed-form laws.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <plsh/reference/expectation.hpp>
#include <plsh/reference/kernel.hpp>
#include <plsh/reference/laws.hpp>
#include <plsh/reference/partition_law.hpp>
#include <plsh/reference/sampling.hpp>
#include <set>

#include "support.hpp"

namespace plsh::reference::test {
namespace {

const std::vector<const char*> sigmas{"0.3", "2", "4", "256"};

// exp(-d/sigma) by MPFR alone, at twice the digits of the tests.
Mpfr expected_decay(Index distance, const char* sigma) {
  return exp(Mpfr(Mpfr(-distance) / Mpfr(sigma)));
}

// P(X > x) for a Gamma(shape) variable X, from the power series of the exponential integrated term
// by term: P(X <= x) = x^a / (a-1)! sum_k (-x)^k / (k! (a+k)). It alternates and loses about x/ln
// 10 digits, which the caller's precision must have to spare.
Mpfr gamma_tail(int shape, const Mpfr& x) {
  Mpfr power(1);  // (-x)^k / k!
  Mpfr sum(0);
  for (int k = 0; k < 2000; ++k) {
    sum += power / (shape + k);
    power *= -x / (k + 1);
  }
  Mpfr factor(1);  // x^a / (a-1)!
  for (int k = 1; k <= shape; ++k) factor *= k == 1 ? x : Mpfr(x / (k - 1));
  return 1 - factor * sum;
}

// ---- the exact law ---------------------------------------------------------------------------

TEST(PartitionLaw, HasMassOneAndMeanLStar) {
  int entries = 0;
  for (const Index n : {4, 8, 10, 16}) {
    const PartitionLaw law(n);
    for (const char* sigma : sigmas) {
      Interval total(0);
      Matrix<Interval> mean;
      {
        PrecisionScope scope(60);
        const Vector<Interval> p = law.probabilities(from_decimal<Interval>(sigma));
        ASSERT_EQ(p.size(), static_cast<Index>(law.partitions().size()));
        for (const Interval& probability : p) {
          ASSERT_TRUE(certainly_positive(probability));
          ASSERT_TRUE(narrower(probability, "1e-40"));
          total += probability;
        }
        mean = law.mean_mask(from_decimal<Interval>(sigma));
        EXPECT_TRUE(holds(total, 1.0));
        EXPECT_TRUE(narrower(total, "1e-40"));
      }
      PrecisionScope scope(120);
      for (Index i = 0; i < n; ++i)
        for (Index j = 0; j < n; ++j, ++entries) {
          ASSERT_TRUE(holds(mean(i, j), expected_decay(std::abs(i - j), sigma)));
          ASSERT_TRUE(narrower(mean(i, j), "1e-40"));
          // A wrong kernel: distance off by one.
          ASSERT_FALSE(contains(mean(i, j), expected_decay(std::abs(i - j) + 1, sigma)));
        }
    }
  }
  EXPECT_EQ(entries, 4 * (16 + 64 + 100 + 256));
}

TEST(PartitionLaw, OfLengthSixteenHas418PartitionsFrom1152Strips) {
  const PartitionLaw law(16);
  EXPECT_EQ(law.partitions().size(), 418u);
  EXPECT_EQ(law.strip_count(), 1152);
}

// Every partition that a grid of (w, t) reaches, as the set of its cuts, in integers: w = W/D and
// t = T/D, cuts at ceil((T + k W)/D). The starts depend on ceil, which is left-continuous, so a
// point on the border of a strip shows the partition of the strip beside it: the grid shows nothing
// of mass zero.
std::set<std::vector<Index>> reached_by_grid(Index n, Index denominator) {
  std::set<std::vector<Index>> reached;
  std::vector<Index> starts;
  std::vector<Index> previous;
  for (Index w = 1; w <= (n + 1) * denominator; ++w)
    for (Index t = 1; t <= w; ++t) {
      starts.assign(1, 0);
      for (Index boundary = t; boundary <= (n - 1) * denominator; boundary += w) {
        const Index start = (boundary + denominator - 1) / denominator;
        if (start > starts.back()) starts.push_back(start);
      }
      if (starts == previous) continue;
      reached.insert(starts);
      previous = starts;
    }
  return reached;
}

TEST(PartitionLaw, ListsExactlyThePartitionsThatAFineGridReaches) {
  struct Case {
    Index length;
    Index denominator;
  };
  for (const auto& [n, denominator] : {Case{1, 8}, Case{2, 12}, Case{3, 24}, Case{4, 60},
                                       Case{5, 60}, Case{6, 60}, Case{8, 120}, Case{16, 180}}) {
    const PartitionLaw law(n);
    std::set<std::vector<Index>> listed;
    for (const Partition& partition : law.partitions()) {
      EXPECT_EQ(partition.length(), n);
      listed.insert(partition.starts());
    }
    EXPECT_EQ(listed.size(), law.partitions().size()) << "a partition is listed twice";
    EXPECT_EQ(reached_by_grid(n, denominator), listed) << "length " << n;
  }
}

TEST(PartitionLaw, FindsItsPartitionsAndNoOthers) {
  const PartitionLaw law(8);
  for (std::size_t k = 0; k < law.partitions().size(); ++k)
    EXPECT_EQ(law.find(law.partitions()[k]), static_cast<Index>(k));
  // Interior blocks of sizes 1 and 3, and of 2 and 4: they differ by more than one.
  EXPECT_EQ(law.find(Partition(8, {0, 1, 2, 5, 6})), -1);
  EXPECT_EQ(law.find(Partition(8, {0, 1, 3, 7})), -1);
  // The first block larger than every later interior one allows.
  EXPECT_EQ(law.find(Partition(8, {0, 5, 6, 7})), -1);
  EXPECT_EQ(law.find(Partition(7, {0, 3, 5})), -1);  // another length
  // All 2^7 sets of cuts: exactly the listed ones are found.
  std::size_t found = 0;
  for (unsigned cuts = 0; cuts < 128; ++cuts) {
    std::vector<Index> starts{0};
    for (Index c = 1; c < 8; ++c)
      if ((cuts >> (c - 1) & 1u) != 0) starts.push_back(c);
    found += law.find(Partition(8, starts)) >= 0 ? 1u : 0u;
  }
  EXPECT_EQ(found, law.partitions().size());
  EXPECT_LT(found, 128u);
}

TEST(PartitionLaw, HoldsEveryDraw) {
  const PartitionLaw law(16);
  std::set<Index> seen;
  for (const double sigma : {0.5, 4.0, 32.0})
    for (const Partition& partition : draw_partitions(16, sigma, 3, 0, 5000)) {
      const Index place = law.find(partition);
      ASSERT_GE(place, 0);
      seen.insert(place);
    }
  EXPECT_GT(seen.size(), 250u);
}

TEST(PartitionLaw, GivesTheSetProbabilityOfTheWholeContext) {
  PrecisionScope scope(60);
  for (const Index n : {2, 5, 16}) {
    const PartitionLaw law(n);
    const Index place = law.find(Partition(n, {0}));
    ASSERT_GE(place, 0);
    for (const char* text : sigmas) {
      const auto sigma = from_decimal<Interval>(text);
      EXPECT_TRUE(overlaps(law.probabilities(sigma)[place], set_probability(n - 1, sigma)));
    }
  }
}

TEST(PartitionLaw, LargestBlockFollowsBySummationAndLiesWithinItsBounds) {
  PrecisionScope scope(60);
  int checked = 0;
  int informative = 0;
  for (const Index n : {3, 8, 16, 24}) {
    const PartitionLaw law(n);
    for (const char* text : {"0.3", "1.5", "4", "256"}) {
      const auto sigma = from_decimal<Interval>(text);
      const Vector<Interval> p = law.probabilities(sigma);
      for (const Index samples : {1, 3}) {
        const Vector<Interval> distribution = law.largest_block_distribution(sigma, samples);
        ASSERT_EQ(distribution.size(), n + 1);
        for (Index b = 0; b <= n; ++b, ++checked) {
          Interval one(0);
          for (std::size_t k = 0; k < law.partitions().size(); ++k)
            if (law.partitions()[k].largest_block() <= b) one += p[static_cast<Index>(k)];
          Interval all = one;
          for (Index k = 1; k < samples; ++k) all *= one;
          ASSERT_TRUE(overlaps(distribution[b], all)) << n << ' ' << text << ' ' << b;
          ASSERT_TRUE(narrower(distribution[b], "1e-40"));
          if (samples != 1) continue;
          const Interval tail = Interval(1) - distribution[b];
          const ProbabilityBounds<Interval> bounds = largest_block_tail(n, sigma, b);
          ASSERT_FALSE(certainly_less(tail, bounds.low)) << n << ' ' << text << ' ' << b;
          ASSERT_FALSE(certainly_less(bounds.high, tail)) << n << ' ' << text << ' ' << b;
          informative +=
              certainly_positive(bounds.low) && certainly_less(bounds.high, Interval(1)) ? 1 : 0;
        }
        ASSERT_TRUE(holds(distribution[n], 1.0));
        ASSERT_TRUE(holds(distribution[0], 0.0));
      }
    }
  }
  EXPECT_EQ(checked, 4 * 2 * (4 + 9 + 17 + 25));
  EXPECT_GT(informative, 40);
}

TEST(PartitionLaw, LargestBlockDistributionInDoubleIsANumberForHugeDecayLengths) {
  // P(b_max <= 1) is 1/(2 sigma^2), below the roundoff of its summation.
  for (const double sigma : {1e6, 1e8, 1e9, 1e12, 1e100}) {
    const Vector<double> distribution = PartitionLaw(6).largest_block_distribution(sigma, 2);
    for (const double p : distribution) {
      EXPECT_GE(p, 0) << sigma;
      EXPECT_LE(p, 1) << sigma;
    }
    EXPECT_EQ(distribution[6], 1);
    // b <= 5 needs w < 6: at most 36 / sigma^2 per mask, plus rounding of the 6-digit strip sums.
    EXPECT_LT(distribution[5], 1e-9) << sigma;
  }
}

TEST(PartitionLaw, GivesTheSecondMomentAndTheVarianceBothWays) {
  PrecisionScope scope(60);
  int entries = 0;
  for (const Index n : {2, 7, 10}) {
    const PartitionLaw law(n);
    for (const char* text : sigmas) {
      const auto sigma = from_decimal<Interval>(text);
      Matrix<Interval> squared(n, n);
      for (Index i = 0; i < n; ++i)
        for (Index j = 0; j < n; ++j)
          // (M^2)_ij = sum_k M_ik M_kj, counted position by position.
          squared(i, j) = law.expectation<Interval>(sigma, [&](const Partition& partition) {
            Index sum = 0;
            for (Index k = 0; k < n; ++k)
              sum += partition.block_of(i) == partition.block_of(k) &&
                             partition.block_of(k) == partition.block_of(j)
                         ? 1
                         : 0;
            return Interval(sum);
          });
      const Matrix<Interval> mean = law.mean_mask(sigma);
      const Matrix<Interval> from_law = squared - product(mean, mean);
      const Matrix<Interval> kernel = AlibiKernel<Interval>(n, sigma).dense();
      const Matrix<Interval> kernel_squared = product(kernel, kernel);
      const Matrix<Interval> variance = matrix_variance(n, sigma);
      for (Index i = 0; i < n; ++i)
        for (Index j = 0; j < n; ++j, ++entries) {
          const Interval moment = second_moment(n, sigma, i, j);
          ASSERT_TRUE(overlaps(moment, squared(i, j)));
          ASSERT_TRUE(narrower(moment, "1e-40"));
          Interval by_triples(0);  // sum_k exp(-(max - min)/sigma)
          for (Index k = 0; k < n; ++k)
            by_triples +=
                exp(Interval(-Interval(std::max({i, j, k}) - std::min({i, j, k})) / sigma));
          ASSERT_TRUE(overlaps(moment, by_triples));
          ASSERT_TRUE(overlaps(variance(i, j), from_law(i, j)));
          ASSERT_TRUE(overlaps(variance(i, j), Interval(moment - kernel_squared(i, j))));
          ASSERT_TRUE(narrower(variance(i, j), "1e-40"));
          ASSERT_FALSE(overlap(variance(i, j), moment));  // the square of the mean is not left out
        }
    }
  }
  EXPECT_EQ(entries, 4 * (4 + 49 + 100));
}

TEST(PartitionLaw, GivesTheExpectedPairs) {
  PrecisionScope scope(60);
  for (const Index n : {1, 8, 16}) {
    const PartitionLaw law(n);
    for (const char* text : sigmas) {
      const auto sigma = from_decimal<Interval>(text);
      const auto pairs = law.expectation<Interval>(
          sigma, [](const Partition& partition) { return Interval(partition.pair_count()); });
      EXPECT_TRUE(overlaps(pairs, AlibiKernel<Interval>(n, sigma).total()));
      EXPECT_TRUE(overlaps(Interval(5) * pairs, expected_block_pairs(n, sigma, 5)));
      EXPECT_TRUE(narrower(pairs, "1e-40"));
    }
  }
}

TEST(PartitionLaw, RejectsBadArguments) {
  EXPECT_TRUE(rejects("length", [] { PartitionLaw law(0); }));
  EXPECT_TRUE(rejects("length", [] { PartitionLaw law(65); }));
  const PartitionLaw law(4);
  for (const double sigma : {0.0, -1.0, std::numeric_limits<double>::infinity(),
                             std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_TRUE(rejects("sigma", [&] { law.probabilities(sigma); }));
    EXPECT_TRUE(rejects("sigma", [&] { law.mean_mask(sigma); }));
    EXPECT_TRUE(rejects("sigma", [&] { law.largest_block_distribution(sigma, 1); }));
  }
  EXPECT_TRUE(rejects("samples", [&] { law.largest_block_distribution(2.0, 0); }));
}

// ---- three routes to E[M] = L* ---------------------------------------------------------------

TEST(ExpectedMask, AgreesByThreeRoutes) {
  constexpr Index n = 8;
  const std::vector<Index> distances{0, 1, 4, 7};
  const PartitionLaw law(n);
  int checked = 0;
  for (const char* text : {"0.3", "4", "256"}) {
    std::vector<Interval> closed;
    std::vector<Interval> integrated;
    Matrix<Interval> summed;
    {
      PrecisionScope scope(50);
      const auto sigma = from_decimal<Interval>(text);
      const AlibiKernel<Interval> kernel(n, sigma);
      summed = law.mean_mask(sigma);
      for (const Index d : distances) {
        closed.push_back(kernel.at_distance(d));
        integrated.push_back(integrated_pair_probability(d, sigma));
      }
    }
    PrecisionScope scope(120);
    for (std::size_t k = 0; k < distances.size(); ++k, ++checked) {
      const Index d = distances[k];
      const Mpfr truth = expected_decay(d, text);
      for (const Interval& route :
           {closed[k], integrated[k], summed(0, d), summed(n - 1 - d, n - 1)}) {
        ASSERT_TRUE(holds(route, truth)) << text << ' ' << d;
        ASSERT_TRUE(narrower(route, "1e-40")) << text << ' ' << d;
      }
      ASSERT_TRUE(overlaps(closed[k], integrated[k]));
      ASSERT_TRUE(overlaps(closed[k], summed(0, d)));
      // A wrong rho, by one part in 10^30, is seen by every route (at d = 0 rho plays no part).
      const Mpfr wrong = truth * pow(Mpfr(1 + Mpfr("1e-30")), static_cast<int>(d));
      for (const Interval& route : {closed[k], integrated[k], summed(0, d)})
        ASSERT_TRUE(d == 0 || !contains(route, wrong));
    }
  }
  EXPECT_EQ(checked, 12);
}

TEST(ExpectedMask, RoutesShareNoFormula) {
  const auto text_of = [](const std::string& name) {
    std::ifstream file(std::string(PLSH_SOURCE_DIR) + "/reference/src/" + name);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const std::string integration = text_of("expectation.cpp");
  const std::string law = text_of("partition_law.cpp");
  ASSERT_FALSE(integration.empty());
  ASSERT_FALSE(law.empty());
  for (const char* shared :
       {"decay(", "geometric_sum(", "AlibiKernel", "set_probability", "pair_probability"}) {
    // The name of the function itself may contain one of these; its use of another may not.
    std::string body = integration;
    for (std::string::size_type at;
         (at = body.find("integrated_pair_probability")) != std::string::npos;)
      body.erase(at, 27);
    EXPECT_EQ(body.find(shared), std::string::npos) << "expectation.cpp uses " << shared;
    EXPECT_EQ(law.find(shared), std::string::npos) << "partition_law.cpp uses " << shared;
  }
  EXPECT_EQ(integration.find("kernel.hpp"), std::string::npos);
  EXPECT_EQ(law.find("kernel.hpp"), std::string::npos);
  // Different arithmetic leaves different end points.
  PrecisionScope scope(60);
  const Interval sigma(4);
  const Interval closed = AlibiKernel<Interval>(8, sigma).at_distance(3);
  const Interval integrated = integrated_pair_probability(3, sigma);
  const Interval summed = PartitionLaw(8).mean_mask(sigma)(0, 3);
  EXPECT_NE(lower(closed), lower(integrated));
  EXPECT_NE(lower(closed), lower(summed));
  EXPECT_NE(lower(integrated), lower(summed));
}

TEST(ExpectedMask, IsIntegratedTightlyAtFarDistances) {
  Interval x;
  {
    PrecisionScope scope(50);
    x = integrated_pair_probability(1000, Interval(256));
    EXPECT_TRUE(narrower(x, "1e-40"));
    EXPECT_TRUE(holds(integrated_pair_probability(0, Interval(0.25)), 1.0));
    EXPECT_TRUE(rejects("sigma", [] { integrated_pair_probability(1, Interval(0)); }));
    EXPECT_TRUE(rejects("distance", [] { integrated_pair_probability(-1, Interval(1)); }));
  }
  PrecisionScope scope(120);
  EXPECT_TRUE(holds(x, expected_decay(1000, "256")));
}

// ---- closed-form laws ------------------------------------------------------------------------

TEST(Widths, HaveTheTailOfAGammaVariableOfShapeTwo) {
  int checked = 0;
  for (const double sigma : {0.3, 4.0, 256.0})
    for (const double x : {0.0, 0.001, 0.7, 3.0, 25.0, 150.0}) {
      const double t = x * sigma;
      Interval tail;
      {
        PrecisionScope scope(60);
        tail = width_tail(Interval(t), Interval(sigma));
      }
      PrecisionScope scope(300);  // 150/ln 10 = 65 digits are lost
      const Mpfr exact_x = Mpfr(t) / Mpfr(sigma);
      ASSERT_TRUE(holds(tail, gamma_tail(2, exact_x))) << t << ' ' << sigma;
      if (t > 0) {
        ASSERT_FALSE(contains(tail, gamma_tail(1, exact_x)));
        ASSERT_FALSE(contains(tail, gamma_tail(3, exact_x)));
      }
      ++checked;
    }
  EXPECT_EQ(checked, 18);
}

TEST(Widths, DensityIsMinusTheSlopeOfTheTail) {
  // Mean value theorem: (P(w > a) - P(w > b)) / (b - a) is the density somewhere in [a, b], so it
  // lies in the interval extension over [a, b].
  PrecisionScope scope(60);
  int checked = 0;
  for (const double sigma : {0.5, 4.0, 256.0})
    for (const double x : {0.01, 0.5, 1.0, 3.0, 20.0}) {
      const Interval s(sigma);
      const Interval a(x * sigma);
      const Interval b = a + Interval(sigma * 0x1p-30);
      const Interval slope = (width_tail(a, s) - width_tail(b, s)) / (b - a);
      const Interval density = width_density(hull(a, b), s);
      ASSERT_TRUE(contains(density, slope)) << sigma << ' ' << x;
      // The extension over [a, b] is within 10^-6 of the density: relative change (1/x + 1) 2^-30.
      ASSERT_LT(width(density), Mpfr("1e-6") * lower(width_density(a, s))) << sigma << ' ' << x;
      ASSERT_FALSE(overlap(Interval(2) * density, slope));
      ++checked;
    }
  EXPECT_EQ(checked, 15);
  EXPECT_EQ(width_density(0.0, 4.0), 0);
}

TEST(Widths, PairProbabilityGivenTheWidth) {
  EXPECT_EQ(pair_probability_given_width(0, 2.0), 1);
  EXPECT_EQ(pair_probability_given_width(1, 2.0), 0.5);
  EXPECT_EQ(pair_probability_given_width(2, 2.0), 0);
  EXPECT_EQ(pair_probability_given_width(5, 2.0), 0);
  PrecisionScope scope(60);
  EXPECT_TRUE(holds(pair_probability_given_width(1, Interval(3)), Rational(2, 3)));
  // Against the shifts themselves: the measure of u in [0, w) with h(0) = h(d), on w = 7/2 in steps
  // of 1/16 (every change happens at a multiple of 1/2).
  for (Index d = 0; d <= 4; ++d) {
    Index together = 0;
    for (Index k = 0; k < 56; ++k) {
      const double u = (static_cast<double>(k) + 0.5) / 16;
      together += std::floor(-u / 3.5) == std::floor((static_cast<double>(d) - u) / 3.5) ? 1 : 0;
    }
    EXPECT_TRUE(holds(pair_probability_given_width(d, Interval(3.5)), Rational(together, 56)));
  }
}

TEST(Widths, MaximumOfSeveral) {
  PrecisionScope scope(60);
  for (const double t : {0.25, 3.0, 40.0, 90.0})
    for (const Index samples : {1, 2, 7}) {
      const Interval sigma(4);
      Interval none(1);
      for (Index k = 0; k < samples; ++k) none *= Interval(1) - width_tail(Interval(t), sigma);
      const Interval tail = max_width_tail(Interval(t), sigma, samples);
      EXPECT_TRUE(overlaps(tail, Interval(1) - none)) << t << ' ' << samples;
      EXPECT_TRUE(narrower(tail, "1e-50"));
    }
  EXPECT_EQ(max_width_tail(0.0, 4.0, 3), 1);
  EXPECT_TRUE(holds(max_width_tail(Interval(0), Interval(4), 3), 1.0));
}

TEST(Widths, MaximumTailIsEnclosedWhereItIsNearOne) {
  // 1 - P(w > t) is about x^2/2, below the working precision for these t.
  for (const char* t : {"1e-20", "1e-31", "1e-40", "1e-60"}) {
    Interval tail;
    {
      PrecisionScope scope(60);
      tail = max_width_tail(from_decimal<Interval>(t), Interval(1), 1);
    }
    PrecisionScope scope(250);
    EXPECT_TRUE(holds(tail, gamma_tail(2, Mpfr(t)))) << t;
    EXPECT_TRUE(narrower(tail, "1e-55")) << t;
  }
}

TEST(Widths, QuantileInvertsTheTail) {
  PrecisionScope scope(60);
  int checked = 0;
  for (const char* text : {"1e-30", "1e-9", "0.01", "0.5", "0.99", "0.999999"})
    for (const Index samples : {1, 16, 1000})
      for (const double sigma : {0.3, 4.0, 256.0}) {
        const auto delta = from_decimal<Interval>(text);
        const Interval quantile = max_width_quantile(delta, Interval(sigma), samples);
        const Interval tail = max_width_tail(quantile, Interval(sigma), samples);
        ASSERT_TRUE(overlaps(tail, delta)) << text << ' ' << samples << ' ' << sigma;
        ASSERT_LT(width(tail), Mpfr("1e-25") * lower(delta)) << text << ' ' << samples;
        ASSERT_TRUE(narrower(quantile, "1e-40")) << text << ' ' << samples << ' ' << sigma;
        // Moved by 10^-20 it is no quantile.
        const Interval moved = quantile * (Interval(1) + from_decimal<Interval>("1e-20"));
        ASSERT_FALSE(overlap(max_width_tail(moved, Interval(sigma), samples), delta));
        ++checked;
      }
  EXPECT_EQ(checked, 54);
}

// Binomial coefficients by Pascal's triangle.
std::vector<Integer> pascal(Index samples) {
  std::vector<Integer> row{1};
  for (Index s = 1; s <= samples; ++s) {
    std::vector<Integer> next(row.size() + 1, Integer(1));
    for (std::size_t k = 1; k < row.size(); ++k) next[k] = row[k - 1] + row[k];
    row = next;
  }
  return row;
}

TEST(Entries, FollowTheBinomialLaw) {
  PrecisionScope scope(60);
  int checked = 0;
  for (const Index samples : {1, 2, 9, 20})
    for (const Index distance : {0, 1, 5, 40})
      for (const char* text : {"0.3", "4", "256"}) {
        const auto sigma = from_decimal<Interval>(text);
        const Interval p = exp(Interval(-Interval(distance) / sigma));
        const std::vector<Integer> binomial = pascal(samples);
        Interval total(0);
        Interval mean(0);
        Interval square(0);
        for (Index k = 0; k <= samples; ++k, ++checked) {
          const Interval probability = entry_probability(samples, k, distance, sigma);
          Interval direct =
              from_rational<Interval>(Rational(binomial[static_cast<std::size_t>(k)]));
          for (Index m = 0; m < k; ++m) direct *= p;
          for (Index m = k; m < samples; ++m) direct *= Interval(1) - p;
          ASSERT_TRUE(overlaps(probability, direct)) << samples << ' ' << k << ' ' << distance;
          ASSERT_TRUE(narrower(probability, "1e-40"));
          total += probability;
          mean += Interval(k) * probability;
          square += Interval(k * k) * probability;
        }
        const Interval s(samples);
        ASSERT_TRUE(holds(total, 1.0));
        ASSERT_TRUE(overlaps(mean, s * p));
        ASSERT_TRUE(overlaps(square - mean * mean, s * p * (Interval(1) - p)));
      }
  EXPECT_EQ(checked, 12 * (2 + 3 + 10 + 21));
}

TEST(Entries, ProbabilitiesInDoubleSurviveHugeBinomialCoefficients) {
  // C(4000, 2000) is about 10^1202, above the range of double; the probability is not small.
  for (const Index k : {0, 1900, 2000, 2070, 4000}) {
    const double sigma = 1 / std::log(2.0);  // p is about 1/2 at distance 1
    const double probability = entry_probability(4000, k, 1, sigma);
    PrecisionScope scope(60);
    const Interval exact = entry_probability(4000, k, 1, Interval(sigma));
    // Exponents up to 4000 ln 2 + |ln C| < 6000, each rounded a few times, and up to 2000 factors
    // of two roundings: 40 000 u covers both.
    EXPECT_NEAR(probability, to_double(exact), 40'000 * unit_roundoff * to_double(exact)) << k;
  }
}

TEST(Entries, DeviationProbabilityIsTheSumOfTheTails) {
  PrecisionScope scope(60);
  int checked = 0;
  int partial = 0;
  for (const Index samples : {1, 8, 16})
    for (const Index distance : {0, 1, 3, 10})
      for (const double epsilon : {0.0, 0.07, 0.2, 0.5, 0.97, 1.5}) {
        const Interval sigma(4);
        const Mpfr p = exp(Mpfr(Mpfr(-distance) / 4));
        Interval expected(0);
        for (Index k = 0; k <= samples; ++k)
          if (abs(Mpfr(Mpfr(k) / samples - p)) >= epsilon)
            expected += entry_probability(samples, k, distance, sigma);
        const Interval actual =
            entry_deviation_probability(samples, Interval(epsilon), distance, sigma);
        ASSERT_TRUE(overlaps(actual, expected)) << samples << ' ' << distance << ' ' << epsilon;
        ASSERT_TRUE(narrower(actual, "1e-40"));
        partial += certainly_positive(expected) && certainly_less(expected, Interval(1)) ? 1 : 0;
        ++checked;
      }
  EXPECT_EQ(checked, 72);
  EXPECT_GT(partial, 20);
}

TEST(Entries, DeviationProbabilityEnclosesEveryEpsilonOfAnInterval) {
  PrecisionScope scope(40);
  const Interval sigma(4);
  const Interval wide = hull(Interval(0.1), Interval(0.3));
  const Interval both = entry_deviation_probability(16, wide, 3, sigma);
  const Interval at_low = entry_deviation_probability(16, Interval(0.1), 3, sigma);
  const Interval at_high = entry_deviation_probability(16, Interval(0.3), 3, sigma);
  ASSERT_FALSE(overlap(at_low, at_high));
  EXPECT_TRUE(overlaps(both, at_low));
  EXPECT_TRUE(overlaps(both, at_high));
}

TEST(Pairs, UnionIsTheDirectSumOverAllPairs) {
  PrecisionScope scope(60);
  int checked = 0;
  for (const Index n : {1, 2, 17, 40})
    for (const char* text : sigmas)
      for (const Index samples : {1, 4, 20}) {
        const auto sigma = from_decimal<Interval>(text);
        Interval direct(0);
        for (Index i = 0; i < n; ++i)
          for (Index j = 0; j < n; ++j) {
            const Interval p = exp(Interval(-Interval(std::abs(i - j)) / sigma));
            Interval none(1);
            for (Index k = 0; k < samples; ++k) none *= Interval(1) - p;
            direct += Interval(1) - none;
          }
        const Interval pairs = expected_union_pairs(n, sigma, samples);
        ASSERT_TRUE(overlaps(pairs, direct)) << n << ' ' << text << ' ' << samples;
        ASSERT_TRUE(narrower(pairs, "1e-40"));
        if (samples == 1) {
          ASSERT_TRUE(overlaps(pairs, AlibiKernel<Interval>(n, sigma).total()));
        }
        ++checked;
      }
  EXPECT_EQ(checked, 48);
}

TEST(Pairs, UnionStaysTightWhereFarPairsAreLeftToTheTail) {
  // n far beyond the distance at which the sum stops; one mask has the closed form.
  for (const unsigned digits : {40u, 120u}) {
    PrecisionScope scope(digits);
    const Interval pairs = expected_union_pairs(100'000, Interval(2), 1);
    EXPECT_TRUE(overlaps(pairs, AlibiKernel<Interval>(100'000, Interval(2)).total()));
    EXPECT_LT(width(pairs), pow(Mpfr(10), 10 - static_cast<int>(digits)) * upper(pairs));
  }
}

TEST(Pairs, UnionGrowsLikeTheHarmonicNumber) {
  // f(x) = 1 - (1 - exp(-x/sigma))^s falls, and its integral over x > 0 is sigma H_s. So with
  // S = sum_{d>=1} f(d): sigma H_s - 1 <= S <= sigma H_s. The union is n + 2 sum_{d<n} (n-d) f(d),
  // which is at most n + 2 n S; and at least n + 2 n S - 2 sum_{d>=1} d f(d), where f(d) <= s
  // exp(-d/sigma) and sum d rho^d = 1/(4 sinh^2(1/(2 sigma))) <= sigma^2.
  PrecisionScope scope(40);
  for (const Index samples : {1, 4, 16, 64}) {
    constexpr Index n = 100'000;
    constexpr Index sigma = 32;
    Interval harmonic(0);
    for (Index k = 1; k <= samples; ++k) harmonic += ratio<Interval>(1, k);
    const Interval high = Interval(n) * (Interval(1) + Interval(2 * sigma) * harmonic);
    const Interval low = Interval(n) * (Interval(2 * sigma) * harmonic - Interval(1)) -
                         Interval(2 * samples * sigma * sigma);
    const Interval pairs = expected_union_pairs(n, Interval(sigma), samples);
    EXPECT_FALSE(certainly_less(high, pairs)) << samples;
    EXPECT_FALSE(certainly_less(pairs, low)) << samples;
    // The limits are within a few percent, so that a wrong harmonic number would be seen.
    EXPECT_TRUE(certainly_less(high, Interval(1.05) * low)) << samples;
  }
}

TEST(Laws, RejectBadArgumentsByName) {
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double sigma : {0.0, -1.0, inf, nan}) {
    EXPECT_TRUE(rejects("sigma", [&] { set_probability(1, sigma); }));
    EXPECT_TRUE(rejects("sigma", [&] { width_density(1.0, sigma); }));
    EXPECT_TRUE(rejects("sigma", [&] { width_tail(1.0, sigma); }));
    EXPECT_TRUE(rejects("sigma", [&] { max_width_tail(1.0, sigma, 2); }));
    EXPECT_TRUE(rejects("sigma", [&] { max_width_quantile(0.1, sigma, 2); }));
    EXPECT_TRUE(rejects("sigma", [&] { second_moment(3, sigma, 0, 1); }));
    EXPECT_TRUE(rejects("sigma", [&] { matrix_variance(3, sigma); }));
    EXPECT_TRUE(rejects("sigma", [&] { matrix_variance_norm_bound(sigma); }));
    EXPECT_TRUE(rejects("sigma", [&] { entry_probability(3, 1, 2, sigma); }));
    EXPECT_TRUE(rejects("sigma", [&] { entry_deviation_probability(3, 0.1, 2, sigma); }));
    EXPECT_TRUE(rejects("sigma", [&] { entry_deviation_probability(3, 2.0, 2, sigma); }));
    EXPECT_TRUE(rejects("sigma", [&] { expected_union_pairs(3, sigma, 2); }));
    EXPECT_TRUE(rejects("sigma", [&] { expected_block_pairs(3, sigma, 2); }));
    EXPECT_TRUE(rejects("sigma", [&] { largest_block_tail(3, sigma, 2); }));
    EXPECT_TRUE(rejects("sigma", [&] { AlibiKernel<double> kernel(3, sigma); }));
    EXPECT_TRUE(rejects("sigma", [&] { spectral_norm_limit(sigma); }));
  }
  for (const double delta : {0.0, 1.0, -0.1, 1.5, inf, nan})
    EXPECT_TRUE(rejects("delta", [&] { max_width_quantile(delta, 2.0, 2); }));
  for (const Index samples : {Index{0}, Index{-4}}) {
    EXPECT_TRUE(rejects("samples", [&] { max_width_tail(1.0, 2.0, samples); }));
    EXPECT_TRUE(rejects("samples", [&] { max_width_quantile(0.1, 2.0, samples); }));
    EXPECT_TRUE(rejects("samples", [&] { entry_probability(samples, 0, 2, 2.0); }));
    EXPECT_TRUE(rejects("samples", [&] { entry_deviation_probability(samples, 0.1, 2, 2.0); }));
    EXPECT_TRUE(rejects("samples", [&] { expected_union_pairs(3, 2.0, samples); }));
    EXPECT_TRUE(rejects("samples", [&] { expected_block_pairs(3, 2.0, samples); }));
  }
  for (const Index length : {Index{0}, Index{-4}}) {
    EXPECT_TRUE(rejects("length", [&] { second_moment(length, 2.0, 0, 0); }));
    EXPECT_TRUE(rejects("length", [&] { matrix_variance(length, 2.0); }));
    EXPECT_TRUE(rejects("length", [&] { expected_union_pairs(length, 2.0, 2); }));
    EXPECT_TRUE(rejects("length", [&] { expected_block_pairs(length, 2.0, 2); }));
    EXPECT_TRUE(rejects("length", [&] { largest_block_tail(length, 2.0, 2); }));
    EXPECT_TRUE(rejects("length", [&] { AlibiKernel<double> kernel(length, 2.0); }));
  }
  EXPECT_TRUE(rejects("k = ", [] { entry_probability(3, 4, 2, 2.0); }));
  EXPECT_TRUE(rejects("k = ", [] { entry_probability(3, -1, 2, 2.0); }));
  EXPECT_TRUE(rejects("distance", [] { entry_probability(3, 1, -2, 2.0); }));
  EXPECT_TRUE(rejects("distance", [] { pair_probability_given_width(-1, 2.0); }));
  EXPECT_TRUE(rejects("span", [] { set_probability(-1, 2.0); }));
  EXPECT_TRUE(rejects("i = ", [] { second_moment(3, 2.0, 3, 0); }));
  EXPECT_TRUE(rejects("j = ", [] { second_moment(3, 2.0, 0, -1); }));
}

}  // namespace
}  // namespace plsh::reference::test
