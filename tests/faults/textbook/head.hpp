/// \file
/// One head of one sequence, and what its queries see. Forward and backward both start from here.
#pragma once

#include <plsh/interface/implementation.h>

#include <algorithm>
#include <map>
#include <vector>

#include "operations.hpp"
#include "tensor.hpp"

namespace plsh::textbook {

/// The part of the tensors that one sequence owns.
struct Sequence {
  Index batch;  ///< index on the batch axis
  Index group;  ///< index on the first axis of slopes and partitions
  Index first_query;
  Index queries;
  Index first_key;
  Index keys;
};
std::vector<Sequence> sequences(const plsh_attention& arguments);

/// The key/value head that a query head uses.
Index kv_head(Index head, Index heads, Index kv_heads);

/// The block starts of one head, sample after sample.
struct Partitions {
  std::vector<Index> starts;
  std::vector<std::size_t> offsets{0};  ///< sample t owns starts[offsets[t]] .. [offsets[t+1] - 1]

  Index samples() const { return static_cast<Index>(offsets.size()) - 1; }
};
Partitions load_partitions(const plsh_attention& arguments, Index group, Index head, Index length,
                           bool backward);

/// Keys first .. end - 1, or none.
struct Range {
  Index first;
  Index end;
};

enum class Pass { forward, backward };

/// The tensors of one head in packed arrays of the type that it is computed in.
template <class Real>
struct Head {
  bool sampled = false;
  Pass pass = Pass::forward;
  bool is_half = false;      ///< the tensors are f16
  bool is_bfloat16 = false;  ///< the tensors are bf16
  Index queries = 0;
  Index keys = 0;
  Index head_dim = 0;
  Index value_dim = 0;
  Index first_position = 0;  ///< of query 0
  Real scale = 1;
  bool causal = false;
  Real slope = 0;
  Partitions partitions;
  std::vector<Real> query;
  std::vector<Real> key;
  std::vector<Real> value;

  const Real* query_row(Index i) const { return query.data() + i * head_dim; }
  const Real* key_row(Index j) const { return key.data() + j * head_dim; }
  const Real* value_row(Index j) const { return value.data() + j * value_dim; }
  /// What turns sums of counts into sums of means.
  Real samples() const { return sampled ? static_cast<Real>(partitions.samples()) : Real(1); }
};

/// What one query sees: keys, how many samples join them with the query, and their logits.
template <class Real>
struct Row {
  std::vector<Index> key;
  std::vector<Real> count;
  std::vector<Real> logit;
  std::vector<Range> blocks;  ///< of the query, one a sample

