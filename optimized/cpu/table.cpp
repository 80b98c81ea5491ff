// The table of the interface.
#include <cmath>
#include <plsh/optimized/cpu.hpp>
#include <string>

#include "attention.hpp"
#include "parallel.hpp"
#include "partition.hpp"

namespace plsh::optimized::cpu {
namespace {

thread_local std::string reason;

template <class Call>
int guarded(const Call& call) {
  try {
    call();
    return PLSH_OK;
  } catch (const Refusal& refusal) {
    reason = refusal.what();
    return PLSH_REFUSED;
  } catch (const std::exception& error) {
    reason = error.what();
    return PLSH_FAILED;
  }
}

void fill_slopes(DLTensor& slopes) {
  const Index heads = slopes.shape[0];
  Index power = 1;
  while (2 * power <= heads) power *= 2;
  for (Index h = 0; h < heads; ++h) {
    // Beyond the largest power of two P: every second slope of the set of 2P.
    const double exponent =
        h < power ? 8 * static_cast<double>(h + 1) / static_cast<double>(power)
                  : 8 * (2 * static_cast<double>(h - power) + 1) / static_cast<double>(2 * power);
    static_cast<float*>(slopes.data)[h * slopes.strides[0]] =
        static_cast<float>(std::exp2(-exponent));
  }
}

void fill_bins(const DLTensor& positions, const DLTensor& widths, const DLTensor& shifts,
               DLTensor& labels) {
  for (Index s = 0; s < widths.shape[0]; ++s) {
    const Binning binning{static_cast<const double*>(widths.data)[s * widths.strides[0]],
                          static_cast<const double*>(shifts.data)[s * shifts.strides[0]]};
    bins(binning, positions, &integer(labels, s, 0), labels.strides[1]);
  }
}

void sample(const plsh_sampling& a) {
  const DLTensor& counts = *a.block_counts;
  const Index heads = counts.shape[1];
  const Index samples = counts.shape[2];
  for_each_task(counts.shape[0] * heads * samples, thread_count(a.threads), [&] {
    return [&, starts = std::vector<Index>()](Index task) mutable {
      const Index s = task % samples;
      const Index h = task / samples % heads;
      const Index b = task / samples / heads;
      const double sigma = static_cast<const double*>(a.sigma->data)[h * a.sigma->strides[0]];
      block_starts(draw(a.seed, static_cast<std::uint32_t>(b * heads + h),
                        static_cast<std::uint64_t>(a.first_sample + s), sigma),
                   a.length, starts);
      integer(counts, b, h, s) = static_cast<Index>(starts.size());
      for (std::size_t c = 0; c < starts.size(); ++c)
        integer(*a.block_starts, b, h, s, static_cast<Index>(c)) = starts[c];
    };
  });
}

template <class T>
void fill_mask(const DLTensor& counts, const DLTensor& starts, DLTensor& mask) {
  const Index length = mask.shape[2];
  const Index samples = counts.shape[2];
  std::vector<Index> shared(static_cast<std::size_t>(length));
  for (Index b = 0; b < mask.shape[0]; ++b)
    for (Index h = 0; h < mask.shape[1]; ++h)
      for (Index i = 0; i < length; ++i) {
        std::fill(shared.begin(), shared.end(), 0);
        for (Index s = 0; s < samples; ++s) {
          const Blocks blocks{&integer(starts, b, h, s), starts.strides[3],
                              integer(counts, b, h, s), length};
          const Index block = blocks.find(i);
          for (Index j = blocks.begin(block); j < blocks.end(block); ++j)
            ++shared[static_cast<std::size_t>(j)];
        }
        T* row = static_cast<T*>(mask.data) + b * mask.strides[0] + h * mask.strides[1] +
                 i * mask.strides[2];
        for (Index j = 0; j < length; ++j)
          row[j * mask.strides[3]] =
              static_cast<T>(shared[static_cast<std::size_t>(j)]) / static_cast<T>(samples);
      }
}

plsh_implementation make_table() {
  plsh_implementation table{};
  table.interface_version = PLSH_INTERFACE_VERSION;
  table.struct_size = sizeof table;
  table.name = "plsh optimized for CPUs";
  table.version = "1";
  table.conventions.bin_precision = PLSH_BINS_EXACT;
  table.conventions.causal_alignment = PLSH_ALIGN_BOTTOM_RIGHT;
  table.conventions.promises = PLSH_DETERMINISTIC_FORWARD | PLSH_DETERMINISTIC_BACKWARD |
                               PLSH_THREAD_INDEPENDENT | PLSH_SAMPLE_OFFSETS;
  for (const plsh_type type : {PLSH_F32, PLSH_F16, PLSH_BF16})
    table.conventions.precision[type] = {1, PLSH_F32, PLSH_F32, PLSH_F32, PLSH_F32};
  table.device = {kDLCPU, 0};
  table.error_message = [] { return reason.c_str(); };
  table.slopes = [](DLTensor* slopes) { return guarded([&] { fill_slopes(*slopes); }); };
  table.bins = [](const DLTensor* positions, const DLTensor* widths, const DLTensor* shifts,
                  DLTensor* labels) {
    return guarded([&] { fill_bins(*positions, *widths, *shifts, *labels); });
  };
  table.sample_partitions = [](const plsh_sampling* a) { return guarded([&] { sample(*a); }); };
  table.mean_mask = [](const DLTensor* counts, const DLTensor* starts, DLTensor* mask) {
    return guarded([&] {
      if (mask->dtype.bits == 64)
        fill_mask<double>(*counts, *starts, *mask);
      else
        fill_mask<float>(*counts, *starts, *mask);
    });
  };
  table.exact_forward =
      table.sampled_forward = [](const plsh_attention* a) { return attention_forward(*a, {}); };
  table.exact_backward =
      table.sampled_backward = [](const plsh_attention* a) { return attention_backward(*a, {}); };
  return table;
}

}  // namespace

const plsh_implementation& implementation() {
  static const plsh_implementation table = make_table();
  return table;
}

int attention_forward(const plsh_attention& arguments, const AttentionForm& form) {
  return guarded([&] { forward(arguments, form); });
}

int attention_backward(const plsh_attention& arguments, const AttentionForm& form) {
  return guarded([&] { backward(arguments, form); });
}

}  // namespace plsh::optimized::cpu
