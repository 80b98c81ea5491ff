/// \file
/// From which context length on sampled attention is faster than exact attention, in seconds.
#pragma once

#include <functional>

#include "problem.hpp"

namespace plsh::bench {

struct Crossover {
  double sigma = 0;
  Index samples = 0;
  Index head_dim = 0;
  int threads = 1;
  /// Fused is faster at this length and the next three of the grid 16 2^(k/4).
  Index length = 0;
  double fused_seconds = 0;  ///< medians at this length
  double exact_seconds = 0;
};

/// One head, f32, bidirectional; both forms on the same kernels, called in turn.
/// \param progress called with each length.
Crossover measure_crossover(double sigma, Index samples, Index head_dim, int threads,
                            std::uint64_t seed, const std::function<void(Index)>& progress);

}  // namespace plsh::bench
