#include "weft/library/scipy/signal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "weft/core/array/constructors.h"
#include "weft/core/array/indexing.h"
#include "weft/core/errors/error.h"
#include "weft/core/functions/contractions.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/promote.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/promotion.h"
#include "weft/core/trace/trace.h"
#include "weft/library/fft/fft.h"
#include "weft/library/jnp/joining.h"
#include "weft/library/jnp/statistics.h"
#include "weft/library/linalg/linalg.h"
#include "weft/library/numpy/host_numbers.h"
#include "weft/library/numpy/numpy.h"

namespace weft {

using detail::LocScope;
using detail::to_string;

namespace {

[[noreturn]] void refuse(SourceLoc loc, const std::string& what) { throw Error(what, detail::effective_loc(loc)); }
void check_mode(const char* name, const std::string& mode, SourceLoc loc) {
  if (mode != "full" && mode != "same" && mode != "valid")
    refuse(loc, fmt::format("{}: unknown mode `{}`; available: full, same, valid", name, mode));
}
int axis_of(const Array& x, int axis, const char* name, SourceLoc loc) {
  return detail::normalize_axis(axis, x.ndim(), name, x.aval(), loc);
}
DType complex_of(DType d) { return d.real_part() == float64 ? complex128 : complex64; }
Array part(const Array& x, int axis, std::int64_t start, std::int64_t stop) { return detail::slice_axis(x, axis, start, stop, {}); }

/// The positions of the elements of frames that are step apart.
Array frame_positions(std::int64_t count, std::int64_t step, std::int64_t size) {
  const DType position = detail::position_dtype(count * step + size);
  return expand_dims(arange(0, count, 1, position) * step, 1) + arange(0, size, 1, position);
}
/// The values of a window of n points, as one period of what repeats.
Array window_values(const char* name, const SpectralWindow& window, std::int64_t n, DType dtype, SourceLoc loc) {
  if (window.values()) {
    if (window.values()->shape() != Shape(n))
      refuse(loc,
             fmt::format("{}: the window {} must be a vector of {}, the size of a segment", name, to_string(window.values()->aval()), n));
    return convert(Arg(*window.values(), loc), dtype);
  }
  const std::string& w = window.name();
  std::vector<double> out = detail::host_numbers<double>(name, n, 1, loc);
  for (std::int64_t k = 0; k < n; ++k) {
    const double t = static_cast<double>(k) / static_cast<double>(n), c = std::cos(2 * std::numbers::pi * t);
    if (n == 1 || w == "boxcar")
      out.push_back(1);
    else if (w == "hann")
      out.push_back(.5 - .5 * c);
    else if (w == "hamming")
      out.push_back(.54 - .46 * c);
    else if (w == "blackman")
      out.push_back(.42 - .5 * c + .08 * std::cos(4 * std::numbers::pi * t));
    else if (w == "bartlett")
      out.push_back(1 - std::abs(2 * t - 1));
    else
      refuse(loc, fmt::format("{}: unknown window `{}`; available: hann, hamming, blackman, bartlett, boxcar, or an array", name, w));
  }
  return array(out, Shape(n), dtype, loc);
}

/// What welch, csd and stft have in common.
struct Segments {
  std::int64_t size = 0, step = 0, transform = 0;
  Array window = {};
  bool one_sided = false;
  double fs = 1;
  DType dtype = float32;

