// The reference against FLINT/Arb: another library's certified arithmetic, and other formulas where
// there are any. Both sides enclose the exact value, so they must overlap; both must be narrow.
#include <gtest/gtest.h>

#if __has_include(<flint/arb.h>)
#include <flint/acb_calc.h>
#include <flint/acb_mat.h>
#include <flint/arb.h>
#include <flint/arb_hypgeom.h>
#else
#include <acb_calc.h>
#include <acb_mat.h>
#include <arb.h>
#include <arb_hypgeom.h>
#endif

#include <algorithm>
#include <cstdlib>
#include <plsh/reference/bounds.hpp>
#include <plsh/reference/expectation.hpp>
#include <plsh/reference/kernel.hpp>
#include <plsh/reference/laws.hpp>
#include <plsh/reference/partition_law.hpp>
#include <string>
#include <vector>

namespace plsh::reference::test {
namespace {

/// An arb number with operators; `bits` is the working precision of them all.
class Ball {
 public:
  inline static slong bits = 300;

  Ball() { arb_init(value_); }
  Ball(Index value) : Ball() { arb_set_si(value_, value); }
  Ball(const Ball& other) : Ball() { arb_set(value_, other.value_); }
  Ball& operator=(const Ball& other) {
    arb_set(value_, other.value_);
    return *this;
  }
  ~Ball() { arb_clear(value_); }

  static Ball decimal(const char* text) {
    Ball result;
    if (arb_set_str(result.value_, text, bits) != 0) std::abort();
    return result;
  }

  arb_ptr get() { return value_; }
  arb_srcptr get() const { return value_; }

  friend Ball operator+(const Ball& a, const Ball& b) { return binary(arb_add, a, b); }
  friend Ball operator-(const Ball& a, const Ball& b) { return binary(arb_sub, a, b); }
  friend Ball operator*(const Ball& a, const Ball& b) { return binary(arb_mul, a, b); }
  friend Ball operator/(const Ball& a, const Ball& b) { return binary(arb_div, a, b); }
  friend Ball operator-(const Ball& a) { return Ball(0) - a; }
  Ball& operator+=(const Ball& b) { return *this = *this + b; }

  template <class Function>
  static Ball unary(Function function, const Ball& a) {
    Ball result;
    function(result.value_, a.value_, bits);
    return result;
  }

 private:
  template <class Function>
  static Ball binary(Function function, const Ball& a, const Ball& b) {
    Ball result;
    function(result.value_, a.value_, b.value_, bits);
    return result;
  }

  arb_t value_;
};

Ball exp(const Ball& x) { return Ball::unary(arb_exp, x); }
Ball log(const Ball& x) { return Ball::unary(arb_log, x); }
Ball sqrt(const Ball& x) { return Ball::unary(arb_sqrt, x); }
Ball sin(const Ball& x) { return Ball::unary(arb_sin, x); }
Ball cos(const Ball& x) { return Ball::unary(arb_cos, x); }
Ball power(const Ball& x, Index n) {
  Ball result;
  arb_pow_ui(result.get(), x.get(), static_cast<ulong>(n), Ball::bits);
  return result;
}
Ball pi() {
  Ball result;
  arb_const_pi(result.get(), Ball::bits);
  return result;
}
Ball decay(Index distance, const Ball& sigma) { return exp(-Ball(distance) / sigma); }

/// Both number types at the same number of digits.
class Arb : public ::testing::TestWithParam<unsigned> {
 protected:
  // Arb works with 64 bits to spare, so that its own rounding does not hide a difference.
  Arb() : scope_(GetParam()), saved_bits_(Ball::bits) {
    Ball::bits = static_cast<slong>(GetParam()) * 10 / 3 + 64;
  }
  ~Arb() override {
    Ball::bits = saved_bits_;
    flint_cleanup();
  }

  static Ball as_ball(const Interval& x) {
    Ball result;
    arb_set_interval_mpfr(result.get(), x.backend().left_data(), x.backend().right_data(),
                          Ball::bits + 256);
    return result;
  }

