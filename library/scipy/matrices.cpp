#include "weft/library/scipy/matrices.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <numbers>
#include <vector>

#include "weft/core/array/constructors.h"
#include "weft/core/array/indexing.h"
#include "weft/core/errors/error.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/promote.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/ops/promotion.h"
#include "weft/core/trace/trace.h"
#include "weft/library/jnp/joining.h"
#include "weft/library/numpy/host_numbers.h"

namespace weft::linalg {

using detail::LocScope;
using detail::to_string;

namespace {

[[noreturn]] void refuse(SourceLoc loc, const std::string& what) { throw ShapeError(what, detail::effective_loc(loc)); }
Array vectors(const char* name, const Arg& x) {
  const Array a = atleast_1d(x.array());
  if (a.size() == 0) refuse(x.where(), fmt::format("{}: {} has no elements", name, to_string(x.aval())));
  return a;
}
Array vector(const char* name, const Arg& x) {
  if (x.array().ndim() != 1) refuse(x.where(), fmt::format("{}: {} is not a vector", name, to_string(x.aval())));
  return x.array();
}
/// Vectors of one dtype, their batch dimensions broadcast.
std::vector<Array> together(const Array& a, const Array& b, SourceLoc loc) {
  const std::vector<Array> v = detail::promoted({a, b}, loc);
  const Shape batch =
      broadcast_shapes({Shape(v[0].shape().begin(), v[0].shape().end() - 1), Shape(v[1].shape().begin(), v[1].shape().end() - 1)}, loc);
  std::vector<Array> out;
  for (const Array& x : v) {
    Shape shape = batch;
    shape.push_back(x.shape().back());
    out.push_back(broadcast_to(x, shape));
  }
  return out;
}
/// Element (i, j) is element place(i, j) of each vector.
Array by_place(const char* name, const Array& x, std::int64_t rows, std::int64_t columns, const auto& place) {
  auto at = detail::host_numbers<std::int64_t>(name, rows, columns, {});
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) at.push_back(place(i, j));
  return take(x, array(at, {rows, columns}, detail::position_dtype(x.size())), -1, {.mode = "promise_in_bounds"});
}
std::int64_t size_of(const char* name, Int n, SourceLoc loc) {
  const std::int64_t size = n;
  if (size < 0) refuse(loc, fmt::format("{}: n is {}; it must not be negative", name, size));
  return size;
}

}  // namespace

Array block_diag(Args xs, SourceLoc loc) {
  LocScope scope(loc);
  std::vector<Array> given;
  for (const Arg& x : xs.args()) {
    if (x.array().ndim() > 2) refuse(loc, fmt::format("block_diag: {} has more than two dimensions", to_string(x.aval())));
    given.push_back(atleast_2d(x.array()));
  }
  if (given.empty()) return zeros({1, 0});
  std::int64_t columns = 0, before = 0;
  for (const Array& x : given) columns += x.shape()[1];
  std::vector<Array> rows;
  for (const Array& x : detail::promoted(given, loc)) {
    const std::int64_t width = x.shape()[1];
    rows.push_back(pad(x, Array(0), PaddingConfig({{0, 0, 0}, {before, columns - width - before, 0}})));
    before += width;
  }
  return concatenate(rows);
}
Array toeplitz(Arg c) {
  LocScope scope(c.where());
  return toeplitz(c, Arg(conj(c), c.where()));
}
Array toeplitz(Arg c, Arg r) {
  LocScope scope(c.where());
  const std::vector<Array> v = together(vectors("toeplitz", c), vectors("toeplitz", r), c.where());
  const std::int64_t m = v[0].shape().back(), n = v[1].shape().back();
  const Array all = concatenate({flip(v[0], -1), v[1](ellipsis, slice(1, none))}, -1);
  return by_place("toeplitz", all, m, n, [=](std::int64_t i, std::int64_t j) { return m - 1 - i + j; });
}
Array hankel(Arg c) {
  LocScope scope(c.where());
  return hankel(c, Arg(zeros_like(c), c.where()));
}
Array hankel(Arg c, Arg r) {
  LocScope scope(c.where());
  const std::vector<Array> v = together(vectors("hankel", c), vectors("hankel", r), c.where());
  const std::int64_t m = v[0].shape().back(), n = v[1].shape().back();
  const Array all = concatenate({v[0], v[1](ellipsis, slice(1, none))}, -1);
  return by_place("hankel", all, m, n, [](std::int64_t i, std::int64_t j) { return i + j; });
}
Array circulant(Arg c) {
  LocScope scope(c.where());
  const Array v = vectors("circulant", c);
  const std::int64_t n = v.shape().back();
  return by_place("circulant", v, n, n, [=](std::int64_t i, std::int64_t j) { return (i - j + n) % n; });
}
Array convolution_matrix(Arg a, Int columns, TextArg how) {
  LocScope scope(a.where());
  const std::string& mode = how.str();
  const Array v = vectors("convolution_matrix", a);
  const std::int64_t m = v.shape().back(), n = columns;
  if (n < 1) refuse(a.where(), fmt::format("convolution_matrix: n is {}; it must be at least 1", n));
  std::int64_t first = 0, rows = m + n - 1;
  if (mode == "same")
    rows = std::max(m, n), first = (std::min(m, n) - 1) / 2;
  else if (mode == "valid")
    rows = std::max(m, n) - std::min(m, n) + 1, first = std::min(m, n) - 1;
  else if (mode != "full")
    throw Error(fmt::format("convolution_matrix: unknown mode `{}`; available: full, same, valid", mode), detail::effective_loc(a.where()));
  Shape one = v.shape();
  one[-1] = 1;
  const Array with_zero = concatenate({v, zeros(one, v.dtype())}, -1);
  return by_place("convolution_matrix", with_zero, rows, n, [=](std::int64_t i, std::int64_t j) {
    const std::int64_t k = i + first - j;
    return k < 0 || k >= m ? m : k;
  });
}
Array companion(Arg given) {
  LocScope scope(given.where());
  const Array a = detail::to_inexact(Arg(vector("companion", given), given.where()));
  const std::int64_t n = a.size() - 1;
  if (n < 1) refuse(given.where(), fmt::format("companion: {} must have two coefficients at least", to_string(given.aval())));
  return concatenate({expand_dims(-a(slice(1, none)) / a(0), 0), eye(n - 1, n, 0, a.dtype())});
}
Array leslie(Arg f, Arg s) {
  LocScope scope(f.where());
  const std::vector<Array> v = detail::promoted({vector("leslie", f), vector("leslie", s)}, f.where());
  const std::int64_t n = v[0].size();
  if (n < 2 || v[1].size() != n - 1)
    refuse(f.where(), fmt::format("leslie: {} and {} must be vectors, the second shorter by one, the first of two elements at least",
                                  to_string(f.aval()), to_string(s.aval())));
  return concatenate({expand_dims(v[0], 0), pad(eye(n - 1, n - 1, 0, v[1].dtype()) * expand_dims(v[1], 1), {{0, 0}, {0, 1}})});
}
Array fiedler(Arg given) {
  LocScope scope(given.where());
  const Array a = vector("fiedler", given);
  return abs(expand_dims(a, 1) - a);
}

