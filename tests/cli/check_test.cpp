// `plsh check` and `plsh replay`, as a user runs them: hostile libraries, reports, wrong use.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wrestrict"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "process.hpp"
#include "schema.hpp"

namespace plsh::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class Check : public ::testing::Test {
 protected:
  Check() {
    std::string name = fs::temp_directory_path() / "plsh-check-XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~Check() override { fs::remove_all(folder_); }

  std::string file(const std::string& name) const { return folder_ / name; }

  /// Checks the textbook implementation with a fault, variant or "" switched on.
  ProcessResult check(const std::string& fault, const std::string& options) const {
    setenv("PLSH_TEXTBOOK_FAULT", fault.c_str(), 1);
    std::vector<std::string> arguments{"check", "--impl", PLSH_TEXTBOOK_LIBRARY, "--out",
                                       file("out")};
    for (const std::string& word : words(options)) arguments.push_back(word);
    ProcessResult result = plsh(arguments);
    unsetenv("PLSH_TEXTBOOK_FAULT");
    return result;
  }

  static std::string read(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }

  static bool valid(const json& document, const std::string& schema_name) {
    return matches_schema(document, "properties/schema/" + schema_name);
  }

  fs::path folder_;
};

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_F(Check, AnHonestImplementationPassesAndLeavesNoFolder) {
  const ProcessResult result = check("", "--quick --property slopes,mask,partition");
  EXPECT_EQ(result.status, 0) << result.out << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_FALSE(fs::exists(file("out")));
}

TEST_F(Check, AFaultGivesACounterexampleThatReplayReruns) {
  const ProcessResult result =
      check("slopes-reversed",
            "--quick --property slopes --json " + file("r.json") + " --junit " + file("r.xml"));
  EXPECT_EQ(result.status, 1) << result.out << result.err;
  EXPECT_TRUE(holds(result.out, "reproduce: plsh replay " + file("out/slopes.rule.json")))
      << result.out;

  const json report = json::parse(read(file("r.json")));
  EXPECT_TRUE(valid(report, "check.schema.json"));
  const json example = json::parse(read(file("out/slopes.rule.json")));
  EXPECT_TRUE(valid(example, "counterexample.schema.json"));
  json broken = report;
  broken["properties"][0]["verdict"] = "maybe";
  EXPECT_FALSE(valid(broken, "check.schema.json"));
  broken = example;
  broken.erase("case");
  EXPECT_FALSE(valid(broken, "counterexample.schema.json"));

  EXPECT_EQ(run_process("/usr/bin/xmllint", {"--noout", file("r.xml")}).status, 0);
  EXPECT_TRUE(holds(read(file("r.xml")), "failures=\"1\""));

  setenv("PLSH_TEXTBOOK_FAULT", "slopes-reversed", 1);
  EXPECT_EQ(plsh({"replay", file("out/slopes.rule.json")}).status, 1);
  unsetenv("PLSH_TEXTBOOK_FAULT");
  const ProcessResult mended =
      plsh({"replay", file("out/slopes.rule.json"), "--impl", PLSH_TEXTBOOK_LIBRARY});
  EXPECT_EQ(mended.status, 0) << mended.out << mended.err;
}

TEST_F(Check, TheSameSeedGivesTheSameCounterexample) {
  check("slopes-reversed", "--quick --property slopes --seed 5");
  const std::string first = read(file("out/slopes.rule.json"));
  fs::remove_all(file("out"));
  check("slopes-reversed", "--quick --property slopes --seed 5");
  EXPECT_FALSE(first.empty());
  EXPECT_EQ(read(file("out/slopes.rule.json")), first);
}

TEST_F(Check, ACaseCanStayAsItWasFound) {
  const ProcessResult result =
      check("slopes-reversed", "--quick --property slopes.rule --shrink 0");
  EXPECT_TRUE(holds(result.out, ", 0 steps smaller than first found")) << result.out;
}

struct Hostile {
  const char* fault;
  const char* message;
};

std::ostream& operator<<(std::ostream& out, const Hostile& hostile) { return out << hostile.fault; }

class HostileLibrary : public Check, public ::testing::WithParamInterface<Hostile> {};

TEST_P(HostileLibrary, IsAFindingAndTheRunGoesOn) {
  const ProcessResult result =
      check(GetParam().fault, "--quick --property slopes,mask.diagonal --case-limit 1");
  EXPECT_EQ(result.status, 1) << result.out << result.err;
  EXPECT_TRUE(holds(result.out, GetParam().message)) << result.out;
  EXPECT_EQ(result.err, "");
  if (std::string(GetParam().fault).rfind("table", 0) != 0) {
    EXPECT_TRUE(holds(result.out, "FAIL slopes.rule")) << result.out;
    EXPECT_TRUE(holds(result.out, "FAIL mask.diagonal")) << result.out;
  }
}

const Hostile hostile_libraries[] = {
    {"segmentation-fault", "SIGSEGV"},
    {"aborts", "SIGABRT"},
    {"hangs", "no answer within 1 s"},
    {"spins", "no answer within 1 s"},
    {"exits-with-0", "ended itself with status 0"},
    {"exits-through-atexit", "ended itself with status 0"},
    {"kills-itself", "SIGKILL"},
    {"divides-by-zero", "SIGFPE"},
    {"stack-overflow", "SIGSEGV"},
    {"throws-exception", "threw an exception"},
    {"throws-integer", "threw an exception"},
    {"returns-failed", "failed with status 2"},
    {"returns-unknown-status", "failed with status -17"},
    {"does-nothing", "not written"},
    {"heap-corruption", "written"},
    {"table-null", "it is null"},
    {"table-crash", "SIGSEGV"},
    {"table-version", "interface_version"},
    {"table-size", "struct_size"},
    {"table-name-null", "name is null"},
    {"table-name-empty", "name is empty"},
    {"table-convention-unknown", "bin_rule"},
};
INSTANTIATE_TEST_SUITE_P(Check, HostileLibrary, ::testing::ValuesIn(hostile_libraries),
                         [](const auto& test) {
                           std::string name = test.param.fault;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST_F(Check, NothingOfferedIsNotAPass) {
  EXPECT_EQ(check("table-offers-nothing", "--quick").status, 3);
  EXPECT_EQ(check("refuses-everything", "--quick --property slopes,mask").status, 3);
}

TEST_F(Check, ABusyMachineIsNoFinding) {
  const ProcessResult result = check("stopped", "--quick --property slopes.rule --case-limit 0.5");
  EXPECT_EQ(result.status, 0) << result.out;
}

TEST_F(Check, GarbageOnTheStreamsDoesNotMatter) {
  const ProcessResult result = check("prints", "--quick --property slopes");
  EXPECT_EQ(result.status, 0) << result.out;
  EXPECT_TRUE(holds(result.out, "pass         slopes.rule")) << result.out;
}

struct WrongUse {
  const char* options;
  const char* message;
};

std::ostream& operator<<(std::ostream& out, const WrongUse& use) { return out << use.message; }

class CheckWrongUse : public ::testing::TestWithParam<WrongUse> {};

TEST_P(CheckWrongUse, IsNamed) {
  std::vector<std::string> arguments = words(GetParam().options);
  std::replace(arguments.begin(), arguments.end(), std::string("LIBRARY"),
               std::string(PLSH_TEXTBOOK_LIBRARY));
  const ProcessResult result = plsh(arguments);
  EXPECT_EQ(result.status, 2);
  EXPECT_TRUE(holds(result.err, GetParam().message)) << result.err;
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
}

const WrongUse wrong_uses[] = {
    {"check", "--impl LIB or --python MODULE:FUNCTION is needed"},
    {"check --impl /nonexistent.so", "--impl /nonexistent.so: there is no such file"},
    {"check --impl /tmp", "/tmp is a folder"},
    {"check --impl /etc/passwd", "cannot load \"/etc/passwd\""},
    {"check --impl LIBRARY --property nothing", "unknown property \"nothing\""},
    {"check --impl LIBRARY --property slopes.ruler", "known are slopes.rule"},
    {"check --impl LIBRARY --seed -1", "--seed"},
    {"check --impl LIBRARY --time 0", "--time"},
    {"check --impl LIBRARY --jobs 0", "--jobs"},
    {"check --impl LIBRARY --shrink -1", "--shrink"},
    {"check --impl LIBRARY --out /proc/x", "--out /proc/x"},
    {"check --impl LIBRARY --python a:b", "--python"},
    {"check --python module", "--python module is not of the form MODULE:FUNCTION"},
    {"replay", "FILE"},
    {"replay /nonexistent.json", "cannot read /nonexistent.json"},
    {"replay /etc/passwd", "/etc/passwd is not valid JSON"},
};
INSTANTIATE_TEST_SUITE_P(Check, CheckWrongUse, ::testing::ValuesIn(wrong_uses),
                         [](const auto& test) { return std::to_string(test.index); });

TEST_F(Check, ADamagedCounterexampleIsNamed) {
  const json good{{"format", "plsh-counterexample"},
                  {"version", 1},
                  {"property", "slopes.rule"},
                  {"source", {{"library", PLSH_TEXTBOOK_LIBRARY}}},
                  {"case", {{"heads", 3}, {"layout", "packed"}}}};
  const auto replay = [&](const json& document) {
    std::ofstream(file("c.json")) << document.dump();
    return plsh({"replay", file("c.json")});
  };
  EXPECT_EQ(replay(good).status, 0);
  for (const char* member : {"format", "version", "property", "source", "case"}) {
    json damaged = good;
    damaged.erase(member);
    const ProcessResult result = replay(damaged);
    EXPECT_EQ(result.status, 2) << member;
    EXPECT_TRUE(holds(result.err, member)) << result.err;
    damaged = good;
    damaged[member] = json::array({1});
    EXPECT_EQ(replay(damaged).status, 2) << member;
  }
  json strange = good;
  strange["case"] = {{"heads", "many"}, {"layout", "packed"}};
  EXPECT_EQ(replay(strange).status, 2);
  strange["case"] = {{"heads", -7}, {"layout", "packed"}};
  EXPECT_EQ(replay(strange).status, 2);
}

TEST_F(Check, HelpHasExamples) {
  for (const char* command : {"check", "replay"}) {
    const ProcessResult result = plsh({command, "--help"});
    EXPECT_EQ(result.status, 0);
    EXPECT_TRUE(holds(result.out, "Examples:")) << result.out;
  }
}

TEST_F(Check, ListNamesPropertiesAndFamilies) {
  const ProcessResult result = plsh({"check", "--list"});
  EXPECT_EQ(result.status, 0);
  for (const char* id : {"slopes.rule", "partition.valid", "sampler.joint-law"})
    EXPECT_TRUE(holds(result.out, id)) << id;
}

}  // namespace
}  // namespace plsh::test
