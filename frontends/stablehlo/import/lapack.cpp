// The custom calls by which JAX names LAPACK's factorisations on the CPU, `lapack_spotrf_ffi` and the like: a letter for the dtype,
// LAPACK's name of the routine, and its letters for what it is to do (LAPACK Users' Guide, E. Anderson and others, 1999).
#include "weft/core/array/constructors.h"
#include "weft/core/functions/contractions.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/ir/rewrite.h"
#include "weft/core/ops/contraction/dot.h"
#include "weft/core/ops/control/control_common.h"
#include "weft/core/ops/linalg/linalg.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/reduce/reduce.h"
#include "weft/frontends/stablehlo/import/functions.h"
#include "weft/frontends/stablehlo/import/importer.h"
#include "weft/library/scipy/factorizations.h"

namespace weft::detail::mlir {
namespace {

/// One of the routine's letters.
char letter(const OpCall& c, std::string_view name) {
  const Attribute& config = c.need("mhlo.backend_config", "backend_config");
  const Attribute* a = config.find(name);
  if (!a || a->kind != Attribute::Kind::integer || a->integer < 0 || a->integer > 127)
    c.fail("its backend_config lacks " + std::string(name));
  return static_cast<char>(a->integer);
}

/// LAPACK's last result: 0, nothing went wrong. Where something did, weft's results are NaN, which is what JAX makes of another one.
Array no_problem(const OpCall& c, int dims_of_problem = 2) {
  const Shape& shape = c.in(0).shape();
  return fill_shape(make_literal(Number(0), int32), {shape.begin(), shape.end() - dims_of_problem}, c.loc);
}

Array matrix_like(const OpCall& c) {
  if (c.in(0).ndim() < 2 || !c.in(0).dtype().is_inexact()) c.fail("its operand is a matrix of floats or complex numbers");
  return c.in(0);
}

Values potrf(OpCall& c) {
  const Array a = matrix_like(c);
  const Array factor = letter(c, "uplo") == 'L' ? cholesky_factor(a, c.loc) : adjoint(cholesky_factor(adjoint(a), c.loc));
  return {factor, no_problem(c)};
}

Values trsm(OpCall& c) {
  TriangularSolveParams p;
  const char transpose = letter(c, "trans_x");
  p.left_side = letter(c, "side") == 'L', p.lower = letter(c, "uplo") == 'L', p.unit_diagonal = letter(c, "diag") == 'U';
  p.transpose_a = transpose != 'N', p.conjugate_a = transpose == 'C';
  return {solve_triangular(matrix_like(c), c.in(1), p, c.loc)};
}

Values getrf(OpCall& c) {
  const LuFactors f = lu_factors(matrix_like(c), c.loc);
  return {f.lu, f.pivots + make_literal(Number(1), int32), no_problem(c)};  // LAPACK counts rows from 1
}

Values syevd(OpCall& c) {
  const Array a = matrix_like(c);
  const Eigen e = eigh_of(letter(c, "uplo") == 'L' ? a : adjoint(a), c.loc);
  return {e.vectors, e.values, no_problem(c)};
}

// The operand, which LAPACK overwrites, the singular values, u, vh, and whether all went well.
Values gesdd(OpCall& c) {
  const Array a = matrix_like(c);
  const char mode = letter(c, "mode");
  if (mode != 'A' && mode != 'S' && mode != 'N') c.fail("its mode is A, S or N");
  const std::vector<Array> out = svd_of(a, {.compute_uv = mode != 'N', .full_matrices = mode == 'A'}, c.loc);
  auto unused = [&](std::size_t result) { return fill_shape(scalar(a, 0), c.result(result).shape, c.loc); };
  return {a, out[0], mode == 'N' ? unused(2) : out[1], mode == 'N' ? unused(3) : out[2], no_problem(c)};
}

// The diagonals, which LAPACK overwrites, the solution, and whether all went well. It takes the diagonals beside the main one without an
// element that isn't read, or, as JAX's, with one.
Values gtsv(OpCall& c) {
  const Array &d = c.in(1), &b = c.in(3);
  const auto whole = [&](const Array& x, bool behind) {
    if (x.shape() == d.shape()) return x;
    const Array none = fill_shape(scalar(d, 0), d.shape().erased(d.ndim() - 1).inserted(d.ndim() - 1, 1), c.loc);
    return behind ? concatenate({x, none}, -1) : concatenate({none, x}, -1);
  };
  return {c.in(0), d, c.in(2), linalg::tridiagonal_solve(whole(c.in(0), false), d, whole(c.in(2), true), b), no_problem(c, 1)};
}

// Reflections (A. Householder, 1958), one for each column, kept below the diagonal of what they leave: H = I - tau v v^H, where v begins
// with 1 at the diagonal.

/// The program for one matrix, mapped over the dimensions before.
Arrays for_each_matrix(const Arrays& xs, const std::vector<int>& ranks, SourceLoc loc,
                       const std::function<Arrays(std::span<const Array>)>& f) {
  const int batch = xs[0].ndim() - ranks[0];
  Shape sizes;
  std::int64_t n = 1;
  for (int d = 0; d < batch; ++d) sizes.push_back(xs[0].shape()[d]), n *= xs[0].shape()[d];
  std::vector<Aval> inputs;
  Arrays flat;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    const Shape own(xs[i].shape().begin() + (xs[i].ndim() - ranks[i]), xs[i].shape().end());
    inputs.push_back({own, xs[i].dtype()});
    flat.push_back(reshape_to(xs[i], own.inserted(0, n), loc));
  }
  const Jaxpr one = make_program("reflections", inputs, f);
  if (batch == 0) return eval_jaxpr(one, xs);
  const auto outputs = one.data().outputs.size();
  Arrays out = eval_jaxpr(batch_program(one, {"", n}, std::vector<int>(xs.size(), 0), std::vector<int>(outputs, 0)).jaxpr, flat);
  for (Array& x : out) {
    Shape shape = sizes;
    for (int d = 1; d < x.ndim(); ++d) shape.push_back(x.shape()[d]);
    x = reshape_to(x, shape, loc);
  }
  return out;
}

/// Column k as a vector, where 0 <= k.
Array column(const Array& a, const Array& at_column) { return reduce_sum(where(at_column, a, scalar(a, 0)), {1}); }
Array outer_product(const Array& u, const Array& v) { return insert_axes(u, {1}, {}) * insert_axes(v, {0}, {}); }
/// u^H a
Array row_times(const Array& u, const Array& a) { return reduce_sum(insert_axes(conjugate(u), {1}, {}) * a, {0}); }

Arrays reflect_columns(const Array& a, std::int64_t steps, SourceLoc loc) {
  const std::int64_t m = a.shape()[0], n = a.shape()[1];
  const Array rows = iota_array(int32, {m}, 0, loc), columns = iota_array(int32, {1, n}, 1, loc), at = iota_array(int32, {steps}, 0, loc);
  const Aval step{{}, int32};
  const DType real_type = a.dtype().real_part();
  const Jaxpr body = make_program("reflection", {{a.shape(), a.dtype()}, step}, [&](std::span<const Array> in) -> Arrays {
    const Array &x = in[0], &k = in[1], zero = scalar(x, 0), one = scalar(x, 1);
    const Array here = broadcast_trailing(columns == k, x.shape(), loc), below = rows > k, diagonal = rows == k;
    const Array v = column(x, here);
    const Array alpha = reduce_sum(where(diagonal, v, zero), {0});
    const Array tail = where(below, v, zero);
    const Array size = [&] {
      const Array square = abs(tail) * abs(tail);
      return reduce_sum(square, {0});
    }();
    const Array alpha_real = alpha.dtype().is_complex() ? real(alpha) : alpha;
    const Array whole = sqrt(abs(alpha) * abs(alpha) + size), real_zero = make_literal(Number(0.0), real_type);
    // Nothing to reflect: the column ends at the diagonal, with a real number there.
    Array done = size == real_zero;
    if (alpha.dtype().is_complex()) done = done & (imag(alpha) == real_zero);
    const Array beta_real = where(alpha_real < real_zero, whole, -whole);
    const Array beta = where(done, alpha, x.dtype().is_complex() ? convert(beta_real, x.dtype()) : beta_real);
    const Array safe = where(done, one, beta);
    const Array tau = where(done, zero, (safe - alpha) / safe);
    const Array reflector = where(below, tail / where(done, one, alpha - safe), where(diagonal, one, zero));
    // H^H applied to the columns behind.
    const Array behind = broadcast_trailing(columns > k, x.shape(), loc);
    const Array change = outer_product(reflector, conjugate(tau) * row_times(reflector, x));
    const Array kept = where(below, reflector, where(diagonal, beta, v));
    const Array next = where(behind, x - change, where(here, insert_axes(kept, {1}, loc), x));
    return {next, tau};
  });
  const Array operands[] = {a, at};
  return bind_scan({body, steps, 1, 0, false, 1}, operands, loc);
}

Values geqrf(OpCall& c) {
  const Array a = matrix_like(c);
  const std::int64_t steps = std::min(a.shape()[a.ndim() - 2], a.shape().back());
  const Arrays out = for_each_matrix({a}, {2}, c.loc, [&](std::span<const Array> in) { return reflect_columns(in[0], steps, c.loc); });
  return {out[0], out[1]};
}

/// The first columns of the product of the reflections, as many as the operand has: I - V T V^H, where the columns of V are the reflectors
/// and T is upper triangular. Its inverse has V^H V above the diagonal and 1 / tau on it (T. Joffrain and others, "Accumulating Householder
/// transformations, revisited", 2006).
Values orgqr(OpCall& c) {
  const Array packed = matrix_like(c), taus = c.in(1);
  if (taus.ndim() != packed.ndim() - 1 || taus.dtype() != packed.dtype()) c.fail("there must be one vector of factors for each matrix");
  const std::int64_t m = packed.shape()[packed.ndim() - 2], n = packed.shape().back(), k = taus.shape().back();
  if (n > m || k > n) c.fail("there are more factors than columns, or more columns than rows");
  const Arrays out = for_each_matrix({packed, taus}, {2, 1}, c.loc, [&](std::span<const Array> in) -> Arrays {
    const Array zero = scalar(in[0], 0), one = scalar(in[0], 1);
    const auto rows = [&](const Shape& s) { return iota_array(int32, s, 0, c.loc); };
    const auto columns = [&](const Shape& s) { return iota_array(int32, s, 1, c.loc); };
    const Array start = where(rows({m, n}) == columns({m, n}), one, zero);
    if (k == 0) return {start};
    // A factor of 0 is no reflection.
    const Array none = insert_axes(in[1] == zero, {0}, c.loc), factors = insert_axes(in[1], {0}, c.loc);
    const Array below = rows({m, k}) > columns({m, k}), diagonal = rows({m, k}) == columns({m, k});
    const Array v = where(none, zero, where(below, slice_axis(in[0], 1, 0, k, c.loc), where(diagonal, one, zero)));
    const Array above = rows({k, k}) < columns({k, k}), on = rows({k, k}) == columns({k, k});
    const Array inverse = where(above, matmul(adjoint(v), v), where(on, one / where(none, one, factors), zero));
    const Array top = adjoint(slice_axis(v, 0, 0, n, c.loc));
    return {start - matmul(v, solve_triangular(inverse, top, {.left_side = true, .lower = false}, c.loc))};
  });
  return {out[0]};
}

/// Both factors at once, as weft's plugin has JAX write them.
const Import whole_qr_import("custom_call.weft.qr", [](OpCall& c) -> Values {
  const Attribute* full = c.need("mhlo.backend_config", "backend_config").find("full_matrices");
  if (!full || full->kind != Attribute::Kind::boolean) c.fail("its backend_config lacks full_matrices");
  const std::vector<Array> factors = qr_of(matrix_like(c), {full->integer != 0}, c.loc);
  return {factors[0], factors[1]};
});

// A letter for the dtype: float32, float64, complex64, complex128.
struct Routine {
  const char* name;
  const char* letters;
  ImportFunction function;
};
constexpr Routine kRoutines[] = {{"potrf", "sdcz", potrf}, {"trsm", "sdcz", trsm},   {"getrf", "sdcz", getrf}, {"syevd", "sd", syevd},
                                 {"heevd", "cz", syevd},   {"gesdd", "sdcz", gesdd}, {"gesvd", "sdcz", gesdd}, {"geqrf", "sdcz", geqrf},
                                 {"orgqr", "sd", orgqr},   {"ungqr", "cz", orgqr},   {"gtsv", "sdcz", gtsv}};
[[maybe_unused]] const bool routines_imported = [] {
  for (const Routine& r : kRoutines)
    for (const char* l = r.letters; *l; ++l) Import((std::string("custom_call.lapack_") + *l + r.name + "_ffi").c_str(), r.function);
  return true;
}();
// By the names that XLA has for them, where JAX doesn't know the platform.
const Import qr_import("custom_call.Qr", geqrf), product_import("custom_call.ProductOfElementaryHouseholderReflectors", orgqr);

}  // namespace
}  // namespace weft::detail::mlir
