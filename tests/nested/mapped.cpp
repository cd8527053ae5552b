// Every function mapped over devices, by pmap and by shard_map, inside and around the other transforms, against vmap.
#include <weft/weft.h>

#include <cmath>

#include "functions.h"
#include "tests/named_cases.h"

namespace weft::test {
using sharding::P;
namespace {

constexpr int kRows = 2;
constexpr double kTolerance = 1e-9;

/// Of each row: by 'v'map, 'p'map, or 's'hard_map.
Fn mapped(char by, const Fn& f) {
  if (by == 'v') return vmap(f);
  if (by == 'p') return pmap(f, {.devices = some_devices(kRows)});
  const auto block = [f](Array b) { return expand_dims(f(b[0]), 0); };
  return shard_map(block, {.mesh = Mesh(some_devices(kRows), {kRows}, {"rows"}), .in_specs = P("rows"), .out_specs = P("rows")});
}

struct Transform {
  const char* name;
  bool forward;  // needs a forward derivative
  Fn (*apply)(const Fn&);
};
Fn jitted(const Fn& f) { return jit(f); }
Fn batched(const Fn& f) {
  return [f](Array x) { return vmap(f)(stack({x, 0.5 * x})); };
}
Fn gradient(const Fn& f) {
  return grad([f](Array x) { return sum(f(x)); });
}
Fn tangent(const Fn& f) {
  return [f](Array x) { return jvp(f, std::tuple{x}, std::tuple{cos(x)}).second; };
}
/// The Hessian times a vector, which is one of its columns' sums: the whole would be large.
Fn curvature(const Fn& f) {
  return [f](Array x) {
    const auto derivative = grad([f](Array v) { return sum(f(v)); });
    return jvp(derivative, std::tuple{x}, std::tuple{cos(x)}).second;
  };
}
Fn scanned(const Fn& f) {
  return [f](Array x) { return scan([f](Array c, Array v) { return std::pair{c + 1, f(v) * c}; }, Array(1.), stack({x, 0.5 * x})).second; };
}
Fn checkpointed(const Fn& f) {
  return grad([f](Array x) { return sum(checkpoint(f)(x)); });
}
constexpr Transform kTransforms[] = {
    {"jit", false, jitted},       {"vmap", false, batched}, {"grad", false, gradient},          {"jvp", true, tangent},
    {"hessian", true, curvature}, {"scan", false, scanned}, {"checkpoint", false, checkpointed}};

void check(const NestedFunction& n) {
  const Array x = argument(n.shape.inserted(0, kRows));
  for (const Transform& t : kTransforms) {
    if (t.forward && !n.forward) continue;
    const Array inside = mapped('v', t.apply(n.f))(x), around = t.apply(mapped('v', n.f))(x);
    for (const char by : {'p', 's'}) {
      CHECK_MESSAGE(tree::all_close(device_get(mapped(by, t.apply(n.f))(x)), inside, kTolerance, kTolerance),
                    by << " of " << t.name << " of " << n.name);
      CHECK_MESSAGE(tree::all_close(device_get(t.apply(mapped(by, n.f))(x)), around, kTolerance, kTolerance),
                    t.name << " of " << by << " of " << n.name);
    }
  }
}

const bool registered = [] {
  config.num_cpu_devices = 8;
  for (const auto& list : {scalar_functions(), vector_functions(), matrix_functions(), indexing_functions(), tree_functions(),
                           control_functions(), transforming_functions()})
    for (const NestedFunction& n : list) add_case("mapped over devices: " + n.name, [n] { check(n); }, __FILE__, __LINE__);
  return true;
}();

}  // namespace
}  // namespace weft::test
