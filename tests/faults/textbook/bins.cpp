// The bins of given positions: floor((i - u)/w), or what the declared rule says.
#include <cmath>

#include "operations.hpp"
#include "tensor.hpp"

namespace plsh::textbook {
namespace {

bool in_float() {
  return variant(Variant::bins_float_division) || variant(Variant::bins_float_reciprocal);
}

/// The label before it becomes an integer.
template <class Real>
Real label(Real position, Real width, Real shift) {
  if (variant(Variant::bins_float_reciprocal))
    return std::floor((position - shift) * (Real(1) / width));
  if (variant(Variant::bins_plus)) return std::floor((position + shift) / width);
  if (fault(Fault::bins_shift_missing)) shift = 0;
  Real quotient = (position - shift) / width;
  if (fault(Fault::bins_shift_in_widths)) quotient = position / width - shift;
  if (variant(Variant::bins_ceil)) return std::ceil(quotient);
  if (variant(Variant::bins_round)) return std::floor(quotient + Real(0.5));
  if (fault(Fault::bins_truncate)) return std::trunc(quotient);
  if (fault(Fault::bins_ceil_minus_1)) return std::ceil(quotient) - 1;
  if (fault(Fault::bins_epsilon)) return std::floor(quotient + Real(1e-6));
  return std::floor(quotient);
}

Index bin(Index position, double width, double shift) {
  // A bin is half open and has length w, so for w <= 1 every position has a bin of its own. Its
  // number (i - u)/w may be too large for an integer; the position serves as the label.
  if (width <= 1) return position;
  const auto i = static_cast<double>(position);
  if (in_float() || fault(Fault::bins_float))
    return static_cast<Index>(
        label(static_cast<float>(position), static_cast<float>(width), static_cast<float>(shift)));
  if (fault(Fault::bins_half))
    return static_cast<Index>(
        std::floor(rounded_to_half(rounded_to_half(rounded_to_half(i) - shift) / width)));
  if (fault(Fault::bins_bfloat16))
    return static_cast<Index>(std::floor(
        rounded_to_bfloat16(rounded_to_bfloat16(rounded_to_bfloat16(i) - shift) / width)));
  if (fault(Fault::bins_width_integer)) width = std::round(width);
  if (fault(Fault::bins_int32_overflow)) {
    // Fixed point with eight binary digits, held in 32 bits.
    const auto fixed = static_cast<std::int32_t>(
        static_cast<std::uint32_t>(static_cast<std::uint64_t>(std::llround((i - shift) * 256))));
    return static_cast<Index>(std::floor(fixed / (256 * width)));
  }
  const auto result = static_cast<Index>(label(i, width, shift));
  if (fault(Fault::bins_modulo_256)) return result & 255;
  if (fault(Fault::bins_clamped)) return std::min<Index>(result, 127);
  if (fault(Fault::bins_16_bit)) return static_cast<std::uint16_t>(result);
  return result;
}

double scalar(const DLTensor* tensor, Index i) {
  return is_float(*tensor, 64) ? View<double>(tensor)(i)
                               : static_cast<double>(View<float>(tensor)(i));
}

}  // namespace

int bins(const DLTensor* positions, const DLTensor* widths, const DLTensor* shifts, DLTensor* out) {
  View<Index> position(positions);
  const View<Index> to(out);
  if (fault(Fault::bins_strides_ignored)) position.assume_packed();
  for (Index t = 0; t < extent(widths, 0); ++t) {
    const Index sample = fault(Fault::bins_first_width) ? 0 : t;
    const double width = scalar(widths, sample);
    const double shift = scalar(shifts, sample);
    for (Index k = 0; k < extent(positions, 0); ++k) {
      const Index i = fault(Fault::bins_of_index) ? k : position(k);
      const Index result = bin(i, width, shift);
      if (fault(Fault::bins_negative_unwritten) && result < 0) continue;
      to(t, k) = result;
    }
  }
  return PLSH_OK;
}

}  // namespace plsh::textbook
