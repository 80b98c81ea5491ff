/// \file
/// An implementation with Eigen: random partitions, their mean mask, sampled and exact attention,
/// forward and backward, in the precision of the input (f32 or f64) and on one thread.
///
/// It goes query by query. The keys that a query sees are neighbours, be it a causal mask or the
/// blocks around the query that decide, so that each query works on one piece of K and V. A key
/// that is not seen takes part in nothing, whatever it holds.
#include <plsh/interface/implementation.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <exception>
#include <initializer_list>
#include <limits>
#include <random>
#include <ranges>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using Eigen::Dynamic;
using Eigen::Index;
using Stride = Eigen::Stride<Dynamic, Dynamic>;
template <class Real>
using Array = Eigen::Array<Real, Dynamic, 1>;
/// A matrix that lies in a tensor, with any strides.
template <class Real>
using View =
    Eigen::Map<Eigen::Matrix<Real, Dynamic, Dynamic, Eigen::RowMajor>, Eigen::Unaligned, Stride>;

struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};
std::string reason;  // of the last refusal or failure

/// Where an element lies. Axes that `index` leaves out count as 0.
template <class T>
T* address(const DLTensor* tensor, std::initializer_list<Index> index) {
  Index offset = 0;
  const std::int64_t* stride = tensor->strides;
  for (const Index i : index) offset += i * *stride++;
  return static_cast<T*>(tensor->data) + offset;
}
template <class T>
T& at(const DLTensor* tensor, std::initializer_list<Index> index) {
  return *address<T>(tensor, index);
}

/// Rows first, first + 1, ... of one head: tensor[batch, row, head, column].
template <class Real>
View<Real> rows(const DLTensor* t, Index batch, Index first, Index count, Index head) {
  return View<Real>(address<Real>(t, {batch, first, head}), count, t->shape[3],
                    Stride(t->strides[1], t->strides[3]));
}

/// Calls with a float or a double, the type of the tensor.
template <class Function>
void with_type_of(const DLTensor* tensor, Function function) {
  if (tensor->dtype.bits == 64) return function(double{});
  if (tensor->dtype.bits == 32) return function(float{});
  throw Refused("only f32 and f64 are supported");
}

// ---- partitions ---------------------------------------------------------------------------------

void sample_partitions(const plsh_sampling& x) {
  const std::int64_t* shape = x.block_counts->shape;
  for (Index b = 0; b < shape[0]; ++b) {
    for (Index h = 0; h < shape[1]; ++h) {
      std::exponential_distribution<double> exponential(1 / at<double>(x.sigma, {h}));
      for (Index s = 0; s < shape[2]; ++s) {
        // A generator for each sample, so that drawing can start at any of them.
        const auto sample = static_cast<std::uint64_t>(x.first_sample + s);
        std::seed_seq seed{x.seed & 0xffffffffU, x.seed >> 32,     sample & 0xffffffffU,
                           sample >> 32,         std::uint64_t(b), std::uint64_t(h)};
        std::mt19937_64 generator(seed);
        // The sum of two exponentials is Gamma(2). It could round to 0, once in 2^106 draws.
        const double first = exponential(generator);
        const double width = std::max(first + exponential(generator), 1e-300);
        const double shift = std::uniform_real_distribution<double>(0, width)(generator);
        Index blocks = 0;
        double last_bin = 0;
        for (Index i = 0; i < x.length; ++i) {
          const double bin = std::floor((static_cast<double>(i) - shift) / width);
          if (i == 0 || bin != last_bin) at<std::int64_t>(x.block_starts, {b, h, s, blocks++}) = i;
          last_bin = bin;
        }
        at<std::int64_t>(x.block_counts, {b, h, s}) = blocks;
      }
    }
  }
}

template <class Real>
void mean_mask(const DLTensor* counts, const DLTensor* starts, DLTensor* mask) {
  const Index length = mask->shape[2];
  for (Index b = 0; b < mask->shape[0]; ++b) {
    for (Index h = 0; h < mask->shape[1]; ++h) {
      View<Real> mean(address<Real>(mask, {b, h}), length, length,
                      Stride(mask->strides[2], mask->strides[3]));
      mean.setZero();
      for (Index s = 0; s < counts->shape[2]; ++s) {
        const Index blocks = at<std::int64_t>(counts, {b, h, s});
        for (Index c = 0; c < blocks; ++c) {
          const Index start = at<std::int64_t>(starts, {b, h, s, c});
          const Index end = c + 1 < blocks ? at<std::int64_t>(starts, {b, h, s, c + 1}) : length;
          mean.block(start, start, end - start, end - start).array() += 1;
        }
      }
      mean.array() /= static_cast<Real>(counts->shape[2]);
    }
  }
}

