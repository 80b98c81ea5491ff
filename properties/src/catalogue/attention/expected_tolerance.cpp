#include "expected_tolerance.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace plsh::properties::expected {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// For the rounding of the bound's own evaluation in double.
constexpr double kEvaluation = 1.001;
/// exp is right up to 8 u, its argument aside.
constexpr double kExponential = 8;
/// Merges of partial results through their log-sum-exp, beside one a sample.
constexpr double kMerges = 8;

/// Below this size a type may lose a number: half precision rounds to subnormals, the others may
/// flush them to zero.
double lost(Type type) {
  switch (type) {
    case Type::f16:
      return 0x1p-24;
    case Type::f64:
      return std::numeric_limits<double>::min();
    default:
      return 0x1p-126;
  }
}

/// Lambda: how large a maximum or a log-sum-exp of the row can be.
double magnitude(const Head& head, const RowTerms& row) {
  return row.largest_size + std::log(std::max(row.pairs, 1.0)) +
         std::log(static_cast<double>(head.sample_count()));
}

/// K_j: how many keys can raise the running maximum after key j was added.
std::vector<double> rescalings(const RowTerms& row, const std::vector<double>& error) {
  std::vector<double> high;
  for (std::size_t t = 0; t < error.size(); ++t)
    if (row.seen.count[t] > 0) high.push_back(row.logit[t] + error[t]);
  std::sort(high.begin(), high.end());
  std::vector<double> result(error.size(), 0.0);
  for (std::size_t t = 0; t < error.size(); ++t) {
    if (row.seen.count[t] == 0) continue;
    const auto above = std::upper_bound(high.begin(), high.end(), row.logit[t] - error[t]);
    const auto number = static_cast<double>(high.end() - above);
    result[t] = error[t] > 0 ? number - 1 : number;  // without key j itself
  }
  return result;
}

double with_reference(double bound, double first_order, const Roundoff& u, bool vanishes) {
  return kEvaluation * (bound + (vanishes ? u.reference * first_order : bound));
}

}  // namespace

double grown(double u, double n) { return std::expm1(n * std::log1p(u)); }

Roundoff roundoff_of(const plsh_precision& precision, Type type) {
  const auto types = {static_cast<Type>(precision.logits), static_cast<Type>(precision.bias),
                      static_cast<Type>(precision.weights),
                      static_cast<Type>(precision.accumulation), type};
  const auto logits = static_cast<Type>(precision.logits);
  const auto weights = static_cast<Type>(precision.weights);
  const auto accumulation = static_cast<Type>(precision.accumulation);
  Roundoff u{};
  u.logits = unit_roundoff(logits);
  u.bias = unit_roundoff(static_cast<Type>(precision.bias));
  u.weights = unit_roundoff(weights);
  u.accumulation = unit_roundoff(accumulation);
  u.result = unit_roundoff(type);
  u.log_sum_exp = unit_roundoff(type == Type::f64 ? Type::f64 : Type::f32);
  u.exponential = std::max(u.logits, u.accumulation);
  u.lost_logits = lost(logits);
  u.lost_weights = lost(weights);
  u.lost_accumulation = lost(accumulation);
  u.lost_result = lost(type);
  u.largest_logit = largest_finite(logits);
  u.reference = 0x1p-29;
  for (const Type each : types)
    if (each == Type::f64) u.reference = 1;
  return u;
}

void set_weights(RowTerms& row, double lse) {
  row.log_sum_exp = lse;
  row.weight.clear();
  for (std::size_t t = 0; t < row.logit.size(); ++t)
    row.weight.push_back(row.seen.count[t] == 0 ? 0
                                                : row.seen.count[t] * std::exp(row.logit[t] - lse));
}

