// What regions of two scalars do, for operations that combine elements by them.
#pragma once
#include <optional>
#include <vector>

#include "weft/core/ir/jaxpr.h"
#include "weft/frontends/stablehlo/import/importer.h"

namespace weft::detail::mlir {

/// A program of two scalars that is one operation on them, or just the second of them.
enum class CombinerName { add, mul, max, min, sub, logical_and, logical_or, second };
std::optional<CombinerName> combiner_name(const Jaxpr& j);

/// A region of n values and n updates to each of them as n programs of two scalars. An Error where a result depends on other values than
/// its own.
std::vector<Jaxpr> split_region(const OpCall& c, const Jaxpr& region, std::size_t n);

/// The elements of a constant.
Array array_of(const Attribute& dense, const OpCall& c);

}  // namespace weft::detail::mlir
