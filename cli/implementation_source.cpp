#include "implementation_source.hpp"

#include <filesystem>
#include <stdexcept>

namespace plsh::cli {
namespace {

namespace fs = std::filesystem;

/// The bridge lies beside the program, in the build tree as in an installation.
std::string python_bridge() {
  std::error_code ignored;
  const fs::path prefix = fs::read_symlink("/proc/self/exe", ignored).parent_path().parent_path();
  for (const char* folder : {"lib", PLSH_LIBRARY_DIR}) {
    const fs::path file = prefix / folder / "libplsh_python.so";
    if (fs::exists(file, ignored)) return file.string();
  }
  throw std::runtime_error(
      "--python: this build has no bridge to Python (lib/libplsh_python.so); it needs the packages "
      "python3-dev and pybind11-dev");
}

}  // namespace

void add_source_options(CLI::App& command, SourceArguments& arguments) {
  auto* library = command.add_option("--impl", arguments.library,
                                     "Shared library that exports plsh_implementation_v1 (see "
                                     "interface/include/plsh/interface/implementation.h)");
  command
      .add_option("--python", arguments.python,
                  "Python implementation, MODULE:FUNCTION; the module is looked up in the current "
                  "folder and PYTHONPATH")
      ->excludes(library);
}

properties::Source find_source(const SourceArguments& arguments) {
  if (!arguments.python.empty()) {
    const std::size_t colon = arguments.python.find(':');
    if (colon == std::string::npos || colon == 0 || colon + 1 == arguments.python.size())
      throw std::invalid_argument("--python " + arguments.python +
                                  " is not of the form MODULE:FUNCTION");
    return {python_bridge(), arguments.python};
  }
  if (arguments.library.empty())
    throw std::invalid_argument("--impl LIB or --python MODULE:FUNCTION is needed (see --help)");
  std::error_code ignored;
  if (!fs::exists(arguments.library, ignored))
    throw std::runtime_error("--impl " + arguments.library + ": there is no such file");
  if (fs::is_directory(arguments.library, ignored))
    throw std::runtime_error("--impl " + arguments.library + " is a folder, not a library");
  return {arguments.library, ""};
}

}  // namespace plsh::cli
