#include "weft/transforms/autodiff/linear_solve.h"

#include <fmt/format.h>

#include "weft/core/array/array_lists.h"
#include "weft/core/errors/error.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/linalg/linear_solve.h"
#include "weft/core/trace/trace.h"
#include "weft/transforms/autodiff/differentiate.h"

namespace weft::detail {

Jaxpr trace_keeping_types(const char* operation, const char* what, const char* argument, FlatFunction& f, SourceLoc loc) {
  const std::vector<Aval> given = avals_of(f.args);
  TraceRequest request = request_for(f, what, given);
  request.what = fmt::format("{} of {}", what, operation);
  Jaxpr j = trace_jaxpr(request, [&](std::span<const Array> in) { return f.run(in); });

  Skeleton takes = f.arguments(), returned = f.result();
  returned.label = fmt::format("result of {}", what);
  std::vector<std::string> paths = leaf_paths(takes);
  const std::vector<Aval> out = j.data().output_avals();
  if (out.size() != given.size()) throw_structure_mismatch(operation, takes, returned, loc);
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (!given[i].dtype.is_inexact())
      throw DTypeError(
          fmt::format("{}: the {}'s {} is {}; convert it to a floating dtype", operation, argument, paths[i], to_string(given[i])), loc);
    const std::string message = fmt::format("{}: {} gives {} for the {}'s {}, which is {}; each function gives what it takes", operation,
                                            what, to_string(out[i]), argument, paths[i], to_string(given[i]));
    if (out[i].shape != given[i].shape) throw ShapeError(message, loc);
    if (out[i].dtype != given[i].dtype) throw DTypeError(message, loc);
  }
  return j;
}

namespace {
LinearMap trace_map(const char* what, FlatFunction& f, SourceLoc loc) {
  return {trace_keeping_types("custom_linear_solve", what, "right-hand side", f, loc)};
}
}  // namespace

std::vector<Array> flat_linear_solve(FlatFunction& matvec, FlatFunction* vecmat, FlatFunction& solve, FlatFunction* transpose_solve,
                                     SourceLoc loc) {
  const LinearMap a = trace_map("matvec", matvec, loc), s = trace_map("solve", solve, loc);
  if (!vecmat || !transpose_solve) return linear_solve(a, s, nullptr, nullptr, solve.args, loc);
  const LinearMap at = vecmat == &matvec ? a : [&] {
    const LocScope scope(loc);  // it is the library's own function
    return trace_map("the transposed matvec", *vecmat, loc);
  }();
  const LinearMap st = transpose_solve == &solve ? s : trace_map("transpose_solve", *transpose_solve, loc);
  return linear_solve(a, s, &at, &st, solve.args, loc);
}

}  // namespace weft::detail
