#include "generators.hpp"

#include <algorithm>
#include <utility>

namespace plsh::properties {
namespace {

// All values are equally likely at every size, and shrink towards the first: kinds of things,
// unlike lengths, do not grow with a run.
bool chance(int one_in) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, one_in)) == one_in - 1;
}

Index between(Index low, Index high) { return *rc::gen::inRange<Index>(low, high + 1); }

std::uint64_t draw_seed() {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::uint64_t>(0, 1000000));
}

Type draw_type() {
  return choose<Type>(
      {Type::f32, Type::f32, Type::f32, Type::f64, Type::f64, Type::f16, Type::bf16});
}

Fill draw_fill() {
  return choose<Fill>({Fill::normal, Fill::normal, Fill::normal, Fill::dyadic, Fill::zero_scores,
                       Fill::indicator_value, Fill::sharp, Fill::ties});
}

Blocks draw_blocks() {
  return choose<Blocks>({Blocks::random, Blocks::random, Blocks::random, Blocks::uneven,
                         Blocks::equal, Blocks::cut_once, Blocks::whole, Blocks::singletons});
}

double draw_sigma() { return choose<double>({4, 1, 0.5, 16, 3.7, 100}); }

// 0 stands for 1/sqrt(head_dim); 1 and others tell the scale from that default.
double draw_scale() { return choose<double>({0, 0, 1, 0.3}); }

// What every family draws; the lengths and dimensions are its own affair.
AttentionCase draw_base() {
  AttentionCase c;
  c.type = draw_type();
  c.causal = choose<bool>({false, true});
  c.fill = draw_fill();
  c.blocks = draw_blocks();
  c.sigma = draw_sigma();
  c.scale = draw_scale();
  c.seed = draw_seed();
  return c;
}

Index draw_tail() {
  const Index tile = choose<Index>({8, 16, 32, 64, 128});
  return choose<Index>({tile, tile + 1, tile - 1, tile + tile / 2, 2});
}

Index draw_dimension() {
  const auto power = choose<Index>({1, 2, 4, 8, 16, 32, 64, 128, 256});
  return choose<Index>({power, power + 1, std::max<Index>(power - 1, 1), power * 3 / 4 + 1});
}

Layout draw_layout() {
  return choose<Layout>(
      {Layout::packed, Layout::transposed, Layout::reversed, Layout::padded, Layout::fused});
}

void draw_short_lengths(AttentionCase& c) {
  c.key_length = between(1, 9);
  c.query_length = chance(2) ? between(1, 9) : c.key_length;
}

AttentionCase draw_short() {
  AttentionCase c = draw_base();
  draw_short_lengths(c);
  c.batch = between(1, 2);
  c.kv_heads = between(1, 3);
  c.group = between(1, 3);
  c.head_dim = between(1, 5);
  c.value_dim = between(1, 5);
  c.samples = between(1, 4);
  return c;
}

AttentionCase draw_tails() {
  AttentionCase c = draw_base();
  c.key_length = draw_tail();
  switch (choose<int>({0, 0, 1, 2})) {
    case 1:
      c.query_length = draw_tail();
      break;
    case 2:
      c.query_length = 1;
      break;
    default:
      c.query_length = c.key_length;
  }
  c.group = between(1, 2);
  c.head_dim = between(1, 4);
  c.value_dim = between(1, 4);
  c.samples = between(1, 3);
  return c;
}

AttentionCase draw_unequal() {
  AttentionCase c = draw_base();
  c.key_length = between(1, 12);
  c.query_length = chance(2) ? c.key_length + between(1, 12) : between(1, c.key_length);
  c.batch = between(1, 2);
  c.group = between(1, 2);
  c.head_dim = between(1, 3);
  c.value_dim = between(1, 3);
  c.samples = between(1, 3);
  return c;
}

AttentionCase draw_dimensions() {
  AttentionCase c = draw_base();
  c.key_length = between(1, 4);
  c.query_length = chance(3) ? between(1, 4) : c.key_length;
  c.head_dim = draw_dimension();
  c.value_dim = chance(2) ? draw_dimension() : c.head_dim;
  c.group = between(1, 2);
  c.samples = between(1, 2);
  return c;
}

AttentionCase draw_heads() {
  AttentionCase c = draw_base();
  draw_short_lengths(c);
  c.batch = between(1, 4);
  c.kv_heads = choose<Index>({2, 1, 3, 4, 6});
  c.group = choose<Index>({2, 1, 3, 4, 5});
  c.head_dim = between(1, 3);
  c.value_dim = between(1, 3);
  c.samples = between(1, 3);
  return c;
}

AttentionCase draw_variable() {
  AttentionCase c = draw_base();
  const Index sequences = 1 + between(0, 4);
  const bool tails = chance(4);
  for (Index b = 0; b < sequences; ++b) {
    // Absent queries and absent keys are separate matters, and both may be.
    const Index keys = chance(4) ? 0 : tails ? draw_tail() : between(1, 7);
    const Index queries = chance(4) ? 0 : chance(3) ? between(1, 7) : keys;
    c.key_lengths.push_back(keys);
    c.query_lengths.push_back(queries);
  }
  c.batch = sequences;
  c.kv_heads = between(1, 2);
  c.group = between(1, 2);
  c.head_dim = between(1, 3);
  c.value_dim = between(1, 3);
  c.samples = between(1, 3);
  return c;
}

