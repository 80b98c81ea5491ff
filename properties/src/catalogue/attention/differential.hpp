/// \file
/// Properties that compare attention with the reference.
#pragma once

#include <vector>

#include "case.hpp"
#include "generators.hpp"

namespace plsh::properties {

/// One of the four attention operations.
struct Compared {
  bool exact;
  bool backward;
  Operation operation() const {
    if (exact) return backward ? Operation::exact_backward : Operation::exact_forward;
    return backward ? Operation::sampled_backward : Operation::sampled_forward;
  }
  /// "exact-forward" and so on.
  std::string area() const;
};

/// The case, with the first supported type in place of one that is not: no case is wasted.
AttentionCase supported_case(const Implementation& implementation, const Case& parameters);

/// What differential properties of an operation are checked on. \param adjust may change each case.
std::vector<Family> differential_families(const Compared& compared, const Adjust& adjust = {});

void add_exact_value_properties(std::vector<Property>& all);
void add_output_bound_property(std::vector<Property>& all);

}  // namespace plsh::properties
