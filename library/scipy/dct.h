// Discrete cosine transforms (jax.scipy.fft).
#pragma once
#include "weft/core/array/array.h"
#include "weft/library/fft/fft.h"

namespace weft::fft {

/// The discrete cosine transform of type II: twice the sum over j of x[j] cos(pi k (2 j + 1) / (2 n)), for each k. norm "ortho" makes it
/// orthogonal, "forward" divides it by 2 n. Complex signals are transformed by their parts.
Array dct(Arg x, FftOptions options = {});
/// The inverse of dct, a transform of type III.
Array idct(Arg x, FftOptions options = {});
/// dct along several axes, all of them if none are given.
Array dctn(Arg x, FftnOptions options = {});
/// The inverse of dctn.
Array idctn(Arg x, FftnOptions options = {});

}  // namespace weft::fft
