// The device layer that only sm_90 and later have: mbarriers and bulk copies.
#include <plsh/optimized/cuda/device/launch.cuh>

#include "kernels/ring.cuh"

namespace plsh::optimized::cuda {

void launch_ring(const float* in, int tiles, float* out, Stream stream) {
  launch<sum_ring<Planted::none>>({.threads = 128, .shared_bytes = kRingBytes, .stream = stream},
                                  in, tiles, out);
}

}  // namespace plsh::optimized::cuda
