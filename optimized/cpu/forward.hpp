/// \file
/// Forward attention of one head, a task of rows at a time.
#pragma once

#include <memory>

#include "head.hpp"

namespace plsh::optimized::cpu {

/// What one thread works with; made for one head dimension and one value dimension.
class ForwardWorker {
 public:
  virtual ~ForwardWorker() = default;
  /// Writes the rows of one task, 0 <= task < tasks(head).
  virtual void run(const Head& head, Index task) = 0;
};

/// Rows are dealt out in tasks that do not depend on the number of threads.
Index forward_tasks(const Head& head);
std::unique_ptr<ForwardWorker> make_forward_worker(Index head_dim, Index value_dim,
                                                   bool sample_by_sample);

}  // namespace plsh::optimized::cpu
