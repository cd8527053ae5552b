// Factorisations and triangular systems on the emulated device, by a library that is none: right results, NaN where an algorithm fails, and
// an error that names the call where a call fails.
#include <doctest/doctest.h>
#include <weft/weft.h>

#include <cstdlib>
#include <limits>

#include "tests/gpu/fake.h"
#include "tests/ops/checks.h"
#include "tests/ops/program_checks.h"
#include "weft/core/array/array_impl.h"
#include "weft/core/ops/linalg/linalg.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/runtime/host/device.h"
#include "weft/runtime/host/executable.h"

namespace weft::test {
namespace {

using Xs = const std::vector<Array>&;

bool has_part(const std::string& name, const std::string& part) { return name.find(part) != std::string::npos; }
Device gpu() { return devices("cuda")[0]; }

struct Ran {
  std::vector<Array> got, want;
  std::string steps;
};
template <class F>
Ran run(F f, const std::vector<Array>& args) {
  const Jaxpr j = make_jaxpr([&](const std::vector<Array>& xs) { return f(xs); })(args);
  Ran r;
  r.want = detail::backend("interp").compile(j, {"f"})->call(args, 0);
  const auto exe = detail::backend("cuda").compile(j, {"f"});
  for (const Array& x : exe->call(args, gpu().id())) r.got.push_back(device_get(x));
  r.steps = exe->as_text("kernels");
  REQUIRE(r.got.size() == r.want.size());
  for (std::size_t k = 0; k < r.got.size(); ++k) CHECK(r.got[k].aval() == r.want[k].aval());
  return r;
}
/// Equal, and by the library.
template <class F>
void same(F f, const std::vector<Array>& args, double tolerance) {
  const Ran r = run(f, args);
  CHECK(has_part(r.steps, "solver_call"));
  for (std::size_t k = 0; k < r.got.size(); ++k) {
    const std::string wrong = wrong_in(r.got[k], r.want[k], tolerance);
    CHECK_MESSAGE(wrong.empty(), "result " << k << ": " << wrong << "\n" << r.steps);
  }
}

Array matrices(const Shape& s, int seed, DType t) {
  if (t.is_complex()) return complex(samples(s, seed, t.real_part()), samples(s, seed + 50, t.real_part()));
  return samples(s, seed, t);
}
Array adjoint_of(const Array& x) {
  const Array y = swapaxes(x, -1, -2);
  return x.dtype().is_complex() ? conj(y) : y;
}
Array positive(const Shape& s, int seed, DType t) {
  const Array x = matrices(s, seed, t);
  return matmul(x, adjoint_of(x)) + convert(2 * eye(static_cast<int>(s.back())), t);
}
double tolerance_of(DType t) { return t == float64 || t == complex128 ? 1e-11 : 2e-4; }
bool is_small(const Array& x, double tolerance) { return max(abs(x)).item<double>() < tolerance; }
bool orthonormal(const Array& columns, double tolerance) {
  return is_small(matmul(adjoint_of(columns), columns) - convert(eye(static_cast<int>(columns.shape().back())), columns.dtype()),
                  tolerance);
}

const std::vector<DType> kTypes{float32, float64, complex64, complex128};

}  // namespace

TEST_CASE("gpu algebra: Cholesky's factors") {
  for (const DType t : kTypes) {
    INFO(t.name());
    const auto f = [](Xs x) { return linalg::cholesky(x[0]); };
    same(f, {positive({12, 12}, 1, t)}, tolerance_of(t));
    same(f, {positive({3, 2, 11, 11}, 2, t)}, tolerance_of(t));
    same(f, {positive({2, 300, 300}, 3, t)}, 4 * tolerance_of(t));
  }
  same([](Xs x) { return grad([](const Array& a) { return sum(sin(linalg::cholesky(a))); })(x[0]); }, {positive({20, 20}, 4, float64)},
       1e-10);
  // What kernels take stays with them.
  CHECK(!has_part(run([](Xs x) { return linalg::cholesky(x[0]); }, {positive({40, 4, 4}, 5, float32)}).steps, "solver_call"));
}

TEST_CASE("gpu algebra: where a factorisation fails the results are NaN") {
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  for (const DType t : {float32, float64}) {
    const Array good = positive({10, 10}, 1, t), bad = good.at(3, 3).set(-5.), none = good.at(4, 2).set(nan);
    same([](Xs x) { return linalg::cholesky(x[0]); }, {bad}, 1e-4);
    same([](Xs x) { return linalg::cholesky(x[0]); }, {stack({good, bad, none, good})}, 1e-4);
    for (const double v : {nan, infinity}) {
      const Array spoiled = good.at(2, 5).set(v), both = stack({good, spoiled});
      same([](Xs x) { return linalg::eigh(x[0]).eigenvalues; }, {both}, 1e-4);
      CHECK(all(isnan(abs(run([](Xs x) { return linalg::eigh(x[0]).eigenvectors; }, {spoiled}).got[0]))).item<bool>());
      same([](Xs x) { return linalg::svdvals(x[0]); }, {both}, 1e-4);
      CHECK(all(isnan(abs(run([](Xs x) { return linalg::svd(x[0]).u; }, {spoiled}).got[0]))).item<bool>());
    }
  }
  same([](Xs x) { return linalg::det(x[0]); }, {zeros({12, 12})}, 1e-6);
}

TEST_CASE("gpu algebra: LU") {
  for (const DType t : kTypes) {
    INFO(t.name());
    const auto f = [](Xs x) {
      const auto r = detail::lu_factors(x[0], {});
      return std::vector{r.lu, r.pivots, r.permutation};
    };
    for (const Shape& s : {Shape{13, 13}, Shape{12, 20}, Shape{20, 12}, Shape{2, 3, 11, 11}}) same(f, {matrices(s, 1, t)}, tolerance_of(t));
    same([](Xs x) { return linalg::solve(x[0], x[1]); }, {positive({14, 14}, 2, t), matrices({14, 3}, 3, t)}, tolerance_of(t));
    same([](Xs x) { return linalg::inv(x[0]); }, {positive({2, 14, 14}, 2, t)}, tolerance_of(t));
  }
}

TEST_CASE("gpu algebra: factors have NaN where the host's have it, and zeros below pivots that are zero") {
  const auto factors = [](Xs x) {
    const auto f = linalg::qr(x[0]);
    return std::vector{isnan(abs(detail::lu_factors(x[0], {}).lu)), isnan(abs(f.q)), isnan(abs(f.r))};
  };
  for (const DType t : kTypes)
    for (const Shape& s : {Shape{12, 12}, Shape{9, 14}, Shape{14, 9}, Shape{3, 10, 10}})
      for (const int column : {0, 4, 8})
        for (const int row : {0, column}) {
          INFO(t.name() << " " << row << " " << column);
          const Array dominant = matrices(s, 1, t) + convert(9 * eye(s[s.size() - 2], s.back()), t);
          const Array one = s.size() == 2 ? dominant.at(row, column).set(std::nan("")) : dominant.at(1, row, column).set(std::nan(""));
          same(factors, {one}, 0);
        }
  const Array zero_columns = where(arange(10) % 3 == 1, 0.f, matrices({12, 10}, 1, float32));
  const Array lu = run([](Xs x) { return detail::lu_factors(x[0], {}).lu; }, {zero_columns}).got[0];
  CHECK(!any(isnan(lu)).item<bool>());
  CHECK(all(lu(slice(), 1) == 0).item<bool>());
}

TEST_CASE("gpu algebra: triangular systems") {
  for (const DType t : {float64, complex64}) {
    const Array a = positive({12, 12}, 1, t), b = matrices({12, 5}, 2, t), many = positive({3, 12, 12}, 3, t);
    for (int form = 0; form < 32; ++form) {
      INFO(t.name() << " " << form);
      const bool left = (form & 16) == 0;
      const linalg::TriangularOptions o{.left_side = left,
                                        .lower = (form & 1) != 0,
                                        .transpose_a = (form & 4) != 0,
                                        .unit_diagonal = (form & 2) != 0,
                                        .conjugate_a = (form & 8) != 0};
      // A unit diagonal wants small elements beside it.
      const double scale = form & 2 ? 0.02 : 1;
      same([=](Xs x) { return linalg::triangular_solve(x[0] * scale, x[1], o); }, {a, left ? b : swapaxes(b, 0, 1)}, tolerance_of(t));
      same([=](Xs x) { return linalg::triangular_solve(x[0] * scale, x[1], o); },
           {many, matrices(left ? Shape{3, 12, 5} : Shape{3, 5, 12}, 4, t)}, tolerance_of(t));
    }
  }
  for (const DType t : {float32, complex128})
    for (const Shape& s : {Shape{12, 12}, Shape{2, 12, 12}})
      same([](Xs x) { return linalg::triangular_solve(x[0], x[1]); }, {positive(s, 1, t), matrices(s, 2, t)}, tolerance_of(t));
  same([](Xs x) { return vmap([&](Array b) { return linalg::triangular_solve(x[0], b); })(x[1]); },
       {positive({12, 12}, 1, float32), matrices({4, 12, 2}, 2, float32)}, 1e-4);
}

TEST_CASE("gpu algebra: QR") {
  for (const DType t : kTypes)
    for (const Shape& s : {Shape{9, 9}, Shape{14, 6}, Shape{6, 14}, Shape{2, 3, 9, 5}})
      for (const bool full : {false, true}) {
        INFO(t.name() << " " << s.size() << " " << full);
        const Array a = matrices(s, 1, t);
        const Ran r = run(
            [=](Xs x) {
              const auto f = linalg::qr(x[0], {.full_matrices = full});
              return std::vector{f.q, f.r};
            },
            {a});
        CHECK(has_part(r.steps, "solver_call"));
        CHECK(is_small(matmul(r.got[0], r.got[1]) - a, tolerance_of(t)));
        CHECK(orthonormal(r.got[0], tolerance_of(t)));
        CHECK(is_small(tril(r.got[1], -1), 1e-30));
      }
}

TEST_CASE("gpu algebra: eigenvalues and singular values") {
  for (const DType t : kTypes) {
    for (const Shape& s : {Shape{9, 9}, Shape{2, 3, 6, 6}, Shape{1, 1}}) {
      INFO(t.name() << " " << s.size());
      const Array a = matrices(s, 1, t) + adjoint_of(matrices(s, 1, t));
      const Ran r = run(
          [](Xs x) {
            const auto e = linalg::eigh(x[0]);
            return std::vector{e.eigenvectors, e.eigenvalues};
          },
          {a});
      CHECK(has_part(r.steps, "solver_call"));
      CHECK(wrong_in(r.got[1], r.want[1], tolerance_of(t)) == "");
      CHECK(orthonormal(r.got[0], tolerance_of(t)));
      CHECK(is_small(matmul(a, r.got[0]) - r.got[0] * convert(expand_dims(r.got[1], -2), t), tolerance_of(t)));
    }
    for (const Shape& s : {Shape{9, 9}, Shape{14, 6}, Shape{6, 14}, Shape{2, 3, 5, 7}, Shape{2, 7, 5}})
      for (const bool full : {false, true}) {
        INFO(t.name() << " " << s.size() << " " << full);
        const Array a = matrices(s, 2, t);
        same([](Xs x) { return linalg::svdvals(x[0]); }, {a}, tolerance_of(t));
        const Ran r = run(
            [=](Xs x) {
              const auto d = linalg::svd(x[0], {.full_matrices = full});
              return std::vector{d.u, d.s, d.vh};
            },
            {a});
        CHECK(wrong_in(r.got[1], r.want[1], tolerance_of(t)) == "");
        CHECK(orthonormal(r.got[0], tolerance_of(t)));
        CHECK(orthonormal(adjoint_of(r.got[2]), tolerance_of(t)));
        const int k = static_cast<int>(r.got[1].shape().back());
        const Array u = detail::slice_axis(r.got[0], r.got[0].ndim() - 1, 0, k, {}),
                    vh = detail::slice_axis(r.got[2], r.got[2].ndim() - 2, 0, k, {});
        CHECK(is_small(matmul(u * convert(expand_dims(r.got[1], -2), t), vh) - a, tolerance_of(t)));
      }
  }
}

TEST_CASE("gpu algebra: nothing goes by the host, and nothing is captured") {
  if (!std::getenv("WEFT_LIBCUSOLVER")) return;
  const auto f = jit([](Array a, Array b) { return fori_loop(0, 3, [&](Array, Array v) { return linalg::solve(a, v + b) * 0.1f; }, b); });
  const Array a = device_put(positive({20, 20}, 1, float32), gpu()), b = device_put(samples({20, 2}, 2, float32), gpu());
  const Array want = f(device_get(a), device_get(b));
  fake_driver().reset();
  Array x;
  for (int i = 0; i < 4; ++i) x = f(a, b);
  CHECK(fake_driver().calls("cuMemcpyDtoHAsync_v2") == 0);
  CHECK(fake_driver().calls("cuStreamBeginCapture_v2") == 0);
  CHECK(close(device_get(x), want, 1e-4));
  const auto second = devices("cuda").back();
  CHECK(close(device_get(f(device_put(a, second), device_put(b, second))), want, 1e-4));
}

TEST_CASE("gpu algebra: in loops that depend on values") {
  const auto f = jit([](Array a, Array b) {
    return while_loop([](Array v) { return sum(abs(v)) > 0.1f; }, [&](Array v) { return linalg::solve(a, v) * 0.5f; }, b);
  });
  const Array a = positive({20, 20}, 1, float32), b = samples({20, 2}, 2, float32);
  const Array want = f(device_put(a, devices("cpu")[0]), device_put(b, devices("cpu")[0]));
  for (int i = 0; i < 3; ++i) CHECK(close(device_get(f(device_put(a, gpu()), device_put(b, gpu()))), device_get(want), 1e-4));
}

TEST_CASE("gpu algebra: in maps over two devices") {
  const std::vector<Device> all = devices("cuda");
  if (all.size() < 2) return;
  const auto each = [](Array m) { return psum(linalg::cholesky(m), "i"); };
  const Array many = positive({2, 20, 20}, 3, float32);
  const auto mapped = pmap(each, {.axis_name = "i", .devices = {all[0], all[1]}});
  for (int i = 0; i < 3; ++i) CHECK(close(device_get(mapped(many)), vmap(each, {.axis_name = "i"})(many), 1e-4));
}

/// A program of all routines, compiled anew for each size.
auto all_routines() {
  return jit([](Array m) {
    const Array l = linalg::cholesky(m), e = linalg::eigh(m).eigenvectors;
    return std::vector{linalg::triangular_solve(l, m), e, linalg::qr(m).q, linalg::svdvals(m), detail::lu_factors(m, {}).lu};
  });
}

TEST_CASE("gpu algebra: every call that fails is an error that names it, and nothing leaks") {
  auto* handles = function_of<int()>("WEFT_LIBCUSOLVER", "fake_cusolver_live");
  if (!handles) return;
  std::int64_t n = 40;
  for (int k = 0; fake_cusolver().name(k); ++k) {
    const std::string name = fake_cusolver().name(k);
    if (name.find("Create") != std::string::npos) continue;  // once in a process: below
    INFO(name);
    const auto has_letter = [&](char c) {
      return has_part(name, std::string("cusolverDn") + c) || has_part(name, std::string("cublas") + c);
    };
    const DType t = has_letter('C') ? complex64 : has_letter('Z') ? complex128 : has_letter('D') ? float64 : float32;
    ++n;
    const Shape s = has_part(name, "atched") ? Shape{2, n, n} : Shape{n, n};
    const Array a = device_put(positive(s, 1, t), gpu());
    const auto f = [&, g = all_routines()] {
      for (const Array& x : g(a)) x.block_until_ready();
    };
    const bool when_made = has_part(name, "bufferSize");
    if (!when_made) f();  // it keeps its code
    const Alive before;
    const int handles_before = handles();
    fake_cusolver().fail(name.c_str(), 1, 7);
    const std::string message = message_of<DeviceError>(f);
    fake_cusolver().fail(nullptr, 0, 0);
    CHECK(has(message, {name + " gives CU", "(7)", "cuda:0"}));
    if (!when_made) CHECK(has(message, "algebra.cpp"));
    CHECK_MESSAGE(Alive() == before, before.text() << "; then " << Alive().text());
    f();
    CHECK(handles() == handles_before);
  }
}

TEST_CASE("gpu algebra: copies and kernels around the library's calls that fail") {
  if (!std::getenv("WEFT_LIBCUSOLVER")) return;
  const Array a = device_put(positive({2, 33, 33}, 1, float32), gpu());
  const auto f = [&, g = all_routines()] {
    for (const Array& x : g(a)) x.block_until_ready();
  };
  f();
  const Alive before;
  for (const char* call : {"cuMemcpyDtoDAsync_v2", "cuLaunchKernel"}) {
    fake_driver().reset();
    f();
    const int times = fake_driver().calls(call);
    CHECK(times > 5);
    for (int k = 1; k <= times; ++k) {
      fake_driver().fail(call, k, 719);
      CHECK(has(message_of<DeviceError>(f), {std::string(call).substr(0, std::string(call).find("_v2")), "719", "algebra.cpp"}));
      CHECK_MESSAGE(Alive() == before, before.text() << "; then " << Alive().text());
    }
  }
  f();
}

TEST_CASE("gpu algebra: without the libraries it goes by the host") {
  const std::string here = "gpu algebra: without the libraries it goes by the host";
  if (!std::getenv("WEFT_LIBCUSOLVER")) return;
  if (!std::getenv("WEFT_TEST_CHILD")) {
    for (const char* variable : {"WEFT_LIBCUSOLVER", "WEFT_LIBCUBLAS"})
      for (const char* file : std::initializer_list<const char*>{"/nonexistent", std::getenv("WEFT_LIBCUBLASLT")}) {
        const std::string library = std::getenv(variable);
        CHECK(run_again(here, variable, file) == 0);
        setenv(variable, library.c_str(), 1);
      }
    return;
  }
  const Ran r = run([](Xs x) { return linalg::cholesky(x[0]); }, {positive({12, 12}, 1, float32)});
  CHECK(!has_part(r.steps, "solver_call"));
  CHECK(wrong_in(r.got[0], r.want[0], 1e-5) == "");
}

TEST_CASE("gpu start: a solver whose handle cannot be made") {
  const std::string here = "gpu start: a solver whose handle cannot be made";
  auto* handles = function_of<int()>("WEFT_LIBCUSOLVER", "fake_cusolver_live");
  if (!handles) return;
  if (!std::getenv("WEFT_TEST_CHILD")) {
    for (const char* call : {"cusolverDnCreate", "cusolverDnCreateParams", "cublasCreate_v2"})
      CHECK(run_again(here, "FAKE_CUSOLVER_FAIL", call) == 0);
    return;
  }
  const Array a = device_put(positive({12, 12}, 1, float32), gpu());
  const std::string message = message_of<DeviceError>([&] { linalg::cholesky(a); });
  CHECK(has(message, {std::string(std::getenv("FAKE_CUSOLVER_FAIL")) + " gives CU", "(7)", "cuda:0"}));
  CHECK(close(device_get(linalg::cholesky(a)), linalg::cholesky(device_get(a)), 1e-5));
  CHECK(handles() == 3);  // those that were made before the failure are used
}

}  // namespace weft::test
