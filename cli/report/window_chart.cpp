#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "gnuplot.hpp"
#include "palette.hpp"
#include "plots.hpp"
#include "text.hpp"

namespace plsh::cli::report {

// A row per measured head, a line from 1 (equal cost) to its ratio. The axis has names, not
// numbers, on one side, which sets it apart from the other charts.
std::string window_chart(const nlohmann::json& window) {
  const nlohmann::json& rows = window.at("rows");
  constexpr int width = 600, top = 34, bottom = 58, row_height = 34, right = 62;
  const int height = top + bottom + row_height * static_cast<int>(rows.size());
  std::size_t longest = 0;
  std::vector<std::string> names;
  for (const auto& row : rows) {
    names.push_back(shortened(fmt::format("{}, s = {}", greek(row.at("label").get<std::string>()),
                                          row.at("samples").get<int>()),
                              36));
    longest = std::max(longest, characters(names.back()));
  }
  const int left = 18 + static_cast<int>(7.8 * static_cast<double>(longest));

  // A logarithmic axis around 1, so that half and twice the cost look alike.
  double reach = 2;
  for (const auto& row : rows) {
    const double ratio = row.at("cost_ratio").get<double>();
    if (ratio > 0) reach = std::max({reach, ratio, 1 / ratio});
  }
  reach *= 1.5;  // room for the numbers beside the points
  std::string ticks;
  const int stride = std::max(1, static_cast<int>(std::log2(reach) / 3));
  for (int power = 0; std::exp2(power) <= reach; power += stride)
    for (const int sign : {-1, 1}) {
      if (power == 0 && sign > 0) continue;
      const double tick = std::exp2(sign * power);
      const std::string label = sign < 0 && power > 0 ? fmt::format("1/{:.0f}", std::exp2(power))
                                                      : fmt::format("{:.0f}", tick);
      ticks += fmt::format("{}{} {}", ticks.empty() ? "" : ", ", tick_string(label), tick);
    }

  std::string script =
      fmt::format("set lmargin at screen {:.4f}\nset rmargin at screen {:.4f}\n",
                  static_cast<double>(left) / width, 1 - static_cast<double>(right) / width) +
      fmt::format("set bmargin at screen {:.4f}\nset tmargin at screen {:.4f}\n",
                  static_cast<double>(bottom) / height, 1 - static_cast<double>(top) / height) +
      fmt::format("set border 1 lc rgb '{}'\nset grid xtics lt 1 lw 1 lc rgb '{}'\n", axis.light,
                  grid.light) +
      fmt::format("set logscale x\nset xrange [{:.8g}:{:.8g}]\nset yrange [{}:0.5] \n", 1 / reach,
                  reach, static_cast<double>(rows.size()) + 0.5) +
      fmt::format("set xtics nomirror scale 0.4 textcolor rgb '{}' ({})\n", muted.light, ticks) +
      fmt::format("set xlabel {} textcolor rgb '{}' offset 0,0.1\n",
                  plot_string("pairs scored by the window / pairs scored by the masks"),
                  ink.light) +
      fmt::format("set arrow from 1, graph 0 to 1, graph 1 nohead lc rgb '{}' lw 1.4\n",
                  slate.light) +
      fmt::format("set label {} at 1, graph 1 right offset -1,0.8 textcolor rgb '{}'\n",
                  plot_string("◂ window cheaper"), blue.light) +
      fmt::format("set label {} at 1, graph 1 left offset 1,0.8 textcolor rgb '{}'\n",
                  plot_string("masks cheaper ▸"), vermilion.light);
  std::string name_list, block;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double ratio = rows[i].at("cost_ratio").get<double>();
    name_list += fmt::format("{}{} {}", i == 0 ? "" : ", ", tick_string(names[i]), i + 1);
    if (ratio <= 0) continue;
    const Colour& colour = ratio < 1 ? blue : vermilion;
    script += fmt::format("set arrow from 1,{0} to {1:.8g},{0} nohead lc rgb '{2}' lw 3\n", i + 1,
                          ratio, colour.light);
    script += fmt::format("set label {} at {:.8g},{} {} textcolor rgb '{}'\n",
                          plot_string(fixed(ratio, 2)), ratio, i + 1,
                          ratio < 1 ? "right offset -1,0" : "left offset 1,0", colour.light);
    block += fmt::format("{:.8g} {} {}\n", ratio, i + 1,
                         std::stoi(std::string(colour.light.substr(1)), nullptr, 16));
  }
  script +=
      fmt::format("set ytics nomirror scale 0 textcolor rgb '{}' ({})\n", ink.light, name_list);
  script += block.empty() ? std::string("plot NaN notitle\n")
                          : "$rows << END\n" + block +
                                "END\nplot $rows using 1:2:3 with points pt 7 ps 0.85 "
                                "lc rgb variable notitle\n";
  return gnuplot_svg("window", "cost of the exact window over cost of the sampled masks", width,
                     height, script);
}

}  // namespace plsh::cli::report
