/// \file
/// Collectives of a warp. All 32 lanes must come to the same call, and none may have returned.
#pragma once

#include <cstdint>
#include <type_traits>

#include "dialect.cuh"

#if !defined(__CUDACC__)
#include <plsh/optimized/cuda/host/executor.hpp>

#include <bit>
#endif

namespace plsh::optimized::cuda {

/// The value of lane `lane_index() ^ lane_mask`; 0 <= lane_mask < 32. T is float, int or
/// std::uint32_t. Orders no accesses to memory (PTX ISA, "shfl.sync").
template <class T>
__device__ T shfl_xor(T value, int lane_mask, Site site = Site::here()) {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, int> ||
                std::is_same_v<T, std::uint32_t>);
#if defined(__CUDACC__)
  static_cast<void>(site);
  return __shfl_xor_sync(0xffffffffU, value, lane_mask);
#else
  return std::bit_cast<T>(host::shfl_xor(std::bit_cast<std::uint32_t>(value), lane_mask, site));
#endif
}

/// Bit k is the predicate of lane k. Orders no accesses to memory (PTX ISA, "vote.sync").
__device__ inline std::uint32_t ballot(bool predicate, Site site = Site::here()) {
#if defined(__CUDACC__)
  static_cast<void>(site);
  return __ballot_sync(0xffffffffU, predicate);
#else
  return host::ballot(predicate, site);
#endif
}

/// A barrier of the warp: what a lane wrote before, all lanes can read after (PTX ISA,
/// "bar.warp.sync").
__device__ inline void sync_warp(Site site = Site::here()) {
#if defined(__CUDACC__)
  static_cast<void>(site);
  __syncwarp();
#else
  host::sync_warp(site);
#endif
}

}  // namespace plsh::optimized::cuda
