#include "claims.hpp"

#include <fmt/format.h>

#include <array>

#include "guide.hpp"
#include "math_text.hpp"
#include "text.hpp"

namespace plsh::cli::report {
namespace {

using nlohmann::json;

constexpr std::array verdicts{"certified", "consistent", "refuted", "undecided", "not audited"};

std::string text(const json& object, const char* member) {
  return escape(object.at(member).get<std::string>());
}

std::string formula(const json& object, const char* member) {
  return math(object.at(member).get<std::string>());
}

std::size_t count(const json& claims, std::string_view verdict) {
  std::size_t result = 0;
  for (const json& claim : claims)
    if (claim.at("verdict").get<std::string>() == verdict) ++result;
  return result;
}

/// The value and below it the name of a constant; a dash for null.
std::string named_value(const json& value) {
  if (value.is_null()) return "<span class=\"none\">–</span>";
  return fmt::format("<span class=\"figure\">{}</span><span class=\"unit\">{}</span>",
                     number(value.at("value").get<double>()), formula(value, "name"));
}

std::string tightness(const json& value) {
  if (value.is_null()) return "<span class=\"none\">–</span>";
  return fmt::format("<span class=\"figure\">{} ×</span>", value.get<double>() < 100
                                                               ? fixed(value.get<double>(), 1)
                                                               : number(value.get<double>()));
}

std::string e_value(const json& claim) {
  const json& value = claim.at("log10_e_value");
  const json& limit = claim.at("log10_e_value_to_refute");
  if (value.is_null()) return "<span class=\"none\">–</span>";
  return fmt::format("<span class=\"figure\">{}</span>", fixed(value.get<double>(), 1)) +
         (limit.is_null() ? ""
                          : fmt::format("<span class=\"unit\">refutes at {}</span>",
                                        number(limit.get<double>())));
}

std::string cell(std::string_view label, const std::string& content) {
  return fmt::format("<td class=\"number\" data-label=\"{}\">{}</td>", label, content);
}

std::string checks(const json& list) {
  if (list.empty()) return "";
  std::string html = "<h4>Checks</h4>\n<ul class=\"checks\">\n";
  for (const json& check : list) {
    const bool passed = check.at("passed").get<bool>();
    html += fmt::format(
        "<li class=\"{}\"><span class=\"sign\" aria-hidden=\"true\">{}</span><div><b>{}</b>"
        "<span class=\"spoken\">{}</span> <span class=\"detail\">{}</span></div></li>\n",
        passed ? "passed" : "failed", passed ? "✔" : "✘", formula(check, "name"),
        passed ? " (passed)" : " (failed)", formula(check, "detail"));
  }
  return html + "</ul>\n";
}

std::string notes(const json& list) {
  if (list.empty()) return "";
  std::string html = "<h4>Notes</h4>\n<ul class=\"notes\">\n";
  for (const json& note : list) html += "<li>" + math(note.get<std::string>()) + "</li>\n";
  return html + "</ul>\n";
}

std::string paragraph(std::string_view heading, const std::string& content) {
  return content.empty() ? "" : fmt::format("<h4>{}</h4>\n<p>{}</p>\n", heading, content);
}

std::string measures(const json& claim) {
  std::string html;
  const auto add = [&](std::string_view label, const std::string& content) {
    html += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", label, content);
  };
  if (!claim.at("constant").is_null()) add("constant", named_value(claim.at("constant")));
  if (!claim.at("observed").is_null()) add("observed", named_value(claim.at("observed")));
  if (!claim.at("tightness").is_null())
    add("tightness",
        tightness(claim.at("tightness")) + "<span class=\"unit\">bound over observed</span>");
  if (!claim.at("log10_e_value").is_null()) add("log₁₀ e-value", e_value(claim));
  return html.empty() ? "" : "<dl class=\"measures\">\n" + html + "</dl>\n";
}

}  // namespace

std::string verdict_sentence(const json& claims) {
  std::string parts;
  for (const char* verdict : verdicts) {
    const std::size_t number_of = count(claims, verdict);
    if (number_of == 0 && std::string_view(verdict) != "refuted") continue;
    parts +=
        (parts.empty() ? "" : ", ") +
        (number_of == 0 ? std::string("none refuted") : fmt::format("{} {}", number_of, verdict));
  }
  return fmt::format("{}: {}.", counted(claims.size(), "claim", "claims"), parts);
}

std::string verdict_summary(const json& claims) {
  std::string html = "<ol class=\"tiles\">\n";
  for (const char* verdict : verdicts) {
    const std::size_t number_of = count(claims, verdict);
    html += fmt::format("<li class=\"{}\"><span class=\"count\">{}</span>{}</li>\n",
                        number_of == 0 ? "zero" : "some", number_of, badge(verdict));
  }
  return html + "</ol>\n";
}

std::string claims_table(const json& claims) {
  std::string html =
      "<table class=\"claims\">\n<thead><tr><th colspan=\"2\">Claim</th><th>Verdict</th>"
      "<th class=\"number\">Constant</th><th class=\"number\">Observed</th>"
      "<th class=\"number\">Tightness</th><th class=\"number\">log₁₀ e-value</th></tr></thead>\n"
      "<tbody>\n";
  for (const json& claim : claims) {
    const std::string id = text(claim, "id");
    html += fmt::format(
        "<tr><td class=\"id\"><a href=\"#{0}\">{0}</a></td>"
        "<td class=\"claim\"><b>{1}</b><span class=\"statement\">{2}</span></td>"
        "<td class=\"verdict\">{3}</td>",
        id, text(claim, "title"), formula(claim, "statement"),
        badge(claim.at("verdict").get<std::string>()));
    html += cell("constant", named_value(claim.at("constant"))) +
            cell("observed", named_value(claim.at("observed"))) +
            cell("tightness", tightness(claim.at("tightness"))) +
            cell("log₁₀ e-value", e_value(claim)) + "</tr>\n";
  }
  return html + "</tbody>\n</table>\n";
}

// Statement and numbers on the left, what was done on the right.
std::string claim_details(const json& claims) {
  std::string html;
  for (const json& claim : claims) {
    const auto verdict = claim.at("verdict").get<std::string>();
    const json& counterexample = claim.at("counterexample");
    html += fmt::format(
        "<article class=\"claim\" id=\"{0}\">\n<header><h3><span class=\"id\">{0}</span> "
        "{1}</h3>{2}"
        "</header>\n<div class=\"columns\">\n<div>\n",
        text(claim, "id"), text(claim, "title"), badge(verdict));
    html += paragraph("The paper’s claim", formula(claim, "statement")) +
            paragraph("What was audited", formula(claim, "ours")) + measures(claim);
    html += "</div>\n<div>\n" + paragraph("Evidence", formula(claim, "evidence")) +
            checks(claim.at("checks")) + notes(claim.at("notes")) + "</div>\n</div>\n";
    if (!counterexample.is_null())
      html +=
          fmt::format("<div class=\"counterexample\"><h4>Counterexample</h4><pre>{}</pre></div>\n",
                      escape(counterexample.get<std::string>()));
    if (verdict != "not audited")
      html += fmt::format(
          "<p class=\"reproduce\"><code>{}</code><span>proof note: {}</span><span>{}</span></p>\n",
          text(claim, "reproduce"), text(claim, "note"),
          duration(claim.at("seconds").get<double>()));
    html += "</article>\n";
  }
  return html;
}

}  // namespace plsh::cli::report
