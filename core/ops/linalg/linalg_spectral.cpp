// eigh, svd, qr.
#include <algorithm>

#include "weft/core/array/constructors.h"
#include "weft/core/functions/contractions.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/ir/partition_rule.h"
#include "weft/core/ir/prune.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/linalg/linalg_common.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/registry.h"
#include "weft/core/text/text_rules.h"

namespace weft::detail {
namespace {

/// The real numbers in x's dtype: complex ones where x is complex.
Array like(const Array& x, const Array& real) { return as_dtype(real, x.dtype()); }
/// The equation with parameters by which the result `kept` is the only one, of two; nothing where the other one is read.
template <class P>
std::optional<PrunedEqn> keep_one(const PruneContext& c, std::size_t kept, bool P::* only) {
  if (c.out.size() != 2 || c.live[1 - kept]) return {};
  P params = c.get<P>();
  params.*only = true;
  PrunedEqn r{make_params(params), {0}, {kept}, std::vector<PrunedResult>(2)};
  r.results[kept] = {PrunedResult::From::result, 0};
  return r;
}

/// A vector as the row, or the column, of a matrix.
Array as_row(const Array& v, SourceLoc loc) { return insert_axes(v, {v.ndim() - 1}, loc); }
Array as_column(const Array& v, SourceLoc loc) { return insert_axes(v, {v.ndim()}, loc); }

struct Eigh {
  static constexpr int num_operands = 1;
  static constexpr std::string_view name = "eigh", doc = "Eigenvectors and ascending eigenvalues of a Hermitian matrix.";
  static constexpr Kind kind = Kind::library;
  static constexpr bool not_linear = true;
  using Params = EighParams;

  static std::vector<Aval> abstract_eval(const OpContext& c) {
    check_square_matrix(c, 0);
    const Aval &a = c.in[0], values{matrix_shape(a.shape, {a.shape.back()}), a.dtype.real_part()};
    if (c.get<Params>().only_values) return {values};
    return {{a.shape, a.dtype}, values};
  }
  /// M. B. Giles, An extended collection of matrix derivative results for forward and reverse mode algorithmic differentiation, 2008,
  /// section 3.1, with eigenvectors that keep their length.
  static std::vector<Tangent> jvp(const JvpContext& c) {
    if (c.get<Params>().only_values) {
      const Array v = bind_all<Eigh>({.lower = c.get<Params>().lower}, std::span(c.in.data(), 1), c.loc)[0];
      return {real(diagonal_of(matmul(matmul(adjoint(v), *c.tangents[0]), v), c.loc))};
    }
    const Array &v = c.out[0], w = like(v, c.out[1]), one = identity_like(v, v.shape().back());
    // The reciprocal differences of eigenvalues, 0 on the diagonal without ever dividing by 0 there.
    const Array f = integer_pow(one + as_row(w, c.loc) - as_column(w, c.loc), -1) - one;
    const Array inner = matmul(matmul(adjoint(v), *c.tangents[0]), v);
    return {matmul(v, f * inner), real(diagonal_of(inner, c.loc))};
  }
  static BatchResult batch(const BatchContext& c) { return batch_matrices(c); }
  static void reference(const ReferenceContext& c) {
    const Matrices m(c.in[0].aval.shape);
    const auto [lower, only_values] = c.get<Params>();
    with_matrix_storage(c.in[0].aval.dtype, [&]<class T>() {
      lapack::eigh_of_each(c.in[0].as<T>(), m.count, m.rows, lower, c.out.back().as<lapack::Real<T>>(),
                           only_values ? nullptr : c.out[0].as<T>());
    });
  }
};

constexpr ParamValue kEighAdded[] = {{"algorithm", "None"}, {"sort_eigenvalues", "True"}, {"subset_by_index", "None"}};
constexpr ParamValue kEighIgnored[] = {{"algorithm", ""}, {"sort_eigenvalues", "True"}, {"subset_by_index", "None"}};
constexpr ParamValue kEighLeftOut[] = {{"only_values", "False"}};
const TextRule<Eigh> eigh_text([] { return TextTraits{.left_out = kEighLeftOut, .added = kEighAdded, .ignored = kEighIgnored}; });
const PruneRule<Eigh> eigh_prune([](const PruneContext& c) { return keep_one(c, 1, &EighParams::only_values); });

struct Svd {
  static constexpr int num_operands = 1;
  static constexpr std::string_view name = "svd", doc = "Descending singular values of a matrix, and with compute_uv its singular vectors.";
  static constexpr Kind kind = Kind::library;
  static constexpr bool not_linear = true;
  using Params = SvdParams;

