/// \file
/// What the executor throws when a kernel breaks a rule.
#pragma once

#include <plsh/optimized/cuda/device/dialect.cuh>

#include <stdexcept>
#include <string>

namespace plsh::optimized::cuda::host {

/// "FILE:LINE".
std::string to_string(Site site);

/// A rule of the dialect that a kernel broke: where, and what to do. `what()` says it all, as
/// "KERNEL, block (x, y, z), thread t, FILE:LINE: ...".
class Fault : public std::runtime_error {
 public:
  Fault(const std::string& name, BlockIndex index, int number, Site at, const std::string& message);

  std::string kernel;
  BlockIndex block;
  int thread;  ///< -1: the block as a whole
  Site site;   ///< of the call that broke the rule; line 0 where there is none
};

}  // namespace plsh::optimized::cuda::host
