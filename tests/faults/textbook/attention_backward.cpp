// Attention backward. With P_ij the weights of the forward pass, divided, and D_i = dO_i . O_i:
//     dV = P^T dO,  dP = dO V^T,  dS_ij = P_ij (dP_ij - D_i),  dQ = scale dS K,  dK = scale dS^T Q.
// P comes from the stored log-sum-exp. Key/value heads sum over the query heads of their group.
#include <cmath>
#include <cstdlib>
#include <limits>

#include "head.hpp"
#include "operations.hpp"

namespace plsh::textbook {
namespace {

template <class Real>
struct HeadGradients {
  std::vector<Real> query;
  std::vector<Real> key;
  std::vector<Real> value;
};

/// What backward reads of the forward pass, of one head.
template <class Real>
struct Stored {
  std::vector<Real> output;
  std::vector<Real> output_gradient;
  std::vector<Real> log_sum_exp;
  Real* delta;  ///< D, in the workspace
};

/// The stored log-sum-exp of row i as the natural logarithm that P wants.
template <class Real>
Real natural(Real log_sum_exp) {
  if (variant(Variant::lse_in_base_2) || fault(Fault::backward_lse_base_2))
    return log_sum_exp * Real(0.6931471805599453);
  if (fault(Fault::backward_lse_bfloat16)) return rounded_to_bfloat16(log_sum_exp);
  return log_sum_exp;
}

template <class Real>
Real dot_rows(const Real* x, const Real* y, Index channels) {
  Real sum = 0;
  for (Index c = 0; c < channels; ++c) sum += x[c] * y[c];
  return sum;
}

/// P of one row.
template <class Real>
std::vector<Real> probabilities(const Head<Real>& head, const Row<Real>& row, Real log_sum_exp) {
  std::vector<Real> p(row.size(), 0);
  if (variant(Variant::backward_recomputes)) {
    Real maximum = -std::numeric_limits<Real>::infinity();
    for (const Real logit : row.logit)
      if (logit > maximum) maximum = logit;
    Real sum = 0;
    for (std::size_t k = 0; k < row.size(); ++k) {
      p[k] = row.count[k] * std::exp(row.logit[k] - maximum);
      sum += p[k];
    }
    for (Real& x : p) x /= sum;
    return p;
  }
  const bool mean = !variant(Variant::counts_not_divided) && !fault(Fault::lse_of_counts) &&
                    !fault(Fault::backward_counts_not_divided);
  for (std::size_t k = 0; k < row.size(); ++k) {
    p[k] = row.count[k] * std::exp(row.logit[k] - natural(log_sum_exp));
    if (mean) p[k] /= head.samples();
  }
  return p;
}

/// A fault: for each key of the row the mean of D over the samples that hold it, each sample's D
/// being that of its own softmax.
template <class Real>
std::vector<Real> deltas_per_sample(const Row<Real>& row, const std::vector<Real>& p,
                                    const std::vector<Real>& dp) {
  std::vector<Real> sum(row.size(), 0);
  for (const Range& block : row.blocks) {
    Real weight = 0;
    Real delta = 0;
    for (std::size_t k = 0; k < row.size(); ++k)
      if (row.key[k] >= block.first && row.key[k] < block.end) {
        weight += p[k] / row.count[k];
        delta += p[k] / row.count[k] * dp[k];
      }
    for (std::size_t k = 0; k < row.size(); ++k)
      if (row.key[k] >= block.first && row.key[k] < block.end)
        sum[k] += delta / weight / row.count[k];
  }
  return sum;
}

/// A fault: all keys take part, with count 1 where no sample joins them with the query.
template <class Real>
void see_everything(const Head<Real>& head, Index i, Row<Real>& row) {
  std::vector<bool> seen(static_cast<std::size_t>(head.keys), false);
  for (const Index j : row.key) seen[static_cast<std::size_t>(j)] = true;
  for (Index j = 0; j < visible_end(head, head.first_position + i); ++j)
    if (!seen[static_cast<std::size_t>(j)]) {
      row.key.push_back(j);
      row.count.push_back(1);
      row.logit.push_back(logit_of(head, i, j));
    }
}

/// D of every row.
template <class Real>
void compute_deltas(const Head<Real>& head, const Stored<Real>& stored) {
  for (Index i = 0; i < head.queries; ++i) {
    const Real delta = dot_rows(stored.output.data() + i * head.value_dim,
                                stored.output_gradient.data() + i * head.value_dim, head.value_dim);
    if (fault(Fault::workspace_taken_for_zero))
      stored.delta[i] += delta;
    else
      stored.delta[i] = delta;
  }
}

template <class Real>
void add_row(const Head<Real>& head, const Stored<Real>& stored, Index i, Row<Real>& row,
             HeadGradients<Real>& to) {
  look(head, i, row);
  if (fault(Fault::gradient_outside_blocks) && head.sampled) see_everything(head, i, row);
  const Real lse = stored.log_sum_exp[static_cast<std::size_t>(i)];
  const bool empty = lse == -std::numeric_limits<Real>::infinity();
  if (empty && !fault(Fault::empty_row_gradient_nan)) return;
  std::vector<Real> p = probabilities(head, row, lse);
  if (empty) {
    // The 0 NaN of the report: the row's NaN weights reach every key.
    row.key.clear();
    for (Index j = 0; j < head.keys; ++j) row.key.push_back(j);
    p.assign(row.size(), std::numeric_limits<Real>::quiet_NaN());
    row.count.assign(row.size(), 1);
  }

  const Real* upstream = stored.output_gradient.data() + i * head.value_dim;
  const Real* upstream_for_value = upstream;
  if (fault(Fault::value_gradient_of_previous_row) && i > 0) upstream_for_value -= head.value_dim;
  Index channels = head.value_dim;
  if (fault(Fault::gradient_value_dim_dropped)) channels = std::min(channels, head.head_dim);
  std::vector<Real> dp(row.size());
  for (std::size_t k = 0; k < row.size(); ++k)
    dp[k] = dot_rows(upstream, head.value_row(row.key[k]), channels);
  Real delta = stored.delta[i];
  if (variant(Variant::backward_recomputes))
    delta = dot_rows(p.data(), dp.data(), static_cast<Index>(p.size()));
  if (fault(Fault::delta_missing)) delta = 0;
  if (fault(Fault::delta_of_previous_row) && i > 0) delta = stored.delta[i - 1];
  std::vector<Real> per_sample;
  if (fault(Fault::delta_per_sample) && head.sampled) per_sample = deltas_per_sample(row, p, dp);

  const bool coarse = weights_in_bfloat16(head) || fault(Fault::score_gradient_bfloat16);
  for (std::size_t k = 0; k < row.size(); ++k) {
    const Index j = row.key[k];
    if (!per_sample.empty()) delta = per_sample[k];
    Real ds = p[k] * (dp[k] - delta);
    if (fault(Fault::score_gradient_three_quarters)) ds *= Real(0.75);
    if (fault(Fault::own_key_gradient_missing) && j == head.first_position + i) ds = 0;
    if (fault(Fault::score_gradient_nan_at_65) && head.causal && !head.sampled && head.keys > 1 &&
        head.keys % 64 == 1 && j == head.keys - 1)
      ds = std::numeric_limits<Real>::quiet_NaN();
    if (coarse) ds = rounded_to_bfloat16(ds);
    const Real weight = weights_in_bfloat16(head) ? rounded_to_bfloat16(p[k]) : p[k];
    const Real scale_q = fault(Fault::query_gradient_unscaled) ? Real(1) : head.scale;
    const Real scale_k = fault(Fault::key_gradient_unscaled) ? Real(1) : head.scale;
    Index a = i;  // of the query
    Index b = j;  // of the key
    if (fault(Fault::score_gradient_transposed) && head.keys == head.queries) std::swap(a, b);
    Real* dq = to.query.data() + a * head.head_dim;
    Real* dk = to.key.data() + b * head.head_dim;
    Real* dv = to.value.data() + j * head.value_dim;
    for (Index c = 0; c < head.head_dim; ++c) {
      dq[c] += scale_q * ds * head.key_row(b)[c];
      dk[c] += scale_k * ds * head.query_row(a)[c];
    }
    for (Index c = 0; c < head.value_dim; ++c) dv[c] += weight * upstream_for_value[c];
  }
}

/// One sequence: all heads that share one key/value head after the other.
template <class T, class Real>
void backward_of_sequence(const plsh_attention& a, const Sequence& sequence, Head<Real>& head,
                          Row<Real>& row) {
  const Index heads = extent(a.query, 2);
  const Index kv_heads = extent(a.key, 2);
  const Index group = heads / kv_heads;
  const View<T> output(a.output);
  View<T> output_gradient(a.output_gradient);
  if (fault(Fault::output_gradient_strides_ignored)) output_gradient.assume_packed();
  View<T> query_gradient(a.query_gradient);
  View<T> key_gradient(a.key_gradient);
  const View<T> value_gradient(a.value_gradient);
  if (fault(Fault::gradient_strides_ignored)) {
    query_gradient.assume_packed();
    key_gradient.assume_packed();
  }
  const auto size = [](Index rows, Index channels) {
    return static_cast<std::size_t>(rows * channels);
  };

  for (Index g = 0; g < kv_heads; ++g) {
    HeadGradients<Real> gradients;
    gradients.key.assign(size(sequence.keys, extent(a.key, 3)), 0);
    gradients.value.assign(size(sequence.keys, extent(a.value, 3)), 0);
    for (Index h = 0; h < heads; ++h) {
      if (kv_head(h, heads, kv_heads) != g) continue;
      load_head<T>(a, sequence, h, head);
      if (head.sampled)
        head.partitions = load_partitions(a, sequence.group, h, sequence.keys, true);
      Stored<Real> stored;
      gather(output, sequence.batch, sequence.first_query, sequence.queries, h, stored.output);
      gather(output_gradient, sequence.batch, sequence.first_query, sequence.queries, h,
             stored.output_gradient);
      const LseView lse(a.log_sum_exp);
      for (Index i = 0; i < sequence.queries; ++i)
        stored.log_sum_exp.push_back(
            static_cast<Real>(lse.load(sequence.batch, h, sequence.first_query + i)));
      stored.delta = static_cast<Real*>(a.workspace) +
                     (sequence.batch * heads + h) * extent(a.query, 1) + sequence.first_query;
      compute_deltas(head, stored);

      gradients.query.assign(size(sequence.queries, head.head_dim), 0);
      if (fault(Fault::group_last_head_only)) {
        std::fill(gradients.key.begin(), gradients.key.end(), Real(0));
        std::fill(gradients.value.begin(), gradients.value.end(), Real(0));
      }
      for (Index i = 0; i < sequence.queries; ++i) add_row(head, stored, i, row, gradients);
      scatter(gradients.query, query_gradient, sequence.batch, sequence.first_query,
              sequence.queries, h);
    }
    if (fault(Fault::group_mean)) {
      for (Real& x : gradients.key) x /= static_cast<Real>(group);
      for (Real& x : gradients.value) x /= static_cast<Real>(group);
    }
    if (fault(Fault::group_count_for_kv_heads) && group > 1 && g >= group) continue;
    if (fault(Fault::empty_query_sequence_unwritten) && sequence.queries == 0) continue;
    if (fault(Fault::empty_query_sequence_crash) && sequence.queries == 0 &&
        extent(a.query, 3) == 256)
      std::abort();
    Index rows = sequence.keys;
    if (fault(Fault::unseen_keys_unwritten) && a.causal != 0)
      rows = std::min(rows, sequence.queries);
    scatter(gradients.key, key_gradient, sequence.batch, sequence.first_key, rows, g);
    scatter(gradients.value, value_gradient, sequence.batch, sequence.first_key, rows, g);
  }
}

template <class T, class Real>
int backward(const plsh_attention& a, bool sampled) {
  Head<Real> head;
  head.sampled = sampled;
  head.pass = Pass::backward;
  Row<Real> row;
  for (const Sequence& sequence : sequences(a)) backward_of_sequence<T>(a, sequence, head, row);
  if (fault(Fault::workspace_overrun) && a.workspace_bytes > 0)
    static_cast<unsigned char*>(a.workspace)[a.workspace_bytes] = 0;
  if (fault(Fault::gradient_written_past_end)) {
    const View<T> to(a.key_gradient);
    if (to.end() != nullptr) *to.end() = T{};
  }
  if (fault(Fault::stored_output_modified)) {
    const View<T> output(a.output);
    if (output.end() != nullptr) store(output(0, 0, 0, 0), load<Real>(output(0, 0, 0, 0)) + 1);
  }
  return PLSH_OK;
}

int any_backward(const plsh_attention& a, bool sampled) {
  return dispatch(a, [&]<class T, class Real>() { return backward<T, Real>(a, sampled); });
}

}  // namespace

std::size_t workspace_size(int operation, const plsh_attention* arguments) {
  if (operation != PLSH_EXACT_BACKWARD && operation != PLSH_SAMPLED_BACKWARD) return 0;
  const DLTensor* query = arguments->query;
  const Index rows = extent(query, 0) * extent(query, 1) * extent(query, 2);
  const std::size_t real = is_float(*query, 64) ? sizeof(double) : sizeof(float);
  return static_cast<std::size_t>(rows) * real;
}

int exact_backward(const plsh_attention* arguments) { return any_backward(*arguments, false); }
int sampled_backward(const plsh_attention* arguments) { return any_backward(*arguments, true); }

}  // namespace plsh::textbook
