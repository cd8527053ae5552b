// pmap and its collectives: values against the same computation on one device, and every transform through them.
#include "tests/runtime/devices.h"

#include <algorithm>
#include <complex>

using namespace weft;
using weft::sharding::P;
using namespace weft::test;

namespace {

Array rows(int n, int m) { return sin(reshape(arange(n * m, float32), {n, m})); }

/// pmap and vmap with the same axis name must agree: one communicates between devices, the other along a dimension.
template <class F>
void check_against_vmap(F f, const Array& x) {
  const Array wanted = vmap(f, {.axis_name = "i"})(x);
  const Array got = pmap(f, {.axis_name = "i"})(x);
  CHECK(got.shape() == wanted.shape());
  CHECK(near(got, wanted.template to_vector<double>(), 1e-5));
  CHECK(near(jit(pmap(f, {.axis_name = "i"}))(x), wanted.template to_vector<double>(), 1e-5));
  // Both derivatives, of a function that weighs all results differently. Without marks of what varies, the transpose of psum is psum:
  // the derivative of the sum over devices.
  const Array weights = cos(reshape(arange(static_cast<int>(wanted.size()), float32), wanted.shape()));
  const auto loss = [&](auto mapped) { return [=](Array a) { return sum(mapped(a) * weights); }; };
  const Array gradient = grad(loss(vmap(f, {.axis_name = "i"})))(x);
  CHECK(near(grad(loss(pmap(f, {.axis_name = "i"})))(x), gradient.template to_vector<double>(), 1e-4));
  CHECK(near(jit(grad(loss(pmap(f, {.axis_name = "i"}))))(x), gradient.template to_vector<double>(), 1e-4));
  const auto [value, tangent] = jvp(loss(pmap(f, {.axis_name = "i"})), std::tuple{x}, std::tuple{cos(x)});
  CHECK(near(tangent, {sum(gradient * cos(x)).template item<double>()}, 1e-3));
}

}  // namespace

TEST_CASE("collectives agree with those of vmap, and so do their derivatives") {
  const Array x = rows(8, 8);
  SUBCASE("psum") {
    check_against_vmap([](Array a) { return a / (3 + psum(a * a, "i")); }, x);
  }
  SUBCASE("pmean") {
    check_against_vmap([](Array a) { return a - pmean(a, "i"); }, x);
  }
  SUBCASE("pmax") {
    check_against_vmap([](Array a) { return a * pmax(a, "i") + pmin(a, "i"); }, x);
  }
  SUBCASE("all_gather") {
    check_against_vmap([](Array a) { return all_gather(a * a, "i", {.axis = 1})(slice(), slice(1, 7, 3)); }, x);
  }
  SUBCASE("all_gather tiled") {
    check_against_vmap([](Array a) { return all_gather(a * a, "i", {.tiled = true}) * sum(a); }, x);
  }
  SUBCASE("psum_scatter") {
    check_against_vmap([](Array a) { return psum_scatter(a * a, "i") * a; }, x);
  }
  SUBCASE("psum_scatter tiled") {
    check_against_vmap([](Array a) { return psum_scatter(concatenate({a, 2 * a}), "i", {.tiled = true}); }, x);
  }
  SUBCASE("all_to_all") {
    check_against_vmap([](Array a) { return all_to_all(a * a, "i", 0, 0) * a; }, x);
  }
  SUBCASE("all_to_all of other axes") {
    check_against_vmap([](Array a) { return all_to_all(stack({a, a * a, 3 * a}), "i", 1, 0); }, x);
    check_against_vmap([](Array a) { return all_to_all(stack({a, a * a, 3 * a}, 1), "i", 0, 1); }, x);
    check_against_vmap([](Array a) { return all_to_all(reshape(a, {1, 8}), "i", 1, 0, {.tiled = true}); }, x);
  }
  SUBCASE("ppermute") {
    check_against_vmap([](Array a) { return a * ppermute(a, "i", {{0, 3}, {3, 1}, {5, 5}, {7, 0}}); }, x);
  }
  SUBCASE("pshuffle") {
    check_against_vmap([](Array a) { return a * pshuffle(a, "i", {7, 6, 5, 4, 0, 1, 2, 3}); }, x);
  }
  SUBCASE("pbroadcast") {
    check_against_vmap([](Array a) { return a * pbroadcast(a, "i", 5); }, x);
  }
  SUBCASE("axis_index") {
    check_against_vmap([](Array a) { return a * (axis_index("i") + axis_size("i")); }, x);
  }
}

