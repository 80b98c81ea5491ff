/// \file
/// 16-bit floating-point types and the fast functions of the GPU.
#pragma once

#include <cstdint>

#include "dialect.cuh"

#if !defined(__CUDACC__)
#include <bit>
#include <cmath>
#include <limits>
#endif

namespace plsh::optimized::cuda {

/// bfloat16: 1 sign bit, 8 exponent bits, 7 fraction bits.
struct bf16 {
  std::uint16_t bits;
};

/// IEEE 754 binary16: 1 sign bit, 5 exponent bits, 10 fraction bits.
struct f16 {
  std::uint16_t bits;
};

/// x rounded to nearest, ties to even; subnormal numbers are kept. A NaN becomes one (PTX ISA,
/// "cvt").
template <class To>
__device__ To round_to(float x);

template <>
__device__ inline bf16 round_to<bf16>(float x) {
#if defined(__CUDACC__)
  bf16 result;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(result.bits) : "f"(x));
  return result;
#else
  if (std::isnan(x)) return {0x7fff};
  const auto bits = std::bit_cast<std::uint32_t>(x);
  return {static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16U) & 1U)) >> 16U)};
#endif
}

template <>
__device__ inline f16 round_to<f16>(float x) {
#if defined(__CUDACC__)
  f16 result;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result.bits) : "f"(x));
  return result;
#else
  if (std::isnan(x)) return {0x7fff};
  const std::uint32_t sign = (std::bit_cast<std::uint32_t>(x) >> 16U) & 0x8000U;
  const float magnitude = std::fabs(x);
  // Halfway between the greatest finite number, 65504, and the next that there would be.
  if (magnitude >= 65520.0f) return {static_cast<std::uint16_t>(sign | 0x7c00U)};
  // Adding 2^e pushes out the fraction bits that do not fit, and rounds them: to multiples of
  // 2^-24 below 2^-14, to 10 fraction bits above.
  if (magnitude < 0x1p-14f) {
    const auto shifted = std::bit_cast<std::uint32_t>(magnitude + 0.5f);
    return {static_cast<std::uint16_t>(sign | (shifted - std::bit_cast<std::uint32_t>(0.5f)))};
  }
  const auto bits = std::bit_cast<std::uint32_t>(magnitude);
  const std::uint32_t rounded = bits + 0xfffU + ((bits >> 13U) & 1U);
  return {static_cast<std::uint16_t>(sign | ((rounded - (112U << 23U)) >> 13U))};
#endif
}

/// Exact.
__device__ inline float to_float(bf16 x) {
#if defined(__CUDACC__)
  return __uint_as_float(static_cast<std::uint32_t>(x.bits) << 16U);
#else
  return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16U);
#endif
}

/// Exact.
__device__ inline float to_float(f16 x) {
#if defined(__CUDACC__)
  float result;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(x.bits));
  return result;
#else
  const std::uint32_t sign = (x.bits & 0x8000U) << 16U;
  const std::uint32_t magnitude = x.bits & 0x7fffU;
  if (magnitude >= 0x7c00U)  // infinity and NaN
    return std::bit_cast<float>(sign | 0x7f800000U | ((magnitude & 0x3ffU) << 13U));
  // The exponent of the wider format is 112 higher; the product also normalizes subnormal numbers.
  const float value = std::bit_cast<float>(magnitude << 13U) * 0x1p112f;
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(value));
#endif
}

/// Two numbers in a register as matrix fragments want them: the first in the lower half.
template <class T>
__device__ std::uint32_t pack(T first, T second) {
  return static_cast<std::uint32_t>(first.bits) | static_cast<std::uint32_t>(second.bits) << 16U;
}

#if !defined(__CUDACC__)
namespace host {
/// What the .ftz instructions do to subnormal numbers: zero of the same sign.
inline float flushed(float x) {
  return std::fabs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0f, x) : x;
}
}  // namespace host
#endif

/// 2^x; 0 where that is subnormal. On the GPU with a relative error of at most 2^-22 (PTX ISA,
/// "ex2"), on the host nearly correctly rounded.
__device__ inline float exp2_approx(float x) {
#if defined(__CUDACC__)
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
#else
  return host::flushed(std::exp2(host::flushed(x)));
#endif
}

/// The binary logarithm, with subnormal x taken for 0. On the GPU with an absolute error of at most
/// 2^-22 for 1/2 < x < 2, elsewhere a relative error of at most 2^-22 (PTX ISA, "lg2"), on the host
/// nearly correctly rounded.
__device__ inline float log2_approx(float x) {
#if defined(__CUDACC__)
  float result;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
#else
  return std::log2(host::flushed(x));
#endif
}

/// 1/x, with subnormal arguments and results taken for 0. On the GPU with an error of at most one
/// unit in the last place (PTX ISA, "rcp"), on the host correctly rounded.
__device__ inline float reciprocal_approx(float x) {
#if defined(__CUDACC__)
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
#else
  return host::flushed(1.0f / host::flushed(x));
#endif
}

}  // namespace plsh::optimized::cuda
