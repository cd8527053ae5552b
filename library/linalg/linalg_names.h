// Functions of arrays that jax.numpy.linalg has as well, by their names there.
#pragma once
#include <utility>

#include "weft/core/array/array.h"
#include "weft/core/functions/contractions.h"
#include "weft/library/jnp/joining.h"
#include "weft/library/jnp/statistics.h"
#include "weft/library/linalg/linalg.h"
#include "weft/library/numpy/numpy.h"

namespace weft::linalg {

using weft::cross, weft::matmul, weft::matrix_transpose, weft::outer, weft::tensordot, weft::vecdot;

/// The elements of the last two dimensions whose column is the row plus offset.
inline Array diagonal(Arg a, Int offset) { return weft::diagonal(std::move(a), offset, -2, -1); }
/// Their sum.
inline Array trace(Arg a, Int offset) { return weft::trace(std::move(a), offset, -2, -1); }

}  // namespace weft::linalg
