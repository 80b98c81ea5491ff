#include "window_section.hpp"

#include <fmt/format.h>

#include "plots.hpp"
#include "text.hpp"

namespace plsh::cli::report {
namespace {

using nlohmann::json;

std::string table(const json& rows) {
  std::string html =
      "<div class=\"scroll\"><table class=\"data full\">\n<thead><tr><th>Input</th>"
      "<th class=\"number\"><i>σ</i></th><th class=\"number\">Masks <i>s</i></th>"
      "<th class=\"number\">Error, masks</th><th class=\"number\">Error, window</th>"
      "<th class=\"number\">Window radius</th><th class=\"number\">Pairs, blocks</th>"
      "<th class=\"number\">Pairs, union</th><th class=\"number\">Pairs, window</th>"
      "<th class=\"number\">Window / union</th></tr></thead>\n<tbody>\n";
  for (const json& row : rows) {
    const auto value = [&](const char* member) { return row.at(member).get<double>(); };
    html += fmt::format("<tr><td>{}</td>", escape(greek(row.at("label").get<std::string>())));
    for (const std::string& content :
         {number(value("sigma")), whole(value("samples")), fixed(value("error"), 3),
          fixed(value("window_error"), 3), whole(value("radius")), whole(value("block_pairs")),
          whole(value("union_pairs")), whole(value("window_pairs")), fixed(value("cost_ratio"), 2)})
      html += "<td class=\"number\">" + content + "</td>";
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string finding(std::size_t cheaper, std::size_t all) {
  if (all == 0) return "Nothing was compared.";
  if (cheaper == 0)
    return "In none of the rows below is the window cheaper: the sampled masks reach the same "
           "error with fewer pairs.";
  if (cheaper == all)
    return "In every row below the ratio is under 1: the plain window reaches at most the same "
           "error with fewer pairs, deterministically. On this input the sampled masks do not "
           "pay.";
  return fmt::format(
      "In {} of {} rows below the ratio is under 1: there the plain window is cheaper at equal "
      "error. In the others the sampled masks are.",
      cheaper, all);
}

}  // namespace

Section window_section(const json& window) {
  const json& rows = window.at("rows");
  std::size_t cheaper = 0;
  for (const json& row : rows)
    if (row.at("cost_ratio").get<double>() < 1) ++cheaper;
  return {
      "window", "Honest comparison", "The honest comparison: exact ALiBi inside a window",
      "<p>There is a simpler way to save work: compute ALiBi exactly, but only for pairs no "
      "further "
      "apart than a radius, and drop the rest. For each input the radius is the smallest whose "
      "output error is no larger than that of the sampled masks. What is left to compare is the "
      "number of pairs that each has to score.</p>\n"
      "<p class=\"finding\"><b>" +
          finding(cheaper, rows.size()) + "</b></p>\n" +
          fmt::format(
              "<figure class=\"side\"><div class=\"drawing\">\n{}</div>\n<figcaption><b>Pairs "
              "scored by the window over pairs in the union of the masks, at equal error.</b> "
              "Left of 1 the window is cheaper, right of 1 the masks are.</figcaption>"
              "</figure>\n",
              window_chart(window)) +
          table(rows)};
}

}  // namespace plsh::cli::report
