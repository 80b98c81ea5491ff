// Attention: exact ALiBi, windowed, and Positional LSH by definition and by blocks.
#include <algorithm>
#include <plsh/reference/attention.hpp>
#include <plsh/reference/sampling.hpp>

#include "support.hpp"

namespace plsh::reference::test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// The formula of attention.hpp, term by term: MPFR's exponents need no shift, and the bias enters
// the exponent. `weight` gives W_ij; zero leaves a key out.
struct BruteForce {
  Matrix<Interval> output;
  Vector<Interval> log_sum_exp;
  Matrix<Interval> probability;  // the weight rows, normalized
  Vector<Index> keys;            // visible keys in each row
};

template <class Weight>
BruteForce brute_force(const HeadInput<double>& in, Weight&& weight) {
  const Index n_q = in.query.rows();
  const Index n_k = in.key.rows();
  BruteForce result{Matrix<Interval>::Constant(n_q, in.value.cols(), Interval(0)),
                    Vector<Interval>::Constant(n_q, Interval(-infinity)),
                    Matrix<Interval>::Constant(n_q, n_k, Interval(0)), Vector<Index>::Zero(n_q)};
  for (Index i = 0; i < n_q; ++i) {
    Interval sum(0);
    for (Index j = 0; j < n_k; ++j) {
      const Index position = i + in.query_offset;
      if (in.causal && j > position) continue;
      const Interval w = weight(position, j);
      if (!certainly_positive(w)) continue;
      Interval logit(0);
      for (Index c = 0; c < in.query.cols(); ++c)
        logit += Interval(in.query(i, c)) * Interval(in.key(j, c));
      result.probability(i, j) = w * exp(Interval(Interval(in.logit_scale) * logit));
      sum += result.probability(i, j);
      ++result.keys[i];
    }
    if (result.keys[i] == 0) continue;
    result.log_sum_exp[i] = log(sum);
    for (Index j = 0; j < n_k; ++j) {
      result.probability(i, j) /= sum;
      for (Index c = 0; c < in.value.cols(); ++c)
        result.output(i, c) += result.probability(i, j) * Interval(in.value(j, c));
    }
  }
  return result;
}

BruteForce brute_force_alibi(const HeadInput<double>& in, double sigma, Index radius = 1'000'000) {
  return brute_force(in, [&](Index p, Index j) {
    const Index d = std::abs(p - j);
    return d <= radius ? exp(Interval(-Interval(d) / Interval(sigma))) : Interval(0);
  });
}

BruteForce brute_force_sampled(const HeadInput<double>& in, const std::vector<Partition>& samples) {
  return brute_force(in, [&](Index p, Index j) {
    Index together = 0;
    for (const Partition& partition : samples)
      together += partition.block_of(p) == partition.block_of(j) ? 1 : 0;
    return ratio<Interval>(together, static_cast<Index>(samples.size()));
  });
}

::testing::AssertionResult same(const HeadOutput<Interval>& actual, const BruteForce& expected) {
  if (actual.output.rows() != expected.output.rows() ||
      actual.output.cols() != expected.output.cols())
    return ::testing::AssertionFailure() << "shape";
  for (Index i = 0; i < actual.output.rows(); ++i) {
    for (Index c = 0; c < actual.output.cols(); ++c) {
      if (!overlap(actual.output(i, c), expected.output(i, c)))
        return ::testing::AssertionFailure()
               << "output " << i << ',' << c << ": " << show(actual.output(i, c)) << " and "
               << show(expected.output(i, c));
      if (!(width(actual.output(i, c)) < Mpfr("1e-30")))
        return ::testing::AssertionFailure() << "wide output " << show(actual.output(i, c));
    }
    if (expected.keys[i] == 0) {
      if (!contains(actual.log_sum_exp[i], -infinity) || !contains(actual.output(i, 0), 0.0))
        return ::testing::AssertionFailure() << "empty row " << i;
      continue;
    }
    if (!overlap(actual.log_sum_exp[i], expected.log_sum_exp[i]))
      return ::testing::AssertionFailure() << "log-sum-exp " << i;
    if (!(width(actual.log_sum_exp[i]) < Mpfr("1e-30")))
      return ::testing::AssertionFailure() << "wide log-sum-exp " << i;
  }
  return ::testing::AssertionSuccess();
}

