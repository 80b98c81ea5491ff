#include <algorithm>
#include <cmath>
#include <fstream>
#include <plsh/properties/audit.hpp>

namespace plsh::properties {
namespace {

using Json = nlohmann::json;

Json to_json(const std::optional<NamedValue>& value) {
  return value ? Json{{"name", value->name}, {"value", value->value}} : Json();
}

/// JSON has no infinity: an e-value beyond any doubt is written as 10^9999.
double to_log10(double log_e_value) {
  return std::clamp(log_e_value / std::log(10.0), -9999.0, 9999.0);
}

std::string machine() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);)
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  return "unknown";
}

std::string compiler() {
#if defined(__clang__)
  return "clang " __clang_version__;
#else
  return "g++ " __VERSION__;
#endif
}

Json to_json(const ClaimReport& report, std::uint64_t seed, Effort effort) {
  Json checks = Json::array();
  for (const Check& check : report.checks)
    checks.push_back({{"name", check.name}, {"passed", check.passed}, {"detail", check.detail}});
  std::string reproduce =
      "plsh audit --claims " + report.claim.id + " --seed " + std::to_string(seed);
  if (effort != Effort::standard) reproduce += " --" + to_string(effort);
  return {{"id", report.claim.id},
          {"title", report.claim.title},
          {"statement", report.claim.statement},
          {"ours", report.ours},
          {"note", report.claim.note},
          {"verdict", to_string(report.verdict)},
          {"constant", to_json(report.constant)},
          {"observed", to_json(report.observed)},
          {"tightness", report.tightness ? Json(*report.tightness) : Json()},
          {"log10_e_value", report.log_e_value ? Json(to_log10(*report.log_e_value)) : Json()},
          {"log10_e_value_to_refute",
           report.log_e_value ? Json(to_log10(log_e_value_to_refute())) : Json()},
          {"evidence", report.evidence},
          {"counterexample", report.counterexample ? Json(*report.counterexample) : Json()},
          {"reproduce", reproduce},
          {"seconds", report.seconds},
          {"notes", report.notes},
          {"checks", checks}};
}

}  // namespace

Json to_json(const AuditReport& report, const AuditOptions& options, const std::string& command,
             const std::string& started) {
  Json ids = Json::array();
  Json claims = Json::array();
  for (const ClaimReport& item : report.claims) {
    ids.push_back(item.claim.id);
    claims.push_back(to_json(item, options.seed, options.effort));
  }
  Json heads = Json::array();
  for (std::size_t h = 0; h < report.sigmas.size(); ++h)
    heads.push_back({{"head", h}, {"slope", 1 / report.sigmas[h]}, {"sigma", report.sigmas[h]}});
  return {{"format", "plsh-audit"},
          {"version", 1},
          {"program", {{"name", "plsh"}, {"version", PLSH_VERSION}}},
          {"run",
           {{"mode", to_string(options.effort)},
            {"seed", options.seed},
            {"claims", ids},
            {"command", command},
            {"seconds", report.seconds},
            {"threads", report.threads},
            {"false_alarm_probability", false_alarm_probability},
            {"started", started},
            {"compiler", compiler()},
            {"machine", machine()}}},
          {"heads", heads},
          {"data", report.data},
          {"claims", claims},
          {"plots", report.plots}};
}

}  // namespace plsh::properties
