#include "core/linalg.h"

#include <fmt/format.h>

#include "core/elementwise.h"
#include "core/error.h"
#include "core/reductions.h"
#include "core/trace.h"

namespace weft::linalg {

Array norm(Arg a, Axis axis) {
  detail::LocScope scope(a.where());
  detail::resolve_axes(axis, a, "norm");
  if (axis.axes().size() > 2 || (!axis.is_none() && axis.axes().empty()))
    throw AxisError(fmt::format("norm: {} axes of {} are named; name one for vectors, two for matrices, or none for all elements",
                                axis.axes().size(), detail::to_string(a.aval())),
                    detail::effective_loc(a.where()));
  const Array x = detail::as_dtype(a.array(), detail::inexact_dtype(a.array().dtype()));
  return sqrt(sum(x.dtype().is_complex() ? real(x * conj(x)) : x * x, axis));
}

}  // namespace weft::linalg
