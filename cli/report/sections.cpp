#include "sections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "drawings.hpp"
#include "math_text.hpp"
#include "plots.hpp"
#include "text.hpp"
#include "window_section.hpp"

namespace plsh::cli::report {
namespace {

using nlohmann::json;

double real(const json& object, const char* member) { return object.at(member).get<double>(); }

std::string figure(std::string_view layout, const std::string& drawing,
                   const std::string& caption) {
  return fmt::format(
      "<figure class=\"{}\"><div "
      "class=\"drawing\">\n{}</div>\n<figcaption>{}</figcaption></figure>\n",
      layout, drawing, caption);
}

Section mask_section(const json& mask) {
  const auto length = mask.at("length").get<std::size_t>();
  const int samples = mask.at("samples").get<int>();
  const std::string sigma = number(real(mask, "sigma"));
  const auto mean = mask.at("mean").get<Weights>();
  const auto kernel = mask.at("kernel").get<std::vector<double>>();
  if (kernel.size() != length || mean.size() != length ||
      std::any_of(mean.begin(), mean.end(), [&](const auto& row) { return row.size() != length; }))
    throw std::runtime_error("plots.mask: mean and kernel do not have the stated length");
  const Weights one = block_mask(mask.at("starts").get<std::vector<std::size_t>>(), length);

  std::string drawing = "<div class=\"maps\">\n";
  const auto panel = [&](const std::string& title, const Weights& weights, int steps) {
    drawing += fmt::format("<div><h3>{}</h3>{}</div>\n", title, heat_map(weights, steps, title));
  };
  panel("One random mask M", one, 1);
  panel(fmt::format("The mean M̃ of {} masks", samples), mean, samples);
  panel("The ALiBi bias L*", kernel_matrix(kernel), 48);
  drawing +=
      "</div>\n<div class=\"key\"><span>weight 0</span>" + heat_scale() + "<span>1</span></div>\n";
  return {
      "mask", "Masks", "From one random mask to the ALiBi bias",
      "<p>A mask is crude: inside a block every pair of positions counts fully, across a cut not "
      "at all. The next mask has its cuts elsewhere. Averaged, the cuts wash out, and what "
      "remains is the smooth decay with distance that ALiBi prescribes. In expectation the mean "
      "is that bias exactly; with finitely many masks it carries the noise seen in the "
      "middle.</p>\n" +
          figure("wide", drawing,
                 fmt::format(
                     "<b>Rows are queries, columns are keys</b>, positions 0 to {} from the "
                     "upper left; decay length <i>σ</i> = {}. The left mask has {}.",
                     length - 1, sigma, counted(mask.at("starts").size(), "block", "blocks")))};
}

Section law_section(const json& law) {
  const auto reachable = law.at("reachable").get<std::size_t>();
  const int length = law.at("length").get<int>();
  return {
      "law", "Exact law", "Every partition has a known probability",
      fmt::format(
          "<p>Of the {} ways to cut {} positions into contiguous blocks, {} can occur, and each "
          "has a probability that is known as a formula. A sampler that ever returns any other "
          "partition is wrong for certain; one whose frequencies drift from these is found out "
          "by a sequential test. The average alone would not do: wrong samplers exist that have "
          "the right mean.</p>\n",
          whole(std::exp2(length - 1)), length, reachable) +
          figure(
              "side", law_bars(law),
              fmt::format("<b>The {} most likely partitions</b> of {} positions at <i>σ</i> = {}: "
                          "block sizes on the left, probability on the right. The last bar holds "
                          "all the others together.",
                          law.at("partitions").size(), length, number(real(law, "sigma"))))};
}

std::string norm_title(const std::string& norm) {
  if (norm == "spectral") return "Spectral norm";
  if (norm == "max") return "Max norm";
  if (norm == "frobenius") return "Frobenius norm";
  return "Output of attention";
}

/// A row per norm, a column per head: fitted slope and its interval.
std::string slope_table(const json& norms) {
  std::vector<std::string> labels;
  for (const json& series : norms.front().at("series"))
    labels.push_back(series.at("label").get<std::string>());
  std::string html =
      "<div class=\"scroll\"><table class=\"data slopes\">\n<thead><tr><th>Fitted slope</th>";
  for (const std::string& label : labels) html += "<th class=\"number\">" + math(label) + "</th>";
  html += "</tr></thead>\n<tbody>\n";
  for (const json& norm : norms) {
    // The output errors belong to inputs, not to heads: their own section names them.
    if (norm.at("series").front().at("label") != labels.front()) continue;
    html += "<tr><td>" + norm_title(norm.at("norm").get<std::string>()) + "</td>";
    for (const std::string& label : labels) {
      std::string content = "–";
      for (const json& series : norm.at("series"))
        if (series.at("label").get<std::string>() == label)
          content = fmt::format(
              "{}<span class=\"unit\">{} to {}</span>", fixed(real(series, "exponent"), 2),
              fixed(real(series, "exponent_low"), 2), fixed(real(series, "exponent_high"), 2));
      html += "<td class=\"number\">" + content + "</td>";
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

Section decay_section(const json& decay) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  std::string panels = "<div class=\"panels\">\n";
  for (const json& norm : decay.at("norms")) {
    panels += fmt::format("<div><h3>{}<span>relative to {}</span></h3>\n{}</div>\n",
                          norm_title(norm.at("norm").get<std::string>()),
                          math(norm.at("relative_to").get<std::string>()), decay_chart(norm));
    for (const json& series : norm.at("series")) {
      low = std::min(low, real(series, "exponent"));
      high = std::max(high, real(series, "exponent"));
    }
  }
  std::string body =
      "<p>How far is the mean of <i>s</i> masks from the bias? The paper claims an error that "
      "falls like <span class=\"whole\">1/√<i>s</i></span>: four times the masks, half the "
      "error. On axes that are both logarithmic this is a straight line of slope −½, drawn "
      "dotted for comparison.";
  if (low <= high)
    body += fmt::format(" The fitted slopes lie between {} and {}.", fixed(low, 2), fixed(high, 2));
  return {
      "decay", "Error against samples", "The error against the number of masks",
      body + "</p>\n" +
          figure("wide", panels + "</div>\n",
                 fmt::format(
                     "<b>Points are means of repeated runs</b>, bars reach from the smallest to "
                     "the largest run, dashed lines are bounds with explicit constants (Frobenius: "
                     "the exact mean). Four of the series are drawn. Context length {}.",
                     number(real(decay, "length")))) +
          slope_table(decay.at("norms"))};
}

Section length_section(const json& length) {
  std::string growth;
  for (const json& series : length.at("series")) {
    const json& points = series.at("points");
    if (points.size() < 2 || real(points.front(), "error") <= 0) continue;
    growth += fmt::format("{}{} for <i>σ</i> = {}", growth.empty() ? "" : ", ",
                          number(real(points.back(), "error") / real(points.front(), "error")),
                          number(real(series, "sigma")));
  }
  std::string body =
      "<p>Does a longer context need more masks? Hardly: the bound grows only like the root of a "
      "logarithm, since a longer sequence merely offers more places at which the noise can be "
      "unlucky.";
  if (!growth.empty())
    body += " From the shortest to the longest context measured, the error grew by a factor of " +
            growth + ".";
  return {
      "length", "Error against length", "The spectral error against the context length",
      body + "</p>\n" +
          figure("side", length_chart(length),
                 fmt::format("<b>Points: spectral error of the mean of {} masks.</b> Bars show the "
                             "residual of the eigenvalue iteration, mostly too small to be seen. "
                             "Dashed: bound. No matrix is formed, so that long contexts are in "
                             "reach.",
                             length.at("samples").get<int>()))};
}

Section largest_block_section(const json& block) {
  const json& points = block.at("points");
  const double sigma = real(block, "sigma"), delta = real(block, "delta");
  return {
      "largest-block", "Largest block", "The largest block against the context length",
      fmt::format(
          "<p>The cost and the memory of one step depend on the largest block. It has a bound "
          "that does not depend on the context length itself, only on the number of masks "
          "<i>s</i>; and as <i>s</i> needs to grow only like ln <i>n</i>, the largest block "
          "grows like ln ln <i>n</i>, which is hardly at all. At {} positions, with {} masks, no "
          "block is larger than {} positions with probability {} %.</p>\n",
          number(real(points.back(), "length")), points.back().at("samples").get<int>(),
          whole(std::ceil(real(points.back(), "quantile"))), number(100 * (1 - delta))) +
          figure("side", largest_block_chart(block),
                 fmt::format(
                     "<b><i>σ</i> = {}, <i>δ</i> = {}.</b> Dashed: the exact quantile of the "
                     "block bound. Solid: its leading term <i>σ</i> ln(<i>s</i>/<i>δ</i>). "
                     "Dotted: <i>σ</i> ln ln <i>n</i>, the growth that the paper names. Points: "
                     "sampled, where the context is short enough to sample.",
                     number(sigma), number(delta)))};
}

Section cost_section(const json& cost) {
  const double blocks = real(cost, "crossover_blocks"), united = real(cost, "half_union");
  return {
      "cost", "Cost", "What it costs, in pairs scored",
      fmt::format(
          "<p>Dense attention scores <i>n</i>² pairs; the blocks of {} masks together, about "
          "2<i>σs</i> per position. So the masks score fewer pairs from <i>n</i> = {} on. If a pair "
          "that several masks share is scored only once, they never score more than dense "
          "attention, and less than half of it from <i>n</i> = {} on. These are "
          "counts of pairs, not times: an optimized dense kernel has the shorter way to the "
          "hardware, and no claim about seconds follows.</p>\n",
          cost.at("samples").get<int>(), whole(blocks), whole(united)) +
          figure("side", cost_chart(cost),
                 fmt::format(
                     "<b>Pairs scored per head, <i>σ</i> = {}, {} masks.</b> All blocks: the sum "
                     "over the masks. Union: every pair once. Window: exact ALiBi cut off at the "
                     "radius of equal error. Vertical lines: where the blocks score as many pairs "
                     "as dense attention, and where the union scores half of them.",
                     number(real(cost, "sigma")), cost.at("samples").get<int>()))};
}

Section output_section(const json& output) {
  std::size_t real_heads = 0;
  for (const json& series : output.at("series"))
    if (series.at("kind").get<std::string>() == "real") ++real_heads;
  std::string body =
      "<p>A small error of the bias matters only as far as it reaches the output. Here exact "
      "attention and attention with the mean of <i>s</i> masks run on the same queries, keys and "
      "values, and the difference of their outputs is taken relative to the exact one.";
  body += real_heads > 0 ? fmt::format(
                               " {} come from a trained language model, so the input is what "
                               "attention really sees.",
                               counted(real_heads, "series", "series"))
                         : std::string(" All inputs are synthetic.");
  // The count starts a sentence.
  const std::size_t at = body.find(". ", body.find("exact one")) + 2;
  body[at] = static_cast<char>(std::toupper(static_cast<unsigned char>(body[at])));
  return {"output", "Output error", "The error of the attention output",
          body + "</p>\n" +
              figure("side", output_chart(output),
                     "<b>Relative Frobenius error of the output.</b> Filled points: a trained "
                     "model’s heads; open points: synthetic input. Dashed, where shown: a bound "
                     "that holds for every input with the same masks.")};
}

Section seconds_section(const json& seconds) {
  std::string rows;
  for (const json& c : seconds.at("crossovers")) {
    const auto value = [&](const char* member) { return c.at(member).get<double>(); };
    rows += "<tr>";
    for (const std::string& content :
         {number(value("sigma")), whole(value("length")), number(1e6 * value("fused_seconds")),
          number(1e6 * value("exact_seconds"))})
      rows += "<td class=\"number\">" + content + "</td>";
    rows += "</tr>\n";
  }
  const json& first = seconds.at("crossovers").at(0);
  return {
      "seconds", "In seconds", "From which length on it is faster, in seconds",
      fmt::format(
          "<p>Pairs are not seconds. Here sampled attention with <i>s</i> = {} masks, each pair "
          "of their union scored once, runs against exact ALiBi attention over all keys, both "
          "with the optimized kernels that come with this program: one head of dimension {}, {} "
          "thread{}, on this machine ({}, {}). The length is the smallest of a grid from which "
          "on sampled attention was faster four times in a row.</p>\n",
          first.at("samples").get<long>(), first.at("head_dim").get<long>(),
          first.at("threads").get<long>(), first.at("threads").get<long>() == 1 ? "" : "s",
          escape(seconds.at("processor").get<std::string>()),
          escape(seconds.at("instruction_set").get<std::string>())) +
          "<div class=\"scroll\"><table class=\"data\">\n<thead><tr>"
          "<th class=\"number\"><i>σ</i></th><th class=\"number\">Faster from <i>n</i></th>"
          "<th class=\"number\">Sampled, µs</th><th class=\"number\">Exact, µs</th></tr></thead>\n"
          "<tbody>\n" +
          rows + "</tbody></table></div>\n"};
}

}  // namespace

std::vector<Section> figure_sections(const json& plots) {
  std::vector<Section> sections;
  const auto add = [&](const char* member, auto make) {
    if (plots.contains(member)) sections.push_back(make(plots.at(member)));
  };
  add("mask", mask_section);
  add("law", law_section);
  add("decay", decay_section);
  add("length", length_section);
  add("largest_block", largest_block_section);
  add("cost", cost_section);
  add("seconds", seconds_section);
  add("output", output_section);
  add("window", window_section);
  return sections;
}

}  // namespace plsh::cli::report
