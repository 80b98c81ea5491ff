// The optimized CPU code under sanitizers: nothing is reported without a fault, and the faults that
// are planted for them are.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <ostream>
#include <string>

#include "../../cli/process.hpp"

namespace plsh::test {
namespace {

struct Fault {
  std::string name;
  std::string found_by;
};
const Fault faults[] = {
#include "faults.inc"
};

struct Sanitizer {
  std::string name;
  std::string library;
  std::string runtime;
  std::string report;  ///< what stands in each
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

const Sanitizer sanitizers[] = {
    {"AddressSanitizer", PLSH_ADDRESS_LIBRARY, PLSH_ADDRESS_RUNTIME, "AddressSanitizer"},
    {"UndefinedBehaviorSanitizer", PLSH_ADDRESS_LIBRARY, PLSH_ADDRESS_RUNTIME, "runtime error"},
    {"ThreadSanitizer", PLSH_THREAD_LIBRARY, PLSH_THREAD_RUNTIME, "ThreadSanitizer"},
};

ProcessResult check(const Sanitizer& sanitizer, const std::string& fault) {
  const auto out = std::filesystem::temp_directory_path() / ("plsh-" + sanitizer.name + fault);
  setenv("LD_PRELOAD", sanitizer.runtime.c_str(), 1);
  // A report must end the process, or the case would pass.
  setenv("TSAN_OPTIONS", "halt_on_error=1:exitcode=66", 1);
  setenv("PLSH_CPU_FAULT", fault.c_str(), 1);
  ProcessResult result = plsh({"check", "--quick", "--impl", sanitizer.library, "--property",
                               properties, "--out", out.string()});
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

TEST_P(CpuSanitizer, FindsThePlantedFault) {
  bool planted = false;
  for (const Fault& fault : faults) {
    if (fault.found_by != GetParam().name) continue;
    planted = true;
    const ProcessResult result = check(GetParam(), fault.name);
    EXPECT_EQ(result.status, 1) << result.out << result.err;
    EXPECT_NE(result.out.find(GetParam().report), std::string::npos) << result.out;
  }
  EXPECT_TRUE(planted);
}

INSTANTIATE_TEST_SUITE_P(Check, CpuSanitizer, ::testing::ValuesIn(sanitizers),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace plsh::test
