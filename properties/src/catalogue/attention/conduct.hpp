/// \file
/// The parts of the conduct properties: what a call does besides its results.
#pragma once

#include "invariance.hpp"

namespace plsh::properties {

void add_repeat_properties(std::vector<Property>& all);
void add_layout_properties(std::vector<Property>& all);

}  // namespace plsh::properties
