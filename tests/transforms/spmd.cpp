// What maps over devices promise besides values: memory that is handed on, devices that are used, bytes that are moved, errors that end a
// call.
#include "tests/runtime/devices.h"

#include <complex>
#include <functional>

#include "tests/transforms/capture.h"
#include "weft/core/array/array_impl.h"
#include "weft/runtime/host/collectives.h"

using namespace weft;
using weft::sharding::P;
using namespace weft::test;

namespace {

Array rows(int n, int m) { return sin(reshape(arange(n * m, float64), {n, m})); }
/// A different number at each place.
Array axis_numbers(const Shape& s) { return cos(reshape(arange(static_cast<int>(s.num_elements()), float64), s)); }

std::vector<const void*> addresses(const Array& x) {
  std::vector<const void*> out;
  for (const Shard& s : x.addressable_shards()) out.push_back(detail::as_concrete(s.data)->buffer->data());
  return out;
}
/// What `make` gives, placed; nobody else holds it.
template <class F>
Array placed(F make, const Placement& where) {
  const Array h = make();
  return device_put(h, where);
}
std::int64_t bytes_moved(const std::function<void()>& f) {
  const std::int64_t before = detail::collective_counters().bytes_moved;
  f();
  return detail::collective_counters().bytes_moved - before;
}

}  // namespace

TEST_CASE("donated arguments that lie as they are needed give their memory to the result") {
  const std::vector<Device> two{devices()[0], devices()[1]};
  auto step = pmap([](Array a) { return a * 2 + 1; }, {.devices = two, .donate_argnums = {0}});
  Array x = step(device_put_sharded({ones(1000), ones(1000)}, two));  // its memory is its own
  const std::vector<const void*> before = addresses(x);
  const Array y = step(x);
  CHECK(addresses(y) == before);
  CHECK(near(y(slice(), 0), {7, 7}));
  CHECK(has(message_of<Error>([&] { x + 1; }), "donated"));
  // With a collective, what is read after it keeps its memory; the values are right.
  auto normalised = pmap([](Array a) { return a / psum(a, "i"); }, {.axis_name = "i", .devices = two, .donate_argnums = {0}});
  CHECK(near(normalised(pmap([](Array a) { return a + 0; }, {.devices = two})(array({{1.f}, {3.f}}))), {.25, .75}));
  // Memory that is another's too, or lies elsewhere, is copied; the result is the same, and the other array keeps its values.
  const Array whole = ones({2, 1000});
  CHECK(near(step(whole)(slice(), 7), {3, 3}));
  CHECK(has(message_of<Error>([&] { whole + 1; }), "donated"));
  const Array kept = pmap([](Array a) { return a * 1; }, {.devices = two})(ones({2, 1000}));
  const Array part = kept[0];
  step(kept);
  CHECK(near(part(slice(2)), {1, 1}));
  CHECK(has(message_of<Error>([&] { pmap([](Array a, Array b) { return a + b; }, {.devices = two, .donate_argnums = {0}})(y, y); }),
            "passed twice"));
}

TEST_CASE("a training step takes the memory of its replicated parameters, step by step, without copies") {
  auto step = pmap(
      [](Array w, Array x) {
        const Array gradient = grad([&](Array v) { return sum(square(tanh(x * v))); })(w);
        return std::pair{w - .1f * pmean(gradient, "i"), ppermute(w, "i", {{0, 1}, {1, 0}})};
      },
      {.axis_name = "i", .donate_argnums = {0}});
  auto plain = pmap([](Array w, Array x) { return w - .1f * pmean(grad([&](Array v) { return sum(square(tanh(x * v))); })(w), "i"); },
                    {.axis_name = "i"});
  const Array x = convert(rows(8, 500), float32);
  Array w = pmap([](Array a) { return a + 0; })(ones({8, 500})), other = w + 0, turned;
  const std::vector<const void*> before = addresses(w);
  for (int k = 0; k < 3; ++k) {
    const Array sent = w;
    std::tie(w, turned) = step(w, x);
    CHECK(has(message_of<Error>([&] { sent + 1; }), "donated"));
    if (k > 0) CHECK(tree::all_close(device_get(turned)(slice(2)), flip(device_get(other)(slice(2)), 0)));
    other = plain(other, x);
    CHECK(tree::all_close(device_get(w), device_get(other)));
  }
  // Without the permuted copy nothing but the parameters themselves remains in their memory.
  auto in_place = pmap([](Array v, Array a) { return v - .1f * pmean(grad([&](Array u) { return sum(square(tanh(a * u))); })(v), "i"); },
                       {.axis_name = "i", .donate_argnums = {0}});
  w = pmap([](Array a) { return a + 0; })(ones({8, 500}));
  const std::vector<const void*> mine = addresses(w);
  w = in_place(w, x);
  CHECK(addresses(w) == mine);
  // Memory that all devices share is given away as one.
  const Array same = pmap([](Array a) { return psum(a, "i"); }, {.axis_name = "i"})(x), kept = same + 0;
  const std::vector<const void*> shared = addresses(same);
  CHECK(shared[0] == shared[7]);
  auto doubled = pmap([](Array a) { return a * 2; }, {.donate_argnums = {0}});
  const Array twice = doubled(same);
  CHECK(addresses(twice) == shared);
  CHECK(tree::all_close(device_get(twice), 2 * device_get(kept)));
  auto mixed = pmap([](Array a, Array b) { return a + b; }, {.donate_argnums = {0}});
  const Array last = mixed(twice, x);
  CHECK(tree::all_close(device_get(last), 2 * device_get(kept) + x));
}

