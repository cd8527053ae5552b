// Maps over some of a mesh's axes, the others left to the partitioner; and functions with a partitioning of the user's.
#include <weft/transforms.h>

#include "tests/runtime/devices.h"

using namespace weft;
using weft::sharding::P;
using namespace weft::test;

namespace {

Array rows(int n, int m) { return sin(reshape(arange(n * m, float32), {n, m})); }

/// Over 8, 4, 2 and 1 devices.
std::vector<Mesh> grids() {
  return {make_mesh({2, 4}, {"x", "y"}), make_mesh({4, 2}, {"x", "y"}), make_mesh({2, 2}, {"x", "y"}),
          make_mesh({1, 2}, {"x", "y"}), make_mesh({2, 1}, {"x", "y"}), make_mesh({1, 1}, {"x", "y"})};
}
bool has_collective(const std::string& text, const std::string& name) { return text.find("= " + name + "[") != std::string::npos; }

}  // namespace

TEST_CASE("a map over some of the mesh's axes leaves the others to the partitioner") {
  const Array w = rows(16, 8), v = rows(8, 16);
  for (const Mesh& mesh : grids()) {
    CAPTURE(mesh.shape());
    // The batch is the function's own, the features are sharded as they come.
    auto layer = [](Array x, Array p) { return tanh(matmul(x, p)) - pmean(sum(x * x), "x"); };
    auto whole = [&](Array x, Array p) {
      const int n = static_cast<int>(mesh.shape()[0]);
      Array norms = zeros({});
      for (const Array& part : split(x, n)) norms = norms + sum(part * part) / n;
      return tanh(matmul(x, p)) - norms;
    };
    const auto f = shard_map(layer, {.mesh = mesh, .in_specs = {P("x"), P()}, .out_specs = P("x"), .axis_names = {"x"}});
    for (const PartitionSpec& of_x : {P(), P("x"), P("x", "y"), P("y"), P(none, "y"), P({"x", "y"}), P({"y", "x"})})
      for (const PartitionSpec& of_p : {P(), P("y"), P(none, "y")}) {
        const Array x = device_put(v, NamedSharding{mesh, of_x}), p = device_put(w, NamedSharding{mesh, of_p});
        const Array wanted = whole(v, w);
        CHECK(tree::all_close(device_get(f(x, p)), wanted, 1e-4, 1e-5));
        CHECK(tree::all_close(device_get(jit(f)(x, p)), wanted, 1e-4, 1e-5));
        auto loss = [](auto g) { return [g](Array a, Array b) { return sum(sin(g(a, b))); }; };
        const Array gradients = grad(loss(whole))(v, w);
        CHECK(tree::all_close(device_get(jit(grad(loss(f)))(x, p)), gradients, 1e-3, 1e-4));
        CHECK(tree::all_close(device_get(grad(loss(f))(x, p)), gradients, 1e-3, 1e-4));
      }
    // What nobody placed.
    CHECK(tree::all_close(device_get(f(v, w)), whole(v, w), 1e-4, 1e-5));
    CHECK(tree::all_close(device_get(jit(f)(v, w)), whole(v, w), 1e-4, 1e-5));
  }
}

TEST_CASE("results of a partial map stay sharded over the other axes, without gathering") {
  const Mesh mesh = make_mesh({2, 4}, {"x", "y"});
  const Array x = device_put(rows(8, 16), NamedSharding{mesh, P("x", "y")});
  const auto f = shard_map([](Array v) { return v / psum(sum(v * v), "x"); },
                           {.mesh = mesh, .in_specs = P("x"), .out_specs = P("x"), .axis_names = {"x"}});
  CHECK(jit(f)(x).sharding() == NamedSharding(mesh, P("x", "y")));
  CHECK(f(x).sharding() == NamedSharding(mesh, P("x", "y")));
  const std::string text = jit(f).lower(x).as_text("jaxpr");
  CHECK_MESSAGE(!has_collective(text, "all_gather"), text);
  CHECK(has_collective(text, "psum"));
  // Collectives of the function's own axis keep what is sharded along other dimensions.
  const auto gathers = shard_map([](Array v) { return psum_scatter(all_gather(v, "x", {.axis = 0, .tiled = true}), "x", {.tiled = true}); },
                                 {.mesh = mesh, .in_specs = P("x"), .out_specs = P("x"), .axis_names = {"x"}});
  CHECK(jit(gathers)(x).sharding() == NamedSharding(mesh, P("x", "y")));
  CHECK(tree::all_close(device_get(jit(gathers)(x)), 2 * rows(8, 16), 1e-5, 1e-6));
}

