// The optimized CPU code under sanitizers: nothing is reported without a fault, and the faults that
// are planted for them are.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <ostream>
#include <string>

#include "../../cli/process.hpp"
#include "faults.hpp"

namespace plsh::test {
namespace {

struct Sanitizer {
  std::string name;
  std::string library;
  std::string runtime;
};
std::ostream& operator<<(std::ostream& out, const Sanitizer& sanitizer) {
  return out << sanitizer.name;
}

/// Every operation, with strides of all kinds and on several threads; sequences of all lengths.
const std::string properties =
    "slopes,bins,partition.valid,mask.multiples,sampler.threads,"
    "exact-forward.threads,exact-backward.threads,sampled-forward.threads,sampled-backward.threads,"
    "exact-forward.layouts,exact-backward.layouts,sampled-forward.layouts,sampled-backward.layouts,"
    "exact-forward.variable-lengths,exact-backward.variable-lengths,"
    "sampled-forward.variable-lengths,sampled-backward.variable-lengths";

const Sanitizer address{"address", PLSH_ADDRESS_LIBRARY, PLSH_ADDRESS_RUNTIME};
const Sanitizer thread{"thread", PLSH_THREAD_LIBRARY, PLSH_THREAD_RUNTIME};

ProcessResult check(const Sanitizer& sanitizer, const std::string& fault) {
  const auto out = std::filesystem::temp_directory_path() / ("plsh-" + sanitizer.name + fault);
  setenv("LD_PRELOAD", sanitizer.runtime.c_str(), 1);
  // A report must end the process, or the case would pass.
  setenv("TSAN_OPTIONS", "halt_on_error=1:exitcode=66", 1);
  setenv("PLSH_CPU_FAULT", fault.c_str(), 1);
  ProcessResult result = plsh({"check", "--quick", "--fail-fast", "--impl", sanitizer.library,
                               "--property", properties, "--out", out.string()});
  unsetenv("LD_PRELOAD");
  unsetenv("PLSH_CPU_FAULT");
  std::filesystem::remove_all(out);
  return result;
}

class CpuSanitizer : public ::testing::TestWithParam<Sanitizer> {};

TEST_P(CpuSanitizer, ReportsNothingWithoutAFault) {
  const ProcessResult result = check(GetParam(), "");
  EXPECT_EQ(result.status, 0) << result.out << result.err;
}

INSTANTIATE_TEST_SUITE_P(Check, CpuSanitizer, ::testing::Values(address, thread),
                         [](const auto& test) { return test.param.name; });

void expect_found(const Sanitizer& sanitizer, const std::string& found_by,
                  const std::string& report) {
  bool planted = false;
  for (const PlantedFault& fault : planted_faults) {
    if (fault.found_by != found_by) continue;
    planted = true;
    const ProcessResult result = check(sanitizer, std::string(fault.name));
    EXPECT_EQ(result.status, 1) << result.out << result.err;
    EXPECT_NE(result.out.find(report), std::string::npos) << result.out;
  }
  EXPECT_TRUE(planted);
}

TEST(CpuSanitizerFault, IsFoundByAddressSanitizer) {
  expect_found(address, "AddressSanitizer", "AddressSanitizer");
}
TEST(CpuSanitizerFault, IsFoundByUndefinedBehaviorSanitizer) {
  expect_found(address, "UndefinedBehaviorSanitizer", "runtime error");
}
TEST(CpuSanitizerFault, IsFoundByThreadSanitizer) {
  expect_found(thread, "ThreadSanitizer", "ThreadSanitizer");
}

}  // namespace
}  // namespace plsh::test
