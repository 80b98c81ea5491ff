#include <cstdio>
#include <exception>
#include <string>

#include "command.hpp"

namespace {

/// One line: what went wrong, and where to read more.
int report(const std::string& command, const std::string& message) {
  std::fprintf(stderr, "plsh%s: %s\n", command.empty() ? "" : (" " + command).c_str(),
               message.c_str());
  return plsh::cli::wrong_use;
}

std::string used_command(const CLI::App& app) {
  const auto used = app.get_subcommands();
  return used.empty() ? std::string() : used.front()->get_name();
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Verification suite and reference implementation for Positional LSH attention.",
               "plsh");
  app.set_version_flag("--version", "plsh " PLSH_VERSION);
  app.require_subcommand(1);
  app.footer("Run \"plsh COMMAND --help\" for the options and examples of a command.\n"
             "Exit status: 0 all well, 1 a claim or property failed, 2 wrong use, 3 nothing decided.");
  int status = plsh::cli::ok;
  try {
    plsh::cli::add_audit(app, status);
    plsh::cli::add_value(app, status);
    plsh::cli::add_plan(app, status);
    app.parse(argc, argv);
    return status;
  } catch (const CLI::Success& success) {  // --help, --version
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    return report(used_command(app), std::string(error.what()) + " (see --help)");
  } catch (const std::exception& error) {
    return report(used_command(app), error.what());
  }
}
