// A correct sampler is rejected no more often than the theorem allows: many runs of every
// statistical property of the sampler on correct samplers with other seeds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <plsh/properties/property.hpp>
#include <plsh/reference/sampling.hpp>

namespace plsh::properties {
namespace {

/// The reference's own draws behind the interface: its uniforms, and its binning rule in double.
/// Correct rounding and exact edges, which cost a hundred times more, change no law measurably.
int draw(const plsh_sampling* a) {
  const Index batch = a->block_counts->shape[0];
  const Index heads = a->block_counts->shape[1];
  const Index samples = a->block_counts->shape[2];
  auto* counts = static_cast<std::int64_t*>(a->block_counts->data);
  auto* starts = static_cast<std::int64_t*>(a->block_starts->data);
  const auto at = [](const DLTensor& tensor, Index b, Index h, Index s) {
    return b * tensor.strides[0] + h * tensor.strides[1] + s * tensor.strides[2];
  };
  for (Index b = 0; b < batch; ++b)
    for (Index h = 0; h < heads; ++h)
      for (Index s = 0; s < samples; ++s) {
        const double sigma = static_cast<const double*>(a->sigma->data)[h * a->sigma->strides[0]];
        const auto stream = static_cast<std::uint32_t>(b * heads + h);
        const reference::Uniforms u = reference::draw_uniforms(
            {a->seed, stream, static_cast<std::uint64_t>(a->first_sample + s)});
        const double w = -sigma * (std::log(u.first) + std::log(u.second));
        std::int64_t* row = starts + at(*a->block_starts, b, h, s);
        const Index step = a->block_starts->strides[3];
        Index count = 0;
        row[0] = 0;
        ++count;
        if (w <= 1) {
          for (; count < a->length; ++count) row[count * step] = count;
        } else {
          for (Index k = 0;; ++k) {
            const auto cut =
                static_cast<Index>(std::ceil(w * u.third + static_cast<double>(k) * w));
            if (cut >= a->length) break;
            row[count++ * step] = cut;
          }
        }
        counts[at(*a->block_counts, b, h, s)] = count;
      }
  return PLSH_OK;
}

Implementation correct_sampler() {
  static const plsh_implementation table = [] {
    plsh_implementation t{};
    t.interface_version = PLSH_INTERFACE_VERSION;
    t.struct_size = sizeof(plsh_implementation);
    t.name = "correct sampler";
    t.version = "1";
    t.device = {kDLCPU, 0};
    t.conventions.bin_precision = PLSH_BINS_F64;
    t.conventions.promises = PLSH_SAMPLE_OFFSETS;
    t.sample_partitions = draw;
    return t;
  }();
  return Implementation(&table);
}

/// P(X > k) for X binomial, by summation.
double binomial_tail_above(Index trials, double p, Index k) {
  double log_term = static_cast<double>(trials) * std::log1p(-p);
  double below = 0;
  for (Index x = 0; x <= k; ++x) {
    below += std::exp(log_term);
    log_term += std::log(static_cast<double>(trials - x) / static_cast<double>(x + 1)) +
                std::log(p) - std::log1p(-p);
  }
  return 1 - below;
}

TEST(FalseAlarms, BinomialTail) {
  EXPECT_NEAR(binomial_tail_above(3, 0.5, 1), 0.5, 1e-12);
  EXPECT_NEAR(binomial_tail_above(20'000, 1e-3, 20), 0.44, 0.01);
}

TEST(FalseAlarms, AreNoMoreFrequentThanTheTheoremAllows) {
  constexpr Index runs = 20'000;
  constexpr double alpha = 1e-3;
  // The smallest number of rejections that a sampler with rejection probability alpha exceeds with
  // probability at most 1e-6.
  Index allowed = 0;
  while (binomial_tail_above(runs, alpha, allowed) > 1e-6) ++allowed;
  EXPECT_EQ(allowed, 45);

  const Implementation implementation = correct_sampler();
  std::vector<const Property*> properties;
  for (const Property& candidate : catalogue())
    if (candidate.statistical && candidate.needs == std::vector{Operation::sample_partitions})
      properties.push_back(&candidate);
  ASSERT_GE(properties.size(), 14U);

  Budget budget;
  budget.log_threshold = -std::log(alpha);
  Index done = 0;
  Index rejected = 0;
  Index decisive = 0;
  std::map<std::string, Index> by_property;
  for (std::uint32_t seed = 1; done < runs; ++seed)
    for (const Property* property : properties)
      for (const Family& family : property->families) {
        // Long sequences cost as much as hundreds of short ones: a smaller share of the runs.
        Case parameters = family.generate()(rc::Random(seed), 10).value();
        parameters["seed"] = seed;
        const Index length = parameters.value("length", Index{96});
        if (length > 1000 && seed % (length > 50'000 ? 200 : 20) != 0) continue;
        budget.samples = 64;
        const Outcome outcome = run_case(*property, implementation, parameters, budget);
        ASSERT_NE(outcome.status, Outcome::Status::refused) << outcome.message;
        ASSERT_NE(outcome.status, Outcome::Status::unsuitable) << outcome.message;
        ++done;
        decisive += outcome.observations >= 1 ? 1 : 0;
        if (outcome.status == Outcome::Status::failed) {
          ++rejected;
          ++by_property[property->id + ": " + outcome.message];
        }
      }
  EXPECT_EQ(decisive, done);
  EXPECT_LE(rejected, allowed) << ::testing::PrintToString(by_property);
  RecordProperty("rejected", static_cast<int>(rejected));
}

// The same with enough samples to decide: nothing is rejected at the threshold of a default run.
TEST(FalseAlarms, NothingIsRejectedAtTheDefaultThreshold) {
  const Implementation implementation = correct_sampler();
  for (const Property& candidate : catalogue()) {
    if (!candidate.statistical || candidate.needs != std::vector{Operation::sample_partitions})
      continue;
    for (const Family& family : candidate.families) {
      Budget budget;
      budget.seconds = 0.2;
      const Case parameters = family.generate()(rc::Random(7), 10).value();
      const Outcome outcome = run_case(candidate, implementation, parameters, budget);
      EXPECT_NE(outcome.status, Outcome::Status::failed)
          << candidate.id << ' ' << family.name << ": " << outcome.message;
    }
  }
}

}  // namespace
}  // namespace plsh::properties
