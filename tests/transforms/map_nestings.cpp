// Maps, jit and grad around each other in all orders, beside what JAX gives. The programs are words, whose letters
// tests/golden/nestings/generate.py explains; it also made the values.
#include <cstdlib>

#include "tests/nestings.h"
#include "tests/runtime/devices.h"
#include "weft/core/io/io.h"

using namespace weft;
using weft::sharding::P;
using namespace weft::test;

TEST_CASE("nestings of maps in all orders give what JAX gives") {
  const char* tests = std::getenv("WEFT_TEST_DATA");
  const std::map<std::string, Array> wanted = load_npz(std::string(tests ? tests : "tests") + "/golden/nestings/arrays.npz");
  CHECK(wanted.size() > 40);
  const Mesh mesh = make_mesh({2, 4}, {"s", "t"});
  const MapLetters letters = map_letters(2, 4);
  for (const auto& [word, want] : wanted) {
    CAPTURE(word);
    const auto scope = use_mesh(mesh);
    Array x = nested_argument(word, letters);
    if (word[0] == 'J') x = device_put(x, NamedSharding{mesh, P("s")});
    const NestedFunction f = nested_program(word, letters, mesh);
    Array got;
    try {
      got = f(x);
    } catch (const Error& e) {
      FAIL_CHECK(std::string(e.what()));
      continue;
    }
    CHECK(got.shape() == want.shape());
    CHECK(tree::all_close(device_get(got), want, 2e-5, 2e-5));
    CHECK(tree::all_close(device_get(jit(f)(x)), want, 2e-5, 2e-5));
    if (word.find('p') != std::string::npos || word[0] == 'J') continue;
    // One more lane of a vmap around it.
    const Array lanes = vmap(f)(stack({x, x}));
    CHECK(tree::all_close(device_get(lanes), stack({want, want}), 2e-5, 2e-5));
  }
}

TEST_CASE("second derivatives through maps of values that are the same on all devices are those of one device") {
  const Mesh mesh = make_mesh({2, 4}, {"s", "t"});
  const Array x = nested_argument("st", map_letters(2, 4)), w = cos(arange(3, float32));
  // Of w and psums, which vary over no axis or one, residuals are passed on as such.
  const auto one = [](Array v, Array u) { return sum(tanh(v * u) * sum(sin(u * u)), {0, 1}) * exp(sum(v, {0, 1}) * u / 8); };
  const auto block = [](Array v, Array u) {
    const Array along = psum(sum(v, 0), "t");
    return psum(psum(sum(tanh(v * u), {0, 1}), "t"), "s") * sum(sin(u * u)) * exp(psum(sum(along, 0), "s") * u / 8);
  };
  for (const bool check_vma : {true, false}) {
    CAPTURE(check_vma);
    const auto mapped = shard_map(block, {.mesh = mesh, .in_specs = {P("s", "t"), P()}, .out_specs = P(), .check_vma = check_vma});
    const auto gradients = [&](auto f) {
      const auto loss = [=](Array v, Array u) { return sum(f(v, u) * cos(arange(3, float32))); };
      const auto first = [=](Array u) { return grad([=](Array v) { return loss(v, u); })(x); };
      return std::vector<Array>{
          f(x, w),
          grad([=](Array u) { return loss(x, u); })(w),
          first(w),
          hessian([=](Array u) { return loss(x, u); })(w),
          grad([=](Array u) { return sum(sin(first(u))); })(w),
          jvp([=](Array u) { return grad([=](Array q) { return loss(x, q); })(u); }, std::tuple{w}, std::tuple{w * 2}).second};
    };
    const std::vector<Array> want = gradients(one), got = gradients(mapped);
    for (std::size_t i = 0; i < want.size(); ++i) {
      CAPTURE(i);
      CHECK(tree::all_close(device_get(got[i]), want[i], 1e-4, 1e-4));
    }
    const auto in_lanes = vmap(grad([&](Array u) { return sum(sin(mapped(x, u))); }))(stack({w, w * 2}));
    for (int i : {0, 1})
      CHECK(tree::all_close(device_get(in_lanes[i]), grad([&](Array u) { return sum(sin(one(x, u))); })(w * (1 + i)), 1e-4, 1e-4));
  }
}
