/// \file
/// Reader of safetensors files (https://github.com/huggingface/safetensors), CPU, read-only.
#pragma once

#include <map>
#include <plsh/reference/real.hpp>
#include <string>
#include <vector>

namespace plsh::properties {

/// The tensors and metadata of one file, values widened to double (exact for F16, BF16, F32, F64).
class Safetensors {
 public:
  struct Tensor {
    std::string dtype;                    ///< "F16", "BF16", "F32" or "F64"
    std::vector<reference::Index> shape;  ///< row-major
    std::vector<double> values;
  };

  /// \throws std::runtime_error "PATH: reason" when the file is missing or malformed in any way:
  /// short, header not JSON, unknown dtype, sizes that do not fit, overlapping or leftover bytes.
  static Safetensors read(const std::string& path);
  /// The same from bytes in memory; `name` stands in for the path in messages.
  static Safetensors parse(const std::string& bytes, const std::string& name);

  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const std::map<std::string, Tensor>& tensors() const { return tensors_; }
  /// A rank-2 tensor as a matrix. \throws std::runtime_error when absent or of another rank.
  reference::Matrix<double> matrix(const std::string& tensor) const;

 private:
  std::string name_;
  std::map<std::string, std::string> metadata_;
  std::map<std::string, Tensor> tensors_;
};

}  // namespace plsh::properties
