#include <algorithm>
#include <cmath>
#include <limits>
#include <plsh/properties/partition_evidence.hpp>
#include <plsh/reference/laws.hpp>
#include <stdexcept>

namespace plsh::properties {

namespace {
constexpr double infinity = std::numeric_limits<double>::infinity();
}

ScaleEvidence::ScaleEvidence(double sigma, std::vector<double> factors)
    : sigma_(sigma), factors_(std::move(factors)), log_ratios_(factors_.size(), 0.0) {
  if (factors_.empty()) throw std::invalid_argument("a scale mixture needs an alternative");
}

void ScaleEvidence::observe(const reference::PartitionRegion& region) {
  const double null = region.log_probability(sigma_);
  for (std::size_t k = 0; k < factors_.size(); ++k)
    log_ratios_[k] += region.log_probability(factors_[k] * sigma_) - null;
}

CellGrid::CellGrid(double sigma, const std::vector<double>& tails, Index phases)
    : sigma_(sigma), phases_(phases), widths_{0} {
  if (phases < 1) throw std::invalid_argument("a grid needs at least one phase cell");
  double before = 1;
  const auto append = [&](double mass) {
    if (!(mass > 0)) throw std::invalid_argument("width tails must fall from below 1 to above 0");
    for (Index p = 0; p < phases; ++p) law_.push_back(mass / static_cast<double>(phases));
  };
  for (const double tail : tails) {
    widths_.push_back(reference::max_width_quantile(tail, sigma, 1));
    append(before - tail);
    before = tail;
  }
  widths_.push_back(infinity);
  append(before);
}

CellWeights CellGrid::weights(const reference::PartitionRegion& region) const {
  // The first border at or beyond the lowest width ends the first cell; most partitions fix their
  // width and phase well enough to lie in one cell.
  const auto first = static_cast<std::size_t>(
      std::upper_bound(widths_.begin() + 1, widths_.end() - 1, region.lowest_width()) -
      widths_.begin() - 1);
  const auto last = static_cast<std::size_t>(
      std::lower_bound(widths_.begin() + 1, widths_.end() - 1, region.highest_width()) -
      widths_.begin() - 1);
  const auto phases = static_cast<double>(phases_);
  const auto phase_cell = [&](double phase) {
    return std::clamp<Index>(static_cast<Index>(std::floor(phase * phases)), 0, phases_ - 1);
  };
  const Index first_phase = phase_cell(region.lowest_phase() - 1e-9);
  const Index last_phase = phase_cell(region.highest_phase() + 1e-9);
  if (first >= last && first_phase == last_phase)
    return {{first * static_cast<std::size_t>(phases_) + static_cast<std::size_t>(first_phase), 1}};
  CellWeights result;
  const double whole = region.log_probability(sigma_);
  double sum = 0;
  for (std::size_t w = first; w <= std::max(first, last); ++w)
    for (Index p = first_phase; p <= last_phase; ++p) {
      const double mass =
          std::exp(region.log_probability(
                       sigma_, {widths_[w], widths_[w + 1], static_cast<double>(p) / phases,
                                static_cast<double>(p + 1) / phases}) -
                   whole);
      if (mass > 0)
        result.push_back(
            {w * static_cast<std::size_t>(phases_) + static_cast<std::size_t>(p), mass});
      sum += mass;
    }
  if (!(sum > 0)) throw std::logic_error("a partition lies in no cell");
  for (CellWeight& entry : result) entry.weight /= sum;
  return result;
}

SoftCellEvidence::SoftCellEvidence(std::vector<double> law,
                                   std::vector<std::vector<double>> alternatives, double kappa)
    : law_(std::move(law)),
      ratios_(std::move(alternatives)),
      kappa_(kappa),
      counts_(law_.size(), 0.0),
      log_alternatives_(ratios_.size(), 0.0) {
  for (auto& ratio : ratios_) {
    if (ratio.size() != law_.size())
      throw std::invalid_argument("an alternative law has another number of cells");
    for (std::size_t c = 0; c < law_.size(); ++c) ratio[c] /= law_[c];
  }
}

void SoftCellEvidence::observe(const CellWeights& weights) {
  const double total = static_cast<double>(observations_++) + kappa_;
  double predictive = 0;
  for (const auto& [cell, weight] : weights)
    predictive += weight * (counts_[cell] + kappa_ * law_[cell]) / (total * law_[cell]);
  log_predictive_ += std::log(predictive);
  for (std::size_t a = 0; a < ratios_.size(); ++a) {
    double factor = 0;
    for (const auto& [cell, weight] : weights) factor += weight * ratios_[a][cell];
    log_alternatives_[a] += std::log(factor);
  }
  for (const auto& [cell, weight] : weights) counts_[cell] += weight;
}

double SoftCellEvidence::log_e_value() const {
  if (log_alternatives_.empty()) return log_predictive_;
  return log_mean_exp({log_predictive_, log_mean_exp(log_alternatives_)});
}

CellWeights product(const CellWeights& a, const CellWeights& b, std::size_t cells_of_b) {
  CellWeights result;
  result.reserve(a.size() * b.size());
  for (const auto& x : a)
    for (const auto& y : b) result.push_back({x.cell * cells_of_b + y.cell, x.weight * y.weight});
  return result;
}

std::vector<double> product(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> result;
  result.reserve(a.size() * b.size());
  for (const double x : a)
    for (const double y : b) result.push_back(x * y);
  return result;
}

RepeatEvidence::RepeatEvidence(double rare) : rare_(rare), log_products_(20, 0.0) {}

void RepeatEvidence::observe(std::uint64_t key, double probability) {
  ++observations_;
  const bool repeat = seen_.contains(key);
  repeats_ += repeat ? 1 : 0;
  // Without an earlier one, or once they cover half of the law, there is no bet.
  if (earlier_ > 0 && earlier_ < 0.5) {
    double fraction = 1;
    for (double& product : log_products_) {
      fraction /= 2;
      product += repeat ? std::log1p(fraction * (1 / earlier_ - 1)) : std::log1p(-fraction);
    }
  }
  if (!repeat && probability < rare_) {
    seen_.emplace(key, probability);
    earlier_ += probability;
  }
}

}  // namespace plsh::properties
