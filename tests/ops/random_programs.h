// Random programs, from a seed.
#pragma once
#include "weft/core/ir/jaxpr.h"

namespace weft::test {

/// A well-typed program out of all families of operations, of float64 inputs with values of moderate size. The same seed gives the same
/// program.
Jaxpr random_program(unsigned seed, int steps);

}  // namespace weft::test
