/// \file
/// The flags of vectors: what one is about, and what a failure usually means.
#pragma once

#include <vector>

namespace plsh::properties::vectors {

struct Flag {
  const char* name;
  const char* meaning;
  const char* failure_means;
};
const std::vector<Flag>& flags();

}  // namespace plsh::properties::vectors
