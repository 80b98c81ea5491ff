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
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
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

/// K sums over t of a[k a_next + t] b[t][row], as in multiply().
template <std::size_t K>
HWY_INLINE void dots(const float* a, Index a_next, const float* b, Index terms, V (&sum)[K][2]) {
  unroll<K>([&](auto k) PLSH_INLINED { sum[k][0] = sum[k][1] = hn::Zero(d); });
  multiply<false>(a, a_next, 1, b, terms, sum);
}

/// sums[c][row] += the sum over t of a[t a_stride + c] b[t][row], for c < columns. What `sums` held
/// counts where the bits of `keep` are ones, and is 0 elsewhere. `between()` is called now and
/// then.
template <bool kSkipZeros, class F>
HWY_INLINE void add_products(const float* a, Index a_stride, const float* b, Index terms,
                             Index columns, V keep, float* HWY_RESTRICT sums, const F& between) {
  in_steps(0, columns, [&](auto size, Index begin) PLSH_INLINED {
    constexpr std::size_t K = decltype(size)::value;
    float* const at = sums + begin * kRows;
    V sum[K][2];
    unroll<K>([&](auto k) PLSH_INLINED {
      sum[k][0] = hn::And(keep, hn::Load(d, at + index(k) * kRows));
      sum[k][1] = hn::And(keep, hn::Load(d, at + index(k) * kRows + kLanes));
    });
    between();
    multiply<kSkipZeros>(a + begin, 1, a_stride, b, terms, sum);
    unroll<K>([&](auto k) PLSH_INLINED {
      hn::Store(sum[k][0], d, at + index(k) * kRows);
      hn::Store(sum[k][1], d, at + index(k) * kRows + kLanes);
    });
  });
}

/// All bits ones.
inline V ones() { return hn::BitCast(d, hn::Set(hn::RebindToUnsigned<D>(), ~std::uint32_t{0})); }

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
/// Block b of 128 bits holds four numbers of row 4b.
template <class DT>
HWY_INLINE hn::Vec<DT> load_blocks(DT tag, const float* from, Index stride) {
  if constexpr (hn::MaxLanes(tag) == 4) {
    return hn::LoadU(tag, from);
  } else {
    const hn::Half<DT> half;
    const auto lower = load_blocks(half, from, stride);
    const auto upper =
        load_blocks(half, from + static_cast<Index>(hn::MaxLanes(half)) * stride, stride);
    return hn::Combine(tag, upper, lower);
  }
}
template <class DT>
HWY_INLINE void store_blocks(hn::Vec<DT> v, DT tag, float* to, Index stride) {
  if constexpr (hn::MaxLanes(tag) == 4) {
    hn::StoreU(v, tag, to);
  } else {
    const hn::Half<DT> half;
    store_blocks(hn::LowerHalf(half, v), half, to, stride);
    store_blocks(hn::UpperHalf(half, v), half, to + static_cast<Index>(hn::MaxLanes(half)) * stride,
                 stride);
  }
}

/// In each block, a matrix of four vectors of four is transposed.
HWY_INLINE void transpose(V (&v)[4]) {
  const V even_low = hn::InterleaveLower(d, v[0], v[2]);
  const V odd_low = hn::InterleaveLower(d, v[1], v[3]);
  const V even_high = hn::InterleaveUpper(d, v[0], v[2]);
  const V odd_high = hn::InterleaveUpper(d, v[1], v[3]);
  v[0] = hn::InterleaveLower(d, even_low, odd_low);
  v[1] = hn::InterleaveUpper(d, even_low, odd_low);
  v[2] = hn::InterleaveLower(d, even_high, odd_high);
  v[3] = hn::InterleaveUpper(d, even_high, odd_high);
}
#endif

