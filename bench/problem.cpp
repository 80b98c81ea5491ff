#include "problem.hpp"

#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <plsh/optimized/cpu.hpp>
#include <random>
#include <stdexcept>

namespace plsh::bench {
namespace {

namespace cpu = optimized::cpu;

/// A packed tensor and its memory.
struct Array {
  std::vector<char> memory;
  std::vector<Index> shape;
  std::vector<Index> strides;
  DLTensor view{};

  Array(DLDataType type, std::vector<Index> sizes) : shape(std::move(sizes)) {
    strides.assign(shape.size(), 1);
    for (std::size_t k = shape.size() - 1; k-- > 0;) strides[k] = strides[k + 1] * shape[k + 1];
    memory.resize(static_cast<std::size_t>(strides[0] * shape[0] * type.bits / 8));
    view = {memory.data(),
            {kDLCPU, 0},
            static_cast<int>(shape.size()),
            type,
            shape.data(),
            strides.data(),
            0};
  }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  template <class T>
  T* as() {
    return reinterpret_cast<T*>(memory.data());
  }
  Index size() const { return strides[0] * shape[0]; }
  float get(Index k) {
    switch (view.dtype.bits) {
      case 32:
        return as<float>()[k];
      default:
        return view.dtype.code == kDLBfloat ? static_cast<float>(as<Eigen::bfloat16>()[k])
                                            : static_cast<float>(as<Eigen::half>()[k]);
    }
  }
  void set(Index k, float value) {
    if (view.dtype.bits == 32)
      as<float>()[k] = value;
    else if (view.dtype.code == kDLBfloat)
      as<Eigen::bfloat16>()[k] = Eigen::bfloat16(value);
    else
      as<Eigen::half>()[k] = Eigen::half(value);
  }
};

DLDataType data_type(plsh_type type) {
  switch (type) {
    case PLSH_F32:
      return {kDLFloat, 32, 1};
    case PLSH_F16:
      return {kDLFloat, 16, 1};
    case PLSH_BF16:
      return {kDLBfloat, 16, 1};
    case PLSH_F64:
      break;
  }
  throw std::invalid_argument("benchmarks run in f32, f16 and bf16");
}

constexpr DLDataType kFloat{kDLFloat, 32, 1};
constexpr DLDataType kDouble{kDLFloat, 64, 1};
constexpr DLDataType kInteger{kDLInt, 64, 1};

/// The pairs of one head: those that share a block at all, and those of each sample.
struct Pairs {
  double united = 0;
  double written = 0;
};

Pairs count_pairs(const Index* counts, const Index* starts, Index samples, Index length,
                  bool causal) {
  Pairs pairs;
  std::vector<Index> block(static_cast<std::size_t>(samples), 0);
  for (Index i = 0; i < length; ++i) {
    Index first = i;
    Index last = i + 1;
    for (Index s = 0; s < samples; ++s) {
      Index& b = block[static_cast<std::size_t>(s)];
      const Index* const begins = starts + s * length;
      if (b + 1 < counts[s] && begins[b + 1] <= i) ++b;
      const Index end = causal ? i + 1 : b + 1 < counts[s] ? begins[b + 1] : length;
      first = std::min(first, begins[b]);
      last = std::max(last, end);
      pairs.written += static_cast<double>(end - begins[b]);
    }
    pairs.united += static_cast<double>(last - first);
  }
  return pairs;
}

}  // namespace

std::string Form::name() const {
  switch (kind) {
    case Kind::draw:
      return "draw partitions";
    case Kind::fused:
      return "fused";
    case Kind::sample_by_sample:
      return "sample by sample";
    case Kind::exact:
      return "exact";
    case Kind::window:
      return fmt::format("window {:g} sigma", reach);
    case Kind::equal_window:
      return "window, as many pairs";
    case Kind::equal_blocks:
      return "equal blocks";
  }
  return "?";
}

struct Problem::Data {
  Array query, key, value, output, log_sum_exp, slopes;
  Array output_gradient, query_gradient, key_gradient, value_gradient;
  Array counts, starts;  // of the samples
  Array sigma;
  Array equal_counts, equal_starts;  // of the equal blocks
  Pairs pairs, equal_pairs;
  double equal_reach = 0;  // of the window with as many pairs as the union, over sigma
  std::uint64_t seed = 0;
  std::vector<double> exact;  // once it is asked for