ForwardBound forward_bound(const Head& head, Index i, const RowTerms& row, const Roundoff& u,
                           bool shifted) {
  const std::size_t length = row.logit.size();
  const auto d = static_cast<double>(head.query.cols());
  const double scale = head.scale;
  // The dot product, its scaling, base 2 and the addition of the bias; the bias with its own type.
  const double dot = (1 + (d + 1) * u.logits) * (1 + grown(u.logits, 8));
  const double score = dot - 1;
  const double bias = dot * (1 + grown(u.bias, 3)) - 1;
  const double samples = static_cast<double>(head.samples == nullptr ? 0 : head.sample_count());
  const double shift = shifted ? static_cast<double>(head.key.rows() + 1) : 0;
  ForwardBound bound;
  bound.shift = head.slope * shift;
  bound.magnitude = magnitude(head, row) + bound.shift;
  const double largest = row.largest_size + bound.shift;
  bound.exponent.assign(length, 0);
  for (std::size_t t = 0; t < length; ++t) {
    if (row.seen.count[t] == 0) continue;
    const double distance =
        std::fabs(static_cast<double>(i + head.offset - row.seen.first - static_cast<Index>(t)));
    const double bias_size = head.slope * (distance + shift);
    const double score_size = std::max(row.size[t] - head.slope * distance, 0.0);
    double e = score * score_size + bias * bias_size;
    // The shift and its subtraction, and the merges.
    if (row.pairs > 1)
      e += dot * (2 * u.logits * (score_size + bias_size + largest) +
                  2 * (kMerges + samples) * u.accumulation * bound.magnitude);
    e += (d + 2) * u.lost_logits * std::max(1.0, scale);
    bound.exponent[t] = e;
  }
  const std::vector<double> raised = rescalings(row, bound.exponent);
  bound.weight.assign(length, 0);
  bound.summation.assign(length, 0);
  double relative = 0;
  double widest = 0;  // max t_j
  double stretch = 0;
  for (std::size_t t = 0; t < length; ++t) {
    if (row.seen.count[t] == 0) continue;
    const double log_exponential = (1 + raised[t]) * std::log1p(kExponential * u.exponential);
    const double delta = std::expm1(bound.exponent[t] + log_exponential);
    const double sum =
        std::expm1(3 * std::log1p(u.weights) +
                   (row.pairs + 1 + raised[t] + kMerges + samples) * std::log1p(u.accumulation));
    bound.weight[t] = delta;
    bound.summation[t] = sum;
    if (row.weight[t] > 0) relative += row.weight[t] * (delta + sum + delta * sum);
    widest = std::max(widest, sum);
    stretch = std::max(stretch, bound.exponent[t] + log_exponential);
  }
  bound.lost = static_cast<double>(head.sample_count()) *
               (u.lost_weights + (1 + row.keys) * u.lost_accumulation);
  bound.relative = relative + bound.lost * row.pairs;
  bound.first_order = bound.relative < 0.5;
  const double always = widest < 1 ? stretch + std::log((1 + widest) / (1 - widest)) : kInfinity;
  bound.log_sum_exp = bound.relative < 1 ? std::min(-std::log1p(-bound.relative), always) : always;
  if (std::isnan(bound.log_sum_exp)) bound.log_sum_exp = kInfinity;
  return bound;
}

double output_tolerance(const Head& head, const RowTerms& row, const ForwardBound& bound,
                        const Roundoff& u, Index c, double output) {
  double common = 0;
  double separate = 0;
  double lost_part = 0;
  double farthest = 0;
  double widest = 0;
  double largest = 0;
  for (std::size_t t = 0; t < row.logit.size(); ++t) {
    if (row.seen.count[t] == 0) continue;
    const double v = head.value(row.seen.first + static_cast<Index>(t), c);
    const double apart = std::fabs(v - output);
    const double size = std::fabs(v) + std::fabs(output);
    if (row.weight[t] > 0) {
      common += row.weight[t] * bound.weight[t] * apart;
      separate += row.weight[t] * (1 + bound.weight[t]) * bound.summation[t] * size;
    }
    lost_part += row.seen.count[t] * size;
    farthest = std::max(farthest, apart);
    widest = std::max(widest, bound.summation[t]);
    largest = std::max(largest, size);
  }
  lost_part *= bound.lost;
  const double first_order =
      bound.relative < 1 ? (common + separate + lost_part) / (1 - bound.relative) : kInfinity;
  // Positive weights, whatever they are, keep the output among the values.
  const double always =
      widest < 1 ? (farthest + widest * largest + lost_part) / (1 - widest) : kInfinity;
  const double error = std::min(first_order, always);
  const auto finished = [&](double e) {
    const double size = std::fabs(output) + e;
    return e + size * (grown(u.accumulation, 2) + u.result * (1 + grown(u.accumulation, 2))) +
           u.lost_result;
  };
  return with_reference(finished(error), finished(first_order), u,
                        bound.first_order && std::isfinite(first_order));
}

