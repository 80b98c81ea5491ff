#include <fmt/format.h>

#include <algorithm>
#include <bench/run.hpp>
#include <chrono>
#include <filesystem>
#include <plsh/properties/audit.hpp>

#include "command.hpp"
#include "output.hpp"
#include "report/report.hpp"

namespace plsh::cli {
namespace {

namespace fs = std::filesystem;
using properties::AuditOptions;
using properties::AuditReport;
using properties::ClaimReport;
using properties::Effort;
using properties::Verdict;

struct Arguments {
  std::vector<std::string> claims;
  bool quick = false;
  bool full = false;
  std::string out = "plsh-audit";
  std::string seed = "1";
  std::string data;
};

/// The data file of the source tree, or of the installation that this program belongs to.
std::string default_data() {
  const char* name = "smollm2-135m-qkv.safetensors";
  const fs::path in_tree = fs::path(PLSH_DATA_DIR) / name;
  std::error_code ignored;
  if (fs::exists(in_tree, ignored)) return in_tree;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  return program.parent_path().parent_path() / "share/plsh/data" / name;
}

std::string command_line(const Arguments& arguments) {
  std::string line = "plsh audit";
  if (!arguments.claims.empty())
    line += fmt::format(" --claims {}", fmt::join(arguments.claims, ","));
  if (arguments.quick) line += " --quick";
  if (arguments.full) line += " --full";
  return line + fmt::format(" --seed {}", arguments.seed);
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::string number(const std::optional<properties::NamedValue>& value) {
  return value ? fmt::format("{:.4g}", value->value) : "-";
}

void print_table(const AuditReport& report) {
  constexpr const char* row = "{:<4} {:<27} {:<11} {:>10} {:>10} {:>9} {:>11}\n";
  fmt::print(row, "", "claim", "verdict", "constant", "observed", "tightness", "e-value");
  for (const ClaimReport& r : report.claims)
    fmt::print(row, r.claim.id, r.claim.title, to_string(r.verdict), number(r.constant),
               number(r.observed), r.tightness ? fmt::format("{:.3g}", *r.tightness) : "-",
               r.log_e_value ? fmt::format("10^{:.1f}", *r.log_e_value / std::log(10.0)) : "-");
  fmt::print("\n");
  for (const ClaimReport& r : report.claims) {
    if (r.verdict == Verdict::not_audited) continue;
    fmt::print("{:<4} {}\n", r.claim.id, r.evidence);
    if (r.constant) fmt::print("     constant: {} = {:.6g}\n", r.constant->name, r.constant->value);
    if (r.observed) fmt::print("     observed: {} = {:.6g}\n", r.observed->name, r.observed->value);
    if (r.counterexample) fmt::print("     COUNTEREXAMPLE: {}\n", *r.counterexample);
  }
}

bool has_claim(const AuditReport& report, const std::string& id) {
  return std::any_of(report.claims.begin(), report.claims.end(), [&](const ClaimReport& r) {
    return r.claim.id == id && r.verdict != Verdict::not_audited;
  });
}

/// Where sampled attention is faster than exact attention, in seconds on this machine: measured
/// with the optimized implementations, which the properties do not know.
nlohmann::json crossovers(std::uint64_t seed,
                          const std::function<void(const std::string&)>& progress) {
  nlohmann::json rows = nlohmann::json::array();
  for (const double sigma : {4.0, 32.0, 256.0})
    rows.push_back(
        bench::to_json(bench::measure_crossover(sigma, 20, 64, 1, seed, [&](bench::Index length) {
          progress(fmt::format("seconds at sigma {}, n = {}", sigma, length));
        })));
  return {{"processor", bench::processor()},
          {"instruction_set", bench::instruction_set()},
          {"crossovers", rows}};
}

void print_crossovers(const nlohmann::json& seconds) {
  std::vector<std::string> parts;
  for (const nlohmann::json& c : seconds.at("crossovers"))
    parts.push_back(fmt::format("n = {} at sigma = {}", c.at("length").get<long>(),
                                c.at("sigma").get<double>()));
  fmt::print(
      "     in seconds on this machine, our fused attention beats our exact attention from {}\n",
      fmt::join(parts, ", "));
}

int run(const Arguments& arguments) {
  AuditOptions options;
  options.claims = arguments.claims;
  for (const std::string& id : options.claims) properties::claim(id);
  options.effort = arguments.quick  ? Effort::quick
                   : arguments.full ? Effort::full
                                    : Effort::standard;
  options.seed = read_seed(arguments.seed);
  options.data = arguments.data.empty() ? default_data() : arguments.data;
  const Folder folder{arguments.out};

  const std::string started = utc_now();
  const std::string command = command_line(arguments);
  fmt::print("{}: the claims of Positional LSH (arXiv 2605.09472), seed {}\n\n", command,
             options.seed);
  std::fflush(stdout);
  AuditReport report;
  std::string page;
  nlohmann::json document;
  {
    ProgressLine progress;
    report = run_audit(options, properties::reference_subject(),
                       [&](const std::string& claim, const std::string& stage, double fraction) {
                         progress.show(fmt::format("{:<4} {:<40}", claim, stage), fraction);
                       });
    progress.show("drawing the report", 1);
    document = to_json(report, options, command, started);
    if (has_claim(report, "C13"))
      document["plots"]["seconds"] = crossovers(
          options.seed, [&](const std::string& stage) { progress.show("C13  " + stage, 1); });
    page = render_report(document);
  }
  write_whole(folder.file("audit.json"), document.dump(1) + "\n");
  write_whole(folder.file("report.html"), page);

  print_table(report);
  if (document["plots"].contains("seconds")) print_crossovers(document["plots"]["seconds"]);
  fmt::print(
      "\nA correct subject is refuted with probability at most {:g} in a whole run (one claim at an "
      "e-value of 10^{:.1f}).\n{:.0f} s on {} threads. {} and {} written.\nReproduce: {}\n",
      properties::false_alarm_probability, properties::log_e_value_to_refute() / std::log(10.0),
      report.seconds, report.threads, folder.file("report.html").string(),
      folder.file("audit.json").string(), command);
  if (report.any_refuted()) {
    for (const ClaimReport& r : report.claims)
      if (r.verdict == Verdict::refuted)
        fmt::print("REFUTED {}: plsh audit --claims {} --seed {}{}\n", r.claim.id, r.claim.id,
                   options.seed,
                   arguments.quick  ? " --quick"
                   : arguments.full ? " --full"
                                    : "");
    return failed;
  }
  return report.any_decided() ? ok : undecided;
}

}  // namespace

void add_audit(CLI::App& app, int& status) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand(
      "audit", "Audit the paper's claims: verdicts, constants, evidence, a report with plots.");
  command->add_option("--claims", arguments->claims, "Only these claims, e.g. C1,C5 (C1 to C13)")
      ->delimiter(',');
  auto* quick = command->add_flag("--quick", arguments->quick, "Small sizes, at most 30 s");
  command->add_flag("--full", arguments->full, "Large sizes: n up to 10^6, many more samples")
      ->excludes(quick);
  command->add_option("--out", arguments->out, "Folder for audit.json and report.html")
      ->capture_default_str();
  command->add_option("--seed", arguments->seed, "Seed of every random draw, 0 to 2^64 - 1")
      ->envname("PLSH_SEED")
      ->capture_default_str();
  command->add_option("--data", arguments->data,
                      "safetensors file with real queries, keys and values (default: the one that "
                      "comes with plsh)");
  command->footer(
      "Examples:\n"
      "  plsh audit                           all claims, about 2 minutes on 2 cores\n"
      "  plsh audit --quick --out /tmp/audit  a first look\n"
      "  plsh audit --claims C1,C5 --seed 7   two claims under another seed\n\n"
      "Exit status: 0 no claim refuted, 1 a claim refuted, 2 wrong use, 3 nothing decided.");
  command->callback([arguments, &status] { status = run(*arguments); });
}

}  // namespace plsh::cli
