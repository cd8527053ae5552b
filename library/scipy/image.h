// Images resized and moved (jax.image), and arrays read between their elements (jax.scipy.ndimage).
#pragma once
#include <concepts>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/array/array.h"
#include "weft/core/array/axis.h"

namespace weft {

namespace image {

/// Options of resize and scale_and_translate.
struct ResizeOptions {
  detail::NamedFields named = detail::NamedFields();
  std::string method = {};  ///< where it isn't an argument of its own
  bool antialias = true;    ///< whether what is made smaller is averaged, so that no frequencies are mistaken for others
};
/// The array in another shape, interpolated along each dimension whose size changes: method "nearest", "linear" ("bilinear", "trilinear",
/// "triangle"), "cubic" ("bicubic", "tricubic"; Keys' with a = -0.5), "lanczos3" or "lanczos5". Elements are cells, whose middles are at
/// 0.5, 1.5, ...; what is outside doesn't count.
Array resize(Arg x, Shape shape, TextArg method, ResizeOptions options = {});
Array resize(Arg x, Shape shape, ResizeOptions options);
/// The array scaled and then moved along the dimensions `spatial_dims`, sampled in another shape: element i comes from
/// (i + 0.5 - translation) / scale - 0.5. What is outside is 0. Method "nearest" is not known here.
Array scale_and_translate(Arg x, Shape shape, const std::vector<int>& spatial_dims, Arg scale, Arg translation, TextArg method,
                          ResizeOptions options = {});

}  // namespace image

namespace detail {
/// The parts of an array along its leading axis.
std::vector<Array> positions_of(const Array& coordinates);
}  // namespace detail

/// Options of map_coordinates.
struct MapCoordinatesOptions {
  Int order = 1;                  ///< 0: the nearest element, 1: linear between elements
  std::string mode = "constant";  ///< outside: "constant" cval, "nearest" the edge, "wrap" again, "mirror" and "reflect" backwards
  double cval = 0;                ///< of mode "constant"
};
/// x at places between its elements: one array of positions for each dimension.
Array map_coordinates(Arg x, Args coordinates, MapCoordinatesOptions options = {});
/// The same with the order as in JAX, `map_coordinates(x, {rows, columns}, 1)`.
Array map_coordinates(Arg x, Args coordinates, std::convertible_to<Int> auto order, std::string mode = "constant", double cval = 0) {
  return map_coordinates(std::move(x), std::move(coordinates), MapCoordinatesOptions{order, std::move(mode), cval});
}
/// The same for positions in one array, whose leading axis goes through the dimensions of x.
// A template, so that braces are a list of arrays.
Array map_coordinates(Arg x, const std::same_as<Array> auto& coordinates, MapCoordinatesOptions options = {}) {
  return map_coordinates(std::move(x), Args(detail::positions_of(coordinates)), std::move(options));
}
template <std::same_as<Array> A, std::convertible_to<Int> N>
Array map_coordinates(Arg x, const A& coordinates, N order, std::string mode = "constant", double cval = 0) {
  return map_coordinates(std::move(x), Args(detail::positions_of(coordinates)), MapCoordinatesOptions{order, std::move(mode), cval});
}

}  // namespace weft
