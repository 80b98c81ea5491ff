#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <plsh/properties/safetensors.hpp>
#include <sstream>
#include <stdexcept>

namespace plsh::properties {
namespace {

using Json = nlohmann::json;
using reference::Index;

template <class Stored>
std::vector<double> widen(const char* bytes, std::size_t count) {
  std::vector<double> values(count);
  for (std::size_t k = 0; k < count; ++k) {
    Stored value;
    std::memcpy(&value, bytes + k * sizeof(Stored), sizeof(Stored));
    values[k] = static_cast<double>(value);
  }
  return values;
}

struct Format {
  std::size_t bytes;
  std::vector<double> (*widen)(const char*, std::size_t);
};

const std::map<std::string, Format>& formats() {
  static const std::map<std::string, Format> known{{"F16", {2, widen<Eigen::half>}},
                                                   {"BF16", {2, widen<Eigen::bfloat16>}},
                                                   {"F32", {4, widen<float>}},
                                                   {"F64", {8, widen<double>}}};
  return known;
}

[[noreturn]] void fail(const std::string& name, const std::string& reason) {
  throw std::runtime_error(name + ": not a valid safetensors file: " + reason);
}

std::size_t natural(const Json& value, const std::string& name, const std::string& what) {
  if (!value.is_number_unsigned()) fail(name, what + " is not a natural number");
  return value.get<std::size_t>();
}

}  // namespace

Safetensors Safetensors::read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path + ": cannot be opened");
  std::ostringstream content;
  content << file.rdbuf();
  if (file.bad() || content.fail()) throw std::runtime_error(path + ": cannot be read");
  return parse(content.str(), path);
}

Safetensors Safetensors::parse(const std::string& bytes, const std::string& name) {
  Safetensors result;
  result.name_ = name;
  std::uint64_t header_size = 0;
  if (bytes.size() < sizeof header_size) fail(name, "shorter than 8 bytes");
  std::memcpy(&header_size, bytes.data(), sizeof header_size);
  if (header_size > bytes.size() - sizeof header_size)
    fail(name, "the header is longer than the file");
  const char* data = bytes.data() + sizeof header_size + header_size;
  const std::size_t data_size = bytes.size() - sizeof header_size - header_size;
  const Json header =
      Json::parse(bytes.data() + sizeof header_size, data, nullptr, /*allow_exceptions=*/false);
  if (!header.is_object()) fail(name, "the header is not a JSON object");

  std::map<std::size_t, std::size_t> ranges;  // begin -> end
  for (const auto& [key, entry] : header.items()) {
    if (!entry.is_object()) fail(name, "entry \"" + key + "\" is not an object");
    if (key == "__metadata__") {
      for (const auto& [k, v] : entry.items()) {
        if (!v.is_string()) fail(name, "metadata \"" + k + "\" is not a string");
        result.metadata_[k] = v.get<std::string>();
      }
      continue;
    }
    if (!entry.contains("dtype") || !entry["dtype"].is_string() || !entry.contains("shape") ||
        !entry["shape"].is_array() || !entry.contains("data_offsets") ||
        !entry["data_offsets"].is_array() || entry["data_offsets"].size() != 2)
      fail(name, "tensor \"" + key + "\" lacks dtype, shape or data_offsets");
    Tensor tensor;
    tensor.dtype = entry["dtype"].get<std::string>();
    const auto format = formats().find(tensor.dtype);
    if (format == formats().end())
      fail(name,
           "tensor \"" + key + "\" has dtype " + tensor.dtype + ", not F16, BF16, F32 or F64");
    std::size_t count = 1;
    for (const Json& extent : entry["shape"]) {
      const std::size_t size = natural(extent, name, "an extent of tensor \"" + key + "\"");
      // The product stays below the file's size, so it cannot wrap.
      if (size > 0 && count > data_size / size) fail(name, "tensor \"" + key + "\" is too large");
      count *= size;
      tensor.shape.push_back(static_cast<Index>(size));
    }
    const std::size_t begin = natural(entry["data_offsets"][0], name, "an offset");
    const std::size_t end = natural(entry["data_offsets"][1], name, "an offset");
    if (begin > end || end > data_size || end - begin != count * format->second.bytes)
      fail(name, "the bytes of tensor \"" + key + "\" do not fit its shape or the file");
    if (end > begin && !ranges.emplace(begin, end).second)
      fail(name, "tensor \"" + key + "\" overlaps another");
    tensor.values = format->second.widen(data + begin, count);
    result.tensors_[key] = std::move(tensor);
  }
  std::size_t covered = 0;
  for (const auto& [begin, end] : ranges) {
    if (begin != covered) fail(name, "tensors overlap or leave bytes between them");
    covered = end;
  }
  if (covered != data_size) fail(name, "bytes are left over after the last tensor");
  return result;
}

reference::Matrix<double> Safetensors::matrix(const std::string& tensor) const {
  const auto found = tensors_.find(tensor);
  if (found == tensors_.end())
    throw std::runtime_error(name_ + ": tensor \"" + tensor + "\" is missing");
  const Tensor& t = found->second;
  if (t.shape.size() != 2)
    throw std::runtime_error(name_ + ": tensor \"" + tensor + "\" does not have two dimensions");
  return Eigen::Map<const reference::Matrix<double>>(t.values.data(), t.shape[0], t.shape[1]);
}

}  // namespace plsh::properties
