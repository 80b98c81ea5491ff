/// \file
/// A sum over tiles that come by asynchronous copies into two buffers.
#pragma once

#include <plsh/optimized/cuda/device/barrier.cuh>
#include <plsh/optimized/cuda/device/cp_async.cuh>
#include <plsh/optimized/cuda/device/indices.cuh>
#include <plsh/optimized/cuda/device/shared.cuh>

#include "planted.hpp"

namespace plsh::optimized::cuda {

/// out[e] = the sum over tiles k of in[k width + e], for e < width = 4 block_threads(); elements
/// from n on count as 0. Tile k + 1 is on its way while tile k is added. One block; shared memory
/// for two tiles.
template <Planted planted>
__global__ void sum_pipeline(const float* in, int n, float* out) {
  SharedMemory shared;
  const int width = 4 * block_threads();
  const int t = thread_index();
  float* const buffers[2] = {shared.array<float>(width), shared.array<float>(width)};
  const int tiles = (n + width - 1) / width;

  const auto load = [&](int tile) {
    float* to = buffers[tile % 2] + 4 * t;
    const int first = tile * width + 4 * t;
    const int valid = first >= n ? 0 : n - first < 4 ? n - first : 4;
    if constexpr (planted == Planted::copy_misaligned) to += 1;
    if constexpr (planted == Planted::copy_past_shared_array) to += 4;
    cp_async(to, in + first, planted == Planted::copy_tail_unguarded ? 16 : 4 * valid);
    if constexpr (planted == Planted::tail_zeroed_in_flight)
      for (int e = valid; e < 4; ++e) to[e] = 0.0f;
    if constexpr (planted != Planted::copy_without_group) cp_async_commit();
  };

  // Each thread adds elements that others have copied.
  const int mine = 4 * (block_threads() - 1 - t);
  float sum[4] = {};
  load(0);
  for (int tile = 0; tile < tiles; ++tile) {
    if (tile + 1 < tiles) load(tile + 1);
    // A group is made even if there is nothing to copy, so that the count of groups is right.
    else if constexpr (planted != Planted::wait_for_the_wrong_group)
      cp_async_commit();
    if constexpr (planted != Planted::copy_in_flight_at_return &&
                  planted != Planted::read_before_wait)
      cp_async_wait<1>();
    if constexpr (planted != Planted::no_barrier_after_wait) block_barrier();
    for (int e = 0; e < 4; ++e) sum[e] += buffers[tile % 2][mine + e];
    if constexpr (planted == Planted::read_before_wait) cp_async_wait<1>();
    if constexpr (planted != Planted::no_barrier_before_reuse) block_barrier();
  }
  if constexpr (planted == Planted::wait_for_the_wrong_group) cp_async_wait<0>();
  for (int e = 0; e < 4; ++e) out[mine + e] = sum[e];
}

}  // namespace plsh::optimized::cuda
