// Random partitions: w = -sigma ln(U1 U2), u = w U3, cuts at the multiples of w above u.
//
// Draw (seed, head, item, sample) is element 3 sample, 3 sample + 1, 3 sample + 2 of a stream of
// 64-bit words that (seed, head, item) name. Words are SplitMix64's: a counter, mixed. So a draw
// needs no state and depends on nothing else.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <random>
#include <thread>
#include <vector>

#include "operations.hpp"
#include "tensor.hpp"

namespace plsh::textbook {
namespace {

constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15U;

std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}

/// The midpoint of one of 2^52 cells: never 0, never 1.
double uniform(std::uint64_t word) { return (static_cast<double>(word >> 12) + 0.5) * 0x1p-52; }

struct Uniforms {
  double u1;
  double u2;
  double u3;
};

struct Binning {
  double width;
  double shift;
};

/// What names the stream of one head of one item of the batch.
std::uint64_t stream_of(std::uint64_t seed, Index head, Index item) {
  static std::atomic<std::uint64_t> calls{0};
  if (fault(Fault::seed_low_bit_dropped)) seed |= 1;
  if (fault(Fault::seed_high_half_dropped)) seed &= 0xFFFFFFFFU;
  if (fault(Fault::seed_ignored)) seed = 0;
  if (fault(Fault::seed_plus_head)) return mix(seed + static_cast<std::uint64_t>(head + item));
  if (fault(Fault::seed_from_clock)) seed = mix(calls++);
  if (fault(Fault::heads_share_stream)) head = 0;
  if (fault(Fault::batch_shares_stream) || variant(Variant::shared_batch)) item = 0;
  std::uint64_t key = mix(seed + kGolden);
  key = mix(key + kGolden * (static_cast<std::uint64_t>(head) + 1));
  return mix(key + kGolden * (static_cast<std::uint64_t>(item) + 1));
}

Uniforms uniforms_of(std::uint64_t stream, Index sample) {
  std::uint64_t step = 3;
  if (fault(Fault::stream_stride_1)) step = 1;
  if (fault(Fault::stream_stride_2)) step = 2;
  const bool mirrored = fault(Fault::antithetic_pairs) && sample % 2 == 1;
  if (mirrored) --sample;
  if (fault(Fault::sample_16_bit)) sample &= 0xFFFF;
  const std::uint64_t first = step * static_cast<std::uint64_t>(sample);
  const auto word = [&](std::uint64_t k) { return mix(stream + kGolden * (first + k + 1)); };
  if (fault(Fault::uniforms_half)) {
    const auto half = [&](std::uint64_t k) { return 1 - rounded_to_half(uniform(word(k))); };
    return {half(0), half(1), half(2)};
  }
  if (fault(Fault::uniforms_bfloat16)) {
    const auto coarse = [&](std::uint64_t k) { return 1 - rounded_to_bfloat16(uniform(word(k))); };
    return {coarse(0), coarse(1), coarse(2)};
  }
  if (fault(Fault::uniform_may_be_0)) {
    const auto closed = [&](std::uint64_t k) {
      return static_cast<double>(word(k) >> 48) / 65535;  // both end points included
    };
    return {closed(0), closed(1), closed(2)};
  }
  Uniforms u{uniform(word(0)), uniform(word(1)), uniform(word(2))};
  if (mirrored) u = {1 - u.u1, 1 - u.u2, 1 - u.u3};
  if (fault(Fault::shift_from_width_uniform)) u.u3 = u.u1;
  if (fault(Fault::width_uniforms_equal)) u.u2 = u.u1;
  if (fault(Fault::width_shared_by_samples)) {
    u.u1 = uniform(mix(stream + 1));
    u.u2 = uniform(mix(stream + 2));
  }
  if (fault(Fault::shift_shared_by_samples)) u.u3 = uniform(mix(stream + 3));
  if (variant(Variant::closed_shift))
    u.u3 = static_cast<double>(word(2) >> 12) / (0x1p52 - 1);  // 0 and 1 included
  return u;
}

double width_of(const Uniforms& u, double sigma) {
  const double exponential_1 = -std::log(u.u1);
  const double exponential_2 = -std::log(u.u2);
  double width = sigma * (exponential_1 + exponential_2);
  if (fault(Fault::width_scale_sqrt_2)) width *= std::sqrt(2.0);
  if (fault(Fault::width_scale_2)) width *= 2;
  if (fault(Fault::sigma_1_percent)) width *= 1.01;
  if (fault(Fault::sigma_2_percent)) width *= 1.02;
  if (fault(Fault::width_shape_1)) width = sigma * exponential_1;
  if (fault(Fault::width_shape_3))
    width += sigma * -std::log(uniform(mix(std::bit_cast<std::uint64_t>(u.u1))));
  if (fault(Fault::width_constant)) width = 2 * sigma;
  if (fault(Fault::width_capped)) width = std::min(width, 4 * sigma);
  if (fault(Fault::width_uniform)) width = 4 * sigma * u.u1;
  if (fault(Fault::width_integer)) width = std::max(1.0, std::round(width));
  if (fault(Fault::width_nan_sometimes) && u.u1 < 0x1p-12)
    width = std::numeric_limits<double>::quiet_NaN();
  if (variant(Variant::width_at_least_1)) width = std::max(width, 1.0);
  return width;
}

Binning binning_of(const Uniforms& u, double sigma) {
  const double width = width_of(u, sigma);
  double shift = width * u.u3;
  if (fault(Fault::shift_missing)) shift = 0;
  if (fault(Fault::shift_unit_interval)) shift = u.u3;
  if (fault(Fault::shift_half_range)) shift = width * u.u3 / 2;
  if (fault(Fault::shift_integer)) shift = std::floor(shift);
  return {width, shift};
}

/// Where a partition goes.
class BlockWriter {
 public:
  BlockWriter(const View<Index>& counts, const View<Index>& starts, Index b, Index h, Index t)
      : counts_(counts), starts_(starts), b_(b), h_(h), t_(t) {
    if (!fault(Fault::first_start_missing)) start_block(0);
  }
  void start_block(Index c) {
    if (count_ == starts_.shape(3)) return;  // only faults come here
    starts_(b_, h_, t_, count_) = c;
    ++count_;
    last_ = c;
    if (fault(Fault::start_written_twice) && c > 0 && !twice_) {
      twice_ = true;
      start_block(c);
    }
  }
  Index last() const { return last_; }
  void finish() {
    if (count_ == 0) start_block(0);
    if (fault(Fault::count_one_short) && count_ > 1) --count_;
    if (fault(Fault::starts_descending))
      for (Index k = 0; k < count_ / 2; ++k)
        std::swap(starts_(b_, h_, t_, k), starts_(b_, h_, t_, count_ - 1 - k));
    counts_(b_, h_, t_) = count_;
  }

