#include "backward.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/backward.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include "kernel-inl.h"
#include "weights-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plsh::optimized::cpu::HWY_NAMESPACE {
namespace {

/// Positions of the other side whose weights are held at once.
constexpr Index kChunk = 32;
constexpr Index kGroupsPerTask = 8;

/// A group of queries that looks at keys, or of keys that queries look at.
struct Group {
  Index first = 0;  ///< row
  Index rows = 0;
  Buffer logit_side;      ///< [head_dim][rows]: queries times scale log2(e), or keys
  Buffer value_side;      ///< [value_dim][rows]: output gradients, or values
  Buffer logit_gradient;  ///< [head_dim][rows]: of queries, or keys
  Buffer value_gradient;  ///< [value_dim][rows]: of values
  V shift[2];             ///< of queries
  V delta[2];
  ExactWeights exact;
  SampledWeights sampled;
};

class Worker : public BackwardWorker {
 public:
  Worker(Index head_dim, Index value_dim)
      : weights_(allocate(kChunk * kRows)),
        slopes_(allocate(kChunk * kRows)),
        counts_(allocate(kChunk * kRows)),
        logit_rows_(allocate(kChunk * head_dim)),
        value_rows_(allocate(kChunk * value_dim)) {
    for (Group& group : groups_) {
      group.logit_side = allocate(head_dim * kRows);
      group.value_side = allocate(value_dim * kRows);
      group.logit_gradient = allocate(head_dim * kRows);
      group.value_gradient = allocate(value_dim * kRows);
    }
  }

  void query_task(const BackwardHead& backward, Index task) override {
    const Head& head = backward.head;
    const Index count = start_task(task, head.queries);
    for (Index g = 0; g < count; ++g) {
      Group& group = groups_[g];
      load_group(head.query, group.first, group.rows, head.head_dim, logit_factor(head),
                 group.logit_side.get());
      load_group(backward.output_gradient, group.first, group.rows, head.value_dim, 1,
                 group.value_side.get());
      load_group(head.output, group.first, group.rows, head.value_dim, 1,
                 group.value_gradient.get());
      start_rows(backward, group);
    }
    if (!query_gradients<false>(backward, count)) query_gradients<true>(backward, count);
  }

  void key_task(const KeyHead& keys, Index task) override {
    const Head& head = keys.heads[0].head;
    const Index count = start_task(task, head.keys);
    for (Index g = 0; g < count; ++g) {
      Group& group = groups_[g];
      load_group(head.key, group.first, group.rows, head.head_dim, 1, group.logit_side.get());
      load_group(head.value, group.first, group.rows, head.value_dim, 1, group.value_side.get());
    }
    if (!key_gradients<false>(keys, count)) key_gradients<true>(keys, count);
  }

 private:
  static float logit_factor(const Head& head) { return static_cast<float>(head.scale * kLog2E); }

  static void clear(float* values, Index columns) {
    for (Index k = 0; k < columns * kRows; k += kLanes) hn::Store(hn::Zero(d), d, values + k);
  }
  /// Writes factor times the sums of a group. Returns whether all are finite.
  static bool store(float* sums, float factor, const Group& group, Index columns, const Rows& to) {
    const V factors[2] = {hn::Set(d, factor), hn::Set(d, factor)};
    V zero[2] = {hn::Zero(d), hn::Zero(d)};
    store_group(sums, factors, group.rows, columns, to, group.first, zero);
    return hn::GetLane(hn::SumOfLanes(d, hn::Add(zero[0], zero[1]))) == 0;
  }

  /// Deals out the rows of a task to groups. Returns how many there are.
  Index start_task(Index task, Index rows) {
    Index count = 0;
    for (Index first = task * kRows * kGroupsPerTask; count < kGroupsPerTask && first < rows;
         first += kRows) {
      groups_[count].first = first;
      groups_[count++].rows = std::min(kRows, rows - first);
    }
    return count;
  }

  /// The log-sum-exp of a group's rows in base 2, of counts instead of means, and dO.O, which lie
  /// in value_side and value_gradient.
  static void start_rows(const BackwardHead& backward, Group& group) {
    const Head& head = backward.head;
    HWY_ALIGN float shift[kRows];
    HWY_ALIGN float delta[kRows];
    const double samples = head.partitions == nullptr ? 1 : static_cast<double>(head.samples);
    for (Index r = 0; r < kRows; ++r) {
      float log_sum_exp =
          r < group.rows ? head.log_sum_exp[(group.first + r) * head.log_sum_exp_stride] : 0;
      // A row that sees nothing gives every weight 2^(-infinity - infinity).
      if (std::isinf(log_sum_exp)) log_sum_exp = std::numeric_limits<float>::infinity();
      shift[r] =
          static_cast<float>((static_cast<double>(log_sum_exp) + std::log(samples)) * kLog2E);
    }
    for (Index half = 0; half < 2; ++half) {
      V sum = hn::Zero(d);
      for (Index k = half * kLanes; k < head.value_dim * kRows; k += kRows)
        sum = hn::MulAdd(hn::Load(d, group.value_side.get() + k),
                         hn::Load(d, group.value_gradient.get() + k), sum);
      group.delta[half] = sum;
      group.shift[half] = hn::Load(d, shift + half * kLanes);
      hn::Store(sum, d, delta + half * kLanes);
    }
    for (Index r = 0; r < group.rows; ++r) {
      backward.shift[group.first + r] = shift[r];
      backward.delta[group.first + r] = delta[r];
    }
  }

