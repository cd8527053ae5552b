// What regions of two scalars do, for operations that combine elements by them.
#pragma once
#include <optional>
#include <vector>

#include "weft/core/ir/jaxpr.h"
#include "weft/frontends/stablehlo/import/importer.h"

namespace weft::detail::mlir {

/// The combiner that a program of two scalars computes by one operation on them, whichever of them comes first.
std::optional<Combiner> combiner_of(const Jaxpr& j);
/// Whether a program of two scalars gives the second of them.
bool gives_second(const Jaxpr& j);
/// Whether a program of two scalars is the primitive on them, in this order.
bool is_program_of(const Jaxpr& j, std::string_view primitive);

/// A region of n values and n updates to each of them as n programs of two scalars. An Error where a result depends on other values than
/// its own.
std::vector<Jaxpr> split_region(const OpCall& c, const Jaxpr& region, std::size_t n);

/// The elements of a constant.
Array array_of(const Attribute& dense, const OpCall& c);

}  // namespace weft::detail::mlir
