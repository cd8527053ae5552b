// The files of jax.export: a flatbuffer (jax/_src/export/serialization.fbs) around a module in bytecode.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/frontends/stablehlo/exported.h"

namespace weft::detail {

/// What is read of such a file.
struct ExportedParts {
  std::string function;
  std::string_view module;  ///< within the file's bytes
  std::vector<std::size_t> kept;
  ExportedTree arguments, result;
  std::vector<std::string> platforms;
};

/// Whether the bytes are such a file: a module stands where its table says.
bool is_exported(std::string_view bytes);
/// The module of such a file.
std::string_view module_of_exported(std::string_view bytes, const std::string& file, SourceLoc loc);
/// Throws Error, `FILE:byte N: problem`, where something is outside of the file. Memory is taken in proportion to its size.
ExportedParts read_exported(std::string_view bytes, const std::string& file, SourceLoc loc);

}  // namespace weft::detail