  static std::vector<Aval> abstract_eval(const OpContext& c) {
    check_matrix(c, 0);
    const Params& p = c.get<Params>();
    const Aval& a = c.in[0];
    const std::int64_t m = a.shape[a.ndim() - 2], n = a.shape.back(), k = std::min(m, n);
    std::vector<Aval> out{{matrix_shape(a.shape, {k}), a.dtype.real_part()}};
    if (p.compute_uv) {
      out.push_back({matrix_shape(a.shape, {m, p.full_matrices ? m : k}), a.dtype});
      out.push_back({matrix_shape(a.shape, {p.full_matrices ? n : k, n}), a.dtype});
    }
    return out;
  }
  /// Giles 2008, section 3.2, and for the vectors the formulas of jax.lax.linalg.svd. Values alone are differentiated with vectors too.
  static JvpResult jvp_call(const JvpContext& c) {
    const Params& p = c.get<Params>();
    const Array &a = c.in[0], &da = *c.tangents[0];
    const std::int64_t m = a.shape()[a.ndim() - 2], n = a.shape().back();
    if (p.compute_uv && p.full_matrices && m != n)
      throw TracerError("svd: the vectors of full_matrices have no derivative; pass full_matrices = false", c.loc);
    const std::vector<Array> parts = svd_of(a, {.full_matrices = false}, c.loc);
    const Array &s = parts[0], &u = parts[1], &vh = parts[2], uh = adjoint(u), v = adjoint(vh);
    const Array ds_matrix = matmul(matmul(uh, da), v);
    const Array ds = real(diagonal_of(ds_matrix, c.loc));
    if (!p.compute_uv) return {{s}, {ds}};

    const Array row = as_row(s, c.loc), column = as_column(s, c.loc);
    auto reciprocal = [&](const Array& x) {  // 0 where x is 0
      const Array is_zero = as_dtype(x == 0, s.dtype());
      return 1. / (x + is_zero) - is_zero;
    };
    const Array f = like(a, reciprocal((row + column) * (row - column)));
    const Array left = like(a, row) * ds_matrix, right = like(a, column) * ds_matrix;
    const Array inverse = as_row(reciprocal(s), c.loc) * identity_like(s, s.shape().back());
    const Array diagonal = (ds_matrix - adjoint(ds_matrix)) * (like(a, inverse) * .5);
    Array du = matmul(u, f * (left + adjoint(left)) + diagonal), dv = matmul(v, f * (right + adjoint(right)));
    // What is outside of the space that the vectors span.
    if (m > n) {
      const Array x = matmul(da, v);
      du = du + (x - matmul(u, matmul(uh, x))) / like(a, row);
    }
    if (n > m) {
      const Array x = matmul(adjoint(da), u);
      dv = dv + (x - matmul(v, matmul(vh, x))) / like(a, row);
    }
    return {parts, {ds, du, adjoint(dv)}};
  }
  static JvpResult linearize_call(const JvpContext& c) { return jvp_call(c); }
  static BatchResult batch(const BatchContext& c) { return batch_matrices(c); }
  static void reference(const ReferenceContext& c) {
    const Params& p = c.get<Params>();
    const Matrices a(c.in[0].aval.shape);
    with_matrix_storage(c.in[0].aval.dtype, [&]<class T>() {
      T *u = nullptr, *vh = nullptr;
      if (p.compute_uv) {
        u = c.out[1].as<T>(), vh = c.out[2].as<T>();
        if (a.size == 0) {
          const Matrices left(c.out[1].aval.shape), right(c.out[2].aval.shape);
          for (std::int64_t i = 0; i < a.count; ++i) {
            set_identity(u + i * left.size, left.rows, left.columns);
            set_identity(vh + i * right.size, right.rows, right.columns);
          }
        }
      }
      lapack::svd_of_each(c.in[0].as<T>(), a.count, a.rows, a.columns, p.full_matrices, c.out[0].as<lapack::Real<T>>(), u, vh);
    });
  }

 private:
  template <class T>
  static void set_identity(T* x, int rows, int columns) {
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < columns; ++j) *x++ = T(i == j);
  }
};

constexpr ParamValue kSvdAdded[] = {{"algorithm", "None"}, {"subset_by_index", "None"}};
constexpr ParamValue kSvdIgnored[] = {{"algorithm", ""}, {"subset_by_index", "None"}};
const TextRule<Svd> svd_text([] { return TextTraits{.added = kSvdAdded, .ignored = kSvdIgnored}; });

struct Qr {
  static constexpr int num_operands = 1;
  static constexpr std::string_view name = "qr", doc = "q with orthonormal columns and an upper triangular r with q r = a.";
  static constexpr Kind kind = Kind::library;
  static constexpr bool not_linear = true;
  using Params = QrParams;

