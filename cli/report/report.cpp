#include "report.hpp"

#include <fmt/format.h>

#include <vector>

#include "claims.hpp"
#include "guide.hpp"
#include "illustration.hpp"
#include "sections.hpp"
#include "style.hpp"
#include "text.hpp"

namespace plsh::cli {
namespace report {
namespace {

using nlohmann::json;

std::string text(const json& object, const char* member) {
  return escape(object.at(member).get<std::string>());
}

std::string section(const Section& content) {
  return fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n{}</section>\n", content.id,
                     content.heading, content.body);
}

std::string head(const json& audit) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n"
      "<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<meta name=\"generator\" content=\"{} {}\"/>\n<title>Positional LSH: audit</title>\n"
      "<style>{}</style>\n</head>\n",
      text(audit.at("program"), "name"), text(audit.at("program"), "version"), style_sheet());
}

std::string masthead(const json& claims, const std::vector<Section>& sections) {
  std::string links;
  for (const Section& content : sections)
    links += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", content.id, content.entry);
  return fmt::format(
      "<header class=\"masthead\"><div>\n<h1>Positional LSH, audited</h1>\n"
      "<p class=\"result\">{}</p>\n<div class=\"introduction\"><div>{}</div>{}</div>\n"
      "<nav aria-label=\"Contents\"><ul>\n{}</ul></nav>\n</div></header>\n",
      verdict_sentence(claims), introduction(), illustration(), links);
}

/// "2026-01-31T12:00:00Z" -> "2026-01-31 12:00 UTC"; anything else as it is.
std::string moment(const std::string& started) {
  if (started.size() != 20 || started[10] != 'T' || started[19] != 'Z') return escape(started);
  return escape(started.substr(0, 10) + " " + started.substr(11, 5) + " UTC");
}

std::string run_facts(const json& audit) {
  const json& run = audit.at("run");
  std::string html = "<dl class=\"facts\">\n";
  const auto add = [&](std::string_view label, const std::string& content) {
    html += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", label, content);
  };
  add("Program", text(audit.at("program"), "name") + " " + text(audit.at("program"), "version"));
  add("Mode", text(run, "mode"));
  add("Seed", std::to_string(run.at("seed").get<std::uint64_t>()));
  add("Started", moment(run.at("started").get<std::string>()));
  add("Duration", fmt::format("{}, {}", duration(run.at("seconds").get<double>()),
                              counted(run.at("threads").get<std::size_t>(), "thread", "threads")));
  add("False-alarm probability of the whole run",
      number(run.at("false_alarm_probability").get<double>()));
  add("Machine", text(run, "machine"));
  add("Compiler", text(run, "compiler"));
  return html + "</dl>\n" +
         fmt::format("<p class=\"command\"><code>{}</code></p>\n", text(run, "command"));
}

Section verdict_section(const json& audit) {
  return {"verdicts", "Verdicts", "The verdicts",
          verdict_summary(audit.at("claims")) + run_facts(audit) +
              "<p>The command above repeats the run: all data are a function of the seed.</p>\n"};
}

Section claims_section(const json& claims) {
  return {
      "claims", "Claims", "The claims",
      "<p>The constant is the one that was audited, the observed value is the worst that was "
      "seen. Tightness is bound over observed: 1 is a bound that cannot be improved. The e-value "
      "weighs the evidence <em>against</em> a claim, on a logarithmic scale.</p>\n" +
          claims_table(claims)};
}

/// What the numbers were measured on: the heads, and the recorded input.
Section data_section(const json& audit) {
  const json& data = audit.at("data");
  std::string html =
      data.is_null()
          ? "<p>None of the claims in this run looks at recorded input.</p>\n"
          : fmt::format(
                "<p>{}. The file {}, {} tokens (SHA-256 <code class=\"hash\">{}</code>).</p>\n",
                text(data, "description"), text(data, "name"),
                whole(data.at("tokens").get<double>()), text(data, "sha256"));
  html +=
      "<div class=\"pair\">\n<div class=\"scroll\"><table class=\"data\">\n"
      "<thead><tr><th class=\"number\">Head</th><th class=\"number\">Slope</th>"
      "<th class=\"number\">Decay length <i>σ</i></th></tr></thead>\n<tbody>\n";
  for (const json& row : audit.at("heads"))
    html += fmt::format(
        "<tr><td class=\"number\">{}</td><td class=\"number\">{}</td><td "
        "class=\"number\">{}</td></tr>\n",
        row.at("head").get<int>(), number(row.at("slope").get<double>(), 7),
        number(row.at("sigma").get<double>()));
  html += "</tbody></table></div>\n";
  if (data.is_null()) return {"data", "Data", "What was measured", html + "</div>\n"};
  html +=
      "<div class=\"scroll\"><table class=\"data\">\n"
      "<thead><tr><th class=\"number\">Layer</th><th class=\"number\">Head</th>"
      "<th class=\"number\"><i>σ</i> used with it</th></tr></thead>\n<tbody>\n";
  for (const json& row : data.at("heads"))
    html += fmt::format(
        "<tr><td class=\"number\">{}</td><td class=\"number\">{}</td><td "
        "class=\"number\">{}</td></tr>\n",
        row.at("layer").get<int>(), row.at("head").get<int>(),
        number(row.at("sigma").get<double>()));
  return {"data", "Data", "What was measured", html + "</tbody></table></div>\n</div>\n"};
}

}  // namespace
}  // namespace report

std::string render_report(const nlohmann::json& audit) {
  using namespace report;
  const nlohmann::json& claims = audit.at("claims");
  std::vector<Section> sections{verdict_section(audit), claims_section(claims)};
  for (Section& content : figure_sections(audit.at("plots")))
    sections.push_back(std::move(content));
  sections.push_back({"details", "Details", "The claims in detail", claim_details(claims)});
  sections.push_back(data_section(audit));
  sections.push_back({"reading", "How to read", "How to read the verdicts", verdict_guide()});
  sections.push_back({"glossary", "Glossary", "Glossary", glossary()});

  std::string page = head(audit) + "<body>\n" + masthead(claims, sections) + "<main>\n";
  for (const Section& content : sections) page += section(content);
  return page + fmt::format(
                    "</main>\n<footer>Written by {} {}. The data behind this page are in "
                    "audit.json.</footer>\n</body>\n</html>\n",
                    text(audit.at("program"), "name"), text(audit.at("program"), "version"));
}

}  // namespace plsh::cli
