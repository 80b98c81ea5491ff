// Attention against the reference, within derived tolerances.
#include "differential.hpp"

#include <algorithm>

#include "../catalogue.hpp"
#include "expected.hpp"

namespace plsh::properties {
namespace {

/// Collects the comparisons of one case.
class Findings {
 public:
  void add(const Comparison& comparison) {
    outcome_.error_ratio = std::max(outcome_.error_ratio, comparison.error_ratio);
    outcome_.plain_ratio = std::max(outcome_.plain_ratio, comparison.plain_ratio);
    if (comparison.message.empty()) return;
    outcome_.status = Outcome::Status::failed;
    outcome_.message += (outcome_.message.empty() ? "" : "; ") + comparison.message;
  }
  const Outcome& outcome() const { return outcome_; }

 private:
  Outcome outcome_;
};

Outcome check_output(const Implementation& implementation, const Case& parameters, bool exact) {
  AttentionProblem problem(supported_case(implementation, parameters));
  problem.forward(implementation, exact);
  const plsh_conventions& conventions = implementation.conventions();
  const ForwardExpectation expected = expected_forward(problem, conventions, exact);
  const PlainRun plain = plain_run(problem, conventions, exact, false);
  Findings findings;
  findings.add(compare("output", problem.output, expected.output, plain.output));
  return findings.outcome();
}

Outcome check_log_sum_exp(const Implementation& implementation, const Case& parameters,
                          bool exact) {
  const plsh_conventions& conventions = implementation.conventions();
  if (exact && conventions.lse_bias == PLSH_LSE_SHIFTED)
    return unsuitable("the log-sum-exp is declared to be shifted by a constant");
  AttentionProblem problem(supported_case(implementation, parameters));
  problem.forward(implementation, exact);
  const ForwardExpectation expected = expected_forward(problem, conventions, exact);
  const PlainRun plain = plain_run(problem, conventions, exact, false);
  Findings findings;
  findings.add(
      compare("log_sum_exp", problem.log_sum_exp, expected.log_sum_exp, plain.log_sum_exp));
  return findings.outcome();
}

Outcome check_gradients(const Implementation& implementation, const Case& parameters, bool exact) {
  AttentionProblem problem(supported_case(implementation, parameters));
  problem.forward(implementation, exact);
  problem.backward(implementation, exact);
  const plsh_conventions& conventions = implementation.conventions();
  const BackwardExpectation expected = expected_backward(problem, conventions, exact);
  const PlainRun plain = plain_run(problem, conventions, exact, true);
  Findings findings;
  findings.add(compare("query_gradient", problem.query_gradient, expected.query_gradient,
                       plain.query_gradient));
  findings.add(
      compare("key_gradient", problem.key_gradient, expected.key_gradient, plain.key_gradient));
  findings.add(compare("value_gradient", problem.value_gradient, expected.value_gradient,
                       plain.value_gradient));
  return findings.outcome();
}

void add_property(std::vector<Property>& all, const Compared& compared, const std::string& name,
                  const std::string& statement, const Adjust& adjust,
                  Outcome (*check)(const Implementation&, const Case&, bool)) {
  Property property;
  property.id = compared.area() + "." + name;
  property.claim = compared.exact ? "C8" : "C6";
  property.statement = statement;
  property.needs = {compared.operation()};
  if (compared.backward)
    property.needs.insert(property.needs.begin(), Compared{compared.exact, false}.operation());
  property.families = differential_families(compared, adjust);
  property.check = [check, exact = compared.exact](const Implementation& implementation,
                                                   const Case& parameters, const Budget&) {
    return check(implementation, parameters, exact);
  };
  all.push_back(std::move(property));
}

}  // namespace

std::string Compared::area() const {
  return std::string(exact ? "exact" : "sampled") + (backward ? "-backward" : "-forward");
}

AttentionCase supported_case(const Implementation& implementation, const Case& parameters) {
  auto c = parameters.get<AttentionCase>();
  if (!implementation.supports(c.type)) c.type = implementation.supported_types().front();
  return c;
}

void add_attention_differential_properties(std::vector<Property>& all) {
  // Every other case does without the log-sum-exp: leaving it out must not change the output.
  const Adjust sometimes = [](AttentionCase& c) { c.log_sum_exp = c.seed % 2 == 0; };
  const Adjust always = [](AttentionCase& c) { c.log_sum_exp = true; };
  for (const bool exact : {true, false})
    add_property(all, {exact, false}, "reference",
                 "The output is the reference's, within a tolerance proved from the declared "
                 "precisions.",
                 sometimes, check_output);
  for (const bool exact : {true, false})
    add_property(all, {exact, false}, "log-sum-exp",
                 "The log-sum-exp is the reference's, in the declared base and weights, within a "
                 "tolerance proved from the declared precisions.",
                 always, check_log_sum_exp);
  for (const bool exact : {true, false})
    add_property(all, {exact, true}, "reference",
                 "The three gradients are the reference's, within tolerances proved from the "
                 "declared precisions.",
                 always, check_gradients);
  add_exact_value_properties(all);
  add_output_bound_property(all);
}

}  // namespace plsh::properties
