#include "block.hpp"

#include "sanitizers.hpp"

namespace plsh::optimized::cuda::host {
namespace {

// Thrown in the threads that still run when one has failed: it unwinds their stacks.
struct Cancelled {};

constexpr const char* kBlockBarrier = "block_barrier";

}  // namespace

Block::Block(const KernelLaunch& launch, BlockIndex index, const Body& body, Turns& turns,
             Resident& resident)
    : launch_(launch),
      index_(index),
      body_(body),
      turns_(turns),
      resident_(resident),
      memory_(launch.shared_bytes),
      threads_(static_cast<std::size_t>(launch.threads)),
      warps_(static_cast<std::size_t>(launch.threads / kWarpSize)) {
  while (resident_.threads.size() < threads_.size())
    resident_.threads.push_back(
        std::make_unique<Fiber>("CUDA thread " + std::to_string(resident_.threads.size())));
}

void Block::run() {
  for (int thread = 0; thread < launch_.threads; ++thread)
    resident_.threads[static_cast<std::size_t>(thread)]->prepare(
        [this, thread] { run_thread(thread); });
  position = {0, launch_.threads, index_, launch_.grid};
  try {
    while (ended_ < launch_.threads) {
      if (run_round() || deliver_bulk_copy()) continue;
      throw fault(-1, {"", 0}, "no thread can go on: " + waiting_threads());
    }
    check_end();
  } catch (...) {
    cancel();
    throw;
  }
}

void Block::run_thread(int thread) {
  try {
    if (!cancelled_) {
      body_();
      const Bookkeeping scope;
      check_ended_thread();
    }
  } catch (const Cancelled&) {
  } catch (...) {
    failure_ = std::current_exception();
  }
  threads_[static_cast<std::size_t>(thread)].state = State::ended;
  ++ended_;
  release(&ended_key);
}

void Block::switch_to(int thread) {
  running_ = thread;
  position.thread = thread;
  resident_.threads[static_cast<std::size_t>(thread)]->resume();
}

// Gives every warp its turn, in which it runs as far as it can. False when nothing happened.
bool Block::run_round() {
  bool progress = false;
  turns_.draw(warp_order_, static_cast<int>(warps_.size()));
  for (const int warp : warp_order_) {
    for (bool ran = true; ran;) {
      ran = false;
      turns_.draw(lane_order_, kWarpSize);
      for (const int lane : lane_order_) {
        const int thread = warp * kWarpSize + lane;
        if (threads_[static_cast<std::size_t>(thread)].state != State::runnable) continue;
        switch_to(thread);
        if (failure_) std::rethrow_exception(failure_);
        ran = true;
      }
      progress = progress || ran;
    }
    // It may wake warps that have had their turn.
    if (!bulk_copies_.empty() && turns_.early()) progress = deliver_bulk_copy();
  }
  return progress;
}

void Block::cancel() {
  cancelled_ = true;
  for (int thread = 0; thread < launch_.threads; ++thread)
    if (threads_[static_cast<std::size_t>(thread)].state != State::ended) switch_to(thread);
}

void Block::check_ended_thread() {
  const Thread& thread = current();
  if (!thread.copies.empty())
    fail(thread.copies.front().copy.site,
         "this copy is in flight when its thread returns: wait for its group");
  if (arrived_ > 0)
    fail(barrier_site_,
         "the thread returns while others wait here at a block_barrier: let every thread come to "
         "every barrier");
  const Warp& warp = warps_[static_cast<std::size_t>(running_ / kWarpSize)];
  if (warp.waiting > 0)
    fail(warp.site, std::string("the lane returns while others of its warp wait here at ") +
                        warp.name + ": let all 32 lanes come to every collective");
}

void Block::check_end() const {
  if (!bulk_copies_.empty())
    throw fault(bulk_copies_.front().copy.thread, bulk_copies_.front().copy.site,
                "this bulk copy is in flight when the block ends: wait for its mbarrier");
  for (const auto& [address, state] : mbarriers_)
    if (state.bytes != 0)
      throw fault(-1, {"", 0},
                  "an mbarrier still expects " + std::to_string(state.bytes) +
                      " bytes when the block ends: expect as many bytes as are copied");
  if (const auto array = memory_.damaged())
    throw fault(-1, {"", 0},
                "there was a write outside of the shared array of " + std::to_string(array->bytes) +
                    " bytes at offset " + std::to_string(array->offset) +
                    ", less than 2 KiB away: AddressSanitizer shows the line");
}

std::byte* Block::shared_array(std::size_t offset, std::size_t bytes, std::size_t alignment,
                               Site site) {
  try {
    return memory_.array(offset, bytes, alignment);
  } catch (const std::invalid_argument& error) {
    fail(site, error.what());
  }
}

void Block::require_shared(const void* at, std::size_t bytes, std::size_t alignment,
                           const char* what, Site site) {
  if (reinterpret_cast<std::uintptr_t>(at) % alignment != 0)
    fail(site, std::string(what) + " is not aligned to " + std::to_string(alignment) + " bytes");
  if (!memory_.contains(at, bytes))
    fail(site, std::string(what) + ", " + std::to_string(bytes) +
                   " bytes, does not lie in one shared array");
}

void Block::barrier(Site site) {
  const Warp& warp = warps_[static_cast<std::size_t>(running_ / kWarpSize)];
  if (warp.waiting > 0)
    fail(site, std::string("the lane comes to a block_barrier while others of its warp wait at ") +
                   warp.name + ", " + to_string(warp.site) + ": let all 32 lanes come to both");
  if (ended_ > 0)
    fail(site,
         "the thread comes to a block_barrier after others have returned: let every thread "
         "come to every barrier");
  if (arrived_ == 0) {
    barrier_site_ = site;
    first_arrived_ = running_;
  } else if (site != barrier_site_) {
    fail(site, "the thread comes to this block_barrier while thread " +
                   std::to_string(first_arrived_) + " waits at another, " +
                   to_string(barrier_site_) + ": let all threads come to the same one");
  }
  // The next barrier has another key: arrivals there do not reach who is still leaving this one.
  void* const key = memory_.key(barriers_ % 2);
  release(key);
  if (++arrived_ == launch_.threads) {
    arrived_ = 0;
    ++barriers_;
    for (Thread& thread : threads_) thread.state = State::runnable;
  } else {
    wait(kBlockBarrier, site);
  }
  acquire(key);
}

void Block::wait(const char* what, Site site, const void* object) {
  Thread& thread = current();
  thread.state = State::waiting;
  thread.waits_for = what;
  thread.site = site;
  thread.object = object;
  resident_.threads[static_cast<std::size_t>(running_)]->suspend();
  if (cancelled_) throw Cancelled{};
}

// What each thread waits for, neighbours that wait for the same together.
std::string Block::waiting_threads() const {
  const auto what = [&](const Thread& thread) -> std::string {
    if (thread.state == State::ended) return "returned";
    std::string text = std::string("wait at ") + thread.waits_for + ", " + to_string(thread.site);
    const auto found = mbarriers_.find(static_cast<Mbarrier*>(const_cast<void*>(thread.object)));
    if (found != mbarriers_.end())
      text += " for a phase of parity " + std::to_string(thread.parity) + " (phase " +
              std::to_string(found->second.phase) + " lacks " +
              std::to_string(found->second.pending) + " arrivals and " +
              std::to_string(found->second.bytes) + " bytes)";
    return text;
  };
  std::string result;
  for (std::size_t begin = 0, end = 0; begin < threads_.size(); begin = end) {
    const std::string text = what(threads_[begin]);
    while (end < threads_.size() && what(threads_[end]) == text) ++end;
    result += (begin == 0 ? "threads " : "; threads ") + std::to_string(begin) + "-" +
              std::to_string(end - 1) + " " + text;
  }
  return result;
}

Fault Block::fault(int thread, Site site, const std::string& message) const {
  return {launch_.kernel, index_, thread, site, message};
}

void Block::fail(Site site, const std::string& message) const {
  throw fault(running_, site, message);
}

}  // namespace plsh::optimized::cuda::host
