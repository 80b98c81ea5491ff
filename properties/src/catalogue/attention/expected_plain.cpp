// A plain run in the declared precisions: two passes over the keys of a row, everything rounded to
// its declared type where it is held.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "expected.hpp"
#include "expected_rows.hpp"

namespace plsh::properties {
namespace {

using namespace expected;

struct Types {
  Type logits, bias, weights, accumulation, result, log_sum_exp;
};

/// x_j as held, and the weights relative to the maximum (forward) or normalized (backward).
std::vector<double> plain_logits(const Head& head, Index i, const SeenKeys& seen,
                                 const Types& types) {
  std::vector<double> logits(seen.count.size(), 0);
  for (std::size_t t = 0; t < logits.size(); ++t) {
    if (seen.count[t] == 0) continue;
    const Index j = seen.first + static_cast<Index>(t);
    double dot = 0;
    for (Index x = 0; x < head.query.cols(); ++x)
      dot = round_to(types.logits, dot + head.query(i, x) * head.key(j, x));
    dot = round_to(types.logits, head.scale * dot);
    if (head.samples == nullptr) {
      const double slope = round_to(types.bias, head.slope);
      const double distance = std::fabs(static_cast<double>(i + head.offset - j));
      dot = round_to(types.logits, dot - round_to(types.bias, slope * distance));
    }
    logits[t] = dot;
  }
  return logits;
}

double sum_product(const Types& types, const Matrix<double>& a, Index i, const Matrix<double>& b,
                   Index j) {
  double sum = 0;
  for (Index c = 0; c < a.cols(); ++c) sum = round_to(types.accumulation, sum + a(i, c) * b(j, c));
  return sum;
}

}  // namespace

PlainRun plain_run(const AttentionProblem& problem, const plsh_conventions& conventions, bool exact,
                   bool backward) {
  const AttentionCase& c = problem.parameters();
  const plsh_precision& precision = conventions.precision[static_cast<std::size_t>(c.type)];
  const Types types{static_cast<Type>(precision.logits),
                    static_cast<Type>(precision.bias),
                    static_cast<Type>(precision.weights),
                    static_cast<Type>(precision.accumulation),
                    c.type,
                    problem.log_sum_exp.type()};
  const auto blank = [](const Tensor& tensor) {
    return std::vector<double>(static_cast<std::size_t>(tensor.size()), 0);
  };
  PlainRun run{blank(problem.output), blank(problem.log_sum_exp), {}, {}, {}};
  if (backward) {
    run.query_gradient = blank(problem.query);
    run.key_gradient = blank(problem.key);
    run.value_gradient = blank(problem.value);
  }
  const double base = conventions.lse_base == PLSH_LSE_BASE_2 ? std::numbers::log2e : 1;
  const auto add = [&](double& to, double term) { to = round_to(types.accumulation, to + term); };
  for_each_head(problem, conventions, exact, backward, [&](const Head& head) {
    const bool mean = head.samples != nullptr && conventions.lse_weights == PLSH_LSE_MEAN;
    const double divisor = mean ? static_cast<double>(head.sample_count()) : 1;
    for (Index i = 0; i < head.query.rows(); ++i) {
      const SeenKeys seen = seen_keys(head, i);
      const std::vector<double> logits = plain_logits(head, i, seen, types);
      double top = -std::numeric_limits<double>::infinity();
      for (std::size_t t = 0; t < logits.size(); ++t)
        if (seen.count[t] > 0) top = std::max(top, logits[t]);
      const std::size_t lse_at = head.lse_element(problem, i);
      if (std::isinf(top) || std::isnan(top)) {
        run.log_sum_exp[lse_at] = top;
        continue;
      }
      double sum = 0;
      std::vector<double> output(static_cast<std::size_t>(c.value_dim), 0);
      for (std::size_t t = 0; t < logits.size(); ++t) {
        if (seen.count[t] == 0) continue;
        const double weight = round_to(
            types.weights, seen.count[t] * std::exp(round_to(types.logits, logits[t] - top)));
        add(sum, weight);
        for (Index x = 0; x < c.value_dim; ++x)
          add(output[static_cast<std::size_t>(x)],
              weight * head.value(seen.first + static_cast<Index>(t), x));
      }
      const std::size_t at = head.query_row(c, i, c.value_dim);
      for (Index x = 0; x < c.value_dim; ++x) {
        double& o = output[static_cast<std::size_t>(x)];
        o = round_to(types.result, round_to(types.accumulation, o / sum));
        run.output[at + static_cast<std::size_t>(x)] = o;
      }
      const double lse = round_to(types.log_sum_exp, base * (top + std::log(sum / divisor)));
      run.log_sum_exp[lse_at] = lse;
      if (!backward) continue;
      double delta = 0;
      for (Index x = 0; x < c.value_dim; ++x)
        add(delta, head.output_gradient(i, x) * output[static_cast<std::size_t>(x)]);
      const std::size_t q = head.query_row(c, i, c.head_dim);
      for (std::size_t t = 0; t < logits.size(); ++t) {
        if (seen.count[t] == 0) continue;
        const Index j = seen.first + static_cast<Index>(t);
        const double p =
            round_to(types.accumulation,
                     seen.count[t] / divisor *
                         std::exp(round_to(types.logits,
                                           logits[t] - round_to(types.log_sum_exp, lse / base))));
        const double change = sum_product(types, head.output_gradient, i, head.value, j);
        const double ds = round_to(types.weights, p * round_to(types.accumulation, change - delta));
        const std::size_t k = head.key_row(c, j, c.head_dim);
        for (Index x = 0; x < c.head_dim; ++x) {
          add(run.query_gradient[q + static_cast<std::size_t>(x)],
              head.scale * ds * head.key(j, x));
          add(run.key_gradient[k + static_cast<std::size_t>(x)],
              head.scale * ds * head.query(i, x));
        }
        const std::size_t v = head.key_row(c, j, c.value_dim);
        for (Index x = 0; x < c.value_dim; ++x)
          add(run.value_gradient[v + static_cast<std::size_t>(x)],
              round_to(types.weights, p) * head.output_gradient(i, x));
      }
    }
  });
  for (std::vector<double>* gradient :
       {&run.query_gradient, &run.key_gradient, &run.value_gradient})
    for (double& x : *gradient) x = round_to(types.result, x);
  return run;
}

}  // namespace plsh::properties
