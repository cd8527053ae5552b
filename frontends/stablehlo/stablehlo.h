// Programs in StableHLO, the portable form in which JAX, PyTorch/XLA and TensorFlow export theirs: read from text, or from bytecode, into
// Jaxprs.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/ir/jaxpr.h"

namespace weft {

/// Which function of a module is read, and for which inputs.
struct StablehloOptions {
  std::string function = "main";              ///< its name, without @
  std::vector<ShapeDtypeStruct> inputs = {};  ///< the types of its inputs; only looked at where sizes of them are open
};

/// One of the checks that a program does of its own results (`check.expect_close`, ...).
struct StablehloCheck {
  enum class Kind {
    equal,         ///< the same numbers; zeros of either sign are equal
    almost_equal,  ///< within `tolerance`
    close,         ///< between min_ulp_difference and max_ulp_difference representable numbers apart
  };
  Kind kind = Kind::equal;               ///< what is compared, and how
  double tolerance = 0;                  ///< of almost_equal, absolute
  std::uint64_t max_ulp_difference = 1;  ///< of close: at most so many representable numbers apart
  std::uint64_t min_ulp_difference = 0;  ///< of close: at least so many
  int line = 0;                          ///< where it is in the text, or in that which bytecode was made of
};

/// A program and the checks it does: the program's results are those of the function, and then the two arrays of each check, what was
/// computed and what is expected.
struct StablehloProgram {
  Jaxpr jaxpr;                              ///< the function, and behind its results what is checked
  int num_results = 0;                      ///< of the function
  std::vector<StablehloCheck> checks = {};  ///< each of two arrays
};

/// The function @main (or another one) of a module in StableHLO as a program. The module is text, generic or pretty, as
/// `jax.jit(f).lower(x).as_text()` prints it, or MLIR bytecode: a portable artifact, of StableHLO 0.9 and later, as
/// `exported.mlir_module_serialized` of jax.export has it; which of them is told by the bytes. A file of jax.export is
/// its module; load_exported knows its arguments' names, too. Any transform works on the program;
/// called with its flat inputs it gives its results. Functions that it calls become calls of jit, as in JAX's own programs, and what one
/// device of a mesh does (`sdy.manual_computation`) a shard_map. Semantics are those of the StableHLO specification
/// (openxla.org/stablehlo/spec). Where sizes of the inputs are open (`tensor<?x4xf32>`), the options state them. Throws Error for what is
/// malformed, for sizes that depend on values and quantized types, and for operations and custom calls that weft doesn't know. It names the
/// line and the column of a text, the byte of bytecode, and the line of the program that was written down where bytecode has it.
Jaxpr parse_stablehlo(std::string_view text, StablehloOptions options = {}, SourceLoc loc = SourceLoc::here());

/// The same of a file. Throws IoError if it can't be read.
Jaxpr load_stablehlo(const std::string& path, StablehloOptions options = {}, SourceLoc loc = SourceLoc::here());

/// Whether the bytes are a module in binary form: bytecode, or a function that JAX exported, of which all bytes are wanted.
bool is_binary_stablehlo(std::string_view bytes);

/// The program with the checks that it does of itself, which parse_stablehlo leaves out. `file` names the text in equations' lines.
StablehloProgram parse_stablehlo_checks(std::string_view text, StablehloOptions options = {}, const std::string& file = "stablehlo",
                                        SourceLoc loc = SourceLoc::here());

/// The names of the functions that the module defines, in its order.
std::vector<std::string> stablehlo_functions(std::string_view text, SourceLoc loc = SourceLoc::here());

/// Compares the results of such a program: what is wrong with the first check that fails, or an empty text.
std::string failed_stablehlo_check(const StablehloProgram& program, const std::vector<Array>& results);

}  // namespace weft
