#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <plsh/properties/evidence.hpp>
#include <stdexcept>

namespace plsh::properties {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// The bets: fractions of the largest admissible one.
const std::vector<double>& fractions() {
  static const std::vector<double> values{0.01, 0.03, 0.1, 0.3, 0.5, 0.8, 0.95};
  return values;
}

}  // namespace

double log_mean_exp(const std::vector<double>& values) {
  if (values.empty()) throw std::invalid_argument("an average needs at least one e-value");
  const double largest = *std::max_element(values.begin(), values.end());
  if (std::isinf(largest)) return largest;
  double sum = 0;
  for (const double value : values) sum += std::exp(value - largest);
  return largest + std::log(sum / static_cast<double>(values.size()));
}

double combine_independent(const std::vector<double>& values) {
  return log_mean_exp({std::accumulate(values.begin(), values.end(), 0.0), log_mean_exp(values)});
}

KnownLawEvidence::KnownLawEvidence(std::vector<double> law,
                                   std::vector<std::vector<double>> alternatives, double kappa)
    : law_(std::move(law)),
      alternatives_(std::move(alternatives)),
      kappa_(kappa),
      counts_(law_.size(), 0.0),
      log_alternatives_(alternatives_.size(), 0.0) {
  for (const auto& alternative : alternatives_)
    if (alternative.size() != law_.size())
      throw std::invalid_argument("an alternative law has another number of outcomes");
}

void KnownLawEvidence::observe(Index outcome) {
  const auto x = static_cast<std::size_t>(outcome);
  const auto seen = static_cast<double>(observations_++);
  if (outcome < 0 || law_.at(x) <= 0) {
    log_predictive_ = infinity;
    return;
  }
  const double p = law_[x];
  log_predictive_ += std::log((counts_[x] + kappa_ * p) / ((seen + kappa_) * p));
  for (std::size_t a = 0; a < alternatives_.size(); ++a)
    log_alternatives_[a] += std::log(alternatives_[a][x] / p);
  counts_[x] += 1;
}

double KnownLawEvidence::log_e_value() const {
  if (std::isinf(log_predictive_) || log_alternatives_.empty()) return log_predictive_;
  return log_mean_exp({log_predictive_, log_mean_exp(log_alternatives_)});
}

ExceedanceEvidence::ExceedanceEvidence(double delta) : delta_(delta) {
  if (!(delta > 0 && delta < 1)) throw std::invalid_argument("delta must lie in (0, 1)");
}

void ExceedanceEvidence::observe(bool exceeded) {
  ++observations_;
  exceedances_ += exceeded ? 1 : 0;
}

double ExceedanceEvidence::log_e_value() const {
  std::vector<double> logs;
  for (const double fraction : fractions()) {
    const double lambda = fraction / delta_;
    logs.push_back(static_cast<double>(exceedances_) * std::log1p(lambda * (1 - delta_)) +
                   static_cast<double>(observations_ - exceedances_) * std::log1p(-fraction));
  }
  return log_mean_exp(logs);
}

MeanOneEvidence::MeanOneEvidence() : log_products_(fractions().size(), 0.0) {}

void MeanOneEvidence::observe(double value) {
  if (!(value >= 0)) throw std::invalid_argument("a mean-one variable must not be negative");
  for (std::size_t k = 0; k < log_products_.size(); ++k)
    log_products_[k] += std::log1p(fractions()[k] * (value - 1));
}

double MeanOneEvidence::log_e_value() const { return log_mean_exp(log_products_); }

}  // namespace plsh::properties
