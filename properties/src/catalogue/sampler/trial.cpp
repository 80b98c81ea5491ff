#include "trial.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <plsh/properties/evidence.hpp>

namespace plsh::properties {

Outcome run_trial(const Budget& budget, const std::function<void(Index round)>& draw,
                  const std::function<Standing()>& standing) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  Outcome outcome;
  std::vector<bool> excluded;
  for (Index round = 0;; ++round) {
    draw(round);
    const Standing now = standing();
    std::vector<double> logs;
    for (const Finding& finding : now.findings) logs.push_back(finding.log_e_value);
    outcome.log_e_value = log_mean_exp(logs);
    outcome.observations = now.observations;
    if (outcome.log_e_value >= budget.log_threshold) {
      const Finding& largest = *std::max_element(
          now.findings.begin(), now.findings.end(),
          [](const Finding& a, const Finding& b) { return a.log_e_value < b.log_e_value; });
      outcome.status = Outcome::Status::failed;
      outcome.message =
          fmt::format("{} (e-value {}, {} observations)", largest.what,
                      std::isinf(outcome.log_e_value)
                          ? "infinite: an outcome of probability zero"
                          : fmt::format("1e{:.1f}", outcome.log_e_value / std::log(10.0)),
                      now.observations);
      return outcome;
    }
    excluded.resize(now.deviations.size(), false);
    std::size_t first_open = now.deviations.size();
    for (std::size_t k = now.deviations.size(); k-- > 0;) {
      if (now.deviations[k].log_ratio <= excluded_log_ratio) excluded[k] = true;
      if (!excluded[k]) first_open = k;
    }
    if (first_open == now.deviations.size()) return outcome;
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    if (budget.samples > 0 ? now.observations >= budget.samples : seconds >= budget.seconds) {
      outcome.status = Outcome::Status::undecided;
      outcome.message = fmt::format("\"{}\" is not excluded after {} observations",
                                    now.deviations[first_open].name, now.observations);
      return outcome;
    }
  }
}

}  // namespace plsh::properties
