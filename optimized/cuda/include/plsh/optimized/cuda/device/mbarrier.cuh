/// \file
/// Barriers in shared memory that count arrivals and bytes, and bulk copies that complete on them
/// (PTX ISA, "mbarrier" and "cp.async.bulk"; sm_90).
#pragma once

#include <cstdint>

#include "dialect.cuh"

#if !defined(__CUDACC__)
#include <plsh/optimized/cuda/host/executor.hpp>
#endif

namespace plsh::optimized::cuda {

/// Lives in shared memory. It goes through phases 0, 1, 2, ...; a phase ends when its arrivals and
/// its bytes are complete.
struct Mbarrier {
  std::uint64_t opaque;
};

#if defined(__CUDACC__)
__device__ inline std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}
#endif

/// Begins phase 0, which ends after `arrivals` arrivals, 1 to 2^20 - 1, like every phase after it.
/// One thread calls it; a block barrier comes before all other use.
__device__ inline void mbarrier_init(Mbarrier* barrier, int arrivals, Site site = Site::here()) {
#if defined(__CUDACC__)
  static_cast<void>(site);
  // The fence shows the barrier to the copy engine too.
  asm volatile(
      "mbarrier.init.shared::cta.b64 [%0], %1;\n"
      "fence.mbarrier_init.release.cluster;" ::"r"(shared_address(barrier)),
      "r"(arrivals)
      : "memory");
#else
  host::mbarrier_init(barrier, arrivals, site);
#endif
}

/// One arrival at the current phase. What the thread read and wrote before is done for whoever
/// waits for this phase.
__device__ inline void mbarrier_arrive(Mbarrier* barrier, Site site = Site::here()) {
#if defined(__CUDACC__)
  static_cast<void>(site);
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier))
               : "memory");
#else
  host::mbarrier_arrive(barrier, 0, site);
#endif
}

/// The same, and the phase also waits for `bytes` more bytes of bulk copies, 0 to 2^20 - 1.
__device__ inline void mbarrier_arrive_expect(Mbarrier* barrier, int bytes,
                                              Site site = Site::here()) {
#if defined(__CUDACC__)
  static_cast<void>(site);
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
      "r"(bytes)
      : "memory");
#else
  host::mbarrier_arrive(barrier, bytes, site);
#endif
}

/// Waits until the last phase of this parity, 0 or 1, has ended: phase p has parity p % 2, and the
/// phase "before" phase 0 has ended with parity 1.
__device__ inline void mbarrier_wait(Mbarrier* barrier, int parity, Site site = Site::here()) {
#if defined(__CUDACC__)
  static_cast<void>(site);
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again;\n"
      "}" ::"r"(shared_address(barrier)),
      "r"(parity)
      : "memory");
#else
  host::mbarrier_wait(barrier, parity, site);
#endif
}

/// Starts to copy `bytes` bytes from global to shared memory; they count towards the current phase
/// of `barrier`. Both addresses and `bytes`, 16 to 2^20 - 16, are multiples of 16 bytes. One thread
/// calls it for all; copies may arrive in any order. Until the phase has ended the destination
/// holds nothing of use: on the host NaN.
__device__ inline void bulk_copy(void* to, const void* from, int bytes, Mbarrier* barrier,
                                 Site site = Site::here()) {
#if defined(__CUDACC__)
  static_cast<void>(site);
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(shared_address(to)),
      "l"(from), "r"(bytes), "r"(shared_address(barrier))
      : "memory");
#else
  host::bulk_copy(to, from, bytes, barrier, site);
#endif
}

}  // namespace plsh::optimized::cuda
