/// \file
/// The comparison with the obvious alternative: exact ALiBi inside a window.
#pragma once

#include <nlohmann/json.hpp>

#include "sections.hpp"

namespace plsh::cli::report {

/// \param window the member "window" of an audit's plots.
Section window_section(const nlohmann::json& window);

}  // namespace plsh::cli::report