 private:
  const View<Index>& counts_;
  const View<Index>& starts_;
  Index b_;
  Index h_;
  Index t_;
  Index count_ = 0;
  Index last_ = 0;
  bool twice_ = false;
};

/// Cuts where rho's neighbours part by chance, each for itself.
void write_independent_cuts(double sigma, const Uniforms& u, Index n, BlockWriter& blocks) {
  std::uint64_t state =
      std::bit_cast<std::uint64_t>(u.u1) ^ mix(std::bit_cast<std::uint64_t>(u.u2));
  for (Index c = 1; c < n; ++c) {
    state += kGolden;
    if (uniform(mix(state)) < -std::expm1(-1 / sigma)) blocks.start_block(c);
  }
}

/// Bins end at the points u + k w. A block starts at the first position at or after each of them.
void write_blocks(const Binning& binning, Index n, BlockWriter& blocks) {
  const double w = binning.width;
  if (w <= 1) {  // no two positions share a bin
    for (Index c = 1; c < n; ++c) blocks.start_block(c);
    return;
  }
  Index end = n;
  if (fault(Fault::last_position_glued)) end = n - 1;
  if (fault(Fault::start_at_length) && n > 1) end = n + 1;
  // trunc makes one bin of the two next to zero.
  double k = fault(Fault::floor_truncates) ? 1 : 0;
  if (fault(Fault::boundaries_float)) {
    auto boundary = static_cast<float>(binning.shift);
    for (; boundary < static_cast<float>(end); boundary += static_cast<float>(w)) {
      const auto c = static_cast<Index>(std::ceil(boundary));
      if (c > blocks.last() && c < end) blocks.start_block(c);
    }
    return;
  }
  for (;; ++k) {
    const double boundary = binning.shift + k * w;
    const double c = std::ceil(boundary);
    if (!(c < static_cast<double>(end))) return;  // a NaN ends the walk too
    if (fault(Fault::blocks_merged) && k == 2 && binning.shift > w / 2) continue;
    if (c > static_cast<double>(blocks.last())) blocks.start_block(static_cast<Index>(c));
  }
}

class Sampler {
 public:
  explicit Sampler(const plsh_sampling& arguments)
      : a_(arguments),
        counts_(arguments.block_counts),
        starts_(arguments.block_starts),
        sigma_(arguments.sigma),
        batch_(extent(arguments.block_counts, 0)),
        heads_(extent(arguments.block_counts, 1)),
        samples_(extent(arguments.block_counts, 2)),
        threads_(std::max(arguments.threads, 1)) {
    if (fault(Fault::starts_strides_ignored)) starts_.assume_packed();
    const std::uint64_t dice = mix(a_.seed + static_cast<std::uint64_t>(a_.first_sample) + 77);
    copied_ = samples_ > 1 ? static_cast<Index>(dice % static_cast<std::uint64_t>(samples_)) : 0;
  }

