/// \file
/// Which thread of which block this is. Blocks are one-dimensional, grids are not.
#pragma once

#include "dialect.cuh"

#if !defined(__CUDACC__)
#include <plsh/optimized/cuda/host/executor.hpp>
#endif

namespace plsh::optimized::cuda {

/// Threads of a block: a multiple of 32, at most 1024.
__device__ inline int block_threads() {
#if defined(__CUDACC__)
  return static_cast<int>(blockDim.x);
#else
  return host::position.threads;
#endif
}

/// 0 <= thread_index() < block_threads().
__device__ inline int thread_index() {
#if defined(__CUDACC__)
  return static_cast<int>(threadIdx.x);
#else
  return host::position.thread;
#endif
}

__device__ inline int warp_index() { return thread_index() / kWarpSize; }
__device__ inline int lane_index() { return thread_index() % kWarpSize; }

__device__ inline BlockIndex block_index() {
#if defined(__CUDACC__)
  return {static_cast<int>(blockIdx.x), static_cast<int>(blockIdx.y), static_cast<int>(blockIdx.z)};
#else
  return host::position.block;
#endif
}

__device__ inline Grid grid_size() {
#if defined(__CUDACC__)
  return {static_cast<int>(gridDim.x), static_cast<int>(gridDim.y), static_cast<int>(gridDim.z)};
#else
  return host::position.grid;
#endif
}

}  // namespace plsh::optimized::cuda
