// What a group of rows sees: exact ALiBi weights, or the number of samples in which a row shares a
// block with a key. Included by forward.cpp and backward.cpp.
#if defined(PLSH_CPU_WEIGHTS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PLSH_CPU_WEIGHTS_INL_H
#undef PLSH_CPU_WEIGHTS_INL_H
#else
#define PLSH_CPU_WEIGHTS_INL_H
#endif

#include <algorithm>
#include <cmath>
#include <vector>

#include "head.hpp"
#include "kernel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plsh::optimized::cpu::HWY_NAMESPACE {

inline constexpr double kLog2E = 1.4426950408889634;

/// Rows that see no key of a step get this logit: its weight is 0, and no maximum.
HWY_INLINE V unseen() { return hn::Set(d, -std::numeric_limits<float>::infinity()); }

/// What the rows of a group are: queries that look at keys, or keys that queries look at. Both are
/// named by their positions, and weights are symmetric in these but for causality.
enum class Side { queries, keys };

/// The positions of a head's queries or keys.
inline KeyRange positions(const Head& head, Side side) {
  return side == Side::keys ? KeyRange{0, head.keys}
                            : KeyRange{head.offset, head.offset + head.queries};
}
inline Side other(Side side) { return side == Side::keys ? Side::queries : Side::keys; }

/// ALiBi: a bias for every pair, and perhaps no key after a query, or beyond the window.
class ExactWeights {
 public:
  static constexpr bool kCounts = false;

  void start(const Head& head, Side side, Index position, Index rows) {
    position_ = position;
    side_ = side;
    slope_ = static_cast<float>(head.slope * kLog2E);
    window_ = static_cast<float>(std::min(head.window, 1e30));
    causal_ = head.causal;
    const Index reach = std::isfinite(head.window) ? static_cast<Index>(std::min(head.window, 1e15))
                                                   : Index{1} << 60;
    const Index last = position + rows - 1;
    range_ = positions(head, other(side));
    range_.first = std::max(range_.first, position - reach);
    range_.last = std::min(range_.last, last + reach + 1);
    // Between these, every row sees every one of the others.
    all_ = {last - reach, position + reach + 1};
    if (causal_ && side == Side::queries) {
      range_.last = std::min(range_.last, last + 1);
      all_.last = std::min(all_.last, position + 1);
    } else if (causal_) {
      range_.first = std::max(range_.first, position);
      all_.first = std::max(all_.first, last);
    }
    range_.last = std::max(range_.last, range_.first);
  }

  KeyRange range() const { return range_; }

  /// Base-2 logits with positions first..first+K-1: adds the bias, and -infinity where nothing is
  /// seen.
  template <std::size_t K>
  HWY_INLINE void apply(Index first, V (&logit)[K][2], float*) {
    const V slope = hn::Set(d, slope_);
    const bool all = first >= all_.first && first + static_cast<Index>(K) <= all_.last;
    unroll<K>([&](auto k) PLSH_INLINED {
      const auto relative = static_cast<float>(first + index(k) - position_);
      const V ahead0 = hn::Sub(hn::Iota(d, 0.0f), hn::Set(d, relative));
      const V ahead1 = hn::Add(ahead0, hn::Set(d, static_cast<float>(kLanes)));
      logit[k][0] = hn::NegMulAdd(slope, hn::Abs(ahead0), logit[k][0]);
      logit[k][1] = hn::NegMulAdd(slope, hn::Abs(ahead1), logit[k][1]);
      if (all) return;
      logit[k][0] = hn::IfThenElse(seen(ahead0), logit[k][0], unseen());
      logit[k][1] = hn::IfThenElse(seen(ahead1), logit[k][1], unseen());
    });
  }

 private:
  HWY_INLINE hn::Mask<D> seen(V ahead) const {
    const auto near = hn::Le(hn::Abs(ahead), hn::Set(d, window_));
    if (!causal_) return near;
    return hn::And(
        near, side_ == Side::queries ? hn::Ge(ahead, hn::Zero(d)) : hn::Le(ahead, hn::Zero(d)));
  }

  Index position_ = 0;
  Side side_ = Side::queries;
  float slope_ = 0;
  float window_ = 0;
  bool causal_ = false;
  KeyRange range_;
  KeyRange all_;
};

/// The blocks of every sample, as changes of the counts from key to key.
///
/// Row r and key j share a block in C(r, j) samples. Going from key j - 1 to j, C changes in the
/// samples with a boundary between them: rows of the old block lose one, rows of the new block gain
/// one. A group notes these events by their key, so that the keys are passed once, in order.
class SampledWeights {
 public:
  static constexpr bool kCounts = true;

