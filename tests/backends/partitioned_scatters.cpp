// Scatters that are partitioned among threads by where their windows go, and gathers whose indices are computed, against the interpreter:
// to the bit, as updates of one element are made in the order of the indices.
#include <doctest/doctest.h>
#include <unistd.h>
#include <weft/weft.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include "tests/backends/agree.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/movement/scatter.h"
#include "weft/runtime/host/buffer.h"

using namespace weft;
using namespace weft::test;

namespace {

constexpr int kMany = 20011;  // windows, which are partitioned; no whole number of vectors

/// Integers of [low, high), many of them more than once.
Array integers(const Shape& shape, int low, int high, unsigned seed, DType dtype = int32) {
  std::vector<std::int64_t> v(static_cast<std::size_t>(shape.num_elements()));
  for (std::size_t i = 0; i < v.size(); ++i) {
    std::uint64_t h = (i + 1) * 0x9e3779b97f4a7c15ull + seed * 0xbf58476d1ce4e5b9ull;
    h ^= h >> 29;
    v[i] = low + static_cast<std::int64_t>((h * 0x94d049bb133111ebull >> 33) % static_cast<std::uint64_t>(high - low));
  }
  return astype(array(v, shape), dtype);
}
Array numbers(const Shape& shape, unsigned seed, DType dtype = float32) {
  const Array x = astype(integers(shape, -1000, 1000, seed), float64) / 7.0;
  if (dtype.is_complex()) return astype(complex(x, astype(integers(shape, -50, 50, seed + 1), float64) / 3.0), dtype);
  return astype(dtype.is_unsigned() ? abs(x) : x, dtype);
}

template <class F>
Jaxpr program(F f, const Arrays& args) {
  return make_jaxpr([&](Xs xs) { return Arrays{f(xs)}; })(args);
}

/// Whether compiled code, quick and good, gives the interpreter's bits.
template <class F>
bool exact(F f, const Arrays& args) {
  const Jaxpr j = program(f, args);
  const Array want = detail::backend("interp").compile(j, {"f"})->call(args, 0)[0];
  bool same = true;
  for (const char* quality : {"baseline", "optimized"}) {
    setenv("WEFT_CODE", quality, 1);
    detail::CpuBackend backend;
    const Array got = backend.compile(j, {"f"})->call(args, 0)[0];
    same &= got.aval() == want.aval() &&
            std::memcmp(detail::host_data(got), detail::host_data(want), static_cast<std::size_t>(want.aval().bytes())) == 0;
  }
  unsetenv("WEFT_CODE");
  return same;
}
template <class F>
std::string kernels(F f, const Arrays& args) {
  detail::CpuBackend backend;
  return backend.compile(program(f, args), {"f"})->as_text("kernels");
}
bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

using detail::GatherScatterMode;

template <class S>
Array scatter_by(const Array& x, const Array& at, const Array& updates, GatherScatterMode mode, bool window = false) {
  ScatterDimensionNumbers n;
  n.inserted_window_dims = {0}, n.scatter_dims_to_operand_dims = {0};
  if (window) n.update_window_dims = {at.ndim()};
  typename S::Params p;
  p.dimension_numbers = n, p.mode = mode;
  return detail::bind_one<S>(p, {x, expand_dims(at, -1), updates}, {});
}

std::uint64_t bits_of(const Array& x) {
  std::uint64_t h = 0xcbf29ce484222325ull;
  const auto* p = static_cast<const unsigned char*>(detail::host_data(x));
  for (std::int64_t i = 0; i < x.aval().bytes(); ++i) h = (h ^ p[i]) * 0x100000001b3ull;
  return h;
}

}  // namespace

