// The custom calls by which JAX names LAPACK's routines for eigenvalues of any matrix, its Schur and Hessenberg forms, tridiagonal forms
// and QR with pivots: weft has no primitives of these, so that the host computes them, as a callback of the program.
#include <algorithm>
#include <complex>
#include <cstddef>
#include <functional>
#include <limits>

#include "weft/core/array/array_impl.h"
#include "weft/core/array/host.h"
#include "weft/core/base/lapack.h"
#include "weft/core/ops/control/callback.h"
#include "weft/frontends/stablehlo/import/importer.h"

namespace weft::detail::mlir {
namespace {

/// An array's elements on the host.
struct Elements {
  Aval aval;
  std::vector<std::max_align_t> memory;
  explicit Elements(Aval a)
      : aval(std::move(a)), memory(static_cast<std::size_t>(aval.bytes()) / sizeof(std::max_align_t) + 1, std::max_align_t{}) {}
  /// Those of matrix (vector, number) i, of which each has so many elements.
  template <class T>
  T* part(std::int64_t i, std::int64_t elements) {
    return reinterpret_cast<T*>(memory.data()) + i * elements;
  }
};

/// f(operands, results) of a batch of matrices.
class HostRoutine final : public CallbackFunction {
 public:
  using Body = std::function<void(std::vector<Elements>& operands, std::vector<Elements>& results)>;
  HostRoutine(std::vector<Aval> results, Body body) : results_(std::move(results)), body_(std::move(body)) {}
  std::vector<Array> call(std::span<const Array> leaves) const override {
    std::vector<Elements> in, out;
    for (const Array& x : leaves) {
      in.emplace_back(x.aval());
      read_elements(x, x.dtype(), in.back().memory.data(), "lapack", {});
    }
    for (const Aval& a : results_) out.emplace_back(a);
    body_(in, out);
    std::vector<Array> values;
    for (const Elements& e : out) values.push_back(make_concrete(e.aval, e.memory.data()));
    return values;
  }

