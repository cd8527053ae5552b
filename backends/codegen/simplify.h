// What is done to a program before kernels are formed from it.
#pragma once
#include "core/jaxpr.h"

namespace weft::detail {

/// An equivalent program: calls replaced by their bodies, operations on keys of random numbers by those on integers that they are made of,
/// equal equations computed once (but not what a checkpointed function's derivative computes again), equations of literals evaluated,
/// unused ones removed. Inputs stay as they are.
Jaxpr simplify(const Jaxpr& j);

}  // namespace weft::detail
