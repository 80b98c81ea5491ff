// The slopes of the heads.
#include <fmt/format.h>

#include <cmath>
#include <plsh/reference/slopes.hpp>

#include "catalogue.hpp"

namespace plsh::properties {
namespace {

/// A slope in f32 may be a few roundings off.
constexpr double kTolerance = 0x1p-22;

std::vector<double> expected_slopes(const Implementation& implementation, Index heads) {
  if (implementation.conventions().slope_rule == PLSH_SLOPES_INTERLEAVED)
    return reference::alibi_slopes(static_cast<int>(heads));
  std::vector<double> result;
  for (Index h = 1; h <= heads; ++h)
    result.push_back(std::exp2(-8.0 * static_cast<double>(h) / static_cast<double>(heads)));
  return result;
}

Outcome check_slopes(const Implementation& implementation, const Case& parameters, const Budget&) {
  const auto heads = parameters.at("heads").get<Index>();
  const Layout layout = layout_from_string(parameters.at("layout").get<std::string>());
  Tensor slopes(Type::f32, {heads}, layout);
  implementation.slopes(slopes);
  if (const auto damage = slopes.damage("slopes")) return failed(*damage);
  if (const auto index = slopes.first_unwritten())
    return failed("slopes" + *index + " was not written");
  const std::vector<double> expected = expected_slopes(implementation, heads);
  Outcome outcome;
  for (Index h = 0; h < heads; ++h) {
    const double slope = slopes.get({h});
    const double exact = expected[static_cast<std::size_t>(h)];
    const double error = std::fabs(slope - exact) / exact;
    if (!(error <= kTolerance))
      return failed(fmt::format("the slope of head {} of {} is {:.9g} instead of {:.9g}", h, heads,
                                slope, exact));
    outcome.error_ratio = std::max(outcome.error_ratio, error / kTolerance);
  }
  return outcome;
}

rc::Gen<Case> head_cases(const rc::Gen<Index>& heads) {
  return rc::gen::map(
      rc::gen::resize(
          rc::kNominalSize,
          rc::gen::pair(heads, rc::gen::elementOf(std::vector<std::string>{"packed", "padded"}))),
      [](const std::pair<Index, std::string>& x) {
        return Case{{"heads", x.first}, {"layout", x.second}};
      });
}

}  // namespace

void add_slope_properties(std::vector<Property>& all) {
  Property property;
  property.id = "slopes.rule";
  property.claim = "C1";
  property.statement = "Every head has the slope of the declared rule, to a relative 2^-22.";
  property.needs = {Operation::slopes};
  property.families = {
      {"powers of two", "Where both rules agree and all slopes are simple.",
       [] {
         return head_cases(
             rc::gen::map(rc::gen::inRange(0, 9), [](int power) { return Index{1} << power; }));
       },
       9},
      {"any", "Head counts between powers of two, where the rules differ.",
       [] { return head_cases(rc::gen::inRange<Index>(1, 131)); }, 80},
      {"large", "More heads than a byte or a block of threads counts.",
       [] { return head_cases(rc::gen::element<Index>(192, 255, 257, 1000, 1025, 4096, 65'536)); },
       7}};
  property.check = check_slopes;
  all.push_back(property);
}

}  // namespace plsh::properties
