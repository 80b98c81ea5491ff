#include <fmt/format.h>

#include <cmath>
#include <plsh/properties/check.hpp>

namespace plsh::properties {
namespace {

using nlohmann::json;

std::string identifier(CheckVerdict verdict) {
  switch (verdict) {
    case CheckVerdict::pass:
      return "pass";
    case CheckVerdict::fail:
      return "fail";
    case CheckVerdict::not_offered:
      return "not_offered";
    default:
      return "not_enough_evidence";
  }
}

json source_to_json(const Source& source) {
  json result{{"library", source.library}};
  if (!source.python.empty()) result["python"] = source.python;
  return result;
}

const Property* find_property(const std::string& id) {
  for (const Property& candidate : catalogue())
    if (candidate.id == id) return &candidate;
  return nullptr;  // interface.table
}

}  // namespace

json to_json(const CheckReport& report) {
  json document{{"format", "plsh-check"},
                {"version", 1},
                {"plsh", PLSH_VERSION},
                {"source", source_to_json(report.options.source)},
                {"implementation", report.implementation},
                {"seed", report.options.seed},
                {"alpha", report.options.alpha},
                {"seconds", report.seconds}};
  json& properties = document["properties"] = json::array();
  for (const PropertyResult& result : report.results) {
    json entry{{"id", result.id},
               {"verdict", identifier(result.verdict)},
               {"cases", result.cases},
               {"refused", result.refused},
               {"unsuitable", result.unsuitable},
               {"seconds", result.seconds},
               {"message", result.message}};
    if (const Property* property = find_property(result.id)) {
      entry["claim"] = property->claim;
      entry["statement"] = property->statement;
      if (property->statistical) {
        entry["e_value_log10"] = result.log_e_value / std::log(10.0);
        entry["observations"] = result.observations;
      }
    }
    if (result.error_ratio > 0) entry["error_over_tolerance"] = result.error_ratio;
    if (result.plain_ratio > 0) entry["error_over_plain_run"] = result.plain_ratio;
    if (result.counterexample)
      entry["counterexample"] = counterexample_document(result, report.options);
    properties.push_back(std::move(entry));
  }
  return document;
}

json counterexample_document(const PropertyResult& result, const CheckOptions& options) {
  const Counterexample& example = result.counterexample.value();
  return {{"format", "plsh-counterexample"},
          {"version", 1},
          {"plsh", PLSH_VERSION},
          {"property", result.id},
          {"statement", property(result.id).statement},
          {"source", source_to_json(options.source)},
          {"seed", options.seed},
          {"family", example.family},
          {"case", example.parameters},
          {"message", example.message}};
}

Replay read_counterexample(const json& document) {
  const auto require = [](bool condition, const std::string& what) {
    if (!condition) throw std::invalid_argument("not a counterexample file: " + what);
  };
  require(document.is_object(), "it is not a JSON object");
  const auto text = [&](const json& object, const char* name) {
    require(object.contains(name) && object[name].is_string(),
            fmt::format("\"{}\" is missing or not a text", name));
    return object[name].get<std::string>();
  };
  require(text(document, "format") == "plsh-counterexample",
          "\"format\" is not \"plsh-counterexample\"");
  require(document.contains("version") && document["version"] == 1,
          "\"version\" is not 1, the only one known");
  Replay replay;
  replay.property = &property(text(document, "property"));
  require(document.contains("case") && document["case"].is_object(),
          "\"case\" is missing or not an object");
  replay.parameters = document["case"];
  require(document.contains("source") && document["source"].is_object(),
          "\"source\" is missing or not an object");
  replay.source.library = text(document["source"], "library");
  if (document["source"].contains("python"))
    replay.source.python = text(document["source"], "python");
  if (document.contains("family")) replay.family = text(document, "family");
  if (document.contains("message")) replay.message = text(document, "message");
  return replay;
}

}  // namespace plsh::properties
