/// \file
/// What an implementation must return for an attention case, and how far it may be from it.
///
/// Expected values are the reference's, computed in double row by row, so that time is proportional
/// to the (query, key) pairs that see each other. Tolerances are proved from the declared
/// precisions (proofs-notes/attention-tolerance.md) and include the error of the reference in
/// double.
#pragma once

#include <vector>

#include "case.hpp"

namespace plsh::properties {

/// One tensor, in row-major order of its shape.
struct Expectation {
  /// NaN: the element must be NaN. Infinite: it must be the same infinity.
  std::vector<double> value;
  /// Largest |element - value| of an honest implementation; infinite: not compared.
  std::vector<double> tolerance;
  /// For messages: the keys that the row of the element sees (forward, query_gradient), or the rows
  /// that see the key (key_gradient, value_gradient).
  std::vector<Index> seen;
};

struct ForwardExpectation {
  Expectation output;       ///< [batch, n_q, heads, value_dim]
  Expectation log_sum_exp;  ///< [batch, heads, n_q], in the declared base and weights
};

struct BackwardExpectation {
  Expectation query_gradient;  ///< shapes of query, key and value
  Expectation key_gradient;
  Expectation value_gradient;
};

/// Rows that see no key have the output that `empty_row` declares and log-sum-exp -infinity; a
/// sampled query whose position is outside 0..n_k - 1 sees none. NaN in a query, or in a visible
/// key, makes the row NaN; NaN in a visible value makes that component NaN. A visible key with
/// logit -infinity has weight 0. A row is not compared when a visible logit is +infinity, when all
/// are -infinity, when a visible value is infinite, or when the declared types cannot hold its
/// logits.
ForwardExpectation expected_forward(const AttentionProblem& problem,
                                    const plsh_conventions& conventions, bool exact);

/// Inputs must be finite. \throws std::logic_error otherwise.
BackwardExpectation expected_backward(const AttentionProblem& problem,
                                      const plsh_conventions& conventions, bool exact);

/// The same computed plainly in the declared precisions: logits, weights, sums and results rounded
/// to their types at each step, key after key. Values only; what `Outcome::plain_ratio` compares
/// with.
struct PlainRun {
  std::vector<double> output, log_sum_exp, query_gradient, key_gradient, value_gradient;
};
PlainRun plain_run(const AttentionProblem& problem, const plsh_conventions& conventions, bool exact,
                   bool backward);

/// A tensor against what was expected.
struct Comparison {
  double error = 0;        ///< largest |element - value|
  double error_ratio = 0;  ///< largest |element - value| / tolerance
  double plain_ratio = 0;  ///< `error` over the plain run's, 0 when no plain run was given
  std::string message;     ///< empty: within the tolerance everywhere
};

/// `name` appears in the message, which names the element farthest outside.
/// \param plain the plain run's values, or empty.
Comparison compare(const std::string& name, const Tensor& got, const Expectation& expected,
                   const std::vector<double>& plain = {});
/// The same for values that are not in a tensor. \param shape for the index in the message.
Comparison compare(const std::string& name, const std::vector<double>& got,
                   const std::vector<Index>& shape, Type type, const Expectation& expected,
                   const std::vector<double>& plain = {});

}  // namespace plsh::properties