  Array frequencies() const { return one_sided ? fft::rfftfreq(transform, 1 / fs, dtype) : fft::fftfreq(transform, 1 / fs, dtype); }
  /// The transforms of the segments of the last axis: (..., segments, frequencies).
  Array transforms(const Array& x, const std::string& trend) const {
    const std::int64_t count = (x.shape().back() - size) / step + 1;
    const Array at = frame_positions(count, step, size);
    Array pieces = take(x, at, -1, {.mode = "promise_in_bounds"});
    if (trend != "none") pieces = detrend(pieces, {.type = trend});
    pieces = pieces * window;
    return one_sided ? fft::rfft(pieces, {.n = transform}) : fft::fft(pieces, {.n = transform});
  }
};
template <class Options>
Segments segments_of(const char* name, const Options& options, std::optional<Int> nperseg, std::int64_t length, DType dtype,
                     SourceLoc loc) {
  Segments s;
  const auto& window = options.window;
  s.size = nperseg ? std::int64_t{*nperseg} : window.values() ? window.values()->size() : length;
  if (s.size < 1) refuse(loc, fmt::format("{}: nperseg is {}; it must be at least 1", name, s.size));
  if (!window.values()) s.size = std::min(s.size, length);
  if (s.size > length) refuse(loc, fmt::format("{}: segments of {} are longer than the signal, {}", name, s.size, length));
  const std::int64_t overlap = options.noverlap ? std::int64_t{*options.noverlap} : s.size / 2;
  if (overlap < 0 || overlap >= s.size)
    refuse(loc, fmt::format("{}: noverlap is {}; it must be at least 0 and less than a segment, {}", name, overlap, s.size));
  s.step = s.size - overlap;
  s.transform = options.nfft ? std::int64_t{*options.nfft} : s.size;
  if (s.transform < s.size) refuse(loc, fmt::format("{}: nfft is {}; it must be at least a segment, {}", name, s.transform, s.size));
  s.window = window_values(name, window, s.size, dtype.real_part(), loc);
  s.one_sided = options.return_onesided && !dtype.is_complex();
  s.fs = options.fs;
  s.dtype = dtype.real_part();
  return s;
}

PowerSpectrum power(const char* name, const Arg& x, const Arg* y, const WelchOptions& options) {
  LocScope scope(x.where());
  const SourceLoc loc = x.where();
  std::vector<Array> v{x.array()};
  if (y) v.push_back(y->array());
  v = detail::promoted_inexact(std::move(v), loc);
  const int axis = axis_of(v[0], options.axis, name, loc);
  for (Array& a : v) a = moveaxis(a, axis_of(a, options.axis, name, loc), -1);
  std::int64_t length = 0;
  for (const Array& a : v) length = std::max(length, a.shape().back());
  for (Array& a : v) {
    Shape more = a.shape();
    more[-1] = length - more.back();
    if (more.back() > 0) a = concatenate({a, zeros(more, a.dtype())}, -1);
  }
  if (length == 0) refuse(loc, fmt::format("{}: {} has no samples", name, to_string(x.aval())));
  if (options.scaling != "density" && options.scaling != "spectrum")
    refuse(loc, fmt::format("{}: unknown scaling `{}`; available: density, spectrum", name, options.scaling));
  if (options.average != "mean" && options.average != "median")
    refuse(loc, fmt::format("{}: unknown average `{}`; available: mean, median", name, options.average));
  const Segments s = segments_of(name, options, options.nperseg, length, v[0].dtype(), loc);
  const Array first = s.transforms(v[0], options.detrend), second = y ? s.transforms(v[1], options.detrend) : first;
  const Array scale = options.scaling == "density" ? 1 / (options.fs * sum(s.window * s.window)) : 1 / square(sum(s.window));
  Array p = y ? conj(first) * second * convert(scale, first.dtype()) : (square(real(first)) + square(imag(first))) * scale;
  if (s.one_sided) {
    // All frequencies stand for two, but 0 and, of an even size, the highest one.
    const std::int64_t n = p.shape().back();
    std::vector<float> counted(static_cast<std::size_t>(n), 2.f);
    counted[0] = 1;
    if (s.transform % 2 == 0) counted.back() = 1;
    p = p * array(counted, Shape(n), s.dtype);
  }
  if (options.average == "mean") {
    p = mean(p, -2);
  } else {
    const std::int64_t count = p.shape()[-2];
    double bias = 1;
    for (std::int64_t i = 2; i < count; i += 2) bias += 1. / static_cast<double>(i + 1) - 1. / static_cast<double>(i);
    p = y ? complex(median(real(p), -2), median(imag(p), -2)) / bias : median(p, -2) / bias;
  }
  return {s.frequencies(), moveaxis(p, -1, axis)};
}

/// The frames, (..., frames, size), added up where they overlap: step apart.
Array overlapped(const Array& frames, std::int64_t step) {
  const std::int64_t count = frames.shape()[-2], size = frames.shape().back();
  const Array at = frame_positions(count, step, size);
  Shape shape(frames.shape().begin(), frames.shape().end() - 2);
  shape.push_back(step * (count - 1) + size);
  return zeros(shape, frames.dtype()).at(ellipsis, at).add(frames);
}

Array extended(const Array& x, std::int64_t n, const std::string& boundary, SourceLoc loc) {
  if (boundary == "none" || n == 0) return x;
  const auto padded = [&](const char* mode) {
    std::vector<std::pair<std::int64_t, std::int64_t>> widths(static_cast<std::size_t>(x.ndim()), {0, 0});
    widths.back() = {n, n};
    return pad(x, PadWidth(widths), PadOptions{.mode = mode});
  };
  if (boundary == "zeros") return padded("constant");
  if (boundary == "even") return padded("reflect");
  if (boundary == "constant") return padded("edge");
  if (boundary != "odd") refuse(loc, fmt::format("stft: unknown boundary `{}`; available: zeros, even, odd, constant, none", boundary));
  const std::int64_t length = x.shape().back();
  if (n >= length) refuse(loc, fmt::format("stft: {} samples at each end can't be continued by {}", length, n));
  const int last = x.ndim() - 1;
  return concatenate({2 * part(x, last, 0, 1) - flip(part(x, last, 1, n + 1), last), x,
                      2 * part(x, last, length - 1, length) - flip(part(x, last, length - n - 1, length - 1), last)},
                     last);
}

}  // namespace

Array fftconvolve(Arg a, Arg b, TextArg how, Axis along) {
  LocScope scope(a.where());
  const std::string& mode = how.str();
  check_mode("fftconvolve", mode, a.where());
  std::vector<Array> v = detail::promoted_inexact({a.array(), b.array()}, a.where());
  if (v[0].ndim() != v[1].ndim())
    throw ShapeError(fmt::format("fftconvolve: {} and {} must have as many dimensions", to_string(a.aval()), to_string(b.aval())),
                     detail::effective_loc(a.where()));
  const std::vector<int> axes = detail::resolve_axes(along, a, "fftconvolve");
  bool inside = true, outside = true;
  for (int d = 0; d < v[0].ndim(); ++d) {
    const std::int64_t m = v[0].shape()[d], n = v[1].shape()[d];
    if (std::find(axes.begin(), axes.end(), d) == axes.end()) {
      if (m != n)
        throw ShapeError(fmt::format("fftconvolve: {} and {} must have the same size along axis {}, which is not among the axes",
                                     to_string(a.aval()), to_string(b.aval()), d),
                         detail::effective_loc(a.where()));
    } else {
      inside = inside && m >= n, outside = outside && m <= n;
    }
  }
  if (mode == "valid" && !inside) {
    if (!outside)
      throw ShapeError(fmt::format("fftconvolve: neither of {} and {} lies inside of the other, as mode valid needs", to_string(a.aval()),
                                   to_string(b.aval())),
                       detail::effective_loc(a.where()));
    std::swap(v[0], v[1]);
  }
  if (v[0].size() == 0 || v[1].size() == 0)
    throw ShapeError(fmt::format("fftconvolve: {} or {} has no elements", to_string(a.aval()), to_string(b.aval())),
                     detail::effective_loc(a.where()));
  Shape sizes;
  for (int d : axes) sizes.push_back(v[0].shape()[d] + v[1].shape()[d] - 1);
  const DType dtype = v[0].dtype();
  Array y;
  if (axes.empty())
    y = v[0] * v[1];
  else if (dtype.is_complex())
    y = fft::ifftn(fft::fftn(v[0], sizes, axes) * fft::fftn(v[1], sizes, axes), sizes, axes);
  else
    y = convert(fft::irfftn(fft::rfftn(v[0], sizes, axes) * fft::rfftn(v[1], sizes, axes), sizes, axes), dtype);
  if (mode == "full") return y;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t m = v[0].shape()[axes[i]], n = v[1].shape()[axes[i]], size = mode == "same" ? m : m - n + 1;
    const std::int64_t start = (sizes[static_cast<int>(i)] - size) / 2;
    y = part(y, axes[i], start, start + size);
  }
  return y;
}
Array correlate2d(Arg a, Arg b, ModeOption options) { return correlate2d(std::move(a), std::move(b), options.mode.value_or("full")); }
Array correlate2d(Arg a, Arg b, TextArg how) {
  LocScope scope(a.where());
  const std::string& mode = how.str();
  check_mode("correlate2d", mode, a.where());
  const Array second = conj(b);
  // The middle, where it lies between two elements, is that of the reversed arrays.
  if (mode == "same") return flip(convolve2d(Arg(flip(a), a.where()), Arg(second, b.where()), mode));
  return convolve2d(a, Arg(flip(second), b.where()), mode);
}