 private:
  const std::vector<Aval> results_;
  const Body body_;
};

Values on_host(const OpCall& c, HostRoutine::Body body) {
  TypeList types;
  for (const Type& t : c.op.result_types) types.avals.push_back(aval_of(t, c.importer(), c.op.place));
  const Arrays out =
      bind_pure_callback({{c.symbol("call_target_name"), make_ref<HostRoutine>(types.avals, std::move(body))}, {}, types}, c.ins(), c.loc);
  return {out.begin(), out.end()};
}

/// The batch of matrices that operand 0 is.
struct Batch {
  std::int64_t count = 1;
  int rows, columns;
  explicit Batch(const OpCall& c) {
    const Shape& s = c.in(0).shape();
    if (s.size() < 2 || !c.in(0).dtype().is_inexact() || s[s.size() - 1] > (1 << 20) || s[s.size() - 2] > (1 << 20))
      c.fail("its operand is a matrix of floats or complex numbers");
    for (int d = 0; d + 2 < s.size(); ++d) count *= s[d];
    rows = static_cast<int>(s[s.size() - 2]), columns = static_cast<int>(s[s.size() - 1]);
  }
  std::int64_t area() const { return std::int64_t{rows} * columns; }
};

/// A square matrix, and results of these shapes behind the batch's dimensions: else an Error.
Batch square(const OpCall& c, const std::vector<std::vector<std::int64_t>>& results) {
  const Batch b(c);
  if (b.rows != b.columns) c.fail("its operand is a square matrix");
  if (c.op.result_types.size() != results.size()) c.fail("it does not have the routine's number of results");
  for (std::size_t i = 0; i < results.size(); ++i) {
    std::int64_t n = b.count;
    for (std::int64_t d : results[i]) n *= d;
    if (c.result(i).shape.num_elements() != n) c.fail("one of its results does not have the routine's shape");
  }
  return b;
}

bool wants(const OpCall& c, std::string_view name, char letter) {
  const Attribute& config = c.need("mhlo.backend_config", "backend_config");
  const Attribute* a = config.find(name);
  if (!a || a->kind != Attribute::Kind::integer) c.fail("its backend_config lacks " + std::string(name));
  return a->integer == letter;
}

/// Numbers that LAPACK gives as real and imaginary parts where the matrix is real.
template <class T>
void put_values(const std::vector<lapack::Complex<T>>& values, std::vector<Elements>& out, std::size_t first, std::int64_t i) {
  const auto n = static_cast<std::int64_t>(values.size());
  for (std::int64_t k = 0; k < n; ++k) {
    const auto& v = values[static_cast<std::size_t>(k)];
    if constexpr (std::is_same_v<T, lapack::Real<T>>)
      out[first].part<T>(i, n)[k] = v.real(), out[first + 1].part<T>(i, n)[k] = v.imag();
    else
      out[first].part<T>(i, n)[k] = v;
  }
}

template <class T>
constexpr std::size_t kValueResults = std::is_same_v<T, lapack::Real<T>> ? 2 : 1;

// Eigenvalues (real and imaginary parts apart where the matrix is real), left and right eigenvectors, and whether it went well.
template <class T>
Values geev(OpCall& c) {
  const std::int64_t n = c.in(0).ndim() ? c.in(0).shape().back() : 0;
  std::vector<std::vector<std::int64_t>> results(kValueResults<T>, {n});
  results.insert(results.end(), {{n, n}, {n, n}, {}});
  const Batch b = square(c, results);
  const bool left = wants(c, "compute_left", 'V'), right = wants(c, "compute_right", 'V');
  return on_host(c, [=](std::vector<Elements>& in, std::vector<Elements>& out) {
    constexpr std::size_t v = kValueResults<T>;
    using C = lapack::Complex<T>;
    std::vector<C> values(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < b.count; ++i) {
      const bool good = lapack::eig(in[0].part<T>(i, b.area()), b.rows, values.data(), left ? out[v].part<C>(i, b.area()) : nullptr,
                                    right ? out[v + 1].part<C>(i, b.area()) : nullptr);
      put_values<T>(values, out, 0, i);
      *out[v + 2].part<std::int32_t>(i, 1) = good ? 0 : 1;
    }
  });
}

// The Schur form, its vectors, eigenvalues as geev has them, how many were sorted, and whether it went well.
template <class T>
Values gees(OpCall& c) {
  const std::int64_t n = c.in(0).ndim() ? c.in(0).shape().back() : 0;
  std::vector<std::vector<std::int64_t>> results{{n, n}, {n, n}};
  results.insert(results.end(), kValueResults<T>, {n});
  results.insert(results.end(), {{}, {}});
  const Batch b = square(c, results);
  const bool vectors = wants(c, "mode", 'V');
  if (!wants(c, "sort", 'N')) c.fail("eigenvalues are not sorted");
  return on_host(c, [=](std::vector<Elements>& in, std::vector<Elements>& out) {
    constexpr std::size_t v = kValueResults<T>;
    std::vector<lapack::Complex<T>> values(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < b.count; ++i) {
      T* const form = out[0].part<T>(i, b.area());
      std::copy_n(in[0].part<T>(i, b.area()), b.area(), form);
      const bool good = lapack::schur(form, b.rows, values.data(), vectors ? out[1].part<T>(i, b.area()) : nullptr);
      put_values<T>(values, out, 2, i);
      *out[v + 2].part<std::int32_t>(i, 1) = 0;
      *out[v + 3].part<std::int32_t>(i, 1) = good ? 0 : 1;
    }
  });
}

template <class T>
Values gehrd(OpCall& c) {
  const std::int64_t n = c.in(0).ndim() ? c.in(0).shape().back() : 0, taus = std::max<std::int64_t>(n - 1, 0);
  const Batch b = square(c, {{n, n}, {taus}, {}});
  const Attribute& config = c.need("mhlo.backend_config", "backend_config");
  const Attribute *low = config.find("low"), *high = config.find("high");
  if (!low || !high || low->integer != 1 || high->integer != n) c.fail("it is known for whole matrices");
  return on_host(c, [=](std::vector<Elements>& in, std::vector<Elements>& out) {
    for (std::int64_t i = 0; i < b.count; ++i) {
      T* const form = out[0].part<T>(i, b.area());
      std::copy_n(in[0].part<T>(i, b.area()), b.area(), form);
      *out[2].part<std::int32_t>(i, 1) = lapack::hessenberg(form, b.rows, out[1].part<T>(i, taus)) ? 0 : 1;
    }
  });
}

template <class T>
Values trd(OpCall& c) {
  const std::int64_t n = c.in(0).ndim() ? c.in(0).shape().back() : 0, off = std::max<std::int64_t>(n - 1, 0);
  const Batch b = square(c, {{n, n}, {n}, {off}, {off}, {}});
  const bool lower = wants(c, "uplo", 'L');
  return on_host(c, [=](std::vector<Elements>& in, std::vector<Elements>& out) {
    using R = lapack::Real<T>;
    for (std::int64_t i = 0; i < b.count; ++i) {
      T* const form = out[0].part<T>(i, b.area());
      std::copy_n(in[0].part<T>(i, b.area()), b.area(), form);
      const bool good = lapack::tridiagonal(form, b.rows, lower, out[1].part<R>(i, n), out[2].part<R>(i, off), out[3].part<T>(i, off));
      *out[4].part<std::int32_t>(i, 1) = good ? 0 : 1;
    }
  });
}

// The factors, where each column came from, and the reflections' factors; no word of whether it went well.
template <class T>
Values geqp3(OpCall& c) {
  const Batch b(c);
  const std::int64_t taus = std::min(b.rows, b.columns);
  if (c.num_operands() != 2 || c.in(1).dtype() != int32 || c.in(1).size() != b.count * b.columns || c.op.result_types.size() != 3 ||
      c.result(0).shape != c.in(0).shape() || c.result(1).shape != c.in(1).shape() || c.result(2).shape.num_elements() != b.count * taus)
    c.fail("it takes a matrix and an int32 for each column, and gives these and the factors of reflections");
  return on_host(c, [=](std::vector<Elements>& in, std::vector<Elements>& out) {
    for (std::int64_t i = 0; i < b.count; ++i) {
      T* const factors = out[0].part<T>(i, b.area());
      std::copy_n(in[0].part<T>(i, b.area()), b.area(), factors);
      std::int32_t* const columns = out[1].part<std::int32_t>(i, b.columns);
      std::copy_n(in[1].part<std::int32_t>(i, b.columns), b.columns, columns);
      if (!lapack::pivoted_qr(factors, b.rows, b.columns, columns, out[2].part<T>(i, taus)))
        std::fill_n(factors, b.area(), T(std::numeric_limits<lapack::Real<T>>::quiet_NaN()));
    }
  });
}

template <class T>
void import_all(const char* letter, const char* symmetric) {
  auto add = [&](const std::string& routine, ImportFunction f) {
    Import(("custom_call.lapack_" + std::string(letter) + routine + "_ffi").c_str(), f);
  };
  add("geev", geev<T>), add("gees", gees<T>), add("gehrd", gehrd<T>), add(std::string(symmetric) + "trd", trd<T>), add("geqp3", geqp3<T>);
}
[[maybe_unused]] const bool imported = [] {
  import_all<float>("s", "sy"), import_all<double>("d", "sy");
  import_all<std::complex<float>>("c", "he"), import_all<std::complex<double>>("z", "he");
  return true;
}();

}  // namespace
}  // namespace weft::detail::mlir
