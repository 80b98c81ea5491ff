// Bins of given widths and shifts, against exact arithmetic.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <plsh/reference/binning.hpp>

#include "catalogue.hpp"

namespace plsh::properties {
namespace {

using reference::Integer;
using reference::Rational;

/// No bin number of a generated case is near it.
constexpr std::int64_t kUntouched = -0x5a5a5a5a5a5a5a5a;

struct Rule {
  plsh_bin_rule rule;
  /// The floating type of the bins; exact arithmetic has no type.
  std::optional<Type> type;
};

Rule declared(const Implementation& implementation) {
  const plsh_conventions& conventions = implementation.conventions();
  Rule rule{static_cast<plsh_bin_rule>(conventions.bin_rule), std::nullopt};
  if (conventions.bin_precision == PLSH_BINS_F32) rule.type = Type::f32;
  if (conventions.bin_precision == PLSH_BINS_F64) rule.type = Type::f64;
  return rule;
}

Integer floor_of(const Rational& x) {
  const Integer p = numerator(x);
  const Integer q = denominator(x);
  Integer quotient = p / q;  // towards zero
  if (quotient * q > p) quotient -= 1;
  return quotient;
}

/// The number of which the bin is the floor, or for PLSH_BIN_CEIL minus the ceiling.
Rational argument(const Rule& rule, Index position, double width, double shift) {
  const Rational i(position);
  const Rational u(shift);
  const Rational w(width);
  switch (rule.rule) {
    case PLSH_BIN_FLOOR_PLUS:
      return (i + u) / w;
    case PLSH_BIN_ROUND:
      return Rational((i - u) / w) + Rational(1) / Rational(2);
    default:
      return (i - u) / w;
  }
}

bool representable(const Rational& x, Type type) {
  return Rational(round_to(type, x.convert_to<double>())) == x;
}

/// A bound on the error of the argument: proofs-notes/bins-rounding.md.
Rational error_bound(const Rule& rule, Index position, double width, double shift,
                     const Rational& x) {
  if (!rule.type) return 0;
  int exponent = 0;
  const bool power_of_two = std::frexp(width, &exponent) == 0.5;
  const Rational i(position);
  const Rational u(shift);
  const Rational difference = rule.rule == PLSH_BIN_FLOOR_PLUS ? Rational(i + u) : Rational(i - u);
  if (power_of_two && representable(i, *rule.type) && representable(difference, *rule.type) &&
      representable(x, *rule.type))
    return 0;  // every step is exact
  const Rational unit(unit_roundoff(*rule.type));
  const Rational gamma = Rational(4) * unit / (Rational(1) - Rational(4) * unit);
  Rational bound = gamma * (i + u) / Rational(width);
  if (rule.rule == PLSH_BIN_ROUND) bound += unit * (abs(x) + bound + 1);
  return bound;
}

/// The bins a position may be given.
struct Range {
  Index low;
  Index high;
  bool fixed() const { return low == high; }
};

Range allowed(const Rule& rule, Index position, double width, double shift) {
  const Rational x = argument(rule, position, width, shift);
  const Rational error = error_bound(rule, position, width, shift, x);
  const auto bin = [&](const Rational& at) {
    return (rule.rule == PLSH_BIN_CEIL ? Integer(-floor_of(Rational(-at))) : floor_of(at))
        .convert_to<Index>();
  };
  return {bin(Rational(x - error)), bin(Rational(x + error))};
}

Outcome check_bins(const Implementation& implementation, const Case& parameters, const Budget&) {
  const Rule rule = declared(implementation);
  const Type type = rule.type.value_or(Type::f64);
  const auto positions = parameters.at("positions").get<std::vector<Index>>();
  const auto widths = parameters.at("widths").get<std::vector<double>>();
  const auto phases = parameters.at("phases").get<std::vector<double>>();
  const Layout layout = layout_from_string(parameters.at("layout").get<std::string>());
  const auto n = static_cast<Index>(positions.size());
  const auto samples = static_cast<Index>(widths.size());

  Tensor position(Type::i64, {n}, layout);
  for (Index k = 0; k < n; ++k) position.set_integer({k}, positions[static_cast<std::size_t>(k)]);
  Tensor width(type, {samples}, layout);
  Tensor shift(type, {samples}, layout);
  for (Index s = 0; s < samples; ++s) {
    const auto k = static_cast<std::size_t>(s);
    width.set({s}, widths[k]);
    shift.set({s}, std::min(width.get({s}), round_to(type, width.get({s}) * phases[k])));
  }
  position.seal();
  width.seal();
  shift.seal();
  Tensor bins(Type::i64, {samples, n}, layout);
  // -1 is a frequent bin number, so that the usual filling does not tell what was written.
  for (Index s = 0; s < samples; ++s)
    for (Index k = 0; k < n; ++k) bins.set_integer({s, k}, kUntouched);
  implementation.bins(position, width, shift, bins);
  for (const auto& [name, tensor] : {std::pair<const char*, const Tensor*>{"positions", &position},
                                     {"widths", &width},
                                     {"shifts", &shift},
                                     {"bins", &bins}})
    if (const auto damage = tensor->damage(name)) return failed(*damage);

  for (Index s = 0; s < samples; ++s) {
    const double w = width.get({s});
    const double u = shift.get({s});
    std::vector<Range> exact;
    std::vector<std::int64_t> labels;
    for (Index k = 0; k < n; ++k) {
      exact.push_back(allowed(rule, positions[static_cast<std::size_t>(k)], w, u));
      labels.push_back(bins.get_integer({s, k}));
      if (labels.back() == kUntouched)
        return failed(fmt::format("bins[{}, {}] was not written", s, k));
    }
    for (std::size_t b = 0; b < labels.size(); ++b)
      for (std::size_t a = 0; a < b; ++a) {
        const bool same = exact[a].fixed() && exact[b].fixed() && exact[a].low == exact[b].low;
        const bool apart = exact[a].high < exact[b].low;
        if ((same && labels[a] != labels[b]) || (apart && labels[a] == labels[b]))
          return failed(fmt::format(
              "positions {} and {} lie in the {} (numbers {} and {}), but got the labels {} and "
              "{}; "
              "w = {}, u = {}, sample {}",
              positions[a], positions[b], same ? "same bin" : "different bins", exact[a].low,
              exact[b].low, labels[a], labels[b], w, u, s));
      }
  }
  return passed();
}

// ---- generators ------------------------------------------------------------------------------

/// Positions from runs of neighbours: (first, count) each.
std::vector<Index> positions_of(const std::vector<std::pair<Index, Index>>& runs) {
  std::vector<Index> result;
  for (const auto& [first, count] : runs)
    for (Index k = 0; k < count; ++k)
      if (first + k <= 1'000'000'000) result.push_back(first + k);
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

using Runs = std::vector<std::pair<Index, Index>>;
using Binnings = std::vector<std::pair<double, double>>;  // width and phase

rc::Gen<Case> bin_cases(const rc::Gen<Runs>& runs,
                        const rc::Gen<std::pair<double, double>>& binning) {
  // At full size: RapidCheck's early, small cases would all stay near 0.
  return rc::gen::map(
      rc::gen::resize(rc::kNominalSize,
                      rc::gen::tuple(runs, rc::gen::container<Binnings>(binning), binning,
                                     rc::gen::elementOf(std::vector<std::string>{
                                         "packed", "packed", "padded", "reversed"}))),
      [](const std::tuple<Runs, Binnings, std::pair<double, double>, std::string>& x) {
        const auto& [chosen, others, first, layout] = x;
        Binnings binnings{first};
        for (const auto& other : others)
          if (binnings.size() < 5) binnings.push_back(other);
        std::vector<double> widths;
        std::vector<double> phases;
        for (const auto& [w, phase] : binnings) {
          widths.push_back(w);
          phases.push_back(phase);
        }
        std::vector<Index> positions = positions_of(chosen);
        if (positions.empty()) positions.push_back(0);
        return Case{
            {"positions", positions}, {"widths", widths}, {"phases", phases}, {"layout", layout}};
      });
}

/// One run near 0.
rc::Gen<Runs> near_runs() {
  return rc::gen::map(
      rc::gen::pair(rc::gen::inRange<Index>(0, 100), rc::gen::inRange<Index>(1, 40)),
      [](const std::pair<Index, Index>& run) {
        return Runs{{0, 3}, run};
      });
}

/// Short runs around powers of two and up to 10^9.
rc::Gen<Runs> far_runs() {
  return rc::gen::container<Runs>(
      4, rc::gen::map(rc::gen::tuple(rc::gen::inRange(0, 30), rc::gen::inRange<Index>(-12, 12),
                                     rc::gen::inRange<Index>(1, 14)),
                      [](const std::tuple<int, Index, Index>& x) {
                        const Index power = Index{1} << std::get<0>(x);
                        const Index place = std::min<Index>(power, 999'999'000) + std::get<1>(x);
                        return std::pair<Index, Index>{std::max<Index>(0, place), std::get<2>(x)};
                      }));
}

/// w = 2^k and u in 16ths of it.
rc::Gen<std::pair<double, double>> dyadic_binnings(int lowest, int highest) {
  return rc::gen::map(rc::gen::pair(rc::gen::inRange(lowest, highest), rc::gen::inRange(0, 17)),
                      [](const std::pair<int, int>& x) {
                        return std::pair<double, double>{std::exp2(x.first), x.second / 16.0};
                      });
}

/// The same with an edge a tiny step before or after a position.
rc::Gen<std::pair<double, double>> nearly_dyadic_binnings() {
  return rc::gen::map(
      rc::gen::tuple(rc::gen::inRange(0, 6), rc::gen::inRange(0, 16), rc::gen::inRange(18, 45),
                     rc::gen::arbitrary<bool>()),
      [](const std::tuple<int, int, int, bool>& x) {
        const auto& [power, sixteenth, small, after] = x;
        const double phase = sixteenth / 16.0 + (after ? 1 : -1) * std::exp2(-small);
        return std::pair<double, double>{std::exp2(power), std::clamp(phase, 0.0, 1.0)};
      });
}

/// Any width of an order of magnitude, with a simple or an odd phase.
rc::Gen<std::pair<double, double>> any_binnings(int lowest, int highest) {
  return rc::gen::map(rc::gen::tuple(rc::gen::inRange(lowest, highest), rc::gen::inRange(1, 10'000),
                                     rc::gen::inRange(0, 10'001)),
                      [](const std::tuple<int, int, int>& x) {
                        const auto& [power, digits, phase] = x;
                        return std::pair<double, double>{
                            std::pow(10.0, power) * (1 + 9e-4 * digits), phase / 10'000.0};
                      });
}

/// Widths of a few whole positions and shifts of whole positions or tenths: many exact edges.
rc::Gen<std::pair<double, double>> whole_binnings() {
  return rc::gen::map(
      rc::gen::tuple(rc::gen::inRange(1, 30), rc::gen::inRange(0, 31), rc::gen::element(1, 2, 10)),
      [](const std::tuple<int, int, int>& x) {
        const auto& [w, u, parts] = x;
        return std::pair<double, double>{static_cast<double>(w) / parts,
                                         std::min(1.0, static_cast<double>(u) / w)};
      });
}

}  // namespace

void add_bin_properties(std::vector<Property>& all) {
  Property property;
  property.id = "bins.exact";
  property.claim = "C2";
  property.statement =
      "Positions share a bin exactly when the declared rule puts them there, within the rounding "
      "of "
      "the declared precision.";
  property.needs = {Operation::bins};
  property.families = {
      {"edges", "Widths that are powers of two: every edge is hit, and no step is rounded.",
       [] { return bin_cases(near_runs(), dyadic_binnings(-3, 7)); }, 60},
      {"next to edges", "Positions a millionth of a bin and less from an edge.",
       [] { return bin_cases(near_runs(), nearly_dyadic_binnings()); }, 40},
      {"whole", "Whole and decimal widths, with positions on or next to an edge.",
       [] { return bin_cases(near_runs(), whole_binnings()); }, 40},
      {"near", "Any width around the distance of the positions.",
       [] { return bin_cases(near_runs(), any_binnings(-1, 3)); }, 40},
      {"far", "Positions around powers of two up to 10^9, where narrow types stop counting.",
       [] { return bin_cases(far_runs(), any_binnings(0, 7)); }, 40},
      {"far edges", "The same with widths that are powers of two.",
       [] { return bin_cases(far_runs(), dyadic_binnings(0, 20)); }, 40},
      {"many bins", "Hundreds of bins in a row, and bins whose numbers agree in their low bits.",
       [] {
         return bin_cases(
             rc::gen::map(
                 rc::gen::inRange<Index>(100, 400),
                 [](Index count) {
                   return Runs{{0, count}, {512, 4}, {65'536, 4}, {16'777'216, 4}, {131'072, 4}};
                 }),
             dyadic_binnings(0, 2));
       },
       10},
      {"narrow", "Widths far below a position: bin numbers up to 10^18.",
       [] { return bin_cases(far_runs(), any_binnings(-9, -1)); }, 20},
      {"wide", "Widths beyond every position: one bin, or two.",
       [] { return bin_cases(far_runs(), any_binnings(9, 36)); }, 20}};
  property.check = check_bins;
  all.push_back(property);
}

}  // namespace plsh::properties
