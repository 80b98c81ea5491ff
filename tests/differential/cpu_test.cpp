// The optimized implementation against the reference, where `plsh check` does not look: the same
// partitions for the same seed, and the forms of attention that the interface does not name.
#include <gtest/gtest.h>

#include <cmath>
#include <plsh/optimized/cpu.hpp>
#include <plsh/properties/tensor.hpp>
#include <plsh/reference/attention.hpp>
#include <plsh/reference/sampling.hpp>

namespace plsh::optimized::cpu {
namespace {

using properties::Tensor;
using properties::Type;
using reference::Index;
using reference::Partition;
using Matrix = reference::Matrix<double>;

struct Sampled {
  Tensor counts;
  Tensor starts;
  Sampled(Index length, const std::vector<double>& sigmas, Index samples, std::uint64_t seed,
          Index first)
      : counts(Type::i64, {1, static_cast<Index>(sigmas.size()), samples}),
        starts(Type::i64, {1, static_cast<Index>(sigmas.size()), samples, length}) {
    Tensor sigma(Type::f64, {static_cast<Index>(sigmas.size())});
    for (std::size_t h = 0; h < sigmas.size(); ++h) sigma.set({static_cast<Index>(h)}, sigmas[h]);
    plsh_sampling arguments{};
    arguments.seed = seed;
    arguments.first_sample = first;
    arguments.length = length;
    arguments.sigma = sigma.view();
    arguments.threads = 2;
    arguments.block_counts = counts.view();
    arguments.block_starts = starts.view();
    EXPECT_EQ(implementation().sample_partitions(&arguments), PLSH_OK);
  }
  Partition partition(Index head, Index sample) const {
    std::vector<Index> blocks;
    for (Index b = 0; b < counts.get_integer({0, head, sample}); ++b)
      blocks.push_back(starts.get_integer({0, head, sample, b}));
    return {starts.shape()[3], std::move(blocks)};
  }
};

TEST(CpuSampler, DrawsThePartitionsOfTheReference) {
  const std::vector<double> sigmas{0.01, 0.3, 1, 4, 32, 256.5, 4096, 1e6};
  constexpr Index kSamples = 40;
  for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{7}, ~std::uint64_t{0}})
    for (const Index first : {Index{0}, Index{1} << 40}) {
      const Sampled drawn(3000, sigmas, kSamples, seed, first);
      for (std::size_t h = 0; h < sigmas.size(); ++h) {
        const std::vector<Partition> expected =
            reference::draw_partitions(3000, sigmas[h], seed, static_cast<std::uint32_t>(h),
                                       kSamples, static_cast<std::uint64_t>(first));
        for (Index s = 0; s < kSamples; ++s)
          ASSERT_EQ(drawn.partition(static_cast<Index>(h), s),
                    expected[static_cast<std::size_t>(s)])
              << "seed " << seed << ", sigma " << sigmas[h] << ", sample " << first + s;
      }
    }
}

/// One head with numbers in [-1, 1], the same for the reference and for the implementation.
struct Case {
  Index length;
  Index dim;
  reference::HeadInput<double> input;
  Tensor query, key, value, output, log_sum_exp;
  plsh_attention arguments{};

  Case(Index n, Index d, bool causal)
      : length(n),
        dim(d),
        query(Type::f32, {1, n, 1, d}),
        key(Type::f32, {1, n, 1, d}),
        value(Type::f32, {1, n, 1, d}),
        output(Type::f32, {1, n, 1, d}),
        log_sum_exp(Type::f32, {1, 1, n}) {
    input.query = fill(query, 1);
    input.key = fill(key, 2);
    input.value = fill(value, 3);
    input.logit_scale = 1;
    input.causal = causal;
    arguments.query = query.view();
    arguments.key = key.view();
    arguments.value = value.view();
    arguments.output = output.view();
    arguments.log_sum_exp = log_sum_exp.view();
    arguments.scale = 1;
    arguments.causal = causal ? 1 : 0;
    arguments.threads = 1;
  }
  Matrix fill(Tensor& tensor, Index stream) const {
    Matrix matrix(length, dim);
    for (Index i = 0; i < length; ++i)
      for (Index c = 0; c < dim; ++c) {
        // Multiples of 1/64, exact in f32.
        matrix(i, c) =
            static_cast<double>((i * 37 + c * 101 + stream * 53 + i * c) % 129 - 64) / 64;
        tensor.set({0, i, 0, c}, matrix(i, c));
      }
    return matrix;
  }
  /// |o - o'| <= (2 e + 2 t) max |v| to first order (Theorem 1 of
  /// proofs-notes/attention-tolerance.md with |v - o| <= 2 max |v|), doubled for the higher orders:
  /// e for the logit, d + 12 roundings of at most d + M; t for the weights, one rounding for each
  /// pair and 20 more. max |v| <= 1.
  double tolerance(double largest_bias, Index pairs) const {
    const double u = 0x1p-24;
    const double e =
        (static_cast<double>(dim) + 12) * u * (static_cast<double>(dim) + largest_bias);
    const double t = static_cast<double>(pairs + 20) * u;
    return 2 * (4 * e + 2 * t);
  }
  void expect(const reference::HeadOutput<double>& expected, double tolerance) {
    for (Index i = 0; i < length; ++i) {
      for (Index c = 0; c < dim; ++c)
        ASSERT_NEAR(output.get({0, i, 0, c}), expected.output(i, c), tolerance) << i << ", " << c;
      ASSERT_NEAR(log_sum_exp.get({0, 0, i}), expected.log_sum_exp[i], 8 * tolerance) << i;
    }
  }
};

