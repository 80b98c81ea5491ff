// The families of differential properties: those of all attention properties, and some that only a
// reference can judge.
#include "differential.hpp"

namespace plsh::properties {
namespace {

// Equally likely at every size; shrinks towards the first.
Index between(Index low, Index high) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<Index>(low, high + 1));
}

AttentionCase draw_base() {
  AttentionCase c;
  c.type =
      choose<Type>({Type::f32, Type::f32, Type::f32, Type::f64, Type::f64, Type::f16, Type::bf16});
  c.causal = choose<bool>({false, true});
  c.seed = *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::uint64_t>(0, 1000000));
  return c;
}

AttentionCase draw_decode() {
  AttentionCase c = draw_base();
  c.key_length = choose<Index>({2, 3, 65, 129, 200, 257, 300});
  c.query_length = choose<Index>({1, 1, 1, 2, 3});
  c.kv_heads = between(1, 2);
  c.group = between(1, 2);
  c.head_dim = between(1, 8);
  c.value_dim = between(1, 4);
  c.samples = between(1, 4);
  c.sigma = choose<double>({4, 100, 1000});
  c.blocks = choose<Blocks>({Blocks::random, Blocks::whole, Blocks::cut_once});
  return c;
}

AttentionCase draw_odd_dimensions() {
  AttentionCase c = draw_base();
  c.key_length = between(1, 6);
  c.query_length = between(1, 3);
  c.head_dim = choose<Index>({1, 3, 31, 33, 63, 64, 65, 80, 96, 128, 256, 257});
  c.value_dim = choose<Index>({1, 3, 31, 33, 63, 64, 65, 80, 96, 128, 256, 257});
  c.samples = between(1, 2);
  c.scale = choose<double>({0, 1, 0.3});
  return c;
}

AttentionCase draw_many_heads() {
  AttentionCase c = draw_base();
  c.key_length = between(1, 4);
  c.query_length = between(1, 3);
  c.kv_heads = 2;
  c.group = choose<Index>({2, 3, 24});
  c.batch = between(1, 3);
  c.head_dim = between(1, 3);
  c.value_dim = between(1, 3);
  c.samples = between(1, 2);
  return c;
}

AttentionCase draw_slopes() {
  AttentionCase c = draw_base();
  c.key_length = between(1, 40);
  c.query_length = between(1, 8);
  c.batch = between(1, 3);
  c.group = between(1, 4);
  c.head_dim = between(1, 3);
  c.value_dim = between(1, 3);
  c.samples = between(1, 3);
  c.sigma = choose<double>({1, 0.05, 0.2, 3.3, 1000, 1e6});
  c.fill =
      choose<Fill>({Fill::normal, Fill::zero_scores, Fill::indicator_value, Fill::large_logits});
  c.scale = choose<double>({0, 1, 0.3, 2.5});
  return c;
}

AttentionCase draw_half_range() {
  AttentionCase c = draw_base();
  c.fill = choose<Fill>({Fill::half_overflow, Fill::far_below_zero});
  c.head_dim = choose<Index>({64, 65, 80});
  c.scale = choose<double>({0, 0.92, 1});
  c.type = choose<Type>({Type::f32, Type::f16, Type::f64, Type::bf16});
  c.key_length = between(1, 5);
  c.query_length = between(1, 3);
  c.value_dim = between(1, 3);
  return c;
}

AttentionCase draw_wide_values() {
  AttentionCase c = draw_base();
  c.key_length = choose<Index>({2, 33, 64, 65, 65, 129, 130});
  c.query_length = c.key_length;
  c.head_dim = choose<Index>({1, 16, 33});
  c.value_dim = choose<Index>({2, 16, 33});
  c.samples = between(1, 3);
  c.fill = choose<Fill>({Fill::normal, Fill::sharp, Fill::large_logits});
  return c;
}

