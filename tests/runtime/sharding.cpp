// Devices, meshes, and arrays placed on them.
#include <fmt/core.h>

#include "tests/runtime/devices.h"

using namespace weft;
using weft::sharding::P;
using namespace weft::test;

TEST_CASE("devices") {
  const std::vector<Device> all = devices();
  REQUIRE(all.size() == 8);
  CHECK(fmt::format("{}", all[3]) == "cpu:3");
  CHECK(device_count() == 8);
  CHECK(local_device_count("cpu") == 8);
  CHECK(process_index() == 0);
  CHECK(process_count() == 1);
  CHECK(has(message_of<DeviceError>([] { devices("tpu"); }), "'tpu'"));
  config.num_cpu_devices = 4;
  CHECK(has(message_of<DeviceError>([] { devices(); }), "first used"));
  config.num_cpu_devices = 8;
}

TEST_CASE("the default device is a scope") {
  CHECK(ones(3).devices() == std::vector{devices()[0]});
  {
    const auto outer = default_device(devices()[4]);
    CHECK(ones(3).devices() == std::vector{devices()[4]});
    {
      const auto inner = default_device(devices()[2]);
      CHECK((ones(3) + 1).devices() == std::vector{devices()[2]});
    }
    CHECK(zeros(2).devices() == std::vector{devices()[4]});
  }
  CHECK(zeros(2).devices() == std::vector{devices()[0]});
}

TEST_CASE("meshes") {
  const Mesh mesh = make_mesh({2, 4}, {"x", "y"});
  CHECK(mesh.shape() == Shape{2, 4});
  CHECK(mesh.size() == 8);
  CHECK(mesh.axis_names() == std::vector<std::string>{"x", "y"});
  CHECK(mesh == Mesh(devices(), {2, 4}, {"x", "y"}));
  CHECK_FALSE(mesh == Mesh(devices(), {4, 2}, {"x", "y"}));
  CHECK(has(message_of<ShardingError>([] { make_mesh({3, 4}, {"x", "y"}); }), "12 devices, there are 8"));
  CHECK(has(message_of<ShardingError>([] { make_mesh({2, 4}, {"x"}); }), "there is 1 name"));
  CHECK(has(message_of<ShardingError>([] { make_mesh({2, 4}, {"x", "x"}); }), "twice"));
  CHECK(has(message_of<ShardingError>([] { Mesh({devices()[0], devices()[0]}, {2}, {"x"}); }), "cpu:0"));
  CHECK(has(message_of<ShardingError>([&] { NamedSharding(mesh, P("z")); }), "`z`"));
  CHECK(has(message_of<ShardingError>([&] { NamedSharding(mesh, P("x", "x")); }), "twice"));
}

TEST_CASE("placed arrays are divided, and read back whole") {
  const Mesh mesh = make_mesh({2, 4}, {"x", "y"});
  const Array a = reshape(arange(32, float32), {4, 8});
  const std::vector<double> values = a.to_vector<double>();
  for (const PartitionSpec& spec : {P(), P("x"), P("y"), P(none, "y"), P("y", "x"), P({"x", "y"}, none), P(none, {"y", "x"})}) {
    if (spec == P({"x", "y"}, none)) continue;  // four rows
    const Array placed = device_put(a, NamedSharding(mesh, spec));
    CHECK(near(placed, values));
    CHECK(placed.sharding() == NamedSharding(mesh, spec));
    for (const Shard& s : placed.addressable_shards()) {
      const Array part = a(s.index[0], s.index[1]);
      CHECK(part.shape() == s.data.shape());
      CHECK(near(s.data, part.to_vector<double>()));
      CHECK(s.data.devices() == std::vector{s.device});
    }
    CHECK(near(device_get(placed), values));
    CHECK(near(device_put(placed, NamedSharding(mesh, P("y", "x"))), values));
    CHECK(near(device_put(placed, devices()[5]), values));
  }
  CHECK(device_put(a, NamedSharding(mesh, P("x"))).addressable_shards()[5].replica_id == 1);
  CHECK(device_put(a, NamedSharding(mesh, P())).is_fully_replicated());
  CHECK(has(message_of<ShardingError>([&] { device_put(arange(6), NamedSharding(mesh, P("y"))); }), "not a multiple of 4"));
  CHECK(has(message_of<ShardingError>([&] { device_put(arange(8), NamedSharding(mesh, P("y", "x"))); }), "shards 2 dimensions"));
}