  /// The two enclosures overlap, both are narrow (relative to `size`, by default the value itself),
  /// and a value off by 10^-(digits - 17) of the size is told apart.
  void same(const Interval& ours, const Ball& theirs, const char* size = nullptr) {
    ++compared_;
    const Ball mine = as_ball(ours);
    ASSERT_TRUE(arb_is_finite(mine.get()) != 0 && arb_is_finite(theirs.get()) != 0);
    ASSERT_TRUE(arb_overlaps(mine.get(), theirs.get()) != 0)
        << text(mine) << " and " << text(theirs);
    Ball step = size == nullptr ? Ball::unary(arb_abs_of, theirs) : Ball::decimal(size);
    step = step * Ball::decimal(("1e-" + std::to_string(GetParam() - 17)).c_str());
    const Ball shifted = theirs + step;
    if (arb_is_zero(theirs.get()) == 0 || size != nullptr) {
      ASSERT_TRUE(arb_overlaps(mine.get(), shifted.get()) == 0) << "not narrow: " << text(mine);
    }
  }

  static std::string text(const Ball& x) {
    char* printed = arb_get_str(x.get(), 20, ARB_STR_MORE);
    std::string result(printed);
    flint_free(printed);
    return result;
  }

  const std::vector<const char*> sigmas_{"0.3", "2", "7.5", "256"};
  int compared_ = 0;

 private:
  static void arb_abs_of(arb_ptr result, arb_srcptr x, slong) { arb_abs(result, x); }

