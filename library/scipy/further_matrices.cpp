#include "weft/library/scipy/further_matrices.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <vector>

#include "weft/core/array/constructors.h"
#include "weft/core/array/indexing.h"
#include "weft/core/errors/error.h"
#include "weft/core/functions/contractions.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/ops/promotion.h"
#include "weft/core/trace/trace.h"
#include "weft/library/linalg/linalg_operands.h"
#include "weft/library/numpy/host_numbers.h"
#include "weft/library/scipy/matrices.h"

namespace weft::linalg {

using detail::LocScope;
using detail::to_string;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

[[noreturn]] void refuse(SourceLoc loc, const std::string& what) { throw ShapeError(what, detail::effective_loc(loc)); }
/// The binomial coefficient, exact while it is below 2^53.
double binomial(std::int64_t n, std::int64_t k) {
  if (k < 0 || k > n) return 0;
  double out = 1;
  for (std::int64_t i = 1; i <= k; ++i) out = std::round(out * static_cast<double>(n - k + i) / static_cast<double>(i));
  return out;
}
double alternating(std::int64_t i) { return i % 2 == 0 ? 1 : -1; }
/// The n x n matrix of element(i, j).
Array matrix_of(const char* name, std::int64_t n, DType dtype, SourceLoc loc, const auto& element) {
  if (n < 0) refuse(loc, fmt::format("{}: n is {}; it must not be negative", name, n));
  auto out = detail::host_numbers<double>(name, n, n, loc);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) out.push_back(element(i, j));
  return array(out, {n, n}, dtype, loc);
}
Array square(const char* name, const Arg& x) {
  const Array a = detail::to_inexact(x);
  if (a.ndim() != 2 || a.shape()[0] != a.shape()[1])
    refuse(x.where(), fmt::format("{}: {} must be a square matrix; map over more dimensions by vmap", name, to_string(x.aval())));
  return a;
}
Array conjugate_transpose(const Array& a) { return conj(transpose(a)); }

Array function_from(const Schur& form, const Array& values) {
  const Array& t = form.t;
  const std::int64_t n = t.shape()[0];
  if (values.ndim() != 1 || values.shape()[0] != n)
    throw ShapeError(fmt::format("funm: the function gives {} of {} eigenvalues", to_string(values.aval()), n));
  Array f = weft::diag(convert(values, t.dtype()));
  const Array least = max(abs(t)) * (8 * detail::epsilon_of(t.dtype().real_part()));
  for (std::int64_t p = 1; p < n; ++p)
    for (std::int64_t i = 0; i + p < n; ++i) {
      const std::int64_t j = i + p;
      Array sum = t(i, j) * (f(j, j) - f(i, i));
      if (p > 1) {
        const auto between = slice(i + 1, j);
        sum = sum + matmul(t(i, between), f(between, j)) - matmul(f(i, between), t(between, j));
      }
      const Array distance = t(j, j) - t(i, i), same = distance == 0;
      // Of an eigenvalue that has too few eigenvectors the function's derivatives count, too.
      const Array defective = same & (abs(t(i, j)) > least);
      f = f.at(i, j).set(where(defective, not_a_number, where(same, sum, sum / where(same, 1, distance))));
    }
  return matmul(matmul(form.z, f), conjugate_transpose(form.z));
}

}  // namespace

