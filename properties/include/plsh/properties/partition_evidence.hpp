/// \file
/// E-values from random partitions of any length, by their exact likelihood.
///
/// A partition does not show its width and phase, but it fixes them up to a small region
/// (plsh/reference/partition_region.hpp). The tests below work with the exact probability of that
/// region and with its exact masses in cells. Proofs: proofs-notes/evidence.md.
#pragma once

#include <plsh/properties/evidence.hpp>
#include <plsh/reference/partition_region.hpp>
#include <unordered_map>
#include <vector>

namespace plsh::properties {

/// Likelihood ratios of other decay lengths against sigma.
class ScaleEvidence {
 public:
  /// \param factors the alternatives sigma * factor.
  ScaleEvidence(double sigma, std::vector<double> factors);
  /// \pre region.reachable()
  void observe(const reference::PartitionRegion& region);
  /// Of the mixture of all alternatives in equal parts.
  double log_e_value() const { return log_mean_exp(log_ratios_); }
  const std::vector<double>& factors() const { return factors_; }
  /// ln of the likelihood ratio of each alternative, in order.
  const std::vector<double>& log_ratios() const { return log_ratios_; }

 private:
  double sigma_;
  std::vector<double> factors_;
  std::vector<double> log_ratios_;
};

/// How one observation is spread over cells: (cell, weight) with weights of sum 1.
struct CellWeight {
  std::size_t cell;
  double weight;
};
using CellWeights = std::vector<CellWeight>;

/// Cells of equal width law or not, times phases in equal parts.
class CellGrid {
 public:
  /// \param tails P(w > end of the cell), falling, one for each border between two width cells.
  /// \param phases number of phase cells, >= 1.
  CellGrid(double sigma, const std::vector<double>& tails, Index phases);

  /// The probability of each cell under w ~ Gamma(2, sigma), t/w uniform; cell number
  /// (width cell) * phases + (phase cell).
  const std::vector<double>& law() const { return law_; }
  /// The conditional law of the cell given the partition. \pre region.reachable()
  CellWeights weights(const reference::PartitionRegion& region) const;
  Index phases() const { return phases_; }
  std::size_t width_cells() const { return widths_.size() - 1; }
  double sigma() const { return sigma_; }
  /// Borders of the width cells, from 0 to infinity.
  const std::vector<double>& widths() const { return widths_; }

 private:
  double sigma_;
  Index phases_;
  std::vector<double> widths_;
  std::vector<double> law_;
};

/// Cells that are seen through their conditional probabilities: the predictive mixture and given
/// alternative laws, as in KnownLawEvidence, averaged over the cells an observation may be in.
class SoftCellEvidence {
 public:
  /// \param law probabilities of the cells, > 0, of sum 1 up to rounding.
  /// \param alternatives other laws over the same cells.
  SoftCellEvidence(std::vector<double> law, std::vector<std::vector<double>> alternatives,
                   double kappa = 30);
  void observe(const CellWeights& weights);
  double log_e_value() const;
  double log_predictive() const { return log_predictive_; }
  const std::vector<double>& log_alternatives() const { return log_alternatives_; }
  Index observations() const { return observations_; }

 private:
  std::vector<double> law_;
  std::vector<std::vector<double>> ratios_;  // alternative over law
  double kappa_;
  std::vector<double> counts_;
  Index observations_ = 0;
  double log_predictive_ = 0;
  std::vector<double> log_alternatives_;
};

/// The weights of a pair of independent observations over the pairs of their cells, cell number
/// a * cells_of_b + b.
CellWeights product(const CellWeights& a, const CellWeights& b, std::size_t cells_of_b);
/// The law of such a pair.
std::vector<double> product(const std::vector<double>& a, const std::vector<double>& b);

/// Repeats among partitions, each of which has a small probability. When X_t is drawn, the distinct
/// rare partitions before it have together the probability S_t < 1, and the factor is
/// 1 - l + l/S_t when X_t is one of them and 1 - l otherwise; averaged over l = 1/2, 1/4, ...,
/// 2^-20.
class RepeatEvidence {
 public:
  /// \param rare only partitions with a probability below this count as earlier ones.
  explicit RepeatEvidence(double rare = 1e-6);
  /// \param key names the partition; \param probability its probability.
  void observe(std::uint64_t key, double probability);
  double log_e_value() const { return log_mean_exp(log_products_); }
  /// ln of the likelihood ratio of "a fraction l of the partitions repeats an earlier one", a power
  /// of 1/2.
  double log_ratio(int power) const {
    return log_products_.at(static_cast<std::size_t>(power - 1));
  }
  Index observations() const { return observations_; }
  Index repeats() const { return repeats_; }

 private:
  double rare_;
  double earlier_ = 0;  // S_t
  std::unordered_map<std::uint64_t, double> seen_;
  Index observations_ = 0;
  Index repeats_ = 0;
  std::vector<double> log_products_;
};

}  // namespace plsh::properties
