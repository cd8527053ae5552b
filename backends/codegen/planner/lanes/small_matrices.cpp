// Factorisations and triangular systems of small real matrices, written out in scalar operations.
#include <limits>
#include <utility>

#include "weft/backends/codegen/planner/lanes/lanes.h"
#include "weft/core/ops/linalg/linalg.h"

namespace weft::detail {
namespace {

struct LuElements {
  Elements lu, pivots, permutation;
};

/// Doolittle's factorisation with interchanges of rows, as LAPACK's getf2.
LuElements lu_elements(Dag& dag, Elements a, std::size_t rows, std::size_t columns) {
  LuElements f;
  const auto at = [&](std::size_t i, std::size_t k) -> KernelValue& { return a[i * columns + k]; };
  for (std::size_t i = 0; i < rows; ++i) f.permutation.push_back(dag.integer(int32, static_cast<std::int64_t>(i)));
  for (std::size_t k = 0; k < std::min(rows, columns); ++k) {
    // The row with the largest element in the column; the first of equals.
    KernelValue best = dag.abs(at(k, k)), pivot = dag.integer(int32, static_cast<std::int64_t>(k));
    for (std::size_t i = k + 1; i < rows; ++i) {
      const KernelValue size = dag.abs(at(i, k)), larger = dag.gt(size, best);
      best = dag.select(larger, size, best);
      pivot = dag.select(larger, dag.integer(int32, static_cast<std::int64_t>(i)), pivot);
    }
    for (std::size_t i = k + 1; i < rows; ++i) {
      const KernelValue here = dag.eq(pivot, dag.integer(int32, static_cast<std::int64_t>(i)));
      const auto interchange = [&](KernelValue& x, KernelValue& y) {
        const KernelValue old = x;
        x = dag.select(here, y, x);
        y = dag.select(here, old, y);
      };
      for (std::size_t c = 0; c < columns; ++c) interchange(at(k, c), at(i, c));
      interchange(f.permutation[k], f.permutation[i]);
    }
    f.pivots.push_back(pivot);
    // A column of zeros is left unchanged.
    const KernelValue zero = dag.constant(best.dtype, 0), regular = dag.ne(at(k, k), zero);
    for (std::size_t i = k + 1; i < rows; ++i) {
      at(i, k) = dag.select(regular, dag.div(at(i, k), at(k, k)), at(i, k));
      const KernelValue factor = dag.neg(at(i, k));
      for (std::size_t c = k + 1; c < columns; ++c) at(i, c) = dag.fma(factor, at(k, c), at(i, c));
    }
  }
  f.lu = std::move(a);
  return f;
}

Elements cholesky_elements(Dag& dag, const Elements& a, std::size_t n) {
  Elements l = a;
  const KernelValue zero = dag.constant(a[0].dtype, 0), nan = dag.constant(a[0].dtype, std::numeric_limits<double>::quiet_NaN());
  KernelValue good = dag.boolean(true);
  for (std::size_t k = 0; k < n; ++k) {
    KernelValue d = a[k * n + k];
    for (std::size_t c = 0; c < k; ++c) d = dag.fma(dag.neg(l[k * n + c]), l[k * n + c], d);
    good = dag.both(good, dag.gt(d, zero));
    d = dag.sqrt(d);
    l[k * n + k] = d;
    for (std::size_t i = k + 1; i < n; ++i) {
      KernelValue v = a[i * n + k];
      for (std::size_t c = 0; c < k; ++c) v = dag.fma(dag.neg(l[i * n + c]), l[k * n + c], v);
      l[i * n + k] = dag.div(v, d);
    }
  }
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t c = 0; c < n; ++c) l[i * n + c] = c > i ? zero : dag.select(good, l[i * n + c], nan);
  return l;
}

/// x of op(a) x = b, or of x op(a) = b.
Elements triangular_elements(Dag& dag, const Elements& a, const MatrixElements& right, const TriangularSolveParams& p) {
  Elements b = right.elements;
  const bool left = p.left_side;
  const std::size_t columns = right.columns, n = left ? right.rows : columns, others = left ? columns : right.rows;
  // x op(a) = b is op(a)^T x^T = b^T.
  const bool transpose = p.transpose_a == left, forward = p.lower != transpose;
  const auto element = [&](std::size_t i, std::size_t k) { return transpose ? a[k * n + i] : a[i * n + k]; };
  const auto x = [&](std::size_t i, std::size_t c) -> KernelValue& { return left ? b[i * columns + c] : b[c * columns + i]; };
  for (std::size_t step = 0; step < n; ++step) {
    const std::size_t i = forward ? step : n - 1 - step;
    for (std::size_t c = 0; c < others; ++c) {
      KernelValue v = x(i, c);
      for (std::size_t before = 0; before < step; ++before) {
        const std::size_t k = forward ? before : n - 1 - before;
        v = dag.fma(dag.neg(element(i, k)), x(k, c), v);
      }
      x(i, c) = p.unit_diagonal ? v : dag.div(v, element(i, i));
    }
  }
  return b;
}

struct QrElements {
  Elements q, r;
};

/// By Householder's reflections, with the signs of LAPACK's geqr2 and org2r: each is 1 - tau v v^T, v 1 in front. `columns`: of q,
/// which is formed where it is wanted.
QrElements qr_elements(Dag& dag, Elements a, std::size_t rows, std::size_t n, std::size_t columns, bool wants_q) {
  const KernelValue zero = dag.constant(a[0].dtype, 0), one = dag.constant(a[0].dtype, 1);
  const auto at = [&](std::size_t i, std::size_t k) -> KernelValue& { return a[i * n + k]; };
  // A reflection of the last row alone is the identity.
  const std::size_t count = std::min(rows - 1, n);
  Elements taus;
  for (std::size_t k = 0; k < count; ++k) {
    // The column's norm, from elements divided by the largest one, so that no square over- or underflows.
    KernelValue largest = dag.abs(at(k, k)), below = zero;
    for (std::size_t i = k + 1; i < rows; ++i) below = dag.max(below, dag.abs(at(i, k)));
    largest = dag.max(dag.max(largest, below), dag.constant(a[0].dtype, a[0].dtype == float64 ? 0x1p-1000 : 0x1p-120));
    const KernelValue inverse = dag.div(one, largest);
    KernelValue squares = zero;
    for (std::size_t i = k; i < rows; ++i) {
      const KernelValue x = dag.mul(at(i, k), inverse);
      squares = dag.fma(x, x, squares);
    }
    const KernelValue alpha = at(k, k), beta = dag.neg(dag.copysign(dag.mul(largest, dag.sqrt(squares)), alpha));
    const KernelValue reflects = dag.ne(below, zero);
    const KernelValue tau = dag.select(reflects, dag.div(dag.sub(beta, alpha), beta), zero);
    const KernelValue scale = dag.select(reflects, dag.div(one, dag.sub(alpha, beta)), zero);
    for (std::size_t i = k + 1; i < rows; ++i) at(i, k) = dag.mul(at(i, k), scale);
    at(k, k) = dag.select(reflects, beta, alpha);
    taus.push_back(tau);
    for (std::size_t c = k + 1; c < n; ++c) {
      KernelValue w = at(k, c);
      for (std::size_t i = k + 1; i < rows; ++i) w = dag.fma(at(i, k), at(i, c), w);
      const KernelValue step = dag.neg(dag.mul(tau, w));
      at(k, c) = dag.add(at(k, c), step);
      for (std::size_t i = k + 1; i < rows; ++i) at(i, c) = dag.fma(step, at(i, k), at(i, c));
    }
  }
  QrElements f;
  for (std::size_t i = 0; i < columns; ++i)
    for (std::size_t c = 0; c < n; ++c) f.r.push_back(i <= c ? at(i, c) : zero);
  if (!wants_q) return f;
  f.q.assign(rows * columns, zero);
  const auto q = [&](std::size_t i, std::size_t c) -> KernelValue& { return f.q[i * columns + c]; };
  for (std::size_t c = 0; c < columns; ++c) q(c, c) = one;
  for (std::size_t k = count; k-- > 0;) {
    for (std::size_t c = k + 1; c < columns; ++c) {
      KernelValue w = zero;
      for (std::size_t i = k + 1; i < rows; ++i) w = i == k + 1 ? dag.mul(at(i, k), q(i, c)) : dag.fma(at(i, k), q(i, c), w);
      const KernelValue step = dag.neg(dag.mul(taus[k], w));
      q(k, c) = step;
      for (std::size_t i = k + 1; i < rows; ++i) q(i, c) = dag.fma(step, at(i, k), q(i, c));
    }
    q(k, k) = dag.sub(one, taus[k]);
    for (std::size_t i = k + 1; i < rows; ++i) q(i, k) = dag.neg(dag.mul(taus[k], at(i, k)));
  }
  return f;
}

const RuleOf<MatrixElementRules> qr_rule(qr_primitive(), [](Dag& dag, const ParamsBase& params, std::span<const MatrixElements> in) {
  const std::size_t rows = in[0].rows, n = in[0].columns;
  const auto& p = params_as<QrParams>(params);
  QrElements f = qr_elements(dag, in[0].elements, rows, n, p.full_matrices ? rows : std::min(rows, n), !p.only_r);
  if (p.only_r) return std::vector<Elements>{std::move(f.r)};
  return std::vector<Elements>{std::move(f.q), std::move(f.r)};
});
const RuleOf<MatrixElementRules> lu_rule(lu_primitive(), [](Dag& dag, const ParamsBase&, std::span<const MatrixElements> in) {
  LuElements f = lu_elements(dag, in[0].elements, in[0].rows, in[0].columns);
  return std::vector<Elements>{std::move(f.lu), std::move(f.pivots), std::move(f.permutation)};
});
const RuleOf<MatrixElementRules> cholesky_rule(cholesky_primitive(), [](Dag& dag, const ParamsBase&, std::span<const MatrixElements> in) {
  return std::vector<Elements>{cholesky_elements(dag, in[0].elements, in[0].rows)};
});
const RuleOf<MatrixElementRules> triangular_solve_rule(triangular_solve_primitive(), [](Dag& dag, const ParamsBase& params,
                                                                                        std::span<const MatrixElements> in) {
  return std::vector<Elements>{triangular_elements(dag, in[0].elements, in[1], params_as<TriangularSolveParams>(params))};
});

}  // namespace
}  // namespace weft::detail