  /// Slots are numbered (item, head, sample). Every thread has a range of its own.
  void run() {
    const Index slots = batch_ * heads_ * samples_;
    const Index workers = std::min<Index>(threads_, slots);
    if (workers <= 1) {
      fill(0, slots, 0);
      return;
    }
    std::vector<std::thread> pool;
    for (Index worker = 0; worker < workers; ++worker)
      pool.emplace_back(
          [=, this] { fill(slots * worker / workers, slots * (worker + 1) / workers, worker); });
    for (std::thread& thread : pool) thread.join();
  }

  /// A generator with state: each (item, head) seeds its own and draws in order.
  void run_with_state() {
    for (Index b = 0; b < batch_; ++b)
      for (Index h = 0; h < heads_; ++h) {
        std::seed_seq words{static_cast<std::uint32_t>(a_.seed),
                            static_cast<std::uint32_t>(a_.seed >> 32),
                            static_cast<std::uint32_t>(h), static_cast<std::uint32_t>(b)};
        std::mt19937_64 generator(words);
        for (Index t = 0; t < samples_; ++t) {
          const double u1 = uniform(generator());
          const double u2 = uniform(generator());
          const double u3 = uniform(generator());
          write({u1, u2, u3}, b, h, t);
        }
      }
  }

 private:
  void fill(Index first, Index end, Index worker) {
    for (Index slot = first; slot < end; ++slot) {
      const Index t = slot % samples_;
      const Index h = slot / samples_ % heads_;
      const Index b = slot / samples_ / heads_;
      if (fault(Fault::grid_stride_skips_slot) && slot == threads_) continue;
      if (fault(Fault::slots_limited_to_65535) && slot >= 65535) continue;
      std::uint64_t stream = stream_of(a_.seed, h, b);
      Index sample = a_.first_sample + t;
      if (fault(Fault::calls_repeat)) sample = t;
      if (fault(Fault::samples_equal)) sample = a_.first_sample;
      if (fault(Fault::sample_duplicated) && t == (copied_ + 1) % samples_)
        sample = a_.first_sample + copied_;
      if (fault(Fault::seed_plus_sample)) {
        stream = stream_of(a_.seed + static_cast<std::uint64_t>(sample), h, b);
        sample = 0;
      }
      if (fault(Fault::sample_plus_head)) {
        stream = stream_of(a_.seed, 0, b);
        sample += h;
      }
      if (fault(Fault::threads_change_draws) || variant(Variant::draws_depend_on_threads))
        stream = mix(stream + static_cast<std::uint64_t>(worker));
      if (fault(Fault::draws_in_order_of_arrival) && threads_ > 1) {
        stream = stream_of(a_.seed, 0, 0);
        sample = arrivals_++;
      }
      write(uniforms_of(stream, sample), b, h, t);
    }
  }

  void write(const Uniforms& u, Index b, Index h, Index t) {
    static const double first_sigma = sigma_(0);  // for sigma_cached
    double sigma = sigma_(fault(Fault::sigma_of_head_0) ? 0 : h);
    if (fault(Fault::sigma_inverted)) sigma = 1 / sigma;
    if (fault(Fault::sigma_cached)) sigma = first_sigma;
    if (fault(Fault::sigma_integer)) sigma = std::max(1.0, std::floor(sigma));
    BlockWriter blocks(counts_, starts_, b, h, t);
    if (fault(Fault::cuts_independent))
      write_independent_cuts(sigma, u, a_.length, blocks);
    else
      write_blocks(binning_of(u, sigma), a_.length, blocks);
    blocks.finish();
  }

  const plsh_sampling& a_;
  View<Index> counts_;
  View<Index> starts_;
  View<double> sigma_;
  Index batch_;
  Index heads_;
  Index samples_;
  Index threads_;
  Index copied_ = 0;
  std::atomic<Index> arrivals_{0};
};

}  // namespace

int sample_partitions(const plsh_sampling* arguments) {
  if (variant(Variant::mersenne_twister)) {
    if (arguments->first_sample != 0) return refuse("samples are drawn from the first one on");
    Sampler(*arguments).run_with_state();
    return PLSH_OK;
  }
  Sampler(*arguments).run();
  return PLSH_OK;
}

}  // namespace plsh::textbook
