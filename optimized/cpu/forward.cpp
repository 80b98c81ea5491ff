#include "forward.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/forward.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>

#include "kernel-inl.h"
#include "weights-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plsh::optimized::cpu::HWY_NAMESPACE {
namespace {

/// Keys whose logits are held at once: they, the group and the values of these keys nearly fit the
/// first cache.
constexpr Index kChunk = 64;
/// Groups of one task: few enough to balance threads.
constexpr Index kGroupsPerTask = 16;
constexpr Index kTaskRows = kRows * kGroupsPerTask;
/// Bytes of keys and values that stay in a core's own cache from one group to the next. When a
/// group sees more, all groups of a task take a chunk in turn.
constexpr Index kCacheBytes = 256 * 1024;
/// A shift may lie this much below the largest logit (base 2) before sums are rescaled.
constexpr float kSlack = 8;
/// In place of the maximum of nothing; finite, so that no difference is a NaN.
constexpr float kNoMaximum = -3e38F;

/// The softmax of a group of rows so far: sums of weights 2^(logit - shift), and of weights times
/// values.
struct Group {
  Index first;  ///< row
  Index rows;
  Buffer query;   ///< [head_dim][rows], times scale log2(e)
  Buffer output;  ///< [value_dim][rows]
  V shift[2];
  V sum[2];
  V keep;  ///< of output: all bits once it holds something
  ExactWeights exact;
  SampledWeights sampled;
  bool finite[kRows];  ///< of the rows that were finished
};

class Worker : public ForwardWorker {
 public:
  Worker(Index head_dim, Index value_dim, bool sample_by_sample)
      : sample_by_sample_(sample_by_sample),
        weights_(allocate(kChunk * kRows)),
        counts_(allocate(kChunk * kRows)),
        keys_(allocate(kChunk * head_dim)),
        values_(allocate(kChunk * value_dim)) {}

  void run(const Head& head, Index task) override {
    const Index first = task * kTaskRows;
    const Index last = std::min(first + kTaskRows, head.queries);
    const KeyRange range = range_of(head, first, std::min(kRows, last - first));
    const Index bytes = (range.last - range.first) * (head.head_dim + head.value_dim) * 4;
    const Index together = bytes > kCacheBytes ? kGroupsPerTask : 1;
    for (Index row = first; row < last; row += together * kRows) {
      Index count = 0;
      for (; count < together && row + count * kRows < last; ++count) {
        Group& group = groups_[count];
        group.first = row + count * kRows;
        group.rows = std::min(kRows, last - group.first);
        if (!group.query) {  // a small task uses few groups, and fresh memory costs time
          group.query = allocate(head.head_dim * kRows);
          group.output = allocate(head.value_dim * kRows);
        }
        load_group(head.query, group.first, group.rows, head.head_dim,
                   static_cast<float>(head.scale * kLog2E), group.query.get());
      }
      run_groups(head, count);
    }
  }

 private:
  /// What one group of a task sees, as a measure for all.
  KeyRange range_of(const Head& head, Index first, Index rows) {
    Group& group = groups_[0];
    if (head.partitions == nullptr) {
      group.exact.start(head, Side::queries, first + head.offset, rows);
      return group.exact.range();
    }
    group.sampled.start(head, Side::queries, first + head.offset, rows);
    return group.sampled.range();
  }

  void run_groups(const Head& head, Index count) {
    if (attend<false>(head, count)) return;
    // A zero weight times an infinite or NaN value is a NaN: once more without these products, in
    // the same order, so that rows which do not see that value keep their bits.
    if (attend<true>(head, count)) return;
    for (Index g = 0; g < count; ++g)
      for (Index r = 0; r < groups_[g].rows; ++r)
        if (!groups_[g].finite[r]) careful_row(head, groups_[g].first + r);
  }

