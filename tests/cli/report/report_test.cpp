// The page: complete, well-formed, self-contained, safe against any text, and honest about
// failures.

// With sanitizers GCC 12 takes the inside of std::regex for uninitialized (GCC bug 105562).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <regex>
#include <report/report.hpp>
#include <set>
#include <string>
#include <vector>

#include "sample.hpp"

namespace plsh::cli {
namespace {

using nlohmann::json;

/// The page of the sample, rendered once.
const std::string& sample_page() {
  static const std::string page = render_report(sample_audit());
  return page;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t result = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++result;
  return result;
}

/// The first fault of the markup, or nothing: tags must nest, every "&" must begin a known entity.
std::optional<std::string> markup_fault(const std::string& page) {
  std::vector<std::string> open;
  for (std::size_t i = 0; i < page.size(); ++i) {
    if (page[i] == '&') {
      bool known = false;
      for (const char* entity : {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"})
        known = known || page.compare(i, std::string(entity).size(), entity) == 0;
      if (!known) return "stray & at: " + page.substr(i, 30);
    }
    if (page[i] != '<') continue;
    const std::size_t end = page.find('>', i);
    if (end == std::string::npos) return "unfinished tag";
    const std::string tag = page.substr(i + 1, end - i - 1);
    i = end;
    if (tag[0] == '!') continue;
    if (tag.find('<') != std::string::npos) return "tag inside a tag: " + tag;
    if (tag[0] == '/') {
      if (open.empty() || open.back() != tag.substr(1))
        return "closes " + tag.substr(1) + " inside " + (open.empty() ? "nothing" : open.back());
      open.pop_back();
    } else if (tag.back() != '/') {
      std::size_t name = 0;
      while (name < tag.size() && !std::isspace(static_cast<unsigned char>(tag[name]))) ++name;
      open.push_back(tag.substr(0, name));
    }
  }
  if (!open.empty()) return "never closed: " + open.back();
  return std::nullopt;
}

std::vector<std::string> all_matches(const std::string& text, const std::string& pattern) {
  const std::regex expression(pattern);
  std::vector<std::string> result;
  for (std::sregex_iterator i(text.begin(), text.end(), expression), end; i != end; ++i)
    result.push_back((*i)[1]);
  return result;
}

/// Sets PATH for one scope.
class ScopedPath {
 public:
  explicit ScopedPath(const std::string& path) : before_(std::getenv("PATH")) {
    setenv("PATH", path.c_str(), 1);
  }
  ~ScopedPath() { setenv("PATH", before_.c_str(), 1); }
  ScopedPath(const ScopedPath&) = delete;
  ScopedPath& operator=(const ScopedPath&) = delete;

 private:
  std::string before_;
};

/// A new empty folder, removed at the end of the scope.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string pattern = testing::TempDir() + "plsh-report-test-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot create " + pattern);
    path = pattern;
  }
  ~ScratchFolder() { std::filesystem::remove_all(path); }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::filesystem::path path;
};

std::string render_error(const json& audit) {
  try {
    render_report(audit);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(Report, NamesEveryClaim) {
  const json audit = sample_audit();
  for (const json& claim : audit["claims"]) {
    const auto id = claim["id"].get<std::string>();
    EXPECT_EQ(count(sample_page(), "<article class=\"claim\" id=\"" + id + "\">"), 1U) << id;
    EXPECT_EQ(count(sample_page(), fmt::format("<a href=\"#{0}\">{0}</a>", id)), 1U) << id;
    EXPECT_GE(count(sample_page(), claim["title"].get<std::string>()), 2U) << id;
  }
}

TEST(Report, HasEveryFigure) {
  const json plots = sample_audit()["plots"];
  // Three heat maps and their scale, the law, one chart per norm, five more charts, the
  // introduction.
  const std::size_t expected = 3 + 1 + 1 + plots["decay"]["norms"].size() + 5 + 1;
  EXPECT_EQ(count(sample_page(), "<svg "), expected);
  EXPECT_EQ(count(sample_page(), "</svg>"), expected);
  for (const char* id :
       {"mask", "law", "decay", "length", "largest-block", "cost", "seconds", "output", "window"})
    EXPECT_EQ(count(sample_page(), std::string("<section id=\"") + id + "\">"), 1U) << id;
}

TEST(Report, IsWellFormed) { EXPECT_EQ(markup_fault(sample_page()).value_or(""), ""); }

TEST(Report, TheMarkupCheckFindsFaults) {
  EXPECT_TRUE(markup_fault("<p><b>x</p></b>").has_value());
  EXPECT_TRUE(markup_fault("<p>").has_value());
  EXPECT_TRUE(markup_fault("<p>a & b</p>").has_value());
  EXPECT_FALSE(markup_fault("<!DOCTYPE html><p a=\"b\">a<br/>b</p>").has_value());
}

TEST(Report, NeedsNothingElse) {
  std::string page = sample_page();
  for (const char* name_space : {"http://www.w3.org/1999/xhtml", "http://www.w3.org/2000/svg",
                                 "http://www.w3.org/1999/xlink"})
    page = std::regex_replace(page, std::regex(name_space), "");
  for (const char* part : {"http:", "https:", "<script", " src=", "url(", "@import", "<link"})
    EXPECT_EQ(count(page, part), 0U) << part;
  EXPECT_LT(sample_page().size(), std::size_t{3} << 20);
}

TEST(Report, LinksOnlyToIdsThatExistOnce) {
  const std::vector<std::string> ids = all_matches(sample_page(), "\\bid=[\"']([^\"']*)[\"']");
  const std::set<std::string> unique(ids.begin(), ids.end());
  EXPECT_EQ(unique.size(), ids.size());
  for (const std::string& target : all_matches(sample_page(), "href=[\"']#([^\"']*)[\"']"))
    EXPECT_EQ(unique.count(target), 1U) << target;
}

TEST(Report, EscapesTextFromTheAudit) {
  const std::string planted = "<script>alert('x')</script> & \"more\"";
  json audit = sample_audit();
  audit["claims"][0]["notes"].push_back(planted);
  audit["claims"][0]["title"] = planted;
  audit["claims"][0]["statement"] = planted;
  audit["claims"][0]["counterexample"] = planted;
  audit["claims"][0]["checks"][0]["detail"] = planted;
  audit["run"]["command"] = planted;
  audit["run"]["machine"] = planted;
  audit["data"]["description"] = planted;
  audit["plots"]["decay"]["norms"][0]["relative_to"] = planted;
  audit["plots"]["decay"]["norms"][0]["series"][0]["label"] = planted;
  audit["plots"]["output"]["series"][0]["label"] = planted;
  audit["plots"]["window"]["rows"][0]["label"] = planted;
  audit["plots"]["seconds"]["processor"] = planted;
  const std::string page = render_report(audit);
  EXPECT_EQ(count(page, "<script"), 0U);
  EXPECT_GE(count(page, "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;"), 8U);
  EXPECT_EQ(markup_fault(page).value_or(""), "");
}

TEST(Report, RunsNoCommandHiddenInALabel) {
  const ScratchFolder scratch;
  const std::filesystem::path trace = scratch.path / "trace";
  const std::string command = "touch " + trace.string();
  json audit = sample_audit();
  const std::vector<std::string> labels{"`" + command + "`",
                                        "'; system('" + command + "'); print '",
                                        "x'\n!" + command + "\n", "@x %s %d \\", "\""};
  for (const std::string& label : labels) {
    audit["plots"]["decay"]["norms"][0]["series"][0]["label"] = label;
    audit["plots"]["output"]["series"][0]["label"] = label;
    audit["plots"]["window"]["rows"][0]["label"] = label;
    EXPECT_EQ(markup_fault(render_report(audit)).value_or(""), "") << label;
    EXPECT_FALSE(std::filesystem::exists(trace)) << label;
  }
}

TEST(Report, LeavesOutFiguresWithoutData) {
  const json plots = sample_audit()["plots"];
  for (const auto& [member, unused] : plots.items()) {
    json audit = sample_audit();
    audit["plots"].erase(member);
    const std::string page = render_report(audit);
    std::string id = member;
    if (id == "largest_block") id = "largest-block";
    EXPECT_EQ(count(page, "<section id=\"" + id + "\">"), 0U) << member;
    EXPECT_EQ(count(page, "href=\"#" + id + "\""), 0U) << member;
    EXPECT_EQ(markup_fault(page).value_or(""), "") << member;
  }
  json audit = sample_audit();
  audit["plots"] = json::object();
  EXPECT_EQ(count(render_report(audit), "<svg "), 1U);  // the introduction's
}

TEST(Report, ShowsAFailureAndItsCounterexample) {
  json audit = sample_audit();
  audit["claims"][1]["verdict"] = "refuted";
  audit["claims"][1]["counterexample"] = "n = 3, blocks {0, 2} and {1}";
  const std::string page = render_report(audit);
  EXPECT_GE(count(page, "1 refuted"), 1U);
  EXPECT_EQ(count(page, "n = 3, blocks {0, 2} and {1}"), 1U);
}

TEST(Report, SaysPlainlyWhereTheWindowIsCheaper) {
  json audit = sample_audit();
  json& rows = audit["plots"]["window"]["rows"];
  EXPECT_EQ(count(sample_page(), "In 4 of 6 rows below the ratio is under 1"), 1U);
  for (json& row : rows) row["cost_ratio"] = 0.5;
  EXPECT_EQ(count(render_report(audit), "In every row below the ratio is under 1"), 1U);
  for (json& row : rows) row["cost_ratio"] = 1.5;
  EXPECT_EQ(count(render_report(audit), "In none of the rows below is the window cheaper"), 1U);
}

TEST(Report, TellsTheCrossoverInSecondsAndTheMachine) {
  EXPECT_EQ(count(sample_page(), "A processor &lt;with a name&gt;, AVX2"), 1U);
  EXPECT_EQ(count(sample_page(), "<td class=\"number\">832</td>"), 1U);
}

TEST(Report, DrawsDegenerateData) {
  json audit = sample_audit();
  json& decay = audit["plots"]["decay"]["norms"][0]["series"][0]["points"];
  decay = {{{"samples", 4}, {"mean", 0.0}, {"low", 0.0}, {"high", 0.0}, {"bound", nullptr}}};
  audit["plots"]["length"]["series"] = {
      {{"sigma", 8.0},
       {"points", {{{"length", 10}, {"error", 0.0}, {"residual", 0.0}, {"bound", 0.0}}}}}};
  json& cost = audit["plots"]["cost"]["points"];
  cost = json::array({cost[0]});
  audit["plots"]["law"]["partitions"] = {{{"blocks", {1}}, {"probability", 1.0}}};
  audit["plots"]["law"]["length"] = 1;
  audit["plots"]["law"]["reachable"] = 1;
  audit["plots"]["law"]["rest"] = 0.0;
  EXPECT_EQ(markup_fault(render_report(audit)).value_or(""), "");
}

TEST(Report, RefusesAMaskThatContradictsItself) {
  json audit = sample_audit();
  audit["plots"]["mask"]["mean"].erase(0);
  EXPECT_EQ(render_error(audit), "plots.mask: mean and kernel do not have the stated length");
  audit = sample_audit();
  audit["plots"]["mask"]["starts"] = {0, 50, 20};
  EXPECT_EQ(render_error(audit), "plots.mask.starts: must ascend and stay below the length");
}

TEST(Report, IsAFunctionOfTheAudit) { EXPECT_EQ(render_report(sample_audit()), sample_page()); }

TEST(Report, SaysThatGnuplotIsMissing) {
  const ScratchFolder empty;
  const ScopedPath path(empty.path.string());
  const std::string message = render_error(sample_audit());
  EXPECT_NE(message.find("gnuplot could not be started"), std::string::npos) << message;
  EXPECT_NE(message.find("install"), std::string::npos) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
}

TEST(Report, SaysWhyGnuplotFailed) {
  const ScratchFolder scratch;
  const std::filesystem::path fake = scratch.path / "gnuplot";
  std::ofstream(fake)
      << "#!/bin/sh\necho 'plot nothing' >&2\necho 'unknown terminal type' >&2\nexit 1\n";
  std::filesystem::permissions(fake, std::filesystem::perms::owner_all);
  const ScopedPath path(scratch.path.string());
  const std::string message = render_error(sample_audit());
  EXPECT_NE(message.find("gnuplot failed"), std::string::npos) << message;
  EXPECT_NE(message.find("unknown terminal type"), std::string::npos) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
}

TEST(Report, LeavesNoFilesBehind) {
  const ScratchFolder scratch;
  const char* before = std::getenv("TMPDIR");
  const std::string saved = before == nullptr ? "" : before;
  setenv("TMPDIR", scratch.path.c_str(), 1);
  render_report(sample_audit());
  if (before == nullptr)
    unsetenv("TMPDIR");
  else
    setenv("TMPDIR", saved.c_str(), 1);
  EXPECT_TRUE(std::filesystem::is_empty(scratch.path));
}

}  // namespace
}  // namespace plsh::cli
