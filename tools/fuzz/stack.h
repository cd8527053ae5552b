// Stacks of transforms over programs.
#pragma once
#include <string>
#include <vector>

#include "tools/fuzz/random.h"
#include "weft/core/ir/jaxpr.h"

namespace weft::fuzz {

using Arrays = std::vector<Array>;

/// One transform: `jvp`, `grad`, `vjp`, `linearize`, `vmap`, `jit`, `remat`, `dce`. Its choices (by which inputs, along which axes, the
/// values of tangents and cotangents, ...) follow from the seed and the program.
struct Transform {
  std::string kind;
  std::uint64_t seed = 0;
};
/// `vmap:12 grad:7`
std::string print_stack(const std::vector<Transform>& stack);
std::vector<Transform> parse_stack(std::string_view text);
std::vector<Transform> random_stack(Random& random);

/// A program and arguments for it.
struct Applied {
  Jaxpr program;
  Arrays inputs;
  /// How many of the first inputs were constants: rules of custom functions hold them too, so that they stay what they are. They aren't
  /// mapped, nor differentiated by.
  std::size_t fixed = 0;
};
/// The transformed program, with the arguments that it takes more or other than the given ones. Throws what the transform throws.
Applied apply(const Transform& t, const Applied& before);

/// What must hold between a program and what a transform made of it, found out on the interpreter: `vmap` is a loop, a derivative computes
/// the function's own results too, `jit` and `remat` change nothing, the reverse derivative is the forward one's transpose.
/// What is wrong, or an empty text.
std::string broken_law(const Transform& t, const Applied& before, const Applied& after);

/// The program without constants: they are its first inputs.
Applied without_constants(const Jaxpr& program, const Arrays& inputs);

}  // namespace weft::fuzz