// What double arithmetic may lose. A logit: gamma_{head_dim + 2} scale sum |q||k| =: e. Its
// distance to the running maximum is rounded once, and each of the at most r rises of the maximum
// rescales by an exponential whose argument is rounded too; the arguments of one key telescope to
// at most the range R of the logits, twice: 2 R u. The bias argument: (D/sigma) u, D the largest
// distance. Then exponentials within 2 u each (1 ulp) and products u: 5 u + 3 u per rise; sums and
// divisions: (r + 2 n + 3) u over at most m = s n terms. So each weight is within delta (relative)
// of exact up to a common factor, and
//     |o - o_exact| <= 2 delta/(1 - delta) sum_j p_j |v_j|.
// log-sum-exp: delta plus the roundings of log, shift and sum.
struct Tolerance {
  double relative;
  double largest_logit;
};

Tolerance tolerance_of(const HeadInput<double>& in, double sigma, Index samples) {
  double largest = 0;
  for (Index i = 0; i < in.query.rows(); ++i)
    for (Index j = 0; j < in.key.rows(); ++j)
      largest = std::max(largest,
                         in.logit_scale * in.query.row(i).cwiseAbs().dot(in.key.row(j).cwiseAbs()));
  const auto n = static_cast<double>(in.key.rows() * samples);
  const double distance =
      static_cast<double>(in.key.rows() + in.query.rows() + std::abs(in.query_offset));
  const double dim = static_cast<double>(in.query.cols());
  return {unit_roundoff *
              ((dim + 2) * largest + 4 * largest + distance / sigma + 5 + 3 * n + 3 * n + 3),
          largest};
}

::testing::AssertionResult close(const HeadOutput<double>& actual, const BruteForce& expected,
                                 const HeadInput<double>& in, double sigma, Index samples = 1) {
  const auto [delta, largest_logit] = tolerance_of(in, sigma, samples);
  if (delta > 1e-9) return ::testing::AssertionFailure() << "the tolerance says nothing";
  for (Index i = 0; i < actual.output.rows(); ++i) {
    if (expected.keys[i] == 0) {
      if (actual.log_sum_exp[i] != -infinity || actual.output.row(i).cwiseAbs().maxCoeff() != 0)
        return ::testing::AssertionFailure() << "empty row " << i;
      continue;
    }
    for (Index c = 0; c < actual.output.cols(); ++c) {
      double mean_size = 0;
      for (Index j = 0; j < in.key.rows(); ++j)
        mean_size += to_double(expected.probability(i, j)) * std::fabs(in.value(j, c));
      const double allowed = 2 * delta / (1 - delta) * mean_size * (1 + 1e-9);
      const double error =
          std::fabs(to_double(Interval(Interval(actual.output(i, c)) - expected.output(i, c))));
      if (!(error <= allowed))
        return ::testing::AssertionFailure()
               << "row " << i << ": error " << error << " > " << allowed;
    }
    const double error =
        std::fabs(to_double(Interval(Interval(actual.log_sum_exp[i]) - expected.log_sum_exp[i])));
    const double size = std::fabs(to_double(expected.log_sum_exp[i])) + largest_logit + 1;
    if (!(error <= 2 * delta + 8 * unit_roundoff * size))
      return ::testing::AssertionFailure() << "row " << i << ": log-sum-exp error " << error;
  }
  return ::testing::AssertionSuccess();
}

struct Shape {
  Index queries;
  Index keys;
  Index offset;
  bool causal;
};
const std::vector<Shape> shapes{{12, 12, 0, false}, {12, 12, 0, true}, {5, 12, 7, true},
                                {5, 12, 7, false},  {3, 12, 4, true},  {1, 1, 0, true},
                                {1, 12, 11, false}};

HeadInput<double> head_of(Source& source, const Shape& shape, Index range = 2) {
  HeadInput<double> in = random_head(source, shape.queries, shape.keys, 4, 3, range);
  in.causal = shape.causal;
  in.query_offset = shape.offset;
  return in;
}

