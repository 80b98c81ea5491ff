/// \file
/// The spectral error ||L* - M~||_2, without forming a matrix.
#pragma once

#include <plsh/reference/partition.hpp>
#include <span>
#include <stdexcept>

namespace plsh::reference {

/// The symmetric operator x -> (L* - M~) x.
///
/// L* x costs O(n). M~ x costs O(n + total number of blocks): with prefix sums of x, each block
/// adds its sum to all its rows through a difference array.
class KernelErrorOperator {
 public:
  using Scalar = double;

  /// The samples must outlive the operator and all have length `length`.
  KernelErrorOperator(Index length, double sigma, std::span<const Partition> samples);

  Eigen::Index rows() const { return length_; }
  Eigen::Index cols() const { return length_; }
  /// y = (L* - M~) x; x and y have n entries and do not overlap.
  void perform_op(const double* x, double* y) const;

 private:
  Index length_;
  double rho_;
  std::span<const Partition> samples_;
};

/// A computed extreme eigenvalue.
struct SpectralEstimate {
  /// |theta| for the Ritz value theta of largest magnitude found: up to `residual` and rounding a
  /// lower bound on the spectral norm.
  double norm;
  /// ||A x - theta x|| for the unit Ritz vector x: some eigenvalue of A lies within it of theta.
  double residual;
  /// Products with the operator.
  Index products;
};

/// The iteration did not reach its tolerance.
struct NotConverged : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Lanczos (Spectra) for the spectral norm of L* - M~.
/// \param tolerance relative tolerance on the Ritz value, 1e-12 to 1e-1.
/// \throws NotConverged, std::invalid_argument.
SpectralEstimate spectral_error(Index length, double sigma, std::span<const Partition> samples,
                                double tolerance = 1e-6);

}  // namespace plsh::reference
