// Where maps over devices take their arguments: errors where JAX 0.10.2 raises ValueError, for arguments that lie elsewhere.
#include "tests/runtime/devices.h"

using namespace weft;
using weft::sharding::P;
using namespace weft::test;

namespace {

struct Meshes {
  std::vector<Device> all = devices();
  Mesh x = make_mesh({8}, {"x"}), y = make_mesh({8}, {"y"}), four{{all.begin(), all.begin() + 4}, {4}, {"x"}},
       grid = make_mesh({2, 4}, {"x", "y"});
  Mesh reversed{{all.rbegin(), all.rend()}, {8}, {"x"}};
};

Array twice(Array v) { return v * 2; }

auto over(const Mesh& mesh, const PartitionSpec& spec = P("x")) {
  return shard_map(twice, {.mesh = mesh, .in_specs = spec, .out_specs = spec});
}

}  // namespace

TEST_CASE("maps refuse arguments that lie elsewhere, and say what moves them") {
  const Meshes m;
  const Array x = ones({8, 8, 4});
  const auto refused = [&](auto f, const Array& given, const std::vector<std::string>& parts) {
    for (int k = 0; k < 2; ++k) {  // also when it is compiled
      const std::string message = message_of<ShardingError>([&] { f(given); });
      CAPTURE(message);
      CHECK(has(message, parts));
      for (const char* part : {"args[0]", "f32[", "reshard", "device_put", "map_places.cpp"}) CHECK(has(message, part));
    }
    config.implicit_reshard = true;
    CHECK(near(f(given), std::vector<double>(static_cast<std::size_t>(given.size()), 2)));
    config.implicit_reshard = false;
    CHECK_THROWS_AS(f(given), ShardingError);
  };
  const Array on_5 = device_put(x, m.all[5]), over_4 = device_put(x, NamedSharding(m.four, P("x"))),
              over_8 = device_put(x, NamedSharding(m.x, P("x")));
  refused(pmap(twice), device_put(x, m.all[0]),
          {"pmap: args[0]", "committed to cpu:0", "takes one position along dimension 0 on each of cpu:0, cpu:1"});
  refused(pmap(twice), on_5, {"committed to cpu:5"});
  refused(pmap(twice), over_4, {"P('x',) of Mesh('x': 4", "on cpu:0, cpu:1, cpu:2, cpu:3,"});
  refused(pmap(twice, {.devices = {m.all.begin(), m.all.begin() + 4}}), device_put(ones({4, 2}), NamedSharding(m.x, P())),
          {"P() of Mesh('x': 8"});
  refused(pmap(twice), device_put(x, NamedSharding(m.x, P(none, "x"))), {"P(None, 'x')", "takes one position along dimension 0"});
  refused(pmap(twice), device_put(x, NamedSharding(m.x, P())), {"P() of"});
  const auto plus = [](Array a, Array b) { return a + b; };
  const auto second = [&](Array b) { return pmap(plus, {.in_axes = {0, none}})(x, b); };
  CHECK(has(message_of<ShardingError>([&] { second(device_put(ones({8, 4}), NamedSharding(m.x, P("x")))); }), "args[1]"));
  refused(jit(pmap(twice)), on_5, {"committed to cpu:5"});
  refused(jit(pmap(twice)), over_4, {"Mesh('x': 4"});
  for (const Array& given : {device_put(x, m.all[0]), on_5, over_4, device_put(x, NamedSharding(m.reversed, P("x")))}) {
    refused(over(m.x), given, {"runs over Mesh('x': 8"});
    refused(jit(over(m.x)), given, {"runs over Mesh('x': 8"});
    refused(jit([&](Array v) { return over(m.x)(v + 0); }), given, {"runs over Mesh('x': 8"});
  }
  refused(over(m.four), over_8, {"Mesh('x': 8", "Mesh('x': 4"});
  refused(jit(over(m.four)), over_8, {"Mesh('x': 8", "Mesh('x': 4"});
  // Two meshes with one text are told apart.
  refused(over(m.x), device_put(x, NamedSharding(m.reversed, P("x"))), {"on cpu:7, cpu:6", "on cpu:0, cpu:1"});
  CHECK(has(message_of<DeviceError>([&] { device_put(x, NamedSharding(m.reversed, P("x"))) + over_8; }), "cpu:7, cpu:6"));
  CHECK(has(message_of<ShardingError>([&] { jit(plus)(device_put(x, NamedSharding(m.reversed, P("x"))), over_8); }), "cpu:7, cpu:6"));
  // What is compiled by hand, and what runs step by step, likewise.
  const auto compiled = over(m.x).lower(x).compile();
  CHECK(near(compiled(x), std::vector<double>(256, 2)));
  CHECK_THROWS_AS(compiled(on_5), ShardingError);
  CHECK_THROWS_AS(grad([&](Array v) { return sum(pmap([](Array a) { return a * a; })(v)); })(on_5), ShardingError);
  {
    const auto scope = use_mesh(m.x);
    refused(smap(twice, {.axis_name = "x"}), on_5, {"runs over Mesh('x': 8"});
  }
}