TEST(ExactAttention, IsItsFormula) {
  PrecisionScope scope(40);
  Source source(30);
  int checked = 0;
  for (const Shape& shape : shapes)
    for (const double sigma : {0.3, 4.0, 256.0}) {
      const HeadInput<double> in = head_of(source, shape);
      const BruteForce expected = brute_force_alibi(in, sigma);
      EXPECT_TRUE(same(exact_alibi_attention(convert<Interval>(in), Interval(sigma)), expected));
      EXPECT_TRUE(close(exact_alibi_attention(in, sigma), expected, in, sigma));
      // Another slope, a shifted query position, a logit scale forgotten: all are seen.
      if (shape.keys > 1) {
        EXPECT_FALSE(
            same(exact_alibi_attention(convert<Interval>(in), Interval(sigma * 1.0001)), expected));
        HeadInput<double> moved = in;
        moved.query_offset += 1;
        EXPECT_FALSE(
            same(exact_alibi_attention(convert<Interval>(moved), Interval(sigma)), expected));
        EXPECT_FALSE(close(exact_alibi_attention(moved, sigma), expected, in, sigma));
        HeadInput<double> unscaled = in;
        unscaled.logit_scale = 1;
        EXPECT_FALSE(close(exact_alibi_attention(unscaled, sigma), expected, in, sigma));
      }
      ++checked;
    }
  EXPECT_EQ(checked, 21);
}

TEST(ExactAttention, LeavesRowsWithoutKeysEmpty) {
  PrecisionScope scope(40);
  Source source(31);
  const HeadInput<double> in = head_of(source, {9, 6, -4, true});
  const BruteForce expected = brute_force_alibi(in, 4.0);
  ASSERT_EQ(expected.keys[3], 0);
  ASSERT_EQ(expected.keys[4], 1);
  const HeadOutput<double> output = exact_alibi_attention(in, 4.0);
  for (Index i = 0; i < 4; ++i) {
    EXPECT_EQ(output.log_sum_exp[i], -infinity);
    EXPECT_EQ(output.output.row(i).cwiseAbs().maxCoeff(), 0);
  }
  // Row 4 sees key 0 alone.
  EXPECT_EQ(output.output.row(4), in.value.row(0));
  EXPECT_TRUE(close(output, expected, in, 4.0));
  EXPECT_TRUE(same(exact_alibi_attention(convert<Interval>(in), Interval(4)), expected));
  // Without the causal rule positions before 0 see every key.
  HeadInput<double> bidirectional = in;
  bidirectional.causal = false;
  const BruteForce all = brute_force_alibi(bidirectional, 4.0);
  EXPECT_EQ(all.keys[0], 6);
  EXPECT_TRUE(same(exact_alibi_attention(convert<Interval>(bidirectional), Interval(4)), all));
  EXPECT_TRUE(close(exact_alibi_attention(bidirectional, 4.0), all, bidirectional, 4.0));
}

TEST(ExactAttention, SurvivesLargeLogits) {
  PrecisionScope scope(60);
  Source source(32);
  HeadInput<double> in = head_of(source, {8, 8, 0, false});
  in.logit_scale = 2500;  // logits up to about 10^4: exp overflows double
  const BruteForce expected = brute_force_alibi(in, 4.0);
  double largest = 0;
  for (Index i = 0; i < 8; ++i) largest = std::max(largest, to_double(expected.log_sum_exp[i]));
  ASSERT_GT(largest, 1e4);
  const HeadOutput<double> output = exact_alibi_attention(in, 4.0);
  EXPECT_TRUE(output.output.allFinite());
  EXPECT_TRUE(output.log_sum_exp.allFinite());
  EXPECT_TRUE(close(output, expected, in, 4.0));
  EXPECT_TRUE(same(exact_alibi_attention(convert<Interval>(in), Interval(4)), expected));
  in.logit_scale = -2500;
  EXPECT_TRUE(close(exact_alibi_attention(in, 4.0), brute_force_alibi(in, 4.0), in, 4.0));
}

