// Collectives of a warp: the lanes wait until all 32 have come, then the last one combines what
// they brought.
#include <plsh/optimized/cuda/device/numbers.cuh>

#include <cstring>

#include "block.hpp"
#include "sanitizers.hpp"

namespace plsh::optimized::cuda::host {

void Block::collective(const char* name, void* operands, Perform perform, Site site) {
  const int first = running_ / kWarpSize * kWarpSize;
  Warp& warp = warps_[static_cast<std::size_t>(running_ / kWarpSize)];
  if (warp.waiting == 0) {
    for (int thread = first; thread < first + kWarpSize; ++thread) {
      const Thread& other = threads_[static_cast<std::size_t>(thread)];
      if (other.state == State::ended)
        fail(site, std::string("the lane comes to ") + name + " after lane " +
                       std::to_string(thread - first) +
                       " of its warp has returned: let all 32 lanes come to every collective");
      if (other.state == State::waiting && other.object == nullptr)
        fail(site, std::string("the lane comes to ") + name + " while lane " +
                       std::to_string(thread - first) + " of its warp waits at " + other.waits_for +
                       ", " + to_string(other.site) + ": let all 32 lanes come to both");
    }
    warp.name = name;
    warp.site = site;
  } else if (warp.site != site || warp.name != name) {
    fail(site, std::string("the lane comes to ") + name + " while others of its warp wait at " +
                   warp.name + ", " + to_string(warp.site) +
                   ": let all 32 lanes come to the same call");
  }
  warp.operands[static_cast<std::size_t>(running_ - first)] = operands;
  if (++warp.waiting < kWarpSize) {
    wait(name, site);
    return;
  }
  perform(warp.operands);
  warp.waiting = 0;
  for (int thread = first; thread < first + kWarpSize; ++thread) wake(thread);
}

void Block::sync_warp(Site site) {
  const auto number = static_cast<std::size_t>(running_ / kWarpSize);
  Warp& warp = warps_[number];
  // As at the barrier of the block, whose keys are the first two.
  void* const key = memory_.key(2 + 2 * number + warp.syncs % 2);
  release(key);
  if (warp.waiting + 1 == kWarpSize) ++warp.syncs;
  collective(
      "sync_warp", nullptr, [](const auto& /*operands*/) {}, site);
  acquire(key);
}

namespace {

struct Shuffled {
  std::uint32_t value;
  std::size_t lane_mask;
  std::uint32_t result;
};

struct Vote {
  bool predicate;
  std::uint32_t result;
};

/// c += a b; see the layouts in matrix.cuh.
template <class C>
struct Product {
  C* c;
  const std::uint32_t* a;
  const std::uint32_t* b;
  int tiles;
};

struct MatrixRow {
  std::uint32_t* fragment;
  int matrices;
  bool transposed;
  std::array<std::uint8_t, 16> bytes;
};

constexpr std::size_t kRows = 16;
constexpr std::size_t kColumns = 8;

template <class T>
T* lane_operands(const std::array<void*, kWarpSize>& operands, std::size_t lane) {
  return static_cast<T*>(operands[lane]);
}

float number(bf16 x) { return to_float(x); }
float number(f16 x) { return to_float(x); }
std::uint32_t number(std::uint8_t x) { return x; }

template <class Element, class C>
void multiply(const std::array<void*, kWarpSize>& operands) {
  using Number = decltype(number(Element{}));
  constexpr std::size_t kInRegister = 4 / sizeof(Element);
  constexpr std::size_t kTerms = 8 * kInRegister;
  // Calls visit(number, k) for the elements in a register, the first of which is the one at `byte`
  // of a row of A or a column of B.
  const auto each_element = [](std::uint32_t bits, std::size_t byte, const auto& visit) {
    std::array<Element, kInRegister> elements;
    std::memcpy(elements.data(), &bits, sizeof bits);
    for (std::size_t e = 0; e < kInRegister; ++e)
      visit(number(elements[e]), byte / sizeof(Element) + e);
  };

  Number a[kRows][kTerms];
  for (std::size_t lane = 0; lane < kWarpSize; ++lane)
    for (std::size_t r = 0; r < 4; ++r)
      each_element(lane_operands<Product<C>>(operands, lane)->a[r], 16 * (r / 2) + 4 * (lane % 4),
                   [&](Number x, std::size_t k) { a[lane / 4 + 8 * (r % 2)][k] = x; });

  const auto tiles = static_cast<std::size_t>(lane_operands<Product<C>>(operands, 0)->tiles);
  for (std::size_t tile = 0; tile < tiles; ++tile) {
    // With the columns side by side the compiler multiplies several at once.
    Number b[kTerms][kColumns];
    for (std::size_t lane = 0; lane < kWarpSize; ++lane)
      for (std::size_t r = 0; r < 2; ++r)
        each_element(lane_operands<Product<C>>(operands, lane)->b[2 * tile + r],
                     16 * r + 4 * (lane % 4), [&](Number x, std::size_t k) { b[k][lane / 4] = x; });
    for (std::size_t row = 0; row < kRows; ++row) {
      // Of lanes 4 g to 4 g + 3, which have two columns each.
      const auto of_lane = [&](std::size_t column) -> C& {
        const std::size_t lane = 4 * (row % 8) + column / 2;
        return lane_operands<Product<C>>(operands, lane)->c[4 * tile + 2 * (row / 8) + column % 2];
      };
      Number c[kColumns];
      for (std::size_t column = 0; column < kColumns; ++column)
        c[column] = static_cast<Number>(of_lane(column));
      for (std::size_t k = 0; k < kTerms; ++k)
        for (std::size_t column = 0; column < kColumns; ++column)
          c[column] += a[row][k] * b[k][column];
      for (std::size_t column = 0; column < kColumns; ++column)
        of_lane(column) = static_cast<C>(c[column]);
    }
  }
}

void exchange_rows(const std::array<void*, kWarpSize>& operands) {
  const auto* const first = lane_operands<MatrixRow>(operands, 0);
  const bool transposed = first->transposed;
  const auto matrices = static_cast<std::size_t>(first->matrices);
  for (std::size_t lane = 0; lane < kWarpSize; ++lane) {
    const std::size_t g = lane / 4;
    const std::size_t t = lane % 4;
    for (std::size_t m = 0; m < matrices; ++m) {
      auto* const to =
          reinterpret_cast<std::uint8_t*>(lane_operands<MatrixRow>(operands, lane)->fragment + m);
      const auto row = [&](std::size_t k) {
        return lane_operands<MatrixRow>(operands, 8 * m + k)->bytes.data();
      };
      if (transposed) {
        std::memcpy(to, row(2 * t) + 2 * g, 2);
        std::memcpy(to + 2, row(2 * t + 1) + 2 * g, 2);
      } else {
        std::memcpy(to, row(g) + 4 * t, 4);
      }
    }
  }
}

}  // namespace

std::uint32_t shfl_xor(std::uint32_t value, int lane_mask, Site site) {
  const Bookkeeping scope;
  if (lane_mask < 0 || lane_mask >= kWarpSize) block->fail(site, "lane_mask is not in 0..31");
  Shuffled mine{value, static_cast<std::size_t>(lane_mask), 0};
  block->collective(
      "shfl_xor", &mine,
      [](const auto& operands) {
        for (std::size_t lane = 0; lane < kWarpSize; ++lane) {
          auto* const to = lane_operands<Shuffled>(operands, lane);
          to->result = lane_operands<Shuffled>(operands, lane ^ to->lane_mask)->value;
        }
      },
      site);
  return mine.result;
}

std::uint32_t ballot(bool predicate, Site site) {
  const Bookkeeping scope;
  Vote mine{predicate, 0};
  block->collective(
      "ballot", &mine,
      [](const auto& operands) {
        std::uint32_t result = 0;
        for (std::size_t lane = 0; lane < kWarpSize; ++lane)
          result |= std::uint32_t{lane_operands<Vote>(operands, lane)->predicate} << lane;
        for (std::size_t lane = 0; lane < kWarpSize; ++lane)
          lane_operands<Vote>(operands, lane)->result = result;
      },
      site);
  return mine.result;
}

void sync_warp(Site site) {
  const Bookkeeping scope;
  block->sync_warp(site);
}

void mma_bf16(float* c, const std::uint32_t* a, const std::uint32_t* b, int tiles, Site site) {
  const Bookkeeping scope;
  Product<float> mine{c, a, b, tiles};
  block->collective("mma_bf16", &mine, multiply<bf16, float>, site);
}

void mma_f16(float* c, const std::uint32_t* a, const std::uint32_t* b, int tiles, Site site) {
  const Bookkeeping scope;
  Product<float> mine{c, a, b, tiles};
  block->collective("mma_f16", &mine, multiply<f16, float>, site);
}

void mma_u8(std::int32_t* c, const std::uint32_t* a, const std::uint32_t* b, int tiles, Site site) {
  const Bookkeeping scope;
  Product<std::int32_t> mine{c, a, b, tiles};
  block->collective("mma_u8", &mine, multiply<std::uint8_t, std::int32_t>, site);
}

void ldmatrix(std::uint32_t* fragment, const void* row, int matrices, bool transposed, Site site) {
  MatrixRow mine{fragment, matrices, transposed, {}};
  if (block->running() % kWarpSize < 8 * matrices) {
    block->require_shared(row, 16, 16, "the row of ldmatrix", site);
    kernel_reads(row, 16, __builtin_return_address(0));
    std::memcpy(mine.bytes.data(), row, 16);
  }
  const Bookkeeping scope;
  block->collective("ldmatrix", &mine, exchange_rows, site);
}

}  // namespace plsh::optimized::cuda::host
