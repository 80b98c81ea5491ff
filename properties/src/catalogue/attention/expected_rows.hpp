/// \file
/// An attention case taken apart: heads as matrices of doubles, and the keys that each row sees.
#pragma once

#include <plsh/reference/attention.hpp>

#include "case.hpp"

namespace plsh::properties::expected {

using reference::Matrix;
using reference::Partition;

/// One query head of one sequence.
struct Head {
  Sequence sequence;
  Index number;                      ///< of the sequence
  Index head;                        ///< query head
  Index kv_head;                     ///< the key/value head that it uses
  Matrix<double> query, key, value;  ///< [n_q, d], [n_k, d], [n_k, value_dim]
  Matrix<double> output_gradient;    ///< [n_q, value_dim], or empty
  double scale;
  double slope;  ///< 0 for sampled attention
  bool causal;
  Index offset;                                     ///< position of query 0
  const std::vector<Partition>* samples = nullptr;  ///< null for exact attention

  Index sample_count() const {
    return samples == nullptr ? 1 : std::max<Index>(static_cast<Index>(samples->size()), 1);
  }
  /// The flat index of the first component of a row in [batch, length, heads, dim].
  std::size_t query_row(const AttentionCase& c, Index i, Index dim) const;
  std::size_t key_row(const AttentionCase& c, Index j, Index dim) const;
  /// The flat index in [batch, heads, n_q].
  std::size_t lse_element(const AttentionProblem& problem, Index i) const;
};

/// Calls `visit(const Head&)` for each sequence and query head. Heads of one key/value head of one
/// sequence follow each other.
template <class Visit>
void for_each_head(const AttentionProblem& problem, const plsh_conventions& conventions, bool exact,
                   bool gradients, const Visit& visit);

/// The keys that a row sees are neighbours: key first + t has weight count[t] >= 0.
struct SeenKeys {
  Index first = 0;
  std::vector<double> count;  ///< samples that share the block; 1 for exact attention
};
SeenKeys seen_keys(const Head& head, Index i);

/// All heads, read one after the other.
class HeadReader {
 public:
  HeadReader(const AttentionProblem& problem, const plsh_conventions& conventions, bool exact,
             bool gradients);
  Head read(Index sequence, Index head);

 private:
  const AttentionProblem& problem_;
  const plsh_conventions& conventions_;
  bool exact_;
  bool gradients_;
};

template <class Visit>
void for_each_head(const AttentionProblem& problem, const plsh_conventions& conventions, bool exact,
                   bool gradients, const Visit& visit) {
  HeadReader reader(problem, conventions, exact, gradients);
  const AttentionCase& c = problem.parameters();
  for (Index b = 0; b < static_cast<Index>(problem.sequences().size()); ++b)
    for (Index g = 0; g < c.kv_heads; ++g)
      for (Index h = 0; h < c.heads(); ++h)
        if (kv_head(conventions, c, h) == g) visit(reader.read(b, h));
}

}  // namespace plsh::properties::expected
