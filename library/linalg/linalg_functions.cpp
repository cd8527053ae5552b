// Functions of matrices: pinv, lstsq, expm, matrix_power, multi_dot.
#include <fmt/format.h>

#include <array>
#include <cstdlib>

#include "weft/core/array/constructors.h"
#include "weft/core/array/indexing.h"
#include "weft/core/functions/contractions.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/control/composite.h"
#include "weft/core/ops/control/control.h"
#include "weft/core/ops/control/custom_derivatives.h"
#include "weft/core/ops/elementwise/stop_gradient.h"
#include "weft/core/ops/linalg/linalg.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/trace/trace.h"
#include "weft/library/linalg/linalg.h"
#include "weft/library/linalg/linalg_operands.h"

namespace weft {

using detail::LocScope;
using detail::matrix_operand;
using detail::square_matrix_operand;

namespace detail {
namespace {

using Arrays = std::span<const Array>;

Array pinv_by_svd(const Array& a, double rtol) {
  const linalg::Svd d = linalg::svd(conjugate(a), {.full_matrices = false});
  if (d.s.shape().back() == 0) return zeros_of(transposed(a).aval(), {});
  const Array limit = max(d.s, -1, keepdims) * rtol;
  const Array s = where(d.s > limit, d.s, std::numeric_limits<double>::infinity());
  return matmul(transposed(d.vh), transposed(d.u) / as_dtype(expand_dims(s, -1), a.dtype()));
}

/// G. H. Golub, V. Pereyra, The differentiation of pseudo-inverses and nonlinear least squares problems whose variables separate, 1973:
/// dp = -p da p + p p^H da^H (1 - a p) + (1 - p a) da^H p^H p.
struct PinvRule final : JvpRule {
  explicit PinvRule(double r) : rtol(r) {}
  std::vector<Array> apply(Arrays in, Arrays tangents, SourceLoc loc) const override {
    const Array &a = in[0], &da = tangents[0];
    const Array p = linalg::pinv(Arg(a, loc), {.rtol = rtol}), ph = adjoint(p), dah = adjoint(da);
    const std::int64_t m = a.shape()[a.ndim() - 2], n = a.shape().back();
    Array dp = -matmul(matmul(p, da), p);
    const Array outside_left = identity_like(a, m) - matmul(a, p), outside_right = identity_like(a, n) - matmul(p, a);
    dp = dp + matmul(matmul(matmul(p, ph), dah), outside_left);
    dp = dp + matmul(matmul(outside_right, dah), matmul(ph, p));
    return {p, dp};
  }
  const double rtol;
};

/// b[0] + b[2] x2 + b[4] x4 + ... of the given powers of the squared matrix, and likewise the odd coefficients.
Array even_part(std::span<const double> b, Arrays powers, std::size_t first) {
  Array sum = b[first] * powers[0];
  for (std::size_t i = 1; i < powers.size() && first + 2 * i < b.size(); ++i) sum = sum + b[first + 2 * i] * powers[i];
  return sum;
}

/// The diagonal Pade approximant p / q of exp: p = v + u, q = v - u. Coefficients relative to the first one.
struct Pade {
  Array u, v;
};
Pade pade7(const Array& a) {
  static constexpr std::array<double, 8> b{1, 1. / 2, 3. / 26, 5. / 312, 5. / 3432, 1. / 11440, 1. / 308880, 1. / 17297280};
  const Array one = identity_like(a, a.shape().back()), a2 = matmul(a, a), a4 = matmul(a2, a2), a6 = matmul(a4, a2);
  const Array powers[] = {one, a2, a4, a6};
  return {matmul(a, even_part(b, powers, 1)), even_part(b, powers, 0)};
}
Pade pade13(const Array& a) {
  static constexpr std::array<double, 14> b{64764752532480000.,
                                            32382376266240000.,
                                            7771770303897600.,
                                            1187353796428800.,
                                            129060195264000.,
                                            10559470521600.,
                                            670442572800.,
                                            33522128640.,
                                            1323241920.,
                                            40840800.,
                                            960960.,
                                            16380.,
                                            182.,
                                            1.};
  static constexpr auto scaled = [] {
    std::array<double, 14> r = b;
    for (double& x : r) x /= b[0];
    return r;
  }();
  const Array one = identity_like(a, a.shape().back()), a2 = matmul(a, a), a4 = matmul(a2, a2), a6 = matmul(a4, a2);
  const Array powers[] = {one, a2, a4, a6};
  const std::span<const double> all(scaled);
  // Powers above the sixth: a6 times a polynomial in a2, a4, a6.
  const Arrays high(powers + 1, 3);
  const Array u = matmul(a6, even_part(all.subspan(9), high, 0)) + even_part(all.first(8), powers, 1);
  const Array v = matmul(a6, even_part(all.subspan(8), high, 0)) + even_part(all.first(8), powers, 0);
  return {matmul(a, u), v};
}

constexpr int kMaxSquarings = 16;

/// r squared n times over, where n (one for each matrix) is at most kMaxSquarings.
Array square_repeatedly(const Array& r, const Array& n, SourceLoc loc) {
  const bool one_matrix = r.ndim() == 2;
  const Aval step{{}, int32};
  const Jaxpr body = trace_jaxpr({"expm", {n.aval(), r.aval(), step}, {}}, [&](Arrays in) {
    const Array &count = in[0], &x = in[1], wanted = in[2] < count;
    if (!one_matrix) return std::vector<Array>{where(expand_dims(wanted, {-1, -2}), matmul(x, x), x)};
    auto branch = [&](bool square) {
      return trace_jaxpr({"expm", {x.aval()}, {}}, [&](Arrays y) { return std::vector<Array>{square ? matmul(y[0], y[0]) : y[0]}; });
    };
    const Array operands[] = {as_dtype(wanted, int32), x};
    return bind_all<Cond>({{branch(false), branch(true)}}, operands, loc);
  });
  Scan::Params p;
  p.jaxpr = body, p.length = kMaxSquarings, p.num_consts = 1, p.num_carry = 1;
  const Array operands[] = {n, r, arange(kMaxSquarings, int32)};
  return bind_all<Scan>(std::move(p), operands, loc)[0];
}

// N. J. Higham, The scaling and squaring method for the matrix exponential revisited, SIAM J. Matrix Anal. Appl. 26 (2005), with the
// largest approximant of each precision.
Array exponential(const Array& x, SourceLoc loc) {
  const bool wide = x.dtype().real_part() == float64;
  const double radius = wide ? 5.371920351148152 : 3.925724783138660;
  const Array size = max(sum(abs(stop_gradient_of(x, loc)), -2), -1);
  const Array n = maximum(0., ceil(log2(size / radius)));
  const Array scale = as_dtype(expand_dims(exp2(-n), {-1, -2}), x.dtype());
  const Array scaled = x * scale;
  const Pade p = wide ? pade13(scaled) : pade7(scaled);
  const Array r = linalg::solve(p.v - p.u, p.v + p.u);
  const Array fits = n <= double{kMaxSquarings};  // false of NaN
  const Array squared = square_repeatedly(r, convert(where(fits, n, 0.), int32), loc);
  return where(expand_dims(fits, {-1, -2}), squared, std::numeric_limits<double>::quiet_NaN());
}

}  // namespace
}  // namespace detail

namespace linalg {

Array pinv(Arg a, PinvOptions options) {
  LocScope scope(a.where());
  const Array x = matrix_operand(a, "pinv");
  const double size = static_cast<double>(std::max(x.shape().back(), x.shape()[x.ndim() - 2]));
  const double rtol = options.rtol.value_or(10 * size * detail::epsilon_of(x.dtype()));
  const detail::Ref<const detail::JvpRule> rule = detail::make_ref<detail::PinvRule>(rtol);
  const Jaxpr j = detail::trace_jaxpr({"pinv", {x.aval()}, {}},
                                      [&](std::span<const Array> in) { return std::vector<Array>{detail::pinv_by_svd(in[0], rtol)}; });
  return detail::bind_custom_jvp("pinv", j, {"pinv", rule}, std::span(&x, 1), a.where())[0];
}

Lstsq lstsq(Arg a, Arg b, std::optional<double> rcond) {
  LocScope scope(a.where());
  const Array p = matrix_operand(a, "lstsq");
  const bool vector = b.array().ndim() == 1;
  const std::int64_t m = p.shape()[0], n = p.shape().back();
  if (p.ndim() != 2 || (b.array().ndim() != 2 && !vector) || b.array().shape()[0] != m)
    throw ShapeError(fmt::format("lstsq: {} and {}: they must be a matrix, and a vector or a matrix with as many rows",
                                 detail::to_string(a.aval()), detail::to_string(b.aval())),
                     detail::effective_loc(a.where()));
  const Array q = detail::as_dtype(b.array(), detail::inexact_dtype(b.array().dtype()));
  const DType dtype = promote_types(p.dtype(), q.dtype());
  const Array x = detail::as_dtype(p, dtype), rhs = detail::as_dtype(vector ? expand_dims(q, 1) : q, dtype);
  const Svd d = svd(x, {.full_matrices = false});
  const double least = rcond.value_or(static_cast<double>(std::max(m, n)) * detail::epsilon_of(dtype));
  const Array kept = (d.s > 0) & (d.s >= least * (d.s.shape().back() ? d.s[0] : Array(0.)));
  const Array inverse = where(kept, 1. / where(kept, d.s, 1.), 0.);
  const Array coefficients = detail::as_dtype(expand_dims(inverse, 1), dtype) * matmul(detail::adjoint(d.u), rhs);
  const Array solution = matmul(detail::adjoint(d.vh), coefficients);
  const Array rest = rhs - matmul(x, solution), residuals = sum(real(rest * detail::conjugate(rest)), 0);
  return {vector ? squeeze(solution, 1) : solution, residuals, sum(kept, 0), d.s};
}

Array expm(Arg a) {
  LocScope scope(a.where());
  const Array x = square_matrix_operand(a, "expm");
  if (x.shape().back() == 0) return x;
  return detail::named("weft.expm", {}, std::span(&x, 1), a.where(),
                       [&](std::span<const Array> in) { return detail::exponential(in[0], a.where()); });
}

Array matrix_power(Arg a, Int exponent) {
  const std::int64_t n = exponent;
  LocScope scope(a.where());
  Array x = n < 0 ? inv(a) : a.array();
  if (n >= 0 && (x.ndim() < 2 || x.shape().back() != x.shape()[x.ndim() - 2])) square_matrix_operand(a, "matrix_power");
  if (n == 0) return broadcast_to(detail::identity_like(x, x.shape().back()), x.shape());
  Array power;
  for (std::uint64_t rest = n < 0 ? 0 - static_cast<std::uint64_t>(n) : static_cast<std::uint64_t>(n); rest > 0; rest >>= 1) {
    if (rest & 1) power = power.is_empty_handle() ? x : matmul(power, x);
    if (rest > 1) x = matmul(x, x);
  }
  return power;
}

// The classical dynamic programme: cost[i][j] of the product of matrices i to j, cut[i][j] where it is divided.
Array multi_dot(Args xs) {
  const std::vector<Arg>& all = xs.args();
  if (all.empty()) throw ShapeError("multi_dot: no matrices are given; it needs at least one");
  LocScope scope(all[0].where());
  const std::size_t n = all.size();
  std::vector<double> sizes;  // matrix i is sizes[i] x sizes[i + 1]
  for (std::size_t i = 0; i < n; ++i) {
    const Shape& s = all[i].array().shape();
    const bool end = i == 0 || i + 1 == n;
    if (s.size() != 2 && !(end && s.size() == 1))
      throw ShapeError(fmt::format("multi_dot: operand {} is {}; operands are matrices, the first and the last may be vectors", i,
                                   detail::to_string(all[i].aval())),
                       detail::effective_loc(all[i].where()));
    if (i == 0) sizes.push_back(s.size() == 1 ? 1 : static_cast<double>(s[0]));
    sizes.push_back(s.size() == 1 && i + 1 == n && n > 1 ? 1 : static_cast<double>(s.back()));
  }
  std::vector<std::vector<double>> cost(n, std::vector<double>(n));
  std::vector<std::vector<std::size_t>> cut(n, std::vector<std::size_t>(n));
  for (std::size_t length = 2; length <= n; ++length)
    for (std::size_t i = 0; i + length <= n; ++i) {
      const std::size_t j = i + length - 1;
      for (std::size_t k = i; k < j; ++k) {
        const double c = cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1];
        if (k == i || c < cost[i][j]) cost[i][j] = c, cut[i][j] = k;
      }
    }
  auto product = [&](auto& self, std::size_t i, std::size_t j) -> Array {
    return i == j ? all[i].array() : matmul(self(self, i, cut[i][j]), self(self, cut[i][j] + 1, j));
  };
  return product(product, 0, n - 1);
}

}  // namespace linalg
}  // namespace weft
