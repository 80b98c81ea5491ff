// The safetensors reader: any bytes are either read, with sizes that fit, or refused with its
// error.
#include <cstdlib>
#include <plsh/properties/safetensors.hpp>

using plsh::properties::Safetensors;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const Safetensors file =
        Safetensors::parse({reinterpret_cast<const char*>(data), size}, "input");
    for (const auto& [name, tensor] : file.tensors()) {
      std::size_t count = 1;
      for (const auto extent : tensor.shape) count *= static_cast<std::size_t>(extent);
      if (count != tensor.values.size()) std::abort();
    }
  } catch (const std::runtime_error& error) {
    if (std::string(error.what()).rfind("input: ", 0) != 0) std::abort();
  }
  return 0;
}
