// Images resized and moved (jax.image), and arrays read between their elements (jax.scipy.ndimage).
#pragma once
#include <string>
#include <vector>

#include "weft/core/array/array.h"
#include "weft/core/array/axis.h"

namespace weft {

namespace image {

/// Options of resize and scale_and_translate.
struct ResizeOptions {
  bool antialias = true;  ///< whether what is made smaller is averaged, so that no frequencies are mistaken for others
};
/// The array in another shape, interpolated along each dimension whose size changes: method "nearest", "linear" ("bilinear", "trilinear",
/// "triangle"), "cubic" ("bicubic", "tricubic"; Keys' with a = -0.5), "lanczos3" or "lanczos5". Elements are cells, whose middles are at
/// 0.5, 1.5, ...; what is outside doesn't count.
Array resize(Arg x, Shape shape, const std::string& method, ResizeOptions options = {});
/// The array scaled and then moved along the dimensions `spatial_dims`, sampled in another shape: element i comes from
/// (i + 0.5 - translation) / scale - 0.5. What is outside is 0. Method "nearest" is not known here.
Array scale_and_translate(Arg x, Shape shape, const std::vector<int>& spatial_dims, Arg scale, Arg translation, const std::string& method,
                          ResizeOptions options = {});

}  // namespace image

/// Options of map_coordinates.
struct MapCoordinatesOptions {
  Int order = 1;                  ///< 0: the nearest element, 1: linear between elements
  std::string mode = "constant";  ///< outside: "constant" cval, "nearest" the edge, "wrap" again, "mirror" and "reflect" backwards
  double cval = 0;                ///< of mode "constant"
};
/// x at places between its elements: one array of positions for each dimension.
Array map_coordinates(Arg x, Args coordinates, MapCoordinatesOptions options = {});

}  // namespace weft
