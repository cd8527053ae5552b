// config.flush_subnormals: operands and results below the smallest normal number are zeros, however a function runs and whichever thread
// computes an element; callbacks, and everything after it is switched off, keep them.
#include <doctest/doctest.h>
#include <weft/weft.h>

#include <cstdint>
#include <functional>

using namespace weft;

namespace {

struct Flushing {
  Flushing() { config.flush_subnormals = true; }
  ~Flushing() { config.flush_subnormals = false; }
};

/// How many elements are not zeros, read as integers.
std::int64_t nonzero_bits(const Array& x) {
  return sum(bitcast_convert(x, x.dtype() == float64 ? int64 : int32) != 0).item<std::int64_t>();
}

constexpr int kMany = 1'000'000;  // more than one thread computes

void check_each_way(const std::function<Array(Array)>& f, const Array& x, std::int64_t kept) {
  for (const bool flushing : {false, true, false}) {
    config.flush_subnormals = flushing;
    const std::int64_t want = flushing ? 0 : kept;
    const Array y[] = {f(x),
                       jit(f)(x),
                       jit(vmap(f))(reshape(x, {100, x.size() / 100})),
                       vmap(f)(reshape(x, {100, x.size() / 100})),
                       eval_jaxpr(make_jaxpr(f)(x), std::vector<Array>{x})[0],
                       jit([&](Array v) { return fori_loop(0, 1, [&](Array, Array w) { return f(w); }, v); })(x),
                       jit(f, {.device = devices()[0]})(x)};
    config.flush_subnormals = false;
    for (const Array& r : y) CHECK(nonzero_bits(r) == want);
  }
}

}  // namespace

TEST_CASE("flush_subnormals: results and operands below the normal numbers are zeros in every way a function runs") {
  const Array small = full({kMany}, 2e-38f), smaller = bitcast_convert(full({kMany}, 70000, int32), float32);
  check_each_way([](Array v) { return v * .5f; }, small, kMany);
  check_each_way([](Array v) { return v * 1e30f; }, smaller, kMany);
  check_each_way([](Array v) { return v - 1.9e-38f; }, small, kMany);
  check_each_way([](Array v) { return v / 3; }, full({kMany}, 4e-308, float64), kMany);
}

TEST_CASE("flush_subnormals: matrix products and sums") {
  const Array a = full({256, 256}, 1e-25f), b = full({256, 256}, 1e-13f);
  check_each_way([](Array v) { return cumsum(v); }, bitcast_convert(full({10000}, 700, int32), float32), 10000);
  CHECK(nonzero_bits(matmul(a, b * 1e-3f)) == 256 * 256);
  const Flushing flushing;
  CHECK(nonzero_bits(matmul(a, b * 1e-3f)) == 0);
  CHECK(nonzero_bits(jit([](Array x, Array y) { return matmul(x, y); })(a, b * 1e-3f)) == 0);
}

TEST_CASE("flush_subnormals: a callback computes with the standard settings, and what comes after it flushes again") {
  const Flushing flushing;
  float in_callback = 0;
  const auto halve = [&](Array v) {
    volatile float tiny = 2e-38f;
    in_callback = tiny * .5f;
    return v;
  };
  const Array y = jit([&](Array v) { return pure_callback(halve, v, v) * .5f; })(full({100}, 2e-38f));
  CHECK(in_callback > 0);
  CHECK(nonzero_bits(y) == 0);
}
