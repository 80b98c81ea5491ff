/// \file
/// The benchmarks of attention: what is measured, and how.
///
/// Everything that is compared runs in one process, in turns. Before each call the peak rate of
/// multiply-adds is measured again, and rates are fractions of it: a neighbour on the machine, or a
/// clock that changes, hits both.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

#include "crossover.hpp"
#include "peaks.hpp"
#include "problem.hpp"

namespace plsh::bench {

struct Options {
  std::vector<Index> lengths{2048, 8192, 32768};
  /// The decay lengths of each problem: one head for each.
  std::vector<std::vector<double>> sigmas{{4}, {32}, {256}, {2, 4, 8, 16, 32, 64, 128, 256}};
  std::vector<Index> head_dims{64};
  std::vector<int> threads{1, 2};
  std::vector<Form> forms;
  Index samples = 20;
  bool causal = false;
  plsh_type type = PLSH_F32;
  bool backward = false;  ///< measure backward as well
  int repeats = 5;
  /// A form that would take longer than this in one call, by its pairs at half the peak rate, is
  /// left out.
  double limit_seconds = 10;
  std::uint64_t seed = 1;
};
/// All forms; windows with about the error of 20 samples, with as many pairs, and with weights down
/// to 0.1 %.
std::vector<Form> all_forms();

struct Measurement {
  Form form;
  Shape shape;
  int threads = 1;
  bool backward = false;
  double useful_pairs = 0;
  double written_pairs = 0;  ///< fused, sample by sample: over all samples
  double seconds = 0;        ///< median
  double fastest = 0;
  double slowest = 0;
  /// Median of 4 d (backward 10 d) operations a useful pair over the peak.
  std::optional<double> peak_fraction;
  std::optional<double> error;  ///< forward: relative Frobenius, against exact attention
};

struct Record {
  Options options;
  std::vector<Peaks> peaks;  ///< for each number of threads
  std::vector<Measurement> measurements;
  std::vector<std::string> left_out;
  /// Of every single sigma and head dimension, on the first number of threads; f32 and
  /// bidirectional only.
  std::vector<Crossover> crossovers;
};

/// \param progress called with what is measured next and the fraction that is done.
Record run(const Options& options, const std::function<void(const std::string&, double)>& progress);

nlohmann::json to_json(const Crossover& crossover);
/// The name of this machine's processor.
std::string processor();
/// The record with machine, compiler and commit (schema/bench.schema.json). `commit` may be empty.
nlohmann::json to_json(const Record& record, const std::string& commit);

}  // namespace plsh::bench
