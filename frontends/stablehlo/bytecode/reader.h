// Reads MLIR bytecode into the module that the reader of texts makes as well: portable artifacts in VHLO of version 0.9 and later, and
// modules in the dialects builtin, func, stablehlo, chlo and sdy themselves.
#pragma once
#include <string>
#include <string_view>

#include "weft/core/errors/error.h"
#include "weft/frontends/stablehlo/module/module.h"

namespace weft::detail::mlir {

bool is_bytecode(std::string_view bytes);
/// Throws Error, `FILE:byte N: problem`, for bytes that are no such module. Memory is taken in proportion to their number. Elements of
/// constants stay where they are: the bytes outlive the module.
Module read_bytecode(std::string_view bytes, const std::string& file, SourceLoc loc);

}  // namespace weft::detail::mlir
