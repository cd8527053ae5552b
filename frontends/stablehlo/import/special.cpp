// Special functions of chlo that are no primitives of weft, but functions of its library.
#include "weft/library/jnp/special.h"
#include "weft/frontends/stablehlo/import/importer.h"
#include "weft/library/jnp/integrals.h"

namespace weft::detail::mlir {
namespace {

const Import bessel_i1e_import("chlo.bessel_i1e", Kinds::inexact, [](OpCall& c) -> Values { return {i1e(c.in(0))}; });
const Import zeta_import("chlo.zeta", Kinds::floats, [](OpCall& c) -> Values { return {zeta(c.in(0), c.in(1))}; });

}  // namespace
}  // namespace weft::detail::mlir
