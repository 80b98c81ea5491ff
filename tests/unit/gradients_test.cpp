// Gradients of attention, against differences of the output.
#include <plsh/reference/gradients.hpp>

#include "support.hpp"

namespace plsh::reference::test {
namespace {

/// A head, its weights and an output gradient. Weights are 0, 1, 2 or 3: some keys are left out.
struct Problem {
  HeadInput<double> head;
  Matrix<double> weights;
  Matrix<double> output_gradient;
};

Problem random_problem(Source& source, Index queries, Index keys, Index head_dim, Index value_dim,
                       bool causal, Index offset) {
  Problem p{random_head(source, queries, keys, head_dim, value_dim), Matrix<double>(queries, keys),
            Matrix<double>(queries, value_dim)};
  p.head.causal = causal;
  p.head.query_offset = offset;
  for (Index i = 0; i < queries; ++i) {
    for (Index j = 0; j < keys; ++j) p.weights(i, j) = static_cast<double>(source.integer(0, 3));
    for (Index c = 0; c < value_dim; ++c)
      p.output_gradient(i, c) = static_cast<double>(source.integer(-16, 16)) / 8;
  }
  return p;
}

/// sum_ic dO_ic o_ic, of which the gradients are the derivatives.
template <class Real>
Real loss(const HeadInput<Real>& head, const Problem& p) {
  const HeadOutput<Real> result = weighted_attention(head, convert<Real>(p.weights));
  Real sum(0);
  for (Index i = 0; i < result.output.rows(); ++i)
    for (Index c = 0; c < result.output.cols(); ++c)
      sum += Real(p.output_gradient(i, c)) * result.output(i, c);
  return sum;
}

/// A central difference; its error is of the order of step^2.
Mpfr difference(const Problem& p, Matrix<Mpfr> HeadInput<Mpfr>::*part, Index i, Index c) {
  const Mpfr step("1e-18");
  HeadInput<Mpfr> up = convert<Mpfr>(p.head);
  HeadInput<Mpfr> down = up;
  (up.*part)(i, c) += step;
  (down.*part)(i, c) -= step;
  return (loss(up, p) - loss(down, p)) / (2 * step);
}

::testing::AssertionResult are_differences(const Problem& p, const HeadGradients<Mpfr>& gradients) {
  const std::pair<Matrix<Mpfr> HeadInput<Mpfr>::*, const Matrix<Mpfr>*> parts[] = {
      {&HeadInput<Mpfr>::query, &gradients.query},
      {&HeadInput<Mpfr>::key, &gradients.key},
      {&HeadInput<Mpfr>::value, &gradients.value}};
  for (const auto& [part, gradient] : parts)
    for (Index i = 0; i < gradient->rows(); ++i)
      for (Index c = 0; c < gradient->cols(); ++c) {
        const Mpfr error = abs(Mpfr((*gradient)(i, c) - difference(p, part, i, c)));
        if (!(error < Mpfr("1e-28")))
          return ::testing::AssertionFailure() << "[" << i << ", " << c << "]: " << error.str(5);
      }
  return ::testing::AssertionSuccess();
}

template <class Real>
HeadGradients<Real> gradients_of(const Problem& p) {
  return weighted_attention_gradients(convert<Real>(p.head), convert<Real>(p.weights),
                                      convert<Real>(p.output_gradient));
}

TEST(Gradients, AreDerivativesOfTheOutput) {
  const PrecisionScope precision(60);
  Source source(71);
  for (const bool causal : {false, true})
    for (const Index offset : {Index{0}, Index{2}, Index{-1}}) {
      const Problem p = random_problem(source, 4, 5, 3, 2, causal, offset);
      const HeadGradients<Mpfr> gradients = gradients_of<Mpfr>(p);
      EXPECT_TRUE(are_differences(p, gradients));
      // Planted: the test sees a gradient that is wrong in one place.
      HeadGradients<Mpfr> wrong = gradients;
      wrong.key(0, 0) += Mpfr("1e-20");
      EXPECT_FALSE(are_differences(p, wrong));
    }
}

TEST(Gradients, IntervalsHoldTheOthers) {
  const PrecisionScope precision(40);
  Source source(72);
  for (int trial = 0; trial < 5; ++trial) {
    // Eight keys and columns: more than the sizes at which products of matrices of intervals fail.
    const Problem p = random_problem(source, 8, 8, 8, 8, trial % 2 == 1, 0);
    const HeadGradients<Interval> enclosed = gradients_of<Interval>(p);
    const HeadGradients<Mpfr> points = gradients_of<Mpfr>(p);
    const HeadGradients<double> doubles = gradients_of<double>(p);
    const auto compare = [](const Matrix<Interval>& x, const Matrix<Mpfr>& y,
                            const Matrix<double>& z) {
      for (Index i = 0; i < x.rows(); ++i)
        for (Index c = 0; c < x.cols(); ++c) {
          EXPECT_TRUE(narrower(x(i, c), "1e-30"));
          EXPECT_LT(abs(Mpfr(y(i, c) - lower(x(i, c)))), Mpfr("1e-30"));
          EXPECT_NEAR(to_double(x(i, c)), z(i, c), 1e-11);
        }
    };
    compare(enclosed.query, points.query, doubles.query);
    compare(enclosed.key, points.key, doubles.key);
    compare(enclosed.value, points.value, doubles.value);
  }
}

TEST(Gradients, RowsWithoutKeysGiveNothing) {
  Source source(73);
  // Query 0 stands before the first key, query 2 has no weight.
  Problem p = random_problem(source, 3, 2, 2, 2, true, -1);
  p.weights.row(1).setConstant(1);
  p.weights.row(2).setConstant(0);
  const HeadGradients<double> gradients = gradients_of<double>(p);
  EXPECT_EQ(gradients.query.row(0), Vector<double>::Zero(2).transpose());
  EXPECT_EQ(gradients.query.row(2), Vector<double>::Zero(2).transpose());
  // Query 1 sees key 0 alone: its weight is 1 whatever the logit.
  EXPECT_EQ(gradients.query.row(1), Vector<double>::Zero(2).transpose());
  EXPECT_TRUE(gradients.key.isZero(0));
  EXPECT_EQ(gradients.value.row(0), p.output_gradient.row(1));
  EXPECT_TRUE(gradients.value.row(1).isZero(0));
  p.head.key.resize(0, 2);
  p.head.value.resize(0, 2);
  p.weights.resize(3, 0);
  EXPECT_TRUE(gradients_of<double>(p).query.isZero(0));
}

TEST(Gradients, LargeLogitsDoNotOverflow) {
  Source source(74);
  Problem p = random_problem(source, 2, 3, 2, 1, false, 0);
  p.weights.setConstant(1);
  p.head.logit_scale = 1e5;
  const HeadGradients<double> gradients = gradients_of<double>(p);
  EXPECT_TRUE(gradients.query.allFinite());
  EXPECT_TRUE(gradients.key.allFinite());
  EXPECT_TRUE(gradients.value.allFinite());
}

TEST(Gradients, ShapesThatDoNotFitAreNamed) {
  Source source(75);
  const Problem good = random_problem(source, 2, 3, 2, 2, false, 0);
  Problem p = good;
  p.weights.resize(2, 2);
  EXPECT_TRUE(rejects("weights", [&] { gradients_of<double>(p); }));
  p = good;
  p.output_gradient.resize(2, 3);
  EXPECT_TRUE(rejects("output_gradient", [&] { gradients_of<double>(p); }));
  p = good;
  p.head.value.resize(2, 2);
  EXPECT_TRUE(rejects("value", [&] { gradients_of<double>(p); }));
  p = good;
  p.head.key.resize(3, 1);
  EXPECT_TRUE(rejects("head_dim", [&] { gradients_of<double>(p); }));
}

}  // namespace
}  // namespace plsh::reference::test
