/// \file
/// Backward attention, a task of rows at a time.
///
/// Weights are recomputed from the log-sum-exp twice, once for the queries of a group and once for
/// its keys: seven products of matrices instead of five, but no two threads add to one gradient,
/// and the order of every sum is fixed.
#pragma once

#include <memory>

#include "head.hpp"

namespace plsh::optimized::cpu {

/// A query head as backward sees it.
struct BackwardHead {
  Head head;               ///< its output and log_sum_exp are inputs
  Rows output_gradient;    ///< [queries, value_dim]
  Rows query_gradient;     ///< [queries, head_dim]
  float* delta = nullptr;  ///< [queries], from query_task: the sum over c of dO_c O_c
  float* shift = nullptr;  ///< [queries], likewise: the base-2 log-sum-exp of the weights
};

/// A key/value head, and the query heads that share it.
struct KeyHead {
  const BackwardHead* heads = nullptr;
  Index count = 0;
  Rows key_gradient;    ///< [keys, head_dim]
  Rows value_gradient;  ///< [keys, value_dim]
};

/// What one thread works with.
class BackwardWorker {
 public:
  virtual ~BackwardWorker() = default;
  /// Writes the query gradient, delta and shift of the rows of one task.
  virtual void query_task(const BackwardHead& head, Index task) = 0;
  /// Writes the key and value gradients of the rows of one task, after all tasks of queries.
  virtual void key_task(const KeyHead& keys, Index task) = 0;
};

/// Rows are dealt out in tasks that do not depend on the number of threads.
Index backward_tasks(Index rows);
std::unique_ptr<BackwardWorker> make_backward_worker(Index head_dim, Index value_dim);

}  // namespace plsh::optimized::cpu
