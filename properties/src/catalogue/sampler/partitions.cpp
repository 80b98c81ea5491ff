// Every drawn partition, one by one.
#include <fmt/format.h>

#include <cmath>

#include "../catalogue.hpp"
#include "parts.hpp"

namespace plsh::properties {
namespace {

SamplerCall call_of(const Case& parameters) {
  SamplerCall call;
  call.seed = parameters.at("seed").get<std::uint64_t>();
  call.length = parameters.at("length").get<Index>();
  call.sigmas = parameters.at("sigmas").get<std::vector<double>>();
  call.batch = parameters.at("batch").get<Index>();
  call.samples = parameters.at("samples").get<Index>();
  call.threads = parameters.at("threads").get<int>();
  call.layout = layout_from_string(parameters.at("layout").get<std::string>());
  return call;
}

template <class Visit>
void for_each_sample(const SamplerCall& call, Visit&& visit) {
  for (Index item = 0; item < call.batch; ++item)
    for (Index h = 0; h < static_cast<Index>(call.sigmas.size()); ++h)
      for (Index k = 0; k < call.samples; ++k) visit(item, h, k);
}

Outcome check_valid(const Implementation& implementation, const Case& parameters, const Budget&) {
  const SamplerCall call = call_of(parameters);
  Sampler sampler(implementation);
  sampler.draw(call);
  if (const auto damage = sampler.damage()) return failed(*damage);
  for_each_sample(call, [&](Index item, Index h, Index k) { sampler.partition(item, h, k); });
  return passed();
}

Outcome check_reachable(const Implementation& implementation, const Case& parameters,
                        const Budget&) {
  const SamplerCall call = call_of(parameters);
  Sampler sampler(implementation);
  sampler.draw(call);
  for_each_sample(call, [&](Index item, Index h, Index k) { sampler.region(item, h, k); });
  return passed();
}

/// sigma = 2^(power/2), within 0.01 to 10^6.
double sigma_of(int power) { return std::clamp(std::exp2(power / 2.0), 0.01, 1e6); }

/// Calls of `length` from a generator, whose outputs stay small.
rc::Gen<Case> calls(const rc::Gen<Index>& lengths, int lowest_power, int highest_power,
                    std::vector<std::string> layouts) {
  // At full size: RapidCheck's early, small cases would use the low ends of the ranges only.
  return rc::gen::map(
      rc::gen::resize(rc::kNominalSize,
                      rc::gen::tuple(rc::gen::arbitrary<std::uint64_t>(), lengths,
                                     rc::gen::inRange(lowest_power, highest_power),
                                     rc::gen::inRange<Index>(1, 4), rc::gen::inRange<Index>(1, 4),
                                     rc::gen::inRange<Index>(1, 40), rc::gen::inRange(0, 5),
                                     rc::gen::elementOf(std::move(layouts)))),
      [](const std::tuple<std::uint64_t, Index, int, Index, Index, Index, int, std::string>& x) {
        const auto& [seed, length, power, heads, batch, samples, threads, layout] = x;
        std::vector<double> sigmas;
        for (Index h = 0; h < heads; ++h)
          sigmas.push_back(sigma_of(power + 3 * static_cast<int>(h)));
        const Index most = samples_per_call(length, heads, batch);
        return Case{{"seed", seed},
                    {"length", length},
                    {"sigmas", sigmas},
                    {"batch", batch},
                    {"samples", std::min(samples, most)},
                    {"threads", threads},
                    {"layout", layout}};
      });
}

Property partition_property(
    std::string id, std::string statement, std::vector<Family> families,
    std::function<Outcome(const Implementation&, const Case&, const Budget&)> check) {
  Property property;
  property.id = std::move(id);
  property.claim = "C2";
  property.statement = std::move(statement);
  property.needs = {Operation::sample_partitions};
  property.families = std::move(families);
  property.check = std::move(check);
  return property;
}

}  // namespace

void add_partition_properties(std::vector<Property>& all) {
  const std::vector<std::string> every{"packed", "transposed", "reversed", "padded"};
  const std::vector<std::string> packed{"packed"};
  all.push_back(partition_property(
      "partition.valid",
      "Block starts are 0 = c_0 < c_1 < ... < length, and everything is written, nothing else.",
      {{"short", "Lengths from 1, every kind of sigma and layout.",
        [=] { return calls(rc::gen::inRange<Index>(1, 40), -13, 41, every); }, 40},
       {"many samples", "More samples than 16 bits count.",
        [] {
          return rc::gen::map(
              rc::gen::pair(rc::gen::arbitrary<std::uint64_t>(), rc::gen::just<Index>(65'600)),
              [](const std::pair<std::uint64_t, Index>& x) {
                return Case{{"seed", x.first},   {"length", 3},         {"sigmas", {2.0}},
                            {"batch", 1},        {"samples", x.second}, {"threads", 0},
                            {"layout", "packed"}};
              });
        },
        2},
       {"long", "Lengths beyond 16-bit positions.",
        [=] { return calls(rc::gen::inRange<Index>(60'000, 70'000), -4, 30, packed); }, 4}},
      check_valid));
  all.push_back(partition_property(
      "partition.reachable",
      "Every drawn partition comes from equally spaced boundaries: some (w, u) gives it.",
      {{"short", "Where a rule that is nearly right still shows in a few blocks.",
        [=] { return calls(rc::gen::inRange<Index>(2, 60), -4, 12, packed); }, 40},
       {"middle", "Hundreds of blocks.",
        [=] { return calls(rc::gen::inRange<Index>(300, 3000), 0, 14, packed); }, 20},
       {"long", "Positions where float, half and 16-bit arithmetic no longer count by ones.",
        [=] { return calls(rc::gen::inRange<Index>(60'000, 70'000), 0, 20, packed); }, 6},
       {"longest", "A million positions: rounding that grows with the position.",
        [=] { return calls(rc::gen::just<Index>(1'000'000), 4, 24, packed); }, 2}},
      check_reachable));
}

}  // namespace plsh::properties
