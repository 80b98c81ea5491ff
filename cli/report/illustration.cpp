#include "illustration.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "palette.hpp"

namespace plsh::cli::report {
namespace {

struct Bin {
  double width;
  double shift;
};

// Ten draws of (w, u), w ~ Gamma(2, 9) and u uniform below w, rounded to one decimal.
constexpr double sigma = 9;
constexpr std::array bins{Bin{14.2, 3.0},  Bin{8.9, 0.8},  Bin{28.7, 1.3},  Bin{5.4, 3.1},
                          Bin{20.8, 3.0},  Bin{20.3, 0.8}, Bin{14.0, 11.6}, Bin{7.1, 5.6},
                          Bin{43.2, 35.3}, Bin{18.4, 14.4}};
constexpr int positions = 61;
constexpr int marked = positions / 2;

constexpr int cell = 7;  // pixels per position
constexpr int row = 15;  // pixels per mask
constexpr int top = 24;  // above the first mask
constexpr int curve_top = top + row * static_cast<int>(bins.size()) + 30;
constexpr int curve_height = 92;
constexpr int width = positions * cell;
constexpr int height = curve_top + curve_height + 8;

int block_of(const Bin& bin, int position) {
  return static_cast<int>(std::floor((position - bin.shift) / bin.width));
}

std::string mask_rows() {
  std::string svg;
  for (std::size_t k = 0; k < bins.size(); ++k)
    for (int begin = 0; begin < positions;) {
      int end = begin + 1;
      while (end < positions && block_of(bins[k], end) == block_of(bins[k], begin)) ++end;
      const bool chosen = begin <= marked && marked < end;
      svg += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\" rx=\"2\" fill=\"var({})\"/>",
          begin * cell + 0.75, top + row * static_cast<int>(k), (end - begin) * cell - 1.5, row - 4,
          chosen ? blue.variable : "--idle");
      begin = end;
    }
  return svg;
}

double curve_y(double weight) { return curve_top + curve_height * (1 - weight); }

/// The share of masks in which each position is in the block of the marked one, as an area.
std::string shares() {
  std::string path = fmt::format("M0 {:.1f}", curve_y(0));
  for (int i = 0; i < positions; ++i) {
    int together = 0;
    for (const Bin& bin : bins)
      if (block_of(bin, i) == block_of(bin, marked)) ++together;
    path += fmt::format("V{:.1f}h{}", curve_y(together / static_cast<double>(bins.size())), cell);
  }
  return fmt::format("<path d=\"{}V{:.1f}Z\" fill=\"var({})\" fill-opacity=\"0.85\"/>", path,
                     curve_y(0), blue.variable);
}

std::string exact_curve() {
  std::string path;
  for (int half = 0; half <= 2 * (positions - 1); ++half) {
    const double position = half / 2.0;
    path += fmt::format("{}{:.1f} {:.1f}", half == 0 ? "M" : "L", (position + 0.5) * cell,
                        curve_y(std::exp(-std::abs(position - marked) / sigma)));
  }
  return fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"var({})\" stroke-width=\"2.5\"/>", path,
                     vermilion.variable);
}

}  // namespace

std::string illustration() {
  const double x = (marked + 0.5) * cell;
  return fmt::format(
      "<figure class=\"illustration\"><svg role=\"img\" aria-label=\"ten random masks and how "
      "often "
      "each position shares a block with the middle one\" viewBox=\"0 0 {0} {1}\" "
      "xmlns=\"http://www.w3.org/2000/svg\">\n{2}\n{3}\n{4}\n"
      "<path d=\"M0 {5}H{0}\" stroke=\"var({6})\" fill=\"none\"/>\n"
      "<path d=\"M{7:.1f} 16V{5}\" stroke=\"var({8})\" stroke-width=\"1.5\" stroke-dasharray=\"2 "
      "3\" "
      "fill=\"none\"/>\n<text x=\"{7:.1f}\" y=\"11\" text-anchor=\"middle\" fill=\"var({8})\">one "
      "position</text>\n"
      "<text x=\"{9}\" y=\"{10}\" fill=\"var({11})\">exp(−distance/σ)</text>\n</svg>\n"
      "<figcaption><b>Ten random masks,</b> one per row, each a row of blocks. Blue: the block "
      "that "
      "holds the marked position. Below: how often each position shares that block, and the "
      "ALiBi weight that this comes close to.</figcaption></figure>\n",
      width, height, mask_rows(), shares(), exact_curve(), curve_top + curve_height, axis.variable,
      x, ink.variable, (marked + 7) * cell, curve_top + 22, vermilion.variable);
}

}  // namespace plsh::cli::report
