// The 16-bit types and the fast functions of the host.
#include <gtest/gtest.h>
#include <plsh/optimized/cuda/device/numbers.cuh>

#include <bit>
#include <cmath>
#include <limits>

namespace plsh::optimized::cuda {
namespace {

template <class T>
class SixteenBits : public testing::Test {
 public:
  // The bits of infinity; those of finite numbers >= 0 are less.
  static constexpr int kInfinity = std::is_same_v<T, bf16> ? 0x7f80 : 0x7c00;

  static T from_bits(int bits) { return {static_cast<std::uint16_t>(bits)}; }
  static int rounded(float x) { return round_to<T>(x).bits; }
};
using Types = testing::Types<bf16, f16>;
TYPED_TEST_SUITE(SixteenBits, Types);

TYPED_TEST(SixteenBits, EveryNumberSurvivesTheWayToFloatAndBack) {
  for (int bits = 0; bits < 0x10000; ++bits) {
    const float x = to_float(this->from_bits(bits));
    if ((bits & 0x7fff) > this->kInfinity)
      EXPECT_TRUE(std::isnan(x) && std::isnan(to_float(round_to<TypeParam>(x)))) << bits;
    else
      EXPECT_EQ(this->rounded(x), bits);
  }
}

TYPED_TEST(SixteenBits, ValuesAreThoseOfTheFormat) {
  const bool is_bf16 = std::is_same_v<TypeParam, bf16>;
  const auto value = [&](int bits) { return to_float(this->from_bits(bits)); };
  EXPECT_EQ(value(is_bf16 ? 0x3f80 : 0x3c00), 1.0f);
  EXPECT_EQ(value(is_bf16 ? 0xc040 : 0xc200), -3.0f);
  EXPECT_EQ(value(1), is_bf16 ? 0x1p-133f : 0x1p-24f);
  EXPECT_EQ(value(this->kInfinity - 1), is_bf16 ? 0x1.fep127f : 65504.0f);
  EXPECT_EQ(value(this->kInfinity), std::numeric_limits<float>::infinity());
}

TYPED_TEST(SixteenBits, RoundingIsToNearestTiesToEven) {
  for (int bits = 0; bits + 1 < this->kInfinity; ++bits) {
    const float low = to_float(this->from_bits(bits));
    const float high = to_float(this->from_bits(bits + 1));
    const float middle = low + (high - low) / 2;  // exact
    EXPECT_EQ(this->rounded(middle), bits + bits % 2);
    EXPECT_EQ(this->rounded(std::nextafter(middle, low)), bits);
    EXPECT_EQ(this->rounded(std::nextafter(middle, high)), bits + 1);
    EXPECT_EQ(this->rounded(-middle), 0x8000 + bits + bits % 2);
  }
}

TYPED_TEST(SixteenBits, LargeNumbersBecomeInfinite) {
  const float greatest = to_float(this->from_bits(this->kInfinity - 1));
  const float before = to_float(this->from_bits(this->kInfinity - 2));
  const float limit = greatest + (greatest - before) / 2;
  EXPECT_EQ(this->rounded(limit), this->kInfinity);
  EXPECT_EQ(this->rounded(std::nextafter(limit, 0.0f)), this->kInfinity - 1);
  EXPECT_EQ(this->rounded(-std::numeric_limits<float>::infinity()), 0x8000 + this->kInfinity);
}

TEST(Numbers, PackPutsTheFirstIntoTheLowerHalf) {
  EXPECT_EQ(pack(bf16{0x1234}, bf16{0xabcd}), 0xabcd1234U);
}

TEST(Numbers, FastFunctionsFlushSubnormalNumbers) {
  const float least = std::numeric_limits<float>::min();
  EXPECT_EQ(exp2_approx(3.0f), 8.0f);
  EXPECT_EQ(exp2_approx(-126.0f), least);
  EXPECT_EQ(exp2_approx(-127.0f), 0.0f);
  EXPECT_EQ(exp2_approx(-std::numeric_limits<float>::infinity()), 0.0f);
  EXPECT_EQ(log2_approx(0.125f), -3.0f);
  EXPECT_EQ(log2_approx(least / 2), -std::numeric_limits<float>::infinity());
  EXPECT_EQ(reciprocal_approx(4.0f), 0.25f);
  EXPECT_EQ(reciprocal_approx(-least / 2), -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::signbit(reciprocal_approx(-0x1p127f)));
  EXPECT_EQ(reciprocal_approx(-0x1p127f), 0.0f);
}

}  // namespace
}  // namespace plsh::optimized::cuda
