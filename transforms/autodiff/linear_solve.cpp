#include "weft/transforms/autodiff/linear_solve.h"

#include <fmt/format.h>

#include "weft/core/array/array_lists.h"
#include "weft/core/errors/error.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/linalg/linear_solve.h"
#include "weft/core/trace/trace.h"
#include "weft/transforms/autodiff/differentiate.h"

namespace weft::detail {
namespace {

/// Traces one of the functions, which must return values of b's types.
LinearMap trace_map(const char* what, FlatFunction& f, SourceLoc loc) {
  const std::vector<Aval> b = avals_of(f.args);
  TraceRequest request = request_for(f, what, b);
  request.what = fmt::format("{} of custom_linear_solve", what);
  Jaxpr j = trace_jaxpr(request, [&](std::span<const Array> in) { return f.run(in); });

  Skeleton given = f.arguments(), returned = f.result();
  returned.label = fmt::format("result of {}", what);
  std::vector<std::string> paths = leaf_paths(given);
  const std::vector<Aval> out = j.data().output_avals();
  if (out.size() != b.size()) throw_structure_mismatch("custom_linear_solve", given, returned, loc);
  for (std::size_t i = 0; i < b.size(); ++i) {
    if (!b[i].dtype.is_inexact())
      throw DTypeError(
          fmt::format("custom_linear_solve: the right-hand side's {} is {}; convert it to a floating dtype", paths[i], to_string(b[i])),
          loc);
    const std::string message =
        fmt::format("custom_linear_solve: {} gives {} for the right-hand side's {}, which is {}; each function gives what it takes", what,
                    to_string(out[i]), paths[i], to_string(b[i]));
    if (out[i].shape != b[i].shape) throw ShapeError(message, loc);
    if (out[i].dtype != b[i].dtype) throw DTypeError(message, loc);
  }
  return {std::move(j)};
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
