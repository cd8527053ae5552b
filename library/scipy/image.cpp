#include "weft/library/scipy/image.h"

#include <fmt/format.h>

#include <algorithm>
#include <numbers>

#include "weft/core/array/constructors.h"
#include "weft/core/array/indexing.h"
#include "weft/core/errors/error.h"
#include "weft/core/functions/contractions.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/movement/index_rules.h"
#include "weft/core/ops/promotion.h"
#include "weft/core/trace/trace.h"
#include "weft/library/numpy/host_numbers.h"

namespace weft {

using detail::LocScope;
using detail::to_string;

namespace {

/// The weight of an element at a distance, which isn't negative.
Array kernel(const std::string& method, const Array& x) {
  if (method == "linear") return maximum(0, 1 - x);
  if (method == "cubic") {
    // R. Keys, Cubic convolution interpolation for digital image processing, 1981.
    const Array near = ((1.5 * x - 2.5) * x) * x + 1, far = ((-0.5 * x + 2.5) * x - 4) * x + 2;
    return where(x >= 2, 0, where(x >= 1, far, near));
  }
  const double radius = method == "lanczos3" ? 3 : 5, pi = std::numbers::pi;
  const Array inside = where(x > 1e-3, x, 1);
  const Array y = radius * sin(pi * inside) * sin(pi * inside / radius) / (pi * pi * inside * inside);
  return where(x > radius, 0, where(x > 1e-3, y, 1));
}
/// The method by its usual name.
std::string checked_method(const char* name, const std::string& method, bool nearest, SourceLoc loc) {
  if (method == "nearest" && nearest) return method;
  if (method == "linear" || method == "bilinear" || method == "trilinear" || method == "triangle") return "linear";
  if (method == "cubic" || method == "bicubic" || method == "tricubic") return "cubic";
  if (method == "lanczos3" || method == "lanczos5") return method;
  throw Error(
      fmt::format("{}: unknown method `{}`; available: {}linear, cubic, lanczos3, lanczos5", name, method, nearest ? "nearest, " : ""),
      detail::effective_loc(loc));
}

/// How much each of m elements counts for each of n samples: (m, n).
Array weights(std::int64_t m, std::int64_t n, const Array& scale, const Array& translation, const std::string& method, bool antialias) {
  const DType dtype = scale.dtype();
  const Array inverse = 1 / scale, width = antialias ? maximum(inverse, 1) : ones({}, dtype);
  const Array place = (arange(0, n, 1, dtype) + 0.5) * inverse - translation * inverse - 0.5;
  const Array w = kernel(method, abs(place - expand_dims(arange(0, m, 1, dtype), 1)) / width);
  const Array total = sum(w, 0, {.keepdims = true});
  const Array normal = where(abs(total) > 1000 * 0x1p-23, w / where(total != 0, total, 1), 0);
  return where((place >= -0.5) & (place <= static_cast<double>(m) - 0.5), normal, 0);
}

Array resampled(const Array& x, const Shape& shape, const std::vector<int>& dims, const auto& scale, const auto& translation,
                const std::string& method, bool antialias) {
  Array out = x;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const int d = dims[i];
    const Array w = convert(weights(x.shape()[d], shape[d], scale(i), translation(i), method, antialias), x.dtype());
    out = moveaxis(matmul(moveaxis(out, d, -1), w), -1, d);
  }
  return out;
}
void check_rank(const char* name, const Arg& x, const Shape& shape) {
  if (shape.size() != x.array().ndim() || std::any_of(shape.begin(), shape.end(), [](std::int64_t d) { return d < 0; }))
    throw ShapeError(fmt::format("{}: {} can't become {}, which must have as many dimensions", name, to_string(x.aval()),
                                 detail::to_string(detail::Aval{shape, x.array().dtype()})),
                     detail::effective_loc(x.where()));
}

/// Elements that are read for one dimension: positions, whether they are inside, and how much they count.
struct Node {
  Array index, valid, weight;
};
Array mirrored(const Array& index, std::int64_t size) {
  if (size == 1) return zeros_like(index);
  const std::int64_t s = size - 1;
  return abs(remainder(index + s, 2 * s) - s);
}
Array brought_inside(const Array& index, std::int64_t size, const std::string& mode) {
  if (mode == "wrap") return remainder(index, size);
  if (mode == "mirror") return mirrored(index, size);
  if (mode == "reflect") return floor_divide(mirrored(2 * index + 1, 2 * size + 1) - 1, 2);
  return clip(index, 0, size - 1);
}

}  // namespace

