/// \file
/// The tolerance of one row: proofs-notes/attention-tolerance.md, formula by formula.
///
/// Everything here is a bound on |result - exact| for a row of exact arithmetic, as a function of
/// the unit roundoffs of the declared types. The names are those of the note.
#pragma once

#include <vector>

#include "expected_rows.hpp"

namespace plsh::properties::expected {

/// The unit roundoffs (u) and the smallest sizes that are not lost (lambda) of the declared types.
struct Roundoff {
  double logits, bias, weights, accumulation, result, log_sum_exp;
  double exponential;  ///< of the type in which exp is evaluated
  double lost_logits, lost_weights, lost_accumulation, lost_result;
  double largest_logit;  ///< the largest finite number of the logits' type
  double reference;      ///< the error of the reference in double is at most this part of the bound
};
Roundoff roundoff_of(const plsh_precision& precision, Type type);

/// What the bounds need to know about a row, in exact arithmetic up to a relative 1e-9.
struct RowTerms {
  SeenKeys seen;
  std::vector<double> logit;   ///< x_j, with the bias
  std::vector<double> size;    ///< X_j = S_j + M_j: scale sum |q||k| and the size of the bias
  std::vector<double> weight;  ///< p_j, sum 1
  double pairs = 0;            ///< N = sum of the counts
  double keys = 0;             ///< keys with a count above 0
  double largest_size = 0;     ///< X = max X_j
  double log_sum_exp = 0;      ///< natural, of the counts
};

/// \param lse natural log-sum-exp of the counts (not of their mean).
void set_weights(RowTerms& row, double lse);

/// The bound for one row of forward.
struct ForwardBound {
  std::vector<double> exponent;   ///< e_j
  std::vector<double> weight;     ///< delta_j: relative error of a weight, common to both sums
  std::vector<double> summation;  ///< t_j: relative error of a term of one sum
  double relative = 0;            ///< Delta: relative error of the denominator
  double lost = 0;          ///< what underflow takes from the sums, as a part of the denominator
  double log_sum_exp = 0;   ///< of the natural log-sum-exp, without the rounding at its end
  double shift = 0;         ///< m kappa: how large a constant may have been added to the row
  double magnitude = 0;     ///< Lambda, the constant included
  bool first_order = true;  ///< Delta < 1/2: the bounds vanish with the roundoffs
};
/// \param shifted the implementation may add a constant to the bias of a row.
ForwardBound forward_bound(const Head& head, Index i, const RowTerms& row, const Roundoff& u,
                           bool shifted);
/// |o^_c - o_c| for component c of the output, with the rounding to its type and the reference's
/// own error.
double output_tolerance(const Head& head, const RowTerms& row, const ForwardBound& bound,
                        const Roundoff& u, Index c, double output);
/// The same for the natural log-sum-exp of value `lse`.
double log_sum_exp_tolerance(const ForwardBound& bound, const Roundoff& u, double lse);

/// The bound for one row of backward.
struct BackwardBound {
  std::vector<double> logit_gradient;        ///< dS_j, exact
  std::vector<double> logit_gradient_error;  ///< of dS_j as held for the products
  std::vector<double> weight_error;          ///< of p_j as held for dV
};
/// \param output, output_tolerance of the row, one per component.
BackwardBound backward_bound(const Head& head, Index i, const RowTerms& row,
                             const ForwardBound& bound, const Roundoff& u, double lse_tolerance,
                             const std::vector<double>& output,
                             const std::vector<double>& output_tolerance);

/// (1+u)^n - 1.
double grown(double u, double n);

}  // namespace plsh::properties::expected
