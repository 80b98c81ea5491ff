// The mean of the masks of given partitions.
#include <fmt/format.h>

#include <cmath>

#include "operations.hpp"

namespace plsh::properties::vectors {
namespace {

using reference::co_occurrence_counts;

constexpr Index kLongest = 64;
constexpr Index kMostSamples = 4096;

struct MaskInput {
  Index length;
  PartitionLists partitions;
  std::vector<Index> shape() const { return {partitions.batch, partitions.heads, length, length}; }
};

MaskInput read_masks(const Json& input) {
  const Index length = read_integer(input, "length", 1, kLongest);
  MaskInput result{length, read_partitions(input, length)};
  const PartitionLists& lists = result.partitions;
  if (lists.samples > kMostSamples || lists.batch * lists.heads * length * length > 65536)
    throw std::invalid_argument("\"block_starts\" is too large");
  return result;
}

}  // namespace

Computed compute_mean_mask(const Json& input, const Digits& digits) {
  const MaskInput parsed = read_masks(input);
  std::vector<Json> counts;
  std::vector<Json> means;
  for (const auto& samples : parsed.partitions.of_head) {
    const auto count = co_occurrence_counts(samples);
    for (Index i = 0; i < parsed.length; ++i)
      for (Index j = 0; j < parsed.length; ++j) {
        counts.emplace_back(count(i, j));
        means.push_back(
            number(Interval(count(i, j)) / Interval(parsed.partitions.samples), digits));
      }
  }
  Json tolerance = Json::object();
  // At most s terms 1/s, each rounded, added one after the other; a sum is at most 1.
  for (const Type type : {Type::f64, Type::f32})
    tolerance[to_string(type)] = {
        {"mask", bound(std::expm1(static_cast<double>(parsed.partitions.samples) *
                                  std::log1p(unit_roundoff(type))))}};
  return {{{"counts", nested(parsed.shape(), counts)}, {"mask", nested(parsed.shape(), means)}},
          tolerance};
}

Run run_mean_mask(const Implementation& implementation, const Json& vector) {
  const MaskInput parsed = read_masks(member(vector, "input"));
  const PartitionLists& lists = parsed.partitions;
  const Nested expected = read_nested(member(member(vector, "expected"), "mask"), 4, "mask");
  if (expected.shape != parsed.shape()) throw std::invalid_argument("\"mask\" has the wrong shape");
  Tensor counts(Type::i64, {lists.batch, lists.heads, lists.samples});
  Tensor starts(Type::i64, {lists.batch, lists.heads, lists.samples, parsed.length});
  for (Index b = 0; b < lists.batch; ++b)
    for (Index h = 0; h < lists.heads; ++h)
      for (Index s = 0; s < lists.samples; ++s) {
        const auto& partition = lists.of_head[static_cast<std::size_t>(b * lists.heads + h)]
                                             [static_cast<std::size_t>(s)];
        counts.set_integer({b, h, s}, partition.block_count());
        for (Index k = 0; k < partition.block_count(); ++k)
          starts.set_integer({b, h, s, k}, partition.starts()[static_cast<std::size_t>(k)]);
      }
  counts.seal();
  starts.seal();
  std::string refusals;
  bool any = false;
  for (const Type type : {Type::f32, Type::f64}) {
    Tensor mask(type, parsed.shape());
    mask.clear();
    try {
      implementation.mean_mask(counts, starts, mask);
    } catch (const Refused& refusal) {
      refusals = refusal.what();
      continue;
    }
    any = true;
    if (const auto damage = counts.damage("block_counts")) throw Violation(*damage);
    if (const auto damage = starts.damage("block_starts")) throw Violation(*damage);
    require_written(mask, "mask");
    const std::string name = to_string(type);
    const Json& recorded = member(member(member(vector, "tolerance"), name.c_str()), "mask");
    if (!recorded.is_number()) throw std::invalid_argument("a tolerance is not a number");
    const auto tolerance = recorded.get<double>();
    const std::vector<double> got = mask.values();
    for (std::size_t k = 0; k < got.size(); ++k) {
      const double value = read_number(expected.leaves[k]).value;
      // Half an ulp for the expected value, which is a fraction.
      if (!(std::fabs(got[k] - value) <= tolerance + unit_roundoff(Type::f64)))
        return fail(fmt::format("{}: mask[{}, {}] is {:.9g}, expected {:.9g}", name,
                                static_cast<Index>(k) / parsed.length % parsed.length,
                                static_cast<Index>(k) % parsed.length, got[k], value));
    }
  }
  if (!any) throw Refused(refusals);
  return {};
}

}  // namespace plsh::properties::vectors
