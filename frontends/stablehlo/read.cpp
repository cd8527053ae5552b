// See read.h.
#include "weft/frontends/stablehlo/read.h"

#include "weft/frontends/stablehlo/bytecode/reader.h"
#include "weft/frontends/stablehlo/exported/file.h"
#include "weft/frontends/stablehlo/gspmd/to_shardy.h"
#include "weft/frontends/stablehlo/text/parser.h"

namespace weft::detail::mlir {

static Module read(std::string_view bytes, const std::string& file, SourceLoc loc) {
  if (is_bytecode(bytes)) return read_bytecode(bytes, file, loc);
  if (is_exported(bytes)) return read_bytecode(module_of_exported(bytes, file, loc), file, loc);
  return parse_module(bytes, file, loc);
}

Module read_module(std::string_view bytes, const std::string& file, SourceLoc loc) {
  Module module = read(bytes, file, loc);
  to_shardy(module, file, loc);
  return module;
}

}  // namespace weft::detail::mlir
