#include "expected.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <plsh/reference/gradients.hpp>
#include <stdexcept>

#include "expected_rows.hpp"
#include "expected_tolerance.hpp"

namespace plsh::properties {
namespace {

using namespace expected;
using reference::HeadInput;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// How a row is to be judged.
enum class Kind { usual, empty, nan, not_compared };

struct Row {
  Kind kind = Kind::usual;
  RowTerms terms;
};

Row row_of(const Head& head, Index i, const Roundoff& u) {
  Row row;
  RowTerms& terms = row.terms;
  terms.seen = seen_keys(head, i);
  const std::size_t length = terms.seen.count.size();
  terms.logit.assign(length, 0);
  terms.size.assign(length, 0);
  bool seen = false;
  for (std::size_t t = 0; t < length; ++t) {
    if (terms.seen.count[t] == 0) continue;
    seen = true;
    const Index j = terms.seen.first + static_cast<Index>(t);
    double dot = 0;
    double size = 0;
    for (Index x = 0; x < head.query.cols(); ++x) {
      const double product = head.query(i, x) * head.key(j, x);
      dot += product;
      size += std::fabs(product);
    }
    const double bias = head.slope * std::fabs(static_cast<double>(i + head.offset - j));
    terms.logit[t] = head.scale * dot - bias;
    terms.size[t] = head.scale * size + bias;
    if (std::isnan(terms.logit[t])) row.kind = Kind::nan;
    if (row.kind == Kind::nan) continue;
    if (terms.logit[t] == -kInfinity) {  // weight 0
      terms.seen.count[t] = 0;
      continue;
    }
    // What the logits' type cannot hold it need not get right: the sum before or after the scale.
    if (terms.logit[t] == kInfinity || 1.1 * std::max(size, terms.size[t]) > u.largest_logit)
      row.kind = Kind::not_compared;
    terms.pairs += terms.seen.count[t];
    terms.keys += 1;
    terms.largest_size = std::max(terms.largest_size, terms.size[t]);
  }
  if (row.kind == Kind::usual && terms.pairs == 0)
    row.kind = seen ? Kind::not_compared : Kind::empty;
  return row;
}

/// The row as a head of its own, for the reference. The bias enters as one more coordinate: with a
/// weight exp(-m d) far keys of steep heads would underflow although their logits may be large.
struct RowInput {
  HeadInput<double> input;
  Matrix<double> weights;
};
RowInput reference_input(const Head& head, Index i, const SeenKeys& seen, double divisor) {
  const auto length = static_cast<Index>(seen.count.size());
  const Index d = head.query.cols();
  const bool biased = head.samples == nullptr;
  RowInput row{
      {Matrix<double>(1, d + (biased ? 1 : 0)), Matrix<double>(length, d + (biased ? 1 : 0)),
       head.value.middleRows(seen.first, length), head.scale, false, 0},
      Matrix<double>(1, length)};
  row.input.query.leftCols(d) = head.query.row(i);
  row.input.key.leftCols(d) = head.key.middleRows(seen.first, length);
  if (biased) {
    row.input.query(0, d) = -head.slope / head.scale;
    for (Index t = 0; t < length; ++t)
      row.input.key(t, d) = std::fabs(static_cast<double>(i + head.offset - seen.first - t));
  }
  for (Index t = 0; t < length; ++t)
    row.weights(0, t) = seen.count[static_cast<std::size_t>(t)] / divisor;
  return row;
}

Expectation blank(const Tensor& tensor) {
  const auto size = static_cast<std::size_t>(tensor.size());
  return {std::vector<double>(size, 0), std::vector<double>(size, 0), std::vector<Index>(size, 0)};
}

struct RowResult {
  ForwardBound bound;
  std::vector<double> output;
  std::vector<double> output_tolerance;
  double log_sum_exp;            ///< natural, as declared (of counts or of means)
  double log_sum_exp_tolerance;  ///< natural
};

RowResult usual_row(const Head& head, Index i, RowTerms& terms, const plsh_conventions& conventions,
                    const Roundoff& u) {
  const double samples = static_cast<double>(head.sample_count());
  const bool mean = head.samples != nullptr && conventions.lse_weights == PLSH_LSE_MEAN;
  const RowInput row = reference_input(head, i, terms.seen, mean ? samples : 1);
  const auto exact = reference::weighted_attention(row.input, row.weights);
  RowResult result;
  result.log_sum_exp = exact.log_sum_exp[0];
  set_weights(terms, result.log_sum_exp + (mean ? std::log(samples) : 0));
  result.bound = forward_bound(head, i, terms, u,
                               head.samples == nullptr && conventions.lse_bias == PLSH_LSE_SHIFTED);
  for (Index c = 0; c < head.value.cols(); ++c) {
    result.output.push_back(exact.output(0, c));
    result.output_tolerance.push_back(
        output_tolerance(head, terms, result.bound, u, c, exact.output(0, c)));
  }
  result.log_sum_exp_tolerance = log_sum_exp_tolerance(result.bound, u, result.log_sum_exp);
  return result;
}

bool has_infinite_value(const Head& head, const SeenKeys& seen, Index c) {
  for (std::size_t t = 0; t < seen.count.size(); ++t)
    if (seen.count[t] > 0 && std::isinf(head.value(seen.first + static_cast<Index>(t), c)))
      return true;
  return false;
}

double or_not_compared(double tolerance) { return std::isnan(tolerance) ? kInfinity : tolerance; }

}  // namespace

ForwardExpectation expected_forward(const AttentionProblem& problem,
                                    const plsh_conventions& conventions, bool exact) {
  const AttentionCase& c = problem.parameters();
  const Roundoff u = roundoff_of(conventions.precision[static_cast<std::size_t>(c.type)], c.type);
  ForwardExpectation result{blank(problem.output), blank(problem.log_sum_exp)};
  const double base = conventions.lse_base == PLSH_LSE_BASE_2 ? std::numbers::log2e : 1;
  for_each_head(problem, conventions, exact, false, [&](const Head& head) {
    for (Index i = 0; i < head.query.rows(); ++i) {
      const std::size_t at = head.query_row(c, i, c.value_dim);
      const std::size_t lse = head.lse_element(problem, i);
      const auto put = [&](Index x, double value, double tolerance) {
        result.output.value[at + static_cast<std::size_t>(x)] = value;
        result.output.tolerance[at + static_cast<std::size_t>(x)] = or_not_compared(tolerance);
      };
      Row row = row_of(head, i, u);
      const auto keys = static_cast<Index>(row.terms.keys);
      result.log_sum_exp.seen[lse] = keys;
      std::fill_n(result.output.seen.begin() + static_cast<std::ptrdiff_t>(at), c.value_dim, keys);
      if (row.kind == Kind::usual) {
        const RowResult r = usual_row(head, i, row.terms, conventions, u);
        for (Index x = 0; x < c.value_dim; ++x) {
          const auto k = static_cast<std::size_t>(x);
          const bool infinite = has_infinite_value(head, row.terms.seen, x);
          put(x, infinite ? 0 : r.output[k], infinite ? kInfinity : r.output_tolerance[k]);
        }
        result.log_sum_exp.value[lse] = base * r.log_sum_exp;
        const bool shifted = exact && conventions.lse_bias == PLSH_LSE_SHIFTED;
        result.log_sum_exp.tolerance[lse] =
            shifted ? kInfinity : or_not_compared(base * r.log_sum_exp_tolerance);
        continue;
      }
      const bool compared =
          row.kind != Kind::not_compared &&
          !(row.kind == Kind::empty && conventions.empty_row == PLSH_EMPTY_ANYTHING);
      const double value = row.kind == Kind::nan || (row.kind == Kind::empty &&
                                                     conventions.empty_row == PLSH_EMPTY_NAN)
                               ? kNan
                               : 0;
      for (Index x = 0; x < c.value_dim; ++x) put(x, value, compared ? 0 : kInfinity);
      result.log_sum_exp.value[lse] = row.kind == Kind::nan ? kNan : -kInfinity;
      result.log_sum_exp.tolerance[lse] = compared ? 0 : kInfinity;
    }
  });
  return result;
}

namespace {

/// Sums over the rows that see a key, for one tensor.
struct Sums {
  explicit Sums(const Tensor& tensor)
      : expectation(blank(tensor)),
        error(expectation.value),
        size(expectation.value),
        terms(expectation.value),
        reference(expectation.value) {}
  Expectation expectation;
  std::vector<double> error;      ///< of the terms
  std::vector<double> size;       ///< sum of the absolute values of the terms as they may be
  std::vector<double> terms;      ///< how many are added
  std::vector<double> reference;  ///< the reference's part of the bound, the largest over the rows

