// Writes FAULTS.md: plsh_fault_table LIBRARY FILE. Takes some tens of minutes.
#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <set>

#include "fault_table.hpp"

using namespace plsh;

namespace {

/// A case that ran out of time shows the fault only when the fault is to hang.
bool shows(const textbook::FaultInfo& fault, const properties::PropertyResult& result) {
  return result.verdict == properties::CheckVerdict::fail &&
         (fault.area == "process" || result.message.find("no answer within") == std::string::npos);
}

const properties::PropertyResult* first_failure(const textbook::FaultInfo& fault,
                                                const properties::CheckReport& report) {
  for (const properties::PropertyResult& result : report.results)
    if (shows(fault, result)) return &result;
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: plsh_fault_table LIBRARY FILE\n");
    return 2;
  }
  const std::string library = argv[1];
  faults::Table table;
  std::set<std::string> first;
  int missed = 0;
  for (const textbook::FaultInfo& fault : textbook::faults()) {
    const properties::CheckReport report = faults::check_fault(library, fault.name, {}, 2);
    const properties::PropertyResult* failure = first_failure(fault, report);
    const std::string by = failure != nullptr               ? failure->id
                           : faults::nothing_passes(report) ? faults::none_passes
                                                            : "";
    fmt::print("{:<32} {:<44} {:6.1f} s\n", fault.name, by.empty() ? "MISSED" : by, report.seconds);
    std::fflush(stdout);
    missed += by.empty() ? 1 : 0;
    if (by.empty()) continue;
    first.insert(by);
    table.rows.push_back(
        {fault.name, fault.what, fault.area, fault.class_, fault.source, by, report.seconds});
  }
  // The others: faults of the area that the property's name begins with come first.
  for (const properties::Property& property : properties::catalogue()) {
    if (first.contains(property.id)) continue;
    std::string area = property.id.substr(0, property.id.find('.'));
    for (char& c : area) c = c == '-' ? ' ' : c;
    std::string found;
    for (const bool near : {true, false})
      for (const textbook::FaultInfo& fault : textbook::faults()) {
        const bool same = fault.area.starts_with(area) || area.starts_with(fault.area);
        if (!found.empty() || same != near || fault.area == "process") continue;
        const auto report = faults::check_fault(library, fault.name, {property.id}, 1);
        if (first_failure(fault, report) != nullptr) found = fault.name;
      }
    fmt::print("{:<44} {}\n", property.id, found.empty() ? "REJECTS NOTHING" : found);
    std::fflush(stdout);
    if (found.empty())
      ++missed;
    else
      table.others.emplace_back(property.id, found);
  }
  std::ofstream(argv[2]) << faults::to_markdown(table);
  return missed == 0 ? 0 : 1;
}
