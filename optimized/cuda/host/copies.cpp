// Asynchronous copies: groups of cp.async, and bulk copies that complete on mbarriers.
#include <plsh/optimized/cuda/device/mbarrier.cuh>

#include <algorithm>
#include <cstring>

#include "block.hpp"
#include "sanitizers.hpp"

namespace plsh::optimized::cuda::host {
namespace {

constexpr int kInFlight = 0xff;  // bytes of a destination between issue and completion

// An mbarrier holds it from its initialization on; it stays as long as nobody writes over it.
constexpr std::uint64_t kInitialized = 0x4d62617272696572;

constexpr int kMostBytes = (1 << 20) - 1;  // PTX ISA, "Tx-count of mbarrier object"
constexpr int kMostArrivals = (1 << 20) - 1;

}  // namespace

void Block::issue(const Copy& copy) {
  require_shared(copy.to, copy.bytes, 16, "the destination of a copy", copy.site);
  if (copy.valid > 0 && reinterpret_cast<std::uintptr_t>(copy.from) % 16 != 0)
    fail(copy.site, "the source of a copy is not aligned to 16 bytes");
  kernel_reads(copy.from, copy.valid, copy.line);
  kernel_writes(copy.to, copy.bytes, copy.line);
  const Bookkeeping scope;
  std::memset(copy.to, kInFlight, copy.bytes);
}

void Block::complete(const Copy& copy) const {
  if (!std::all_of(copy.to, copy.to + copy.bytes,
                   [](std::byte value) { return value == std::byte{kInFlight}; }))
    throw fault(copy.thread, copy.site,
                "the destination of this copy was written while it was in flight: wait for the "
                "copy first");
  kernel_reads(copy.from, copy.valid, copy.line);
  kernel_writes(copy.to, copy.bytes, copy.line);
  const Bookkeeping scope;
  std::memcpy(copy.to, copy.from, copy.valid);
  std::memset(copy.to + copy.valid, 0, copy.bytes - copy.valid);
}

void Block::cp_async(const Copy& copy) {
  if (copy.valid > copy.bytes) fail(copy.site, "valid_bytes is not in 0..16");
  issue(copy);
  const Bookkeeping scope;
  current().copies.push_back({copy, current().group});
}

void Block::cp_async_commit() { ++current().group; }

void Block::cp_async_wait(int groups_left) {
  Thread& thread = current();
  const auto due = [&](const GroupedCopy& copy) { return copy.group < thread.group - groups_left; };
  for (const GroupedCopy& copy : thread.copies)
    if (due(copy)) complete(copy.copy);
  const Bookkeeping scope;
  std::erase_if(thread.copies, due);
}

// Phases take turns with two keys, as block barriers do.
void* Block::phase_key(Mbarrier* address, int phase) const {
  return reinterpret_cast<std::byte*>(address) + 4 * (phase % 2);
}

Block::MbarrierState& Block::initialized(Mbarrier* address, Site site, const void* line) {
  require_shared(address, sizeof(Mbarrier), alignof(Mbarrier), "an mbarrier", site);
  kernel_reads(address, sizeof(Mbarrier), line);
  const auto found = mbarriers_.find(address);
  if (found == mbarriers_.end())
    fail(site,
         "this mbarrier is not initialized: let one thread call mbarrier_init, and all a "
         "block_barrier after it");
  if (address->opaque != kInitialized)
    fail(site, "this mbarrier was written over: its memory must serve nothing else");
  return found->second;
}

void Block::mbarrier_init(Mbarrier* address, int arrivals, Site site, const void* line) {
  require_shared(address, sizeof(Mbarrier), alignof(Mbarrier), "an mbarrier", site);
  if (arrivals < 1 || arrivals > kMostArrivals) fail(site, "arrivals is not in 1..2^20-1");
  if (mbarriers_.contains(address)) fail(site, "this mbarrier has been initialized before");
  kernel_writes(address, sizeof(Mbarrier), line);
  const Bookkeeping scope;
  address->opaque = kInitialized;
  mbarriers_.emplace(address, MbarrierState{mbarriers_.size(), arrivals, arrivals});
  if (has_tsan() && resident_.copy_engines.size() < mbarriers_.size()) {
    resident_.copy_engines.push_back(__tsan_create_fiber(0));
    __tsan_set_fiber_name(resident_.copy_engines.back(), "copy engine");
  }
}

void Block::mbarrier_arrive(Mbarrier* address, int expected_bytes, Site site, const void* line) {
  MbarrierState& state = initialized(address, site, line);
  const Bookkeeping scope;
  if (expected_bytes < 0 || expected_bytes > kMostBytes) fail(site, "bytes is not in 0..2^20-1");
  if (state.pending == 0)
    fail(site, "the thread arrives at an mbarrier that has all " + std::to_string(state.arrivals) +
                   " arrivals of its phase " + std::to_string(state.phase) +
                   " and waits for bytes: arrive as often as mbarrier_init says");
  release(phase_key(address, state.phase));
  --state.pending;
  state.bytes += expected_bytes;
  end_phase_when_complete(address, state, running_, site);
}

void Block::mbarrier_wait(Mbarrier* address, int parity, Site site, const void* line) {
  const MbarrierState& state = initialized(address, site, line);
  const Bookkeeping scope;
  if (parity != 0 && parity != 1) fail(site, "parity is not 0 or 1");
  if (state.phase % 2 == parity) {
    current().parity = parity;
    wait("mbarrier_wait", site, address);
  }
  acquire(phase_key(address, parity));
}

void Block::end_phase_when_complete(Mbarrier* address, MbarrierState& state, int thread,
                                    Site site) {
  if (state.pending > 0) return;
  if (state.bytes < 0 || (state.bytes == 0 && state.copies > 0))
    throw fault(thread, site,
                "phase " + std::to_string(state.phase) +
                    " of an mbarrier gets more bytes than it expects: expect what is copied");
  if (state.bytes > 0) return;
  ++state.phase;
  state.pending = state.arrivals;
  for (Thread& waiting : threads_)
    if (waiting.state == State::waiting && waiting.object == address)
      waiting.state = State::runnable;
}

void Block::bulk_copy(const Copy& copy, Mbarrier* address) {
  MbarrierState& state = initialized(address, copy.site, copy.line);
  if (copy.bytes == 0 || copy.bytes % 16 != 0 || copy.bytes > kMostBytes)
    fail(copy.site, "the size of a bulk copy is not a multiple of 16 in 16..2^20-16");
  issue(copy);
  const Bookkeeping scope;
  release(copy.to);
  ++state.copies;
  bulk_copies_.push_back({copy, address});
}

// Completes one bulk copy, as the schedule says. False when none is in flight.
bool Block::deliver_bulk_copy() {
  if (bulk_copies_.empty()) return false;
  const auto chosen =
      bulk_copies_.begin() + static_cast<std::ptrdiff_t>(turns_.pick(bulk_copies_.size()));
  const BulkCopy bulk = *chosen;
  bulk_copies_.erase(chosen);
  MbarrierState& state = mbarriers_.at(bulk.barrier);
  void* const scheduler = has_tsan() ? __tsan_get_current_fiber() : nullptr;
  if (has_tsan()) __tsan_switch_to_fiber(resident_.copy_engines[state.number], kOrdersNothing);
  acquire(bulk.copy.to);
  complete(bulk.copy);
  release(phase_key(bulk.barrier, state.phase));
  if (has_tsan()) __tsan_switch_to_fiber(scheduler, kOrdersNothing);
  --state.copies;
  state.bytes -= static_cast<std::int64_t>(bulk.copy.bytes);
  end_phase_when_complete(bulk.barrier, state, bulk.copy.thread, bulk.copy.site);
  return true;
}

namespace {

Copy make_copy(void* to, const void* from, int bytes, int valid_bytes, Site site,
               const void* line) {
  return {static_cast<std::byte*>(to),
          static_cast<const std::byte*>(from),
          static_cast<std::size_t>(bytes),
          static_cast<std::size_t>(valid_bytes),
          block->running(),
          site,
          line};
}

}  // namespace

void cp_async(void* to, const void* from, int valid_bytes, Site site) {
  block->cp_async(make_copy(to, from, 16, valid_bytes, site, __builtin_return_address(0)));
}
void cp_async_commit() { block->cp_async_commit(); }
void cp_async_wait(int groups_left) { block->cp_async_wait(groups_left); }

void mbarrier_init(Mbarrier* barrier, int arrivals, Site site) {
  block->mbarrier_init(barrier, arrivals, site, __builtin_return_address(0));
}
void mbarrier_arrive(Mbarrier* barrier, int expected_bytes, Site site) {
  block->mbarrier_arrive(barrier, expected_bytes, site, __builtin_return_address(0));
}
void mbarrier_wait(Mbarrier* barrier, int parity, Site site) {
  block->mbarrier_wait(barrier, parity, site, __builtin_return_address(0));
}
void bulk_copy(void* to, const void* from, int bytes, Mbarrier* barrier, Site site) {
  block->bulk_copy(make_copy(to, from, bytes, bytes, site, __builtin_return_address(0)), barrier);
}

}  // namespace plsh::optimized::cuda::host
