/// \file
/// What the device layer calls when there is no GPU. Kernels do not call it themselves; each
/// function is documented where the device layer offers it.
#pragma once

#include <plsh/optimized/cuda/device/dialect.cuh>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace plsh::optimized::cuda {
struct Mbarrier;
}

namespace plsh::optimized::cuda::host {

struct KernelLaunch {
  std::string kernel;  ///< its name, for reports
  Grid grid;
  int threads;
  std::size_t shared_bytes;
};

/// Calls `thread` once for each thread of each block. One launch runs at a time. Throws Fault,
/// std::invalid_argument for a shape that no GPU accepts, and whatever `thread` throws.
void run(const KernelLaunch& launch, const std::function<void()>& thread);

/// The name of a function, with its template arguments, as the compiler writes it.
template <auto Kernel>
std::string kernel_name() {
  // GCC: "... [with auto Kernel = NAME; ...]", Clang: "... [Kernel = &NAME]".
  const std::string_view text = __PRETTY_FUNCTION__;
  const std::string_view from = "Kernel = ";
  const std::size_t begin = text.find_first_not_of('&', text.find(from) + from.size());
  return std::string(text.substr(begin, text.find_first_of(";]", begin) - begin));
}

/// The thread that runs.
struct Position {
  int thread;
  int threads;
  BlockIndex block;
  Grid grid;
};
extern Position position;

void* shared_array(std::size_t offset, std::size_t bytes, std::size_t alignment, Site site);

void block_barrier(Site site);

std::uint32_t shfl_xor(std::uint32_t value, int lane_mask, Site site);
std::uint32_t ballot(bool predicate, Site site);
void sync_warp(Site site);

/// c is [tiles][4], a is [4], b is [tiles][2]; likewise below.
void mma_bf16(float* c, const std::uint32_t* a, const std::uint32_t* b, int tiles, Site site);
void mma_f16(float* c, const std::uint32_t* a, const std::uint32_t* b, int tiles, Site site);
void mma_u8(std::int32_t* c, const std::uint32_t* a, const std::uint32_t* b, int tiles, Site site);
void ldmatrix(std::uint32_t* fragment, const void* row, int matrices, bool transposed, Site site);

void cp_async(void* to, const void* from, int valid_bytes, Site site);
void cp_async_commit();
void cp_async_wait(int groups_left);

void mbarrier_init(Mbarrier* barrier, int arrivals, Site site);
void mbarrier_arrive(Mbarrier* barrier, int expected_bytes, Site site);
void mbarrier_wait(Mbarrier* barrier, int parity, Site site);
void bulk_copy(void* to, const void* from, int bytes, Mbarrier* barrier, Site site);

}  // namespace plsh::optimized::cuda::host
