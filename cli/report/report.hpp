/// \file
/// The audit as a page that a person can read.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace plsh::cli {

/// Turns an audit (the content of audit.json, see properties/schema/audit.schema.json) into one
/// HTML page that needs nothing else: style and figures are inside it and it runs no script.
/// Figures whose data are absent are left out. All text from `audit` is escaped. \throws
/// std::runtime_error with one line when gnuplot is missing or fails, or when the data of a
///   figure contradict each other; nlohmann::json::exception when a required member is missing.
std::string render_report(const nlohmann::json& audit);

}  // namespace plsh::cli
