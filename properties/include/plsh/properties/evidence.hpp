/// \file
/// Evidence that cannot cry wolf: e-values.
///
/// An e-value is a non-negative statistic whose mean is at most 1 when the hypothesis holds, so
/// that P(E >= 1/alpha) <= alpha (Markov); a product of conditional e-values keeps this at any
/// stopping time (Ville). Averages of e-values are e-values. All values here are natural
/// logarithms. Proofs: proofs-notes/evidence.md.
#pragma once

#include <plsh/reference/real.hpp>
#include <vector>

namespace plsh::properties {

using reference::Index;

/// ln of the average of exp(values): the average of e-values given by their logarithms.
double log_mean_exp(const std::vector<double>& values);

/// Evidence from independent sources, e.g. heads with streams of their own: the average of the
/// product of their e-values (a fault common to all) and of their average (a fault of one).
double combine_independent(const std::vector<double>& values);

/// Outcomes 0..K-1 against a completely known law.
///
/// Bets with the predictive mixture q_t(x) = (count_x + kappa p_x)/(t + kappa) and with the given
/// alternative laws, in equal parts. An outcome of probability zero makes the e-value infinite.
class KnownLawEvidence {
 public:
  /// \param law probabilities p_x >= 0 with sum 1 up to rounding.
  /// \param alternatives laws over the same outcomes, for the departures to find fastest.
  KnownLawEvidence(std::vector<double> law, std::vector<std::vector<double>> alternatives,
                   double kappa = 30);
  /// \param outcome 0..K-1, or -1 for an outcome that the law cannot produce.
  void observe(Index outcome);
  double log_e_value() const;
  Index observations() const { return observations_; }
  double log_predictive() const { return log_predictive_; }
  /// ln of the likelihood ratio of each alternative, in order.
  const std::vector<double>& log_alternatives() const { return log_alternatives_; }

 private:
  std::vector<double> law_;
  std::vector<std::vector<double>> alternatives_;
  double kappa_;
  std::vector<double> counts_;
  Index observations_ = 0;
  double log_predictive_ = 0;
  std::vector<double> log_alternatives_;
};

/// Events X in {0, 1} with P(X = 1) <= delta, given the past: the average over lambda of
/// prod (1 + lambda (X - delta)), 0 < lambda < 1/delta.
class ExceedanceEvidence {
 public:
  explicit ExceedanceEvidence(double delta);
  void observe(bool exceeded);
  double log_e_value() const;
  Index observations() const { return observations_; }
  Index exceedances() const { return exceedances_; }

 private:
  double delta_;
  Index observations_ = 0;
  Index exceedances_ = 0;
};

/// Independent non-negative variables of mean 1: the average over lambda of
/// prod (1 - lambda + lambda X), 0 < lambda < 1. Finds a mean above 1.
class MeanOneEvidence {
 public:
  MeanOneEvidence();
  void observe(double value);
  double log_e_value() const;

 private:
  std::vector<double> log_products_;
};

}  // namespace plsh::properties
