// plsh audit as a user runs it.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include "process.hpp"

namespace plsh::test {
namespace {

namespace fs = std::filesystem;

class Audit : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(::testing::TempDir()) / ("plsh audit " + std::string(info->name()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path folder_;  // its name has spaces, as a user's may
};

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The violations of the schema, one a line; empty when the document is valid.
std::string violations(const nlohmann::json& document) {
  using valijson::adapters::NlohmannJsonAdapter;
  const auto schema_document = nlohmann::json::parse(
      content(fs::path(PLSH_SOURCE_DIR) / "properties/schema/audit.schema.json"));
  valijson::Schema schema;
  valijson::SchemaParser().populateSchema(NlohmannJsonAdapter(schema_document), schema);
  valijson::ValidationResults results;
  std::string text;
  if (valijson::Validator().validate(schema, NlohmannJsonAdapter(document), &results)) return text;
  for (valijson::ValidationResults::Error error; results.popError(error);) {
    for (const auto& part : error.context) text += part;
    text += ": " + error.description + "\n";
  }
  return text.empty() ? "invalid" : text;
}

TEST_F(Audit, QuickRunHasAVerdictForEveryClaim) {
  const auto out = folder_ / "new" / "folder";
  const auto result = plsh({"audit", "--quick", "--out", out});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.err, "") << "quiet in a pipe";
  const auto document = nlohmann::json::parse(content(out / "audit.json"));
  EXPECT_EQ(violations(document), "");
  std::set<std::string> decided;
  for (const auto& claim : document.at("claims")) {
    const auto verdict = claim.at("verdict").get<std::string>();
    if (verdict == "certified" || verdict == "consistent") {
      decided.insert(claim.at("id").get<std::string>());
      EXPECT_FALSE(claim.at("observed").is_null()) << claim.at("id");
    } else {
      EXPECT_EQ(verdict, "not audited") << claim.at("id");
    }
  }
  EXPECT_EQ(decided, (std::set<std::string>{"C1", "C2", "C3", "C4", "C5", "C6", "C7", "C8", "C9",
                                            "C12", "C13"}));
  bool real = false;
  for (const auto& series : document.at("plots").at("output").at("series"))
    real = real || series.at("kind") == "real";
  EXPECT_TRUE(real) << "no real input";
  const std::string page = content(out / "report.html");
  for (const std::string& id : decided)
    EXPECT_NE(page.find(">" + id + "<"), std::string::npos) << id << " is not on the page";
  EXPECT_NE(page.find("<svg"), std::string::npos);
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_NE(result.out.find("Reproduce: plsh audit --quick --seed 1"), std::string::npos);
  EXPECT_EQ(std::distance(fs::directory_iterator(out), {}), 2) << "files left over";
}

TEST_F(Audit, ClaimsAndSeedAreObeyedAndRepeat) {
  const auto run = [&](const char* name, const char* seed) {
    const auto result =
        plsh({"audit", "--quick", "--claims", "C5,C1", "--seed", seed, "--out", folder_ / name});
    EXPECT_EQ(result.status, 0) << result.err;
    auto document = nlohmann::json::parse(content(folder_ / name / "audit.json"));
    EXPECT_EQ(violations(document), "");
    EXPECT_EQ(document.at("run").at("claims"), (nlohmann::json{"C1", "C5"}));
    EXPECT_TRUE(document.at("data").is_null()) << "no claim here looks at real input";
    document.erase("run");
    for (auto& claim : document.at("claims")) claim.erase("seconds");
    return document;
  };
  const auto first = run("a", "7");
  EXPECT_EQ(first, run("b", "7"));
  auto other = run("c", "8");
  EXPECT_NE(first.at("claims")[0].at("observed"), other.at("claims")[0].at("observed"));
}

/// Wrong use: one line on stderr that says what, status 2, nothing on stdout, nothing written.
TEST_F(Audit, WrongUseIsOneClearLine) {
  const fs::path data = fs::path(PLSH_SOURCE_DIR) / "properties/data/smollm2-135m-qkv.safetensors";
  fs::create_directories(folder_ / "in");
  const fs::path damaged = folder_ / "in" / "smollm2-135m-qkv.safetensors";
  std::string bytes = content(data);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  std::ofstream(damaged, std::ios::binary) << bytes;
  fs::copy_file(data.parent_path() / "SHA256SUMS", folder_ / "in" / "SHA256SUMS");
  const fs::path cut = folder_ / "in" / "cut.safetensors";
  std::ofstream(cut, std::ios::binary) << bytes.substr(0, 1000);
  // A scale that begins like a number and is none, in a header of the same length.
  const fs::path unscaled = folder_ / "in" / "unscaled.safetensors";
  bytes = content(data);
  bytes.replace(bytes.find("\"0.125\""), 7, "\"nan00\"");
  std::ofstream(unscaled, std::ios::binary) << bytes;
  const fs::path file = folder_ / "in" / "a file";
  std::ofstream(file) << "not a folder";
  const std::string out = folder_ / "out";

  const struct {
    std::vector<std::string> arguments;
    std::string named;
  } cases[]{
      {{"--claims", "C99"}, "C99"},
      {{"--claims", "C1,foo"}, "foo"},
      {{"--claims", ""}, "claims"},
      {{"--seed", "minus one"}, "seed"},
      {{"--seed", "-1"}, "seed"},
      {{"--seed", "18446744073709551616"}, "seed"},
      {{"--quick", "--full"}, "--full"},
      {{"--nonsense"}, "--nonsense"},
      {{"--claims", "C8", "--data", folder_ / "absent"}, "absent"},
      {{"--claims", "C8", "--data", damaged}, "damaged"},
      {{"--claims", "C9", "--data", cut}, "cut.safetensors"},
      {{"--claims", "C13", "--data", file}, "a file"},
      {{"--claims", "C8", "--data", unscaled}, "logit_scale"},
  };
  for (const auto& wrong : cases) {
    std::vector<std::string> arguments{"audit", "--out", out};
    arguments.insert(arguments.end(), wrong.arguments.begin(), wrong.arguments.end());
    const auto result = plsh(arguments);
    EXPECT_EQ(result.status, 2) << wrong.named;
    EXPECT_NE(result.err.find(wrong.named), std::string::npos) << wrong.named << ": " << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_FALSE(fs::exists(out)) << wrong.named << ": something was left behind";
  }
  for (const fs::path& bad : {file / "below", file, fs::path("/proc/plsh")}) {
    const auto result = plsh({"audit", "--claims", "C2", "--quick", "--out", bad});
    EXPECT_EQ(result.status, 2) << bad;
    EXPECT_NE(result.err.find("--out"), std::string::npos) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }
  EXPECT_EQ(content(file), "not a folder");
}

TEST_F(Audit, ClaimsThatAreNotAuditedDecideNothing) {
  const auto result = plsh({"audit", "--claims", "C10,C11", "--out", folder_ / "out"});
  EXPECT_EQ(result.status, 3) << result.err;
}

TEST_F(Audit, HelpHasExamples) {
  const auto result = plsh({"audit", "--help"});
  EXPECT_EQ(result.status, 0);
  for (const char* word :
       {"--claims", "--quick", "--full", "--out", "--seed", "--data", "Examples", "Exit status"})
    EXPECT_NE(result.out.find(word), std::string::npos) << word;
}

}  // namespace
}  // namespace plsh::test
