// Arguments that programs give by name to functions of jax.scipy, and that few programs need: <weft/weft.h> leaves them out.
#pragma once
#include <optional>
#include <string>
#include <utility>

#include "weft/core/array/array.h"
#include "weft/core/array/axis.h"
#include "weft/core/functions/convolution.h"
#include "weft/library/jnp/statistics.h"
#include "weft/library/scipy/dct.h"
#include "weft/library/scipy/factorizations.h"
#include "weft/library/scipy/signal.h"
#include "weft/library/stats/samples.h"

namespace weft {

struct BoundaryOptions;
struct MethodOptions;
namespace fft {
struct DctOptions;
}
namespace stats {
struct NanSemOptions;
}
namespace detail {
Array dct_of_type(const Arg& x, const fft::DctOptions& options, bool inverse);
Array sem_of(const Arg& x, const stats::NanSemOptions& options);
Array convolve_beyond(const Arg& a, const Arg& b, const BoundaryOptions& options, bool correlated);
Array convolve_by(const Arg& a, const Arg& b, const MethodOptions& options, bool correlated);
}  // namespace detail

/// Options of convolve2d and correlate2d, with what lies around the first matrix.
struct BoundaryOptions {
  detail::NamedFields named = detail::NamedFields();
  std::string mode = "full";      ///< as of ModeOption
  std::string boundary = "fill";  ///< what lies outside: "fill" fillvalue, "wrap" the matrix again, "symm" the matrix, mirrored
  double fillvalue = 0;           ///< of boundary "fill"
};
/// convolve2d with another boundary than zeros: `convolve2d(a, kernel, {.mode = "same", .boundary = "wrap"})`.
Array convolve2d(Arg a, Arg kernel, BoundaryOptions o, detail::Nothing auto...) { return detail::convolve_beyond(a, kernel, o, false); }
/// The same of correlate2d.
Array correlate2d(Arg a, Arg b, BoundaryOptions o, detail::Nothing auto...) { return detail::convolve_beyond(a, b, o, true); }
/// Options of convolve and correlate, as jax.scipy.signal has them.
struct MethodOptions {
  detail::NamedFields named = detail::NamedFields();
  std::string mode = "full";    ///< as of ModeOption; also of correlate "full" if it is absent, other than without a method
  std::string method = "auto";  ///< "direct" by sums, "fft" by Fourier transforms; "auto" is direct
};
/// convolve by a method: `convolve(a, v, {.mode = "same", .method = "fft"})`.
Array convolve(Arg a, Arg v, MethodOptions o, detail::Nothing auto...) { return detail::convolve_by(a, v, o, false); }
/// correlate by a method.
Array correlate(Arg a, Arg v, MethodOptions o, detail::Nothing auto...) { return detail::convolve_by(a, v, o, true); }
/// Options of fftconvolve.
struct FftconvolveOptions {
  detail::NamedFields named = detail::NamedFields();
  std::string mode = "full";  ///< as of fftconvolve
  Axis axes = none;           ///< as of fftconvolve
};
/// `fftconvolve(a, b, {.mode = "same", .axes = 1})`.
Array fftconvolve(Arg a, Arg b, FftconvolveOptions options);

/// Result of logsumexp_with_sign.
struct SignedLogsumexp {
  Array value;  ///< the logarithm of the sum's absolute value
  Array sign;   ///< the sum's sign: -1, 0 or 1
};
/// The sum of b * exp(x), which may be negative, by its logarithm and its sign (logsumexp with return_sign of jax.scipy.special).
SignedLogsumexp logsumexp_with_sign(Arg x, LogsumexpOptions options = {});

namespace fft {
/// Options of dct and idct.
struct DctOptions {
  detail::NamedFields named = detail::NamedFields();
  Int type = 2;                   ///< of the transform: 2, as in JAX; another throws Error
  std::optional<Int> n = {};      ///< as of FftOptions
  AxisNumber axis = -1;           ///< as of FftOptions
  std::string norm = "backward";  ///< as of FftOptions
};
/// `dct(x, {.type = 2, .norm = "ortho"})`.
Array dct(Arg x, DctOptions options, weft::detail::Nothing auto...) { return weft::detail::dct_of_type(x, options, false); }
Array idct(Arg x, DctOptions options, weft::detail::Nothing auto...) { return weft::detail::dct_of_type(x, options, true); }
}  // namespace fft

namespace linalg {
/// Options of schur.
struct SchurOptions {
  detail::NamedFields named = detail::NamedFields();
  std::string output = "real";  ///< as of schur
};
/// `schur(a, {.output = "complex"})`.
Schur schur(Arg a, SchurOptions options);
/// Options of polar.
struct PolarOptions {
  detail::NamedFields named = detail::NamedFields();
  std::string side = "right";  ///< as of polar
  std::string method = "svd";  ///< "svd" or "qdwh", as in JAX; the factors are the same
};
/// `polar(a, {.side = "left"})`.
Polar polar(Arg a, PolarOptions options);
/// Options of eigvalsh_tridiagonal.
struct TridiagonalOptions {
  std::string select = "a";                              ///< "a": all; "i": those with the numbers in select_range, in ascending order
  std::optional<std::pair<Int, Int>> select_range = {};  ///< the first and the last number, both included
};
/// The eigenvalues of the symmetric matrix with the diagonal d, and e beside it, in ascending order (eigh_tridiagonal of jax.scipy.linalg
/// with eigvals_only): `eigvalsh_tridiagonal(d, e, {.select = "i", .select_range = {{0, 2}}})`.
Array eigvalsh_tridiagonal(Arg d, Arg e, TridiagonalOptions options = {});
}  // namespace linalg

namespace stats {
/// Options of rankdata.
struct RankOptions {
  detail::NamedFields named = detail::NamedFields();
  std::string method = "average";        ///< as of rankdata
  std::optional<AxisNumber> axis = {};   ///< as of rankdata
  std::string nan_policy = "propagate";  ///< ranks beside NaN are NaN; another policy throws Error, as in JAX
};
/// `rankdata(x, {.method = "min", .axis = 1})`.
Array rankdata(Arg x, RankOptions options);
/// Options of sem, with what becomes of NaN.
struct NanSemOptions {
  detail::NamedFields named = detail::NamedFields();
  std::optional<AxisNumber> axis = AxisNumber(0);  ///< as of SemOptions
  Int ddof = 1;                                    ///< as of SemOptions
  std::string nan_policy = "propagate";            ///< "omit": NaN are no samples
  bool keepdims = false;                           ///< as of SemOptions
};
/// `sem(x, {.axis = 1, .nan_policy = "omit"})`.
Array sem(Arg x, NanSemOptions options, weft::detail::Nothing auto...) { return weft::detail::sem_of(x, options); }
}  // namespace stats

}  // namespace weft
