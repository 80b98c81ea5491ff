// C1: E[M(h)] = L*.
#include <algorithm>
#include <plsh/reference/expectation.hpp>
#include <plsh/reference/kernel.hpp>
#include <plsh/reference/partition_law.hpp>

#include "context.hpp"

namespace plsh::properties::audit {
namespace {

/// Relative errors in sigma that the mixture bets on.
constexpr double scale_errors[] = {-0.2, -0.1, -0.05, -0.02, -0.01, 0.01, 0.02, 0.05, 0.1, 0.2};

std::vector<double> to_std(const Vector<double>& v) { return {v.begin(), v.end()}; }

/// Three routes to E[M_ij] for every pair of positions, by interval containment.
void check_routes(Context& context, ClaimReport& report) {
  constexpr Index length = 16;
  const PartitionLaw law(length);
  double widest = 0;
  Index compared = 0;
  std::string disagreement;
  for (std::size_t h = 0; h < context.sigmas.size(); ++h) {
    const Interval sigma(context.sigmas[h]);
    const Matrix<Interval> mean = law.mean_mask(sigma);
    for (Index d = 0; d < length; ++d) {
      const Interval closed = context.subject.kernel(d, sigma);
      const Interval integrated = integrated_pair_probability(d, sigma);
      widest = std::max({widest, to_double(width(closed)), to_double(width(integrated))});
      if (!overlap(closed, integrated) && disagreement.empty())
        disagreement = fmt::format("sigma = {}, distance {}: closed form {:.12g}, integral {:.12g}",
                                   context.sigmas[h], d, to_double(closed), to_double(integrated));
      for (Index i = 0; i + d < length; ++i, ++compared) {
        widest = std::max(widest, to_double(width(mean(i, i + d))));
        if (!overlap(closed, mean(i, i + d)) && disagreement.empty())
          disagreement = fmt::format("sigma = {}, pair ({}, {}): closed form {:.12g}, law {:.12g}",
                                     context.sigmas[h], i, i + d, to_double(closed),
                                     to_double(mean(i, i + d)));
      }
    }
  }
  report.constant = NamedValue{"widest interval of the three routes", widest};
  add_check(report, "three routes agree", disagreement.empty(),
            disagreement.empty()
                ? fmt::format("closed form, integral over w and exact law overlap for {} pairs x "
                              "sigma (n = 16); widest interval {:.1e}",
                              compared, widest)
                : disagreement);
  add_check(report, "intervals are tight", widest < 1e-40,
            fmt::format("widest interval {:.1e}, allowed 1e-40", widest));
}

/// The joint law of the partition at n = 8, where a pair probability alone would miss a dependence.
double joint_law_evidence(Context& context) {
  constexpr Index length = 8;
  const PartitionLaw law(length);
  std::vector<double> logs(context.sigmas.size());
  context.parallel_for(static_cast<Index>(context.sigmas.size()), [&](Index head) {
    const auto h = static_cast<std::size_t>(head);
    std::vector<std::vector<double>> alternatives;
    for (const double error : scale_errors)
      alternatives.push_back(to_std(law.probabilities(context.sigmas[h] * (1 + error))));
    KnownLawEvidence evidence(to_std(law.probabilities(context.sigmas[h])), alternatives);
    for (Index k = 0; k < context.sizes.law_samples; ++k)
      evidence.observe(law.find(context.draw(stream::law, h, length, k, 1).front()));
    logs[h] = evidence.log_e_value();
  });
  return combine_independent(logs);
}

/// Pairs at several distances, near position 0 and far away, in long contexts.
double pair_evidence(Context& context, double& worst_deviation) {
  constexpr Index length = 4096;
  std::vector<double> logs(context.sigmas.size());
  std::vector<double> deviations(context.sigmas.size(), 0.0);
  context.parallel_for(static_cast<Index>(context.sigmas.size()), [&](Index head) {
    const auto h = static_cast<std::size_t>(head);
    const double sigma = context.sigmas[h];
    struct Pair {
      Index i, j;
      double p;
      Index hits;
      KnownLawEvidence evidence;
    };
    std::vector<Pair> pairs;
    for (const Index start : {Index{0}, Index{1000}, Index{3000}})
      for (const double multiple : {0.25, 1.0, 3.0}) {
        const Index d = std::max<Index>(1, std::llround(multiple * sigma));
        const auto law_at = [d](double s) {
          const double p = std::exp(-static_cast<double>(d) / s);
          return std::vector<double>{1 - p, p};
        };
        std::vector<std::vector<double>> alternatives;
        for (const double error : scale_errors) alternatives.push_back(law_at(sigma * (1 + error)));
        pairs.push_back(
            {start, start + d, law_at(sigma)[1], 0, KnownLawEvidence(law_at(sigma), alternatives)});
      }
    for (Index k = 0; k < context.sizes.pair_samples; ++k) {
      const Partition partition = context.draw(stream::pairs, h, length, k, 1).front();
      for (Pair& pair : pairs) {
        const Index hit = partition.block_of(pair.i) == partition.block_of(pair.j) ? 1 : 0;
        pair.hits += hit;
        pair.evidence.observe(hit);
      }
    }
    const auto draws = static_cast<double>(context.sizes.pair_samples);
    std::vector<double> pair_logs;  // of pairs in the same samples: averaged, not multiplied
    for (Pair& pair : pairs) {
      pair_logs.push_back(pair.evidence.log_e_value());
      deviations[h] =
          std::max(deviations[h], std::fabs(static_cast<double>(pair.hits) / draws - pair.p));
    }
    logs[h] = log_mean_exp(pair_logs);
  });
  worst_deviation = *std::max_element(deviations.begin(), deviations.end());
  return combine_independent(logs);
}

void plot_law(Context& context) {
  constexpr Index length = 8;
  constexpr double sigma = 4;
  const PartitionLaw law(length);
  const Vector<double> p = law.probabilities(sigma);
  std::vector<std::size_t> order(law.partitions().size());
  for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return p[static_cast<Index>(a)] > p[static_cast<Index>(b)];
  });
  Json partitions = Json::array();
  double rest = 1;
  for (std::size_t k = 0; k < 16; ++k) {
    const Partition& partition = law.partitions()[order[k]];
    Json blocks = Json::array();
    for (Index b = 0; b < partition.block_count(); ++b) blocks.push_back(partition.block(b).size());
    partitions.push_back({{"blocks", blocks}, {"probability", p[static_cast<Index>(order[k])]}});
    rest -= p[static_cast<Index>(order[k])];
  }
  context.plots["law"] = {{"length", length},
                          {"sigma", sigma},
                          {"partitions", partitions},
                          {"rest", std::max(0.0, rest)},
                          {"reachable", law.partitions().size()}};
}

