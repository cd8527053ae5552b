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

/// An operand's elements in the type that the region's argument has, which may be a wider one of the same kind: operations combine elements
/// in that type. As they are where the region has no such argument, which is an error of its own.
Array promoted(const OpCall& c, std::size_t operand, std::size_t region, std::size_t argument);
/// The same for a type that is known.
Array promoted(const OpCall& c, std::size_t operand, const Type& type);
/// An Error unless the region, as a program, returns these types.
void check_returns(const OpCall& c, const char* what, const Jaxpr& region, const std::vector<Aval>& types);

/// The elements of a constant.
Array array_of(const Attribute& dense, const OpCall& c);

}  // namespace weft::detail::mlir
