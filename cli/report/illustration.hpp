/// \file
/// The picture beside the introduction.
#pragma once

#include <string>

namespace plsh::cli::report {

/// Ten masks as rows of blocks, those with the middle position marked; below, how often each
/// position shares a block with it, next to the exact weight. The same for every audit.
std::string illustration();

}  // namespace plsh::cli::report