TEST(CpuAttention, WindowIsThatOfTheReference) {
  for (const bool causal : {false, true})
    for (const Index radius : {0, 1, 5, 40, 200}) {
      Case test(150, 12, causal);
      Tensor slopes(Type::f32, {1, 1});
      slopes.set({0, 0}, 0.125);
      test.arguments.slopes = slopes.view();
      ASSERT_EQ(attention_forward(test.arguments, {false, static_cast<double>(radius) / 8}),
                PLSH_OK);
      SCOPED_TRACE(radius);
      test.expect(reference::windowed_alibi_attention<double>(test.input, 8.0, radius),
                  test.tolerance(150 * 0.125, 150));
    }
}

/// The partitions of one head, for the reference.
std::vector<Partition> partitions_of(const Sampled& drawn, Index samples) {
  std::vector<Partition> partitions;
  for (Index s = 0; s < samples; ++s) partitions.push_back(drawn.partition(0, s));
  return partitions;
}

// Groups of rows take turns on chunks of keys when what one of them sees does not fit the cache,
// and some enter a chunk after its first key.
TEST(CpuAttention, WideBlocksAreThoseOfTheReference) {
  Case test(1100, 64, false);
  const Sampled drawn(1100, {160.0}, 6, 3, 0);
  test.arguments.block_counts = drawn.counts.view();
  test.arguments.block_starts = drawn.starts.view();
  ASSERT_EQ(attention_forward(test.arguments, {}), PLSH_OK);
  test.expect(
      reference::sampled_attention_by_definition<double>(test.input, partitions_of(drawn, 6)),
      test.tolerance(0, 1100 * 6));
}

// The sums of weights and values pass what f32 holds although the outputs do not: such rows are
// computed by the definition, in double.
TEST(CpuAttention, RowsThatOverflowAreThoseOfTheReference) {
  constexpr double kLarge = 0x1p126;
  const Sampled drawn(150, {20.0}, 9, 5, 0);
  for (const bool causal : {false, true})
    for (const bool sampled : {false, true}) {
      SCOPED_TRACE(sampled ? "sampled" : "exact");
      Case test(150, 12, causal);
      test.arguments.scale = test.input.logit_scale = 0.25;
      Tensor slopes(Type::f32, {1, 1});
      slopes.set({0, 0}, 0.0625);
      if (sampled) {
        test.arguments.block_counts = drawn.counts.view();
        test.arguments.block_starts = drawn.starts.view();
      } else {
        test.arguments.slopes = slopes.view();
      }
      const auto expected =
          sampled ? reference::sampled_attention_by_definition<double>(test.input,
                                                                       partitions_of(drawn, 9))
                  : reference::windowed_alibi_attention<double>(test.input, 16.0, 150);
      for (Index i = 0; i < 150; ++i)
        for (Index c = 0; c < 12; ++c)
          test.value.set({0, i, 0, c}, kLarge * test.input.value(i, c));
      ASSERT_EQ(attention_forward(test.arguments, {}), PLSH_OK);
      for (Index i = 0; i < 150; ++i)
        for (Index c = 0; c < 12; ++c)
          test.output.set({0, i, 0, c}, test.output.get({0, i, 0, c}) / kLarge);
      test.expect(expected, test.tolerance(150 * 0.0625, 150 * 9));
    }
}

TEST(CpuAttention, SampleBySampleIsTheReference) {
  for (const bool causal : {false, true})
    for (const double sigma : {0.5, 6.0, 300.0}) {
      Case test(150, 12, causal);
      const Sampled drawn(150, {sigma}, 9, 5, 0);
      test.arguments.block_counts = drawn.counts.view();
      test.arguments.block_starts = drawn.starts.view();
      const auto expected =
          reference::sampled_attention_by_definition<double>(test.input, partitions_of(drawn, 9));
      for (const bool sample_by_sample : {false, true}) {
        ASSERT_EQ(attention_forward(test.arguments, {sample_by_sample}), PLSH_OK);
        SCOPED_TRACE(sigma);
        test.expect(expected, test.tolerance(0, 150 * 9));
      }
    }
}

}  // namespace
}  // namespace plsh::optimized::cpu