  void start(const Head& head, Side side, Index position, Index rows) {
    events_.clear();
    key_.clear();
    range_ = {0, 0};
    low_ = hn::Zero(d);
    high_ = hn::Zero(d);
    causal_ = head.causal;
    side_ = side;
    position_ = position;
    // Queries beyond the keys share a block with none.
    const Index first = std::max<Index>(position, 0);
    const Index last = std::min(position + rows, head.keys);
    if (first >= last) return;
    if (cursor_of_ != head.partitions) {
      cursor_.assign(static_cast<std::size_t>(head.samples), 0);
      cursor_of_ = head.partitions;
    }
    range_ = {first, last};
    for (Index s = 0; s < head.samples; ++s) {
      const Blocks& blocks = head.partitions[s];
      Index& cursor = cursor_[static_cast<std::size_t>(s)];
      cursor = blocks.find(first, cursor);
      Index block = cursor;
      Index begin = blocks.begin(block);
      Index end = blocks.end(block);
      range_.first = std::min(range_.first, begin);
      add(begin, first, first, std::min(end, last));
      while (end < last) {
        const Index from = std::max(begin, first);
        begin = end;
        end = blocks.end(++block);
        add(begin, from, begin, std::min(end, last));
      }
      range_.last = std::max(range_.last, end);
      add(end, std::max(begin, first), last, last);
    }
    const KeyRange others = positions(head, other(side));
    range_.first = std::max(range_.first, others.first);
    range_.last = std::min(range_.last, others.last);
    if (causal_ && side == Side::queries) range_.last = std::min(range_.last, last);
    if (causal_ && side == Side::keys) range_.first = std::max(range_.first, first);
    if (range_.first < range_.last)
      link();
    else
      range_ = {0, 0};
  }
  KeyRange range() const { return range_; }

  /// Writes the counts of the rows, and -infinity where they are 0.
  template <std::size_t K>
  HWY_INLINE void apply(Index first, V (&logit)[K][2], float* HWY_RESTRICT counts) {
    V low = low_;
    V high = high_;
    unroll<K>([&](auto k) PLSH_INLINED {
      const Index key = first + index(k);
      for (std::int32_t e = head_[static_cast<std::size_t>(key - range_.first)]; e >= 0;
           e = events_[static_cast<std::size_t>(e)].next)
        happen(events_[static_cast<std::size_t>(e)], low, high);
      V seen_low = low;
      V seen_high = high;
      if (causal_ && side_ == Side::queries && key > position_) {
        const Index ahead = std::min(key - position_, kRows);
        seen_low = hn::Mul(low, steps.low(ahead));
        seen_high = hn::Mul(high, steps.high(ahead));
      }
      if (causal_ && side_ == Side::keys && key < position_ + kRows - 1) {
        const Index behind = key - position_ + 1;
        seen_low = hn::NegMulAdd(low, steps.low(behind), low);
        seen_high = hn::NegMulAdd(high, steps.high(behind), high);
      }
      hn::Store(seen_low, d, counts + index(k) * kRows);
      hn::Store(seen_high, d, counts + index(k) * kRows + kLanes);
      logit[k][0] = hn::IfThenElse(hn::Gt(seen_low, hn::Zero(d)), logit[k][0], unseen());
      logit[k][1] = hn::IfThenElse(hn::Gt(seen_high, hn::Zero(d)), logit[k][1], unseen());
    });
    low_ = low;
    high_ = high;
  }

 private:
  /// Rows from..cut-1 lose one, rows cut..to-1 gain one.
  struct Event {
    std::int32_t next;
    std::uint8_t from;
    std::uint8_t cut;
    std::uint8_t to;
  };

  HWY_INLINE static void happen(const Event& event, V& low, V& high) {
    const V two = hn::Set(d, 2.0f);
    low = hn::Sub(hn::MulAdd(two, steps.low(event.cut), low),
                  hn::Add(steps.low(event.from), steps.low(event.to)));
    high = hn::Sub(hn::MulAdd(two, steps.high(event.cut), high),
                   hn::Add(steps.high(event.from), steps.high(event.to)));
  }

  void add(Index key, Index from, Index cut, Index to) {
    key_.push_back(key);
    events_.push_back({-1, static_cast<std::uint8_t>(from - position_),
                       static_cast<std::uint8_t>(cut - position_),
                       static_cast<std::uint8_t>(to - position_)});
  }

  /// Chains the events of each key. What came before the range has happened.
  void link() {
    head_.assign(static_cast<std::size_t>(range_.last - range_.first), -1);
    for (std::size_t e = 0; e < events_.size(); ++e) {
      if (key_[e] >= range_.last) continue;
      if (key_[e] < range_.first) {
        happen(events_[e], low_, high_);
        continue;
      }
      std::int32_t& head = head_[static_cast<std::size_t>(key_[e] - range_.first)];
      events_[e].next = head;
      head = static_cast<std::int32_t>(e);
    }
  }

  Index position_ = 0;
  Side side_ = Side::queries;
  bool causal_ = false;
  KeyRange range_;
  std::vector<Event> events_;
  std::vector<Index> key_;          // of each event
  std::vector<std::int32_t> head_;  // the first event of each key of the range
  std::vector<Index> cursor_;       // for each sample, the block of the last group's first row
  const Blocks* cursor_of_ = nullptr;
  V low_, high_;
};

}  // namespace plsh::optimized::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
