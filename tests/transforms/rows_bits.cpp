// pmap's chunk: derivatives that are taken outside of the map, inside of it and of both have the same bits on any number of devices, and
// near those of vmap.
#include <doctest/doctest.h>

#include <functional>
#include <string>

#include "tests/transforms/checks.h"
#include "weft/weft.h"

using namespace weft;

namespace {

using Row = std::function<Array(Array, Array, Array)>;

/// A function of two arrays that all rows share, and of one row. None has a sum within a row, whose order depends on a device's rows.
struct RowFunction {
  std::string name;
  Row f;
};
std::vector<RowFunction> row_functions() {
  return {
      {"elementwise", [](Array w, Array b, Array x) { return tanh(x * w[0] + b) * sin(w[1]); }},
      {"of the shared arguments alone", [](Array w, Array b, Array) { return exp(w[0] * b); }},
      {"a sum over the rows", [](Array w, Array b, Array x) { return x * w[0] * psum(x * b, "i"); }},
      {"centred", [](Array w, Array b, Array x) { return square(x - pmean(x * w[1], "i")) * b; }},
      {"the row's number", [](Array w, Array b, Array x) { return x * w[0] * b / (1 + axis_index("i")); }},
      {"gathered", [](Array w, Array b, Array x) { return sum(all_gather(x * w[0], "i") * b, 0) * x; }},
      {"a loop", [](Array w, Array b, Array x) { return fori_loop(0, 3, [&](Array, Array v) { return sin(v * w[0]) + b; }, x); }},
      {"checkpointed", [](Array w, Array b, Array x) { return checkpoint([](Array v, Array c) { return exp(sin(v)) * c; })(x * w[1], b); }},
  };
}

std::vector<Device> first_devices(std::size_t n) {
  const std::vector<Device> all = devices();
  return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n)};
}

Array w0() { return random::normal(random::key(1), {2, 5}); }
Array b0() { return random::normal(random::key(3), {5}); }
Array rows(std::int64_t n) { return random::normal(random::key(2), {n, 5}); }

/// Everything that is differentiated of a map of f: in the shared arguments and the rows, forward, twice, under vmap and jit.
template <class Mapped>
std::vector<Array> derivatives(const Mapped& mapped, const Array& x) {
  const auto loss = [=](Array w, Array b, Array v) { return sum(square(mapped(w, b, v))); };
  const auto [gw, gb, gx] = grad<0, 1, 2>(loss)(w0(), b0(), x);
  const auto [jw, jb, jx] = jit(grad<0, 1, 2>(loss))(w0(), b0(), x);
  const Array tangent = jvp(mapped, std::tuple(w0(), b0(), x), std::tuple(cos(w0()), sin(b0()), sin(x))).second;
  const Array of_b = grad([&](Array b) { return sum(sin(grad<1>(loss)(w0(), b, x) / 100)); })(b0());
  const Array lanes = vmap(grad<1>(loss), {none, 0, none})(w0(), stack({b0(), b0() * 2}), x);
  const Array both = vmap(grad(loss), {none, none, 0})(w0(), b0(), stack({x, x * 2}));
  return {gw, gb, gx, jw, jb, jx, tangent, of_b, lanes, both};
}

}  // namespace

TEST_CASE("derivatives of a map with chunk have the same bits on any number of devices") {
  for (const RowFunction& r : row_functions())
    for (const std::int64_t n : {17, 40}) {
      CAPTURE(r.name);
      CAPTURE(n);
      const Axes in = {none, none, 0};
      const std::vector<Array> near = derivatives(vmap(r.f, {.in_axes = in, .axis_name = "i"}), rows(n));
      std::vector<Array> alone;
      for (const std::size_t devices : {1, 2, 3, 5, 8}) {
        CAPTURE(devices);
        const auto mapped = pmap(r.f, {.in_axes = in, .axis_name = "i", .devices = first_devices(devices), .chunk = true});
        const std::vector<Array> now = device_get(derivatives(mapped, rows(n)));
        if (devices == 1) alone = now;
        for (std::size_t k = 0; k < now.size(); ++k) {
          CAPTURE(k);
          CHECK(allclose(now[k], near[k], 1e-3, 1e-4).item<bool>());
          CHECK(array_equal(now[k], alone[k]).item<bool>());
        }
      }
    }
}

TEST_CASE("a result that is one for all rows has a derivative whose bits don't depend on the number of devices") {
  const auto mean_loss = [](Array w, Array x) { return pmean(sum(square(tanh(x * w) - 0.3f)), "i"); };
  const Array w = w0()[0];
  Array alone;
  for (const std::size_t devices : {1, 2, 3, 6, 8}) {
    const auto loss =
        pmap(mean_loss, {.in_axes = {none, 0}, .out_axes = none, .axis_name = "i", .devices = first_devices(devices), .chunk = true});
    const Array outside = device_get(grad(loss)(w, rows(17)));
    if (devices == 1) alone = outside;
    CHECK(array_equal(outside, alone).item<bool>());
  }
  const auto same = vmap(mean_loss, {.in_axes = {none, 0}, .axis_name = "i"});
  CHECK(allclose(alone, grad([&](Array v) { return same(v, rows(17))[0]; })(w), 1e-4).item<bool>());
}