TEST_CASE("maps take what lies on their devices, and what nobody placed") {
  const Meshes m;
  const Array x = ones({8, 8, 4});
  const auto taken = [&](auto f, const Array& given) {
    const Array y = f(given);
    CHECK(near(y, std::vector<double>(static_cast<std::size_t>(given.size()), 2)));
  };
  taken(pmap(twice), x);
  for (const NamedSharding& s :
       {NamedSharding(m.x, P("x")), NamedSharding(m.y, P("y")), NamedSharding(m.grid, P({"x", "y"})), NamedSharding(m.reversed, P("x"))})
    taken(pmap(twice), device_put(x, s));
  taken(pmap(twice, {.in_axes = 1, .out_axes = 1}), device_put(x, NamedSharding(m.x, P(none, "x"))));
  for (const NamedSharding& s :
       {NamedSharding(m.x, P(none, "x")), NamedSharding(m.x, P()), NamedSharding(m.y, P("y")), NamedSharding(m.grid, P("x"))}) {
    taken(over(m.x), device_put(x, s));
    taken(jit(over(m.x)), device_put(x, s));
    taken(jit(pmap(twice)), device_put(x, s));
    CHECK(near(grad([&](Array v) { return sum(pmap(twice)(v)); })(device_put(x, s)), std::vector<double>(256, 2)));
  }
  const auto plus = [](Array a, Array b) { return a + b; };
  for (const Array& b :
       {device_put(ones({8, 4}), NamedSharding(m.x, P())), device_put(ones({8, 4}), m.all[0]), device_put(ones({8, 4}), m.all[5])})
    CHECK(near(pmap(plus, {.in_axes = {0, none}})(x, b), std::vector<double>(256, 2)));
  // What a function captures is read when it is traced.
  const Array w = device_put(ones({8, 4}), m.all[5]);
  const auto captures = [&](Array v) { return v + w; };
  CHECK(near(pmap(captures)(x), std::vector<double>(256, 2)));
  CHECK(near(jit(pmap(captures))(x), std::vector<double>(256, 2)));
  CHECK(near(grad([&](Array v) { return sum(pmap([&](Array a) { return a * w; })(v)); })(x), std::vector<double>(256, 1)));
  CHECK(near(jit([&](Array v) { return v + over(m.x)(w); })(x), std::vector<double>(256, 3)));
  // An argument that isn't needed.
  CHECK(near(jit([&](Array a, Array b) { return std::pair{over(m.x)(a), (b * 2, a)}; })(x, w).first, std::vector<double>(256, 2)));
  // Results of maps over the same devices pass as they are.
  const auto step = pmap(twice);
  const Array one = step(x), two = step(one);
  CHECK(one.sharding() == two.sharding());
  CHECK(near(over(m.x)(two), std::vector<double>(256, 8)));
  const auto counted = [&](auto f, const Array& v) {
    f(v);
    const auto before = detail::jit_counters();
    f(v);
    const auto after = detail::jit_counters();
    CHECK(after.hits == before.hits + 1);
    CHECK(after.traces == before.traces);
  };
  counted(step, one);
  counted(jit(over(m.x)), one);
}

