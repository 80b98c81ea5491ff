/// \file
/// Families of attention cases. Each draws a few parameters that shrink towards the plainest case:
/// one query, one key, one head, f32, packed.
#pragma once

#include <string>
#include <vector>

#include "case.hpp"

namespace plsh::properties {

/// One of the values, each as likely whatever the size of the case; shrinks to the first. Runs
/// inside a generator.
template <class T>
T choose(std::vector<T> values) {
  const auto index =
      *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::size_t>(0, values.size()));
  return values[index];
}

/// Turns a generated case into one that a property is about, e.g. sets causal.
using Adjust = std::function<void(AttentionCase&)>;

/// Draws a case; runs inside a generator.
using Recipe = std::function<AttentionCase()>;
Family attention_family(std::string name, std::string purpose, int cases, Recipe recipe,
                        Adjust adjust = {});

Family short_cases(Adjust adjust = {});       ///< everything at once, everything small
Family tail_cases(Adjust adjust = {});        ///< lengths around the sizes of tiles
Family unequal_cases(Adjust adjust = {});     ///< more queries than keys, or fewer
Family dimension_cases(Adjust adjust = {});   ///< head and value dimensions 1 to 257
Family head_cases(Adjust adjust = {});        ///< groups of query heads, batches
Family variable_cases(Adjust adjust = {});    ///< packed sequences, some without queries or keys
Family layout_cases(Adjust adjust = {});      ///< strides of every kind
Family extreme_cases(Adjust adjust = {});     ///< logits far apart, huge, equal or all zero
Family sample_cases(Adjust adjust = {});      ///< 250 to 520 samples
Family many_row_cases(Adjust adjust = {});    ///< 65535 to 65537 queries
Family many_key_cases(Adjust adjust = {});    ///< 65535 to 65537 keys
Family many_batch_cases(Adjust adjust = {});  ///< 65535 to 65537 batch items

/// Short, tails, unequal, dimensions, heads, variable lengths, extreme logits.
std::vector<Family> usual_families(const Adjust& adjust = {});
/// The usual families of cases without variable lengths.
std::vector<Family> dense_families(const Adjust& adjust = {});

/// The family with one more member in every case, one of these texts; shrinks to the first.
Family with_choice(Family family, const std::string& member, std::vector<std::string> texts);
std::vector<Family> with_choice(const std::vector<Family>& families, const std::string& member,
                                const std::vector<std::string>& texts);

/// As many queries as keys, in every sequence.
void square(AttentionCase& c);

}  // namespace plsh::properties
