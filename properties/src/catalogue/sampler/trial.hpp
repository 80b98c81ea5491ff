/// \file
/// The course of a statistical check: draw in rounds until the evidence decides.
#pragma once

#include <functional>
#include <plsh/properties/property.hpp>
#include <string>
#include <vector>

namespace plsh::properties {

/// One e-value of a check.
struct Finding {
  std::string what;  ///< what is wrong when it grows large, e.g. "the law of the width"
  double log_e_value;
};

/// A deviation that a check has to exclude before it passes.
struct Deviation {
  std::string name;  ///< e.g. "sigma off by 1%"
  double log_ratio;  ///< ln of the likelihood under the deviation over the one under the hypothesis
};

/// What a check has found so far.
struct Standing {
  std::vector<Finding> findings;  ///< averaged
  std::vector<Deviation> deviations;
  Index observations = 0;
};

/// A deviation is excluded once the data are a thousand times less likely under it: if it held,
/// that would happen with probability at most 1/1000.
inline constexpr double excluded_log_ratio = -6.907755278982137;

/// Calls draw(round) and asks for the standing until the e-value reaches the threshold (failed),
/// every deviation is excluded (passed), or the budget is spent (not enough evidence). Where the
/// budget names a number of samples, the rounds end with it, whatever the time.
Outcome run_trial(const Budget& budget, const std::function<void(Index round)>& draw,
                  const std::function<Standing()>& standing);

}  // namespace plsh::properties
