#include <algorithm>
#include <map>
#include <numeric>
#include <plsh/reference/partition_law.hpp>
#include <set>

#include "geometric.hpp"
#include "validate.hpp"

namespace plsh::reference {
namespace {

// The line t = a + b w in the (w, t) half-plane, and its t at the width looked at.
struct Line {
  Line(Index constant, Index slope, const Rational& w)
      : a(constant), b(slope), t(Rational(constant) + Rational(slope) * w) {}
  Index a;
  Index b;
  Rational t;
};

Integer ceil(const Rational& x) {
  Integer result;
  mpz_cdiv_q(result.backend().data(), mpq_numref(x.backend().data()),
             mpq_denref(x.backend().data()));
  return result;
}

// Block starts for width w and first boundary t: 0 and the distinct ceil(t + k w) <= n-1.
std::vector<Index> starts_for(Index length, const Rational& w, const Rational& t) {
  std::vector<Index> starts{0};
  for (Rational boundary = t;; boundary += w) {
    const Integer start = ceil(boundary);
    if (start >= length) return starts;
    if (start > starts.back()) starts.push_back(start.convert_to<Index>());
  }
}

std::vector<Rational> critical_widths(Index length) {
  std::set<Rational> widths;
  for (Index p = 1; p < length; ++p)
    for (Index q = 1; q <= p; ++q) widths.insert(Rational(p) / Rational(q));
  return {widths.begin(), widths.end()};
}

}  // namespace

PartitionLaw::PartitionLaw(Index length) : length_(length) {
  require_range("length of an exact partition law", length, 1, 64);
  critical_widths_ = critical_widths(length);
  std::map<std::vector<Index>, std::vector<Strip>> strips_of;

  std::vector<Index> singletons(static_cast<std::size_t>(length));
  std::iota(singletons.begin(), singletons.end(), Index{0});
  strips_of[singletons];

  for (std::size_t k = 0; k < critical_widths_.size(); ++k) {
    const bool last = k + 1 == critical_widths_.size();
    const Rational& from = critical_widths_[k];
    const Rational w = last ? Rational(from + 1) : Rational((from + critical_widths_[k + 1]) / 2);
    // The lines inside 0 < t < w, between the borders t = 0 and t = w.
    std::vector<Line> lines{{0, 0, w}, {0, 1, w}};
    for (Index m = 1; m < length; ++m)
      for (Index j = 0;; ++j) {
        const Line line(m, -j, w);
        if (line.t <= 0) break;
        if (line.t < w) lines.push_back(line);
      }
    std::sort(lines.begin(), lines.end(), [](const Line& x, const Line& y) { return x.t < y.t; });
    for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
      const Rational t = (lines[i].t + lines[i + 1].t) / 2;
      strips_of[starts_for(length, w, t)].push_back(
          {0, k, lines[i + 1].a - lines[i].a, lines[i + 1].b - lines[i].b});
      ++strip_count_;
    }
  }
  for (auto& [starts, strips] : strips_of) {
    if (starts == singletons) singletons_ = partitions_.size();
    for (Strip& strip : strips) {
      strip.partition = partitions_.size();
      strips_.push_back(strip);
    }
    partitions_.emplace_back(length, starts);
  }
  if (length == 1) critical_widths_.clear();
}

Index PartitionLaw::find(const Partition& partition) const {
  const auto place = std::lower_bound(
      partitions_.begin(), partitions_.end(), partition,
      [](const Partition& x, const Partition& y) { return x.starts() < y.starts(); });
  return place != partitions_.end() && *place == partition ? place - partitions_.begin() : -1;
}

template <class Real>
Vector<Real> PartitionLaw::probabilities(const Real& sigma) const {
  require_sigma(sigma);
  Vector<Real> result = Vector<Real>::Constant(static_cast<Index>(partitions_.size()), Real(0));
  if (length_ == 1) {
    result[0] = Real(1);
    return result;
  }
  std::vector<Real> widths;
  std::vector<Real> decays;
  for (const Rational& w : critical_widths_) {
    widths.push_back(from_rational<Real>(w));
    decays.push_back(exp(Real(-widths.back() / sigma)));
  }
  // Minus G at critical width k, for a strip of length a + b w; 0 at infinity.
  const auto g = [&](const Strip& strip, std::size_t k) {
    if (k == widths.size()) return Real(0);
    return Real(decays[k] * ((Real(strip.a) + Real(strip.b) * widths[k]) / sigma + Real(strip.b)));
  };
  for (const Strip& strip : strips_)
    result[static_cast<Index>(strip.partition)] +=
        g(strip, strip.interval) - g(strip, strip.interval + 1);
  const Real x = Real(1) / sigma;  // the mass of w <= 1
  result[static_cast<Index>(singletons_)] += Real(1) - (Real(1) + x) * exp(Real(-x));
  return result;
}

template <class Real>
Real PartitionLaw::expectation(const Real& sigma,
                               const std::function<Real(const Partition&)>& f) const {
  const Vector<Real> p = probabilities(sigma);
  Real result(0);
  for (std::size_t k = 0; k < partitions_.size(); ++k)
    result += p[static_cast<Index>(k)] * f(partitions_[k]);
  return result;
}

template <class Real>
Matrix<Real> PartitionLaw::mean_mask(const Real& sigma) const {
  const Vector<Real> p = probabilities(sigma);
  Matrix<Real> result = Matrix<Real>::Constant(length_, length_, Real(0));
  for (std::size_t k = 0; k < partitions_.size(); ++k)
    for (Index b = 0; b < partitions_[k].block_count(); ++b) {
      const Block block = partitions_[k].block(b);
      for (Index i = block.begin; i < block.end; ++i)
        for (Index j = block.begin; j < block.end; ++j) result(i, j) += p[static_cast<Index>(k)];
    }
  return result;
}

template <class Real>
Vector<Real> PartitionLaw::largest_block_distribution(const Real& sigma, Index samples) const {
  require_range("samples", samples, 1, max_length);
  const Vector<Real> p = probabilities(sigma);
  Vector<Real> distribution = Vector<Real>::Constant(length_ + 1, Real(0));
  for (std::size_t k = 0; k < partitions_.size(); ++k)
    distribution[partitions_[k].largest_block()] += p[static_cast<Index>(k)];
  for (Index b = 1; b <= length_; ++b) distribution[b] += distribution[b - 1];
  // Rounding may have taken a probability near zero below it.
  for (Index b = 1; b < length_; ++b)
    distribution[b] = exp(Real(Real(samples) * log(max(Real(0), distribution[b]))));
  distribution[length_] = Real(1);
  return distribution;
}

#define PLSH_INSTANTIATE(REAL)                                                                 \
  template Vector<REAL> PartitionLaw::probabilities(const REAL&) const;                        \
  template REAL PartitionLaw::expectation(const REAL&,                                         \
                                          const std::function<REAL(const Partition&)>&) const; \
  template Matrix<REAL> PartitionLaw::mean_mask(const REAL&) const;                            \
  template Vector<REAL> PartitionLaw::largest_block_distribution(const REAL&, Index) const;
PLSH_FOR_EACH_REAL(PLSH_INSTANTIATE)

}  // namespace plsh::reference
