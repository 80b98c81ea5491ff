// `plsh value`: the digits against values computed here by MPFR from formulas of other shape, the
// formats, and wrong use.
#include <gtest/gtest.h>
#include <mpfr.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "process.hpp"

namespace plsh::test {
namespace {

using nlohmann::json;

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// An MPFR number of 4000 bits, enough for 1000 digits and much cancellation.
class Number {
 public:
  Number() { mpfr_init2(value_, 4000); }
  explicit Number(const char* decimal) : Number() { mpfr_set_str(value_, decimal, 10, MPFR_RNDN); }
  ~Number() { mpfr_clear(value_); }
  Number(const Number&) = delete;
  Number& operator=(const Number&) = delete;
  mpfr_ptr get() { return value_; }

  /// The number in plain notation, rounded to `decimals` digits after the point.
  std::string text(int decimals) {
    char* buffer = nullptr;
    mpfr_asprintf(&buffer, "%.*Rf", decimals, value_);
    std::string result(buffer);
    mpfr_free_str(buffer);
    return result;
  }

 private:
  mpfr_t value_;
};

/// rho = exp(-1/sigma).
void set_rho(mpfr_ptr rho, const char* sigma) {
  mpfr_set_str(rho, sigma, 10, MPFR_RNDN);
  mpfr_ui_div(rho, 1, rho, MPFR_RNDN);
  mpfr_neg(rho, rho, MPFR_RNDN);
  mpfr_exp(rho, rho, MPFR_RNDN);
}

std::string value(const std::string& arguments) {
  const ProcessResult result = plsh(words("value " + arguments));
  EXPECT_EQ(result.status, 0) << arguments << "\n" << result.err;
  EXPECT_EQ(result.err, "") << arguments;
  return first_line(result.out);
}

// ---- digits ----------------------------------------------------------------------------------

TEST(ValueTest, EntryHasTheKnownDigits) {
  EXPECT_EQ(value("entry --distance 3 --sigma 4 --digits 60"),
            "0.472366552741014707138046550943267912970203579136476682395658");
}

TEST(ValueTest, EntryHasAThousandDigits) {
  Number x("-0.75");
  mpfr_exp(x.get(), x.get(), MPFR_RNDN);
  EXPECT_EQ(value("entry --distance 3 --sigma 4 --digits 1000"), x.text(1000));
}

TEST(ValueTest, DecimalsAreExact) {
  // exp(-1/0.1) is exp(-10) only when 0.1 is one tenth.
  Number x("-10");
  mpfr_exp(x.get(), x.get(), MPFR_RNDN);
  EXPECT_EQ(value("entry --distance 1 --sigma 0.1 --digits 500"), x.text(504));
}

TEST(ValueTest, PositionsMayStandForTheDistance) {
  EXPECT_EQ(value("entry --i 10 --j 7 --sigma 4"), value("entry --distance 3 --sigma 4"));
}

TEST(ValueTest, SpectralNormOfTwoAndThreePositions) {
  Number rho;
  set_rho(rho.get(), "4");
  Number two;
  mpfr_add_ui(two.get(), rho.get(), 1, MPFR_RNDN);
  EXPECT_EQ(value("spectral-norm --length 2 --sigma 4 --digits 300"), two.text(299));
  // 1 + (rho^2 + sqrt(rho^4 + 8 rho^2)) / 2, from the eigenvector (x, y, x).
  Number square;
  Number root;
  mpfr_sqr(square.get(), rho.get(), MPFR_RNDN);
  mpfr_add_ui(root.get(), square.get(), 8, MPFR_RNDN);
  mpfr_mul(root.get(), root.get(), square.get(), MPFR_RNDN);
  mpfr_sqrt(root.get(), root.get(), MPFR_RNDN);
  mpfr_add(root.get(), root.get(), square.get(), MPFR_RNDN);
  mpfr_div_ui(root.get(), root.get(), 2, MPFR_RNDN);
  mpfr_add_ui(root.get(), root.get(), 1, MPFR_RNDN);
  EXPECT_EQ(value("spectral-norm --length 3 --sigma 4 --digits 300"), root.text(299));
}

TEST(ValueTest, SpectralNormLimitIsACotangent) {
  Number x("0.125");
  mpfr_coth(x.get(), x.get(), MPFR_RNDN);
  EXPECT_EQ(value("spectral-norm-limit --sigma 4 --digits 200"), x.text(199));
}

TEST(ValueTest, SpectralNormAtTheLongestLengthIsBelowItsLimit) {
  EXPECT_EQ(value("spectral-norm --length 1e12 --sigma 4 --digits 20"),
            value("spectral-norm-limit --sigma 4 --digits 20"));
  EXPECT_LT(value("spectral-norm --length 1e12 --sigma 4 --digits 40"),
            value("spectral-norm-limit --sigma 4 --digits 40"));
}

TEST(ValueTest, TotalOfThreePositions) {
  Number rho;
  set_rho(rho.get(), "1e50");  // n far below sigma: the closed form cancels by 100 digits
  Number sum;
  mpfr_sqr(sum.get(), rho.get(), MPFR_RNDN);
  mpfr_mul_ui(sum.get(), sum.get(), 2, MPFR_RNDN);
  mpfr_mul_ui(rho.get(), rho.get(), 4, MPFR_RNDN);
  mpfr_add(sum.get(), sum.get(), rho.get(), MPFR_RNDN);
  mpfr_add_ui(sum.get(), sum.get(), 3, MPFR_RNDN);
  EXPECT_EQ(value("total --length 3 --sigma 1e50 --digits 120"), sum.text(119));
}

TEST(ValueTest, TotalWithATinyDecayLengthIsTheDiagonal) {
  EXPECT_EQ(value("total --length 1000 --sigma 1e-9 --digits 6"), "1000.00");
}

TEST(ValueTest, PartitionsOfTwoPositions) {
  Number x("-0.25");
  mpfr_exp(x.get(), x.get(), MPFR_RNDN);
  EXPECT_EQ(value("partition-probability --blocks 2 --sigma 4 --digits 100"), x.text(100));
  mpfr_ui_sub(x.get(), 1, x.get(), MPFR_RNDN);
  EXPECT_EQ(value("partition-probability --blocks 1,1 --sigma 4 --digits 100"), x.text(100));
}

TEST(ValueTest, UnreachablePartitionsHaveProbabilityZero) {
  // Interior blocks of one mask have two neighbouring sizes only.
  EXPECT_EQ(value("partition-probability --blocks 2,1,4,1,2 --sigma 4"), "0");
}

TEST(ValueTest, UnionPairsAgreeWithTheSumOverDistances) {
  Number sum("5");
  for (unsigned long d = 1; d < 5; ++d) {
    Number p;
    mpfr_set_si(p.get(), -static_cast<long>(d), MPFR_RNDN);
    mpfr_div_ui(p.get(), p.get(), 4, MPFR_RNDN);
    mpfr_exp(p.get(), p.get(), MPFR_RNDN);
    mpfr_ui_sub(p.get(), 1, p.get(), MPFR_RNDN);
    mpfr_pow_ui(p.get(), p.get(), 7, MPFR_RNDN);
    mpfr_ui_sub(p.get(), 1, p.get(), MPFR_RNDN);
    mpfr_mul_ui(p.get(), p.get(), 2 * (5 - d), MPFR_RNDN);
    mpfr_add(sum.get(), sum.get(), p.get(), MPFR_RNDN);
  }
  EXPECT_EQ(value("union-pairs --length 5 --samples 7 --sigma 4 --digits 100"), sum.text(98));
}

TEST(ValueTest, MaxNormBound) {
  Number x("99900000");  // 1000 * 999 / 0.01
  mpfr_log(x.get(), x.get(), MPFR_RNDN);
  mpfr_div_ui(x.get(), x.get(), 128, MPFR_RNDN);
  mpfr_sqrt(x.get(), x.get(), MPFR_RNDN);
  EXPECT_EQ(value("max-norm-bound --length 1000 --samples 64 --delta 0.01 --digits 100"),
            x.text(100));
}

TEST(ValueTest, QuantileInvertsTheTail) {
  const std::string t = value("width-quantile --delta 0.01 --samples 16 --sigma 4 --digits 200");
  const std::string p =
      value("width-tail --threshold " + t + " --samples 16 --sigma 4 --digits 100");
  EXPECT_EQ(p, "0.010" + std::string(98, '0'));
  EXPECT_EQ(t.substr(0, 3), "38.");
  EXPECT_EQ(value("largest-block-bound --length 1000 --delta 0.01 --samples 16 --sigma 4"), "39");
  EXPECT_EQ(value("largest-block-bound --length 20 --delta 0.01 --samples 16 --sigma 4"), "20");
}

TEST(ValueTest, AConfidenceOfManyNinesIsNotOne) {
  const std::string delta = "0." + std::string(900, '9');
  EXPECT_NE(value("width-quantile --delta " + delta + " --samples 1 --sigma 4"), "0");
}

// ---- formats ---------------------------------------------------------------------------------

TEST(ValueTest, ExactValuesPrintAsThemselves) {
  EXPECT_EQ(value("pair-probability --distance 5 --width 2.5"), "0");
  EXPECT_EQ(value("pair-probability --distance 3 --width 4"), "0.25");
  EXPECT_EQ(value("pair-probability --distance 0 --width 4"), "1");
  EXPECT_EQ(value("entry --distance 0 --sigma 4"), "1");
  EXPECT_EQ(value("entry-law --samples 16 --count 15 --distance 0 --sigma 4"), "0");
  EXPECT_EQ(value("width-tail --threshold 0 --sigma 4"), "1");
  EXPECT_EQ(value("total-entry-variance --length 1 --sigma 4"), "0");
  EXPECT_EQ(value("max-norm-bound --length 1 --samples 3 --delta 0.5"), "0");
}

TEST(ValueTest, ARoundingTieTakesOneDigitMore) {
  // 1 - 3/4.8 = 0.375 exactly, but 4.8 is no binary number: two digits can never be decided.
  EXPECT_EQ(value("pair-probability --distance 3 --width 4.8 --digits 2"), "0.375");
}

TEST(ValueTest, LargeAndSmallValuesUseAnExponentOnlyWhereDigitsWouldHaveToBeInvented) {
  EXPECT_EQ(value("entry --distance 100 --sigma 1 --digits 5"), "3.7201e-44");
  EXPECT_EQ(value("entry --distance 5 --sigma 1 --digits 5"), "0.0067379");
  EXPECT_EQ(value("total --length 1e12 --sigma 4 --digits 5"), "8.0416e12");
  EXPECT_EQ(value("total --length 1e12 --sigma 4 --digits 14"),
            "8041623328343.8");  // 10^12 coth(1/8) - 31.8
}

TEST(ValueTest, BoundsAreOrderedAndExactLawsFallBetweenThem) {
  const std::string bounds =
      value("largest-block-law --length 65 --block 15 --samples 3 --sigma 4");
  const std::size_t dots = bounds.find("..");
  ASSERT_NE(dots, std::string::npos) << bounds;
  const double low = std::stod(bounds.substr(0, dots));
  const double high = std::stod(bounds.substr(dots + 2));
  const double exact =
      std::stod(value("largest-block-law --length 64 --block 15 --samples 3 --sigma 4"));
  EXPECT_LE(low, high);
  EXPECT_LT(low, exact + 1e-3);  // one position more changes the law little
  EXPECT_GT(high, exact - 1e-3);
}

TEST(ValueTest, JsonHoldsTheValueInsideItsEnclosure) {
  const ProcessResult result = plsh(words("value entry --distance 3 --sigma 4 --digits 12 --json"));
  ASSERT_EQ(result.status, 0) << result.err;
  const json object = json::parse(result.out);
  EXPECT_EQ(object.at("quantity"), "entry");
  EXPECT_EQ(object.at("arguments"), json({{"sigma", "4"}, {"distance", 3}}));
  EXPECT_EQ(object.at("digits"), 12);
  EXPECT_EQ(object.at("kind"), "digits");
  EXPECT_EQ(object.at("value"), "0.472366552741");
  EXPECT_GE(object.at("precision_bits"), 64);
  Number exact("-0.75");
  mpfr_exp(exact.get(), exact.get(), MPFR_RNDN);
  Number low(object.at("enclosure").at("low").get<std::string>().c_str());
  Number high(object.at("enclosure").at("high").get<std::string>().c_str());
  EXPECT_LT(mpfr_cmp(low.get(), exact.get()), 0);
  EXPECT_GT(mpfr_cmp(high.get(), exact.get()), 0);
}

TEST(ValueTest, VerboseExplainsAfterTheNumber) {
  const ProcessResult result =
      plsh(words("value entry --distance 3 --sigma 4 --digits 5 --verbose"));
  EXPECT_EQ(first_line(result.out), "0.47237");
  EXPECT_NE(result.out.find("exp(-|i-j|/sigma)"), std::string::npos);
  EXPECT_NE(result.out.find("interval of width"), std::string::npos);
  // In a pipe and without the flag there is the number alone.
  EXPECT_EQ(plsh(words("value entry --distance 3 --sigma 4 --digits 5")).out, "0.47237\n");
}

TEST(ValueTest, EveryListedQuantityRunsWithItsExample) {
  const ProcessResult listed = plsh({"value", "--list", "--json"});
  ASSERT_EQ(listed.status, 0) << listed.err;
  const json list = json::parse(listed.out);
  ASSERT_GE(list.size(), 20u);
  const std::string help = plsh({"value", "--help"}).out;
  const std::string text = plsh({"value", "--list"}).out;
  for (const json& quantity : list) {
    const auto name = quantity.at("name").get<std::string>();
    SCOPED_TRACE(name);
    EXPECT_NE(help.find(name), std::string::npos);
    EXPECT_NE(text.find(name), std::string::npos);
    EXPECT_FALSE(quantity.at("formula").get<std::string>().empty());
    EXPECT_FALSE(quantity.at("sentence").get<std::string>().empty());
    std::vector<std::string> arguments{"value", name};
    for (const json& word : quantity.at("example")) arguments.push_back(word);
    for (const char* digits : {"1", "20", "200"}) {
      auto with_digits = arguments;
      with_digits.insert(with_digits.end(), {"--digits", digits, "--json"});
      const ProcessResult result = plsh(with_digits);
      ASSERT_EQ(result.status, 0) << result.err;
      const json object = json::parse(result.out);
      EXPECT_FALSE(object.at("value").get<std::string>().empty());
      EXPECT_LE(std::stod(object.at("enclosure").at("low").get<std::string>()),
                std::stod(object.at("enclosure").at("high").get<std::string>()));
    }
    // Leaving out a required option is wrong use that names the option.
    for (const json& option : quantity.at("required")) {
      std::vector<std::string> without;
      for (std::size_t k = 0; k < arguments.size(); ++k)
        if (arguments[k] == "--" + option.get<std::string>())
          ++k;
        else
          without.push_back(arguments[k]);
      const ProcessResult result = plsh(without);
      EXPECT_EQ(result.status, 2);
      EXPECT_NE(result.err.find("--" + option.get<std::string>()), std::string::npos) << result.err;
    }
  }
}

TEST(ValueTest, MoreDigitsNeverContradictFewer) {
  std::string last = value("row-sum --length 1e6 --i 17 --sigma 12.5 --digits 1000");
  for (const int digits : {10, 100, 400}) {
    const std::string text =
        value("row-sum --length 1e6 --i 17 --sigma 12.5 --digits " + std::to_string(digits));
    // All but the last, rounded digit.
    EXPECT_EQ(text.substr(0, text.size() - 2), last.substr(0, text.size() - 2));
  }
}

TEST(ValueTest, HeavyRequestsStayFastOrAreRefused) {
  const ProcessResult result =
      plsh(words("value union-pairs --length 1e12 --samples 256 --sigma 1e9"));
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_LT(result.seconds, 30);
}

// ---- wrong use -------------------------------------------------------------------------------

struct WrongUse {
  std::string arguments;
  std::string message;  // a part of the line on stderr
};

class ValueWrongUseTest : public testing::TestWithParam<WrongUse> {};

TEST_P(ValueWrongUseTest, GivesOneClearLineAndStatusTwo) {
  const ProcessResult result = plsh(words(GetParam().arguments));
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_NE(result.err.find(GetParam().message), std::string::npos) << result.err;
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  EXPECT_EQ(result.err.rfind("plsh", 0), 0u) << result.err;
}

INSTANTIATE_TEST_SUITE_P(
    All, ValueWrongUseTest,
    testing::Values(
        WrongUse{"", "the commands are"},
        WrongUse{"valeu", "unknown command \"valeu\"; the commands are"},
        WrongUse{"value", "--list"}, WrongUse{"value spectral-nrm", "spectral-norm"},
        WrongUse{"value norm", "spectral-norm"},
        WrongUse{"value entry --distance 3", "--sigma, decay length"},
        WrongUse{"value entry --distance 3 --sigma 0",
                 "--sigma: 0 is out of range; allowed: 1e-12"},
        WrongUse{"value entry --distance 3 --sigma -1", "--sigma: -1 is out of range"},
        WrongUse{"value entry --distance 3 --sigma -.5", "--sigma: -.5 is out of range"},
        WrongUse{"value entry --distance 3 --sigma nan", "--sigma: \"nan\" is not a decimal"},
        WrongUse{"value entry --distance 3 --sigma inf", "--sigma: \"inf\" is not a decimal"},
        WrongUse{"value entry --distance 3 --sigma -inf", "--sigma: \"-inf\" is not a decimal"},
        WrongUse{"value entry --distance 3 --sigma 12abc", "--sigma: \"12abc\" is not a decimal"},
        WrongUse{"value entry --distance 3 --sigma 0x10", "--sigma: \"0x10\" is not a decimal"},
        WrongUse{"value entry --distance 3 --sigma 1e", "--sigma: \"1e\" is not a decimal"},
        WrongUse{"value entry --distance 3 --sigma .", "--sigma: \".\" is not a decimal"},
        WrongUse{"value entry --distance 3 --sigma 1e999999999999999999999", "--sigma"},
        WrongUse{"value entry --distance 3 --sigma 1e-999999999999999999999", "--sigma"},
        WrongUse{"value entry --distance 3.5 --sigma 4",
                 "--distance: \"3.5\" is not a whole number"},
        WrongUse{"value entry --distance -3 --sigma 4", "--distance: -3 is out of range"},
        WrongUse{"value entry --distance 1000000000001 --sigma 4", "0 to 1e12"},
        WrongUse{"value entry --distance 3 --sigma 4 --digits 0", "--digits: 0 is out of range"},
        WrongUse{"value entry --distance 3 --sigma 4 --digits 1001", "1 to 1000"},
        WrongUse{"value entry --distance 3 --sigma 4 --digits 1e18", "1 to 1000"},
        WrongUse{"value entry --distance 3 --sigma 4 --digits many", "--digits: \"many\""},
        WrongUse{"value entry --distance 3 --sigma 4 --width 2", "takes no --width"},
        WrongUse{"value entry --i 3 --sigma 4", "--i and --j go together"},
        WrongUse{"value entry --i 3 --j 4 --distance 1 --sigma 4", "not both"},
        WrongUse{"value entry --distance 3 --sigma", "--sigma"},
        WrongUse{"value entry --distance 3 --sigma 4 --sigma 5", "--sigma"},
        WrongUse{"value entry --distance 3 --sigma 4 --depth 5", "--depth"},
        WrongUse{"value entry extra --distance 3 --sigma 4", "extra"},
        WrongUse{"value spectral-norm --length 0 --sigma 4", "--length: 0 is out of range"},
        WrongUse{"value spectral-norm --length 1e13 --sigma 4", "1 to 1e12"},
        WrongUse{"value row-sum --length 5 --i 5 --sigma 4", "0..4"},
        WrongUse{"value width-quantile --delta 0 --samples 3 --sigma 4", "--delta: 0 is out of"},
        WrongUse{"value width-quantile --delta 1 --samples 3 --sigma 4", "above 0 and below 1"},
        WrongUse{"value width-quantile --delta 0.1 --samples 0 --sigma 4", "--samples: 0 is out"},
        WrongUse{"value entry-law --samples 3 --count 4 --distance 1 --sigma 4", "--count: 4"},
        WrongUse{"value entry-law --samples 1e12 --count 5e11 --distance 1 --sigma 4", "--count"},
        WrongUse{"value union-pairs --length 1e12 --samples 1e12 --sigma 1e9", "1 to 2048"},
        WrongUse{"value row-relative-error-bound --length 1e12 --samples 9 --delta .1 --sigma 1e9",
                 "--sigma"},
        WrongUse{"value partition-probability --blocks 60,5 --sigma 4", "n = 65"},
        WrongUse{"value partition-probability --blocks 3,,2 --sigma 4", "--blocks"},
        WrongUse{"value partition-probability --blocks 3,0,2 --sigma 4", "--blocks: 0"},
        WrongUse{"value partition-probability --blocks 3;2 --sigma 4", "--blocks: \"3;2\""}));

TEST(ValueTest, AValueBelowTheExponentRangeIsUndecided) {
  const ProcessResult result = plsh(words("value entry --distance 1e12 --sigma 4"));
  EXPECT_EQ(result.status, 3);
  EXPECT_EQ(result.out, "");
  EXPECT_NE(result.err.find("too near 0"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace plsh::test
