// Claim C8 on the implementation's own output: how far sampled attention may be from exact
// attention.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <plsh/reference/bounds.hpp>

#include "differential.hpp"
#include "expected.hpp"
#include "expected_rows.hpp"

namespace plsh::properties {
namespace {

using expected::Head;
using reference::Matrix;

/// M~ of the rows of a head, [n_q, n_k].
Matrix<double> mean_mask_rows(const Head& head) {
  Matrix<double> weights = Matrix<double>::Zero(head.query.rows(), head.key.rows());
  for (Index i = 0; i < weights.rows(); ++i) {
    const expected::SeenKeys seen = expected::seen_keys(head, i);
    for (std::size_t t = 0; t < seen.count.size(); ++t)
      weights(i, seen.first + static_cast<Index>(t)) =
          seen.count[t] / static_cast<double>(head.sample_count());
  }
  return weights;
}

Outcome check(const Implementation& implementation, const Case& parameters) {
  AttentionProblem problem(supported_case(implementation, parameters));
  const AttentionCase& c = problem.parameters();
  problem.forward(implementation, false);
  const plsh_conventions& conventions = implementation.conventions();
  const ForwardExpectation exact = expected_forward(problem, conventions, true);
  const ForwardExpectation sampled = expected_forward(problem, conventions, false);
  const std::vector<double> got = problem.output.values();
  Outcome outcome;
  expected::for_each_head(problem, conventions, false, false, [&](const Head& head) {
    if (head.query.rows() == 0 || head.key.rows() == 0) return;
    const double sigma = 1 / problem.slope(head.number, head.head);
    const reference::HeadInput<double> input{head.query, head.key,    head.value,
                                             head.scale, head.causal, head.offset};
    const auto bounds = reference::output_error_bound(input, sigma, mean_mask_rows(head));
    for (Index i = 0; i < head.query.rows(); ++i) {
      const Index position = i + head.offset;
      // The bound is about positions among the keys, where both outputs exist.
      if (position < 0 || position >= head.key.rows() || !std::isfinite(bounds[i])) continue;
      for (Index x = 0; x < c.value_dim; ++x) {
        const std::size_t k = head.query_row(c, i, c.value_dim) + static_cast<std::size_t>(x);
        const double allowed =
            bounds[i] * 1.001 + exact.output.tolerance[k] + sampled.output.tolerance[k];
        const double error = std::fabs(got[k] - exact.output.value[k]);
        if (std::isinf(allowed)) continue;
        outcome.error_ratio = std::max(outcome.error_ratio, allowed > 0 ? error / allowed : 0);
        if (error <= allowed || outcome.status == Outcome::Status::failed) continue;
        outcome.status = Outcome::Status::failed;
        outcome.message = fmt::format(
            "sequence {}, query {}, head {}, component {}: sampled attention gives {:.9g}, exact "
            "attention {:.9g}; they may differ by {:.3g} (bound {:.3g}), for these partitions",
            head.number, i, head.head, x, got[k], exact.output.value[k], allowed, bounds[i]);
      }
    }
  });
  return outcome;
}

}  // namespace

void add_output_bound_property(std::vector<Property>& all) {
  Property property;
  property.id = "sampled-forward.output-bound";
  property.claim = "C8";
  property.statement =
      "Sampled attention is as near to exact attention as its mask is to the exact weights: "
      "|T* - T~| <= (2 max|V| / D) sum |L* - M~| E.";
  property.needs = {Operation::sampled_forward};
  const Adjust adjust = [](AttentionCase& c) { square(c); };
  property.families = usual_families(adjust);
  property.check = [](const Implementation& implementation, const Case& parameters, const Budget&) {
    return check(implementation, parameters);
  };
  all.push_back(std::move(property));
}

}  // namespace plsh::properties
