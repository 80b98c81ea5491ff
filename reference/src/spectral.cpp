#include <Spectra/SymEigsSolver.h>

#include <plsh/reference/spectral.hpp>
#include <vector>

#include "validate.hpp"

namespace plsh::reference {

KernelErrorOperator::KernelErrorOperator(Index length, double sigma,
                                         std::span<const Partition> samples)
    : length_(length), rho_(std::exp(-1 / sigma)), samples_(samples) {
  require_length(length);
  require_sigma(sigma);
  require(!samples.empty(), "at least one sample is needed");
  for (const Partition& partition : samples)
    require(partition.length() == length, "all samples must have length " + std::to_string(length));
}

void KernelErrorOperator::perform_op(const double* x, double* y) const {
  const auto n = static_cast<std::size_t>(length_);
  std::vector<double> prefix(n + 1, 0.0);
  for (std::size_t i = 0; i < n; ++i) prefix[i + 1] = prefix[i] + x[i];
  std::vector<double> difference(n + 1, 0.0);
  for (const Partition& partition : samples_) {
    const std::vector<Index>& starts = partition.starts();
    for (std::size_t b = 0; b < starts.size(); ++b) {
      const auto begin = static_cast<std::size_t>(starts[b]);
      const auto end = b + 1 < starts.size() ? static_cast<std::size_t>(starts[b + 1]) : n;
      const double block_sum = prefix[end] - prefix[begin];
      difference[begin] += block_sum;
      difference[end] -= block_sum;
    }
  }
  const double s = static_cast<double>(samples_.size());
  double running = 0;  // s (M~ x)_i
  double left = 0;     // sum_{j <= i} rho^(i-j) x_j
  for (std::size_t i = 0; i < n; ++i) {
    running += difference[i];
    left = rho_ * left + x[i];
    y[i] = left - running / s;
  }
  double right = 0;  // sum_{j > i} rho^(j-i) x_j
  for (std::size_t i = n; i-- > 0;) {
    y[i] += right;
    right = rho_ * (right + x[i]);
  }
}

SpectralEstimate spectral_error(Index length, double sigma, std::span<const Partition> samples,
                                double tolerance) {
  require(tolerance >= 1e-12 && tolerance <= 1e-1,
          "tolerance = " + std::to_string(tolerance) + " is outside 1e-12..1e-1");
  KernelErrorOperator op(length, sigma, samples);
  if (length <= 2) {  // too small for Lanczos: [[0, a], [a, 0]] has norm |a|
    double x[2] = {1, 0};
    double y[2] = {0, 0};
    op.perform_op(x, y);
    return {length == 2 ? std::fabs(y[1]) : 0.0, 0.0, 1};
  }
  const Index subspace = std::min<Index>(length, 24);
  Spectra::SymEigsSolver<KernelErrorOperator> solver(op, 1, subspace);
  solver.init();
  constexpr Index max_restarts = 2000;
  const Index found = solver.compute(Spectra::SortRule::LargestMagn, max_restarts, tolerance);
  if (solver.info() != Spectra::CompInfo::Successful || found < 1)
    throw NotConverged("the spectral norm did not converge: length " + std::to_string(length) +
                       ", sigma " + std::to_string(sigma) + ", " + std::to_string(samples.size()) +
                       " samples");
  const double theta = solver.eigenvalues()[0];
  const Vector<double> x = solver.eigenvectors().col(0).normalized();
  Vector<double> y(length);
  op.perform_op(x.data(), y.data());
  return {std::fabs(theta), (y - theta * x).norm(), solver.num_operations() + 1};
}

}  // namespace plsh::reference