TEST_CASE("partitioned scatters: every dtype, combination and mode, with repeated and outlying indices") {
  for (const DType t : {int8, int16, int32, int64, uint8, uint32, uint64, float16, bfloat16, float32, float64, complex64, complex128})
    for (const auto mode : {GatherScatterMode::clip, GatherScatterMode::fill_or_drop, GatherScatterMode::promise_in_bounds}) {
      INFO(t.name(), " ", static_cast<int>(mode));
      const bool outside = mode != GatherScatterMode::promise_in_bounds;
      const Arrays args{numbers({300}, 1, t), integers({kMany}, outside ? -40 : 0, outside ? 350 : 300, 2), numbers({kMany}, 3, t)};
      CHECK(exact([=](Xs x) { return scatter_by<detail::ScatterAdd>(x[0], x[1], x[2], mode); }, args));
      CHECK(exact([=](Xs x) { return scatter_by<detail::Scatter>(x[0], x[1], x[2], mode); }, args));
      CHECK(holds(kernels([=](Xs x) { return scatter_by<detail::ScatterAdd>(x[0], x[1], x[2], mode); }, args), "partitioned by"));
      if (t.is_complex()) continue;
      CHECK(exact([=](Xs x) { return scatter_by<detail::ScatterMul>(x[0], x[1], x[2], mode); }, args));
      CHECK(exact([=](Xs x) { return scatter_by<detail::ScatterMin>(x[0], x[1], x[2], mode); }, args));
      CHECK(exact([=](Xs x) { return scatter_by<detail::ScatterMax>(x[0], x[1], x[2], mode); }, args));
    }
}

TEST_CASE("partitioned scatters: every dtype of index") {
  for (const DType t : {int8, int16, int32, int64, uint8, uint16, uint32, uint64}) {
    INFO(t.name());
    const Arrays args{numbers({100}, 1), integers({kMany}, 0, 120, 2, t), numbers({kMany}, 3)};
    CHECK(exact([](Xs x) { return x[0].at(x[1]).add(x[2]); }, args));
    const Arrays gathered{numbers({100}, 1), integers({kMany}, 0, 120, 2, t)};
    CHECK(exact([](Xs x) { return take(x[0], x[1], 0); }, gathered));
    CHECK(exact([](Xs x) { return x[0](x[1]); }, gathered));
  }
}

TEST_CASE("partitioned scatters: several indices, windows, and index arrays of several dimensions") {
  const Array i = integers({150, 140}, -37, 37, 1), j = integers({150, 140}, -23, 23, 2);
  const Array v = numbers({150, 140}, 3);
  CHECK(exact([](Xs x) { return x[0].at(x[1], x[2]).add(x[3]); }, {numbers({37, 23}, 4), i, j, v}));
  CHECK(exact([](Xs x) { return x[0].at(x[1], slice(), x[2]).add(x[3]); }, {numbers({37, 5, 23}, 4), i, j, numbers({150, 140, 5}, 3)}));
  CHECK(exact([](Xs x) { return x[0].at(slice(), x[1], x[2]).set(x[3]); }, {numbers({5, 37, 23}, 4), i, j, numbers({5, 150, 140}, 3)}));
  CHECK(exact([](Xs x) { return x[0].at(x[1]).add(transpose(x[2])); }, {numbers({37}, 4), i, numbers({140, 150}, 5)}));
  for (const int width : {1, 3, 16, 33})
    CHECK(exact([](Xs x) { return x[0].at(x[1]).add(x[2]); },
                {numbers({70, width}, 4), integers({kMany}, 0, 70, 1), numbers({kMany, width}, 3)}));
  CHECK(exact([](Xs x) { return x[0].at(x[1]).multiply(x[2]); },
              {numbers({70, 2}, 4, complex64), integers({kMany}, 0, 70, 1), numbers({kMany, 2}, 3, complex64) * 1e-2f}));
}

TEST_CASE("partitioned scatters: extreme numbers of windows and rows") {
  for (const int n : {0, 1, 4095, 4096, 8191, 8192, 40000})
    for (const int rows : {1, 3, 4, 5, 255, 257, 100000}) {
      INFO(n, " ", rows);
      CHECK(exact([](Xs x) { return x[0].at(x[1]).add(x[2]); }, {numbers({rows}, 1), integers({n}, 0, rows, 2), numbers({n}, 3)}));
    }
  // All of one row; none inside.
  CHECK(exact([](Xs x) { return x[0].at(x[1]).add(x[2]); }, {numbers({50}, 1), zeros(kMany, int32) + 7, numbers({kMany}, 3)}));
  CHECK(exact([](Xs x) { return x[0].at(x[1]).add(x[2]); }, {numbers({50}, 1), zeros(kMany, int32) + 70, numbers({kMany}, 3)}));
}