  template <bool kSkipZeros>
  bool query_gradients(const BackwardHead& backward, Index count) {
    const Head& head = backward.head;
    for (Index g = 0; g < count; ++g) clear(groups_[g].logit_gradient.get(), head.head_dim);
    visit<kSkipZeros>(backward, Side::queries, count);
    bool finite = true;
    for (Index g = 0; g < count; ++g) {
      Group& group = groups_[g];
      finite = store(group.logit_gradient.get(), static_cast<float>(head.scale), group,
                     head.head_dim, backward.query_gradient) &&
               finite;
    }
    return finite;
  }

  template <bool kSkipZeros>
  bool key_gradients(const KeyHead& keys, Index count) {
    const Head& head = keys.heads[0].head;
    for (Index g = 0; g < count; ++g) {
      clear(groups_[g].logit_gradient.get(), head.head_dim);
      clear(groups_[g].value_gradient.get(), head.value_dim);
    }
    for (Index h = 0; h < keys.count; ++h) visit<kSkipZeros>(keys.heads[h], Side::keys, count);
    bool finite = true;
    for (Index g = 0; g < count; ++g) {
      Group& group = groups_[g];
      // The queries came with the factor scale log2(e).
      finite = store(group.logit_gradient.get(), static_cast<float>(1 / kLog2E), group,
                     head.head_dim, keys.key_gradient) &&
               finite;
      finite = store(group.value_gradient.get(), 1, group, head.value_dim, keys.value_gradient) &&
               finite;
    }
    return finite;
  }

  template <bool kSkipZeros>
  void visit(const BackwardHead& backward, Side side, Index count) {
    if (backward.head.partitions == nullptr)
      visit<kSkipZeros>(backward, side, count, &Group::exact);
    else
      visit<kSkipZeros>(backward, side, count, &Group::sampled);
  }

  template <bool kSkipZeros, class Weights>
  void visit(const BackwardHead& backward, Side side, Index count, Weights Group::*weights) {
    const Head& head = backward.head;
    const KeyRange rows = positions(head, side);
    const KeyRange others = positions(head, other(side));
    KeyRange range{others.last, others.first};
    for (Index g = 0; g < count; ++g) {
      Group& group = groups_[g];
      (group.*weights).start(head, side, group.first + rows.first, group.rows);
      const KeyRange visible = (group.*weights).range();
      if (visible.first == visible.last) continue;
      range.first = std::min(range.first, visible.first);
      range.last = std::max(range.last, visible.last);
    }
    for (Index first = range.first; first < range.last; first += kChunk) {
      const Index size = std::min(kChunk, range.last - first);
      const Chunk chunk = load_chunk(backward, side, first, first - others.first, size);
      for (Index g = 0; g < count; ++g) {
        Weights& seen = groups_[g].*weights;
        const Index from = std::max(first, seen.range().first);
        const Index to = std::min(first + size, seen.range().last);
        if (from >= to) continue;
        if (side == Side::queries)
          visit_others<kSkipZeros, Side::queries>(head, seen, groups_[g], chunk, from, to);
        else
          visit_others<kSkipZeros, Side::keys>(head, seen, groups_[g], chunk, from, to);
      }
    }
  }

  /// Rows of the other side from `first` on, as floats.
  struct Chunk {
    Index first = 0;
    const float* logit_rows = nullptr;  ///< keys, or queries times scale log2(e)
    Index logit_stride = 0;
    const float* value_rows = nullptr;  ///< values, or output gradients
    Index value_stride = 0;
    const float* shift = nullptr;  ///< of queries
    const float* delta = nullptr;
  };

  Chunk load_chunk(const BackwardHead& backward, Side side, Index position, Index row, Index rows) {
    const Head& head = backward.head;
    Chunk chunk;
    chunk.first = position;
    if (side == Side::queries) {
      chunk.logit_rows =
          contiguous(head.key, row, rows, head.head_dim, logit_rows_.get(), chunk.logit_stride);
      chunk.value_rows =
          contiguous(head.value, row, rows, head.value_dim, value_rows_.get(), chunk.value_stride);
      return chunk;
    }
    chunk.value_rows = contiguous(backward.output_gradient, row, rows, head.value_dim,
                                  value_rows_.get(), chunk.value_stride);
    // The same products as for the other side, so that a logit is the same number in both.
    chunk.logit_rows = logit_rows_.get();
    chunk.logit_stride = head.head_dim;
    Index stride = 0;
    const float* const queries =
        contiguous(head.query, row, rows, head.head_dim, logit_rows_.get(), stride);
    const float factor = logit_factor(head);
    for (Index r = 0; r < rows; ++r)
      for (Index c = 0; c < head.head_dim; ++c)
        logit_rows_[static_cast<std::size_t>(r * head.head_dim + c)] =
            factor * queries[r * stride + c];
    chunk.shift = backward.shift + row;
    chunk.delta = backward.delta + row;
    return chunk;
  }

