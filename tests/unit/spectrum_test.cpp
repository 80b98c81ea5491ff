// The kernel matrix, its spectral norm, and the spectral error of the mean mask.
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <plsh/reference/kernel.hpp>
#include <plsh/reference/laws.hpp>
#include <plsh/reference/sampling.hpp>
#include <plsh/reference/spectral.hpp>

#include "support.hpp"

namespace plsh::reference::test {
namespace {

// ---- the kernel ------------------------------------------------------------------------------

TEST(Kernel, SumsAndProductsAreThoseOfItsEntries) {
  PrecisionScope scope(60);
  Source source(9);
  int entries = 0;
  for (const Index n : {1, 2, 9, 30})
    for (const char* text : {"0.01", "0.3", "4", "256", "1e6"}) {
      const auto sigma = from_decimal<Interval>(text);
      const AlibiKernel<Interval> kernel(n, sigma);
      const Matrix<Interval> dense = kernel.dense();
      Vector<Interval> x(n);
      for (Index i = 0; i < n; ++i) x[i] = Interval(source.integer(-9, 9));
      const Vector<Interval> applied = kernel.apply(x);
      Interval total(0);
      Interval variance(0);
      for (Index i = 0; i < n; ++i) {
        const Vector<Interval> row = kernel.row(i);
        Interval sum(0);
        Interval image(0);
        for (Index j = 0; j < n; ++j, ++entries) {
          const Interval expected = exp(Interval(-Interval(std::abs(i - j)) / sigma));
          ASSERT_TRUE(overlaps(dense(i, j), expected));
          ASSERT_TRUE(overlaps(row[j], expected));
          ASSERT_TRUE(overlaps(kernel.entry(i, j), expected));
          ASSERT_TRUE(overlaps(kernel.at_distance(std::abs(i - j)), expected));
          sum += expected;
          image += expected * x[j];
          variance += expected * (Interval(1) - expected);
        }
        ASSERT_TRUE(overlaps(kernel.row_sum(i), sum));
        ASSERT_TRUE(narrower(kernel.row_sum(i), "1e-40"));
        ASSERT_TRUE(overlaps(applied[i], image));
        ASSERT_TRUE(narrower(applied[i], "1e-40"));
        total += sum;
      }
      ASSERT_TRUE(overlaps(kernel.total(), total)) << n << ' ' << text;
      ASSERT_TRUE(narrower(kernel.total(), "1e-40")) << n << ' ' << text;
      ASSERT_TRUE(overlaps(kernel.total_entry_variance(), variance));
      ASSERT_TRUE(narrower(kernel.total_entry_variance(), "1e-40"));
    }
  EXPECT_EQ(entries, 5 * (1 + 4 + 81 + 900));
}

TEST(Kernel, TotalInDoubleIsTheLengthWhereTheKernelIsTheIdentity) {
  // exp(-1/sigma) underflows: the matrix is the identity in double.
  for (const double sigma : {1e-3, 1e-4, 1e-10, 1e-300}) {
    EXPECT_EQ(AlibiKernel<double>(7, sigma).total(), 7.0) << sigma;
    EXPECT_EQ(AlibiKernel<double>(7, sigma).total_entry_variance(), 0.0) << sigma;
    EXPECT_EQ(AlibiKernel<double>(7, sigma).spectral_norm(), 1.0) << sigma;
    EXPECT_EQ(AlibiKernel<double>(7, sigma).row_sum(3), 1.0) << sigma;
  }
}

TEST(Kernel, RejectsBadArguments) {
  const AlibiKernel<double> kernel(5, 2.0);
  EXPECT_TRUE(rejects("distance", [&] { kernel.at_distance(-1); }));
  EXPECT_TRUE(rejects("i = ", [&] { kernel.entry(5, 0); }));
  EXPECT_TRUE(rejects("j = ", [&] { kernel.entry(0, -1); }));
  EXPECT_TRUE(rejects("i = ", [&] { kernel.row_sum(5); }));
  EXPECT_TRUE(rejects("x ", [&] { kernel.apply(Vector<double>::Zero(4)); }));
  EXPECT_TRUE(rejects("length", [] { AlibiKernel<double> bad(0, 2.0); }));
  EXPECT_TRUE(rejects("sigma", [] { AlibiKernel<double> bad(4, 0.0); }));
}

// ---- its spectral norm -----------------------------------------------------------------------

// Sylvester's law of inertia: x I - A has only positive pivots in Gaussian elimination exactly when
// x is above every eigenvalue of A. 1 when all pivots are certainly positive, -1 when one is
// certainly negative, 0 when undecided.
int above_every_eigenvalue(const Matrix<Interval>& a, const Interval& x) {
  const Index n = a.rows();
  Matrix<Interval> m(n, n);
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < n; ++j) m(i, j) = (i == j ? x : Interval(0)) - a(i, j);
  for (Index k = 0; k < n; ++k) {
    if (certainly_negative(m(k, k))) return -1;
    if (!certainly_positive(m(k, k))) return 0;
    for (Index i = k + 1; i < n; ++i) {
      const Interval factor = m(i, k) / m(k, k);
      for (Index j = k + 1; j < n; ++j) m(i, j) -= factor * m(k, j);
    }
  }
  return 1;
}

TEST(SpectralNorm, IsDecidedByTheInertiaOfTheMatrix) {
  // No eigenvalue solver and no tolerance: a little above the interval x I - L* is positive
  // definite, a little below it is not.
  int checked = 0;
  for (const Index n : {2, 3, 7, 20, 45})
    for (const char* text : {"0.05", "0.3", "2", "32", "256", "1e6"}) {
      Interval norm;
      {
        PrecisionScope scope(60);
        norm = AlibiKernel<Interval>(n, from_decimal<Interval>(text)).spectral_norm();
        ASSERT_TRUE(narrower(norm, "1e-40"));
      }
      PrecisionScope scope(200);  // elimination loses digits, but not these many
      const Matrix<Interval> dense = AlibiKernel<Interval>(n, from_decimal<Interval>(text)).dense();
      const Mpfr slack = upper(norm) * Mpfr("1e-55");
      ASSERT_EQ(above_every_eigenvalue(dense, Interval(Mpfr(upper(norm) + slack))), 1)
          << n << ' ' << text;
      ASSERT_EQ(above_every_eigenvalue(dense, Interval(Mpfr(lower(norm) - slack))), -1)
          << n << ' ' << text;
      ++checked;
    }
  EXPECT_EQ(checked, 30);
}

TEST(SpectralNorm, InDoubleAgreesWithADenseEigensolver) {
  int checked = 0;
  for (const Index n : {2, 3, 5, 10, 50, 100, 200})
    for (const double sigma : {0.01, 0.3, 2.0, 32.0, 256.0, 1e6}) {
      const AlibiKernel<double> kernel(n, sigma);
      const Eigen::MatrixXd a = kernel.dense();
      const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(a);
      ASSERT_EQ(solver.info(), Eigen::Success);
      const Eigen::MatrixXd& q = solver.eigenvectors();
      const double largest = solver.eigenvalues()[n - 1];
      // A posteriori: A = Q D Q^T + R, so by Weyl the eigenvalues of A are within ||R|| of those of
      // Q D Q^T, and by Ostrowski those are within max|D| ||Q^T Q - I|| of D. The residuals are
      // computed in double with sums of n terms: at most (n+2) u sum |q_ik| |d_k| |q_jk| per entry,
      // n (n+2) u max|D| in the Frobenius norm; the same for Q^T Q. Each entry exp(-x) of A is
      // within (2 + x) exp(-x) u
      // <= 3 u, together 3 n u. The closed form is within 70 u (derived below).
      const Eigen::MatrixXd residual = a - q * solver.eigenvalues().asDiagonal() * q.transpose();
      const Eigen::MatrixXd identity = Eigen::MatrixXd::Identity(n, n);
      const double m = static_cast<double>(n);
      const double tolerance = residual.norm() + largest * (q.transpose() * q - identity).norm() +
                               2 * m * (m + 2) * unit_roundoff * largest + 3 * unit_roundoff * m +
                               70 * unit_roundoff * largest;
      ASSERT_LT(tolerance, 1e-9 * largest) << n << ' ' << sigma;
      ASSERT_NEAR(kernel.spectral_norm(), largest, tolerance) << n << ' ' << sigma;
      PrecisionScope scope(40);
      const Interval norm = AlibiKernel<Interval>(n, Interval(sigma)).spectral_norm();
      ASSERT_TRUE(
          overlaps(norm, hull(Interval(largest - tolerance), Interval(largest + tolerance))));
      // Another rho is seen.
      if (sigma >= 0.3 && sigma <= 256) {
        ASSERT_GT(std::fabs(AlibiKernel<double>(n, sigma * 1.001).spectral_norm() - largest),
                  tolerance);
      }
      ++checked;
    }
  EXPECT_EQ(checked, 42);
}

TEST(SpectralNorm, HasTheKnownValuesOfSmallMatrices) {
  for (const char* text : {"0.3", "2", "256"}) {
    PrecisionScope scope(60);
    const auto sigma = from_decimal<Interval>(text);
    const Interval rho = exp(Interval(-Interval(1) / sigma));
    EXPECT_TRUE(holds(AlibiKernel<Interval>(1, sigma).spectral_norm(), 1.0));
    EXPECT_TRUE(overlaps(AlibiKernel<Interval>(2, sigma).spectral_norm(), Interval(1) + rho));
    // n = 3, on (x, y, x): (l - 1 - rho^2)(l - 1) = 2 rho^2.
    const Interval square = rho * rho;
    const Interval three = Interval(1) + square / Interval(2) +
                           sqrt(Interval(square * square / Interval(4) + Interval(2) * square));
    EXPECT_TRUE(overlaps(AlibiKernel<Interval>(3, sigma).spectral_norm(), three));
    EXPECT_FALSE(overlap(AlibiKernel<Interval>(3, sigma).spectral_norm(),
                         three * (Interval(1) + from_decimal<Interval>("1e-30"))));
  }
}

TEST(SpectralNorm, GrowsWithTheLengthTowardsItsLimit) {
  PrecisionScope scope(80);
  for (const char* text : {"0.3", "4", "256"}) {
    const auto sigma = from_decimal<Interval>(text);
    const Interval limit = spectral_norm_limit(sigma);
    // coth(1/(2 sigma)) = (exp(1/sigma) + 1) / (exp(1/sigma) - 1).
    const Interval e = exp(Interval(Interval(1) / sigma));
    EXPECT_TRUE(overlaps(limit, (e + Interval(1)) / (e - Interval(1))));
    Interval previous(0);
    for (const Index n : {1, 2, 3, 4, 5, 8, 16, 17, 100, 1000, 100'000, 1'000'000'000}) {
      const Interval norm = AlibiKernel<Interval>(n, sigma).spectral_norm();
      ASSERT_TRUE(certainly_less(previous, norm)) << n << ' ' << text;
      ASSERT_TRUE(certainly_less(norm, limit)) << n << ' ' << text;
      previous = norm;
    }
  }
}

// The root a of tan(n a/2) tan(a/2) = T, T = tanh h, h = 1/(2 sigma). With phi = pi/2 - n a/2 it
// reads tan(a/2) = T tan(phi). T < 1 gives phi > a/2, so a < pi/(n+1). tan is convex from tan 0 =
// 0, so T tan(phi) >= tan(T phi), thus phi <= (a/2)/T, and a >= pi/(n + 1/T). The norm coth(h) / (1
// + (sin(a/2)/sinh h)^2) falls in a.
Interval bracketed_norm(Index n, const Interval& sigma) {
  const Interval h = Interval(1) / (Interval(2) * sigma);
  const Interval coth = spectral_norm_limit(sigma);
  const auto norm_at = [&](const Interval& a) {
    const Interval quotient = sin(Interval(a / Interval(2))) / sinh(h);
    return Interval(coth / (Interval(1) + quotient * quotient));
  };
  return hull(norm_at(Interval(pi<Interval>() / Interval(n + 1))),
              norm_at(Interval(pi<Interval>() / (Interval(n) + coth))));
}

TEST(SpectralNorm, LiesInItsAsymptoticBracketAtEveryLength) {
  PrecisionScope scope(80);
  int checked = 0;
  for (const Index n : {2ll, 10ll, 1000ll, 1'000'000ll, 1'000'000'000'000ll})
    for (const char* text : {"0.01", "0.5", "4", "256", "1e6"}) {
      const auto sigma = from_decimal<Interval>(text);
      const Interval norm = AlibiKernel<Interval>(n, sigma).spectral_norm();
      ASSERT_TRUE(overlaps(bracketed_norm(n, sigma), norm)) << n << ' ' << text;
      ASSERT_LT(width(norm), upper(norm) * Mpfr("1e-65")) << n << ' ' << text;
      // The double. With x = n a/2, the product tan(x) tan(a/2) has the logarithmic derivative
      // 2x/sin(2x) + 1 in a, and rounding x by u changes it by 2x/sin(2x) u: the root's relative
      // error is at most the sum of the roundings: 2 of x, 12 of the tangents, tanh h and the
      // product, 2 of the last step of the bisection: 16 u. The norm's condition in a is 2
      // q^2/(1+q^2) <= 2, q = sin(a/2)/sinh h. Its own evaluation: q^2 within (20 + 2h) u, weighted
      // by q^2/(1+q^2), where h q^2 < 1; tanh h within 8 u; 3 more. Together below 70 u.
      const double in_double = AlibiKernel<double>(n, to_double(sigma)).spectral_norm();
      ASSERT_NEAR(in_double, to_double(norm), 70 * unit_roundoff * to_double(norm))
          << n << ' ' << text;
      ++checked;
    }
  EXPECT_EQ(checked, 25);
  // At n = 10^12 and sigma = 256 the bracket is 10^-30 of the norm.
  const Interval far = bracketed_norm(1'000'000'000'000, Interval(256));
  EXPECT_LT(width(far), upper(far) * Mpfr("1e-25"));
  // Another length is seen.
  EXPECT_FALSE(overlap(bracketed_norm(1000, Interval(4)),
                       AlibiKernel<Interval>(1100, Interval(4)).spectral_norm()));
}

TEST(SpectralNorm, EnclosesAtLowPrecisionWhatHighPrecisionFinds) {
  int checked = 0;
  for (const Index n : {2, 5, 31, 500})
    for (const char* text : {"0.01", "0.03", "0.05", "0.1", "0.3", "1", "32", "1e6"})
      for (const unsigned digits : {17u, 25u}) {
        Interval coarse;
        {
          PrecisionScope scope(digits);
          coarse = AlibiKernel<Interval>(n, from_decimal<Interval>(text)).spectral_norm();
        }
        PrecisionScope scope(120);
        const Interval fine =
            AlibiKernel<Interval>(n, from_decimal<Interval>(text)).spectral_norm();
        ASSERT_TRUE(contains(coarse, fine)) << n << ' ' << text << ' ' << digits;
        ++checked;
      }
  EXPECT_EQ(checked, 64);
}

// ---- the matrix variance ---------------------------------------------------------------------

TEST(MatrixVariance, StaysBelowItsBound) {
  PrecisionScope scope(120);
  int checked = 0;
  for (const Index n : {1, 3, 24})
    for (const char* text : {"0.3", "2", "8", "256"}) {
      const auto sigma = from_decimal<Interval>(text);
      const Interval bound = matrix_variance_norm_bound(sigma);
      // coth(h) / sinh(2h) = 2 rho (1+rho) / ((1-rho) (1-rho^2)) = 2 rho / (1-rho)^2.
      const Interval rho = exp(Interval(-Interval(1) / sigma));
      EXPECT_TRUE(overlaps(bound, Interval(2) * rho / ((Interval(1) - rho) * (Interval(1) - rho))));
      const Matrix<Interval> variance = matrix_variance(n, sigma);
      EXPECT_EQ(above_every_eigenvalue(variance, bound), 1) << n << ' ' << text;
      const Matrix<Interval> kernel = AlibiKernel<Interval>(n, sigma).dense();
      for (Index i = 0; i < n; ++i)
        for (Index j = 0; j < n; ++j, ++checked) {
          ASSERT_FALSE(certainly_negative(variance(i, j)));
          ASSERT_TRUE(
              certainly_less(variance(i, j), kernel(i, j) / sinh(Interval(Interval(1) / sigma))));
        }
    }
  EXPECT_EQ(checked, 4 * (1 + 9 + 576));
  // The bound is the limit: at n = 40 sigma the norm is above 99% of it.
  EXPECT_EQ(above_every_eigenvalue(matrix_variance(40, Interval(1)),
                                   Interval(0.99) * matrix_variance_norm_bound(Interval(1))),
            -1);
}

// ---- the spectral error ----------------------------------------------------------------------

TEST(SpectralError, OperatorIsTheMatrix) {
  Source source(10);
  int checked = 0;
  for (const Index n : {1, 2, 17, 64})
    for (const double sigma : {0.3, 4.0, 256.0}) {
      const std::vector<Partition> samples = draw_partitions(n, sigma, 21, 0, 5);
      const KernelErrorOperator op(n, sigma, samples);
      ASSERT_EQ(op.rows(), n);
      ASSERT_EQ(op.cols(), n);
      Vector<double> x(n);
      for (Index i = 0; i < n; ++i) x[i] = static_cast<double>(source.integer(-8, 8));
      Vector<double> y(n);
      op.perform_op(x.data(), y.data());
      PrecisionScope scope(40);
      const Matrix<Interval> kernel = AlibiKernel<Interval>(n, Interval(sigma)).dense();
      const Matrix<Interval> mean = mean_mask<Interval>(samples);
      for (Index i = 0; i < n; ++i, ++checked) {
        Interval expected(0);
        for (Index j = 0; j < n; ++j) expected += (kernel(i, j) - mean(i, j)) * Interval(x[j]);
        // Block sums of integers are exact. The recursions multiply by rho, itself within 2 u, up
        // to n times and add n times: (4 n + 4) u sum_j |x_j|, and one rounding each of the
        // division and the difference.
        const double tolerance = (4 * static_cast<double>(n) + 8) * unit_roundoff * x.lpNorm<1>();
        ASSERT_NEAR(y[i], to_double(expected), tolerance);
      }
    }
  EXPECT_EQ(checked, 3 * (1 + 2 + 17 + 64));
}

TEST(SpectralError, IsTheNormOfTheDenseMatrix) {
  int checked = 0;
  for (const Index n : {1, 2, 3, 10, 25, 64})
    for (const double sigma : {0.5, 4.0, 64.0})
      for (const Index count : {1, 8}) {
        const std::vector<Partition> samples = draw_partitions(n, sigma, 22, 0, count);
        const Eigen::MatrixXd a =
            AlibiKernel<double>(n, sigma).dense() - mean_mask<double>(samples);
        const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(a);
        ASSERT_EQ(solver.info(), Eigen::Success);
        const double norm = solver.eigenvalues().cwiseAbs().maxCoeff();
        const SpectralEstimate estimate = spectral_error(n, sigma, samples, 1e-9);
        // An eigenvalue lies within the residual of the Ritz value. Rounding: the operator within
        // (4 n + 8) u ||x||_1 per entry, n (4 n + 8) u in norm for unit x; the dense solver within
        // its residual, as above, at most n (n+2) u times the norm and far below it in practice.
        const double m = static_cast<double>(n);
        const double tolerance =
            estimate.residual + m * (5 * m + 10) * unit_roundoff * std::max(1.0, norm);
        ASSERT_NEAR(estimate.norm, norm, tolerance) << n << ' ' << sigma << ' ' << count;
        ASSERT_LE(estimate.residual, 1e-8 * std::max(1e-6, norm)) << n << ' ' << sigma;
        ASSERT_GE(estimate.products, 1);
        ++checked;
      }
  EXPECT_EQ(checked, 36);
}

TEST(SpectralError, IsZeroWhereKernelAndMaskAreTheIdentity) {
  // exp(-1000) is zero in double, and widths of 0.001 give singletons: L* - M~ = 0 exactly.
  for (const Index n : {2, 3, 50}) {
    const std::vector<Partition> samples = draw_partitions(n, 1e-3, 1, 0, 2);
    // The one eigenvalue 0 lies within the residual of the Ritz value, a norm of n rounded terms.
    const SpectralEstimate estimate = spectral_error(n, 1e-3, samples);
    EXPECT_LE(estimate.norm, estimate.residual * (1 + (static_cast<double>(n) + 4) * unit_roundoff))
        << n;
    EXPECT_LT(estimate.norm, 1e-12) << n;
  }
}

TEST(SpectralError, RejectsBadArguments) {
  const std::vector<Partition> samples = draw_partitions(5, 2.0, 1, 0, 2);
  const std::vector<Partition> none;
  EXPECT_TRUE(rejects("tolerance", [&] { spectral_error(5, 2.0, samples, 0.0); }));
  EXPECT_TRUE(rejects("tolerance", [&] { spectral_error(5, 2.0, samples, 0.2); }));
  EXPECT_TRUE(rejects("sigma", [&] { spectral_error(5, 0.0, samples); }));
  EXPECT_TRUE(rejects("sample", [&] { spectral_error(5, 2.0, none); }));
  EXPECT_TRUE(rejects("length", [&] { spectral_error(6, 2.0, samples); }));
  EXPECT_TRUE(rejects("length", [&] { spectral_error(0, 2.0, samples); }));
}

}  // namespace
}  // namespace plsh::reference::test
