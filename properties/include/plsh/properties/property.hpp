/// \file
/// A property of an implementation: written once, used by the tests, `plsh check`, the fuzzers and
/// the audit.
#pragma once

#include <rapidcheck.h>
#include <functional>
#include <nlohmann/json.hpp>
#include <plsh/properties/implementation.hpp>
#include <string>
#include <vector>

namespace plsh::properties {

/// What one case needs to be rerun: a few parameters from which all data follow.
using Case = nlohmann::json;

/// What a statistical check may spend.
struct Budget {
  double seconds = 2;
  /// Reject when the natural logarithm of the e-value reaches this.
  double log_threshold = 30;
  /// The relative error in sigma that `sampler.scale` has to exclude before it passes.
  double scale_error = 0.01;
  /// When not 0, work ends after about this many observations, whatever the time.
  Index samples = 0;
};

/// What a check found.
struct Outcome {
  enum class Status {
    passed,
    failed,
    refused,     ///< the implementation does not support the arguments
    undecided,   ///< statistical: a stated deviation could not be excluded
    unsuitable,  ///< the case means nothing under the declared conventions
  };
  Status status = Status::passed;
  std::string
      message;  ///< failed: what is wrong; undecided: the deviation not excluded; refused: why
  double log_e_value = 0;  ///< statistical
  Index observations = 0;  ///< statistical: independent samples looked at
  double error_ratio = 0;  ///< largest error over tolerance, 0 when the tolerance is 0
  double plain_ratio = 0;  ///< largest error over that of a plain run in the same precision
};
std::string to_string(Outcome::Status status);

Outcome passed();
Outcome failed(std::string message);
Outcome unsuitable(std::string why);

/// A named source of cases, and what it is for.
struct Family {
  std::string name;
  std::string purpose;  ///< one sentence
  std::function<rc::Gen<Case>()> generate;
  int cases = 20;  ///< in a default run
};

struct Property {
  std::string id;         ///< area.name, e.g. "sampled-forward.one-block"
  std::string claim;      ///< the claim it supports, C1 .. C13
  std::string statement;  ///< one sentence
  std::vector<Operation> needs;
  std::vector<Family> families;
  /// \throws Violation, Refused as the implementation does; these count as failed and refused.
  std::function<Outcome(const Implementation&, const Case&, const Budget&)> check;
  /// Its evidence is an e-value: one failing case is not proof, the budget counts.
  bool statistical = false;
};

/// Runs the check on one case; Violation and Refused become outcomes.
Outcome run_case(const Property& property, const Implementation& implementation,
                 const Case& parameters, const Budget& budget);

/// All properties, in the order in which they are checked.
const std::vector<Property>& catalogue();
/// \throws std::invalid_argument naming near ids.
const Property& property(const std::string& id);

}  // namespace plsh::properties
