// Kernels that use all of the device layer, in every schedule, against plain loops.
#include <gtest/gtest.h>

#include "cases.hpp"

namespace plsh::optimized::cuda {
namespace {

class InEverySchedule : public testing::TestWithParam<host::Schedule> {
 private:
  host::ScopedOptions options_{{.schedule = GetParam()}};
};

TEST_P(InEverySchedule, TreesOfSums) {
  for (const int n : {1, 31, 32, 33, 128, 200, 1000})
    for (const int threads : {32, 64, 128}) EXPECT_TRUE(sum_tree_is_right(n, threads)) << n;
}

TEST_P(InEverySchedule, ShufflesBallotsAndAtomics) {
  for (const int n : {1, 31, 32, 33, 128, 200, 1000})
    for (const int threads : {32, 96}) EXPECT_TRUE(sum_warp_is_right(n, threads)) << n;
}

TEST_P(InEverySchedule, AtomicsInSharedMemory) {
  for (const int n : {1, 32, 333}) EXPECT_TRUE(histogram_is_right(n)) << n;
}

TEST_P(InEverySchedule, TransposesThroughSharedMemory) {
  for (const int rows : {1, 32, 45})
    for (const int columns : {1, 31, 70})
      EXPECT_TRUE(transpose_is_right(rows, columns)) << rows << " x " << columns;
}

TEST_P(InEverySchedule, PipelinesOfAsynchronousCopies) {
  for (const int n : {1, 4, 127, 128, 129, 258, 510, 1024})
    EXPECT_TRUE(sum_pipeline_is_right(n, 32)) << n;
  EXPECT_TRUE(sum_pipeline_is_right(2345, 96));
}

TEST_P(InEverySchedule, RingsOfBulkCopies) {
  for (const int tiles : {1, 2, 3, 4, 7, 20}) EXPECT_TRUE(sum_ring_is_right(tiles)) << tiles;
}

TEST_P(InEverySchedule, ProductsOfMatrices) {
  for (const int terms : {32, 96}) {
    EXPECT_TRUE((multiply_is_right<bf16, false>(terms)));
    EXPECT_TRUE((multiply_is_right<bf16, true>(terms)));
    EXPECT_TRUE((multiply_is_right<f16, false>(terms)));
    EXPECT_TRUE((multiply_is_right<f16, true>(terms)));
    EXPECT_TRUE((multiply_is_right<std::uint8_t, false>(terms)));
  }
}

INSTANTIATE_TEST_SUITE_P(Schedules, InEverySchedule, testing::ValuesIn(kSchedules),
                         [](const auto& schedule) { return schedule_name(schedule.param); });

}  // namespace
}  // namespace plsh::optimized::cuda
