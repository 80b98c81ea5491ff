#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <filesystem>
#include <memory>
#include <plsh/properties/check.hpp>
#include <thread>

#include "command.hpp"
#include "implementation_source.hpp"
#include "junit.hpp"
#include "output.hpp"

namespace plsh::cli {
namespace {

using properties::CheckOptions;
using properties::CheckReport;
using properties::CheckVerdict;
using properties::PropertyResult;

struct Arguments {
  SourceArguments source;
  std::vector<std::string> properties;
  bool quick = false;
  double time = 0;
  properties::Index samples = 0;
  std::string seed = "1";
  int jobs = 0;
  double case_limit = 20;
  double shrink = 10;
  std::string out = "plsh-check";
  std::string junit;
  std::string json;
  bool fail_fast = false;
  bool list = false;
};

void list_properties(const Arguments& arguments) {
  for (const properties::Property* property : properties::select_properties(arguments.properties)) {
    fmt::print("{}  ({})\n    {}\n", property->id, property->claim, property->statement);
    for (const properties::Family& family : property->families)
      fmt::print("    - {}: {}\n", family.name, family.purpose);
  }
}

std::string remark(const PropertyResult& result) {
  std::string text;
  if (result.verdict == CheckVerdict::pass && result.observations > 0)
    text = fmt::format("{} samples, largest e-value 10^{:.1f}", result.observations,
                       result.log_e_value / std::log(10.0));
  else if (result.verdict == CheckVerdict::pass && result.cases > 0)
    text = fmt::format("{} case{}", result.cases, result.cases == 1 ? "" : "s");
  if (result.verdict == CheckVerdict::pass && result.error_ratio > 0)
    text += fmt::format(", error/tolerance {:.2g}", result.error_ratio);
  if (result.verdict == CheckVerdict::pass && result.plain_ratio > 0)
    text += fmt::format(", error/plain run {:.2g}", result.plain_ratio);
  if (result.refused > 0) text += fmt::format(", {} refused", result.refused);
  if (result.verdict == CheckVerdict::not_offered ||
      result.verdict == CheckVerdict::not_enough_evidence)
    text = result.message;
  return text;
}

void print_line(const PropertyResult& result) {
  fmt::print("{:<12} {:<42} {:>6.1f} s  {}\n",
             result.verdict == CheckVerdict::not_enough_evidence ? "NOT ENOUGH"
             : result.verdict == CheckVerdict::fail              ? "FAIL"
                                                                 : to_string(result.verdict),
             result.id, result.seconds,
             result.verdict == CheckVerdict::fail ? result.message.substr(0, 100) : remark(result));
  std::fflush(stdout);
}

int run(const Arguments& arguments) {
  if (arguments.list) {
    list_properties(arguments);
    return ok;
  }
  CheckOptions options;
  options.source = find_source(arguments.source);
  options.properties = arguments.properties;
  const auto selected = properties::select_properties(options.properties);
  options.effort =
      arguments.quick ? properties::CheckEffort::quick() : properties::CheckEffort::standard();
  options.jobs = arguments.jobs > 0
                     ? arguments.jobs
                     : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  if (arguments.time > 0) {
    const double share = arguments.time * options.jobs / static_cast<double>(selected.size());
    options.effort.seconds = share;
    options.effort.statistical_seconds = share;
  }
  options.effort.samples = arguments.samples;
  options.effort.shrink_seconds = arguments.shrink;
  options.seed = read_seed(arguments.seed);
  options.seconds_per_case = arguments.case_limit;
  options.fail_fast = arguments.fail_fast;
  const Folder folder{arguments.out};

  fmt::print("plsh check: {} properties, seed {}, {} processes\n", selected.size(), options.seed,
             options.jobs);
  std::fflush(stdout);
  CheckReport report;
  {
    ProgressLine progress;
    options.progress = [&](const PropertyResult& result, int done, int all) {
      progress.clear();
      print_line(result);
      progress.show(fmt::format("{} of {} properties", done, all),
                    static_cast<double>(done) / static_cast<double>(all));
    };
    report = run_check(options);
  }
  if (report.implementation.is_object())
    fmt::print(
        "\n{} {}: {}\n", report.implementation.value("name", ""),
        report.implementation.value("version", ""),
        fmt::join(report.implementation.at("operations").get<std::vector<std::string>>(), ", "));
  int passes = 0;
  int failures = 0;
  int undecided_properties = 0;
  int absent = 0;
  for (const PropertyResult& result : report.results) {
    passes += result.id != "interface.table" && result.verdict == CheckVerdict::pass ? 1 : 0;
    failures += result.verdict == CheckVerdict::fail ? 1 : 0;
    undecided_properties += result.verdict == CheckVerdict::not_enough_evidence ? 1 : 0;
    absent += result.verdict == CheckVerdict::not_offered ? 1 : 0;
    if (result.verdict != CheckVerdict::fail) continue;
    fmt::print("\nFAIL {}\n  {}\n", result.id, result.message);
    if (!result.counterexample) continue;
    const auto file = folder.file(result.id + ".json");
    write_whole(file, counterexample_document(result, options)
                              .dump(1, ' ', false, nlohmann::json::error_handler_t::replace) +
                          "\n");
    fmt::print("  property:  {}\n  case:      {} (family {}, {} steps smaller than first found)\n",
               properties::property(result.id).statement, result.counterexample->parameters.dump(),
               result.counterexample->family, result.counterexample->shrinks);
    fmt::print("  reproduce: plsh replay {}\n", shell_word(file.string()));
  }
  if (!arguments.json.empty())
    write_whole(
        arguments.json,
        to_json(report).dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  if (!arguments.junit.empty()) write_whole(arguments.junit, to_junit(report));
  fmt::print(
      "\n{} pass, {} fail, {} not enough evidence, {} not offered; {:.0f} s.\n"
      "A correct implementation fails a run with probability at most {:g}.\n",
      passes, failures, undecided_properties, absent, report.seconds, options.alpha);
  if (failures > 0) return failed;
  return undecided_properties > 0 || passes == 0 ? undecided : ok;
}

}  // namespace

void add_check(CLI::App& app, int& status) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand(
      "check", "Check an implementation: run every property it offers the operations for.");
  add_source_options(*command, arguments->source);
  command
      ->add_option("--property", arguments->properties,
                   "Only these properties or areas, e.g. sampler,mask.diagonal")
      ->delimiter(',');
  auto* quick = command->add_flag("--quick", arguments->quick, "Fewer cases, at most 30 s");
  command->add_option("--time", arguments->time, "Spend about this many seconds, 1 to 86400")
      ->check(CLI::Range(1.0, 86400.0))
      ->excludes(quick);
  command
      ->add_option("--samples", arguments->samples,
                   "Samples for each statistical case, 1 to 10^9, instead of a time")
      ->check(CLI::Range(properties::Index{1}, properties::Index{1'000'000'000}));
  command->add_option("--seed", arguments->seed, "Seed of every case, 0 to 2^64 - 1")
      ->envname("PLSH_SEED")
      ->capture_default_str();
  command->add_option("--jobs", arguments->jobs, "Processes, 1 to 64 (default: one a core)")
      ->check(CLI::Range(1, 64));
  command
      ->add_option("--case-limit", arguments->case_limit,
                   "Seconds after which a case counts as hung, 0.1 to 3600")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  command
      ->add_option("--shrink", arguments->shrink,
                   "Seconds for making a failing case smaller, 0 (not at all) to 3600")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  command->add_option("--out", arguments->out, "Folder for counterexamples")->capture_default_str();
  command->add_option("--junit", arguments->junit, "Write the results as JUnit XML to this file");
  command->add_option("--json", arguments->json, "Write the results as JSON to this file");
  command->add_flag("--fail-fast", arguments->fail_fast, "Stop at the first failing property");
  command->add_flag("--list", arguments->list, "List the properties and their families of cases");
  command->footer(
      "Examples:\n"
      "  plsh check --impl ./libmine.so                     everything, 10 s to 3 minutes on 2 cores\n"
      "  plsh check --impl ./libmine.so --quick             a first look, at most 30 s\n"
      "  plsh check --impl ./libmine.so --property sampler  one area\n"
      "  plsh check --python mine:implementation            a Python module (PyTorch, JAX, ...)\n"
      "  plsh check --list                                  what is checked\n\n"
      "Each case runs in a process of its own: a crash, a hang or a wild write is a finding.\n"
      "Exit status: 0 all passed, 1 a property failed, 2 wrong use, 3 something was not decided.");
  command->callback([arguments, &status] { status = run(*arguments); });
}

}  // namespace plsh::cli