  /// Computes groups 0..count-1. Returns whether all their rows are finite; those that are have
  /// been written.
  template <bool kSkipZeros>
  bool attend(const Head& head, Index count) {
    for (Index g = 0; g < count; ++g) {
      Group& group = groups_[g];
      group.keep = hn::Zero(d);
      group.shift[0] = group.shift[1] = hn::Set(d, kNoMaximum);
      group.sum[0] = group.sum[1] = hn::Zero(d);
    }
    if (head.partitions == nullptr) {
      visit<kSkipZeros>(head, count, &Group::exact);
    } else if (sample_by_sample_) {
      Head one = head;
      one.samples = 1;
      for (Index s = 0; s < head.samples; ++s, ++one.partitions) {
        visit<kSkipZeros>(one, count, &Group::sampled);
      }
    } else {
      visit<kSkipZeros>(head, count, &Group::sampled);
    }
    bool finite = true;
    for (Index g = 0; g < count; ++g) finite = finish(head, groups_[g]) && finite;
    return finite;
  }

  template <bool kSkipZeros, class Weights>
  void visit(const Head& head, Index count, Weights Group::*weights) {
    KeyRange range{head.keys, 0};
    for (Index g = 0; g < count; ++g) {
      Group& group = groups_[g];
      (group.*weights).start(head, Side::queries, group.first + head.offset, group.rows);
      const KeyRange visible = (group.*weights).range();
      if (visible.first == visible.last) continue;
      range.first = std::min(range.first, visible.first);
      range.last = std::max(range.last, visible.last);
    }
    ahead_.clear();
    if (count == 1) {  // the rows that the next group adds
      const Group& group = groups_[0];
      const Index next = group.first + group.rows;
      ahead_.add(head.key, range.last, std::min(range.last + kRows, head.keys), head.head_dim);
      ahead_.add(head.value, range.last, std::min(range.last + kRows, head.keys), head.value_dim);
      ahead_.add(head.query, next, std::min(next + kRows, head.queries), head.head_dim);
      ahead_.add(head.output, group.first, next, head.value_dim);
    }
    for (Index first = range.first; first < range.last; first += kChunk) {
      const Index last = std::min(first + kChunk, range.last);
      Chunk chunk;
      chunk.first = first;
      chunk.keys =
          contiguous(head.key, first, last - first, head.head_dim, keys_.get(), chunk.key_stride);
      chunk.values = contiguous(head.value, first, last - first, head.value_dim, values_.get(),
                                chunk.value_stride);
      for (Index g = 0; g < count; ++g) {
        Weights& seen = groups_[g].*weights;
        const Index from = std::max(first, seen.range().first);
        const Index to = std::min(last, seen.range().last);
        if (from < to) visit_keys<kSkipZeros>(head, seen, groups_[g], chunk, from, to);
      }
    }
  }

  /// Keys and values from `first` on, as floats.
  struct Chunk {
    Index first;
    const float* keys;
    Index key_stride;
    const float* values;
    Index value_stride;
  };

  template <bool kSkipZeros, class Weights>
  HWY_NOINLINE void visit_keys(const Head& head, Weights& seen, Group& group, const Chunk& chunk,
                               Index first, Index last) {
    const float* const keys = chunk.keys + (first - chunk.first) * chunk.key_stride;
    const float* const values = chunk.values + (first - chunk.first) * chunk.value_stride;
    float* const weights = weights_.get();
    float* const counts = counts_.get();
    seen.enter(first, last, counts);
    V largest[2] = {hn::Set(d, kNoMaximum), hn::Set(d, kNoMaximum)};
    in_steps(0, last - first, [&](auto size, Index begin) PLSH_INLINED {
      constexpr std::size_t K = decltype(size)::value;
      V logit[K][2];
      ahead_.ask(4);
      dots(keys + begin * chunk.key_stride, chunk.key_stride, group.query.get(), head.head_dim,
           logit);
      seen.template apply<K>(first + begin, logit, counts + begin * kRows);
      unroll<K>([&](auto k) PLSH_INLINED {
        hn::Store(logit[k][0], d, weights + (begin + index(k)) * kRows);
        hn::Store(logit[k][1], d, weights + (begin + index(k)) * kRows + kLanes);
        largest[0] = hn::Max(logit[k][0], largest[0]);
        largest[1] = hn::Max(logit[k][1], largest[1]);
      });
    });
    shift_to(group, largest, head.value_dim);

    for (Index half = 0; half < 2; ++half) {
      const V shift = group.shift[half];
      V sum = group.sum[half];
      for (Index k = half * kLanes; k < (last - first) * kRows; k += kRows) {
        V weight = exp2(hn::Sub(hn::Load(d, weights + k), shift));
        if constexpr (Weights::kCounts) weight = hn::Mul(weight, hn::Load(d, counts + k));
        sum = hn::Add(sum, weight);
        hn::Store(weight, d, weights + k);
      }
      group.sum[half] = sum;
    }

    add_products<kSkipZeros>(values, chunk.value_stride, weights, last - first, head.value_dim,
                             group.keep, group.output.get(), [&]() PLSH_INLINED { ahead_.ask(4); });
    group.keep = ones();
  }