TEST_CASE("collectives of every dtype") {
  for (DType t : {bool_, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64}) {
    const Array x = convert(array({{0, 1}, {2, 3}, {1, 0}}), t);
    auto f = [](Array a) { return std::tuple{psum(a, "i"), pmax(a, "i"), pmin(a, "i"), all_gather(a, "i")}; };
    const auto [total, largest, smallest, all] = pmap(f, {.axis_name = "i"})(x);
    CHECK(near(total[1], t == bool_ ? std::vector<double>{2, 2} : std::vector<double>{3, 4}));
    CHECK(near(largest[2], t == bool_ ? std::vector<double>{1, 1} : std::vector<double>{2, 3}));
    CHECK(near(smallest[0], {0, 0}));
    CHECK(near(all[1], x.to_vector<double>()));
  }
  const Array z = pmap([](Array a) { return psum(a * Array(std::complex<float>(1, 2)), "i"); }, {.axis_name = "i"})(array({1.f, 3.f}));
  CHECK(z[0].item<std::complex<float>>() == std::complex<float>(4, 8));
  // A half-precision sum is rounded once.
  const Array many = full(8, 1000.f, float16) + array({0, 1, 1, 1, 1, 1, 1, 1}, float16) / 2;
  CHECK(near(pmap([](Array a) { return psum(a, "i"); }, {.axis_name = "i"})(many)[0], {8004}, 1e-6));
}

TEST_CASE("every collective takes every dtype, as vmap's do, with gradients where there are some") {
  for (DType t :
       {bool_, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64, complex64, complex128}) {
    CAPTURE(t.name());
    const Array x = convert(reshape(arange(32) * 7 % 5, {4, 8}), t);
    const auto same = [&](auto f) {
      CHECK(tree::all_close(device_get(pmap(f, {.axis_name = "i"})(x)), vmap(f, {.axis_name = "i"})(x)));
      // Over one axis of a mesh of two, of blocks.
      const Mesh mesh = make_mesh({4, 2}, {"i", "j"});
      auto blocks = [&](Array a) { return tree::map([](Array y) { return expand_dims(y, 0); }, f(a[0])); };
      CHECK(tree::all_close(device_get(shard_map(blocks, {.mesh = mesh, .in_specs = P("i"), .out_specs = P("i"), .check_vma = false})(x)),
                            vmap(f, {.axis_name = "i"})(x)));
    };
    same([](Array a) {
      return std::tuple{all_gather(a, "i"),
                        all_gather(a, "i", {.tiled = true}),
                        all_to_all(reshape(a, {4, 2}), "i", 0, 0),
                        all_to_all(a, "i", 0, 0, {.tiled = true}),
                        ppermute(a, "i", {{0, 1}, {1, 3}}),
                        pshuffle(a, "i", {1, 0, 3, 2}),
                        pbroadcast(a, "i", 2),
                        pswapaxes(reshape(a, {4, 2}), "i", 0)};
    });
    same([](Array a) { return std::tuple{psum(a, "i"), psum_scatter(reshape(a, {4, 2}), "i"), psum_scatter(a, "i", {.tiled = true})}; });
    if (!t.is_complex()) same([](Array a) { return std::tuple{pmax(a, "i"), pmin(a, "i")}; });
    if (!t.is_bool()) same([](Array a) { return std::tuple{pmean(a, "i")}; });
    if (t != float32 && t != float64 && !t.is_complex()) continue;
    auto all = [](Array a) {
      return psum_scatter(a * a, "i", {.tiled = true}) * 2 +
             sum(all_gather(a, "i") * all_to_all(reshape(a * a, {4, 2}), "i", 0, 0)(slice(), slice(0, 1)), {0, 1}) +
             sum(ppermute(a, "i", {{0, 1}, {1, 3}}) * pbroadcast(a, "i", 2));
    };
    const auto energy = [](auto f) { return [=](Array v) { return sum(real(f(v) * conj(f(v)))); }; };
    CHECK(tree::all_close(device_get(grad(energy(pmap(all, {.axis_name = "i"})))(x)), grad(energy(vmap(all, {.axis_name = "i"})))(x), 1e-4,
                          1e-4));
  }
}

