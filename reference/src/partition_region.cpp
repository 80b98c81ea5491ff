#include <algorithm>
#include <array>
#include <limits>
#include <plsh/reference/partition_region.hpp>

#include "validate.hpp"

namespace plsh::reference {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// A boundary number k and a bound y on its place. With lengths up to 10^9 all products of two
/// coordinates, and sums of two such products, stay below 2^63.
struct Point {
  Index k;
  Index y;
};

/// Above 0 when c lies to the left of the way from a to b.
Index turn(const Point& a, const Point& b, const Point& c) {
  return (b.k - a.k) * (c.y - a.y) - (c.k - a.k) * (b.y - a.y);
}

/// Appends the next point, in order of k, to the lower hull (side 1) or the upper one (side -1).
void extend(std::vector<Point>& hull, const Point& next, Index side) {
  while (hull.size() >= 2 && side * turn(hull[hull.size() - 2], hull.back(), next) <= 0)
    hull.pop_back();
  hull.push_back(next);
}

double value(Index numerator, Index denominator) {
  return static_cast<double>(numerator) / static_cast<double>(denominator);
}

/// The integral of 1 - v/h and of v/h, 0 <= v <= h, against exp(-v/sigma) dv/sigma, x = h/sigma.
/// The mass of a linear density is a combination of the two with non-negative weights.
template <class Real>
struct Ramps {
  Real falling;
  Real rising;
};

template <class Real>
Ramps<Real> ramps(const Real& x) {
  if constexpr (std::is_same_v<Real, double>) {
    if (x < 0.3) {
      // Series: (x - 1 + exp(-x))/x and exp(-x) (exp(x) - 1 - x)/x cancel here. What is left out is
      // below 1e-17 of the sum.
      static constexpr std::array<double, 13> kReciprocals{
          1.0 / 2, 1.0 / 3,  1.0 / 4,  1.0 / 5,  1.0 / 6,  1.0 / 7, 1.0 / 8,
          1.0 / 9, 1.0 / 10, 1.0 / 11, 1.0 / 12, 1.0 / 13, 1.0 / 14};
      double falling = 0;
      double rising = 0;
      double term = 1;
      double sign = 1;
      for (const double reciprocal : kReciprocals) {
        term *= x * reciprocal;
        rising += term;
        falling += sign * term;
        sign = -sign;
        if (term < 1e-18 * rising) break;
      }
      return {falling, std::exp(-x) * rising};
    }
  }
  const Real decayed = exp(Real(-x));
  return {Real((x + expm1(Real(-x))) / x), Real((-expm1(Real(-x)) - x * decayed) / x)};
}

/// The mass of w <= x sigma, 1 - (1 + x) exp(-x).
template <class Real>
Real width_mass(const Real& x) {
  return x * ramps(x).rising;
}

/// Adds exp(x) terms without leaving the range of double.
class LogSum {
 public:
  /// \param factor at least 0.
  void add(double exponent, double factor) {
    if (!(factor > 0) || exponent == -infinity) return;
    if (sum_ == 0) {
      largest_ = exponent;
      sum_ = factor;
      return;
    }
    if (exponent > largest_) {
      sum_ *= std::exp(largest_ - exponent);
      largest_ = exponent;
    }
    sum_ += factor * std::exp(exponent - largest_);
  }
  double log() const { return sum_ > 0 ? largest_ + std::log(sum_) : -infinity; }

 private:
  double largest_ = -infinity;
  double sum_ = 0;
};

}  // namespace

/// Walks along f(w) from w = 1 upwards, piece by piece.
class PartitionRegion::Envelope {
 public:
  explicit Envelope(const Partition& partition) {
    const Index n = partition.length();
    const std::vector<Index>& starts = partition.starts();
    const Index cuts = partition.block_count() - 1;
    above_.push_back({-1, 0});
    for (Index k = 0; k < cuts; ++k) {
      const Index c = starts[static_cast<std::size_t>(k + 1)];
      extend(above_, {k, c}, 1);
      extend(below_, {k, c - 1}, -1);
    }
    extend(below_, {cuts, n - 1}, -1);
  }

