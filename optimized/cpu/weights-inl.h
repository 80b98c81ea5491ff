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
  void enter(Index, Index, float*) {}

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
/// one. A group notes these events; for each piece of the keys they become differences of counts,
/// and their running sum is C. So nothing is decided from key to key.
class SampledWeights {
 public:
  static constexpr bool kCounts = true;

  void start(const Head& head, Side side, Index position, Index rows) {
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
    if (block_of_ != head.partitions) {
      block_.assign(static_cast<std::size_t>(head.samples), 0);
      block_of_ = head.partitions;
    }
    range_ = {first, last};
    // A sample has at most one boundary before each row, and one after the last.
    events_.resize(static_cast<std::size_t>(head.samples * (kRows + 1)));
    Event* event = events_.data();
    const auto add = [&](Index key, Index from, Index cut, Index to) {
      *event++ = {key, -1, static_cast<std::uint8_t>(from - position),
                  static_cast<std::uint8_t>(cut - position),
                  static_cast<std::uint8_t>(to - position)};
    };
    for (Index s = 0; s < head.samples; ++s) {
      const Blocks& blocks = head.partitions[s];
      Index block = blocks.find(first, block_[static_cast<std::size_t>(s)]);
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
      block_[static_cast<std::size_t>(s)] = block;
      hwy::Prefetch(blocks.starts + (block + 16) * blocks.stride);
    }
    const KeyRange others = positions(head, other(side));
    range_.first = std::max(range_.first, others.first);
    range_.last = std::min(range_.last, others.last);
    if (causal_ && side == Side::queries) range_.last = std::min(range_.last, last);
    if (causal_ && side == Side::keys) range_.first = std::max(range_.first, first);
    if (range_.first < range_.last)
      link(event);
    else
      range_ = {0, 0};
  }
  KeyRange range() const { return range_; }

  /// Before keys first..last-1 are weighed: writes their differences of counts.
  void enter(Index first, Index last, float* HWY_RESTRICT counts) {
    for (Index k = 0; k < (last - first) * kRows; k += kLanes)
      hn::Store(hn::Zero(d), d, counts + k);
    const Index end = (last - 1 - range_.first) / kPiece;
    for (Index piece = (first - range_.first) / kPiece; piece <= end; ++piece)
      for (std::int32_t e = events_of_[static_cast<std::size_t>(piece)]; e >= 0;) {
        const Event& event = events_[static_cast<std::size_t>(e)];
        e = event.next;
        if (event.key < first || event.key >= last) continue;
        float* const at = counts + (event.key - first) * kRows;
        hn::Store(hn::Add(hn::Load(d, at), event.low()), d, at);
        hn::Store(hn::Add(hn::Load(d, at + kLanes), event.high()), d, at + kLanes);
      }
  }

  /// Writes the counts of the rows, and -infinity where they are 0.
  template <std::size_t K>
  HWY_INLINE void apply(Index first, V (&logit)[K][2], float* HWY_RESTRICT counts) {
    V low = low_;
    V high = high_;
    unroll<K>([&](auto k) PLSH_INLINED {
      float* const at = counts + index(k) * kRows;
      low = hn::Add(low, hn::Load(d, at));
      high = hn::Add(high, hn::Load(d, at + kLanes));
      const Index key = first + index(k);
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
      hn::Store(seen_low, d, at);
      hn::Store(seen_high, d, at + kLanes);
      logit[k][0] = hn::IfThenElse(hn::Gt(seen_low, hn::Zero(d)), logit[k][0], unseen());
      logit[k][1] = hn::IfThenElse(hn::Gt(seen_high, hn::Zero(d)), logit[k][1], unseen());
    });
    low_ = low;
    high_ = high;
  }

 private:
  /// Keys whose events are chained.
  static constexpr Index kPiece = 64;

  /// At this key, rows from..cut-1 lose one, rows cut..to-1 gain one.
  struct Event {
    Index key;
    std::int32_t next;
    std::uint8_t from;
    std::uint8_t cut;
    std::uint8_t to;

    HWY_INLINE V low() const { return change(steps.low(from), steps.low(cut), steps.low(to)); }
    HWY_INLINE V high() const { return change(steps.high(from), steps.high(cut), steps.high(to)); }
    HWY_INLINE static V change(V after_from, V after_cut, V after_to) {
      return hn::Sub(hn::Sub(after_cut, after_from), hn::Sub(after_to, after_cut));
    }
  };

  /// Chains the events of each piece. What came before the range has happened.
  void link(Event* end) {
    events_of_.assign(static_cast<std::size_t>((range_.last - 1 - range_.first) / kPiece + 1), -1);
    for (Event* event = events_.data(); event < end; ++event) {
      if (event->key >= range_.last) continue;
      if (event->key < range_.first) {
        low_ = hn::Add(low_, event->low());
        high_ = hn::Add(high_, event->high());
        continue;
      }
      std::int32_t& first =
          events_of_[static_cast<std::size_t>((event->key - range_.first) / kPiece)];
      event->next = first;
      first = static_cast<std::int32_t>(event - events_.data());
    }
  }

  Index position_ = 0;
  Side side_ = Side::queries;
  bool causal_ = false;
  KeyRange range_;
  std::vector<Event> events_;
  std::vector<std::int32_t> events_of_;  // the first event of each piece of the range
  std::vector<Index> block_;             // for each sample, the block of the last row so far
  const Blocks* block_of_ = nullptr;
  V low_, high_;
};

}  // namespace plsh::optimized::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
