#include "weft/library/linalg/linalg_strict.h"

#include <fmt/format.h>

#include "weft/core/errors/error.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/control/callback.h"
#include "weft/core/ops/elementwise/stop_gradient.h"
#include "weft/core/trace/trace.h"

namespace weft::linalg::strict {

using namespace detail;

namespace {

/// Called with whether each matrix's result is finite.
struct ThrowIfFailed final : CallbackFunction {
  ThrowIfFailed(std::string w, SourceLoc l) : wrong(std::move(w)), loc(l) {}
  const std::string wrong;
  const SourceLoc loc;

  std::vector<Array> call(std::span<const Array> leaves) const override {
    const std::vector<bool> good = leaves[0].to_vector<bool>();
    for (std::size_t i = 0; i < good.size(); ++i) {
      if (good[i]) continue;
      std::string which = leaves[0].ndim() == 0 ? "the matrix" : fmt::format("matrix {} of {}", i, good.size());
      if (const std::string label = callback_label(); !label.empty()) which += " (" + label + ")";
      throw Error(fmt::format(fmt::runtime(wrong), which), loc);
    }
    return {};
  }
};

/// `wrong` has `{}` where the matrix is named. `result` has as many leading dimensions as there are such of matrices.
void check(const Array& result, int matrix_dims, const std::string& wrong, const Arg& a) {
  const SourceLoc loc = effective_loc(a.where());
  const LocScope scope(loc);
  const int n = result.ndim();
  std::vector<int> axes;
  for (int d = n - matrix_dims; d < n; ++d) axes.push_back(d);
  const Array good = all(isfinite(stop_gradient_of(result, loc)), Axis(axes));
  const auto f = make_ref<ThrowIfFailed>(fmt::format("linalg::strict::{}; operand: {}", wrong, to_string(a.aval())), loc);
  bind_debug_callback({CallbackParam{"linalg::strict", f, loc}, {}}, std::span(&good, 1), loc);
}

}  // namespace

Array cholesky(Arg a, CholeskyOptions options) {
  const Array l = linalg::cholesky(a, options);
  check(l, 2, "cholesky: {} is not positive definite", a);
  return l;
}
Array solve(Arg a, Arg b) {
  const Array x = linalg::solve(a, b);
  check(x, x.ndim() < a.aval().ndim() ? 1 : 2, "solve: {} is singular, or not finite", a);
  return x;
}
Array inv(Arg a) {
  const Array x = linalg::inv(a);
  check(x, 2, "inv: {} is singular, or not finite", a);
  return x;
}
Eigh eigh(Arg a) {
  Eigh r = linalg::eigh(a);
  check(r.eigenvalues, 1, "eigh: the eigenvalues of {} were not found; it must be finite", a);
  return r;
}
Svd svd(Arg a, SvdOptions options) {
  Svd r = linalg::svd(a, options);
  check(r.s, 1, "svd: the singular values of {} were not found; it must be finite", a);
  return r;
}

}  // namespace weft::linalg::strict
