// The optimized implementation under Google Benchmark: for profiling, and for comparing two
// versions of it. `plsh bench` is what compares forms of attention.
#include <benchmark/benchmark.h>

#include "problem.hpp"

namespace plsh::bench {
namespace {

Shape shape_of(const ::benchmark::State& state) {
  Shape shape;
  shape.length = state.range(0);
  shape.sigmas = {static_cast<double>(state.range(1))};
  return shape;
}

void run(::benchmark::State& state, Form::Kind kind, bool backward) {
  Problem problem(shape_of(state), 1);
  const Form form{kind, 3.5};
  problem.forward(form, 1);
  for (auto _ : state)
    state.SetIterationTime(backward ? problem.backward(form, 1) : problem.forward(form, 1));
  state.counters["pairs"] = ::benchmark::Counter(
      problem.useful_pairs(form),
      ::benchmark::Counter::kIsIterationInvariantRate | ::benchmark::Counter::kAvgThreads);
}

void problems(::benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"length", "sigma"})->ArgsProduct({{8192}, {4, 32, 256}});
  benchmark->UseManualTime()->Unit(::benchmark::kMillisecond);
}

BENCHMARK_CAPTURE(run, fused, Form::Kind::fused, false)->Apply(problems);
BENCHMARK_CAPTURE(run, fused_backward, Form::Kind::fused, true)->Apply(problems);
BENCHMARK_CAPTURE(run, window, Form::Kind::window, false)->Apply(problems);
BENCHMARK_CAPTURE(run, window_backward, Form::Kind::window, true)->Apply(problems);

}  // namespace
}  // namespace plsh::bench

BENCHMARK_MAIN();
