/// \file
/// The sections of the page that show a figure.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace plsh::cli::report {

struct Section {
  std::string id;     ///< the anchor
  std::string entry;  ///< its name in the table of contents
  std::string heading;
  std::string body;  ///< HTML: what is seen and what it means, the figure, its caption
};

/// A section for every figure whose data are present. \param plots the member "plots" of an audit.
std::vector<Section> figure_sections(const nlohmann::json& plots);

}  // namespace plsh::cli::report
