// Further arguments by name of jax.numpy and jax.lax (sets, weighted quantiles, covariances), and rare functions of theirs:
// <weft/weft.h> leaves them out.
#pragma once
#include <concepts>
#include <optional>
#include <string>
#include <string_view>

#include "weft/core/array/array.h"
#include "weft/core/array/axis.h"
#include "weft/core/array/indexing.h"
#include "weft/core/array/optional_shape.h"
#include "weft/core/functions/convolution.h"
#include "weft/library/jnp/further_arguments.h"
#include "weft/library/jnp/lax_names.h"
#include "weft/library/jnp/positions.h"
#include "weft/library/jnp/sets.h"
#include "weft/library/jnp/statistics.h"
#include "weft/library/numpy/numpy.h"

namespace weft {

struct WeightedQuantileOptions;
struct CovArguments;
namespace detail {
/// q counts in shares of `whole`; without weights all elements count alike.
Array weighted_quantile(const Arg& x, const Arg& q, const WeightedQuantileOptions& options, bool skip_nan, double whole);
Array covariance(const Arg& x, const CovArguments& options, bool scaled);
}  // namespace detail

/// Options of isin.
struct IsinOptions {
  bool assume_unique = false;   ///< that neither array has a value twice; the result is the same
  bool invert = false;          ///< whether they are not there
  std::string method = "auto";  ///< without meaning here
};
/// `isin(x, values, {.invert = true})`.
Array isin(Arg x, Arg values, IsinOptions options);
/// Options of intersect1d, setdiff1d and setxor1d, with those of SetOptions.
struct SetArguments {
  detail::NamedFields named = detail::NamedFields();
  bool assume_unique = false;            ///< that neither array has a value twice; the result is the same
  std::optional<Int> size = {};          ///< as of SetOptions
  std::optional<Array> fill_value = {};  ///< as of SetOptions
};
/// `intersect1d(x, y, {.assume_unique = true})`.
Array intersect1d(Arg x, Arg y, SetArguments o, detail::Nothing auto...) { return intersect1d(x, y, SetOptions{o.size, o.fill_value}); }
Array setdiff1d(Arg x, Arg y, SetArguments o, detail::Nothing auto...) { return setdiff1d(x, y, SetOptions{o.size, o.fill_value}); }
Array setxor1d(Arg x, Arg y, SetArguments o, detail::Nothing auto...) { return setxor1d(x, y, SetOptions{o.size, o.fill_value}); }
/// Result of intersect1d_indices.
struct Intersection {
  Array values;      ///< as intersect1d gives them
  Array of_x, of_y;  ///< the first position of each in the flattened x and y, int32
};
/// The values that are in both, and where (intersect1d of jax.numpy with return_indices).
Intersection intersect1d_indices(Arg x, Arg y);

/// Options of quantile and percentile with weights.
struct WeightedQuantileOptions {
  detail::NamedFields named = detail::NamedFields();
  Axis axis = none;                     ///< as of QuantileOptions
  std::string method = "inverted_cdf";  ///< no other: the least element up to which there is the share q of all weights
  bool keepdims = false;                ///< as of QuantileOptions
  std::optional<Array> weights = {};    ///< of x's shape, or of its sizes along the axes; absent: all are 1
};
/// `quantile(x, q, {.axis = 0, .weights = w})`. NaN where a weight is negative or NaN.
Array quantile(Arg x, Arg q, WeightedQuantileOptions o, detail::Nothing auto...) { return detail::weighted_quantile(x, q, o, false, 1); }
Array percentile(Arg x, Arg q, WeightedQuantileOptions o, detail::Nothing auto...) {
  return detail::weighted_quantile(x, q, o, false, 100);
}
/// Options of nanquantile and nanpercentile.
struct NanQuantileOptions {
  detail::NamedFields named = detail::NamedFields();
  Axis axis = none;                   ///< as of QuantileOptions
  std::string method = "";            ///< as of QuantileOptions; "": "linear", or with weights "inverted_cdf", the only one that they have
  bool keepdims = false;              ///< as of QuantileOptions
  std::optional<Array> weights = {};  ///< as of WeightedQuantileOptions
};
namespace detail {
Array nan_quantile_by(const Arg& x, const Arg& q, const NanQuantileOptions& options, double whole);
}
/// The quantile of the elements that are not NaN, by one of quantile's methods: `nanquantile(x, q, {.axis = 0, .method = "lower"})`.
Array nanquantile(Arg x, Arg q, NanQuantileOptions options, detail::Nothing auto...) { return detail::nan_quantile_by(x, q, options, 1); }
template <std::same_as<QuantileOptions> Options>
Array nanquantile(Arg x, Arg q, Options options) {
  return detail::nan_quantile(x, q, options, 1);
}
/// The same for q in hundredths.
Array nanpercentile(Arg x, Arg q, NanQuantileOptions options, detail::Nothing auto...) {
  return detail::nan_quantile_by(x, q, options, 100);
}
template <std::same_as<QuantileOptions> Options>
Array nanpercentile(Arg x, Arg q, Options options) {
  return detail::nan_quantile(x, q, options, 100);
}

/// Options of cov and corrcoef, with those of CovOptions.
struct CovArguments {
  detail::NamedFields named = detail::NamedFields();
  bool rowvar = true, bias = false;                   ///< as of CovOptions
  std::optional<Int> ddof = {};                       ///< as of CovOptions
  std::optional<Array> fweights = {}, aweights = {};  ///< as of CovOptions
  std::optional<DType> dtype = {};                    ///< of the computation and the result, floating
};
/// `cov(x, {.dtype = float64})`.
Array cov(Arg x, CovArguments options, detail::Nothing auto...) { return detail::covariance(x, options, false); }
Array corrcoef(Arg x, CovArguments options, detail::Nothing auto...) { return detail::covariance(x, options, true); }

/// Options of fill_diagonal.
struct FillDiagonalOptions {
  bool wrap = false;  ///< of a matrix with more rows than columns, the diagonal begins again below a row that is left out, as in NumPy
};
/// `fill_diagonal(x, 1, {.wrap = true})`.
Array fill_diagonal(Arg x, Arg value, FillDiagonalOptions options);

/// The number of an array's dimensions (jnp.ndim).
inline int ndim(Arg x) { return x.array().ndim(); }
/// Options of frombuffer and fromfile.
struct RawOptions {
  Int count = -1;  ///< how many elements; -1: all that there are
  Int offset = 0;  ///< how many bytes are left out in front
};
/// Bytes as a vector of a dtype, in this processor's order, copied (jnp.frombuffer). Throws Error where there are fewer, or a part of an
/// element is left.
Array frombuffer(std::string_view bytes, DType dtype, RawOptions options = {}, SourceLoc loc = SourceLoc::here());
/// The same of a file's bytes (np.fromfile). Throws IoError where it can't be read.
Array fromfile(const std::string& path, DType dtype, RawOptions options = {}, SourceLoc loc = SourceLoc::here());

namespace lax {

/// How round decides between two neighbours that are as near.
enum class RoundingMethod { AWAY_FROM_ZERO, TO_NEAREST_EVEN };
/// jax.lax.round by a method: `lax::round(x, lax::RoundingMethod::TO_NEAREST_EVEN)`.
Array round(Arg x, RoundingMethod method);

}  // namespace lax

/// The exclusive or of the elements along axes, bits or bools (jax.lax.reduce_xor).
Array reduce_xor(Arg x, Axis axes);
/// The upper half of the bits of a product of integers of up to 32 bits (jax.lax.mulhi).
Array mulhi(Arg x, Arg y);
/// x with leading dimensions of size 1, to have `rank` of them (jax.lax.broadcast_to_rank).
Array broadcast_to_rank(Arg x, Int rank);
/// A convolution whose kernel differs from place to place (jax.lax.conv_general_dilated_local), of (batch, features, spatial ...): the
/// kernel is (outputs, features * size of the window, spatial sizes of the result ...).
Array conv_general_dilated_local(Arg x, Arg kernel, Shape window_strides, Padding padding, Shape filter_shape, ConvOptions options = {});

}  // namespace weft
