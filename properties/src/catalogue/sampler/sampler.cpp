#include "../catalogue.hpp"
#include "parts.hpp"

namespace plsh::properties {

Family seed_family(std::string name, std::string purpose, Case fixed) {
  return {std::move(name), std::move(purpose),
          [fixed = std::move(fixed)] {
            return rc::gen::map(rc::gen::arbitrary<std::uint32_t>(), [fixed](std::uint32_t seed) {
              Case parameters = fixed;
              parameters["seed"] = seed;
              return parameters;
            });
          },
          1};
}

Property sampler_property(
    std::string id, std::string claim, std::string statement, std::vector<Family> families,
    std::function<Outcome(const Implementation&, const Case&, const Budget&)> check) {
  Property property;
  property.id = std::move(id);
  property.claim = std::move(claim);
  property.statement = std::move(statement);
  property.needs = {Operation::sample_partitions};
  property.families = std::move(families);
  property.check = std::move(check);
  property.statistical = true;
  return property;
}

Index call_samples(const Budget& budget, Index length, Index heads, Index batch) {
  const Index most = samples_per_call(length, heads, batch);
  return budget.samples > 0 ? std::clamp<Index>(budget.samples, 1, most) : most;
}

void add_sampler_properties(std::vector<Property>& all) {
  add_sampler_conduct_properties(all);
  add_sampler_law_properties(all);
  add_sampler_independence_properties(all);
}

}  // namespace plsh::properties