// ---- attention ----------------------------------------------------------------------------------

enum class Direction { forward, backward };

/// One item of the batch, or one sequence of several that lie one after another.
struct Item {
  Index batch;  ///< of the tensors of queries and keys
  Index index;  ///< of slopes and partitions
  Index first_query, queries, first_key, keys;
};

std::vector<Item> items(const plsh_attention& x) {
  std::vector<Item> result;
  if (x.query_starts == nullptr) {
    for (Index b = 0; b < x.query->shape[0]; ++b)
      result.push_back({b, b, 0, x.query->shape[1], 0, x.key->shape[1]});
  } else {
    for (Index s = 0; s + 1 < x.query_starts->shape[0]; ++s) {
      const Index query = at<std::int64_t>(x.query_starts, {s});
      const Index key = at<std::int64_t>(x.key_starts, {s});
      result.push_back({0, s, query, at<std::int64_t>(x.query_starts, {s + 1}) - query, key,
                        at<std::int64_t>(x.key_starts, {s + 1}) - key});
    }
  }
  return result;
}

/// The keys first, first + 1, ... that a query sees, with the weights factor exp(scale q.k + bias).
template <class Real>
struct Seen {
  Index first = 0;
  Array<Real> bias, factor;
};

/// Query i of the item is at position i: PLSH_ALIGN_TOP_LEFT.
template <class Real>
Seen<Real> see_exact(const plsh_attention& x, const Item& item, Index head, Index i) {
  const Index count = x.causal != 0 ? std::min(i + 1, item.keys) : item.keys;
  const Real slope = static_cast<Real>(at<float>(x.slopes, {item.index, head}));
  Seen<Real> seen{0, Array<Real>(count), Array<Real>::Ones(count)};
  for (Index j = 0; j < count; ++j) seen.bias[j] = -slope * static_cast<Real>(std::abs(i - j));
  return seen;
}

template <class Real>
Seen<Real> see_sampled(const plsh_attention& x, const Item& item, Index head, Index i) {
  if (i >= item.keys) return {};  // a position that the partitions do not have
  const Index samples = x.block_counts->shape[2];
  std::vector<std::pair<Index, Index>> blocks;  // around the query, one for each sample
  Index first = i;
  for (Index s = 0; s < samples; ++s) {
    const Index count = at<std::int64_t>(x.block_counts, {item.index, head, s});
    const auto start = [&](Index c) {
      return at<std::int64_t>(x.block_starts, {item.index, head, s, c});
    };
    const Index next = *std::ranges::upper_bound(std::views::iota(Index{0}, count), i, {}, start);
    blocks.emplace_back(start(next - 1), next < count ? start(next) : item.keys);
    if (x.causal != 0) blocks.back().second = i + 1;
    first = std::min(first, blocks.back().first);
  }
  const Index end = std::ranges::max(blocks | std::views::values);
  Seen<Real> seen{first, Array<Real>::Zero(end - first), Array<Real>::Zero(end - first)};
  for (const auto& [from, to] : blocks) seen.factor.segment(from - first, to - from) += 1;
  seen.factor /= static_cast<Real>(samples);
  return seen;
}