TEST_CASE("large arrays are joined in chunks") {
  const Array x = sin(reshape(arange(8 * 300000, float32), {8, 300000}));
  CHECK(tree::all_close(pmap([](Array a) { return psum(a, "i"); }, {.axis_name = "i"})(x)[3], sum(x, 0), 1e-4, 1e-5));
  CHECK(tree::all_close(device_get(pmap([](Array a) { return all_gather(a, "i")(slice(), 5); }, {.axis_name = "i"})(x)[3]), x(slice(), 5)));
}

TEST_CASE("axes of arguments and results") {
  const Array x = rows(3, 4);
  CHECK(near(pmap([](Array a) { return a * 2; }, {.in_axes = 1, .out_axes = 1})(x), (2 * x).to_vector<double>()));
  CHECK(near(pmap([](Array a) { return a; }, {.in_axes = -1, .out_axes = -2})(x), transpose(x).to_vector<double>()));
  struct Pair {
    Array w, b;
  };
  const auto f = [](const Pair& p, Array a) { return Pair{p.w * a, p.b}; };
  const Pair r = pmap(f, {.in_axes = {{0, none}, 1}, .out_axes = {1, none}})(Pair{ones({4, 3}), array({5.f})}, x);
  CHECK(r.w.shape() == Shape{3, 4});
  CHECK(near(r.w, x.to_vector<double>()));
  CHECK(near(r.b, {5}));
  CHECK(near(pmap([] { return axis_index("k"); }, {.axis_name = "k", .axis_size = 3})(), {0, 1, 2}));
}

TEST_CASE("captured arrays are replicated") {
  const Array w = rows(2, 2);
  const Array x = rows(8, 2);
  const auto f = [&](Array a) { return matmul(w, a); };
  CHECK(near(pmap(f)(x), vmap(f)(x).to_vector<double>()));
  const auto loss = [&](Array v) { return sum(pmap([&](Array a) { return sum(v * a) * sum(v); })(x)); };
  const auto wanted = [&](Array v) { return sum(vmap([&](Array a) { return sum(v * a) * sum(v); })(x)); };
  CHECK(near(grad(loss)(array({1.f, 2.f})), grad(wanted)(array({1.f, 2.f})).to_vector<double>(), 1e-4));
}

TEST_CASE("results stay on their devices, and feed the next call without a copy") {
  const Array x = rows(8, 16);
  auto step = pmap([](Array a) { return a * 2; });
  const Array y = step(x);
  CHECK(y.devices() == devices());
  CHECK(near(step(y), (4 * x).to_vector<double>()));
  const std::vector<Device> some{devices()[7], devices()[2]};
  const Array z = pmap([](Array a) { return a + 1; }, {.devices = some})(rows(2, 3));
  CHECK(z.devices() == some);
  // Of more devices than rows, the first ones.
  CHECK(pmap([](Array a) { return a + 1; }, {.devices = {some[0], some[1], devices()[5]}})(rows(2, 3)).devices() == some);
  CHECK(z[1].devices() == std::vector{devices()[2]});
  std::vector<Device> all = devices();
  std::reverse(all.begin(), all.end());
  CHECK(pmap([](Array a) { return a + 1; }, {.devices = all})(rows(8, 3)).devices() == all);
  const Array same = pmap([](Array a) { return psum(a, "i"); }, {.out_axes = none, .axis_name = "i"})(x);
  CHECK(same.is_fully_replicated());
  CHECK(near(same, sum(x, 0).to_vector<double>()));
}