TEST_CASE("nested maps spread over a split of the devices") {
  auto inner = [](Array a) { return psum(a, {"i", "j"}) + 10 * axis_index("i") + axis_index("j"); };
  const Array y = pmap(pmap(inner, {.axis_name = "j"}), {.axis_name = "i"})(reshape(arange(8, float32), {2, 4}));
  CHECK(y.devices().size() == 8);
  CHECK(near(y, {28, 29, 30, 31, 38, 39, 40, 41}));
  // Three by four devices are not there: the inner map runs within each device's program.
  const Array z = pmap(pmap(inner, {.axis_name = "j"}), {.axis_name = "i"})(reshape(arange(12, float32), {3, 4}));
  CHECK(z.devices().size() == 3);
  CHECK(z[2][3].item<float>() == 66 + 23);
}

TEST_CASE("results of maps in maps are sharded over all axes, and the next call moves nothing") {
  const auto is_divided = [](const Array& v, const PartitionSpec& spec, const Shape& block) {
    CHECK(v.sharding().named().spec() == spec);
    REQUIRE(v.addressable_shards().size() == 8);
    for (const Shard& s : v.addressable_shards()) CHECK(s.data.shape() == block);
  };
  const Array x = convert(rows(8, 128), float32), cube = reshape(x, {4, 2, 128});
  const auto twice = [](Array v) { return v * 2; };
  const auto nested = pmap(pmap(twice, {.axis_name = "j"}), {.axis_name = "i"});
  const Array y = nested(cube);
  is_divided(y, P("i", "j"), {1, 1, 128});
  CHECK(near(y, (2 * cube).to_vector<double>()));
  Array z;
  CHECK(bytes_moved([&] { z = nested(y); }) == 0);
  is_divided(z, P("i", "j"), {1, 1, 128});
  CHECK(near(z, (4 * cube).to_vector<double>()));
  CHECK(near(nested(device_put(cube, NamedSharding{make_mesh({4, 2}, {"i", "j"}), P("i")})), (2 * cube).to_vector<double>()));
  // Other axes of arguments and results; what is the same for all; collectives of both maps.
  const auto sums = [](Array v, Array w) { return std::tuple{v * psum(v, {"i", "j"}) + w, psum(v, "j"), psum(v, "i")}; };
  const auto both = [&](auto outer, auto inner) {
    return outer(inner(sums, {.in_axes = {1, none}, .out_axes = {1, none, 0}, .axis_name = "j"}),
                 {.in_axes = {0, none}, .out_axes = {0, 0, 1}, .axis_name = "i"});
  };
  const Array turned = swapaxes(cube, 1, 2), w = rows(1, 128)[0];
  const auto got = both([](auto f, PmapOptions o) { return pmap(f, o); }, [](auto f, PmapOptions o) { return pmap(f, o); })(turned, w);
  const auto wanted = both(
      [](auto f, PmapOptions o) { return vmap(f, {.in_axes = o.in_axes, .out_axes = o.out_axes, .axis_name = o.axis_name}); },
      [](auto f, PmapOptions o) { return vmap(f, {.in_axes = o.in_axes, .out_axes = o.out_axes, .axis_name = o.axis_name}); })(turned, w);
  CHECK(tree::all_close(device_get(got), wanted, 1e-5, 1e-5));
  is_divided(std::get<0>(got), P("i", none, "j"), {1, 128, 1});
  is_divided(std::get<2>(got), P("j", "i"), {1, 1, 128});
  // Three deep; work before, between and after.
  const auto deep =
      pmap(pmap(pmap([](Array v) { return v + psum(v, {"i", "k"}); }, {.axis_name = "k"}), {.axis_name = "j"}), {.axis_name = "i"});
  const Array eight = reshape(x, {2, 2, 2, 128}), d = deep(eight);
  is_divided(d, P("i", "j", "k"), {1, 1, 1, 128});
  CHECK(near(d, (eight + sum(eight, {0, 2}, keepdims)).to_vector<double>()));
  CHECK(bytes_moved([&] { deep(d); }) == bytes_moved([&] { deep(eight); }));
  const auto around = pmap(
      [](Array v) {
        const Array sorted = sort(v, 0);
        return pmap([](Array r) { return r - pmean(r, "j"); }, {.axis_name = "j"})(sorted + psum(v, "i")) * 2 + sum(v, 0);
      },
      {.axis_name = "i"});
  const auto around_in_vmap = vmap(
      [](Array v) {
        const Array sorted = sort(v, 0);
        return vmap([](Array r) { return r - pmean(r, "j"); }, {.axis_name = "j"})(sorted + psum(v, "i")) * 2 + sum(v, 0);
      },
      {.axis_name = "i"});
  CHECK(tree::all_close(device_get(around(cube)), around_in_vmap(cube), 1e-4, 1e-4));
  CHECK(tree::all_close(device_get(grad([&](Array v) { return sum(sin(around(v))); })(cube)),
                        grad([&](Array v) { return sum(sin(around_in_vmap(v))); })(cube), 1e-4, 1e-4));
  // What one map divides, and the next takes whole.
  const auto one_after_another = [&](auto map) {
    return [=](Array v) {
      const Array halves = map([](Array r) { return r * 2; }, VmapOptions{.axis_name = "j"})(v);
      return map([](Array r, Array all) { return r + sum(all, 0) + axis_index("j"); }, VmapOptions{.in_axes = {0, none}, .axis_name = "j"})(
          v, halves);
    };
  };
  const auto on_devices = [](auto f, VmapOptions o) { return pmap(f, {.in_axes = o.in_axes, .axis_name = o.axis_name}); };
  const auto on_lanes = [](auto f, VmapOptions o) { return vmap(f, o); };
  CHECK(tree::all_close(device_get(pmap(one_after_another(on_devices), {.axis_name = "i"})(cube)),
                        vmap(one_after_another(on_lanes), {.axis_name = "i"})(cube), 1e-5, 1e-5));
  // No devices are left for the inner map.
  const Array full_rows = reshape(x, {8, 2, 64});
  const auto squares = [](Array v) { return psum(v * v, {"i", "j"}); };
  CHECK(tree::all_close(
      device_get(grad([&](Array v) { return sum(pmap(pmap(squares, {.axis_name = "j"}), {.axis_name = "i"})(v)); })(full_rows)),
      grad([&](Array v) { return sum(vmap(vmap(squares, {.axis_name = "j"}), {.axis_name = "i"})(v)); })(full_rows), 1e-4, 1e-4));
  // smap in smap, and shard_map in smap.
  const auto scope = use_mesh(make_mesh({4, 2}, {"i", "j"}));
  const auto maps =
      smap([](Array v) { return smap([](Array u) { return u * psum(u, "i"); }, {.in_axes = 1, .out_axes = 1, .axis_name = "j"})(v); },
           {.axis_name = "i"});
  const Array r = maps(cube);
  is_divided(r, P("i", "j"), {1, 1, 128});
  CHECK(near(r, (cube * sum(cube, 0, keepdims)).to_vector<double>()));
  is_divided(jit(maps)(r), P("i", "j"), {1, 1, 128});
}

