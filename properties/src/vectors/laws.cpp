// Slopes, kernel values, widths and the law of the partition.
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <plsh/reference/laws.hpp>
#include <plsh/reference/partition_law.hpp>

#include "operations.hpp"

namespace plsh::properties::vectors {
namespace {

/// (1+u)^n - 1.
double grown(double u, double n) { return std::expm1(n * std::log1p(u)); }

bool geometric(const Json& input) {
  const std::string rule = read_text(input, "rule");
  if (rule != "interleaved" && rule != "geometric")
    throw std::invalid_argument("\"rule\" is neither \"interleaved\" nor \"geometric\"");
  return rule == "geometric";
}

/// The exponents e of the slopes 2^(-e), as fractions.
std::vector<std::pair<Index, Index>> exponents(Index heads, bool geometric_rule) {
  std::vector<std::pair<Index, Index>> result;
  const auto power = static_cast<Index>(std::bit_floor(static_cast<std::uint64_t>(heads)));
  const Index first = geometric_rule ? heads : power;
  for (Index h = 0; h < first; ++h) result.emplace_back(8 * (h + 1), first);
  for (Index h = 0; first + h < heads; ++h) result.emplace_back(8 * (2 * h + 1), 2 * power);
  return result;
}

Interval slope(const std::pair<Index, Index>& exponent) {
  const auto [numerator, denominator] = exponent;
  if (numerator % denominator == 0)
    return Interval(std::ldexp(1.0, -static_cast<int>(numerator / denominator)));
  return reference::exp(
      Interval(-reference::log(Interval(2)) * reference::ratio<Interval>(numerator, denominator)));
}

Json types(double f32, double f64, const char* name) {
  return {{"f64", {{name, bound(f64)}}}, {"f32", {{name, bound(f32)}}}};
}

}  // namespace

Computed compute_slopes(const Json& input, const Digits& digits) {
  const Index heads = read_integer(input, "heads", 1, 1024);
  Json values = Json::array();
  Json tolerances = Json::array();
  for (const auto& exponent : exponents(heads, geometric(input))) {
    const Interval m = slope(exponent);
    values.push_back(number(m, digits));
    // The exponent, at most 8, after two roundings; the power itself right up to 8 u; the result.
    const double u = unit_roundoff(Type::f32);
    const double error = std::expm1(std::log(2.0) * 8 * grown(u, 2)) + 1;
    tolerances.push_back(bound(reference::to_double(m) * (error * (1 + grown(u, 9)) - 1)));
  }
  return {{{"slopes", values}}, {{"f32", {{"slopes", tolerances}}}}};
}

Run run_slopes(const Implementation& implementation, const Json& vector) {
  const Json& input = member(vector, "input");
  const bool rule = implementation.conventions().slope_rule == PLSH_SLOPES_GEOMETRIC;
  const Index heads = read_integer(input, "heads", 1, 1024);
  if (geometric(input) != rule && !std::has_single_bit(static_cast<std::uint64_t>(heads)))
    return unsuitable("the other slope rule is declared");
  const Nested expected = read_nested(member(member(vector, "expected"), "slopes"), 1, "slopes");
  const Json& recorded = member(member(member(vector, "tolerance"), "f32"), "slopes");
  const Nested tolerances = read_nested(recorded, 1, "slopes");
  const auto count = static_cast<std::size_t>(heads);
  if (expected.leaves.size() != count || tolerances.leaves.size() != count)
    throw std::invalid_argument("\"slopes\" has the wrong length");
  Tensor slopes(Type::f32, {heads});
  slopes.clear();
  implementation.slopes(slopes);
  require_written(slopes, "slopes");
  for (std::size_t h = 0; h < count; ++h) {
    if (!tolerances.leaves[h].is_number())
      throw std::invalid_argument("a tolerance is not a number");
    const double got = slopes.get({static_cast<Index>(h)});
    const double value = read_number(expected.leaves[h]).value;
    const auto tolerance = tolerances.leaves[h].get<double>();
    if (!(std::fabs(got - value) <= tolerance))
      return fail(fmt::format("slopes[{}] is {:.9g}, expected {:.9g} within {:.2g}", h, got, value,
                              tolerance));
  }
  return {};
}

Computed compute_kernel(const Json& input, const Digits& digits) {
  const Index distance = read_integer(input, "distance", 0, 1'000'000'000);
  const double sigma = read_float(input, "sigma");
  if (sigma < 0x1p-10 || sigma > 0x1p30)
    throw std::invalid_argument("\"sigma\" is not from 2^-10 to 2^30");
  const double x = static_cast<double>(distance) / sigma;
  if (x > 1e5) throw std::invalid_argument("\"distance\" is more than 100000 sigma");
  const Interval value = reference::set_probability(distance, Interval(sigma));
  // The distance and the quotient rounded, exp right up to 8 u, the result; below the normal
  // numbers a type may return zero.
  const auto tolerance = [&](Type type, double normal) {
    const double u = unit_roundoff(type);
    const double relative = std::exp(x * grown(u, 2)) * (1 + grown(u, 9)) - 1;
    return reference::to_double(value) * relative + normal;
  };
  return {{{"value", number(value, digits)}},
          types(tolerance(Type::f32, 0x1p-126), tolerance(Type::f64, 0x1p-1022), "value")};
}

Computed compute_width_quantile(const Json& input, const Digits& digits) {
  const double delta = read_float(input, "delta");
  const double sigma = read_float(input, "sigma");
  const Index samples = read_integer(input, "samples", 1, 1'000'000);
  if (!(delta > 0x1p-100 && delta < 1)) throw std::invalid_argument("\"delta\" is not in (0, 1)");
  if (sigma < 0x1p-10 || sigma > 0x1p30)
    throw std::invalid_argument("\"sigma\" is not from 2^-10 to 2^30");
  return {
      {{"width",
        number(reference::max_width_quantile(Interval(delta), Interval(sigma), samples), digits)}}};
}

Computed compute_partition_law(const Json& input, const Digits& digits) {
  const Index length = read_integer(input, "length", 1, 8);
  const double sigma = read_float(input, "sigma");
  if (sigma < 0x1p-4 || sigma > 0x1p10)
    throw std::invalid_argument("\"sigma\" is not from 1/16 to 1024");
  const reference::PartitionLaw law(length);
  const auto probabilities = law.probabilities(Interval(sigma));
  Json partitions = Json::array();
  for (std::size_t k = 0; k < law.partitions().size(); ++k)
    partitions.push_back({{"block_starts", law.partitions()[k].starts()},
                          {"probability", number(probabilities[static_cast<Index>(k)], digits)}});
  return {{{"partitions", partitions}}};
}

}  // namespace plsh::properties::vectors
