/// \file
/// The quantities that `plsh value` knows: a table. Adding one is one entry.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <plsh/reference/bounds.hpp>
#include <plsh/reference/kernel.hpp>
#include <plsh/reference/laws.hpp>
#include <plsh/reference/partition_law.hpp>
#include <string>
#include <vector>

#include "arguments.hpp"

namespace plsh::cli {

enum class Kind { count, decimal, blocks };

/// An option that quantities take.
struct ArgumentInfo {
  const char* name;
  Kind kind;
  Range range;
  const char* meaning;
};

inline const std::vector<ArgumentInfo>& argument_table() {
  static const std::vector<ArgumentInfo> table{
      {"sigma", Kind::decimal, {"1e-12", "1e100"}, "decay length in positions, 1/slope"},
      {"length", Kind::count, {"1", "1e12"}, "context length n; positions are 0..n-1"},
      {"i", Kind::count, {"0", "1e12"}, "row, a position"},
      {"j", Kind::count, {"0", "1e12"}, "column, a position"},
      {"distance", Kind::count, {"0", "1e12"}, "|i-j|; --i and --j may stand for it"},
      {"span", Kind::count, {"0", "1e12"}, "largest minus smallest position of a set"},
      {"width", Kind::decimal, {"1e-12", "1e100"}, "bin width w in positions"},
      {"threshold", Kind::decimal, {"0", "1e100"}, "a width t in positions"},
      {"samples", Kind::count, {"1", "1e12"}, "number of independent masks s"},
      {"count", Kind::count, {"0", "1e12"}, "masks k of the s that keep the pair"},
      {"epsilon", Kind::decimal, {"0", "1"}, "a deviation from the mean"},
      {"delta", Kind::decimal, {"0", "1", true}, "failure probability"},
      {"block", Kind::count, {"0", "1e12"}, "a block length b"},
      {"blocks", Kind::blocks, {"1", "64"}, "block lengths from the left, such as 3,2,3"},
  };
  return table;
}

/// The arguments of one evaluation, already inside their ranges.
class Arguments {
 public:
  std::map<std::string, Decimal> decimals;
  std::map<std::string, Index> counts;
  std::vector<Index> blocks;

  /// Encloses the exact decimal at the precision in force.
  Interval real(const std::string& name) const {
    return reference::from_decimal<Interval>(decimals.at(name).text);
  }
  Interval sigma() const { return real("sigma"); }
  Index count(const std::string& name) const { return counts.at(name); }
};

/// What is known of a quantity: a number inside an interval, or bounds on a number, each of them
/// inside an interval of its own.
struct Enclosure {
  Interval low;
  Interval high;
  bool bounds = false;

