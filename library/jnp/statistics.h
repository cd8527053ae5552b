// Statistics and sampled functions of jax.numpy: averages, NaN-ignoring reductions, histograms, polynomials, windows, spaced numbers.
#pragma once
#include <concepts>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/array/array.h"
#include "weft/core/array/axis.h"
#include "weft/core/array/constructors.h"
#include "weft/core/array/optional_shape.h"
#include "weft/core/functions/convolution.h"
#include "weft/core/functions/reductions.h"
#include "weft/library/numpy/numpy.h"

namespace weft {

struct LogsumexpOptions;
namespace detail {
/// The variables of x and those of y in one matrix, for cov and corrcoef.
Array variables_together(const Arg& x, const Array& y, const CovOptions& options);
Array logsumexp_of(const Arg& x, const Axis& axis, const LogsumexpOptions& options);
}  // namespace detail

/// Options of average.
struct AverageOptions {
  detail::NamedFields named = detail::NamedFields();
  Axis axis = none;                   ///< over which, where no axis is an argument
  std::optional<Array> weights = {};  ///< of x's shape, or a vector along the one axis
  bool keepdims = false;              ///< the reduced axes stay, with size 1
};
/// The mean, weighted if there are weights: sum(weights * x) / sum(weights).
Array average(Arg x, Axis axis = none, AverageOptions options = {});
inline Array average(Arg x, Axis axis, const Array& weights) { return average(std::move(x), std::move(axis), {.weights = weights}); }
inline Array average(Arg x, AverageOptions options) { return average(std::move(x), none, std::move(options)); }
/// The maximum minus the minimum.
Array ptp(Arg x, Axis axis = none, ReduceOptions options = {});
inline Array ptp(Arg x, ReduceOptions options) { return ptp(std::move(x), none, std::move(options)); }
/// How many elements aren't 0, int32.
Array count_nonzero(Arg x, Axis axis = none, ReduceOptions options = {});
inline Array count_nonzero(Arg x, ReduceOptions options) { return count_nonzero(std::move(x), none, std::move(options)); }
// Reductions of the elements that are not NaN; NaN of none at all, nanprod 1.
/// The product.
Array nanprod(Arg x, Axis axis = none, ReduceOptions options = {});
inline Array nanprod(Arg x, ReduceOptions options) { return nanprod(std::move(x), none, std::move(options)); }
/// The maximum.
Array nanmax(Arg x, Axis axis = none, ReduceOptions options = {});
inline Array nanmax(Arg x, ReduceOptions options) { return nanmax(std::move(x), none, std::move(options)); }
/// The minimum.
Array nanmin(Arg x, Axis axis = none, ReduceOptions options = {});
inline Array nanmin(Arg x, ReduceOptions options) { return nanmin(std::move(x), none, std::move(options)); }
/// The variance.
Array nanvar(Arg x, Axis axis = none, ReduceOptions options = {});
inline Array nanvar(Arg x, ReduceOptions options) { return nanvar(std::move(x), none, std::move(options)); }
/// The standard deviation.
Array nanstd(Arg x, Axis axis = none, ReduceOptions options = {});
inline Array nanstd(Arg x, ReduceOptions options) { return nanstd(std::move(x), none, std::move(options)); }
/// The first position of the maximum; -1 where all elements are NaN.
Array nanargmax(Arg x, Axis axis = none, ReduceOptions options = {});
inline Array nanargmax(Arg x, ReduceOptions options) { return nanargmax(std::move(x), none, std::move(options)); }
/// The first position of the minimum; -1 where all elements are NaN.
Array nanargmin(Arg x, Axis axis = none, ReduceOptions options = {});
inline Array nanargmin(Arg x, ReduceOptions options) { return nanargmin(std::move(x), none, std::move(options)); }
// Without an axis, of the flattened array.
/// The sum of the elements up to each that are not NaN.
Array nancumsum(Arg x, std::optional<AxisNumber> axis = {});
/// Their product.
Array nancumprod(Arg x, std::optional<AxisNumber> axis = {});
/// The quantile of order q, from 0 to 1, of the elements that are not NaN, by linear interpolation; NaN of none at all.
Array nanquantile(Arg x, Arg q, Axis axis = none, ReduceOptions options = {});
/// The same for q in hundredths, 0 to 100.
Array nanpercentile(Arg x, Arg q, Axis axis = none, ReduceOptions options = {});
inline Array nanquantile(Arg x, Arg q, ReduceOptions o) { return nanquantile(std::move(x), std::move(q), none, std::move(o)); }
inline Array nanpercentile(Arg x, Arg q, ReduceOptions o) { return nanpercentile(std::move(x), std::move(q), none, std::move(o)); }
/// nanquantile of order 0.5.
Array nanmedian(Arg x, Axis axis = none, ReduceOptions options = {});
inline Array nanmedian(Arg x, ReduceOptions options) { return nanmedian(std::move(x), none, std::move(options)); }
/// quantile at several places.
Array quantile(Arg x, std::initializer_list<double> q, Axis axis = none, QuantileOptions options = {});
/// percentile at several places.
Array percentile(Arg x, std::initializer_list<double> q, Axis axis = none, QuantileOptions options = {});
inline Array quantile(Arg x, std::initializer_list<double> q, QuantileOptions o) { return quantile(std::move(x), q, none, std::move(o)); }
Array percentile(Arg x, std::initializer_list<double> q, QuantileOptions o);
/// The standard deviation, std_: `jnp::std(x, {.axis = 0})`.
inline Array std(Arg x, ReduceOptions options) { return std_(std::move(x), std::move(options)); }

/// The covariances of the variables in x and in y together.
Array cov(Arg x, const std::same_as<Array> auto& y, CovOptions o = {}) { return cov(detail::variables_together(x, y, o), o); }
/// Their correlations.
Array corrcoef(Arg x, const std::same_as<Array> auto& y, CovOptions o = {}) { return corrcoef(detail::variables_together(x, y, o), o); }

/// Options of digitize.
struct DigitizeOptions {
  bool right = false;  ///< intervals contain their right edge instead of their left one
};
/// For each element the number of the interval of `bins`, which ascend or descend, that contains it: 0 before the first edge, bins.size()
/// after the last.
Array digitize(Arg x, Arg bins, DigitizeOptions options = {});
/// Two bounds, `{0, 1}`, or none. (A std::optional of a pair can't be made from `{0, 1}`.)
class HistogramRange {
 public:
  HistogramRange(detail::NoneValue auto) {}
  template <ScalarType A, ScalarType B>
  HistogramRange(A lower, B upper) : bounds_(std::in_place, static_cast<double>(lower), static_cast<double>(upper)) {}
  HistogramRange(std::pair<double, double> bounds) : bounds_(bounds) {}
  const std::optional<std::pair<double, double>>& value() const { return bounds_; }

