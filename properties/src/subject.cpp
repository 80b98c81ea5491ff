#include <plsh/properties/subject.hpp>
#include <plsh/reference/bounds.hpp>
#include <plsh/reference/kernel.hpp>
#include <plsh/reference/laws.hpp>
#include <plsh/reference/slopes.hpp>

namespace plsh::properties {

using namespace reference;

Subject reference_subject() {
  return {
      .decay_lengths = alibi_decay_lengths,
      .bin_of = bin_of,
      .sample = [](Index length, double sigma,
                   const SampleId& id) { return partition_of(length, draw_binning(id, sigma)); },
      .kernel =
          [](Index distance, const Interval& sigma) {
            return AlibiKernel<Interval>(distance + 1, sigma).at_distance(distance);
          },
      .counts = co_occurrence_counts,
      .width_quantile = [](double delta, double sigma,
                           Index samples) { return max_width_quantile(delta, sigma, samples); },
      .expected_pairs =
          [](Index length, const Interval& sigma) {
            return AlibiKernel<Interval>(length, sigma).total();
          },
      .sampled_attention = sampled_attention_by_blocks<double>,
      .output_error_bound = output_error_bound<Interval>,
  };
}

}  // namespace plsh::properties
