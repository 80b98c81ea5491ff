// The device layer that sm_80 has: every function is compiled for the device.
#include <plsh/optimized/cuda/device/launch.cuh>

#include "kernels/multiply.cuh"
#include "kernels/pipeline.cuh"
#include "kernels/sums.cuh"

namespace plsh::optimized::cuda {
namespace {

// What the kernels of the tests do not call.
__global__ void rest(const float* in, unsigned* most, float* out, std::uint32_t* fragments) {
  const float x = in[thread_index()];
  out[0] = exp2_approx(x) + log2_approx(x) + reciprocal_approx(x);
  out[1] = to_float(round_to<bf16>(x)) + to_float(round_to<f16>(x)) + shfl_xor(x, 1);
  fragments[0] = pack(round_to<bf16>(x), round_to<bf16>(out[0])) + shfl_xor(fragments[0], 2);
  atomic_add(out, x);
  atomic_add(most, 1U);
  atomic_max(most, 3U);

  SharedMemory shared;
  auto* const rows = shared.array<char, 128>(512);
  std::uint32_t one[1];
  std::uint32_t two[2];
  std::uint32_t four[4];
  ldmatrix(one, rows);
  ldmatrix(two, rows);
  ldmatrix_transposed(one, rows);
  ldmatrix_transposed(four, rows);
  fragments[1] = one[0] + two[1] + four[3];
}

}  // namespace

void launch_all(const void* in, void* out, Stream stream) {
  const LaunchShape shape{
      .grid = {2, 3, 4}, .threads = 64, .shared_bytes = 64 * 1024, .stream = stream};
  const auto* const floats = static_cast<const float*>(in);
  const auto* const integers = static_cast<const int*>(in);
  auto* const to = static_cast<float*>(out);
  auto* const to_integers = static_cast<int*>(out);
  auto* const to_words = static_cast<std::uint32_t*>(out);
  launch<sum_tree<Planted::none>>(shape, floats, 1, to, to);
  launch<sum_warp<Planted::none>>(shape, integers, 1, to_integers, to_words, to_integers);
  launch<histogram<Planted::none>>(shape, integers, 1, to_integers, to_integers);
  launch<transpose<32>>(shape, floats, 1, 1, to);
  launch<sum_pipeline<Planted::none>>(shape, floats, 1, to);
  launch<multiply<bf16, float, false, Planted::none>>(shape, static_cast<const bf16*>(in),
                                                      static_cast<const bf16*>(in), to, 16);
  launch<multiply<f16, float, true, Planted::none>>(shape, static_cast<const f16*>(in),
                                                    static_cast<const f16*>(in), to, 16);
  launch<multiply<std::uint8_t, std::int32_t, false, Planted::none>>(
      shape, static_cast<const std::uint8_t*>(in), static_cast<const std::uint8_t*>(in),
      to_integers, 32);
  launch<rest>(shape, floats, to_words, to, to_words);
}

}  // namespace plsh::optimized::cuda
