// Numbers and formulas as the page shows them.
#include <gtest/gtest.h>

#include <cmath>
#include <report/math_text.hpp>
#include <report/text.hpp>

namespace plsh::cli::report {
namespace {

TEST(ReportText, NumbersAreShortAndGrouped) {
  EXPECT_EQ(number(0.0), "0");
  EXPECT_EQ(number(1270.0), "1,270");
  EXPECT_EQ(number(3162278.0), "3,162,278");
  EXPECT_EQ(number(0.38712), "0.387");
  EXPECT_EQ(number(8.4), "8.4");
  EXPECT_EQ(number(63.74), "63.7");
  EXPECT_EQ(number(1234.5), "1,234");  // halves round to even
  EXPECT_EQ(number(-0.46), "−0.46");
  EXPECT_EQ(number(nlohmann::json()), "–");
}

TEST(ReportText, ExtremeNumbersBecomePowersOfTen) {
  EXPECT_EQ(number(1e-9), "10⁻⁹");
  EXPECT_EQ(number(1e12), "10¹²");
  EXPECT_EQ(number(3.1e-38), "3.1 × 10⁻³⁸");
  EXPECT_EQ(number(9.999e-10), "10⁻⁹");  // the mantissa rounds up to ten
  EXPECT_EQ(number(INFINITY), "∞");
  EXPECT_EQ(number(NAN), "–");
}

TEST(ReportText, FixedDecimalsLineUp) {
  EXPECT_EQ(fixed(0.18, 3), "0.180");
  EXPECT_EQ(fixed(-1234.5, 2), "−1,234.50");
  EXPECT_EQ(whole(2950640), "2,950,640");
}

TEST(ReportText, DurationsUseTheUnitThatFits) {
  EXPECT_EQ(duration(0.02), "20 ms");
  EXPECT_EQ(duration(3.24), "3.2 s");
  EXPECT_EQ(duration(123.4), "2 min 3 s");
  EXPECT_EQ(duration(7322), "2 h 2 min");
}

TEST(ReportText, EscapesWhatHtmlWouldInterpret) {
  EXPECT_EQ(escape("<a href=\"x\">'&'</a>"),
            "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;&lt;/a&gt;");
  EXPECT_EQ(escape(std::string("a\0b", 3)), "a\uFFFDb");
}

TEST(ReportText, ShortensByCharacters) {
  EXPECT_EQ(shortened("σσσσ", 4), "σσσσ");
  EXPECT_EQ(shortened("σσσσσ", 4), "σσσ…");
}

TEST(ReportMath, SetsFormulas) {
  EXPECT_EQ(math("||L* - M~||_2"), "‖L* − M\u0303‖<sub>2</sub>");
  EXPECT_EQ(math("s M~_ij <= sigma sqrt(2/s)"), "s M\u0303<sub>ij</sub> ≤ σ √(2/s)");
  EXPECT_EQ(math("O(1/sqrt(s))"), "O(1/√s)");
  EXPECT_EQ(math("b_max, n = 10^12"), "b<sub>max</sub>, n = 10<sup>12</sup>");
  EXPECT_EQ(math("exp(-|i-j|/sigma)"), "exp(−|i−j|/σ)");
}

TEST(ReportMath, LeavesWordsAndNamesAlone) {
  EXPECT_EQ(math("block-diagonal e-values"), "block-diagonal e-values");
  EXPECT_EQ(math("find_string of smollm2_135"), "find_string of smollm2_135");
  EXPECT_EQ(math("plsh audit --seed 1"), "plsh audit --seed 1");
  EXPECT_EQ(math("<script>"), "&lt;script&gt;");
}

}  // namespace
}  // namespace plsh::cli::report
