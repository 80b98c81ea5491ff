/// \file
/// The colours of the page and of its figures.
#pragma once

#include <array>
#include <string_view>

namespace plsh::cli::report {

/// A colour with its name in the style sheet. Figures are drawn in the light shade and then refer
/// to the style sheet, so that they follow the reader's light or dark setting.
struct Colour {
  std::string_view variable;  ///< CSS custom property
  std::string_view light;     ///< on a light page and on paper
  std::string_view dark;      ///< on a dark page
};

// The five series hues differ in lightness as well as in hue (after Okabe and Ito), so that they
// stay apart for colour-blind readers and on grey paper. Text drawn in them has contrast 4.5 or
// more.
inline constexpr Colour ink{"--ink", "#1b2530", "#e6eaee"};
inline constexpr Colour muted{"--muted", "#56626e", "#a3adb8"};
inline constexpr Colour axis{"--axis", "#8c97a2", "#77828d"};
inline constexpr Colour grid{"--grid", "#e4e8ec", "#323a44"};
inline constexpr Colour card{"--card", "#ffffff", "#1a2028"};
inline constexpr Colour blue{"--blue", "#1a5fa6", "#6db2f2"};
inline constexpr Colour vermilion{"--vermilion", "#bf4408", "#f5894f"};
inline constexpr Colour teal{"--teal", "#0b7d69", "#4cc4ab"};
inline constexpr Colour purple{"--purple", "#8b4a9c", "#d396e3"};
inline constexpr Colour ochre{"--ochre", "#946800", "#dcb040"};
inline constexpr Colour slate{"--slate", "#4a5561", "#b8c1ca"};

inline constexpr std::array all_colours{ink,       muted, axis,   grid,  card, blue,
                                        vermilion, teal,  purple, ochre, slate};

/// The colours of the series of a chart, in order.
inline constexpr std::array series_colours{blue, vermilion, teal, purple, ochre, slate};

}  // namespace plsh::cli::report