TEST_CASE("a map's mesh is that of the scope and of the map around it") {
  const Meshes m;
  const Array x = ones({8, 8});
  const auto refused = [&](auto f) {
    const std::string message = message_of<ShardingError>([&] { f(x); });
    CAPTURE(message);
    for (const char* part : {"Mesh('x': 8", "in scope", "use_mesh"}) CHECK(has(message, part));
  };
  const auto both = [&](auto f) {
    refused(f);
    refused(jit(f));
  };
  const auto compiled = jit(over(m.x));
  compiled(x);
  for (const Mesh& other : {m.y, m.four, m.grid, m.reversed}) {
    const auto scope = use_mesh(other);
    both(over(m.x));
    refused(compiled);
  }
  CHECK(near(compiled(x), std::vector<double>(64, 2)));
  {
    const auto scope = use_mesh(m.x);
    CHECK(near(over(m.x)(x), std::vector<double>(64, 2)));
    CHECK(near(compiled(x), std::vector<double>(64, 2)));
  }
  both([&](Array v) { return shard_map(over(m.y, P(none, "y")), {.mesh = m.x, .in_specs = P("x"), .out_specs = P("x")})(v); });
  // Without one, it is the mesh of the map around it.
  const auto inner = [](Array v) {
    return smap([](Array w) { return psum(w, "y"); }, {.in_axes = 1, .out_axes = none, .axis_name = "y"})(v);
  };
  {
    const auto scope = use_mesh(m.grid);
    const Array r = smap(inner, {.axis_name = "x"})(x);
    CHECK(r.shape() == Shape{8, 2});
    CHECK(near(r, std::vector<double>(16, 4)));
  }
  // A program belongs to the mesh that was in scope when it was traced.
  const auto rows = jit(smap([](Array v) { return v * 0 + axis_size("x"); }, {.axis_name = "x"}));
  for (const Mesh& mesh : {m.x, m.four, m.grid, m.x}) {
    const auto scope = use_mesh(mesh);
    CHECK(near(rows(x), std::vector<double>(64, static_cast<double>(mesh.shape()[0]))));
  }
  CHECK(has(message_of<ShardingError>([&] { pmap(twice, {.devices = {m.all[1], m.all[1]}})(ones({2, 2})); }), {"cpu:1", "twice"}));
  // A pmap takes the devices of the mesh in scope, in its order; ones that it is given are among them.
  for (const Mesh& mesh : {m.four, m.reversed}) {
    const auto scope = use_mesh(mesh);
    const Array r = pmap([](Array v) { return v * 2; })(ones({4, 2}));
    const std::vector<Device> there = mesh.devices();
    CHECK(r.devices() == std::vector<Device>(there.begin(), there.begin() + 4));
    CHECK(near(r, std::vector<double>(8, 2)));
  }
  const auto scope = use_mesh(m.four);
  CHECK(message_of<DeviceError>([&] { pmap([](Array v) { return v; })(x); }).find("there are 4 devices") != std::string::npos);
  CHECK(near(pmap([](Array v) { return v * 2; }, {.devices = {m.all[1], m.all[2]}})(ones({2, 2})), {2, 2, 2, 2}));
  CHECK(has(message_of<ShardingError>([&] { pmap([](Array v) { return v; }, {.devices = {m.all[1], m.all[7]}})(ones({2, 2})); }),
            {"cpu:7", "Mesh('x': 4", "in scope"}));
}

TEST_CASE("jit refuses arguments that are committed elsewhere than in_shardings say") {
  const Meshes m;
  const Array x = ones({8, 8});
  const auto named = [](const Mesh& mesh, PartitionSpec spec) { return NamedSharding(mesh, std::move(spec)); };
  const NamedSharding rows = named(m.x, P("x")), whole = named(m.x, P());
  struct Row {
    std::string name;
    std::optional<Placement> now;
    bool by_rows, whole, on_first;  // what JAX 0.10.2 takes
  };
  const std::vector<Row> table{
      {"uncommitted", {}, true, true, true},
      {"cpu:0", m.all[0], false, true, true},
      {"cpu:5", m.all[5], false, true, true},
      {"rows", rows, true, false, false},
      {"columns", named(m.x, P(none, "x")), false, false, false},
      {"everywhere", whole, false, true, true},
      {"on four", named(m.four, P("x")), false, false, false},
      {"everywhere on four", named(m.four, P()), false, true, true},
      {"reversed", named(m.reversed, P("x")), true, false, false},
      {"grid, all rows", named(m.grid, P({"x", "y"}, none)), true, false, false},
      {"grid, rows", named(m.grid, P("x")), false, false, false},
  };
  for (const Row& row : table) {
    CAPTURE(row.name);
    const Array given = row.now ? device_put(x, *row.now) : x;
    const std::vector<std::pair<Shardings, bool>> all{{rows, row.by_rows}, {whole, row.whole}, {m.all[0], row.on_first}};
    for (const auto& [where, takes] : all) {
      const auto f = jit(twice, {.in_shardings = where});
      for (int k = 0; k < 2; ++k) {  // also when it is compiled
        if (takes) {
          CHECK(near(f(given), std::vector<double>(64, 2)));
          continue;
        }
        const std::string message = message_of<ShardingError>([&] { f(given); });
        CAPTURE(message);
        for (const char* part : {"args[0]", "f32[8,8]", "committed to", "in_shardings say", "reshard", "device_put", "map_places.cpp"})
          CHECK(has(message, part));
        CHECK_THROWS_AS(f.lower(given), ShardingError);
      }
      config.implicit_reshard = true;
      CHECK(near(f(given), std::vector<double>(64, 2)));
      config.implicit_reshard = false;
    }
  }
  // Only the arguments that the option names, by their paths.
  const auto sum_of =
      jit([](std::pair<Array, Array> p, Array w) { return p.first + p.second + w; }, {.in_shardings = {{rows, none}, rows}});
  const Array placed = device_put(x, rows), columns = device_put(x, named(m.x, P(none, "x")));
  CHECK(near(sum_of(std::pair(placed, placed), x), std::vector<double>(64, 3)));
  CHECK(has(message_of<ShardingError>([&] { sum_of(std::pair(columns, placed), x); }), {"args[0][0]", "P(None, 'x')", "P('x',)"}));
  CHECK(has(message_of<ShardingError>([&] { sum_of(std::pair(placed, placed), columns); }), {"args[1]"}));
}
