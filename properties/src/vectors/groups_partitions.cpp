// Bins, partitions, the documented stream and mean masks: what is asked for.
#include <fmt/format.h>

#include "groups.hpp"

namespace plsh::properties::vectors {
namespace {

using Flags = std::vector<std::string>;
using Starts = std::vector<Index>;

Json bins() {
  Group group(
      "bins", "bins", "arXiv 2605.09472: h(i) = floor((i - u)/w)",
      {{"rule",
        "floor: floor((i - u)/w); floor_plus: floor((i + u)/w); ceil: ceil((i - u)/w); "
        "round: floor((i - u)/w + 1/2). All four have the same law of masks."},
       {"bins",
        "exact, for the real numbers w and u. Only which positions share a bin matters; "
        "tolerance.edge is how close to an edge, in bins, a position may be to fall into the "
        "neighbouring bin by rounding."}});
  const Starts small{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  const Starts large{0,           1,           999'998,     999'999,      1'000'000,
                     16'777'215,  16'777'216,  16'777'217,  500'000'000,  999'999'996,
                     999'999'997, 999'999'998, 999'999'999, 1'000'000'000};
  const auto add = [&](const char* name, const char* comment, Flags flags, double w, double u,
                       const Starts& positions, const char* rule = "floor") {
    group.add(
        name, comment, std::move(flags),
        {{"width", hex_text(w)}, {"shift", hex_text(u)}, {"rule", rule}, {"positions", positions}});
  };
  add("width-3.5/shift-1.25", "no position on an edge", {"basic", "negative_offset"}, 3.5, 1.25,
      small);
  add("width-3/shift-0", "every third position on an edge", {"bin_edge"}, 3, 0, small);
  add("width-3/shift-1", "edges at 1, 4, 7, 10", {"bin_edge", "negative_offset"}, 3, 1, small);
  add("width-3/shift-2", "edges at 2, 5, 8, 11", {"bin_edge", "negative_offset"}, 3, 2, small);
  add("width-3/shift-3", "u = w, the same bins as u = 0", {"bin_edge", "negative_offset"}, 3, 3,
      small);
  add("width-2.5/shift-0.5", "edges at 3, 8 and between", {"bin_edge", "negative_offset"}, 2.5, 0.5,
      small);
  add("width-1/shift-0", "every position on an edge", {"bin_edge"}, 1, 0, small);
  add("width-1/shift-0.5", "width 1 separates all", {"basic"}, 1, 0.5, small);
  add("width-0.25/shift-0.125", "narrow bins, most without a position", {"fine_bins"}, 0.25, 0.125,
      small);
  add("width-2^-20/shift-0", "very narrow bins", {"fine_bins", "bin_edge"}, 0x1p-20, 0, small);
  add("width-100/shift-50", "one edge beyond all positions: all share bin -1",
      {"one_block", "negative_offset"}, 100, 50, small);
  add("width-100/shift-0", "one bin", {"one_block"}, 100, 0, small);
  add("width-100/shift-6", "one edge, at 6", {"bin_edge", "negative_offset"}, 100, 6, small);
  add("width-8.000001/shift-7.9999995", "the edge just below 8", {"negative_offset"}, 0x1.000002p+3,
      0x1.fffffep+2, small);
  add("width-third/shift-0", "a width that is not a third", {"fine_bins"}, 0x1.555556p-2, 0, small);
  add("width-7.3/shift-3.1", "a width near 7.3", {"basic", "negative_offset"}, 0x1.d33334p+2,
      0x1.8ccccep+1, small);
  add("positions-to-1e9/width-1000/shift-250", "far positions", {"large_position"}, 1000, 250,
      large);
  add("positions-to-1e9/width-1000/shift-0", "far positions on edges",
      {"large_position", "bin_edge"}, 1000, 0, large);
  add("positions-to-1e9/width-2.5/shift-1.25", "far positions, narrow bins",
      {"large_position", "negative_offset"}, 2.5, 1.25, large);
  add("positions-to-1e9/width-1e9/shift-5e8", "a width as large as the positions",
      {"large_position", "bin_edge", "negative_offset"}, 1e9, 5e8, large);
  for (const auto& [rule, name] : {std::pair{"floor_plus", "floor-plus"}, std::pair{"ceil", "ceil"},
                                   std::pair{"round", "round"}}) {
    add(fmt::format("{}/width-3/shift-1", name).c_str(), "positions on edges",
        {"other_bin_rule", "bin_edge"}, 3, 1, small, rule);
    add(fmt::format("{}/width-3.5/shift-1.25", name).c_str(), "no position on an edge",
        {"other_bin_rule"}, 3.5, 1.25, small, rule);
  }
  return group.json();
}

Json partitions() {
  Group group(
      "partitions", "partition", "arXiv 2605.09472: h(i) = floor((i - u)/w)",
      {{"block_starts",
        "the first positions of the blocks of 0..length-1, where a block is the positions of "
        "one bin floor((i - u)/w). Bins without a position give no block."}});
  const auto add = [&](Index length, double w, double u, const char* comment, Flags flags) {
    group.add(fmt::format("length-{}/width-{:g}/shift-{:g}", length, w, u), comment,
              std::move(flags),
              {{"length", length}, {"width", hex_text(w)}, {"shift", hex_text(u)}});
  };
  add(1, 2.5, 1, "one position", {"one_block"});
  add(8, 3, 1.5, "blocks of 2, 3, 3", {"basic"});
  add(8, 3, 0.5, "blocks of 1, 3, 3, 1", {"basic"});
  add(8, 3, 1, "edges on positions: a bin holds its lower edge", {"bin_edge"});
  add(9, 3, 0, "equal blocks", {"bin_edge"});
  add(9, 3, 3, "u = w gives what u = 0 gives", {"bin_edge"});
  add(10, 2.5, 1.25, "blocks of 2 and 3 in turn", {"basic"});
  add(10, 2.5, 0, "edges at 0, 2.5, 5, 7.5", {"bin_edge"});
  add(6, 1, 0.25, "all singletons", {"singletons"});
  add(6, 0.375, 0.125, "bins without positions between", {"fine_bins", "singletons"});
  add(7, 1.5, 0.75, "singletons and pairs", {"basic"});
  add(7, 64, 0, "one block", {"one_block"});
  add(7, 64, 32, "one block, in bin -1", {"one_block", "negative_offset"});
  add(7, 64, 6, "the last position apart, on the edge", {"bin_edge", "negative_offset"});
  add(7, 64, 5.75, "the last position apart", {"negative_offset"});
  add(7, 64, 0.5, "the first position apart", {"negative_offset"});
  add(32, 5.25, 4.125, "a longer one", {"basic", "negative_offset"});
  return group.json();
}

Json samples() {
  Group group(
      "sample-stream", "sample",
      "the documented stream of plsh, reference/sampling.hpp: Philox4x32-10 (Random123)",
      {{"key", "the low and high 32 bits of the seed"},
       {"counter",
        "(sample low 32 bits, sample high 32 bits, head, block); block 0 gives the words "
        "x0..x3, block 1 gives y0..y3"},
       {"uniforms",
        "U(z) = (2 floor(z/2^12) + 1)/2^53 for a 64-bit word z; U1 = U(x1:x0), U2 = U(x3:x2), "
        "U3 = U(y1:y0)"},
       {"width", "-sigma ln(U1 U2), correctly rounded to f64"},
       {"shift", "w U3, correctly rounded to f64"}});
  const auto add = [&](Index seed, Index head, Index sample, double sigma, Index length,
                       Flags flags) {
    flags.insert(flags.begin(), "optional");
    group.add(fmt::format("seed-{}/head-{}/sample-{}/sigma-{:g}", seed, head, sample, sigma),
              fmt::format("sample {} of head {}", sample, head), std::move(flags),
              {{"seed", seed},
               {"head", head},
               {"sample", sample},
               {"sigma", hex_text(sigma)},
               {"length", length}});
  };
  for (const Index sample : {0, 1, 2, 3}) add(0, 0, sample, 4, 32, {});
  for (const Index head : {1, 2, 7}) add(0, head, 0, 4, 32, {"heads"});
  add(1, 0, 0, 4, 32, {});
  add(42, 3, 17, 2, 24, {"heads"});
  add(42, 3, 17, 256, 512, {"heads"});
  add(Index{1} << 32, 0, 0, 4, 32, {"large_seed"});
  add((Index{1} << 53) - 1, 0, 0, 4, 32, {"large_seed"});
  add(7, 0, Index{1} << 32, 4, 32, {"large_seed"});
  add(7, 1, 65536, 4, 32, {"heads"});
  return group.json();
}

Json mean_masks() {
  Group group("mean-mask", "mean_mask",
              "arXiv 2605.09472: M~ = the mean of s masks, M_ij = [h(i) = h(j)]",
              {{"block_starts", "[batch][heads][samples], the block starts of each partition"},
               {"counts", "[batch][heads][length][length]: samples in which i and j share a block"},
               {"mask", "counts / samples"}});
  using Samples = std::vector<Starts>;
  const auto add = [&](const char* name, const char* comment, Flags flags, Index length,
                       const std::vector<std::vector<Samples>>& starts) {
    group.add(name, comment, std::move(flags), {{"length", length}, {"block_starts", starts}});
  };
  add("one-position", "n = 1", {"one_block"}, 1, {{{{0}}}});
  add("one-block", "all ones", {"one_block"}, 3, {{{{0}}}});
  add("singletons", "the identity", {"singletons"}, 4, {{{{0, 1, 2, 3}}}});
  add("two-blocks", "block diagonal", {"basic"}, 5, {{{{0, 2}}}});
  add("two-samples", "different cuts", {"basic"}, 4, {{{{0, 1}, {0, 3}}}});
  add("three-samples", "thirds are no binary fractions", {"basic"}, 5,
      {{{{0, 2}, {0, 3}, {0, 1, 4}}}});
  add("five-samples", "fifths, and a pair in all samples", {"basic"}, 4,
      {{{{0, 1}, {0, 3}, {0, 1, 3}, {0}, {0, 1, 2}}}});
  add("repeated-sample", "one partition three times, another once", {"repeated_sample"}, 4,
      {{{{0, 2}, {0, 2}, {0, 1}, {0, 2}}}});
  add("all-equal", "one partition twice is that partition", {"repeated_sample"}, 4,
      {{{{0, 2}, {0, 2}}}});
  add("last-alone", "the last position alone", {"basic"}, 6, {{{{0, 5}, {0, 3, 5}}}});
  add("heads", "two heads, different partitions", {"heads"}, 3,
      {{{{0, 1}, {0}}, {{0, 2}, {0, 1, 2}}}});
  add("batch", "two batch items, different partitions", {"batch"}, 3,
      {{{{0, 1}, {0}}}, {{{0, 2}, {0, 2}}}});
  add("many-samples", "300 samples: counts beyond 8 bits", {"many_samples", "repeated_sample"}, 2,
      {{[] {
        Samples samples(300, Starts{0});
        for (std::size_t k = 0; k < 300; k += 10) samples[k] = {0, 1};
        return samples;
      }()}});
  return group.json();
}

}  // namespace

std::vector<Json> partition_groups() { return {bins(), partitions(), samples(), mean_masks()}; }

}  // namespace plsh::properties::vectors
