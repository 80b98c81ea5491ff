// The audit has teeth: each planted fault replaces one ingredient of the method, and the check of a
// named claim must reject it. The honest ingredients must pass every claim.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <plsh/properties/audit.hpp>
#include <plsh/reference/bounds.hpp>
#include <plsh/reference/kernel.hpp>
#include <plsh/reference/laws.hpp>
#include <plsh/reference/slopes.hpp>

namespace plsh::properties {
namespace {

using namespace reference;

struct Fault {
  std::string name;
  std::string what;
  std::string claim;  ///< whose check must reject it
  std::function<void(Subject&)> plant;
  Effort effort = Effort::quick;  ///< the smallest at which it is found
};

/// What GoogleTest prints for a fault.
void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.what; }

/// A sampler with another law of the width or shift, cut exactly.
Fault binning_fault(const std::string& name, const std::string& what, const std::string& claim,
                    std::function<Binning(const Uniforms&, double sigma)> draw) {
  return {name, what, claim, [draw = std::move(draw)](Subject& subject) {
            subject.sample = [draw](Index length, double sigma, const SampleId& id) {
              return partition_of(length, draw(draw_uniforms(id), sigma));
            };
          }};
}

double gamma2(const Uniforms& u, double sigma) {
  return -sigma * (std::log(u.first) + std::log(u.second));
}

/// Blocks are the runs of equal labels.
Partition runs_of(Index length, const std::function<Index(Index)>& label) {
  std::vector<Index> starts{0};
  for (Index i = 1; i < length; ++i)
    if (label(i) != label(i - 1)) starts.push_back(i);
  return {length, std::move(starts)};
}

/// A fault in the samples' identity: the same law, the wrong draws.
Fault stream_fault(const std::string& name, const std::string& what, const std::string& claim,
                   std::function<std::uint64_t(std::uint64_t)> map) {
  return {name, what, claim, [map = std::move(map)](Subject& subject) {
            subject.sample = [map, honest = subject.sample](Index length, double sigma,
                                                            SampleId id) {
              id.sample = map(id.sample);
              return honest(length, sigma, id);
            };
          }};
}

std::vector<Fault> faults() {
  std::vector<Fault> all{
      binning_fault("GammaShape1", "w exponential with the same mean", "C1",
                    [](const Uniforms& u, double sigma) {
                      const double w = -2 * sigma * std::log(u.first);
                      return Binning{w, w * u.third};
                    }),
      binning_fault("GammaShape1SameScale", "w ~ Gamma(1, sigma)", "C1",
                    [](const Uniforms& u, double sigma) {
                      const double w = -sigma * std::log(u.first);
                      return Binning{w, w * u.third};
                    }),
      binning_fault("OneUniformTwice", "w = -2 sigma ln U: one uniform used twice", "C1",
                    [](const Uniforms& u, double sigma) {
                      const double w = gamma2({u.first, u.first, u.third}, sigma);
                      return Binning{w, w * u.third};
                    }),
      binning_fault("ShiftOnUnitInterval", "u uniform on [0, 1) instead of [0, w)", "C1",
                    [](const Uniforms& u, double sigma) {
                      return Binning{gamma2(u, sigma), u.third};
                    }),
      binning_fault("NoShift", "u = 0", "C1",
                    [](const Uniforms& u, double sigma) {
                      return Binning{gamma2(u, sigma), 0};
                    }),
      binning_fault("HalfShift", "u on half the bin", "C1",
                    [](const Uniforms& u, double sigma) {
                      const double w = gamma2(u, sigma);
                      return Binning{w, w * u.third / 2};
                    }),
      binning_fault("ShiftTiedToWidth", "one uniform drives both w and u", "C1",
                    [](const Uniforms& u, double sigma) {
                      const double w = gamma2(u, sigma);
                      return Binning{w, w * u.first};
                    }),
      binning_fault("IntegerWidths", "w rounded up to an integer", "C1",
                    [](const Uniforms& u, double sigma) {
                      const double w = std::ceil(gamma2(u, sigma));
                      return Binning{w, w * u.third};
                    }),
      binning_fault("ScaleOff20Percent", "sigma 20% too large", "C1",
                    [](const Uniforms& u, double sigma) {
                      const double w = gamma2(u, 1.2 * sigma);
                      return Binning{w, w * u.third};
                    }),
      binning_fault("SlopeForSigma", "the slope 1/sigma used as the scale", "C1",
                    [](const Uniforms& u, double sigma) {
                      const double w = gamma2(u, 1 / sigma);
                      return Binning{w, w * u.third};
                    }),
      {"TruncForFloor", "truncation towards zero instead of floor: bin -1 merges with bin 0", "C1",
       [](Subject& subject) {
         subject.sample = [](Index length, double sigma, const SampleId& id) {
           const Binning b = draw_binning(id, sigma);
           return runs_of(length, [b](Index i) {
             return static_cast<Index>(std::trunc((static_cast<double>(i) - b.shift) / b.width));
           });
         };
       }},
      {"IndependentCuts", "a cut before each position with probability 1 - rho: the right mean",
       "C5",
       [](Subject& subject) {
         subject.sample = [](Index length, double sigma, const SampleId& id) {
           std::vector<Index> starts{0};
           const double cut = -std::expm1(-1 / sigma);
           for (Index i = 1; i < length; ++i) {
             const SampleId coin{id.seed + 77, id.head,
                                 id.sample * 1'000'000 + static_cast<std::uint64_t>(i)};
             if (draw_uniforms(coin).first < cut) starts.push_back(i);
           }
           return Partition(length, std::move(starts));
         };
       }},
      binning_fault("WidthsCapped", "widths capped at 4 sigma", "C5",
                    [](const Uniforms& u, double sigma) {
                      const double w = std::min(gamma2(u, sigma), 4 * sigma);
                      return Binning{w, w * u.third};
                    }),
      stream_fault("AllSamplesEqual", "all samples of a call are the same draw", "C3",
                   [](std::uint64_t k) { return k / 1024 * 1024; }),
      stream_fault("AllSamplesEqualMaxNorm", "the same fault, seen by another claim", "C4",
                   [](std::uint64_t k) { return k / 1024 * 1024; }),
      stream_fault("SamplesInPairs", "each draw used eight times: the mean right, the spread not",
                   "C9", [](std::uint64_t k) { return k / 8 * 8; }),
      {"SlopesForDecayLengths", "heads use the slope where sigma belongs", "C1",
       [](Subject& subject) { subject.decay_lengths = alibi_slopes; }},
      {"BinsModulo4", "bin numbers kept modulo 4: far blocks join", "C2",
       [](Subject& subject) {
         subject.bin_of = [](Index position, const Binning& binning) {
           return Integer(((bin_of(position, binning) % 4) + 4) % 4);
         };
       }},
      {"BinsInSinglePrecision", "bins computed in float: edges move", "C2",
       [](Subject& subject) {
         subject.bin_of = [](Index position, const Binning& binning) {
           const float x = (static_cast<float>(position) - static_cast<float>(binning.shift)) /
                           static_cast<float>(binning.width);
           return Integer(std::floor(x));
         };
       }},
      {"KernelSquared", "L* = exp(-2 d / sigma)", "C1",
       [](Subject& subject) {
         subject.kernel = [](Index distance, const Interval& sigma) {
           return AlibiKernel<Interval>(2 * distance + 1, sigma).at_distance(2 * distance);
         };
       }},
      {"ExponentialTail", "quantile of an exponential width: sigma ln(s/delta)", "C5",
       [](Subject& subject) {
         subject.width_quantile = [](double delta, double sigma, Index samples) {
           return sigma * std::log(static_cast<double>(samples) / delta);
         };
       }},
      {"CostWithoutDiagonal", "expected pairs without the diagonal", "C6",
       [](Subject& subject) {
         subject.expected_pairs = [](Index length, const Interval& sigma) {
           return Interval(AlibiKernel<Interval>(length, sigma).total() - Interval(length));
         };
       }},
      {"CountsIn8Bits", "hits counted in 8 bits wrap at 256", "C12",
       [](Subject& subject) {
         subject.counts = [](std::span<const Partition> samples) {
           Matrix<Index> counts = co_occurrence_counts(samples);
           for (Index e = 0; e < counts.size(); ++e) counts.data()[e] %= 256;
           return counts;
         };
       }},
      {"MasksOred", "masks joined by OR instead of counted", "C12",
       [](Subject& subject) {
         subject.counts = [](std::span<const Partition> samples) {
           const auto s = static_cast<Index>(samples.size());
           return Matrix<Index>(co_occurrence_counts(samples).cwiseMin(1) * s);
         };
       }},
      {"OutputsAveraged", "outputs of the samples averaged instead of pooled", "C6",
       [](Subject& subject) {
         subject.sampled_attention = [](const HeadInput<double>& input,
                                        std::span<const Partition> samples) {
           HeadOutput<double> sum = sampled_attention_by_blocks(input, samples.first(1));
           for (std::size_t k = 1; k < samples.size(); ++k)
             sum.output += sampled_attention_by_blocks(input, samples.subspan(k, 1)).output;
           sum.output /= static_cast<double>(samples.size());
           return sum;
         };
       }},
      {"LastSampleLost", "the last sample is left out", "C6",
       [](Subject& subject) {
         subject.sampled_attention = [](const HeadInput<double>& input,
                                        std::span<const Partition> samples) {
           return sampled_attention_by_blocks(input, samples.first(samples.size() - 1));
         };
       }},
      {"NaNInOneRow", "one output is NaN", "C6",
       [](Subject& subject) {
         subject.sampled_attention = [](const HeadInput<double>& input,
                                        std::span<const Partition> samples) {
           auto result = sampled_attention_by_blocks(input, samples);
           result.output(result.output.rows() - 1, 0) = std::nan("");
           return result;
         };
       }},
      {"NaNForManyInputs", "the same fault, seen by another claim", "C7",
       [](Subject& subject) {
         subject.sampled_attention = [](const HeadInput<double>& input,
                                        std::span<const Partition> samples) {
           auto result = sampled_attention_by_blocks(input, samples);
           result.output(0, 0) = std::nan("");
           return result;
         };
       }},
      {"HalfTheOutputBound", "the constant 1 in place of 2", "C8",
       [](Subject& subject) {
         subject.output_error_bound = [](const HeadInput<Interval>& input, const Interval& sigma,
                                         const Matrix<Interval>& weights) {
           Vector<Interval> bound = output_error_bound(input, sigma, weights);
           for (Interval& b : bound) b /= Interval(2);
           return bound;
         };
       }},
      {"WiderOfTwoDraws", "of two draws the wider is kept", "C13",
       [](Subject& subject) {
         subject.sample = [](Index length, double sigma, SampleId id) {
           const Binning first = draw_binning(id, sigma);
           id.seed += 77;
           const Binning second = draw_binning(id, sigma);
           return partition_of(length, first.width > second.width ? first : second);
         };
       }},
  };
  // A small fault asks for more samples than a quick audit draws.
  all.push_back(binning_fault("ScaleOff5Percent", "sigma 5% too large", "C1",
                              [](const Uniforms& u, double sigma) {
                                const double w = gamma2(u, 1.05 * sigma);
                                return Binning{w, w * u.third};
                              }));
  all.back().effort = Effort::standard;
  return all;
}

std::string data_file() {
  return std::string(PLSH_SOURCE_DIR) + "/properties/data/smollm2-135m-qkv.safetensors";
}

AuditReport audit(const Subject& subject, std::vector<std::string> claims,
                  Effort effort = Effort::quick) {
  AuditOptions options;
  options.claims = std::move(claims);
  options.effort = effort;
  options.data = data_file();
  options.threads = 1;
  return run_audit(options, subject);
}

class PlantedFault : public ::testing::TestWithParam<Fault> {};

TEST_P(PlantedFault, IsRejected) {
  const Fault& fault = GetParam();
  Subject subject = reference_subject();
  fault.plant(subject);
  const AuditReport report = audit(subject, {fault.claim}, fault.effort);
  const ClaimReport& claim = report.claims.front();
  const std::string evidence =
      claim.log_e_value ? fmt::format(", e-value 10^{:.1f}", *claim.log_e_value / std::log(10.0))
                        : "";
  fmt::print("{:<24} {:<66} {} {}{}\n", fault.name, fault.what, fault.claim,
             to_string(claim.verdict), evidence);
  EXPECT_EQ(claim.verdict, Verdict::refuted);
  ASSERT_TRUE(claim.counterexample.has_value());
  EXPECT_FALSE(claim.counterexample->empty());
  fmt::print("    {}\n", *claim.counterexample);
  EXPECT_TRUE(report.any_refuted());
}

INSTANTIATE_TEST_SUITE_P(Audit, PlantedFault, ::testing::ValuesIn(faults()),
                         [](const auto& test) { return test.param.name; });

TEST(Audit, HonestIngredientsPassEveryClaim) {
  const AuditReport report = audit(reference_subject(), {});
  ASSERT_EQ(report.claims.size(), claims().size());
  for (const ClaimReport& claim : report.claims) {
    if (claim.claim.audited) {
      EXPECT_TRUE(claim.verdict == Verdict::certified || claim.verdict == Verdict::consistent)
          << claim.claim.id << ' ' << to_string(claim.verdict);
      EXPECT_FALSE(claim.evidence.empty());
      EXPECT_FALSE(claim.counterexample.has_value());
    } else {
      EXPECT_EQ(claim.verdict, Verdict::not_audited);
    }
  }
  EXPECT_FALSE(report.any_refuted());
  EXPECT_TRUE(report.any_decided());
}

TEST(Audit, EquivalentSamplersPass) {
  // round for floor has the same law of the masks, as has a shift of the opposite sign: neither is
  // a fault, and rejecting one would be.
  Subject subject = reference_subject();
  subject.sample = [](Index length, double sigma, const SampleId& id) {
    const Binning b = draw_binning(id, sigma);
    return partition_of(length, {b.width, b.shift - b.width / 2});  // floor(x + 1/2)
  };
  EXPECT_EQ(audit(subject, {"C1"}).claims.front().verdict, Verdict::certified);
  subject.sample = [](Index length, double sigma, const SampleId& id) {
    const Binning b = draw_binning(id, sigma);
    return partition_of(length, {b.width, -b.shift});
  };
  EXPECT_EQ(audit(subject, {"C1"}).claims.front().verdict, Verdict::certified);
}

TEST(Audit, EveryAuditedClaimRejectsAFault) {
  for (const Claim& claim : claims()) {
    bool rejects = false;
    for (const Fault& fault : faults()) rejects = rejects || fault.claim == claim.id;
    EXPECT_EQ(rejects, claim.audited) << claim.id;
  }
}

}  // namespace
}  // namespace plsh::properties