TEST_CASE("nothing is moved between devices but by collectives") {
  const Array x = rows(8, 100);
  auto local = pmap([](Array a) { return tanh(a) * 2; });
  Array y = local(x);
  CHECK(bytes_moved([&] {
          for (int i = 0; i < 3; ++i) y = local(y);
          y[3].block_until_ready();
        }) == 0);
  auto total = pmap([](Array a) { return psum(a, "i"); }, {.axis_name = "i"});
  const Array z = local(x);
  CHECK(bytes_moved([&] { total(z); }) == 2 * 7 * 100 * 8);
  CHECK(bytes_moved([&] { total(z)[5].block_until_ready(); }) == 2 * 7 * 100 * 8);
  auto gathered = pmap([](Array a) { return all_gather(a, "i"); }, {.axis_name = "i"});
  CHECK(bytes_moved([&] { gathered(z); }) == 8 * 7 * 100 * 8);
  const Mesh mesh = make_mesh({8}, {"i"});
  const Array placed = device_put(x, NamedSharding{mesh, P("i")});
  auto scaled = jit([](Array a) { return a * 2 + 1; });
  CHECK(bytes_moved([&] { scaled(placed); }) == 0);
}

TEST_CASE("a device's program that throws ends the call with its error, and the next call runs") {
  auto checked = [](Array a) {
    const Array b = pure_callback(
        [](Array v) {
          if (v.item<float>() == 3) throw std::runtime_error("three is too many");
          return v;
        },
        ShapeDtypeStruct{{}, float32}, a);
    return psum(b, "i");
  };
  auto mapped = pmap(checked, {.axis_name = "i"});
  CHECK(has(message_of<std::exception>([&] { mapped(arange(8, float32)); }), "three is too many"));
  CHECK(near(mapped(ones(8))[0], {8}));
}

