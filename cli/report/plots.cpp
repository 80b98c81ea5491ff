#include "plots.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "chart.hpp"
#include "text.hpp"

namespace plsh::cli::report {
namespace {

using nlohmann::json;

const Colour& series_colour(std::size_t i) { return series_colours[i % series_colours.size()]; }

/// One member of every point against another; points where it is null or absent are left out.
std::vector<ChartPoint> points_of(const json& points, const char* x, const char* y) {
  std::vector<ChartPoint> result;
  for (const json& point : points)
    if (point.contains(y) && !point.at(y).is_null())
      result.push_back({point.at(x).get<double>(), point.at(y).get<double>()});
  return result;
}

/// The measured values of an x axis as its ticks, thinned out to at most nine.
std::vector<double> measured_ticks(const std::set<double>& values) {
  std::vector<double> all(values.begin(), values.end());
  const std::size_t stride = (all.size() + 8) / 9;
  std::vector<double> ticks;
  for (std::size_t i = 0; i < all.size(); i += stride) ticks.push_back(all[i]);
  return ticks;
}

/// At most four of the series, spread evenly with the first and the last: more do not read well.
std::vector<std::size_t> shown(const json& series) {
  const std::size_t count = series.size(), most = 4;
  std::vector<std::size_t> result;
  for (std::size_t k = 0; k < std::min(count, most); ++k)
    result.push_back(count <= most ? k : (k * (count - 1) + (most - 1) / 2) / (most - 1));
  return result;
}

/// All dashed lines are bounds; one of them says so.
std::string bound_label(std::size_t series) { return series == 0 ? "bounds" : ""; }

std::string sigma_label(double sigma) { return "σ = " + number(sigma); }

}  // namespace

std::string decay_chart(const json& norm) {
  const auto kind = norm.at("norm").get<std::string>();
  Chart chart;
  chart.name = "decay-" + kind;
  chart.description = kind + " error against the number of samples, with bounds";
  chart.width = 540;
  chart.height = 370;
  chart.label_space = 78;
  chart.x.title = "number of samples s";
  chart.y.title = "relative error";
  std::set<double> samples;
  ChartLine guide{"∝ 1/√s", slate, Stroke::dotted, Marker::none, {}};
  double lowest = std::numeric_limits<double>::infinity();
  const json& series = norm.at("series");
  std::size_t longest = 8;
  for (const std::size_t i : shown(series)) {
    const json& points = series[i].at("points");
    longest = std::max(longest, characters(greek(series[i].at("label").get<std::string>())));
    ChartLine measured{greek(series[i].at("label").get<std::string>()),
                       series_colour(i),
                       Stroke::solid,
                       Marker::filled,
                       {}};
    for (const json& point : points) {
      const double s = point.at("samples").get<double>();
      const double mean = point.at("mean").get<double>();
      measured.points.push_back(
          {s, mean, point.at("low").get<double>(), point.at("high").get<double>()});
      samples.insert(s);
      // A line of slope -1/2 below all data, to compare the slopes with.
      if (mean > 0) lowest = std::min(lowest, 0.45 * mean * std::sqrt(s));
    }
    chart.lines.push_back({bound_label(i), series_colour(i), Stroke::dashed, Marker::none,
                           points_of(points, "samples", "bound")});
    chart.lines.push_back(std::move(measured));
  }
  chart.label_space = 14 + static_cast<int>(7.6 * static_cast<double>(longest));
  for (const double s : samples) guide.points.push_back({s, lowest / std::sqrt(s)});
  chart.lines.push_back(std::move(guide));
  chart.x.ticks = measured_ticks(samples);
  return draw(chart);
}

std::string length_chart(const json& length) {
  Chart chart;
  chart.name = "length";
  chart.description = "spectral error against the context length";
  chart.label_space = 84;
  chart.x.title = "context length n (positions)";
  chart.y.title = "spectral error ‖L* − M̃‖₂";
  const json& series = length.at("series");
  for (const std::size_t i : shown(series)) {
    const json& points = series[i].at("points");
    ChartLine measured{sigma_label(series[i].at("sigma").get<double>()),
                       series_colour(i),
                       Stroke::solid,
                       Marker::filled,
                       {}};
    for (const json& point : points) {
      const double error = point.at("error").get<double>();
      const double residual = point.at("residual").get<double>();
      measured.points.push_back(
          {point.at("length").get<double>(), error, error - residual, error + residual});
    }
    chart.lines.push_back({bound_label(i), series_colour(i), Stroke::dashed, Marker::none,
                           points_of(points, "length", "bound")});
    chart.lines.push_back(std::move(measured));
  }
  return draw(chart);
}

std::string largest_block_chart(const json& largest_block) {
  const json& points = largest_block.at("points");
  Chart chart;
  chart.name = "largest-block";
  chart.description = "largest block against the context length, with bounds";
  chart.label_space = 104;
  chart.x.title = "context length n (positions)";
  chart.y.title = "largest block (positions)";
  chart.y.logarithmic = false;
  const double delta = largest_block.at("delta").get<double>();
  chart.lines = {
      {number(100 * (1 - delta)) + " % quantile", blue, Stroke::dashed, Marker::none,
       points_of(points, "length", "quantile")},
      {"σ ln(s/δ)", teal, Stroke::solid, Marker::none, points_of(points, "length", "leading")},
      {"σ ln ln n", purple, Stroke::dotted, Marker::none,
       points_of(points, "length", "sigma_log_log_n")},
      {"observed", vermilion, Stroke::none, Marker::filled, points_of(points, "length", "observed"),
       LabelPlace::below},
  };
  // The quantities of the claim start near zero; so does the axis.
  chart.lines.push_back({"", grid, Stroke::none, Marker::none, {}});
  if (!points.empty())
    chart.lines.back().points.push_back({points.front().at("length").get<double>(), 0});
  return draw(chart);
}

std::string cost_chart(const json& cost) {
  const json& points = cost.at("points");
  Chart chart;
  chart.name = "cost";
  chart.description = "pairs scored per head against the context length";
  chart.label_space = 92;
  chart.x.title = "context length n (positions)";
  chart.y.title = "pairs scored per head";
  chart.lines = {
      {"dense, n²", slate, Stroke::solid, Marker::filled, points_of(points, "length", "dense")},
      {"all blocks", blue, Stroke::solid, Marker::filled, points_of(points, "length", "blocks")},
      {"union", teal, Stroke::solid, Marker::filled, points_of(points, "length", "union")},
      {"window", vermilion, Stroke::solid, Marker::open, points_of(points, "length", "window")},
  };
  const double blocks = cost.at("crossover_blocks").get<double>();
  const double united = cost.at("half_union").get<double>();
  chart.marks = {{blocks, "all blocks: n = " + whole(blocks)},
                 {united, "union, half: n = " + whole(united)}};
  return draw(chart);
}

std::string output_chart(const json& output) {
  Chart chart;
  chart.name = "output";
  chart.description = "relative error of the attention output against the number of samples";
  chart.x.title = "number of samples s";
  chart.y.title = "relative error of the output";
  std::set<double> samples;
  std::size_t longest = 6;
  const json& series = output.at("series");
  for (std::size_t i = 0; i < series.size(); ++i) {
    const json& points = series[i].at("points");
    const bool real = series[i].at("kind").get<std::string>() == "real";
    const std::string label = shortened(greek(series[i].at("label").get<std::string>()), 30);
    longest = std::max(longest, characters(label));
    for (const json& point : points) samples.insert(point.at("samples").get<double>());
    chart.lines.push_back({bound_label(i), series_colour(i), Stroke::dashed, Marker::none,
                           points_of(points, "samples", "bound")});
    chart.lines.push_back({label, series_colour(i), Stroke::solid,
                           real ? Marker::filled : Marker::open,
                           points_of(points, "samples", "error")});
  }
  chart.label_space = 16 + static_cast<int>(7.6 * static_cast<double>(longest));
  chart.x.ticks = measured_ticks(samples);
  return draw(chart);
}

}  // namespace plsh::cli::report
