#include <Random123/philox.h>
#include <mpfr.h>

#include <plsh/reference/sampling.hpp>

#include "validate.hpp"

namespace plsh::reference {
namespace {

double uniform(std::uint32_t low, std::uint32_t high) {
  const std::uint64_t word = (static_cast<std::uint64_t>(high) << 32) | low;
  return static_cast<double>(2 * (word >> 12) + 1) * 0x1p-53;
}

std::uint32_t low_word(std::uint64_t x) { return static_cast<std::uint32_t>(x); }
std::uint32_t high_word(std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); }

/// -sigma ln(a b), correctly rounded to double: evaluated with more and more bits until the
/// rounding is decided (Ziv's strategy).
double scaled_negative_log(double a, double b, double sigma) {
  mpfr_t product;
  mpfr_init2(product, 106);
  mpfr_set_d(product, a, MPFR_RNDN);
  mpfr_mul_d(product, product, b, MPFR_RNDN);  // exact: 53 + 53 bits
  double result = 0;
  for (mpfr_prec_t bits = 96;; bits *= 2) {
    mpfr_t value;
    mpfr_init2(value, bits);
    mpfr_log(value, product, MPFR_RNDN);
    mpfr_mul_d(value, value, -sigma, MPFR_RNDN);
    const bool decided = mpfr_can_round(value, bits - 2, MPFR_RNDN, MPFR_RNDN, 53) != 0;
    result = mpfr_get_d(value, MPFR_RNDN);
    mpfr_clear(value);
    if (decided) break;
  }
  mpfr_clear(product);
  return result;
}

}  // namespace

Uniforms draw_uniforms(const SampleId& id) {
  const r123::Philox4x32::key_type key{{low_word(id.seed), high_word(id.seed)}};
  const auto words = [&](std::uint32_t block) {
    const r123::Philox4x32::ctr_type counter{
        {low_word(id.sample), high_word(id.sample), id.head, block}};
    return r123::Philox4x32()(counter, key);
  };
  const auto x = words(0);
  const auto y = words(1);
  return {uniform(x[0], x[1]), uniform(x[2], x[3]), uniform(y[0], y[1])};
}

Binning draw_binning(const SampleId& id, double sigma) {
  require(sigma >= 1e-150 && sigma <= 1e150,
          "sigma = " + std::to_string(sigma) + " is outside 1e-150..1e150");
  const Uniforms u = draw_uniforms(id);
  const double width = scaled_negative_log(u.first, u.second, sigma);
  return {width, width * u.third};
}

std::vector<Partition> draw_partitions(Index length, double sigma, std::uint64_t seed,
                                       std::uint32_t head, Index count, std::uint64_t first) {
  require_range("count", count, 1, max_length);
  std::vector<Partition> result;
  result.reserve(static_cast<std::size_t>(count));
  for (Index k = 0; k < count; ++k)
    result.push_back(partition_of(
        length, draw_binning({seed, head, first + static_cast<std::uint64_t>(k)}, sigma)));
  return result;
}

}  // namespace plsh::reference
