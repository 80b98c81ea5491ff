// The kernels' building blocks, compiled once for each instruction set; forward.cpp and
// backward.cpp include this file.
//
// A group is as many query rows as two vectors have lanes. Logits, weights and sums are held with
// one row in each lane, "row-major in keys": [keys][rows]. So the running maximum, the rescaling
// and the sum of the weights need no reduction across lanes, keys and values are read where they
// lie, one number at a time, and a group visits exactly the keys that some row of it sees.
#if defined(PLSH_CPU_KERNEL_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PLSH_CPU_KERNEL_INL_H
#undef PLSH_CPU_KERNEL_INL_H
#else
#define PLSH_CPU_KERNEL_INL_H
#endif

#include <hwy/aligned_allocator.h>
#include <hwy/highway.h>

#include <utility>

#include "tensor.hpp"

/// Of lambdas: their captures must become registers.
#ifndef PLSH_INLINED
#define PLSH_INLINED HWY_ATTR __attribute__((always_inline))
#endif

HWY_BEFORE_NAMESPACE();
namespace plsh::optimized::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
inline constexpr D d;
inline constexpr Index kLanes = static_cast<Index>(hn::MaxLanes(d));
inline constexpr Index kRows = 2 * kLanes;  ///< of a group

using Buffer = hwy::AlignedFreeUniquePtr<float[]>;
inline Buffer allocate(Index count) {
  return hwy::AllocateAligned<float>(static_cast<std::size_t>(count));
}

/// Keys, or value columns, computed at once: with two vectors of rows each, as many accumulators as
/// the registers hold beside two operands and a broadcast.
#if HWY_TARGET <= HWY_AVX3
inline constexpr std::size_t kStep = 12;
#else
inline constexpr std::size_t kStep = 6;
#endif

/// f(0), ..., f(K-1) with constants, so that arrays become registers.
template <std::size_t K, class F>
HWY_INLINE void unroll(const F& f) {
  [&]<std::size_t... k>(std::index_sequence<k...>) PLSH_INLINED {
    (f(std::integral_constant<std::size_t, k>{}), ...);
  }
  (std::make_index_sequence<K>{});
}
/// The same as a signed number.
template <std::size_t k>
HWY_INLINE constexpr Index index(std::integral_constant<std::size_t, k> /*constant*/) {
  return static_cast<Index>(k);
}

/// sum[k][row] += the sum over t of a[k a_next + t a_step] b[t][row], for k < K. With kSkipZeros a
/// zero in b leaves the sum alone even if a is infinite or NaN; for finite a the bits are the same.
template <bool kSkipZeros, std::size_t K>
HWY_INLINE void multiply(const float* HWY_RESTRICT a, Index a_next, Index a_step,
                         const float* HWY_RESTRICT b, Index terms, V (&sum)[K][2]) {
  for (Index t = 0; t < terms; ++t) {
    const V b0 = hn::Load(d, b);
    const V b1 = hn::Load(d, b + kLanes);
    unroll<K>([&](auto k) PLSH_INLINED {
      const V x = hn::Set(d, a[index(k) * a_next]);
      if constexpr (kSkipZeros) {
        const V zero = hn::Zero(d);
        sum[k][0] = hn::IfThenElse(hn::Eq(b0, zero), sum[k][0], hn::MulAdd(x, b0, sum[k][0]));
        sum[k][1] = hn::IfThenElse(hn::Eq(b1, zero), sum[k][1], hn::MulAdd(x, b1, sum[k][1]));
      } else {
        sum[k][0] = hn::MulAdd(x, b0, sum[k][0]);
        sum[k][1] = hn::MulAdd(x, b1, sum[k][1]);
      }
    });
    a += a_step;
    b += kRows;
  }
}

/// Calls f<K>(first) for pieces of first..last-1, of nearly equal sizes K of at most kStep: a piece
/// of one would wait for its own sums.
template <class F>
HWY_INLINE void in_steps(Index first, Index last, const F& f) {
  const Index count = last - first;
  constexpr auto step = static_cast<Index>(kStep);
  const Index pieces = (count + step - 1) / step;
  for (Index piece = 0; piece < pieces; ++piece) {
    const Index begin = first + count * piece / pieces;
    const Index size = first + count * (piece + 1) / pieces - begin;
    unroll<kStep>([&](auto k) PLSH_INLINED {
      if (size == index(k) + 1) f(std::integral_constant<std::size_t, k + 1>{}, begin);
    });
  }
}

