#include "crossover.hpp"

#include <cmath>

#include "median.hpp"

namespace plsh::bench {
namespace {

/// Median seconds of fused and of exact attention.
std::pair<double, double> measure(double sigma, Index samples, Index head_dim, int threads,
                                  std::uint64_t seed, Index length) {
  Shape shape;
  shape.length = length;
  shape.head_dim = head_dim;
  shape.sigmas = {sigma};
  shape.samples = samples;
  Problem problem(shape, seed);
  const Form fused{Form::Kind::fused};
  const Form exact{Form::Kind::exact};
  // Short calls are repeated: some milliseconds in all.
  problem.forward(fused, threads);
  const double once = problem.forward(fused, threads) + problem.forward(exact, threads);
  const int repeats = std::clamp(static_cast<int>(0.005 / once), 5, 101);
  std::vector<double> fused_seconds;
  std::vector<double> exact_seconds;
  for (int k = 0; k < repeats; ++k) {
    fused_seconds.push_back(problem.forward(fused, threads));
    exact_seconds.push_back(problem.forward(exact, threads));
  }
  return {median(fused_seconds), median(exact_seconds)};
}

}  // namespace

Crossover measure_crossover(double sigma, Index samples, Index head_dim, int threads,
                            std::uint64_t seed, const std::function<void(Index)>& progress) {
  constexpr int kInARow = 4;
  Crossover found{sigma, samples, head_dim, threads};
  int in_a_row = 0;
  for (int k = 0; in_a_row < kInARow; ++k) {
    const Index length = std::llround(16 * std::exp2(k / 4.0));
    progress(length);
    const auto [fused, exact] = measure(sigma, samples, head_dim, threads, seed, length);
    if (fused >= exact) {
      in_a_row = 0;
      continue;
    }
    if (in_a_row++ > 0) continue;
    found.length = length;
    found.fused_seconds = fused;
    found.exact_seconds = exact;
  }
  return found;
}

}  // namespace plsh::bench