TEST(ExactAttention, OfSeveralHeadsIsThatOfEach) {
  Source source(33);
  std::vector<HeadInput<double>> heads;
  for (int h = 0; h < 3; ++h) heads.push_back(head_of(source, {4, 6, 2, h == 1}));
  const std::vector<double> decay{2, 4, 8};
  const std::vector<HeadOutput<double>> outputs = exact_alibi_attention(heads, decay);
  ASSERT_EQ(outputs.size(), 3u);
  for (std::size_t h = 0; h < 3; ++h)
    EXPECT_EQ(outputs[h].output, exact_alibi_attention(heads[h], decay[h]).output);
  EXPECT_TRUE(rejects("decay length", [&] {
    exact_alibi_attention(heads, std::vector<double>{2, 4});
  }));
}

TEST(Logits, AreTheScaledProducts) {
  Source source(34);
  const HeadInput<double> in = head_of(source, {4, 6, 0, true});
  const Matrix<double> expected =
      in.logit_scale * (in.query * in.key.transpose());  // dyadic: exact
  EXPECT_EQ(logits(in), expected);
}

TEST(WindowedAttention, KeepsTheWindowAndNothingElse) {
  PrecisionScope scope(40);
  Source source(35);
  int checked = 0;
  for (const Shape& shape : shapes)
    for (const Index radius : {0, 1, 3, 50}) {
      const HeadInput<double> in = head_of(source, shape);
      const BruteForce expected = brute_force_alibi(in, 4.0, radius);
      EXPECT_TRUE(
          same(windowed_alibi_attention(convert<Interval>(in), Interval(4), radius), expected));
      EXPECT_TRUE(close(windowed_alibi_attention(in, 4.0, radius), expected, in, 4.0));
      ++checked;
    }
  EXPECT_EQ(checked, 28);
  const HeadInput<double> in = head_of(source, {12, 12, 0, false});
  // A window as wide as the context changes nothing at all; radius 0 returns the own value.
  const HeadOutput<double> wide = windowed_alibi_attention(in, 4.0, 12);
  const HeadOutput<double> exact = exact_alibi_attention(in, 4.0);
  EXPECT_EQ(wide.output, exact.output);
  EXPECT_EQ(wide.log_sum_exp, exact.log_sum_exp);
  EXPECT_EQ(windowed_alibi_attention(in, 4.0, 0).output, in.value);
  EXPECT_NE(windowed_alibi_attention(in, 4.0, 10).output, exact.output);
  EXPECT_TRUE(rejects("radius", [&] { windowed_alibi_attention(in, 4.0, -1); }));
}

TEST(SampledAttention, AlgorithmIsDefinition) {
  PrecisionScope scope(40);
  Source source(36);
  int checked = 0;
  for (const Shape& shape : shapes)
    for (const Index count : {1, 2, 7}) {
      const HeadInput<double> in = head_of(source, shape);
      const std::vector<Partition> samples = draw_partitions(shape.keys, 4.0, 5, 0, count);
      const BruteForce expected = brute_force_sampled(in, samples);
      const HeadInput<Interval> certain = convert<Interval>(in);
      EXPECT_TRUE(same(sampled_attention_by_definition(certain, std::span(samples)), expected));
      EXPECT_TRUE(same(sampled_attention_by_blocks(certain, std::span(samples)), expected));
      // The largest possible distance over sigma does not enter: sigma = infinity.
      EXPECT_TRUE(close(sampled_attention_by_definition(in, std::span(samples)), expected, in,
                        infinity, count));
      EXPECT_TRUE(close(sampled_attention_by_blocks(in, std::span(samples)), expected, in, infinity,
                        count));
      ++checked;
    }
  EXPECT_EQ(checked, 21);
}