/// sum[c][row] += the sum over t of a[t a_stride + c] b[t][row], for c < columns.
template <bool kSkipZeros>
HWY_INLINE void add_products(const float* a, Index a_stride, const float* b, Index terms,
                             Index columns, float* HWY_RESTRICT sums) {
  in_steps(0, columns, [&](auto size, Index begin) PLSH_INLINED {
    constexpr std::size_t K = decltype(size)::value;
    float* const at = sums + begin * kRows;
    V sum[K][2];
    unroll<K>([&](auto k) PLSH_INLINED {
      sum[k][0] = hn::Load(d, at + index(k) * kRows);
      sum[k][1] = hn::Load(d, at + index(k) * kRows + kLanes);
    });
    multiply<kSkipZeros>(a + begin, 1, a_stride, b, terms, sum);
    unroll<K>([&](auto k) PLSH_INLINED {
      hn::Store(sum[k][0], d, at + index(k) * kRows);
      hn::Store(sum[k][1], d, at + index(k) * kRows + kLanes);
    });
  });
}

/// 2^x for x <= 16, to 2.5 units in the last place; 0 for x <= -126; NaN for NaN.
HWY_INLINE V exp2(V x) {
  // Adding 3 * 2^22 + 127 rounds x to an integer n, and leaves n + 127 in the lowest bits.
  const V magic = hn::Set(d, 12582912.0f + 127.0f);
  const V shifted = hn::Add(x, magic);
  const V f = hn::Sub(x, hn::Sub(shifted, magic));  // -1/2 <= f <= 1/2
  const hn::RebindToUnsigned<D> du;
  const V power = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(du, shifted)));  // 2^n
  // The polynomial of degree 5 with value 1 at 0 of least relative error, 9.4e-8.
  V p = hn::Set(d, 0x1.5bda98p-10f);
  p = hn::MulAdd(p, f, hn::Set(d, 0x1.3ce8b2p-7f));
  p = hn::MulAdd(p, f, hn::Set(d, 0x1.c6b6d8p-5f));
  p = hn::MulAdd(p, f, hn::Set(d, 0x1.ebf9c2p-3f));
  p = hn::MulAdd(p, f, hn::Set(d, 0x1.62e42ap-1f));
  p = hn::MulAdd(p, f, hn::Set(d, 1.0f));
  // A NaN compares false, and a NaN times anything is one.
  return hn::IfThenZeroElse(hn::Le(x, hn::Set(d, -126.0f)), hn::Mul(p, power));
}

/// The lanes from `first` on hold 1, those before 0. 0 <= first <= kRows; the second half begins at
/// kLanes.
struct Steps {
  HWY_ALIGN float ones_after[4 * kLanes] = {};
  // At compile time: a processor without these instructions must not run it on loading.
  constexpr Steps() {
    for (Index k = kRows; k < 4 * kLanes; ++k) ones_after[k] = 1;
  }
  HWY_INLINE V low(Index first) const { return hn::LoadU(d, ones_after + kRows - first); }
  HWY_INLINE V high(Index first) const { return hn::LoadU(d, ones_after + kRows - first + kLanes); }
};
inline constexpr Steps steps;

/// Whether the numbers of a row are neighbours in memory, as floats.
HWY_INLINE bool is_packed(const Rows& rows) {
  return rows.element == Element::f32 && rows.column_stride == 1;
}
HWY_INLINE float* packed_row(const Rows& rows, Index i) {
  return reinterpret_cast<float*>(rows.at(i, 0));
}