TEST_CASE("maps within maps") {
  const Array x = rows(2, 4);
  auto inner = [](Array a) { return psum(a, {"i", "j"}) + psum(a, "j") * 10 + axis_index({"i", "j"}) + a * pmax(a, "i"); };
  const Array nested = pmap(pmap(inner, {.axis_name = "j"}), {.axis_name = "i"})(x);
  const Array wanted = vmap(vmap(inner, {.axis_name = "j"}), {.axis_name = "i"})(x);
  CHECK(near(nested, wanted.to_vector<double>()));
  CHECK(near(vmap(pmap(inner, {.axis_name = "j"}), {.axis_name = "i"})(x), wanted.to_vector<double>()));
  CHECK(near(pmap(vmap(inner, {.axis_name = "j"}), {.axis_name = "i"})(x), wanted.to_vector<double>()));
  const auto loss = [&](auto f) { return [=](Array a) { return sum(f(a) * rows(2, 4)); }; };
  const Array gradient = grad(loss(vmap(vmap(inner, {.axis_name = "j"}), {.axis_name = "i"})))(x);
  CHECK(near(grad(loss(pmap(pmap(inner, {.axis_name = "j"}), {.axis_name = "i"})))(x), gradient.to_vector<double>(), 1e-4));
}

TEST_CASE("maps within maps share the devices, with and without names") {
  const Array x = rows(2, 4), cube = reshape(arange(8, float32), {2, 2, 2});
  auto twice = [](Array a) { return a * 2; };
  const Array plain = pmap(pmap(twice))(x);
  CHECK(plain.devices().size() == 8);
  CHECK(near(plain, (2 * x).to_vector<double>()));
  const Array half = pmap(pmap([](Array a) { return a + psum(a, "i"); }), {.axis_name = "i"})(x);
  CHECK(half.devices().size() == 8);
  CHECK(near(half, (x + sum(x, 0, keepdims)).to_vector<double>()));
  auto inner = [](Array a) { return psum(a, {"i", "k"}) + 10 * axis_index("j"); };
  const Array deep = pmap(pmap(pmap(inner, {.axis_name = "k"}), {.axis_name = "j"}), {.axis_name = "i"})(cube);
  CHECK(deep.devices().size() == 8);
  CHECK(near(deep, vmap(vmap(vmap(inner, {.axis_name = "k"}), {.axis_name = "j"}), {.axis_name = "i"})(cube).to_vector<double>()));
  CHECK(pmap(pmap(pmap(twice)))(cube).devices().size() == 8);
  // An inner axis of the same name hides the outer one.
  const Array same = pmap(pmap([](Array a) { return psum(a, "i"); }, {.axis_name = "i"}), {.axis_name = "i"})(x);
  CHECK(near(same, broadcast_to(sum(x, 1, keepdims), {2, 4}).to_vector<double>()));
  CHECK(same.devices().size() == 8);
  // Also in what is called, in loops and branches, for every collective, and in derivatives.
  auto all = [](Array a) {
    const Array c =
        scan(
            [](Array v, None) {
              return std::pair{cond(pmax(v, "i") < 5, [](Array u) { return pmean(u, "i") + u; }, [](Array u) { return u; }, v), v};
            },
            a, none, {.length = 2})
            .first;
    auto moved = jit([](Array u) {
      return ppermute(u, "i", {{0, 1}, {1, 0}}) - pbroadcast(u, "i", 1) + sum(all_gather(u, "i")) / (2 + axis_index("i"));
    });
    return moved(c) * psum_scatter(stack({a, c}), "i") + all_to_all(stack({a, 2 * c}), "i", 0, 0)(1) - pmin(a, "i");
  };
  const auto within = [&](auto map, auto outer) {
    return outer([=](Array a) { return sum(map(all, {.axis_name = "i"})(a)) * a + psum(a, "i"); }, {.axis_name = "i"});
  };
  const auto devices_of = [](auto f, PmapOptions o) { return pmap(f, o); };
  const auto lanes_of = [](auto f, PmapOptions o) { return vmap(f, {.axis_name = o.axis_name}); };
  const Array square = rows(2, 2), wanted = within(lanes_of, lanes_of)(square);
  const auto mapped = within(devices_of, devices_of);
  CHECK(near(mapped(square), wanted.to_vector<double>(), 1e-4));
  CHECK(mapped(square).devices().size() == 4);
  CHECK(near(grad([&](Array v) { return sum(sin(mapped(v))); })(square),
             grad([&](Array v) { return sum(sin(within(lanes_of, lanes_of)(v))); })(square).to_vector<double>(), 1e-4));
  const Array triple =
      pmap(pmap(pmap([](Array a) { return psum(a, "i"); }, {.axis_name = "i"}), {.axis_name = "i"}), {.axis_name = "i"})(cube);
  CHECK(triple.devices().size() == 8);
  CHECK(near(triple, broadcast_to(sum(cube, 2, keepdims), {2, 2, 2}).to_vector<double>()));
}

