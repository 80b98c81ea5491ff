/// \file
/// The shared memory of one block.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace plsh::optimized::cuda::host {

/// Arrays with guard zones before, between and after them, in memory that no block had before.
/// Arrays and guard zones are filled with bytes 0xff.
class BlockMemory {
 public:
  explicit BlockMemory(std::size_t shared_bytes);
  ~BlockMemory();
  BlockMemory(const BlockMemory&) = delete;
  BlockMemory& operator=(const BlockMemory&) = delete;

  struct Array {
    std::size_t offset;  ///< on the GPU
    std::size_t bytes;
    std::byte* at;
  };

  /// The array that begins at `offset` of the shared memory of the GPU; made by the first call.
  /// Throws std::invalid_argument with what is wrong.
  std::byte* array(std::size_t offset, std::size_t bytes, std::size_t alignment);

  /// Whether these bytes lie in one array.
  bool contains(const void* at, std::size_t bytes) const;

  /// The array after whose beginning, or the first one before which, a guard zone was written.
  std::optional<Array> damaged() const;

  /// Addresses for the sanitizers' keys, which no other block had: 0 <= number < kKeys.
  void* key(std::size_t number) const { return memory_ + 8 * number; }
  static constexpr std::size_t kKeys = 128;

 private:
  std::size_t shared_bytes_;
  std::size_t mapped_;
  std::byte* memory_;
  std::byte* next_;  // free from here on
  std::vector<Array> arrays_;
};

}  // namespace plsh::optimized::cuda::host
