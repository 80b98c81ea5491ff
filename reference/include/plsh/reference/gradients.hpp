/// \file
/// Gradients of attention with given weights, by their definition.
///
/// With P_ij = W_ij E_ij / sum_k W_ik E_ik, o_i = sum_j P_ij v_j (attention.hpp) and an output
/// gradient dO,
///     dP_ij = dO_i . v_j,   D_i = dO_i . o_i,   dS_ij = P_ij (dP_ij - D_i),
///     dQ_i = scale sum_j dS_ij k_j,  dK_j = scale sum_i dS_ij q_i,  dV_j = sum_i P_ij dO_i:
/// the derivatives of sum_ic dO_ic o_ic, the weights W held constant.
#pragma once

#include <plsh/reference/attention.hpp>

namespace plsh::reference {

template <class Real>
struct HeadGradients {
  Matrix<Real> query;  ///< [n_q, head_dim]
  Matrix<Real> key;    ///< [n_k, head_dim]
  Matrix<Real> value;  ///< [n_k, value_dim]
};

/// \param weights [n_q, n_k], entries >= 0; one that is exactly zero leaves its key out, as does
///        causality. A row that sees no key contributes nothing.
/// \param output_gradient [n_q, value_dim].
/// \throws std::invalid_argument when shapes do not fit.
template <class Real>
HeadGradients<Real> weighted_attention_gradients(const HeadInput<Real>& input,
                                                 const Matrix<Real>& weights,
                                                 const Matrix<Real>& output_gradient);

}  // namespace plsh::reference
