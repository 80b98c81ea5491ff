/// \file
/// The claims of the paper, as data.
#pragma once

#include <string>
#include <vector>

namespace plsh::properties {

/// One claim of "Positional LSH" (arXiv 2605.09472).
struct Claim {
  std::string id;         ///< C1 .. C13
  std::string title;      ///< a few words
  std::string statement;  ///< the claim as the paper's abstract and public summaries state it
  std::string note;       ///< its proof note, relative to the project's root
  bool audited;           ///< false: listed, not audited yet
};

/// All claims, in order.
const std::vector<Claim>& claims();

/// The claim with this id. \throws std::invalid_argument naming the known ids.
const Claim& claim(const std::string& id);

}  // namespace plsh::properties
