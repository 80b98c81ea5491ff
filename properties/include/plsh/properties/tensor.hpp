/// \file
/// Tensors as an implementation under test sees them: any type and layout, guarded on all sides.
#pragma once

#include <plsh/interface/implementation.h>

#include <memory>
#include <optional>
#include <plsh/reference/real.hpp>
#include <span>
#include <string>
#include <vector>

namespace plsh::properties {

using reference::Index;

/// Element types; the floating ones have the numbers of plsh_type.
enum class Type { f32 = PLSH_F32, f64 = PLSH_F64, f16 = PLSH_F16, bf16 = PLSH_BF16, i64 = 4 };
std::string to_string(Type type);
/// \throws std::invalid_argument naming the known types.
Type type_from_string(const std::string& name);
/// The unit roundoff of a floating type: 2^-24, 2^-53, 2^-11, 2^-8.
double unit_roundoff(Type type);
/// The smallest positive number of a floating type (subnormal).
double smallest_positive(Type type);
/// The largest finite number of a floating type.
double largest_finite(Type type);
/// The nearest value of the type, ties to even; infinite beyond its range.
double round_to(Type type, double value);

/// How the elements of a tensor lie in memory.
enum class Layout {
  packed,      ///< the last axis fastest, no gaps
  transposed,  ///< axes 1 and 2 exchanged in memory: [batch, heads, length, dim] storage
  reversed,    ///< the first axis fastest: not even the last axis is contiguous
  padded,      ///< gaps after every row of the last axis
  fused,       ///< one third of a wider tensor, as Q, K or V cut from a joint projection
  huge         ///< a stride of 2^30 + 8 elements along axis 1, for tiny tensors
};
std::string to_string(Layout layout);
Layout layout_from_string(const std::string& name);

/// Memory that lies between guard zones. It starts as one bit pattern: a NaN for every floating
/// type, negative for integers. An element that still holds its bits counts as never written.
class Tensor {
 public:
  /// \param shape at least one axis, every length >= 0.
  Tensor(Type type, std::vector<Index> shape, Layout layout = Layout::packed);
  ~Tensor();
  Tensor(Tensor&&) noexcept;
  Tensor& operator=(Tensor&&) noexcept;
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;

  Type type() const;
  const std::vector<Index>& shape() const;
  Index size() const;  ///< number of elements

  double get(std::initializer_list<Index> index) const;
  void set(std::initializer_list<Index> index, double value);  ///< rounds to the type
  std::int64_t get_integer(std::initializer_list<Index> index) const;
  void set_integer(std::initializer_list<Index> index, std::int64_t value);
  /// The bits of an element, for comparisons bit by bit.
  std::uint64_t bits(std::initializer_list<Index> index) const;
  bool written(std::initializer_list<Index> index) const;
  /// All elements in row-major order of the shape.
  std::vector<double> values() const;
  std::vector<std::uint64_t> all_bits() const;

  /// From here on the whole memory is expected to stay as it is: an input.
  void seal();
  /// From here on only the elements may change: an output, unwritten again.
  void clear();
  /// What an implementation did wrong with this memory since seal() or clear(), if anything: an
  /// input changed, or a write beside the elements. `name` appears in the text.
  std::optional<std::string> damage(const std::string& name) const;
  /// The index of the first element that was never written, if any, as "[0, 3, 1]".
  std::optional<std::string> first_unwritten() const;

  /// The view to hand over. Valid as long as the tensor.
  DLTensor* view();
  const DLTensor* view() const;

 private:
  struct Memory;
  std::unique_ptr<Memory> memory_;
};

}  // namespace plsh::properties
