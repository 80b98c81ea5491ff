/// \file
/// Runs each kernel on inputs whose results are exact, and tells whether they are right.
#pragma once

#include <plsh/optimized/cuda/device/launch.cuh>
#include <plsh/optimized/cuda/host/global_array.hpp>
#include <plsh/optimized/cuda/host/options.hpp>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

#include "kernels/multiply.cuh"
#include "kernels/pipeline.cuh"
#include "kernels/ring.cuh"
#include "kernels/sums.cuh"

namespace plsh::optimized::cuda {

using host::GlobalArray;

inline constexpr std::array<host::Schedule, 3> kSchedules{{{host::Schedule::Order::forward, 0},
                                                           {host::Schedule::Order::reverse, 0},
                                                           {host::Schedule::Order::random, 1}}};

/// Such as "random2".
inline std::string schedule_name(host::Schedule schedule) {
  const std::array names{"forward", "reverse", "random"};
  return names[static_cast<std::size_t>(schedule.order)] + std::to_string(schedule.seed);
}

/// Integers from low to high, so that sums in f32 are exact.
template <class T>
std::vector<T> integers(int count, int low, int high) {
  std::mt19937 random(static_cast<unsigned>(count));
  std::uniform_int_distribution<int> draw(low, high);
  std::vector<T> result(static_cast<std::size_t>(count));
  for (T& value : result) value = static_cast<T>(draw(random));
  return result;
}

/// Element i of a vector, with a signed index.
template <class T>
const T& at(const std::vector<T>& values, int i) {
  return values[static_cast<std::size_t>(i)];
}

template <class... T>
bool guards_are_intact(GlobalArray<T>&... arrays) {
  return (arrays.guards_are_intact() && ...);
}

template <Planted planted = Planted::none>
bool sum_tree_is_right(int n, int threads) {
  const std::vector<float> in = integers<float>(n, -9, 9);
  const int blocks = (n + threads - 1) / threads;
  std::vector<float> sums(static_cast<std::size_t>(blocks));
  std::vector<float> doubled;
  for (int i = 0; i < n; ++i) {
    sums[static_cast<std::size_t>(i / threads)] += at(in, i);
    doubled.push_back(2 * at(in, i));
  }

  GlobalArray<float> from(in);
  GlobalArray<float> to_sums(blocks);
  GlobalArray<float> to(n);
  const int elements = threads + (planted == Planted::shared_arrays_differ ? 8 : 0);
  launch<sum_tree<planted>>({.grid = {blocks},
                             .threads = threads,
                             .shared_bytes = static_cast<std::size_t>(elements) * sizeof(float)},
                            from.data(), n, to_sums.data(), to.data());
  return to_sums.values() == sums && to.values() == doubled && guards_are_intact(from, to_sums, to);
}

template <Planted planted = Planted::none>
bool sum_warp_is_right(int n, int threads) {
  const std::vector<int> in = integers<int>(n, -1, 1);
  int sum = 0;
  std::vector<unsigned> nonzero(static_cast<std::size_t>((n + kWarpSize - 1) / kWarpSize));
  for (int i = 0; i < n; ++i) {
    sum += at(in, i);
    if (at(in, i) != 0) nonzero[static_cast<std::size_t>(i / kWarpSize)] |= 1U << (i % kWarpSize);
  }

  const int blocks = (n + threads - 1) / threads;
  GlobalArray<int> from(in);
  GlobalArray<int> to_sum(std::vector<int>{0});
  GlobalArray<unsigned> to_nonzero(static_cast<int>(nonzero.size()));
  GlobalArray<int> to_blocks(1);
  launch<sum_warp<planted>>({.grid = {blocks}, .threads = threads}, from.data(), n, to_sum.data(),
                            to_nonzero.data(), to_blocks.data());
  return to_sum.values()[0] == sum && to_nonzero.values() == nonzero &&
         to_blocks.values()[0] == blocks && guards_are_intact(from, to_sum, to_nonzero, to_blocks);
}

template <Planted planted = Planted::none>
bool histogram_is_right(int n) {
  const std::vector<int> in = integers<int>(n, 0, kWarpSize - 1);
  std::vector<int> counts(kWarpSize);
  for (const int value : in) ++counts[static_cast<std::size_t>(value)];

  GlobalArray<int> from(in);
  GlobalArray<int> to_counts(kWarpSize);
  GlobalArray<int> most(std::vector<int>{0});
  launch<histogram<planted>>({.shared_bytes = kWarpSize * sizeof(int)}, from.data(), n,
                             to_counts.data(), most.data());
  return to_counts.values() == counts &&
         most.values()[0] == *std::max_element(in.begin(), in.end()) &&
         guards_are_intact(from, to_counts, most);
}

inline bool transpose_is_right(int rows, int columns) {
  const std::vector<float> in = integers<float>(rows * columns, -99, 99);
  std::vector<float> expected;
  for (int column = 0; column < columns; ++column)
    for (int row = 0; row < rows; ++row) expected.push_back(at(in, row * columns + column));

  GlobalArray<float> from(in);
  GlobalArray<float> to(rows * columns);
  launch<transpose<32>>({.grid = {(columns + 31) / 32, (rows + 31) / 32},
                         .threads = 256,
                         .shared_bytes = 32 * 33 * sizeof(float)},
                        from.data(), rows, columns, to.data());
  return to.values() == expected && guards_are_intact(from, to);
}

/// sums[e] = the sum of in[k width + e] over k.
inline std::vector<float> sums_of_tiles(const std::vector<float>& in, int width) {
  std::vector<float> result(static_cast<std::size_t>(width));
  for (std::size_t i = 0; i < in.size(); ++i) result[i % result.size()] += in[i];
  return result;
}

template <Planted planted = Planted::none>
bool sum_pipeline_is_right(int n, int threads) {
  const std::vector<float> in = integers<float>(n, -9, 9);
  const int width = 4 * threads;
  GlobalArray<float> from(in);
  GlobalArray<float> to(width);
  launch<sum_pipeline<planted>>(
      {.threads = threads, .shared_bytes = 2 * static_cast<std::size_t>(width) * sizeof(float)},
      from.data(), n, to.data());
  return to.values() == sums_of_tiles(in, width) && guards_are_intact(from, to);
}

template <Planted planted = Planted::none>
bool sum_ring_is_right(int tiles) {
  const std::vector<float> in = integers<float>(tiles * kRingTile, -9, 9);
  GlobalArray<float> from(in);
  GlobalArray<float> to(kRingTile);
  launch<sum_ring<planted>>({.threads = kWarpSize + kRingTile, .shared_bytes = kRingBytes},
                            from.data(), tiles, to.data());
  return to.values() == sums_of_tiles(in, kRingTile) && guards_are_intact(from, to);
}

/// An integer as an element of a matrix.
template <class T>
T element_from(int value) {
  if constexpr (std::is_same_v<T, std::uint8_t>)
    return static_cast<T>(value);
  else
    return round_to<T>(static_cast<float>(value));
}

/// The product of matrices of elements T, of integers that are exact in them.
template <class T, bool b_in_rows, Planted planted = Planted::none>
bool multiply_is_right(int terms) {
  constexpr int kSize = kProductSize;
  constexpr bool kBytes = std::is_same_v<T, std::uint8_t>;
  using C = std::conditional_t<kBytes, std::int32_t, float>;
  const std::vector<int> a = integers<int>(kSize * terms, kBytes ? 0 : -9, kBytes ? 255 : 9);
  const std::vector<int> b = integers<int>(terms * kSize, kBytes ? 0 : -7, kBytes ? 255 : 7);
  std::vector<C> expected;
  for (int row = 0; row < kSize; ++row)
    for (int column = 0; column < kSize; ++column) {
      int sum = 0;
      for (int k = 0; k < terms; ++k)
        sum += at(a, row * terms + k) * at(b, b_in_rows ? k * kSize + column : column * terms + k);
      expected.push_back(static_cast<C>(sum));
    }

  const auto elements = [](const std::vector<int>& values) {
    std::vector<T> result;
    for (const int value : values) result.push_back(element_from<T>(value));
    return result;
  };
  GlobalArray<T> from_a(elements(a));
  GlobalArray<T> from_b(elements(b));
  GlobalArray<C> to(kSize * kSize);
  launch<multiply<T, C, b_in_rows, planted>>({.shared_bytes = kProductBytes}, from_a.data(),
                                             from_b.data(), to.data(), terms);
  return to.values() == expected && guards_are_intact(from_a, from_b, to);
}

}  // namespace plsh::optimized::cuda