TEST_CASE("wherever a device throws, the call ends with its error, and the next one runs") {
  const auto checked = [](Array a) {
    return pure_callback(
        [](Array v) {
          if (v.item<float>() == 3) throw std::runtime_error("three is too many");
          return v;
        },
        ShapeDtypeStruct{{}, float32}, a);
  };
  const Mesh mesh = make_mesh({8}, {"i"});
  const auto check = [&](auto f) {
    for (int k = 0; k < 2; ++k) {
      CHECK(has(message_of<std::exception>([&] { f(arange(8, float32)); }), "three is too many"));
      CHECK(near(device_get(f(ones(8)))(0), {8}));
    }
  };
  check(pmap(
      [&](Array a) {
        return scan([&](Array c, None) { return std::pair{psum(checked(c), "i") / 8, c}; }, a, none, {.length = 2}).first * 8;
      },
      {.axis_name = "i"}));
  check(
      pmap([&](Array a) { return while_loop([](Array c) { return pmax(c, "i") < 8; }, [&](Array c) { return psum(checked(c), "i"); }, a); },
           {.axis_name = "i"}));
  check(pmap(
      [&](Array a) {
        return cond(pmin(a, "i") < 2, [&](Array c) { return psum(checked(c), "i"); }, [](Array c) { return psum(c, "i"); }, a);
      },
      {.axis_name = "i"}));
  check(jit(pmap([&](Array a) { return psum(checked(a), "i"); }, {.axis_name = "i"})));
  check(shard_map([&](Array a) { return psum(expand_dims(checked(a[0]), 0), "i"); },
                  {.mesh = mesh, .in_specs = P("i"), .out_specs = P("i"), .check_vma = false}));
  // In a collective's neighbour, and in a program without collectives.
  check(pmap([&](Array a) { return ppermute(psum(a, "i"), "i", {{0, 0}}) + 0 * checked(a); }, {.axis_name = "i"}));
  CHECK(has(message_of<std::exception>([&] { pmap(checked)(arange(8, float32)); }), "three is too many"));
}

TEST_CASE("a collective that not all devices reach is an error at once, which names it and who is missing") {
  const Array x = arange(8, float32);
  const auto message = [&](auto f) { return message_of<DistributedError>([&] { pmap(f, {.axis_name = "i"})(x); }); };
  const auto names = [](const std::string& text, const std::vector<std::string>& parts) { CHECK(has(text, parts)); };
  constexpr int kLine = __LINE__;
  const auto summed = [](Array c) { return psum(c, "i"); };
  const std::string there = "spmd.cpp:" + std::to_string(kLine + 1);
  names(message([&](Array a) { return cond(a < 6, summed, [](Array c) { return c; }, a); }),
        {"cond", "the branch", "psum over `i`", there, "wait there for cpu:6", "pmax or psum"});
  names(message([&](Array a) { return cond(a < 1, [](Array c) { return c; }, summed, a); }),
        {"cond", "psum over `i`", there, "wait there for cpu:0"});
  names(message([&](Array a) { return switch_(convert(a, int32), std::tuple{summed, [](Array c) { return c; }, summed}, a); }),
        {"it is 0 on cpu:0 and 1 on cpu:1", there, "wait there for cpu:1"});
  names(message([&](Array a) { return while_loop([](Array c) { return c < 5; }, [&](Array c) { return c + 1 + 0 * summed(c); }, a); }),
        {"while", "the condition", "psum over `i`", there, "wait there for cpu:5"});
  // Different numbers of trips.
  names(message([&](Array a) { return fori_loop(0, convert(a, int32), [&](Array, Array c) { return summed(c); }, a); }),
        {"while", "wait there for cpu:0"});
  // Within another loop, and in the loop's condition.
  names(message([&](Array a) {
          return scan([&](Array c, None) { return std::pair{cond(c < 4, summed, [](Array v) { return v; }, c), c}; }, a, none,
                      {.length = 3})
              .first;
        }),
        {"cond", there, "wait there for cpu:4"});
  names(message([&](Array a) { return while_loop([&](Array c) { return c + 0 * summed(c) < 3; }, [](Array c) { return c + 1; }, a); }),
        {"while", there, "wait there for cpu:3"});
  // Where no collective is inside, each device goes its own way; and one predicate for all is right.
  CHECK(near(pmap([](Array a) { return cond(a < 6, [](Array c) { return c * 2; }, [](Array c) { return c; }, a); }, {.axis_name = "i"})(x),
             {0, 2, 4, 6, 8, 10, 6, 7}));
  CHECK(near(pmap([&](Array a) { return cond(pmax(a, "i") < 8, summed, [](Array c) { return c; }, a); }, {.axis_name = "i"})(x)[0], {28}));
}

