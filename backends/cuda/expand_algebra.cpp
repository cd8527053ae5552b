// Linear algebra by routines for column-major matrices: a row-major one is the transpose of what they see.
#include <algorithm>
#include <limits>

#include "weft/backends/cuda/expand.h"
#include "weft/backends/cuda/solver.h"
#include "weft/core/array/constructors.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/linalg/linalg_common.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/reduce/reduce.h"

namespace weft::detail {
namespace {

constexpr std::int64_t kInLanes = 64;  // elements of matrices that kernels factor, a matrix a thread

Array not_a_number(const Array& x) { return scalar_like(x, std::numeric_limits<double>::quiet_NaN()); }
/// x with NaN in the matrices that `bad` (count) marks.
Array spoiled(const Array& x, const Array& bad) {
  return where(broadcast_in_dim(bad, x.shape(), {0}, {}), fill_shape(not_a_number(x), x.shape(), {}), x);
}

class Matrices3 {
 public:
  explicit Matrices3(const Aval& a) : leading_(a.shape.begin(), a.shape.end() - 2) {}
  /// (..., m, n) as (count, m, n).
  Array flat(const Array& x) const {
    const Shape& s = x.shape();
    return reshape_to(x, {Shape(leading_).num_elements(), s[s.size() - 2], s.back()}, {});
  }
  /// (count, ...) with the leading dimensions.
  Array back(const Array& x) const {
    Shape s = leading_;
    for (int d = 1; d < x.ndim(); ++d) s.push_back(x.shape()[d]);
    return reshape_to(x, s, {});
  }

