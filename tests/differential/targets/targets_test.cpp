// plsh check passes on every instruction set that the optimized CPU code is compiled for and that
// this machine has, above all on the fallback, which no machine chooses by itself.
#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "../../cli/process.hpp"

namespace plsh::test {
namespace {

std::vector<std::string> names_of(std::int64_t targets) {
  std::vector<std::string> names;
  for (; targets != 0; targets &= targets - 1)
    names.emplace_back(hwy::TargetName(targets & -targets));
  return names;
}

class CpuTarget : public ::testing::TestWithParam<std::string> {};

TEST_P(CpuTarget, PassesTheCheck) {
  const auto out = std::filesystem::temp_directory_path() / ("plsh-target-" + GetParam());
  setenv("PLSH_CPU_TARGET", GetParam().c_str(), 1);
  const ProcessResult result =
      plsh({"check", "--quick", "--impl", PLSH_TARGETS_LIBRARY, "--out", out.string(), "--property",
            "exact-forward,exact-backward,sampled-forward,sampled-backward"});
  EXPECT_EQ(result.status, 0) << result.out << result.err;
  // The table is named after the target that runs.
  EXPECT_NE(result.out.find("\n" + GetParam() + " 1: "), std::string::npos) << result.out;
  std::filesystem::remove_all(out);
}

// The test is compiled for the same targets as the code.
INSTANTIATE_TEST_SUITE_P(Targets, CpuTarget,
                         ::testing::ValuesIn(names_of(HWY_TARGETS& hwy::SupportedTargets())),
                         [](const auto& test) { return test.param; });

TEST(CpuTargets, HoldTheFallback) {
  EXPECT_NE(HWY_TARGETS & (HWY_SCALAR | HWY_EMU128), 0);
  EXPECT_NE(hwy::SupportedTargets() & HWY_TARGETS & (HWY_SCALAR | HWY_EMU128), 0);
}

}  // namespace
}  // namespace plsh::test