  Enclosure(const Interval& value) : low(value), high(value) {}
  Enclosure(const Interval& from, const Interval& to) : low(from), high(to), bounds(true) {}
};

struct Quantity {
  std::string name;
  std::string sentence;
  std::string formula;
  std::vector<std::string> required;
  std::vector<std::string> optional;
  std::vector<std::string> example;  ///< arguments that work
  std::function<Enclosure(const Arguments&)> evaluate;
  /// Decimal digits that are known to cancel, to start at a precision that has them.
  std::function<unsigned(const Arguments&)> digits_lost = nullptr;
};

// ---- the quantities that need more than one call ---------------------------------------------

/// Refuses what would not end in reasonable time.
inline void require_at_most(double terms, double most, const std::string& argument,
                            const std::string& advice) {
  if (!(terms <= most))
    refuse(argument + ": too large to sum in reasonable time; allowed: " + advice);
}

/// The sum over k = 1..s of (-1)^(k+1) C(s,k) sum_ij p_ij^k, and p_ij^k is the kernel at sigma/k:
/// s terms at any length and any sigma. The terms cancel down from about 2^s; the intervals show it
/// and the precision is raised.
inline Interval union_pairs(const Arguments& a) {
  const Index s = a.count("samples");
  require_at_most(static_cast<double>(s), 2048, "--samples", "1 to 2048");
  Interval result(0);
  Integer binomial = 1;
  for (Index k = 1; k <= s; ++k) {
    binomial = binomial * (s + 1 - k) / k;
    const Interval term =
        reference::from_rational<Interval>(Rational(binomial)) *
        reference::AlibiKernel<Interval>(a.count("length"), Interval(a.sigma() / Interval(k)))
            .total();
    if (k % 2 == 1)
      result += term;
    else
      result -= term;
  }
  return result;
}

/// Building the law of n = 64 takes a moment, so that a raised precision must not repeat it.
inline const reference::PartitionLaw& partition_law(Index length) {
  static std::map<Index, reference::PartitionLaw> laws;
  return laws.try_emplace(length, length).first->second;
}

inline Interval partition_probability(const Arguments& a) {
  std::vector<Index> starts;
  Index length = 0;
  for (const Index size : a.blocks) {
    starts.push_back(length);
    length += size;
  }
  const auto& law = partition_law(length);
  const Index at = law.find(reference::Partition(length, starts));
  return at < 0 ? Interval(0) : law.probabilities(a.sigma())[at];
}

inline Enclosure largest_block_law(const Arguments& a) {
  const Index n = a.count("length");
  const Index b = a.count("block");
  const Index s = a.count("samples");
  if (b == 0) return Interval(0);
  if (b >= n) return Interval(1);
  if (n <= 64) return partition_law(n).largest_block_distribution(a.sigma(), s)[b];
  const auto tail = reference::largest_block_tail(n, a.sigma(), b);
  const auto none_larger = [&](const Interval& p) {
    return exp(Interval(Interval(s) * log(Interval(Interval(1) - p))));
  };
  return {none_larger(tail.high), none_larger(tail.low)};
}

/// min(n, ceil(t)); the ceiling is decided once the interval of t holds no whole number.
inline Interval largest_block_bound(const Arguments& a) {
  const Index n = a.count("length");
  const Interval t = reference::max_width_quantile(a.real("delta"), a.sigma(), a.count("samples"));
  const auto ceiling = [n](const Mpfr& end) {
    return Interval(end < n ? Mpfr(ceil(end)).convert_to<Index>() : n);
  };
  return hull(ceiling(lower(t)), ceiling(upper(t)));
}

inline Interval entry_law(const Arguments& a) {
  const Index s = a.count("samples");
  const Index k = a.count("count");
  if (k > s)
    refuse("--count: " + std::to_string(k) + " is out of range; allowed: 0 to --samples, " +
           std::to_string(s));
  require_at_most(static_cast<double>(std::min(k, s - k)), 1e6, "--count",
                  "at most 1e6, or within 1e6 of --samples");
  return reference::entry_probability(s, k, a.count("distance"), a.sigma());
}

inline Interval entry_deviation(const Arguments& a) {
  const auto s = static_cast<double>(a.count("samples"));
  require_at_most(s, 2000, "--samples", "1 to 2000");
  return reference::entry_deviation_probability(a.count("samples"), a.real("epsilon"),
                                                a.count("distance"), a.sigma());
}

inline Interval row_relative_error(const Arguments& a) {
  const double reach =
      to_double(reference::max_width_quantile(a.real("delta"), a.sigma(), a.count("samples")));
  require_at_most(std::min(reach, static_cast<double>(a.count("length"))), 2e5, "--sigma",
                  "such that the width-quantile at these arguments, or --length, is at most 2e5");
  return reference::row_relative_error_bound(a.count("length"), a.sigma(), a.count("samples"),
                                             a.real("delta"));
}

inline reference::AlibiKernel<Interval> kernel(const Arguments& a) {
  return {a.count("length"), a.sigma()};
}

// ---- the table -------------------------------------------------------------------------------

inline const std::vector<Quantity>& quantities() {
  namespace ref = reference;
  using Args = const Arguments&;
  static const std::vector<Quantity> table{
      {"entry",
       "Entry of the ALiBi kernel matrix L*; the probability that a mask keeps the pair.",
       "L*_ij = exp(-|i-j|/sigma)",
       {"distance", "sigma"},
       {},
       {"--distance", "3", "--sigma", "4"},
       [](Args a) { return ref::set_probability(a.count("distance"), a.sigma()); }},
      {"row-sum",
       "Sum of row i of L*.",
       "sum_j exp(-|i-j|/sigma), j = 0..n-1",
       {"length", "i", "sigma"},
       {},
       {"--length", "1000", "--i", "10", "--sigma", "4"},
       [](Args a) { return kernel(a).row_sum(a.count("i")); }},
      {"total",
       "Sum of all entries of L*; the expected pairs that one mask keeps.",
       "sum_ij exp(-|i-j|/sigma)",
       {"length", "sigma"},
       {},
       {"--length", "1000", "--sigma", "4"},
       [](Args a) { return kernel(a).total(); }},
      {"total-entry-variance",
       "s times the expected squared Frobenius error of the mean of s masks.",
       "sum_ij p (1-p), p = L*_ij",
       {"length", "sigma"},
       {},
       {"--length", "1000", "--sigma", "4"},
       [](Args a) {
         return a.count("length") == 1 ? Interval(0) : kernel(a).total_entry_variance();
       }},
      {"spectral-norm",
       "Spectral norm of L*.",
       "largest eigenvalue of L*, n x n",
       {"length", "sigma"},
       {},
       {"--length", "1000", "--sigma", "4"},
       [](Args a) { return kernel(a).spectral_norm(); }},
      {"spectral-norm-limit",
       "Spectral norm of L* as n grows; above it for every n.",
       "coth(1/(2 sigma))",
       {"sigma"},
       {},
       {"--sigma", "4"},
       [](Args a) { return ref::spectral_norm_limit(a.sigma()); }},
      {"pair-probability",
       "Probability that a bin of width w holds both of two positions.",
       "max(0, 1 - |i-j|/w)",
       {"distance", "width"},
       {},
       {"--distance", "3", "--width", "4.5"},
       [](Args a) {
         return ref::pair_probability_given_width(a.count("distance"), a.real("width"));
       }},
      {"set-probability",
       "Probability that a mask puts a whole set of positions in one block.",
       "exp(-span/sigma)",
       {"span", "sigma"},
       {},
       {"--span", "3", "--sigma", "4"},
       [](Args a) { return ref::set_probability(a.count("span"), a.sigma()); }},
      {"width-density",
       "Density of the bin width, Gamma(shape 2, scale sigma).",
       "(w/sigma^2) exp(-w/sigma)",
       {"width", "sigma"},
       {},
       {"--width", "4.5", "--sigma", "4"},
       [](Args a) { return ref::width_density(a.real("width"), a.sigma()); }},
      {"width-tail",
       "Probability that the largest of s bin widths (s = 1 if not given) exceeds t.",
       "1 - (1 - (1 + t/sigma) exp(-t/sigma))^s",
       {"threshold", "sigma"},
       {"samples"},
       {"--threshold", "40", "--sigma", "4", "--samples", "16"},
       [](Args a) {
         return a.counts.contains("samples")
                    ? ref::max_width_tail(a.real("threshold"), a.sigma(), a.count("samples"))
                    : ref::width_tail(a.real("threshold"), a.sigma());
       }},
      {"width-quantile",
       "The width that the largest of s bin widths exceeds with probability delta.",
       "sigma (-1 - W_{-1}(-p/e)), p = 1 - (1-delta)^(1/s)",
       {"delta", "samples", "sigma"},
       {},
       {"--delta", "0.01", "--samples", "16", "--sigma", "4"},
       [](Args a) {
         return ref::max_width_quantile(a.real("delta"), a.sigma(), a.count("samples"));
       }},
      {"largest-block-bound",
       "No block of s masks is longer, with probability 1 - delta.",
       "min(n, ceil(width-quantile))",
       {"length", "delta", "samples", "sigma"},
       {},
       {"--length", "1000", "--delta", "0.01", "--samples", "16", "--sigma", "4"},
       largest_block_bound},
      {"largest-block-law",
       "Probability that no block of s masks is longer than b; exact for n <= 64, "
       "beyond that certified bounds.",
       "P(b_max <= b)",
       {"length", "block", "samples", "sigma"},
       {},
       {"--length", "1000", "--block", "50", "--samples", "16", "--sigma", "4"},
       largest_block_law},
      {"partition-probability",
       "Probability that a mask has exactly these blocks; their sum n is at most 64.",
       "sum over strips of G(b) - G(a)",
       {"blocks", "sigma"},
       {},
       {"--blocks", "3,2,3", "--sigma", "4"},
       partition_probability},
      {"second-moment",
       "Entry of the expected square of a mask.",
       "E[(M^2)_ij]",
       {"length", "i", "j", "sigma"},
       {},
       {"--length", "1000", "--i", "10", "--j", "13", "--sigma", "4"},
       [](Args a) {
         return ref::second_moment(a.count("length"), a.sigma(), a.count("i"), a.count("j"));
       }},
      {"matrix-variance-norm-bound",
       "Bound, for every n, on the spectral norm of V = E[M^2] - L*^2.",
       "coth(1/(2 sigma)) / sinh(1/sigma)",
       {"sigma"},
       {},
       {"--sigma", "4"},
       [](Args a) { return ref::matrix_variance_norm_bound(a.sigma()); }},
      {"entry-law",
       "Probability that exactly k of s masks keep a pair.",
       "C(s,k) p^k (1-p)^(s-k), p = exp(-|i-j|/sigma)",
       {"samples", "count", "distance", "sigma"},
       {},
       {"--samples", "16", "--count", "5", "--distance", "3", "--sigma", "4"},
       entry_law},
      {"entry-deviation",
       "Probability that an entry of the mean of s masks is off by epsilon or more.",
       "P(|M~_ij - L*_ij| >= epsilon)",
       {"samples", "epsilon", "distance", "sigma"},
       {},
       {"--samples", "16", "--epsilon", "0.2", "--distance", "3", "--sigma", "4"},
       entry_deviation},
      {"block-pairs",
       "Expected pairs that s masks keep, each mask counted: the work of the algorithm.",
       "s sum_ij exp(-|i-j|/sigma)",
       {"length", "samples", "sigma"},
       {},
       {"--length", "1000", "--samples", "16", "--sigma", "4"},
       [](Args a) {
         return ref::expected_block_pairs(a.count("length"), a.sigma(), a.count("samples"));
       }},
      {"union-pairs",
       "Expected pairs that at least one of s masks keeps.",
       "sum_ij 1 - (1 - p_ij)^s",
       {"length", "samples", "sigma"},
       {},
       {"--length", "1000", "--samples", "16", "--sigma", "4"},
       union_pairs,
       [](Args a) {
         return static_cast<unsigned>(std::min<Index>(a.count("samples"), 2048) * 3 / 10);
       }},
      {"max-norm-bound",
       "No entry of the mean of s masks is off by more, with probability 1 - delta.",
       "sqrt(ln(n (n-1)/delta) / (2 s))",
       {"length", "samples", "delta"},
       {},
       {"--length", "1000", "--samples", "64", "--delta", "0.01"},
       [](Args a) {
         return ref::max_norm_bound(a.count("length"), a.count("samples"), a.real("delta"));
       }},
      {"spectral-bound",
       "The spectral norm of L* - M~ is at most this, with probability 1 - delta.",
       "matrix Bernstein with widths cut at B, plus the bias of the cut",
       {"length", "samples", "delta", "sigma"},
       {},
       {"--length", "1000", "--samples", "64", "--delta", "0.01", "--sigma", "4"},
       [](Args a) {
         return ref::spectral_bound(a.count("length"), a.sigma(), a.count("samples"),
                                    a.real("delta"))
             .total;
       }},
      {"row-relative-error-bound",
       "In no row does the error exceed this share of the row sum, with probability 1 - delta.",
       "max_i sum_j |L*_ij - M~_ij| / sum_j L*_ij <= this",
       {"length", "samples", "delta", "sigma"},
       {},
       {"--length", "1000", "--samples", "64", "--delta", "0.01", "--sigma", "4"},
       row_relative_error},
  };
  return table;
}

}  // namespace plsh::cli
