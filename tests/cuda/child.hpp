/// \file
/// A function run in a child process, which may die.
#pragma once

#include <functional>
#include <string>

namespace plsh::optimized::cuda {

struct Ending {
  int status;          ///< the exit status, or minus the signal that killed it
  std::string errors;  ///< what it wrote to the standard error stream
};

/// Forks; the child calls `body` and exits with what that returns.
Ending run_in_child(const std::function<int()>& body);

}  // namespace plsh::optimized::cuda
