#include "context.hpp"

#include <mpfr.h>

#include <algorithm>
#include <atomic>
#include <boost/math/distributions/students_t.hpp>
#include <exception>
#include <limits>
#include <mutex>
#include <numeric>
#include <plsh/reference/slopes.hpp>
#include <thread>

namespace plsh::properties::audit {

Sizes sizes_for(Effort effort) {
  switch (effort) {
    case Effort::quick:
      return {4'000, 400, 512, 4, 10'000, 100, 1'000, 256, 2, 200};
    case Effort::standard:
      return {40'000, 3'000, 2'048, 8, 100'000, 400, 4'000, 1'024, 4, 2'000};
    case Effort::full:
      return {400'000, 20'000, 4'096, 16, 1'000'000, 4'000, 40'000, 2'048, 8, 20'000};
  }
  throw std::logic_error("unknown effort");
}

const std::vector<Index>& sample_counts() {
  static const std::vector<Index> counts{4, 8, 16, 32, 64, 128, 256, 512, 1024};
  return counts;
}

Context::Context(const AuditOptions& audit_options, const Subject& audited,
                 const Progress& progress)
    : options(audit_options),
      subject(audited),
      sizes(sizes_for(audit_options.effort)),
      sigmas(alibi_decay_lengths(8)),
      subject_sigmas(audited.decay_lengths(8)),
      threads(audit_options.threads != 0 ? audit_options.threads
                                         : std::max(1U, std::thread::hardware_concurrency())),
      progress_(progress) {
  if (subject_sigmas.size() != sigmas.size())
    throw std::runtime_error("the subject does not give 8 decay lengths for 8 heads");
}

void Context::stage(const std::string& text, double fraction) const {
  if (progress_) progress_(current, text, fraction);
}

std::size_t Context::head_of(double sigma) const {
  const auto place = std::find(sigmas.begin(), sigmas.end(), sigma);
  if (place == sigmas.end())
    throw std::runtime_error(fmt::format("no standard head has decay length {}", sigma));
  return static_cast<std::size_t>(place - sigmas.begin());
}

SampleId Context::id(std::uint32_t stream, std::size_t head, Index k) const {
  return {options.seed, stream * 1024 + static_cast<std::uint32_t>(head),
          static_cast<std::uint64_t>(k)};
}

std::vector<Partition> Context::draw(std::uint32_t stream, std::size_t head, Index length,
                                     Index first, Index count) const {
  std::vector<Partition> samples;
  samples.reserve(static_cast<std::size_t>(count));
  for (Index k = 0; k < count; ++k)
    samples.push_back(subject.sample(length, subject_sigmas[head], id(stream, head, first + k)));
  return samples;
}

void Context::for_each_prefix(
    std::span<const Partition> samples,
    const std::function<void(std::size_t k, const Matrix<Index>& counts)>& body) const {
  const Index n = samples.front().length();
  Matrix<Index> counts = Matrix<Index>::Zero(n, n);
  std::size_t counted = 0;
  for (std::size_t k = 0; k < sample_counts().size(); ++k) {
    const auto s = static_cast<std::size_t>(sample_counts()[k]);
    counts += subject.counts(samples.subspan(counted, s - counted));
    counted = s;
    body(k, counts);
  }
}

Matrix<double> Context::uniform_matrix(std::uint32_t stream, std::size_t head, Index first,
                                       Index rows, Index cols) const {
  Matrix<double> m(rows, cols);
  for (Index e = 0; e < m.size(); ++e)
    m.data()[e] = 2 * draw_uniforms(id(stream, head, first + e)).first - 1;
  return m;
}

void Context::parallel_for(Index count, const std::function<void(Index)>& body) const {
  std::atomic<Index> next{0};
  std::exception_ptr failure;
  std::mutex failure_mutex;
  const auto work = [&] {
    for (Index k = next++; k < count; k = next++) {
      try {
        body(k);
      } catch (...) {
        const std::lock_guard lock(failure_mutex);
        if (!failure) failure = std::current_exception();
        next = count;
      }
    }
  };
  {
    std::vector<std::jthread> helpers;
    for (unsigned t = 1; t < threads; ++t)
      helpers.emplace_back([&work] {
        work();
        mpfr_free_cache2(MPFR_FREE_LOCAL_CACHE);  // a thread's constants are not freed with it
      });
    work();
  }
  if (failure) std::rethrow_exception(failure);
}

Exponent fit_exponent(const std::vector<std::vector<double>>& errors) {
  const auto& counts = sample_counts();
  std::vector<double> slopes;
  for (const std::vector<double>& repeat : errors) {
    double sx = 0, sy = 0, sxx = 0, sxy = 0;
    for (std::size_t k = 0; k < counts.size(); ++k) {
      const double x = std::log(static_cast<double>(counts[k]));
      const double y = std::log(repeat[k]);
      sx += x;
      sy += y;
      sxx += x * x;
      sxy += x * y;
    }
    const auto m = static_cast<double>(counts.size());
    slopes.push_back((m * sxy - sx * sy) / (m * sxx - sx * sx));
  }
  const auto r = static_cast<double>(slopes.size());
  const double mean = std::accumulate(slopes.begin(), slopes.end(), 0.0) / r;
  if (slopes.size() < 2) return {mean, mean, mean};
  double squares = 0;
  for (const double slope : slopes) squares += (slope - mean) * (slope - mean);
  const double t = boost::math::quantile(boost::math::students_t(r - 1), 0.975);
  const double half = t * std::sqrt(squares / (r - 1) / r);
  return {mean, mean - half, mean + half};
}

Json decay_series(const std::string& label, double sigma,
                  const std::vector<std::vector<double>>& errors,
                  const std::vector<double>& bounds) {
  Json points = Json::array();
  for (std::size_t k = 0; k < sample_counts().size(); ++k) {
    double sum = 0, low = errors.front()[k], high = low;
    for (const auto& repeat : errors) {
      sum += repeat[k];
      low = std::min(low, repeat[k]);
      high = std::max(high, repeat[k]);
    }
    points.push_back({{"samples", sample_counts()[k]},
                      {"mean", sum / static_cast<double>(errors.size())},
                      {"low", low},
                      {"high", high},
                      {"bound", bounds.empty() ? Json() : Json(bounds[k])}});
  }
  const Exponent exponent = fit_exponent(errors);
  return {{"label", label},
          {"sigma", sigma},
          {"points", points},
          {"exponent", exponent.mean},
          {"exponent_low", exponent.low},
          {"exponent_high", exponent.high}};
}

void add_check(ClaimReport& report, const std::string& name, bool passed,
               const std::string& detail) {
  report.checks.push_back({name, passed, detail});
  if (!passed && !report.counterexample) report.counterexample = name + ": " + detail;
}

void set_evidence(ClaimReport& report, double log_e_value, const std::string& what) {
  report.log_e_value = log_e_value;
  if (log_e_value >= log_e_value_to_refute() && !report.counterexample)
    report.counterexample =
        std::isinf(log_e_value)
            ? what + ": an outcome of probability zero was seen"
            : fmt::format("{}: e-value 10^{:.1f}", what, log_e_value / std::log(10.0));
}

void conclude(ClaimReport& report, Verdict otherwise) {
  bool failed = report.log_e_value && *report.log_e_value >= log_e_value_to_refute();
  for (const Check& check : report.checks) failed = failed || !check.passed;
  report.verdict = failed ? Verdict::refuted : otherwise;
}

Index first_where(Index low, Index high, const std::function<bool(Index)>& holds) {
  while (low < high) {
    const Index middle = low + (high - low) / 2;
    if (holds(middle))
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

double max_abs(const Matrix<double>& m) {
  double largest = 0;
  for (Index e = 0; e < m.size(); ++e) {
    const double size = std::fabs(m.data()[e]);
    if (!(size <= largest)) largest = size;
    if (std::isnan(largest)) return largest;
  }
  return largest;
}

double rounding_tolerance(const HeadInput<double>& input, Index terms) {
  const double logit_size =
      input.logit_scale * (input.query.cwiseAbs().rowwise().sum().maxCoeff() * max_abs(input.key));
  const auto head_dim = static_cast<double>(input.query.cols());
  return 2 * 0x1p-53 * max_abs(input.value) *
         (2 * (head_dim + 2) * logit_size + 2 * static_cast<double>(terms) + 8);
}

bool keep_worst(double ratio, double& worst) {
  if (ratio <= worst) return false;
  worst = std::isnan(ratio) ? std::numeric_limits<double>::infinity() : ratio;
  return true;
}

}  // namespace plsh::properties::audit
