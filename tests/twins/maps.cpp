// Maps over axes and devices, and their gradients.
#include <complex>
#include <map>
#include <optional>

#include "tests/twins/twins.h"

namespace weft::test {
namespace {

TWIN(maps1, 3e-05) {
  auto f = [](Array v, Array w) {
    return std::tuple{psum(v, "i"),
                      pmean(v * w, "i"),
                      pmax(v, "i"),
                      pmin(v, "i"),
                      all_gather(v, "i"),
                      all_gather(v, "i", {.tiled = true}),
                      ppermute(v, "i", {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}, {6, 7}, {7, 0}}),
                      axis_index("i"),
                      psum(1, "i")};
  };
  auto t = pmap(f, {.in_axes = {0, none}, .axis_name = "i"})(x[0], x[1]);
  auto u = vmap(f, {.in_axes = {0, none}, .axis_name = "i"})(x[0], x[1]);
  Arrays r;
  for (auto& a : tree::leaves(t)) r.push_back(a);
  for (auto& a : tree::leaves(u)) r.push_back(a);
  return r;
}

TWIN(maps_grad, 3e-05) {
  auto loss = [](Array w, Array v) { return pmean(sum(sin(v * w)), "i") + sum(psum(v, "i") * w); };
  return {pmap(grad(loss), {.in_axes = {none, 0}, .axis_name = "i"})(x[1], x[0]),
          grad([&](Array w) { return sum(pmap(loss, {.in_axes = {none, 0}, .axis_name = "i"})(w, x[0])); })(x[1]),
          grad([&](Array v) { return sum(vmap(loss, {.in_axes = {none, 0}, .axis_name = "i"})(x[1], v)); })(x[0]),
          pmap(vmap([](Array a) { return a - psum(a, "i"); }), {.axis_name = "i"})(x[0]),
          pmap([](Array v) { return psum_scatter(tile(v(slice(0, 1)), 8) * arange(8., float32), "i"); }, {.axis_name = "i"})(x[0]),
          pmap([](Array v) { return all_to_all(tile(v, 8), "i", 0, 0, {.tiled = true}); }, {.axis_name = "i"})(x[0])};
}

TWIN(shmap, 3e-05) {
  Mesh m = make_mesh({4, 2}, {"a", "b"});
  auto mm = shard_map([](Array p, Array q) { return psum(matmul(p, q), "b"); },
                      {.mesh = m, .in_specs = {P("a", "b"), P("b", none)}, .out_specs = P("a", none)});
  auto ring = shard_map(
      [](Array p) {
        return scan(
                   [](Array c, None) {
                     auto n = ppermute(c, "a", {{0, 1}, {1, 2}, {2, 3}, {3, 0}});
                     return std::pair{n, sum(n)};
                   },
                   p, none, {.length = 3})
                   .first +
               convert(axis_index("b"), float32) * 0;
      },
      {.mesh = m, .in_specs = {P("a", "b")}, .out_specs = P("a", "b")});
  auto gathered = shard_map([](Array p) { return all_gather(p, "a", {.tiled = true}) * 2; },
                            {.mesh = m, .in_specs = {P("a", "b")}, .out_specs = P(none, "b"), .check_vma = false});
  return {mm(x[0], x[1]),
          ring(x[0]),
          gathered(x[0]),
          grad([&](Array p) { return sum(sin(mm(p, x[1]))); })(x[0]),
          jit(grad([&](Array p) { return sum(sin(ring(p)) * p); }))(x[0]),
          vmap([&](Array q) { return mm(x[0], q); })(stack({x[1], x[1] * 2})),
          shard_map([](Array p) { return psum_scatter(p, "a", {.scatter_dimension = 0, .tiled = true}); },
                    {.mesh = m, .in_specs = {P(none, "b")}, .out_specs = P("a", "b"), .check_vma = false})(x[0])};
}

}  // namespace
}  // namespace weft::test