  static std::vector<Aval> abstract_eval(const OpContext& c) {
    check_matrix(c, 0);
    const Aval& a = c.in[0];
    const std::int64_t m = a.shape[a.ndim() - 2], n = a.shape.back(), k = c.get<Params>().full_matrices ? m : std::min(m, n);
    const Aval r{matrix_shape(a.shape, {k, n}), a.dtype};
    if (c.get<Params>().only_r) return {r};
    return {{matrix_shape(a.shape, {m, k}), a.dtype}, r};
  }
  /// https://j-towns.github.io/papers/qr-derivative.pdf. Of a wide matrix (a, b) = q (r, s): s = q^H b, so ds = dq^H b + q^H db.
  static std::vector<Tangent> jvp(const JvpContext& c) {
    if (c.get<Params>().only_r) {
      const std::vector<Array> both = bind_all<Qr>({.full_matrices = c.get<Params>().full_matrices}, std::span(c.in.data(), 1), c.loc);
      return {jvp_of(c, both[0], both[1])[1]};
    }
    return jvp_of(c, c.out[0], c.out[1]);
  }
  static std::vector<Tangent> jvp_of(const JvpContext& c, const Array& q, const Array& all_of_r) {
    const Array &a = c.in[0], &da = *c.tangents[0];
    const std::int64_t m = a.shape()[a.ndim() - 2], n = a.shape().back(), k = std::min(m, n);
    if (m > n && c.get<Params>().full_matrices)
      throw TracerError("qr: the columns that full_matrices adds have no derivative; use the reduced factors", c.loc);
    const int last = a.ndim() - 1;
    auto square = [&](const Array& x) { return slice_axis(x, last, 0, k, c.loc); };
    auto rest = [&](const Array& x) { return slice_axis(x, last, k, n, c.loc); };
    const Array r = square(all_of_r), qh = adjoint(q);
    const Array dx = solve_triangular(r, square(da), {}, c.loc);  // da r^-1
    const Array inner = matmul(qh, dx), lower = tril(inner, -1);
    Array skew = lower - adjoint(lower);
    if (a.dtype().is_complex()) skew = skew + identity_like(a, k) * (inner - as_dtype(real(inner), a.dtype()));
    const Array dq = matmul(q, skew - inner) + dx, dr = matmul(inner - skew, r);
    if (n == k) return {dq, dr};
    const Array ds = matmul(adjoint(dq), rest(a)) + matmul(qh, rest(da));
    const Array both[] = {dr, ds};
    return {dq, concatenate_along(both, last, c.loc)};
  }
  static BatchResult batch(const BatchContext& c) { return batch_matrices(c); }
  static void reference(const ReferenceContext& c) {
    const bool only_r = c.get<Params>().only_r;
    const Matrices a(c.in[0].aval.shape), r(c.out.back().aval.shape);
    with_matrix_storage(c.in[0].aval.dtype, [&]<class T>() {
      lapack::qr_of_each(c.in[0].as<T>(), a.count, a.rows, a.columns, r.rows, only_r ? nullptr : c.out[0].as<T>(), c.out.back().as<T>());
    });
  }
};

constexpr ParamValue kQrAdded[] = {{"pivoting", "False"}, {"use_magma", "None"}};
constexpr ParamValue kQrIgnored[] = {{"pivoting", "False"}, {"use_magma", ""}};
constexpr ParamValue kQrLeftOut[] = {{"only_r", "False"}};
const TextRule<Qr> qr_text([] { return TextTraits{.left_out = kQrLeftOut, .added = kQrAdded, .ignored = kQrIgnored}; });
const PruneRule<Qr> qr_prune([](const PruneContext& c) { return keep_one(c, 1, &QrParams::only_r); });

const PartitionRule<Eigh> eigh_partition([](const PartitionContext& c) { return partition_batched(c, c.in[0].whole.size() - 2); });
const PartitionRule<Svd> svd_partition([](const PartitionContext& c) { return partition_batched(c, c.in[0].whole.size() - 2); });
const PartitionRule<Qr> qr_partition([](const PartitionContext& c) { return partition_batched(c, c.in[0].whole.size() - 2); });

}  // namespace

const Primitive& eigh_primitive() { return primitive_of<Eigh>; }
const Primitive& svd_primitive() { return primitive_of<Svd>; }
const Primitive& qr_primitive() { return primitive_of<Qr>; }

Eigen eigh_of(const Array& a, SourceLoc loc) {
  std::vector<Array> r = bind_all<Eigh>({}, std::span(&a, 1), loc);
  return {r[0], r[1]};
}
std::vector<Array> svd_of(const Array& a, SvdParams params, SourceLoc loc) { return bind_all<Svd>(params, std::span(&a, 1), loc); }
std::vector<Array> qr_of(const Array& a, QrParams params, SourceLoc loc) { return bind_all<Qr>(params, std::span(&a, 1), loc); }

PrimitiveList spectral_primitives() {
  static constexpr const Primitive* list[] = {&primitive_of<Eigh>, &primitive_of<Qr>, &primitive_of<Svd>};
  return list;
}

}  // namespace weft::detail