TEST(SampledAttention, ACutMovedByOneIsSeen) {
  PrecisionScope scope(40);
  Source source(37);
  const HeadInput<double> in = head_of(source, {12, 12, 0, false});
  const std::vector<Partition> samples{Partition(12, {0, 5, 9}), Partition(12, {0, 2, 8})};
  const std::vector<Partition> moved{Partition(12, {0, 5, 10}), Partition(12, {0, 2, 8})};
  const BruteForce expected = brute_force_sampled(in, samples);
  EXPECT_TRUE(
      same(sampled_attention_by_blocks(convert<Interval>(in), std::span(samples)), expected));
  EXPECT_FALSE(
      same(sampled_attention_by_blocks(convert<Interval>(in), std::span(moved)), expected));
  EXPECT_FALSE(close(sampled_attention_by_blocks(in, std::span(moved)), expected, in, infinity, 2));
  EXPECT_FALSE(
      close(sampled_attention_by_definition(in, std::span(moved)), expected, in, infinity, 2));
}

TEST(SampledAttention, OfSingletonsReturnsTheValues) {
  Source source(38);
  HeadInput<double> in = head_of(source, {10, 10, 0, false});
  in.logit_scale = 3000;
  std::vector<Index> starts(10);
  for (std::size_t i = 0; i < 10; ++i) starts[i] = static_cast<Index>(i);
  const std::vector<Partition> samples(3, Partition(10, starts));
  // One key per row: s v / s with sums of equal dyadic numbers, exact.
  EXPECT_EQ(sampled_attention_by_blocks(in, std::span(samples)).output, in.value);
  EXPECT_EQ(sampled_attention_by_definition(in, std::span(samples)).output, in.value);
  in.causal = true;
  EXPECT_EQ(sampled_attention_by_blocks(in, std::span(samples)).output, in.value);
}

TEST(SampledAttention, OfOneBlockIsSoftmax) {
  PrecisionScope scope(40);
  Source source(39);
  for (const bool causal : {false, true}) {
    const HeadInput<double> in = head_of(source, {10, 10, 0, causal});
    const std::vector<Partition> samples(2, Partition(10, {0}));
    const BruteForce softmax = brute_force(in, [](Index, Index) { return Interval(1); });
    EXPECT_TRUE(
        same(sampled_attention_by_blocks(convert<Interval>(in), std::span(samples)), softmax));
    EXPECT_TRUE(
        close(sampled_attention_by_blocks(in, std::span(samples)), softmax, in, infinity, 2));
    EXPECT_TRUE(
        close(sampled_attention_by_definition(in, std::span(samples)), softmax, in, infinity, 2));
  }
}

RC_GTEST_PROP(SampledAttention, AlgorithmIsDefinitionForRandomHeads, ()) {
  PrecisionScope scope(30);
  Source source(*rc::gen::arbitrary<std::uint64_t>());
  const Index keys = *rc::gen::inRange<Index>(1, 9);
  const Index queries = *rc::gen::inRange<Index>(1, keys + 1);
  const Index offset = *rc::gen::inRange<Index>(0, keys - queries + 1);
  const bool causal = *rc::gen::arbitrary<bool>();
  const HeadInput<double> in = head_of(source, {queries, keys, offset, causal}, 6);
  std::vector<Partition> samples;
  const Index count = *rc::gen::inRange<Index>(1, 4);
  for (Index k = 0; k < count; ++k) samples.push_back(random_partition(source, keys, 3));
  const BruteForce expected = brute_force_sampled(in, samples);
  RC_ASSERT(close(sampled_attention_by_definition(in, std::span(samples)), expected, in, infinity,
                  count));
  RC_ASSERT(
      close(sampled_attention_by_blocks(in, std::span(samples)), expected, in, infinity, count));
  const HeadOutput<Interval> blocks =
      sampled_attention_by_blocks(convert<Interval>(in), std::span(samples));
  for (Index i = 0; i < queries; ++i) {
    RC_ASSERT(overlap(blocks.log_sum_exp[i], expected.log_sum_exp[i]));
    for (Index c = 0; c < in.value.cols(); ++c)
      RC_ASSERT(overlap(blocks.output(i, c), expected.output(i, c)));
  }
}