#if HWY_TARGET != HWY_SCALAR
/// Four rows of four become four columns: to[c * to_stride + r] = from[r * from_stride + c].
HWY_INLINE void transpose_4x4(const float* from, Index from_stride, float* to, Index to_stride) {
  const hn::Full128<float> d4;
  const auto r0 = hn::LoadU(d4, from);
  const auto r1 = hn::LoadU(d4, from + from_stride);
  const auto r2 = hn::LoadU(d4, from + 2 * from_stride);
  const auto r3 = hn::LoadU(d4, from + 3 * from_stride);
  const auto even_low = hn::InterleaveLower(d4, r0, r2);
  const auto odd_low = hn::InterleaveLower(d4, r1, r3);
  const auto even_high = hn::InterleaveUpper(d4, r0, r2);
  const auto odd_high = hn::InterleaveUpper(d4, r1, r3);
  hn::StoreU(hn::InterleaveLower(d4, even_low, odd_low), d4, to);
  hn::StoreU(hn::InterleaveUpper(d4, even_low, odd_low), d4, to + to_stride);
  hn::StoreU(hn::InterleaveLower(d4, even_high, odd_high), d4, to + 2 * to_stride);
  hn::StoreU(hn::InterleaveUpper(d4, even_high, odd_high), d4, to + 3 * to_stride);
}
#endif

/// out[c][row] = rows first, first + 1, ... of a matrix; rows beyond `rows` are 0.
inline void load_group(const Rows& from, Index first, Index rows, Index columns,
                       float* HWY_RESTRICT out) {
  Index r = 0;
  Index packed_columns = 0;
#if HWY_TARGET != HWY_SCALAR
  if (is_packed(from)) {
    packed_columns = columns / 4 * 4;
    for (; r + 4 <= rows; r += 4)
      for (Index c = 0; c < packed_columns; c += 4)
        transpose_4x4(packed_row(from, first + r) + c, from.row_stride, out + c * kRows + r, kRows);
  }
#endif
  for (Index k = 0; k < kRows; ++k)
    for (Index c = k < r ? packed_columns : 0; c < columns; ++c)
      out[c * kRows + k] = k < rows ? from.get(first + k, c) : 0.0f;
}

/// The other way: rows first, first + 1, ... of a matrix = in[c][row].
inline void store_group(const float* HWY_RESTRICT in, Index rows, Index columns, const Rows& to,
                        Index first) {
  Index r = 0;
  Index packed_columns = 0;
#if HWY_TARGET != HWY_SCALAR
  if (is_packed(to)) {
    packed_columns = columns / 4 * 4;
    for (; r + 4 <= rows; r += 4)
      for (Index c = 0; c < packed_columns; c += 4)
        transpose_4x4(in + c * kRows + r, kRows, packed_row(to, first + r) + c, to.row_stride);
  }
#endif
  for (Index k = 0; k < rows; ++k)
    for (Index c = k < r ? packed_columns : 0; c < columns; ++c)
      to.set(first + k, c, in[c * kRows + k]);
}

/// Rows first..first+rows-1 as floats with unit stride: where they are, or copied to `buffer`.
inline const float* contiguous(const Rows& from, Index first, Index rows, Index columns,
                               float* HWY_RESTRICT buffer, Index& stride) {
  if (is_packed(from)) {
    stride = from.row_stride;
    return packed_row(from, first);
  }
  stride = columns;
  for (Index r = 0; r < rows; ++r) {
    float* const to = buffer + r * columns;
    Index c = 0;
    if (from.column_stride == 1 && from.element == Element::bf16) {
      const auto* const bits = reinterpret_cast<const std::uint16_t*>(from.at(first + r, 0));
      const hn::Rebind<std::uint16_t, D> d16;
      const hn::RebindToUnsigned<D> d32;
      for (; c + kLanes <= columns; c += kLanes) {
        const auto wide = hn::PromoteTo(d32, hn::LoadU(d16, bits + c));
        hn::StoreU(hn::BitCast(d, hn::ShiftLeft<16>(wide)), d, to + c);
      }
    }
#if HWY_TARGET != HWY_SCALAR
    if (from.column_stride == 1 && from.element == Element::f16) {
      const auto* const halves = reinterpret_cast<const hwy::float16_t*>(from.at(first + r, 0));
      const hn::Rebind<hwy::float16_t, D> d16;
      for (; c + kLanes <= columns; c += kLanes)
        hn::StoreU(hn::PromoteTo(d, hn::LoadU(d16, halves + c)), d, to + c);
    }
#endif
    for (; c < columns; ++c) to[c] = from.get(first + r, c);
  }
  return buffer;
}

}  // namespace plsh::optimized::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
