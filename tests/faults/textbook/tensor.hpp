/// \file
/// Strided access to DLPack tensors, and the two 16-bit types.
#pragma once

#include <dlpack/dlpack.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "faults.hpp"

namespace plsh::textbook {

using Index = std::int64_t;

// ---- number types -----------------------------------------------------------------------------

struct Half {
  std::uint16_t bits;
};
struct Bfloat16 {
  std::uint16_t bits;
};

inline float to_float(Half x) {
  const int exponent = (x.bits >> 10) & 31;
  const int mantissa = x.bits & 1023;
  float magnitude;
  if (exponent == 31)
    magnitude = mantissa == 0 ? std::numeric_limits<float>::infinity()
                              : std::numeric_limits<float>::quiet_NaN();
  else if (exponent == 0)
    magnitude = std::ldexp(static_cast<float>(mantissa), -24);
  else
    magnitude = std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
  return (x.bits >> 15) != 0 ? -magnitude : magnitude;
}

inline float to_float(Bfloat16 x) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16);
}

/// To nearest, ties to even.
inline Half to_half(float x) {
  const unsigned sign = std::signbit(x) ? 0x8000U : 0U;
  unsigned magnitude;
  const double a = std::fabs(static_cast<double>(x));
  if (std::isnan(x)) {
    magnitude = 0x7E00U;
  } else if (a >= 65520) {  // halfway from the largest finite number to the next power of two
    magnitude = 0x7C00U;
  } else if (a == 0) {
    magnitude = 0;
  } else {
    // Numbers below 2^-14 are subnormal: they share the spacing of the smallest normal ones. A
    // significand that rounds up to 2048 carries into the exponent by itself.
    const int exponent = std::max(std::ilogb(a), -14);
    const double significand = std::nearbyint(std::ldexp(a, 10 - exponent));
    magnitude = (static_cast<unsigned>(exponent + 14) << 10) + static_cast<unsigned>(significand);
  }
  return {static_cast<std::uint16_t>(sign | magnitude)};
}

/// To nearest, ties to even.
inline Bfloat16 to_bfloat16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if (std::isnan(x)) return {static_cast<std::uint16_t>((bits >> 16) | 0x40U)};
  const std::uint32_t odd = (bits >> 16) & 1U;
  return {static_cast<std::uint16_t>((bits + 0x7FFFU + odd) >> 16)};
}

template <class Real>
Real rounded_to_half(Real x) {
  return static_cast<Real>(to_float(to_half(static_cast<float>(x))));
}
template <class Real>
Real rounded_to_bfloat16(Real x) {
  return static_cast<Real>(to_float(to_bfloat16(static_cast<float>(x))));
}

template <class Real>
Real load(float x) {
  return static_cast<Real>(x);
}
template <class Real>
Real load(double x) {
  return static_cast<Real>(x);
}
template <class Real>
Real load(Half x) {
  return static_cast<Real>(to_float(x));
}
template <class Real>
Real load(Bfloat16 x) {
  return static_cast<Real>(to_float(x));
}

template <class Real>
void store(float& to, Real x) {
  to = static_cast<float>(x);
}
template <class Real>
void store(double& to, Real x) {
  to = static_cast<double>(x);
}
template <class Real>
void store(Half& to, Real x) {
  to = to_half(static_cast<float>(x));
}
template <class Real>
void store(Bfloat16& to, Real x) {
  to = to_bfloat16(static_cast<float>(x));
}

// ---- tensors ----------------------------------------------------------------------------------

inline bool is_float(const DLTensor& tensor, int bits) {
  return tensor.dtype.code == kDLFloat && tensor.dtype.bits == bits;
}
inline bool is_bfloat16(const DLTensor& tensor) { return tensor.dtype.code == kDLBfloat; }

inline Index extent(const DLTensor* tensor, int axis) { return tensor->shape[axis]; }

/// A tensor of at most four axes. Offsets are 64 bits wide: strides are the caller's choice.
template <class T>
class View {
 public:
  explicit View(const DLTensor* tensor) : data_(static_cast<T*>(tensor->data)) {
    const int missing = 4 - tensor->ndim;
    for (int axis = 0; axis < 4; ++axis) {
      shape_[axis] = axis < missing ? 1 : tensor->shape[axis - missing];
      strides_[axis] = axis < missing ? 0 : tensor->strides[axis - missing];
    }
    if (fault(Fault::broadcast_stride_ignored)) {
      Index packed = 1;
      for (int axis = 3; axis >= missing; --axis) {
        if (strides_[axis] == 0) strides_[axis] = packed;
        packed *= shape_[axis];
      }
    }
  }

  /// Indices are those of the last axes.
  T& operator()(Index i) const { return at(0, 0, 0, i); }
  T& operator()(Index i, Index j) const { return at(0, 0, i, j); }
  T& operator()(Index i, Index j, Index k) const { return at(0, i, j, k); }
  T& operator()(Index i, Index j, Index k, Index l) const { return at(i, j, k, l); }

  Index shape(int axis) const { return shape_[axis]; }

  /// For faults: forget the strides, or take another axis's.
  void assume_packed() {
    Index packed = 1;
    for (int axis = 3; axis >= 0; --axis) {
      strides_[axis] = packed;
      packed *= shape_[axis];
    }
  }
  void swap_strides(int a, int b) { std::swap(strides_[a], strides_[b]); }

  /// One past the element with the largest offset, or null when there are no elements.
  T* end() const {
    Index offset = 1;
    for (int axis = 0; axis < 4; ++axis) {
      if (shape_[axis] == 0) return nullptr;
      offset += (shape_[axis] - 1) * strides_[axis];
    }
    return data_ + offset;
  }

 private:
  T& at(Index i, Index j, Index k, Index l) const {
    const Index offset = i * strides_[0] + j * strides_[1] + k * strides_[2] + l * strides_[3];
    if (fault(Fault::offset_int32)) return data_[static_cast<std::int32_t>(offset)];
    return data_[offset];
  }

  T* data_;
  Index shape_[4];
  Index strides_[4];
};

}  // namespace plsh::textbook
