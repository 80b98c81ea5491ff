/// \file
/// The exact law of the random partition of 0..n-1.
#pragma once

#include <functional>
#include <plsh/reference/partition.hpp>
#include <vector>

namespace plsh::reference {

/// Every partition that some (w, u) produces, with its probability as a closed form in sigma.
///
/// Let t in (0, w] be the first bin boundary above 0. The density of (w, t) is
/// (1/sigma^2) exp(-w/sigma), constant in t. The lines t = m - k w (1 <= m <= n-1, k >= 0) cut the
/// half-plane into strips on which the partition is constant. The lines meet only at widths p/q,
/// 1 <= q <= p <= n-1; between neighbouring critical widths a < w < b a strip has length A + B w
/// with integers A, B and carries probability G(b) - G(a),
///     G(w) = -exp(-w/sigma) ((A + B w)/sigma + B),  G(infinity) = 0.
/// Widths w <= 1 give all singletons, with mass 1 - (1 + 1/sigma) exp(-1/sigma).
class PartitionLaw {
 public:
  /// \param length n, 1 to 64: the number of strips grows like n^3.
  /// \throws std::invalid_argument outside that range.
  explicit PartitionLaw(Index length);

  Index length() const { return length_; }
  /// The reachable partitions. Any other partition has probability zero.
  const std::vector<Partition>& partitions() const { return partitions_; }
  Index strip_count() const { return strip_count_; }
  /// The number of `partition` in partitions(), or -1 when no (w, u) produces it.
  Index find(const Partition& partition) const;

  /// The probability of each reachable partition at decay length sigma, in the order of
  /// partitions(); shape [partitions().size()].
  template <class Real>
  Vector<Real> probabilities(const Real& sigma) const;

  /// E[f(partition)] = sum of probability times f.
  template <class Real>
  Real expectation(const Real& sigma, const std::function<Real(const Partition&)>& f) const;

  /// E[M(h)] by summation over the law, shape [n, n].
  template <class Real>
  Matrix<Real> mean_mask(const Real& sigma) const;

  /// P(b_max <= b), b = 0..n, over s independent masks; shape [n + 1].
  template <class Real>
  Vector<Real> largest_block_distribution(const Real& sigma, Index samples) const;

 private:
  struct Strip {
    std::size_t partition;
    std::size_t interval;  // between critical widths interval and interval + 1
    Index a;               // the strip's length is a + b w
    Index b;
  };

  Index length_;
  Index strip_count_ = 0;
  std::vector<Rational>
      critical_widths_;                // ascending from 1 to n-1; the last interval is unbounded
  std::vector<Partition> partitions_;  // sorted by block starts
  std::vector<Strip> strips_;
  std::size_t singletons_ = 0;
};

}  // namespace plsh::reference
