// cholesky, lu, triangular_solve.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "weft/core/array/constructors.h"
#include "weft/core/functions/contractions.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ir/partition_rule.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/linalg/linalg_common.h"
#include "weft/core/ops/linalg/linalg_elimination.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/registry.h"

namespace weft::detail {
namespace {

struct Cholesky {
  static constexpr int num_operands = 1;
  static constexpr std::string_view name = "cholesky", doc = "The lower triangular L with L L^H = a, for a Hermitian, positive definite a.";
  static constexpr Kind kind = Kind::library;
  static constexpr bool not_linear = true;
  using Params = NoParams;

  static Aval abstract_eval(const OpContext& c) {
    check_square_matrix(c, 0);
    return {c.in[0].shape, c.in[0].dtype};
  }
  /// Iain Murray, Differentiation of the Cholesky decomposition, arXiv:1602.07527: dL = L phi(L^-1 dA L^-H), where phi takes the lower
  /// triangle and half the diagonal.
  static std::vector<Tangent> jvp(const JvpContext& c) {
    const Array& l = c.out[0];
    const Array right = solve_triangular(l, *c.tangents[0], {.conjugate_a = true, .lower = true, .transpose_a = true}, c.loc);
    const Array both = tril(solve_triangular(l, right, {.left_side = true, .lower = true}, c.loc));
    const std::int64_t n = l.shape().back();
    return {matmul(l, both / (identity_like(l, n) + 1.))};
  }
  static BatchResult batch(const BatchContext& c) { return batch_matrices(c); }
  static void reference(const ReferenceContext& c) {
    const Matrices m(c.in[0].aval.shape);
    with_matrix_storage(c.in[0].aval.dtype, [&]<class T>() {
      std::copy_n(c.in[0].as<T>(), m.count * m.size, c.out[0].as<T>());
      std::vector<std::uint8_t> positive(static_cast<std::size_t>(m.count));
      lapack::cholesky_of_each(c.out[0].as<T>(), m.count, m.rows, positive.data());
      for (std::int64_t k = 0; k < m.count; ++k) {
        T* out = c.out[0].as<T>() + k * m.size;
        bool good = positive[static_cast<std::size_t>(k)] != 0;
        if (good && !all_finite(out, m.size)) {
          // LAPACK accepts a NaN on the diagonal as positive, and turns quotients by infinity into 0.
          if (m.rows <= kWrittenOut) {
            std::copy_n(c.in[0].as<T>() + k * m.size, m.size, out);
            good = factor_hermitian(out, m.rows);
          }
          for (int i = 0; i < m.rows; ++i) good = good && !std::isnan(std::abs(out[i * (m.columns + 1)]));
        }
        if (!good) fill_nan(out, m.size);
        for (int i = 0; i < m.rows; ++i) std::fill(out + i * m.columns + i + 1, out + (i + 1) * m.columns, T(0));
      }
    });
  }
};

struct Lu {
  static constexpr int num_operands = 1;
  static constexpr std::string_view name = "lu",
                                    doc = "The factors of a matrix whose rows are interchanged, the interchanges, the permutation.";
  static constexpr Kind kind = Kind::library;
  static constexpr bool not_linear = true;
  using Params = NoParams;

