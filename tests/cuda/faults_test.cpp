// Faults planted in kernels, and which layer finds each: wrong values, the executor,
// AddressSanitizer or ThreadSanitizer.
//
// Each is run in a child process in every schedule. Without sanitizers, exactly the layers that are
// named among values and executor must find it, each in at least one schedule. A sanitizer that is
// named must find it in every schedule in which the executor does not; one that is not named must
// stay silent.
#include <gtest/gtest.h>
#include <plsh/optimized/cuda/host/fault.hpp>

#include <csignal>
#include <cstdio>
#include <map>
#include <ostream>
#include <set>
#include <string>

#include "cases.hpp"
#include "child.hpp"

namespace plsh::optimized::cuda {
namespace {

using P = Planted;

// As exit statuses; the sanitizers get theirs from sanitizers.cpp.
enum class Layer { none = 0, values = 10, executor = 11, asan = 12, tsan = 13 };
using Layers = std::set<Layer>;
using enum Layer;

void PrintTo(Layer layer, std::ostream* out) {
  static const std::map<Layer, const char*> names{{none, "nothing"},
                                                  {values, "values"},
                                                  {executor, "executor"},
                                                  {asan, "asan"},
                                                  {tsan, "tsan"}};
  const auto name = names.find(layer);
  *out << (name == names.end() ? "crash" : name->second);
}

constexpr Layer kSanitizer = PLSH_CUDA_SANITIZER;  // that this program is built with

struct PlantedFault {
  const char* name;
  bool (*is_right)();
  Layers found_by;
  const char* report;  ///< part of what the executor says, if it finds it
};
void PrintTo(const PlantedFault& fault, std::ostream* out) { *out << fault.name; }

#define PLSH_PLANTED(case_, fault, ...)       \
  PlantedFault {                              \
#fault, [] { return case_; }, __VA_ARGS__ \
  }
#define PLSH_TREE(fault, ...) PLSH_PLANTED(sum_tree_is_right<P::fault>(200, 64), fault, __VA_ARGS__)
#define PLSH_WARP(fault, ...) PLSH_PLANTED(sum_warp_is_right<P::fault>(200, 64), fault, __VA_ARGS__)
#define PLSH_HISTOGRAM(fault, ...) \
  PLSH_PLANTED(histogram_is_right<P::fault>(333), fault, __VA_ARGS__)
#define PLSH_PIPELINE(fault, ...) \
  PLSH_PLANTED(sum_pipeline_is_right<P::fault>(1150, 64), fault, __VA_ARGS__)
#define PLSH_RING(fault, ...) PLSH_PLANTED(sum_ring_is_right<P::fault>(8), fault, __VA_ARGS__)
#define PLSH_MULTIPLY(fault, ...) \
  PLSH_PLANTED((multiply_is_right<bf16, true, P::fault>(64)), fault, __VA_ARGS__)

const PlantedFault kFaults[] = {
    PLSH_TREE(barrier_missing_after_store, {values, tsan}, ""),
    PLSH_TREE(barrier_missing_between_steps, {values, tsan}, ""),
    PLSH_TREE(barrier_replaced_by_warp_barrier, {values, tsan}, ""),
    PLSH_TREE(divergent_barrier, {executor}, "waits at another"),
    PLSH_TREE(return_before_barrier, {executor}, "let every thread come to every barrier"),
    PLSH_TREE(tail_read_unguarded, {values, asan}, ""),
    PLSH_TREE(tail_write_unguarded, {values, asan}, ""),
    PLSH_TREE(too_many_elements_shared, {executor}, "launch with more shared_bytes"),
    PLSH_TREE(shared_index_past_the_end, {executor, asan}, "outside of the shared array"),
    PLSH_TREE(shared_index_before_the_beginning, {executor, asan}, "outside of the shared array"),
    PLSH_TREE(shared_arrays_differ, {executor}, "where another thread took one"),
    PLSH_TREE(shared_array_misaligned, {executor}, "greater alignment first"),

    PLSH_WARP(lane_missing_in_shuffle, {executor}, "let all 32 lanes come to every collective"),
    PLSH_WARP(lane_returned_before_shuffle, {executor}, "let all 32 lanes come"),
    PLSH_WARP(shuffles_of_different_lines, {executor}, "let all 32 lanes come to the same call"),
    PLSH_WARP(shuffle_and_barrier, {executor}, "let all 32 lanes come to both"),
    PLSH_WARP(lane_mask_too_large, {executor}, "lane_mask is not in 0..31"),
    PLSH_WARP(plain_addition_of_lanes, {tsan}, ""),
    PLSH_WARP(plain_addition_of_blocks, {tsan}, ""),
    PLSH_WARP(blocks_write_one_element, {tsan}, ""),

    PLSH_HISTOGRAM(counts_not_initialized, {values}, ""),
    PLSH_HISTOGRAM(warp_barrier_missing, {values, tsan}, ""),

    PLSH_PIPELINE(wait_for_the_wrong_group, {values}, ""),
    PLSH_PIPELINE(no_barrier_after_wait, {values, tsan}, ""),
    PLSH_PIPELINE(no_barrier_before_reuse, {values, tsan}, ""),
    PLSH_PIPELINE(copy_without_group, {executor}, "in flight when its thread returns"),
    PLSH_PIPELINE(copy_in_flight_at_return, {executor}, "in flight when its thread returns"),
    PLSH_PIPELINE(copy_misaligned, {executor}, "is not aligned to 16 bytes"),
    PLSH_PIPELINE(copy_past_shared_array, {executor}, "does not lie in one shared array"),
    PLSH_PIPELINE(copy_tail_unguarded, {values, asan}, ""),
    PLSH_PIPELINE(tail_zeroed_in_flight, {executor}, "written while it was in flight"),
    PLSH_PIPELINE(read_before_wait, {values, tsan}, ""),

    PLSH_RING(no_wait_for_full, {executor, tsan}, "mbarrier"),
    PLSH_RING(no_wait_for_empty, {executor}, "arrive as often as mbarrier_init says"),
    PLSH_RING(arrive_before_reading, {tsan}, ""),
    PLSH_RING(wrong_parity, {executor, tsan}, "mbarrier"),
    PLSH_RING(too_many_arrivals, {executor}, "arrive as often as mbarrier_init says"),
    PLSH_RING(too_many_arrivals_expected, {executor}, "lacks 1 arrivals and 0 bytes"),
    PLSH_RING(too_many_bytes_expected, {executor}, "lacks 0 arrivals and 16 bytes"),
    PLSH_RING(too_few_bytes_expected, {executor}, "expect what is copied"),
    PLSH_RING(bulk_copy_misaligned, {executor}, "is not aligned to 16 bytes"),
    PLSH_RING(bulk_copy_of_odd_size, {executor}, "not a multiple of 16"),
    PLSH_RING(bulk_copy_in_flight_at_end, {values, executor, tsan},
              "in flight when the block ends"),
    PLSH_RING(bulk_copy_past_the_end, {values, asan}, ""),
    PLSH_RING(mbarrier_used_before_barrier, {executor, tsan}, "is not initialized"),
    PLSH_RING(mbarrier_not_initialized, {executor}, "is not initialized"),
    PLSH_RING(mbarrier_initialized_twice, {executor}, "has been initialized before"),
    PLSH_RING(mbarrier_written_over, {executor}, "was written over"),

    PLSH_MULTIPLY(row_misaligned, {executor}, "is not aligned to 16 bytes"),
    PLSH_MULTIPLY(matrix_not_transposed, {values}, ""),
    PLSH_MULTIPLY(fragment_registers_swapped, {values}, ""),
    PLSH_MULTIPLY(product_of_half_a_warp, {executor}, "let all 32 lanes come to the same call"),
    PLSH_MULTIPLY(no_warp_barrier_before_load, {tsan}, ""),
};

class Faults : public testing::TestWithParam<PlantedFault> {};

TEST_P(Faults, AreFoundByTheLayersNamed) {
  const PlantedFault& fault = GetParam();
  const bool sanitizer_finds = fault.found_by.contains(kSanitizer);
  Layers found;
  for (const host::Schedule& schedule : kSchedules) {
    const Ending ending = run_in_child([&] {
      const host::ScopedOptions options({.schedule = schedule});
      try {
        return static_cast<int>(fault.is_right() ? none : values);
      } catch (const host::Fault& report) {
        std::fputs(report.what(), stderr);
        return static_cast<int>(executor);
      }
    });
    const auto layer = static_cast<Layer>(ending.status);
    const std::string context = schedule_name(schedule) + ": " + ending.errors;
    if (layer == executor) {
      EXPECT_NE(ending.errors.find(fault.report), std::string::npos) << context;
      EXPECT_NE(ending.errors.find("Planted"), std::string::npos)
          << context;  // in the kernel's name
    } else if (sanitizer_finds) {
      EXPECT_EQ(layer, kSanitizer) << context;
      EXPECT_NE(ending.errors.find("kernels/"), std::string::npos) << context;
    }
    if (layer != none) found.insert(layer);
  }

  Layers expected = fault.found_by;
  expected.erase(kSanitizer == asan ? tsan : asan);
  if (kSanitizer == none) expected.erase(tsan);
  if (sanitizer_finds) {
    // It comes before the values; the executor may come first.
    expected.erase(values);
    found.insert(fault.found_by.contains(executor) ? executor : kSanitizer);
  }
  EXPECT_EQ(found, expected);
}

// The address is used, so that the recursion is not turned into a loop.
int recurse(const volatile int* above) {
  const volatile int here = *above + 1;
  return here > 0 ? recurse(&here) + here : 0;
}

__global__ void overflow_stack(int* out) {
  const volatile int zero = 0;
  out[thread_index()] = recurse(&zero);
}

TEST(Stacks, OverflowHitsTheGuardPage) {
  const Ending ending = run_in_child([] {
    GlobalArray<int> out(kWarpSize);
    launch<overflow_stack>({}, out.data());
    return 0;
  });
  EXPECT_EQ(ending.status, kSanitizer == none ? -SIGSEGV : static_cast<int>(kSanitizer));
}

INSTANTIATE_TEST_SUITE_P(Planted, Faults, testing::ValuesIn(kFaults),
                         [](const auto& fault) { return std::string(fault.param.name); });

}  // namespace
}  // namespace plsh::optimized::cuda
