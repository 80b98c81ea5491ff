/// \file
/// Starting a kernel.
#pragma once

#include <cstddef>

#include "dialect.cuh"

#if defined(__CUDACC__)
#include <cuda_runtime.h>

#include <stdexcept>
#include <string>
#else
#include <plsh/optimized/cuda/host/executor.hpp>
#endif

namespace plsh::optimized::cuda {

#if defined(__CUDACC__)
using Stream = cudaStream_t;
#else
/// The executor has no streams: a launch returns when the kernel has ended.
using Stream = std::nullptr_t;
#endif

struct LaunchShape {
  Grid grid{};
  int threads = kWarpSize;       ///< of a block: a multiple of 32, at most 1024
  std::size_t shared_bytes = 0;  ///< the sum of the arrays that the kernel takes (shared.cuh)
  Stream stream{};
};

/// launch<kernel>(shape, arguments...) runs `kernel` once for each thread of each block.
///
/// On the GPU it returns when the kernel is queued, and throws std::runtime_error when it could not
/// be. On the host it returns when the kernel has ended, and throws host::Fault, or
/// std::invalid_argument for a shape that no GPU accepts.
template <auto Kernel, class... Arguments>
void launch(const LaunchShape& shape, Arguments... arguments) {
#if defined(__CUDACC__)
  const auto check = [](cudaError_t status) {
    if (status != cudaSuccess)
      throw std::runtime_error(std::string("a kernel was not launched: ") +
                               cudaGetErrorString(status));
  };
  // More than 48 KiB must be asked for (CUDA C++ Programming Guide, "Shared Memory").
  if (shape.shared_bytes > 48 * 1024)
    check(cudaFuncSetAttribute(Kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(shape.shared_bytes)));
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(shape.grid.x), static_cast<unsigned>(shape.grid.y),
                        static_cast<unsigned>(shape.grid.z));
  config.blockDim = dim3(static_cast<unsigned>(shape.threads));
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = shape.stream;
  check(cudaLaunchKernelEx(&config, Kernel, arguments...));
#else
  host::run({host::kernel_name<Kernel>(), shape.grid, shape.threads, shape.shared_bytes},
            [&] { Kernel(arguments...); });
#endif
}

}  // namespace plsh::optimized::cuda
