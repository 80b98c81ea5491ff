/// \file
/// Building a document, group by group.
#pragma once

#include <string>
#include <vector>

#include "operations.hpp"

namespace plsh::properties::vectors {

/// Collects the vectors of one group; expected values and tolerances are computed as they come.
class Group {
 public:
  Group(std::string id, std::string operation, std::string source, Json conventions);
  /// \param name what follows the group's id and a slash in the id of the vector.
  void add(const std::string& name, const std::string& comment, std::vector<std::string> flags,
           Json input);
  const Json& json() const { return json_; }

 private:
  Json json_;
  std::string id_;
  VectorOperation operation_;
};

/// The groups of a document, in order.
std::vector<Json> law_groups();
std::vector<Json> partition_groups();
std::vector<Json> attention_groups();

}  // namespace plsh::properties::vectors
