/// \file
/// How the executor runs kernels: the order of the threads, and which blocks.
#pragma once

#include <plsh/optimized/cuda/device/dialect.cuh>

#include <cstdint>
#include <functional>

namespace plsh::optimized::cuda::host {

/// The order in which blocks, warps and lanes get their turn. A warp runs as far as it can before
/// the next one does, so that warps are as far apart as barriers let them be.
struct Schedule {
  enum class Order {
    forward,  ///< first to last; bulk copies as late as possible, oldest first
    reverse,  ///< last to first; bulk copies as late as possible, newest first
    random,   ///< drawn anew for each turn; any bulk copy, at any time
  };
  Order order = Order::forward;
  std::uint64_t seed = 0;  ///< of random
};

struct Options {
  Schedule schedule{};
  /// Runs only the blocks for which it is true; empty: all. A launch of which it selects no block
  /// is an error.
  std::function<bool(BlockIndex)> selects{};
};

/// Holds for every launch while it lives. They nest; one thread of the program uses them.
class ScopedOptions {
 public:
  explicit ScopedOptions(Options options);
  ~ScopedOptions();
  ScopedOptions(const ScopedOptions&) = delete;
  ScopedOptions& operator=(const ScopedOptions&) = delete;

 private:
  Options before_;
};

}  // namespace plsh::optimized::cuda::host