Array detrend(Arg given, DetrendOptions options) {
  LocScope scope(given.where());
  const SourceLoc loc = given.where();
  const Array x = detail::to_inexact(given);
  const int axis = axis_of(x, options.axis, "detrend", loc);
  if (options.type == "constant") return x - mean(x, axis, {.keepdims = true});
  if (options.type != "linear") refuse(loc, fmt::format("detrend: unknown type `{}`; available: linear, constant", options.type));
  const std::int64_t n = x.shape()[axis];
  std::vector<std::int64_t> cuts{0, n};
  for (std::int64_t at : options.bp) {
    if (at < 0 || at > n) refuse(loc, fmt::format("detrend: there is no place {} among {} samples", at, n));
    cuts.push_back(at);
  }
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  const DType dtype = detail::wide_dtype(x.dtype());
  const Array moved = convert(moveaxis(x, axis, -1), dtype);
  std::vector<Array> pieces;
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
    const std::int64_t size = cuts[i + 1] - cuts[i];
    const Array piece = part(moved, moved.ndim() - 1, cuts[i], cuts[i + 1]);
    const Array level = piece - mean(piece, -1, {.keepdims = true});
    // Places counted from the middle are orthogonal to the mean.
    const Array places = arange(0, size, 1, dtype.real_part()) - static_cast<double>(size - 1) / 2;
    const double moment = static_cast<double>(size) * (static_cast<double>(size) * static_cast<double>(size) - 1) / 12;
    pieces.push_back(size < 2 ? level : level - places * (sum(level * places, -1, {.keepdims = true}) / moment));
  }
  return pieces.empty() ? x : convert(moveaxis(concatenate(pieces, -1), -1, axis), x.dtype());
}