TEST_CASE("a map in a map that has no devices left runs as a vmap, on one device too") {
  auto inner = [](Array a) { return psum(a, {"i", "j"}) * 10 + a - pmax(a, "j"); };
  const Array x = rows(1, 12);
  for (const int n : {1, 2, 3, 12}) {
    const Array v = reshape(x, {1, n, 12 / n});
    const auto nested = pmap(pmap(inner, {.axis_name = "j"}), {.axis_name = "i", .devices = {devices()[3]}});
    CHECK(near(nested(v), vmap(vmap(inner, {.axis_name = "j"}), {.axis_name = "i"})(v).to_vector<double>()));
    CHECK(nested(v).devices() == std::vector{devices()[3]});
  }
  // More rows inside than there are devices at all.
  const Array many = rows(2, 20);
  CHECK(near(pmap(pmap(inner, {.axis_name = "j"}), {.axis_name = "i"})(many),
             vmap(vmap(inner, {.axis_name = "j"}), {.axis_name = "i"})(many).to_vector<double>(), 1e-4));
  // The same inner map by itself, in a vmap and in a map: each its own program.
  const auto map = pmap([](Array a) { return psum(a, "j"); }, {.axis_name = "j"});
  CHECK(near(map(rows(8, 3)), vmap([](Array a) { return psum(a, "j"); }, {.axis_name = "j"})(rows(8, 3)).to_vector<double>()));
  CHECK(near(pmap(map, {.axis_name = "k"})(reshape(rows(8, 6), {8, 2, 3})),
             vmap(vmap([](Array a) { return psum(a, "j"); }, {.axis_name = "j"}))(reshape(rows(8, 6), {8, 2, 3})).to_vector<double>()));
  CHECK(near(vmap(map, {.axis_name = "k"})(reshape(rows(8, 6), {8, 2, 3})),
             vmap(vmap([](Array a) { return psum(a, "j"); }, {.axis_name = "j"}))(reshape(rows(8, 6), {8, 2, 3})).to_vector<double>()));
}

TEST_CASE("loops with collectives inside, and maps inside loops") {
  const Array x = rows(8, 3);
  auto diffuse = [](Array a) {
    return scan([](Array c, None) { return std::pair{(c + pmean(c, "i")) / 2, sum(c)}; }, a, none, {.length = 4});
  };
  const auto [last, sums] = pmap(diffuse, {.axis_name = "i"})(x);
  const auto [want_last, want_sums] = vmap(diffuse, {.axis_name = "i"})(x);
  CHECK(near(last, want_last.to_vector<double>()));
  CHECK(near(sums, want_sums.to_vector<double>()));
  auto until = [](Array a) {
    return while_loop([](Array c) { return pmax(max(c), "i") < 10; }, [](Array c) { return c + psum(c * c, "i"); }, a);
  };
  CHECK(near(pmap(until, {.axis_name = "i"})(x), vmap(until, {.axis_name = "i"})(x).to_vector<double>()));
  auto stray = [](Array a) {
    return while_loop([](Array c) { return max(c) < 10; }, [](Array c) { return c + 1 + 0 * psum(c, "i"); }, 5 * a);
  };
  CHECK(has(message_of<Error>([&] { pmap(stray, {.axis_name = "i"})(x); }), "the devices disagree on the condition"));
  auto steps = [&](Array a) {
    return fori_loop(0, 3, [&](Array, Array c) { return pmap([](Array r) { return r / 2 + psum(r, "i"); }, {.axis_name = "i"})(c); }, a);
  };
  auto plain = [&](Array a) { return fori_loop(0, 3, [&](Array, Array c) { return c / 2 + sum(c, 0, keepdims); }, a); };
  CHECK(near(jit(steps)(x), plain(x).to_vector<double>(), 1e-4));
}

