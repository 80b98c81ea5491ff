/// \file
/// A product of matrices on the tensor cores.
#pragma once

#include <plsh/optimized/cuda/device/cp_async.cuh>
#include <plsh/optimized/cuda/device/indices.cuh>
#include <plsh/optimized/cuda/device/matrix.cuh>
#include <plsh/optimized/cuda/device/numbers.cuh>
#include <plsh/optimized/cuda/device/shared.cuh>
#include <plsh/optimized/cuda/device/warp.cuh>

#include <cstdint>

#include "planted.hpp"

namespace plsh::optimized::cuda {

inline constexpr int kProductSize = 16;                    ///< rows of A and columns of B
inline constexpr int kTilePitch = 48;                      ///< bytes between rows of a tile
inline constexpr int kProductBytes = 2 * 16 * kTilePitch;  ///< of shared memory

__device__ inline void mma(float (&c)[2][4], const std::uint32_t (&a)[4],
                           const std::uint32_t (&b)[2][2], bf16 /*type*/) {
  mma_bf16(c, a, b);
}
__device__ inline void mma(float (&c)[2][4], const std::uint32_t (&a)[4],
                           const std::uint32_t (&b)[2][2], f16 /*type*/) {
  mma_f16(c, a, b);
}
__device__ inline void mma(std::int32_t (&c)[2][4], const std::uint32_t (&a)[4],
                           const std::uint32_t (&b)[2][2], std::uint8_t /*type*/) {
  mma_u8(c, a, b);
}

/// c = A B, 16 x 16, by one warp. a holds the rows of A, of `terms` elements; b the columns of B,
/// or with b_in_rows its rows. `terms` is a multiple of 32 bytes; b_in_rows is for 2-byte elements.
template <class T, class C, bool b_in_rows, Planted planted>
__global__ void multiply(const T* a, const T* b, C* c, int terms) {
  constexpr int kStep = 32 / static_cast<int>(sizeof(T));
  SharedMemory shared;
  auto* const a_tile = shared.array<char>(16 * kTilePitch);
  auto* const b_tile = shared.array<char>(16 * kTilePitch);
  const int lane = lane_index();

  // 16 rows of 32 bytes: each lane brings 16 bytes.
  const auto load = [&](char* to, const T* from, int pitch) {
    constexpr int kHalf = kStep / 2;
    cp_async(to + lane / 2 * kTilePitch + lane % 2 * 16,
             from + lane / 2 * pitch + lane % 2 * kHalf);
  };

  C sum[2][4] = {};
  for (int k = 0; k < terms; k += kStep) {
    if constexpr (planted != Planted::no_warp_barrier_before_load) sync_warp();
    load(a_tile, a + k, terms);
    if constexpr (b_in_rows)
      load(b_tile, b + k * kProductSize, kProductSize);
    else
      load(b_tile, b + k, terms);
    cp_async_commit();
    cp_async_wait<0>();
    sync_warp();

    std::uint32_t a_fragment[4];
    const int a_row = lane % 16;
    const int a_byte = lane / 16 * 16 + (planted == Planted::row_misaligned ? 8 : 0);
    ldmatrix(a_fragment, a_tile + a_row * kTilePitch + a_byte);
    if constexpr (planted == Planted::fragment_registers_swapped) {
      const std::uint32_t kept = a_fragment[1];
      a_fragment[1] = a_fragment[2];
      a_fragment[2] = kept;
    }
    std::uint32_t b_fragment[2][2];
    for (int n = 0; n < 2; ++n) {
      if constexpr (b_in_rows && planted != Planted::matrix_not_transposed)
        ldmatrix_transposed(b_fragment[n], b_tile + lane % 16 * kTilePitch + 16 * n);
      else if constexpr (b_in_rows)
        ldmatrix(b_fragment[n], b_tile + lane % 16 * kTilePitch + 16 * n);
      else
        ldmatrix(b_fragment[n], b_tile + (8 * n + lane % 8) * kTilePitch + lane / 8 % 2 * 16);
    }
    if constexpr (planted == Planted::product_of_half_a_warp)
      if (lane >= 16) continue;
    mma(sum, a_fragment, b_fragment, T{});
  }
  for (int n = 0; n < 2; ++n)
    for (int r = 0; r < 4; ++r)
      c[(lane / 4 + 8 * (r / 2)) * kProductSize + 8 * n + 2 * (lane % 4) + r % 2] = sum[n][r];
}

}  // namespace plsh::optimized::cuda
