// properties/schema/audit.schema.json accepts the sample and rejects planted corruptions of it.
// GCC 12 takes std::string::replace inside valijson for an overlapping copy (GCC bug 105329)
// and, with sanitizers, the inside of std::regex for uninitialized (GCC bug 105562).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wrestrict"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>
#include <vector>

#include "sample.hpp"

namespace plsh::cli {
namespace {

using nlohmann::json;

const valijson::Schema& schema() {
  static const json document = load_json("properties/schema/audit.schema.json");
  static valijson::Schema parsed;
  static const bool once = [] {
    valijson::SchemaParser(valijson::SchemaParser::kDraft7)
        .populateSchema(valijson::adapters::NlohmannJsonAdapter(document), parsed);
    return true;
  }();
  static_cast<void>(once);
  return parsed;
}

/// Empty when valid, otherwise where and why not.
std::string violations(const json& audit) {
  valijson::Validator validator;
  valijson::ValidationResults results;
  if (validator.validate(schema(), valijson::adapters::NlohmannJsonAdapter(audit), &results))
    return "";
  std::string text = "invalid:";
  valijson::ValidationResults::Error error;
  while (results.popError(error)) {
    text += "\n";
    for (const std::string& step : error.context) text += step;
    text += " " + error.description;
  }
  return text;
}

TEST(AuditSchema, AcceptsTheSample) { EXPECT_EQ(violations(sample_audit()), ""); }

TEST(AuditSchema, AcceptsAnAuditWithoutFigures) {
  json audit = sample_audit();
  audit["plots"] = json::object();
  EXPECT_EQ(violations(audit), "");
}

TEST(AuditSchema, AcceptsNullWhereANumberMayBeMissing) {
  json audit = sample_audit();
  json& claim = audit["claims"][2];
  for (const char* member : {"constant", "observed", "tightness", "log10_e_value",
                             "log10_e_value_to_refute", "counterexample"})
    claim[member] = nullptr;
  audit["plots"]["decay"]["norms"][0]["series"][0]["points"][0]["bound"] = nullptr;
  audit["plots"]["largest_block"]["points"][0]["observed"] = nullptr;
  audit["plots"]["output"]["series"][0]["points"][0]["bound"] = nullptr;
  EXPECT_EQ(violations(audit), "");
}

struct Corruption {
  std::string name;
  std::function<void(json&)> plant;
};

void PrintTo(const Corruption& corruption, std::ostream* out) { *out << corruption.name; }

class Corrupted : public testing::TestWithParam<Corruption> {};

TEST_P(Corrupted, IsRejected) {
  json audit = sample_audit();
  GetParam().plant(audit);
  ASSERT_NE(audit, sample_audit()) << "nothing was planted";
  EXPECT_NE(violations(audit), "");
}

const std::vector<Corruption>& corruptions() {
  static const std::vector<Corruption> all{
      {"OtherFormat", [](json& a) { a["format"] = "plsh-check"; }},
      {"OtherVersion", [](json& a) { a["version"] = 2; }},
      {"MissingRun", [](json& a) { a.erase("run"); }},
      {"MissingSeed", [](json& a) { a["run"].erase("seed"); }},
      {"NegativeSeed", [](json& a) { a["run"]["seed"] = -1; }},
      {"UnknownMode", [](json& a) { a["run"]["mode"] = "thorough"; }},
      {"NoClaimSelected", [](json& a) { a["run"]["claims"] = json::array(); }},
      {"ClaimSelectedTwice",
       [](json& a) {
         a["run"]["claims"] = {"C1", "C1"};
       }},
      {"CertainFalseAlarm", [](json& a) { a["run"]["false_alarm_probability"] = 1.0; }},
      {"LocalTime", [](json& a) { a["run"]["started"] = "2026-01-31 12:00:00"; }},
      {"MonthThirteen", [](json& a) { a["run"]["started"] = "2026-13-31T12:00:00Z"; }},
      {"ExtraMember", [](json& a) { a["comment"] = "hello"; }},
      {"ExtraMemberOfAClaim", [](json& a) { a["claims"][0]["status"] = "ok"; }},
      {"NoClaims", [](json& a) { a["claims"] = json::array(); }},
      {"BadClaimId", [](json& a) { a["claims"][0]["id"] = "claim 1"; }},
      {"NoteOutsideTheProject", [](json& a) { a["claims"][0]["note"] = "../secret.md"; }},
      {"UnknownVerdict", [](json& a) { a["claims"][0]["verdict"] = "proved"; }},
      {"MissingVerdict", [](json& a) { a["claims"][0].erase("verdict"); }},
      {"NullTitle", [](json& a) { a["claims"][0]["title"] = nullptr; }},
      {"ConstantWithoutName", [](json& a) { a["claims"][0]["constant"].erase("name"); }},
      {"ConstantAsText", [](json& a) { a["claims"][0]["constant"]["value"] = "0"; }},
      {"ZeroTightness", [](json& a) { a["claims"][2]["tightness"] = 0; }},
      {"TextForPassed", [](json& a) { a["claims"][0]["checks"][0]["passed"] = "yes"; }},
      {"NegativeDuration", [](json& a) { a["claims"][0]["seconds"] = -0.1; }},
      {"ShortHash", [](json& a) { a["data"]["sha256"] = "abc"; }},
      {"NegativeSlope", [](json& a) { a["heads"][0]["slope"] = -0.5; }},
      {"UnknownFigure", [](json& a) { a["plots"]["pie"] = json::object(); }},
      {"NegativeProbability",
       [](json& a) { a["plots"]["law"]["partitions"][0]["probability"] = -0.01; }},
      {"ProbabilityAboveOne", [](json& a) { a["plots"]["law"]["rest"] = 1.5; }},
      {"EmptyBlock",
       [](json& a) {
         a["plots"]["law"]["partitions"][0]["blocks"] = {0, 8};
       }},
      {"MeanAboveOne", [](json& a) { a["plots"]["mask"]["mean"][3][4] = 1.1; }},
      {"BlocksStartTwice",
       [](json& a) {
         a["plots"]["mask"]["starts"] = {0, 5, 5};
       }},
      {"UnknownNorm", [](json& a) { a["plots"]["decay"]["norms"][0]["norm"] = "nuclear"; }},
      {"NullMean",
       [](json& a) {
         a["plots"]["decay"]["norms"][0]["series"][0]["points"][0]["mean"] = nullptr;
       }},
      {"HalfASample",
       [](json& a) { a["plots"]["decay"]["norms"][0]["series"][0]["points"][0]["samples"] = 2.5; }},
      {"NoPoints", [](json& a) { a["plots"]["length"]["series"][0]["points"] = json::array(); }},
      {"ZeroDelta", [](json& a) { a["plots"]["largest_block"]["delta"] = 0; }},
      {"NoLengthOfACrossover",
       [](json& a) { a["plots"]["seconds"]["crossovers"][0].erase("length"); }},
      {"MissingCrossover", [](json& a) { a["plots"]["cost"].erase("half_union"); }},
      {"UnknownInput", [](json& a) { a["plots"]["output"]["series"][0]["kind"] = "recorded"; }},
      {"NegativeRadius", [](json& a) { a["plots"]["window"]["rows"][0]["radius"] = -1; }},
  };
  return all;
}

INSTANTIATE_TEST_SUITE_P(AuditSchema, Corrupted, testing::ValuesIn(corruptions()),
                         [](const auto& test) { return test.param.name; });

/// Every object type of the schema, and every place that forgot to close it.
void find_open_objects(const json& node, const std::string& path, std::vector<std::string>& open) {
  if (node.is_object()) {
    if (node.contains("properties") && node.value("additionalProperties", true))
      open.push_back(path);
    for (const auto& [name, child] : node.items())
      find_open_objects(child, fmt::format("{}/{}", path, name), open);
  } else if (node.is_array()) {
    for (const json& child : node) find_open_objects(child, path, open);
  }
}

TEST(AuditSchema, LeavesNoObjectOpenToUnknownMembers) {
  std::vector<std::string> open;
  find_open_objects(load_json("properties/schema/audit.schema.json"), "", open);
  EXPECT_EQ(open, std::vector<std::string>{});
}

}  // namespace
}  // namespace plsh::cli