TEST_CASE("collectives on every number of devices agree with vmap, and their gradients with differences") {
  struct Case {
    const char* name;
    std::function<Array(Array)> f;
  };
  for (const int n : {1, 2, 4, 8}) {
    std::vector<std::pair<int, int>> ring;
    std::vector<int> turned;
    for (int i = 0; i < n; ++i) ring.push_back({i, (i + 1) % n}), turned.push_back(n - 1 - i);
    const std::vector<Case> cases = {
        {"psum", [](Array a) { return a * psum(sin(a), "i"); }},
        {"pmean", [](Array a) { return a * pmean(a * a, "i"); }},
        {"pmax", [](Array a) { return a * pmax(a, "i"); }},
        {"pmin", [](Array a) { return a * pmin(a, "i"); }},
        {"all_gather", [](Array a) { return sum(all_gather(a * a, "i"), 0) * a; }},
        {"all_gather tiled", [n](Array a) { return reshape(all_gather(a * a, "i", {.tiled = true}), {n, n})(0) * a; }},
        {"psum_scatter", [](Array a) { return psum_scatter(a * a, "i") * a; }},
        {"psum_scatter tiled", [](Array a) { return psum_scatter(a * a, "i", {.tiled = true}) * a; }},
        {"all_to_all", [](Array a) { return all_to_all(a * a, "i", 0, 0) * a; }},
        {"ppermute", [ring](Array a) { return ppermute(a * a, "i", ring) * a; }},
        {"pshuffle", [turned](Array a) { return pshuffle(a * a, "i", turned) * a; }},
        {"pswapaxes", [](Array a) { return pswapaxes(a * a, "i", 0) * a; }},
        {"pbroadcast", [n](Array a) { return pbroadcast(a * a, "i", n - 1) * a; }},
        {"axis_index", [](Array a) { return a * a * (axis_index("i") + axis_size("i")); }},
    };
    const Array x = rows(n, n) + 0.01 * reshape(arange(n * n, float64), {n, n});
    for (const Case& c : cases) {
      CAPTURE(n);
      CAPTURE(c.name);
      const auto loss = [&](auto mapped) { return [=](Array a) { return sum(sin(mapped(a))); }; };
      const auto by_devices = pmap(c.f, {.axis_name = "i"});
      const auto by_lanes = vmap(c.f, {.axis_name = "i"});
      CHECK(tree::all_close(device_get(by_devices(x)), by_lanes(x), 1e-12, 1e-12));
      const Array gradient = device_get(grad(loss(by_devices))(x));
      CHECK(tree::all_close(gradient, grad(loss(by_lanes))(x), 1e-11, 1e-11));
      const Array direction = cos(x);
      const double h = 1e-6,
                   difference = ((loss(by_lanes)(x + h * direction) - loss(by_lanes)(x - h * direction)) / (2 * h)).item<double>();
      CHECK(std::abs(difference - sum(gradient * direction).item<double>()) < 1e-6 * (1 + std::abs(difference)));
    }
  }
}

TEST_CASE("groups of a vmap's lanes are as those of devices, with gradients") {
  const std::vector<AxisIndexGroups> cases = {{{0, 1, 2, 3}, {4, 5, 6, 7}},     {{0, 2, 4, 6}, {1, 3, 5, 7}},
                                              {{0, 4}, {1, 5}, {2, 6}, {3, 7}}, {{5, 0, 3, 6}, {1, 7, 4, 2}},
                                              {{7, 6, 5, 4, 3, 2, 1, 0}},       {{3}, {1}, {0}, {2}, {4}, {7}, {6}, {5}}};
  const Array x = reshape(sin(arange(8 * 8 * 3, float64)), {8, 8, 3}), w = reshape(cos(arange(8 * 3, float64)), {8, 3});
  for (const AxisIndexGroups& groups : cases) {
    const auto m = static_cast<int>(groups[0].size());
    CAPTURE(m);
    const GroupOptions of{groups};
    const auto same = [&](auto f) {
      const auto by_devices = pmap(f, {.axis_name = "i"});
      const auto by_lanes = vmap(f, {.axis_name = "i"});
      CHECK(tree::all_close(device_get(by_devices(x)), by_lanes(x), 1e-12, 1e-12));
      CHECK(tree::all_close(device_get(by_devices(x)), jit(by_lanes)(x), 1e-12, 1e-12));
      const auto loss = [](auto mapped) {
        return [=](Array a) {
          const Array y = mapped(a);
          return sum(sin(y) * (1 + axis_numbers(y.shape())));
        };
      };
      CHECK(tree::all_close(device_get(grad(loss(by_devices))(x)), grad(loss(by_lanes))(x), 1e-11, 1e-11));
      const auto tangent = [&](auto mapped) { return jvp(loss(mapped), std::tuple{x}, std::tuple{cos(x)}).second; };
      CHECK(tree::all_close(device_get(tangent(by_devices)), tangent(by_lanes), 1e-11, 1e-11));
      // Within another map, of which the axis is none of the collective's.
      const auto rows = [&](auto mapped) { return vmap([=](Array s) { return mapped(x * s); }); };
      const Array scales = array({1.f, -.5f, 2.f});
      CHECK(tree::all_close(device_get(rows(by_devices)(scales)), rows(by_lanes)(scales), 1e-6, 1e-6));
    };
    same([=](Array a) { return a * psum(a * a, "i", of); });
    same([=](Array a) { return a * pmean(a * a, "i", of); });
    same([=](Array a) { return a * pmax(a, "i", of) + pmin(a * a, "i", of); });
    same([=](Array a) {
      return sum(all_gather(a * a, "i", {.axis = 1, .axis_index_groups = groups}) * sin(arange(m, float64))(slice(), newaxis), 1) * a;
    });
    same([=](Array a) { return all_gather(a * a, "i", {.axis = 1, .tiled = true, .axis_index_groups = groups}); });
    same([=](Array a) { return psum_scatter(a(slice(0, m)) * a(slice(0, m)), "i", {.axis_index_groups = groups}) * a; });
    same([=](Array a) { return psum_scatter(a * a, "i", {.tiled = true, .axis_index_groups = groups}); });
    same([=](Array a) { return all_to_all(a(slice(0, m)) * 2, "i", 0, 0, {.axis_index_groups = groups}) * sum(a); });
    same([=](Array a) { return all_to_all(a(slice(0, m)) * 2, "i", 0, 1, {.axis_index_groups = groups}) * sum(a); });
    same([=](Array a) { return all_to_all(a * a, "i", 0, 1, {.tiled = true, .axis_index_groups = groups}); });
    same([=](Array a) { return pswapaxes(a(slice(0, m)), "i", 0, of) * sum(a); });
    // What is the same on all lanes.
    same([=](Array a) {
      return a * (psum(w, "i", of) + pmax(w, "i", of) + sum(all_gather(w, "i", {.axis_index_groups = groups}), 0)) +
             sum(psum_scatter(w, "i", {.tiled = true, .axis_index_groups = groups})) +
             sum(square(all_to_all(w, "i", 0, 1, {.tiled = true, .axis_index_groups = groups})(0)));
    });
  }
  // Twelve lanes are more than there are devices; every dtype.
  const AxisIndexGroups thirds{{0, 3, 6, 9}, {1, 4, 7, 10}, {2, 5, 8, 11}};
  const auto total = [&](Array a) { return psum(a, "i", {.axis_index_groups = thirds}); };
  for (DType t : {bool_, int8, uint32, int64, float16, bfloat16, complex64}) {
    const Array v = convert(arange(12) % 3, t), wanted = convert(array({0, 4, 8, 0, 4, 8, 0, 4, 8, 0, 4, 8}), t);
    CHECK(tree::all_close(vmap(total, {.axis_name = "i"})(v), t.is_bool() ? 4 * convert(v, int32) : wanted));
  }
  CHECK(has(message_of<AxisError>([&] { vmap(total, {.axis_name = "i"})(arange(8)); }), "axis_index_groups hold the position"));
  const auto refused = [](const AxisIndexGroups& groups, const char* why) {
    const auto f = [=](Array a) { return psum(a, "i", {.axis_index_groups = groups}); };
    return test::refuses<AxisError>([&] { vmap(f, {.axis_name = "i"})(arange(4)); }, {"psum", "axis_index_groups", why});
  };
  CHECK(test::refuses<AxisError>(
      [&] { vmap([](Array a) { return all_gather(a, "i", {.axis_index_groups = {{0, 1, 2}, {3}}}); }, {.axis_name = "i"})(arange(4)); },
      {"all_gather", "are of different sizes"}));
  CHECK(refused({{0, 1}, {1, 3}}, "hold the position 1 twice"));
  CHECK(refused({{0, 3}}, "leave out the position 1; each must be in one group"));
}