AttentionCase draw_layouts() {
  AttentionCase c = draw_short();
  if (chance(4)) {
    // Elements 4 GiB apart: offsets that 32 bits cannot hold, in a few pages of memory.
    c.batch = c.kv_heads = c.group = 1;
    c.query_length = std::min<Index>(c.query_length, 3);
    c.key_length = std::min<Index>(c.key_length, 3);
    const Layout layout = Layout::huge;
    const int which = choose<int>({0, 1, 2, 3});
    (which == 0   ? c.query_layout
     : which == 1 ? c.key_layout
     : which == 2 ? c.value_layout
                  : c.output_layout) = layout;
    return c;
  }
  c.query_layout = draw_layout();
  c.key_layout = draw_layout();
  c.value_layout = draw_layout();
  c.output_layout = draw_layout();
  return c;
}

AttentionCase draw_extreme() {
  AttentionCase c = draw_short();
  c.fill = choose<Fill>({Fill::sharp, Fill::large_logits, Fill::ties, Fill::zero_scores});
  return c;
}

AttentionCase draw_samples() {
  AttentionCase c = draw_base();
  draw_short_lengths(c);
  c.head_dim = between(1, 3);
  c.value_dim = between(1, 3);
  c.samples = choose<Index>({256, 255, 257, 300, 513});
  return c;
}

Index draw_many() { return choose<Index>({65537, 65536, 65535}); }

AttentionCase draw_many_rows() {
  AttentionCase c = draw_base();
  c.type = choose<Type>({Type::f32, Type::f64});
  c.query_length = draw_many();
  c.key_length = between(1, 3);
  return c;
}

AttentionCase draw_many_keys() {
  AttentionCase c = draw_base();
  c.type = choose<Type>({Type::f32, Type::f64});
  c.query_length = between(1, 2);
  c.key_length = draw_many();
  return c;
}

AttentionCase draw_many_batches() {
  AttentionCase c = draw_base();
  c.type = choose<Type>({Type::f32, Type::f64});
  c.batch = draw_many();
  c.query_length = 1;
  c.key_length = 2;
  return c;
}

std::vector<Family> all_of(std::vector<Family> first, std::vector<Family> second) {
  std::move(second.begin(), second.end(), std::back_inserter(first));
  return first;
}

}  // namespace

Family attention_family(std::string name, std::string purpose, int cases, Recipe recipe,
                        Adjust adjust) {
  Family family;
  family.name = std::move(name);
  family.purpose = std::move(purpose);
  family.cases = cases;
  family.generate = [recipe = std::move(recipe), adjust = std::move(adjust)] {
    return rc::gen::map(rc::gen::exec(recipe), [adjust](AttentionCase c) {
      if (adjust) adjust(c);
      return Case(c);
    });
  };
  return family;
}

Family short_cases(Adjust adjust) {
  return attention_family("short",
                          "All options at once on a few short rows, easy to read when one fails.",
                          12, draw_short, std::move(adjust));
}
Family tail_cases(Adjust adjust) {
  return attention_family("tails", "Lengths one beside the size of a tile leave partial tiles.", 8,
                          draw_tails, std::move(adjust));
}
Family unequal_cases(Adjust adjust) {
  return attention_family(
      "unequal", "More queries than keys, or fewer: the alignment matters and rows may be empty.",
      8, draw_unequal, std::move(adjust));
}
Family dimension_cases(Adjust adjust) {
  return attention_family(
      "dimensions", "Dimensions from 1 to 257, not only powers of two, the same or different.", 8,
      draw_dimensions, std::move(adjust));
}
Family head_cases(Adjust adjust) {
  return attention_family("heads", "Several query heads share a key head, in batches.", 8,
                          draw_heads, std::move(adjust));
}
Family variable_cases(Adjust adjust) {
  return attention_family(
      "variable", "Sequences of several lengths side by side, some without queries or keys.", 8,
      draw_variable, std::move(adjust));
}
Family layout_cases(Adjust adjust) {
  return attention_family("layouts", "Strides of every kind, also beyond 2^32 bytes.", 10,
                          draw_layouts, std::move(adjust));
}
Family extreme_cases(Adjust adjust) {
  return attention_family("extreme", "Logits far apart, in the thousands, equal, or all zero.", 8,
                          draw_extreme, std::move(adjust));
}
Family sample_cases(Adjust adjust) {
  return attention_family("samples", "More samples than a byte counts.", 4, draw_samples,
                          std::move(adjust));
}
Family many_row_cases(Adjust adjust) {
  return attention_family("many-rows", "As many queries as 16 bits count, and one more.", 2,
                          draw_many_rows, std::move(adjust));
}
Family many_key_cases(Adjust adjust) {
  return attention_family("many-keys", "As many keys as 16 bits count, and one more.", 2,
                          draw_many_keys, std::move(adjust));
}
Family many_batch_cases(Adjust adjust) {
  return attention_family("many-batches", "As many batch items as 16 bits count, and one more.", 2,
                          draw_many_batches, std::move(adjust));
}

std::vector<Family> dense_families(const Adjust& adjust) {
  return {short_cases(adjust),     tail_cases(adjust), unequal_cases(adjust),
          dimension_cases(adjust), head_cases(adjust), extreme_cases(adjust)};
}

std::vector<Family> usual_families(const Adjust& adjust) {
  return all_of(dense_families(adjust), {variable_cases(adjust)});
}

Family with_choice(Family family, const std::string& member, std::vector<std::string> texts) {
  family.generate = [generate = family.generate, member, texts = std::move(texts)] {
    return rc::gen::exec([=] {
      Case c = *generate();
      c[member] = choose(texts);
      return c;
    });
  };
  return family;
}

std::vector<Family> with_choice(const std::vector<Family>& families, const std::string& member,
                                const std::vector<std::string>& texts) {
  std::vector<Family> result;
  result.reserve(families.size());
  for (const Family& family : families) result.push_back(with_choice(family, member, texts));
  return result;
}

void square(AttentionCase& c) {
  c.query_length = c.key_length;
  c.query_lengths = c.key_lengths;
}

}  // namespace plsh::properties
