// Protects recursion from the end of the thread's stack. Programs inside programs, functions traced inside functions and trees of trees are
// followed by recursion; each such function calls check_nesting first, so that what nests too deeply is an error and not a crash.
#pragma once
#include <cstddef>

#include "weft/core/base/function_ref.h"

namespace weft::detail {

/// Throws Error where little is left of the stack that the caller runs on, whichever thread's it is. `what` names what nests, in the plural
/// ("programs inside programs"); `depth`: how deep it is, where that is known.
void check_nesting(const char* what, int depth = -1);

/// How many traces are open on the thread, one inside the other.
int open_traces();

/// Bytes of the thread's stack below the caller; a large number where the stack is not the thread's own (a coroutine's).
std::size_t stack_left();

/// Bytes that planning, emission and LLVM are given: they follow long chains of operations by recursion.
constexpr std::size_t kCompilerStack = 4 << 20;

/// Runs f, on a thread of its own if fewer than `bytes` of this thread's stack are left. Throws what f throws.
void with_stack(std::size_t bytes, FunctionRef<void()> f);

}  // namespace weft::detail