TEST_CASE("of many rows each device adds its own cotangents first, which takes no memory for a gradient of each") {
  const auto f = [](Array w, Array x) { return tanh(x * w[0]) * sum(w[1]) - pmean(x * w[2], "i"); };
  const Array w = random::normal(random::key(4), {3, 10000}) / 100, x = random::normal(random::key(5), {2300, 10000});
  const auto second = [&](auto map) {
    const auto loss = [=](Array u, Array v) { return mean(square(map(u, v))); };
    const auto twice = [=](Array u, Array v) { return sum(grad(loss)(u, v) * cos(u)); };
    const auto [gu, gv] = grad<0, 1>(twice)(w, x);
    return std::tuple{grad(loss)(w, x), gu, gv};
  };
  const auto [g, gu, gv] = second(vmap(f, {.in_axes = {none, 0}, .axis_name = "i"}));
  for (const std::size_t devices : {1, 3}) {
    const auto mapped = pmap(f, {.in_axes = {none, 0}, .axis_name = "i", .devices = first_devices(devices), .chunk = true});
    const auto [h, hu, hv] = device_get(second(mapped));
    CHECK(allclose(h, g, 1e-3, 1e-6).item<bool>());
    CHECK(allclose(hu, gu, 1e-3, 1e-6).item<bool>());
    CHECK(allclose(hv, gv, 1e-3, 1e-8).item<bool>());
    const auto loss = [=](Array u) { return mean(square(mapped(u, x))); };
    CHECK(jit(grad(loss)).lower(w).compile().memory_analysis().temp_size_in_bytes < std::int64_t{1} << 30);
  }
}

TEST_CASE("rows that only fill the last round have no part in derivatives") {
  // At the filling row, a copy of the last one, the derivative is infinite where its cotangent is 0.
  const auto f = pmap([](Array x) { return sqrt(x); }, {.devices = first_devices(2), .chunk = true});
  const Array x = array({4.f, 1.f, 0.25f});
  CHECK(array_equal(grad([&](Array v) { return sum(f(v)); })(x), 0.5f / sqrt(x)).item<bool>());
  const auto centred = [](Array v) { return v - pmean(v, "i"); };
  const auto g = [&](auto map) { return vjp(map, x).second(array({1.f, 2.f, 4.f})); };
  const Array one = std::get<0>(g(pmap(centred, {.axis_name = "i", .devices = first_devices(1), .chunk = true})));
  const Array two = std::get<0>(g(pmap(centred, {.axis_name = "i", .devices = first_devices(2), .chunk = true})));
  CHECK(array_equal(one, device_get(two)).item<bool>());
}

TEST_CASE("a map with chunk is a program as text, also in maps around it") {
  const auto f = [](Array w, Array v) { return v * w - psum(v, "i"); };
  const auto mapped = pmap(f, {.in_axes = {none, 0}, .axis_name = "i", .chunk = true});
  const Array w = w0()[0], x = rows(19);
  const auto loss = [&](Array a) { return sum(mapped(a, x)); };
  for (const Jaxpr& j : {make_jaxpr(loss)(w), make_jaxpr(grad(loss))(w), make_jaxpr(vmap(grad(loss)))(stack({w, w}))}) {
    const Jaxpr back = parse(j.to_string());
    CHECK(back.to_string() == j.to_string());
  }
  const Array batch = stack({x, x * 2});
  const Array want = vmap(vmap(f, {.in_axes = {none, 0}, .axis_name = "i"}), {none, 0})(w, batch);
  CHECK(allclose(vmap(mapped, {none, 0})(w, batch), want, 1e-5, 1e-5).item<bool>());
  // Around it another map over an axis of the same name: the inner one is meant inside.
  const auto nested = pmap([&](Array v) { return mapped(w, v) + pmean(v, "i"); }, {.axis_name = "i"});
  const Array outer =
      vmap([&](Array v) { return vmap(f, {.in_axes = {none, 0}, .axis_name = "i"})(w, v) + pmean(v, "i"); }, {.axis_name = "i"})(batch);
  CHECK(allclose(device_get(nested(batch)), outer, 1e-5, 1e-5).item<bool>());
  const auto nested_loss = [&](Array v) { return sum(square(nested(v))); };
  const auto outer_loss = [&](Array v) {
    return sum(square(
        vmap([&](Array u) { return vmap(f, {.in_axes = {none, 0}, .axis_name = "i"})(w, u) + pmean(u, "i"); }, {.axis_name = "i"})(v)));
  };
  CHECK(allclose(device_get(grad(nested_loss)(batch)), grad(outer_loss)(batch), 1e-3, 1e-3).item<bool>());
}
