// The arrows between the folders, read from the #include lines of every source file.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "includes.hpp"

namespace plsh::house {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) throw std::runtime_error("cannot read " + path.string());
  return text.str();
}

// Every source file below the root, apart from hidden folders and build trees.
Files source_files(const fs::path& root) {
  Files result;
  for (auto it = fs::recursive_directory_iterator(root); it != fs::recursive_directory_iterator();
       ++it) {
    const std::string name = it->path().filename().string();
    if (it->is_directory() &&
        (name.starts_with(".") || (it.depth() == 0 && name.starts_with("build"))))
      it.disable_recursion_pending();
    else if (it->is_regular_file() && is_source(name))
      result.insert(it->path().lexically_relative(root).generic_string());
  }
  return result;
}

TEST(Architecture, EveryIncludeFollowsTheArrows) {
  const fs::path root = PLSH_SOURCE_DIR;
  const Files files = source_files(root);
  std::map<std::string, int> files_of_folder;
  std::size_t includes = 0;
  for (const std::string& file : files) {
    const std::string text = read(root / file);
    ++files_of_folder[file.substr(0, file.find('/'))];
    includes += includes_of(text).size();
    for (const Violation& violation : violations_in(file, text, files))
      ADD_FAILURE() << violation.to_string();
  }
  // It has really looked: about as many files as there must be, and what they include.
  for (const char* folder : {"reference", "properties", "cli", "tests"})
    EXPECT_GE(files_of_folder[folder], folder == std::string("reference") ? 20 : 2) << folder;
  EXPECT_GE(includes, 2 * files.size());
}

struct Case {
  const char* path;
  const char* text;
  const char* arrow;  // of the only violation
};

const Files planted_files{"reference/include/plsh/reference/kernel.hpp",
                          "reference/src/validate.hpp",
                          "properties/include/plsh/properties/claims.hpp",
                          "properties/src/evidence/e_value.hpp",
                          "properties/src/validate.hpp",
                          "optimized/cpu/tile.hpp",
                          "cli/command.hpp",
                          "cli/report/html.hpp",
                          "tests/support/samples.hpp"};

TEST(Architecture, RejectsPlantedViolations) {
  const Case cases[] = {
      // The reference and the interface know nobody.
      {"reference/src/kernel.cpp", "#include <plsh/properties/claims.hpp>\n",
       "reference -> properties"},
      {"reference/src/kernel.cpp", "#include <plsh/interface/plsh.h>\n", "reference -> interface"},
      {"reference/src/kernel.cpp", "#include \"../../optimized/cpu/tile.hpp\"\n",
       "reference -> optimized"},
      {"reference/src/kernel.cpp", "#include \"command.hpp\"\n", "reference -> cli"},
      {"interface/include/plsh/interface/plsh.h", "#include <plsh/reference/real.hpp>\n",
       "interface -> reference"},
      // The fast code shares nothing with the oracle.
      {"optimized/cpu/attention.cpp", "#include <plsh/reference/kernel.hpp>\n",
       "optimized -> reference"},
      {"optimized/cuda/attention.cu", "#include \"plsh/reference/kernel.hpp\"\n",
       "optimized -> reference"},
      {"optimized/cpu/attention.cpp", "#include <plsh/properties/claims.hpp>\n",
       "optimized -> properties"},
      {"optimized/cpu/attention.cpp", "#include \"../../tests/support/samples.hpp\"\n",
       "optimized -> tests"},
      // The properties know neither the fast code nor what is built on them.
      {"properties/src/claims.cpp", "#include <plsh/optimized/attention.hpp>\n",
       "properties -> optimized"},
      {"properties/src/claims.cpp", "#include \"../../cli/command.hpp\"\n", "properties -> cli"},
      {"properties/src/claims.cpp", "#include <cli/report/html.hpp>\n", "properties -> cli"},
      {"properties/include/plsh/properties/claims.hpp", "#  include  <plsh/tests/x.hpp>\n",
       "properties -> tests"},
      // Other folders are seen by their public headers only.
      {"properties/src/claims.cpp", "#include \"plsh/reference/kernel.hpp\"\n",
       "properties -> reference"},
      {"properties/src/claims.cpp", "#include \"../../reference/src/validate.hpp\"\n",
       "properties -> reference"},
      {"tests/unit/kernel_test.cpp",
       "#include \"../../reference/include/plsh/reference/kernel.hpp\"\n", "tests -> reference"},
      {"tests/unit/kernel_test.cpp", "#include \"reference/src/validate.hpp\"\n",
       "tests -> reference"},
      {"tests/unit/kernel_test.cpp", "#include \"e_value.hpp\"\n", "tests -> properties"},
      {"tests/unit/kernel_test.cpp", "#include <evidence/e_value.hpp>\n", "tests -> properties"},
      {"cli/audit.cpp", "#include \"../properties/src/evidence/e_value.hpp\"\n",
       "cli -> properties"},
      {"bench/attention.cpp", "#include \"../optimized/cpu/tile.hpp\"\n", "bench -> optimized"},
      // Nothing leaves the house, and nothing hides from the check.
      {"tests/unit/kernel_test.cpp", "#include \"../../../elsewhere/x.hpp\"\n", "tests -> .."},
      {"tests/unit/kernel_test.cpp", "#include <plsh/helpers/x.hpp>\n", "tests -> helpers"},
      {"reference/src/kernel.cpp", "#include HEADER\n", "reference -> ?"},
      {"helpers/x.cpp", "", "helpers"},
      // Text around the directive that could hide it.
      {"reference/src/kernel.cpp", "/* a */ #include <plsh/cli/x.hpp>\n", "reference -> cli"},
      {"reference/src/kernel.cpp", "int n = 1'000;\n#include <plsh/cli/x.hpp>  // '\n",
       "reference -> cli"},
      {"reference/src/kernel.cpp",
       "const char* a = \"/*\"; char b = '\"';\n#include <plsh/cli/x.hpp>\nchar c = '\"';\n",
       "reference -> cli"},
      {"reference/src/kernel.cpp", "auto a = R\"x(\")x\";\n#include <plsh/cli/x.hpp>\r\n",
       "reference -> cli"},
  };
  for (const Case& planted : cases) {
    const auto found = violations_in(planted.path, planted.text, planted_files);
    ASSERT_EQ(found.size(), 1u) << planted.path << ": " << planted.text;
    EXPECT_EQ(found[0].arrow, planted.arrow) << planted.text;
    EXPECT_EQ(found[0].file, planted.path);
  }
}

