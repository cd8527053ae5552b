// Recovers scans and fori_loops from the counting while loops as which JAX exports them.
#pragma once
#include <optional>

#include "weft/frontends/stablehlo/import/importer.h"

namespace weft::detail::mlir {

/// The results of the loop `while (cond(carry)) carry = body(carry)` by a scan, if it counts from a constant to another one. Rows that
/// steps read one after the other become the scan's arrays, rows that they write its results; what no step changes is captured. Nothing
/// where the number of steps is not known before it runs.
std::optional<Arrays> counted_loop(const Jaxpr& cond, const Jaxpr& body, const Arrays& start, SourceLoc loc);

}  // namespace weft::detail::mlir
