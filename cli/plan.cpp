#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <plsh/reference/slopes.hpp>

#include "command.hpp"
#include "plan_numbers.hpp"

namespace plsh::cli {
namespace {

constexpr Range length_range{"1", "1e12"};
constexpr Range sigma_range{"1e-5", "1e12"};
constexpr Range heads_range{"1", "256"};
constexpr Range error_range{"0", "1", true};
constexpr Range confidence_range{"0", "1", true};
constexpr Range logit_range{"0", "50"};
constexpr Range head_dim_range{"1", "65536"};

struct Options {
  std::string length, sigma, heads, error, confidence;
  std::string norm = "spectral";
  std::string head_dim = "64";
  std::string logit_bound = "1";
  bool causal = false;
  bool json = false;
};

Norm parse_norm(const std::string& text) {
  if (text == "max") return Norm::max;
  if (text == "spectral") return Norm::spectral;
  if (text == "output") return Norm::output;
  refuse("--norm: \"" + shown(text) + "\" is not a norm; allowed: max, spectral, output");
}

/// The request and what it asks for, checked and exact.
struct Job {
  PlanRequest request;
  std::string error, confidence, logit_bound;
  std::vector<std::pair<std::string, Rational>> sigmas;  // of each head
  bool by_heads = false;
};

Job parse(const Options& options) {
  const auto need = [](const std::string& text, const char* option, const Range& range) {
    if (text.empty()) refuse(fmt::format("plan needs {}; allowed: {}", option, range.words()));
  };
  need(options.length, "--length", length_range);
  if (options.sigma.empty() == options.heads.empty())
    refuse(fmt::format("plan takes either --sigma ({}) or --heads ({}), and one of them",
                       sigma_range.words(), heads_range.words()));
  need(options.error, "--error", error_range);
  need(options.confidence, "--confidence", confidence_range);

  Job job;
  job.request.length = parse_count("--length", options.length, length_range);
  const Decimal error = parse_decimal("--error", options.error, error_range);
  const Decimal confidence = parse_decimal("--confidence", options.confidence, confidence_range);
  const Decimal logit = parse_decimal("--logit-bound", options.logit_bound, logit_range);
  job.error = error.text;
  job.confidence = confidence.text;
  job.logit_bound = logit.text;
  job.request.error = error.exact;
  job.request.delta = 1 - confidence.exact;
  if (job.request.delta * power_of_ten(100) < 1)
    refuse("--confidence: " + shown(options.confidence) +
           " is too near 1; allowed: above 0, at most 1 - 1e-100");
  job.request.norm = parse_norm(options.norm);
  job.request.logit_bound = logit.exact;
  job.request.causal = options.causal;
  job.request.head_dim = parse_count("--head-dim", options.head_dim, head_dim_range);
  if (!options.sigma.empty()) {
    const Decimal sigma = parse_decimal("--sigma", options.sigma, sigma_range);
    job.sigmas.emplace_back(sigma.text, sigma.exact);
    return job;
  }
  const auto heads = static_cast<int>(parse_count("--heads", options.heads, heads_range));
  job.by_heads = true;
  job.request.delta /= heads;  // union bound: all heads at once
  for (const double sigma : reference::alibi_decay_lengths(heads))
    job.sigmas.emplace_back(fmt::format("{:.6g}", sigma), Rational(sigma));
  return job;
}

// ---- text ------------------------------------------------------------------------------------

std::string number(double x) {
  return x < 1e6 ? fmt::format("{:.{}f}", x, x < 100 && x != std::floor(x) ? 2 : 0)
                 : fmt::format("{:.3e}", x);
}

std::string bytes(double x) {
  static constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  for (; x >= 1024 && unit + 1 < std::size(units); x /= 1024) ++unit;
  return x < 1e5 ? fmt::format("{:.4g} {}", x, units[unit])
                 : fmt::format("{:.3e} {}", x, units[unit]);
}

/// "3.2 times less than", "1.5 times more than"
std::string against(double pairs, double other) {
  if (pairs == other) return "the same as";
  const double ratio = pairs < other ? other / pairs : pairs / other;
  const std::string times =
      100 <= ratio && ratio < 1e6 ? fmt::format("{:.0f}", ratio) : fmt::format("{:.3g}", ratio);
  return times + (pairs < other ? " times less than" : " times more than");
}

double operations(const Job& job, double pairs) {
  return 4 * pairs * static_cast<double>(job.request.head_dim);
}

std::string statement(const Job& job) {
  switch (job.request.norm) {
    case Norm::max:
      return fmt::format("no entry of M~ differs from L* by more than {}", job.error);
    case Norm::spectral:
      return fmt::format("||L* - M~|| <= {} ||L*|| in the spectral norm", job.error);
    case Norm::output:
      break;
  }
  return fmt::format(
      "no output differs from exact ALiBi attention by more than {} max|V|, for all Q, K, V at "
      "once with |logit| <= {}",
      job.error, job.logit_bound);
}

void print_header(const Job& job) {
  fmt::print(
      "Sampling plan for Positional LSH attention: L* is the ALiBi weight matrix with entries\n"
      "exp(-|i-j|/sigma), M~ the mean of s random block masks that stands in for it.\n\n"
      "Context length {}, {}, head_dim {}.\n"
      "Wanted, with probability at least {} over the masks{}:\n  {}.\n\n",
      job.request.length, job.request.causal ? "causal" : "bidirectional", job.request.head_dim,
      job.confidence, job.by_heads ? ", in all heads at once" : "", statement(job));
}

void line(const char* name, const std::string& value, const std::string& meaning) {
  fmt::print("  {:<22}{:>13}  {}\n", name, value, meaning);
}

void print_single(const Job& job, const Plan& plan) {
  const auto length = static_cast<double>(job.request.length);
  fmt::print("sigma {}\n", plan.sigma);
  line("samples s", std::to_string(plan.samples), "masks to draw; proven to be enough");
  line("error bound", fmt::format("{:.6g}", plan.error_bound),
       "the proven bound at this s; with one mask less it exceeds the wanted error");
  line("largest block", std::to_string(plan.largest_block),
       fmt::format("no block of any mask is longer, with probability {}", job.confidence));
  line("blocks per mask", number(plan.expected_blocks), "expected");

  fmt::print("\nCost per head (a pair is one query meeting one key in one mask)\n");
  line("pairs, expected", number(plan.pairs_expected),
       fmt::format("{} per query", number(plan.pairs_expected / length)));
  line("pairs, bound", number(plan.pairs_high),
       fmt::format("not exceeded with probability {}", job.confidence));
  line("operations", number(operations(job, plan.pairs_expected)),
       "expected; multiplications and additions, 4 head_dim per pair");

  fmt::print("\nAgainst attention without sampling\n");
  line("dense exact, pairs", number(plan.dense_pairs),
       fmt::format("sampling does {} dense exact attention",
                   against(plan.pairs_expected, plan.dense_pairs)));
  line("window radius", std::to_string(plan.window_radius),
       "exact ALiBi over |i-j| <= radius has at most the wanted error, for certain");
  line(
      "window, pairs", number(plan.window_pairs),
      fmt::format("sampling does {} that window", against(plan.pairs_expected, plan.window_pairs)));

  fmt::print("\nMemory per head\n");
  line("partitions", bytes(plan.partition_bytes),
       "expected; 8 bytes per block start (or 16 bytes per mask as width and shift)");
  line("Q, K, V, O", bytes(plan.tensor_bytes), "float32");
}

void print_heads(const Job& job, const std::vector<Plan>& plans, const Plan& sum) {
  fmt::print("{:>5} {:>10} {:>13} {:>11} {:>14} {:>12} {:>12} {:>13} {:>12}\n", "head", "sigma",
             "samples s", "error bound", "largest block", "pairs", "operations", "window radius",
             "window pairs");
  for (std::size_t h = 0; h < plans.size(); ++h) {
    const Plan& plan = plans[h];
    fmt::print("{:>5} {:>10} {:>13} {:>11.5g} {:>14} {:>12} {:>12} {:>13} {:>12}\n", h, plan.sigma,
               plan.samples, plan.error_bound, plan.largest_block, number(plan.pairs_expected),
               number(operations(job, plan.pairs_expected)), plan.window_radius,
               number(plan.window_pairs));
  }
  fmt::print("{:>5} {:>10} {:>13} {:>11} {:>14} {:>12} {:>12} {:>13} {:>12}\n\n", "all", "",
             sum.samples, "", sum.largest_block, number(sum.pairs_expected),
             number(operations(job, sum.pairs_expected)), "", number(sum.window_pairs));
  fmt::print(
      "samples s: masks to draw, proven to be enough; with one less the error bound is too large.\n"
      "largest block: no block of any mask is longer, all heads at once, with probability {}.\n"
      "pairs: expected meetings of a query and a key, over all masks; {} per query in all.\n"
      "operations: multiplications and additions, 4 head_dim per pair.\n"
      "window: exact ALiBi over |i-j| <= radius has at most the wanted error, for certain;\n"
      "  sampling does {} these windows.\n"
      "Dense exact attention meets {} pairs; sampling does {} that.\n"
      "Memory: partitions {} expected (8 bytes per block start), Q, K, V, O {} in float32.\n",
      job.confidence, number(sum.pairs_expected / static_cast<double>(job.request.length)),
      against(sum.pairs_expected, sum.window_pairs), number(sum.dense_pairs),
      against(sum.pairs_expected, sum.dense_pairs), bytes(sum.partition_bytes),
      bytes(sum.tensor_bytes));
}

void print_notes(const Job& job) {
  fmt::print("\n");
  if (job.request.norm == Norm::spectral)
    fmt::print(
        "The bound is proven, not tight: measured errors are about 4 to 8 times below it. As the\n"
        "error falls like 1/sqrt(s), some 15 to 60 times fewer masks do in practice (unproven).\n");
  if (job.request.norm == Norm::max)
    fmt::print(
        "The bound (Hoeffding, all pairs at once) is proven, not tight: far pairs, hardly ever in\n"
        "one block, count in it like near ones.\n");
  if (job.request.norm == Norm::output)
    fmt::print(
        "The bound is proven, not tight: it lets all entries of a row err at once and the logits\n"
        "be the worst possible, a factor exp(2 |logit|). Typical errors are far smaller.\n");
  if (job.request.causal && job.request.norm == Norm::spectral)
    fmt::print(
        "The spectral statement is about the whole of L* - M~, not about its causal half.\n");
}

// ---- JSON ------------------------------------------------------------------------------------

nlohmann::ordered_json plan_json(const Job& job, const Plan& plan) {
  return {{"sigma", plan.sigma},
          {"samples", plan.samples},
          {"error_bound", plan.error_bound},
          {"largest_block", plan.largest_block},
          {"expected_blocks_per_mask", plan.expected_blocks},
          {"pairs_expected", plan.pairs_expected},
          {"pairs_bound", plan.pairs_high},
          {"operations_expected", operations(job, plan.pairs_expected)},
          {"operations_bound", operations(job, plan.pairs_high)},
          {"dense_pairs", plan.dense_pairs},
          {"window_radius", plan.window_radius},
          {"window_pairs", plan.window_pairs},
          {"partition_bytes_expected", plan.partition_bytes},
          {"tensor_bytes", plan.tensor_bytes}};
}

void print_json(const Job& job, const Options& options, const std::vector<Plan>& plans,
                const Plan& sum) {
  auto heads = nlohmann::ordered_json::array();
  for (const auto& plan : plans) heads.push_back(plan_json(job, plan));
  nlohmann::ordered_json totals = plan_json(job, sum);
  for (const char* key : {"sigma", "error_bound", "expected_blocks_per_mask", "window_radius"})
    totals.erase(key);
  nlohmann::ordered_json object{{"length", job.request.length},
                                {"norm", options.norm},
                                {"error", job.error},
                                {"confidence", job.confidence},
                                {"delta_per_head", job.request.delta.str()},
                                {"causal", job.request.causal},
                                {"head_dim", job.request.head_dim}};
  if (job.request.norm == Norm::output) object["logit_bound"] = job.logit_bound;
  object["heads"] = heads;
  object["totals"] = totals;
  fmt::print("{}\n", object.dump(2));
}

int run(const Options& options) {
  const Job job = parse(options);
  std::vector<Plan> plans;
  Plan sum{};
  for (const auto& [text, exact] : job.sigmas) {
    const Plan plan = make_plan(job.request, text, exact);
    plans.push_back(plan);
    sum.samples += plan.samples;
    sum.largest_block = std::max(sum.largest_block, plan.largest_block);
    sum.pairs_expected += plan.pairs_expected;
    sum.pairs_high += plan.pairs_high;
    sum.dense_pairs += plan.dense_pairs;
    sum.window_pairs += plan.window_pairs;
    sum.partition_bytes += plan.partition_bytes;
    sum.tensor_bytes += plan.tensor_bytes;
  }
  if (options.json) {
    print_json(job, options, plans, sum);
    return ok;
  }
  print_header(job);
  if (job.by_heads)
    print_heads(job, plans, sum);
  else
    print_single(job, plans.front());
  print_notes(job);
  return ok;
}

}  // namespace

void add_plan(CLI::App& app, int& status) {
  auto* command = app.add_subcommand(
      "plan", "How many masks an error takes, with proof; block bound, cost and memory.");
  const auto options = std::make_shared<Options>();
  const auto add = [&](const char* name, std::string& target, const std::string& meaning,
                       const Range& range) {
    return command->add_option(name, target, fmt::format("{} ({})", meaning, range.words()));
  };
  add("--length", options->length, "context length n", length_range);
  add("--sigma", options->sigma, "decay length in positions, 1/slope", sigma_range);
  add("--heads", options->heads, "instead of --sigma: the ALiBi slopes of H heads", heads_range);
  add("--error", options->error, "the largest error allowed", error_range);
  add("--confidence", options->confidence, "probability that it holds", confidence_range);
  command
      ->add_option("--norm", options->norm,
                   "max: entries of L* - M~. spectral: ||L* - M~|| relative to ||L*||. output: "
                   "attention outputs relative to max|V|")
      ->capture_default_str();
  add("--logit-bound", options->logit_bound, "with --norm output: |scale q.k| is at most this",
      logit_range)
      ->capture_default_str();
  command->add_flag("--causal", options->causal, "keys after the query are masked");
  add("--head-dim", options->head_dim, "length of a query, key and value vector", head_dim_range)
      ->capture_default_str();
  command->add_flag("--json", options->json, "print one JSON object");
  command->footer(
      "Examples:\n"
      "  plsh plan --length 100000 --sigma 8 --error 0.1 --confidence 0.99\n"
      "  plsh plan --length 1e12 --sigma 8 --error 0.05 --confidence 0.999 --norm max --causal\n"
      "  plsh plan --length 4096 --heads 8 --error 0.5 --confidence 0.9 --json\n"
      "\nExit status: 0 printed, 2 wrong use or a request that cannot be met.");
  command->callback([options, &status] { status = run(*options); });
}

}  // namespace plsh::cli