TEST(Architecture, AcceptsHonestIncludes) {
  const Case cases[] = {
      {"reference/src/kernel.cpp",
       "#include <mpfr.h>\n#include <plsh/reference/kernel.hpp>\n#include \"validate.hpp\"\n", ""},
      {"reference/include/plsh/reference/laws.hpp", "#include \"kernel.hpp\"\n", ""},
      {"optimized/cpu/attention.cpp", "#include <plsh/interface/plsh.h>\n#include \"tile.hpp\"\n",
       ""},
      {"properties/src/claims.cpp",
       "#include <plsh/reference/kernel.hpp>\n#include <plsh/interface/plsh.h>\n"
       "#include \"evidence/e_value.hpp\"\n#include \"validate.hpp\"\n",
       ""},
      {"properties/src/evidence/e_value.cpp",
       "#include \"../validate.hpp\"\n#include \"e_value.hpp\"\n", ""},
      {"cli/audit.cpp",
       "#include <plsh/properties/claims.hpp>\n#include \"command.hpp\"\n"
       "#include \"report/html.hpp\"\n",
       ""},
      {"tests/cli/html_test.cpp",
       "#include <plsh/optimized/attention.hpp>\n#include \"../../cli/report/html.hpp\"\n"
       "#include \"support/samples.hpp\"\n#include \"../support/samples.hpp\"\n",
       ""},
      {"bench/attention.cpp", "#include <benchmark/benchmark.h>\n", ""},
      // Comments and strings are no directives.
      {"reference/src/kernel.cpp",
       "// #include <plsh/cli/x.hpp>\n/*\n#include <plsh/cli/x.hpp>\n*/\n"
       "auto a = R\"(\n#include <plsh/cli/x.hpp>\n)\";\nauto b = \"#include <plsh/cli/x.hpp>\";\n",
       ""},
  };
  for (const Case& honest : cases)
    for (const Violation& violation : violations_in(honest.path, honest.text, planted_files))
      ADD_FAILURE() << violation.to_string();
}

TEST(Architecture, NamesFileLineAndArrow) {
  const auto found = violations_in("optimized/cpu/a.cpp",
                                   "// comment\n\n#include <plsh/reference/kernel.hpp>\n", {});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].to_string(),
            "optimized/cpu/a.cpp:3: optimized -> reference: "
            "optimized must not know <plsh/reference/kernel.hpp>");
}

}  // namespace
}  // namespace plsh::house
