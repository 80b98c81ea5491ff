/// \file
/// Threads for one call.
///
/// Plain threads rather than a pool of OpenMP or TBB: nothing outlives the call, a host that forks
/// or has a pool of its own is not disturbed, and ThreadSanitizer understands them. Starting one
/// takes some 20 microseconds, so small work stays on the calling thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "tensor.hpp"

namespace plsh::optimized::cpu {

/// Calls work(task) for every task in 0..tasks-1, on at most `threads` threads; `make_worker()`
/// makes `work` once for each thread. Which thread runs a task is open: its result must not depend
/// on it.
template <class MakeWorker>
void for_each_task(Index tasks, Index threads, const MakeWorker& make_worker) {
  std::atomic<Index> next{0};
  std::mutex mutex;
  std::exception_ptr error;
  const auto run = [&] {
    try {
      auto work = make_worker();
      for (Index task = next++; task < tasks; task = next++) work(task);
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex);
      error = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    for (Index k = 1; k < std::min(threads, tasks); ++k) others.emplace_back(run);
    run();
  }
  if (error) std::rethrow_exception(error);
}

/// The threads to use: those asked for, or all of the machine for 0.
inline Index thread_count(Index asked) {
  return asked > 0 ? asked : std::max<Index>(1, std::thread::hardware_concurrency());
}

}  // namespace plsh::optimized::cpu