template <Direction direction, class Real>
void attend_query(const plsh_attention& x, const Item& item, Index head, Index i) {
  const Seen<Real> seen =
      x.slopes != nullptr ? see_exact<Real>(x, item, head, i) : see_sampled<Real>(x, item, head, i);
  const Index count = seen.bias.size();
  const Index kv_head = head / (x.query->shape[2] / x.key->shape[2]);
  const auto at_query = [&](const DLTensor* t) {
    return rows<Real>(t, item.batch, item.first_query + i, 1, head);
  };
  const auto at_keys = [&](const DLTensor* t) {
    return rows<Real>(t, item.batch, item.first_key + seen.first, count, kv_head);
  };
  const View<Real> query = at_query(x.query), key = at_keys(x.key), value = at_keys(x.value);
  const Real scale = static_cast<Real>(x.scale);

  const Array<Real> logits = (key * query.transpose()).array() * scale + seen.bias;
  // A query that sees no key has the log-sum-exp -infinity and, as an empty sum is, the output 0.
  const Real largest = count > 0 ? logits.maxCoeff() : -std::numeric_limits<Real>::infinity();
  Array<Real> weights = seen.factor * (logits - largest).exp();
  const Real sum = weights.sum();
  weights /= sum;

  if constexpr (direction == Direction::forward) {
    at_query(x.output) = weights.matrix().transpose() * value;
    if (x.log_sum_exp != nullptr)
      at<Real>(x.log_sum_exp, {item.batch, head, item.first_query + i}) = largest + std::log(sum);
  } else {
    const View<Real> output_gradient = at_query(x.output_gradient);
    const Array<Real> weight_gradient = (value * output_gradient.transpose()).array();
    const Array<Real> product_gradient =
        scale * weights * (weight_gradient - (weights * weight_gradient).sum());
    at_query(x.query_gradient) = product_gradient.matrix().transpose() * key;
    at_keys(x.key_gradient) += product_gradient.matrix() * query;
    at_keys(x.value_gradient) += weights.matrix() * output_gradient;
  }
}

template <Direction direction, class Real>
void attend(const plsh_attention& x) {
  if constexpr (direction == Direction::backward) {
    for (const DLTensor* t : {x.key_gradient, x.value_gradient})
      for (Index b = 0; b < t->shape[0]; ++b)
        for (Index h = 0; h < t->shape[2]; ++h) rows<Real>(t, b, 0, t->shape[1], h).setZero();
  }
  for (const Item& item : items(x))
    for (Index head = 0; head < x.query->shape[2]; ++head)
      for (Index i = 0; i < item.queries; ++i) attend_query<direction, Real>(x, item, head, i);
}

// ---- the table ----------------------------------------------------------------------------------

/// No exception may leave through the interface.
template <class Function>
int guarded(Function function) {
  try {
    function();
    return PLSH_OK;
  } catch (const Refused& refused) {
    reason = refused.what();
    return PLSH_REFUSED;
  } catch (const std::exception& error) {
    reason = error.what();
    return PLSH_FAILED;
  }
}

template <Direction direction>
int attention(const plsh_attention* x) {
  return guarded(
      [&] { with_type_of(x->query, [&]<class Real>(Real) { attend<direction, Real>(*x); }); });
}

plsh_implementation make_table() {
  plsh_implementation table = {};
  table.interface_version = PLSH_INTERFACE_VERSION;
  table.struct_size = sizeof(plsh_implementation);
  table.name = "Eigen";
  table.version = "1";
  // What is not set here is zero, the first of the enumerators.
  table.conventions.causal_alignment = PLSH_ALIGN_TOP_LEFT;
  table.conventions.promises = PLSH_DETERMINISTIC_FORWARD | PLSH_DETERMINISTIC_BACKWARD |
                               PLSH_THREAD_INDEPENDENT | PLSH_SAMPLE_OFFSETS;
  table.conventions.precision[PLSH_F32] = {1, PLSH_F32, PLSH_F32, PLSH_F32, PLSH_F32};
  table.conventions.precision[PLSH_F64] = {1, PLSH_F64, PLSH_F64, PLSH_F64, PLSH_F64};
  table.device = {kDLCPU, 0};
  table.error_message = [] { return reason.c_str(); };
  table.sample_partitions = [](const plsh_sampling* x) {
    return guarded([&] { sample_partitions(*x); });
  };
  table.mean_mask = [](const DLTensor* counts, const DLTensor* starts, DLTensor* mask) {
    return guarded([&] {
      with_type_of(mask, [&]<class Real>(Real) { mean_mask<Real>(counts, starts, mask); });
    });
  };
  table.exact_forward = table.sampled_forward = attention<Direction::forward>;
  table.exact_backward = table.sampled_backward = attention<Direction::backward>;
  return table;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const plsh_implementation*
plsh_implementation_v1() {
  static const plsh_implementation table = make_table();
  return &table;
}
