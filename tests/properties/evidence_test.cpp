// E-values: the guarantee is checked exactly, by summing over all sequences of outcomes.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <plsh/properties/evidence.hpp>
#include <plsh/reference/partition_law.hpp>
#include <plsh/reference/sampling.hpp>

namespace plsh::properties {
namespace {

using namespace reference;

/// E[exp(log e-value)] under the law, over all sequences of `steps` outcomes.
double expected_e_value(const std::vector<double>& law, int steps,
                        const std::function<double(const std::vector<Index>&)>& log_e_value) {
  double sum = 0;
  std::vector<Index> outcomes;
  const std::function<void(double)> visit = [&](double probability) {
    if (static_cast<int>(outcomes.size()) == steps) {
      sum += probability * std::exp(log_e_value(outcomes));
      return;
    }
    for (std::size_t x = 0; x < law.size(); ++x) {
      if (law[x] == 0) continue;
      outcomes.push_back(static_cast<Index>(x));
      visit(probability * law[x]);
      outcomes.pop_back();
    }
  };
  visit(1);
  return sum;
}

// Sums of at most 3^6 products of a few factors: far fewer than 10^4 roundings.
constexpr double rounding = 1e4 * 0x1p-53;

TEST(KnownLawEvidence, HasMeanOneUnderTheLaw) {
  const std::vector<double> law{0.5, 0.3, 0.2};
  const std::vector<std::vector<double>> alternatives{{0.4, 0.4, 0.2}, {0.6, 0.2, 0.2}};
  const double mean = expected_e_value(law, 6, [&](const std::vector<Index>& outcomes) {
    KnownLawEvidence evidence(law, alternatives);
    for (const Index x : outcomes) evidence.observe(x);
    return evidence.log_e_value();
  });
  EXPECT_NEAR(mean, 1, rounding);
  // A statistic that is no e-value is told apart: the law it bets against is not the law that
  // holds.
  const double wrong =
      expected_e_value({0.4, 0.4, 0.2}, 6, [&](const std::vector<Index>& outcomes) {
        KnownLawEvidence evidence(law, alternatives);
        for (const Index x : outcomes) evidence.observe(x);
        return evidence.log_e_value();
      });
  EXPECT_GT(wrong, 1 + 100 * rounding);
}

TEST(KnownLawEvidence, AnImpossibleOutcomeRefutesAtOnce) {
  KnownLawEvidence evidence({0.5, 0.5, 0.0}, {});
  evidence.observe(0);
  EXPECT_LT(evidence.log_e_value(), 1);
  evidence.observe(2);
  EXPECT_EQ(evidence.log_e_value(), std::numeric_limits<double>::infinity());
  KnownLawEvidence unlisted({1.0}, {});
  unlisted.observe(-1);
  EXPECT_EQ(unlisted.log_e_value(), std::numeric_limits<double>::infinity());
}

TEST(ExceedanceEvidence, HasMeanAtMostOneWhereTheProbabilityIsAtMostDelta) {
  const auto mean_at = [](double p) {
    return expected_e_value({1 - p, p}, 8, [](const std::vector<Index>& outcomes) {
      ExceedanceEvidence evidence(0.1);
      for (const Index x : outcomes) evidence.observe(x == 1);
      return evidence.log_e_value();
    });
  };
  EXPECT_NEAR(mean_at(0.1), 1, rounding);
  EXPECT_LT(mean_at(0.05), 1);
  EXPECT_GT(mean_at(0.2), 1);
}

TEST(MeanOneEvidence, HasMeanOne) {
  const std::vector<double> values{0, 0.5, 4};
  const std::vector<double> law{0.5, 0.32, 0.18};  // mean 0.88
  const std::vector<double> fair{0.4, 0.4, 0.2};   // mean 1
  const auto mean_under = [&](const std::vector<double>& p) {
    return expected_e_value(p, 6, [&](const std::vector<Index>& outcomes) {
      MeanOneEvidence evidence;
      for (const Index x : outcomes) evidence.observe(values[static_cast<std::size_t>(x)]);
      return evidence.log_e_value();
    });
  };
  EXPECT_NEAR(mean_under(fair), 1, rounding);
  EXPECT_LT(mean_under(law), 1);
  EXPECT_GT(mean_under({0.3, 0.4, 0.3}), 1);
}

TEST(LogMeanExp, IsTheLogarithmOfTheAverage) {
  EXPECT_DOUBLE_EQ(log_mean_exp({std::log(1.0), std::log(3.0)}), std::log(2.0));
  EXPECT_DOUBLE_EQ(log_mean_exp({-2000, -2000}), -2000);
  EXPECT_EQ(log_mean_exp({0, std::numeric_limits<double>::infinity()}),
            std::numeric_limits<double>::infinity());
  EXPECT_THROW(log_mean_exp({}), std::invalid_argument);
}

/// How many samples of n = 8, sigma = 4 until the e-value passes 1e9; 0 when it does not by
/// `limit`.
Index samples_until_refuted(const std::function<Binning(const Uniforms&)>& draw, Index limit) {
  const PartitionLaw law(8);
  const Vector<double> p = law.probabilities(4.0);
  KnownLawEvidence evidence({p.begin(), p.end()}, {});
  for (Index k = 0; k < limit; ++k) {
    const Uniforms u = draw_uniforms({2026, 0, static_cast<std::uint64_t>(k)});
    evidence.observe(law.find(partition_of(8, draw(u))));
    if (evidence.log_e_value() >= std::log(1e9)) return k + 1;
  }
  return 0;
}

TEST(KnownLawEvidence, FindsWrongSamplersSoon) {
  const auto gamma2 = [](const Uniforms& u) {
    return -4 * (std::log(u.first) + std::log(u.second));
  };
  const auto found_within = [](Index found, Index limit) { return found > 0 && found <= limit; };
  EXPECT_TRUE(found_within(samples_until_refuted(
                               [&](const Uniforms& u) {
                                 return Binning{gamma2(u), u.third};
                               },
                               500),
                           500))
      << "u on [0, 1)";
  EXPECT_TRUE(found_within(samples_until_refuted(
                               [&](const Uniforms& u) {
                                 return Binning{gamma2(u), 0};
                               },
                               1000),
                           1000))
      << "u = 0";
  EXPECT_TRUE(found_within(samples_until_refuted(
                               [&](const Uniforms& u) {
                                 const double w = -8 * std::log(u.first);
                                 return Binning{w, w * u.third};
                               },
                               20'000),
                           20'000))
      << "exponential widths of the same mean";
  // The honest sampler stays unrefuted: false alarm probability 1e-9 for this seed and any other.
  EXPECT_EQ(samples_until_refuted(
                [&](const Uniforms& u) {
                  const double w = gamma2(u);
                  return Binning{w, w * u.third};
                },
                20'000),
            0);
}

}  // namespace
}  // namespace plsh::properties
