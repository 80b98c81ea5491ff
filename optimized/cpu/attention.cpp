#include <plsh/optimized/cpu.hpp>

#include <algorithm>
#include <cmath>

#include "attention.hpp"
#include "backward.hpp"
#include "forward.hpp"
#include "parallel.hpp"

namespace plsh::optimized::cpu {

std::vector<HeadTask> heads_of(const plsh_attention& a, const AttentionForm& form,
                               std::vector<Blocks>& blocks) {
  const bool variable = a.query_starts != nullptr;
  const Index sequences = variable ? a.query_starts->shape[0] - 1 : a.query->shape[0];
  const Index heads = a.query->shape[2];
  const Index group = heads / a.key->shape[2];
  const bool sampled = a.block_counts != nullptr;
  const Index samples = sampled ? a.block_counts->shape[2] : 0;
  blocks.resize(static_cast<std::size_t>(sampled ? sequences * heads * samples : 0));
  std::vector<HeadTask> result;
  for (Index b = 0; b < sequences; ++b)
    for (Index h = 0; h < heads; ++h) {
      HeadTask task;
      task.batch = variable ? 0 : b;
      task.head_index = h;
      task.kv_head = h / group;
      task.query_begin = variable ? integer(*a.query_starts, b) : 0;
      task.key_begin = variable ? integer(*a.key_starts, b) : 0;
      Head& head = task.head;
      head.queries =
          variable ? integer(*a.query_starts, b + 1) - task.query_begin : a.query->shape[1];
      head.keys = variable ? integer(*a.key_starts, b + 1) - task.key_begin : a.key->shape[1];
      head.head_dim = a.query->shape[3];
      head.value_dim = a.value->shape[3];
      head.offset = head.keys - head.queries;
      head.scale = a.scale;
      head.causal = a.causal != 0;
      head.query = rows_of(*a.query, task.batch, task.query_begin, h);
      head.key = rows_of(*a.key, task.batch, task.key_begin, task.kv_head);
      head.value = rows_of(*a.value, task.batch, task.key_begin, task.kv_head);
      head.output = rows_of(*a.output, task.batch, task.query_begin, h);
      if (a.log_sum_exp != nullptr) {
        const DLTensor& lse = *a.log_sum_exp;
        head.log_sum_exp = static_cast<float*>(lse.data) + task.batch * lse.strides[0] +
                           h * lse.strides[1] + task.query_begin * lse.strides[2];
        head.log_sum_exp_stride = lse.strides[2];
      }
      if (sampled) {
        head.partitions = blocks.data() + (b * heads + h) * samples;
        head.samples = samples;
        for (Index s = 0; s < samples; ++s)
          blocks[static_cast<std::size_t>((b * heads + h) * samples + s)] = {
              &integer(*a.block_starts, b, h, s), a.block_starts->strides[3],
              integer(*a.block_counts, b, h, s), head.keys};
      } else {
        const DLTensor& slopes = *a.slopes;
        head.slope = static_cast<double>(
            static_cast<const float*>(slopes.data)[b * slopes.strides[0] + h * slopes.strides[1]]);
        if (head.slope > 0) head.window = std::floor(form.window_over_sigma / head.slope);
      }
      result.push_back(task);
    }
  return result;
}

namespace {

/// Numbers the tasks of several heads: which head a task belongs to, and which of its tasks it is.
class TaskList {
 public:
  void add(Index tasks) { first_.push_back(first_.back() + tasks); }
  Index size() const { return first_.back(); }
  std::pair<std::size_t, Index> find(Index task) const {
    const auto after = std::upper_bound(first_.begin(), first_.end(), task);
    return {static_cast<std::size_t>(after - first_.begin() - 1), task - *(after - 1)};
  }

 private:
  std::vector<Index> first_{0};
};

}  // namespace

void forward(const plsh_attention& a, const AttentionForm& form) {
  std::vector<Blocks> blocks;
  const std::vector<HeadTask> heads = heads_of(a, form, blocks);
  TaskList tasks;
  for (const HeadTask& head : heads) tasks.add(forward_tasks(head.head));
  for_each_task(tasks.size(), thread_count(a.threads), [&] {
    auto worker = make_forward_worker(a.query->shape[3], a.value->shape[3], form.sample_by_sample);
    return [&, worker = std::move(worker)](Index task) {
      const auto [head, part] = tasks.find(task);
      worker->run(heads[head].head, part);
    };
  });
}

void backward(const plsh_attention& a, const AttentionForm& form) {
  std::vector<Blocks> blocks;
  const std::vector<HeadTask> list = heads_of(a, form, blocks);
  Index rows = 0;
  for (const HeadTask& task : list) rows += task.head.queries;
  std::vector<float> delta(static_cast<std::size_t>(rows));
  std::vector<float> shift(static_cast<std::size_t>(rows));
  std::vector<BackwardHead> heads;
  TaskList query_tasks;
  rows = 0;
  for (const HeadTask& task : list) {
    const Index begin = task.query_begin;
    heads.push_back({task.head, rows_of(*a.output_gradient, task.batch, begin, task.head_index),
                     rows_of(*a.query_gradient, task.batch, begin, task.head_index),
                     delta.data() + rows, shift.data() + rows});
    rows += task.head.queries;
    query_tasks.add(backward_tasks(task.head.queries));
  }
  // The query heads of a key head follow each other.
  const Index group = a.query->shape[2] / a.key->shape[2];
  std::vector<KeyHead> key_heads;
  TaskList key_tasks;
  for (std::size_t h = 0; h < heads.size(); h += static_cast<std::size_t>(group)) {
    const HeadTask& task = list[h];
    key_heads.push_back({&heads[h], group,
                         rows_of(*a.key_gradient, task.batch, task.key_begin, task.kv_head),
                         rows_of(*a.value_gradient, task.batch, task.key_begin, task.kv_head)});
    key_tasks.add(backward_tasks(task.head.keys));
  }
  const auto make_worker = [&] {
    return make_backward_worker(a.query->shape[3], a.value->shape[3]);
  };
  for_each_task(query_tasks.size(), thread_count(a.threads), [&] {
    return [&, worker = make_worker()](Index task) {
      const auto [head, part] = query_tasks.find(task);
      worker->query_task(heads[head], part);
    };
  });
  for_each_task(key_tasks.size(), thread_count(a.threads), [&] {
    return [&, worker = make_worker()](Index task) {
      const auto [head, part] = key_tasks.find(task);
      worker->key_task(key_heads[head], part);
    };
  });
}

}  // namespace plsh::optimized::cpu
