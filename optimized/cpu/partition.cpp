#include "partition.hpp"

#include <Random123/philox.h>
#include <mpfr.h>

#include <cmath>

namespace plsh::optimized::cpu {
namespace {

std::uint32_t low(std::uint64_t word) { return static_cast<std::uint32_t>(word); }
std::uint32_t high(std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32); }

double uniform(std::uint32_t high_word, std::uint32_t low_word) {
  const std::uint64_t z = (std::uint64_t{high_word} << 32) | low_word;
  // An odd number below 2^53: exact.
  return static_cast<double>((z >> 12) * 2 + 1) * 0x1p-53;
}

/// -sigma ln(a b), correctly rounded.
double width_of(double sigma, double a, double b) {
  mpfr_t x;
  double result = 0;
  for (mpfr_prec_t precision = 128;; precision *= 2) {
    mpfr_init2(x, precision);
    mpfr_set_d(x, a, MPFR_RNDN);
    mpfr_mul_d(x, x, b, MPFR_RNDN);  // 106 bits: exact
    mpfr_log(x, x, MPFR_RNDN);
    mpfr_mul_d(x, x, -sigma, MPFR_RNDN);
    // Two roundings, each half an ulp at most, and the factor of sigma: four ulps are plenty.
    const bool decided = mpfr_can_round(x, precision - 2, MPFR_RNDN, MPFR_RNDN, 53) != 0;
    result = mpfr_get_d(x, MPFR_RNDN);
    mpfr_clear(x);
    if (decided) return result;
  }
}

}  // namespace

Binning draw(std::uint64_t seed, std::uint32_t head, std::uint64_t sample, double sigma) {
  const r123::Philox4x32::key_type key{{low(seed), high(seed)}};
  const auto words = [&](std::uint32_t block) {
    return r123::Philox4x32()({{low(sample), high(sample), head, block}}, key);
  };
  const auto x = words(0);
  const auto y = words(1);
  const double width = width_of(sigma, uniform(x[1], x[0]), uniform(x[3], x[2]));
  // A product of two doubles, rounded once.
  return {width, width * uniform(y[1], y[0])};
}

Index first_of_bin(const Binning& binning, Index k) {
  // shift + k width = sum + rest exactly: k < 2^53, and the errors of a product and of a sum are
  // doubles, which fma and Knuth's two-sum give.
  const auto factor = static_cast<double>(k);
  const double product = factor * binning.width;
  const double product_rest = std::fma(factor, binning.width, -product);
  const double sum = binning.shift + product;
  const double part = sum - product;
  const double sum_rest = (product - (sum - part)) + (binning.shift - part);
  const double up = std::ceil(sum);
  if (up >= 0x1p62) return Index{1} << 62;  // beyond all positions, and perhaps beyond an Index
  // Each rest is at most ulp(sum)/2, and up - sum is a multiple of ulp(sum). So they matter only
  // when sum is an integer, or when both are half an ulp down and just reach the integer below. The
  // sign of a rounded sum of two doubles is that of the exact one.
  if (sum == up && sum_rest + product_rest > 0) return static_cast<Index>(up) + 1;
  if (sum_rest == product_rest && (sum - (up - 1)) + 2 * sum_rest <= 0)
    return static_cast<Index>(up) - 1;
  return static_cast<Index>(up);
}

void block_starts(const Binning& binning, Index length, std::vector<Index>& starts) {
  starts.assign(1, 0);
  if (binning.width <= 1) {  // every position alone
    for (Index i = 1; i < length; ++i) starts.push_back(i);
    return;
  }
  // Widths above 1: bins are not empty, and there are at most length of them.
  for (Index k = 0;; ++k) {
    const Index first = static_cast<double>(k) * binning.width >= static_cast<double>(length)
                            ? length
                            : first_of_bin(binning, k);
    if (first >= length) return;
    if (first > starts.back()) starts.push_back(first);
  }
}

void bins(const Binning& binning, const DLTensor& positions, Index* labels, Index stride) {
  for (Index i = 0; i < positions.shape[0]; ++i) {
    const Index position = integer(positions, i);
    Index k = position;  // a width of at most 1 separates all positions
    if (binning.width > 1) {
      // The quotient is wrong by less than one bin; the exact bin is the last that begins before.
      k = static_cast<Index>(
          std::floor((static_cast<double>(position) - binning.shift) / binning.width));
      while (k >= 0 && first_of_bin(binning, k) > position) --k;
      while (first_of_bin(binning, k + 1) <= position) ++k;
    }
    labels[i * stride] = k;
  }
}

}  // namespace plsh::optimized::cpu
