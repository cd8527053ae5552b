// See read.h.
#include "weft/frontends/stablehlo/read.h"

#include "weft/frontends/stablehlo/bytecode/reader.h"
#include "weft/frontends/stablehlo/text/parser.h"

namespace weft::detail::mlir {

Module read_module(std::string_view bytes, const std::string& file, SourceLoc loc) {
  return is_bytecode(bytes) ? read_bytecode(bytes, file, loc) : parse_module(bytes, file, loc);
}

}  // namespace weft::detail::mlir
