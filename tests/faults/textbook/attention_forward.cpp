// Attention forward, exact and sampled: for each query the maximum of the logits, then the weights
// count exp(logit - maximum), their sum, and the weighted sum of the values.
#include <cmath>
#include <limits>

#include "head.hpp"
#include "operations.hpp"

namespace plsh::textbook {
namespace {

template <class Real>
constexpr Real kMinusInfinity = -std::numeric_limits<Real>::infinity();

/// A softmax over some of the keys, not yet divided.
template <class Real>
struct Partial {
  Real maximum = kMinusInfinity<Real>;
  Real sum = 0;
  std::vector<Real> numerator;
};

/// Of the keys first .. end - 1 of a row.
template <class Real>
Partial<Real> softmax(const Head<Real>& head, const Row<Real>& row, std::size_t first,
                      std::size_t end) {
  Partial<Real> result;
  result.numerator.assign(static_cast<std::size_t>(head.value_dim), 0);
  if (fault(Fault::sentinel_finite)) result.maximum = Real(-5e4);
  for (std::size_t k = first; k < end; ++k)
    if (row.logit[k] > result.maximum) result.maximum = row.logit[k];
  if (fault(Fault::maximum_not_subtracted)) result.maximum = 0;
  for (std::size_t k = first; k < end; ++k) {
    // A logit of -infinity has weight 0, also when it is the maximum; a NaN stays one.
    if (row.logit[k] == kMinusInfinity<Real>) continue;
    const Real weight = row.count[k] * std::exp(row.logit[k] - result.maximum);
    const Real held = weights_in_bfloat16(head) ? rounded_to_bfloat16(weight) : weight;
    result.sum += weight;
    if (fault(Fault::sums_bfloat16)) result.sum = rounded_to_bfloat16(result.sum);
    const Real* value = head.value_row(row.key[k]);
    for (Index c = 0; c < head.value_dim; ++c)
      result.numerator[static_cast<std::size_t>(c)] += held * value[c];
  }
  return result;
}

/// Adds another part of the same row, as online softmax does.
template <class Real>
void merge(Partial<Real>& into, const Partial<Real>& other) {
  const Real maximum = std::max(into.maximum, other.maximum);
  if (maximum == kMinusInfinity<Real>) {  // nothing in either, or only NaN
    into.sum += other.sum;
    return;
  }
  const Real mine = std::exp(into.maximum - maximum);
  const Real theirs = std::exp(other.maximum - maximum);
  into.sum = mine * into.sum + theirs * other.sum;
  for (std::size_t c = 0; c < into.numerator.size(); ++c)
    into.numerator[c] = mine * into.numerator[c] + theirs * other.numerator[c];
  into.maximum = maximum;
}

template <class Real>
struct Result {
  std::vector<Real> output;
  Real log_sum_exp = kMinusInfinity<Real>;
  bool empty = true;
};

template <class Real>
Result<Real> normalized(const Head<Real>& head, Partial<Real> partial) {
  Result<Real> result;
  if (fault(Fault::tail_tile_has_zero_keys) && partial.sum > 0) {
    const Index tail = (64 - head.keys % 64) % 64;
    partial.sum += static_cast<Real>(tail) * std::exp(-partial.maximum);
  }
  result.output = partial.numerator;
  if (partial.sum == 0) return result;
  result.empty = false;
  for (Real& x : result.output)
    if (!fault(Fault::output_not_normalized)) x /= partial.sum;
  Real sum = partial.sum;
  const bool mean = !variant(Variant::counts_not_divided) && !fault(Fault::lse_of_counts);
  if (mean) sum /= head.samples();
  result.log_sum_exp = partial.maximum + std::log(sum);
  if (fault(Fault::lse_without_maximum)) result.log_sum_exp = std::log(sum);
  if (fault(Fault::lse_is_maximum)) result.log_sum_exp = partial.maximum;
  if (fault(Fault::lse_unscaled)) result.log_sum_exp /= head.scale;
  if (fault(Fault::lse_half)) result.log_sum_exp = rounded_to_half(result.log_sum_exp);
  if (variant(Variant::lse_in_base_2) || fault(Fault::lse_base_2))
    result.log_sum_exp *= Real(1.4426950408889634);
  return result;
}

/// Joins finished parts by their log-sum-exp.
template <class Real>
Result<Real> merged_by_lse(const Head<Real>& head, const std::vector<Result<Real>>& parts) {
  Result<Real> result;
  result.output.assign(static_cast<std::size_t>(head.value_dim), 0);
  Real maximum = kMinusInfinity<Real>;
  for (const Result<Real>& part : parts) {
    if (part.log_sum_exp > maximum) maximum = part.log_sum_exp;
    result.empty = result.empty && part.empty;
  }
  if (result.empty && !fault(Fault::split_merge_of_empty)) return result;
  result.empty = false;
  Real sum = 0;
  for (const Result<Real>& part : parts) {
    if (part.empty && !fault(Fault::split_merge_of_empty)) continue;
    const Real weight = std::exp(part.log_sum_exp - maximum);
    sum += weight;
    for (std::size_t c = 0; c < result.output.size(); ++c)
      result.output[c] += weight * part.output[c];
  }
  for (Real& x : result.output) x /= sum;
  result.log_sum_exp = maximum + std::log(sum);
  return result;
}

/// A fault: normalizes every sample for itself and takes the mean.
template <class Real>
Result<Real> averaged_over_samples(const Head<Real>& head, const Row<Real>& row) {
  Result<Real> result = normalized(head, softmax(head, row, 0, row.size()));
  if (result.empty) return result;
  std::fill(result.output.begin(), result.output.end(), Real(0));
  Real used = 0;
  for (const Range& block : row.blocks) {
    Row<Real> part;
    for (std::size_t k = 0; k < row.size(); ++k)
      if (row.key[k] >= block.first && row.key[k] < block.end) {
        part.key.push_back(row.key[k]);
        part.count.push_back(1);
        part.logit.push_back(row.logit[k]);
      }
    const Result<Real> one = normalized(head, softmax(head, part, 0, part.size()));
    if (one.empty) continue;
    used += 1;
    for (std::size_t c = 0; c < one.output.size(); ++c) result.output[c] += one.output[c];
  }
  for (Real& x : result.output) x /= used;
  return result;
}

template <class Real>
Result<Real> attend(const Head<Real>& head, const Row<Real>& row) {
  const std::size_t n = row.size();
  if (variant(Variant::online_tiles)) {
    Partial<Real> all = softmax(head, row, 0, 0);
    for (std::size_t first = 0; first < n; first += 64)
      merge(all, softmax(head, row, first, std::min(first + 64, n)));
    return normalized(head, all);
  }
  if (variant(Variant::key_splits) || (fault(Fault::split_merge_of_empty) && head.keys > 1)) {
    std::vector<Result<Real>> parts;
    for (std::size_t split = 0; split < 3; ++split)
      parts.push_back(normalized(head, softmax(head, row, n * split / 3, n * (split + 1) / 3)));
    return merged_by_lse(head, parts);
  }
  if (fault(Fault::outputs_averaged) && head.sampled) return averaged_over_samples(head, row);
  return normalized(head, softmax(head, row, 0, n));
}

/// The output of a row that sees nothing.
template <class Real>
void set_empty(const Head<Real>& head, Result<Real>& result) {
  const bool nan = variant(Variant::empty_row_is_nan) || fault(Fault::empty_row_nan);
  std::fill(result.output.begin(), result.output.end(),
            nan ? std::numeric_limits<Real>::quiet_NaN() : Real(0));
  result.log_sum_exp = kMinusInfinity<Real>;
  if (fault(Fault::empty_row_lse_0)) result.log_sum_exp = 0;
  if (fault(Fault::empty_row_uniform) && head.keys > 0)
    for (Index c = 0; c < head.value_dim; ++c) {
      Real sum = 0;
      for (Index j = 0; j < head.keys; ++j) sum += head.value_row(j)[c];
      result.output[static_cast<std::size_t>(c)] = sum / static_cast<Real>(head.keys);
    }
}

/// A fault: keys that the query does not see take part with weight 0, and 0 NaN is NaN.
template <class Real>
std::vector<Real> values_times_zero(const Head<Real>& head) {
  std::vector<Real> sum(static_cast<std::size_t>(head.value_dim), 0);
  for (Index j = 0; j < head.keys; ++j)
    for (Index c = 0; c < head.value_dim; ++c)
      sum[static_cast<std::size_t>(c)] += 0 * head.value_row(j)[c];
  return sum;
}

template <class T>
void write_past_end(const View<T>& to) {
  if (to.end() != nullptr) *to.end() = T{};
}

template <class T, class Real>
int forward(const plsh_attention& a, bool sampled) {
  View<T> output(a.output);
  if (fault(Fault::output_strides_ignored)) output.assume_packed();
  static int calls = 0;
  ++calls;
  const bool every_other_call = fault(Fault::second_call_differs) && calls % 2 == 0;
  Head<Real> head;
  head.sampled = sampled;
  Row<Real> row;
  std::vector<Real> packed;
  for (const Sequence& sequence : sequences(a))
    for (Index h = 0; h < extent(a.query, 2); ++h) {
      load_head<T>(a, sequence, h, head);
      if (sampled) head.partitions = load_partitions(a, sequence.group, h, sequence.keys, false);
      packed.clear();
      std::vector<Real> unseen;
      if (fault(Fault::nan_of_unseen_keys)) unseen = values_times_zero(head);
      for (Index i = 0; i < head.queries; ++i) {
        look(head, i, row);
        Result<Real> result = attend(head, row);
        if (result.empty) set_empty(head, result);
        if (row.size() < static_cast<std::size_t>(head.keys))
          for (std::size_t c = 0; c < unseen.size(); ++c) result.output[c] += unseen[c];
        if (every_other_call)
          for (Real& x : result.output) x *= Real(1.01);
        packed.insert(packed.end(), result.output.begin(), result.output.end());
        if (a.log_sum_exp != nullptr && !fault(Fault::lse_unwritten))
          LseView(a.log_sum_exp)
              .store(sequence.batch, h, sequence.first_query + i,
                     static_cast<double>(result.log_sum_exp));
      }
      Index rows = head.queries;
      if (fault(Fault::second_half_unwritten)) rows = (rows + 1) / 2;
      if (fault(Fault::rows_past_keys_unwritten)) rows = std::min(rows, head.keys);
      if (fault(Fault::last_row_of_65_unwritten) && rows % 64 == 1 && rows > 1) --rows;
      if (fault(Fault::value_dim_is_head_dim) && head.head_dim < head.value_dim) {
        for (Index i = 0; i < rows; ++i)
          for (Index c = head.head_dim; c < head.value_dim; ++c)
            packed[static_cast<std::size_t>(i * head.value_dim + c)] = 0;
      }
      scatter(packed, output, sequence.batch, sequence.first_query, rows, h);
    }
  if (fault(Fault::written_past_end)) write_past_end(output);
  if (fault(Fault::input_modified)) {
    const View<T> key(a.key);
    if (key.end() != nullptr) store(key(0, 0, 0, 0), load<Real>(key(0, 0, 0, 0)) + 1);
  }
  return PLSH_OK;
}

int any_forward(const plsh_attention& a, bool sampled) {
  return dispatch(a, [&]<class T, class Real>() { return forward<T, Real>(a, sampled); });
}

}  // namespace

int exact_forward(const plsh_attention* arguments) { return any_forward(*arguments, false); }
int sampled_forward(const plsh_attention* arguments) { return any_forward(*arguments, true); }

}  // namespace plsh::textbook