  void add(std::size_t k, double value, double term_size, double term_error, double count,
           double part) {
    expectation.value[k] += value;
    error[k] += term_error;
    size[k] += term_size + term_error;
    terms[k] += count;
    reference[k] = std::max(reference[k], part);
    expectation.seen[k] += 1;
  }

  /// The tolerances. \param heads how many heads share the result: their parts may be rounded.
  Expectation finish(const Roundoff& u, Index heads) {
    for (std::size_t k = 0; k < error.size(); ++k) {
      const double e = error[k] + size[k] * grown(u.accumulation, terms[k] + 4);
      const double rounded =
          u.result * (std::fabs(expectation.value[k]) + e + (heads > 1 ? size[k] : 0));
      const double bound = e + rounded + static_cast<double>(heads) * u.lost_result;
      expectation.tolerance[k] =
          or_not_compared(terms[k] == 0 ? 0 : 1.001 * (1 + reference[k]) * bound);
    }
    return std::move(expectation);
  }
};

}  // namespace

BackwardExpectation expected_backward(const AttentionProblem& problem,
                                      const plsh_conventions& conventions, bool exact) {
  const AttentionCase& c = problem.parameters();
  const Roundoff u = roundoff_of(conventions.precision[static_cast<std::size_t>(c.type)], c.type);
  Sums query(problem.query);
  Sums key(problem.key);
  Sums value(problem.value);
  for_each_head(problem, conventions, exact, true, [&](const Head& head) {
    if (!head.query.allFinite() || !head.key.allFinite() || !head.value.allFinite() ||
        !head.output_gradient.allFinite())
      throw std::logic_error("expected_backward: an input is not finite");
    for (Index i = 0; i < head.query.rows(); ++i) {
      Row row = row_of(head, i, u);
      if (row.kind == Kind::empty) continue;
      const bool usual = row.kind == Kind::usual;
      RowTerms& terms = row.terms;
      RowResult forward;
      BackwardBound bound;
      reference::HeadGradients<double> gradients;
      if (usual) {
        forward = usual_row(head, i, terms, conventions, u);
        bound = backward_bound(head, i, terms, forward.bound, u, forward.log_sum_exp_tolerance,
                               forward.output, forward.output_tolerance);
        const RowInput r = reference_input(head, i, terms.seen, 1);
        gradients = reference::weighted_attention_gradients(
            r.input, r.weights, Matrix<double>(head.output_gradient.row(i)));
      }
      const double part = usual && forward.bound.first_order ? u.reference : 1;
      const std::size_t q = head.query_row(c, i, c.head_dim);
      for (Index x = 0; x < c.head_dim; ++x) {
        double size = 0;
        double error = 0;
        for (std::size_t t = 0; usual && t < terms.logit.size(); ++t) {
          if (terms.seen.count[t] == 0) continue;
          const double k =
              head.scale * std::fabs(head.key(terms.seen.first + static_cast<Index>(t), x));
          size += std::fabs(bound.logit_gradient[t]) * k;
          error += bound.logit_gradient_error[t] * k;
        }
        query.add(q + static_cast<std::size_t>(x), usual ? gradients.query(0, x) : 0, size,
                  usual ? error : kInfinity, terms.pairs, part);
      }
      // For messages: the keys that this row sees.
      std::fill_n(query.expectation.seen.begin() + static_cast<std::ptrdiff_t>(q), c.head_dim,
                  static_cast<Index>(terms.keys));
      for (std::size_t t = 0; t < terms.seen.count.size(); ++t) {
        if (terms.seen.count[t] == 0) continue;
        const Index row_of_t = static_cast<Index>(t);
        const std::size_t k = head.key_row(c, terms.seen.first + row_of_t, c.head_dim);
        for (Index x = 0; x < c.head_dim; ++x) {
          const double scaled = head.scale * std::fabs(head.query(i, x));
          key.add(k + static_cast<std::size_t>(x), usual ? gradients.key(row_of_t, x) : 0,
                  usual ? std::fabs(bound.logit_gradient[t]) * scaled : 0,
                  usual ? bound.logit_gradient_error[t] * scaled : kInfinity, terms.seen.count[t],
                  part);
        }
        const std::size_t v = head.key_row(c, terms.seen.first + row_of_t, c.value_dim);
        for (Index x = 0; x < c.value_dim; ++x) {
          const double g = std::fabs(head.output_gradient(i, x));
          value.add(v + static_cast<std::size_t>(x), usual ? gradients.value(row_of_t, x) : 0,
                    usual ? terms.weight[t] * g : 0, usual ? bound.weight_error[t] * g : kInfinity,
                    terms.seen.count[t], part);
        }
      }
    }
  });
  return {query.finish(u, 1), key.finish(u, c.group), value.finish(u, c.group)};
}

}  // namespace plsh::properties
