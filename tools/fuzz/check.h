// One case: a program, a stack of transforms over it, arguments; and what is found to be wrong with it.
#pragma once
#include <string>
#include <vector>

#include "tools/fuzz/stack.h"

namespace weft::fuzz {

struct Case {
  Jaxpr program;
  Arrays inputs;
  std::vector<Transform> stack;
  std::size_t fixed = 0;  ///< see Applied
  std::string mode = {};  ///< in which way of tools/modes.h it is executed beside the interpreter and the CPU backend; empty: in all
};
/// As text that parse_case reads. Rules of custom_jvp and custom_vjp functions are C++ functions: their names only are in the text.
std::string print_case(const Case& c);
Case parse_case(std::string_view text);

/// The case of a seed.
Case random_case(std::uint64_t seed);

/// What is wrong, if anything.
struct Failure {
  std::string
      kind;  ///< what was being done: "trace", "print", "vmap", "law of vmap", "interp", "cpu", "compare", "eager"; empty: nothing is wrong
  std::string message;
  explicit operator bool() const { return !kind.empty(); }
};
/// Applies the transforms one by one, checks each program, its text and the transform's law, and compares the interpreter with the CPU
/// backend and with the case's mode. `reached` is the case as far as it went: the transformed program with no transforms left, if that is
/// where it fails.
Failure check_case(const Case& c, Case* reached = nullptr);

}  // namespace weft::fuzz