TEST_CASE("partial maps within maps, vmap, loops and branches") {
  const Array a = rows(8, 8);
  for (const Mesh& mesh : grids()) {
    CAPTURE(mesh.shape());
    auto inner = [](Array v) { return v - psum(v, "y") * 0.5f; };
    auto outer = [&](Array v) {
      const Array u = shard_map(inner, {.in_specs = P(none, "y"), .out_specs = P(none, "y"), .axis_names = {"y"}})(v * 2);
      return u / (1 + psum(sum(v * v), "x"));
    };
    auto plain = [](Array v) { return (v * 2 - psum(v * 2, "y") * 0.5f) / (1 + psum(sum(v * v), {"x", "y"})); };
    const auto nested = shard_map(outer, {.mesh = mesh, .in_specs = P("x"), .out_specs = P("x"), .axis_names = {"x"}});
    const auto flat = shard_map(plain, {.mesh = mesh, .in_specs = P("x", "y"), .out_specs = P("x", "y")});
    for (const PartitionSpec& spec : {P(), P("x", "y"), P("y", "x")}) {
      const Array x = device_put(a, NamedSharding{mesh, spec});
      const Array wanted = device_get(flat(a));
      CHECK(tree::all_close(device_get(nested(x)), wanted, 1e-4, 1e-5));
      CHECK(tree::all_close(device_get(jit(nested)(x)), wanted, 1e-4, 1e-5));
      CHECK(tree::all_close(device_get(jit(grad([&](Array v) { return sum(nested(v) * a); }))(x)),
                            device_get(grad([&](Array v) { return sum(flat(v) * a); })(a)), 1e-3, 1e-4));
    }
    // A mapped dimension that nothing shards, or the other axis.
    auto scaled = [](Array v) { return v * psum(sum(v), "x"); };
    const auto f = shard_map(scaled, {.mesh = mesh, .in_specs = P("x"), .out_specs = P("x"), .axis_names = {"x"}});
    const Array many = stack({a, a + 1, a * 2, a - 3});
    for (const char* over : {"", "y"}) {
      const auto mapped = vmap(f, {.spmd_axis_name = over});
      const Array wanted = many * reshape(sum(many, {1, 2}), {4, 1, 1});
      CHECK(tree::all_close(device_get(mapped(many)), wanted, 1e-4, 1e-3));
      CHECK(tree::all_close(device_get(jit(mapped)(device_put(many, NamedSharding{mesh, P(none, "x", "y")}))), wanted, 1e-4, 1e-3));
    }
    // Loops and branches inside.
    auto steps = [](Array v) {
      return fori_loop(
          0, 3,
          [](Array i, Array u) {
            return cond(i < 2, [](Array t) { return t + psum(sum(t), "x") / 100; }, [](Array t) { return sin(t); }, u);
          },
          v);
    };
    auto whole_steps = [](Array v) {
      for (int i = 0; i < 3; ++i) v = i < 2 ? v + sum(v) / 100 : sin(v);
      return v;
    };
    const auto g = shard_map(steps, {.mesh = mesh, .in_specs = P("x"), .out_specs = P("x"), .axis_names = {"x"}});
    const Array x = device_put(a, NamedSharding{mesh, P("x", "y")});
    CHECK(tree::all_close(device_get(jit(g)(x)), whole_steps(a), 1e-4, 1e-4));
    CHECK(tree::all_close(device_get(g(x)), whole_steps(a), 1e-4, 1e-4));
  }
}

