// The error bounds with explicit constants.
#include <algorithm>
#include <functional>
#include <plsh/reference/bounds.hpp>
#include <plsh/reference/kernel.hpp>
#include <plsh/reference/laws.hpp>
#include <plsh/reference/partition_law.hpp>
#include <plsh/reference/sampling.hpp>

#include "support.hpp"

namespace plsh::reference::test {
namespace {

// ---- the deterministic output bound ----------------------------------------------------------

struct OutputCase {
  const char* name;
  HeadInput<double> input;
};

std::vector<OutputCase> output_cases(Source& source, Index n) {
  std::vector<OutputCase> cases;
  const HeadInput<double> random = random_head(source, n, n, 3, 2);
  cases.push_back({"random", random});
  HeadInput<double> ties = random;
  ties.query.setZero();
  cases.push_back({"ties", ties});
  HeadInput<double> signs = random;
  for (Index j = 0; j < n; ++j)
    for (Index c = 0; c < 2; ++c) signs.value(j, c) = source.integer(0, 1) == 0 ? -1 : 1;
  cases.push_back({"signs", signs});
  HeadInput<double> spike = random;
  spike.key.row(source.integer(0, n - 1)) *= 64;  // one key takes all or nothing
  cases.push_back({"spike", spike});
  HeadInput<double> causal = signs;
  causal.causal = true;
  cases.push_back({"causal", causal});
  HeadInput<double> decode = random_head(source, 2, n, 3, 2);
  decode.query_offset = n - 2;
  decode.causal = true;
  cases.push_back({"decode", decode});
  return cases;
}

TEST(OutputBound, HoldsForEveryInputAndMask) {
  PrecisionScope scope(50);
  Source source(50);
  int rows = 0;
  double closest = 0;
  for (const Index n : {2, 6, 14})
    for (const double sigma : {0.5, 4.0, 64.0})
      for (const Index count : {1, 4})
        for (const OutputCase& c : output_cases(source, n)) {
          const HeadInput<Interval> in = convert<Interval>(c.input);
          std::vector<Partition> samples;
          for (Index k = 0; k < count; ++k) samples.push_back(random_partition(source, n, 3));
          const Matrix<Interval> mean = mean_mask<Interval>(samples);
          Matrix<Interval> weights(c.input.query.rows(), n);
          for (Index i = 0; i < weights.rows(); ++i)
            for (Index j = 0; j < n; ++j) weights(i, j) = mean(i + c.input.query_offset, j);
          const HeadOutput<Interval> exact = exact_alibi_attention(in, Interval(sigma));
          const HeadOutput<Interval> sampled =
              sampled_attention_by_definition(in, std::span(samples));
          const Vector<Interval> bound = output_error_bound(in, Interval(sigma), weights);
          ASSERT_EQ(bound.size(), weights.rows());
          for (Index i = 0; i < bound.size(); ++i, ++rows)
            for (Index v = 0; v < 2; ++v) {
              const Interval error = abs(Interval(exact.output(i, v) - sampled.output(i, v)));
              ASSERT_FALSE(certainly_less(bound[i], error)) << c.name << ' ' << n << ' ' << sigma;
              ASSERT_TRUE(narrower(bound[i] / (bound[i] + Interval(1)), "1e-30")) << c.name;
              if (certainly_positive(bound[i]))
                closest = std::max(closest, to_double(Interval(error / bound[i])));
            }
        }
  EXPECT_EQ(rows, 6 * (5 * (2 + 6 + 14) + 3 * 2));
  EXPECT_GT(closest, 0.9);  // not loose everywhere
}

TEST(OutputBound, IsAttained) {
  // Two positions with equal logits, apart in the mask, values 1 and -1: T* = (1-rho)/(1+rho), T~ =
  // 1, and the difference 2 rho/(1+rho) is the bound itself. A bound smaller by 10^-20 fails.
  PrecisionScope scope(60);
  HeadInput<Interval> in = convert<Interval>(HeadInput<double>{
      Matrix<double>::Zero(2, 1), Matrix<double>::Zero(2, 1), Matrix<double>::Zero(2, 1), 1});
  in.value << Interval(1), Interval(-1);
  const Interval sigma(3);
  const std::vector<Partition> samples{Partition(2, {0, 1})};
  const Interval bound = output_error_bound(in, sigma, mean_mask<Interval>(samples))[0];
  const Interval error =
      abs(Interval(exact_alibi_attention(in, sigma).output(0, 0) -
                   sampled_attention_by_blocks(in, std::span(samples)).output(0, 0)));
  const Interval rho = exp(Interval(-Interval(1) / sigma));
  EXPECT_TRUE(overlaps(bound, Interval(2) * rho / (Interval(1) + rho)));
  EXPECT_TRUE(overlaps(bound, error));
  EXPECT_TRUE(certainly_less(bound * (Interval(1) - from_decimal<Interval>("1e-20")), error));
}

TEST(OutputBound, IsItsFormulaForEveryOffset) {
  PrecisionScope scope(50);
  Source source(51);
  int rows = 0;
  for (const Index offset : {-9, -2, 0, 3, 20}) {
    HeadInput<double> input = random_head(source, 3, 7, 2, 2);
    input.query_offset = offset;
    const HeadInput<Interval> in = convert<Interval>(input);
    Matrix<Interval> weights(3, 7);
    for (Index i = 0; i < 3; ++i)
      for (Index j = 0; j < 7; ++j) weights(i, j) = ratio<Interval>(source.integer(0, 4), 4);
    const Vector<Interval> bound = output_error_bound(in, Interval(4), weights);
    const double largest = input.value.cwiseAbs().maxCoeff();
    for (Index i = 0; i < 3; ++i, ++rows) {
      Interval error(0);
      Interval denominator(0);
      for (Index j = 0; j < 7; ++j) {
        const Interval l = exp(Interval(-Interval(std::abs(i + offset - j)) / Interval(4)));
        const double logit =
            input.logit_scale * input.query.row(i).dot(input.key.row(j));  // dyadic: exact
        error += abs(Interval(l - weights(i, j))) * exp(Interval(logit));
        denominator += l * exp(Interval(logit));
      }
      EXPECT_TRUE(overlaps(bound[i], Interval(2 * largest) * error / denominator)) << offset;
    }
  }
  EXPECT_EQ(rows, 15);
  const HeadInput<double> input = random_head(source, 3, 7, 2, 2);
  EXPECT_TRUE(rejects("weights", [&] {
    output_error_bound(input, 4.0, Matrix<double>(Matrix<double>::Ones(3, 6)));
  }));
  EXPECT_TRUE(rejects("sigma", [&] {
    output_error_bound(input, 0.0, Matrix<double>(Matrix<double>::Ones(3, 7)));
  }));
}

// ---- the max norm ----------------------------------------------------------------------------

TEST(MaxNormBound, SolvesHoeffdingsUnionBound) {
  PrecisionScope scope(60);
  int checked = 0;
  for (const Index n : {2, 64, 100'000})
    for (const Index samples : {1, 16, 4096})
      for (const char* text : {"1e-9", "0.1", "0.9"}) {
        const auto delta = from_decimal<Interval>(text);
        const Interval epsilon = max_norm_bound(n, samples, delta);
        // n (n-1)/2 pairs, two sides each: n (n-1) exp(-2 s epsilon^2) = delta.
        const Interval failure =
            Interval(n) * Interval(n - 1) *
            exp(Interval(Interval(-2) * Interval(samples) * epsilon * epsilon));
        ASSERT_TRUE(overlaps(failure, delta));
        ASSERT_TRUE(narrower(epsilon, "1e-40"));
        ++checked;
      }
  EXPECT_EQ(checked, 27);
  EXPECT_EQ(max_norm_bound(1, 5, 0.1), 0);
}

// sum over distances of (n-d) P(|M~ - L*| > epsilon), from binomial probabilities multiplied out. p
// is irrational, so "at least" and "above" are the same event.
Interval union_of_tails(Index n, double sigma, Index samples, double epsilon) {
  Interval sum(0);
  for (Index d = 1; d < n; ++d) {
    const Interval p = exp(Interval(-Interval(d) / Interval(sigma)));
    Interval power(1);  // C(s, k) p^k (1-p)^(s-k), from k to k+1
    for (Index k = 0; k < samples; ++k) power *= Interval(1) - p;
    for (Index k = 0; k <= samples; ++k) {
      if (k > 0) power *= Interval(samples + 1 - k) / Interval(k) * p / (Interval(1) - p);
      if (certainly_positive(
              Interval(abs(Interval(ratio<Interval>(k, samples) - p)) - Interval(epsilon))))
        sum += Interval(n - d) * power;
    }
  }
  return sum;
}

TEST(MaxNormBound, ExactIsTheSmallestMultipleThatSuffices) {
  PrecisionScope scope(40);
  int checked = 0;
  int strict = 0;
  for (const Index n : {2, 12, 48})
    for (const double sigma : {0.5, 4.0, 64.0})
      for (const Index samples : {4, 16, 64})
        for (const double delta : {0.01, 0.5}) {
          const double epsilon = max_norm_bound_exact(n, sigma, samples, delta);
          const double simple = max_norm_bound(n, samples, delta);
          ASSERT_LE(epsilon, simple);
          ASSERT_FALSE(certainly_less(Interval(delta), union_of_tails(n, sigma, samples, epsilon)))
              << n << ' ' << sigma << ' ' << samples << ' ' << delta;
          const double step = 1 / (2 * static_cast<double>(samples));
          const double multiple = epsilon / step;
          if (multiple == std::floor(multiple) && multiple >= 1) {
            ASSERT_TRUE(
                certainly_less(Interval(delta), union_of_tails(n, sigma, samples, epsilon - step)))
                << n << ' ' << sigma << ' ' << samples << ' ' << delta;
          } else {
            ASSERT_TRUE(epsilon == 0 || epsilon == simple);
          }
          strict += epsilon < simple ? 1 : 0;
          ++checked;
        }
  EXPECT_EQ(checked, 54);
  EXPECT_GT(strict, 40);
  EXPECT_EQ(max_norm_bound_exact(1, 4.0, 3, 0.1), 0);
}

// Visits every way that `samples` independent masks of length n fall on the partitions of the exact
// law, as a mean mask with its probability. `visit(p, counts of co-occurrence by entry)`.
void for_each_outcome(Index n, double sigma, Index samples,
                      const std::function<void(double, const Matrix<double>&)>& visit) {
  const PartitionLaw law(n);
  const Vector<double> p = law.probabilities(sigma);
  const std::size_t kinds = law.partitions().size();
  std::vector<Matrix<double>> masks;
  for (const Partition& partition : law.partitions())
    masks.push_back(mask(partition).cast<double>());
  // Multinomial: chosen number of each kind in turn.
  const std::function<void(std::size_t, Index, double, const Matrix<double>&)> step =
      [&](std::size_t kind, Index left, double probability, const Matrix<double>& sum) {
        if (kind + 1 == kinds) {
          const double last = std::pow(p[static_cast<Index>(kind)], static_cast<double>(left));
          visit(probability * last,
                (sum + static_cast<double>(left) * masks[kind]) / static_cast<double>(samples));
          return;
        }
        double factor = 1;  // C(left, k) p^k
        Matrix<double> total = sum;
        for (Index k = 0; k <= left; ++k) {
          step(kind + 1, left - k, probability * factor, total);
          factor *= p[static_cast<Index>(kind)] * static_cast<double>(left - k) /
                    static_cast<double>(k + 1);
          total += masks[kind];
        }
      };
  step(0, samples, 1.0, Matrix<double>::Zero(n, n));
}

TEST(MaxNormBound, AndTheOthersHoldWithTheirProbabilityOverEveryOutcome) {
  // All outcomes of s masks of length n are listed with their probabilities, so the probability of
  // a violation is a sum, not an estimate. Its rounding: below 10^5 terms of at most 50 roundings
  // each, 10^5 50 u < 10^-9.
  constexpr Index n = 4;
  constexpr Index samples = 10;
  for (const double sigma : {1.0, 4.0})
    for (const double delta : {0.05, 0.3}) {
      const Matrix<double> kernel = AlibiKernel<double>(n, sigma).dense();
      const double exact = max_norm_bound_exact(n, sigma, samples, delta);
      const double simple = max_norm_bound(n, samples, delta);
      const double relative = row_relative_error_bound(n, sigma, samples, delta);
      const Index block = largest_block_bound(n, sigma, 1, delta);
      double mass = 0;
      double above_exact = 0;
      double above_simple = 0;
      double above_relative = 0;
      double above_half = 0;
      int outcomes = 0;
      for_each_outcome(n, sigma, samples, [&](double p, const Matrix<double>& mean) {
        const Matrix<double> error = (kernel - mean).cwiseAbs();
        mass += p;
        const double largest = error.maxCoeff();
        above_exact += largest > exact * (1 + 1e-12) ? p : 0;
        above_half += largest > exact / 2 ? p : 0;
        above_simple += largest > simple ? p : 0;
        double worst = 0;
        for (Index i = 0; i < n; ++i)
          worst = std::max(worst, error.row(i).sum() / kernel.row(i).sum());
        above_relative += worst > relative ? p : 0;
        ++outcomes;
      });
      ASSERT_GT(outcomes, 1000);
      ASSERT_NEAR(mass, 1, 1e-9);
      EXPECT_LE(above_exact, delta + 1e-9) << sigma << ' ' << delta;
      EXPECT_LE(above_simple, delta + 1e-9) << sigma << ' ' << delta;
      EXPECT_LE(above_relative, delta + 1e-9) << sigma << ' ' << delta;
      // Half the exact bound is no bound.
      EXPECT_GT(above_half, delta) << sigma << ' ' << delta;
      EXPECT_GE(block, 1);
    }
}

// ---- the largest block -----------------------------------------------------------------------

TEST(LargestBlockBound, IsTheSmallestWidthThatSuffices) {
  PrecisionScope scope(40);
  int checked = 0;
  for (const double sigma : {0.3, 4.0, 32.0})
    for (const Index samples : {1, 16})
      for (const double delta : {0.001, 0.1, 0.7}) {
        const Index b = largest_block_bound(1'000'000, sigma, samples, delta);
        const auto tail = [&](Index t) {
          return max_width_tail(Interval(t), Interval(sigma), samples);
        };
        ASSERT_TRUE(certainly_less(tail(b), Interval(delta)));
        ASSERT_TRUE(certainly_less(Interval(delta), tail(b - 1)));
        if (b > 1) {
          ASSERT_EQ(largest_block_bound(b - 1, sigma, samples, delta), b - 1);  // never above n
        }
        ++checked;
      }
  EXPECT_EQ(checked, 18);
}

TEST(LargestBlockBound, HoldsUnderTheExactLaw) {
  PrecisionScope scope(40);
  int informative = 0;
  for (const Index n : {8, 16, 24}) {
    const PartitionLaw law(n);
    for (const double sigma : {0.3, 1.0, 2.0})
      for (const Index samples : {1, 4})
        for (const double delta : {0.01, 0.2, 0.8}) {
          const Index b = largest_block_bound(n, sigma, samples, delta);
          const Interval within = law.largest_block_distribution(Interval(sigma), samples)[b];
          EXPECT_TRUE(certainly_less(Interval(1 - delta), within) || b == n) << n << ' ' << sigma;
          informative += b < n ? 1 : 0;
        }
  }
  EXPECT_GT(informative, 20);
}

// ---- the spectral bound ----------------------------------------------------------------------

// P(X > x) for Gamma(3, 1): (1 + x + x^2/2) exp(-x).
Interval gamma3_tail(const Interval& x) {
  return (Interval(1) + x + x * x / Interval(2)) * exp(Interval(-x));
}

TEST(SpectralBound, SolvesTheBernsteinEquation) {
  PrecisionScope scope(60);
  int checked = 0;
  int cut_below_length = 0;
  for (const Index n : {2, 256, 1'000'000})
    for (const double sigma : {0.5, 4.0, 256.0})
      for (const Index samples : {1, 16, 4096})
        for (const char* text : {"1e-6", "0.1"}) {
          const auto delta = from_decimal<Interval>(text);
          const Interval s(samples);
          const Interval half = delta / Interval(2);
          const SpectralBound<Interval> bound = spectral_bound(n, Interval(sigma), samples, delta);
          ASSERT_TRUE(overlaps(bound.total, bound.deviation + bound.bias));
          // The cut: P(any of s widths > B) = delta/2.
          ASSERT_TRUE(overlaps(max_width_tail(bound.cut, Interval(sigma), samples), half));
          // The bias E[(w+1) 1{w>B}]: E[w 1{w>B}] = 2 sigma P(Gamma(3) > x), as w times the
          // Gamma(2) density is 2 sigma times the Gamma(3) density.
          const Interval x = bound.cut / Interval(sigma);
          const Interval bias =
              Interval(2 * sigma) * gamma3_tail(x) + width_tail(bound.cut, Interval(sigma));
          ASSERT_TRUE(overlaps(bound.bias, bias)) << n << ' ' << sigma << ' ' << samples;
          // 2 n exp(-s t^2/2 / (v + R t/3)) = delta/2 with R = n or B + 1.
          const bool below = to_double(bound.cut) < static_cast<double>(n);
          const Interval range = below ? Interval(bound.cut + Interval(1)) : Interval(n);
          cut_below_length += below ? 1 : 0;
          const Interval v =
              matrix_variance_norm_bound(Interval(sigma)) +
              Interval(2) * AlibiKernel<Interval>(n, Interval(sigma)).spectral_norm() * bias;
          const auto failure = [&](const Interval& t) {
            return Interval(
                Interval(2 * n) *
                exp(Interval(-s * t * t / (Interval(2) * (v + range * t / Interval(3))))));
          };
          ASSERT_TRUE(overlaps(failure(bound.deviation), half))
              << n << ' ' << sigma << ' ' << samples;
          ASSERT_FALSE(overlap(failure(Interval(bound.deviation * Interval(1 + 0x1p-40))), half));
          // R = min(n, ceil(B)) is smaller still, so the failure probability there is no larger.
          const Mpfr whole = below ? ceil(upper(bound.cut)) : Mpfr(n);
          ASSERT_FALSE(certainly_less(range, Interval(whole)));
          ASSERT_TRUE(narrower(bound.total / (Interval(1) + bound.total), "1e-40"));
          ++checked;
        }
  EXPECT_EQ(checked, 54);
  EXPECT_GT(cut_below_length, 20);
}

TEST(SpectralBound, FallsWithSamplesAndWithDeltaAndGrowsWithLength) {
  PrecisionScope scope(40);
  const Interval sigma(4);
  Interval previous(1e30);
  for (const Index samples : {1, 2, 4, 16, 64, 256, 4096, 1'000'000}) {
    const Interval total = spectral_bound(1024, sigma, samples, Interval(0.1)).total;
    EXPECT_TRUE(certainly_less(total, previous)) << samples;
    previous = total;
  }
  previous = Interval(1e30);
  for (const double delta : {1e-9, 1e-4, 0.1, 0.5, 0.99}) {
    const Interval total = spectral_bound(1024, sigma, 64, Interval(delta)).total;
    EXPECT_TRUE(certainly_less(total, previous)) << delta;
    previous = total;
  }
  previous = Interval(0);
  for (const Index n : {200, 1000, 100'000, 1'000'000'000}) {
    const Interval total = spectral_bound(n, sigma, 64, Interval(0.1)).total;
    EXPECT_TRUE(certainly_less(previous, total)) << n;
    previous = total;
  }
  // O(1/sqrt s): four times the samples come near to halving it once sqrt(2 l v / s) dominates.
  const Interval ratio_of_four = spectral_bound(1024, sigma, 4'000'000, Interval(0.1)).deviation /
                                 spectral_bound(1024, sigma, 1'000'000, Interval(0.1)).deviation;
  EXPECT_TRUE(certainly_less(Interval(0.49), ratio_of_four));
  EXPECT_TRUE(certainly_less(ratio_of_four, Interval(0.51)));
}

// ---- the row-relative bound ------------------------------------------------------------------

TEST(RowRelativeBound, CoversEveryRowEntryByEntry) {
  PrecisionScope scope(40);
  int rows = 0;
  int small = 0;
  for (const Index n : {2, 9, 40})
    for (const double sigma_value : {0.5, 4.0, 64.0})
      for (const Index samples : {4, 64, 100'000}) {
        const Interval sigma(sigma_value);
        const Interval delta(0.1);
        const Interval half(0.05);
        const Interval bound = row_relative_error_bound(n, sigma, samples, delta);
        // Beyond the largest width no pair is kept: P(max width > reach) <= delta/2.
        Index reach = n - 1;
        for (Index t = 0; t < n - 1; ++t)
          if (certainly_less(max_width_tail(Interval(t), sigma, samples), half)) {
            reach = t;
            break;
          }
        const Interval s(samples);
        const Interval pairs = Interval(n) * Interval(reach);
        const Interval l = log(Interval(Interval(2) * pairs / half));
        std::vector<Interval> deviation{Interval(0)};
        Interval failure(0);
        for (Index d = 1; d < n; ++d) {
          const Interval p = exp(Interval(-Interval(d) / sigma));
          // For sub-gamma sums (Bernstein): P(|M~ - p| > sqrt(2 v l/s) + l/(3 s)) <= 2 exp(-l), v =
          // p (1-p).
          const Interval t =
              sqrt(Interval(Interval(2) * p * (Interval(1) - p) * l / s)) + l / (Interval(3) * s);
          deviation.push_back(d <= reach ? t : p);
          if (d <= reach && samples <= 64) {
            // The exact binomial probability confirms the inequality, pair by pair.
            const Interval exact = entry_deviation_probability(samples, t, d, sigma);
            ASSERT_FALSE(certainly_less(half / pairs, exact))
                << n << ' ' << sigma_value << ' ' << d;
            failure += Interval(n - d) * exact;
          }
        }
        ASSERT_FALSE(certainly_less(half, failure));
        for (Index i = 0; i < n; ++i, ++rows) {
          Interval error(0);
          Interval sum(0);
          for (Index j = 0; j < n; ++j) {
            const Index d = std::abs(i - j);
            error += deviation[static_cast<std::size_t>(d)];
            sum += exp(Interval(-Interval(d) / sigma));
          }
          ASSERT_FALSE(certainly_less(bound, error / sum))
              << n << ' ' << sigma_value << ' ' << samples;
        }
        small += certainly_less(bound, Interval(1)) ? 1 : 0;
      }
  EXPECT_EQ(rows, 9 * (2 + 9 + 40));
  EXPECT_GE(small, 8);
}

TEST(RowRelativeBound, FallsWithSamples) {
  PrecisionScope scope(40);
  Interval previous(1e30);
  for (const Index samples : {1, 16, 256, 65'536, 100'000'000}) {
    const Interval bound = row_relative_error_bound(4096, Interval(4), samples, Interval(0.1));
    EXPECT_TRUE(certainly_less(bound, previous)) << samples;
    previous = bound;
  }
  EXPECT_EQ(row_relative_error_bound(1, 4.0, 3, 0.1), 0);
  EXPECT_TRUE(std::isfinite(row_relative_error_bound(10, 1e300, 3, 0.1)));
}

// ---- arguments -------------------------------------------------------------------------------

TEST(Bounds, RejectBadArgumentsByName) {
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double sigma : {0.0, -1.0, inf, nan}) {
    EXPECT_TRUE(rejects("sigma", [&] { max_norm_bound_exact(8, sigma, 4, 0.1); }));
    EXPECT_TRUE(rejects("sigma", [&] { spectral_bound(8, sigma, 4, 0.1); }));
    EXPECT_TRUE(rejects("sigma", [&] { largest_block_bound(8, sigma, 4, 0.1); }));
    EXPECT_TRUE(rejects("sigma", [&] { row_relative_error_bound(8, sigma, 4, 0.1); }));
  }
  for (const double delta : {0.0, 1.0, -0.1, 1.5, inf, nan}) {
    EXPECT_TRUE(rejects("delta", [&] { max_norm_bound(8, 4, delta); }));
    EXPECT_TRUE(rejects("delta", [&] { max_norm_bound_exact(8, 2.0, 4, delta); }));
    EXPECT_TRUE(rejects("delta", [&] { spectral_bound(8, 2.0, 4, delta); }));
    EXPECT_TRUE(rejects("delta", [&] { largest_block_bound(8, 2.0, 4, delta); }));
    EXPECT_TRUE(rejects("delta", [&] { row_relative_error_bound(8, 2.0, 4, delta); }));
  }
  for (const Index samples : {Index{0}, Index{-1}}) {
    EXPECT_TRUE(rejects("samples", [&] { max_norm_bound(8, samples, 0.1); }));
    EXPECT_TRUE(rejects("samples", [&] { max_norm_bound_exact(8, 2.0, samples, 0.1); }));
    EXPECT_TRUE(rejects("samples", [&] { spectral_bound(8, 2.0, samples, 0.1); }));
    EXPECT_TRUE(rejects("samples", [&] { largest_block_bound(8, 2.0, samples, 0.1); }));
    EXPECT_TRUE(rejects("samples", [&] { row_relative_error_bound(8, 2.0, samples, 0.1); }));
  }
  for (const Index length : {Index{0}, Index{-1}}) {
    EXPECT_TRUE(rejects("length", [&] { max_norm_bound(length, 4, 0.1); }));
    EXPECT_TRUE(rejects("length", [&] { max_norm_bound_exact(length, 2.0, 4, 0.1); }));
    EXPECT_TRUE(rejects("length", [&] { spectral_bound(length, 2.0, 4, 0.1); }));
    EXPECT_TRUE(rejects("length", [&] { largest_block_bound(length, 2.0, 4, 0.1); }));
    EXPECT_TRUE(rejects("length", [&] { row_relative_error_bound(length, 2.0, 4, 0.1); }));
  }
}

}  // namespace
}  // namespace plsh::reference::test
