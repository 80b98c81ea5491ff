/// \file
/// Attention of one head: exact ALiBi, and Positional LSH by its definition and by its algorithm.
///
/// All functions compute, for query i at position p_i = i + query_offset and keys j = 0..n_k - 1,
///     o_i = sum_j W_ij E_ij v_j / sum_j W_ij E_ij,   E_ij = exp(logit_scale q_i . k_j),
/// over the visible keys (all, or j <= p_i when causal), with W = L*, M~ or a window of L*.
/// A row with no visible weight has output 0 and log-sum-exp -infinity.
#pragma once

#include <plsh/reference/partition.hpp>
#include <span>
#include <vector>

namespace plsh::reference {

template <class Real>
struct HeadInput {
  Matrix<Real> query;  ///< [n_q, head_dim]
  Matrix<Real> key;    ///< [n_k, head_dim]
  Matrix<Real> value;  ///< [n_k, value_dim]
  Real logit_scale;    ///< usually 1/sqrt(head_dim)
  bool causal = false;
  Index query_offset =
      0;  ///< position of query 0; n_k - n_q aligns the last query with the last key
};

template <class Real>
struct HeadOutput {
  Matrix<Real> output;       ///< [n_q, value_dim]
  Vector<Real> log_sum_exp;  ///< [n_q], natural logarithm of sum_j W_ij E_ij
};

/// W = weights, shape [n_q, n_k], entries >= 0.
/// \throws std::invalid_argument when shapes do not fit.
template <class Real>
HeadOutput<Real> weighted_attention(const HeadInput<Real>& input, const Matrix<Real>& weights);

/// W = L*: exact ALiBi attention.
template <class Real>
HeadOutput<Real> exact_alibi_attention(const HeadInput<Real>& input, const Real& sigma);

/// W = L* where |p_i - j| <= radius, else 0: exact ALiBi restricted to a window.
template <class Real>
HeadOutput<Real> windowed_alibi_attention(const HeadInput<Real>& input, const Real& sigma,
                                          Index radius);

/// W = M~, entry by entry: Positional LSH attention by its definition. Partitions have length n_k
/// and query positions lie in 0..n_k - 1.
template <class Real>
HeadOutput<Real> sampled_attention_by_definition(const HeadInput<Real>& input,
                                                 std::span<const Partition> samples);

/// W = M~ by the paper's algorithm: for each sample, softmax attention within each block,
/// numerators and denominators pooled over the samples. No n x n matrix is formed.
template <class Real>
HeadOutput<Real> sampled_attention_by_blocks(const HeadInput<Real>& input,
                                             std::span<const Partition> samples);

/// Exact ALiBi attention of several heads; head h uses sigmas[h].
template <class Real>
std::vector<HeadOutput<Real>> exact_alibi_attention(const std::vector<HeadInput<Real>>& heads,
                                                    const std::vector<Real>& sigmas);

/// logit_scale q_i . k_j with -infinity nowhere: the raw logits, shape [n_q, n_k].
template <class Real>
Matrix<Real> logits(const HeadInput<Real>& input);

}  // namespace plsh::reference
