/// \file
/// The shared memory of a block: arrays taken one after the other from what the launch asked for.
#pragma once

#include <cstddef>

#include "dialect.cuh"

#if !defined(__CUDACC__)
#include <plsh/optimized/cuda/host/executor.hpp>
#endif

namespace plsh::optimized::cuda {

/// Every thread makes one at the start of the kernel and takes the same arrays in the same order.
///
///   SharedMemory shared;
///   float* tile = shared.array<float>(64 * 64);
///   int* counts = shared.array<int>(64);  // LaunchShape::shared_bytes = 64 * 64 * 4 + 64 * 4
///
/// The arrays are not initialized. On the GPU they lie side by side, without padding. On the host
/// each has guard zones, and is filled with bytes 0xff: NaN in every floating-point type.
class SharedMemory {
 public:
  /// `count` >= 1 elements; the array begins at a multiple of `alignment` bytes, a power of two
  /// from 16 to 1024. No padding is added: take the arrays with the greatest alignment first.
  template <class T, std::size_t alignment = 16>
  __device__ T* array(int count, Site site = Site::here()) {
    static_assert(alignment >= 16 && alignment <= 1024 && (alignment & (alignment - 1)) == 0);
    static_assert(alignof(T) <= alignment);
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(T);
#if defined(__CUDACC__)
    extern __shared__ __align__(1024) unsigned char plsh_shared_memory[];
    void* const array = plsh_shared_memory + used_;
    static_cast<void>(site);
#else
    void* const array = host::shared_array(used_, bytes, alignment, site);
#endif
    used_ += bytes;
    return static_cast<T*>(array);
  }

 private:
  std::size_t used_ = 0;
};

}  // namespace plsh::optimized::cuda
