#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bench/run.hpp>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "arguments.hpp"
#include "command.hpp"
#include "output.hpp"

namespace plsh::cli {
namespace {

using bench::Form;
using bench::Measurement;

constexpr Range length_range{"64", "4e6"};
constexpr Range sigma_range{"0.01", "1e6"};
constexpr Range head_dim_range{"1", "1024"};
constexpr Range samples_range{"1", "1e5"};
constexpr Range threads_range{"1", "1024"};
constexpr Range repeats_range{"1", "1000"};
constexpr Range seconds_range{"0.001", "1e6"};

struct Arguments {
  std::vector<std::string> lengths;
  std::vector<std::string> sigmas{"4", "32", "256", "mix"};
  std::vector<std::string> head_dims{"64"};
  std::vector<std::string> threads;
  std::string samples = "20";
  std::string repeats;
  std::string limit = "10";
  std::string type = "f32";
  std::string seed = "1";
  bool causal = false;
  bool backward = false;
  bool quick = false;
  std::string json;
};

plsh_type parse_type(const std::string& text) {
  if (text == "f32") return PLSH_F32;
  if (text == "f16") return PLSH_F16;
  if (text == "bf16") return PLSH_BF16;
  refuse("--type: \"" + shown(text) + "\" is not offered; allowed: f32, f16, bf16");
}

bench::Options parse(const Arguments& arguments) {
  bench::Options options;
  options.threads = {1};
  const auto all = static_cast<int>(std::thread::hardware_concurrency());
  if (all > 1) options.threads.push_back(all);
  if (arguments.quick) {
    options.lengths = {2048, 4096};
    options.threads = {1};
    options.repeats = 3;
  }
  if (!arguments.lengths.empty()) options.lengths.clear();
  for (const std::string& text : arguments.lengths)
    options.lengths.push_back(parse_count("--length", text, length_range));
  options.sigmas.clear();
  for (const std::string& text : arguments.sigmas) {
    if (text == "mix")
      options.sigmas.push_back({2, 4, 8, 16, 32, 64, 128, 256});
    else
      options.sigmas.push_back(
          {parse_decimal("--sigma", text, sigma_range).exact.convert_to<double>()});
  }
  options.head_dims.clear();
  for (const std::string& text : arguments.head_dims)
    options.head_dims.push_back(parse_count("--head-dim", text, head_dim_range));
  if (!arguments.threads.empty()) options.threads.clear();
  for (const std::string& text : arguments.threads)
    options.threads.push_back(static_cast<int>(parse_count("--threads", text, threads_range)));
  options.forms = bench::all_forms();
  options.samples = parse_count("--samples", arguments.samples, samples_range);
  if (!arguments.repeats.empty())
    options.repeats = static_cast<int>(parse_count("--repeats", arguments.repeats, repeats_range));
  options.limit_seconds =
      parse_decimal("--limit", arguments.limit, seconds_range).exact.convert_to<double>();
  options.type = parse_type(arguments.type);
  options.seed = read_seed(arguments.seed);
  options.causal = arguments.causal;
  options.backward = arguments.backward;
  return options;
}

std::string seconds(double value) {
  return value < 1 ? fmt::format("{:.3g} ms", value * 1e3) : fmt::format("{:.3g} s", value);
}

std::string form_name(const Measurement& m) {
  return m.form.name() + (m.backward ? ", backward" : "");
}

/// What rows of one table share.
std::string problem_name(const Measurement& m) {
  return fmt::format("sigma {}, head_dim {}, {} thread{}", fmt::join(m.shape.sigmas, " "),
                     m.shape.head_dim, m.threads, m.threads == 1 ? "" : "s");
}

void print_table(const std::vector<const Measurement*>& rows) {
  fmt::print("\n{}\n", problem_name(*rows.front()));
  fmt::print("  {:>8}  {:<28}{:>10}{:>13}{:>8}{:>9}{:>9}{:>10}\n", "length", "form", "time",
             "ns a pair", "of peak", "growth", "fused =1", "error");
  std::map<std::string, const Measurement*> shorter;  // of each form
  std::map<bench::Index, double> fused;               // seconds, forward
  for (const Measurement* m : rows)
    if (m->form.kind == Form::Kind::fused && !m->backward) fused[m->shape.length] = m->seconds;
  for (const Measurement* m : rows) {
    const Measurement*& before = shorter[form_name(*m)];
    std::string growth = "-";
    if (before != nullptr)
      growth =
          fmt::format("{:.2f}", std::pow(m->seconds / before->seconds,
                                         1 / std::log2(static_cast<double>(m->shape.length) /
                                                       static_cast<double>(before->shape.length))));
    before = m;
    fmt::print("  {:>8}  {:<28}{:>10}{:>13.3f}{:>8}{:>9}{:>9}{:>10}\n", m->shape.length,
               form_name(*m), seconds(m->seconds), m->seconds / m->useful_pairs * 1e9,
               m->peak_fraction ? fmt::format("{:.3f}", *m->peak_fraction) : "-", growth,
               fused.contains(m->shape.length)
                   ? fmt::format("{:.3g}", m->seconds / fused.at(m->shape.length))
                   : "-",
               m->error ? fmt::format("{:.2g}", *m->error) : "-");
  }
}

void print(const bench::Record& record) {
  fmt::print("plsh bench: {}, s = {}, {}, seed {}\n", bench::instruction_set(),
             record.options.samples, record.options.causal ? "causal" : "bidirectional",
             record.options.seed);
  for (std::size_t t = 0; t < record.peaks.size(); ++t) {
    const bench::Peaks& p = record.peaks[t];
    fmt::print(
        "peak, {} thread{}: {:.0f} GFLOP/s multiply-add, {:.2f} G exp/s, read {:.1f} GB/s, copy "
        "{:.1f} GB/s\n",
        record.options.threads[t], record.options.threads[t] == 1 ? "" : "s", p.fma_flops / 1e9,
        p.exp_rate / 1e9, p.read_bytes / 1e9, p.copy_bytes / 1e9);
  }
  // In the order of the options, one table for each problem but its length.
  std::vector<std::string> names;
  std::map<std::string, std::vector<const Measurement*>> tables;
  for (const Measurement& m : record.measurements) {
    const std::string name = problem_name(m);
    if (!tables.contains(name)) names.push_back(name);
    tables[name].push_back(&m);
  }
  for (const std::string& name : names) print_table(tables[name]);
  for (const bench::Crossover& c : record.crossovers)
    fmt::print("\nsigma {}, head_dim {}: fused is faster than exact from length {}", c.sigma,
               c.head_dim, c.length);
  for (const std::string& what : record.left_out) fmt::print("\nleft out: {}", what);
  fmt::print(
      "\n\n"
      "time: median of {} calls, all forms in turn.\n"
      "pair: a query and a key that the form must score; for sample by sample those of the union,\n"
      "  so that it is measured by what had to be done; for drawing those that fused scores.\n"
      "of peak: 4 head_dim operations a pair (backward 10) over the multiply-add peak just before.\n"
      "growth: of the time for each doubling of the length. fused =1: time over that of fused.\n"
      "error: of the output against exact ALiBi attention, relative, Frobenius norm. A window of\n"
      "  exact weights is the stronger approximation of ALiBi; fused evaluates the paper's\n"
      "  estimator exactly.\n",
      record.options.repeats);
}

int run_bench(const Arguments& arguments) {
  const bench::Options options = parse(arguments);
  const std::filesystem::path folder =
      std::filesystem::path("." / std::filesystem::path(arguments.json)).parent_path();
  if (!std::filesystem::is_directory(folder))
    refuse("--json: there is no folder " + folder.string());
  ProgressLine line;
  const bench::Record record =
      bench::run(options, [&](const std::string& what, double done) { line.show(what, done); });
  line.clear();
  print(record);
  if (!arguments.json.empty()) {
    const char* commit = std::getenv("PLSH_COMMIT");
    write_whole(arguments.json,
                bench::to_json(record, commit == nullptr ? "" : commit).dump(1) + "\n");
  }
  if (record.measurements.empty()) {
    fmt::print(stderr, "plsh bench: nothing was measured; raise --limit\n");
    return Status::undecided;
  }
  return Status::ok;
}

}  // namespace

void add_bench(CLI::App& app, int& status) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* bench = app.add_subcommand(
      "bench", "measure the optimized attention against other forms of it, cost beside error");
  const auto list = [&](const char* name, std::vector<std::string>& values,
                        const std::string& text) {
    bench->add_option(name, values, text)->delimiter(',')->capture_default_str();
  };
  list("--length", arguments->lengths,
       "Context lengths, " + length_range.words() + "; default 2048, 8192, 32768");
  list("--sigma", arguments->sigmas,
       "Decay lengths, " + sigma_range.words() + "; mix: eight heads, 2 to 256");
  list("--head-dim", arguments->head_dims, "Head dimensions, " + head_dim_range.words());
  bench
      ->add_option("--threads", arguments->threads,
                   "Numbers of threads, " + threads_range.words() + "; default 1 and all")
      ->delimiter(',');
  bench->add_option("--samples", arguments->samples, "Samples s, " + samples_range.words())
      ->capture_default_str();
  bench->add_option("--type", arguments->type, "f32, f16 or bf16")->capture_default_str();
  bench->add_flag("--causal", arguments->causal, "Causal attention");
  bench->add_flag("--backward", arguments->backward, "Measure backward as well");
  bench->add_option("--repeats", arguments->repeats,
                    "Calls of each form, " + repeats_range.words() + "; default 5");
  bench
      ->add_option("--limit", arguments->limit,
                   "Leave out forms that would take longer than this in one call, in seconds")
      ->capture_default_str();
  bench->add_option("--seed", arguments->seed, "Of inputs and partitions")->capture_default_str();
  bench->add_flag("--quick", arguments->quick,
                  "Unless given: lengths 2048 and 4096, one thread, three calls");
  bench->add_option("--json", arguments->json, "Write the record to this file");
  bench->footer(
      "Examples:\n"
      "  plsh bench\n"
      "  plsh bench --sigma mix --head-dim 128 --backward --threads 2\n"
      "  plsh bench --sigma 4 --length 8192,16384,32768,65536,131072,262144 --json bench.json\n\n"
      "Exit status: 0 measured, 2 wrong use, 3 nothing was measured.");
  bench->callback([arguments, &status] { status = run_bench(*arguments); });
}

}  // namespace plsh::cli