TEST_CASE("more rows than devices run in rounds") {
  const Array x = rows(20, 3);
  auto f = [](Array a) { return std::pair{sum(a * a), a}; };
  const auto [squares, same] = pmap(f, {.out_axes = {0, 1}, .chunk = true})(x);
  CHECK(near(squares, sum(x * x, 1).to_vector<double>()));
  CHECK(near(same, transpose(x).to_vector<double>()));
  const auto loss = [&](Array a) { return sum(pmap([](Array r) { return sum(r * r * r); }, {.chunk = true})(a)); };
  CHECK(near(grad(loss)(x), (3 * x * x).to_vector<double>(), 1e-4));
}

TEST_CASE("groups of different sizes are reduced, on devices and on lanes") {
  const std::vector<std::vector<int>> groups{{0, 4, 2}, {3, 1, 5, 6, 7}};
  const Array x = rows(8, 3);
  const auto both = [&](auto f) {
    check_against_vmap(f, x);
    return pmap(f, {.axis_name = "i"})(x);
  };
  const Array first = take(x, array({0, 2, 4}), 0), second = take(x, array({1, 3, 5, 6, 7}), 0);
  const auto spread = [&](const Array& a, const Array& b) { return stack({a, b, a, b, a, b, b, b}); };
  CHECK(tree::all_close(device_get(both([=](Array v) { return psum(v, "i", {.axis_index_groups = groups}); })),
                        spread(sum(first, 0), sum(second, 0)), 1e-5, 1e-6));
  CHECK(tree::all_close(device_get(both([=](Array v) { return pmax(v, "i", {.axis_index_groups = groups}); })),
                        spread(max(first, 0), max(second, 0))));
  CHECK(tree::all_close(device_get(both([=](Array v) { return pmin(v * 2, "i", {.axis_index_groups = groups}); })),
                        spread(2 * min(first, 0), 2 * min(second, 0))));
  CHECK(near(pmap([=](Array v) { return sum(v) * 0 + psum(1, "i", {.axis_index_groups = groups}); }, {.axis_name = "i"})(x),
             {3, 5, 3, 5, 3, 5, 5, 5}));
  CHECK(tree::all_close(device_get(both([=](Array v) { return pmean(v, "i", {.axis_index_groups = groups}); })),
                        spread(mean(first, 0), mean(second, 0)), 1e-5, 1e-6));
  const auto half = pmap([=](Array v) { return pmean(astype(v, bfloat16), "i", {.axis_index_groups = groups}); }, {.axis_name = "i"});
  CHECK(half(x).dtype() == bfloat16);
  // As JAX 0.10.2 has it.
  CHECK(near(pmap([](Array v) { return psum(v, "i", {.axis_index_groups = {{0, 1, 2}, {3, 4, 5, 6, 7}}}); },
                  {.axis_name = "i"})(arange(8, float32)),
             {3, 3, 3, 25, 25, 25, 25, 25}));
}

