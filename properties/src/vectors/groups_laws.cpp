// Slopes, kernel values, widths and the law of the partition: what is asked for.
#include <fmt/format.h>

#include <bit>

#include "groups.hpp"

namespace plsh::properties::vectors {
namespace {

Json slopes() {
  Group group(
      "slopes", "slopes",
      "Press, Smith, Lewis 2022 (ALiBi), section 3, and get_slopes of the authors' code",
      {{"rule",
        "interleaved: the slopes 2^(-8 (h+1)/P) of the largest power of two P <= H, then "
        "every second slope of the 2P-head set; geometric: 2^(-8 (h+1)/H) for every H. For a "
        "power of two both are the same."}});
  for (const Index heads : {1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 20, 24, 32, 48}) {
    const bool power = std::has_single_bit(static_cast<std::uint64_t>(heads));
    for (const char* rule : {"interleaved", "geometric"}) {
      if (power && std::string(rule) == "geometric") continue;
      if (heads % 4 != 0 && heads > 6 && std::string(rule) == "geometric") continue;
      group.add(fmt::format("{}/{}", power ? "power-of-two" : rule, heads),
                fmt::format("{} head{}", heads, heads == 1 ? "" : "s"),
                {power ? "basic" : "not_a_power_of_two"}, {{"heads", heads}, {"rule", rule}});
    }
  }
  return group.json();
}

Json kernel() {
  Group group("kernel", "kernel", "arXiv 2605.09472: L*_ij = exp(-|i-j|/sigma)",
              {{"value", "exp(-distance/sigma), the probability that one mask keeps the pair"}});
  const auto add = [&](Index distance, double sigma, const char* flag) {
    group.add(fmt::format("distance-{}/sigma-{:g}", distance, sigma),
              fmt::format("|i-j| = {}, sigma = {:g}", distance, sigma), {flag},
              {{"distance", distance}, {"sigma", hex_text(sigma)}});
  };
  add(0, 4, "basic");
  add(1, 2, "basic");
  add(1, 4, "basic");
  add(3, 4, "basic");
  add(1, 256, "basic");
  add(255, 256, "basic");
  add(7, 0.75, "basic");
  add(1, 1024.5, "basic");
  add(1, 0.125, "far_tail");
  add(100, 2, "far_tail");
  add(1000, 4, "far_tail");
  add(4096, 16, "far_tail");
  add(1'000'000, 65536, "far_tail");
  add(1'000'000'000, 536870912, "large_position");
  return group.json();
}

Json width_quantiles() {
  Group group(
      "width-quantiles", "width_quantile",
      "arXiv 2605.09472, w ~ Gamma(2, sigma); proof: proofs-notes/C5.md of plsh",
      {{"width",
        "the t with P(the largest of the widths of all samples > t) = delta, where one width "
        "has P(w > t) = (1 + t/sigma) exp(-t/sigma)"}});
  const auto add = [&](double delta, Index samples, double sigma, const char* flag) {
    group.add(fmt::format("delta-{}/samples-{}/sigma-{:g}", hex_text(delta), samples, sigma),
              fmt::format("delta = {:g}, s = {}, sigma = {:g}", delta, samples, sigma), {flag},
              {{"delta", hex_text(delta)}, {"samples", samples}, {"sigma", hex_text(sigma)}});
  };
  for (const double delta : {0x1p-1, 0x1p-7, 0x1p-20})
    for (const Index samples : {1, 16, 1000}) add(delta, samples, 4, "basic");
  add(0.875, 1, 4, "basic");
  add(0x1p-10, 20, 0.5, "basic");
  add(0x1p-10, 20, 256, "basic");
  add(0x1p-60, 1, 1, "far_tail");
  return group.json();
}

Json partition_law() {
  Group group(
      "partition-law", "partition_law",
      "arXiv 2605.09472, the law of the mask; closed form in plsh: reference/partition_law.hpp",
      {{"partitions",
        "all partitions of the positions 0..length-1 that some (w, u) gives, with their "
        "probabilities for w ~ Gamma(2, sigma) and u uniform on [0, w). A partition that is not "
        "listed has probability zero: a sampler that draws it is wrong."}});
  for (const Index length : {4, 5, 6})
    for (const double sigma : {0.5, 1.0, 4.0, 16.0})
      group.add(fmt::format("length-{}/sigma-{:g}", length, sigma),
                fmt::format("n = {}, sigma = {:g}", length, sigma), {"basic"},
                {{"length", length}, {"sigma", hex_text(sigma)}});
  return group.json();
}

}  // namespace

std::vector<Json> law_groups() { return {slopes(), kernel(), width_quantiles(), partition_law()}; }

}  // namespace plsh::properties::vectors
