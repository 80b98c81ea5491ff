/// \file
/// The parts of the sampler's properties.
#pragma once

#include <plsh/properties/property.hpp>

#include "draw.hpp"
#include "trial.hpp"

namespace plsh::properties {

/// One mask at a time: the law of the partition, of pairs, of the width, of the phase.
void add_sampler_law_properties(std::vector<Property>& all);
/// Samples, heads, batch items, seeds and calls against each other.
void add_sampler_independence_properties(std::vector<Property>& all);
/// What is promised bit by bit.
void add_sampler_conduct_properties(std::vector<Property>& all);

/// A family whose cases differ in the seed alone; `fixed` holds the other parameters.
Family seed_family(std::string name, std::string purpose, Case fixed = Case::object());

/// The properties that need the sampler alone and are decided by e-values.
Property sampler_property(
    std::string id, std::string claim, std::string statement, std::vector<Family> families,
    std::function<Outcome(const Implementation&, const Case&, const Budget&)> check);

/// Number of samples of a call that suits the budget.
Index call_samples(const Budget& budget, Index length, Index heads = 1, Index batch = 1);

}  // namespace plsh::properties
