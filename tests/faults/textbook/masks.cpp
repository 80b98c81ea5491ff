// The mean of the masks: for each pair, the share of samples whose blocks hold both positions.
#include <algorithm>
#include <vector>

#include "operations.hpp"
#include "tensor.hpp"

namespace plsh::textbook {
namespace {

/// What faults do to the number of hits on the way to the mean.
double mean(double hits, Index samples) {
  const auto s = static_cast<double>(samples);
  if (fault(Fault::mask_uint8_counts))
    return static_cast<double>(static_cast<std::uint8_t>(static_cast<Index>(hits))) / s;
  if (fault(Fault::mask_integer_division)) {
    const Index share = static_cast<Index>(hits) / samples;
    return static_cast<double>(share);
  }
  if (fault(Fault::mask_divided_twice)) return hits / s / s;
  if (fault(Fault::mask_undivided)) return hits;
  if (fault(Fault::mask_ored)) return hits > 0 ? 1 : 0;
  if (fault(Fault::mask_float_in_f64)) return static_cast<double>(static_cast<float>(hits / s));
  if (fault(Fault::mask_half_sum)) {
    double sum = 0;
    const double step = rounded_to_half(1 / s);
    for (Index k = 0; k < static_cast<Index>(hits); ++k) sum = rounded_to_half(sum + step);
    return sum;
  }
  return hits / s;
}

template <class Real>
void mean_mask_of(const DLTensor* block_counts, const DLTensor* block_starts, DLTensor* mask) {
  const View<Index> counts(block_counts);
  const View<Index> starts(block_starts);
  View<Real> to(mask);
  if (fault(Fault::mask_strides_ignored)) to.assume_packed();
  const Index batch = extent(mask, 0);
  const Index heads = extent(mask, 1);
  const Index n = extent(mask, 2);
  const Index samples = extent(block_counts, 2);
  static std::vector<Index> first_call;  // for mask_stale_block_list

  for (Index b = 0; b < batch; ++b)
    for (Index h = 0; h < heads; ++h) {
      const Index from_b = fault(Fault::mask_batch_0) ? 0 : b;
      const Index from_h = fault(Fault::mask_head_0) ? 0 : h;
      // block_of[t][i]: the block of position i in sample t.
      std::vector<Index> block_of(static_cast<std::size_t>(samples * n), -1);
      for (Index t = 0; t < samples; ++t) {
        Index count = counts(from_b, from_h, t);
        if (fault(Fault::mask_padding_read)) count = extent(block_starts, 3);
        for (Index k = 0; k < count; ++k) {
          const Index first = starts(from_b, from_h, t, k);
          Index end = k + 1 < count ? starts(from_b, from_h, t, k + 1) : n;
          if (fault(Fault::mask_last_position_lost) && k + 1 == count && n > 1) end = n - 1;
          if (fault(Fault::mask_last_block_lost) && k + 1 == count && count > 1) end = first;
          for (Index i = std::max<Index>(first, 0); i < std::min(end, n); ++i)
            block_of[static_cast<std::size_t>(t * n + i)] =
                fault(Fault::mask_blocks_modulo_256) ? k % 256 : k;
        }
      }
      if (fault(Fault::mask_stale_block_list)) {
        if (first_call.size() == block_of.size())
          block_of = first_call;
        else
          first_call = block_of;
      }
      for (Index i = 0; i < n; ++i)
        for (Index j = 0; j < n; ++j) {
          double hits = 0;
          for (Index t = 0; t < samples; ++t) {
            if (fault(Fault::mask_last_sample_lost) && t == samples - 1 && t > 0) continue;
            const Index of_i = block_of[static_cast<std::size_t>(t * n + i)];
            const Index of_j = block_of[static_cast<std::size_t>(t * n + j)];
            if (of_i == of_j && of_i >= 0) hits += 1;
          }
          if (fault(Fault::mask_diagonal_missing) && i == j) hits = 0;
          if (fault(Fault::mask_upper_triangle_only) && i > j) hits = 0;
          const Real value = static_cast<Real>(mean(hits, samples));
          if (fault(Fault::mask_accumulates))
            to(b, h, i, j) += value;
          else
            to(b, h, i, j) = value;
        }
    }
}

}  // namespace

int mean_mask(const DLTensor* block_counts, const DLTensor* block_starts, DLTensor* mask) {
  if (is_float(*mask, 64))
    mean_mask_of<double>(block_counts, block_starts, mask);
  else if (is_float(*mask, 32))
    mean_mask_of<float>(block_counts, block_starts, mask);
  else
    return refuse("masks are f32 or f64");
  return PLSH_OK;
}

}  // namespace plsh::textbook