PowerSpectrum welch(Arg x, WelchOptions options) { return power("welch", x, nullptr, options); }
PowerSpectrum csd(Arg x, Arg y, WelchOptions options) { return power("csd", x, &y, options); }

ShortTimeTransform stft(Arg given, StftOptions options) {
  LocScope scope(given.where());
  const SourceLoc loc = given.where();
  Array x = detail::to_inexact(given);
  const int axis = axis_of(x, options.axis, "stft", loc);
  x = moveaxis(x, axis, -1);
  if (x.size() == 0) refuse(loc, fmt::format("stft: {} has no samples", to_string(given.aval())));
  const Segments s = segments_of("stft", options, options.nperseg, x.shape().back(), x.dtype(), loc);
  x = extended(x, s.size / 2, options.boundary, loc);
  const std::int64_t length = x.shape().back();
  if (options.padded) {
    const std::int64_t missing = ((s.step - (length - s.size) % s.step) % s.step) % s.size;
    Shape more = x.shape();
    more[-1] = missing;
    if (missing > 0) x = concatenate({x, zeros(more, x.dtype())}, -1);
  }
  const Array t = s.transforms(x, "none") / sum(s.window), moved = moveaxis(t, -1, axis);
  const double start = options.boundary == "none" ? static_cast<double>(s.size) / 2 : 0;
  const std::int64_t count = t.shape()[-2];
  return {s.frequencies(), (arange(0, count, 1, s.dtype) * s.step + start) / options.fs, moved};
}
TimeSignal istft(Arg given, IstftOptions options) {
  LocScope scope(given.where());
  const SourceLoc loc = given.where();
  Array z = given.array();
  z = convert(z, complex_of(z.dtype()));
  if (z.ndim() < 2) refuse(loc, fmt::format("istft: {} must have two dimensions at least", to_string(given.aval())));
  const int frequency = axis_of(z, options.freq_axis, "istft", loc), time = axis_of(z, options.time_axis, "istft", loc);
  if (frequency == time) refuse(loc, "istft: freq_axis and time_axis are the same axis");
  const std::int64_t bins = z.shape()[frequency], usual = options.input_onesided ? 2 * (bins - 1) : bins;
  const std::int64_t size = options.nperseg ? std::int64_t{*options.nperseg} : usual;
  if (size < 1) refuse(loc, fmt::format("istft: nperseg is {}; it must be at least 1", size));
  const std::int64_t transform = options.nfft                                  ? std::int64_t{*options.nfft}
                                 : options.input_onesided && size == usual + 1 ? usual + 1
                                                                               : usual;
  const std::int64_t overlap = options.noverlap ? std::int64_t{*options.noverlap} : size / 2, step = size - overlap;
  if (transform < size) refuse(loc, fmt::format("istft: nfft is {}; it must be at least a segment, {}", transform, size));
  if (overlap < 0 || step < 1)
    refuse(loc, fmt::format("istft: noverlap is {}; it must be at least 0 and less than a segment, {}", overlap, size));
  const Array moved = moveaxis(z, {time, frequency}, {-2, -1});
  Array frames = options.input_onesided ? fft::irfft(moved, {.n = transform}) : fft::ifft(moved, {.n = transform});
  frames = frames(ellipsis, slice(0, size));
  const Array window = window_values("istft", options.window, size, frames.dtype().real_part(), loc);
  const std::int64_t count = frames.shape()[-2];
  Array x = overlapped(frames * window * sum(window), step);
  Array norm = overlapped(broadcast_to(window * window, {count, size}), step);
  if (options.boundary) {
    const std::int64_t length = x.shape().back(), edge = size / 2;
    if (length <= 2 * edge) refuse(loc, "istft: the signal is shorter than the extensions at its ends; use {.boundary = false}");
    x = x(ellipsis, slice(edge, length - edge)), norm = norm(slice(edge, length - edge));
  }
  x = x / where(norm > 1e-10, norm, 1);
  const Array times = arange(0, x.shape().back(), 1, window.dtype()) / options.fs;
  return {times, x.ndim() == 1 ? x : moveaxis(x, -1, frequency < time ? time - 1 : time)};
}

}  // namespace weft
