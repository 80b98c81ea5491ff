// Where elements lie in memory changes nothing: strides may be any, on every axis of every tensor.
#include <fmt/format.h>

#include <algorithm>

#include "conduct.hpp"

namespace plsh::properties {
namespace {

// The same problem with everything packed.
AttentionCase packed(AttentionCase c) {
  c.query_layout = c.key_layout = c.value_layout = c.output_layout = Layout::packed;
  return c;
}

Outcome compare_with_packed(const Setup& setup, const std::string& change,
                            AttentionProblem& strided) {
  AttentionProblem base(packed(setup.c));
  Differences differences(change);
  setup.run(base);
  setup.run(strided);
  // The same data: one set of tolerances serves both.
  const Readings readings(setup, base);
  for (const Part part : setup.results())
    for_each_element(strided, part, [&](const Element& e) {
      const Reading expected = readings.at(e);
      differences.within(strided, e, {get(strided, e), expected.tolerance}, expected);
    });
  return differences.outcome();
}

Outcome check_layouts(const Setup& setup) {
  const AttentionCase& c = setup.c;
  AttentionProblem strided(c);
  return compare_with_packed(
      setup,
      fmt::format("query {}, key {}, value {}, results {}, against all packed",
                  to_string(c.query_layout), to_string(c.key_layout), to_string(c.value_layout),
                  to_string(c.output_layout)),
      strided);
}

// Replaces a tensor by one of the same elements in another layout.
void move_to(Tensor& tensor, Layout layout) {
  Tensor moved(tensor.type(), tensor.shape(), layout);
  const std::vector<Index>& shape = tensor.shape();
  const std::size_t axes = shape.size();
  const auto extent = [&](std::size_t a) { return a < axes ? shape[a] : 1; };
  const auto copy = [&](std::initializer_list<Index> index) {
    if (tensor.type() == Type::i64)
      moved.set_integer(index, tensor.get_integer(index));
    else
      moved.set(index, tensor.get(index));
  };
  for (Index i = 0; i < extent(0); ++i)
    for (Index j = 0; j < extent(1); ++j)
      for (Index k = 0; k < extent(2); ++k)
        for (Index l = 0; l < extent(3); ++l) {
          if (axes == 1) copy({i});
          if (axes == 2) copy({i, j});
          if (axes == 3) copy({i, j, k});
          if (axes == 4) copy({i, j, k, l});
        }
  moved.seal();
  tensor = std::move(moved);
}

// The small tensors too: slopes, partitions, log-sum-exp.
Outcome check_small_tensors(const Setup& setup) {
  AttentionProblem strided(packed(setup.c));
  const Layout layout = layout_from_string(setup.choice("layout", "reversed"));
  for (Tensor* tensor : {&strided.slopes, &strided.block_counts, &strided.block_starts,
                         &strided.query_starts, &strided.key_starts, &strided.log_sum_exp})
    move_to(*tensor, layout);
  return compare_with_packed(
      setup,
      fmt::format("slopes, partitions and log_sum_exp {}, against packed", to_string(layout)),
      strided);
}

// All items of a batch share keys and values, once in memory with stride 0 and once written out.
Outcome check_broadcast(const Setup& setup) {
  const AttentionCase c = packed(setup.c);
  AttentionProblem base(c);
  AttentionProblem shared(c);
  const std::string which = setup.choice("axis", "batch");
  const std::size_t axis = which == "batch" ? 0 : which == "length" ? 1 : 2;
  const auto first = [&](Element e) {
    (axis == 0 ? e.sequence : axis == 1 ? e.row : e.head) = 0;
    return e;
  };
  for (const Part part : {Part::query, Part::key, Part::value, Part::output_gradient}) {
    fill_input(base, part, [&](const Element& e) { return get(base, first(e)); });
    // What is never to be read holds something else: who ignores the stride is found out.
    fill_input(shared, part, [&](const Element& e) {
      const Index along = axis == 0 ? e.sequence : axis == 1 ? e.row : e.head;
      return along == 0 ? get(base, e) : 7.0;
    });
    Tensor& tensor = tensor_of(shared, part);
    tensor.view()->strides[axis] = 0;
    tensor.seal();
  }
  Differences differences(
      fmt::format("inputs with stride 0 along the {}, against written out", which));
  setup.run(base);
  setup.run(shared);
  const Readings readings(setup, base);
  for (const Part part : setup.results())
    for_each_element(shared, part, [&](const Element& e) {
      const Reading expected = readings.at(e);
      differences.within(shared, e, {get(shared, e), expected.tolerance}, expected);
    });
  return differences.outcome();
}

// block_starts with more room than blocks, full of what looks like starts, or with just enough.
Outcome check_capacity(const Setup& setup) {
  const AttentionCase c = packed(setup.c);
  AttentionProblem other(c);
  Index most = 1;
  for (Index s = 0; s < other.parameters().batch; ++s)
    for (Index h = 0; h < c.heads(); ++h)
      for (const reference::Partition& partition : other.partitions(s, h))
        most = std::max(most, partition.block_count());
  const bool larger = setup.choice("capacity", "just enough") == "larger";
  const std::vector<Index> shape = other.block_starts.shape();
  const Index capacity = larger ? shape[3] + 1 + setup.pick(5) : most;
  Tensor starts(Type::i64, {shape[0], shape[1], shape[2], capacity});
  for (Index s = 0; s < shape[0]; ++s)
    for (Index h = 0; h < shape[1]; ++h)
      for (Index k = 0; k < shape[2]; ++k) {
        const Index count = other.block_counts.get_integer({s, h, k});
        for (Index b = 0; b < capacity; ++b)
          starts.set_integer({s, h, k, b},
                             b < count ? other.block_starts.get_integer({s, h, k, b}) : b % 3);
      }
  starts.seal();
  other.block_starts = std::move(starts);
  return compare_with_packed(
      setup, fmt::format("block_starts with room for {} blocks instead of {}", capacity, shape[3]),
      other);
}

void several_items(AttentionCase& c) {
  if (c.batch == 1) c.batch = 2;
}

}  // namespace

void add_layout_properties(std::vector<Property>& all) {
  Family layouts_of_all = layout_cases();
  layouts_of_all.cases = 30;
  add_invariance(all, {"layouts",
                       "Strides of every kind, on every tensor, give the {} of packed tensors.",
                       all_kinds,
                       {layouts_of_all},
                       check_layouts,
                       {},
                       {}});
  const std::vector<std::string> layouts{"reversed", "padded", "transposed", "fused"};
  add_invariance(all, {"small-layouts",
                       "Strides of every kind on slopes, partitions and log-sum-exp give the {} of "
                       "packed ones.",
                       all_kinds,
                       {with_choice(head_cases(), "layout", layouts),
                        with_choice(variable_cases(), "layout", layouts)},
                       check_small_tensors,
                       {},
                       {}});
  add_invariance(all,
                 {"stride-zero",
                  "Inputs with stride 0 along the batch, the length or the heads give the {} of "
                  "inputs written out.",
                  all_kinds,
                  {with_choice(head_cases(several_items), "axis", {"batch", "heads", "length"}),
                   with_choice(short_cases(several_items), "axis", {"batch", "heads", "length"})},
                  check_broadcast,
                  {},
                  {}});
  add_invariance(all,
                 {"capacity",
                  "The room in block_starts behind the blocks, and what it holds, change none of "
                  "the {}.",
                  sampled_kinds,
                  {with_choice(short_cases(), "capacity", {"just enough", "larger"}),
                   with_choice(variable_cases(), "capacity", {"just enough", "larger"})},
                  check_capacity,
                  {},
                  {}});
}

}  // namespace plsh::properties
