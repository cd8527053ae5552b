#include "weft/library/scipy/interpolate.h"

#include <fmt/format.h>

#include "weft/core/array/constructors.h"
#include "weft/core/array/indexing.h"
#include "weft/core/base/counted.h"
#include "weft/core/errors/error.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/functions/sorting.h"
#include "weft/core/trace/trace.h"

namespace weft {

using detail::counted;
using detail::LocScope;
using detail::to_string;

RegularGridInterpolator::RegularGridInterpolator(std::vector<Array> points, Arg values, RegularGridOptions options)
    : points_(std::move(points)), values_(values.array()), options_(std::move(options)) {
  const SourceLoc loc = values.where();
  if (options_.method != "linear" && options_.method != "nearest")
    throw Error(fmt::format("RegularGridInterpolator: unknown method `{}`; available: linear, nearest", options_.method), loc);
  if (points_.empty() || points_.size() > static_cast<std::size_t>(values_.ndim()))
    throw ShapeError(
        fmt::format("RegularGridInterpolator: lines of {} for values {}", counted(points_.size(), "dimension"), to_string(values_.aval())),
        loc);
  for (std::size_t d = 0; d < points_.size(); ++d) {
    const std::int64_t size = values_.shape()[static_cast<int>(d)];
    if (points_[d].ndim() != 1 || points_[d].shape()[0] != size)
      throw ShapeError(fmt::format("RegularGridInterpolator: the lines of dimension {} are {}; the values {} need a vector of {} there", d,
                                   to_string(points_[d].aval()), to_string(values_.aval()), size),
                       loc);
    if (size < 2)
      throw ShapeError(
          fmt::format("RegularGridInterpolator: {} in dimension {}; to have values between them it takes two", counted(size, "line"), d),
          loc);
  }
}

Array RegularGridInterpolator::operator()(Arg given) const {
  const SourceLoc loc = given.where();
  const LocScope scope(loc);
  const Array x = given.array();
  const int dims = static_cast<int>(points_.size());
  if (x.ndim() == 0 || x.shape().back() != dims)
    throw ShapeError(
        fmt::format("RegularGridInterpolator: places {}; their last axis holds {}", to_string(x.aval()), counted(dims, "coordinate")), loc);
  std::vector<Array> below, part;  // the line before each place, and how far it is towards the next
  Array outside = zeros({}, bool_);
  for (int d = 0; d < dims; ++d) {
    const Array& lines = points_[static_cast<std::size_t>(d)];
    const Array at = x(ellipsis, d);
    const Array line = clip(searchsorted(lines, at) - 1, 0, lines.shape()[0] - 2);
    const Array from = take(lines, line), to = take(lines, line + 1);
    below.push_back(line);
    part.push_back((at - from) / (to - from));
    outside = outside | (at < lines(0)) | (at > lines(-1));
  }
  const int further = values_.ndim() - dims;
  const auto with_further_axes = [&](Array a) {
    for (int i = 0; i < further; ++i) a = expand_dims(a, -1);
    return a;
  };
  const auto values_at = [&](const std::vector<Array>& lines) {
    return AtIndex(values_, std::vector<Index>(lines.begin(), lines.end()), loc).get();
  };
  Array result;
  if (options_.method == "nearest") {
    std::vector<Array> nearest;
    for (std::size_t d = 0; d < below.size(); ++d) nearest.push_back(where(part[d] <= 0.5, below[d], below[d] + 1));
    result = values_at(nearest);
  } else {
    // The corners of the cell around a place, each by the product of its parts.
    for (unsigned corner = 0; corner < 1U << dims; ++corner) {
      std::vector<Array> lines;
      Array weight;
      for (std::size_t d = 0; d < below.size(); ++d) {
        const bool above = corner >> d & 1U;
        lines.push_back(above ? below[d] + 1 : below[d]);
        const Array each = above ? part[d] : 1 - part[d];
        weight = d == 0 ? each : weight * each;
      }
      const Array term = values_at(lines) * with_further_axes(weight);
      result = corner == 0 ? term : result + term;
    }
  }
  if (options_.fill_value) result = where(with_further_axes(outside), *options_.fill_value, result);
  return result;
}

}  // namespace weft
