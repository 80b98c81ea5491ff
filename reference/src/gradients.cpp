#include <plsh/reference/gradients.hpp>
#include <vector>

#include "validate.hpp"

namespace plsh::reference {
namespace {

// By the end points: == on intervals that overlap without being equal ends the program.
template <class Real>
bool is_zero(const Real& x) {
  if constexpr (is_interval<Real>)
    return lower(x) == 0 && upper(x) == 0;
  else
    return x == 0;
}

// Sums term by term: Eigen's products of matrices of intervals are not to be trusted.
template <class Real>
Real dot(const Matrix<Real>& a, Index i, const Matrix<Real>& b, Index j) {
  Real sum(0);
  for (Index c = 0; c < a.cols(); ++c) sum += a(i, c) * b(j, c);
  return sum;
}

template <class Real>
Matrix<Real> zeros_like(const Matrix<Real>& m) {
  return Matrix<Real>::Constant(m.rows(), m.cols(), Real(0));
}

/// The keys that one query sees, and its row of P.
template <class Real>
struct Row {
  std::vector<Index> keys;
  std::vector<Real> probability;
};

template <class Real>
Row<Real> softmax_row(const HeadInput<Real>& input, const Matrix<Real>& weights, Index i) {
  Row<Real> row;
  std::vector<Real> logits;
  for (Index j = 0; j < input.key.rows(); ++j) {
    if (input.causal && j > i + input.query_offset) continue;
    if (is_zero(weights(i, j))) continue;
    row.keys.push_back(j);
    logits.push_back(input.logit_scale * dot(input.query, i, input.key, j));
  }
  if (row.keys.empty()) return row;
  // A shift cancels in P, so a point near the maximum will do; it keeps exp in range.
  Real shift = point(logits.front());
  for (const Real& logit : logits)
    if (to_double(logit) > to_double(shift)) shift = point(logit);
  Real sum(0);
  for (std::size_t t = 0; t < logits.size(); ++t) {
    row.probability.push_back(weights(i, row.keys[t]) * exp(Real(logits[t] - shift)));
    sum += row.probability.back();
  }
  for (Real& p : row.probability) p /= sum;
  return row;
}

}  // namespace

template <class Real>
HeadGradients<Real> weighted_attention_gradients(const HeadInput<Real>& input,
                                                 const Matrix<Real>& weights,
                                                 const Matrix<Real>& output_gradient) {
  require(input.query.cols() == input.key.cols(), "query and key must have the same head_dim");
  require(input.key.rows() == input.value.rows(), "key and value must have the same length");
  require(weights.rows() == input.query.rows() && weights.cols() == input.key.rows(),
          "weights must have shape [n_q, n_k]");
  require(
      output_gradient.rows() == input.query.rows() && output_gradient.cols() == input.value.cols(),
      "output_gradient must have shape [n_q, value_dim]");
  HeadGradients<Real> result{zeros_like(input.query), zeros_like(input.key),
                             zeros_like(input.value)};
  for (Index i = 0; i < input.query.rows(); ++i) {
    const Row<Real> row = softmax_row(input, weights, i);
    std::vector<Real> change;  // dP
    Real mean(0);              // D = dO . o = sum_j P_j dO . v_j
    for (std::size_t t = 0; t < row.keys.size(); ++t) {
      change.push_back(dot(output_gradient, i, input.value, row.keys[t]));
      mean += row.probability[t] * change.back();
    }
    for (std::size_t t = 0; t < row.keys.size(); ++t) {
      const Index j = row.keys[t];
      const Real scaled =
          input.logit_scale * row.probability[t] * Real(change[t] - mean);  // scale dS
      for (Index c = 0; c < input.key.cols(); ++c) {
        result.query(i, c) += scaled * input.key(j, c);
        result.key(j, c) += scaled * input.query(i, c);
      }
      for (Index c = 0; c < input.value.cols(); ++c)
        result.value(j, c) += row.probability[t] * output_gradient(i, c);
    }
  }
  return result;
}

#define PLSH_INSTANTIATE(REAL)                               \
  template HeadGradients<REAL> weighted_attention_gradients( \
      const HeadInput<REAL>&, const Matrix<REAL>&, const Matrix<REAL>&);
PLSH_FOR_EACH_REAL(PLSH_INSTANTIATE)

}  // namespace plsh::reference
