/// \file
/// What every kernel header needs: CUDA's keywords for a C++ compiler that does not know them, the
/// sizes, and the place in the source that reports name.
#pragma once

#if !defined(__CUDACC__)
#define __global__
#define __device__
#define __host__
#define __launch_bounds__(...)
#endif

namespace plsh::optimized::cuda {

inline constexpr int kWarpSize = 32;

/// Blocks of a launch. 1 <= x < 2^31, 1 <= y, z < 2^16.
struct Grid {
  int x = 1;
  int y = 1;
  int z = 1;
};

/// One block of a grid, counted from 0.
struct BlockIndex {
  int x = 0;
  int y = 0;
  int z = 0;
  friend constexpr bool operator==(const BlockIndex&, const BlockIndex&) = default;
};

/// A line of the source. As a default argument, `Site::here()` is the line of the call; on the GPU
/// it is never used and costs nothing.
struct Site {
  const char* file;
  int line;

  __host__ __device__ static constexpr Site here(const char* file = __builtin_FILE(),
                                                 int line = __builtin_LINE()) {
    return {file, line};
  }
};

}  // namespace plsh::optimized::cuda
