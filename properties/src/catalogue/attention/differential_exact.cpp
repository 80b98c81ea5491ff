// Outputs that are exact: no tolerance at all.
//
// A row that sees a single key has weight exp(0) = 1 whatever its logit, and returns the value to
// the bit. (A value with all its bits in use is asked for with at most two samples: the sum v + v +
// v is rounded.)
//
// Otherwise queries and slopes are 0, so that every logit is 0, values are multiples of 1/4 between
// -1 and 1, and a row has 2^k <= 32 (key, sample) pairs: the output is a multiple of 2^-7 that
// every type holds. Implementations that join parts of a row by their log-sum-exp are not exact in
// between. But where the proved error before the last rounding is below half the spacing of the
// output's type, the rounding must give exactly this number; for 16-bit types it mostly is.
// Elsewhere the derived tolerance applies, which without logits is a few roundoffs.
#include <algorithm>
#include <cmath>

#include "differential.hpp"
#include "expected.hpp"
#include "expected_rows.hpp"

namespace plsh::properties {
namespace {

constexpr double kMostPairs = 32;

bool is_power_of_two(double x) {
  return x >= 1 && (static_cast<Index>(x) & (static_cast<Index>(x) - 1)) == 0;
}

/// Block sizes of the samples of a row, with a sum that is a power of two, and as many.
const std::vector<std::vector<Index>>& size_lists() {
  static const std::vector<std::vector<Index>> lists{{1},          {2},
                                                     {4},          {8},
                                                     {16},         {1, 1},
                                                     {2, 2},       {4, 4},
                                                     {1, 1, 2, 4}, {2, 2, 4, 8},
                                                     {1, 1, 1, 1}, {4, 2, 1, 1},
                                                     {8, 4, 2, 2}, {1, 1, 2, 4, 8, 8, 4, 4}};
  return lists;
}

AttentionCase draw_common() {
  AttentionCase c;
  c.type = choose<Type>({Type::f32, Type::f64, Type::f16, Type::bf16});
  c.fill = Fill::dyadic;
  c.seed = *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::uint64_t>(0, 1000000));
  c.group = choose<Index>({1, 2});
  c.batch = choose<Index>({1, 2});
  c.head_dim = choose<Index>({1, 3, 64});
  c.value_dim = choose<Index>({1, 3, 33});
  return c;
}

AttentionCase draw_means() {
  AttentionCase c = draw_common();
  c.key_length = choose<Index>({1, 2, 4, 8, 16, 32});
  c.query_length = choose<Index>({1, 2, 5, 32});
  c.causal = choose<bool>({false, true});
  return c;
}

/// As long as the largest block, or twice.
AttentionCase draw_aligned() {
  AttentionCase c = draw_common();
  const auto& sizes = choose(size_lists());
  c.samples = static_cast<Index>(sizes.size());
  c.key_length = *std::max_element(sizes.begin(), sizes.end()) * choose<Index>({1, 2});
  c.query_length = c.key_length;
  c.causal = choose<bool>({false, true});
  return c;
}

AttentionCase draw_single() {
  AttentionCase c = draw_common();
  c.fill = choose<Fill>({Fill::normal, Fill::sharp, Fill::dyadic});
  c.causal = choose<bool>({false, true});
  c.samples = c.fill == Fill::dyadic ? choose<Index>({1, 2, 4, 16}) : choose<Index>({1, 2});
  c.blocks = Blocks::singletons;
  c.key_length = c.query_length = choose<Index>({1, 2, 5, 33});
  return c;
}

AttentionCase draw_one_key() {
  AttentionCase c = draw_single();
  c.key_length = 1;
  return c;
}

void zero(Tensor& tensor) {
  const std::vector<Index> shape = tensor.shape();
  for (Index b = 0; b < shape[0]; ++b)
    for (Index i = 0; i < shape[1]; ++i)
      for (Index h = 0; h < shape[2]; ++h)
        for (Index x = 0; x < shape[3]; ++x) tensor.set({b, i, h, x}, 0);
}

/// Aligned blocks whose sizes follow from the number of samples and the length: the list of that
/// many sizes with the largest one that fits, turned by one from head to head.
void set_aligned(AttentionProblem& problem) {
  const AttentionCase& c = problem.parameters();
  const std::vector<Index>* sizes = nullptr;
  for (const auto& list : size_lists())
    if (static_cast<Index>(list.size()) == c.samples &&
        *std::max_element(list.begin(), list.end()) <= c.key_length &&
        (sizes == nullptr || *std::max_element(list.begin(), list.end()) >=
                                 *std::max_element(sizes->begin(), sizes->end())))
      sizes = &list;
  if (sizes == nullptr) return;
  for (Index b = 0; b < c.batch; ++b)
    for (Index h = 0; h < c.heads(); ++h) {
      std::vector<reference::Partition> partitions;
      for (Index k = 0; k < c.samples; ++k) {
        const Index size = (*sizes)[static_cast<std::size_t>((k + h) % c.samples)];
        std::vector<Index> starts;
        for (Index p = 0; p < c.key_length; p += size) starts.push_back(p);
        partitions.emplace_back(c.key_length, starts);
      }
      problem.set_partitions(b, h, std::move(partitions));
    }
}

/// True when an error of at most `tolerance`, the last rounding of at most u |value| included,
/// cannot lead to another number of the type.
bool rounds_to(Type type, double value, double tolerance) {
  if (value == 0 || round_to(type, value) != value) return false;
  const double u = unit_roundoff(type);
  // Below a power of two the spacing halves.
  const double half_spacing = u * std::exp2(std::floor(std::log2(std::fabs(value)))) / 2;
  return tolerance - u * std::fabs(value) < half_spacing;
}

/// Tolerance 0 where the output must be exact.
void demand_exactness(const AttentionProblem& problem, const plsh_conventions& conventions,
                      bool exact, Expectation& expected) {
  const AttentionCase& c = problem.parameters();
  expected::for_each_head(problem, conventions, exact, false, [&](const expected::Head& head) {
    for (Index i = 0; i < head.query.rows(); ++i) {
      const expected::SeenKeys seen = expected::seen_keys(head, i);
      double pairs = 0;
      double keys = 0;
      for (const double count : seen.count) {
        pairs += count;
        keys += count > 0 ? 1 : 0;
      }
      if (!is_power_of_two(pairs) || pairs > kMostPairs) continue;
      const std::size_t at = head.query_row(c, i, c.value_dim);
      for (std::size_t k = at; k < at + static_cast<std::size_t>(c.value_dim); ++k)
        if (keys == 1 || rounds_to(c.type, expected.value[k], expected.tolerance[k]))
          expected.tolerance[k] = 0;
    }
  });
}

Outcome check(const Implementation& implementation, const Case& parameters, bool exact) {
  AttentionProblem problem(supported_case(implementation, parameters));
  const AttentionCase& c = problem.parameters();
  // Logits of any size are for the rows with a single key; otherwise they are all 0.
  const bool single = exact ? c.key_length == 1 : c.blocks == Blocks::singletons;
  if (!single) {
    zero(problem.query);
    for (Index b = 0; b < c.batch; ++b)
      for (Index h = 0; h < c.heads(); ++h) problem.slopes.set({b, h}, 0);
    problem.seal_inputs();
    if (!exact) set_aligned(problem);
  }
  problem.forward(implementation, exact);
  ForwardExpectation expected = expected_forward(problem, implementation.conventions(), exact);
  demand_exactness(problem, implementation.conventions(), exact, expected.output);
  const Comparison comparison = compare("output", problem.output, expected.output);
  Outcome outcome = comparison.message.empty() ? passed() : failed(comparison.message);
  // Against tolerance 0 there is no ratio.
  outcome.error_ratio = comparison.error_ratio > 1 ? 0 : comparison.error_ratio;
  return outcome;
}

}  // namespace

void add_exact_value_properties(std::vector<Property>& all) {
  for (const bool exact : {true, false}) {
    const Compared compared{exact, false};
    Property property;
    property.id = compared.area() + ".exact-values";
    property.claim = exact ? "C8" : "C6";
    property.statement =
        "A row with one key returns its value to the bit; a mean that the type holds is exact "
        "where no rounding can lead elsewhere.";
    property.needs = {compared.operation()};
    if (exact) {
      property.families.push_back(attention_family(
          "means", "Zero scores without bias: the mean of 2^k small values.", 16, draw_means));
      property.families.push_back(
          attention_family("one-key", "A single key: its value, to the bit.", 12, draw_one_key));
    } else {
      property.families.push_back(attention_family(
          "aligned-blocks", "Zero scores in blocks of 2^k keys: the pooled mean over the samples.",
          20, draw_aligned));
      property.families.push_back(attention_family(
          "singletons", "Every position alone: its own value, to the bit.", 12, draw_single));
    }
    property.check = [exact](const Implementation& implementation, const Case& parameters,
                             const Budget&) { return check(implementation, parameters, exact); };
    all.push_back(std::move(property));
  }
}

}  // namespace plsh::properties