Array dft(Int count, const std::string& scale, SourceLoc loc) {
  LocScope scope(loc);
  const std::int64_t n = size_of("dft", count, loc);
  if (!scale.empty() && scale != "sqrtn" && scale != "n")
    throw Error(fmt::format("dft: unknown scale `{}`; available: sqrtn, n", scale), detail::effective_loc(loc));
  const double size = scale == "n" ? static_cast<double>(n) : scale == "sqrtn" ? std::sqrt(static_cast<double>(n)) : 1;
  auto out = detail::host_numbers<std::complex<float>>("dft", n, n, loc);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      const double angle = -2 * std::numbers::pi * static_cast<double>(i * j % n) / static_cast<double>(n);
      out.emplace_back(static_cast<float>(std::cos(angle) / size), static_cast<float>(std::sin(angle) / size));
    }
  return array(out, {n, n}, {}, loc);
}
Array hilbert(Int count, DType dtype, SourceLoc loc) {
  LocScope scope(loc);
  const Array i = arange(0, size_of("hilbert", count, loc), 1, dtype, loc);
  return 1 / (expand_dims(i, 1) + i + 1);
}
Array hadamard(Int count, DType dtype, SourceLoc loc) {
  LocScope scope(loc);
  const std::int64_t n = count;
  if (n < 1 || !std::has_single_bit(static_cast<std::uint64_t>(n)))
    refuse(loc, fmt::format("hadamard: n is {}; it must be a power of 2", n));
  auto out = detail::host_numbers<std::int64_t>("hadamard", n, n, loc);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) out.push_back(std::popcount(static_cast<std::uint64_t>(i & j)) % 2 ? -1 : 1);
  return array(out, {n, n}, dtype, loc);
}
Array helmert(Int count, bool full, DType dtype, SourceLoc loc) {
  LocScope scope(loc);
  const std::int64_t n = size_of("helmert", count, loc);
  auto out = detail::host_numbers<double>("helmert", n, n, loc);
  for (std::int64_t i = full ? 0 : 1; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      const auto k = static_cast<double>(i);
      out.push_back(i == 0   ? 1 / std::sqrt(static_cast<double>(n))
                    : j < i  ? 1 / std::sqrt(k * (k + 1))
                    : j == i ? -std::sqrt(k / (k + 1))
                             : 0);
    }
  return array(out, {n - (full ? 0 : 1), n}, dtype, loc);
}
Array pascal(Int count, const std::string& kind, DType dtype, SourceLoc loc) {
  LocScope scope(loc);
  const std::int64_t n = size_of("pascal", count, loc);
  if (kind != "symmetric" && kind != "lower" && kind != "upper")
    throw Error(fmt::format("pascal: unknown kind `{}`; available: symmetric, lower, upper", kind), detail::effective_loc(loc));
  auto out = detail::host_numbers<double>("pascal", n, n, loc);
  out.resize(static_cast<std::size_t>(n * n));
  const auto at = [&](std::int64_t i, std::int64_t j) -> double& { return out[static_cast<std::size_t>(i * n + j)]; };
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      if (kind == "symmetric")
        at(i, j) = i == 0 || j == 0 ? 1 : at(i - 1, j) + at(i, j - 1);
      else
        at(i, j) = j > i ? 0 : j == 0 || j == i ? 1 : at(i - 1, j) + at(i - 1, j - 1);
    }
  const Array x = array(out, {n, n}, dtype, loc);
  return kind == "upper" ? transpose(x) : x;
}

}  // namespace weft::linalg
