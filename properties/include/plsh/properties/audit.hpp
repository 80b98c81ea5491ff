/// \file
/// The audit: for each claim a verdict, the evidence, the constant, and how tight the bound is.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <plsh/properties/claims.hpp>
#include <plsh/properties/subject.hpp>
#include <string>
#include <vector>

namespace plsh::properties {

enum class Verdict {
  certified,    ///< proved, and every instance checked by interval containment or in integers
  consistent,   ///< the evidence, with its e-value, does not refute the claim
  refuted,      ///< a counterexample, or an e-value beyond the threshold
  undecided,    ///< too little evidence
  not_audited,  ///< listed only
};
std::string to_string(Verdict verdict);

enum class Effort { quick, standard, full };
std::string to_string(Effort effort);

struct AuditOptions {
  std::vector<std::string> claims;  ///< ids; empty: all
  Effort effort = Effort::standard;
  std::uint64_t seed = 1;
  std::string data;      ///< safetensors file with queries, keys and values
  unsigned threads = 0;  ///< 0: one per core
};

struct NamedValue {
  std::string name;
  double value;
};

struct Check {
  std::string name;
  bool passed;
  std::string detail;
};

struct ClaimReport {
  Claim claim;
  Verdict verdict = Verdict::undecided;
  std::string ours;  ///< our form of the claim, with the explicit constant
  std::optional<NamedValue> constant;
  std::optional<NamedValue> observed;
  std::optional<double> tightness;    ///< bound over observed
  std::optional<double> log_e_value;  ///< natural logarithm
  std::string evidence;
  std::optional<std::string> counterexample;
  std::vector<Check> checks;
  std::vector<std::string> notes;
  double seconds = 0;
};

struct AuditReport {
  std::vector<ClaimReport> claims;
  std::vector<double> sigmas;  ///< decay length of each head
  nlohmann::json data;         ///< the real input that was used, or null
  nlohmann::json plots;
  double seconds = 0;
  unsigned threads = 1;

  /// True when some claim is refuted; when at least one claim was decided.
  bool any_refuted() const;
  bool any_decided() const;
};

/// The probability that a run with a correct subject refutes any claim: at most this, by theorem.
inline constexpr double false_alarm_probability = 1e-9;
/// Natural logarithm of the e-value at which one claim is refuted: the number of claims over 1e-9,
/// and 2% more for the grid of the sampler's uniforms.
double log_e_value_to_refute();

/// Told what is being worked on: the claim's id, a few words, and how far it is, 0..1.
using Progress = std::function<void(const std::string& claim, const std::string& stage, double)>;

/// \throws std::invalid_argument for an unknown claim; std::runtime_error when the data file is
/// missing or damaged.
AuditReport run_audit(const AuditOptions& options, const Subject& subject,
                      const Progress& progress = {});

/// The report as the document that properties/schema/audit.schema.json describes.
/// \param command the line that reproduces the run; \param started UTC, ISO 8601.
nlohmann::json to_json(const AuditReport& report, const AuditOptions& options,
                       const std::string& command, const std::string& started);

}  // namespace plsh::properties
