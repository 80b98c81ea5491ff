#include <plsh/optimized/cuda/host/fault.hpp>

namespace plsh::optimized::cuda::host {
namespace {

std::string place(const std::string& kernel, BlockIndex block, int thread, Site site) {
  std::string result = kernel + ", block (" + std::to_string(block.x) + ", " +
                       std::to_string(block.y) + ", " + std::to_string(block.z) + ")";
  if (thread >= 0) result += ", thread " + std::to_string(thread);
  if (site.line > 0) result += ", " + to_string(site);
  return result;
}

}  // namespace

std::string to_string(Site site) {
  return std::string(site.file) + ":" + std::to_string(site.line);
}

Fault::Fault(const std::string& name, BlockIndex index, int number, Site at,
             const std::string& message)
    : std::runtime_error(place(name, index, number, at) + ": " + message),
      kernel(name),
      block(index),
      thread(number),
      site(at) {}

}  // namespace plsh::optimized::cuda::host