/// out[c][row] = factor times rows first, first + 1, ... of a matrix; rows beyond `rows` are 0.
inline void load_group(const Rows& from, Index first, Index rows, Index columns, float factor,
                       float* HWY_RESTRICT out) {
  Index r = 0;
  Index packed_columns = 0;
#if HWY_TARGET != HWY_SCALAR
  if (is_packed(from)) {
    packed_columns = columns / 4 * 4;
    for (; r + kLanes <= rows; r += kLanes) {
      const float* const row = packed_row(from, first + r);
      for (Index c = 0; c < packed_columns; c += 4) {
        V v[4];
        unroll<4>([&](auto k) PLSH_INLINED {
          v[k] = load_blocks(d, row + index(k) * from.row_stride + c, from.row_stride);
        });
        transpose(v);
        unroll<4>([&](auto k) PLSH_INLINED {
          hn::Store(hn::Mul(hn::Set(d, factor), v[k]), d, out + (c + index(k)) * kRows + r);
        });
      }
    }
  }
#endif
  for (Index k = 0; k < kRows; ++k)
    for (Index c = k < r ? packed_columns : 0; c < columns; ++c)
      out[c * kRows + k] = k < rows ? factor * from.get(first + k, c) : 0.0f;
}

/// The other way: rows first, first + 1, ... of a matrix = factor[row] in[c][row]. `in` is changed.
/// \param zero for each row, NaN is added if a number is not finite.
inline void store_group(float* HWY_RESTRICT in, const V (&factor)[2], Index rows, Index columns,
                        const Rows& to, Index first, V (&zero)[2]) {
  [[maybe_unused]] const Index packed_columns = is_packed(to) ? columns / 4 * 4 : 0;
  for (Index half = 0; half < 2; ++half) {
    float* const at = in + half * kLanes;
    V nothing = zero[half];
    const auto scaled = [&](Index c) PLSH_INLINED {
      const V v = hn::Mul(factor[half], hn::Load(d, at + c * kRows));
      nothing = hn::MulAdd(hn::Zero(d), v, nothing);
      return v;
    };
    Index c = 0;
#if HWY_TARGET != HWY_SCALAR
    if ((half + 1) * kLanes <= rows)
      for (; c < packed_columns; c += 4) {
        V v[4];
        unroll<4>([&](auto k) PLSH_INLINED { v[k] = scaled(c + index(k)); });
        transpose(v);
        float* const row = packed_row(to, first + half * kLanes) + c;
        unroll<4>([&](auto k) PLSH_INLINED {
          store_blocks(v[k], d, row + index(k) * to.row_stride, to.row_stride);
        });
      }
#endif
    const Index rest = c;
    for (; c < columns; ++c) hn::Store(scaled(c), d, at + c * kRows);
    for (Index r = half * kLanes; r < std::min(rows, (half + 1) * kLanes); ++r)
      for (c = rest; c < columns; ++c) to.set(first + r, c, in[c * kRows + r]);
    zero[half] = nothing;
  }
}

/// Rows that will be needed soon: asks the memory for a few at a time while other work goes on.
class Ahead {
 public:
  void clear() { count_ = 0; }
  /// Rows first..last-1; what was added last is asked for first. At most four.
  void add(const Rows& rows, Index first, Index last, Index columns) {
    if (rows.column_stride != 1 || first >= last) return;
    spans_[count_++] = {rows.at(first, 0), rows.row_stride * rows.size(), last - first,
                        columns * rows.size()};
  }
  HWY_INLINE void ask(Index rows) {
    constexpr Index kLine = 64;
    for (; count_ > 0 && rows > 0; --rows) {
      Span& span = spans_[count_ - 1];
      for (Index byte = 0; byte < span.bytes; byte += kLine) hwy::Prefetch(span.at + byte);
      span.at += span.stride;
      if (--span.rows == 0) --count_;
    }
  }

 private:
  struct Span {
    const char* at;
    Index stride;
    Index rows;
    Index bytes;
  };
  Span spans_[4];
  int count_ = 0;
};

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
