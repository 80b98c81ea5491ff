/// \file
/// Sums and counts: block barriers, shuffles, atomics, tails.
#pragma once

#include <plsh/optimized/cuda/device/atomics.cuh>
#include <plsh/optimized/cuda/device/barrier.cuh>
#include <plsh/optimized/cuda/device/indices.cuh>
#include <plsh/optimized/cuda/device/shared.cuh>
#include <plsh/optimized/cuda/device/warp.cuh>

#include "planted.hpp"

namespace plsh::optimized::cuda {

/// sums[b] = the sum of the elements of `in` of block b, and out[i] = 2 in[i]. One float of shared
/// memory for each thread.
template <Planted planted>
__global__ void sum_tree(const float* in, int n, float* sums, float* out) {
  const int t = thread_index();
  const int threads = block_threads();
  const int i = block_index().x * threads + t;

  SharedMemory shared;
  if constexpr (planted == Planted::shared_arrays_differ) shared.array<float>(t == 40 ? 8 : 4);
  if constexpr (planted == Planted::shared_array_misaligned) shared.array<char>(6);
  const int elements = planted == Planted::too_many_elements_shared ? threads + 4 : threads;
  auto* const partial = shared.array<float>(elements);

  if constexpr (planted == Planted::return_before_barrier)
    if (i >= n) return;
  const float mine = i < n || planted == Planted::tail_read_unguarded ? in[i] : 0.0f;
  partial[t] = mine;
  if constexpr (planted == Planted::shared_index_past_the_end)
    if (t == threads - 1) partial[t + 1] = 0.0f;
  if constexpr (planted == Planted::shared_index_before_the_beginning)
    if (t == 0) partial[t - 1] = 0.0f;
  if constexpr (planted == Planted::barrier_replaced_by_warp_barrier) {
    sync_warp();
  } else if constexpr (planted == Planted::divergent_barrier) {
    if (t < threads / 2) block_barrier();
    if (t >= threads / 2) block_barrier();
  } else if constexpr (planted != Planted::barrier_missing_after_store) {
    block_barrier();
  }

  for (int half = threads / 2; half > 0; half /= 2) {
    if (t < half) partial[t] += partial[t + half];
    if constexpr (planted != Planted::barrier_missing_between_steps) block_barrier();
  }
  if (t == 0) sums[block_index().x] = partial[0];
  if (i < n || planted == Planted::tail_write_unguarded) out[i] = 2 * mine;
}

/// sum[0] += the sum of `in`; nonzero[w] = bit k tells whether in[32 w + k] is not 0; blocks[0] =
/// the number of blocks.
template <Planted planted>
__global__ void sum_warp(const int* in, int n, int* sum, unsigned* nonzero, int* blocks) {
  const int i = block_index().x * block_threads() + thread_index();
  int value = i < n ? in[i] : 0;
  const unsigned bits = ballot(value != 0);
  if (lane_index() == 0 && i < n) nonzero[i / kWarpSize] = bits;

  if constexpr (planted == Planted::lane_returned_before_shuffle)
    if (i >= n) return;
  if constexpr (planted == Planted::shuffle_and_barrier)
    if (lane_index() == 7) block_barrier();
  if constexpr (planted == Planted::lane_mask_too_large) value += shfl_xor(value, 32);
  for (int mask = kWarpSize / 2; mask > 0; mask /= 2) {
    if constexpr (planted == Planted::lane_missing_in_shuffle)
      if (lane_index() == 31) continue;
    if constexpr (planted == Planted::shuffles_of_different_lines) {
      if (lane_index() < 16) value += shfl_xor(value, mask);
      if (lane_index() >= 16) value += shfl_xor(value, mask);
    } else {
      value += shfl_xor(value, mask);
    }
  }

  if constexpr (planted == Planted::plain_addition_of_lanes) {
    if (lane_index() % 16 == 0) sum[0] += lane_index() == 0 ? value : 0;
  } else if constexpr (planted == Planted::plain_addition_of_blocks) {
    // The warps of the block take turns.
    for (int warp = 0; warp < block_threads() / kWarpSize; ++warp) {
      if (warp == warp_index() && lane_index() == 0) sum[0] += value;
      block_barrier();
    }
  } else if (lane_index() == 0) {
    atomic_add(sum, value);
  }
  if (planted == Planted::blocks_write_one_element ? thread_index() == 0 : i == 0)
    blocks[0] = grid_size().x;
}

/// counts[k] = how many of the block's elements are k, 0 <= k < 32, and most[0] = the greatest
/// element of all. One warp; 32 ints of shared memory.
template <Planted planted>
__global__ void histogram(const int* in, int n, int* counts, int* most) {
  SharedMemory shared;
  auto* const count = shared.array<int>(kWarpSize);
  const int lane = lane_index();
  if constexpr (planted != Planted::counts_not_initialized) count[lane] = 0;
  if constexpr (planted != Planted::warp_barrier_missing) sync_warp();
  for (int i = lane; i < n; i += kWarpSize) {
    atomic_add(&count[in[i]], 1);
    atomic_max(most, in[i]);
  }
  sync_warp();
  counts[lane] = count[lane];
}

/// out = in transposed; in has `rows` rows of `columns`. A block for each kTile x kTile elements,
/// kTile <= 32; kTile (kTile + 1) floats of shared memory.
template <int kTile>
__global__ void transpose(const float* in, int rows, int columns, float* out) {
  SharedMemory shared;
  auto* const tile = shared.array<float>(kTile * (kTile + 1));
  const int row = block_index().y * kTile;
  const int column = block_index().x * kTile;
  const int lane = lane_index();
  for (int r = warp_index(); r < kTile; r += block_threads() / kWarpSize)
    if (row + r < rows && lane < kTile && column + lane < columns)
      tile[r * (kTile + 1) + lane] = in[(row + r) * columns + column + lane];
  block_barrier();
  for (int c = warp_index(); c < kTile; c += block_threads() / kWarpSize)
    if (column + c < columns && lane < kTile && row + lane < rows)
      out[(column + c) * rows + row + lane] = tile[lane * (kTile + 1) + c];
}

}  // namespace plsh::optimized::cuda
