// Partitions from raw bit patterns of (w, u), held against the bins position by position.
#include <cstdlib>
#include <cstring>
#include <plsh/reference/binning.hpp>

using namespace plsh::reference;

namespace {

void require(bool ok) {
  if (!ok) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Binning binning{};
  std::uint8_t extent = 0;
  if (size != sizeof binning + sizeof extent) return 0;
  std::memcpy(&binning, data, sizeof binning);
  std::memcpy(&extent, data + sizeof binning, sizeof extent);
  const Index length = 1 + extent;
  const bool valid =
      std::isfinite(binning.width) && binning.width > 0 && std::isfinite(binning.shift);
  try {
    const Partition partition = partition_of(length, binning);
    require(valid);
    for (Index i = 0; i < length; ++i) {
      const Block block = partition.block(partition.block_of(i));
      require(block == block_around(i, length, binning));
      const bool starts = i == 0 || bin_of(i, binning) != bin_of(i - 1, binning);
      require(starts == (block.begin == i));
    }
  } catch (const std::invalid_argument&) {
    require(!valid);
  }
  return 0;
}
