#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <plsh/properties/check.hpp>

namespace plsh::properties {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// FNV-1a: streams of different properties and families differ.
std::uint64_t hash(const std::string& text) {
  std::uint64_t h = 0xcbf29ce484222325u;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return h;
}

rc::Random random_for(std::uint64_t seed, const Property& property, const Family& family, int k) {
  const std::uint64_t name = hash(property.id + "/" + family.name);
  rc::Random random(seed ^ name);
  for (int skip = 0; skip < k; ++skip) random.split();
  return random.split();
}

/// Leaves out the members that make no difference, so that those which make the case are seen.
void leave_out_members(const Property& property, Executor& executor, const Budget& budget,
                       Counterexample& example, Clock::time_point start, double seconds) {
  std::vector<std::string> names;
  for (const auto& [name, value] : example.parameters.items()) names.push_back(name);
  for (const std::string& name : names) {
    if (example.parameters.size() == 1 || seconds_since(start) > seconds) return;
    Case fewer = example.parameters;
    fewer.erase(name);
    try {
      const Outcome outcome = executor.run(property, fewer, budget);
      if (outcome.status == Outcome::Status::failed && outcome.message == example.message)
        example.parameters = std::move(fewer);
    } catch (const std::exception&) {  // a member that the property needs
    }
  }
}

/// Follows the shrinks that still fail, until none does or the effort is spent.
Counterexample shrink(const Property& property, Executor& executor, const Budget& budget,
                      const Family& family, rc::Shrinkable<Case> found, std::string message,
                      double seconds) {
  constexpr int kTries = 600;
  const Clock::time_point start = Clock::now();
  Counterexample example{family.name, found.value(), std::move(message), 0};
  int tries = 0;
  for (bool smaller = true; smaller;) {
    smaller = false;
    rc::Seq<rc::Shrinkable<Case>> candidates = found.shrinks();
    while (tries < kTries && seconds_since(start) < seconds) {
      const rc::Maybe<rc::Shrinkable<Case>> candidate = candidates.next();
      if (!candidate) break;
      ++tries;
      const Case parameters = candidate->value();
      if (parameters == example.parameters) continue;
      const Outcome outcome = executor.run(property, parameters, budget);
      if (outcome.status != Outcome::Status::failed) continue;
      found = *candidate;
      example.parameters = parameters;
      example.message = outcome.message;
      ++example.shrinks;
      smaller = true;
      break;
    }
  }
  leave_out_members(property, executor, budget, example, start, seconds);
  return example;
}

}  // namespace

std::string to_string(CheckVerdict verdict) {
  switch (verdict) {
    case CheckVerdict::pass:
      return "pass";
    case CheckVerdict::fail:
      return "fail";
    case CheckVerdict::not_offered:
      return "not offered";
    case CheckVerdict::not_enough_evidence:
      return "not enough evidence";
  }
  return "?";
}

PropertyResult check_property(const Property& property, Executor& executor,
                              const nlohmann::json& description, std::uint64_t seed,
                              const CheckEffort& effort, double log_threshold) {
  const Clock::time_point start = Clock::now();
  PropertyResult result;
  result.id = property.id;
  const nlohmann::json& offered = description.at("operations");
  for (const Operation operation : property.needs)
    if (std::find(offered.begin(), offered.end(), to_string(operation)) == offered.end()) {
      result.message = to_string(operation) + " is not offered";
      return result;
    }

  Budget budget;
  budget.seconds = effort.statistical_seconds;
  budget.log_threshold = log_threshold;
  budget.scale_error = effort.scale_error;
  budget.samples = effort.samples;
  std::string refusal;
  std::string undecided;
  int most = 0;
  std::vector<int> wanted;
  for (const Family& family : property.families) {
    wanted.push_back(
        property.statistical
            ? family.cases
            : std::max(1, static_cast<int>(std::lround(family.cases * effort.case_factor))));
    most = std::max(most, wanted.back());
  }
  // The families take turns, so that a fault which one of them shows at once is found at once.
  for (int round = 0; !result.counterexample; ++round) {
    const bool again =
        effort.seconds > 0 && !property.statistical && seconds_since(start) < effort.seconds;
    if (round >= most && !again) break;
    for (std::size_t f = 0; f < property.families.size() && !result.counterexample; ++f) {
      const Family& family = property.families[f];
      if (round % most >= wanted[f]) continue;
      const int size = property.statistical ? 100 : 100 * (round % wanted[f] + 1) / wanted[f];
      const rc::Shrinkable<Case> drawn =
          family.generate()(random_for(seed, property, family, round), size);
      const Outcome outcome = executor.run(property, drawn.value(), budget);
      result.log_e_value = std::max(result.log_e_value, outcome.log_e_value);
      result.observations += outcome.observations;
      result.error_ratio = std::max(result.error_ratio, outcome.error_ratio);
      result.plain_ratio = std::max(result.plain_ratio, outcome.plain_ratio);
      switch (outcome.status) {
        case Outcome::Status::passed:
          ++result.cases;
          break;
        case Outcome::Status::undecided:
          ++result.cases;
          undecided = outcome.message;
          break;
        case Outcome::Status::refused:
          ++result.refused;
          refusal = outcome.message;
          break;
        case Outcome::Status::unsuitable:
          ++result.unsuitable;
          break;
        case Outcome::Status::failed:
          ++result.cases;
          result.counterexample =
              property.statistical || effort.shrink_seconds == 0
                  ? Counterexample{family.name, drawn.value(), outcome.message, 0}
                  : shrink(property, executor, budget, family, drawn, outcome.message,
                           effort.shrink_seconds);
          break;
      }
    }
  }
  result.seconds = seconds_since(start);
  if (result.counterexample) {
    result.verdict = CheckVerdict::fail;
    result.message = result.counterexample->message;
  } else if (!undecided.empty()) {
    result.verdict = CheckVerdict::not_enough_evidence;
    result.message = undecided;
  } else if (result.cases > 0) {
    result.verdict = CheckVerdict::pass;
  } else {
    result.message = refusal.empty() ? "no case has a meaning under the declared conventions"
                                     : "every case was refused: " + refusal;
  }
  return result;
}

}  // namespace plsh::properties
