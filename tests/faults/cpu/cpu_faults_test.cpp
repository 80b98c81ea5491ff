// Every fault planted in the optimized CPU code is found by the property that the list names, and
// without a fault all properties pass.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <ostream>
#include <string>

#include "../../cli/process.hpp"
#include "faults.hpp"

// What a test is called must not change from build to build.
inline std::ostream& operator<<(std::ostream& out, const PlantedFault& fault) {
  return out << fault.name;
}

namespace plsh::test {
namespace {

/// The faults that a property finds; the others are for the sanitizers.
std::vector<PlantedFault> found_by_property() {
  std::vector<PlantedFault> result;
  for (const PlantedFault& fault : planted_faults)
    if (fault.found_by.find('.') != std::string_view::npos) result.push_back(fault);
  return result;
}

/// \param properties all of them when empty.
ProcessResult check(const std::string& fault, const std::string& properties) {
  const auto out = std::filesystem::temp_directory_path() / ("plsh-cpu-fault-" + fault);
  std::vector<std::string> arguments{"check",   "--impl", PLSH_CPU_FAULTY_LIBRARY,
                                     "--quick", "--out",  out.string()};
  if (!properties.empty())
    arguments.insert(arguments.end(),
                     {"--property", properties, "--fail-fast", "--jobs", "1", "--shrink", "0"});
  setenv("PLSH_CPU_FAULT", fault.c_str(), 1);  // the children inherit it
  ProcessResult result = plsh(arguments);
  unsetenv("PLSH_CPU_FAULT");
  std::filesystem::remove_all(out);
  return result;
}

TEST(CpuWithoutFault, Passes) {
  const ProcessResult result = check("", "");
  EXPECT_EQ(result.status, 0) << result.out << result.err;
  EXPECT_NE(result.out.find("162 pass, 0 fail"), std::string::npos) << result.out;
}

class CpuFault : public ::testing::TestWithParam<PlantedFault> {};

TEST_P(CpuFault, IsRejected) {
  const ProcessResult result =
      check(std::string(GetParam().name), std::string(GetParam().found_by));
  EXPECT_EQ(result.status, 1) << result.out << result.err;
  EXPECT_NE(result.out.find("\nFAIL " + std::string(GetParam().found_by) + "\n"), std::string::npos)
      << result.out;
}

INSTANTIATE_TEST_SUITE_P(Check, CpuFault, ::testing::ValuesIn(found_by_property()),
                         [](const auto& test) {
                           std::string name{test.param.name};
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

}  // namespace
}  // namespace plsh::test
