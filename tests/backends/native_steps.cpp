// What the CPU backend does by routines of its own, against the interpreter, to the bit.
#include <cmath>
#include <cstring>
#include <limits>

#include "tests/ops/checks.h"
#include "weft/backends/cpu/cpu_backend.h"
#include "weft/backends/cpu/sorting/networks.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/movement/sort.h"
#include "weft/runtime/host/buffer.h"
#include "weft/runtime/host/executable.h"

using namespace weft;
using namespace weft::test;

namespace {

using Xs = const std::vector<Array>&;

/// The first result whose bytes differ from the interpreter's; -1: none.
template <class F>
int first_different(F f, const std::vector<Array>& args) {
  const Jaxpr j = make_jaxpr([&](const std::vector<Array>& xs) { return f(xs); })(args);
  detail::CpuBackend backend;
  const std::vector<Array> got = backend.compile(j, {"f"})->call(args, 0),
                           want = detail::backend("interp").compile(j, {"f"})->call(args, 0);
  for (std::size_t k = 0; k < want.size(); ++k)
    if (got[k].aval() != want[k].aval() ||
        std::memcmp(detail::host_data(got[k]), detail::host_data(want[k]), static_cast<std::size_t>(want[k].aval().bytes())) != 0)
      return static_cast<int>(k);
  return -1;
}

/// Few different numbers, among them those that a sort must treat with care.
Array repeated(const Shape& shape, std::uint64_t seed, DType dtype) {
  std::vector<double> v(static_cast<std::size_t>(shape.num_elements()));
  for (std::size_t i = 0; i < v.size(); ++i) {
    const std::uint64_t h = (i + seed * 7919) * 2654435761u >> 7 & 31;
    v[i] = static_cast<double>(h) - 10;
    if (!dtype.is_floating()) continue;
    if (h == 3) v[i] = -0.;
    if (h == 4) v[i] = std::nan("");
    if (h == 5) v[i] = -std::numeric_limits<double>::infinity();
    if (h == 6) v[i] = std::numeric_limits<double>::infinity();
    if (h > 20) v[i] *= 1e-4;
  }
  return astype(array(v, shape), dtype);
}
std::vector<Array> sorted_together(Xs xs, int dimension, int keys) {
  return detail::bind_all<detail::Sort>({dimension, true, keys}, xs, {});
}

const DType kReal[] = {bool_, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64};

}  // namespace

TEST_CASE("native steps: sorting one array") {
  for (DType t : kReal)
    for (int n : {1, 2, 95, 97, 300, 5000}) {
      INFO(t.name(), " ", n);
      CHECK(first_different([](Xs x) { return std::vector{sort(x[0])}; }, {samples({n}, 1, t)}) == -1);
      CHECK(first_different([](Xs x) { return std::vector{sort(x[0])}; }, {repeated({n}, 2, t)}) == -1);
      CHECK(first_different([](Xs x) { return std::vector{sort(x[0], 0)}; }, {repeated({n, 3}, 3, t)}) == -1);
      CHECK(first_different([](Xs x) { return std::vector{sort(x[0], 1)}; }, {repeated({7, n, 2}, 4, t)}) == -1);
    }
  for (DType t : {complex64, complex128}) {
    const Array x = astype(complex(repeated({400}, 1, float64), repeated({400}, 2, float64)), t);
    CHECK(first_different([](Xs y) { return std::vector{sort(y[0])}; }, {x}) == -1);
  }
}

TEST_CASE("native steps: sorting networks sort all sequences of zeros and ones, and so all others") {
  for (int n = 1; n <= 18; ++n) {
    CAPTURE(n);
    const std::vector<detail::Comparators> network = detail::sorting_network(n);
    // Bit b of a word belongs to the sequence of number 64 * word + b, whose bit i is element i.
    for (std::uint64_t word = 0; word < std::max(1u, 1u << n >> 6); ++word) {
      std::vector<std::uint64_t> x(static_cast<std::size_t>(n));
      for (std::uint64_t b = 0; b < 64; ++b)
        for (std::size_t i = 0; i < x.size(); ++i) x[i] |= ((64 * word + b) >> i & 1) << b;
      for (const detail::Comparators& c : network)
        for (int k = 0; k < c.count; ++k) {
          std::uint64_t &low = x.at(static_cast<std::size_t>(c.low + k)), &high = x.at(static_cast<std::size_t>(c.high + k));
          const std::uint64_t least = low & high;
          high |= low;
          low = least;
        }
      bool sorted = true;
      for (std::size_t i = 1; i < x.size(); ++i) sorted &= (x[i - 1] & ~x[i]) == 0;
      CHECK(sorted);
    }
  }
}

TEST_CASE("native steps: sorting many lines side by side") {
  for (DType t : kReal)
    for (int n : {2, 3, 17, 64, 333, 1024}) {
      INFO(t.name(), " ", n);
      for (int lines : {9, 70, 130}) {
        CHECK(first_different([](Xs x) { return std::vector{sort(x[0], 1)}; }, {samples({lines, n}, 1, t)}) == -1);
        CHECK(first_different([](Xs x) { return std::vector{sort(x[0], 1)}; }, {repeated({lines, n}, 2, t)}) == -1);
      }
      // Numbers whose codes tell them, along dimensions in front.
      const Array whole = samples({2, n, 37}, 3, t);
      CHECK(first_different([](Xs x) { return std::vector{sort(x[0], 1)}; }, {whole}) == -1);
      CHECK(first_different([](Xs x) { return std::vector{argsort(x[0], 1)}; }, {repeated({2, n, 37}, 4, t)}) == -1);
      CHECK(first_different([](Xs x) { return sorted_together(x, 1, 1); },
                            {repeated({40, n}, 5, t), samples({40, n}, 6, float64), repeated({40, n}, 7, int8)}) == -1);
    }
}

TEST_CASE("native steps: sorting in pieces by several threads") {
  for (DType t : {int16, float32, float64})
    for (int n : {131072, 200001}) {
      CHECK(first_different([](Xs x) { return std::vector{sort(x[0])}; }, {samples({n}, 1, t)}) == -1);
      CHECK(first_different([](Xs x) { return std::vector{argsort(x[0])}; }, {repeated({n}, 2, t)}) == -1);
    }
}

TEST_CASE("native steps: sorting several arrays by one or more keys") {
  for (DType t : kReal)
    for (int n : {40, 700})
      for (int keys : {1, 2, 3}) {
        INFO(t.name(), " ", n, " ", keys);
        const std::vector<Array> xs{repeated({n, 2}, 1, t), repeated({n, 2}, 2, float32), repeated({n, 2}, 3, int8),
                                    samples({n, 2}, 4, float64)};
        CHECK(first_different([=](Xs x) { return sorted_together(x, 0, keys); }, xs) == -1);
      }
}

TEST_CASE("native steps: top_k") {
  for (DType t : kReal)
    for (int n : {1, 50, 1000})
      for (int k : {1, n / 10, n / 2, n}) {
        if (k == 0) continue;
        INFO(t.name(), " ", n, " ", k);
        const auto f = [=](Xs x) {
          const TopK r = top_k(x[0], k);
          return std::vector{r.values, r.indices};
        };
        CHECK(first_different(f, {repeated({3, n}, 1, t)}) == -1);
        CHECK(first_different(f, {samples({n}, 2, t)}) == -1);
      }
}
