// What the executor itself promises: shapes, names, block filter, reports, unwinding.
#include <gtest/gtest.h>
#include <plsh/optimized/cuda/device/atomics.cuh>
#include <plsh/optimized/cuda/device/barrier.cuh>
#include <plsh/optimized/cuda/device/cp_async.cuh>
#include <plsh/optimized/cuda/device/indices.cuh>
#include <plsh/optimized/cuda/device/launch.cuh>
#include <plsh/optimized/cuda/device/shared.cuh>
#include <plsh/optimized/cuda/device/warp.cuh>
#include <plsh/optimized/cuda/host/fault.hpp>
#include <plsh/optimized/cuda/host/global_array.hpp>
#include <plsh/optimized/cuda/host/options.hpp>

#include <cmath>
#include <set>
#include <stdexcept>
#include <vector>

namespace plsh::optimized::cuda {
namespace {

using host::Fault;
using host::GlobalArray;
using host::Schedule;
using host::ScopedOptions;

__global__ void write_indices(int* out) {
  const BlockIndex block = block_index();
  const Grid grid = grid_size();
  const int number = (block.z * grid.y + block.y) * grid.x + block.x;
  out[number * block_threads() + thread_index()] =
      1000 * number + kWarpSize * warp_index() + lane_index();
}

TEST(Executor, RunsEveryThreadOfEveryBlock) {
  const Grid grid{3, 2, 2};
  const int threads = 64;
  GlobalArray<int> out(12 * threads);
  launch<write_indices>({.grid = grid, .threads = threads}, out.data());
  std::vector<int> expected;
  for (int number = 0; number < 12; ++number)
    for (int thread = 0; thread < threads; ++thread) expected.push_back(1000 * number + thread);
  EXPECT_EQ(out.values(), expected);
}

TEST(Executor, RunsOnlyTheSelectedBlocks) {
  const auto selects = [](BlockIndex block) { return block.x == 2 && block.y == 1; };
  const ScopedOptions options({.selects = selects});
  GlobalArray<int> out(6 * 32);
  launch<write_indices>({.grid = {3, 2}}, out.data());
  for (int i = 0; i < 6 * 32; ++i) EXPECT_EQ(out.data()[i], i / 32 == 5 ? 5000 + i % 32 : -1) << i;
}

__global__ void write_last(std::int64_t* out) {
  if (thread_index() == 0)
    out[0] = std::int64_t{block_index().x} * block_threads() + thread_index();
}

TEST(Executor, GridsMayBeAsLargeAsThoseOfTheDevice) {
  const int blocks = 4'000'000;
  const auto selects = [](BlockIndex block) { return block.x == blocks - 1; };
  const ScopedOptions options({.selects = selects});
  GlobalArray<std::int64_t> out(1);
  launch<write_last>({.grid = {blocks}, .threads = 1024}, out.data());
  EXPECT_EQ(out.data()[0], std::int64_t{blocks - 1} * 1024);
}

TEST(Executor, SelectingNoBlockIsAnError) {
  const ScopedOptions options({.selects = [](BlockIndex) { return false; }});
  GlobalArray<int> out(32);
  EXPECT_THROW(launch<write_indices>({}, out.data()), std::invalid_argument);
}

TEST(Executor, RefusesShapesThatNoDeviceAccepts) {
  GlobalArray<int> out(32);
  const LaunchShape shapes[] = {{.threads = 0},          {.threads = 33},
                                {.threads = 1056},       {.grid = {0}},
                                {.grid = {1, 65536, 1}}, {.grid = {1, 1, 65536}},
                                {.grid = {1, -1, 1}},    {.shared_bytes = 232449}};
  for (const LaunchShape& shape : shapes)
    EXPECT_THROW(launch<write_indices>(shape, out.data()), std::invalid_argument);
}

__global__ void write_order(int* next, int* order) {
  const int number = block_index().x * block_threads() + thread_index();
  order[atomic_add(next, 1)] = number;
}

std::vector<int> order_of(Schedule schedule) {
  const ScopedOptions options({.schedule = schedule});
  int next = 0;
  std::vector<int> order(3 * 64);
  launch<write_order>({.grid = {3}, .threads = 64}, &next, order.data());
  return order;
}

TEST(Executor, SchedulesAreWhatTheySay) {
  std::vector<int> numbers;
  for (int number = 0; number < 3 * 64; ++number) numbers.push_back(number);
  EXPECT_EQ(order_of({Schedule::Order::forward, 0}), numbers);
  EXPECT_EQ(order_of({Schedule::Order::reverse, 0}),
            std::vector<int>(numbers.rbegin(), numbers.rend()));

  const std::vector<int> one = order_of({Schedule::Order::random, 1});
  EXPECT_EQ(order_of({Schedule::Order::random, 1}), one);
  EXPECT_NE(order_of({Schedule::Order::random, 2}), one);
  EXPECT_NE(one, numbers);
  EXPECT_EQ(std::set<int>(one.begin(), one.end()), std::set<int>(numbers.begin(), numbers.end()));
}

// out has three numbers for each block.
__global__ void read_shared(float* out) {
  out += 3 * block_index().x;
  SharedMemory shared;
  auto* const wide = shared.array<float, 1024>(256);
  auto* const narrow = shared.array<float>(4);
  const int t = thread_index();
  if (t == 0) {
    out[0] = wide[255];
    out[1] = narrow[3];
    out[2] = static_cast<float>(reinterpret_cast<std::uintptr_t>(wide) % 1024);
  }
}

TEST(Executor, SharedMemoryIsAlignedAndNotInitialized) {
  GlobalArray<float> out(6);
  launch<read_shared>({.grid = {2}, .shared_bytes = 260 * sizeof(float)}, out.data());
  for (const float* of_block : {out.data(), out.data() + 3}) {
    EXPECT_TRUE(std::isnan(of_block[0]));
    EXPECT_TRUE(std::isnan(of_block[1]));
    EXPECT_EQ(of_block[2], 0.0f);
  }
}

struct Counted {
  explicit Counted(int* count) : count_(count) { atomic_add(count_, 1); }
  ~Counted() { atomic_add(count_, -1); }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  int* count_;
};

constexpr int kBarrierLine = __LINE__ + 5;
template <int returning>
__global__ void return_early(int* alive) {
  const Counted counted(alive);
  if (block_index().x == 1 && thread_index() == returning) return;
  block_barrier();
}

TEST(Executor, AFaultNamesKernelBlockThreadAndLine) {
  int alive = 0;
  try {
    launch<return_early<5>>({.grid = {3}, .threads = 64}, &alive);
    FAIL() << "no fault";
  } catch (const Fault& fault) {
    EXPECT_NE(fault.kernel.find("return_early<5>"), std::string::npos) << fault.kernel;
    EXPECT_EQ(fault.block, (BlockIndex{1, 0, 0}));
    EXPECT_EQ(fault.thread, 5);
    EXPECT_EQ(fault.site.line, kBarrierLine);
    const std::string report = fault.what();
    EXPECT_NE(report.find("block (1, 0, 0), thread 5"), std::string::npos) << report;
    EXPECT_NE(report.find("executor_test.cpp:" + std::to_string(kBarrierLine)), std::string::npos)
        << report;
  }
  // All threads have been unwound, and the next launch is not disturbed.
  EXPECT_EQ(alive, 0);
  launch<return_early<64>>({.grid = {3}, .threads = 64}, &alive);
  EXPECT_EQ(alive, 0);
}

__global__ void throw_in_thread(int thrower) {
  if (thread_index() == thrower) throw std::domain_error("from thread");
  block_barrier();
}

TEST(Executor, ExceptionsOfAThreadComeOutOfLaunch) {
  for (const int thrower : {0, 17, 63})
    EXPECT_THROW(launch<throw_in_thread>({.threads = 64}, thrower), std::domain_error);
}

__global__ void launch_again() { launch<throw_in_thread>({}, 99); }

TEST(Executor, KernelsDoNotLaunchKernels) {
  EXPECT_THROW(launch<launch_again>({}), std::logic_error);
}

}  // namespace
}  // namespace plsh::optimized::cuda