 private:
  std::optional<std::pair<double, double>> bounds_;
};
/// Options of histogram.
struct HistogramBins {
  Int bins = 10;                      ///< the number of equal intervals, where it is not an argument
  HistogramRange range = none;        ///< of the bins; absent: from the least element to the largest
  std::optional<Array> weights = {};  ///< added up in place of ones; of x's shape
  bool density = false;               ///< divided by the total and by the bins' widths
};
/// Result of histogram.
struct HistogramCounts {
  Array counts;  ///< one for each bin
  Array edges;   ///< of the bins, one more than there are bins
};
/// The number of elements in each of `bins` equal intervals, which contain their left edge; the last one contains both.
HistogramCounts histogram(Arg x, HistogramBins options = {});
// A template, so that `{.bins = 20}` is options.
HistogramCounts histogram(Arg x, std::convertible_to<Int> auto bins, HistogramBins options = {}) {
  options.bins = bins;
  return histogram(std::move(x), std::move(options));
}
/// The same for given, ascending edges.
HistogramCounts histogram_of_edges(Arg x, Arg edges, HistogramBins options = {});
/// Whether each element of x is one of the values.
Array isin(Arg x, Arg values, bool invert = false);
/// The positions that sort by the last key, equal elements by the one before it, and so on.
Array lexsort(Args keys, AxisNumber axis = -1);

/// The derivative along an axis of samples at a distance, or at the coordinates that a vector gives, by differences: of second order
/// inside, one-sided ones at the ends. An axis needs two elements, and a vector as many as the axis has (ShapeError).
Array gradient(Arg x, Arg spacing = 1, AxisNumber axis = 0);
/// The differences of neighbours of the flattened array.
Array ediff1d(Arg x);
/// Options of unwrap.
struct UnwrapOptions {
  detail::NamedFields named = detail::NamedFields();
  std::optional<double> discont = {};  ///< smaller jumps stay; absent, and at least: half a period
  AxisNumber axis = -1;                ///< along which
  double period = 6.283185307179586;   ///< in which the values repeat
};
/// Angles with multiples of 2 pi added so that neighbours along the axis differ by pi at most; or values of another period.
Array unwrap(Arg x, UnwrapOptions options);
Array unwrap(Arg x, AxisNumber axis = -1);
/// The rows 1, x, x^2, ... of elements of a vector; the highest power first unless `increasing`.
Array vander(Arg x, std::optional<Int> n = {}, bool increasing = false);
/// Options of vander.
struct VanderOptions {
  bool increasing = false;  ///< the lowest power first
};
inline Array vander(Arg x, std::optional<Int> n, VanderOptions options) { return vander(std::move(x), n, options.increasing); }
/// Options of polyfit.
struct PolyfitOptions {
  std::optional<Array> w = {};  ///< factors of the distances, one for each point
};
/// The coefficients, the highest power first, of the polynomial of a degree that is nearest to the points by least squares.
Array polyfit(Arg x, Arg y, Int degree, PolyfitOptions options = {});

/// Options of logsumexp.
struct LogsumexpOptions {
  detail::NamedFields named = detail::NamedFields();
  Axis axis = none;                 ///< over which, where no axis is an argument
  std::optional<Array> b = {};      ///< factors of the exponentials; a negative sum has no logarithm, and is NaN
  bool keepdims = false;            ///< the reduced axes stay, with size 1
  std::optional<Array> where = {};  ///< a mask: only elements where it is true take part
};
/// log(sum(b * exp(x))) without overflow. A template, so that what needs no factors is the other logsumexp.
Array logsumexp(Arg x, LogsumexpOptions options, detail::Nothing auto...) { return detail::logsumexp_of(x, none, options); }
Array logsumexp(Arg x, Axis axis, LogsumexpOptions options, detail::Nothing auto...) { return detail::logsumexp_of(x, axis, options); }

/// The convolution of two matrices, with zeros around them (jax.scipy.signal.convolve2d): mode "full", "same", of a's shape, or "valid",
/// where one matrix lies inside of the other. Throws Error for another mode, ShapeError for what is no matrix.
Array convolve2d(Arg a, Arg kernel, TextArg mode = "full");
Array convolve2d(Arg a, Arg kernel, ModeOption options);

// Polynomials are vectors of coefficients, the highest power first.
/// The sum of two polynomials.
Array polyadd(Arg a, Arg b);
/// Their difference.
Array polysub(Arg a, Arg b);
/// Their product.
Array polymul(Arg a, Arg b);
/// The m-th derivative of a polynomial.
Array polyder(Arg p, Int m = 1);
/// The m-th integral of a polynomial, with constants 0.
Array polyint(Arg p, Int m = 1);

/// The sum of conj(a) * b over an axis, which both have; the others broadcast.
Array vecdot(Arg a, Arg b, AxisNumber axis = -1);
/// The matrices times the vectors in the last axis of b; leading axes broadcast.
Array matvec(Arg a, Arg b);
/// The conjugated vectors in the last axis of a times the matrices; leading axes broadcast.
Array vecmat(Arg a, Arg b);

/// Options of linspace, logspace and geomspace.
struct SpaceOptions {
  bool endpoint = true;             ///< whether the last value is `stop`
  std::optional<DType> dtype = {};  ///< absent: as linspace
  AxisNumber axis = 0;              ///< the result's, along which the values run
};
/// linspace, with `stop` or without.
Array linspace(Arg start, Arg stop, Int num, SpaceOptions options);
Array linspace(Arg a, Arg b, Int num, std::same_as<bool> auto endpoint) { return linspace(a, b, num, {.endpoint = endpoint}); }
/// Arguments of linspace by name.
struct LinspaceArguments {
  detail::NamedFields named = detail::NamedFields();
  Int num = 50;                     ///< how many values
  bool endpoint = true;             ///< as of SpaceOptions
  std::optional<DType> dtype = {};  ///< as of SpaceOptions
  AxisNumber axis = 0;              ///< as of SpaceOptions
};
Array linspace(Arg a, Arg b, LinspaceArguments o, detail::Nothing auto...) { return linspace(a, b, o.num, {o.endpoint, o.dtype, o.axis}); }
/// base to the power of each of linspace's values.
Array logspace(double start, double stop, Int num = 50, double base = 10, SpaceOptions options = {});
/// The same in a dtype.
Array logspace(double a, double b, Int n, std::same_as<DType> auto dtype) { return logspace(a, b, n, 10, {.dtype = dtype}); }
Array logspace(double a, double b, Int n, std::same_as<bool> auto e, double base = 10) { return logspace(a, b, n, base, {.endpoint = e}); }
/// Values with equal ratios between neighbours; start and stop must have the same sign.
Array geomspace(double start, double stop, Int num = 50, SpaceOptions options = {});
/// The same in a dtype.
Array geomspace(double a, double b, Int num, std::same_as<DType> auto dtype) { return geomspace(a, b, num, {.dtype = dtype}); }
Array geomspace(double a, double b, Int num, std::same_as<bool> auto endpoint) { return geomspace(a, b, num, {.endpoint = endpoint}); }
/// start, start + 1, ... before stop.
Array arange(detail::Number start, detail::Number stop, DType dtype, SourceLoc loc = SourceLoc::here());
/// Windows of n points: cosine ones (hanning, hamming, blackman) and a triangle (bartlett). `hanning(n, float64)` in double precision.
Array hanning(Int n, DType dtype = float32, SourceLoc loc = SourceLoc::here());
Array hamming(Int n, DType dtype = float32, SourceLoc loc = SourceLoc::here());
Array blackman(Int n, DType dtype = float32, SourceLoc loc = SourceLoc::here());
Array bartlett(Int n, DType dtype = float32, SourceLoc loc = SourceLoc::here());
/// Kaiser's window: i0(beta sqrt(1 - t^2)) / i0(beta), t from -1 to 1.
Array kaiser(Int n, double beta, DType dtype = float32, SourceLoc loc = SourceLoc::here());

/// The properties of a floating dtype, or of the parts of a complex one (jnp.finfo).
struct FloatInfo {
  int bits;                      ///< that a number takes
  double eps;                    ///< the distance from 1 to the next number
  double max, min;               ///< the largest number, and its negative
  double tiny, smallest_normal;  ///< the least positive number of full precision, by both its names
};
/// Throws DTypeError for other dtypes.
FloatInfo finfo(DType dtype, SourceLoc loc = SourceLoc::here());
/// The properties of an integer dtype (jnp.iinfo).
struct IntegerInfo {
  int bits;           ///< that a number takes
  std::int64_t min;   ///< the lowest number
  std::uint64_t max;  ///< the highest number
};
/// Throws DTypeError for other dtypes.
IntegerInfo iinfo(DType dtype, SourceLoc loc = SourceLoc::here());
/// Whether a dtype converts to another one: by "safe", without loss; by "same_kind", also to fewer bits of the same kind; "no" and "equiv"
/// only to itself; "unsafe" always (jnp.can_cast). Throws Error for other words.
bool can_cast(DType from, DType to, const std::string& casting = "safe");
namespace detail {
inline WeakDType operand_type(DType dtype) { return {dtype}; }
inline WeakDType operand_type(const Arg& x) { return x.aval().weak_dtype(); }
DType promoted_type(const std::vector<WeakDType>& types);
}  // namespace detail
/// The promoted dtype of an operation on all of them: arrays, numbers and dtypes.
DType result_type(const auto&... operands) { return detail::promoted_type({detail::operand_type(operands)...}); }
/// The same of a list: `result_type({x, y})`.
DType result_type(std::initializer_list<Arg> operands);

}  // namespace weft
