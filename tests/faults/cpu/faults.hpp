/// \file
/// The faults of faults.txt, in its order.
#pragma once

#include <string_view>

struct PlantedFault {
  std::string_view name;
  std::string_view found_by;  ///< a property, or a sanitizer
};
inline constexpr PlantedFault planted_faults[] = {
#include "faults.inc"
};
