#include <fmt/format.h>
#include <fmt/ranges.h>

#include <plsh/properties/property.hpp>

#include "../catalogue/catalogue.hpp"

namespace plsh::properties {

std::string to_string(Outcome::Status status) {
  switch (status) {
    case Outcome::Status::passed:
      return "passed";
    case Outcome::Status::failed:
      return "failed";
    case Outcome::Status::refused:
      return "refused";
    case Outcome::Status::undecided:
      return "not enough evidence";
    case Outcome::Status::unsuitable:
      return "unsuitable";
  }
  return "?";
}

Outcome passed() { return {}; }

Outcome failed(std::string message) {
  Outcome outcome;
  outcome.status = Outcome::Status::failed;
  outcome.message = std::move(message);
  return outcome;
}

Outcome unsuitable(std::string why) {
  Outcome outcome;
  outcome.status = Outcome::Status::unsuitable;
  outcome.message = std::move(why);
  return outcome;
}

Outcome run_case(const Property& property, const Implementation& implementation,
                 const Case& parameters, const Budget& budget) {
  try {
    const Index calls = implementation.calls();
    Outcome outcome = property.check(implementation, parameters, budget);
    if (outcome.status == Outcome::Status::passed && implementation.calls() == calls)
      return unsuitable("the case has nothing to look at");
    return outcome;
  } catch (const Refused& refusal) {
    Outcome outcome;
    outcome.status = Outcome::Status::refused;
    outcome.message = refusal.what();
    return outcome;
  } catch (const Violation& violation) {
    return failed(violation.what());
  }
}

const std::vector<Property>& catalogue() {
  static const std::vector<Property> all = [] {
    std::vector<Property> result;
    // Cheap ones first, and those whose message names the wrong value before those that name a
    // broken rule.
    add_slope_properties(result);
    add_bin_properties(result);
    add_partition_properties(result);
    add_sampler_properties(result);
    add_mask_properties(result);
    add_attention_differential_properties(result);
    add_attention_conduct_properties(result);
    add_attention_invariance_properties(result);
    return result;
  }();
  return all;
}

const Property& property(const std::string& id) {
  std::vector<std::string> near;
  const std::string area = id.substr(0, id.find('.'));
  for (const Property& candidate : catalogue()) {
    if (candidate.id == id) return candidate;
    if (candidate.id.substr(0, candidate.id.find('.')) == area) near.push_back(candidate.id);
  }
  if (near.empty())
    for (const Property& candidate : catalogue()) near.push_back(candidate.id);
  throw std::invalid_argument(
      fmt::format("unknown property \"{}\"; known are {}", id, fmt::join(near, ", ")));
}

}  // namespace plsh::properties
