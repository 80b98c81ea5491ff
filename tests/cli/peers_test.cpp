// bench/peers/compare.py with the PyTorch of the system, which has no FlexAttention: its record,
// what it could not measure, and wrong use. Times are not judged.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "process.hpp"
#include "schema.hpp"

namespace plsh::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

ProcessResult compare(const std::string& arguments) {
  std::vector<std::string> all{"-B", PLSH_SOURCE_DIR "/bench/peers/compare.py", "--library",
                               PLSH_LIBRARIES "/libplsh_cpu.so"};
  const std::vector<std::string> more = words(arguments);
  all.insert(all.end(), more.begin(), more.end());
  return run_process("/usr/bin/python3", all);  // the one that has the package python3-torch
}

bool valid(const json& document) {
  return matches_schema(document, "bench/schema/peers.schema.json");
}

TEST(Peers, MeasuresWhatThereIsAndNamesWhatIsNot) {
  const fs::path file = fs::temp_directory_path() / "plsh-peers-test.json";
  const ProcessResult result = compare(
      "--length 256,300 --sigma 8 --threads 1,2 --heads 2 --head-dim 16 --repeats 1 "
      "--json " +
      file.string());
  ASSERT_EQ(result.status, 0) << result.out << result.err;
  const json record = read_json(file);
  fs::remove(file);
  EXPECT_TRUE(valid(record)) << record;

  std::map<std::string, std::vector<double>> errors;
  for (const json& m : record.at("measurements")) errors[m.at("form")].push_back(m.at("error"));
  for (const char* form : {"ours, exact", "plain"}) {
    EXPECT_EQ(errors[form].size(), 4) << form;
    for (const double error : errors[form]) EXPECT_LT(error, 1e-5) << form;
  }
  EXPECT_EQ(errors["ours, fused"].size(), 4);
  for (const double error : errors["ours, fused"]) {  // the noise of 20 samples
    EXPECT_GT(error, 0.02);
    EXPECT_LT(error, 0.5);
  }
  EXPECT_EQ(record.at("summary").size(), 4);
  for (const char* form : {"FlexAttention", "FlexAttention, 7 sigma", "FlexAttention, 2.3 sigma"})
    EXPECT_NE(result.out.find("left out: " + std::string(form) + ": not available: "),
              std::string::npos)
        << result.out;
  // Nothing is hidden: each of eight forms is somewhere.
  EXPECT_EQ(record.at("measurements").size() + record.at("left_out").size(), 4 * 8);

  json broken = record;
  broken["measurements"][0].erase("seconds");
  EXPECT_FALSE(valid(broken));
}

TEST(Peers, LeavesOutWhatTakesTooMuch) {
  const ProcessResult memory =
      compare("--length 512 --sigma 4 --threads 1 --repeats 1 --memory 0.001");
  EXPECT_EQ(memory.status, 0) << memory.err;
  EXPECT_NE(memory.out.find("left out: plain: --memory: "), std::string::npos) << memory.out;
  // 16384^2 pairs of 128 multiply-adds take longer, however fast the machine.
  const ProcessResult time =
      compare("--length 1024,16384 --sigma 4 --threads 1 --repeats 1 --limit 0.02");
  EXPECT_EQ(time.status, 0) << time.err;
  EXPECT_NE(time.out.find("left out: ours, exact: --limit: about "), std::string::npos) << time.out;
}

TEST(Peers, RefusesWrongUse) {
  for (const auto& [arguments, named] : std::vector<std::pair<std::string, std::string>>{
           {"--length 0", "--length: '0'; allowed: integers, 128 to 131072"},
           {"--length 1024,x", "--length"},
           {"--sigma -1", "--sigma"},
           {"--sigma nan", "--sigma"},
           {"--threads 0", "--threads"},
           {"--heads 0", "--heads"},
           {"--head-dim 0", "--head-dim"},
           {"--samples 0", "--samples"},
           {"--repeats 0", "--repeats"},
           {"--limit 0", "--limit"},
           {"--memory 0", "--memory"},
           {"--seed -1", "--seed"},
           {"--library /no/such/file.so", "/no/such/file.so"},
           {"--json /no/such/folder/x.json", "/no/such/folder"},
           {"--no-such-option", "--no-such-option"}}) {
    const ProcessResult result = compare(arguments);
    EXPECT_EQ(result.status, 2) << arguments << result.out;
    EXPECT_NE(result.err.find(named), std::string::npos) << arguments << ": " << result.err;
  }
}

}  // namespace
}  // namespace plsh::test
