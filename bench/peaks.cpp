#include "peaks.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/peaks.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/aligned_allocator.h>
#include <hwy/highway.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

HWY_BEFORE_NAMESPACE();
namespace plsh::bench::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

/// Chains enough to hide the latency of a multiply-add.
constexpr int kChains = 10;

/// Returns the operations done. `sums` [kChains] keeps them from being left out; their values must
/// differ, or the compiler finds the chains equal and computes one.
double MultiplyAdd(long rounds, float* sums) {
  const D d;
  const V x = hn::Set(d, 0.999F);
  const V y = hn::Set(d, 0.001F);
  V a = hn::Set(d, sums[0]), b = hn::Set(d, sums[1]), c = hn::Set(d, sums[2]),
    e = hn::Set(d, sums[3]), f = hn::Set(d, sums[4]), g = hn::Set(d, sums[5]),
    h = hn::Set(d, sums[6]), i = hn::Set(d, sums[7]), j = hn::Set(d, sums[8]),
    k = hn::Set(d, sums[9]);
  for (long r = 0; r < rounds; ++r) {
    a = hn::MulAdd(a, x, y);
    b = hn::MulAdd(b, x, y);
    c = hn::MulAdd(c, x, y);
    e = hn::MulAdd(e, x, y);
    f = hn::MulAdd(f, x, y);
    g = hn::MulAdd(g, x, y);
    h = hn::MulAdd(h, x, y);
    i = hn::MulAdd(i, x, y);
    j = hn::MulAdd(j, x, y);
    k = hn::MulAdd(k, x, y);
  }
  const V all = hn::Add(hn::Add(hn::Add(hn::Add(a, b), hn::Add(c, e)), hn::Add(hn::Add(f, g), h)),
                        hn::Add(hn::Add(i, j), k));
  sums[0] = hn::GetLane(hn::SumOfLanes(d, all));
  return static_cast<double>(rounds) * kChains * 2 * static_cast<double>(hn::Lanes(d));
}

/// 2^x over a buffer, by rounding and a polynomial. Returns the numbers done.
double Exponential(float* values, std::size_t count, long rounds) {
  const D d;
  const hn::RebindToUnsigned<D> du;
  const V magic = hn::Set(d, 12582912.0F + 127.0F);
  for (long r = 0; r < rounds; ++r)
    for (std::size_t k = 0; k + 2 * hn::Lanes(d) <= count; k += 2 * hn::Lanes(d)) {
      V x[2] = {hn::Load(d, values + k), hn::Load(d, values + k + hn::Lanes(d))};
      for (V& value : x) {
        const V shifted = hn::Add(value, magic);
        const V part = hn::Sub(value, hn::Sub(shifted, magic));
        V p = hn::Set(d, 0x1.5bda98p-10F);
        p = hn::MulAdd(p, part, hn::Set(d, 0x1.3ce8b2p-7F));
        p = hn::MulAdd(p, part, hn::Set(d, 0x1.c6b6d8p-5F));
        p = hn::MulAdd(p, part, hn::Set(d, 0x1.ebf9c2p-3F));
        p = hn::MulAdd(p, part, hn::Set(d, 0x1.62e42ap-1F));
        p = hn::MulAdd(p, part, hn::Set(d, 1.0F));
        value = hn::Mul(p, hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(du, shifted))));
      }
      // Between 1/2 and 2 again: stays in range however often it is repeated.
      hn::Store(hn::Sub(x[0], hn::Set(d, 1)), d, values + k);
      hn::Store(hn::Sub(x[1], hn::Set(d, 1)), d, values + k + hn::Lanes(d));
    }
  return static_cast<double>(rounds) * static_cast<double>(count);
}

double Read(const float* values, std::size_t count, float* sink) {
  const D d;
  V a = hn::Zero(d), b = a, c = a, e = a;
  const std::size_t n = hn::Lanes(d);
  for (std::size_t k = 0; k + 4 * n <= count; k += 4 * n) {
    a = hn::Add(a, hn::Load(d, values + k));
    b = hn::Add(b, hn::Load(d, values + k + n));
    c = hn::Add(c, hn::Load(d, values + k + 2 * n));
    e = hn::Add(e, hn::Load(d, values + k + 3 * n));
  }
  sink[0] = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(a, b), hn::Add(c, e))));
  return static_cast<double>(count) * sizeof(float);
}

const char* Name() { return hwy::TargetName(HWY_TARGET); }

}  // namespace
}  // namespace plsh::bench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plsh::bench {

HWY_EXPORT(MultiplyAdd);
HWY_EXPORT(Exponential);
HWY_EXPORT(Read);
HWY_EXPORT(Name);

namespace {

using Clock = std::chrono::steady_clock;

/// Runs work(thread) on every thread at once. Returns the sum of what it returns over the time.
double rate(int threads, const std::function<double(int)>& work) {
  std::vector<double> done(static_cast<std::size_t>(threads), 0);
  const auto start = Clock::now();
  {
    std::vector<std::jthread> others;
    for (int t = 1; t < threads; ++t)
      others.emplace_back([&, t] { done[static_cast<std::size_t>(t)] = work(t); });
    done[0] = work(0);
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  double sum = 0;
  for (const double part : done) sum += part;
  return sum / seconds;
}

double best_of(int times, const std::function<double()>& measure) {
  double best = 0;
  for (int k = 0; k < times; ++k) best = std::max(best, measure());
  return best;
}

}  // namespace

double measure_fma(int threads, double seconds) {
  // 10 independent chains: about 5 to 20 rounds in a nanosecond's time on today's machines.
  const auto rounds = static_cast<long>(seconds * 3e8);
  return rate(threads, [&](int) {
    float sums[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    return HWY_DYNAMIC_DISPATCH(MultiplyAdd)(rounds, sums);
  });
}

Peaks measure_peaks(int threads) {
  Peaks peaks;
  peaks.fma_flops = best_of(5, [&] { return measure_fma(threads, 0.03); });
  constexpr std::size_t kSmall = 4096;
  std::vector<hwy::AlignedFreeUniquePtr<float[]>> small;
  for (int t = 0; t < threads; ++t) {
    small.push_back(hwy::AllocateAligned<float>(kSmall));
    std::fill_n(small.back().get(), kSmall, 0.25F);
  }
  peaks.exp_rate = best_of(5, [&] {
    return rate(threads, [&](int t) {
      return HWY_DYNAMIC_DISPATCH(Exponential)(small[static_cast<std::size_t>(t)].get(), kSmall,
                                               10000);
    });
  });
  const std::size_t count = (std::size_t{512} << 20) / sizeof(float);
  const std::size_t share = count / static_cast<std::size_t>(threads) / 1024 * 1024;
  const auto large = hwy::AllocateAligned<float>(count);
  std::fill_n(large.get(), count, 1.0F);
  peaks.read_bytes = best_of(3, [&] {
    return rate(threads, [&](int t) {
      float sink = 0;
      return HWY_DYNAMIC_DISPATCH(Read)(large.get() + static_cast<std::size_t>(t) * share, share,
                                        &sink);
    });
  });
  peaks.copy_bytes = best_of(3, [&] {
    return rate(threads, [&](int t) {
      float* const from = large.get() + static_cast<std::size_t>(t) * share;
      std::memcpy(from + share / 2, from, share / 2 * sizeof(float));
      return static_cast<double>(share) * sizeof(float);
    });
  });
  return peaks;
}

std::string instruction_set() { return HWY_DYNAMIC_DISPATCH(Name)(); }

}  // namespace plsh::bench
#endif
