#include "weft/library/plot/plot_colors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "weft/core/errors/error.h"

namespace weft::detail {
namespace {

/// Oklab in polar coordinates: lightness from 0 to 1, chroma, hue in degrees (https://bottosson.github.io/posts/oklab).
struct Lch {
  double l, c, h;
};

double srgb(double linear) {
  const double v = std::clamp(linear, 0.0, 1.0);
  return v <= 0.0031308 ? 12.92 * v : 1.055 * std::pow(v, 1 / 2.4) - 0.055;
}

Rgb rgb_of(const Lch& color) {
  const double angle = color.h * 3.14159265358979323846 / 180, a = color.c * std::cos(angle), b = color.c * std::sin(angle);
  const auto cube = [](double v) { return v * v * v; };
  const double l = cube(color.l + 0.3963377774 * a + 0.2158037573 * b), m = cube(color.l - 0.1055613458 * a - 0.0638541728 * b),
               s = cube(color.l - 0.0894841775 * a - 1.2914855480 * b);
  const auto byte = [](double v) { return static_cast<std::uint8_t>(std::lround(255 * srgb(v))); };
  return {byte(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s), byte(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
          byte(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s)};
}

double mixed(double a, double b, double t) { return a + (b - a) * t; }

}  // namespace

std::string hex(Rgb color) { return fmt::format("#{:02x}{:02x}{:02x}", color.r, color.g, color.b); }

Rgb color_at(ColorMap map, double t) {
  t = t > 0 ? std::min(t, 1.0) : 0;  // NaN is 0
  switch (map) {
    case ColorMap::gray: return rgb_of({t, 0, 0});
    // Dark violet by blue and green to light yellow; chroma as large as the screen's colors have at each lightness.
    case ColorMap::sequential:
      return rgb_of({mixed(0.24, 0.93, t), 0.05 + 0.10 * std::sin(3.14159265358979323846 * std::min(1.0, 0.18 + 0.72 * t)),
                     mixed(305, 105, std::pow(t, 0.85))});
    case ColorMap::diverging: {
      const double distance = std::abs(2 * t - 1);
      return rgb_of({mixed(0.96, 0.42, std::pow(distance, 1.2)), 0.17 * std::pow(distance, 0.8), t < 0.5 ? 255.0 : 27.0});
    }
    case ColorMap::cyclic: return rgb_of({0.66 + 0.10 * std::cos(6.28318530717958647692 * t), 0.13, 360 * t});
  }
  return {};
}

Rgb palette_color(std::size_t number) {
  // Neighbours differ in lightness as well as in hue, for eyes that tell few hues apart.
  static constexpr std::array<Lch, 8> colors{{{0.58, 0.16, 256},
                                              {0.71, 0.16, 55},
                                              {0.60, 0.13, 155},
                                              {0.60, 0.20, 20},
                                              {0.57, 0.17, 305},
                                              {0.70, 0.11, 205},
                                              {0.72, 0.14, 95},
                                              {0.66, 0.17, 345}}};
  return rgb_of(colors[number % colors.size()]);
}

void check_color(std::string_view color, SourceLoc loc) {
  const bool fits =
      !color.empty() && color.size() < 64 &&
      std::all_of(
          color.begin(), color.end(),
          [](char c) {
            return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || std::string_view("#(),.%/ -").find(c) < 9;
          });
  if (!fits)
    throw Error(fmt::format("Plot: '{}' is not a color; give a name of CSS, #rrggbb, or rgb(red, green, blue)", color.substr(0, 64)), loc);
}

bool is_light(Rgb color) { return 0.299 * color.r + 0.587 * color.g + 0.114 * color.b > 140; }

}  // namespace weft::detail
