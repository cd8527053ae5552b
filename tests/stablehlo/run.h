// Programs in StableHLO that check themselves, run in both ways.
#pragma once
#include <doctest/doctest.h>
#include <weft/weft.h>

#include <string>
#include <vector>

#include "tools/programs.h"
#include "weft/frontends/stablehlo/stablehlo.h"
#include "weft/frontends/stablehlo/write.h"

namespace weft::test {

/// Operations as a function @main without inputs.
inline std::string main_of(const std::string& operations) { return "func.func @main() {\n" + operations + "\nfunc.return\n}\n"; }

/// Requires that @main passes its checks, of which there are so many, interpreted and compiled.
inline void passes(const std::string& text, std::size_t checks) {
  CAPTURE(text);
  const StablehloProgram program = parse_stablehlo_checks(text);
  program.jaxpr.check();
  CHECK(program.checks.size() == checks);
  for (const char* backend : {"interp", "cpu"}) {
    CAPTURE(backend);
    CHECK(failed_stablehlo_check(program, tools::run_on(backend, "main", program.jaxpr, {})) == "");
  }
}
inline void passes_in_main(const std::string& operations, std::size_t checks = 1) { passes(main_of(operations), checks); }

}  // namespace weft::test
