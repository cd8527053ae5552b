// Eigenvalues and eigenvectors of matrices that need not be Hermitian. No primitive has rules for them: the host calls LAPACK's geev.
#include <cstddef>
#include <limits>
#include <vector>

#include "weft/core/array/array_impl.h"
#include "weft/core/array/host.h"
#include "weft/core/base/lapack.h"
#include "weft/core/base/process_wide.h"
#include "weft/core/errors/error.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/control/callback.h"
#include "weft/core/ops/control/custom_derivatives.h"
#include "weft/core/ops/linalg/linalg.h"
#include "weft/core/trace/trace.h"
#include "weft/library/linalg/linalg.h"
#include "weft/library/linalg/linalg_operands.h"

namespace weft {

using detail::LocScope;
using detail::square_matrix_operand;

namespace detail {
namespace {

using Arrays = std::span<const Array>;

DType complex_of(DType d) { return d.real_part() == float64 ? complex128 : complex64; }

/// The types of the eigenvalues and, where they are wanted, the eigenvectors.
std::vector<Aval> result_types(const Aval& a, bool vectors) {
  const DType dtype = complex_of(a.dtype);
  std::vector<Aval> out{{Shape(a.shape.begin(), a.shape.end() - 1), dtype}};
  if (vectors) out.push_back({a.shape, dtype});
  return out;
}

/// The results for all matrices of a; NaN for those whose eigenvalues are not found.
template <class T>
std::vector<Array> eigen(const Array& a, bool vectors) {
  using C = lapack::Complex<T>;
  const std::vector<Aval> types = result_types(a.aval(), vectors);
  const auto n = static_cast<std::size_t>(a.shape().back()), area = n * n, total = static_cast<std::size_t>(a.size());
  std::vector<T> matrices(total);
  read_elements(a, a.dtype(), matrices.data(), "eig", {});
  std::vector<C> values(static_cast<std::size_t>(types[0].size())), found(vectors ? total : 0);
  const C nan(std::numeric_limits<lapack::Real<T>>::quiet_NaN(), std::numeric_limits<lapack::Real<T>>::quiet_NaN());
  for (std::size_t i = 0; area && i < total / area; ++i) {
    C* w = values.data() + i * n;
    C* v = vectors ? found.data() + i * area : nullptr;
    if (lapack::eig(matrices.data() + i * area, static_cast<int>(n), w, static_cast<C*>(nullptr), v)) continue;
    std::fill(w, w + n, nan);
    if (v) std::fill(v, v + area, nan);
  }
  std::vector<Array> out{make_concrete(types[0], values.data())};
  if (vectors) out.push_back(make_concrete(types[1], found.data()));
  return out;
}

struct Geev final : CallbackFunction {
  explicit Geev(bool v) : vectors(v) {}
  std::vector<Array> call(Arrays leaves) const override {
    const Array& a = leaves[0];
    if (a.dtype() == float32) return eigen<float>(a, vectors);
    if (a.dtype() == float64) return eigen<double>(a, vectors);
    if (a.dtype() == complex64) return eigen<std::complex<float>>(a, vectors);
    return eigen<std::complex<double>>(a, vectors);
  }
  const bool vectors;
};

std::vector<Array> call_geev(const Array& a, bool vectors, SourceLoc loc) {
  // One function each, so that equal programs are equal.
  static const auto& values_alone = process_wide<Ref<const CallbackFunction>>(make_ref<Geev>(false));
  static const auto& both = process_wide<Ref<const CallbackFunction>>(make_ref<Geev>(true));
  PureCallbackParams p{{vectors ? "eig" : "eigvals", vectors ? both : values_alone, loc}, {}, {result_types(a.aval(), vectors)}};
  p.vmap_method = "expand_dims";
  return bind_pure_callback(std::move(p), std::span(&a, 1), loc);
}

/// dw = diag(v^-1 da v)
struct EigvalsRule final : JvpRule {
  std::vector<Array> apply(Arrays in, Arrays tangents, SourceLoc loc) const override {
    const std::vector<Array> r = call_geev(in[0], true, loc);
    const Array &w = r[0], &v = r[1];
    return {w, sum(linalg::solve(Arg(v, loc), as_dtype(tangents[0], v.dtype())) * transposed(v), -1)};
  }
};
struct EigRule final : JvpRule {
  std::vector<Array> apply(Arrays in, Arrays, SourceLoc loc) const override {
    throw Error("eig: the eigenvectors of " + to_string(in[0].aval()) +
                    " have no derivative here, as in JAX; eigvals has one, and so has eigh of Hermitian matrices",
                effective_loc(loc));
  }
};

std::vector<Array> eig_of(const Array& a, bool vectors, SourceLoc loc) {
  static const auto& of_values = process_wide<Ref<const JvpRule>>(make_ref<EigvalsRule>());
  static const auto& of_both = process_wide<Ref<const JvpRule>>(make_ref<EigRule>());
  const char* name = vectors ? "eig" : "eigvals";
  const Jaxpr j = trace_jaxpr({name, {a.aval()}, {}}, [&](Arrays in) { return call_geev(in[0], vectors, loc); });
  return bind_custom_jvp(name, j, {name, vectors ? of_both : of_values}, std::span(&a, 1), loc);
}

}  // namespace
}  // namespace detail

namespace linalg {

Eig eig(Arg a) {
  LocScope scope(a.where());
  const std::vector<Array> r = detail::eig_of(square_matrix_operand(a, "eig"), true, a.where());
  return {r[0], r[1]};
}
Array eigvals(Arg a) {
  LocScope scope(a.where());
  return detail::eig_of(square_matrix_operand(a, "eigvals"), false, a.where())[0];
}

}  // namespace linalg
}  // namespace weft
