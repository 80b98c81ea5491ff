/// \file
/// Asynchronous copies of 16 bytes from global to shared memory, in groups of a thread (PTX ISA,
/// "cp.async"; sm_80).
#pragma once

#include "dialect.cuh"

#if defined(__CUDACC__)
#include <cstdint>
#else
#include <plsh/optimized/cuda/host/executor.hpp>
#endif

namespace plsh::optimized::cuda {

/// Starts to copy `valid_bytes` bytes, 0 to 16, and to fill the rest of 16 bytes with zeros. Both
/// addresses are multiples of 16 bytes; `from` is not read where valid_bytes is 0. Until
/// cp_async_wait the destination holds nothing of use: on the host NaN.
__device__ inline void cp_async(void* to, const void* from, int valid_bytes = 16,
                                Site site = Site::here()) {
#if defined(__CUDACC__)
  static_cast<void>(site);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                   static_cast<std::uint32_t>(__cvta_generic_to_shared(to))),
               "l"(from), "r"(valid_bytes)
               : "memory");
#else
  host::cp_async(to, from, valid_bytes, site);
#endif
}

/// Makes a group of the thread's copies since the last group.
__device__ inline void cp_async_commit() {
#if defined(__CUDACC__)
  asm volatile("cp.async.commit_group;" ::: "memory");
#else
  host::cp_async_commit();
#endif
}

/// Waits for all groups of the thread but the last `groups_left`, >= 0. Only this thread sees their
/// data then; a barrier shows them to others. Copies that belong to no group are not waited for.
template <int groups_left>
__device__ void cp_async_wait() {
#if defined(__CUDACC__)
  asm volatile("cp.async.wait_group %0;" ::"n"(groups_left) : "memory");
#else
  host::cp_async_wait(groups_left);
#endif
}

}  // namespace plsh::optimized::cuda
