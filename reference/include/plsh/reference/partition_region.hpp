/// \file
/// The exact probability of one given partition, at any length and without listing the others.
#pragma once

#include <plsh/reference/partition.hpp>
#include <vector>

namespace plsh::reference {

/// The set of (w, t), w >= 1, that give one partition, t in (0, w] the first bin boundary above 0.
///
/// With the cuts c_0 < ... < c_{K-1} (the block starts without 0), c_{-1} = 0 and c_K = n, it is
///     c_k - 1 < t + k w for k = 0..K,   t + k w <= c_k for k = -1..K-1:
/// the boundary numbered k lies in (c_k - 1, c_k], the one after the last beyond n-1, and
/// t <= w. So at width w the t fill a stretch of length
///     f(w) = min_k (c_k - k w) - max_k (c_k - 1 - k w),
/// a concave, piecewise linear function with integer coefficients. Its pieces follow from the
/// convex hulls of the points (k, c_k) and (k, c_k - 1), in integers: whether the region is empty
/// is decided without rounding. The density of (w, t) is (1/sigma^2) exp(-w/sigma). Widths up to 1
/// give all singletons. Proofs: proofs-notes/partition-likelihood.md.
class PartitionRegion {
 public:
  /// Takes O(number of blocks). \throws std::invalid_argument for a length above 10^9.
  explicit PartitionRegion(const Partition& partition);

  /// Whether the partition has a positive probability.
  bool reachable() const { return singletons_ || !pieces_.empty(); }
  /// The largest f(w), in positions: how far the partition is from the border of what can be
  /// reached. At most 0 when no w >= 1 gives it; a partition whose boundaries may be off by e
  /// positions is explained by some (w, t) exactly when f + 2 e > 0 somewhere.
  double margin() const { return margin_; }

  /// The widths that give the partition lie between these (positions; infinity when unbounded), the
  /// phases t/w, in (0, 1], between those. Both up to rounding. \pre reachable()
  double lowest_width() const;
  double highest_width() const;
  double lowest_phase() const { return singletons_ ? 0 : lowest_phase_; }
  double highest_phase() const { return singletons_ ? 1 : highest_phase_; }

  /// The probability of the partition, for double, Mpfr or Interval.
  template <class Real>
  Real probability(const Real& sigma) const;
  /// Its natural logarithm, also where the probability is below the range of double; -infinity when
  /// not reachable.
  double log_probability(double sigma) const;

  /// A range of widths (from, to] and of phases t/w (from, to].
  struct Cell {
    double width_from;
    double width_to;  ///< may be infinite
    double phase_from = 0;
    double phase_to = 1;
  };
  /// ln P(the partition and (w, t) in the cell); -infinity when the two do not meet.
  double log_probability(double sigma, const Cell& cell) const;

 private:
  /// A non-negative fraction in integers.
  struct Fraction {
    Index numerator;
    Index denominator;
  };
  /// Where f(w) = a + b w > 0 for from < w < to, above the line t = y - k w.
  struct Piece {
    Fraction from;
    Fraction to;  // denominator 0: unbounded
    Index a;
    Index b;
    Index y;
    Index k;
    // The same as doubles, each rounded once from integers: the left end, the length (infinity when
    // unbounded) and f at both ends, so that short pieces far out keep their relative precision.
    double start;
    double length;
    double at_from;
    double at_to;
  };
  class Envelope;

  bool singletons_ = false;
  double margin_ = 0;
  double lowest_phase_ = 0;
  double highest_phase_ = 1;
  std::vector<Piece> pieces_;  // in order of the widths
};

}  // namespace plsh::reference
