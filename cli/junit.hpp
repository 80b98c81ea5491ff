/// \file
/// Results of `plsh check` for continuous integration.
#pragma once

#include <plsh/properties/check.hpp>
#include <string>

namespace plsh::cli {

/// JUnit XML: one test case for each property; what is not decided counts as skipped.
std::string to_junit(const properties::CheckReport& report);

}  // namespace plsh::cli