TEST_CASE("partitioned scatters: several updates of one element in turn") {
  const auto runs = [](int length, int low, int high, int astray) {
    std::vector<std::int64_t> at(kMany);
    for (int i = 0; i < kMany; ++i) at[static_cast<std::size_t>(i)] = low + (i % astray == 0 ? i * 31 : i / length) % (high - low);
    return astype(array(at, Shape{kMany}), int32);
  };
  for (const DType t : {int16, int32, uint64, float16, float32, float64, complex64})
    for (const auto mode : {GatherScatterMode::clip, GatherScatterMode::fill_or_drop, GatherScatterMode::promise_in_bounds})
      for (const int length : {1, 12, 3000}) {
        INFO(t.name(), " ", static_cast<int>(mode), " ", length);
        const bool outside = mode != GatherScatterMode::promise_in_bounds;
        const Arrays args{numbers({300}, 1, t), runs(length, outside ? -40 : 0, outside ? 350 : 300, 7), numbers({kMany}, 3, t)};
        CHECK(exact([=](Xs x) { return scatter_by<detail::ScatterAdd>(x[0], x[1], x[2], mode); }, args));
        CHECK(exact([=](Xs x) { return scatter_by<detail::Scatter>(x[0], x[1], x[2], mode); }, args));
        if (!t.is_complex()) CHECK(exact([=](Xs x) { return scatter_by<detail::ScatterMax>(x[0], x[1], x[2], mode); }, args));
      }
  // Of which each is computed from the row, and rows of two dimensions.
  const Arrays args{numbers({80}, 1), runs(9, 0, 80, kMany), numbers({kMany}, 3)};
  CHECK(exact([](Xs x) { return x[0].at(x[1]).add(x[2] * astype(x[1], float32)); }, args));
  CHECK(exact([](Xs x) { return reshape(x[0], {8, 10}).at(floor_divide(x[1], 10), x[1] % 10).add(x[2]); }, args));
}

TEST_CASE("partitioned scatters: one after another, of computed indices and updates") {
  const auto deposit = [](Xs x) {
    Array grid = zeros({40, 30});
    const Array base = floor(x[0]), rest = x[0] - base, i = astype(base, int32);
    for (int corner = 0; corner < 4; ++corner) {
      const int a = corner & 1, b = corner >> 1;
      const Array u = rest(slice(), 0), w = rest(slice(), 1);
      grid = grid.at(i(slice(), 0) + a, i(slice(), 1) + b).add(sin(a ? u : 1.f - u) * (b ? w : 1.f - w));
    }
    return grid;
  };
  const Array at = abs(numbers({kMany, 2}, 1)) / 6.f;
  CHECK(same([=](Xs x) { return deposit(x); }, {at}).find("partitioned by") != std::string::npos);
  // The first result is read by others too.
  CHECK(same(
            [](Xs x) {
              const Array once = x[0].at(x[1]).add(x[2]), twice = once.at(x[1] + 1).add(x[2]);
              return Arrays{once, twice, once * 2};
            },
            {numbers({90}, 1), integers({kMany}, 0, 80, 2), numbers({kMany}, 3)})
            .find("partitioned by") != std::string::npos);
}