TEST_CASE("a gradient through vmap with spmd_axis_name sums what the devices of that axis have") {
  for (const Mesh& mesh : grids()) {
    CAPTURE(mesh.shape());
    const Array w = rows(4, 4), many = stack({rows(4, 4), rows(4, 4) + 1, rows(4, 4) * 2, rows(4, 4) - 3});
    for (const std::vector<std::string>& names : {std::vector<std::string>{}, {"x"}})
      for (const bool check : {true, false}) {
        auto f = [&](Array p, Array v) {
          return shard_map([](Array q, Array u) { return sin(q * u) + psum(sum(q * u), "x"); },
                           {.mesh = mesh, .in_specs = {P(), P("x")}, .out_specs = P("x"), .axis_names = names, .check_vma = check})(p, v);
        };
        const Array p = ones({1, 4}) * 0.3f;
        auto loss = [&](Array q) { return sum(vmap(f, {.in_axes = {none, 0}, .spmd_axis_name = "y"})(q, many) * w); };
        auto wanted = [&](Array q) { return sum(vmap([&](Array v) { return sin(q * v) + sum(q * v); })(many) * w); };
        CHECK(near(loss(p), {wanted(p).item<double>()}, 1e-3));
        CHECK(tree::all_close(device_get(grad(loss)(p)), grad(wanted)(p), 1e-3, 1e-3));
        CHECK(tree::all_close(device_get(jit(grad(loss))(p)), grad(wanted)(p), 1e-3, 1e-3));
      }
  }
}

TEST_CASE("gradients inside of a map that a vmap with spmd_axis_name spreads are JAX's, with and without check_vma") {
  for (const Mesh& mesh : grids()) {
    const Array r = rows(4, 4) / 10, many = stack({r, r + 1, r * 2, r - 3}), p = ones({1, 4}) * 0.3f;
    for (const bool check : {true, false}) {
      CAPTURE(check);
      const auto mapped = [&](auto inside, const PartitionSpec& out) {
        const auto f = shard_map(inside, {.mesh = mesh, .in_specs = {P(), P("x")}, .out_specs = out, .check_vma = check});
        return vmap(f, {.in_axes = {none, 0}, .spmd_axis_name = "y"});
      };
      // Of a device's own rows: with check_vma, q being the same on all, it is summed over them.
      const auto own = mapped([](Array q, Array u) { return grad([&](Array v) { return sum(v * u * u); })(q); }, check ? P() : P("x"));
      // Of a sum over the devices: without check_vma the cotangents of all of them are summed, too.
      const auto whole =
          mapped([](Array q, Array u) { return grad([&](Array v) { return psum(sum(v * u * u), "x"); })(q); }, check ? P() : P("x"));
      const std::int64_t pieces = check ? 1 : mesh.shape()[0];
      const Array wanted = sum(reshape(many * many, {4, pieces, -1, 4}), 2);
      CHECK(tree::all_close(device_get(own(p, many)), wanted, 1e-4, 1e-4));
      CHECK(tree::all_close(device_get(jit(own)(p, many)), wanted, 1e-4, 1e-4));
      CHECK(tree::all_close(device_get(whole(p, many)), wanted * pieces, 1e-4, 1e-4));
      CHECK(tree::all_close(device_get(jit(whole)(p, many)), wanted * pieces, 1e-4, 1e-4));
    }
  }
}

