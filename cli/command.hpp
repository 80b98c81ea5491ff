/// \file
/// The subcommands of the program. Each lives in a file of its own and only parses, calls and
/// prints.
#pragma once

#include <CLI/CLI.hpp>

namespace plsh::cli {

/// Exit statuses of every command.
enum Status : int {
  ok = 0,         ///< all well
  failed = 1,     ///< a claim or property failed
  wrong_use = 2,  ///< bad arguments, missing or damaged files, unwritable folders
  undecided = 3,  ///< nothing was decided
};

/// Adds one subcommand; running it stores its exit status in `status`. Wrong use is reported by
/// throwing std::invalid_argument or std::runtime_error with a one-line message, which main prints
/// as "plsh COMMAND: message" before it exits with status 2.
void add_audit(CLI::App& app, int& status);
void add_value(CLI::App& app, int& status);
void add_plan(CLI::App& app, int& status);
void add_check(CLI::App& app, int& status);
void add_replay(CLI::App& app, int& status);
void add_vectors(CLI::App& app, int& status);
void add_bench(CLI::App& app, int& status);

}  // namespace plsh::cli