namespace image {

Array resize(Arg x, Shape shape, ResizeOptions options) {
  const TextArg method(options.method, x.where());
  return resize(std::move(x), std::move(shape), method, options);
}
Array resize(Arg x, Shape shape, TextArg given, ResizeOptions options) {
  LocScope scope(x.where());
  const std::string method = checked_method("resize", given.str(), true, x.where());
  check_rank("resize", x, shape);
  std::vector<int> dims;
  for (int d = 0; d < shape.size(); ++d) {
    if (shape[d] == x.array().shape()[d]) continue;
    if (x.array().shape()[d] == 0)
      throw ShapeError(fmt::format("resize: {} has no elements along axis {}", to_string(x.aval()), d), detail::effective_loc(x.where()));
    dims.push_back(d);
  }
  if (method == "nearest") {
    Array out = x.array();
    for (int d : dims) {
      const std::int64_t m = out.shape()[d], n = shape[d];
      const Array place = (arange(0, n, 1, float32) + 0.5) * static_cast<double>(m) / static_cast<double>(n);
      out = take(out, convert(floor(place), int32), d, {.mode = "clip"});
    }
    return out;
  }
  const Array v = detail::to_inexact(x);
  const DType dtype = v.dtype().real_part() == float64 ? float64 : float32;
  return resampled(
      v, shape, dims,
      [&](std::size_t i) {
        const int d = dims[i];
        return convert(Array(static_cast<double>(shape[d]) / static_cast<double>(v.shape()[d])), dtype);
      },
      [&](std::size_t) { return zeros({}, dtype); }, method, options.antialias);
}
Array scale_and_translate(Arg x, Shape shape, const std::vector<int>& spatial_dims, Arg scale, Arg translation, TextArg given,
                          ResizeOptions options) {
  LocScope scope(x.where());
  const std::string method = checked_method("scale_and_translate", given.str(), false, x.where());
  check_rank("scale_and_translate", x, shape);
  const std::int64_t n = static_cast<std::int64_t>(spatial_dims.size());
  if (scale.array().shape() != Shape(n) || translation.array().shape() != Shape(n))
    throw ShapeError(
        fmt::format("scale_and_translate: scale {} and translation {} must be vectors of {}, one number for each of the spatial_dims",
                    to_string(scale.aval()), to_string(translation.aval()), n),
        detail::effective_loc(x.where()));
  const Array v = detail::to_inexact(x), s = detail::to_inexact(scale), t = detail::to_inexact(translation);
  const DType dtype = promote_types(s.dtype(), t.dtype());
  std::vector<int> dims;
  for (int d : spatial_dims) dims.push_back(detail::normalize_axis(d, v.ndim(), "scale_and_translate", x.aval(), x.where()));
  for (int d = 0; d < v.ndim(); ++d)
    if (shape[d] != v.shape()[d] && std::find(dims.begin(), dims.end(), d) == dims.end())
      throw ShapeError(fmt::format("scale_and_translate: axis {} of {} is to have size {}, but is not among the spatial_dims", d,
                                   to_string(x.aval()), shape[d]),
                       detail::effective_loc(x.where()));
  return resampled(
      v, shape, dims, [&](std::size_t i) { return convert(s(static_cast<std::int64_t>(i)), dtype); },
      [&](std::size_t i) { return convert(t(static_cast<std::int64_t>(i)), dtype); }, method, options.antialias);
}

}  // namespace image

std::vector<Array> detail::positions_of(const Array& coordinates) {
  if (coordinates.ndim() == 0)
    throw ShapeError(fmt::format("map_coordinates: the positions {} have no axis for the dimensions of x", to_string(coordinates.aval())),
                     {});
  std::vector<Array> out;
  for (std::int64_t i = 0; i < coordinates.shape()[0]; ++i) out.push_back(coordinates(i));
  return out;
}
Array map_coordinates(Arg x, Args coordinates, MapCoordinatesOptions options) {
  LocScope scope(x.where());
  const SourceLoc loc = detail::effective_loc(x.where());
  const Array& v = x.array();
  const std::vector<Arg>& at = coordinates.args();
  if (static_cast<int>(at.size()) != v.ndim() || at.empty())
    throw ShapeError(
        fmt::format("map_coordinates: {} arrays of positions for {}; there must be one for each dimension", at.size(), to_string(x.aval())),
        loc);
  const std::int64_t order = options.order;
  if (order != 0 && order != 1) throw Error(fmt::format("map_coordinates: order is {}; it is 0 or 1", order), loc);
  const std::string& mode = options.mode;
  const bool constant = mode == "constant";
  if (!constant && mode != "nearest" && mode != "wrap" && mode != "mirror" && mode != "reflect")
    throw Error(fmt::format("map_coordinates: unknown mode `{}`; available: constant, nearest, wrap, mirror, reflect", mode), loc);
  std::vector<std::vector<Node>> nodes;
  for (std::size_t d = 0; d < at.size(); ++d) {
    const Array place = at[d].array();
    const std::int64_t size = v.shape()[static_cast<int>(d)];
    const auto node = [&](const Array& index, const Array& weight) {
      // Of the flattened array's positions, in a dtype that reaches its last one.
      const Array i =
          index.dtype().is_integer() ? detail::positions_among(index, v.size(), loc) : convert(index, detail::position_dtype(v.size()));
      return Node{brought_inside(i, size, mode), constant ? (i >= 0) & (i < size) : Array(true), weight};
    };
    if (order == 0) {
      nodes.push_back({node(place.dtype().is_integer() ? place : round_away(place), Array(1))});
    } else {
      const Array low = floor(place), part = place - low;
      nodes.push_back({node(low, 1 - part), node(low + 1, part)});
    }
  }
  // The strides of the flattened array.
  std::vector<std::int64_t> strides(at.size(), 1);
  for (std::size_t d = at.size() - 1; d-- > 0;) strides[d] = strides[d + 1] * v.shape()[static_cast<int>(d + 1)];
  const Array flat = ravel(x);
  Array total;
  const std::size_t corners = order == 0 ? 1 : std::size_t{1} << at.size();
  for (std::size_t corner = 0; corner < corners; ++corner) {
    Array index = 0, valid = true, weight = 1;
    for (std::size_t d = 0; d < at.size(); ++d) {
      const Node& n = nodes[d][order == 0 ? 0 : (corner >> d) & 1];
      index = index + n.index * strides[d], valid = valid & n.valid, weight = weight * n.weight;
    }
    const Array read = take(flat, index, 0, {.mode = "clip"});
    const Array term = weight * (constant ? where(valid, read, convert(Array(options.cval), v.dtype())) : read);
    total = corner == 0 ? term : total + term;
  }
  if (v.dtype().is_integer() && !total.dtype().is_integer()) total = round_away(total);
  return convert(total, v.dtype());
}

}  // namespace weft