TEST_CASE("groups, and complex numbers, with gradients") {
  const Array x = rows(8, 4);
  const AxisIndexGroups groups{{0, 2, 4, 6}, {1, 3, 5, 7}};
  const auto grouped = [&](Array a) { return psum(a * a, "i", {.axis_index_groups = groups}) * a; };
  // The same on one device: rows of one parity are summed.
  const auto plain = [&](Array v) {
    const Array sums = sum(reshape(v * v, {4, 2, 4}), 0, keepdims);
    return v * reshape(broadcast_to(sums, {4, 2, 4}), {8, 4});
  };
  CHECK(tree::all_close(device_get(pmap(grouped, {.axis_name = "i"})(x)), plain(x), 1e-12, 1e-12));
  CHECK(tree::all_close(device_get(grad([&](Array v) { return sum(sin(pmap(grouped, {.axis_name = "i"})(v))); })(x)),
                        grad([&](Array v) { return sum(sin(plain(v))); })(x), 1e-11, 1e-11));
  const auto others = [&](Array a) {
    return std::tuple{pmax(a, "i", {.axis_index_groups = groups}), all_gather(a, "i", {.axis_index_groups = groups}),
                      psum_scatter(a, "i", {.axis_index_groups = groups}), all_to_all(a, "i", 0, 0, {.axis_index_groups = groups}),
                      pmean(a, "i", {.axis_index_groups = groups})};
  };
  const auto [largest, gathered, scattered, exchanged, average] = pmap(others, {.axis_name = "i"})(x);
  const Array odd = x(slice(1, none, 2));
  CHECK(tree::all_close(device_get(largest)[3], max(odd, 0)));
  CHECK(tree::all_close(device_get(gathered)[5], odd));
  CHECK(tree::all_close(device_get(scattered)(slice(1, none, 2)), sum(odd, 0), 1e-12, 1e-12));
  CHECK(tree::all_close(device_get(exchanged)(slice(1, none, 2)), transpose(odd)));
  CHECK(tree::all_close(device_get(average)[7], mean(odd, 0), 1e-12, 1e-12));

  const Array z = convert(x, complex128) * Array(std::complex<double>(1, 2)) + cos(x);
  const auto mixed = [](Array a) {
    return a * psum(a, "i") + all_gather(a * a, "i")(0) + ppermute(a, "i", {{0, 1}, {1, 0}}) +
           pbroadcast(a, "i", 2) * psum_scatter(concatenate({a, a}), "i")(newaxis);
  };
  CHECK(tree::all_close(device_get(pmap(mixed, {.axis_name = "i"})(z)), vmap(mixed, {.axis_name = "i"})(z), 1e-12, 1e-12));
  const auto energy = [&](auto f) { return [=](Array v) { return sum(abs(f(v)) * abs(f(v))); }; };
  CHECK(tree::all_close(device_get(grad(energy(pmap(mixed, {.axis_name = "i"})))(z)), grad(energy(vmap(mixed, {.axis_name = "i"})))(z),
                        1e-9, 1e-9));
  const Array flags = x > 0;
  const auto logic = [](Array a) {
    return std::tuple{psum(a, "i"), pmax(a, "i"), pmin(a, "i"), all_gather(a, "i"), ppermute(a, "i", {{0, 1}}), pbroadcast(a, "i", 3)};
  };
  CHECK(tree::all_close(device_get(pmap(logic, {.axis_name = "i"})(flags)), vmap(logic, {.axis_name = "i"})(flags)));
}