double log_sum_exp_tolerance(const ForwardBound& bound, const Roundoff& u, double lse) {
  const double error = bound.log_sum_exp + 12 *
                                               std::max({u.logits, u.accumulation, u.log_sum_exp}) *
                                               (bound.magnitude + 1);
  const double size = std::fabs(lse) + bound.shift + error;
  return with_reference(error + u.log_sum_exp * size, error, u, true);
}

BackwardBound backward_bound(const Head& head, Index i, const RowTerms& row,
                             const ForwardBound& bound, const Roundoff& u, double lse_tolerance,
                             const std::vector<double>& output,
                             const std::vector<double>& output_tolerance) {
  const std::size_t length = row.logit.size();
  const Index components = head.value.cols();
  const double fine = std::max(u.logits, u.accumulation);
  const double product = (1 + static_cast<double>(components) * fine) * (1 + grown(fine, 2)) - 1;
  std::vector<double> change(length, 0);  // dP
  std::vector<double> size(length, 0);    // A_j
  std::vector<double> recomputed(length, 0);
  double mean = 0;
  double mean_size = 0;
  double mean_error = 0;
  for (Index c = 0; c < components; ++c) {
    const auto k = static_cast<std::size_t>(c);
    const double g = std::fabs(head.output_gradient(i, c));
    mean += head.output_gradient(i, c) * output[k];
    mean_size += g * (std::fabs(output[k]) + output_tolerance[k]);
    mean_error += g * output_tolerance[k];
  }
  mean_error += product * mean_size;
  double mean_by_weights = 0;  // the error when D is summed from the weights instead
  for (std::size_t t = 0; t < length; ++t) {
    if (row.seen.count[t] == 0) continue;
    const Index j = row.seen.first + static_cast<Index>(t);
    for (Index c = 0; c < components; ++c) {
      change[t] += head.output_gradient(i, c) * head.value(j, c);
      size[t] += std::fabs(head.output_gradient(i, c) * head.value(j, c));
    }
    recomputed[t] = std::expm1(bound.exponent[t] + lse_tolerance +
                               2 * u.logits * (row.size[t] + bound.shift + bound.magnitude) +
                               3 * std::log1p(kExponential * u.exponential) +
                               3 * std::log1p(u.weights) + 2 * std::log1p(u.accumulation));
    if (row.weight[t] > 0)
      mean_by_weights +=
          row.weight[t] * size[t] *
          ((1 + recomputed[t]) * (1 + product) * (1 + grown(u.accumulation, row.pairs)) - 1);
  }
  mean_error = std::max(mean_error, mean_by_weights);

  BackwardBound result;
  result.logit_gradient.assign(length, 0);
  result.logit_gradient_error.assign(length, 0);
  result.weight_error.assign(length, 0);
  for (std::size_t t = 0; t < length; ++t) {
    if (row.seen.count[t] == 0) continue;
    const double p = row.weight[t];
    const double apart = change[t] - mean;
    const double below = row.seen.count[t] * u.lost_weights;
    result.logit_gradient[t] = p * apart;
    result.weight_error[t] = below + (p > 0 ? p * recomputed[t] : 0);
    const double relative = (1 + recomputed[t]) * (1 + grown(fine, 3)) * (1 + u.weights) - 1;
    const double inner = product * size[t] + mean_error + 2 * fine * (size[t] + mean_size);
    result.logit_gradient_error[t] = below * (1 + size[t] + mean_size);
    if (p > 0)
      result.logit_gradient_error[t] += p * (relative * std::fabs(apart) + (1 + relative) * inner);
  }
  return result;
}

}  // namespace plsh::properties::expected
