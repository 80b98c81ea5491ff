/// \file
/// The barrier of a block.
#pragma once

#include "dialect.cuh"

#if !defined(__CUDACC__)
#include <plsh/optimized/cuda/host/executor.hpp>
#endif

namespace plsh::optimized::cuda {

/// Waits for all threads of the block; what each wrote before, all can read after (PTX ISA,
/// "bar"). Every thread must come to the same call, and none may have returned.
__device__ inline void block_barrier(Site site = Site::here()) {
#if defined(__CUDACC__)
  static_cast<void>(site);
  __syncthreads();
#else
  host::block_barrier(site);
#endif
}

}  // namespace plsh::optimized::cuda
