#include <algorithm>
#include <functional>
#include <limits>
#include <plsh/reference/attention.hpp>
#include <plsh/reference/kernel.hpp>

#include "geometric.hpp"
#include "validate.hpp"

namespace plsh::reference {
namespace {

template <class Real>
void require_shapes(const HeadInput<Real>& input) {
  require(input.query.cols() == input.key.cols(),
          "query has head_dim " + std::to_string(input.query.cols()) + " but key has " +
              std::to_string(input.key.cols()));
  require(input.key.rows() == input.value.rows(), "key has " + std::to_string(input.key.rows()) +
                                                      " rows but value has " +
                                                      std::to_string(input.value.rows()));
}

template <class Real>
Real logit(const HeadInput<Real>& input, Index i, Index j) {
  return input.logit_scale * input.query.row(i).dot(input.key.row(j));
}

// By the end points: == on intervals that overlap without being equal ends the program.
template <class Real>
bool is_zero(const Real& x) {
  return lower(x) == 0 && upper(x) == 0;
}
template <>
bool is_zero(const double& x) {
  return x == 0;
}
template <>
bool is_zero(const Mpfr& x) {
  return x == 0;
}

template <class Real>
Real minus_infinity() {
  return Real(-std::numeric_limits<double>::infinity());
}

/// Row sums of w_j exp(logit_j) and w_j exp(logit_j) v_j, relative to exp(shift), so that large
/// logits do not overflow. The shift cancels in the output; it moves up as larger logits arrive.
template <class Real>
class RowAccumulator {
 public:
  explicit RowAccumulator(Index value_dim)
      : numerator_(Vector<Real>::Constant(value_dim, Real(0))), denominator_(0), shift_(0) {}

  void add(const Real& weight, const Real& logit, const Matrix<Real>& value, Index j) {
    if (empty_) {
      shift_ = point(logit);
      empty_ = false;
    } else if (to_double(logit) > to_double(shift_)) {
      const Real factor = exp(Real(shift_ - point(logit)));
      numerator_ *= factor;
      denominator_ *= factor;
      shift_ = point(logit);
    }
    const Real w = weight * exp(Real(logit - shift_));
    denominator_ += w;
    numerator_ += w * value.row(j).transpose();
  }

  /// \param divisor common factor of all weights, taken out of the log-sum-exp.
  void write(HeadOutput<Real>& output, Index i, const Real& divisor = Real(1)) const {
    if (empty_) {
      output.output.row(i).setConstant(Real(0));
      output.log_sum_exp[i] = minus_infinity<Real>();
      return;
    }
    for (Index c = 0; c < numerator_.size(); ++c)
      output.output(i, c) = numerator_[c] / denominator_;
    output.log_sum_exp[i] = shift_ + log(Real(denominator_ / divisor));
  }

