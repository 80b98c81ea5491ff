// The examples and the optimized implementation are correct: plsh check passes on each of them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "process.hpp"

namespace plsh::test {
namespace {

namespace fs = std::filesystem;

struct Example {
  const char* name;
  std::vector<std::string> source;
  /// Properties that need what it does not offer are "not offered"; at least so many must pass.
  int passes;
};

std::ostream& operator<<(std::ostream& out, const Example& example) { return out << example.name; }

class ExampleImplementation : public ::testing::TestWithParam<Example> {};

TEST_P(ExampleImplementation, Passes) {
  const fs::path out = fs::temp_directory_path() / ("plsh-example-" + std::string(GetParam().name));
  setenv("PYTHONPATH", PLSH_SOURCE_DIR "/examples/pytorch", 1);
  std::vector<std::string> arguments{"check", "--quick", "--out", out.string()};
  arguments.insert(arguments.end(), GetParam().source.begin(), GetParam().source.end());
  const ProcessResult result = plsh(arguments);
  EXPECT_EQ(result.status, 0) << result.out << result.err;
  int passes = 0;
  for (std::size_t at = 0; (at = result.out.find("\npass ", at)) != std::string::npos; ++at)
    ++passes;
  EXPECT_GE(passes, GetParam().passes) << result.out;
  fs::remove_all(out);
}

const Example examples[] = {
    {"c", {"--impl", PLSH_LIBRARIES "/libplsh_example_c.so"}, 25},
    {"eigen", {"--impl", PLSH_LIBRARIES "/libplsh_example_eigen.so"}, 140},
    {"reference", {"--impl", PLSH_LIBRARIES "/libplsh_example_reference.so"}, 150},
    {"cpu", {"--impl", PLSH_LIBRARIES "/libplsh_cpu.so"}, 162},
    {"pytorch", {"--python", "positional_lsh:implementation"}, 150},
};
INSTANTIATE_TEST_SUITE_P(Examples, ExampleImplementation, ::testing::ValuesIn(examples),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(PythonBridge, NamesWhatIsWrong) {
  const auto check = [](const char* specification) {
    return plsh({"check", "--python", specification, "--property", "slopes"});
  };
  const ProcessResult module = check("no_such_module:f");
  EXPECT_EQ(module.status, 1);
  EXPECT_NE(module.out.find("no_such_module"), std::string::npos) << module.out;
  const ProcessResult function = check("math:no_such_function");
  EXPECT_EQ(function.status, 1);
  EXPECT_NE(function.out.find("no_such_function"), std::string::npos) << function.out;
}

}  // namespace
}  // namespace plsh::test
