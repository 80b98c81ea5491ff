/// \file
/// The parts of the catalogue; each is one file or more of this folder.
#pragma once

#include <plsh/properties/property.hpp>

namespace plsh::properties {

void add_partition_properties(std::vector<Property>& all);
void add_sampler_properties(std::vector<Property>& all);
void add_bin_properties(std::vector<Property>& all);
void add_mask_properties(std::vector<Property>& all);
void add_slope_properties(std::vector<Property>& all);
void add_attention_differential_properties(std::vector<Property>& all);
void add_attention_invariance_properties(std::vector<Property>& all);
void add_attention_conduct_properties(std::vector<Property>& all);

}  // namespace plsh::properties
