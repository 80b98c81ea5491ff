// Tensors under test: rounding, layouts, guards.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <plsh/properties/tensor.hpp>
#include <set>

namespace plsh::properties {
namespace {

class EveryLayout : public ::testing::TestWithParam<Layout> {};

// The address of an element by the view that is handed over.
char* address(Tensor& tensor, std::vector<Index> index) {
  const DLTensor* view = tensor.view();
  Index offset = 0;
  for (std::size_t a = 0; a < index.size(); ++a) offset += index[a] * view->strides[a];
  return static_cast<char*>(view->data) + offset * (view->dtype.bits / 8);
}

TEST_P(EveryLayout, HoldsEveryElementAtAPlaceOfItsOwn) {
  Tensor tensor(Type::f32, {2, 3, 2, 4}, GetParam());
  std::set<char*> addresses;
  double value = 0;
  for (Index b = 0; b < 2; ++b)
    for (Index i = 0; i < 3; ++i)
      for (Index h = 0; h < 2; ++h)
        for (Index x = 0; x < 4; ++x) {
          tensor.set({b, i, h, x}, ++value);
          char* at = address(tensor, {b, i, h, x});
          addresses.insert(at);
          float stored = 0;
          std::memcpy(&stored, at, sizeof stored);
          EXPECT_EQ(static_cast<double>(stored), value);
          EXPECT_EQ(tensor.get({b, i, h, x}), value);
        }
  EXPECT_EQ(addresses.size(), 48U);
  EXPECT_EQ(tensor.damage("t"), std::nullopt);
  EXPECT_EQ(tensor.first_unwritten(), std::nullopt);
}

TEST_P(EveryLayout, SeesWhatWasNotWritten) {
  Tensor tensor(Type::f64, {1, 2, 2, 2}, GetParam());
  tensor.set({0, 0, 0, 0}, 1);
  EXPECT_EQ(tensor.first_unwritten(), "[0, 0, 0, 1]");
  EXPECT_TRUE(tensor.written({0, 0, 0, 0}));
  EXPECT_FALSE(tensor.written({0, 1, 1, 1}));
  EXPECT_TRUE(std::isnan(tensor.get({0, 1, 1, 1})));
}

TEST_P(EveryLayout, SeesWritesBesideTheElements) {
  for (const Index beside : {-1, 1}) {
    Tensor tensor(Type::f32, {1, 2, 1, 3}, GetParam());
    const std::vector<Index> corner =
        beside < 0 ? std::vector<Index>{0, 0, 0, 0} : std::vector<Index>{0, 1, 0, 2};
    *(address(tensor, corner) + 4 * beside) = 7;
    const auto damage = tensor.damage("output");
    ASSERT_TRUE(damage.has_value());
    EXPECT_NE(damage->find("output"), std::string::npos) << *damage;
    tensor.clear();
    EXPECT_EQ(tensor.damage("output"), std::nullopt);
  }
}

TEST_P(EveryLayout, SeesAChangedInput) {
  Tensor tensor(Type::bf16, {1, 2, 1, 2}, GetParam());
  for (Index i = 0; i < 2; ++i)
    for (Index x = 0; x < 2; ++x) tensor.set({0, i, 0, x}, 1);
  tensor.seal();
  EXPECT_EQ(tensor.damage("key"), std::nullopt);
  tensor.set({0, 1, 0, 0}, 2);
  EXPECT_EQ(tensor.damage("key"), "the input key was changed at [0, 1, 0, 0]");
}

INSTANTIATE_TEST_SUITE_P(Tensor, EveryLayout,
                         ::testing::Values(Layout::packed, Layout::transposed, Layout::reversed,
                                           Layout::padded, Layout::fused, Layout::huge),
                         [](const auto& test) { return to_string(test.param); });

TEST(Tensor, HugeStridesPassTheRangeOf32Bits) {
  Tensor tensor(Type::f32, {1, 3, 1, 1}, Layout::huge);
  EXPECT_GT(2 * tensor.view()->strides[1], Index{std::numeric_limits<std::int32_t>::max()});
}

TEST(Tensor, AnEmptyTensorHasNoElementAndIsStillGuarded) {
  Tensor tensor(Type::f32, {1, 0, 2, 4});
  EXPECT_EQ(tensor.size(), 0);
  EXPECT_EQ(tensor.first_unwritten(), std::nullopt);
  *static_cast<char*>(tensor.view()->data) = 1;
  EXPECT_TRUE(tensor.damage("output").has_value());
}

TEST(Tensor, RoundsToNearestEven) {
  EXPECT_EQ(round_to(Type::bf16, 1 + 0x1p-8), 1);               // a tie
  EXPECT_EQ(round_to(Type::bf16, 1 + 3 * 0x1p-8), 1 + 0x1p-6);  // a tie, the other way
  EXPECT_EQ(round_to(Type::f16, 65520), std::numeric_limits<double>::infinity());
  EXPECT_EQ(round_to(Type::f16, 65519), 65504);
  for (const Type type : {Type::f16, Type::bf16, Type::f32}) {
    EXPECT_EQ(round_to(type, 1 + unit_roundoff(type)), 1);
    EXPECT_GT(round_to(type, 1 + 1.01 * unit_roundoff(type)), 1);
    EXPECT_EQ(round_to(type, smallest_positive(type)), smallest_positive(type));
    EXPECT_EQ(round_to(type, largest_finite(type)), largest_finite(type));
    EXPECT_EQ(type_from_string(to_string(type)), type);
  }
  EXPECT_THROW(type_from_string("f8"), std::invalid_argument);
  EXPECT_THROW(layout_from_string("sideways"), std::invalid_argument);
}

}  // namespace
}  // namespace plsh::properties
