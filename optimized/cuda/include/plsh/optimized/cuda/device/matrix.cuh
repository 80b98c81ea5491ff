/// \file
/// Matrix products of a warp, and loading their operands (PTX ISA, "mma" and "ldmatrix"; sm_80).
///
/// A product is D = A B + C with A of 16 rows, B of 8 columns, and 16 (bf16, f16) or 32 (u8)
/// elements in each row of A and column of B, that is 32 bytes. Lane l = 4 g + t holds
///   of A, in register r (0..3): of row g + 8 (r % 2) the bytes 16 (r / 2) + 4 t to + 3;
///   of B, in register r (0..1): of column g the bytes 16 r + 4 t to + 3;
///   of C, in register r (0..3): row g + 8 (r / 2), column 2 t + r % 2
/// with earlier elements in lower bytes (PTX ISA, "Matrix Fragments for mma.m16n8k16" and
/// ".m16n8k32").
///
/// All are collectives: all 32 lanes of the warp must come to the same call.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dialect.cuh"

#if !defined(__CUDACC__)
#include <plsh/optimized/cuda/host/executor.hpp>
#endif

namespace plsh::optimized::cuda {

/// c[n] += A B[n] for `tiles` neighbours of 8 columns. Products are exact; on the host they are
/// added to c in f32 in ascending order, on the GPU in an order and with roundings that are not
/// documented.
template <std::size_t tiles>
__device__ void mma_bf16(float (&c)[tiles][4], const std::uint32_t (&a)[4],
                         const std::uint32_t (&b)[tiles][2], Site site = Site::here()) {
#if defined(__CUDACC__)
  static_cast<void>(site);
#pragma unroll
  for (std::size_t n = 0; n < tiles; ++n)
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[n][0]), "+f"(c[n][1]), "+f"(c[n][2]), "+f"(c[n][3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[n][0]), "r"(b[n][1]));
#else
  host::mma_bf16(c[0], a, b[0], static_cast<int>(tiles), site);
#endif
}

/// The same with f16.
template <std::size_t tiles>
__device__ void mma_f16(float (&c)[tiles][4], const std::uint32_t (&a)[4],
                        const std::uint32_t (&b)[tiles][2], Site site = Site::here()) {
#if defined(__CUDACC__)
  static_cast<void>(site);
#pragma unroll
  for (std::size_t n = 0; n < tiles; ++n)
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[n][0]), "+f"(c[n][1]), "+f"(c[n][2]), "+f"(c[n][3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[n][0]), "r"(b[n][1]));
#else
  host::mma_f16(c[0], a, b[0], static_cast<int>(tiles), site);
#endif
}

/// The same with unsigned bytes, added modulo 2^32.
template <std::size_t tiles>
__device__ void mma_u8(std::int32_t (&c)[tiles][4], const std::uint32_t (&a)[4],
                       const std::uint32_t (&b)[tiles][2], Site site = Site::here()) {
#if defined(__CUDACC__)
  static_cast<void>(site);
#pragma unroll
  for (std::size_t n = 0; n < tiles; ++n)
    asm volatile(
        "mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+r"(c[n][0]), "+r"(c[n][1]), "+r"(c[n][2]), "+r"(c[n][3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[n][0]), "r"(b[n][1]));
#else
  host::mma_u8(c[0], a, b[0], static_cast<int>(tiles), site);
#endif
}

/// Loads `matrices` (1, 2 or 4) matrices of 8 rows of 16 bytes from shared memory. Lane 8 m + k
/// gives the address of row k of matrix m, a multiple of 16 bytes; further lanes' addresses are
/// not used. Lane 4 g + t gets in register m of matrix m, row g, the bytes 4 t to 4 t + 3.
template <std::size_t matrices>
__device__ void ldmatrix(std::uint32_t (&fragment)[matrices], const void* row,
                         Site site = Site::here()) {
  static_assert(matrices == 1 || matrices == 2 || matrices == 4);
#if defined(__CUDACC__)
  static_cast<void>(site);
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(row));
  if constexpr (matrices == 1)
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
                 : "=r"(fragment[0])
                 : "r"(address)
                 : "memory");
  else if constexpr (matrices == 2)
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(fragment[0]), "=r"(fragment[1])
                 : "r"(address)
                 : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(fragment[0]), "=r"(fragment[1]), "=r"(fragment[2]), "=r"(fragment[3])
                 : "r"(address)
                 : "memory");
#else
  host::ldmatrix(fragment, row, static_cast<int>(matrices), false, site);
#endif
}

/// The same of matrices of 8 rows of 8 elements of 2 bytes, transposed: lane 4 g + t gets in
/// register m of matrix m, column g, the elements of rows 2 t (lower half) and 2 t + 1.
template <std::size_t matrices>
__device__ void ldmatrix_transposed(std::uint32_t (&fragment)[matrices], const void* row,
                                    Site site = Site::here()) {
  static_assert(matrices == 1 || matrices == 2 || matrices == 4);
#if defined(__CUDACC__)
  static_cast<void>(site);
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(row));
  if constexpr (matrices == 1)
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];"
                 : "=r"(fragment[0])
                 : "r"(address)
                 : "memory");
  else if constexpr (matrices == 2)
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(fragment[0]), "=r"(fragment[1])
                 : "r"(address)
                 : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(fragment[0]), "=r"(fragment[1]), "=r"(fragment[2]), "=r"(fragment[3])
                 : "r"(address)
                 : "memory");
#else
  host::ldmatrix(fragment, row, static_cast<int>(matrices), true, site);
#endif
}

}  // namespace plsh::optimized::cuda
