// The methods of Array that are functions of arrays.
#include <utility>

#include "weft/core/array/indexing.h"
#include "weft/core/functions/contractions.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/functions/sorting.h"
#include "weft/core/ops/common.h"

namespace weft {

#define WEFT_REDUCTION(name, function)                                                                           \
  Array Array::name(Axis axis, SourceLoc loc) const { return weft::function(Arg(*this, loc), std::move(axis)); } \
  Array Array::name(Axis axis, const ReduceOptions& options, SourceLoc loc) const {                              \
    return weft::function(Arg(*this, loc), std::move(axis), options);                                            \
  }                                                                                                              \
  Array Array::name(const ReduceOptions& options, SourceLoc loc) const { return weft::function(Arg(*this, loc), options); }
WEFT_REDUCTION(sum, sum)
WEFT_REDUCTION(prod, prod)
WEFT_REDUCTION(mean, mean)
WEFT_REDUCTION(var, var)
WEFT_REDUCTION(std, std_)
WEFT_REDUCTION(max, max)
WEFT_REDUCTION(min, min)
WEFT_REDUCTION(argmax, argmax)
WEFT_REDUCTION(argmin, argmin)
WEFT_REDUCTION(any, any)
WEFT_REDUCTION(all, all)
#undef WEFT_REDUCTION

Array Array::T(SourceLoc loc) const { return weft::transpose(Arg(*this, loc)); }
Array Array::mT(SourceLoc loc) const { return weft::swapaxes(Arg(*this, loc), -1, -2); }
Array Array::ravel(SourceLoc loc) const { return weft::ravel(Arg(*this, loc)); }
Array Array::flatten(SourceLoc loc) const { return weft::ravel(Arg(*this, loc)); }
Array Array::real(SourceLoc loc) const { return weft::real(Arg(*this, loc)); }
Array Array::imag(SourceLoc loc) const { return weft::imag(Arg(*this, loc)); }
Array Array::conj(SourceLoc loc) const { return weft::conj(Arg(*this, loc)); }
Array Array::astype(DType dtype, SourceLoc loc) const { return weft::astype(Arg(*this, loc), dtype); }
std::int64_t Array::shape(AxisNumber axis, SourceLoc loc) const {
  return shape()[detail::normalize_axis(axis, ndim(), "shape", aval(), loc)];
}
Array Array::reshape(Shape shape, SourceLoc loc) const { return weft::reshape(Arg(*this, loc), std::move(shape)); }
Array Array::transpose(Axis permutation, SourceLoc loc) const { return weft::transpose(Arg(*this, loc), std::move(permutation)); }
Array Array::swapaxes(AxisNumber a, AxisNumber b, SourceLoc loc) const { return weft::swapaxes(Arg(*this, loc), a, b); }
Array Array::squeeze(Axis axis, SourceLoc loc) const { return weft::squeeze(Arg(*this, loc), std::move(axis)); }
#define WEFT_ALONG_AN_AXIS(name, Options)                                                               \
  Array Array::name(AxisNumber axis, SourceLoc loc) const { return weft::name(Arg(*this, loc), axis); } \
  Array Array::name(const Options& options, SourceLoc loc) const { return weft::name(Arg(*this, loc), options); }
WEFT_ALONG_AN_AXIS(cumsum, CumulativeOptions)
WEFT_ALONG_AN_AXIS(cumprod, CumulativeOptions)
WEFT_ALONG_AN_AXIS(sort, SortOptions)
WEFT_ALONG_AN_AXIS(argsort, SortOptions)
#undef WEFT_ALONG_AN_AXIS
Array Array::cumsum(SourceLoc loc) const { return weft::cumsum(Arg(*this, loc)); }
Array Array::cumprod(SourceLoc loc) const { return weft::cumprod(Arg(*this, loc)); }
Array Array::conjugate(SourceLoc loc) const { return weft::conj(Arg(*this, loc)); }
Array Array::round(SourceLoc loc) const { return weft::round(Arg(*this, loc)); }
Array Array::take(Arg i, std::optional<AxisNumber> axis) const { return weft::take(Arg(*this, i.where()), i, axis); }
Array Array::dot(Arg other) const { return weft::dot(Arg(*this, other.where()), other); }
Array Array::matmul(Arg other) const { return weft::matmul(Arg(*this, other.where()), other); }
Array Array::clip(Arg lo, Arg hi) const { return weft::clip(Arg(*this, lo.where()), lo.array(), hi.array()); }

}  // namespace weft
