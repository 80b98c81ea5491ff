#include "shared_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>

#include "sanitizers.hpp"

namespace plsh::optimized::cuda::host {
namespace {

constexpr std::size_t kGuardBytes = 1024;  // before and after each array
constexpr std::size_t kMaxAlignment = 1024;
constexpr std::size_t kMaxArrays = 32;
constexpr std::byte kFill{0xff};

static_assert(kGuardBytes >= 8 * BlockMemory::kKeys);

}  // namespace

BlockMemory::BlockMemory(std::size_t shared_bytes)
    : shared_bytes_(shared_bytes),
      mapped_(shared_bytes + (kMaxArrays + 1) * (kGuardBytes + kMaxAlignment)) {
  // Fresh pages: ThreadSanitizer forgets what earlier blocks did here.
  void* const memory =
      mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  memory_ = static_cast<std::byte*>(memory);
  next_ = memory_ + kGuardBytes;
  std::memset(memory_, static_cast<int>(kFill), mapped_);
  if (has_asan()) __asan_poison_memory_region(memory_, mapped_);
}

BlockMemory::~BlockMemory() {
  if (has_asan()) __asan_unpoison_memory_region(memory_, mapped_);
  munmap(memory_, mapped_);
}

std::byte* BlockMemory::array(std::size_t offset, std::size_t bytes, std::size_t alignment) {
  for (const Array& known : arrays_) {
    if (known.offset != offset) continue;
    if (known.bytes != bytes)
      throw std::invalid_argument("takes a shared array of " + std::to_string(bytes) +
                                  " bytes where another thread took one of " +
                                  std::to_string(known.bytes) +
                                  ": let all threads take the same arrays in the same order");
    return known.at;
  }
  if (bytes == 0) throw std::invalid_argument("takes a shared array without elements");
  if (offset % alignment != 0)
    throw std::invalid_argument("takes a shared array aligned to " + std::to_string(alignment) +
                                " bytes at offset " + std::to_string(offset) +
                                ": take arrays of greater alignment first");
  if (offset + bytes > shared_bytes_)
    throw std::invalid_argument("takes shared memory up to byte " + std::to_string(offset + bytes) +
                                " of " + std::to_string(shared_bytes_) +
                                ": launch with more shared_bytes");
  if (arrays_.size() == kMaxArrays)
    throw std::invalid_argument("takes more than " + std::to_string(kMaxArrays) + " shared arrays");
  const auto misaligned = reinterpret_cast<std::size_t>(next_) % alignment;
  std::byte* const at = next_ + (misaligned == 0 ? 0 : alignment - misaligned);
  if (has_asan()) __asan_unpoison_memory_region(at, bytes);
  arrays_.push_back({offset, bytes, at});
  next_ = at + bytes + kGuardBytes;
  return at;
}

bool BlockMemory::contains(const void* at, std::size_t bytes) const {
  const auto* const begin = static_cast<const std::byte*>(at);
  return std::any_of(arrays_.begin(), arrays_.end(), [&](const Array& array) {
    return begin >= array.at && begin + bytes <= array.at + array.bytes;
  });
}

std::optional<BlockMemory::Array> BlockMemory::damaged() const {
  const auto intact = [](const std::byte* begin, const std::byte* end) {
    return std::all_of(begin, end, [](std::byte value) { return value == kFill; });
  };
  const std::byte* begin = memory_;
  for (std::size_t k = 0; k < arrays_.size(); ++k) {
    if (!intact(begin, arrays_[k].at)) return arrays_[k == 0 ? 0 : k - 1];
    begin = arrays_[k].at + arrays_[k].bytes;
  }
  if (!arrays_.empty() && !intact(begin, memory_ + mapped_)) return arrays_.back();
  return std::nullopt;
}

}  // namespace plsh::optimized::cuda::host
