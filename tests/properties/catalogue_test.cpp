// The catalogue is whole: every property can be named, understood, generated and traced to a claim.
#include <gtest/gtest.h>

#include <plsh/properties/check.hpp>
#include <plsh/properties/claims.hpp>
#include <regex>
#include <set>

namespace plsh::properties {
namespace {

TEST(Catalogue, EveryPropertyIsNamedStatedAndTraced) {
  const std::regex id("[a-z0-9]+(-[a-z0-9]+)*\\.[a-z0-9]+(-[a-z0-9]+)*");
  std::set<std::string> ids;
  for (const Property& p : catalogue()) {
    EXPECT_TRUE(std::regex_match(p.id, id)) << p.id;
    EXPECT_TRUE(ids.insert(p.id).second) << p.id << " twice";
    EXPECT_NO_THROW(claim(p.claim)) << p.id;
    EXPECT_GT(p.statement.size(), 20U) << p.id;
    EXPECT_FALSE(p.needs.empty()) << p.id;
    EXPECT_FALSE(p.families.empty()) << p.id;
    EXPECT_TRUE(p.check) << p.id;
    std::set<std::string> families;
    for (const Family& family : p.families) {
      EXPECT_TRUE(families.insert(family.name).second) << p.id << " " << family.name << " twice";
      EXPECT_GT(family.purpose.size(), 10U) << p.id << " " << family.name;
      EXPECT_GE(family.cases, 1) << p.id << " " << family.name;
    }
  }
  EXPECT_GE(ids.size(), 50U);
}

TEST(Catalogue, EveryOperationIsNeededBySomeProperty) {
  for (const Operation operation : all_operations()) {
    bool needed = false;
    for (const Property& p : catalogue())
      for (const Operation need : p.needs) needed = needed || need == operation;
    EXPECT_TRUE(needed) << to_string(operation);
  }
}

TEST(Catalogue, TheClaimsAboutAnImplementationHaveProperties) {
  for (const char* id : {"C1", "C2", "C5", "C6", "C8", "C12"}) {
    bool supported = false;
    for (const Property& p : catalogue()) supported = supported || p.claim == id;
    EXPECT_TRUE(supported) << id;
  }
}

TEST(Catalogue, ACaseIsAPureFunctionOfTheSeed) {
  for (const Property& p : catalogue())
    for (const Family& family : p.families) {
      const auto draw = [&](std::uint64_t seed) {
        return family.generate()(rc::Random(seed), 50).value();
      };
      EXPECT_EQ(draw(3), draw(3)) << p.id << " " << family.name;
    }
}

TEST(Catalogue, SelectionByIdAndArea) {
  EXPECT_EQ(select_properties({}).size(), catalogue().size());
  EXPECT_EQ(select_properties({"slopes.rule"}).size(), 1U);
  EXPECT_GE(select_properties({"sampler", "slopes.rule"}).size(), 5U);
  EXPECT_THROW(select_properties({"sample"}), std::invalid_argument);
  EXPECT_THROW(select_properties({""}), std::invalid_argument);
}

}  // namespace
}  // namespace plsh::properties