  static std::vector<Aval> abstract_eval(const OpContext& c) {
    check_matrix(c, 0);
    const Shape& s = c.in[0].shape;
    const std::int64_t m = s[s.size() - 2];
    return {{s, c.in[0].dtype}, {matrix_shape(s, {std::min(m, s.back())}), int32}, {matrix_shape(s, {m}), int32}};
  }
  /// F. R. de Hoog, R. S. Anderssen, M. A. Lukas, Differentiation of matrix functionals using triangular factorization, 2011:
  /// L^-1 dA U^-1 = L^-1 dL + dU U^-1, of which the first is strictly lower triangular and the second upper. The factors of a matrix that
  /// isn't square are made square by an identity.
  static std::vector<Tangent> jvp(const JvpContext& c) {
    const Array &factors = c.out[0], &permutation = c.out[2];
    const std::int64_t m = factors.shape()[factors.ndim() - 2], n = factors.shape().back(), k = std::min(m, n);
    const auto rows = static_cast<std::size_t>(factors.ndim() - 2), columns = rows + 1;
    PaddingConfig widen(columns + 1), lengthen(columns + 1);
    widen[columns].high = m - k, lengthen[rows].high = n - k;
    const Array zero = scalar_like(factors, 0);
    const Array l =
        pad_with(tril(slice_axis(factors, static_cast<int>(columns), 0, k, c.loc), -1), zero, widen, c.loc) + identity_like(factors, m);
    Array u = pad_with(triu(slice_axis(factors, static_cast<int>(rows), 0, k, c.loc)), zero, lengthen, c.loc);
    if (n > k) u = u + pad_with(identity_like(factors, n - k), zero, {{k, 0, 0}, {k, 0, 0}}, c.loc);
    const Array la = solve_triangular(l, permute_rows(*c.tangents[0], permutation, c.loc),
                                      {.left_side = true, .lower = true, .unit_diagonal = true}, c.loc);
    const Array lau = solve_triangular(u, la, {}, c.loc);
    return {matmul(l, tril(lau, -1)) + matmul(triu(lau), u), Tangent(), Tangent()};
  }
  static BatchResult batch(const BatchContext& c) { return batch_matrices(c); }
  static void reference(const ReferenceContext& c) {
    const Matrices m(c.in[0].aval.shape);
    const std::int64_t k = std::min(m.rows, m.columns);
    with_matrix_storage(c.in[0].aval.dtype, [&]<class T>() {
      std::copy_n(c.in[0].as<T>(), m.count * m.size, c.out[0].as<T>());
      lapack::lu_of_each(c.out[0].as<T>(), m.count, m.rows, m.columns, c.out[1].as<std::int32_t>());
      for (std::int64_t i = 0; i < m.count; ++i) {
        T* out = c.out[0].as<T>() + i * m.size;
        std::int32_t *pivots = c.out[1].as<std::int32_t>() + i * k, *permutation = c.out[2].as<std::int32_t>() + i * m.rows;
        if (std::max(m.rows, m.columns) <= kWrittenOut && !all_finite(out, m.size)) {
          std::copy_n(c.in[0].as<T>() + i * m.size, m.size, out);
          eliminate(out, m.rows, m.columns, pivots);
        }
        std::iota(permutation, permutation + m.rows, 0);
        for (std::int64_t r = 0; r < k; ++r) std::swap(permutation[r], permutation[pivots[r]]);
      }
    });
  }
};

struct TriangularSolve {
  static constexpr int num_operands = 2;
  static constexpr std::string_view name = "triangular_solve", doc = "The solution x of op(a) x = b or x op(a) = b for a triangular a.";
  static constexpr Kind kind = Kind::library;
  using Params = TriangularSolveParams;

