// The ways in which a function can be executed. All give the same results: the tests of whole programs, and weft-fuzz, go through this
// list, so that a way that is added here reaches all of them.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/ir/jaxpr.h"

namespace weft::tools {

using Arrays = std::vector<Array>;
/// A user's function, or a program by eval_jaxpr.
using Function = std::function<Arrays(std::span<const Array>)>;

struct Mode {
  std::string_view name;
  bool maps;  ///< all lanes at once, by a transform
  /// The results of each lane's inputs. Lanes are alike in types; a mode that maps takes the first axis for them.
  std::vector<Arrays> (*run)(const Function& f, const std::vector<Arrays>& lanes);
};

/// Executed operation by operation, as a Jaxpr called so, as text printed and parsed, on the interpreter and compiled, under jit, with
/// disable_jit, mapped by vmap, by jit of vmap, in a loop.
std::span<const Mode> modes();
/// Throws Error if there is none of the name.
const Mode& mode_named(std::string_view name);

/// A program as a function.
Function function_of(const Jaxpr& program);
/// Inputs of another lane: floating and complex numbers are others of the same signs and order, the rest is the same.
Arrays other_lane(const Arrays& inputs);
/// Whether the function can be mapped: it has inputs.
bool runs(const Mode& mode, const Arrays& inputs);

}  // namespace weft::tools
