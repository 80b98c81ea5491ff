/// \file
/// Global memory for kernels that the executor runs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

extern "C" {
[[gnu::weak]] void __asan_poison_memory_region(const volatile void* at, std::size_t bytes);
[[gnu::weak]] void __asan_unpoison_memory_region(const volatile void* at, std::size_t bytes);
}

namespace plsh::optimized::cuda::host {

/// An array of exactly `count` elements at a multiple of 256 bytes, as cudaMalloc gives, between
/// guard zones of 4 KiB. All is filled with bytes 0xff, NaN in every floating-point type, so that
/// what a kernel reads without right or leaves unwritten shows in its results.
template <class T>
class GlobalArray {
 public:
  explicit GlobalArray(int count)
      : count_(static_cast<std::size_t>(count)),
        memory_(count_ * sizeof(T) + 2 * kGuardBytes + kAlignment, 0xff) {
    const auto misaligned = reinterpret_cast<std::uintptr_t>(memory_.data()) % kAlignment;
    offset_ = kGuardBytes + kAlignment - misaligned;
    guard(__asan_poison_memory_region);
  }
  explicit GlobalArray(const std::vector<T>& values)
      : GlobalArray(static_cast<int>(values.size())) {
    std::copy(values.begin(), values.end(), data());
  }
  ~GlobalArray() { guard(__asan_unpoison_memory_region); }
  GlobalArray(const GlobalArray&) = delete;
  GlobalArray& operator=(const GlobalArray&) = delete;

  T* data() { return reinterpret_cast<T*>(memory_.data() + offset_); }

  std::vector<T> values() { return {data(), data() + count_}; }

  /// False when something was written before the first or after the last element.
  bool guards_are_intact() {
    guard(__asan_unpoison_memory_region);
    const auto intact = [](auto begin, auto end) {
      return std::all_of(begin, end, [](unsigned char value) { return value == 0xff; });
    };
    const bool result = intact(memory_.begin(), memory_.begin() + front()) &&
                        intact(memory_.begin() + back(), memory_.end());
    guard(__asan_poison_memory_region);
    return result;
  }

 private:
  static constexpr std::size_t kGuardBytes = 4096;
  static constexpr std::size_t kAlignment = 256;

  std::ptrdiff_t front() const { return static_cast<std::ptrdiff_t>(offset_); }
  std::ptrdiff_t back() const { return static_cast<std::ptrdiff_t>(offset_ + count_ * sizeof(T)); }

  void guard(void (*mark)(const volatile void*, std::size_t)) {
    if (mark == nullptr) return;
    mark(memory_.data(), offset_);
    mark(memory_.data() + back(), memory_.size() - static_cast<std::size_t>(back()));
  }

  std::size_t count_;
  std::vector<unsigned char> memory_;
  std::size_t offset_ = 0;
};

}  // namespace plsh::optimized::cuda::host