  static Aval abstract_eval(const OpContext& c) {
    check_square_matrix(c, 0);
    check_matrix(c, 1);
    const Aval &a = c.in[0], &b = c.in[1];
    if (a.dtype != b.dtype) c.fail<DTypeError>("the operands differ in dtype", "convert one of them");
    const bool left = c.get<Params>().left_side;
    if (matrix_shape(a.shape, {}) != matrix_shape(b.shape, {}))
      c.fail<ShapeError>("the operands' leading dimensions differ", "they must be equal");
    if (b.shape[b.ndim() - (left ? 2 : 1)] != a.shape.back())
      c.fail<ShapeError>(fmt::format("a matrix with {} rows can't be solved for one with {} {}", a.shape.back(),
                                     b.shape[b.ndim() - (left ? 2 : 1)], left ? "rows" : "columns"),
                         "they must be equal");
    return {b.shape, b.dtype};
  }
  /// op(a) dx = db - op(da) x, where of da only the triangle counts. Of the two products the cheaper one comes first.
  static std::vector<Tangent> jvp(const JvpContext& c) {
    const Params& p = c.get<Params>();
    const Array &a = c.in[0], &x = c.out[0];
    auto solve = [&](const Array& rhs) { return solve_triangular(a, rhs, p, c.loc); };
    Tangent out;
    if (c.tangents[0]) {
      Array da = p.lower ? tril(*c.tangents[0], p.unit_diagonal ? -1 : 0) : triu(*c.tangents[0], p.unit_diagonal ? 1 : 0);
      da = -da;
      if (p.transpose_a) da = transposed(da);
      if (p.conjugate_a) da = conjugate(da);
      const std::int64_t m = x.shape()[x.ndim() - 2], n = x.shape().back();
      if (p.left_side)
        out = m > n ? solve(matmul(da, x)) : matmul(solve(da), x);
      else
        out = m < n ? solve(matmul(x, da)) : matmul(x, solve(da));
    }
    if (c.tangents[1]) out = add_tangents(out, solve(*c.tangents[1]), c.loc);
    return {out};
  }
  static std::vector<Tangent> transpose(const TransposeContext& c) {
    if (!c.cotangents[0]) return {Tangent(), Tangent()};
    Params p = c.get<Params>();
    p.transpose_a = !p.transpose_a;
    return {Tangent(), solve_triangular(c.in[0].known(), *c.cotangents[0], p, c.loc)};
  }
  /// If the matrix is not mapped, the mapped right-hand sides become additional columns (or rows).
  static BatchResult batch(const BatchContext& c) {
    if (c.dims[0] != kNotMapped) return batch_matrices(c);
    const Params& p = c.get<Params>();
    const Array& b = c.in[1];
    const int n = b.ndim() - 1;  // dimensions of one example
    const int at = p.left_side ? n : n - 2;
    const Array moved = move_batch_dim(b, c.dims[1], at, c.loc);
    Shape wide = moved.shape().erased(at);
    wide[p.left_side ? n - 1 : n - 2] *= c.axis.size;
    const Array x = solve_triangular(c.in[0], reshape_to(moved, wide, c.loc), p, c.loc);
    return {{reshape_to(x, moved.shape(), c.loc)}, {at}};
  }
  static void reference(const ReferenceContext& c) {
    const Params& p = c.get<Params>();
    const Matrices a(c.in[0].aval.shape), b(c.in[1].aval.shape);
    with_matrix_storage(c.in[0].aval.dtype, [&]<class T>() {
      const lapack::TriangularForm form{p.left_side, p.lower, p.transpose_a, p.unit_diagonal};
      std::copy_n(c.in[1].as<T>(), b.count * b.size, c.out[0].as<T>());
      lapack::triangular_solve_of_each(c.in[0].as<T>(), c.out[0].as<T>(), b.count, b.rows, b.columns, form, p.conjugate_a);
      std::vector<T> conjugated;
      for (std::int64_t k = 0; k < b.count; ++k) {
        const T* matrix = c.in[0].as<T>() + k * a.size;
        T* out = c.out[0].as<T>() + k * b.size;
        if (a.rows > kWrittenOut || b.size > kWrittenOut * kWrittenOut || all_finite(out, b.size)) continue;
        if constexpr (is_complex_storage<T>)
          if (p.conjugate_a) {
            conjugated.assign(matrix, matrix + a.size);
            for (T& v : conjugated) v = std::conj(v);
            matrix = conjugated.data();
          }
        std::copy_n(c.in[1].as<T>() + k * b.size, b.size, out);
        // x op(a) = b is op(a)^T x^T = b^T.
        const bool transpose = p.transpose_a == p.left_side;
        const auto element = [&](int row, int column) {
          return transpose ? matrix[column * a.columns + row] : matrix[row * a.columns + column];
        };
        const auto x = [&](int row, int column) -> T& {
          return p.left_side ? out[row * b.columns + column] : out[column * b.columns + row];
        };
        substitute<T>(a.rows, p.left_side ? b.columns : b.rows, p.lower != transpose, p.unit_diagonal, element, x);
      }
    });
  }
};

const PartitionRule<Cholesky> cholesky_partition([](const PartitionContext& c) { return partition_batched(c, c.in[0].whole.size() - 2); });
const PartitionRule<Lu> lu_partition([](const PartitionContext& c) { return partition_batched(c, c.in[0].whole.size() - 2); });
const PartitionRule<TriangularSolve> triangular_solve_partition([](const PartitionContext& c) {
  return partition_batched(c, c.in[0].whole.size() - 2);
});

}  // namespace

const Primitive& cholesky_primitive() { return primitive_of<Cholesky>; }
const Primitive& lu_primitive() { return primitive_of<Lu>; }
const Primitive& triangular_solve_primitive() { return primitive_of<TriangularSolve>; }

Array cholesky_factor(const Array& a, SourceLoc loc) { return bind_one<Cholesky>({}, {a}, loc); }
LuFactors lu_factors(const Array& a, SourceLoc loc) {
  std::vector<Array> r = bind_all<Lu>({}, std::span(&a, 1), loc);
  return {r[0], r[1], r[2]};
}
Array solve_triangular(const Array& a, const Array& b, TriangularSolveParams params, SourceLoc loc) {
  return bind_one<TriangularSolve>(params, {a, b}, loc);
}

PrimitiveList triangular_primitives() {
  static constexpr const Primitive* list[] = {&primitive_of<Cholesky>, &primitive_of<Lu>, &primitive_of<TriangularSolve>};
  return list;
}

}  // namespace weft::detail
