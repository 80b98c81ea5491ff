#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "context.hpp"

namespace plsh::properties {

std::string to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::certified:
      return "certified";
    case Verdict::consistent:
      return "consistent";
    case Verdict::refuted:
      return "refuted";
    case Verdict::undecided:
      return "undecided";
    case Verdict::not_audited:
      return "not audited";
  }
  throw std::logic_error("unknown verdict");
}

std::string to_string(Effort effort) {
  switch (effort) {
    case Effort::quick:
      return "quick";
    case Effort::standard:
      return "default";
    case Effort::full:
      return "full";
  }
  throw std::logic_error("unknown effort");
}

bool AuditReport::any_refuted() const {
  return std::any_of(claims.begin(), claims.end(),
                     [](const ClaimReport& r) { return r.verdict == Verdict::refuted; });
}

bool AuditReport::any_decided() const {
  return std::any_of(claims.begin(), claims.end(), [](const ClaimReport& r) {
    return r.verdict != Verdict::undecided && r.verdict != Verdict::not_audited;
  });
}

double log_e_value_to_refute() {
  // 1.02: the sampler draws from a grid, not from the continuous law; see proofs-notes/rounding.md.
  return std::log(1.02 * static_cast<double>(claims().size()) / false_alarm_probability);
}

namespace {

using Auditor = void (*)(audit::Context&, ClaimReport&);

Auditor auditor_of(const std::string& id) {
  static const std::map<std::string, Auditor> auditors{
      {"C1", audit::audit_expectation},   {"C2", audit::audit_contiguity},
      {"C3", audit::audit_spectral},      {"C4", audit::audit_max_norm},
      {"C5", audit::audit_largest_block}, {"C6", audit::audit_cost},
      {"C7", audit::audit_uniform},       {"C8", audit::audit_output},
      {"C9", audit::audit_convergence},   {"C12", audit::audit_features},
      {"C13", audit::audit_crossover}};
  const auto found = auditors.find(id);
  return found == auditors.end() ? nullptr : found->second;
}

/// Decimal digits in which intervals are computed.
constexpr unsigned audit_precision = 60;

}  // namespace

AuditReport run_audit(const AuditOptions& options, const Subject& subject,
                      const Progress& progress) {
  using Clock = std::chrono::steady_clock;
  const auto seconds_since = [](Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  const auto start = Clock::now();
  for (const std::string& id : options.claims) claim(id);  // throws on an unknown one
  const reference::PrecisionScope precision(audit_precision);
  audit::Context context(options, subject, progress);
  const auto selected = [&](const std::string& id) {
    return options.claims.empty() ||
           std::find(options.claims.begin(), options.claims.end(), id) != options.claims.end();
  };
  // A missing or damaged data file ends the run before the work starts.
  for (const char* id : {"C8", "C9", "C13"})
    if (selected(id)) context.inputs();
  AuditReport result;
  for (const Claim& item : claims()) {
    if (!selected(item.id)) continue;
    ClaimReport report;
    report.claim = item;
    if (const Auditor auditor = auditor_of(item.id)) {
      const auto claim_start = Clock::now();
      context.current = item.id;
      context.stage("", 0);
      auditor(context, report);
      report.seconds = seconds_since(claim_start);
    } else {
      report.verdict = Verdict::not_audited;
      report.evidence = "Needs a trained model; not audited yet.";
    }
    result.claims.push_back(std::move(report));
  }
  result.sigmas = context.sigmas;
  result.data = context.data;
  result.plots = context.plots;
  result.threads = context.threads;
  result.seconds = seconds_since(start);
  return result;
}

}  // namespace plsh::properties
