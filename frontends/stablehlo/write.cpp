// See write.h.
#include "weft/frontends/stablehlo/write.h"

#include "weft/core/base/files.h"
#include "weft/core/errors/boundary.h"
#include "weft/frontends/stablehlo/export/writer.h"

namespace weft {

std::string to_stablehlo(const Jaxpr& j, const StablehloTextOptions& options, SourceLoc loc) {
  return detail::guarded("to_stablehlo", loc, [&] { return detail::mlir::ModuleWriter(options).write(j); });
}

void save_stablehlo(const std::string& path, const Jaxpr& j, const StablehloTextOptions& options, SourceLoc loc) {
  const std::string text = to_stablehlo(j, options, loc);
  detail::guarded("save_stablehlo", loc, [&] { detail::write_file(path, {text}, loc, "save_stablehlo"); });
}

namespace detail {

std::string flat_to_stablehlo(FlatFunction& f, StablehloTextOptions options) {
  const Jaxpr program = flat_make_jaxpr(f);
  if (options.argument_names.empty()) options.argument_names = leaf_paths(f.arguments());
  if (options.result_names.empty()) options.result_names = leaf_paths(f.result());
  return to_stablehlo(program, options, f.loc);
}

}  // namespace detail
}  // namespace weft
