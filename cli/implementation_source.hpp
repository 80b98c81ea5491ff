/// \file
/// The options that name an implementation under test.
#pragma once

#include <CLI/CLI.hpp>
#include <plsh/properties/check.hpp>
#include <string>

namespace plsh::cli {

struct SourceArguments {
  std::string library;
  std::string python;
};

/// Adds --impl and --python.
void add_source_options(CLI::App& command, SourceArguments& arguments);

/// The library to load. \throws std::invalid_argument unless exactly one option was given;
/// std::runtime_error when the library, or the bridge to Python, is not there.
properties::Source find_source(const SourceArguments& arguments);

}  // namespace plsh::cli