  std::size_t size() const { return key.size(); }
  void clear() {
    key.clear();
    count.clear();
    logit.clear();
    blocks.clear();
  }
};

/// Rows of packed values to and from a tensor [batch, length, heads, channels].
template <class T, class Real>
void gather(const View<T>& from, Index batch, Index first, Index rows, Index head,
            std::vector<Real>& to) {
  const Index channels = from.shape(3);
  to.resize(static_cast<std::size_t>(rows * channels));
  std::size_t k = 0;
  for (Index i = 0; i < rows; ++i)
    for (Index c = 0; c < channels; ++c) to[k++] = load<Real>(from(batch, first + i, head, c));
}

template <class T, class Real>
void scatter(const std::vector<Real>& from, const View<T>& to, Index batch, Index first, Index rows,
             Index head) {
  const Index channels = to.shape(3);
  std::size_t k = 0;
  for (Index i = 0; i < rows; ++i)
    for (Index c = 0; c < channels; ++c, ++k) {
      T& place = to(batch, first + i, head, c);
      Real x = from[k];
      if (fault(Fault::channels_from_32_zero) && c >= 32) x = 0;
      if (fault(Fault::outputs_accumulated)) x += load<Real>(place);
      if (fault(Fault::outputs_rounded_to_bfloat16)) x = rounded_to_bfloat16(x);
      store(place, x);
    }
}

/// Loads head `h` of `sequence`, all but the partitions.
template <class T, class Real>
void load_head(const plsh_attention& a, const Sequence& sequence, Index h, Head<Real>& head) {
  View<T> query(a.query);
  View<T> key(a.key);
  View<T> value(a.value);
  if (fault(Fault::value_strides_ignored)) value.assume_packed();
  if (fault(Fault::key_strides_ignored)) key.assume_packed();
  if (fault(Fault::query_strides_swapped)) query.swap_strides(1, 2);
  const Index heads = query.shape(2);
  const Index g = kv_head(h, heads, key.shape(2));
  head.is_half = is_float(*a.query, 16);
  head.is_bfloat16 = is_bfloat16(*a.query);
  head.queries = sequence.queries;
  head.keys = sequence.keys;
  head.head_dim = query.shape(3);
  head.value_dim = value.shape(3);
  head.causal = a.causal != 0;
  head.scale = static_cast<Real>(a.scale);
  gather(query, sequence.batch, sequence.first_query, sequence.queries, h, head.query);
  gather(key, sequence.batch, sequence.first_key, sequence.keys, g, head.key);
  gather(value, sequence.batch, sequence.first_key, sequence.keys, g, head.value);

  head.first_position = 0;
  if (variant(Variant::bottom_right) || fault(Fault::alignment_bottom_right))
    head.first_position = sequence.keys - sequence.queries;
  if (fault(Fault::varlen_positions_not_reset)) head.first_position += sequence.first_query;

  if (!head.sampled) {
    Index slope_group = sequence.group;
    Index slope_head = h;
    if (fault(Fault::slope_of_batch_0)) slope_group = 0;
    if (fault(Fault::slope_of_kv_head)) slope_head = g;
    if (fault(Fault::slope_of_head_0)) slope_head = 0;
    head.slope = static_cast<Real>(View<float>(a.slopes)(slope_group, slope_head));
    if (fault(Fault::slope_bfloat16) ||
        (variant(Variant::declared_bfloat16_bias) && head.is_bfloat16))
      head.slope = rounded_to_bfloat16(head.slope);
  }

  static double first_scale = a.scale;
  if (fault(Fault::scale_ignored))
    head.scale = static_cast<Real>(1 / std::sqrt(static_cast<double>(head.head_dim)));
  if (fault(Fault::scale_cached)) head.scale = static_cast<Real>(first_scale);
  if (fault(Fault::causal_ignored)) head.causal = false;
  if (fault(Fault::causal_always)) head.causal = true;
  const bool backward = head.pass == Pass::backward;
  if (fault(Fault::backward_causal_ignored) && backward) head.causal = false;
  if (fault(Fault::backward_alignment) && backward)
    head.first_position = sequence.keys - sequence.queries;
  if (fault(Fault::backward_bias_ignored) && backward) head.slope = 0;
  if (fault(Fault::length_16_bit)) head.keys &= 0xFFFF;
  if (fault(Fault::last_key_of_65_lost) && head.keys > 1 && head.keys % 64 == 1) --head.keys;
}

/// -m |p - j|.
template <class Real>
Real bias_of(const Head<Real>& head, Index position, Index j) {
  const Real m = head.slope;
  auto distance = static_cast<Real>(std::abs(position - j));
  if (variant(Variant::key_only_bias) && head.causal) return m * static_cast<Real>(j);
  if (variant(Variant::distance_plus_1)) distance += 1;
  if (variant(Variant::declared_bfloat16_bias) && head.is_bfloat16)
    return -rounded_to_bfloat16(m * distance);
  if (fault(Fault::bias_sign)) return m * distance;
  if (fault(Fault::bias_without_abs)) return m * static_cast<Real>(j - position);
  if (fault(Fault::bias_base_2)) return -m * distance * Real(0.6931471805599453);
  if (fault(Fault::bias_scaled)) return -m * distance * head.scale;
  if (fault(Fault::bias_missing)) return 0;
  if (fault(Fault::bias_squared_distance)) return -m * distance * distance;
  if (fault(Fault::bias_clipped_at_64)) return -m * std::min(distance, Real(64));
  if (fault(Fault::bias_of_key_bfloat16) && head.causal)
    return rounded_to_bfloat16(m * static_cast<Real>(j));
  if (fault(Fault::positions_half))
    return -m * std::abs(rounded_to_half(static_cast<Real>(position)) -
                         rounded_to_half(static_cast<Real>(j)));
  if (fault(Fault::forward_bias_bfloat16) && head.pass == Pass::forward)
    return -rounded_to_bfloat16(m * distance * Real(1.4426950408889634)) * Real(0.6931471805599453);
  return -m * distance;
}

template <class Real>
Real dot(const Head<Real>& head, Index i, Index j) {
  const Real* q = head.query_row(i);
  const Real* k = head.key_row(j);
  Index channels = head.head_dim;
  if (fault(Fault::head_dim_limited_to_64)) channels = std::min<Index>(channels, 64);
  Real sum = 0;
  for (Index c = 0; c < channels; ++c) sum += q[c] * k[c];
  if (fault(Fault::head_dim_tail_reads_on)) {
    // Up to the next power of two the tile holds whatever follows in memory.
    const auto tile = static_cast<Index>(std::bit_ceil(static_cast<std::uint64_t>(channels)));
    const auto queries = static_cast<Index>(head.query.size());
    const auto keys = static_cast<Index>(head.key.size());
    for (Index c = channels; c < tile; ++c)
      if (i * channels + c < queries && j * channels + c < keys) sum += q[c] * k[c];
  }
  return sum;
}

template <class Real>
Real logit_of(const Head<Real>& head, Index i, Index j) {
  Real product = dot(head, i, j);
  if (fault(Fault::product_half) && head.is_half) product = rounded_to_half(product);
  Real logit = head.scale * product;
  if (!head.sampled) logit += bias_of(head, head.first_position + i, j);
  if (fault(Fault::logits_bfloat16)) logit = rounded_to_bfloat16(logit);
  return logit;
}

/// The block of a position in sample t, cut to the keys; none when the position is outside.
template <class Real>
Range block_of(const Head<Real>& head, Index position, Index t) {
  if (fault(Fault::outside_position_in_last_block))
    position = std::clamp<Index>(position, 0, std::max<Index>(head.keys - 1, 0));
  if (position < 0 || position >= head.keys) return {0, 0};
  const auto begin =
      head.partitions.starts.begin() +
      static_cast<std::ptrdiff_t>(head.partitions.offsets[static_cast<std::size_t>(t)]);
  const auto end =
      head.partitions.starts.begin() +
      static_cast<std::ptrdiff_t>(head.partitions.offsets[static_cast<std::size_t>(t) + 1]);
  const auto next = std::upper_bound(begin, end, position);
  Range block{next == begin ? 0 : *(next - 1), next == end ? head.keys : *next};
  if (fault(Fault::block_end_off_by_one)) ++block.end;
  if (fault(Fault::block_start_off_by_one)) --block.first;
  if (fault(Fault::block_limited_to_128)) block.end = std::min(block.end, block.first + 128);
  if (fault(Fault::last_block_lost) && next == end && next - begin > 1) return {0, 0};
  return {std::max<Index>(block.first, 0), std::min(block.end, head.keys)};
}

/// The last key that a query may see, plus one.
template <class Real>
Index visible_end(const Head<Real>& head, Index position) {
  if (!head.causal) return head.keys;
  Index end = position + 1;
  if (fault(Fault::causal_strict)) end = position;
  if (fault(Fault::causal_off_by_one)) end = position + 2;
  if (fault(Fault::sampled_causal_by_block) && head.sampled) end = head.keys;
  return std::clamp<Index>(end, 0, head.keys);
}

/// Fills `row` with what query i sees.
template <class Real>
void look(const Head<Real>& head, Index i, Row<Real>& row) {
  row.clear();
  const Index position = head.first_position + i;
  const Index limit = visible_end(head, position);
  if (!head.sampled) {
    Index first = 0;
    if (fault(Fault::first_key_lost) && limit > 1) first = 1;
    for (Index j = first; j < limit; ++j) {
      row.key.push_back(j);
      row.count.push_back(1);
    }
  } else {
    // Every block holds the position, so their union has no gaps. One pass over it counts them:
    // up by one where a block starts, down by one behind its end.
    Range all{head.keys, 0};
    for (Index t = 0; t < head.partitions.samples(); ++t) {
      Range block = block_of(head, position, t);
      block.end = std::min(block.end, limit);
      if (block.first >= block.end) block = {0, 0};
      row.blocks.push_back(block);
      if (block.end == 0) continue;
      all = {std::min(all.first, block.first), std::max(all.end, block.end)};
    }
    if (all.first < all.end) {
      std::vector<Real> change(static_cast<std::size_t>(all.end - all.first + 1), 0);
      for (const Range& block : row.blocks) {
        if (block.end == 0) continue;
        change[static_cast<std::size_t>(block.first - all.first)] += 1;
        change[static_cast<std::size_t>(block.end - all.first)] -= 1;
      }
      Real count = 0;
      for (Index j = all.first; j < all.end; ++j) {
        count += change[static_cast<std::size_t>(j - all.first)];
        Real used = count;
        if (fault(Fault::samples_ored)) used = std::min(count, Real(1));
        if (fault(Fault::hits_uint8))
          used = static_cast<Real>(static_cast<std::uint8_t>(static_cast<Index>(count)));
        if (fault(Fault::own_key_counted_again) && j == position) used += 1;
        if (used == 0) continue;
        row.key.push_back(j);
        row.count.push_back(used);
      }
    }
  }
  for (const Index j : row.key) row.logit.push_back(logit_of(head, i, j));
  if (variant(Variant::keys_reversed)) {
    std::reverse(row.key.begin(), row.key.end());
    std::reverse(row.count.begin(), row.count.end());
    std::reverse(row.logit.begin(), row.logit.end());
  }
  const bool unordered = variant(Variant::unordered_sums) || fault(Fault::order_of_calls) ||
                         (fault(Fault::backward_order_of_calls) && head.pass == Pass::backward);
  if (unordered && !row.key.empty()) {
    static std::ptrdiff_t calls = 0;
    const std::ptrdiff_t turn = ++calls % static_cast<std::ptrdiff_t>(row.size());
    std::rotate(row.key.begin(), row.key.begin() + turn, row.key.end());
    std::rotate(row.count.begin(), row.count.begin() + turn, row.count.end());
    std::rotate(row.logit.begin(), row.logit.begin() + turn, row.logit.end());
  }
}

/// Whether weights are held in bf16 for the products.
template <class Real>
bool weights_in_bfloat16(const Head<Real>& head) {
  return (variant(Variant::declared_bfloat16_weights) && head.is_bfloat16) ||
         fault(Fault::weights_bfloat16);
}

/// Log-sum-exp tensors are f64 for f64 inputs, else f32.
class LseView {
 public:
  explicit LseView(const DLTensor* tensor) : tensor_(tensor) {}
  double load(Index batch, Index head, Index i) const {
    return is_float(*tensor_, 64) ? View<double>{tensor_}(batch, head, i)
                                  : static_cast<double>(View<float>{tensor_}(batch, head, i));
  }
  void store(Index batch, Index head, Index i, double x) const {
    if (is_float(*tensor_, 64))
      View<double>{tensor_}(batch, head, i) = x;
    else
      View<float>{tensor_}(batch, head, i) = static_cast<float>(x);
  }

 private:
  const DLTensor* tensor_;
};

/// Calls operation<T, Real>() for the type T of the tensors and the type Real to compute in.
template <class Operation>
int dispatch(const plsh_attention& a, Operation operation) {
  const DLTensor& typed = *a.query;
  if (variant(Variant::head_dim_limited) && extent(a.query, 3) > 128)
    return refuse("head_dim is at most 128");
  if (variant(Variant::f32_only) && !is_float(typed, 32)) return refuse("tensors are f32");
  if (is_float(typed, 32)) return operation.template operator()<float, float>();
  if (is_float(typed, 64) && fault(Fault::f64_computed_in_f32))
    return operation.template operator()<double, float>();
  if (is_float(typed, 64)) return operation.template operator()<double, double>();
  if (is_float(typed, 16)) return operation.template operator()<Half, float>();
  if (is_bfloat16(typed)) return operation.template operator()<Bfloat16, float>();
  return refuse("tensors are f32, f64, f16 or bf16");
}

}  // namespace plsh::textbook
