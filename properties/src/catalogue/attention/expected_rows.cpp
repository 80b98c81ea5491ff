#include "expected_rows.hpp"

#include <algorithm>

namespace plsh::properties::expected {
namespace {

Matrix<double> rows_of(const Tensor& tensor, Index batch, Index begin, Index length, Index head) {
  const Index dim = tensor.shape()[3];
  Matrix<double> result(length, dim);
  for (Index i = 0; i < length; ++i)
    for (Index x = 0; x < dim; ++x) result(i, x) = tensor.get({batch, begin + i, head, x});
  return result;
}

}  // namespace

std::size_t Head::query_row(const AttentionCase& c, Index i, Index dim) const {
  Index length = c.query_length;
  if (c.variable()) {
    length = 0;
    for (const Index each : c.query_lengths) length += each;
  }
  return static_cast<std::size_t>(
      ((sequence.batch * length + sequence.query_begin + i) * c.heads() + head) * dim);
}

std::size_t Head::key_row(const AttentionCase& c, Index j, Index dim) const {
  Index length = c.key_length;
  if (c.variable()) {
    length = 0;
    for (const Index each : c.key_lengths) length += each;
  }
  return static_cast<std::size_t>(
      ((sequence.batch * length + sequence.key_begin + j) * c.kv_heads + kv_head) * dim);
}

std::size_t Head::lse_element(const AttentionProblem& problem, Index i) const {
  const std::vector<Index>& shape = problem.log_sum_exp.shape();
  return static_cast<std::size_t>((sequence.batch * shape[1] + head) * shape[2] +
                                  sequence.query_begin + i);
}

HeadReader::HeadReader(const AttentionProblem& problem, const plsh_conventions& conventions,
                       bool exact, bool gradients)
    : problem_(problem), conventions_(conventions), exact_(exact), gradients_(gradients) {}

Head HeadReader::read(Index sequence, Index head) {
  const AttentionCase& c = problem_.parameters();
  const Sequence& s = problem_.sequences()[static_cast<std::size_t>(sequence)];
  Head result{s,
              sequence,
              head,
              kv_head(conventions_, c, head),
              rows_of(problem_.query, s.batch, s.query_begin, s.query_length, head),
              {},
              {},
              {},
              problem_.scale(),
              exact_ ? problem_.slope(sequence, head) : 0,
              c.causal,
              query_offset(conventions_, s),
              exact_ ? nullptr : &problem_.partitions(sequence, head)};
  result.key = rows_of(problem_.key, s.batch, s.key_begin, s.key_length, result.kv_head);
  result.value = rows_of(problem_.value, s.batch, s.key_begin, s.key_length, result.kv_head);
  if (gradients_)
    result.output_gradient =
        rows_of(problem_.output_gradient, s.batch, s.query_begin, s.query_length, head);
  return result;
}

SeenKeys seen_keys(const Head& head, Index i) {
  const Index position = i + head.offset;
  const Index keys = head.sequence.key_length;
  const Index end = head.causal ? std::clamp<Index>(position + 1, 0, keys) : keys;
  SeenKeys result;
  if (head.samples == nullptr) {
    result.count.assign(static_cast<std::size_t>(end), 1.0);
    return result;
  }
  if (position < 0 || position >= keys) return result;
  // The blocks all hold the position, so their union is a range.
  std::vector<reference::Block> blocks;
  result.first = keys;
  Index last = 0;
  for (const Partition& partition : *head.samples) {
    blocks.push_back(partition.block(partition.block_of(position)));
    blocks.back().end = std::min(blocks.back().end, end);
    result.first = std::min(result.first, blocks.back().begin);
    last = std::max(last, blocks.back().end);
  }
  result.count.assign(static_cast<std::size_t>(last - result.first), 0.0);
  for (const reference::Block& block : blocks)
    for (Index j = block.begin; j < block.end; ++j)
      result.count[static_cast<std::size_t>(j - result.first)] += 1;
  return result;
}

}  // namespace plsh::properties::expected
