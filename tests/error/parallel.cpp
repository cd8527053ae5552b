// Errors of maps over devices and of collectives.
#include "refused.h"

using namespace weft;
using weft::sharding::P;

namespace {

std::string line(int n) { return "parallel.cpp:" + std::to_string(n); }

const bool devices_set = (config.num_cpu_devices = 8, true);
auto same = [](Array x) { return x; };
auto plus = [](Array x, Array y) { return x + y; };
constexpr int kBodies = __LINE__;
auto unbound = [](Array x) { return psum(x, "k"); };
auto fans_out = [](Array x) { return ppermute(x, "i", {{0, 1}, {0, 2}}); };
auto exchanges = [](Array x) { return all_to_all(x, "i", 0, 0); };
const PmapOptions kNamed{.axis_name = "i"};
Array donated() {
  const Array x = ones(1000);
  const Array y = jit([](Array v) { return v + 1; }, {.donate_argnums = {0}})(x);
  return x;
}
Mesh four() { return make_mesh({4}, {"i"}); }
auto over(const Mesh& mesh, const PartitionSpec& in, const PartitionSpec& out) {
  return shard_map([](Array x) { return x * 2; }, {.mesh = mesh, .in_specs = {in}, .out_specs = out});
}
Array placed(int k) { return device_put(ones(2), devices()[static_cast<std::size_t>(k)]); }

}  // namespace

REFUSED(pmap_more_than_devices, DeviceError, pmap(same)(arange(9, float32)), "pmap", "9", "8", "f32[9]", "chunk")
REFUSED(pmap_size_mismatch, ShapeError, pmap(plus)(ones(4), ones(8)), "pmap", "args[0]", "4", "args[1]", "8")
REFUSED(donated_buffer_reused, Error, donated() + 1, "donated", "f32[1000]")
REFUSED(incompatible_devices, DeviceError, jit(plus)(placed(0), placed(1)), "jit", "args[0]", "cpu:0", "args[1]", "cpu:1")

REFUSED(shard_map_not_divisible, ShardingError, over(four(), P("i"), P("i"))(ones(6)), "shard_map", "args[0]", "f32[6]", "P('i',)",
        "dimension 0", "4 parts", "6 is not a multiple")
REFUSED(shard_map_unknown_axis, ShardingError, over(four(), P("k"), P("k"))(ones(8)), "shard_map", "`k`", "'i'")
REFUSED(shard_map_spec_rank, ShardingError, over(make_mesh({2, 2}, {"x", "y"}), P("x", "y"), P("x", "y"))(ones(8)), "shard_map", "args[0]",
        "P('x', 'y')", "2 dimensions", "f32[8]")
REFUSED(shard_map_out_not_replicated, ShardingError, over(four(), P("i"), P())(ones(8)), "shard_map", "P()", "may differ", "`i`", "psum")

static const test::Covers covers_unbound("pmap_unbound_axis"), covers_fan("ppermute_duplicate_source"), covers_exchange("all_to_all_size");
TEST_CASE("pmap_unbound_axis") {
  test::refused(typeid(AxisError), "pmap_unbound_axis", [] { pmap(unbound, kNamed)(ones(8)); }, {"psum", "k", "i", line(kBodies + 1)});
}
TEST_CASE("ppermute_duplicate_source") {
  test::refused(typeid(AxisError), "ppermute_duplicate_source", [] { pmap(fans_out, kNamed)(ones(8)); },
                {"ppermute", "source 0 twice", line(kBodies + 2)});
}
TEST_CASE("all_to_all_size") {
  test::refused(typeid(ShapeError), "all_to_all_size", [] { pmap(exchanges, kNamed)(ones({8, 6})); },
                {"all_to_all", "8", "6", line(kBodies + 3)});
}
TEST_CASE("nested pmaps run, unlike in JAX") {
  REQUIRE(devices_set);
  CHECK(tree::all_close(pmap(pmap(same))(ones({4, 4})), ones({4, 4})));
  CHECK(tree::all_close(pmap(pmap(same, {.axis_name = "j"}), kNamed)(ones({2, 4})), ones({2, 4})));
}

TEST_CASE("a null pointer in place of a text is an error that says what it was to name") {
  const char* const nothing = nullptr;
  const Array x = arange(4.f);
  using weft::test::refused;
  refused(typeid(Error), "axis", [&] { vmap([&](Array v) { return psum(v, nothing); }, {.axis_name = "i"})(x); }, {"the name of an axis"});
  refused(typeid(Error), "spec", [&] { P("x", nothing); }, {"an axis in a PartitionSpec"});
  refused(typeid(Error), "einsum", [&] { einsum(nothing, x, x); }, {"the text of a call"});
  refused(typeid(Error), "padding", [&] { max_pool(reshape(x, {1, 1, 2, 2}), {2, 2}, {2, 2}, nothing); }, {"the name of a padding"});
}
