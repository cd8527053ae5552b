// Rules that primitives of several families have in common.
#pragma once
#include "weft/core/ir/primitive.h"

namespace weft::detail {

/// The shape of operands broadcast together: equal ranks with equal sizes or 1, or rank 0. Throws ShapeError through the context.
Shape broadcast_shapes(const OpContext& c);

/// x as an operand of an operation on `ndim` dimensions with the mapped axis in front: an unmapped x as it is, a mapped one with its
/// axis moved to 0 and dimensions of size 1 inserted behind it until it has ndim + 1.
Array batch_dim_in_front(const Array& x, int dim, int ndim, SourceLoc loc);
/// Moves the mapped axis from `from` to `to`.
Array move_batch_dim(const Array& x, int from, int to, SourceLoc loc);
/// x with a new axis of the given size at `at`, along which the elements are repeated.
Array broadcast_batch_dim(const Array& x, std::int64_t size, int at, SourceLoc loc);
/// The operand with the mapped axis at `to`: moved if mapped, broadcast if not.
Array materialize_batch_dim(const Array& x, int dim, std::int64_t size, int to, SourceLoc loc);
/// Elementwise batching: mapped axes in front, then the same primitive.
BatchResult batch_elementwise(const BatchContext& c);

/// Sums a cotangent over the dimensions along which an operand of the given aval was broadcast, and gives it the operand's shape.
Array unbroadcast(const Array& cotangent, const Aval& operand, SourceLoc loc);
/// Zeros of the tangent type, to instantiate a symbolic zero.
Array zeros_of(const Aval& aval, SourceLoc loc);
Array instantiate(const Tangent& t, const Aval& aval, SourceLoc loc);
/// The sum of two tangents (add_any); symbolic zeros are skipped.
Tangent add_tangents(const Tangent& a, const Tangent& b, SourceLoc loc);
Array add_any(const Array& a, const Array& b, SourceLoc loc);

/// Binds reduce_sum (core/ops/reduce/reduce.cpp), in x's dtype.
Array reduce_sum(const Array& x, const std::vector<int>& axes, SourceLoc loc);

/// A scalar of x's dtype, as a literal operand for arithmetic in rules.
Array scalar_like(const Array& x, double value);

/// An axis in [-ndim, ndim) as [0, ndim); throws AxisError otherwise, naming the operation and the operand.
int normalize_axis(int axis, int ndim, const char* operation, const Aval& operand, SourceLoc loc);

}  // namespace weft::detail
