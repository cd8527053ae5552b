// Self-checking programs in StableHLO: the files of openxla/stablehlo's own tests, and those that users write in their way.
#pragma once
#include <string>
#include <vector>

#include "weft/core/ir/jaxpr.h"

namespace weft::tools {

/// What came of one function of a file.
struct StablehloOutcome {
  std::string function;
  int num_checks = 0;
  std::string problem;  ///< empty: all checks passed
};

/// Whether the file is one in StableHLO: its name ends in `.mlir`, or its bytes are those of bytecode, or of a function that JAX exported.
bool is_stablehlo(const std::string& path);

/// The program that a file holds, in whatever form: StableHLO or JAX's notation. `arrays` is an .npz file: the latter's
/// constants, and the inputs in0, in1, ... for which a program in StableHLO is read whose sizes are open; empty: there is none.
Jaxpr load_program(const std::string& path, const std::string& arrays);

/// Runs every function without inputs that checks something, and @main, of a file, whose parts are separated by lines `// -----`. What a
/// part's text does wrong is the outcome of a function without a name.
std::vector<StablehloOutcome> check_stablehlo(const std::string& path, const std::string& platform);

}  // namespace weft::tools
