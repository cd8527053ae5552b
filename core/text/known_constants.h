// Constants of JAX's own functions. A text names an inner program's constants but does not hold their values; of the functions listed here
// they are known all the same.
#pragma once
#include <string_view>

#include "weft/core/ir/jaxpr.h"

namespace weft::detail {

/// The values of a constant of the program that is defined as `name` and has this text; empty where they are not known.
std::span<const double> known_constant(std::string_view name, std::string_view program, const Aval& aval);

/// A vector of these values, made by equations.
Atom add_vector(JaxprBuilder& builder, std::span<const double> values, DType dtype, SourceLoc loc);

}  // namespace weft::detail