  /// Calls visit(piece) for each piece of f on w >= 1, positive or not.
  template <class Visit>
  void walk(Visit&& visit) const {
    // The minimum moves to larger k as w grows, the maximum to smaller k. All hull slopes are
    // at least 1.
    std::size_t high = 0;
    std::size_t low = below_.size() - 1;
    Fraction from{1, 1};
    while (true) {
      const bool more_above = high + 1 < above_.size();
      const bool more_below = low > 0;
      const Fraction next_above =
          more_above ? slope(above_[high], above_[high + 1]) : Fraction{1, 0};
      const Fraction next_below = more_below ? slope(below_[low - 1], below_[low]) : Fraction{1, 0};
      const bool take_above = !less(next_below, next_above);
      const Fraction to = take_above ? next_above : next_below;
      if (less(from, to)) {
        const Point& u = above_[high];
        const Point& l = below_[low];
        visit(Piece{from, to, u.y - l.y, l.k - u.k, l.y, l.k, 0, 0, 0, 0});
        from = to;
      }
      if (to.denominator == 0) return;
      if (take_above)
        ++high;
      else
        --low;
    }
  }

 private:
  static Fraction slope(const Point& a, const Point& b) { return {b.y - a.y, b.k - a.k}; }
  static bool less(const Fraction& x, const Fraction& y) {
    return x.numerator * y.denominator < y.numerator * x.denominator;
  }

  std::vector<Point> above_;  // lower hull of (k, c_k), k = -1..K-1
  std::vector<Point> below_;  // upper hull of (k, c_k - 1), k = 0..K
};

