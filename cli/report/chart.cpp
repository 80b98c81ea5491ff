#include "chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "gnuplot.hpp"
#include "text.hpp"

namespace plsh::cli::report {
namespace {

constexpr int top_space = 14;
constexpr int bottom_space = 58;
constexpr int left_space = 74;
constexpr int label_height = 18;  // pixels that one line of text needs

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void include(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

bool shown(const ChartAxis& axis, double value) {
  return std::isfinite(value) && (!axis.logarithmic || value > 0);
}

/// Where `value` lies on the axis: 0 at its low end, 1 at its high end.
double position(const ChartAxis& axis, const Range& range, double value) {
  if (axis.logarithmic) return std::log(value / range.low) / std::log(range.high / range.low);
  return (value - range.low) / (range.high - range.low);
}

/// Room around the data, so that no point lies on a border.
Range padded(const ChartAxis& axis, Range range, double share) {
  if (range.low > range.high) range = axis.logarithmic ? Range{1, 10} : Range{0, 1};
  if (axis.logarithmic) {
    const double factor =
        range.high > range.low ? std::pow(range.high / range.low, share) : std::sqrt(10.0);
    return {range.low / factor, range.high * factor};
  }
  const double room = range.high > range.low ? share * (range.high - range.low) : 1;
  return {range.low >= 0 ? std::max(0.0, range.low - room) : range.low - room, range.high + room};
}

/// Powers of ten, thinned out over many decades and refined by 1-2-5 or 1-3 within few.
std::vector<double> logarithmic_ticks(const Range& range) {
  const double decades = std::log10(range.high / range.low);
  std::vector<double> steps{1};
  if (decades < 1.7)
    steps = {1, 2, 5};
  else if (decades < 2.6)
    steps = {1, 3};
  const int stride = std::max(1, static_cast<int>(std::ceil(decades / 7)));
  std::vector<double> ticks;
  const int first = static_cast<int>(std::floor(std::log10(range.low)));
  for (int exponent = first; std::pow(10, exponent) <= range.high; ++exponent) {
    if (exponent % stride != 0) continue;
    for (const double step : steps) {
      const double tick = step * std::pow(10, exponent);
      if (tick >= range.low && tick <= range.high) ticks.push_back(tick);
    }
  }
  return ticks;
}

std::vector<double> linear_ticks(const Range& range) {
  const double raw = (range.high - range.low) / 6;
  const double power = std::pow(10, std::floor(std::log10(raw)));
  double step = 10 * power;
  for (const double candidate : {5.0, 2.0, 1.0})
    if (candidate * power >= raw) step = candidate * power;
  std::vector<double> ticks;
  for (double i = std::ceil(range.low / step); i * step <= range.high; ++i)
    ticks.push_back(i * step);
  return ticks;
}

std::string tick_label(double tick, bool powers) {
  const double exponent = std::log10(tick);
  if (powers && std::abs(exponent - std::round(exponent)) < 1e-9)
    return power_of_ten(static_cast<int>(std::lround(exponent)));
  return number(tick, 1);
}

std::string tick_list(const ChartAxis& axis, const Range& range) {
  std::vector<double> ticks = axis.ticks;
  if (ticks.empty()) ticks = axis.logarithmic ? logarithmic_ticks(range) : linear_ticks(range);
  // One axis speaks one way: powers of ten only, or plain numbers only.
  const bool powers = axis.logarithmic && axis.ticks.empty() && !ticks.empty() &&
                      (ticks.back() > 5e4 || ticks.front() < 5e-4);
  std::string list;
  for (const double tick : ticks)
    list += fmt::format("{}{} {:.12g}", list.empty() ? "" : ", ",
                        tick_string(tick_label(tick, powers)), tick);
  return list;
}

std::string axis_commands(char letter, const ChartAxis& axis, const Range& range) {
  std::string commands =
      fmt::format("set {}range [{:.12g}:{:.12g}]\n", letter, range.low, range.high);
  if (axis.logarithmic) commands += fmt::format("set logscale {}\n", letter);
  commands += fmt::format("set {}tics nomirror scale 0.4 textcolor rgb '{}' ({})\n", letter,
                          muted.light, tick_list(axis, range));
  if (letter == 'x')
    commands += fmt::format("set xlabel {} textcolor rgb '{}' offset 0,0.1\n",
                            plot_string(axis.title), ink.light);
  else  // where gnuplot would put it, wide tick labels push it out of the picture
    commands += fmt::format(
        "set label {} at screen 0.022, graph 0.5 center rotate by 90 textcolor rgb '{}'\n",
        plot_string(axis.title), ink.light);
  return commands;
}

std::string dash(Stroke stroke) {
  if (stroke == Stroke::dashed) return "dt (9,6) lw 1.6";
  if (stroke == Stroke::dotted) return "dt (2,5) lw 1.6";
  return "dt 1 lw 2";
}

/// Moves labels that would overlap apart, keeping their order.
/// \param heights fractions of the plot's height, in any order.
void spread(std::vector<double*>& heights, double gap) {
  std::sort(heights.begin(), heights.end(),
            [](const double* a, const double* b) { return *a < *b; });
  // Repeated small pushes settle in few passes: there are never more than a dozen labels.
  for (int pass = 0; pass < 200; ++pass)
    for (std::size_t i = 1; i < heights.size(); ++i) {
      const double overlap = gap - (*heights[i] - *heights[i - 1]);
      if (overlap <= 0) continue;
      *heights[i - 1] -= overlap / 2;
      *heights[i] += overlap / 2;
    }
  if (heights.empty()) return;
  const double below = std::min(0.0, *heights.front());
  const double above = std::max(0.0, *heights.back() - 1);
  for (double* height : heights) *height -= below + above;
}

std::string label_command(const std::string& text, const Colour& colour, const std::string& at,
                          std::string_view alignment) {
  return fmt::format("set label {} at {} {} textcolor rgb '{}' front\n", plot_string(text), at,
                     alignment, colour.light);
}

struct Ranges {
  Range x, y;
};

Ranges ranges(const Chart& chart) {
  Ranges result;
  for (const ChartLine& line : chart.lines)
    for (const ChartPoint& point : line.points) {
      if (!shown(chart.x, point.x) || !shown(chart.y, point.y)) continue;
      result.x.include(point.x);
      result.y.include(point.y);
      if (point.low && shown(chart.y, *point.low)) result.y.include(*point.low);
      if (point.high && shown(chart.y, *point.high)) result.y.include(*point.high);
    }
  for (const ChartMark& mark : chart.marks)
    if (shown(chart.x, mark.x)) result.x.include(mark.x);
  return {padded(chart.x, result.x, 0.04), padded(chart.y, result.y, 0.06)};
}

std::string labels(const Chart& chart, const Ranges& range, int plot_height) {
  struct Edge {
    const ChartLine* line;
    double height;
  };
  std::vector<Edge> edges;
  std::string commands;
  for (const ChartLine& line : chart.lines) {
    const auto last = std::find_if(
        line.points.rbegin(), line.points.rend(),
        [&](const auto& point) { return shown(chart.x, point.x) && shown(chart.y, point.y); });
    if (line.label.empty() || last == line.points.rend()) continue;
    if (line.place == LabelPlace::edge) {
      edges.push_back({&line, position(chart.y, range.y, last->y)});
      continue;
    }
    commands += label_command(
        line.label, line.colour, fmt::format("{:.12g},{:.12g}", last->x, last->y),
        line.place == LabelPlace::above ? "right offset 0,0.9" : "center offset 0,-1.1");
  }
  std::vector<double*> heights;
  heights.reserve(edges.size());
  for (Edge& edge : edges) heights.push_back(&edge.height);
  spread(heights, static_cast<double>(label_height) / plot_height);
  const double beside = 1 + 9.0 / (chart.width - left_space - chart.label_space);
  for (const Edge& edge : edges)
    commands +=
        label_command(edge.line->label, edge.line->colour,
                      fmt::format("graph {:.4f}, graph {:.4f}", beside, edge.height), "left");
  return commands;
}

std::string marks(const Chart& chart, const Ranges& range) {
  std::vector<ChartMark> sorted;
  for (const ChartMark& mark : chart.marks)
    if (shown(chart.x, mark.x)) sorted.push_back(mark);
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.x < b.x; });
  std::string commands;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const ChartMark& mark = sorted[i];
    const bool above = i == 0;
    commands += fmt::format(
        "set arrow from {0:.12g}, graph 0 to {0:.12g}, graph {1} nohead dt (2,4) lc rgb '{2}' lw "
        "1.3\n",
        mark.x, above ? 1.0 : 0.9, slate.light);
    // To the left where there is room for it: lines mostly rise to the right.
    const bool left = above && position(chart.x, range.x, mark.x) > 0.4;
    commands += label_command(mark.label, slate,
                              fmt::format("{:.12g}, graph {}", mark.x, above ? "0.965" : "0.05"),
                              left ? "right offset -0.7,0" : "left offset 0.7,0");
  }
  return commands;
}