TEST_CASE("collectives join all rows of all rounds, and give the bits of one device with all rows") {
  const std::vector<Device> one{devices()[5]};
  const auto same = [&](auto f, const Array& x, double tolerance = 0) {
    const PmapOptions all{.axis_name = "i", .chunk = true}, alone{.axis_name = "i", .devices = one, .chunk = true};
    const auto got = device_get(pmap(f, all)(x)), wanted = device_get(pmap(f, alone)(x));
    CHECK(tree::all_close(got, wanted, tolerance, tolerance));
    CHECK(tree::all_close(got, vmap(f, {.axis_name = "i"})(x), 1e-5, 1e-5));
    CHECK(tree::all_close(device_get(jit(pmap(f, all))(x)), wanted, tolerance, tolerance));
  };
  for (const int n : {1, 3, 8, 9, 16, 17, 19}) {
    CAPTURE(n);
    const Array x = rows(n, 5);
    same([](Array v) { return v - pmean(v, "i"); }, x);
    same([](Array v) { return std::tuple{psum(v, "i"), pmax(v, "i"), pmin(v, "i"), psum(1, "i") + axis_index("i")}; }, x);
    same([](Array v) { return all_gather(v, "i"); }, x);
    same([](Array v) { return all_gather(v, "i", {.tiled = true}) * v[0]; }, x);
    same([](Array v) { return all_gather(v, "i") * sum(v); }, x, 1e-6);  // a row's own sum, of more or fewer rows at once
    same([n](Array v) { return psum_scatter(outer(arange(n, float32), v), "i"); }, x);
    same([n](Array v) { return all_to_all(outer(arange(n, float32), v), "i", 0, 0); }, x);
    same([n](Array v) { return ppermute(v, "i", {{0, n - 1}}); }, x);
    same([n](Array v) { return pbroadcast(v, "i", n - 1); }, x);
    // In loops, branches, calls and derivatives.
    same(
        [](Array v) {
          return scan([](Array c, None) { return std::pair{jit([](Array u) { return (u + pmean(u, "i")) / 2; })(c), sum(c)}; }, v, none,
                      {.length = 3});
        },
        x, 1e-6);  // a row's own sum
    same([](Array v) { return grad([](Array w) { return sum(tanh(w) * psum(w * w, "i")); })(v); }, x);
    const auto loss = [](auto map) { return [map](Array v) { return sum(sin(map(v))); }; };
    const auto mapped = pmap([](Array v) { return v * psum(v * v, "i"); }, {.axis_name = "i", .chunk = true});
    const auto lanes = vmap([](Array v) { return v * psum(v * v, "i"); }, {.axis_name = "i"});
    CHECK(tree::all_close(grad(loss(mapped))(x), grad(loss(lanes))(x), 1e-4, 1e-4));
  }
  const Array last = pmap([](Array v) { return pmean(v, "i"); }, {.out_axes = none, .axis_name = "i", .chunk = true})(rows(17, 5));
  CHECK(tree::all_close(device_get(last), mean(rows(17, 5), 0)));
  // More rows than sums of them: what devices have added up is gathered, and nothing else, with the same bits on any number of them.
  const auto normed = [](Array v) { return v / (1 + psum(v * v, "i")) - pmean(v, "i"); };
  for (const int n : {33, 100, 257}) {
    CAPTURE(n);
    const Array many = rows(n, 3);
    const auto on = [&](const std::vector<Device>& where) {
      return device_get(pmap(normed, {.axis_name = "i", .devices = where, .chunk = true})(many));
    };
    const Array wanted = on(one);
    CHECK(tree::all_close(wanted, vmap(normed, {.axis_name = "i"})(many), 1e-4, 1e-5));
    const std::vector<Device> there = devices();
    for (const int k : {2, 3, 4, 5, 8}) CHECK(array_equal(on({there.begin(), there.begin() + k}), wanted).item<bool>());
    const Array counts = convert(many * 100, int32);
    const auto total = [](Array v) { return psum(v, "i"); };
    CHECK(array_equal(device_get(pmap(total, {.out_axes = none, .axis_name = "i", .chunk = true})(counts)), sum(counts, 0)).item<bool>());
    const auto gradients = [&](auto map) { return grad([=](Array v) { return sum(sin(map(v))); })(many); };
    CHECK(tree::all_close(gradients(pmap(normed, {.axis_name = "i", .chunk = true})), gradients(vmap(normed, {.axis_name = "i"})), 1e-3,
                          1e-4));
  }
  const std::string text = jit(pmap(normed, {.axis_name = "i", .chunk = true})).lower(rows(257, 3)).as_text("jaxpr");
  CHECK_MESSAGE(text.find("f32[264,3] = all_gather") == std::string::npos, text);  // no device has all rows
  // Training on 17 rows.
  const auto step = [](const PmapOptions& o) {
    return pmap(
        [](Array w, Array x, Array y) {
          const Array gradient = grad([&](Array v) { return mean(square(tanh(dot(x, v)) - y)); })(w);
          return w - .1f * pmean(gradient, "i");
        },
        o);
  };
  const Array x = rows(17, 4), y = cos(arange(17, float32));
  const auto train = [&](const std::vector<Device>& where) {
    const auto f = step({.in_axes = {none, 0, 0}, .out_axes = none, .axis_name = "i", .devices = where, .chunk = true});
    Array w = ones(4);
    for (int k = 0; k < 5; ++k) w = device_get(f(w, x, y));
    return w.to_vector<float>();
  };
  CHECK(train({}) == train(one));
}

