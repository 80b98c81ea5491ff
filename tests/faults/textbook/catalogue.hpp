/// \file
/// What the two lists have in common.
#pragma once

#include <cstddef>
#include <vector>

#include "faults.hpp"

namespace plsh::textbook {

template <class Enumerator>
struct Entry {
  Enumerator enumerator;
  const char* name;
  const char* what;
  const char* area;
  const char* class_;
  const char* source;
};

/// Whether entry k describes enumerator k + 1; none has no entry.
template <class Entries>
constexpr bool complete(const Entries& entries) {
  std::size_t k = 0;
  for (const auto& entry : entries)
    if (static_cast<std::size_t>(entry.enumerator) != ++k) return false;
  return true;
}

template <class Entries>
std::vector<FaultInfo> described(const Entries& entries) {
  std::vector<FaultInfo> result;
  for (const auto& entry : entries)
    result.push_back({entry.name, entry.what, entry.area, entry.class_, entry.source});
  return result;
}

}  // namespace plsh::textbook
