// Values between the points of a grid (jax.scipy.interpolate).
#pragma once
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "weft/core/array/array.h"

namespace weft {

/// Options of RegularGridInterpolator.
struct RegularGridOptions {
  std::string method = "linear";                                                ///< or "nearest"
  std::optional<double> fill_value = std::numeric_limits<double>::quiet_NaN();  ///< outside the grid; absent: the method goes on there
};

/// A function given by its values on a grid whose lines may be at uneven distances (jax.scipy.interpolate.RegularGridInterpolator).
class RegularGridInterpolator {
 public:
  /// `points`: for each dimension of the grid where its lines are, ascending. `values`: at the grid's points, of the shape of the lines'
  /// counts, followed by any further dimensions. Throws ShapeError where counts differ, ValueError for another method.
  RegularGridInterpolator(std::vector<Array> points, Arg values, RegularGridOptions options = {});
  /// The values at the places `x`, whose last axis holds the coordinates: of shape x.shape[:-1] followed by the values' further dimensions.
  /// Differentiable with respect to the places, the values and the lines. Throws ShapeError where x has another number of coordinates.
  Array operator()(Arg x) const;

 private:
  std::vector<Array> points_;
  Array values_;
  RegularGridOptions options_;
};

}  // namespace weft
