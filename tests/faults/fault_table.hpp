/// \file
/// The table of planted faults: which property rejects each, and how fast. Written by
/// `plsh_fault_table`, committed as FAULTS.md, and held against the faults by a test.
#pragma once

#include <plsh/properties/check.hpp>
#include <string>
#include <vector>

#include "textbook/faults.hpp"

namespace plsh::faults {

struct Row {
  std::string fault;
  std::string what;
  std::string area;
  std::string class_;
  std::string source;
  std::string property;  ///< that rejected it first
  double seconds = 0;    ///< until then, in a default run
};

struct Table {
  std::vector<Row> rows;
  /// For each property that is first on no fault: a fault that it rejects as well.
  std::vector<std::pair<std::string, std::string>> others;  ///< property, fault
};

/// In place of a property: nothing is offered, or everything refused, so that no property passes.
inline const std::string none_passes = "none passes";
bool nothing_passes(const properties::CheckReport& report);

std::string to_markdown(const Table& table);
/// \throws std::runtime_error naming a line that is not of the table's form.
Table read_markdown(const std::string& text);

/// Runs properties (all when empty) against the textbook library with this fault, until one fails.
properties::CheckReport check_fault(const std::string& library, const std::string& fault,
                                    const std::vector<std::string>& properties, int jobs);

}  // namespace plsh::faults
