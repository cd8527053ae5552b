// The user's Fourier transforms.
#pragma once
#include <concepts>
#include <optional>
#include <string>
#include <vector>

#include "weft/core/array/array.h"
#include "weft/core/array/axis.h"
#include "weft/core/array/optional_shape.h"

namespace weft {

/// Discrete Fourier transforms, with the meaning of jax.numpy.fft. Real operands are converted to complex ones; float64 gives complex128,
/// all else complex64. Everything is linear, with derivatives to any order.
namespace fft {

struct FftOptions {
  std::optional<Int> n = {};      ///< the signal's length: it is cut, or padded with zeros at the end; absent: its own
  AxisNumber axis = -1;           ///< along which
  std::string norm = "backward";  ///< "backward": divides the inverse by n; "forward": the forward transform; "ortho": both by sqrt(n)
};
// The parameters are in NumPy's order, `fft(x, n, axis, norm)`, or named: `fft(x, {.axis = 0})`; an n of `none` is the signal's own length.

/// The sum over j of x[j] exp(-2 pi i j k / n), for each k.
Array fft(Arg x, std::optional<Int> n, AxisNumber axis = -1, std::string norm = "backward");
inline Array fft(Arg x) { return fft(std::move(x), none); }
Array fft(Arg x, FftOptions options);
/// The inverse of fft.
Array ifft(Arg x, std::optional<Int> n, AxisNumber axis = -1, std::string norm = "backward");
inline Array ifft(Arg x) { return ifft(std::move(x), none); }
Array ifft(Arg x, FftOptions options);
/// The first n / 2 + 1 elements of the fft of a real signal; the others are their mirror image.
Array rfft(Arg x, std::optional<Int> n, AxisNumber axis = -1, std::string norm = "backward");
inline Array rfft(Arg x) { return rfft(std::move(x), none); }
Array rfft(Arg x, FftOptions options);
/// The inverse of rfft: a real signal of length n, which is 2 (m - 1) for m elements if not given.
Array irfft(Arg x, std::optional<Int> n, AxisNumber axis = -1, std::string norm = "backward");
inline Array irfft(Arg x) { return irfft(std::move(x), none); }
Array irfft(Arg x, FftOptions options);
/// The transform of a signal with a real spectrum, given by its first half: irfft of the conjugate, not divided.
Array hfft(Arg x, std::optional<Int> n, AxisNumber axis = -1, std::string norm = "backward");
inline Array hfft(Arg x) { return hfft(std::move(x), none); }
Array hfft(Arg x, FftOptions options);
/// The inverse of hfft.
Array ihfft(Arg x, std::optional<Int> n, AxisNumber axis = -1, std::string norm = "backward");
inline Array ihfft(Arg x) { return ihfft(std::move(x), none); }
Array ihfft(Arg x, FftOptions options);

struct FftnOptions {
  Shape s = {};                   ///< the lengths along the axes; empty: x's own
  Axis axes = none;               ///< none: all, or as many of the last as s has entries
  std::string norm = "backward";  ///< as FftOptions::norm
};
/// fft along several axes, all of them if none are given.
Array fftn(Arg x, OptionalShape s, Axis axes = none, std::string norm = "backward");
inline Array fftn(Arg x) { return fftn(std::move(x), none); }

// Options are those of templates, so that {2, 2} is a shape.
Array fftn(Arg x, FftnOptions o, detail::Nothing auto...) { return fftn(x, o.s, o.axes, o.norm); }
/// The inverse of fftn.
Array ifftn(Arg x, OptionalShape s, Axis axes = none, std::string norm = "backward");
inline Array ifftn(Arg x) { return ifftn(std::move(x), none); }
Array ifftn(Arg x, FftnOptions o, detail::Nothing auto...) { return ifftn(x, o.s, o.axes, o.norm); }
/// rfft along the last of the axes, fft along the others.
Array rfftn(Arg x, OptionalShape s, Axis axes = none, std::string norm = "backward");
inline Array rfftn(Arg x) { return rfftn(std::move(x), none); }
Array rfftn(Arg x, FftnOptions o, detail::Nothing auto...) { return rfftn(x, o.s, o.axes, o.norm); }
/// The inverse of rfftn.
Array irfftn(Arg x, OptionalShape s, Axis axes = none, std::string norm = "backward");
inline Array irfftn(Arg x) { return irfftn(std::move(x), none); }
Array irfftn(Arg x, FftnOptions o, detail::Nothing auto...) { return irfftn(x, std::move(o.s), std::move(o.axes), std::move(o.norm)); }
/// fftn over the last two axes.
Array fft2(Arg x, OptionalShape s, Axis axes = none, std::string norm = "backward");
inline Array fft2(Arg x) { return fft2(std::move(x), none); }
Array fft2(Arg x, FftnOptions o, detail::Nothing auto...) { return fft2(x, o.s, o.axes, o.norm); }
/// ifftn over the last two axes.
Array ifft2(Arg x, OptionalShape s, Axis axes = none, std::string norm = "backward");
inline Array ifft2(Arg x) { return ifft2(std::move(x), none); }
Array ifft2(Arg x, FftnOptions o, detail::Nothing auto...) { return ifft2(x, o.s, o.axes, o.norm); }
/// rfftn over the last two axes.
Array rfft2(Arg x, OptionalShape s, Axis axes = none, std::string norm = "backward");
inline Array rfft2(Arg x) { return rfft2(std::move(x), none); }
Array rfft2(Arg x, FftnOptions o, detail::Nothing auto...) { return rfft2(x, o.s, o.axes, o.norm); }
/// irfftn over the last two axes.
Array irfft2(Arg x, OptionalShape s, Axis axes = none, std::string norm = "backward");
inline Array irfft2(Arg x) { return irfft2(std::move(x), none); }
Array irfft2(Arg x, FftnOptions o, detail::Nothing auto...) { return irfft2(x, std::move(o.s), std::move(o.axes), std::move(o.norm)); }

/// The frequencies that fft's elements belong to, for samples d apart: 0, 1, ..., then the negative ones, divided by n d.
Array fftfreq(Int n, double d = 1, DType dtype = float32, SourceLoc loc = SourceLoc::here());
/// The same of rfft: 0 to n / 2, divided by n d.
Array rfftfreq(Int n, double d = 1, DType dtype = float32, SourceLoc loc = SourceLoc::here());
/// Moves frequency 0 to the middle of the axes (all of them if none are given).
Array fftshift(Arg x, Axis axes);
inline Array fftshift(Arg x) { return fftshift(std::move(x), none); }
/// The inverse of fftshift.
Array ifftshift(Arg x, Axis axes);
inline Array ifftshift(Arg x) { return ifftshift(std::move(x), none); }

}  // namespace fft
}  // namespace weft