  template <bool kSkipZeros, Side kSide, class Weights>
  HWY_NOINLINE void visit_others(const Head& head, Weights& seen, Group& group, const Chunk& chunk,
                                 Index first, Index last) {
    const Index skip = first - chunk.first;
    const float* const logit_rows = chunk.logit_rows + skip * chunk.logit_stride;
    const float* const value_rows = chunk.value_rows + skip * chunk.value_stride;
    float* const weights = weights_.get();
    float* const slopes = slopes_.get();
    float* const counts = counts_.get();
    seen.enter(first, last, counts);
    in_steps(0, last - first, [&](auto size, Index begin) PLSH_INLINED {
      constexpr std::size_t K = decltype(size)::value;
      V logit[K][2];
      dots(logit_rows + begin * chunk.logit_stride, chunk.logit_stride, group.logit_side.get(),
           head.head_dim, logit);
      seen.template apply<K>(first + begin, logit, counts + begin * kRows);
      unroll<K>([&](auto k) PLSH_INLINED {
        const Index row = begin + index(k);
        for (Index half = 0; half < 2; ++half) {
          const V shift =
              kSide == Side::queries ? group.shift[half] : hn::Set(d, chunk.shift[skip + row]);
          V weight = exp2(hn::Sub(logit[k][half], shift));
          if constexpr (Weights::kCounts)
            weight = hn::Mul(weight, hn::Load(d, counts + row * kRows + half * kLanes));
          // Also where the shift is infinite or a NaN.
          weight = hn::IfThenZeroElse(hn::Eq(logit[k][half], unseen()), weight);
          hn::Store(weight, d, weights + row * kRows + half * kLanes);
        }
      });
    });
    in_steps(0, last - first, [&](auto size, Index begin) PLSH_INLINED {
      constexpr std::size_t K = decltype(size)::value;
      V product[K][2];
      dots(value_rows + begin * chunk.value_stride, chunk.value_stride, group.value_side.get(),
           head.value_dim, product);
      unroll<K>([&](auto k) PLSH_INLINED {
        const Index row = begin + index(k);
        for (Index half = 0; half < 2; ++half) {
          const V delta =
              kSide == Side::queries ? group.delta[half] : hn::Set(d, chunk.delta[skip + row]);
          const V weight = hn::Load(d, weights + row * kRows + half * kLanes);
          V slope = hn::Mul(weight, hn::Sub(product[k][half], delta));
          if constexpr (kSkipZeros) slope = hn::IfThenZeroElse(hn::Eq(weight, hn::Zero(d)), slope);
          hn::Store(slope, d, slopes + row * kRows + half * kLanes);
        }
      });
    });
    const auto nothing = [] {};
    add_products<kSkipZeros>(logit_rows, chunk.logit_stride, slopes, last - first, head.head_dim,
                             ones(), group.logit_gradient.get(), nothing);
    if constexpr (kSide == Side::keys)
      add_products<kSkipZeros>(value_rows, chunk.value_stride, weights, last - first,
                               head.value_dim, ones(), group.value_gradient.get(), nothing);
  }

  Group groups_[kGroupsPerTask];
  Buffer weights_;  ///< [other][rows]
  Buffer slopes_;   ///< gradients of the logits, likewise
  Buffer counts_;
  Buffer logit_rows_;
  Buffer value_rows_;
};

Index Tasks(Index rows) {
  constexpr Index kTaskRows = kRows * kGroupsPerTask;
  return (rows + kTaskRows - 1) / kTaskRows;
}

BackwardWorker* MakeWorker(Index head_dim, Index value_dim) {
  return new Worker(head_dim, value_dim);
}

}  // namespace
}  // namespace plsh::optimized::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plsh::optimized::cpu {

HWY_EXPORT(Tasks);
HWY_EXPORT(MakeWorker);

Index backward_tasks(Index rows) { return HWY_DYNAMIC_DISPATCH(Tasks)(rows); }

std::unique_ptr<BackwardWorker> make_backward_worker(Index head_dim, Index value_dim) {
  return std::unique_ptr<BackwardWorker>(HWY_DYNAMIC_DISPATCH(MakeWorker)(head_dim, value_dim));
}

}  // namespace plsh::optimized::cpu
#endif
