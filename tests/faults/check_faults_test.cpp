// Every planted fault of the textbook implementation is rejected, by the property that FAULTS.md
// names; every correct variant passes.
#include <gtest/gtest.h>

#include <fstream>
#include <ostream>
#include <set>
#include <sstream>

#include "fault_table.hpp"

namespace plsh::textbook {
// What a test is called must not change from build to build.
std::ostream& operator<<(std::ostream& out, const FaultInfo& fault) { return out << fault.name; }
}  // namespace plsh::textbook

namespace plsh::faults {
std::ostream& operator<<(std::ostream& out, const Row& row) { return out << row.property; }

namespace {

using properties::CheckVerdict;

const Table& table() {
  static const Table result = [] {
    std::ifstream in(PLSH_SOURCE_DIR "/tests/faults/FAULTS.md");
    std::ostringstream text;
    text << in.rdbuf();
    return in ? read_markdown(text.str()) : Table{};  // an empty one fails below
  }();
  return result;
}

std::string test_name(const std::string& name) {
  std::string result;
  for (const char c : name) result += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return result;
}

bool rejects(const std::string& property, const std::string& fault) {
  if (property == none_passes)
    return nothing_passes(check_fault(PLSH_TEXTBOOK_LIBRARY, fault, {}, 2));
  const std::vector<std::string> only = property == "interface.table"
                                            ? std::vector<std::string>{"slopes"}
                                            : std::vector<std::string>{property};
  for (const auto& result : check_fault(PLSH_TEXTBOOK_LIBRARY, fault, only, 1).results)
    if (result.id == property) return result.verdict == CheckVerdict::fail;
  return false;
}

TEST(FaultTable, ListsEveryFaultAndEveryProperty) {
  std::set<std::string> listed;
  std::set<std::string> used;
  for (const Row& row : table().rows) {
    listed.insert(row.fault);
    used.insert(row.property);
  }
  for (const auto& [property, fault] : table().others) used.insert(property);
  std::set<std::string> planted;
  for (const textbook::FaultInfo& fault : textbook::faults()) planted.insert(fault.name);
  EXPECT_EQ(listed, planted) << "run plsh_fault_table";
  EXPECT_GE(planted.size(), 100U);
  std::set<std::string> known{"interface.table", none_passes};
  for (const properties::Property& property : properties::catalogue()) {
    known.insert(property.id);
    EXPECT_TRUE(used.contains(property.id)) << property.id << " rejects no fault";
  }
  for (const std::string& id : used) EXPECT_TRUE(known.contains(id)) << id;
}

class PlantedFault : public ::testing::TestWithParam<Row> {};

TEST_P(PlantedFault, IsRejected) {
  EXPECT_TRUE(rejects(GetParam().property, GetParam().fault)) << GetParam().what;
}

INSTANTIATE_TEST_SUITE_P(Check, PlantedFault, ::testing::ValuesIn(table().rows),
                         [](const auto& test) { return test_name(test.param.fault); });

using PropertyAndFault = std::pair<std::string, std::string>;
class PropertyTeeth : public ::testing::TestWithParam<PropertyAndFault> {};

TEST_P(PropertyTeeth, RejectsAFault) {
  EXPECT_TRUE(rejects(GetParam().first, GetParam().second)) << GetParam().second;
}

INSTANTIATE_TEST_SUITE_P(Check, PropertyTeeth, ::testing::ValuesIn(table().others),
                         [](const auto& test) { return test_name(test.param.first); });

/// The properties that can see a variant. The others see the textbook as it is.
std::vector<std::string> seeing(const textbook::FaultInfo& variant) {
  if (variant.area == "bins" || variant.area == "sampler")
    return {"bins", "partition", "sampler", "mask"};
  if (variant.area == "slopes") return {"slopes"};
  if (variant.area.ends_with("ward"))
    return {"exact-forward", "exact-backward", "sampled-forward", "sampled-backward"};
  return {};  // all
}

class CorrectVariant : public ::testing::TestWithParam<textbook::FaultInfo> {};

TEST_P(CorrectVariant, Passes) {
  setenv("PLSH_TEXTBOOK_FAULT", GetParam().name.c_str(), 1);
  properties::CheckOptions options;
  options.source.library = PLSH_TEXTBOOK_LIBRARY;
  options.properties = seeing(GetParam());
  options.effort = properties::CheckEffort::quick();
  options.effort.case_factor = 0.2;
  const auto report = run_check(options);
  unsetenv("PLSH_TEXTBOOK_FAULT");
  for (const auto& result : report.results)
    EXPECT_NE(result.verdict, CheckVerdict::fail) << result.id << ": " << result.message;
  EXPECT_TRUE(report.any(CheckVerdict::pass));
}

INSTANTIATE_TEST_SUITE_P(Check, CorrectVariant, ::testing::ValuesIn(textbook::variants()),
                         [](const auto& test) { return test_name(test.param.name); });

}  // namespace
}  // namespace plsh::faults
