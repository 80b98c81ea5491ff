/// \file
/// Tensors of the interface as rows of numbers.
#pragma once

#include <plsh/interface/implementation.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>

namespace plsh::optimized::cpu {

using Index = std::int64_t;

/// Valid arguments that this implementation does not support.
struct Refusal : std::runtime_error {
  using std::runtime_error::runtime_error;
};

enum class Element { f32, f16, bf16 };

/// \throws Refusal for another type.
Element element_of(const DLTensor& tensor);

/// The rows of one head of one sequence: a matrix with strides in elements. It does not own them.
struct Rows {
  char* data = nullptr;
  Index row_stride = 0;
  Index column_stride = 0;
  Element element = Element::f32;

  Index size() const { return element == Element::f32 ? 4 : 2; }
  char* at(Index i, Index c) const { return data + size() * (i * row_stride + c * column_stride); }
  float get(Index i, Index c) const;
  void set(Index i, Index c, float value) const;
};

/// \param tensor [batch, length, heads, dim]; row 0 is `begin` along the second axis.
Rows rows_of(const DLTensor& tensor, Index batch, Index begin, Index head);

/// One element of an int64 tensor.
template <class... Axes>
Index& integer(const DLTensor& tensor, Axes... axes) {
  Index offset = 0;
  std::size_t axis = 0;
  ((offset += static_cast<Index>(axes) * tensor.strides[axis++]), ...);
  return static_cast<Index*>(tensor.data)[offset];
}

}  // namespace plsh::optimized::cpu
