// What tests of operations share: comparing arrays, derivatives against differences, vmap against a loop.
#pragma once
#include <doctest/doctest.h>
#include <weft/weft.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/lcg.h"
#include "tests/messages.h"

namespace weft::test {

inline bool near(const Array& x, const std::vector<double>& want, double tolerance = 1e-6) {
  const std::vector<double> got = x.to_vector<double>();
  bool same = got.size() == want.size();
  for (std::size_t i = 0; same && i < got.size(); ++i)
    same = got[i] == want[i] || (std::isnan(got[i]) && std::isnan(want[i])) ||
           std::abs(got[i] - want[i]) <= tolerance * (1 + std::abs(want[i]));
  if (!same) {
    std::string text;
    for (double v : got) text += std::to_string(v) + " ";
    text += "| wanted: ";
    for (double v : want) text += std::to_string(v) + " ";
    MESSAGE("got: ", text);
  }
  return same;
}
inline bool near(const Array& x, DType dtype, const Shape& shape, const std::vector<double>& want, double tolerance = 1e-6) {
  if (x.dtype() != dtype || !(x.shape() == shape)) {
    MESSAGE("got ", detail::to_string(x.aval()));
    return false;
  }
  return near(x, want, tolerance);
}
inline bool close(const Array& x, const Array& want, double tolerance = 1e-6) {
  return near(x, x.dtype(), want.shape(), want.to_vector<double>(), tolerance);
}

/// Values in (-1, 1) without a pattern; another `seed`, other values.
inline Array samples(const Shape& shape, int seed = 0, DType dtype = float64) {
  std::vector<double> v;
  Lcg random{0x9e3779b97f4a7c15u * static_cast<std::uint64_t>(seed + 1)};
  for (std::int64_t i = 0; i < shape.num_elements(); ++i) v.push_back(random.real());
  return array(v, shape, dtype);
}

/// jvp against central differences, vjp against jvp, and the same for the jvp itself.
template <int Order = 2, class F>
void check_derivatives(F f, const Array& x, double tolerance = 1e-6) {
  const Array t = samples(x.shape(), 11), step = array({1e-5}, float64)[0];
  const Array dy = jvp(f, std::tuple{x}, std::tuple{t}).second;
  CHECK(close(dy, (f(x + step * t) - f(x - step * t)) / (2 * step), tolerance));
  const auto [y, pull] = vjp(f, x);
  const Array ct = samples(y.shape(), 12);
  const auto [gradient] = pull(ct);
  CHECK(gradient.shape() == x.shape());
  CHECK(close(sum(ct * dy), sum(gradient * t), 1e-9));
  if constexpr (Order > 1)
    check_derivatives<Order - 1>([f, t](Array z) { return jvp(f, std::tuple{z}, std::tuple{t}).second; }, x, 10 * tolerance);
}

/// vmap over each axis of x against a loop over it.
template <class F>
void check_vmap(F f, const Array& x) {
  for (int axis = 0; axis < x.ndim(); ++axis) {
    const Array moved = moveaxis(x, axis, 0);
    std::vector<Array> parts;
    for (int i = 0; i < moved.shape()[0]; ++i) parts.push_back(f(moved[i]));
    CHECK(close(vmap(f, {.in_axes = axis})(x), stack(parts), 1e-9));
  }
}

}  // namespace weft::test
