/// \file
/// The operations, as the interface wants them. Each returns a plsh_status.
#pragma once

#include <plsh/interface/implementation.h>

#include <string>

namespace plsh::textbook {

int slopes(DLTensor* out);
int bins(const DLTensor* positions, const DLTensor* widths, const DLTensor* shifts, DLTensor* out);
int sample_partitions(const plsh_sampling* arguments);
int mean_mask(const DLTensor* block_counts, const DLTensor* block_starts, DLTensor* mask);
std::size_t workspace_size(int operation, const plsh_attention* arguments);
int exact_forward(const plsh_attention* arguments);
int exact_backward(const plsh_attention* arguments);
int sampled_forward(const plsh_attention* arguments);
int sampled_backward(const plsh_attention* arguments);

/// Remembers why an operation refuses its arguments. \return PLSH_REFUSED.
int refuse(const std::string& reason);
const char* error_message();

}  // namespace plsh::textbook
