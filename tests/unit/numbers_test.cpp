// The number types, the root finder and the slopes.
#include <functional>
#include <plsh/reference/roots.hpp>
#include <plsh/reference/slopes.hpp>

#include "support.hpp"

namespace plsh::reference::test {
namespace {

// ---- precision -------------------------------------------------------------------------------

TEST(PrecisionScope, RejectsDigitsOutsideItsRange) {
  EXPECT_TRUE(rejects("precision", [] { PrecisionScope scope(16); }));
  EXPECT_TRUE(rejects("precision", [] { PrecisionScope scope(0); }));
  EXPECT_TRUE(rejects("precision", [] { PrecisionScope scope(100'001); }));
  EXPECT_NO_THROW(PrecisionScope scope(17));
  EXPECT_NO_THROW(PrecisionScope scope(100'000));
}

TEST(PrecisionScope, SetsAndRestoresThePrecision) {
  const unsigned before = working_precision_bits();
  {
    PrecisionScope outer(60);
    // 60 digits need 60 log2(10) = 199.3 bits.
    EXPECT_GE(working_precision_bits(), 200u);
    EXPECT_GE(mpfr_get_prec(Mpfr(1).backend().data()), 200);
    const unsigned outer_bits = working_precision_bits();
    {
      PrecisionScope inner(300);
      EXPECT_GE(working_precision_bits(), 997u);  // 300 log2(10) = 996.6
    }
    EXPECT_EQ(working_precision_bits(), outer_bits);
    EXPECT_TRUE(rejects("precision", [] { PrecisionScope scope(3); }));
    EXPECT_EQ(working_precision_bits(), outer_bits);
  }
  EXPECT_EQ(working_precision_bits(), before);
}

// ---- decimals and rationals ------------------------------------------------------------------

template <class Real>
class Decimal : public ::testing::Test {};
using AllReals = ::testing::Types<double, Mpfr, Interval>;
TYPED_TEST_SUITE(Decimal, AllReals);

TYPED_TEST(Decimal, RejectsWhatIsNotOneFiniteDecimal) {
  PrecisionScope scope(60);
  for (const char* text :
       {"",  "abc", "1e",  "nan", "inf", "-inf", "Infinity", "NaN",   "1 2",   " 1",  "1 ",  "+",
        "-", ".",   "+-1", "--1", "++1", "1,5",  "0x10",     "[1,2]", "1e5.5", "1d3", "1\n", "e5"})
    EXPECT_TRUE(rejects("decimal", [&] { from_decimal<TypeParam>(text); })) << '"' << text << '"';
}

TYPED_TEST(Decimal, ReadsEveryOrdinaryForm) {
  PrecisionScope scope(60);
  EXPECT_TRUE(from_decimal<TypeParam>("+5") == TypeParam(5));
  EXPECT_TRUE(from_decimal<TypeParam>("-2.5") == TypeParam(-2.5));
  EXPECT_TRUE(from_decimal<TypeParam>(".5") == TypeParam(0.5));
  EXPECT_TRUE(from_decimal<TypeParam>("5.") == TypeParam(5));
  EXPECT_TRUE(from_decimal<TypeParam>("25E1") == TypeParam(250));
  EXPECT_TRUE(from_decimal<TypeParam>("1e+3") == TypeParam(1000));
  EXPECT_TRUE(from_decimal<TypeParam>("010") == TypeParam(10));
  EXPECT_TRUE(from_decimal<TypeParam>("0") == TypeParam(0));
}

TEST(Decimal, IsNearestForDoubleAndEnclosingForIntervals) {
  PrecisionScope scope(60);
  EXPECT_EQ(from_decimal<double>("0.1"), 0.1);
  EXPECT_EQ(from_decimal<double>("1e-310"), 1e-310);  // subnormal
  EXPECT_EQ(from_decimal<double>("1e-400"), 0.0);
  EXPECT_TRUE(rejects("decimal", [] { from_decimal<double>("1e400"); }));

  const Rational tenth(1, 10);
  const auto x = from_decimal<Interval>("0.1");
  EXPECT_TRUE(holds(x, tenth));
  EXPECT_FALSE(contains(x, 0.1));  // the double 0.1 is not 1/10
  EXPECT_TRUE(certainly_positive(width(x)));
  EXPECT_TRUE(narrower(x, "1e-60"));
}

RC_GTEST_PROP(Decimal, EnclosesTheRationalThatTheTextMeans, ()) {
  PrecisionScope scope(30);
  const auto mantissa = *rc::gen::inRange<Index>(-1'000'000'000'000'000, 1'000'000'000'000'000);
  const auto exponent = *rc::gen::inRange(-40, 41);
  const Integer power =
      boost::multiprecision::pow(Integer(10), static_cast<unsigned>(std::abs(exponent)));
  const Rational value = exponent < 0 ? Rational(Rational(mantissa) / Rational(power))
                                      : Rational(Rational(mantissa) * Rational(power));
  const auto x = from_decimal<Interval>(std::to_string(mantissa) + "e" + std::to_string(exponent));
  RC_ASSERT(contains(x, value));
  // One unit in the last place at most: 2^(1 - bits) times the magnitude.
  RC_ASSERT(width(x) <= ldexp(abs(upper(x)), 2 - static_cast<int>(working_precision_bits())));
}

RC_GTEST_PROP(Rational, BecomesTheNearestDoubleAndAnEnclosure, ()) {
  PrecisionScope scope(30);
  const auto p = *rc::gen::inRange<Index>(-1'000'000'000, 1'000'000'000);
  const auto q = *rc::gen::inRange<Index>(1, 1'000'000'000);
  const Rational value = Rational(p) / Rational(q);
  RC_ASSERT(contains(from_rational<Interval>(value), value));
  RC_ASSERT(contains(ratio<Interval>(p, q), value));
  const auto nearest = from_rational<double>(value);
  const auto error = [&](double x) {
    return Rational(boost::multiprecision::abs(Rational(Rational(x) - value)));
  };
  RC_ASSERT(error(nearest) <= error(std::nextafter(nearest, -1e300)));
  RC_ASSERT(error(nearest) <= error(std::nextafter(nearest, 1e300)));
}

// ---- functions -------------------------------------------------------------------------------

struct Function {
  const char* name;
  Mpfr (*at_point)(const Mpfr&);
  Interval (*at_interval)(const Interval&);
  double low;  // tested arguments
  double high;
};

#define PLSH_FUNCTION(NAME, LOW, HIGH)                                                            \
  Function {                                                                                      \
#NAME, [](const Mpfr& x) { return NAME(x); }, [](const Interval& x) { return NAME(x); }, LOW, \
                                                                                          HIGH    \
  }
const std::vector<Function>& functions() {
  static const std::vector<Function> list{
      PLSH_FUNCTION(exp, -700, 700), PLSH_FUNCTION(expm1, -40, 40),
      PLSH_FUNCTION(log, 1e-9, 1e9), PLSH_FUNCTION(log1p, -0.999, 100),
      PLSH_FUNCTION(sqrt, 0, 1e6),   PLSH_FUNCTION(sin, -10, 10),
      PLSH_FUNCTION(tan, -1.5, 1.5), PLSH_FUNCTION(sinh, -50, 50),
      PLSH_FUNCTION(tanh, -20, 20),  PLSH_FUNCTION(abs, -5, 5)};
  return list;
}
#undef PLSH_FUNCTION

TEST(IntervalFunctions, HoldTheValueAtMuchHigherPrecision) {
  Source source(1);
  int cases = 0;
  for (const Function& f : functions()) {
    for (int k = 0; k < 200; ++k, ++cases) {
      const double x = f.low + (f.high - f.low) * source.uniform();
      Interval y;
      {
        PrecisionScope scope(30);
        y = f.at_interval(Interval(x));
      }
      PrecisionScope scope(200);
      const Mpfr value = f.at_point(Mpfr(x));
      ASSERT_TRUE(holds(y, value)) << f.name << "(" << x << ")";
      // Tight: at most one unit in the last place of at least 30 digits, 2 10^-30 of the value.
      ASSERT_LE(width(y), abs(value) * Mpfr("2e-30")) << f.name << "(" << x << ")";
      // A fault of 10^-25 of the value is seen.
      const Mpfr wrong = value * (1 + Mpfr("1e-25"));
      ASSERT_FALSE(contains(y, wrong)) << f.name << "(" << x << ")";
    }
  }
  EXPECT_EQ(cases, 2000);
}

TEST(IntervalFunctions, EncloseTheImageOfAnInterval) {
  Source source(2);
  int cases = 0;
  for (const Function& f : functions()) {
    for (int k = 0; k < 50; ++k) {
      double a = f.low + (f.high - f.low) * source.uniform();
      double b = f.low + (f.high - f.low) * source.uniform();
      if (a > b) std::swap(a, b);
      PrecisionScope scope(30);
      const Interval image = f.at_interval(hull(Interval(a), Interval(b)));
      for (int m = 0; m <= 8; ++m, ++cases) {
        const double x = std::clamp(a + (b - a) * m / 8, a, b);
        ASSERT_TRUE(overlaps(image, f.at_interval(Interval(x)))) << f.name << "(" << x << ")";
      }
    }
  }
  EXPECT_EQ(cases, 10 * 50 * 9);
}

TEST(Interval, PointsEndsAndComparisons) {
  PrecisionScope scope(40);
  const Interval one_to_two = hull(Interval(1), Interval(2));
  EXPECT_EQ(lower(one_to_two), 1);
  EXPECT_EQ(upper(one_to_two), 2);
  EXPECT_EQ(width(one_to_two), 1);
  EXPECT_EQ(to_double(one_to_two), 1.5);
  EXPECT_EQ(width(point(one_to_two)), 0);
  EXPECT_TRUE(contains(one_to_two, point(one_to_two)));
  EXPECT_TRUE(contains(one_to_two, 1.0));
  EXPECT_TRUE(contains(one_to_two, Rational(4, 3)));
  EXPECT_FALSE(contains(one_to_two, Rational(5, 2)));
  EXPECT_TRUE(contains(one_to_two, Mpfr(2)));
  EXPECT_FALSE(contains(one_to_two, std::nextafter(2.0, 3.0)));
  EXPECT_TRUE(contains(hull(Interval(0), Interval(3)), one_to_two));
  EXPECT_FALSE(contains(one_to_two, hull(Interval(0), Interval(3))));
  EXPECT_TRUE(overlap(one_to_two, hull(Interval(2), Interval(3))));  // they share one number
  EXPECT_FALSE(overlap(one_to_two, hull(Interval(2.5), Interval(3))));
  EXPECT_FALSE(overlap(hull(Interval(2.5), Interval(3)), one_to_two));
  EXPECT_TRUE(certainly_positive(one_to_two));
  EXPECT_FALSE(certainly_positive(hull(Interval(0), Interval(3))));
  EXPECT_TRUE(certainly_negative(Interval(-one_to_two)));
  EXPECT_FALSE(certainly_negative(hull(Interval(-3), Interval(0))));
  const Interval larger = max(one_to_two, hull(Interval(0), Interval(1.5)));
  EXPECT_EQ(lower(larger), 1);
  EXPECT_EQ(upper(larger), 2);
  EXPECT_EQ(max(1.0, 2.0), 2.0);
  EXPECT_EQ(max(Mpfr(2), Mpfr(1)), 2);
}

TEST(Interval, PiAgreesAcrossTypesAndPrecisions) {
  PrecisionScope high(120);
  const Mpfr value = pi<Mpfr>();
  EXPECT_EQ(to_double(value), pi<double>());
  PrecisionScope low(40);
  EXPECT_TRUE(holds(pi<Interval>(), value));
  EXPECT_TRUE(narrower(pi<Interval>(), "1e-39"));
}

// ---- certified digits ------------------------------------------------------------------------

TEST(CertifiedDigits, PrintsKnownConstants) {
  PrecisionScope scope(70);
  // Published digits: pi = 3.14159265358979323846264338327950288419716939937510 58..., rounded
  // to 50.
  EXPECT_EQ(certified_digits(pi<Interval>(), 50),
            "3.1415926535897932384626433832795028841971693993751e+00");
  // e = 2.71828182845904523536028747135266249775724709369995 95..., rounded to 50.
  EXPECT_EQ(certified_digits(exp(Interval(1)), 50),
            "2.7182818284590452353602874713526624977572470937000e+00");
  EXPECT_EQ(certified_digits(ratio<Interval>(1, 3), 6), "3.33333e-01");
  EXPECT_EQ(certified_digits(ratio<Interval>(-2, 3), 6), "-6.66667e-01");
  EXPECT_EQ(certified_digits(Interval(1), 3), "1.00e+00");
  EXPECT_EQ(certified_digits(Interval(0), 3), "0.00e+00");
}

TEST(CertifiedDigits, PrintsNoMoreDigitsThanAreCertain) {
  int cases = 0;
  for (const unsigned precision : {17u, 20u, 25u, 30u, 40u}) {
    Interval root;
    std::string text;
    {
      PrecisionScope scope(precision);
      root = sqrt(Interval(2)) * pi<Interval>();
      text = certified_digits(root, 200);
    }
    PrecisionScope scope(120);
    const Mpfr truth = sqrt(Mpfr(2)) * pi<Mpfr>();
    const auto e = text.find('e');
    ASSERT_NE(e, std::string::npos);
    const auto printed = static_cast<int>(e) - 1;  // digits, without the point
    EXPECT_LE(printed, static_cast<int>(precision) + 3);
    EXPECT_GE(printed, static_cast<int>(precision) - 3);
    // Correctly rounded: within half a unit in the last printed place (exponent 0).
    EXPECT_LE(abs(Mpfr(Mpfr(text.c_str()) - truth)), pow(Mpfr(10), 1 - printed) / 2) << text;
    ++cases;
  }
  EXPECT_EQ(cases, 5);
}

TEST(CertifiedDigits, ThrowsWhenNoDigitIsCertain) {
  PrecisionScope scope(40);
  EXPECT_THROW(certified_digits(hull(Interval(-1), Interval(1)), 5), std::domain_error);
  EXPECT_THROW(certified_digits(hull(Interval(1), Interval(3)), 5), std::domain_error);
  EXPECT_THROW(certified_digits(log(Interval(-1)), 5), std::domain_error);  // NaN
  EXPECT_TRUE(rejects("digits", [] { certified_digits(Interval(1), 0); }));
  EXPECT_EQ(certified_digits(hull(Interval(1.01), Interval(1.02)), 5), "1.0e+00");
}

// ---- roots -----------------------------------------------------------------------------------

TEST(RootOfDecreasing, EnclosesTheSquareRootOfTwo) {
  Interval root;
  {
    PrecisionScope scope(60);
    root = root_of_decreasing<Interval>(
        [](const Interval& x) { return Interval(Interval(2) - x * x); }, Interval(0), Interval(2));
    EXPECT_TRUE(narrower(root, "1e-55"));
    const double in_double =
        root_of_decreasing<double>([](const double& x) { return 2 - x * x; }, 0.0, 2.0);
    // 2 - x^2 is decided by its sign in double: x^2 carries half an ulp, so x is within two ulps.
    EXPECT_NEAR(in_double, std::sqrt(2.0), 2 * 0x1p-52);
  }
  PrecisionScope scope(120);
  EXPECT_TRUE(holds(root, sqrt(Mpfr(2))));
  EXPECT_FALSE(contains(root, Mpfr(sqrt(Mpfr(2)) + Mpfr("1e-54"))));
}

TEST(RootOfDecreasing, IsNotStoppedByAMiddleThatIsTheRoot) {
  PrecisionScope scope(60);
  // The first middle of [0, 2] is the root of 1 - x exactly; so is a later one of [0, 4].
  for (const double high : {2.0, 4.0, 3.0}) {
    const auto root = root_of_decreasing<Interval>(
        [](const Interval& x) { return Interval(Interval(1) - x); }, Interval(0), Interval(high));
    EXPECT_TRUE(holds(root, 1.0)) << high;
    EXPECT_TRUE(narrower(root, "1e-55")) << high;
  }
  EXPECT_EQ(root_of_decreasing<double>([](const double& x) { return 1 - x; }, 0.0, 2.0), 1.0);
}

RC_GTEST_PROP(RootOfDecreasing, EnclosesCubeRoots, ()) {
  PrecisionScope scope(40);
  const auto n = *rc::gen::inRange<Index>(1, 1'000'000'000);
  const auto root = root_of_decreasing<Interval>(
      [&](const Interval& x) { return Interval(Interval(n) - x * x * x); }, Interval(0),
      Interval(1001));
  // a <= cube root <= b, decided in rationals at the end points.
  const auto cube = [](const Mpfr& x) {
    Rational q;
    mpfr_get_q(q.backend().data(), x.backend().data());
    return Rational(q * q * q);
  };
  RC_ASSERT(cube(lower(root)) <= n);
  RC_ASSERT(cube(upper(root)) >= n);
  RC_ASSERT(width(root) < Mpfr("1e-33"));
}

// ---- slopes ----------------------------------------------------------------------------------

// The algorithm as the ALiBi authors published it, in high precision: start = 2^(-2^(3 - log2 n)),
// a geometric sequence; for other n the largest power of two below, then every second slope of
// twice that number.
std::vector<Mpfr> published_slopes(int heads) {
  int exponent = 0;
  while ((2 << exponent) <= heads) ++exponent;
  const int power = 1 << exponent;
  const auto of_power_of_two = [](int log2_count) {
    const Mpfr start = pow(Mpfr(2), Mpfr(-pow(Mpfr(2), Mpfr(3 - log2_count))));
    std::vector<Mpfr> result;
    Mpfr slope = start;
    for (int k = 0; k < (1 << log2_count); ++k, slope *= start) result.push_back(slope);
    return result;
  };
  std::vector<Mpfr> result = of_power_of_two(exponent);
  if (power == heads) return result;
  const std::vector<Mpfr> twice = of_power_of_two(exponent + 1);
  for (int k = 0; static_cast<int>(result.size()) < heads; k += 2)
    result.push_back(twice[static_cast<std::size_t>(k)]);
  return result;
}

TEST(Slopes, AreThoseOfThePublishedAlgorithm) {
  PrecisionScope scope(60);
  for (const int heads : {1, 2, 3, 4, 6, 7, 8, 12, 16, 32, 40, 112}) {
    const std::vector<double> slopes = alibi_slopes(heads);
    const std::vector<Mpfr> expected = published_slopes(heads);
    ASSERT_EQ(slopes.size(), static_cast<std::size_t>(heads));
    ASSERT_EQ(expected.size(), slopes.size());
    for (std::size_t h = 0; h < slopes.size(); ++h)
      // exp2 of an exact argument; glibc's is below 1 ulp, at most 2^-52 of the value.
      EXPECT_LE(abs(Mpfr(Mpfr(slopes[h]) - expected[h])), expected[h] * Mpfr(0x1p-52))
          << heads << " heads, head " << h;
  }
}

TEST(Slopes, OfPowersOfTwoUpToEightAreExact) {
  EXPECT_EQ(alibi_slopes(1), (std::vector<double>{0x1p-8}));
  EXPECT_EQ(alibi_slopes(8),
            (std::vector<double>{0x1p-1, 0x1p-2, 0x1p-3, 0x1p-4, 0x1p-5, 0x1p-6, 0x1p-7, 0x1p-8}));
  EXPECT_EQ(alibi_decay_lengths(8), (std::vector<double>{2, 4, 8, 16, 32, 64, 128, 256}));
  // Three heads: those of two, 2^-4 and 2^-8, then the first of four, 2^-2.
  EXPECT_EQ(alibi_slopes(3), (std::vector<double>{0x1p-4, 0x1p-8, 0x1p-2}));
  // Six heads: those of four, then the first and third of eight.
  EXPECT_EQ(alibi_slopes(6), (std::vector<double>{0x1p-2, 0x1p-4, 0x1p-6, 0x1p-8, 0x1p-1, 0x1p-3}));
}

TEST(Slopes, RejectImpossibleHeadCounts) {
  EXPECT_TRUE(rejects("heads", [] { alibi_slopes(0); }));
  EXPECT_TRUE(rejects("heads", [] { alibi_slopes(-8); }));
  EXPECT_TRUE(rejects("heads", [] { alibi_slopes(65'537); }));
  EXPECT_TRUE(rejects("heads", [] { alibi_decay_lengths(0); }));
  EXPECT_EQ(alibi_slopes(65'536).size(), 65'536u);
}

}  // namespace
}  // namespace plsh::reference::test