TEST_CASE("constraints inside of a partial map name the axes that it leaves free") {
  const Mesh mesh = make_mesh({2, 4}, {"x", "y"});
  auto f = [&](Array v) { return with_sharding_constraint(v * 2, NamedSharding{mesh, P(none, "y")}) + psum(v, "x"); };
  const auto g = shard_map(f, {.mesh = mesh, .in_specs = P("x"), .out_specs = P("x"), .axis_names = {"x"}});
  const Array a = rows(4, 8), wanted = 2 * a + concatenate({a[slice(0, 2)] + a[slice(2, 4)], a[slice(0, 2)] + a[slice(2, 4)]});
  CHECK(tree::all_close(device_get(g(a)), wanted, 1e-5, 1e-6));
  CHECK(g(a).sharding() == NamedSharding(mesh, P("x", "y")));
  CHECK(tree::all_close(device_get(jit(g)(device_put(a, NamedSharding{mesh, P("y")}))), wanted, 1e-5, 1e-6));
  auto wrong = [&](Array v) { return with_sharding_constraint(v, NamedSharding{mesh, P("x")}); };
  const std::string message =
      message_of<ShardingError>([&] { shard_map(wrong, {.mesh = mesh, .in_specs = P("x"), .out_specs = P("x"), .axis_names = {"x"}})(a); });
  CAPTURE(message);
  for (const char* part : {"with_sharding_constraint", "`x`", "axis_names"}) CHECK(has(message, part));
}

TEST_CASE("axis_names that don't fit are refused by name") {
  const Mesh mesh = make_mesh({2, 4}, {"x", "y"});
  const Array a = rows(8, 8);
  auto same = [](Array v) { return v; };
  const auto told = [&](auto error, auto f, ShardMapOptions options) {
    options.mesh = mesh;
    return message_of<decltype(error)>([&] { shard_map(f, options)(a); });
  };
  CHECK(has(told(ShardingError(""), same, {.in_specs = P("x"), .out_specs = P("x"), .axis_names = {"x", "z"}}), "`z`"));
  const std::string in = told(ShardingError(""), same, {.in_specs = P("x", "y"), .out_specs = P("x"), .axis_names = {"x"}});
  for (const char* part : {"in_specs", "args[0]", "`y`", "axis_names are `x`"}) CHECK_MESSAGE(has(in, part), in);
  const std::string out = told(ShardingError(""), same, {.in_specs = P("x"), .out_specs = P("x", "y"), .axis_names = {"x"}});
  for (const char* part : {"out_specs", "`y`", "axis_names are `x`"}) CHECK_MESSAGE(has(out, part), out);
  CHECK(has(told(AxisError(""), [](Array v) { return psum(v, "y"); }, {.in_specs = P("x"), .out_specs = P("x"), .axis_names = {"x"}}),
            "`y`"));
  auto again = [](Array v) {
    return shard_map([](Array u) { return u; }, {.in_specs = P("x"), .out_specs = P("x"), .axis_names = {"x"}})(v);
  };
  CHECK(has(told(AxisError(""), again, {.in_specs = P("x"), .out_specs = P("x"), .axis_names = {"x"}}), "`x`"));
}

