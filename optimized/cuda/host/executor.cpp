#include <plsh/optimized/cuda/host/executor.hpp>
#include <plsh/optimized/cuda/host/options.hpp>

#include <array>
#include <stdexcept>
#include <utility>

#include "block.hpp"
#include "sanitizers.hpp"

namespace plsh::optimized::cuda::host {

Position position;
Block* block;

namespace {

// CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
constexpr int kMostThreads = 1024;
constexpr int kMostBlocksYZ = 65535;
constexpr std::size_t kMostSharedBytes = 227 * 1024;  // of sm_90

Options current_options;

void check_shape(const KernelLaunch& launch) {
  const auto require = [&](bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(launch.kernel + ": " + what);
  };
  require(launch.threads >= kWarpSize && launch.threads <= kMostThreads &&
              launch.threads % kWarpSize == 0,
          "the threads of a block must be a multiple of 32, at most 1024");
  require(launch.grid.x >= 1 && launch.grid.y >= 1 && launch.grid.z >= 1 &&
              launch.grid.y <= kMostBlocksYZ && launch.grid.z <= kMostBlocksYZ,
          "a grid has at least one block, and at most 65535 in y and z");
  require(launch.shared_bytes <= kMostSharedBytes, "more than 227 KiB of shared memory");
}

std::vector<BlockIndex> selected_blocks(const KernelLaunch& launch) {
  std::vector<BlockIndex> result;
  for (int z = 0; z < launch.grid.z; ++z)
    for (int y = 0; y < launch.grid.y; ++y)
      for (int x = 0; x < launch.grid.x; ++x)
        if (!current_options.selects || current_options.selects({x, y, z}))
          result.push_back({x, y, z});
  if (result.empty())
    throw std::invalid_argument(launch.kernel + ": Options::selects is true for no block");
  return result;
}

}  // namespace

void run(const KernelLaunch& launch, const std::function<void()>& thread) {
  if (block != nullptr)
    throw std::logic_error(launch.kernel + ": launched while another kernel runs");
  check_shape(launch);
  const Bookkeeping scope;
  std::vector<BlockIndex> blocks = selected_blocks(launch);
  Turns turns(current_options.schedule);
  turns.arrange(blocks);
  // What the kernel did happens before what follows the launch; its blocks stay unordered.
  const struct AtEnd {
    ~AtEnd() { acquire(&Block::ended_key); }
  } at_end;
  // Two sets of threads, for blocks in turn, so that ThreadSanitizer sees neighbours in the order
  // of execution as unordered. Making a thread is slow, so they are kept.
  static std::array<Resident, 2> resident;
  for (std::size_t turn = 0; turn < blocks.size(); ++turn) {
    Block running(launch, blocks[turn], thread, turns, resident[turn % 2]);
    const struct Current {
      explicit Current(Block* now) { block = now; }
      ~Current() { block = nullptr; }
    } current(&running);
    running.run();
  }
}

void* shared_array(std::size_t offset, std::size_t bytes, std::size_t alignment, Site site) {
  const Bookkeeping scope;
  return block->shared_array(offset, bytes, alignment, site);
}

void block_barrier(Site site) {
  const Bookkeeping scope;
  block->barrier(site);
}

ScopedOptions::ScopedOptions(Options options)
    : before_(std::exchange(current_options, std::move(options))) {}
ScopedOptions::~ScopedOptions() { current_options = std::move(before_); }

}  // namespace plsh::optimized::cuda::host
