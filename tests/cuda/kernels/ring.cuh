/// \file
/// A sum over tiles that come by bulk copies into a ring of stages.
#pragma once

#include <plsh/optimized/cuda/device/barrier.cuh>
#include <plsh/optimized/cuda/device/indices.cuh>
#include <plsh/optimized/cuda/device/mbarrier.cuh>
#include <plsh/optimized/cuda/device/shared.cuh>

#include "planted.hpp"

namespace plsh::optimized::cuda {

inline constexpr int kRingStages = 3;
inline constexpr int kRingTile = 96;  ///< floats: one for each consumer

/// Shared memory of sum_ring in bytes.
inline constexpr int kRingBytes = kRingStages * kRingTile * 4 + 2 * kRingStages * 8;

/// out[e] = the sum over tiles k of in[k kRingTile + e]. One block of 128 threads: a thread of warp
/// 0 copies the tiles, each to the next of three stages, the other warps add them.
template <Planted planted>
__global__ void sum_ring(const float* in, int tiles, float* out) {
  constexpr int kTileBytes = kRingTile * 4;
  const int consumers = block_threads() - kWarpSize;
  const int t = thread_index();
  SharedMemory shared;
  auto* const stages = shared.array<float>(kRingStages * kRingTile);
  auto* const full = shared.array<Mbarrier>(2 * kRingStages);
  Mbarrier* const empty = full + kRingStages;

  if (t == 0) {
    for (int s = 0; s < kRingStages; ++s) {
      mbarrier_init(&full[s], planted == Planted::too_many_arrivals_expected ? 2 : 1);
      if constexpr (planted != Planted::mbarrier_not_initialized)
        mbarrier_init(&empty[s], consumers);
    }
    if constexpr (planted == Planted::mbarrier_initialized_twice) mbarrier_init(&full[0], 1);
  }
  if constexpr (planted != Planted::mbarrier_used_before_barrier) block_barrier();
  if constexpr (planted == Planted::mbarrier_written_over)
    if (t == 0) reinterpret_cast<float*>(empty)[0] = 0.0f;

  // Stage s holds tiles s, s + 3, ...: use u of it is phase u of its two barriers.
  if (warp_index() == 0) {
    if (lane_index() != 0) return;
    for (int tile = 0; tile < tiles; ++tile) {
      const int s = tile % kRingStages;
      const int use = tile / kRingStages;
      float* to = stages + s * kRingTile;
      if constexpr (planted != Planted::no_wait_for_empty) mbarrier_wait(&empty[s], (use + 1) % 2);
      int expected = kTileBytes;
      if constexpr (planted == Planted::too_many_bytes_expected) expected += 16;
      if constexpr (planted == Planted::too_few_bytes_expected) expected -= 16;
      mbarrier_arrive_expect(&full[s], expected);
      if constexpr (planted == Planted::too_many_arrivals) mbarrier_arrive(&full[s]);
      if constexpr (planted == Planted::bulk_copy_misaligned) to += 1;
      const float* from = in + tile * kRingTile;
      if constexpr (planted == Planted::bulk_copy_past_the_end) from += 4;
      const int bytes = planted == Planted::bulk_copy_of_odd_size ? kTileBytes - 8 : kTileBytes;
      bulk_copy(to, from, bytes, &full[s]);
    }
  } else {
    const int e = t - kWarpSize;
    float sum = 0.0f;
    for (int tile = 0; tile < tiles; ++tile) {
      const int s = tile % kRingStages;
      const int use = tile / kRingStages;
      const int parity = planted == Planted::wrong_parity ? (use + 1) % 2 : use % 2;
      const bool last = planted == Planted::bulk_copy_in_flight_at_end && tile + 1 == tiles;
      if (planted != Planted::no_wait_for_full && !last) mbarrier_wait(&full[s], parity);
      if constexpr (planted == Planted::arrive_before_reading) mbarrier_arrive(&empty[s]);
      sum += stages[s * kRingTile + e];
      if constexpr (planted != Planted::arrive_before_reading) mbarrier_arrive(&empty[s]);
    }
    out[e] = sum;
  }
}

}  // namespace plsh::optimized::cuda
