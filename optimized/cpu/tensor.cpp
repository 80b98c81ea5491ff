#include "tensor.hpp"

#include <Eigen/Core>
#include <cstring>

namespace plsh::optimized::cpu {
namespace {

template <class T>
float load(const void* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return static_cast<float>(value);
}

template <class T>
void store(void* at, float number) {
  const T value(number);
  std::memcpy(at, &value, sizeof value);
}

}  // namespace

Element element_of(const DLTensor& tensor) {
  if (tensor.dtype.lanes == 1) {
    if (tensor.dtype.code == kDLFloat && tensor.dtype.bits == 32) return Element::f32;
    if (tensor.dtype.code == kDLFloat && tensor.dtype.bits == 16) return Element::f16;
    if (tensor.dtype.code == kDLBfloat && tensor.dtype.bits == 16) return Element::bf16;
  }
  throw Refusal("a type other than f32, f16 and bf16");
}

Rows rows_of(const DLTensor& tensor, Index batch, Index begin, Index head) {
  Rows rows{static_cast<char*>(tensor.data), tensor.strides[1], tensor.strides[3],
            element_of(tensor)};
  rows.data += rows.size() *
               (batch * tensor.strides[0] + begin * tensor.strides[1] + head * tensor.strides[2]);
  return rows;
}

float Rows::get(Index i, Index c) const {
  switch (element) {
    case Element::f32:
      return load<float>(at(i, c));
    case Element::f16:
      return load<Eigen::half>(at(i, c));
    case Element::bf16:
      return load<Eigen::bfloat16>(at(i, c));
  }
  return 0;
}

void Rows::set(Index i, Index c, float value) const {
  switch (element) {
    case Element::f32:
      return store<float>(at(i, c), value);
    case Element::f16:
      return store<Eigen::half>(at(i, c), value);
    case Element::bf16:
      return store<Eigen::bfloat16>(at(i, c), value);
  }
}

}  // namespace plsh::optimized::cpu
