/// \file
/// An implementation under test, behind its table (plsh/interface/implementation.h).
#pragma once

#include <plsh/interface/implementation.h>

#include <nlohmann/json.hpp>
#include <plsh/properties/tensor.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace plsh::properties {

/// The operations of the interface, in the order of the table.
enum class Operation {
  slopes,
  bins,
  sample_partitions,
  mean_mask,
  exact_forward,
  exact_backward,
  sampled_forward,
  sampled_backward
};
std::string to_string(Operation operation);
const std::vector<Operation>& all_operations();

/// The implementation does not support these (valid) arguments.
struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The implementation did something wrong; the text says what, for its author.
struct Violation : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Implementation {
 public:
  /// Loads a shared library, never to be unloaded, and reads its table.
  /// \throws std::runtime_error when the library cannot be loaded or the symbol is missing;
  ///         Violation when the table is not valid.
  static Implementation load(const std::string& path);
  /// A table in this process. \throws Violation when it is null or not valid.
  explicit Implementation(const plsh_implementation* table);

  const std::string& name() const { return name_; }
  const plsh_conventions& conventions() const { return table_->conventions; }
  bool offers(Operation operation) const;
  bool promises(plsh_promise promise) const;
  /// The declared precision for tensors of this type, and whether the type is supported.
  const plsh_precision& precision(Type type) const;
  bool supports(Type type) const { return precision(type).supported != 0; }
  std::vector<Type> supported_types() const;

  /// Each calls one operation. Outputs must have been cleared and inputs sealed.
  /// \throws Refused, or Violation when the call fails or throws.
  void slopes(Tensor& slopes) const;
  void bins(const Tensor& positions, const Tensor& widths, const Tensor& shifts,
            Tensor& bins) const;
  void sample_partitions(const plsh_sampling& arguments) const;
  void mean_mask(const Tensor& block_counts, const Tensor& block_starts, Tensor& mask) const;
  /// Provides the workspace, guarded, and calls one of the four attention operations.
  void attention(Operation operation, plsh_attention arguments) const;

  /// How many calls have succeeded so far.
  Index calls() const { return calls_; }

  /// Name, version, offered operations and declared conventions, in words.
  nlohmann::json describe() const;

 private:
  void finish(Operation operation, int status) const;
  const plsh_implementation* table_;
  std::string name_;
  mutable Index calls_ = 0;
};

}  // namespace plsh::properties
