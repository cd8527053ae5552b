// Kernels that treat both parts of complex elements alike: they must give what those give that tell them apart.
#include <doctest/doctest.h>

#include "tests/backends/agree.h"

using namespace weft;
using namespace weft::test;

namespace {

Array complex_values(Shape shape, int seed, DType t) {
  return weft::complex(samples(shape, seed, t.real_part()), samples(shape, seed + 100, t.real_part()));
}

bool holds(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("complex parts: moved elements") {
  for (DType t : {complex64, complex128})
    for (const int n : {1, 2, 5, 8, 17, 40}) {
      CAPTURE(n);
      const Array a = complex_values({9, n}, 1, t), b = complex_values({9, n + 4}, 2, t), c = complex_values({n, 19, 6}, 3, t);
      same([](Xs v) { return concatenate({v[0], v[1], v[0]}, 1); }, {a, b});
      same([](Xs v) { return concatenate({transpose(v[0]), transpose(v[1])}, 0); }, {a, b});
      same([](Xs v) { return roll(v[0], {3, 5}, {0, 1}); }, {b});
      same([](Xs v) { return transpose(v[0]); }, {b});
      same([](Xs v) { return Arrays{transpose(v[0], {2, 0, 1}), transpose(v[0], {1, 0, 2})}; }, {c});
      same([](Xs v) { return flip(v[0]); }, {b});
      same([](Xs v) { return v[0](slice(1, 8, 3), slice(0, none, 2)); }, {b});
      same([](Xs v) { return pad(v[0], {{1, 2}, {3, 0}}); }, {a});
      same([](Xs v) { return pad(v[0], {{1, 2}, {3, 0}}, -0.0); }, {a});
      same([](Xs v) { return pad(v[0], {{0, 2}, {3, 1}}, v[1](0, 0)); }, {a, b});
      same([](Xs v) { return reshape(transpose(v[0]), {-1}); }, {b});
      same([](Xs v) { return dynamic_slice(v[0], {v[1](1), 2}, {4, 2}); }, {b, array({1, 3})});
      same([](Xs v) { return dynamic_update_slice(v[0], v[1](slice(0, 2), slice(0, 1)), {v[2](1), 0}); }, {a, b, array({1, 3})});
      same([](Xs v) { return where(v[0] > 0, v[1], v[2]); }, {samples({9, n}, 5, float32), a, a * 2.f});
      same([](Xs v) { return where(real(v[0]) > 0, v[0], v[0] + 1.f); }, {a});
      same([](Xs v) { return Arrays{concatenate({v[0], v[1]}, 1), real(v[0]), imag(v[1])}; }, {a, b});
      same([](Xs v) { return broadcast_to(v[0](slice(), slice(0, 1)), Shape{9, 21}); }, {a});
    }
}

TEST_CASE("complex parts: sums and differences with constants whose parts differ, and in several nests of a kernel") {
  for (DType t : {complex64, complex128})
    for (const int n : {3, 8, 17, 40}) {
      CAPTURE(n);
      const Array a = complex_values({9, n}, 1, t), b = complex_values({9, n}, 2, t), above = samples({9, n}, 5, float32);
      const Array two = convert(weft::complex(array(1.), array(2.)), t);
      same([&](Xs v) { return pad(v[0] - v[1], {{1, 2}, {3, 0}}, two); }, {a, b});
      same([&](Xs v) { return where(v[2] > 0, v[0] + v[1], two); }, {a, b, above});
      same([&](Xs v) { return v[0] - two; }, {a});
      same([](Xs v) { return where(real(v[0]) > 0, v[0], v[1]); }, {a, b});
      same([](Xs v) { return where(imag(v[0]) > 0, v[0] - v[1], v[1]); }, {a, b});
      same([](Xs v) { return concatenate({v[0] + v[1], v[0], v[1] - v[0]}, 0); }, {a, b});
      same([](Xs v) { return concatenate({v[0] + v[1], v[0], v[1] - v[0]}, 1); }, {a, b});
      same([](Xs v) { return Arrays{sum(v[0], 0), sum(v[1] - v[0], 0), v[0] + v[1]}; }, {a, b}, 1e-5);
      same([](Xs v) { return pad(v[0] + v[1], {{0, 0}, {2, 3}}) - pad(v[0], {{0, 0}, {4, 1}}); }, {a, b});
      same([](Xs v) { return where(arange(v[0].shape()[1]) % 3 == 1, v[0] + v[1], v[0]); }, {a, b});
    }
}

TEST_CASE("complex parts: made of real numbers that lie beside each other, from even and from odd places on") {
  for (DType t : {float32, float64}) {
    const Array x = samples({43}, 1, t), rows = samples({7, 9}, 2, t);
    for (const int first : {0, 1, 2, 3})
      same([&](Xs v) { return weft::complex(v[0](slice(first, 38, 2)), v[0](slice(first + 1, 39, 2))); }, {x});
    for (const int first : {0, 1, 4})
      same([&](Xs v) { return weft::complex(v[0](slice(), slice(first, 8, 2)), v[0](slice(), slice(first + 1, 9, 2))); }, {rows});
    same([](Xs v) { return Arrays{real(v[0]), imag(v[0]), v[0]}; }, {complex_values({21}, 3, t == float32 ? complex64 : complex128)});
  }
}

TEST_CASE("complex parts: moves are of whole elements, or of a row of parts") {
  const auto joined = [](Xs v) { return concatenate({v[0], v[1]}, 1); };
  CHECK(holds(same(joined, {complex_values({7, 30}, 1, complex64), complex_values({7, 41}, 2, complex64)}), "a2: i64[497]"));
  CHECK(holds(same(joined, {complex_values({7, 30}, 1, complex128), complex_values({7, 41}, 2, complex128)}), "for i1 < 142"));
  const std::string turned = same([](Xs v) { return transpose(v[0]); }, {complex_values({70, 33}, 1, complex128)});
  CHECK(holds(turned, "a1[140*i0 + 2*i1 + "));
}

TEST_CASE("complex parts: large transposes and sums of far memory") {
  same([](Xs v) { return transpose(v[0], {2, 0, 1}); }, {complex_values({37, 130, 31}, 1, complex128)});
  same([](Xs v) { return transpose(v[0], {2, 0, 1}); }, {complex_values({37, 130, 31}, 1, complex64)});
  same([](Xs v) { return transpose(v[0]) + v[1]; }, {complex_values({301, 150}, 1, complex128), complex_values({150, 301}, 2, complex128)});
  same([](Xs v) { return transpose(v[0]) + v[1]; }, {complex_values({301, 150}, 1, complex64), complex_values({150, 301}, 2, complex64)});
  same([](Xs v) { return sum(v[0], 1); }, {complex_values({50, 256, 130}, 1, complex128)}, 1e-9);
}

TEST_CASE("complex parts: gathers and scatters") {
  const Array i = array({3, 29, 0, 77, 12, 12, 3, -1, -40}), j = array({3, 29, 0, 12, 12, 3, -1, -2, 1});
  for (DType t : {complex64, complex128})
    for (const int n : {1, 3, 8, 21}) {
      CAPTURE(n);
      const Array x = complex_values({30, n}, 1, t), rows = complex_values({9, n}, 2, t), numbers = complex_values({9}, 3, t);
      same([](Xs v) { return v[0](v[1]); }, {x, j});
      same([](Xs v) { return take(v[0], v[1], 0); }, {x, i});
      same([](Xs v) { return v[0](v[1], 0); }, {x, j});
      for (const Array& k : {i, j}) {
        same([](Xs v) { return v[0].at(v[1]).add(v[2]); }, {x, k, rows});
        same([](Xs v) { return v[0].at(v[1]).set(v[2]); }, {x, k, rows});
        same([](Xs v) { return v[0].at(v[1]).multiply(v[2]); }, {x, k, rows});
        same([](Xs v) { return v[0].at(v[1], 0).add(v[2]); }, {x, k, numbers});
        same([](Xs v) { return v[0].at(v[1], 0).set(v[2]); }, {x, k, numbers});
        same([](Xs v) { return zeros_like(v[0]).at(v[1]).add(v[2] * 2.f); }, {x, k, rows});
      }
    }
  same([](Xs v) { return v[0].at(v[1]).add(v[2]); },
       {complex_values({2000, 64}, 1, complex128), arange(0, 5000) * 7 % 2000, complex_values({5000, 64}, 2, complex128)}, 1e-12);
  same([](Xs v) { return v[0].at(v[1]).add(v[2]); },
       {complex_values({2000}, 1, complex64), arange(0, 5000) * 7 % 2000, complex_values({5000}, 2, complex64)}, 1e-5);
}

TEST_CASE("complex parts: sums, products, running sums") {
  for (DType t : {complex64, complex128})
    for (const int n : {1, 2, 7, 16, 19, 70}) {
      CAPTURE(n);
      const double error = t == complex64 ? 2e-5 : 1e-12;
      const Array x = complex_values({13, n}, 1, t), y = complex_values({6, n, 5}, 2, t);
      for (const int axis : {0, 1}) {
        same([&](Xs v) { return sum(v[0], axis); }, {x}, error);
        same([&](Xs v) { return prod(v[0], axis); }, {x * 1.5f}, error);
        same([&](Xs v) { return cumsum(v[0], axis); }, {x}, error);
        same([&](Xs v) { return flip(cumsum(flip(v[0], axis), axis), axis); }, {y}, error);
        same([&](Xs v) { return sum(v[0] - v[1], axis); }, {x, x * 3.f}, error);
        same([&](Xs v) { return v[0] - expand_dims(mean(v[0], axis), axis); }, {x}, error);
      }
      same([](Xs v) { return Arrays{sum(v[0]), prod(v[0] + 0.5f), sum(v[0], 1)}; }, {y}, error);
      same([](Xs v) { return v[0](slice(1, -1)) * 2.f - v[0](slice(2, none)) - v[0](slice(0, -2)); }, {x}, error);
      same([](Xs v) { return conj(v[0]) + v[0] * v[0]; }, {x}, error);
    }
  same([](Xs v) { return Arrays{prod(v[0], 0), prod(v[0], 1), sum(v[0], 0)}; },
       {weft::complex(cos(samples({300, 300}, 1)), sin(samples({300, 300}, 1)))}, 1e-9);
  same([](Xs v) { return grad([&](Array a) { return real(prod(a, 0)(0)); })(v[0]); }, {complex_values({9, 3}, 1, complex64)}, 1e-4);
}

TEST_CASE("complex parts: loops") {
  for (DType t : {complex64, complex128}) {
    const Array x = complex_values({23, 9}, 1, t);
    same([](Xs v) { return fori_loop(0, 5, [](Array, Array a) { return roll(a, 1, 1) - a(slice(), slice(0, 1)); }, v[0]); }, {x});
    same(
        [](Xs v) {
          auto [last, all] = scan([](Array c, Array a) { return std::pair{c + a, concatenate({c, a}, 0)}; }, zeros_like(v[0](0)), v[0]);
          return Arrays{last, all};
        },
        {x});
  }
}