Array invhilbert(Int size, DType dtype, SourceLoc loc) {
  LocScope scope(loc);
  const std::int64_t n = size;
  return matrix_of("invhilbert", n, dtype, loc, [n](std::int64_t i, std::int64_t j) {
    const double both = binomial(i + j, i);
    return alternating(i + j) * static_cast<double>(i + j + 1) * binomial(n + i, n - j - 1) * binomial(n + j, n - i - 1) * both * both;
  });
}
Array invpascal(Int size, const std::string& kind, DType dtype, SourceLoc loc) {
  LocScope scope(loc);
  if (kind != "symmetric" && kind != "lower" && kind != "upper")
    throw Error(fmt::format("invpascal: unknown kind `{}`; available: symmetric, lower, upper", kind), detail::effective_loc(loc));
  const std::int64_t n = size;
  return matrix_of("invpascal", n, dtype, loc, [&](std::int64_t i, std::int64_t j) {
    if (kind == "lower") return alternating(i - j) * binomial(i, j);
    if (kind == "upper") return alternating(j - i) * binomial(j, i);
    double sum = 0;
    for (std::int64_t k = 0; k < n; ++k) sum += binomial(k, i) * binomial(k, j);
    return alternating(i + j) * sum;
  });
}
Array fiedler_companion(Arg given) {
  LocScope scope(given.where());
  const Array a = detail::to_inexact(given);
  if (a.ndim() != 1 || a.size() == 0)
    refuse(given.where(), fmt::format("fiedler_companion: {} is not a vector with elements", to_string(given.aval())));
  const std::int64_t n = a.size() - 1;
  if (n == 0) return zeros({0, 0}, a.dtype());
  // Each element is 0, 1 or the negative of a coefficient, by its place among these.
  const Array parts = concatenate({-a(slice(1, none)) / a[0], array({0, 1}, a.dtype())});
  auto places = detail::host_numbers<std::int64_t>("fiedler_companion", n, n, given.where());
  const std::int64_t zero = n, one = n + 1;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      const bool even = i % 2 == 0;
      if (i == 0 && j == 0)
        places.push_back(0);
      else if ((i == 1 && j == 0) || (even && j == i + 2) || (!even && i >= 3 && j == i - 2))
        places.push_back(one);
      else if (even && j == i + 1)
        places.push_back(i + 1);
      else
        places.push_back(even && i >= 2 && j == i - 1 ? i : zero);
    }
  return take(parts, array(places, {n, n}, int32));
}

Schur rsf2csf(Arg given_t, Arg given_z) {
  LocScope scope(given_t.where());
  Array t = square("rsf2csf", given_t), z = square("rsf2csf", given_z);
  if (t.shape() != z.shape())
    refuse(given_t.where(), fmt::format("rsf2csf: {} and {} must have one shape", to_string(given_t.aval()), to_string(given_z.aval())));
  const DType dtype = promote_types(promote_types(t.dtype(), z.dtype()), complex64);
  t = convert(t, dtype), z = convert(z, dtype);
  for (std::int64_t m = t.shape()[0] - 1; m > 0; --m) {
    // A rotation makes the eigenvector of the block's first eigenvalue its first axis. Blocks that are triangular stay.
    const Array a = t(m - 1, m - 1), b = t(m - 1, m), c = t(m, m - 1), d = t(m, m), half = (a - d) / 2;
    const Array root = sqrt(half * half + b * c), shift = where(real(half) < 0, half - root, half + root);
    const Array length = sqrt(weft::square(abs(shift)) + weft::square(abs(c))), turns = abs(c) > 0;
    const Array safe = where(turns, length, 1), cosine = where(turns, shift / safe, 1), sine = where(turns, c / safe, 0);
    const Array rotation = reshape(stack({conj(cosine), sine, -sine, cosine}), {2, 2});
    const Array back = conjugate_transpose(rotation);
    const auto rows = slice(m - 1, m + 1);
    t = t.at(rows).set(matmul(rotation, t(rows)));
    t = t.at(slice(), rows).set(matmul(t(slice(), rows), back));
    z = z.at(slice(), rows).set(matmul(z(slice(), rows), back));
    t = t.at(m, m - 1).set(0);
  }
  return {t, z};
}
QrProduct qr_multiply(Arg given_a, Arg given_c, TextArg side) {
  LocScope scope(given_a.where());
  const std::string& mode = side.str();
  if (mode != "left" && mode != "right")
    throw Error(fmt::format("qr_multiply: unknown mode `{}`; available: left, right", mode), detail::effective_loc(given_a.where()));
  const bool left = mode == "left", vector = given_c.array().ndim() == 1;
  const Qr factors = qr(given_a);
  const Array& q = factors.q;
  const Array c = vector ? expand_dims(given_c, left ? 1 : 0) : given_c.array();
  if (c.ndim() < 2 || c.shape()[left ? -2 : -1] != q.shape()[left ? -1 : -2])
    refuse(given_c.where(), fmt::format("qr_multiply: {} doesn't fit the factor q of {}, of {} rows and {} columns",
                                        to_string(given_c.aval()), to_string(given_a.aval()), q.shape()[-2], q.shape()[-1]));
  const Array product = left ? matmul(q, c) : matmul(c, q);
  return {vector ? ravel(product) : product, factors.r};
}

}  // namespace weft::linalg

namespace weft::detail {

Array from_triangle(const linalg::Schur& form, const Array& values) { return linalg::function_from(form, values); }

}  // namespace weft::detail
