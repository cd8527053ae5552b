// The PTX of each program that the CPU compiles, written to WEFT_PTX_DIR, so that it can be looked at without a GPU.
#include <fmt/core.h>

#include <cstdlib>
#include <filesystem>

#include "weft/backends/cuda/ptx.h"
#include "weft/core/base/environment.h"
#include "weft/core/base/files.h"
#include "weft/core/errors/error.h"
#include "weft/runtime/sharded/spmd_body.h"

namespace weft::detail {

void keep_ptx(const Jaxpr& j, const std::vector<bool>& donated, const std::string& name) {
  static const std::string_view folder = word_in_environment("WEFT_PTX_DIR");
  if (folder.empty() || communicates(j)) return;
  for (const int architecture : {80, 90}) {
    const std::filesystem::path file = std::filesystem::path(folder) / fmt::format("{:016x}.sm_{}.ptx", structural_hash(j), architecture);
    if (std::filesystem::exists(file)) continue;
    std::string text;
    try {
      text = ptx_text(j, donated, {architecture, false}, "");
    } catch (const Error& e) {
      text = fmt::format("error: {}: {}\n", name, e.message());
    }
    write_file(file, {text}, {}, "WEFT_PTX_DIR", {Sync::none});
  }
}

}  // namespace weft::detail
