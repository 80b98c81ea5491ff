// What is promised bit by bit.
#include <fmt/format.h>

#include "parts.hpp"

namespace plsh::properties {
namespace {

/// All block starts of the last call, by item, head and sample.
std::vector<std::vector<Index>> all_starts(const Sampler& sampler, const SamplerCall& call) {
  std::vector<std::vector<Index>> result;
  for (Index item = 0; item < call.batch; ++item)
    for (Index h = 0; h < static_cast<Index>(call.sigmas.size()); ++h)
      for (Index k = 0; k < call.samples; ++k) result.push_back(sampler.starts(item, h, k));
  return result;
}

SamplerCall call_of(const Case& parameters) {
  SamplerCall call;
  call.seed = parameters.at("seed").get<std::uint64_t>();
  call.length = parameters.at("length").get<Index>();
  call.sigmas = parameters.at("sigmas").get<std::vector<double>>();
  call.batch = parameters.at("batch").get<Index>();
  call.samples = parameters.at("samples").get<Index>();
  call.threads = parameters.at("threads").get<int>();
  return call;
}

/// Names the first sample at which two results differ.
std::optional<std::string> first_difference(const std::vector<std::vector<Index>>& a,
                                            const std::vector<std::vector<Index>>& b,
                                            const SamplerCall& call) {
  const auto heads = static_cast<Index>(call.sigmas.size());
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (a[k] == b[k]) continue;
    const auto n = static_cast<Index>(k);
    return fmt::format("batch item {}, head {}, sample {}: {} blocks and {} blocks",
                       n / (heads * call.samples), n / call.samples % heads, n % call.samples,
                       a[k].size(), b[k].size());
  }
  return std::nullopt;
}

Outcome check_reproducible(const Implementation& implementation, const Case& parameters,
                           const Budget&) {
  const SamplerCall call = call_of(parameters);
  Sampler sampler(implementation);
  sampler.draw(call);
  const auto first = all_starts(sampler, call);
  // A call with another seed in between: nothing may be kept.
  SamplerCall other = call;
  other.seed = ~call.seed;
  other.samples = call.samples + 1;
  sampler.draw(other);
  sampler.draw(call);
  if (const auto where = first_difference(first, all_starts(sampler, call), call))
    return failed("the same arguments give other partitions when called again: " + *where);
  SamplerCall strided = call;
  strided.layout = Layout::reversed;
  Sampler second(implementation);
  try {
    second.draw(strided);
    if (const auto where = first_difference(first, all_starts(second, call), call))
      return failed("outputs with other strides receive other partitions: " + *where);
  } catch (const Refused&) {
    // A layout may be beyond an implementation; the rest still counts.
  }
  return passed();
}

Outcome check_threads(const Implementation& implementation, const Case& parameters, const Budget&) {
  if (!implementation.promises(PLSH_THREAD_INDEPENDENT))
    return unsuitable("samples may depend on the number of threads, as declared");
  SamplerCall call = call_of(parameters);
  Sampler sampler(implementation);
  call.threads = 1;
  sampler.draw(call);
  const auto first = all_starts(sampler, call);
  for (const int threads : {2, 3, 8, 0}) {
    call.threads = threads;
    sampler.draw(call);
    if (const auto where = first_difference(first, all_starts(sampler, call), call))
      return failed(fmt::format("{} and 1 threads give other partitions: {}", threads, *where));
  }
  return passed();
}

Outcome check_offsets(const Implementation& implementation, const Case& parameters, const Budget&) {
  if (!implementation.promises(PLSH_SAMPLE_OFFSETS))
    return unsuitable("first_sample is not supported, as declared");
  SamplerCall call = call_of(parameters);
  Sampler sampler(implementation);
  sampler.draw(call);
  const auto whole = all_starts(sampler, call);
  const Index skipped = parameters.at("skipped").get<Index>() % call.samples;
  SamplerCall rest = call;
  rest.first_sample = skipped;
  rest.samples = call.samples - skipped;
  sampler.draw(rest);
  std::vector<std::vector<Index>> expected;
  for (std::size_t k = 0; k < whole.size(); ++k)
    if (static_cast<Index>(k) % call.samples >= skipped) expected.push_back(whole[k]);
  if (const auto where = first_difference(expected, all_starts(sampler, rest), rest))
    return failed(
        fmt::format("a call with first_sample {} does not continue the one that starts at 0: {}",
                    skipped, *where));
  return passed();
}

Outcome check_shared_batch(const Implementation& implementation, const Case& parameters,
                           const Budget&) {
  if (implementation.conventions().batch_samples != PLSH_BATCH_SHARED)
    return unsuitable("the items of a batch draw partitions of their own, as declared");
  SamplerCall call = call_of(parameters);
  call.batch = std::max<Index>(2, call.batch);
  Sampler sampler(implementation);
  sampler.draw(call);
  for (Index item = 1; item < call.batch; ++item)
    for (Index h = 0; h < static_cast<Index>(call.sigmas.size()); ++h)
      for (Index k = 0; k < call.samples; ++k)
        if (sampler.starts(0, h, k) != sampler.starts(item, h, k))
          return failed(
              fmt::format("items 0 and {} differ in head {}, sample {}, although batches "
                          "share their samples, as declared",
                          item, h, k));
  return passed();
}

rc::Gen<Case> small_calls() {
  return rc::gen::map(
      rc::gen::resize(
          rc::kNominalSize,
          rc::gen::tuple(
              rc::gen::arbitrary<std::uint64_t>(), rc::gen::inRange<Index>(1, 200),
              rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(-4, 14))),
              rc::gen::inRange<Index>(1, 4), rc::gen::inRange<Index>(1, 70),
              rc::gen::inRange<Index>(0, 70))),
      [](const std::tuple<std::uint64_t, Index, std::vector<int>, Index, Index, Index>& x) {
        std::vector<double> sigmas;
        for (const int power : std::get<2>(x)) {
          if (sigmas.size() < 5) sigmas.push_back(std::exp2(power / 2.0));
        }
        return Case{{"seed", std::get<0>(x)},
                    {"length", std::get<1>(x)},
                    {"sigmas", sigmas},
                    {"batch", std::get<3>(x)},
                    {"samples", std::get<4>(x)},
                    {"skipped", std::get<5>(x)},
                    {"threads", 1}};
      });
}

Property conduct(std::string id, std::string statement,
                 std::function<Outcome(const Implementation&, const Case&, const Budget&)> check) {
  Property property;
  property.id = std::move(id);
  property.claim = "C3";
  property.statement = std::move(statement);
  property.needs = {Operation::sample_partitions};
  property.families = {
      {"small calls", "A few heads, items and samples of any kind.", small_calls, 20}};
  property.check = std::move(check);
  return property;
}

}  // namespace

void add_sampler_conduct_properties(std::vector<Property>& all) {
  all.push_back(conduct("sampler.reproducible",
                        "The same arguments give the same partitions, whatever was called before.",
                        check_reproducible));
  all.push_back(conduct("sampler.threads",
                        "The partitions do not depend on the number of threads, where promised.",
                        check_threads));
  all.push_back(conduct("sampler.offsets",
                        "A call from first_sample on gives the rest of the call from 0, where "
                        "promised.",
                        check_offsets));
  all.push_back(conduct("sampler.shared-batch",
                        "The items of a batch have the same partitions, where declared so.",
                        check_shared_batch));
}

}  // namespace plsh::properties
