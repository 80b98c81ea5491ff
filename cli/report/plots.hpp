/// \file
/// The charts of the page, each from one member of an audit's "plots".
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace plsh::cli::report {

/// Error in one norm against the number of samples. \param norm an entry of "decay".norms.
std::string decay_chart(const nlohmann::json& norm);
/// Spectral error against the context length.
std::string length_chart(const nlohmann::json& length);
/// Largest block against the context length.
std::string largest_block_chart(const nlohmann::json& largest_block);
/// Scored pairs against the context length.
std::string cost_chart(const nlohmann::json& cost);
/// Error of the attention output against the number of samples.
std::string output_chart(const nlohmann::json& output);
/// Cost of the exact window over cost of the sampled masks, at equal error.
std::string window_chart(const nlohmann::json& window);

}  // namespace plsh::cli::report
