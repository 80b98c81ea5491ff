// C2: contiguous, disjoint blocks that cover everything.
#include <plsh/reference/partition_law.hpp>

#include "context.hpp"

namespace plsh::properties::audit {
namespace {

/// The labels h(0), ..., h(n-1) of a binning must not fall; blocks are the runs of equal labels.
/// Returns what is wrong, or an empty string.
std::string check_labels(const Context& context, Index length, const Binning& binning) {
  const Partition expected = partition_of(length, binning);
  Integer previous = context.subject.bin_of(0, binning);
  Index largest = 1;
  Index begin = 0;
  for (Index i = 1; i < length; ++i) {
    const Integer label = context.subject.bin_of(i, binning);
    if (label < previous)
      return fmt::format(
          "w = {:a}, u = {:a}: h({}) = {} is below h({}) = {}: the block of {} is not "
          "contiguous or its label comes back",
          binning.width, binning.shift, i, label.str(), i - 1, previous.str(), i);
    const bool cut = label != previous;
    const bool expected_cut = expected.block_of(i) != expected.block_of(i - 1);
    if (cut != expected_cut)
      return fmt::format("w = {:a}, u = {:a}: the cut before position {} is {}, exactly it is {}",
                         binning.width, binning.shift, i, cut, expected_cut);
    if (cut) begin = i;
    largest = std::max(largest, i - begin + 1);
    previous = label;
  }
  if (static_cast<double>(largest) > std::ceil(binning.width))
    return fmt::format("w = {:a}, u = {:a}: a block has {} positions, more than ceil(w)",
                       binning.width, binning.shift, largest);
  return {};
}

}  // namespace

void audit_contiguity(Context& context, ClaimReport& report) {
  report.ours =
      "h(i) = floor((i-u)/w) never falls as i grows, so equal labels are consecutive; a block has at "
      "most ceil(w) positions, and a block that is not cut off by an end has floor(w) or ceil(w).";
  constexpr Index length = 200;
  const Index per_head = std::max<Index>(
      1, context.sizes.partitions_checked / static_cast<Index>(context.sigmas.size()));
  std::string fault;
  Index checked = 0;
  for (std::size_t h = 0; h < context.sigmas.size(); ++h) {
    context.stage("labels in exact arithmetic", static_cast<double>(h) / 10);
    for (Index k = 0; k < per_head && fault.empty(); ++k, ++checked)
      fault = check_labels(context, length,
                           draw_binning(context.id(stream::partitions, h, k), context.sigmas[h]));
  }
  // Bin edges on positions, and widths near the ends of their range.
  for (const Binning& binning : {Binning{3, 0}, Binning{3, 1}, Binning{2.5, 0.5}, Binning{1, 0},
                                 Binning{0.1, 0.05}, Binning{1e300, 7}, Binning{199, 198.5}}) {
    if (fault.empty()) fault = check_labels(context, length, binning);
    ++checked;
  }
  add_check(report, "labels are monotone", fault.empty(),
            fault.empty() ? fmt::format("{} binnings of {} positions, exact rational arithmetic",
                                        checked, length)
                          : fault);

  context.stage("blocks far away", 0.85);
  Index far = 0;
  std::string far_fault;
  for (std::size_t h = 0; h < context.sigmas.size(); ++h)
    for (Index k = 0; k < 50; ++k)
      for (const Index position : {Index{0}, Index{999'999}, Index{999'999'999'999}}) {
        constexpr Index longest = 1'000'000'000'000;
        const Binning binning =
            draw_binning(context.id(stream::partitions, h, 1'000'000 + k), context.sigmas[h]);
        const Block block = block_around(position, longest, binning);
        const Integer label = context.subject.bin_of(position, binning);
        const bool whole = context.subject.bin_of(block.begin, binning) == label &&
                           context.subject.bin_of(block.end - 1, binning) == label;
        const bool closed =
            (block.begin == 0 || context.subject.bin_of(block.begin - 1, binning) != label) &&
            (block.end == longest || context.subject.bin_of(block.end, binning) != label);
        if ((!whole || !closed) && far_fault.empty())
          far_fault = fmt::format("w = {:a}, u = {:a}: the block around {} is not [{}, {})",
                                  binning.width, binning.shift, position, block.begin, block.end);
        ++far;
      }
  add_check(report, "blocks up to n = 10^12", far_fault.empty(),
            far_fault.empty() ? fmt::format("{} blocks up to position 10^12 - 1", far) : far_fault);

  // All partitions that any (w, u) produces for n = 16: the interior block sizes differ by at
  // most 1.
  const PartitionLaw law(16);
  Index wrong = 0;
  for (const Partition& partition : law.partitions())
    for (Index a = 1; a + 1 < partition.block_count(); ++a)
      for (Index b = 1; b + 1 < partition.block_count(); ++b)
        if (std::abs(partition.block(a).size() - partition.block(b).size()) > 1) ++wrong;
  add_check(
      report, "every reachable partition of n = 16", wrong == 0,
      fmt::format("{} partitions of 32768 compositions are reachable; interior blocks differ by "
                  "at most one position",
                  law.partitions().size()));
  report.observed = NamedValue{"binnings checked", static_cast<double>(checked + far)};
  report.evidence = fmt::format(
      "Proved by monotonicity of the floor. The labels of {} binnings and {} blocks up to position "
      "10^12 were checked in exact rational arithmetic, together with all {} reachable partitions of "
      "n = 16.",
      checked, far, law.partitions().size());
  conclude(report, Verdict::certified);
}

}  // namespace plsh::properties::audit
