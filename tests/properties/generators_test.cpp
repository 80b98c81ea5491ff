// The generators of the catalogue: every case they draw is valid, failures shrink to one plain
// case, and the hard cases are not left to luck.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <plsh/properties/claims.hpp>
#include <plsh/properties/property.hpp>
#include <set>

namespace plsh::properties {
namespace {

/// Offers and promises everything and refuses every call, so that a check builds its case and no
/// more. Some properties have a meaning only where batch items draw partitions of their own, some
/// only where they share them.
Implementation refuses_all(plsh_batch_samples batch_samples) {
  static std::map<plsh_batch_samples, plsh_implementation> tables;
  plsh_implementation& table = tables[batch_samples] = [&] {
    plsh_implementation t{};
    t.interface_version = PLSH_INTERFACE_VERSION;
    t.struct_size = sizeof(plsh_implementation);
    t.name = "refuses all";
    t.version = "0";
    t.device = {kDLCPU, 0};
    t.conventions.batch_samples = batch_samples;
    t.conventions.promises = PLSH_DETERMINISTIC_FORWARD | PLSH_DETERMINISTIC_BACKWARD |
                             PLSH_THREAD_INDEPENDENT | PLSH_SAMPLE_OFFSETS;
    for (plsh_precision& precision : t.conventions.precision) precision.supported = 1;
    t.slopes = [](DLTensor*) -> int { return PLSH_REFUSED; };
    t.bins = [](const DLTensor*, const DLTensor*, const DLTensor*, DLTensor*) -> int {
      return PLSH_REFUSED;
    };
    t.sample_partitions = [](const plsh_sampling*) -> int { return PLSH_REFUSED; };
    t.mean_mask = [](const DLTensor*, const DLTensor*, DLTensor*) -> int { return PLSH_REFUSED; };
    t.exact_forward = t.exact_backward = t.sampled_forward =
        t.sampled_backward = [](const plsh_attention*) -> int { return PLSH_REFUSED; };
    return t;
  }();
  return Implementation(&table);
}

bool is_attention(const Property& property) {
  return property.id.starts_with("exact-") || property.id.starts_with("sampled-");
}

rc::Shrinkable<Case> draw(const Family& family, std::uint64_t seed, int size) {
  return family.generate()(rc::Random(seed), size);
}

TEST(Generators, EveryPropertySaysWhatItIsFor) {
  std::set<std::string> ids;
  for (const Property& property : catalogue()) {
    SCOPED_TRACE(property.id);
    EXPECT_TRUE(ids.insert(property.id).second) << "twice";
    EXPECT_NE(property.id.find('.'), std::string::npos);
    EXPECT_NO_THROW(claim(property.claim));
    EXPECT_TRUE(property.statement.ends_with("."));
    EXPECT_FALSE(property.needs.empty());
    EXPECT_FALSE(property.families.empty());
    std::set<std::string> names;
    for (const Family& family : property.families) {
      EXPECT_TRUE(names.insert(family.name).second) << family.name << " twice";
      EXPECT_TRUE(family.purpose.ends_with(".")) << family.name;
      EXPECT_GE(family.cases, 1) << family.name;
    }
  }
}

TEST(Generators, EveryCaseIsValid) {
  const std::vector<Implementation> implementations{refuses_all(PLSH_BATCH_DISTINCT),
                                                    refuses_all(PLSH_BATCH_SHARED)};
  Budget budget;
  budget.seconds = 0.01;
  for (const Property& property : catalogue()) {
    bool reached = false;
    for (const Family& family : property.families)
      for (const int size : {0, 100}) {
        SCOPED_TRACE(property.id + " " + family.name);
        const Case c = draw(family, static_cast<std::uint64_t>(size), size).value();
        // The text is what a counterexample is rerun from.
        EXPECT_EQ(Case::parse(c.dump()), c);
        try {
          // Attention does not draw partitions: one of the two will do.
          for (const Implementation& implementation : implementations) {
            if (reached && is_attention(property) && &implementation != implementations.data())
              continue;
            const Outcome outcome = run_case(property, implementation, c, budget);
            EXPECT_NE(outcome.status, Outcome::Status::failed) << outcome.message << "\n"
                                                               << c.dump();
            reached = reached || outcome.status == Outcome::Status::refused;
          }
        } catch (const std::exception& error) {
          ADD_FAILURE() << error.what() << "\n" << c.dump();
        }
      }
    EXPECT_TRUE(reached) << property.id << ": no case came as far as a call";
  }
}

/// Follows the first shrink as long as there is one: what is left when every case fails.
Case least(rc::Shrinkable<Case> from, int& steps) {
  while (steps < 3000) {
    const rc::Maybe<rc::Shrinkable<Case>> next = from.shrinks().next();
    if (!next) break;
    from = *next;
    ++steps;
  }
  return from.value();
}

TEST(Generators, FailuresShrinkToOneCase) {
  std::set<std::string> done;
  for (const Property& property : catalogue()) {
    if (!is_attention(property)) continue;
    for (const Family& family : property.families) {
      SCOPED_TRACE(property.id + " " + family.name);
      std::set<std::string> ends;
      for (const std::uint64_t seed : {1U, 2U, 3U}) {
        int steps = 0;
        ends.insert(least(draw(family, seed, 100), steps).dump());
        EXPECT_LT(steps, 3000);
      }
      EXPECT_EQ(ends.size(), 1U);
      if (family.name != "short" || ends.empty()) continue;
      // Everything at its plainest, but for what the property is about.
      const Case c = Case::parse(*ends.begin());
      EXPECT_EQ(c.at("seed"), 0);
      EXPECT_EQ(c.at("type"), "f32");
      EXPECT_EQ(c.at("head_dim"), 1);
      EXPECT_EQ(c.at("key_length"), 1);
      EXPECT_LE(c.at("query_length"), 2);
      EXPECT_LE(c.at("batch"), 2);
      EXPECT_EQ(c.at("query_layout"), "packed");
    }
  }
}

/// Whether a case is hard in some way.
using Trait = std::function<bool(const Case&)>;

bool any_pair(const Case& c, const std::function<bool(Index queries, Index keys)>& holds) {
  const auto queries = c.at("query_lengths").get<std::vector<Index>>();
  const auto keys = c.at("key_lengths").get<std::vector<Index>>();
  if (queries.empty())
    return holds(c.at("query_length").get<Index>(), c.at("key_length").get<Index>());
  for (std::size_t k = 0; k < queries.size(); ++k)
    if (holds(queries[k], keys[k])) return true;
  return false;
}

Index number(const Case& c, const char* name) { return c.at(name).get<Index>(); }

bool is_tail(Index length) { return length > 8 && length % 8 != 0; }

bool power_of_two(Index n) { return (n & (n - 1)) == 0; }

TEST(Generators, HardCasesAreCommon) {
  struct Wanted {
    Trait trait;
    double least;  // share of all cases of attention properties
  };
  const std::map<std::string, Wanted> wanted{
      {"more queries than keys",
       {[](const Case& c) { return any_pair(c, [](Index q, Index k) { return q > k; }); }, 0.15}},
      {"fewer queries than keys",
       {[](const Case& c) { return any_pair(c, [](Index q, Index k) { return q < k; }); }, 0.15}},
      {"an odd tail",
       {[](const Case& c) { return any_pair(c, [](Index, Index k) { return is_tail(k); }); },
        0.08}},
      {"causal with an odd tail",
       {[](const Case& c) {
          return c.at("causal").get<bool>() &&
                 any_pair(c, [](Index, Index k) { return is_tail(k); });
        },
        0.03}},
      {"a sequence without queries",
       {[](const Case& c) { return any_pair(c, [](Index q, Index) { return q == 0; }); }, 0.04}},
      {"a sequence without keys",
       {[](const Case& c) { return any_pair(c, [](Index, Index k) { return k == 0; }); }, 0.04}},
      {"grouped heads",
       {[](const Case& c) { return number(c, "group") > 1 && number(c, "kv_heads") > 1; }, 0.1}},
      {"a batch", {[](const Case& c) { return number(c, "batch") > 1; }, 0.2}},
      {"a head dimension that is no power of two",
       {[](const Case& c) { return !power_of_two(number(c, "head_dim")); }, 0.2}},
      {"a head dimension above 128",
       {[](const Case& c) { return number(c, "head_dim") > 128; }, 0.01}},
      {"another value dimension",
       {[](const Case& c) { return number(c, "head_dim") != number(c, "value_dim"); }, 0.3}},
      {"a scale that is not the default",
       {[](const Case& c) { return c.at("scale").get<double>() != 0; }, 0.2}},
      {"more than 255 samples", {[](const Case& c) { return number(c, "samples") > 255; }, 0.008}},
      {"a layout that is not packed",
       {[](const Case& c) {
          return c.at("query_layout") != "packed" || c.at("key_layout") != "packed" ||
                 c.at("value_layout") != "packed" || c.at("output_layout") != "packed";
        },
        0.03}},
      {"strides beyond 32 bits",
       {[](const Case& c) { return c.dump().find("\"huge\"") != std::string::npos; }, 0.005}},
      {"f64", {[](const Case& c) { return c.at("type") == "f64"; }, 0.15}},
      {"f16", {[](const Case& c) { return c.at("type") == "f16"; }, 0.06}},
      {"bf16", {[](const Case& c) { return c.at("type") == "bf16"; }, 0.06}},
      {"logits far apart",
       {[](const Case& c) { return c.at("fill") == "sharp" || c.at("fill") == "large_logits"; },
        0.08}},
      {"lengths that 16 bits do not hold",
       {[](const Case& c) {
          return number(c, "query_length") > 65535 || number(c, "key_length") > 65535 ||
                 number(c, "batch") > 65535;
        },
        0.002}}};
  std::map<std::string, int> hits;
  int cases = 0;
  for (const Property& property : catalogue()) {
    if (!is_attention(property)) continue;
    for (const Family& family : property.families)
      for (int k = 0; k < family.cases; ++k) {
        // As in a run: small first.
        const Case c =
            draw(family, static_cast<std::uint64_t>(cases), 100 * (k + 1) / family.cases).value();
        ++cases;
        for (const auto& [name, w] : wanted) hits[name] += w.trait(c) ? 1 : 0;
      }
  }
  ASSERT_GE(cases, 500);
  for (const auto& [name, w] : wanted)
    EXPECT_GE(hits[name], w.least * cases) << name << ": " << hits[name] << " of " << cases;
}

}  // namespace
}  // namespace plsh::properties