TEST_CASE("custom_partitioning: the user's rule, and the user's function of blocks") {
  // Rows less their means: of rows that are sharded, sums are joined.
  int asked = 0;
  auto f = [](Array x) { return x - mean(x, 1, {.keepdims = true}); };
  auto rule = [&](const PartitioningQuery& q) {
    ++asked;
    CHECK(q.args.size() == 1);
    CHECK(q.args[0].shape == q.results[0].shape);
    return Partitioning{q.arg_specs, q.arg_specs};
  };
  auto on_blocks = [](const BlockContext& c, Array x) {
    const std::vector<std::string>& over = c.arg_specs[0].axes_of(1);
    Array total = sum(x, 1, {.keepdims = true});
    if (!over.empty()) total = psum(total, over);
    std::int64_t n = x.shape()[1];
    for (const std::string& axis : over) n *= axis_size(axis);
    return x - total / static_cast<float>(n);
  };
  const auto centred = custom_partitioning(f, rule, on_blocks);
  const Array a = rows(8, 8);
  CHECK(tree::all_close(centred(a), f(a)));
  CHECK(tree::all_close(jit(centred)(a), f(a)));
  CHECK(asked == 0);
  for (const Mesh& mesh : grids())
    for (const PartitionSpec& spec : {P(), P("x"), P("x", "y"), P(none, {"x", "y"}), P("y", "x")}) {
      const Array x = device_put(a, NamedSharding{mesh, spec});
      const Array y = jit([&](Array v) { return centred(v * 2) + 1; })(x);
      CHECK(tree::all_close(device_get(y), f(a * 2) + 1, 1e-5, 1e-5));
      CHECK(tree::all_close(device_get(centred(x)), f(a), 1e-5, 1e-5));
      if (mesh.size() == 8) CHECK(y.sharding() == NamedSharding(mesh, spec));
      CHECK(tree::all_close(device_get(jit(grad([&](Array v) { return sum(centred(v) * a); }))(x)),
                            grad([&](Array v) { return sum(f(v) * a); })(a), 1e-4, 1e-5));
      CHECK(tree::all_close(device_get(jit(vmap(centred))(device_put(stack({a, a + 1}), NamedSharding{mesh, P(none, "x")}))),
                            vmap(f)(stack({a, a + 1})), 1e-4, 1e-5));
      // In a map over some of the axes, and in a loop.
      const auto inside = shard_map([&](Array v) { return centred(v) * psum(1, "x"); },
                                    {.mesh = mesh, .in_specs = P("x"), .out_specs = P("x"), .axis_names = {"x"}});
      CHECK(tree::all_close(device_get(jit(inside)(x)), f(a) * mesh.shape()[0], 1e-4, 1e-5));
      const Array looped = jit([&](Array v) { return fori_loop(0, 3, [&](Array, Array u) { return centred(u) * 2; }, v); })(x);
      CHECK(tree::all_close(device_get(looped), f(a) * 8, 1e-4, 1e-4));
    }
  CHECK(asked > 0);
  const Mesh mesh = make_mesh({2, 4}, {"x", "y"});
  const Array x = device_put(a, NamedSharding{mesh, P("x", "y")});
  const std::string text = jit(centred).lower(x).as_text("jaxpr");
  CHECK_MESSAGE(!has_collective(text, "all_gather"), text);
  // Answers that don't fit.
  const auto told = [&](auto answer, auto blocks) {
    return message_of<ShardingError>([&] { jit(custom_partitioning(f, answer, blocks))(x); });
  };
  CHECK(has(told([](const PartitioningQuery&) { return Partitioning{}; }, on_blocks), "0 specs for 1 argument and"));
  CHECK(has(told([](const PartitioningQuery& q) { return Partitioning{{P("z")}, q.arg_specs}; }, on_blocks), "argument 0"));
  CHECK(has(told([](const PartitioningQuery& q) { return Partitioning{q.arg_specs, {P()}}; }, on_blocks), "f32[8,8]"));
  CHECK_THROWS_AS(jit(custom_partitioning(f, [](const PartitioningQuery&) -> Partitioning { throw Error("no"); }, on_blocks))(x), Error);
}

TEST_CASE("custom_partitioning of trees of arguments and results") {
  struct Pair {
    Array first, second;
  };
  auto f = [](Pair p, Array k) { return std::pair{matmul(p.first, k), sum(p.second)}; };
  const auto g = custom_partitioning(
      f,
      [](const PartitioningQuery& q) {
        const std::vector<std::string>& over = q.arg_specs[0].axes_of(0);
        return Partitioning{{PartitionSpec::of({over}), P(), P()}, {PartitionSpec::of({over}), P()}};
      },
      [](const BlockContext&, Pair p, Array k) { return std::pair{matmul(p.first, k), sum(p.second)}; });
  const Mesh mesh = make_mesh({2, 4}, {"x", "y"});
  const Array a = rows(8, 4), k = rows(4, 8);
  const auto put = [&](const Array& v, const PartitionSpec& s) { return device_put(v, NamedSharding{mesh, s}); };
  const auto [y, s] = jit(g)(Pair{put(a, P("x", "y")), put(a, P("y"))}, k);
  CHECK(tree::all_close(device_get(y), matmul(a, k), 1e-4, 1e-5));
  CHECK(near(s, {sum(a).item<double>()}, 1e-4));
  CHECK(y.sharding() == NamedSharding(mesh, P("x")));
}
