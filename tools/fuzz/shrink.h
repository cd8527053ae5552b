// Making a failing case small, while it fails in the same way.
#pragma once
#include <functional>

#include "tools/fuzz/check.h"

namespace weft::fuzz {

/// Whether a candidate still fails as the case does. Errors thrown by it count as no.
using Fails = std::function<bool(const Case&)>;
/// Whether the interpreter comes to the program's end: a loop may have lost what ends it.
bool ends_soon(const Case& c);
/// Drops transforms, results, equations (their results become inputs with the values that they had), inlines calls and branches, reduces
/// sizes, simplifies inputs, as long as any of that succeeds and `seconds` of the processor's time have not passed.
Case shrunk(Case c, const Fails& fails, double seconds);

}  // namespace weft::fuzz