 private:
  Vector<Real> numerator_;
  Real denominator_;
  Real shift_;
  bool empty_ = true;
};

template <class Real>
HeadOutput<Real> make_output(const HeadInput<Real>& input) {
  HeadOutput<Real> result;
  result.output.resize(input.query.rows(), input.value.cols());
  result.log_sum_exp.resize(input.query.rows());
  return result;
}

template <class Real>
bool visible(const HeadInput<Real>& input, Index i, Index j) {
  return !input.causal || j <= i + input.query_offset;
}

/// Attention with the weight of (query position, key position) given by a function; a weight that
/// is exactly zero leaves its key out.
template <class Real>
HeadOutput<Real> attention_with(const HeadInput<Real>& input,
                                const std::function<Real(Index, Index)>& weight) {
  require_shapes(input);
  HeadOutput<Real> result = make_output(input);
  for (Index i = 0; i < input.query.rows(); ++i) {
    RowAccumulator<Real> row(input.value.cols());
    for (Index j = 0; j < input.key.rows(); ++j) {
      if (!visible(input, i, j)) continue;
      const Real w = weight(i, j);
      if (is_zero(w)) continue;
      row.add(w, logit(input, i, j), input.value, j);
    }
    row.write(result, i);
  }
  return result;
}

/// L* by distance, 0..largest distance between a query and a key.
template <class Real>
std::vector<Real> kernel_by_distance(const HeadInput<Real>& input, const Real& sigma) {
  require_sigma(sigma);
  const Index first = input.query_offset;
  const Index last = input.query_offset + input.query.rows() - 1;
  const Index reach = std::max({Index{0}, std::abs(last), std::abs(first - input.key.rows() + 1)});
  std::vector<Real> result;
  for (Index d = 0; d <= reach; ++d) result.push_back(decay(d, sigma));
  return result;
}

template <class Real>
void require_positions(const HeadInput<Real>& input, std::span<const Partition> samples) {
  require(!samples.empty(), "at least one sample is needed");
  for (const Partition& partition : samples)
    require(partition.length() == input.key.rows(),
            "a partition has length " + std::to_string(partition.length()) + " but there are " +
                std::to_string(input.key.rows()) + " keys");
  require(input.query_offset >= 0 && input.query_offset + input.query.rows() <= input.key.rows(),
          "query positions must lie in 0.." + std::to_string(input.key.rows() - 1));
}

}  // namespace

template <class Real>
Matrix<Real> logits(const HeadInput<Real>& input) {
  require_shapes(input);
  Matrix<Real> result(input.query.rows(), input.key.rows());
  for (Index i = 0; i < result.rows(); ++i)
    for (Index j = 0; j < result.cols(); ++j) result(i, j) = logit(input, i, j);
  return result;
}

template <class Real>
HeadOutput<Real> weighted_attention(const HeadInput<Real>& input, const Matrix<Real>& weights) {
  require(weights.rows() == input.query.rows() && weights.cols() == input.key.rows(),
          "weights must have shape [n_q, n_k]");
  return attention_with<Real>(input, [&](Index i, Index j) { return weights(i, j); });
}

template <class Real>
HeadOutput<Real> exact_alibi_attention(const HeadInput<Real>& input, const Real& sigma) {
  const std::vector<Real> kernel = kernel_by_distance(input, sigma);
  return attention_with<Real>(input, [&](Index i, Index j) {
    return kernel[static_cast<std::size_t>(std::abs(i + input.query_offset - j))];
  });
}

template <class Real>
HeadOutput<Real> windowed_alibi_attention(const HeadInput<Real>& input, const Real& sigma,
                                          Index radius) {
  require_range("radius", radius, 0, max_length);
  const std::vector<Real> kernel = kernel_by_distance(input, sigma);
  return attention_with<Real>(input, [&](Index i, Index j) {
    const Index distance = std::abs(i + input.query_offset - j);
    return distance <= radius ? kernel[static_cast<std::size_t>(distance)] : Real(0);
  });
}

template <class Real>
HeadOutput<Real> sampled_attention_by_definition(const HeadInput<Real>& input,
                                                 std::span<const Partition> samples) {
  require_positions(input, samples);
  const Matrix<Real> mean = mean_mask<Real>(samples);
  return attention_with<Real>(input,
                              [&](Index i, Index j) { return mean(i + input.query_offset, j); });
}

template <class Real>
HeadOutput<Real> sampled_attention_by_blocks(const HeadInput<Real>& input,
                                             std::span<const Partition> samples) {
  require_shapes(input);
  require_positions(input, samples);
  HeadOutput<Real> result = make_output(input);
  std::vector<RowAccumulator<Real>> rows(static_cast<std::size_t>(input.query.rows()),
                                         RowAccumulator<Real>(input.value.cols()));
  for (const Partition& partition : samples)
    for (Index b = 0; b < partition.block_count(); ++b) {
      const Block block = partition.block(b);
      const Index first = std::max(Index{0}, block.begin - input.query_offset);
      const Index last = std::min(input.query.rows(), block.end - input.query_offset);
      for (Index i = first; i < last; ++i)
        for (Index j = block.begin; j < block.end; ++j)
          if (visible(input, i, j))
            rows[static_cast<std::size_t>(i)].add(Real(1), logit(input, i, j), input.value, j);
    }
  const Real s = Real(static_cast<Index>(samples.size()));
  for (Index i = 0; i < input.query.rows(); ++i)
    rows[static_cast<std::size_t>(i)].write(result, i, s);
  return result;
}

template <class Real>
std::vector<HeadOutput<Real>> exact_alibi_attention(const std::vector<HeadInput<Real>>& heads,
                                                    const std::vector<Real>& sigmas) {
  require(heads.size() == sigmas.size(), "one decay length is needed for each head");
  std::vector<HeadOutput<Real>> result;
  for (std::size_t h = 0; h < heads.size(); ++h)
    result.push_back(exact_alibi_attention(heads[h], sigmas[h]));
  return result;
}

#define PLSH_INSTANTIATE(REAL)                                                                    \
  template Matrix<REAL> logits(const HeadInput<REAL>&);                                           \
  template HeadOutput<REAL> weighted_attention(const HeadInput<REAL>&, const Matrix<REAL>&);      \
  template HeadOutput<REAL> exact_alibi_attention(const HeadInput<REAL>&, const REAL&);           \
  template HeadOutput<REAL> windowed_alibi_attention(const HeadInput<REAL>&, const REAL&, Index); \
  template HeadOutput<REAL> sampled_attention_by_definition(const HeadInput<REAL>&,               \
                                                            std::span<const Partition>);          \
  template HeadOutput<REAL> sampled_attention_by_blocks(const HeadInput<REAL>&,                   \
                                                        std::span<const Partition>);              \
  template std::vector<HeadOutput<REAL>> exact_alibi_attention(                                   \
      const std::vector<HeadInput<REAL>>&, const std::vector<REAL>&);
PLSH_FOR_EACH_REAL(PLSH_INSTANTIATE)

}  // namespace plsh::reference
