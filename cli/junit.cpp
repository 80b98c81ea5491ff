#include "junit.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/text.hpp"

namespace plsh::cli {
namespace {

using properties::CheckVerdict;
using properties::PropertyResult;

/// Text of any bytes as XML.
std::string xml(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x7F; }, '?');
  return report::escape(text);
}

std::string case_body(const PropertyResult& result, const properties::CheckOptions& options) {
  switch (result.verdict) {
    case CheckVerdict::pass:
      return "/>\n";
    case CheckVerdict::fail: {
      std::string detail;
      if (result.counterexample)
        detail = counterexample_document(result, options)
                     .dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
      return fmt::format(">\n    <failure message=\"{}\">{}\n</failure>\n  </testcase>\n",
                         xml(result.message), xml(detail));
    }
    case CheckVerdict::not_offered:
    case CheckVerdict::not_enough_evidence:
      break;
  }
  return fmt::format(">\n    <skipped message=\"{}: {}\"/>\n  </testcase>\n",
                     to_string(result.verdict), xml(result.message));
}

}  // namespace

std::string to_junit(const properties::CheckReport& report) {
  const auto count = [&](auto... verdicts) {
    return std::count_if(
        report.results.begin(), report.results.end(),
        [&](const PropertyResult& result) { return ((result.verdict == verdicts) || ...); });
  };
  const std::string name =
      report.implementation.is_object() ? report.implementation.value("name", "") : "";
  std::string text = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuite name=\"plsh check {}\" tests=\"{}\" failures=\"{}\" skipped=\"{}\" "
      "time=\"{:.3f}\">\n",
      xml(name), report.results.size(), count(CheckVerdict::fail),
      count(CheckVerdict::not_offered, CheckVerdict::not_enough_evidence), report.seconds);
  for (const PropertyResult& result : report.results) {
    const std::size_t dot = result.id.find('.');
    text +=
        fmt::format("  <testcase classname=\"{}\" name=\"{}\" time=\"{:.3f}\"",
                    xml(result.id.substr(0, dot)), xml(result.id.substr(dot + 1)), result.seconds) +
        case_body(result, report.options);
  }
  return text + "</testsuite>\n";
}

}  // namespace plsh::cli
