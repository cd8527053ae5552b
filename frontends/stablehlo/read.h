// A module in whatever form it comes: StableHLO's text, MLIR bytecode, or a file of jax.export around that.
#pragma once
#include <string>
#include <string_view>

#include "weft/core/errors/error.h"
#include "weft/frontends/stablehlo/module/module.h"

namespace weft::detail::mlir {

/// The module that the bytes hold, told apart by the first of them. Throws Error where they are damaged. The bytes
/// outlive the module.
Module read_module(std::string_view bytes, const std::string& file, SourceLoc loc);

}  // namespace weft::detail::mlir
