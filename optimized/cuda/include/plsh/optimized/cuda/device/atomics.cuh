/// \file
/// Atomic updates of global or shared memory. They order no other accesses (PTX ISA, "atom",
/// .relaxed).
#pragma once

#include "dialect.cuh"

#if !defined(__CUDACC__)
#include <atomic>
#endif

namespace plsh::optimized::cuda {

/// *to += value; returns what was there before. T is int, unsigned or float. The order of the
/// additions is not defined, and so neither are the last bits of a sum of floats.
template <class T>
__device__ T atomic_add(T* to, T value) {
#if defined(__CUDACC__)
  return atomicAdd(to, value);
#else
  return std::atomic_ref<T>(*to).fetch_add(value, std::memory_order_relaxed);
#endif
}

/// *to = max(*to, value); returns what was there before. T is int or unsigned.
template <class T>
__device__ T atomic_max(T* to, T value) {
#if defined(__CUDACC__)
  return atomicMax(to, value);
#else
  const std::atomic_ref<T> target(*to);
  T before = target.load(std::memory_order_relaxed);
  while (before < value &&
         !target.compare_exchange_weak(before, value, std::memory_order_relaxed)) {
  }
  return before;
#endif
}

}  // namespace plsh::optimized::cuda
