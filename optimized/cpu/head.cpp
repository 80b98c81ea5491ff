#include "head.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace plsh::optimized::cpu {

Index Blocks::find(Index position, Index near) const {
  // begin(low) <= position < begin(high), where begin(count) is beyond: first in steps that double.
  Index low = near;
  Index high = near + 1;
  for (Index step = 1; low > 0 && begin(low) > position; step *= 2) {
    high = low;
    low = std::max<Index>(low - step, 0);
  }
  for (Index step = 1; high < count && begin(high) <= position; step *= 2) {
    low = high;
    high = std::min(high + step, count);
  }
  while (high - low > 1) {
    const Index middle = low + (high - low) / 2;
    (begin(middle) <= position ? low : high) = middle;
  }
  return low;
}

KeyRange visible_keys(const Head& head, Index position) {
  KeyRange range{0, head.keys};
  if (head.causal) range.last = std::clamp<Index>(position + 1, 0, head.keys);
  if (head.partitions != nullptr) {
    if (position < 0 || position >= head.keys) return {0, 0};
    Index first = position;
    Index last = position;
    for (Index s = 0; s < head.samples; ++s) {
      const Blocks& blocks = head.partitions[s];
      const Index block = blocks.find(position);
      first = std::min(first, blocks.begin(block));
      last = std::max(last, blocks.end(block));
    }
    return {first, std::min(last, range.last)};
  }
  if (std::isfinite(head.window)) {
    const auto reach = static_cast<Index>(std::min(head.window, 1e15));
    range.first = std::clamp<Index>(position - reach, 0, range.last);
    range.last = std::clamp<Index>(position + reach + 1, range.first, range.last);
  }
  return range;
}

void careful_row(const Head& head, Index row) {
  const Index position = row + head.offset;
  const KeyRange range = visible_keys(head, position);
  const auto size = static_cast<std::size_t>(range.last - range.first);
  // The difference of the number of blocks that hold a key, from key to key.
  std::vector<double> multiplicity(size + 1, 0);
  if (head.partitions == nullptr) {
    multiplicity.assign(size + 1, 1);
  } else if (size > 0) {
    for (Index s = 0; s < head.samples; ++s) {
      const Blocks& blocks = head.partitions[s];
      const Index block = blocks.find(position);
      multiplicity[static_cast<std::size_t>(blocks.begin(block) - range.first)] += 1;
      const Index end = std::min(blocks.end(block), range.last);
      multiplicity[static_cast<std::size_t>(end - range.first)] -= 1;
    }
    for (std::size_t k = 1; k < size; ++k) multiplicity[k] += multiplicity[k - 1];
  }

  std::vector<double> logit(size);
  double maximum = -std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < size; ++k) {
    const Index j = range.first + static_cast<Index>(k);
    double dot = 0;
    for (Index c = 0; c < head.head_dim; ++c)
      dot += static_cast<double>(head.query.get(row, c)) * static_cast<double>(head.key.get(j, c));
    logit[k] = head.scale * dot;
    if (head.partitions == nullptr)
      logit[k] -= head.slope * static_cast<double>(std::abs(position - j));
    if (multiplicity[k] > 0) maximum = std::max(maximum, logit[k]);
  }
  double sum = 0;
  std::vector<double> output(static_cast<std::size_t>(head.value_dim), 0);
  for (std::size_t k = 0; k < size; ++k) {
    if (multiplicity[k] == 0) continue;
    const double weight = multiplicity[k] * std::exp(logit[k] - maximum);
    sum += weight;
    for (Index c = 0; c < head.value_dim; ++c)
      output[static_cast<std::size_t>(c)] +=
          weight * static_cast<double>(head.value.get(range.first + static_cast<Index>(k), c));
  }
  for (Index c = 0; c < head.value_dim; ++c)
    head.output.set(
        row, c, size == 0 ? 0.0F : static_cast<float>(output[static_cast<std::size_t>(c)] / sum));
  if (head.log_sum_exp != nullptr) {
    const double samples = head.partitions == nullptr ? 1 : static_cast<double>(head.samples);
    head.log_sum_exp[row * head.log_sum_exp_stride] =
        size == 0 ? -std::numeric_limits<float>::infinity()
                  : static_cast<float>(maximum + std::log(sum) - std::log(samples));
  }
}

}  // namespace plsh::optimized::cpu