  PrecisionScope scope_;
  slong saved_bits_;
};

INSTANTIATE_TEST_SUITE_P(Digits, Arb, ::testing::Values(50u, 300u));

TEST_P(Arb, KernelEntriesAndSums) {
  constexpr Index n = 60;
  for (const char* text : sigmas_) {
    const auto sigma = from_decimal<Interval>(text);
    const Ball s = Ball::decimal(text);
    const AlibiKernel<Interval> kernel(n, sigma);
    std::vector<Ball> entries;
    for (Index d = 0; d < n; ++d) {
      entries.push_back(decay(d, s));
      same(kernel.at_distance(d), entries.back());
    }
    Ball total(0);
    Ball variance(0);
    for (Index i = 0; i < n; ++i) {
      Ball sum(0);
      for (Index j = 0; j < n; ++j) {
        const Ball& p = entries[static_cast<std::size_t>(std::abs(i - j))];
        sum += p;
        variance += p * (Ball(1) - p);
      }
      if (i % 7 == 0) same(kernel.row_sum(i), sum);
      total += sum;
    }
    same(kernel.total(), total);
    same(kernel.total_entry_variance(), variance);
  }
  EXPECT_EQ(compared_, 4 * (60 + 9 + 2));
  // Another decay length is told apart.
  EXPECT_EQ(arb_overlaps(as_ball(AlibiKernel<Interval>(n, Interval(2)).at_distance(1)).get(),
                         decay(1, Ball::decimal("2.0000000001")).get()),
            0);
}

struct Integrand {
  const Ball* distance;
  const Ball* sigma;
};

// (w - d) exp(-w/sigma) / sigma^2, entire in w: the probability given the width times its density,
// w > d.
int integrand(acb_ptr out, const acb_t w, void* parameters, slong, slong precision) {
  const auto* p = static_cast<const Integrand*>(parameters);
  acb_t x;
  acb_init(x);
  acb_div_arb(x, w, p->sigma->get(), precision);
  acb_neg(x, x);
  acb_exp(x, x, precision);
  acb_sub_arb(out, w, p->distance->get(), precision);
  acb_mul(out, out, x, precision);
  acb_div_arb(out, out, p->sigma->get(), precision);
  acb_div_arb(out, out, p->sigma->get(), precision);
  acb_clear(x);
  return 0;
}

TEST_P(Arb, IntegratedPairProbability) {
  struct Case {
    const char* sigma;
    Index distance;
  };
  for (const auto& [text, d] : {Case{"0.3", 1}, Case{"7.5", 6}, Case{"256", 0}, Case{"256", 40}}) {
    const Ball s = Ball::decimal(text);
    const Ball distance(d);
    // Up to T = d + x sigma, beyond which at most (1 + T/sigma) exp(-T/sigma) is left.
    const Ball end = distance + s * Ball(static_cast<Index>(GetParam()) * 5 / 2 + 60);
    Integrand parameters{&distance, &s};
    acb_t a;
    acb_t b;
    acb_t integral;
    acb_init(a);
    acb_init(b);
    acb_init(integral);
    acb_set_arb(a, distance.get());
    acb_set_arb(b, end.get());
    mag_t tolerance;
    mag_init(tolerance);
    mag_set_ui_2exp_si(tolerance, 1, -Ball::bits);
    acb_calc_integrate(integral, integrand, &parameters, a, b, Ball::bits, tolerance, nullptr,
                       Ball::bits);
    Ball result;
    acb_get_real(result.get(), integral);
    const Ball rest = (Ball(1) + end / s) * exp(-end / s);
    arb_add_error(result.get(), rest.get());
    mag_clear(tolerance);
    acb_clear(a);
    acb_clear(b);
    acb_clear(integral);
    same(integrated_pair_probability(d, from_decimal<Interval>(text)), result);
    same(set_probability(d, from_decimal<Interval>(text)), result);
  }
  EXPECT_EQ(compared_, 8);
}

TEST_P(Arb, SpectralNormByDenseEigenvalues) {
  for (const slong n : {2, 5, 12})
    for (const char* text : sigmas_) {
      acb_mat_t a;
      acb_mat_t right;
      acb_mat_init(a, n, n);
      acb_mat_init(right, n, n);
      const Ball s = Ball::decimal(text);
      for (slong i = 0; i < n; ++i)
        for (slong j = 0; j < n; ++j)
          acb_set_arb(acb_mat_entry(a, i, j), decay(std::abs(i - j), s).get());
      acb_ptr approximate = _acb_vec_init(n);
      acb_ptr eigenvalues = _acb_vec_init(n);
      acb_mat_approx_eig_qr(approximate, nullptr, right, a, nullptr, 0, Ball::bits);
      ASSERT_NE(
          acb_mat_eig_simple(eigenvalues, nullptr, nullptr, a, approximate, right, Ball::bits), 0);
      Ball largest(0);  // all eigenvalues are positive
      for (slong k = 0; k < n; ++k) {
        Ball value;
        acb_get_real(value.get(), eigenvalues + k);
        Ball both;
        arb_max(both.get(), largest.get(), value.get(), Ball::bits);
        largest = both;
      }
      _acb_vec_clear(approximate, n);
      _acb_vec_clear(eigenvalues, n);
      acb_mat_clear(a);
      acb_mat_clear(right);
      same(AlibiKernel<Interval>(n, from_decimal<Interval>(text)).spectral_norm(), largest);
    }
  EXPECT_EQ(compared_, 12);
}

TEST_P(Arb, SpectralNormByTheKacMurdockSzegoEquation) {
  // The equation as it is known, sin((n+1)a) - 2 rho sin(n a) + rho^2 sin((n-1)a) = 0 on (0,
  // pi/(n+1)), and (1-rho^2)/(1 - 2 rho cos a + rho^2). Divided by sin a it is above 0 at 0 and
  // below at pi/(n+1).
  for (const Index n : {50, 1000, 100'000})
    for (const char* text : sigmas_) {
      // Its terms cancel to about (1-rho)^2 and a: some 20 digits at most.
      const slong saved = Ball::bits;
      Ball::bits += 160;
      const Ball rho = decay(1, Ball::decimal(text));
      const auto f = [&](const Ball& a) {
        return sin(Ball(n + 1) * a) - Ball(2) * rho * sin(Ball(n) * a) +
               rho * rho * sin(Ball(n - 1) * a);
      };
      Ball low = pi() / Ball(1'000'000'000 * (n + 1));
      Ball high = pi() / Ball(n + 1);
      ASSERT_NE(arb_is_positive(f(low).get()), 0);
      ASSERT_NE(arb_is_negative(f(high).get()), 0);
      for (slong k = 0; k < Ball::bits; ++k) {
        Ball middle = (low + high) / Ball(2);
        arb_get_mid_arb(middle.get(), middle.get());
        const Ball value = f(middle);
        if (arb_is_positive(value.get()) != 0)
          low = middle;
        else if (arb_is_negative(value.get()) != 0)
          high = middle;
        else
          break;
      }
      Ball a;
      arb_union(a.get(), low.get(), high.get(), Ball::bits);
      const Ball norm = (Ball(1) - rho * rho) / (Ball(1) - Ball(2) * rho * cos(a) + rho * rho);
      Ball::bits = saved;
      same(AlibiKernel<Interval>(n, from_decimal<Interval>(text)).spectral_norm(), norm);
    }
  EXPECT_EQ(compared_, 12);
}

// The upper regularized incomplete gamma function, the tail of a Gamma(shape, 1) variable.
Ball gamma_tail(Index shape, const Ball& x) {
  Ball result;
  arb_hypgeom_gamma_upper(result.get(), Ball(shape).get(), x.get(), 1, Ball::bits);
  return result;
}

TEST_P(Arb, WidthTails) {
  for (const char* text : sigmas_)
    for (const char* t : {"0.01", "1", "30"}) {
      const Ball tail = gamma_tail(2, Ball::decimal(t) / Ball::decimal(text));
      const auto sigma = from_decimal<Interval>(text);
      same(width_tail(from_decimal<Interval>(t), sigma), tail);
      for (const Index samples : {1, 20})
        same(max_width_tail(from_decimal<Interval>(t), sigma, samples),
             Ball(1) - power(Ball(1) - tail, samples), "1");
    }
  EXPECT_EQ(compared_, 4 * 3 * 3);
}

TEST_P(Arb, MaxWidthQuantileByLambertW) {
  for (const char* text : sigmas_)
    for (const char* delta : {"1e-9", "0.05", "0.9"})
      for (const Index samples : {1, 16, 1000}) {
        // sigma (-1 - W(-p/e)), W the lower branch, p = 1 - (1-delta)^(1/s).
        Ball root;
        arb_root_ui(root.get(), (Ball(1) - Ball::decimal(delta)).get(), static_cast<ulong>(samples),
                    Ball::bits);
        const Ball p = Ball(1) - root;
        Ball w;
        arb_lambertw(w.get(), (-p / exp(Ball(1))).get(), 1, Ball::bits);
        same(max_width_quantile(from_decimal<Interval>(delta), from_decimal<Interval>(text),
                                samples),
             Ball::decimal(text) * (Ball(-1) - w));
      }
  EXPECT_EQ(compared_, 36);
}

Ball binomial(Index samples, Index k, const Ball& p) {
  Ball coefficient;
  arb_bin_uiui(coefficient.get(), static_cast<ulong>(samples), static_cast<ulong>(k), Ball::bits);
  return coefficient * power(p, k) * power(Ball(1) - p, samples - k);
}

TEST_P(Arb, EntryLaw) {
  for (const char* text : sigmas_)
    for (const Index distance : {1, 9})
      for (const Index samples : {1, 16, 200}) {
        const auto sigma = from_decimal<Interval>(text);
        const Ball p = decay(distance, Ball::decimal(text));
        Ball above(0);
        for (Index k = 0; k <= samples; ++k) {
          const Ball probability = binomial(samples, k, p);
          if (k % std::max<Index>(1, samples / 4) == 0)
            same(entry_probability(samples, k, distance, sigma), probability);
          const Ball deviation = Ball::unary([](arb_ptr r, arb_srcptr x, slong) { arb_abs(r, x); },
                                             Ball(k) / Ball(samples) - p) -
                                 Ball::decimal("0.07");
          if (arb_is_positive(deviation.get()) != 0) above += probability;
        }
        same(entry_deviation_probability(samples, from_decimal<Interval>("0.07"), distance, sigma),
             above);
      }
  EXPECT_EQ(compared_, 4 * 2 * (2 + 5 + 5 + 3));
}

TEST_P(Arb, MomentsAndPairs) {
  constexpr Index n = 24;
  for (const char* text : sigmas_) {
    const auto sigma = from_decimal<Interval>(text);
    const Ball s = Ball::decimal(text);
    const Matrix<Interval> variance = matrix_variance(n, sigma);
    for (const Index i : {0, 3, 23})
      for (const Index j : {0, 5, 20}) {
        Ball moment(0);
        Ball square(0);
        for (Index k = 0; k < n; ++k) {
          moment += decay(std::max({i, j, k}) - std::min({i, j, k}), s);
          square += decay(std::abs(i - k), s) * decay(std::abs(k - j), s);
        }
        same(second_moment(n, sigma, i, j), moment);
        same(variance(i, j), moment - square, "1e-6");
      }
    const Ball rho = decay(1, s);
    const Ball one_minus_rho = Ball(1) - rho;
    same(matrix_variance_norm_bound(sigma), Ball(2) * rho / (one_minus_rho * one_minus_rho));
    same(spectral_norm_limit(sigma), (Ball(1) + rho) / one_minus_rho);
    for (const Index samples : {1, 16}) {
      Ball pairs(0);
      for (Index i = 0; i < n; ++i)
        for (Index j = 0; j < n; ++j)
          pairs += Ball(1) - power(Ball(1) - decay(std::abs(i - j), s), samples);
      same(expected_union_pairs(n, sigma, samples), pairs);
    }
  }
  EXPECT_EQ(compared_, 4 * (18 + 2 + 2));
}

TEST_P(Arb, PartitionLawMeanAndSecondMoment) {
  constexpr Index n = 9;
  const PartitionLaw law(n);
  for (const char* text : sigmas_) {
    const auto sigma = from_decimal<Interval>(text);
    const Ball s = Ball::decimal(text);
    const Matrix<Interval> mean = law.mean_mask(sigma);
    for (Index j = 0; j < n; ++j) same(mean(0, j), decay(j, s), "1");
    // The whole context in one block.
    same(law.expectation<Interval>(
             sigma,
             [](const Partition& p) { return Interval(p.block_of(0) == p.block_of(8) ? 1 : 0); }),
         decay(8, s), "1");
  }
  EXPECT_EQ(compared_, 4 * (n + 1));
}

TEST_P(Arb, Bounds) {
  for (const char* text : sigmas_)
    for (const Index samples : {4, 256}) {
      constexpr Index n = 4096;
      const auto sigma = from_decimal<Interval>(text);
      const auto delta = from_decimal<Interval>("0.1");
      const Ball s = Ball::decimal(text);
      const Ball count(samples);
      const Ball tenth = Ball::decimal("0.1");
      same(max_norm_bound(n, samples, delta),
           sqrt(log(Ball(n) * Ball(n - 1) / tenth) / (Ball(2) * count)));

      Ball root;
      arb_root_ui(root.get(), (Ball(1) - tenth / Ball(2)).get(), static_cast<ulong>(samples),
                  Ball::bits);
      Ball w;
      arb_lambertw(w.get(), (-(Ball(1) - root) / exp(Ball(1))).get(), 1, Ball::bits);
      const Ball x = Ball(-1) - w;
      const SpectralBound<Interval> bound = spectral_bound(n, sigma, samples, delta);
      same(bound.cut, s * x);
      // E[w 1{w > B}] = 2 sigma P(Gamma(3) > x).
      const Ball bias = Ball(2) * s * gamma_tail(3, x) + gamma_tail(2, x);
      same(bound.bias, bias);
      // t from the Bernstein equation s t^2/2 = l (v + R t/3), solved by the quadratic formula.
      const Ball rho = decay(1, s);
      const Ball norm = as_ball(AlibiKernel<Interval>(n, sigma).spectral_norm());  // compared above
      const Ball v = Ball(2) * rho / power(Ball(1) - rho, 2) + Ball(2) * norm * bias;
      const Ball range = to_double(bound.cut) < static_cast<double>(n) ? s * x + Ball(1) : Ball(n);
      const Ball l = log(Ball(4) * Ball(n) / tenth);
      const Ball b = Ball(2) * l * range / (Ball(3) * count);
      const Ball t = (b + sqrt(b * b + Ball(8) * l * v / count)) / Ball(2);
      same(bound.deviation, t);
      same(bound.total, t + bias);
    }
  EXPECT_EQ(compared_, 4 * 2 * 5);
}

}  // namespace
}  // namespace plsh::reference::test
