// What follows a fold, by vectors of its own.
#pragma once
#include "backends/codegen/kernel.h"

namespace weft::detail {

/// A kernel that folds along its vectors and then computes something dear from each single result (`tanh(m @ v + x)`) does that for one
/// element at a time. Here a block of folds comes first, whose results are kept in scratch, and then what follows as a nest that runs over
/// the block by vectors. False, with the kernel as it was, where it is of another form or
/// that would not pay.
bool split_after_folds(Kernel& k, int vector_bytes);

}  // namespace weft::detail