TEST_CASE("mistakes") {
  const Array x = rows(8, 3);
  const std::string many = message_of<DeviceError>([&] { pmap([](Array a) { return a; })(rows(20, 3)); });
  for (const char* part : {"pmap", "f32[20,3]", "20 rows", "8 devices", "chunk"}) CHECK(has(many, part));
  CHECK(has(message_of<ShapeError>([&] { pmap([](Array a, Array b) { return a + b; })(x, rows(7, 3)); }), "different sizes"));
  CHECK(has(message_of<AxisError>([&] { pmap([](Array a) { return a; }, {.in_axes = 2})(x); }), "in_axes maps axis 2"));
  CHECK(has(message_of<AxisError>([&] { pmap([](Array a) { return a; }, {.out_axes = 3})(x); }), "out_axes"));
  CHECK(has(message_of<AxisError>([&] { pmap([](Array a) { return psum(a, "k"); }, {.axis_name = "i"})(x); }), "in scope: `i`"));
  CHECK(has(message_of<AxisError>([&] { psum(x, "i"); }), "psum"));
  CHECK(has(message_of<AxisError>([&] { vmap([](Array a) { return ppermute(a, "i", {{0, 9}}); }, {.axis_name = "i"})(x); }), "(0, 9)"));
  CHECK(has(message_of<AxisError>([&] { pmap([](Array a) { return ppermute(a, "i", {{0, 1}, {2, 1}}); }, {.axis_name = "i"})(x); }),
            "twice"));
  CHECK(has(message_of<AxisError>(
                [&] { pmap([](Array a) { return all_gather(a, "i", {.axis_index_groups = {{0, 1}, {2}}}); }, {.axis_name = "i"})(x); }),
            "different sizes"));
  CHECK(has(message_of<ShapeError>([&] { pmap([](Array a) { return all_to_all(a, "i", 0, 0); }, {.axis_name = "i"})(x); }), "all_to_all"));
  CHECK(has(message_of<ShapeError>([&] { pmap([](Array a) { return psum_scatter(a, "i"); }, {.axis_name = "i"})(x); }), "psum_scatter"));
  const Array elsewhere = device_put(rows(2, 3), devices()[5]);
  for (const char* part : {"args[1]", "f32[2,3]", "cpu:5", "cpu:0, cpu:1"})
    for (int k = 0; k < 2; ++k)
      CHECK(has(message_of<ShardingError>([&] { pmap([](Array a, Array b) { return a + b; })(rows(2, 3), elsewhere); }), part));
  const Mesh two({devices()[2], devices()[3]}, {2}, {"k"});
  auto on_two = shard_map([](Array a) { return a; }, {.mesh = make_mesh({2}, {"i"}), .in_specs = P("i"), .out_specs = P("i")});
  on_two(rows(2, 3));
  for (const char* part : {"args[0]", "'k': 2", "cpu:0, cpu:1"})
    CHECK(has(message_of<ShardingError>([&] { on_two(device_put(rows(2, 3), NamedSharding{two, P("k")})); }), part));
  // The library goes on.
  CHECK(near(pmap([](Array a) { return a; })(x), x.to_vector<double>()));
}