namespace {

/// What a call that donates its argument says, and whether the result lies where the argument lay.
template <class F>
void check_taken(F f, const Array& x) {
  const std::vector<const void*> before = addresses(x);
  const std::vector<double> wanted = (device_get(x) * 2).to_vector<double>();
  Array y;
  const std::string told = written_to(stderr, [&] { y = f(x); });
  CHECK(told == "");
  CHECK(addresses(y) == before);
  CHECK(near(y, wanted));
  CHECK(has(message_of<Error>([&] { x + 1; }), "donated"));
}
template <class F>
std::string told_of_copy(F f, const Array& x) {
  const std::vector<double> wanted = (device_get(x) * 2).to_vector<double>();
  Array y;
  const std::string told = written_to(stderr, [&] { y = f(x); });
  CHECK(near(y, wanted));
  CHECK(has(message_of<Error>([&] { x + 1; }), "donated"));
  return told;
}

}  // namespace

TEST_CASE("what device_put made is donated without a copy, when nobody else holds it") {
  const Mesh line = make_mesh({8}, {"x"}), grid = make_mesh({2, 4}, {"x", "y"});
  const NamedSharding on_rows{line, P("x")};
  const auto twice = [](Array v) { return v * 2; };
  const auto mapped = pmap(twice, {.donate_argnums = {0}});
  const auto in_jit = jit(shard_map(twice, {.mesh = line, .in_specs = P("x"), .out_specs = P("x")}), {.donate_argnums = {0}});
  const auto computed = [] { return sin(reshape(arange(8 << 10, float32), {8, 1 << 10})); };
  const auto of_type = [](DType t) { return convert(reshape(arange(8 << 10, int32) % 50, {8, 1 << 10}), t); };
  for (int k = 0; k < 2; ++k) {
    check_taken(mapped, placed(computed, on_rows));
    check_taken(mapped, placed([] { return ones({8, 1 << 10}); }, on_rows));
    check_taken(mapped, [&] {
      const Array h = computed()[0];
      return device_put_replicated(h, devices());
    }());
    check_taken(in_jit, placed(computed, on_rows));
    check_taken(in_jit, placed([] { return ones({8, 1 << 10}); }, on_rows));
    check_taken(jit(twice, {.donate_argnums = {0}}), placed(computed, on_rows));
    check_taken(jit(twice, {.donate_argnums = {0}}), placed(computed, NamedSharding{grid, P("x")}));
    check_taken(jit(twice, {.donate_argnums = {0}}), placed(computed, NamedSharding{grid, P()}));
    check_taken(jit(twice, {.donate_argnums = {0}}), placed([&] { return placed(computed, devices()[2]); }, devices()[5]));
    check_taken(mapped, pmap(twice)(computed()));
    check_taken(mapped, make_array_from_callback({8, 1 << 10}, on_rows, [&](const std::vector<Slice>&) { return ones({1, 1 << 10}); }));
  }
  // What nobody placed is cut where it lies.
  check_taken(jit(twice, {.donate_argnums = {0}}), computed());
  const std::string alone = written_to(stderr, [&] { mapped(computed()); });
  CHECK(alone == "");
  // Every type that fits, and results of another type with elements of the same size.
  for (DType t : {float16, bfloat16, float32, float64, int8, int32, uint8})
    check_taken(mapped, placed([&] { return of_type(t); }, on_rows));
  const Array whole_numbers = placed([&] { return of_type(int32); }, on_rows);
  const std::vector<const void*> before = addresses(whole_numbers);
  CHECK(addresses(pmap([](Array v) { return convert(v, float32) / 3; }, {.donate_argnums = {0}})(whole_numbers)) == before);
  // Through calls inside.
  const auto called =
      pmap([](Array v) { return jit([](Array u) { return jit([](Array w) { return w * 2; })(u); })(v); }, {.donate_argnums = {0}});
  check_taken(called, placed(computed, on_rows));
}