void plot_mask(Context& context) {
  constexpr Index length = 96;
  constexpr std::size_t head = 2;  // sigma = 8
  constexpr Index samples = 20;
  const std::vector<Partition> drawn = context.draw(stream::picture, head, length, 0, samples);
  const Matrix<Index> counts = context.subject.counts(drawn);
  Json mean = Json::array();
  Json kernel = Json::array();
  const AlibiKernel<double> exact(length, context.sigmas[head]);
  for (Index i = 0; i < length; ++i) {
    Json row = Json::array();
    for (Index j = 0; j < length; ++j)
      row.push_back(static_cast<double>(counts(i, j)) / static_cast<double>(samples));
    mean.push_back(row);
    kernel.push_back(exact.at_distance(i));
  }
  context.plots["mask"] = {{"length", length},   {"sigma", context.sigmas[head]},
                           {"samples", samples}, {"starts", drawn.front().starts()},
                           {"mean", mean},       {"kernel", kernel}};
}

}  // namespace

void audit_expectation(Context& context, ClaimReport& report) {
  report.ours =
      "P(i and j share a block) = exp(-|i-j|/sigma) for every pair of positions, because the chance "
      "max(0, 1 - |i-j|/w) given the width w, averaged over w ~ Gamma(2, sigma), is the exponential.";
  context.stage("three routes to the mean mask", 0);
  check_routes(context, report);
  context.stage("joint law of the sampled partitions", 0.3);
  const double joint = joint_law_evidence(context);
  context.stage("pairs near and far", 0.7);
  double deviation = 0;
  const double pairs = pair_evidence(context, deviation);
  report.observed = NamedValue{"largest |frequency - L*| over the pairs watched", deviation};
  set_evidence(report, log_mean_exp({joint, pairs}), "the sampled masks do not follow the law");
  report.evidence = fmt::format(
      "Three independent routes (closed form; certified integration over w; sum over the exact law) "
      "give E[M_ij] inside intervals of width {:.0e}. {} sampled partitions of n = 8 per head were "
      "held against the exact joint law, and {} of n = 4096 against the pair law at 9 pairs per head.",
      report.constant->value, context.sizes.law_samples, context.sizes.pair_samples);
  plot_law(context);
  plot_mask(context);
  conclude(report, Verdict::certified);
}

}  // namespace plsh::properties::audit