AttentionCase draw_empty_sequences() {
  AttentionCase c = draw_base();
  c.query_lengths = choose<std::vector<Index>>({{0}, {0, 1}, {1, 0, 1}, {3, 0}, {70, 1, 0, 65}});
  c.key_lengths =
      choose<bool>({false, true}) ? c.query_lengths : std::vector<Index>(c.query_lengths.size(), 1);
  // Kernels are built for some head sizes; each has its own way through an empty sequence.
  c.head_dim = choose<Index>({1, 256, 64, 256, 32, 80, 96, 128});
  c.value_dim = choose<bool>({true, false}) ? c.head_dim : 2;
  c.group = between(1, 2);
  c.samples = between(1, 2);
  return c;
}

AttentionCase draw_far_keys() {
  AttentionCase c = draw_base();
  c.type = choose<Type>({Type::f64, Type::f32});
  c.causal = choose<bool>({false, false, true});
  c.key_length = choose<Index>({300, 513, 2050, 2051, 4098});
  c.query_length = between(1, 2);
  c.value_dim = between(1, 2);
  c.sigma = choose<double>({1000, 300, 10000});
  c.fill = choose<Fill>({Fill::normal, Fill::zero_scores});
  return c;
}

AttentionCase draw_many_blocks() {
  AttentionCase c = draw_base();
  c.key_length = choose<Index>({129, 130, 257, 300, 800});
  c.query_length = c.key_length;
  c.samples = between(1, 3);
  c.sigma = 0.5;
  c.blocks = choose<Blocks>({Blocks::singletons, Blocks::equal, Blocks::random});
  return c;
}

AttentionCase draw_long_self() {
  AttentionCase c = draw_base();
  c.type = choose<Type>({Type::f32, Type::f64});
  c.key_length = choose<Index>({65537, 65536, 65535});
  c.query_length = c.key_length;
  c.samples = between(1, 2);
  c.sigma = 0.5;
  c.blocks = choose<Blocks>({Blocks::random, Blocks::equal, Blocks::singletons});
  return c;
}

}  // namespace

std::vector<Family> differential_families(const Compared& compared, const Adjust& adjust) {
  std::vector<Family> families = usual_families(adjust);
  families.push_back(layout_cases(adjust));
  const auto add = [&](const char* name, const char* purpose, int cases, const Recipe& recipe) {
    families.push_back(attention_family(name, purpose, cases, recipe, adjust));
  };
  add("decode", "One query, or a few, at the end of many keys.", 8, draw_decode);
  add("odd-dimensions", "Dimensions on both sides of what kernels are built for.", 8,
      draw_odd_dimensions);
  add("many-heads", "48 query heads on 2 key heads, 6 and 4 as well.", 6, draw_many_heads);
  add("slopes", "Slopes from very steep to flat, other ones in each item of the batch.", 10,
      draw_slopes);
  add("half-range", "Products of queries and keys that half precision cannot hold.", 8,
      draw_half_range);
  add("squares", "As many queries as keys, over several tiles, with logits of all sizes.", 12,
      draw_wide_values);
  if (compared.exact)
    add("far-keys", "Flat slopes over more positions than half precision counts.", 6,
        draw_far_keys);
  add("empty-sequences", "No queries, or neither queries nor keys, at the head sizes of kernels.",
      12, draw_empty_sequences);
  // One case of each in a default run, so mostly the length that exceeds every limit.
  const auto most = [&](Index AttentionCase::*length) {
    return Adjust([adjust, length](AttentionCase& c) {
      if (adjust) adjust(c);
      if (c.seed % 4 != 0) c.*length = 65537;
    });
  };
  for (Family family : {many_key_cases(most(&AttentionCase::key_length)),
                        many_row_cases(most(&AttentionCase::query_length)),
                        many_batch_cases(most(&AttentionCase::batch))}) {
    family.cases = 1;
    families.push_back(std::move(family));
  }
  if (!compared.exact) {
    families.push_back(sample_cases(adjust));
    add("many-blocks", "More blocks than a byte counts.", 4, draw_many_blocks);
    add("long", "More positions than 16 bits count, in short blocks.", 2, draw_long_self);
  }
  return families;
}

}  // namespace plsh::properties
