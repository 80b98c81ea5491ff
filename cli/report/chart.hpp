/// \file
/// Line charts with axes whose ticks are sensible and with labels beside the lines instead of a
/// key.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "palette.hpp"

namespace plsh::cli::report {

enum class Stroke { none, solid, dashed, dotted };
enum class Marker { none, filled, open };
/// Where a line's label stands: right of the plot at the height where the line ends, or at its last
/// point, above or below.
enum class LabelPlace { edge, above, below };

struct ChartPoint {
  double x = 0;
  double y = 0;
  std::optional<double> low{};  ///< a bar from low to high
  std::optional<double> high{};
};

struct ChartLine {
  std::string label;
  Colour colour = ink;
  Stroke stroke = Stroke::solid;
  Marker marker = Marker::none;
  std::vector<ChartPoint> points;
  LabelPlace place = LabelPlace::edge;
};

struct ChartAxis {
  std::string title;
  bool logarithmic = true;
  std::vector<double> ticks{};  ///< chosen by range when empty
};

/// A vertical line at x, labelled at its upper end towards the left or its lower end towards the
/// right.
struct ChartMark {
  double x = 0;
  std::string label;
  bool left = true;
};

struct Chart {
  std::string name;         ///< a word, unique in a page
  std::string description;  ///< for readers who do not see the chart
  int width = 600;
  int height = 390;
  int label_space = 90;  ///< to the right of the plot
  ChartAxis x;
  ChartAxis y;
  std::vector<ChartLine> lines;
  std::vector<ChartMark> marks{};
};

/// The chart as SVG. Points that a logarithmic axis cannot show are left out.
std::string draw(const Chart& chart);

}  // namespace plsh::cli::report