PartitionRegion::PartitionRegion(const Partition& partition)
    : singletons_(partition.block_count() == partition.length()),
      margin_(-infinity),
      lowest_phase_(1),
      highest_phase_(0) {
  require_range("length of a partition region", partition.length(), 1, 1'000'000'000);
  // f at a width times the denominator of the width, whose sign decides.
  const auto scaled = [](const Piece& piece, const Fraction& w) {
    return piece.a * w.denominator + piece.b * w.numerator;
  };
  Envelope(partition).walk([&](Piece piece) {
    const Index left = scaled(piece, piece.from);
    // Towards infinity the sign is that of the slope, or of the constant.
    const bool unbounded = piece.to.denominator == 0;
    const Index right = unbounded && piece.b == 0 ? piece.a : scaled(piece, piece.to);
    margin_ = std::max(margin_, value(left, piece.from.denominator));
    if (unbounded)
      margin_ = std::max(margin_, piece.b > 0 ? infinity : margin_);
    else
      margin_ = std::max(margin_, value(right, piece.to.denominator));
    if (left <= 0 && right <= 0) return;
    if (left < 0) piece.from = {-piece.a, piece.b};
    if (right < 0) piece.to = {piece.a, -piece.b};
    const Fraction& from = piece.from;
    const Fraction& to = piece.to;
    piece.start = value(from.numerator, from.denominator);
    piece.at_from = std::max(0.0, value(scaled(piece, from), from.denominator));
    piece.length = infinity;
    piece.at_to = infinity;
    if (to.denominator != 0) {
      piece.length = value(to.numerator * from.denominator - from.numerator * to.denominator,
                           from.denominator) /
                     static_cast<double>(to.denominator);
      piece.at_to = std::max(0.0, value(scaled(piece, to), to.denominator));
    }
    pieces_.push_back(piece);
  });
  for (const Piece& piece : pieces_) {
    // t/w at the corners of the piece; extremes of t/w over a convex set are at its corners.
    const auto phases = [&](const Fraction& w) {
      const double lower = value(piece.y * w.denominator - piece.k * w.numerator, w.numerator);
      const double height = value(std::max<Index>(scaled(piece, w), 0), w.numerator);
      lowest_phase_ = std::min(lowest_phase_, lower);
      highest_phase_ = std::max(highest_phase_, lower + height);
    };
    phases(piece.from);
    if (piece.to.denominator > 0) {
      phases(piece.to);
    } else {
      lowest_phase_ = 0;  // t stays bounded below while w grows
      highest_phase_ = std::max(highest_phase_, static_cast<double>(piece.b - piece.k));
    }
  }
  lowest_phase_ = std::clamp(lowest_phase_, 0.0, 1.0);
  highest_phase_ = std::clamp(highest_phase_, 0.0, 1.0);
}

double PartitionRegion::lowest_width() const {
  return singletons_ ? 0 : value(pieces_.front().from.numerator, pieces_.front().from.denominator);
}

double PartitionRegion::highest_width() const {
  if (pieces_.empty()) return 1;
  const Fraction& to = pieces_.back().to;
  return to.denominator == 0 ? infinity : value(to.numerator, to.denominator);
}

template <class Real>
Real PartitionRegion::probability(const Real& sigma) const {
  require_sigma(sigma);
  if constexpr (std::is_same_v<Real, double>) {
    return std::exp(log_probability(sigma));
  } else {
    Real result(0);
    for (const Piece& piece : pieces_) {
      const auto height = [&](const Fraction& w) {
        return ratio<Real>(piece.a * w.denominator + piece.b * w.numerator, w.denominator);
      };
      const Real from = ratio<Real>(piece.from.numerator, piece.from.denominator);
      const Real decayed = exp(Real(-from / sigma)) / sigma;
      if (piece.to.denominator == 0) {
        result += decayed * (height(piece.from) + Real(piece.b) * sigma);
        continue;
      }
      const Real to = ratio<Real>(piece.to.numerator, piece.to.denominator);
      const Ramps<Real> mass = ramps(Real((to - from) / sigma));
      result += decayed * (height(piece.from) * mass.falling + height(piece.to) * mass.rising);
    }
    if (singletons_) result += width_mass(Real(Real(1) / sigma));
    return result;
  }
}

double PartitionRegion::log_probability(double sigma) const {
  require_sigma(sigma);
  LogSum sum;
  for (const Piece& piece : pieces_) {
    if (piece.length < infinity) {
      const Ramps<double> mass = ramps(piece.length / sigma);
      sum.add(-piece.start / sigma,
              (piece.at_from * mass.falling + piece.at_to * mass.rising) / sigma);
    } else {
      sum.add(-piece.start / sigma, piece.at_from / sigma + static_cast<double>(piece.b));
    }
  }
  if (singletons_) sum.add(0, width_mass(1 / sigma));
  return sum.log();
}

double PartitionRegion::log_probability(double sigma, const Cell& cell) const {
  require_sigma(sigma);
  LogSum sum;
  const bool all_phases = cell.phase_from <= lowest_phase() && cell.phase_to >= highest_phase();
  for (const Piece& piece : pieces_) {
    const double from = piece.start;
    const double whole = piece.length;
    const bool bounded = whole < infinity;
    // The height at distance v from the left end.
    const auto height = [&](double v) {
      if (v == 0) return piece.at_from;
      if (!bounded) return piece.at_from + static_cast<double>(piece.b) * v;
      return v == whole ? piece.at_to : piece.at_from + (piece.at_to - piece.at_from) * (v / whole);
    };
    // The mass between distances v0 and v1 of a height that is linear there.
    const auto add = [&](double v0, double h0, double v1, double h1) {
      const Ramps<double> mass = ramps((v1 - v0) / sigma);
      sum.add(-(from + v0) / sigma, (h0 * mass.falling + h1 * mass.rising) / sigma);
    };
    const double v0 = std::max(0.0, cell.width_from - from);
    const double v1 = std::min(whole, cell.width_to - from);
    if (!(v0 < v1)) continue;
    if (all_phases) {
      if (v1 < infinity)
        add(v0, height(v0), v1, height(v1));
      else
        sum.add(-(from + v0) / sigma, height(v0) / sigma + static_cast<double>(piece.b));
      continue;
    }
    // Above the lower line: the stretch between phase_from w and phase_to w, within 0 and the
    // height. Linear between the places where these four cross.
    const auto y = static_cast<double>(piece.y);
    const auto k = static_cast<double>(piece.k);
    const auto above = [&](double phase, double v) { return (phase + k) * (from + v) - y; };
    const auto clipped = [&](double v) {
      const double top = std::min(height(v), above(cell.phase_to, v));
      return std::max(0.0, top - std::max(0.0, above(cell.phase_from, v)));
    };
    // Beyond 80 sigma nothing is left that a double could tell.
    const double end = std::min(v1, v0 + 80 * sigma);
    std::array<double, 6> places{v0, end, v0, v0, v0, v0};
    std::size_t used = 2;
    for (const double phase : {cell.phase_from, cell.phase_to}) {
      const double slope = phase + k;
      const auto b = static_cast<double>(piece.b);
      places[used++] = y / slope - from;
      places[used++] = (y + static_cast<double>(piece.a)) / (slope - b) - from;
    }
    for (double& place : places) place = std::isfinite(place) ? std::clamp(place, v0, end) : v0;
    std::sort(places.begin(), places.end());
    for (std::size_t p = 0; p + 1 < places.size(); ++p)
      if (places[p] < places[p + 1])
        add(places[p], clipped(places[p]), places[p + 1], clipped(places[p + 1]));
  }
  if (singletons_) {
    const double below = width_mass(std::min(1.0, std::max(0.0, cell.width_from)) / sigma);
    const double within = width_mass(std::min(1.0, cell.width_to) / sigma) - below;
    sum.add(0,
            within * std::max(0.0, std::min(1.0, cell.phase_to) - std::max(0.0, cell.phase_from)));
  }
  return sum.log();
}

#define PLSH_INSTANTIATE(REAL) template REAL PartitionRegion::probability(const REAL&) const;
PLSH_FOR_EACH_REAL(PLSH_INSTANTIATE)

}  // namespace plsh::reference
