// The slopes of H heads, after the ALiBi authors' code: for H a power of two 2^(-8 (h+1)/H); else
// those of the largest power of two P < H, then every second slope of the set for 2 P heads.
#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <vector>

#include "operations.hpp"
#include "tensor.hpp"

namespace plsh::textbook {
namespace {

/// Slope h of `heads` heads, a power of two.
double geometric(Index h, Index heads) {
  Index step = h + 1;
  if (fault(Fault::slopes_first_is_one)) step = h;
  if (fault(Fault::slopes_exponent_off_by_one)) step = h + 2;
  if (fault(Fault::slopes_integer_division)) {
    const Index ratio = 8 / heads;
    return std::exp2(static_cast<double>(-ratio * step));
  }
  const double exponent = -8.0 * static_cast<double>(step) / static_cast<double>(heads);
  return fault(Fault::slopes_base_e) ? std::exp(exponent) : std::exp2(exponent);
}

std::vector<double> all_slopes(Index heads) {
  std::vector<double> result;
  if (variant(Variant::geometric_slopes) || fault(Fault::slopes_geometric)) {
    for (Index h = 0; h < heads; ++h) result.push_back(geometric(h, heads));
    return result;
  }
  auto power = static_cast<Index>(std::bit_floor(static_cast<std::uint64_t>(heads)));
  if (fault(Fault::slopes_power_above) && power < heads) power *= 2;
  for (Index h = 0; h < std::min(power, heads); ++h) result.push_back(geometric(h, power));
  for (Index h = 0; static_cast<Index>(result.size()) < heads; ++h) {
    const Index second = fault(Fault::slopes_extra_odd) ? 2 * h + 1 : 2 * h;
    result.push_back(geometric(second, 2 * power));
  }
  return result;
}

}  // namespace

int slopes(DLTensor* out) {
  const Index heads = extent(out, 0);
  View<float> to(out);
  if (fault(Fault::slopes_strides_ignored)) to.assume_packed();
  std::vector<double> values = all_slopes(heads);
  if (fault(Fault::slopes_sorted)) std::sort(values.begin(), values.end(), std::greater<>());
  if (fault(Fault::slopes_reversed)) std::reverse(values.begin(), values.end());
  for (Index h = 0; h < heads; ++h) {
    double slope = values[static_cast<std::size_t>(h)];
    if (fault(Fault::slopes_bfloat16)) slope = rounded_to_bfloat16(slope);
    if (fault(Fault::slopes_last_unwritten) && h == heads - 1 && heads > 1) continue;
    to(h) = static_cast<float>(slope);
  }
  return PLSH_OK;
}

}  // namespace plsh::textbook
