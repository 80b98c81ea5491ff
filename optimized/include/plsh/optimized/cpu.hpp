/// \file
/// Attention on the CPU, and the table that offers it through the interface.
#pragma once

#include <plsh/interface/implementation.h>

#include <limits>

namespace plsh::optimized::cpu {

/// The table of the interface: sampler, masks, and attention in the form that is fastest.
const plsh_implementation& implementation();

/// How attention is computed; the benchmarks compare the forms.
struct AttentionForm {
  /// Sampled attention: one sample after the other, one block after the other, as the paper writes
  /// it. A pair that shares a block in k samples is computed k times. Otherwise it is computed
  /// once, and its weight is multiplied by k.
  bool sample_by_sample = false;
  /// Exact attention: keys further away than this many decay lengths (1/slope) are left out, >= 0.
  /// The weights of the others are exact.
  double window_over_sigma = std::numeric_limits<double>::infinity();
};

/// exact_forward (slopes are given) or sampled_forward (partitions are given) of the interface.
/// Returns a plsh_status; `error_message` of the table tells the reason.
int attention_forward(const plsh_attention& arguments, const AttentionForm& form);

/// exact_backward or sampled_backward; of `form`, the window counts.
int attention_backward(const plsh_attention& arguments, const AttentionForm& form);

}  // namespace plsh::optimized::cpu