TEST_CASE("partitioned scatters: gradients, maps, loops and branches") {
  const Arrays args{numbers({64, 48}, 1), abs(numbers({kMany}, 2)) / 4.f, abs(numbers({kMany}, 3)) / 5.f};
  const auto sample = [](const Array& image, const Array& x, const Array& y) {
    const Array u = floor(x), v = floor(y), i = clip(astype(u, int32), 0, 46), j = clip(astype(v, int32), 0, 62);
    return (1.f - x + u) * image(j, i) + (x - u) * image(j + 1, i + 1) * (y - v);
  };
  const auto loss = [=](Array image, Array x, Array y) { return sum(square(sample(image, x, y))); };
  same([=](Xs x) { return sample(x[0], x[1], x[2]); }, args);
  same(
      [=](Xs x) {
        const auto [a, b, c] = grad<0, 1, 2>(loss)(x[0], x[1], x[2]);
        return Arrays{a, b, c};
      },
      args, 1e-4);
  same(
      [=](Xs x) {
        return vmap(grad(loss), {.in_axes = {none, 0, 0}})(x[0], reshape(x[1](slice(0, 20000)), {4, 5000}),
                                                           reshape(x[2](slice(0, 20000)), {4, 5000}));
      },
      args, 1e-4);
  const Arrays segments{numbers({5, 90}, 1), integers({5, 9000}, -5, 100, 2), numbers({5, 9000}, 3)};
  const auto add = [](Array x, Array i, Array v) { return x.at(i).add(v); };
  CHECK(exact([=](Xs x) { return vmap(add)(x[0], x[1], x[2]); }, segments));
  CHECK(exact([=](Xs x) { return vmap(add, {.in_axes = {0, none, 0}})(x[0], x[1][0], x[2]); }, segments));
  CHECK(exact([=](Xs x) { return fori_loop(0, 5, [&](Array k, Array c) { return add(c, x[1](k) + k, x[2](k)); }, x[0][0]); }, segments));
  CHECK(
      exact([=](Xs x) { return cond(x[0](0, 0) > 0, [&] { return add(x[0][0], x[1][0], x[2][0]); }, [&] { return x[0][1]; }); }, segments));
}

TEST_CASE("scatters of so few windows that they are not partitioned: bounds are compared for many indices at once") {
  const auto inside = [](int n) { return integers({n}, 0, 300, 2); };
  const auto some_outside = [](int n) { return where(arange(n) % 150 < 140, integers({n}, 0, 300, 2), integers({n}, -400, 700, 3)); };
  for (const int n : {63, 64, 130, 1000, 4095, 6000})
    for (const Array& at : {inside(n), some_outside(n), integers({n}, -300, 600, 4)})
      for (const DType t : {int8, int32, bfloat16, float32, float64, complex64}) {
        INFO(n, " ", t.name());
        const Arrays args{numbers({300}, 1, t), at, numbers({n}, 3, t)};
        const auto mode = GatherScatterMode::fill_or_drop;
        CHECK(exact([=](Xs x) { return scatter_by<detail::ScatterAdd>(x[0], x[1], x[2], mode); }, args));
        CHECK(exact([=](Xs x) { return scatter_by<detail::Scatter>(x[0], x[1], x[2], mode); }, args));
        if (!t.is_complex()) CHECK(exact([=](Xs x) { return scatter_by<detail::ScatterMin>(x[0], x[1], x[2], mode); }, args));
      }
  // Indices of every width and of two dimensions, windows, and updates that are read at other indices, in a loop.
  for (const DType t : {int8, uint8, int16, uint32, int64, uint64})
    CHECK(exact([](Xs x) { return x[0].at(x[1]).add(x[2]); }, {numbers({100}, 1), integers({700}, 0, 120, 2, t), numbers({700}, 3)}));
  const Array i = integers({40, 50}, -40, 40, 1), j = integers({40, 50}, -23, 23, 2);
  CHECK(exact([](Xs x) { return x[0].at(x[1], x[2]).add(x[3]); }, {numbers({37, 23}, 4), i, j, numbers({40, 50}, 3)}));
  for (const int width : {3, 16, 33})
    CHECK(exact([](Xs x) { return x[0].at(x[1]).add(x[2]); }, {numbers({70, width}, 4), some_outside(500), numbers({500, width}, 3)}));
  const auto relax = [](Xs x) { return fori_loop(0, 5, [&](Array, Array d) { return d.at(x[1]).min(d(x[2]) + x[3]); }, x[0]); };
  CHECK(exact(relax, {numbers({300}, 1), inside(2000), integers({2000}, 0, 300, 5), abs(numbers({2000}, 6))}));
}

