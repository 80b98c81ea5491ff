// `plsh bench`: its record, its numbers where they are known, and wrong use. Times are not judged.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "process.hpp"
#include "schema.hpp"

namespace plsh::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

bool valid(const json& document) {
  return matches_schema(document, "bench/schema/bench.schema.json");
}

json bench(const std::string& arguments) {
  const fs::path file = fs::temp_directory_path() / "plsh-bench-test.json";
  const ProcessResult result = plsh(words("bench --json " + file.string() + " " + arguments));
  EXPECT_EQ(result.status, 0) << result.out << result.err;
  EXPECT_EQ(result.err, "");
  const json document = read_json(file);
  fs::remove(file);
  EXPECT_TRUE(valid(document));
  return document;
}

const json& measurement(const json& record, const std::string& form, const std::string& direction) {
  for (const json& m : record.at("measurements"))
    if (m.at("form") == form && m.at("direction") == direction) return m;
  throw std::runtime_error("no measurement of " + form);
}

TEST(Bench, MeasuresEveryFormAndItsError) {
  const json record =
      bench("--length 512 --sigma 8 --head-dim 16 --threads 1 --repeats 1 --backward");
  const double n = 512;
  const auto pairs = [&](const char* form) {
    return measurement(record, form, "forward").at("useful_pairs").get<double>();
  };
  const auto error = [&](const char* form) {
    return measurement(record, form, "forward").at("error").get<double>();
  };
  EXPECT_EQ(pairs("exact"), n * n);
  EXPECT_EQ(pairs("window 2.3 sigma"), n * 37 - 18 * 19);  // radius floor(2.3 * 8)
  EXPECT_EQ(pairs("equal blocks"), n * 16);
  EXPECT_EQ(pairs("fused"), pairs("sample by sample"));
  // At least the 2 sigma of one mask, at most what 20 masks hold together.
  EXPECT_GT(pairs("fused"), n * 16);
  const json& fused = measurement(record, "fused", "forward");
  EXPECT_GT(fused.at("written_pairs").get<double>(), pairs("fused"));
  // Exact attention differs by rounding, a window by its tail e^-6.9 and no more than that of the
  // shorter ones; the estimator by the noise of its samples, whichever way it is computed.
  EXPECT_LT(error("exact"), 1e-5);
  EXPECT_LT(error("exact"), error("window 6.9 sigma"));
  EXPECT_LT(error("window 6.9 sigma"), error("window 2.3 sigma"));
  EXPECT_LT(error("window 6.9 sigma"), 0.02);
  EXPECT_NEAR(error("fused"), error("sample by sample"), 1e-5);
  EXPECT_GT(error("fused"), 0.02);
  EXPECT_GT(error("equal blocks"), error("fused"));
  EXPECT_TRUE(measurement(record, "fused", "backward").at("error").is_null());
  // The window of equal cost has as many pairs as whole positions allow.
  EXPECT_NEAR(pairs("window, as many pairs"), pairs("fused"), 2 * n);
  EXPECT_TRUE(measurement(record, "draw partitions", "forward").at("peak_fraction").is_null());
  ASSERT_EQ(record.at("crossovers").size(), 1U);
  EXPECT_EQ(record.at("crossovers")[0].at("sigma"), 8);

  json broken = record;
  broken["measurements"][0].erase("seconds");
  EXPECT_FALSE(valid(broken));
}

TEST(Bench, RunsInOtherTypesAndManyHeads) {
  const json record =
      bench("--length 256 --sigma mix --head-dim 8 --threads 2 --repeats 1 --type bf16");
  EXPECT_EQ(measurement(record, "exact", "forward").at("useful_pairs"), 8 * 256 * 256);
  EXPECT_LT(measurement(record, "exact", "forward").at("error").get<double>(), 0.01);
  bench("--length 100 --sigma 3 --head-dim 5 --threads 1 --repeats 1 --type f16 --causal");
}

// 0.1 s lies between the two from 20 to 1000 GFLOP/s.
TEST(Bench, LeavesOutWhatTakesTooLong) {
  const ProcessResult result =
      plsh(words("bench --length 16384 --sigma 4 --threads 1 --repeats 1 --limit 0.1"));
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.out.find("left out: exact"), std::string::npos) << result.out;
  const ProcessResult nothing =
      plsh(words("bench --length 65536 --sigma 100 --threads 1 --repeats 1 --limit 0.001"));
  EXPECT_EQ(nothing.status, 3) << nothing.out;
  EXPECT_NE(nothing.err.find("--limit"), std::string::npos) << nothing.err;
}

TEST(Bench, RefusesWrongUse) {
  for (const auto& [arguments, named] : std::vector<std::pair<std::string, std::string>>{
           {"--length 0", "--length"},
           {"--length x", "--length"},
           {"--sigma -1", "--sigma"},
           {"--sigma mixed", "--sigma"},
           {"--head-dim 0", "--head-dim"},
           {"--threads 0", "--threads"},
           {"--samples 0", "--samples"},
           {"--repeats 0", "--repeats"},
           {"--type f64", "--type"},
           {"--seed -1", "--seed"},
           {"--no-such-option", "--no-such-option"},
           {"--quick --json /no/such/folder/x.json", "/no/such/folder"}}) {
    const ProcessResult result = plsh(words("bench " + arguments));
    EXPECT_EQ(result.status, 2) << arguments << result.out;
    EXPECT_NE(result.err.find(named), std::string::npos) << arguments << ": " << result.err;
  }
}

}  // namespace
}  // namespace plsh::test