/// A data block per line, and the parts of the plot command that draw it.
std::string plot_commands(const Chart& chart) {
  std::string blocks, parts;
  for (std::size_t i = 0; i < chart.lines.size(); ++i) {
    const ChartLine& line = chart.lines[i];
    std::string rows;
    bool bars = false;
    for (const ChartPoint& point : line.points) {
      if (!shown(chart.x, point.x) || !shown(chart.y, point.y)) continue;
      // A bar that reaches zero has no lower end on a logarithmic axis; it starts at the point.
      const double low = point.low && shown(chart.y, *point.low) ? *point.low : point.y;
      const double high = point.high && shown(chart.y, *point.high) ? *point.high : point.y;
      bars = bars || low < high;
      rows += fmt::format("{:.12g} {:.12g} {:.12g} {:.12g}\n", point.x, point.y, low, high);
    }
    if (rows.empty()) continue;
    blocks += fmt::format("$line{} << END\n{}END\n", i, rows);
    const auto part = [&](const std::string& style, std::optional<Colour> colour = {}) {
      parts += fmt::format("{}$line{} using {} lc rgb '{}' notitle", parts.empty() ? "" : ", ", i,
                           style, colour.value_or(line.colour).light);
    };
    if (line.stroke != Stroke::none) part("1:2 with lines " + dash(line.stroke));
    if (bars) part("1:2:3:4 with yerrorbars pt -1 lw 1.3");
    if (line.marker == Marker::filled) part("1:2 with points pt 7 ps 0.62");
    if (line.marker == Marker::open) {
      part("1:2 with points pt 7 ps 0.62", card);  // hides the line inside the ring
      part("1:2 with points pt 6 ps 0.62 lw 1.6");
    }
  }
  // An empty plot is still a plot with axes.
  return blocks + "plot " + (parts.empty() ? "NaN notitle" : parts) + "\n";
}

}  // namespace

std::string draw(const Chart& chart) {
  const Ranges range = ranges(chart);
  const int plot_height = chart.height - top_space - bottom_space;
  const auto share = [](int part, int whole_size) {
    return static_cast<double>(part) / whole_size;
  };
  std::string script =
      fmt::format("set lmargin at screen {:.4f}\nset rmargin at screen {:.4f}\n",
                  share(left_space, chart.width), 1 - share(chart.label_space, chart.width));
  script += fmt::format("set bmargin at screen {:.4f}\nset tmargin at screen {:.4f}\n",
                        share(bottom_space, chart.height), 1 - share(top_space, chart.height));
  script += fmt::format("set border 3 lc rgb '{}' lw 1\n", axis.light);
  script += fmt::format("set grid xtics ytics lt 1 dt 1 lw 1 lc rgb '{}'\n", grid.light);
  script += "set errorbars small\nset pointintervalbox 0\n";
  script += axis_commands('x', chart.x, range.x) + axis_commands('y', chart.y, range.y);
  script += marks(chart, range) + labels(chart, range, plot_height) + plot_commands(chart);
  return gnuplot_svg(chart.name, chart.description, chart.width, chart.height, script);
}

}  // namespace plsh::cli::report