TEST_CASE("floats become integers of every dtype by vectors: truncated, saturated, 0 for NaN") {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const DType from : {float16, bfloat16, float32, float64})
    for (const DType to : {int8, int16, int32, int64, uint8, uint16, uint32, uint64}) {
      INFO(from.name(), " ", to.name());
      std::vector<double> v{0., -0., .5, -.5, infinity, -infinity, std::nan("")};
      for (int bits : {7, 8, 15, 16, 24, 31, 32, 53, 63, 64})
        for (double by : {-1.5, -1., -.5, 0., .5, 1.})
          for (double sign : {-1., 1.}) {
            const double x = sign * (std::ldexp(1., bits) + by);
            v.insert(v.end(), {x, std::nextafter(x, 0.), static_cast<double>(std::nextafter(static_cast<float>(x), 0.f))});
          }
      CHECK(exact([=](Xs x) { return astype(x[0], to); }, {astype(array(v), from)}));
    }
}

TEST_CASE("indices that are computed are part of the kernel that reads there") {
  const Arrays args{numbers({64, 48}, 1), abs(numbers({kMany}, 2)) / 4.f, abs(numbers({kMany}, 3)) / 5.f};
  const std::string sampled = kernels(
      [](Xs x) {
        const Array i = astype(floor(x[1]), int32), j = astype(floor(x[2]), int32);
        return x[0](j, i) + x[0](j + 1, i) * x[1] + x[0](j, i + 1) * x[2] + x[0](j + 1, i + 1);
      },
      args);
  CHECK(!holds(sampled, "kernel1"));
  CHECK(!holds(sampled, "i32[" + std::to_string(2 * kMany)));
  // Nothing is left to be wrapped or moved inside.
  const std::string known = kernels([](Xs x) { return x[0](clip(x[1], 0, 99)); }, {numbers({100}, 1), integers({kMany}, -9, 200, 2)});
  CHECK(!holds(known, " lt "));
  CHECK(!holds(known, "select"));
  const std::string rest = kernels([](Xs x) { return x[0](x[1] % 100u); }, {numbers({100}, 1), integers({kMany}, 0, 5000, 2, uint32)});
  CHECK(!holds(rest, " min "));
  CHECK(!holds(rest, "select"));
}

TEST_CASE("[child] writes the bits of its scatters" * doctest::skip()) {
  setenv("WEFT_CODE", "optimized", 1);
  std::ofstream file(std::getenv("WEFT_BITS_FILE"));
  for (const DType t : {float32, bfloat16, float64}) {
    const Array x = numbers({1000}, 1, t), i = integers({100003}, -50, 1050, 2), v = numbers({100003}, 3, t);
    file << bits_of(jit([](Array a, Array b, Array c) { return a.at(b).add(c); })(x, i, v)) << " ";
    file << bits_of(jit([](Array a, Array b, Array c) { return a.at(b).multiply(1 + c * 1e-4f); })(x, i, v)) << " ";
    file << bits_of(jit([](Array a, Array b, Array c) { return a.at(b % 7).set(c); })(x, i, v)) << " ";
  }
}

TEST_CASE("partitioned scatters have the same bits for every number of threads") {
  std::string wanted;
  for (const int threads : {1, 2, 3, 8}) {
    const std::string file = "/tmp/weft-scatter-bits-" + std::to_string(::getpid());
    const std::string command =
        fmt::format("WEFT_NUM_THREADS={} WEFT_BITS_FILE={} {} --no-skip --test-case='[child]*scatters' >/dev/null 2>&1", threads, file,
                    std::filesystem::read_symlink("/proc/self/exe").string());
    REQUIRE(std::system(command.c_str()) == 0);
    std::ifstream in(file);
    std::ostringstream got;
    got << in.rdbuf();
    CAPTURE(threads);
    REQUIRE(got.str().size() > 20);
    if (wanted.empty()) wanted = got.str();
    CHECK(got.str() == wanted);
    std::remove(file.c_str());
  }
}