 private:
  Shape leading_;
};

std::vector<Array> call(SolverCall::Params p, std::initializer_list<Array> in) {
  return bind_all<SolverCall>(std::move(p), std::span(in.begin(), in.size()), {});
}

std::vector<Array> cholesky(const Array& x) {
  const Matrices3 m(x.aval());
  // The lower triangle is the upper one of what the routine sees, a's conjugate; its factor's transpose is in memory.
  const std::vector<Array> r = call({.routine = "potrf", .upper = true}, {m.flat(x)});
  const Shape& s = r[0].shape();
  const Array diagonal = diagonal_of(r[0], {});
  const Array bad = (r[1] != scalar_like(r[1], 0)) | reduce_or(diagonal != diagonal, {1});
  const Array lower = iota_array(int32, s, 1, {}) >= iota_array(int32, s, 2, {});
  return {m.back(where(lower, spoiled(r[0], bad), fill_shape(scalar_like(r[0], 0), s, {})))};
}

/// (count) numbers, or (count, n) ones, one for each index along an axis, as an array of a shape (count, ...).
Array along(const Array& x, const Shape& s, int axis = 1) {
  return broadcast_in_dim(x, s, x.ndim() == 1 ? std::vector<int>{0} : std::vector<int>{0, axis}, {});
}
Array positions(const Shape& s, int axis) { return iota_array(int32, s, axis, {}); }
Array filled(const Array& value, const Shape& s) { return fill_shape(value, s, {}); }
/// The position of the first mark in each row of (count, n) marks; n in a row without marks.
Array first_marked(const Array& marks) {
  const Shape& s = marks.shape();
  return reduce_min(where(marks, positions(s, 1), filled(make_literal(Number(s[1]), int32), s)), {1});
}
/// The first column of a that has a NaN, or whose diagonal element in its factors is one. What routines leave from there on depends on
/// their version and on the size.
Array first_nan(const Array& a, const Array& factors) {
  const Array diagonal = diagonal_of(factors, {});
  return minimum(first_marked(reduce_or(a != a, {1})), first_marked(diagonal != diagonal));
}

/// The factors of a with zeros below pivots that are zero, and with NaN below and beside the first pivot that is one.
Array lu_defined(const Array& a, const Array& factors) {
  const Shape& s = a.shape();
  const Array pivots = diagonal_of(factors, {}), i = positions(s, 1), j = positions(s, 2), nan = along(first_nan(a, factors), s);
  Array zero = pivots == scalar_like(pivots, 0);
  if (s[2] > s[1]) zero = pad_with(zero, make_literal(Number(false), bool_), {{}, {0, s[2] - s[1], 0}}, {});
  const Array of_singular = where((i > j) & along(zero, s, 2), filled(scalar_like(a, 0), s), factors);
  return where(((i >= nan) & (j == nan)) | ((i > nan) & (j >= nan)), filled(not_a_number(a), s), of_singular);
}

std::vector<Array> lu(const Array& x) {
  const Matrices3 m(x.aval());
  const Array a = m.flat(x);
  const std::vector<Array> r = call({.routine = "getrf"}, {transposed(a)});
  return {m.back(lu_defined(a, transposed(r[0]))), m.back(r[1]), m.back(r[2])};
}

std::vector<Array> qr(const Array& x, const QrParams& p) {
  const Matrices3 batch(x.aval());
  const std::int64_t m = x.shape()[x.ndim() - 2], n = x.shape().back(), columns = p.full_matrices ? m : std::min(m, n);
  const Array a = batch.flat(x);
  const std::vector<Array> r = call({.routine = "geqrf"}, {transposed(a)});
  // The reflections before the first column with a NaN are good, it and what follows from it are NaN. The last row has no reflection.
  Array nan = first_nan(a, transposed(r[0]));
  nan = where(nan < make_literal(Number(std::min(m - 1, n)), int32), nan, filled(make_literal(Number(n + m), int32), nan.shape()));
  const auto from_nan = [&](const Array& in, int axis) { return positions(in.shape(), axis) >= along(nan, in.shape()); };
  const auto replaced = [&](const Array& marks, const Array& in, const Array& by) { return where(marks, filled(by, in.shape()), in); };
  Array upper = triu(slice_axis(transposed(r[0]), 1, 0, columns, {}));
  upper = replaced(from_nan(upper, 1) & (positions(upper.shape(), 2) >= positions(upper.shape(), 1)), upper, not_a_number(a));
  if (p.only_r) return {batch.back(upper)};
  Array reflectors = slice_axis(r[0], 1, 0, std::min(n, columns), {});
  reflectors = replaced(from_nan(reflectors, 1), reflectors, scalar_like(a, 0));
  if (columns > n) reflectors = pad_with(reflectors, scalar_like(reflectors, 0), {{}, {0, columns - n, 0}, {}}, {});
  const Array q = transposed(call({.routine = "orgqr"}, {reflectors, replaced(from_nan(r[1], 1), r[1], scalar_like(a, 0))})[0]);
  return {batch.back(replaced(from_nan(q, 2), q, not_a_number(a))), batch.back(upper)};
}

/// For each matrix, whether it has elements that are not finite, or whose modulus is not: iterations on them may not terminate.
Array not_finite(const Array& x) { return reduce_or(~isfinite(abs(x)), {1, 2}); }
Array zeroed(const Array& x, const Array& bad) {
  return where(broadcast_in_dim(bad, x.shape(), {0}, {}), fill_shape(scalar_like(x, 0), x.shape(), {}), x);
}

std::vector<Array> eigh(const Array& x, const EighParams& p) {
  const Matrices3 m(x.aval());
  const Array a = m.flat(x), infinite = not_finite(a);
  // Seen is a's conjugate: the values are the same, the vectors conjugated.
  const std::vector<Array> r = call({.routine = "syevd", .upper = p.lower}, {zeroed(a, infinite)});
  const Array bad = infinite | (r[2] != scalar_like(r[2], 0));
  const Array values = m.back(spoiled(r[1], bad));
  if (p.only_values) return {values};
  return {m.back(spoiled(conjugate(transposed(r[0])), bad)), values};
}

std::vector<Array> svd(const Array& x, const SvdParams& p) {
  const Matrices3 m(x.aval());
  Array a = m.flat(x);
  const Array infinite = not_finite(a);
  a = zeroed(a, infinite);
  // The routine wants no more columns than rows. Of a wide matrix it sees the transpose: u and vh change places, and are as they should.
  const bool wide = a.shape()[1] > a.shape()[2];
  const std::vector<Array> r = call({.routine = "gesvd", .vectors = p.compute_uv, .full = p.full_matrices}, {wide ? transposed(a) : a});
  const Array bad = infinite | (r.back() != scalar_like(r.back(), 0));
  std::vector<Array> out{m.back(spoiled(r[0], bad))};
  if (!p.compute_uv) return out;
  out.push_back(m.back(spoiled(wide ? transposed(r[1]) : r[2], bad)));
  out.push_back(m.back(spoiled(wide ? transposed(r[2]) : r[1], bad)));
  return out;
}

std::vector<Array> triangular_solve(Array a, const Array& b, const TriangularSolveParams& p) {
  const Matrices3 m(b.aval());
  const bool adjoint = p.transpose_a && p.conjugate_a && a.dtype().is_complex();
  if (p.conjugate_a && !adjoint) a = conjugate(a);
  // op(a) x = b is x^T op(a)^T = b^T, and the transposes are what is seen.
  return {m.back(call({.routine = "trsm",
                       .upper = p.lower,
                       .right = p.left_side,
                       .turn = adjoint         ? 2
                               : p.transpose_a ? 1
                                               : 0,
                       .unit_diagonal = p.unit_diagonal},
                      {m.flat(a), m.flat(b)})[0])};
}

std::int64_t elements(const Aval& a) { return a.shape.back() * a.shape[a.ndim() - 2]; }

/// Whether cuSOLVER and cuBLAS are there, for matrices of sizes that they take.
bool has_routine(std::span<const Aval> in) {
  const bool too_large = std::any_of(in.begin(), in.end(), [](const Aval& a) {
    return std::any_of(a.shape.begin(), a.shape.end(), [](std::int64_t n) { return n > std::numeric_limits<std::int32_t>::max(); });
  });
  return !too_large && cuda::has_solver();
}
/// Whether there is a routine, and no kernel: kernels compute small real matrices, one matrix per thread.
bool has_routine_for_large(std::span<const Aval> in) {
  const bool in_lanes =
      !in[0].dtype.is_complex() && std::all_of(in.begin(), in.end(), [](const Aval& a) { return elements(a) <= kInLanes; });
  return !in_lanes && has_routine(in);
}

using Arrays = std::vector<Array>;

const RuleOf<GpuExpansionRules> cholesky_expansion(cholesky_primitive(),
                                                   [](const Eqn& e, std::span<const Aval> in) -> std::optional<Jaxpr> {
                                                     if (!has_routine_for_large(in)) return {};
                                                     return expansion_of(
                                                         e, in, [](std::span<const Array> xs) -> Arrays { return cholesky(xs[0]); });
                                                   });
const RuleOf<GpuExpansionRules> lu_expansion(lu_primitive(), [](const Eqn& e, std::span<const Aval> in) -> std::optional<Jaxpr> {
  if (!has_routine_for_large(in)) return {};
  return expansion_of(e, in, [](std::span<const Array> xs) -> Arrays { return lu(xs[0]); });
});
const RuleOf<GpuExpansionRules> triangular_solve_expansion(triangular_solve_primitive(),
                                                           [](const Eqn& e, std::span<const Aval> in) -> std::optional<Jaxpr> {
                                                             if (!has_routine_for_large(in)) return {};
                                                             return expansion_of(e, in, [&](std::span<const Array> xs) -> Arrays {
                                                               return triangular_solve(xs[0], xs[1],
                                                                                       params_as<TriangularSolveParams>(*e.params));
                                                             });
                                                           });
const RuleOf<GpuExpansionRules> qr_expansion(qr_primitive(), [](const Eqn& e, std::span<const Aval> in) -> std::optional<Jaxpr> {
  if (!has_routine(in)) return {};
  return expansion_of(e, in, [&](std::span<const Array> xs) -> Arrays { return qr(xs[0], params_as<QrParams>(*e.params)); });
});
const RuleOf<GpuExpansionRules> eigh_expansion(eigh_primitive(), [](const Eqn& e, std::span<const Aval> in) -> std::optional<Jaxpr> {
  if (!has_routine(in)) return {};
  return expansion_of(e, in, [&](std::span<const Array> xs) -> Arrays { return eigh(xs[0], params_as<EighParams>(*e.params)); });
});
const RuleOf<GpuExpansionRules> svd_expansion(svd_primitive(), [](const Eqn& e, std::span<const Aval> in) -> std::optional<Jaxpr> {
  if (!has_routine(in)) return {};
  return expansion_of(e, in, [&](std::span<const Array> xs) -> Arrays { return svd(xs[0], params_as<SvdParams>(*e.params)); });
});

}  // namespace
}  // namespace weft::detail
