/// \file
/// One block while it runs: its threads, its memory, and all that they wait for.
#pragma once

#include <plsh/optimized/cuda/host/executor.hpp>
#include <plsh/optimized/cuda/host/fault.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "fiber.hpp"
#include "shared_memory.hpp"
#include "turns.hpp"

namespace plsh::optimized::cuda::host {

inline bool operator==(Site a, Site b) {
  return a.line == b.line && (a.file == b.file || std::strcmp(a.file, b.file) == 0);
}

/// An asynchronous copy that has been issued. Its destination is filled with bytes 0xff at issue,
/// and gets the data as late as the kernel lets it, so that both reading too early and overwriting
/// too early show.
struct Copy {
  std::byte* to;
  const std::byte* from;
  std::size_t bytes;
  std::size_t valid;  ///< bytes to copy; zeros follow
  int thread;         ///< that issued it
  Site site;
  const void* line;  ///< the same, as the address of an instruction
};

/// What blocks that run one after the other share: to ThreadSanitizer, each is a thread.
struct Resident {
  std::vector<std::unique_ptr<Fiber>> threads;
  /// One for the copies of each mbarrier: one for all would order them.
  std::vector<void*> copy_engines;
};

class Block {
 public:
  using Body = std::function<void()>;
  /// Combines the operands of the 32 lanes.
  using Perform = void (*)(const std::array<void*, kWarpSize>& operands);

  Block(const KernelLaunch& launch, BlockIndex index, const Body& body, Turns& turns,
        Resident& resident);

  /// Every thread releases it when it ends.
  static inline char ended_key;

  /// Throws the first fault or exception; all threads have ended then.
  void run();

  // The rest is called by the running thread.

  std::byte* shared_array(std::size_t offset, std::size_t bytes, std::size_t alignment, Site site);
  /// Fails when these bytes are not part of a shared array, or not aligned.
  void require_shared(const void* at, std::size_t bytes, std::size_t alignment, const char* what,
                      Site site);

  void barrier(Site site);

  /// The last lane to come calls perform; `operands` must live until then.
  void collective(const char* name, void* operands, Perform perform, Site site);
  void sync_warp(Site site);

  void cp_async(const Copy& copy);
  void cp_async_commit();
  void cp_async_wait(int groups_left);

  // `line` is the site as the address of an instruction.
  void mbarrier_init(Mbarrier* address, int arrivals, Site site, const void* line);
  void mbarrier_arrive(Mbarrier* address, int expected_bytes, Site site, const void* line);
  void mbarrier_wait(Mbarrier* address, int parity, Site site, const void* line);
  void bulk_copy(const Copy& copy, Mbarrier* address);

  [[noreturn]] void fail(Site site, const std::string& message) const;
  int running() const { return running_; }

 private:
  enum class State { runnable, waiting, ended };

  struct GroupedCopy {
    Copy copy;
    int group;
  };
  struct Thread {
    State state = State::runnable;
    // While it waits, and for reports.
    const char* waits_for = nullptr;
    const void* object = nullptr;  // the mbarrier, or null
    int parity = 0;                // of the mbarrier's phase
    Site site{"", 0};
    // cp.async
    std::vector<GroupedCopy> copies;
    int group = 0;  // that a new copy joins
  };
  struct Warp {
    int waiting = 0;  // lanes that have come to the collective
    const char* name = nullptr;
    Site site{"", 0};
    std::array<void*, kWarpSize> operands{};
    std::size_t syncs = 0;  // barriers of the warp so far
  };
  struct MbarrierState {
    std::size_t number;      // of the block's mbarriers
    int arrivals;            // of each phase
    int pending;             // arrivals missing from this phase
    std::int64_t bytes = 0;  // missing from this phase; negative while more came than expected
    int phase = 0;
    int copies = 0;  // in flight that count towards this phase
  };
  struct BulkCopy {
    Copy copy;
    Mbarrier* barrier;
  };

  Thread& current() { return threads_[static_cast<std::size_t>(running_)]; }
  void run_thread(int thread);
  void switch_to(int thread);
  bool run_round();
  void cancel();
  void check_end() const;
  void check_ended_thread();
  void wait(const char* what, Site site, const void* object = nullptr);
  void wake(int thread) { threads_[static_cast<std::size_t>(thread)].state = State::runnable; }
  std::string waiting_threads() const;
  Fault fault(int thread, Site site, const std::string& message) const;

  void issue(const Copy& copy);
  void complete(const Copy& copy) const;
  bool deliver_bulk_copy();
  MbarrierState& initialized(Mbarrier* address, Site site, const void* line);
  void end_phase_when_complete(Mbarrier* address, MbarrierState& state, int thread, Site site);
  void* phase_key(Mbarrier* address, int phase) const;

  const KernelLaunch& launch_;
  BlockIndex index_;
  const Body& body_;
  Turns& turns_;
  Resident& resident_;
  BlockMemory memory_;
  std::vector<Thread> threads_;
  std::vector<Warp> warps_;
  std::map<Mbarrier*, MbarrierState> mbarriers_;
  std::vector<BulkCopy> bulk_copies_;  // in flight, oldest first

  int running_ = 0;
  int ended_ = 0;
  bool cancelled_ = false;
  std::exception_ptr failure_;
  // The barrier of the block.
  int arrived_ = 0;
  std::size_t barriers_ = 0;  // so far
  int first_arrived_ = 0;
  Site barrier_site_{"", 0};

  std::vector<int> warp_order_;
  std::vector<int> lane_order_;
};

/// The block that runs, for the functions that kernels call.
extern Block* block;

}  // namespace plsh::optimized::cuda::host
