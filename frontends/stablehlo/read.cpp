// See read.h.
#include "weft/frontends/stablehlo/read.h"

#include "weft/frontends/stablehlo/bytecode/reader.h"
#include "weft/frontends/stablehlo/exported/file.h"
#include "weft/frontends/stablehlo/text/parser.h"

namespace weft::detail::mlir {

Module read_module(std::string_view bytes, const std::string& file, SourceLoc loc) {
  if (is_bytecode(bytes)) return read_bytecode(bytes, file, loc);
  if (is_exported(bytes)) return read_bytecode(module_of_exported(bytes, file, loc), file, loc);
  return parse_module(bytes, file, loc);
}

}  // namespace weft::detail::mlir
