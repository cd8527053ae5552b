// Colors of pictures: the palette of curves, and maps from numbers to colors. Both are made in Oklab, where equal steps look equally large.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "weft/core/errors/source_loc.h"

namespace weft {

/// A map from numbers to colors.
enum class ColorMap {
  sequential,  ///< from dark to light, by even steps of lightness
  diverging,   ///< blue below the middle, red above it
  gray,        ///< from black to white
  cyclic,      ///< its ends are the same: angles and phases
};

namespace detail {

struct Rgb {
  std::uint8_t r = 0, g = 0, b = 0;
};
/// `#rrggbb`.
std::string hex(Rgb color);
/// The color of `t` from 0 to 1; what is outside of that is taken as the nearer end.
Rgb color_at(ColorMap map, double t);
/// The color of the curve with this number, legible on white and on black.
Rgb palette_color(std::size_t number);
/// Throws Error unless the text can be a color: a CSS name, #rgb, #rrggbb or a function such as rgb(1, 2, 3).
void check_color(std::string_view color, SourceLoc loc);
/// Whether black reads better than white on it.
bool is_light(Rgb color);

}  // namespace detail
}  // namespace weft