TEST(WeightedAttention, TakesAnyWeights) {
  PrecisionScope scope(40);
  Source source(40);
  const HeadInput<double> in = head_of(source, {4, 6, 2, true});
  Matrix<double> weights(4, 6);
  for (Index i = 0; i < 4; ++i)
    for (Index j = 0; j < 6; ++j) weights(i, j) = static_cast<double>(source.integer(0, 3)) / 2;
  weights.row(2).setZero();  // no visible weight
  const BruteForce expected =
      brute_force(in, [&](Index p, Index j) { return Interval(weights(p - 2, j)); });
  ASSERT_EQ(expected.keys[2], 0);
  EXPECT_TRUE(
      same(weighted_attention(convert<Interval>(in), convert<Interval>(weights)), expected));
  EXPECT_TRUE(close(weighted_attention(in, weights), expected, in, infinity));
}

TEST(WeightedAttention, AcceptsAWeightKnownOnlyToBeSmall) {
  // An interval that reaches down to zero is neither zero nor positive for certain.
  PrecisionScope scope(40);
  Source source(41);
  const HeadInput<Interval> in = convert<Interval>(head_of(source, {1, 2, 0, false}));
  Matrix<Interval> weights(1, 2);
  weights << Interval(1), hull(Interval(0), Interval(0x1p-20));
  const HeadOutput<Interval> both = weighted_attention(in, weights);
  for (const double w : {0.0, 0x1p-21, 0x1p-20}) {
    weights(0, 1) = Interval(w);
    const HeadOutput<Interval> one = weighted_attention(in, weights);
    for (Index c = 0; c < 3; ++c) EXPECT_TRUE(contains(both.output(0, c), one.output(0, c))) << w;
    EXPECT_TRUE(contains(both.log_sum_exp[0], one.log_sum_exp[0])) << w;
  }
}

TEST(Attention, RejectsShapesThatDoNotFit) {
  Source source(42);
  const HeadInput<double> good = head_of(source, {4, 6, 2, false});
  const std::vector<Partition> samples{Partition(6, {0, 3})};
  const std::vector<Partition> none;
  const std::vector<Partition> longer{Partition(7, {0, 3})};

  HeadInput<double> bad = good;
  bad.query.resize(4, 5);
  bad.query.setZero();
  EXPECT_TRUE(rejects("query", [&] { exact_alibi_attention(bad, 4.0); }));
  EXPECT_TRUE(rejects("query", [&] { logits(bad); }));
  EXPECT_TRUE(rejects("query", [&] { sampled_attention_by_blocks(bad, std::span(samples)); }));
  EXPECT_TRUE(rejects("query", [&] { sampled_attention_by_definition(bad, std::span(samples)); }));
  bad = good;
  bad.value.resize(5, 3);
  bad.value.setZero();
  EXPECT_TRUE(rejects("value", [&] { exact_alibi_attention(bad, 4.0); }));
  EXPECT_TRUE(rejects("value", [&] { windowed_alibi_attention(bad, 4.0, 2); }));
  EXPECT_TRUE(rejects("value", [&] { sampled_attention_by_blocks(bad, std::span(samples)); }));

  const Matrix<double> narrow = Matrix<double>::Ones(4, 5);
  EXPECT_TRUE(rejects("weights", [&] { weighted_attention(good, narrow); }));
  for (const double sigma : {0.0, -1.0, infinity, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_TRUE(rejects("sigma", [&] { exact_alibi_attention(good, sigma); }));
    EXPECT_TRUE(rejects("sigma", [&] { windowed_alibi_attention(good, sigma, 2); }));
  }
  EXPECT_TRUE(rejects("sample", [&] { sampled_attention_by_blocks(good, std::span(none)); }));
  EXPECT_TRUE(rejects("sample", [&] { sampled_attention_by_definition(good, std::span(none)); }));
  EXPECT_TRUE(rejects("partition", [&] { sampled_attention_by_blocks(good, std::span(longer)); }));
  EXPECT_TRUE(
      rejects("partition", [&] { sampled_attention_by_definition(good, std::span(longer)); }));
  for (const Index offset : {Index{-1}, Index{3}}) {
    bad = good;
    bad.query_offset = offset;
    EXPECT_TRUE(
        rejects("positions", [&] { sampled_attention_by_blocks(bad, std::span(samples)); }));
    EXPECT_TRUE(
        rejects("positions", [&] { sampled_attention_by_definition(bad, std::span(samples)); }));
  }
}

}  // namespace
}  // namespace plsh::reference::test
