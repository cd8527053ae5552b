// Reads MLIR text that holds StableHLO: a module or functions on their own, in the generic form of operations
// (`"stablehlo.add"(%a, %b) : (...) -> ...`) and in the pretty forms that stablehlo-opt and JAX print.
#pragma once
#include <string_view>

#include "weft/core/errors/error.h"
#include "weft/frontends/stablehlo/module/module.h"

namespace weft::detail::mlir {

/// Throws Error, `FILE:LINE:COLUMN: problem`, for what is no such text. Memory is taken in proportion to the text's size.
Module parse_module(std::string_view text, const std::string& file, SourceLoc loc);

}  // namespace weft::detail::mlir