  /// Raises the shifts that lie too far below the largest logits.
  static void shift_to(Group& group, const V (&largest)[2], Index value_dim) {
    for (Index half = 0; half < 2; ++half) {
      const V shift = group.shift[half];
      const auto above = hn::Gt(largest[half], hn::Add(shift, hn::Set(d, kSlack)));
      if (hn::AllFalse(d, above)) continue;
      const V raised = hn::IfThenElse(above, largest[half], shift);
      const V factor = exp2(hn::Sub(shift, raised));
      group.shift[half] = raised;
      group.sum[half] = hn::Mul(group.sum[half], factor);
      for (Index c = 0; c < value_dim; ++c) {
        float* const at = group.output.get() + c * kRows + half * kLanes;
        hn::Store(hn::Mul(hn::Load(d, at), factor), d, at);
      }
    }
  }

  /// Divides by the sums and writes the rows. Returns whether all are finite.
  static bool finish(const Head& head, Group& group) {
    HWY_ALIGN float log_sum_exp[kRows];
    HWY_ALIGN float not_finite[kRows];  // 0, or a NaN
    const float samples = head.partitions == nullptr ? 1 : static_cast<float>(head.samples);
    V factor[2];
    V zero[2];
    for (Index half = 0; half < 2; ++half) {
      const V sum = group.sum[half];
      factor[half] = hn::Div(hn::Set(d, 1), sum);
      // 0 times what overflowed, met a NaN or an infinity, or saw nothing, is not 0.
      zero[half] = hn::Mul(hn::Zero(d), hn::Add(factor[half], sum));
      hn::Store(hn::MulAdd(group.shift[half], hn::Set(d, static_cast<float>(1 / kLog2E)),
                           hn::Log(d, hn::Div(sum, hn::Set(d, samples)))),
                d, log_sum_exp + half * kLanes);
    }
    store_group(group.output.get(), factor, group.rows, head.value_dim, head.output, group.first,
                zero);
    hn::Store(zero[0], d, not_finite);
    hn::Store(zero[1], d, not_finite + kLanes);
    bool all = true;
    for (Index r = 0; r < group.rows; ++r) {
      group.finite[r] = not_finite[r] == 0;
      all = all && group.finite[r];
      if (head.log_sum_exp != nullptr)
        head.log_sum_exp[(group.first + r) * head.log_sum_exp_stride] = log_sum_exp[r];
    }
    return all;
  }

  bool sample_by_sample_;
  Group groups_[kGroupsPerTask];
  Buffer weights_;
  Buffer counts_;
  Buffer keys_;
  Buffer values_;
  Ahead ahead_;
};

Index Tasks(const Head& head) { return (head.queries + kTaskRows - 1) / kTaskRows; }

ForwardWorker* MakeWorker(Index head_dim, Index value_dim, bool sample_by_sample) {
  return new Worker(head_dim, value_dim, sample_by_sample);
}

}  // namespace
}  // namespace plsh::optimized::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plsh::optimized::cpu {

HWY_EXPORT(Tasks);
HWY_EXPORT(MakeWorker);

Index forward_tasks(const Head& head) { return HWY_DYNAMIC_DISPATCH(Tasks)(head); }

std::unique_ptr<ForwardWorker> make_forward_worker(Index head_dim, Index value_dim,
                                                   bool sample_by_sample) {
  return std::unique_ptr<ForwardWorker>(
      HWY_DYNAMIC_DISPATCH(MakeWorker)(head_dim, value_dim, sample_by_sample));
}

}  // namespace plsh::optimized::cpu
#endif
