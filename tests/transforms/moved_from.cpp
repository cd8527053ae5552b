// What is left behind by std::move: every handle but an Array stays what it was, and an Array holds nothing and says so.
#include <doctest/doctest.h>
#include <weft/weft.h>

#include <utility>

#include "tests/messages.h"

using namespace weft;
using weft::test::has, weft::test::message_of;

namespace {

Array twice(Array x) { return x * 2; }
/// The handle, after another one was moved from it.
template <class T>
T left_behind(T handle) {
  const T other = std::move(handle);
  return handle;
}
bool is(const Array& x, double value) { return all(x == value).item<bool>(); }

}  // namespace

TEST_CASE("transformed functions can be called after they were moved from") {
  CHECK(is(left_behind(jit(twice))(1.f), 2));
  CHECK(is(grad(left_behind(jit(twice)))(1.f), 2));
  CHECK(is(vmap(left_behind(jit(twice)))(ones(2)), 2));
  CHECK(is(left_behind(pmap(twice))(ones({1, 2})), 2));
  CHECK(is(left_behind(checkpoint(twice))(1.f), 2));
  CHECK(is(std::get<0>(left_behind(vjp(twice, Array(1.f)).second)(Array(1.f))), 2));
  CHECK(is(left_behind(linearize(twice, Array(1.f)).second)(Array(1.f)), 2));
  const auto rule = custom_jvp(twice, [](auto x, auto dx) { return std::pair{2 * std::get<0>(x), 5 * std::get<0>(dx)}; });
  CHECK(is(grad(left_behind(rule))(1.f), 5));
  const auto back = custom_vjp(twice, [](Array x) { return std::pair{2 * x, x}; }, [](Array, Array ct) { return std::tuple{7 * ct}; });
  CHECK(is(grad(left_behind(back))(1.f), 7));
  const Mesh mesh = make_mesh({1}, {"x"});
  const auto mapped = shard_map(twice, {.mesh = mesh, .in_specs = {PartitionSpec("x")}, .out_specs = PartitionSpec("x")});
  CHECK(is(left_behind(mapped)(ones(2)), 2));
}

TEST_CASE("programs and their stages can be used after they were moved from") {
  CHECK(is(left_behind(jit(twice).trace(Array(1.f))).lower().compile()(Array(1.f)), 2));
  CHECK(is(left_behind(jit(twice).lower(Array(1.f))).compile()(Array(1.f)), 2));
  CHECK(is(left_behind(jit(twice).lower(Array(1.f)).compile())(Array(1.f)), 2));
  const Jaxpr program = make_jaxpr(twice)(1.f), left = left_behind(program);
  CHECK(left.to_string() == program.to_string());
  CHECK(left == program);
  CHECK(is(left(Array(1.f))[0], 2));
}

TEST_CASE("meshes, shardings and optimisers can be used after they were moved from") {
  const Mesh mesh = make_mesh({1}, {"x"});
  CHECK(left_behind(mesh) == mesh);
  CHECK(is(device_put(ones(2), NamedSharding(left_behind(mesh), PartitionSpec("x"))), 1));
  CHECK(is(left_behind(optim::linear_schedule(3, 3, 10))(1), 3));
  const auto sgd = left_behind(optim::chain(optim::clip(1.), optim::sgd(.5)));
  CHECK(is(sgd.update(full({2}, 8.f), sgd.init(ones(2))).first, -.5));
}

TEST_CASE("an array that was moved from holds nothing, and every function says so") {
  const Array empty = [] {
    Array x = ones(3);
    const Array other = std::move(x);
    return x;
  }();
  CHECK(has(message_of<Error>([&] { sum(empty); }), "holds nothing"));
  CHECK(has(message_of<Error>([&] { jit(twice)(empty); }), "holds nothing"));
  CHECK(has(message_of<Error>([&] { device_put(empty, devices()[0]); }), "holds nothing"));
  CHECK(has(message_of<Error>([&] { grad([](Array v) { return sum(v); })(empty); }), "holds nothing"));
}
