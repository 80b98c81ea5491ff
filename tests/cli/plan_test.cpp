// `plsh plan`: the plan against the reference functions, and wrong use.
#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <plsh/reference/bounds.hpp>
#include <plsh/reference/kernel.hpp>
#include <plsh/reference/laws.hpp>
#include <plsh/reference/partition_law.hpp>
#include <plsh/reference/slopes.hpp>

#include "process.hpp"

namespace plsh::test {
namespace {

using nlohmann::json;
using reference::Index;
using reference::Interval;

json plan(const std::string& arguments) {
  const ProcessResult result = plsh(words("plan --json " + arguments));
  EXPECT_EQ(result.status, 0) << arguments << "\n" << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_LT(result.seconds, 30);
  return json::parse(result.out);
}

struct Request {
  const char* length;
  const char* sigma;
  const char* error;
  const char* confidence;
  const char* delta;  // 1 - confidence
  const char* norm;
};

std::string text(const Request& r) {
  return std::string("--length ") + r.length + " --sigma " + r.sigma + " --error " + r.error +
         " --confidence " + r.confidence + " --norm " + r.norm;
}

/// The proven bound of s masks in the unit of the plan, from the reference.
Interval bound(const Request& r, Index s) {
  const auto n = static_cast<Index>(std::stod(r.length));
  const auto sigma = reference::from_decimal<Interval>(r.sigma);
  const auto delta = reference::from_decimal<Interval>(r.delta);
  const std::string norm = r.norm;
  if (norm == "max") return reference::max_norm_bound(n, s, delta);
  if (norm == "spectral")
    return reference::spectral_bound(n, sigma, s, delta).total /
           reference::AlibiKernel<Interval>(n, sigma).spectral_norm();
  return Interval(2) * reference::exp(Interval(2)) *  // |logit| <= 1
         reference::row_relative_error_bound(n, sigma, s, delta);
}

class PlanTest : public testing::TestWithParam<Request> {};

TEST_P(PlanTest, SamplesAreTheFewestThatTheBoundProves) {
  const Request& r = GetParam();
  const json head = plan(text(r)).at("heads").at(0);
  const auto s = head.at("samples").get<Index>();
  const reference::PrecisionScope precision(60);
  const auto error = reference::from_decimal<Interval>(r.error);
  EXPECT_FALSE(reference::certainly_positive(Interval(bound(r, s) - error)));
  EXPECT_TRUE(s == 1 || reference::certainly_positive(Interval(bound(r, s - 1) - error)));
  EXPECT_NEAR(head.at("error_bound").get<double>(), reference::to_double(bound(r, s)), 1e-12);

  // The largest block: its bound is the least whole number that no width passes.
  const auto n = static_cast<Index>(std::stod(r.length));
  const Interval tail_at =
      reference::max_width_tail(Interval(head.at("largest_block").get<Index>()),
                                reference::from_decimal<Interval>(r.sigma), s);
  const auto delta = reference::from_decimal<Interval>(r.delta);
  EXPECT_TRUE(head.at("largest_block") == n ||
              !reference::certainly_positive(Interval(tail_at - delta)));

  // Expected pairs.
  const double total = reference::to_double(
      reference::AlibiKernel<Interval>(n, reference::from_decimal<Interval>(r.sigma)).total());
  EXPECT_NEAR(head.at("pairs_expected").get<double>() / (static_cast<double>(s) * total), 1, 1e-12);
  EXPECT_NEAR(
      head.at("pairs_bound").get<double>() / (static_cast<double>(s) * static_cast<double>(n) *
                                              head.at("largest_block").get<double>()),
      1, 1e-12);
}

INSTANTIATE_TEST_SUITE_P(All, PlanTest,
                         testing::Values(Request{"100000", "8", "0.1", "0.99", "0.01", "spectral"},
                                         Request{"1e12", "8", "0.05", "0.999", "0.001", "spectral"},
                                         Request{"1e12", "0.3", "0.5", "0.9", "0.1", "spectral"},
                                         Request{"64", "1e6", "0.9", "0.5", "0.5", "spectral"},
                                         Request{"1000", "4", "0.1", "0.9", "0.1", "max"},
                                         Request{"1e12", "1e5", "1e-6", "0.999999999",
                                                 "0.000000001", "max"},
                                         Request{"2", "4", "0.99", "0.01", "0.99", "max"},
                                         Request{"1000", "4", "0.5", "0.9", "0.1", "output"},
                                         Request{"1e12", "16", "0.1", "0.99", "0.01", "output"}));

TEST(PlanTest, OnePositionNeedsOneMask) {
  for (const char* norm : {"max", "spectral", "output"}) {
    const json head =
        plan(std::string("--length 1 --sigma 4 --error 0.1 --confidence 0.9 --norm ") + norm)
            .at("heads")
            .at(0);
    EXPECT_EQ(head.at("samples"), 1) << norm;
    EXPECT_EQ(head.at("largest_block"), 1) << norm;
    EXPECT_EQ(head.at("window_radius"), 0) << norm;
  }
}

TEST(PlanTest, BlocksPerMaskAreTheMeanOfTheExactLaw) {
  const json head = plan("--length 16 --sigma 4 --error 0.5 --confidence 0.9").at("heads").at(0);
  const double mean = reference::PartitionLaw(16).expectation<double>(
      4.0, [](const reference::Partition& p) { return static_cast<double>(p.block_count()); });
  EXPECT_NEAR(head.at("expected_blocks_per_mask").get<double>(), mean, 1e-12);
  EXPECT_NEAR(head.at("partition_bytes_expected").get<double>(),
              8 * mean * head.at("samples").get<double>(), 1e-6);
}

/// L* outside the window, n = 40.
Eigen::MatrixXd outside_window(Index n, double sigma, Index radius) {
  Eigen::MatrixXd result(n, n);
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < n; ++j)
      result(i, j) =
          std::abs(i - j) > radius ? std::exp(-static_cast<double>(std::abs(i - j)) / sigma) : 0;
  return result;
}

TEST(PlanTest, TheWindowHasTheErrorItStatesAndItsPairsAreCounted) {
  const Index n = 40;
  const double sigma = 5;
  for (const bool causal : {false, true})
    for (const std::string norm : {"max", "spectral", "output"}) {
      SCOPED_TRACE(norm);
      const json head = plan("--length 40 --sigma 5 --error 0.3 --confidence 0.9 --norm " + norm +
                             (causal ? " --causal" : ""))
                            .at("heads")
                            .at(0);
      const auto radius = head.at("window_radius").get<Index>();
      double pairs = 0;
      double dense = 0;
      for (Index i = 0; i < n; ++i)
        for (Index j = 0; j < (causal ? i + 1 : n); ++j) {
          dense += 1;
          pairs += std::abs(i - j) <= radius ? 1 : 0;
        }
      EXPECT_EQ(head.at("window_pairs").get<double>(), pairs);
      EXPECT_EQ(head.at("dense_pairs").get<double>(), dense);

      const Eigen::MatrixXd cut = outside_window(n, sigma, radius);
      const Eigen::MatrixXd all = outside_window(n, sigma, -1);
      if (norm == "max") {
        EXPECT_LE(cut.maxCoeff(), 0.3);
        EXPECT_GT(outside_window(n, sigma, radius - 1).maxCoeff(), 0.3);
      } else if (norm == "spectral") {
        const auto spectral = [](const Eigen::MatrixXd& m) {
          return Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(m)
              .eigenvalues()
              .cwiseAbs()
              .maxCoeff();
        };
        EXPECT_LE(spectral(cut), 0.3 * spectral(all));
        EXPECT_LT(radius, n - 1);
      } else {
        const Eigen::VectorXd share = cut.rowwise().sum().cwiseQuotient(all.rowwise().sum());
        EXPECT_LE(2 * std::exp(2.0) * share.maxCoeff(), 0.3);
        EXPECT_LT(radius, n - 1);
      }
    }
}

TEST(PlanTest, HeadsShareTheFailureProbabilityAndAddUp) {
  const json object = plan("--length 4096 --heads 8 --error 0.5 --confidence 0.9 --head-dim 32");
  EXPECT_EQ(object.at("delta_per_head"), "1/80");
  ASSERT_EQ(object.at("heads").size(), 8u);
  Index samples = 0;
  double pairs = 0;
  for (std::size_t h = 0; h < 8; ++h) {
    const json& head = object.at("heads")[h];
    EXPECT_EQ(std::stod(head.at("sigma").get<std::string>()),
              std::exp2(static_cast<double>(h + 1)));
    samples += head.at("samples").get<Index>();
    pairs += head.at("pairs_expected").get<double>();
    EXPECT_EQ(head.at("tensor_bytes"), 4.0 * 4 * 4096 * 32);
    EXPECT_DOUBLE_EQ(head.at("operations_expected").get<double>(),
                     4 * 32 * head.at("pairs_expected").get<double>());
    // One head alone at a confidence of 1 - 1/80 needs as many.
    const json alone = plan("--length 4096 --sigma " + head.at("sigma").get<std::string>() +
                            " --error 0.5 --confidence 0.9875");
    EXPECT_EQ(alone.at("heads").at(0).at("samples"), head.at("samples"));
  }
  EXPECT_EQ(object.at("totals").at("samples"), samples);
  EXPECT_DOUBLE_EQ(object.at("totals").at("pairs_expected").get<double>(), pairs);
}

TEST(PlanTest, TheTextStatesWhatItMeansAndWhatItDoesNot) {
  const ProcessResult result =
      plsh(words("plan --length 100000 --sigma 8 --error 0.1 --confidence 0.99"));
  EXPECT_EQ(result.status, 0);
  const json head =
      plan("--length 100000 --sigma 8 --error 0.1 --confidence 0.99").at("heads").at(0);
  for (const std::string& part :
       {std::string("||L* - M~|| <= 0.1 ||L*||"), std::string("0.99"), std::string("window"),
        std::string("proven"), std::to_string(head.at("samples").get<Index>())})
    EXPECT_NE(result.out.find(part), std::string::npos) << part;
}

TEST(PlanTest, TheExamplesInTheHelpWork) {
  const std::string help = plsh({"plan", "--help"}).out;
  int examples = 0;
  for (std::size_t at = help.find("\n  plsh plan "); at != std::string::npos;
       at = help.find("\n  plsh plan ", at + 1)) {
    const std::size_t begin = at + std::string("\n  plsh ").size();
    const ProcessResult result = plsh(words(help.substr(begin, help.find('\n', begin) - begin)));
    EXPECT_EQ(result.status, 0) << result.err;
    ++examples;
  }
  EXPECT_GE(examples, 3);
}

// ---- wrong use -------------------------------------------------------------------------------

struct WrongUse {
  std::string arguments;
  std::string message;
};

class PlanWrongUseTest : public testing::TestWithParam<WrongUse> {};

TEST_P(PlanWrongUseTest, GivesOneClearLineAndStatusTwo) {
  const ProcessResult result = plsh(words("plan " + GetParam().arguments));
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_NE(result.err.find(GetParam().message), std::string::npos) << result.err;
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  EXPECT_EQ(result.err.rfind("plsh plan: ", 0), 0u) << result.err;
}

INSTANTIATE_TEST_SUITE_P(
    All, PlanWrongUseTest,
    testing::Values(
        WrongUse{"", "--length"}, WrongUse{"--length 9 --error .1 --confidence .9", "--sigma"},
        WrongUse{"--length 9 --sigma 4 --heads 8 --error .1 --confidence .9", "--heads"},
        WrongUse{"--length 9 --sigma 4 --confidence .9", "--error"},
        WrongUse{"--length 9 --sigma 4 --error .1", "--confidence"},
        WrongUse{"--length 0 --sigma 4 --error .1 --confidence .9", "--length: 0 is out of range"},
        WrongUse{"--length 1e13 --sigma 4 --error .1 --confidence .9", "1 to 1e12"},
        WrongUse{"--length 9.5 --sigma 4 --error .1 --confidence .9", "--length: \"9.5\""},
        WrongUse{"--length 9 --sigma 0 --error .1 --confidence .9", "--sigma: 0 is out of range"},
        WrongUse{"--length 9 --sigma -4 --error .1 --confidence .9", "--sigma: -4 is out of range"},
        WrongUse{"--length 9 --sigma nan --error .1 --confidence .9", "--sigma: \"nan\""},
        WrongUse{"--length 9 --sigma inf --error .1 --confidence .9", "--sigma: \"inf\""},
        WrongUse{"--length 9 --sigma 12abc --error .1 --confidence .9", "--sigma: \"12abc\""},
        WrongUse{"--length 9 --sigma 4 --error 0 --confidence .9", "--error: 0 is out of range"},
        WrongUse{"--length 9 --sigma 4 --error 1 --confidence .9", "above 0 and below 1"},
        WrongUse{"--length 9 --sigma 4 --error .1 --confidence 1",
                 "--confidence: 1 is out of range"},
        WrongUse{"--length 9 --sigma 4 --error .1 --confidence 0",
                 "--confidence: 0 is out of range"},
        WrongUse{"--length 9 --sigma 4 --error .1 --confidence 90%", "--confidence: \"90%\""},
        WrongUse{"--length 9 --sigma 4 --error 1e-12 --confidence .9", "10^15"},
        WrongUse{"--length 9 --sigma 4 --error .1 --confidence .9 --norm frobenius",
                 "max, spectral, output"},
        WrongUse{"--length 9 --heads 0 --error .1 --confidence .9", "--heads: 0 is out of range"},
        WrongUse{"--length 9 --heads 1e9 --error .1 --confidence .9", "1 to 256"},
        WrongUse{"--length 9 --sigma 4 --error .1 --confidence .9 --head-dim 0", "--head-dim: 0"},
        WrongUse{"--length 1e9 --sigma 1e6 --error .1 --confidence .9 --norm output",
                 "sigma = 1e6"},
        WrongUse{"--length 9 --sigma 4 --error .1 --confidence .9 --cheap", "--cheap"}));

}  // namespace
}  // namespace plsh::test
