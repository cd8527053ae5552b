// Maps over the devices of several processes: in each other, of more rows than devices, and of memory that is given away.
#include <fmt/core.h>
#include <unistd.h>
#include <weft/weft.h>

#include <algorithm>

#include "tests/distributed/worker.h"

using namespace weft;
using weft::sharding::P;

namespace weft::test {

void sharded_pieces() {
  const int n = device_count();
  const Mesh mesh = make_mesh({n}, {"i"});
  const Array whole = sin(numbers({n * 12, 4}));
  const Array x = device_put(whole, NamedSharding{mesh, P("i")}), at = array({1, 11, 3, 7});
  const auto close = [](const Array& got, const Array& wanted, const std::string& what) {
    const Array all = got.is_fully_addressable() ? device_get(got) : process_allgather(got);
    const std::string wrong = tools::difference(all, wanted, nullptr, {1e-4, 1e-4, false});
    expect(wrong.empty(), what + ": " + wrong);
  };
  const auto check = [&](auto f, const std::string& what) {
    close(jit(f)(x), f(whole), what);
    const std::string text = jit(f).lower(x).as_text("jaxpr");
    expect(n == 1 || text.find("f32[" + std::to_string(n * 12) + ",4] = all_gather") == std::string::npos, what + ": gathers");
  };
  check([](Array v) { return sort(v, 0); }, "a sort");
  check([](Array v) { return cumsum(v, 0); }, "running sums");
  check([&](Array v) { return take(v, at, 0); }, "a gather");
  check([&](Array v) { return v.at(at).add(2.f); }, "a scatter");
  check([](Array v) { return v[5] * 2; }, "a row");
  check([](Array v) { return dynamic_slice(v, {array(6), array(0)}, {5, 4}); }, "a dynamic slice");
  check([](Array v) { return dynamic_update_slice(v, ones({5, 4}), {array(6), array(0)}); }, "a dynamic update");
  check([](Array v) { return avg_pool(expand_dims(v, {0, 2}), {3, 1}, {.strides = {1, 1}, .padding = "SAME"}); }, "windows");
  if (n % 2 != 0) return;
  const Mesh grid = make_mesh({n / 2, 2}, {"a", "b"});
  const Array y = device_put(whole, NamedSharding{grid, P("a", "b")});
  const auto centred = [](Array v) { return v - pmean(mean(v), "a"); };
  const auto f = shard_map(centred, {.mesh = grid, .in_specs = P("a"), .out_specs = P("a"), .axis_names = {"a"}});
  close(f(y), whole - mean(whole), "a map over one axis of two");
  close(jit(f)(y), whole - mean(whole), "a map over one axis of two, jit");
  expect(f(y).sharding() == Sharding(NamedSharding(grid, P("a", "b"))), "the other axis is followed");
}

// Maps in maps: each process's rows, spread over its devices as far as they go.
void nested_maps() {
  const int n = process_count(), local = local_device_count(), me = process_index();
  const auto close = [](const Array& got, const Array& wanted, const std::string& what) {
    const std::string wrong = tools::difference(device_get(got), wanted, nullptr, {1e-4, 1e-4, false});
    expect(wrong.empty(), what + ": " + wrong);
  };
  const auto check = [&](auto f, const std::string& what) {
    for (const int rows : {local, std::max(local / 2, 1)})
      for (const int inner : {1, 2, 3}) {
        const std::string name = fmt::format("{}, {} x {} rows", what, rows, inner);
        const Array whole = numbers({n * rows, inner, 4}) / 7 - 2;
        const auto mine = slice(rows * me, rows * (me + 1));
        const auto mapped = pmap(pmap(f, {.axis_name = "j"}), {.axis_name = "i"});
        const auto lanes = vmap(vmap(f, {.axis_name = "j"}), {.axis_name = "i"});
        const Array wanted = lanes(whole), got = mapped(whole(mine));
        close(got, wanted(mine), name);
        counts(static_cast<std::int64_t>(got.devices().size()), rows * inner <= local ? rows * inner : rows, name + ": devices");
        close(mapped(got), lanes(wanted)(mine), name + ", again");
        close(jit(mapped)(whole(mine)), wanted(mine), name + ", jit");
      }
  };
  check([](Array a) { return a * 2; }, "a map in a map");
  check([](Array a) { return psum(a, "j"); }, "a sum over the inner axis");
  check([](Array a) { return a - pmean(a, "i"); }, "a mean over the outer axis");
  check([](Array a) { return psum(a, {"i", "j"}) / 10 + a * pmax(a, "i") + axis_index({"i", "j"}); }, "collectives over both axes");
  // More rows than devices: a collective joins those of all rounds on all processes.
  for (const int rows : {local, local + 1, 2 * local + 1, 5}) {
    const Array all = numbers({n * rows, 3}) / 7 - 2;
    const auto f = [](Array a) { return std::tuple{a - pmean(a, "i"), psum(a, "i") + axis_index("i"), all_gather(a, "i")}; };
    const auto got = pmap(f, {.axis_name = "i", .chunk = true})(all(slice(rows * me, rows * (me + 1))));
    const auto wanted = vmap(f, {.axis_name = "i"})(all);
    const auto own = [&](const Array& v) { return v(slice(rows * me, rows * (me + 1))); };
    close(std::get<0>(got), own(std::get<0>(wanted)), fmt::format("{} rows in rounds", rows));
    close(std::get<1>(got), own(std::get<1>(wanted)), fmt::format("{} rows in rounds, a sum", rows));
    close(std::get<2>(got), own(std::get<2>(wanted)), fmt::format("{} rows in rounds, gathered", rows));
    const auto g = [](Array w, Array a) { return sin(a * w) - pmean(a * w, "i"); };
    const auto gradient_of = [](auto map, Array a) {
      return grad([=](Array w) { return sum(square(map(w, a))); })(array({1.f, 2.f, 3.f}));
    };
    close(gradient_of(pmap(g, {.in_axes = {none, 0}, .axis_name = "i", .chunk = true}), all(slice(rows * me, rows * (me + 1)))),
          gradient_of(vmap(g, {.in_axes = {none, 0}, .axis_name = "i"}), all), fmt::format("{} rows in rounds, a gradient outside", rows));
  }
  // Groups of different sizes.
  if (const int devices = n * local; devices > 2) {
    AxisIndexGroups groups(2);
    for (int i = 0; i < devices; ++i) groups[i % 3 == 1 ? 0 : 1].push_back(i);
    as_vmap([=](Array a) { return psum(a, "i", {.axis_index_groups = groups}); }, numbers({devices, 4}),
            "a sum in groups of different sizes");
    as_vmap([=](Array a) { return pmax(a, "i", {.axis_index_groups = groups}); }, numbers({devices, 4}),
            "a maximum in groups of different sizes");
  }
  const Array whole = numbers({n * local, 2, 4}) / 7 - 2;
  const auto mine = slice(local * me, local * (me + 1));
  // A map that was compiled for this process's rows takes global arrays, too, and then gives such.
  const auto both = pmap([](Array w, Array a) { return std::tuple{psum(a, "i") * w, a - pmean(a, "i"), pmax(a, "i")}; },
                         {.in_axes = {none, 0}, .out_axes = {1, 0, none}, .axis_name = "i"});
  const Array w = numbers({4});
  const auto compiled = both.lower(w, whole(mine)).compile();
  const NamedSharding rows(make_mesh({n * local}, {"x"}), P("x"));
  const auto lanes = vmap([](Array w, Array a) { return std::tuple{psum(a, "i") * w, a - pmean(a, "i"), pmax(a, "i")}; },
                          {.in_axes = {none, 0}, .out_axes = {1, 0, none}, .axis_name = "i"})(w, whole);
  for (int again = 0; again < 2; ++again) {
    const auto global = compiled(w, host_local_array_to_global_array(whole(mine), rows.mesh(), rows.spec()));
    close(process_allgather(std::get<0>(global)), std::get<0>(lanes), "a compiled map of a global array");
    close(process_allgather(std::get<1>(global)), std::get<1>(lanes), "a compiled map of a global array, its rows");
    close(process_allgather(std::get<2>(global)), std::get<2>(lanes), "a compiled map of a global array, what all rows share");
    close(std::get<1>(compiled(w, whole(mine))), std::get<1>(lanes)(mine), "a compiled map of this process's rows");
  }
  const auto inside = [](Array a) { return psum(a * a, {"i", "j"}); };
  const auto gradient_of = [](auto f) { return [f](Array v) { return grad([f](Array u) { return sum(f(u)); })(v); }; };
  close(gradient_of(pmap(pmap(inside, {.axis_name = "j"}), {.axis_name = "i"}))(whole(mine)),
        gradient_of(vmap(vmap(inside, {.axis_name = "j"}), {.axis_name = "i"}))(whole)(mine), "a gradient through maps in maps");
}

// Memory that is given away stays where it is.
void donation() {
  const int local = local_device_count(), all = device_count();
  const auto addresses = [](const Array& x) {
    std::vector<const void*> out;
    for (const Shard& s : x.addressable_shards()) out.push_back(s.data.data<float>().data());
    return out;
  };
  const Mesh mesh = make_mesh({all}, {"x"});
  const auto twice = [](Array v) { return v * 2; };
  const auto mapped = jit(shard_map(twice, {.mesh = mesh, .in_specs = P("x"), .out_specs = P("x")}), {.donate_argnums = {0}});
  const Array whole = numbers({all, 64});
  const Array x = device_put(sin(whole), NamedSharding{mesh, P("x")});
  const auto before = addresses(x);
  equal(addresses(mapped(x)) == before, true, "a global array is donated without a copy");
  const Array y = pmap(twice)(numbers({local, 64}));
  const auto mine = addresses(y);
  const Array z = pmap(twice, {.donate_argnums = {0}})(y);
  equal(addresses(z) == mine, true, "this process's rows are donated without a copy");
  same(device_get(z), 4 * numbers({local, 64}), "what a map of donated rows gives");
  says(error_of([&] { y + 1; }), "donated");
}

}  // namespace weft::test
