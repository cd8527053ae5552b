#include "weft/library/fft/fft.h"

#include <fmt/format.h>

#include <cmath>

#include "weft/core/array/constructors.h"
#include "weft/core/base/float_environment.h"
#include "weft/core/errors/error.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/linalg/fft.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/trace/trace.h"

namespace weft::fft {

using detail::FftType;
using detail::LocScope;

namespace {

/// The lengths of the signal and the axes of one call, both in the caller's order.
struct Request {
  const char* name;
  FftType type;
  std::vector<int> axes;
  std::vector<std::int64_t> lengths;
  std::string norm;
};

bool is_inverse(FftType t) { return t == FftType::ifft || t == FftType::irfft; }

/// The factor by which the primitive's result, whose inverse is divided by n, is multiplied to get the norm asked for.
double scale_of(const Request& r, const Arg& x) {
  double n = 1;
  for (std::int64_t length : r.lengths) n *= static_cast<double>(length);
  if (r.norm == "backward") return 1;
  if (r.norm == "ortho")
    return is_inverse(r.type) ? detail::standard([&] { return std::sqrt(n); }) : detail::standard([&] { return 1 / std::sqrt(n); });
  if (r.norm == "forward") return is_inverse(r.type) ? n : detail::standard([&] { return 1 / n; });
  throw Error(fmt::format("{}: unknown norm `{}`; available: backward, ortho, forward", r.name, r.norm), detail::effective_loc(x.where()));
}

/// x cut to length n, or padded with zeros at the end.
Array resized(const Array& x, int axis, std::int64_t n, SourceLoc loc) {
  if (x.shape()[axis] > n) return detail::slice_axis(x, axis, 0, n, loc);
  detail::PaddingConfig config(static_cast<std::size_t>(x.ndim()));
  config[static_cast<std::size_t>(axis)].high = n - x.shape()[axis];
  return detail::pad_with(x, detail::scalar_like(x, 0), config, loc);
}

Array transform(const Arg& arg, const Request& r) {
  const SourceLoc loc = arg.where();
  const double scale = scale_of(r, arg);
  for (std::int64_t n : r.lengths)
    if (n < 1)
      throw ShapeError(
          fmt::format("{}: {} can't be transformed to length {}; it must be at least 1", r.name, detail::to_string(arg.aval()), n),
          detail::effective_loc(loc));
  const DType dtype = detail::inexact_dtype(arg.array().dtype());
  const bool wide = dtype.real_part() == float64;
  if (r.type == FftType::rfft && dtype.is_complex())
    throw DTypeError(fmt::format("{}: {} is not real; use fft", r.name, detail::to_string(arg.aval())), detail::effective_loc(loc));
  const DType signal = wide ? float64 : float32, spectrum = wide ? complex128 : complex64;
  Array x = detail::as_dtype(arg.array(), r.type == FftType::rfft ? signal : spectrum);
  const int rank = static_cast<int>(r.axes.size());
  for (int i = 0; i < rank; ++i) {
    const std::int64_t n = r.lengths[static_cast<std::size_t>(i)];
    x = resized(x, r.axes[static_cast<std::size_t>(i)], r.type == FftType::irfft && i == rank - 1 ? n / 2 + 1 : n, loc);
  }
  std::vector<int> last;
  for (int i = 0; i < rank; ++i) last.push_back(x.ndim() - rank + i);
  if (last != r.axes) x = moveaxis(x, Axis(r.axes), Axis(last));
  x = detail::fft_of(x, r.type, r.lengths, loc);
  if (last != r.axes) x = moveaxis(x, Axis(last), Axis(r.axes));
  return scale == 1 ? x : x * detail::scalar_like(x, scale);
}

Array along_axis(const char* name, FftType type, const Arg& x, const FftOptions& options) {
  LocScope scope(x.where());
  const int a = detail::normalize_axis(options.axis, x.array().ndim(), name, x.aval(), x.where());
  const std::int64_t size = x.array().shape()[a];
  const std::int64_t n = options.n ? std::int64_t{*options.n} : type == FftType::irfft ? 2 * (size - 1) : size;
  return transform(x, {name, type, {a}, {n}, options.norm});
}

Array along_axes(const char* name, FftType type, const Arg& x, const FftnOptions& options) {
  LocScope scope(x.where());
  Axis axes = options.axes;
  if (axes.is_none() && !options.s.empty()) {
    std::vector<int> last;
    for (int i = 0; i < options.s.size(); ++i) last.push_back(i - options.s.size());
    axes = Axis(last);
  }
  std::vector<int> resolved;
  if (axes.is_none())
    resolved = detail::resolve_axes(axes, x, name);
  else
    for (int a : axes.axes()) resolved.push_back(detail::normalize_axis(a, x.array().ndim(), name, x.aval(), x.where()));
  detail::resolve_axes(Axis(resolved), x, name);  // none is named twice
  if (!options.s.empty() && static_cast<std::size_t>(options.s.size()) != resolved.size())
    throw ShapeError(
        fmt::format("{}: {} lengths are given for {} axes; the numbers must be equal", name, options.s.size(), resolved.size()),
        detail::effective_loc(x.where()));
  if (resolved.empty()) return detail::as_dtype(x.array(), promote_types(x.array().dtype(), complex64));
  std::vector<std::int64_t> lengths;
  for (std::size_t i = 0; i < resolved.size(); ++i) {
    const std::int64_t size = x.array().shape()[resolved[i]];
    const bool halved = type == FftType::irfft && i + 1 == resolved.size();
    lengths.push_back(!options.s.empty() ? options.s[i] : halved ? 2 * (size - 1) : size);
  }
  return transform(x, {name, type, resolved, lengths, options.norm});
}

FftnOptions over_two(FftnOptions options) {
  if (options.axes.is_none()) options.axes = {-2, -1};
  return options;
}
/// The options with "forward" and "backward" exchanged.
FftOptions swapped(FftOptions options) {
  if (options.norm != "ortho")
    options.norm = options.norm == "backward" ? "forward" : options.norm == "forward" ? "backward" : options.norm;
  return options;
}

Array shifted(const Arg& x, const Axis& axes, const char* name, bool back) {
  LocScope scope(x.where());
  const std::vector<int> resolved = detail::resolve_axes(axes, x, name);
  if (resolved.empty()) return x.array();
  Shape by;
  for (int a : resolved) {
    const std::int64_t n = x.array().shape()[a];
    by.push_back(back ? -(n / 2) : n / 2);
  }
  return roll(x, by, Axis(resolved));
}

void check_frequencies(const char* name, std::int64_t n, DType dtype, SourceLoc loc) {
  if (n < 1)
    throw ShapeError(fmt::format("{}: {} samples have no frequencies; it must be at least 1", name, n), detail::effective_loc(loc));
  if (!dtype.is_floating())
    throw DTypeError(fmt::format("{}: frequencies can't be {}; ask for a floating dtype", name, dtype.name()), detail::effective_loc(loc));
}

}  // namespace

Array fft(Arg x, FftOptions options) { return along_axis("fft", FftType::fft, x, options); }
Array ifft(Arg x, FftOptions options) { return along_axis("ifft", FftType::ifft, x, options); }
Array rfft(Arg x, FftOptions options) { return along_axis("rfft", FftType::rfft, x, options); }
Array irfft(Arg x, FftOptions options) { return along_axis("irfft", FftType::irfft, x, options); }
Array hfft(Arg x, FftOptions options) {
  LocScope scope(x.where());
  return along_axis("hfft", FftType::irfft, Arg(conj(x), x.where()), swapped(options));
}
Array ihfft(Arg x, FftOptions options) {
  LocScope scope(x.where());
  return conj(along_axis("ihfft", FftType::rfft, x, swapped(options)));
}

Array fft(Arg x, std::optional<Int> n, AxisNumber axis, std::string norm) {
  return fft(std::move(x), FftOptions{n, axis, std::move(norm)});
}
Array ifft(Arg x, std::optional<Int> n, AxisNumber axis, std::string norm) {
  return ifft(std::move(x), FftOptions{n, axis, std::move(norm)});
}
Array rfft(Arg x, std::optional<Int> n, AxisNumber axis, std::string norm) {
  return rfft(std::move(x), FftOptions{n, axis, std::move(norm)});
}
Array irfft(Arg x, std::optional<Int> n, AxisNumber axis, std::string norm) {
  return irfft(std::move(x), FftOptions{n, axis, std::move(norm)});
}
Array hfft(Arg x, std::optional<Int> n, AxisNumber axis, std::string norm) {
  return hfft(std::move(x), FftOptions{n, axis, std::move(norm)});
}
Array ihfft(Arg x, std::optional<Int> n, AxisNumber axis, std::string norm) {
  return ihfft(std::move(x), FftOptions{n, axis, std::move(norm)});
}

Array fftn(Arg x, OptionalShape s, Axis axes, std::string norm) {
  return along_axes("fftn", FftType::fft, x, {s.value(), std::move(axes), std::move(norm)});
}
Array ifftn(Arg x, OptionalShape s, Axis axes, std::string norm) {
  return along_axes("ifftn", FftType::ifft, x, {s.value(), std::move(axes), std::move(norm)});
}
Array rfftn(Arg x, OptionalShape s, Axis axes, std::string norm) {
  return along_axes("rfftn", FftType::rfft, x, {s.value(), std::move(axes), std::move(norm)});
}
Array irfftn(Arg x, OptionalShape s, Axis axes, std::string norm) {
  return along_axes("irfftn", FftType::irfft, x, {s.value(), std::move(axes), std::move(norm)});
}
Array fft2(Arg x, OptionalShape s, Axis axes, std::string norm) {
  return along_axes("fft2", FftType::fft, x, over_two({s.value(), std::move(axes), std::move(norm)}));
}
Array ifft2(Arg x, OptionalShape s, Axis axes, std::string norm) {
  return along_axes("ifft2", FftType::ifft, x, over_two({s.value(), std::move(axes), std::move(norm)}));
}
Array rfft2(Arg x, OptionalShape s, Axis axes, std::string norm) {
  return along_axes("rfft2", FftType::rfft, x, over_two({s.value(), std::move(axes), std::move(norm)}));
}
Array irfft2(Arg x, OptionalShape s, Axis axes, std::string norm) {
  return along_axes("irfft2", FftType::irfft, x, over_two({s.value(), std::move(axes), std::move(norm)}));
}

Array fftfreq(Int samples, double d, DType dtype, SourceLoc loc) {
  const std::int64_t n = samples;
  check_frequencies("fftfreq", n, dtype, loc);
  LocScope scope(loc);
  const Array k = arange(n, detail::wide_dtype(dtype));
  const Array frequencies = where(k < static_cast<double>(n / 2 + n % 2), k, k - static_cast<double>(n)) /
                            detail::standard([&] { return d * static_cast<double>(n); });
  return detail::as_dtype(frequencies, dtype);
}
Array rfftfreq(Int samples, double d, DType dtype, SourceLoc loc) {
  const std::int64_t n = samples;
  check_frequencies("rfftfreq", n, dtype, loc);
  LocScope scope(loc);
  return detail::as_dtype(arange(n / 2 + 1, detail::wide_dtype(dtype)) / (d * static_cast<double>(n)), dtype);
}
Array fftshift(Arg x, Axis axes) { return shifted(x, axes, "fftshift", false); }
Array ifftshift(Arg x, Axis axes) { return shifted(x, axes, "ifftshift", true); }

}  // namespace weft::fft
