#include "weft/library/scipy/dct.h"

#include <fmt/format.h>

#include <cmath>
#include <complex>
#include <numbers>
#include <vector>

#include "weft/core/array/constructors.h"
#include "weft/core/array/indexing.h"
#include "weft/core/errors/error.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/promotion.h"
#include "weft/core/trace/trace.h"
#include "weft/library/numpy/host_numbers.h"

namespace weft::fft {

using detail::LocScope;
using detail::to_string;

namespace {

enum class Direction { forward, backward };

/// exp(i pi k / (2 n)) for each k < n, or its conjugate.
Array turns(std::int64_t n, double sign, DType dtype) {
  auto out = detail::host_numbers<std::complex<double>>("dct", n, 1, {});
  for (std::int64_t k = 0; k < n; ++k)
    out.push_back(std::polar(1., sign * std::numbers::pi * static_cast<double>(k) / (2. * static_cast<double>(n))));
  return array(out, Shape(n), dtype == float64 ? complex128 : complex64);
}
/// What the sum of element k is multiplied by.
Array scales(std::int64_t n, const std::string& norm, DType dtype) {
  auto out = detail::host_numbers<double>("dct", n, 1, {});
  const double size = static_cast<double>(n);
  for (std::int64_t k = 0; k < n; ++k)
    out.push_back(norm == "backward" ? 2 : norm == "forward" ? 1 / size : 2 / std::sqrt((k == 0 ? 4 : 2) * size));
  return array(out, Shape(n), dtype);
}

// J. Makhoul, A fast cosine transform in one and two dimensions, 1980: elements 0, 2, 4, ..., and then the odd ones backwards, are
// transformed by a Fourier transform of the same size.
Array along_last_axis(const Array& x, Direction direction, const std::string& norm) {
  const std::int64_t n = x.shape().back(), half = (n + 1) / 2;
  auto place = detail::host_numbers<std::int64_t>("dct", n, 1, {});
  place.resize(static_cast<std::size_t>(n));
  for (std::int64_t k = 0; k < n; ++k) {
    const std::int64_t element = k < half ? 2 * k : 2 * (n - 1 - k) + 1;
    if (direction == Direction::forward)
      place[static_cast<std::size_t>(k)] = element;
    else
      place[static_cast<std::size_t>(element)] = k;
  }
  const auto arranged = [&](const Array& v) {
    return take(v, array(place, Shape(n), detail::position_dtype(n)), -1, {.mode = "promise_in_bounds"});
  };
  const Array scale = scales(n, norm, x.dtype());
  if (direction == Direction::forward) return real(fft(arranged(x)) * turns(n, -1, x.dtype())) * scale;
  // The inverse of the scaled sums: element 0 counts once, the others twice.
  auto counts = detail::host_numbers<double>("dct", n, 1, {});
  counts.resize(static_cast<std::size_t>(n), 2.);
  counts[0] = 1;
  const Array sums = x / scale * array(counts, Shape(n), x.dtype());
  return arranged(real(ifft(sums * turns(n, 1, x.dtype()))));
}

Array transform(const char* name, const Arg& given, std::optional<Int> size, int along, const std::string& norm, Direction direction) {
  LocScope scope(given.where());
  const SourceLoc loc = given.where();
  if (norm != "backward" && norm != "ortho" && norm != "forward")
    throw Error(fmt::format("{}: unknown norm `{}`; available: backward, ortho, forward", name, norm), detail::effective_loc(loc));
  const Array x = detail::to_inexact(given);
  if (x.dtype().is_complex())
    return complex(transform(name, Arg(real(x), loc), size, along, norm, direction),
                   transform(name, Arg(imag(x), loc), size, along, norm, direction));
  const int axis = detail::normalize_axis(along, x.ndim(), name, given.aval(), loc);
  Array v = convert(moveaxis(x, axis, -1), detail::wide_dtype(x.dtype()));
  const std::int64_t n = size ? std::int64_t{*size} : v.shape().back();
  if (n < 1)
    throw ShapeError(fmt::format("{}: {} points along axis {} of {}; there must be at least 1", name, n, axis, to_string(given.aval())),
                     detail::effective_loc(loc));
  if (n < v.shape().back()) v = v(ellipsis, slice(0, n));
  if (n > v.shape().back()) {
    Shape more = v.shape();
    more[-1] = n - v.shape().back();
    v = concatenate({v, zeros(more, v.dtype())}, -1);
  }
  return moveaxis(along_last_axis(v, direction, norm), -1, axis);
}
Array transform_all(const char* name, const Arg& x, const FftnOptions& options, Direction direction) {
  LocScope scope(x.where());
  std::vector<int> axes;
  const int sizes = options.s.size(), ndim = x.array().ndim();
  if (!options.axes.is_none() || sizes == 0)
    axes = detail::resolve_axes(options.axes, x, name);
  else
    for (int d = ndim - sizes; d < ndim; ++d) axes.push_back(d);
  if ((sizes != 0 && sizes != static_cast<int>(axes.size())) || sizes > ndim)
    throw ShapeError(fmt::format("{}: {} sizes for {} axes of {}; give one for each", name, sizes, axes.size(), to_string(x.aval())),
                     detail::effective_loc(x.where()));
  Array out = x.array();
  for (std::size_t i = 0; i < axes.size(); ++i)
    out = transform(name, Arg(out, x.where()), sizes ? std::optional<Int>(options.s[static_cast<int>(i)]) : std::nullopt, axes[i],
                    options.norm, direction);
  return out;
}

}  // namespace

Array dct(Arg x, FftOptions options) { return transform("dct", x, options.n, options.axis, options.norm, Direction::forward); }
Array idct(Arg x, FftOptions options) { return transform("idct", x, options.n, options.axis, options.norm, Direction::backward); }
Array dctn(Arg x, FftnOptions options) { return transform_all("dctn", x, options, Direction::forward); }
Array idctn(Arg x, FftnOptions options) { return transform_all("idctn", x, options, Direction::backward); }

}  // namespace weft::fft
