#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

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

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

// "--sigma -inf" must reach the command as a value, and be refused there by name, not be taken for
// an unknown option: write it as "--sigma=-inf".
std::vector<std::string> words(int argc, char** argv) {
  std::vector<std::string> result;
  for (int k = 1; k < argc; ++k) {
    const std::string word = argv[k];
    const bool negative =
        word.size() > 1 && word[0] == '-' &&
        (std::isdigit(static_cast<unsigned char>(word[1])) != 0 || word[1] == '.' ||
         word.rfind("-inf", 0) == 0 || word.rfind("-nan", 0) == 0);
    const bool option = !result.empty() && result.back().rfind("--", 0) == 0 &&
                        result.back().find('=') == std::string::npos;
    if (negative && option)
      result.back() += "=" + word;
    else
      result.push_back(word);
  }
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Verification suite and reference implementation for Positional LSH attention.",
               "plsh");
  app.set_version_flag("--version", "plsh " PLSH_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Run \"plsh COMMAND --help\" for the options and examples of a command.\n"
      "Exit status: 0 all well, 1 a claim or property failed, 2 wrong use, 3 nothing decided.");
  int status = plsh::cli::ok;
  try {
    plsh::cli::add_audit(app, status);
    plsh::cli::add_check(app, status);
    plsh::cli::add_replay(app, status);
    plsh::cli::add_vectors(app, status);
    plsh::cli::add_bench(app, status);
    plsh::cli::add_value(app, status);
    plsh::cli::add_plan(app, status);
    std::vector<std::string> arguments = words(argc, argv);
    const std::vector<std::string> names = command_names(app);
    const bool command = !arguments.empty() && arguments[0].rfind('-', 0) != 0;
    if (arguments.empty() ||
        (command && std::find(names.begin(), names.end(), arguments[0]) == names.end()))
      return report("",
                    (command ? "unknown command \"" + arguments[0] + "\"" : "no command given") +
                        fmt::format("; the commands are {}", fmt::join(names, ", ")));
    std::reverse(arguments.begin(), arguments.end());  // as parse() wants them
    app.parse(std::move(arguments));
    return status;
  } catch (const CLI::Success& success) {  // --help, --version
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    return report(used_command(app), std::string(error.what()) + " (see --help)");
  } catch (const std::exception& error) {
    return report(used_command(app), error.what());
  }
}