TEST_CASE("what can't be donated is copied, for the reason that is told once for each line") {
  const Mesh line = make_mesh({8}, {"x"});
  const NamedSharding on_rows{line, P("x")};
  const auto twice = [](Array v) { return v * 2; };
  const auto computed = [] { return sin(reshape(arange(8 << 10, float32), {8, 1 << 10})); };
  const auto call = [](auto f) { return [=](const Array& x) { return f(x); }; };
  const Array h = computed();
  const auto mapped = pmap(twice, {.donate_argnums = {0}});
  const auto one_line = call(mapped);
  for (int k = 0; k < 3; ++k) {
    const std::string told = told_of_copy(one_line, device_put(h, on_rows));  // h has the memory, too
    if (k == 0)
      CHECK(has(told, {"f32[8,1024]", "copied", "another array shares its memory", "spmd.cpp:"}));
    else
      CHECK(told == "");
  }
  CHECK(near(h, computed().to_vector<double>()));
  const Array kept = placed(computed, on_rows), row = kept[3];
  CHECK(has(told_of_copy([&](const Array& x) { return mapped(x); }, kept), {"another array shares its memory"}));
  CHECK(near(row, computed()[3].to_vector<double>()));
  const auto in_jit = jit(shard_map(twice, {.mesh = line, .in_specs = P("x"), .out_specs = P("x")}), {.donate_argnums = {0}});
  CHECK(has(told_of_copy([&](const Array& x) { return in_jit(x); }, device_put(h, on_rows)), {"another array shares", "spmd.cpp:"}));
  CHECK(
      has(told_of_copy([&](const Array& x) { return mapped(x); }, placed([] { return ones({8, 3}); }, on_rows)), {"multiple of 64 bytes"}));
}

TEST_CASE("maps in loops and branches leave a donated argument to the iterations that read it again") {
  const Mesh line = make_mesh({8}, {"x"});
  const auto add_rows = shard_map([](Array a, Array b) { return a + b; }, {.mesh = line, .in_specs = P("x"), .out_specs = P("x")});
  const auto add_thrice = [=](Array x, Array y) { return fori_loop(0, 3, [&](Array, Array c) { return add_rows(x, c); }, y); };
  const auto in_branch = [=](Array x, Array y) {
    return scan([&](Array c, Array b) { return std::pair{cond(b, [&] { return add_rows(x, c); }, [&] { return c; }), none}; }, y,
                ones(3) > 0)
        .first;
  };
  const std::vector<double> wanted = (sin(arange(8 << 10, float32)) * 3 + 1).to_vector<double>();
  const auto given = [&] {
    return placed([] { return sin(reshape(arange(8 << 10, float32), {8, 1 << 10})); }, NamedSharding{line, P("x")});
  };
  const auto carry = [&] { return placed([] { return ones({8, 1 << 10}); }, NamedSharding{line, P("x")}); };
  for (const auto& donated : {std::vector{0}, std::vector{1}, std::vector{0, 1}}) {
    CHECK(near(jit(add_thrice, {.donate_argnums = donated})(given(), carry()), wanted));
    CHECK(near(jit(in_branch, {.donate_argnums = donated})(given(), carry()), wanted));
  }
}

TEST_CASE("memory_analysis says how many bytes of results lie in donated memory") {
  const Mesh line = make_mesh({8}, {"x"});
  const auto twice = [](Array v) { return v * 2; };
  const Array x = device_put(ones({8, 256}), NamedSharding{line, P("x")});
  const auto aliased = [](auto f, const Array& v) { return f.lower(v).compile().memory_analysis().alias_size_in_bytes; };
  CHECK(aliased(jit(twice), ones({8, 256})) == 0);
  CHECK(aliased(jit(twice, {.donate_argnums = {0}}), ones({8, 256})) == 8 * 256 * 4);
  CHECK(aliased(jit([](Array v) { return sum(v, 1); }, {.donate_argnums = {0}}), ones({8, 256})) == 0);
  CHECK(aliased(jit(twice, {.donate_argnums = {0}}), x) == 8 * 256 * 4);
  CHECK(aliased(pmap(twice, {.donate_argnums = {0}}), x) == 8 * 256 * 4);
  CHECK(aliased(jit(shard_map(twice, {.mesh = line, .in_specs = P("x"), .out_specs = P("x")}), {.donate_argnums = {0}}), x) == 8 * 256 * 4);
}

TEST_CASE("the memory of a loop with collectives is counted") {
  const Mesh mesh = make_mesh({2}, {"i"});
  const auto steps = [](Array v) {
    return scan([](Array c, Array u) { return std::pair{psum(c + u, "i") / 2, c * u}; }, v[0], v).second * 2;
  };
  const auto f = jit(shard_map(steps, {.mesh = mesh, .in_specs = P(none, "i"), .out_specs = P(none, "i"), .check_vma = false}));
  const Array x = device_put(ones({50, 2000}), NamedSharding{mesh, P(none, "i")});
  CHECK(f.lower(x).compile().memory_analysis().temp_size_in_bytes >= 50 * 2000 * 4);
}
