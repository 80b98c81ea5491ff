/// \file
/// The claims of an audit: summary, table, details.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace plsh::cli::report {

/// One sentence: how many claims have which verdict.
std::string verdict_sentence(const nlohmann::json& claims);
/// A bar with one segment per claim, and a tile per verdict.
std::string verdict_summary(const nlohmann::json& claims);
/// One row per claim, linked to its details.
std::string claims_table(const nlohmann::json& claims);
/// Statement, evidence, checks and notes of every claim.
std::string claim_details(const nlohmann::json& claims);

}  // namespace plsh::cli::report
