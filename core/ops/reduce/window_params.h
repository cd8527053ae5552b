// The lists of parameters that window operations have, one entry for each dimension.
#pragma once
#include <algorithm>
#include <string>

#include "weft/core/ops/reduce/reduce_window.h"

namespace weft::detail {

template <class P>
concept HasDilation = requires(const P& p) { p.base_dilation, p.window_dilation; };

/// Throws through the context where a list has not one entry for each dimension, or a number that must be positive is not.
template <class P>
void check_windows(const OpContext& c, const P& p, int ndim) {
  const auto n = static_cast<std::size_t>(ndim);
  auto check = [&](const char* what, const std::vector<std::int64_t>& list) {
    if (list.size() != n)
      c.fail<ShapeError>(std::string(what) + " has " + std::to_string(list.size()) + " entries",
                         "give one for each dimension of the operand");
    if (std::any_of(list.begin(), list.end(), [](std::int64_t v) { return v < 1; }))
      c.fail<ShapeError>(std::string(what) + " has an entry below 1", "all must be positive");
  };
  check("window_dimensions", p.window_dimensions);
  check("window_strides", p.window_strides);
  if constexpr (HasDilation<P>) check("base_dilation", p.base_dilation), check("window_dilation", p.window_dilation);
  if (p.padding.size() != n)
    c.fail<ShapeError>("padding has " + std::to_string(p.padding.size()) + " entries", "give a pair for each dimension of the operand");
}

template <class P>
std::vector<WindowDim> windows_of(const P& p, const Shape& shape) {
  std::vector<WindowDim> dims;
  for (int d = 0; d < shape.size(); ++d) {
    const auto i = static_cast<std::size_t>(d);
    WindowDim w{.size = shape[d], .window = p.window_dimensions[i], .stride = p.window_strides[i]};
    if constexpr (HasDilation<P>) w.base_dilation = p.base_dilation[i], w.window_dilation = p.window_dilation[i];
    w.low = p.padding[i].first, w.high = p.padding[i].second;
    dims.push_back(w);
  }
  return dims;
}
/// The shape of the windows. Throws ShapeError where numbers are too large to count with.
inline Shape checked_window_shape(const OpContext& c, const std::vector<WindowDim>& dims) {
  if (!std::all_of(dims.begin(), dims.end(), [](const WindowDim& d) { return d.is_countable(); }))
    c.fail<ShapeError>("a dilated size or a padding is 2^61 or more", "no array can be that large");
  Shape shape;
  for (const WindowDim& d : dims) shape.push_back(d.positions());
  return shape;
}
inline Shape window_shape(const std::vector<WindowDim>& dims) {
  Shape shape;
  for (const WindowDim& d : dims) shape.push_back(d.positions());
  return shape;
}

/// The parameters with another dimension at `at`, along which windows are single elements.
template <class P>
P with_unit_window(P p, int at) {
  auto insert = [&](auto& list, auto value) { list.insert(list.begin() + at, value); };
  insert(p.window_dimensions, std::int64_t{1});
  insert(p.window_strides, std::int64_t{1});
  insert(p.padding, PadPairs::value_type(0, 0));
  if constexpr (HasDilation<P>) insert(p.base_dilation, std::int64_t{1}), insert(p.window_dilation, std::int64_t{1});
  return p;
}

}  // namespace weft::detail
