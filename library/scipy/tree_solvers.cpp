#include "weft/library/scipy/tree_solvers.h"

#include <fmt/format.h>

#include <cstddef>
#include <string>

#include "weft/core/errors/error.h"
#include "weft/core/ops/promotion.h"
#include "weft/core/trace/trace.h"

namespace weft::detail {

Array solver_leaf(const Array& x, SourceLoc loc) { return to_inexact(Arg(x, loc)); }

void check_solver_leaves(const char* solver, const std::vector<Array>& result, const std::vector<Array>& b, SourceLoc loc) {
  for (std::size_t i = 0; i < b.size(); ++i) {
    const std::string types =
        fmt::format("{}: leaf {} of {} is {}, that of b {}", solver, i, b.size(), to_string(result[i].aval()), to_string(b[i].aval()));
    if (result[i].shape() != b[i].shape()) throw ShapeError(types + "; the shapes must be equal", effective_loc(loc));
    if (result[i].dtype().is_complex() && !b[i].dtype().is_complex()) throw DTypeError(types + "; make b complex", effective_loc(loc));
  }
}

}  // namespace weft::detail
