#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <plsh/properties/check.hpp>

#include "command.hpp"
#include "implementation_source.hpp"
#include "output.hpp"

namespace plsh::cli {
namespace {

using properties::Outcome;

struct Arguments {
  std::string file;
  SourceArguments source;
  double case_limit = 20;
  double time = 60;
};

int run(const Arguments& arguments) {
  const nlohmann::json document = nlohmann::json::parse(read_whole(arguments.file), nullptr, false);
  if (document.is_discarded()) throw std::runtime_error(arguments.file + " is not valid JSON");
  properties::Replay replay;
  try {
    replay = properties::read_counterexample(document);
  } catch (const std::invalid_argument& error) {
    throw std::runtime_error(arguments.file + ": " + error.what());
  }
  const bool given = !arguments.source.library.empty() || !arguments.source.python.empty();
  const properties::Source source =
      find_source(given ? arguments.source
                        : SourceArguments{replay.source.python.empty() ? replay.source.library : "",
                                          replay.source.python});
  properties::ChildExecutor executor(source, arguments.case_limit);
  const nlohmann::json description = executor.describe();
  fmt::print("plsh replay: {} on {}\n  {}\n  case: {}\n  it was: {}\n", replay.property->id,
             description.value("name", ""), replay.property->statement, replay.parameters.dump(),
             replay.message.empty() ? "not recorded" : replay.message);
  std::fflush(stdout);
  const nlohmann::json& offered = description.at("operations");
  for (const properties::Operation operation : replay.property->needs)
    if (std::find(offered.begin(), offered.end(), to_string(operation)) == offered.end()) {
      fmt::print("\nNOT OFFERED: {} is not offered\n", to_string(operation));
      return undecided;
    }
  // One case alone: the whole false-alarm probability of 1e-9 is its own.
  properties::Budget budget;
  budget.seconds = arguments.time;
  budget.log_threshold = 9 * std::log(10.0);
  const Outcome outcome = executor.run(*replay.property, replay.parameters, budget);
  switch (outcome.status) {
    case Outcome::Status::failed:
      fmt::print("\nFAIL {}\n  {}\n", replay.property->id, outcome.message);
      return failed;
    case Outcome::Status::passed:
      fmt::print("\npass: the case does not fail any more\n");
      return ok;
    default:
      fmt::print("\n{}: {}\n", to_string(outcome.status), outcome.message);
      return undecided;
  }
}

}  // namespace

void add_replay(CLI::App& app, int& status) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* command =
      app.add_subcommand("replay", "Rerun one counterexample that plsh check has written.");
  command->add_option("FILE", arguments->file, "Counterexample file")->required();
  add_source_options(*command, arguments->source);
  command
      ->add_option("--case-limit", arguments->case_limit,
                   "Seconds after which the case counts as hung, 0.1 to 3600")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  command->add_option("--time", arguments->time, "Seconds for a statistical case, 1 to 86400")
      ->check(CLI::Range(1.0, 86400.0))
      ->capture_default_str();
  command->footer(
      "Examples:\n"
      "  plsh replay plsh-check/sampled-forward.reference.json\n"
      "  plsh replay plsh-check/mask.diagonal.json --impl ./libmended.so\n\n"
      "Exit status: 0 the case passes now, 1 it fails, 2 wrong use, 3 not decided.");
  command->callback([arguments, &status] { status = run(*arguments); });
}

}  // namespace plsh::cli
