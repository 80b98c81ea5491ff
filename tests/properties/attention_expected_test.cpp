// The tolerance of the differential properties of attention: it holds what honest arithmetic does,
// it is not much wider, and the reference in double is inside its own part of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <plsh/properties/property.hpp>
#include <plsh/reference/attention.hpp>
#include <vector>

namespace plsh::properties {
namespace {

/// Strided access to a tensor of f32 or f64.
class View {
 public:
  explicit View(const DLTensor* tensor) : tensor_(tensor) {}
  Index shape(int axis) const { return tensor_->shape[axis]; }
  double get(std::initializer_list<Index> index) const {
    return tensor_->dtype.bits == 64
               ? static_cast<const double*>(tensor_->data)[offset(index)]
               : static_cast<double>(static_cast<const float*>(tensor_->data)[offset(index)]);
  }
  void set(std::initializer_list<Index> index, double value) const {
    if (tensor_->dtype.bits == 64)
      static_cast<double*>(tensor_->data)[offset(index)] = value;
    else
      static_cast<float*>(tensor_->data)[offset(index)] = static_cast<float>(value);
  }

 private:
  Index offset(std::initializer_list<Index> index) const {
    Index result = 0;
    const Index* stride = tensor_->strides;
    for (const Index i : index) result += i * *stride++;
    return result;
  }
  const DLTensor* tensor_;
};

/// One row of exact attention, and where it lies.
struct Row {
  std::vector<std::vector<double>> key, value;
  std::vector<double> query, distance;
  double scale, slope;
};
struct RowResult {
  std::vector<double> output;
  double log_sum_exp;
};
using Attend = std::function<RowResult(const Row&)>;

/// What the table's function uses: a table holds no state.
Attend attend;
double planted = 0;  // added to the first element of the output

/// Exact attention, no variable lengths, query i at position i, head h uses key head h / group.
int exact_forward(const plsh_attention* a) {
  const View query(a->query);
  const View key(a->key);
  const View value(a->value);
  const View output(a->output);
  const Index group = query.shape(2) / key.shape(2);
  for (Index b = 0; b < query.shape(0); ++b)
    for (Index h = 0; h < query.shape(2); ++h)
      for (Index i = 0; i < query.shape(1); ++i) {
        Row row;
        row.scale = a->scale;
        row.slope = View(a->slopes).get({b, h});
        for (Index x = 0; x < query.shape(3); ++x) row.query.push_back(query.get({b, i, h, x}));
        const Index keys = a->causal != 0 ? std::min(i + 1, key.shape(1)) : key.shape(1);
        for (Index j = 0; j < keys; ++j) {
          row.distance.push_back(std::fabs(static_cast<double>(i - j)));
          row.key.emplace_back();
          row.value.emplace_back();
          for (Index x = 0; x < key.shape(3); ++x)
            row.key.back().push_back(key.get({b, j, h / group, x}));
          for (Index x = 0; x < value.shape(3); ++x)
            row.value.back().push_back(value.get({b, j, h / group, x}));
        }
        const RowResult result = attend(row);
        for (Index x = 0; x < value.shape(3); ++x)
          output.set({b, i, h, x}, result.output[static_cast<std::size_t>(x)]);
        if (a->log_sum_exp != nullptr) View(a->log_sum_exp).set({b, h, i}, result.log_sum_exp);
      }
  if (planted != 0) output.set({0, 0, 0, 0}, output.get({0, 0, 0, 0}) + planted);
  return PLSH_OK;
}

Implementation implementation(plsh_type type) {
  static plsh_implementation table;
  table = {};
  table.interface_version = PLSH_INTERFACE_VERSION;
  table.struct_size = sizeof table;
  table.name = "emulation";
  table.version = "1";
  table.device = {kDLCPU, 0};
  table.conventions.precision[type] = {1, type, type, type, type};
  table.exact_forward = exact_forward;
  return Implementation(&table);
}

/// Key after key in float, rescaling whenever the maximum rises: the worst order that is honest.
RowResult online_in_float(const Row& row) {
  RowResult result;
  std::vector<float> sum(row.value[0].size(), 0);
  float total = 0;
  float top = -std::numeric_limits<float>::infinity();
  for (std::size_t j = 0; j < row.key.size(); ++j) {
    float dot = 0;
    for (std::size_t x = 0; x < row.query.size(); ++x)
      dot += static_cast<float>(row.query[x]) * static_cast<float>(row.key[j][x]);
    const float logit = static_cast<float>(row.scale) * dot -
                        static_cast<float>(row.slope) * static_cast<float>(row.distance[j]);
    if (logit > top) {
      const float factor = std::exp(top - logit);
      total *= factor;
      for (float& s : sum) s *= factor;
      top = logit;
    }
    const float weight = std::exp(logit - top);
    total += weight;
    for (std::size_t x = 0; x < sum.size(); ++x)
      sum[x] += weight * static_cast<float>(row.value[j][x]);
  }
  for (const float s : sum) result.output.push_back(static_cast<double>(s / total));
  result.log_sum_exp = static_cast<double>(top + std::log(total));
  return result;
}

/// The exact result, rounded to double.
RowResult exactly(const Row& row) {
  using reference::Interval;
  using reference::Matrix;
  const reference::PrecisionScope precision(60);
  const auto keys = static_cast<Index>(row.key.size());
  const auto d = static_cast<Index>(row.query.size());
  const auto components = static_cast<Index>(row.value[0].size());
  reference::HeadInput<Interval> input{Matrix<Interval>(1, d),
                                       Matrix<Interval>(keys, d),
                                       Matrix<Interval>(keys, components),
                                       Interval(row.scale),
                                       false,
                                       0};
  Matrix<Interval> weights(1, keys);
  for (Index x = 0; x < d; ++x)
    input.query(0, x) = Interval(row.query[static_cast<std::size_t>(x)]);
  for (Index j = 0; j < keys; ++j) {
    const auto k = static_cast<std::size_t>(j);
    for (Index x = 0; x < d; ++x)
      input.key(j, x) = Interval(row.key[k][static_cast<std::size_t>(x)]);
    for (Index x = 0; x < components; ++x)
      input.value(j, x) = Interval(row.value[k][static_cast<std::size_t>(x)]);
    weights(0, j) = reference::exp(Interval(Interval(-row.slope) * Interval(row.distance[k])));
  }
  const auto exact = reference::weighted_attention(input, weights);
  RowResult result;
  for (Index x = 0; x < components; ++x)
    result.output.push_back(reference::to_double(exact.output(0, x)));
  result.log_sum_exp = reference::to_double(exact.log_sum_exp[0]);
  return result;
}

Case make_case(const char* type, const char* fill, Index keys, Index head_dim, double sigma,
               std::uint64_t seed) {
  return {{"type", type},   {"fill", fill},         {"query_length", 3}, {"key_length", keys},
          {"group", 2},     {"head_dim", head_dim}, {"value_dim", 2},    {"causal", seed % 2 == 1},
          {"sigma", sigma}, {"seed", seed}};
}

double largest_ratio(plsh_type type, const char* name, const char* id, int& cases) {
  double largest = 0;
  for (const char* fill : {"normal", "sharp", "large_logits", "ties", "zero_scores", "dyadic"})
    for (const Index keys : {1, 2, 7, 64})
      for (const Index head_dim : {1, 5, 64})
        for (const double sigma : {0.2, 4.0, 1000.0}) {
          const auto seed = static_cast<std::uint64_t>(++cases);
          const Outcome outcome =
              run_case(property(id), implementation(type),
                       make_case(name, fill, keys, head_dim, sigma, seed), Budget{});
          EXPECT_EQ(outcome.status, Outcome::Status::passed) << outcome.message;
          largest = std::max(largest, outcome.error_ratio);
        }
  return largest;
}

class AttentionTolerance : public ::testing::Test {
 protected:
  void TearDown() override {
    attend = nullptr;
    planted = 0;
  }
};

TEST_F(AttentionTolerance, HoldsHonestArithmeticInFloat) {
  attend = online_in_float;
  int cases = 0;
  const double output = largest_ratio(PLSH_F32, "f32", "exact-forward.reference", cases);
  const double lse = largest_ratio(PLSH_F32, "f32", "exact-forward.log-sum-exp", cases);
  EXPECT_EQ(cases, 432);
  // Inside, and yet of the size of the error.
  EXPECT_LT(output, 0.9);
  EXPECT_GT(output, 0.02);
  EXPECT_LT(lse, 0.9);
  EXPECT_GT(lse, 0.01);
}

TEST_F(AttentionTolerance, HoldsTheReferenceInDouble) {
  // For f64 half of the tolerance is the reference's. The exact result, rounded once, differs from
  // the reference by the reference's own error and half a spacing.
  attend = exactly;
  int cases = 0;
  EXPECT_LT(largest_ratio(PLSH_F64, "f64", "exact-forward.reference", cases), 0.6);
  EXPECT_LT(largest_ratio(PLSH_F64, "f64", "exact-forward.log-sum-exp", cases), 0.6);
  EXPECT_EQ(cases, 432);
}

TEST_F(AttentionTolerance, RejectsMore) {
  attend = exactly;
  const Property& reference = property("exact-forward.reference");
  int checked = 0;
  for (const Index keys : {2, 7, 64}) {
    const Case c = make_case("f64", "normal", keys, 8, 4, 6);
    planted = 1e-6;
    const Outcome far = run_case(reference, implementation(PLSH_F64), c, Budget{});
    ASSERT_EQ(far.status, Outcome::Status::failed);
    EXPECT_NE(far.message.find("output[0, 0, 0, 0] is "), std::string::npos) << far.message;
    EXPECT_NE(far.message.find("expected"), std::string::npos);
    const double tolerance = planted / far.error_ratio;
    // A thousand roundoffs at most: of the order of what arithmetic does.
    EXPECT_LT(tolerance, 4096 * 0x1p-53);
    planted = 1.2 * tolerance;
    EXPECT_EQ(run_case(reference, implementation(PLSH_F64), c, Budget{}).status,
              Outcome::Status::failed);
    planted = 0.5 * tolerance;
    EXPECT_EQ(run_case(reference, implementation(PLSH_F64), c, Budget{}).status,
              Outcome::Status::passed);
    ++checked;
  }
  EXPECT_EQ(checked, 3);
}

TEST_F(AttentionTolerance, NanIsNeverWithin) {
  attend = [](const Row& row) {
    RowResult result = exactly(row);
    result.output[1] = std::nan("");
    return result;
  };
  const Outcome outcome = run_case(property("exact-forward.reference"), implementation(PLSH_F64),
                                   make_case("f64", "normal", 5, 2, 4, 2), Budget{});
  EXPECT_EQ(outcome.status, Outcome::Status::failed);
  EXPECT_NE(outcome.message.find("is nan"), std::string::npos) << outcome.message;
}

TEST_F(AttentionTolerance, UnsupportedTypesFallBack) {
  attend = exactly;
  const Outcome outcome = run_case(property("exact-forward.reference"), implementation(PLSH_F64),
                                   make_case("bf16", "normal", 5, 2, 4, 2), Budget{});
  EXPECT_EQ(outcome.status, Outcome::Status::passed) << outcome.message;
  EXPECT_GT(outcome.error_ratio, 0);
}

}  // namespace
}  // namespace plsh::properties