  explicit Data(const Shape& shape)
      : Data(shape, data_type(shape.type), static_cast<Index>(shape.sigmas.size())) {}
  Data(const Shape& s, DLDataType type, Index heads)
      : query(type, {1, s.length, heads, s.head_dim}),
        key(type, {1, s.length, heads, s.head_dim}),
        value(type, {1, s.length, heads, s.head_dim}),
        output(type, {1, s.length, heads, s.head_dim}),
        log_sum_exp(kFloat, {1, heads, s.length}),
        slopes(kFloat, {1, heads}),
        output_gradient(type, {1, s.length, heads, s.head_dim}),
        query_gradient(type, {1, s.length, heads, s.head_dim}),
        key_gradient(type, {1, s.length, heads, s.head_dim}),
        value_gradient(type, {1, s.length, heads, s.head_dim}),
        counts(kInteger, {1, heads, s.samples}),
        starts(kInteger, {1, heads, s.samples, s.length}),
        sigma(kDouble, {heads}),
        equal_counts(kInteger, {1, heads, 1}),
        equal_starts(kInteger, {1, heads, 1, s.length}) {}
};

Problem::Problem(const Shape& shape, std::uint64_t seed)
    : shape_(shape), data_(std::make_unique<Data>(shape)) {
  Data& data = *data_;
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  for (Array* array : {&data.query, &data.key, &data.value, &data.output_gradient})
    for (Index k = 0; k < array->size(); ++k) array->set(k, normal(random));

  const auto heads = static_cast<Index>(shape.sigmas.size());
  data.seed = seed;
  for (Index h = 0; h < heads; ++h) {
    const double value = shape.sigmas[static_cast<std::size_t>(h)];
    data.sigma.as<double>()[h] = value;
    data.slopes.as<float>()[h] = static_cast<float>(1 / value);
    const Index size = std::max<Index>(1, std::llround(2 * value));
    Index count = 0;
    for (Index begin = 0; begin < shape.length; begin += size)
      data.equal_starts.as<Index>()[h * shape.length + count++] = begin;
    data.equal_counts.as<Index>()[h] = count;
  }
  draw(0);
  for (Index h = 0; h < heads; ++h) {
    const Pairs drawn = count_pairs(data.counts.as<Index>() + h * shape.samples,
                                    data.starts.as<Index>() + h * shape.samples * shape.length,
                                    shape.samples, shape.length, shape.causal);
    data.pairs.united += drawn.united;
    data.pairs.written += drawn.written;
    data.equal_pairs.united +=
        count_pairs(data.equal_counts.as<Index>() + h,
                    data.equal_starts.as<Index>() + h * shape.length, 1, shape.length, shape.causal)
            .united;
  }
  // The pairs of a window grow with its reach.
  double low = 0;
  double high = static_cast<double>(shape.length) /
                *std::min_element(shape.sigmas.begin(), shape.sigmas.end());
  for (int k = 0; k < 50; ++k) {
    const double middle = (low + high) / 2;
    (window_pairs(middle) < data.pairs.united ? low : high) = middle;
  }
  data.equal_reach = high;
}

Problem::~Problem() = default;

double Problem::window_pairs(double reach) const {
  const auto n = static_cast<double>(shape_.length);
  double pairs = 0;
  for (std::size_t h = 0; h < shape_.sigmas.size(); ++h) {
    // n rows of 2 r + 1 keys, less the triangles beyond both ends.
    const auto slope = static_cast<double>(data_->slopes.as<float>()[h]);
    const double r = std::min(std::floor(reach / slope), n - 1);
    pairs += shape_.causal ? n * (r + 1) - r * (r + 1) / 2 : n * (2 * r + 1) - r * (r + 1);
  }
  return pairs;
}

double Problem::useful_pairs(const Form& form) const {
  const auto n = static_cast<double>(shape_.length);
  switch (form.kind) {
    case Form::Kind::draw:
    case Form::Kind::fused:
    case Form::Kind::sample_by_sample:
      return data_->pairs.united;
    case Form::Kind::equal_blocks:
      return data_->equal_pairs.united;
    case Form::Kind::exact:
      return static_cast<double>(shape_.sigmas.size()) * (shape_.causal ? n * (n + 1) / 2 : n * n);
    case Form::Kind::window:
      return window_pairs(form.reach);
    case Form::Kind::equal_window:
      return window_pairs(data_->equal_reach);
  }
  return 0;
}

double Problem::written_pairs() const { return data_->pairs.written; }

plsh_attention Problem::arguments(const Form& form, int threads) const {
  Data& data = *data_;
  plsh_attention a{};
  a.query = &data.query.view;
  a.key = &data.key.view;
  a.value = &data.value.view;
  a.output = &data.output.view;
  a.log_sum_exp = &data.log_sum_exp.view;
  a.output_gradient = &data.output_gradient.view;
  a.query_gradient = &data.query_gradient.view;
  a.key_gradient = &data.key_gradient.view;
  a.value_gradient = &data.value_gradient.view;
  a.scale = 1 / std::sqrt(static_cast<double>(shape_.head_dim));
  a.causal = shape_.causal ? 1 : 0;
  a.threads = threads;
  switch (form.kind) {
    case Form::Kind::draw:
    case Form::Kind::fused:
    case Form::Kind::sample_by_sample:
      a.block_counts = &data.counts.view;
      a.block_starts = &data.starts.view;
      break;
    case Form::Kind::equal_blocks:
      a.block_counts = &data.equal_counts.view;
      a.block_starts = &data.equal_starts.view;
      break;
    case Form::Kind::exact:
    case Form::Kind::window:
    case Form::Kind::equal_window:
      a.slopes = &data.slopes.view;
      break;
  }
  return a;
}

namespace {

template <class Call>
double seconds_of(const Call& call) {
  const auto start = std::chrono::steady_clock::now();
  if (call() != PLSH_OK) throw std::runtime_error(cpu::implementation().error_message());
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

double Problem::draw(int threads) {
  Data& data = *data_;
  plsh_sampling sampling{};
  sampling.seed = data.seed;
  sampling.length = shape_.length;
  sampling.sigma = &data.sigma.view;
  sampling.threads = threads;
  sampling.block_counts = &data.counts.view;
  sampling.block_starts = &data.starts.view;
  return seconds_of([&] { return cpu::implementation().sample_partitions(&sampling); });
}

cpu::AttentionForm Problem::attention_form(const Form& form) const {
  cpu::AttentionForm result;
  result.sample_by_sample = form.kind == Form::Kind::sample_by_sample;
  if (form.kind == Form::Kind::window) result.window_over_sigma = form.reach;
  if (form.kind == Form::Kind::equal_window) result.window_over_sigma = data_->equal_reach;
  return result;
}

double Problem::forward(const Form& form, int threads) {
  if (form.kind == Form::Kind::draw) return draw(threads);
  const plsh_attention a = arguments(form, threads);
  return seconds_of([&] { return cpu::attention_forward(a, attention_form(form)); });
}

double Problem::backward(const Form& form, int threads) {
  const plsh_attention a = arguments(form, threads);
  return seconds_of([&] { return cpu::attention_backward(a, attention_form(form)); });
}

namespace {

/// Rows of every head whose outputs are compared.
constexpr Index kComparedRows = 32;
Index compared_row(Index r, Index length) { return (2 * r + 1) * length / (2 * kComparedRows); }

}  // namespace

/// Exact ALiBi attention in double, [heads][compared rows][head_dim].
std::vector<double> Problem::exact_rows() const {
  Data& data = *data_;
  const Index n = shape_.length;
  const Index d = shape_.head_dim;
  const auto heads = static_cast<Index>(shape_.sigmas.size());
  const double scale = 1 / std::sqrt(static_cast<double>(d));
  const auto at = [&](Index i, Index h) { return (i * heads + h) * d; };
  std::vector<double> result;
  std::vector<double> logit(static_cast<std::size_t>(n));
  for (Index h = 0; h < heads; ++h)
    for (Index r = 0; r < kComparedRows; ++r) {
      const Index i = compared_row(r, n);
      const Index last = shape_.causal ? i + 1 : n;
      double largest = -1e300;
      for (Index j = 0; j < last; ++j) {
        double dot = 0;
        for (Index c = 0; c < d; ++c)
          dot += static_cast<double>(data.query.get(at(i, h) + c)) *
                 static_cast<double>(data.key.get(at(j, h) + c));
        double& x = logit[static_cast<std::size_t>(j)];
        x = scale * dot -
            static_cast<double>(std::abs(i - j)) / shape_.sigmas[static_cast<std::size_t>(h)];
        largest = std::max(largest, x);
      }
      double sum = 0;
      std::vector<double> output(static_cast<std::size_t>(d), 0);
      for (Index j = 0; j < last; ++j) {
        const double weight = std::exp(logit[static_cast<std::size_t>(j)] - largest);
        if (weight == 0) continue;
        sum += weight;
        for (Index c = 0; c < d; ++c)
          output[static_cast<std::size_t>(c)] +=
              weight * static_cast<double>(data.value.get(at(j, h) + c));
      }
      for (const double o : output) result.push_back(o / sum);
    }
  return result;
}

double Problem::error() {
  if (data_->exact.empty()) data_->exact = exact_rows();
  const auto heads = static_cast<Index>(shape_.sigmas.size());
  double difference = 0;
  double norm = 0;
  auto exact = data_->exact.begin();
  for (Index h = 0; h < heads; ++h)
    for (Index r = 0; r < kComparedRows; ++r)
      for (Index c = 0; c < shape_.head_dim; ++c, ++exact) {
        const Index at = (compared_row(r, shape_.length) * heads + h) * shape_.head_dim + c;
        const double error = static_cast<double>(data_->output.get(at)) - *exact;
        difference += error * error;
        norm += *exact * *exact;
      }
  return std::sqrt(difference / norm);
}

}  // namespace plsh::bench
