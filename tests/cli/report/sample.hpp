/// \file
/// The sample audit that these tests start from: invented, plausible numbers.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

namespace plsh::cli {

inline nlohmann::json load_json(const std::string& path_in_source) {
  const std::string path = std::string(PLSH_SOURCE_DIR) + "/" + path_in_source;
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot open " + path);
  return nlohmann::json::parse(file);
}

inline nlohmann::json sample_audit() { return load_json("tests/cli/report/sample-audit.json"); }

}  // namespace plsh::cli
