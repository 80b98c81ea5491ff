#include "fault_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <sstream>

namespace plsh::faults {
namespace {

std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> result;
  std::size_t begin = 1;
  for (std::size_t end; (end = line.find('|', begin)) != std::string::npos; begin = end + 1) {
    std::string cell = line.substr(begin, end - begin);
    cell.erase(0, cell.find_first_not_of(' '));
    cell.erase(cell.find_last_not_of(' ') + 1);
    result.push_back(cell);
  }
  return result;
}

std::string without_ticks(const std::string& cell) {
  return cell.size() >= 2 && cell.front() == '`' ? cell.substr(1, cell.size() - 2) : cell;
}

}  // namespace

bool nothing_passes(const properties::CheckReport& report) {
  return std::none_of(report.results.begin(), report.results.end(), [](const auto& result) {
    return result.id != "interface.table" && result.verdict == properties::CheckVerdict::pass;
  });
}

std::string to_markdown(const Table& table) {
  std::vector<double> seconds;
  for (const Row& row : table.rows) seconds.push_back(row.seconds);
  std::sort(seconds.begin(), seconds.end());
  const double median = seconds.empty() ? 0 : seconds[seconds.size() / 2];
  std::string text = fmt::format(
      "# Planted faults\n\n"
      "Written by `plsh_fault_table`; do not edit. Each fault is a switch in a plain textbook\n"
      "implementation (`textbook/`). The property is the first that fails in `plsh check --fail-fast`\n"
      "with the default budget on 2 cores, the time is the whole run's until then. A test reruns that\n"
      "property on that fault, and fails when a fault or a property is missing here.\n\n"
      "{} faults; median time to detection {:.1f} s, slowest {:.1f} s.\n\n"
      "| fault | what is wrong | area | class | rejected first by | seconds |\n"
      "| --- | --- | --- | --- | --- | ---: |\n",
      table.rows.size(), median, seconds.empty() ? 0 : seconds.back());
  for (const Row& row : table.rows)
    text += fmt::format("| `{}` | {}{} | {} | {} | `{}` | {:.1f} |\n", row.fault, row.what,
                        row.source.empty() ? "" : fmt::format(" ([report]({}))", row.source),
                        row.area, row.class_, row.property, row.seconds);
  text +=
      "\n## Properties that are first on no fault\n\n"
      "Each rejects a fault all the same.\n\n"
      "| property | fault |\n| --- | --- |\n";
  for (const auto& [property, fault] : table.others)
    text += fmt::format("| `{}` | `{}` |\n", property, fault);
  return text;
}

Table read_markdown(const std::string& text) {
  Table table;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("| `")) continue;
    const std::vector<std::string> c = cells(line);
    if (c.size() == 6) {
      Row row;
      row.fault = without_ticks(c[0]);
      row.what = c[1];
      row.area = c[2];
      row.class_ = c[3];
      row.property = without_ticks(c[4]);
      row.seconds = std::strtod(c[5].c_str(), nullptr);
      table.rows.push_back(row);
    } else if (c.size() == 2) {
      table.others.emplace_back(without_ticks(c[0]), without_ticks(c[1]));
    } else {
      throw std::runtime_error("FAULTS.md: not a row of the table: " + line);
    }
  }
  return table;
}

properties::CheckReport check_fault(const std::string& library, const std::string& fault,
                                    const std::vector<std::string>& properties, int jobs) {
  setenv("PLSH_TEXTBOOK_FAULT", fault.c_str(), 1);  // the children inherit it
  properties::CheckOptions options;
  options.source.library = library;
  options.properties = properties;
  options.jobs = jobs;
  options.fail_fast = true;
  options.effort.shrink_seconds = 0;
  properties::CheckReport report = run_check(options);
  unsetenv("PLSH_TEXTBOOK_FAULT");
  return report;
}

}  // namespace plsh::faults