TEST_CASE("operations follow placed arrays") {
  const Mesh mesh = make_mesh({8}, {"i"});
  const Array a = reshape(arange(16, float32), {8, 2});
  const Array s = device_put(a, NamedSharding(mesh, P("i")));
  const Array twice = s * 2 + a;
  CHECK(twice.sharding() == s.sharding());
  CHECK(near(twice, (3 * a).to_vector<double>()));
  CHECK(near(s + device_put(ones(2), NamedSharding(mesh, P())), (a + 1).to_vector<double>()));
  CHECK(near(sum(s), {120}));
  CHECK(near(transpose(s), transpose(a).to_vector<double>()));
  CHECK(s[5].devices() == std::vector{devices()[5]});
  CHECK(near(s[5], {10, 11}));
  CHECK(near(s(slice(2, 7)), a(slice(2, 7)).to_vector<double>()));
  const Array on_three = device_put(a, devices()[3]);
  CHECK((on_three + 1).devices() == std::vector{devices()[3]});
  CHECK((a * on_three).devices() == std::vector{devices()[3]});
  CHECK(has(message_of<DeviceError>([&] { on_three + device_put(a, devices()[1]); }),
            "add: operands are committed to different devices, cpu:3 and cpu:1"));
  CHECK(has(message_of<DeviceError>([&] { on_three + s; }), "cpu:3"));
}

TEST_CASE("a spec over one device is not handed to results of other ranks") {
  const Mesh one({devices()[3]}, {1, 1}, {"x", "y"});
  const NamedSharding both{one, P("x", "y")}, whole{one, P()};
  const Array values = reshape(arange(8, float32), {2, 4}), a = device_put(values, both);
  const auto lies = [&](const Array& x, const NamedSharding& where, const Array& wanted) {
    CHECK(x.sharding() == where);
    CHECK(x.sharding().named().spec() == where.spec());
    REQUIRE(x.addressable_shards().size() == 1);
    const Shard s = x.addressable_shards()[0];
    CHECK(s.device == devices()[3]);
    CHECK(static_cast<int>(s.index.size()) == x.ndim());
    CHECK(near(x, wanted.to_vector<double>()));
    CHECK(near(jit([](Array v) { return v * 2; })(x) + x, (3 * wanted).to_vector<double>()));
  };
  const auto same_rank = [](Array v) { return transpose(v * 2); };
  const auto fewer = [](Array v) { return sum(v, 0); };
  const auto none_left = [](Array v) { return sum(v); };
  const auto more = [](Array v) { return expand_dims(v, 0) * 2; };
  lies(same_rank(a), both, same_rank(values));
  lies(fewer(a), whole, fewer(values));
  lies(none_left(a), whole, none_left(values));
  lies(more(a), whole, more(values));
  lies(jit(same_rank)(a), both, same_rank(values));
  lies(jit(fewer)(a), whole, fewer(values));
  lies(jit(none_left)(a), whole, none_left(values));
  lies(jit(more)(a), whole, more(values));
  lies(reshape(a, {8}), whole, reshape(values, {8}));
  lies(reshape(a, {4, 2}), both, reshape(values, {4, 2}));
  lies(grad([&](Array v) { return sum(square(jit(fewer)(v))); })(a), whole, 2 * broadcast_to(fewer(values), {2, 4}));
  const Array large = device_put(ones({300, 400}), both);
  CHECK(sum(large, 1).sharding().named().spec() == P());
}

TEST_CASE("rows on devices") {
  const std::vector<Device> two{devices()[6], devices()[1]};
  const Array x = device_put_sharded({array({1.f, 2.f}), array({3.f, 4.f})}, two);
  CHECK(x.shape() == Shape{2, 2});
  CHECK(x.devices() == two);
  CHECK(near(x, {1, 2, 3, 4}));
  CHECK(near(x.addressable_shards()[1].data, {3, 4}));
  const auto [a, b] = device_put_replicated(std::pair{array({1, 2}), 3.f}, two);
  CHECK(near(a, {1, 2, 1, 2}));
  CHECK(near(b, {3, 3}));
  CHECK(has(message_of<DeviceError>([&] { device_put_sharded({x, x, x}, two); }), "3 shards for 2 devices"));
  CHECK(has(message_of<ShapeError>([&] { device_put_sharded({ones(2), ones(3)}, two); }), "f32[3]"));
}
