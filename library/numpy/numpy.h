// Functions of jax.numpy that are no primitives.
#pragma once
#include <concepts>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "weft/core/array/array.h"
#include "weft/core/array/axis.h"
#include "weft/core/array/optional_shape.h"
#include "weft/core/functions/reductions.h"

namespace weft {

// Functions of jax.numpy that are composed of primitives: transforms apply to the primitives.

// Matrices.

/// The n x n matrix with ones on its diagonal.
Array identity(Int n, DType dtype = float32, SourceLoc loc = SourceLoc::here());
/// For a vector, the matrix with it on the k-th diagonal and zeros elsewhere; for a matrix, its k-th diagonal. Else throws ShapeError.
Array diag(Arg x, Int k);
inline Array diag(Arg x) { return diag(std::move(x), 0); }
/// The diagonal of two axes, moved to the end: the elements whose position along axis2 is that along axis1 plus offset.
Array diagonal(Arg x, Int offset, AxisNumber axis1 = 0, AxisNumber axis2 = 1);
inline Array diagonal(Arg x) { return diagonal(std::move(x), 0); }
/// The sum of that diagonal.
Array trace(Arg x, Int offset, AxisNumber axis1 = 0, AxisNumber axis2 = 1);
inline Array trace(Arg x) { return trace(std::move(x), 0); }
/// The cross product of vectors of 3 elements along an axis of a and b; the other axes broadcast.
Array cross(Arg a, Arg b, AxisNumber axis = -1);
/// The Kronecker product: each element of a times all of b.
Array kron(Arg a, Arg b);
/// The sum of products over the last axis of both; with a scalar, the product.
Array inner(Arg a, Arg b);

struct MeshgridOptions {
  std::string indexing = "xy";  ///< "xy": the first coordinate runs along axis 1; "ij": along axis 0
};
/// The coordinates of all points of a grid: one array for each vector, all of one shape.
std::vector<Array> meshgrid(Args xs, MeshgridOptions options = {});
/// Of two or three vectors: `auto [xx, yy] = meshgrid(x, y)`.
std::pair<Array, Array> meshgrid(Arg x, Arg y, MeshgridOptions options = {});
std::tuple<Array, Array, Array> meshgrid(Arg x, Arg y, Arg z, MeshgridOptions options = {});
/// The same with the indexing alone, "xy" or "ij".
std::pair<Array, Array> meshgrid(Arg x, Arg y, const char* indexing);
std::tuple<Array, Array, Array> meshgrid(Arg x, Arg y, Arg z, const char* indexing);
/// Joined along axis 0, vectors as rows.
Array vstack(Args xs, SourceLoc loc = SourceLoc::here());
/// Joined along axis 1, vectors and scalars along axis 0.
Array hstack(Args xs, SourceLoc loc = SourceLoc::here());

// Sampled functions.

/// The differences of neighbours along an axis, n times.
Array diff(Arg x, Int n, AxisNumber axis = -1);
inline Array diff(Arg x) { return diff(std::move(x), 1); }
/// Options of diff.
struct DiffOptions {
  detail::NamedFields named = detail::NamedFields();
  Int n = 1;                          ///< how many times
  AxisNumber axis = -1;               ///< along which
  std::optional<Array> prepend = {};  ///< values in front of x along the axis; a scalar stands for one slice
  std::optional<Array> append = {};   ///< values behind x
};
Array diff(Arg x, DiffOptions options);
/// The integral of samples at distance dx by the trapezoidal rule.
Array trapezoid(Arg y, double dx, AxisNumber axis = -1);
inline Array trapezoid(Arg y) { return trapezoid(std::move(y), 1); }
/// The same for samples at the points x, a vector or an array of y's shape.
Array trapezoid(Arg y, Arg x, AxisNumber axis = -1);
/// Arguments of trapezoid by name.
struct TrapezoidOptions {
  detail::NamedFields named = detail::NamedFields();
  std::optional<Array> x = {};  ///< the points; absent: at distance dx
  Arg dx = 1.;                  ///< as an argument
  AxisNumber axis = -1;         ///< along which
};
Array trapezoid(Arg y, TrapezoidOptions options, detail::Nothing auto...) {
  return options.x ? trapezoid(std::move(y), *options.x, options.axis) : options.dx.array() * trapezoid(std::move(y), 1., options.axis);
}
Array trapezoid(Arg y, Arg x, AxisOption options, detail::Nothing auto...) { return trapezoid(std::move(y), std::move(x), options.axis); }
/// Options of interp.
struct InterpOptions {
  std::optional<Array> left = {};    ///< the value below the first point; absent: the first one's
  std::optional<Array> right = {};   ///< the value above the last point; absent: the last one's
  std::optional<Array> period = {};  ///< of x and xp, whose order is then free; left and right are not used
};
/// The function that is linear between the points (xp, fp) and constant outside, at x; xp ascends.
Array interp(Arg x, Arg xp, Arg fp, InterpOptions options = {});
/// The polynomial with the coefficients p, the highest power first, at x.
Array polyval(Arg p, Arg x);

// Statistics.

struct QuantileOptions {
  detail::NamedFields named = detail::NamedFields();
  std::optional<Array> q = {};    ///< of quantile and percentile: the order, where it is no argument
  Axis axis = none;               ///< over which, where no axis is an argument: one, several or all of them
  std::string method = "linear";  ///< between two elements: "linear", "lower", "higher", "midpoint" or "nearest"
  bool keepdims = false;          ///< the reduced axes stay, with size 1
};
/// The quantile of order q, from 0 to 1. The result's shape is q's followed by x's remaining dimensions. NaN if an element is NaN.
Array quantile(Arg x, Arg q, Axis axis = none, QuantileOptions options = {});
/// The same for q in hundredths, 0 to 100.
Array percentile(Arg x, Arg q, Axis axis = none, QuantileOptions options = {});
inline Array quantile(Arg x, Arg q, QuantileOptions options) { return quantile(std::move(x), std::move(q), none, std::move(options)); }
inline Array percentile(Arg x, Arg q, QuantileOptions options) { return percentile(std::move(x), std::move(q), none, std::move(options)); }
Array quantile(Arg x, QuantileOptions options);
Array percentile(Arg x, QuantileOptions options);
/// The middle element, or the mean of the two in the middle.
Array median(Arg x, Axis axis, QuantileOptions options = {});
inline Array median(Arg x) { return median(std::move(x), none); }
inline Array median(Arg x, QuantileOptions options) { return median(std::move(x), none, std::move(options)); }
/// The sum and the mean of the elements that are not NaN.
Array nansum(Arg x, Axis axis, ReduceOptions options = {});
inline Array nansum(Arg x) { return nansum(std::move(x), none); }
inline Array nansum(Arg x, ReduceOptions options) { return nansum(std::move(x), none, std::move(options)); }
Array nanmean(Arg x, Axis axis, ReduceOptions options = {});
inline Array nanmean(Arg x) { return nanmean(std::move(x), none); }
inline Array nanmean(Arg x, ReduceOptions options) { return nanmean(std::move(x), none, std::move(options)); }

struct CovOptions {
  bool rowvar = true;                  ///< a row holds the samples of one variable; else a column does
  bool bias = false;                   ///< ddof is 0 where it is absent
  std::optional<Int> ddof = {};        ///< the divisor is the number of samples less ddof; absent: 1
  std::optional<Array> fweights = {};  ///< how often each sample counts, integers
  std::optional<Array> aweights = {};  ///< how much each sample weighs
};
/// The covariances of the variables in x: a matrix, or a scalar for a vector of samples.
Array cov(Arg x, CovOptions options);
inline Array cov(Arg x) { return cov(std::move(x), {}); }
/// Their correlations: the covariances divided by the deviations.
Array corrcoef(Arg x, CovOptions options);
inline Array corrcoef(Arg x) { return corrcoef(std::move(x), {}); }

// Comparison.

/// Options of isclose and allclose.
struct IscloseOptions {
  double rtol = 1e-5;      ///< relative to b
  double atol = 1e-8;      ///< added to that
  bool equal_nan = false;  ///< whether NaN is close to NaN
};
/// Whether |a - b| <= atol + rtol |b|, or both are the same infinity, element by element.
Array isclose(Arg a, Arg b, IscloseOptions options = {});
/// Whether all elements are close.
Array allclose(Arg a, Arg b, IscloseOptions options = {});
/// The same with the tolerances in order, as in NumPy: `allclose(a, b, 1e-3)`.
Array isclose(Arg a, Arg b, ScalarType auto rtol, double atol = 1e-8, bool equal_nan = false) {
  return isclose(std::move(a), std::move(b), IscloseOptions{static_cast<double>(rtol), atol, equal_nan});
}
Array allclose(Arg a, Arg b, ScalarType auto rtol, double atol = 1e-8, bool equal_nan = false) {
  return allclose(std::move(a), std::move(b), IscloseOptions{static_cast<double>(rtol), atol, equal_nan});
}
/// Options of array_equal.
struct ArrayEqualOptions {
  bool equal_nan = false;  ///< NaN equals NaN
};
/// Whether the shapes and all elements are equal.
Array array_equal(Arg a, Arg b, ArrayEqualOptions options = {});

// Elements.

/// The angle of complex numbers, in radians; of real ones 0 or pi.
Array angle(Arg z);
/// Converts degrees to radians; rad2deg is its inverse.
Array deg2rad(Arg x);
Array rad2deg(Arg x);

struct NanToNumOptions {
  double nan = 0;                     ///< in place of NaN
  std::optional<double> posinf = {};  ///< of infinity; absent: the largest number of the dtype
  std::optional<double> neginf = {};  ///< of -infinity; absent: the lowest
};
/// x with finite numbers in place of NaN and infinities.
Array nan_to_num(Arg x, NanToNumOptions options);
inline Array nan_to_num(Arg x) { return nan_to_num(std::move(x), {}); }

}  // namespace weft
