#include "drawings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>

#include "palette.hpp"
#include "text.hpp"

namespace plsh::cli::report {
namespace {

/// Runs of cells with the same shade, as one path of rectangles per shade: one element per cell
/// would make a file several times as large.
std::map<int, std::string> shade_paths(const Weights& weights, int steps) {
  std::map<int, std::string> paths;
  for (std::size_t row = 0; row < weights.size(); ++row) {
    const std::vector<double>& cells = weights[row];
    const auto shade = [&](std::size_t column) {
      return static_cast<int>(std::lround(std::clamp(cells[column], 0.0, 1.0) * steps));
    };
    for (std::size_t begin = 0; begin < cells.size();) {
      std::size_t end = begin + 1;
      while (end < cells.size() && shade(end) == shade(begin)) ++end;
      if (shade(begin) > 0)
        paths[shade(begin)] +=
            fmt::format("M{} {}h{}v1h-{}z", begin, row, end - begin, end - begin);
      begin = end;
    }
  }
  return paths;
}

/// A small sequence of blocks: one rounded segment per block, with its size inside where it fits.
std::string block_pattern(const std::vector<int>& blocks, int length, double x, double y,
                          double width, double height) {
  const double cell = width / length;
  std::string svg;
  double at = x;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const double size = cell * blocks[i];
    // Neighbours alternate, so that the cut between them is seen even where they are thin.
    const Colour& colour = i % 2 == 0 ? blue : ochre;
    svg += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"3\" "
        "fill=\"var({})\"/>",
        at + 0.8, y, size - 1.6, height, colour.variable);
    if (cell >= 11)
      svg += fmt::format("<text class=\"in-block\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>",
                         at + size / 2, y + height / 2 + 4, blocks[i]);
    at += size;
  }
  return svg;
}

}  // namespace

Weights block_mask(const std::vector<std::size_t>& starts, std::size_t length) {
  Weights mask(length, std::vector<double>(length, 0));
  if (starts.empty() || starts.front() != 0)
    throw std::runtime_error("plots.mask.starts: the first block must start at position 0");
  for (std::size_t block = 0; block < starts.size(); ++block) {
    const std::size_t begin = starts[block];
    const std::size_t end = block + 1 < starts.size() ? starts[block + 1] : length;
    if (begin >= end || end > length)
      throw std::runtime_error("plots.mask.starts: must ascend and stay below the length");
    for (std::size_t i = begin; i < end; ++i)
      for (std::size_t j = begin; j < end; ++j) mask[i][j] = 1;
  }
  return mask;
}

Weights kernel_matrix(const std::vector<double>& kernel) {
  const std::size_t length = kernel.size();
  Weights matrix(length, std::vector<double>(length));
  for (std::size_t i = 0; i < length; ++i)
    for (std::size_t j = 0; j < length; ++j) matrix[i][j] = kernel[i > j ? i - j : j - i];
  return matrix;
}

std::string heat_map(const Weights& weights, int steps, const std::string& description) {
  std::string svg = fmt::format(
      "<svg class=\"heat\" role=\"img\" aria-label=\"{0}\" viewBox=\"0 0 {1} {1}\" "
      "shape-rendering=\"crispEdges\" xmlns=\"http://www.w3.org/2000/svg\">"
      "<rect width=\"{1}\" height=\"{1}\" fill=\"var(--heat-0)\"/>",
      escape(description), weights.size());
  for (const auto& [shade, path] : shade_paths(weights, steps))
    svg += fmt::format("<path fill=\"var(--heat-1)\" fill-opacity=\"{:.3f}\" d=\"{}\"/>",
                       static_cast<double>(shade) / steps, path);
  return svg + "</svg>\n";
}

std::string heat_scale() {
  constexpr int steps = 24;
  std::string svg =
      "<svg class=\"scale\" role=\"img\" aria-label=\"scale from 0, blank, to 1, full colour\" "
      "viewBox=\"0 0 300 12\" shape-rendering=\"crispEdges\" xmlns=\"http://www.w3.org/2000/svg\">"
      "<rect width=\"300\" height=\"12\" fill=\"var(--heat-0)\"/>";
  for (int i = 0; i < steps; ++i)
    svg += fmt::format(
        "<rect x=\"{:.1f}\" width=\"{:.1f}\" height=\"12\" fill=\"var(--heat-1)\" "
        "fill-opacity=\"{:.3f}\"/>",
        i * 300.0 / steps, 300.0 / steps, static_cast<double>(i) / (steps - 1));
  return svg + "</svg>\n";
}

std::string law_bars(const nlohmann::json& law) {
  constexpr double row_height = 26, pattern_width = 160, bar_left = 178, bar_width = 350;
  constexpr int width = 600;
  const int length = law.at("length").get<int>();
  const nlohmann::json& partitions = law.at("partitions");
  const double rest = law.at("rest").get<double>();
  double largest = rest;
  for (const auto& row : partitions)
    largest = std::max(largest, row.at("probability").get<double>());
  if (largest <= 0) largest = 1;

  std::string body;
  double y = 4;
  const auto bar = [&](double probability, std::string_view fill) {
    body += fmt::format(
        "<rect x=\"{}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"18\" rx=\"2\" fill=\"var({})\"/>"
        "<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"value\">{} %</text>\n",
        bar_left, y, std::max(1.0, bar_width * probability / largest), fill,
        bar_left + bar_width * probability / largest + 8, y + 14,
        probability < 0.001 ? number(100 * probability, 2) : fixed(100 * probability, 2));
    y += row_height;
  };
  for (const auto& row : partitions) {
    body +=
        block_pattern(row.at("blocks").get<std::vector<int>>(), length, 0, y, pattern_width, 18);
    bar(row.at("probability").get<double>(), slate.variable);
  }
  const auto reachable = law.at("reachable").get<std::size_t>();
  const std::size_t listed = partitions.size();
  if (reachable > listed) {
    body += fmt::format("<text x=\"{}\" y=\"{:.1f}\" class=\"rest\">the other {} together</text>",
                        pattern_width, y + 14, reachable - listed);
    bar(rest, axis.variable);
  }
  return fmt::format(
      "<svg class=\"chart law\" role=\"img\" aria-label=\"probabilities of the {} most likely "
      "partitions of {} positions\" viewBox=\"0 0 {} {:.0f}\" style=\"--native:{}px\" "
      "xmlns=\"http://www.w3.org/2000/svg\">\n{}</svg>\n",
      listed, length, width, y, width, body);
}

}  // namespace plsh::cli::report
