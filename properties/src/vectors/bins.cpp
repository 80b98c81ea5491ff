// Bins and partitions of given (w, u), and the draws of the documented stream.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <plsh/reference/binning.hpp>
#include <plsh/reference/sampling.hpp>

#include "operations.hpp"

namespace plsh::properties::vectors {
namespace {

using reference::Binning;
using reference::Integer;
using reference::Rational;

constexpr std::array<const char*, 4> kRules{"floor", "floor_plus", "ceil", "round"};

struct BinInput {
  Binning binning;
  std::vector<Index> positions;
  int32_t rule;
};

Binning read_binning(const Json& input) {
  const Binning binning{read_float(input, "width"), read_float(input, "shift")};
  if (!(binning.width >= 0x1p-40)) throw std::invalid_argument("\"width\" is below 2^-40");
  if (!(binning.shift >= 0 && binning.shift <= binning.width))
    throw std::invalid_argument("\"shift\" is not from 0 to the width");
  return binning;
}

BinInput read_bins(const Json& input) {
  BinInput result{read_binning(input), {}, 0};
  const std::string rule = read_text(input, "rule");
  const auto* const known = std::find(kRules.begin(), kRules.end(), rule);
  if (known == kRules.end())
    throw std::invalid_argument("\"rule\" is not floor, floor_plus, ceil or round");
  result.rule = static_cast<int32_t>(known - kRules.begin());
  const Nested positions = read_nested(member(input, "positions"), 1, "positions");
  Index least = 0;
  for (const Json& position : positions.leaves) {
    result.positions.push_back(
        read_integer(Json{{"positions", position}}, "positions", least, 1'000'000'000));
    least = result.positions.back() + 1;
  }
  return result;
}

BinInput read_partition(const Json& input) {
  const Index length = read_integer(input, "length", 1, 4096);
  BinInput result{read_binning(input), {}, PLSH_BIN_FLOOR};
  for (Index p = 0; p < length; ++p) result.positions.push_back(p);
  return result;
}

Integer floor_of(const Rational& x) {
  const Integer n = numerator(x);
  const Integer d = denominator(x);
  const Integer quotient = n / d;  // towards zero
  return n < 0 && quotient * d != n ? Integer(quotient - 1) : quotient;
}

/// The bin of a quotient: the rules differ in the rounding and the sign of the shift.
Integer bin_of_quotient(int32_t rule, const Rational& q) {
  switch (rule) {
    case PLSH_BIN_CEIL:
      return -floor_of(Rational(-q));
    case PLSH_BIN_ROUND:
      return floor_of(Rational(q + Rational(1, 2)));
    default:
      return floor_of(q);
  }
}

Rational quotient(const BinInput& input, Index position) {
  const Rational shift(input.binning.shift);
  const Rational moved = input.rule == PLSH_BIN_FLOOR_PLUS ? Rational(Rational(position) + shift)
                                                           : Rational(Rational(position) - shift);
  return moved / Rational(input.binning.width);
}

/// How far a quotient computed with unit roundoff u may be off: the position, the difference, the
/// reciprocal of the width, the product and the sum with 1/2 are each rounded once.
double edge(const BinInput& input, Index position, double u) {
  const double moved = static_cast<double>(position) + input.binning.shift;
  const double size = moved / input.binning.width;
  return 1.001 * u * (5 * size + 2);
}

Json edges(const BinInput& input) {
  Json result = Json::object();
  for (const Type type : {Type::f64, Type::f32}) {
    Json list = Json::array();
    bool meaningful = true;
    for (const Index position : input.positions) {
      const double e = edge(input, position, unit_roundoff(type));
      meaningful &= e < 0.25;
      list.push_back(bound(e));
    }
    if (meaningful) result[to_string(type)] = {{"edge", list}};
  }
  return result;
}

/// The bins that each position may be in.
struct Candidates {
  Integer low, high;
};

Run run(const Implementation& implementation, const Json& vector, const BinInput& input) {
  const plsh_conventions& declared = implementation.conventions();
  if (declared.bin_rule != input.rule)
    return unsuitable(fmt::format("another bin rule than {} is declared",
                                  kRules[static_cast<std::size_t>(input.rule)]));
  const bool f32 = declared.bin_precision == PLSH_BINS_F32;
  const auto count = static_cast<Index>(input.positions.size());
  std::vector<Candidates> candidates;
  const Json& tolerance = member(vector, "tolerance");
  const std::string type = f32 ? "f32" : "f64";
  const bool exact = declared.bin_precision == PLSH_BINS_EXACT;
  if (!exact && !tolerance.contains(type))
    return unsuitable("bins computed in " + type + " cannot decide these positions");
  Nested allowed;
  if (!exact) allowed = read_nested(member(tolerance.at(type), "edge"), 1, "edge");
  if (!exact && static_cast<Index>(allowed.leaves.size()) != count)
    throw std::invalid_argument("\"edge\" has the wrong length");
  for (std::size_t k = 0; k < input.positions.size(); ++k) {
    const Rational q = quotient(input, input.positions[k]);
    double e = 0;
    if (!exact) {
      if (!allowed.leaves[k].is_number())
        throw std::invalid_argument("a tolerance is not a number");
      e = allowed.leaves[k].get<double>();
      if (!(e >= 0 && e < 1)) throw std::invalid_argument("a tolerance is not in [0, 1)");
    }
    const Rational slack(e);
    candidates.push_back({bin_of_quotient(input.rule, Rational(q - slack)),
                          bin_of_quotient(input.rule, Rational(q + slack))});
  }
  Tensor positions(Type::i64, {count});
  for (Index k = 0; k < count; ++k)
    positions.set_integer({k}, input.positions[static_cast<std::size_t>(k)]);
  Tensor widths(f32 ? Type::f32 : Type::f64, {1});
  Tensor shifts(f32 ? Type::f32 : Type::f64, {1});
  widths.set({0}, input.binning.width);
  shifts.set({0}, input.binning.shift);
  for (Tensor* tensor : {&positions, &widths, &shifts}) tensor->seal();
  Tensor bins(Type::i64, {1, count});
  bins.clear();
  implementation.bins(positions, widths, shifts, bins);
  for (const auto& [name, tensor] : {std::pair{"positions", &positions},
                                     std::pair{"widths", &widths}, std::pair{"shifts", &shifts}})
    if (const auto damage = tensor->damage(name)) throw Violation(*damage);
  if (const auto damage = bins.damage("bins")) throw Violation(*damage);
  // Labels are free; a label of -1 looks like memory that was never written, and is allowed.
  for (Index a = 0; a < count; ++a)
    for (Index b = a + 1; b < count; ++b) {
      const Candidates& first = candidates[static_cast<std::size_t>(a)];
      const Candidates& second = candidates[static_cast<std::size_t>(b)];
      const bool together = bins.get_integer({0, a}) == bins.get_integer({0, b});
      const bool must = first.low == first.high && second.low == second.high;
      const bool may = !(first.high < second.low || second.high < first.low);
      if (together ? !may : must && may)
        return fail(fmt::format(
            "positions {} and {} {} a bin", input.positions[static_cast<std::size_t>(a)],
            input.positions[static_cast<std::size_t>(b)], together ? "share" : "do not share"));
    }
  return {};
}

}  // namespace

Computed compute_bins(const Json& input, const Digits&) {
  const BinInput parsed = read_bins(input);
  Json bins = Json::array();
  for (const Index position : parsed.positions) {
    const Integer bin = parsed.rule == PLSH_BIN_FLOOR
                            ? reference::bin_of(position, parsed.binning)
                            : bin_of_quotient(parsed.rule, quotient(parsed, position));
    if (bin > Integer(Index{1} << 53) || bin < -Integer(Index{1} << 53))
      throw std::invalid_argument("a bin is beyond 2^53");
    bins.push_back(static_cast<Index>(bin));
  }
  return {{{"bins", bins}}, edges(parsed)};
}

Run run_bins(const Implementation& implementation, const Json& vector) {
  return run(implementation, vector, read_bins(member(vector, "input")));
}

Computed compute_partition(const Json& input, const Digits&) {
  const BinInput parsed = read_partition(input);
  const auto partition =
      reference::partition_of(static_cast<Index>(parsed.positions.size()), parsed.binning);
  return {{{"block_starts", partition.starts()}}, edges(parsed)};
}

Run run_partition(const Implementation& implementation, const Json& vector) {
  return run(implementation, vector, read_partition(member(vector, "input")));
}

namespace {

struct SampleInput {
  reference::SampleId id;
  double sigma;
  Index length;
};

SampleInput read_sample(const Json& input) {
  constexpr Index kExactInEveryLanguage = (Index{1} << 53) - 1;
  const SampleInput result{
      {static_cast<std::uint64_t>(read_integer(input, "seed", 0, kExactInEveryLanguage)),
       static_cast<std::uint32_t>(read_integer(input, "head", 0, 4096)),
       static_cast<std::uint64_t>(read_integer(input, "sample", 0, kExactInEveryLanguage))},
      read_float(input, "sigma"),
      read_integer(input, "length", 1, 4096)};
  if (result.sigma < 0x1p-6 || result.sigma > 0x1p19)
    throw std::invalid_argument("\"sigma\" is not from 2^-6 to 2^19");
  return result;
}

std::vector<Index> starts_of(const Json& expected) {
  std::vector<Index> result;
  for (const Json& start : read_nested(member(expected, "block_starts"), 1, "block_starts").leaves)
    result.push_back(read_integer(Json{{"block_starts", start}}, "block_starts", 0, 4096));
  return result;
}

}  // namespace

Computed compute_sample(const Json& input, const Digits&) {
  const SampleInput parsed = read_sample(input);
  const reference::Uniforms u = reference::draw_uniforms(parsed.id);
  const Binning binning = reference::draw_binning(parsed.id, parsed.sigma);
  return {{{"uniforms", {hex_text(u.first), hex_text(u.second), hex_text(u.third)}},
           {"width", hex_text(binning.width)},
           {"shift", hex_text(binning.shift)},
           {"block_starts", reference::partition_of(parsed.length, binning).starts()}}};
}

Run run_sample(const Implementation& implementation, const Json& vector) {
  const SampleInput parsed = read_sample(member(vector, "input"));
  const std::vector<Index> expected = starts_of(member(vector, "expected"));
  const Index heads = Index{parsed.id.head} + 1;
  const bool offsets = implementation.promises(PLSH_SAMPLE_OFFSETS);
  const auto sample = static_cast<Index>(parsed.id.sample);
  if (!offsets && sample > 1000) return unsuitable("sample offsets are not promised");
  const Index samples = offsets ? 1 : sample + 1;
  Tensor sigma(Type::f64, {heads});
  for (Index h = 0; h < heads; ++h) sigma.set({h}, parsed.sigma);
  sigma.seal();
  Tensor counts(Type::i64, {1, heads, samples});
  Tensor starts(Type::i64, {1, heads, samples, parsed.length});
  counts.clear();
  starts.clear();
  plsh_sampling arguments{};
  arguments.seed = parsed.id.seed;
  arguments.first_sample = offsets ? sample : 0;
  arguments.length = parsed.length;
  arguments.sigma = sigma.view();
  arguments.block_counts = counts.view();
  arguments.block_starts = starts.view();
  implementation.sample_partitions(arguments);
  if (const auto damage = sigma.damage("sigma")) throw Violation(*damage);
  require_written(counts, "block_counts");
  if (const auto damage = starts.damage("block_starts")) throw Violation(*damage);
  const Index count = counts.get_integer({0, heads - 1, samples - 1});
  bool same = count == static_cast<Index>(expected.size());
  for (Index k = 0; same && k < count; ++k)
    same =
        starts.get_integer({0, heads - 1, samples - 1, k}) == expected[static_cast<std::size_t>(k)];
  // Which stream an implementation draws from is its own affair.
  if (!same) return {VectorResult::Status::not_offered, "it draws from another stream"};
  return {};
}

}  // namespace plsh::properties::vectors
