// plsh vectors: the committed file is what the program generates; damage is found; implementations
// pass or fail as they should.
// GCC 12 takes std::string::replace inside valijson for an overlapping copy (GCC bug 105329)
// and, with sanitizers, the inside of std::regex for uninitialized (GCC bug 105562).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wrestrict"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include "process.hpp"

namespace plsh::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

const std::string kCommitted = PLSH_SOURCE_DIR "/properties/data/vectors.json";

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot open " + path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

const std::string& committed() {
  static const std::string text = content(kCommitted);
  return text;
}

/// A file of its own for each test, removed at the end.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text)
      : path_((fs::temp_directory_path() / ("plsh-vectors-" + std::to_string(getpid()) + ".json"))
                  .string()) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~TemporaryFile() {
    std::error_code ignored;
    fs::remove(path_, ignored);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

ProcessResult verify(const std::string& text) {
  const TemporaryFile file(text);
  return plsh({"vectors", "verify", file.path()});
}

Json& group(Json& document, const std::string& id) {
  for (Json& each : document["groups"])
    if (each["id"] == id) return each;
  throw std::logic_error("no group " + id);
}

Json& vector(Json& document, const std::string& id) {
  for (Json& each : group(document, id.substr(0, id.find('/')))["vectors"])
    if (each["id"] == id) return each;
  throw std::logic_error("no vector " + id);
}

TEST(Vectors, CommittedFileIsWhatTheProgramGenerates) {
  const ProcessResult result = plsh({"vectors", "generate"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_TRUE(result.out == committed())
      << "properties/data/vectors.json is stale: ./plsh vectors generate --out "
         "properties/data/vectors.json";
  EXPECT_LT(committed().size(), 1'000'000U);
}

TEST(Vectors, WritesAFile) {
  const TemporaryFile file("");
  const ProcessResult result = plsh({"vectors", "generate", "--out", file.path()});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(content(file.path()), committed());
}

TEST(Vectors, CommittedFileIsSound) {
  const ProcessResult result = plsh({"vectors", "verify", kCommitted});
  EXPECT_EQ(result.status, 0) << result.out;
}

// ---- the schema --------------------------------------------------------------------------------

const valijson::Schema& schema() {
  static const nlohmann::json document =
      nlohmann::json::parse(content(PLSH_SOURCE_DIR "/properties/schema/vectors.schema.json"));
  static valijson::Schema parsed;
  static const bool once = [] {
    valijson::SchemaParser(valijson::SchemaParser::kDraft7)
        .populateSchema(valijson::adapters::NlohmannJsonAdapter(document), parsed);
    return true;
  }();
  static_cast<void>(once);
  return parsed;
}

bool valid(const Json& document) {
  const nlohmann::json plain = nlohmann::json::parse(document.dump());
  valijson::Validator validator;
  return validator.validate(schema(), valijson::adapters::NlohmannJsonAdapter(plain), nullptr);
}

TEST(VectorsSchema, AcceptsTheCommittedFile) { EXPECT_TRUE(valid(Json::parse(committed()))); }

// ---- damage ------------------------------------------------------------------------------------

struct Damage {
  const char* name;
  std::function<void(Json&)> plant;
  const char* message;  ///< part of what verify says
  bool against_schema = false;
};

void PrintTo(const Damage& damage, std::ostream* out) { *out << damage.name; }

class Damaged : public testing::TestWithParam<Damage> {};

TEST_P(Damaged, IsFound) {
  Json document = Json::parse(committed());
  GetParam().plant(document);
  const ProcessResult result = verify(document.dump());
  EXPECT_EQ(result.status, 1) << result.err;
  EXPECT_NE(result.out.find(GetParam().message), std::string::npos) << result.out;
  if (GetParam().against_schema) {
    EXPECT_FALSE(valid(document));
  }
}

Json& kernel(Json& d) { return vector(d, "kernel/distance-3/sigma-4"); }
Json& forward(Json& d) { return vector(d, "exact-forward/causal/small"); }

const std::vector<Damage>& damages() {
  static const std::vector<Damage> all{
      {"OtherFormat", [](Json& d) { d["format"] = "plsh-audit"; }, "\"format\"", true},
      {"OtherVersion", [](Json& d) { d["version"] = 2; }, "reads version 1", true},
      {"NoGroups", [](Json& d) { d.erase("groups"); }, "\"groups\"", true},
      {"MissingGroup", [](Json& d) { d["groups"].erase(3); }, "group \"partition-law\" is missing"},
      {"GroupWithoutSource", [](Json& d) { group(d, "bins").erase("source"); }, "\"source\"", true},
      {"UnknownOperation", [](Json& d) { group(d, "bins")["operation"] = "sort"; },
       "unknown operation", true},
      {"MissingVector", [](Json& d) { group(d, "bins")["vectors"].erase(0); }, "is missing"},
      {"DuplicateId", [](Json& d) { kernel(d)["id"] = "kernel/distance-1/sigma-4"; },
       "two vectors have this id"},
      {"IdOfAnotherGroup", [](Json& d) { kernel(d)["id"] = "slopes/kernel"; },
       "does not begin with"},
      {"IdGivenToAnotherInput", [](Json& d) { kernel(d)["input"]["distance"] = 4; },
       "not the one that this id stands for"},
      {"UndefinedFlag", [](Json& d) { kernel(d)["flags"] = {"nonsense"}; }, "is not defined"},
      {"UnusedFlag",
       [](Json& d) {
         d["flags"]["spare"] = {{"meaning", "x"}, {"failure_means", "y"}};
       },
       "defined and not used"},
      {"FlagWithoutMeaning", [](Json& d) { d["flags"]["ties"].erase("meaning"); }, "\"meaning\"",
       true},
      // 4.7236655274101470713e-1 to ...14e-1
      {"ChangedDigit",
       [](Json& d) {
         kernel(d)["expected"]["value"] = {"4.7236655274111470713e-1", "4.7236655274111470714e-1"};
       },
       "does not hold the value"},
      {"ChangedLastDigits",
       [](Json& d) {
         kernel(d)["expected"]["value"] = {"4.7236655274101470715e-1", "4.7236655274101470716e-1"};
       },
       "does not hold the value"},
      {"WidenedInterval",
       [](Json& d) {
         kernel(d)["expected"]["value"] = {"4.72366552741e-1", "4.72366552742e-1"};
       },
       "wider than"},
      {"ReversedInterval",
       [](Json& d) {
         kernel(d)["expected"]["value"] = {"4.8e-1", "4.7e-1"};
       },
       "empty"},
      {"IntervalTakenForExact",
       [](Json& d) { kernel(d)["expected"]["value"] = "0x1.e3b4020ec8f1p-2"; }, "not exact"},
      {"NumberInsteadOfText", [](Json& d) { kernel(d)["expected"]["value"] = 0.47236655274101; },
       "neither an exact number nor an interval", true},
      {"WrongExactNumber", [](Json& d) { forward(d)["expected"]["output"][0][0][0][0] = "0x1p+0"; },
       "it is wrong"},
      {"WrongBin", [](Json& d) { group(d, "bins")["vectors"][0]["expected"]["bins"][2] = 7; },
       "it is wrong"},
      {"LargerTolerance", [](Json& d) { forward(d)["tolerance"]["f32"]["output"] = 1; },
       "not the proved bound"},
      {"SmallerTolerance", [](Json& d) { forward(d)["tolerance"]["f32"]["output"] = 1e-9; },
       "not the proved bound"},
      {"TypeWithoutTolerance", [](Json& d) { forward(d)["tolerance"].erase("bf16"); },
       "other members"},
      {"ExpectedCutShort", [](Json& d) { forward(d)["expected"]["output"][0].erase(3); },
       "another length"},
      {"ExpectedMissing", [](Json& d) { forward(d)["expected"].erase("log_sum_exp"); },
       "other members", true},
      {"RaggedQuery", [](Json& d) { forward(d)["input"]["query"][0][1][0].erase(0); },
       "differ in length"},
      {"QueryOfText", [](Json& d) { forward(d)["input"]["query"] = "Q"; }, "not a list", true},
      {"InfiniteScale", [](Json& d) { forward(d)["input"]["scale"] = "inf"; }, "not finite", true},
      {"NotExactInF32", [](Json& d) { forward(d)["input"]["scale"] = "0x1.0000000001p+0"; },
       "not exact in f32"},
      {"HugePositions",
       [](Json& d) { group(d, "bins")["vectors"][0]["input"]["positions"][11] = 1e30; },
       "not an integer", true},
      {"NegativeLength",
       [](Json& d) { group(d, "partitions")["vectors"][0]["input"]["length"] = -1; },
       "not an integer", true},
      {"BlockStartsDescend",
       [](Json& d) {
         vector(d, "mean-mask/two-blocks")["input"]["block_starts"] = Json::parse("[[[[2, 0]]]]");
       },
       "input"},
      {"NullEverywhere",
       [](Json& d) {
         for (auto& each : d["groups"][0]["vectors"]) each = nullptr;
       },
       "no \"id\"", true},
      {"UnknownMember", [](Json& d) { kernel(d)["note"] = "hello"; }, "unknown member", true},
  };
  return all;
}

INSTANTIATE_TEST_SUITE_P(Vectors, Damaged, testing::ValuesIn(damages()),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(Vectors, VerifyFindsWhatIsNotJson) {
  for (const std::string& text :
       {std::string(), committed().substr(0, committed().size() / 2), std::string("[1, 2"),
        std::string("\xff\xfe\x00", 3), std::string(2'000'000, '['), std::string("nil")}) {
    const ProcessResult result = verify(text);
    EXPECT_EQ(result.status, 1) << result.err;
    EXPECT_NE(result.out.find("JSON"), std::string::npos) << result.out.substr(0, 300);
  }
  for (const char* text : {"[]", "null", "17", "\"plsh-vectors\"", "{}"})
    EXPECT_EQ(verify(text).status, 1) << text;
}

// ---- running -----------------------------------------------------------------------------------

ProcessResult run(const std::vector<std::string>& more, const char* fault = "") {
  setenv("PLSH_TEXTBOOK_FAULT", fault, 1);
  std::vector<std::string> arguments{"vectors", "run", "--impl", PLSH_TEXTBOOK_LIBRARY};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const ProcessResult result = plsh(arguments);
  unsetenv("PLSH_TEXTBOOK_FAULT");
  return result;
}

TEST(VectorsRun, TextbookPasses) {
  const ProcessResult result = run({});
  EXPECT_EQ(result.status, 0) << result.out << result.err;
  EXPECT_NE(result.out.find(" 0 failed, 0 refused"), std::string::npos) << result.out;
  EXPECT_EQ(run({kCommitted}).out, result.out);
}

TEST(VectorsRun, CorrectVariantsPass) {
  for (const char* variant :
       {"bottom-right", "grouping-interleaved", "empty-row-is-nan", "lse-in-base-2",
        "counts-not-divided", "key-only-bias", "declared-bfloat16-weights", "geometric-slopes",
        "bins-plus", "bins-ceil", "bins-round", "bins-float-division", "f32-only"}) {
    const ProcessResult result = run({}, variant);
    EXPECT_EQ(result.status, 0) << variant << "\n" << result.out << result.err;
  }
}

TEST(VectorsRun, PlantedFaultsFail) {
  const std::vector<std::pair<const char*, const char*>> faults{
      {"bias-sign", "FAIL exact-forward/"},
      {"causal-off-by-one", "FAIL exact-forward/causal/"},
      {"scale-ignored", "FAIL exact-forward/"},
      {"maximum-not-subtracted", "FAIL exact-forward/causal/large-logits"},
      {"delta-missing", "FAIL exact-backward/"},
      {"samples-ored", "FAIL sampled-forward/"},
      {"lse-of-counts", "log_sum_exp"},
      {"mask-uint8-counts", "FAIL mean-mask/many-samples"},
      {"bins-truncate", "FAIL bins/"},
      {"bins-float", "FAIL bins/positions-to-1e9"},
      {"slopes-geometric", "FAIL slopes/interleaved"},
      {"segmentation-fault", "SIGSEGV"},
      {"table-null", "is null"},
  };
  for (const auto& [fault, message] : faults) {
    const ProcessResult result = run({}, fault);
    EXPECT_EQ(result.status, 1) << fault << "\n" << result.out << result.err;
    EXPECT_NE(result.out.find(message), std::string::npos) << fault << "\n" << result.out;
  }
}

TEST(VectorsRun, HangIsAFailure) {
  const ProcessResult result =
      run({"--filter", "slopes/power-of-two/8", "--case-limit", "0.5"}, "hangs");
  EXPECT_EQ(result.status, 1) << result.out << result.err;
  EXPECT_NE(result.out.find("no answer within 0.5 s"), std::string::npos) << result.out;
}

TEST(VectorsRun, NothingThatAppliesIsUndecided) {
  const ProcessResult result = run({"--filter", "partition-law/"});
  EXPECT_EQ(result.status, 3) << result.out << result.err;
}

TEST(VectorsRun, DamagedFileIsWrongUse) {
  for (const auto& plant : std::vector<std::function<void(Json&)>>{
           [](Json& d) { d["version"] = 2; }, [](Json& d) { d["groups"] = 3; },
           [](Json& d) { d["groups"][0]["operation"] = "sort"; },
           [](Json& d) { d["groups"][0]["vectors"][0].erase("input"); },
           [](Json& d) { forward(d)["expected"]["output"] = "none"; },
           [](Json& d) { forward(d)["tolerance"]["f64"]["output"] = "none"; },
           [](Json& d) {
             group(d, "bins")["vectors"][0]["tolerance"]["f64"]["edge"] = {1, 2};
           }}) {
    Json document = Json::parse(committed());
    plant(document);
    const TemporaryFile file(document.dump());
    const ProcessResult result = run({file.path()});
    EXPECT_EQ(result.status, 2) << result.out;
    EXPECT_NE(result.err.find("plsh vectors: " + file.path() + ": "), std::string::npos)
        << result.err;
  }
}

TEST(VectorsUse, WrongUseIsOneLine) {
  for (const char* text :
       {"vectors", "vectors sort", "vectors verify", "vectors verify /nowhere.json", "vectors run",
        "vectors run --impl /nowhere.so", "vectors run --python mine",
        "vectors generate --out /nowhere/vectors.json", "vectors generate extra"}) {
    const ProcessResult result = plsh(words(text));
    EXPECT_EQ(result.status, 2) << text;
    EXPECT_EQ(result.err.find("plsh vectors: "), 0U) << text << ": " << result.err;
    EXPECT_EQ(result.err.find('\n'), result.err.size() - 1) << result.err;
  }
  const ProcessResult none = run({"--filter", "nothing-has-this-name"});
  EXPECT_EQ(none.status, 2);
  EXPECT_NE(none.err.find("nothing-has-this-name"), std::string::npos) << none.err;
}

TEST(VectorsUse, HelpHasExamples) {
  for (const char* text :
       {"vectors --help", "vectors generate --help", "vectors verify --help", "vectors run --help"})
    EXPECT_NE(plsh(words(text)).out.find("Example"), std::string::npos) << text;
}

// ---- from another language ---------------------------------------------------------------------

const std::string kPython = "/usr/bin/python3";
const std::string kReader = PLSH_SOURCE_DIR "/examples/vectors/run_vectors.py";

TEST(VectorsInPython, ReaderPasses) {
  ASSERT_EQ(run_process(kPython, {"-c", "import torch"}).status, 0)
      << "the package python3-torch (packages.txt) is missing";
  const ProcessResult result = run_process(kPython, {kReader, kCommitted});
  EXPECT_EQ(result.status, 0) << result.out << result.err;
  EXPECT_NE(result.out.find(" 0 failed"), std::string::npos) << result.out;
}

TEST(VectorsInPython, ReaderFindsAWrongDigit) {
  Json document = Json::parse(committed());
  vector(document, "sampled-forward/causal/small")["expected"]["output"][0][3][0][0] = {"0.1",
                                                                                        "0.1"};
  const TemporaryFile file(document.dump());
  const ProcessResult result = run_process(kPython, {kReader, file.path()});
  EXPECT_EQ(result.status, 1) << result.out << result.err;
  EXPECT_NE(result.out.find(" 1 failed"), std::string::npos) << result.out << result.err;
}

}  // namespace
}  // namespace plsh::test
