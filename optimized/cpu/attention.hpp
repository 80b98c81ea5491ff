/// \file
/// The heads of a call, and attention over all of them.
#pragma once

#include <plsh/optimized/cpu.hpp>
#include <vector>

#include "head.hpp"

namespace plsh::optimized::cpu {

/// One head of one sequence, and where it lies in the tensors.
struct HeadTask {
  Head head;
  Index batch = 0;
  Index head_index = 0;
  Index kv_head = 0;
  Index query_begin = 0;
  Index key_begin = 0;
};

/// \param blocks receives what the heads point to.
std::vector<HeadTask> heads_of(const plsh_attention& arguments, const AttentionForm& form,
                               std::vector<Blocks>& blocks);

void forward(const plsh_attention& arguments, const AttentionForm& form);
void backward(const plsh_attention& arguments, const AttentionForm& form);

}  // namespace plsh::optimized::cpu
