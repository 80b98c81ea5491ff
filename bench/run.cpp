#include "run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fstream>
#include <thread>

#include "median.hpp"

namespace plsh::bench {
namespace {

using nlohmann::json;

json nullable(const std::optional<double>& value) { return value ? json(*value) : json(); }

/// One form on one problem, as often as it was called.
struct Samples {
  Measurement measurement;
  std::vector<double> seconds;
  std::vector<double> fractions;
};

void measure(Problem& problem, Samples& samples) {
  Measurement& m = samples.measurement;
  const double peak = measure_fma(m.threads, 0.03);
  const double seconds =
      m.backward ? problem.backward(m.form, m.threads) : problem.forward(m.form, m.threads);
  const auto dim = static_cast<double>(m.shape.head_dim);
  samples.seconds.push_back(seconds);
  if (m.form.kind == Form::Kind::draw) return;
  samples.fractions.push_back((m.backward ? 10 : 4) * dim * m.useful_pairs / seconds / peak);
  if (!m.backward && !m.error) m.error = problem.error();
}

}  // namespace

std::string processor() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown";
}

std::vector<Form> all_forms() {
  using Kind = Form::Kind;
  return {{Kind::draw},        {Kind::fused},       {Kind::sample_by_sample},
          {Kind::exact},       {Kind::window, 2.3}, {Kind::equal_window},
          {Kind::window, 6.9}, {Kind::equal_blocks}};
}

Record run(const Options& options,
           const std::function<void(const std::string&, double)>& progress) {
  Record record;
  record.options = options;
  for (const int threads : options.threads) record.peaks.push_back(measure_peaks(threads));

  const std::size_t problems =
      options.lengths.size() * options.sigmas.size() * options.head_dims.size();
  std::size_t done = 0;
  for (const Index dim : options.head_dims)
    for (const std::vector<double>& sigmas : options.sigmas)
      for (const Index length : options.lengths) {
        const std::string title =
            fmt::format("length {}, head_dim {}, sigma {}", length, dim, fmt::join(sigmas, ", "));
        progress(title, static_cast<double>(done++) / static_cast<double>(problems));
        const Shape shape{length, dim, sigmas, options.samples, options.causal, options.type};
        Problem problem(shape, options.seed);
        std::vector<Samples> all;
        for (const Form& form : options.forms)
          for (std::size_t t = 0; t < options.threads.size(); ++t) {
            Measurement m;
            m.form = form;
            m.shape = shape;
            m.threads = options.threads[t];
            m.useful_pairs = problem.useful_pairs(form);
            const bool sampled =
                form.kind == Form::Kind::fused || form.kind == Form::Kind::sample_by_sample;
            m.written_pairs = sampled ? problem.written_pairs() : m.useful_pairs;
            const double work =
                form.kind == Form::Kind::sample_by_sample ? m.written_pairs : m.useful_pairs;
            const double estimate = work * 4 * static_cast<double>(dim) / record.peaks[t].fma_flops;
            if (2 * estimate > options.limit_seconds) {
              record.left_out.push_back(fmt::format("{}, {}, {} threads: about {:.0f} s a call",
                                                    form.name(), title, m.threads, 2 * estimate));
              continue;
            }
            all.push_back({m, {}, {}});
            if (options.backward && form.kind != Form::Kind::sample_by_sample &&
                form.kind != Form::Kind::draw) {
              m.backward = true;
              all.push_back({m, {}, {}});
            }
          }
        for (int repeat = 0; repeat < options.repeats; ++repeat)
          for (Samples& samples : all) measure(problem, samples);
        for (Samples& samples : all) {
          Measurement& m = samples.measurement;
          m.seconds = median(samples.seconds);
          m.fastest = *std::min_element(samples.seconds.begin(), samples.seconds.end());
          m.slowest = *std::max_element(samples.seconds.begin(), samples.seconds.end());
          if (!samples.fractions.empty()) m.peak_fraction = median(samples.fractions);
          record.measurements.push_back(m);
        }
      }
  if (options.causal || options.type != PLSH_F32) return record;
  for (const std::vector<double>& sigmas : options.sigmas)
    for (const Index dim : options.head_dims)
      if (sigmas.size() == 1)
        record.crossovers.push_back(measure_crossover(
            sigmas.front(), options.samples, dim, options.threads.front(), options.seed,
            [&](Index length) {
              progress(fmt::format("crossover of sigma {}, length {}", sigmas.front(), length), 1);
            }));
  return record;
}

json to_json(const Crossover& crossover) {
  return {{"sigma", crossover.sigma},
          {"samples", crossover.samples},
          {"head_dim", crossover.head_dim},
          {"threads", crossover.threads},
          {"length", crossover.length},
          {"fused_seconds", crossover.fused_seconds},
          {"exact_seconds", crossover.exact_seconds}};
}

json to_json(const Record& record, const std::string& commit) {
  const Options& options = record.options;
  static constexpr const char* kTypes[] = {"f32", "f64", "f16", "bf16"};
  json document{{"format", "plsh-bench"},
                {"version", 1},
                {"plsh", PLSH_VERSION},
                {"commit", commit.empty() ? json() : json(commit)},
                {"compiler", PLSH_COMPILER},
                {"machine",
                 {{"processor", processor()},
                  {"processors", std::thread::hardware_concurrency()},
                  {"instruction_set", instruction_set()}}},
                {"samples", options.samples},
                {"causal", options.causal},
                {"type", kTypes[options.type]},
                {"repeats", options.repeats},
                {"seed", options.seed},
                {"left_out", record.left_out}};
  for (std::size_t t = 0; t < options.threads.size(); ++t) {
    const Peaks& peaks = record.peaks[t];
    document["peaks"].push_back({{"threads", options.threads[t]},
                                 {"fma_flops", peaks.fma_flops},
                                 {"exp_rate", peaks.exp_rate},
                                 {"read_bytes", peaks.read_bytes},
                                 {"copy_bytes", peaks.copy_bytes}});
  }
  document["measurements"] = json::array();
  for (const Measurement& m : record.measurements)
    document["measurements"].push_back({{"form", m.form.name()},
                                        {"length", m.shape.length},
                                        {"head_dim", m.shape.head_dim},
                                        {"sigmas", m.shape.sigmas},
                                        {"threads", m.threads},
                                        {"direction", m.backward ? "backward" : "forward"},
                                        {"useful_pairs", m.useful_pairs},
                                        {"written_pairs", m.written_pairs},
                                        {"seconds", m.seconds},
                                        {"fastest", m.fastest},
                                        {"slowest", m.slowest},
                                        {"peak_fraction", nullable(m.peak_fraction)},
                                        {"error", nullable(m.error)}});
  document["crossovers"] = json::array();
  for (const Crossover& c : record.crossovers) document["crossovers"].push_back(to_json(c));
  return document;
}

}  // namespace plsh::bench
