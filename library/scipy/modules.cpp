// jax.scipy's factorisations whose defaults differ from jax.numpy's.
#include "weft/library/scipy/modules.h"

#include <fmt/format.h>

#include "weft/core/errors/error.h"
#include "weft/core/trace/trace.h"

namespace weft::scipy::linalg {

Array cholesky(Arg a, TriangleOptions options) { return cho_factor(std::move(a), options.lower).c; }

Qr qr(Arg a, ScipyQrOptions options) {
  const std::string& mode = options.mode;
  if (mode != "full" && mode != "economic" && mode != "r")
    throw Error(fmt::format("qr: mode is '{}'; available: full, economic, r", mode), a.where());
  Qr out = weft::linalg::qr(std::move(a), {.full_matrices = mode != "economic"});
  if (mode == "r") out.q = Array();
  return out;
}

}  // namespace weft::scipy::linalg
