// shard_map and smap: values and derivatives against the same function on one device, and what is known of replicated values.
#include "tests/runtime/devices.h"

#include <functional>

using namespace weft;
using weft::sharding::P;
using namespace weft::test;

namespace {

Array rows(int n, int m) { return sin(reshape(arange(n * m, float32), {n, m})); }
const Mesh& grid() {
  static const Mesh mesh = make_mesh({2, 4}, {"x", "y"});
  return mesh;
}
const Mesh& ring() {
  static const Mesh mesh = make_mesh({8}, {"i"});
  return mesh;
}

using Function = std::function<Array(const std::vector<Array>&)>;

Function sum_of_sines(const Function& f) {
  return [f](const std::vector<Array>& a) {
    const Array y = f(a);
    return sum(y * cos(reshape(arange(static_cast<int>(y.size()), float32), y.shape())) + y * y);
  };
}
Function second(const Function& f) {
  return [f](const std::vector<Array>& a) {
    Array total = 0.f;
    for (const Array& g : grad(sum_of_sines(f))(a)) total = total + sum(sin(g));
    return total;
  };
}

/// The values, both derivatives, and second derivatives of a mapped function are those of the function of whole arrays.
void check_functions(const Function& mapped, const Function& whole, const std::vector<Array>& args) {
  const Array wanted = whole(args);
  CHECK(tree::all_close(mapped(args), wanted, 1e-4, 1e-5));
  CHECK(tree::all_close(jit(mapped)(args), wanted, 1e-4, 1e-5));
  const std::vector<Array> gradient = grad(sum_of_sines(whole))(args);
  CHECK(tree::all_close(grad(sum_of_sines(mapped))(args), gradient, 1e-4, 1e-4));
  CHECK(tree::all_close(jit(grad(sum_of_sines(mapped)))(args), gradient, 1e-4, 1e-4));
  CHECK(tree::all_close(grad(second(mapped))(args), grad(second(whole))(args), 1e-3, 1e-3));
  std::vector<Array> tangents, batches;
  for (const Array& a : args) tangents.push_back(cos(a)), batches.push_back(stack({a, 2 * a}));
  const auto [y, dy] = jvp(mapped, std::tuple{args}, std::tuple{tangents});
  const auto [v, dv] = jvp(whole, std::tuple{args}, std::tuple{tangents});
  CHECK(tree::all_close(y, v, 1e-4, 1e-5));
  CHECK(tree::all_close(dy, dv, 1e-4, 1e-4));
  CHECK(tree::all_close(vmap(mapped)(batches), vmap(whole)(batches), 1e-4, 1e-4));
}
template <class F, class G, class... A>
void check_same(F mapped, G whole, const A&... args) {
  const auto packed = []<class H, std::size_t... I>(H f, std::index_sequence<I...>) -> Function {
    return [f](const std::vector<Array>& a) { return f(a[I]...); };
  };
  check_functions(packed(mapped, std::index_sequence_for<A...>()), packed(whole, std::index_sequence_for<A...>()), {args...});
}

TEST_CASE("devices may take different paths where no collective and no effect is inside") {
  const Array x = ones({2, 8}), turns = repeat(arange(4), 2);
  auto doubled = [](Array a) {
    return while_loop([](auto s) { return s.first < axis_index("y"); }, [](auto s) { return std::pair{s.first + 1, 2 * s.second}; },
                      std::pair{Array(0), a}, {.max_steps = 4})
        .second;
  };
  const auto loops = shard_map(doubled, {.mesh = grid(), .in_specs = P("x", "y"), .out_specs = P("x", "y")});
  const Array powers = broadcast_to(pow(2.f, turns), {2, 8});
  CHECK(tree::all_close(loops(x), powers));
  CHECK(tree::all_close(jit(loops)(x), powers));
  CHECK(tree::all_close(grad([&](Array a) { return sum(loops(a)); })(x), powers));
  auto branches = [](Array a) {
    return switch_(
        axis_index("y"),
        {[](Array b) { return b + axis_index("x"); }, [](Array b) { return 3 * b; }, [](Array b) { return b * axis_index("y"); }}, a);
  };
  const auto chosen = shard_map(branches, {.mesh = grid(), .in_specs = P("x", "y"), .out_specs = P("x", "y")});
  const Array rest = broadcast_to(array({3.f, 3.f, 2.f, 2.f, 3.f, 3.f}), {2, 6});
  CHECK(tree::all_close(chosen(x), concatenate({array({{1.f, 1.f}, {2.f, 2.f}}), rest}, 1)));
  auto printing = [](Array a) {
    return cond(
        axis_index("y") > 1,
        [](Array b) {
          debug::print("{}", axis_index("y"));
          return b;
        },
        [](Array b) { return b + axis_index("x"); }, a);
  };
  CHECK_THROWS_AS(shard_map(printing, {.mesh = grid(), .in_specs = P("x", "y"), .out_specs = P("x", "y")})(x), DistributedError);
}

}  // namespace

TEST_CASE("a mapped function is the function of whole arrays, with and without checks") {
  const Array a = rows(4, 8), b = rows(8, 4);
  for (const bool check : {true, false}) {
    CAPTURE(check);
    check_same(
        shard_map([](Array v) { return v * v; }, {.mesh = grid(), .in_specs = P("x", "y"), .out_specs = P("x", "y"), .check_vma = check}),
        [](Array v) { return v * v; }, a);
    check_same(
        shard_map([](Array l, Array r) { return psum(matmul(l, r), "y"); },
                  {.mesh = grid(), .in_specs = {P("x", "y"), P("y", none)}, .out_specs = P("x", none), .check_vma = check}),
        [](Array l, Array r) { return matmul(l, r); }, a, b);
    check_same(
        shard_map([](Array v, Array w) { return tanh(v) * sum(w); },
                  {.mesh = grid(), .in_specs = {P({"x", "y"}, none), P()}, .out_specs = P({"x", "y"}), .check_vma = check}),
        [](Array v, Array w) { return tanh(v) * sum(w); }, b, a);
    check_same(
        shard_map([](Array v) { return pmean(sum(v * v, 0), {"x", "y"}); },
                  {.mesh = grid(), .in_specs = P({"x", "y"}), .out_specs = P(), .check_vma = check}),
        [](Array v) { return mean(v * v, 0); }, b);
    check_same(
        shard_map(
            [](Array v) {
              return v / (3 + psum(sum(v * v), "i")) + psum_scatter(all_gather(v, "i", {.tiled = true}), "i", {.tiled = true});
            },
            {.mesh = ring(), .in_specs = P("i"), .out_specs = P("i"), .check_vma = check}),
        [](Array v) { return v / (3 + sum(v * v)) + 8 * v; }, b);
    check_same(
        shard_map(
            [](Array v) {
              return ppermute(v * v, "i", {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}, {6, 7}, {7, 0}}) + pbroadcast(v, "i", 3);
            },
            {.mesh = ring(), .in_specs = P("i"), .out_specs = P("i"), .check_vma = check}),
        [](Array v) { return roll(v * v, 1, 0) + v(slice(3, 4)); }, b);
    check_same(
        shard_map([](Array v) { return v * pmax(max(v), "i") - pmin(v, "i"); },
                  {.mesh = ring(), .in_specs = P("i"), .out_specs = P("i"), .check_vma = check}),
        [](Array v) { return v * max(v) - min(v, 0, keepdims); }, b);
    check_same(
        shard_map([](Array v) { return all_to_all(v * v, "i", 1, 0, {.tiled = true}); },
                  {.mesh = ring(), .in_specs = P("i"), .out_specs = P(none, "i"), .check_vma = check}),
        [](Array v) { return v * v; }, rows(8, 16));
  }
}

TEST_CASE("what the function closes over is replicated, and differentiated") {
  const Array a = rows(8, 2), w = rows(2, 2);
  const auto mapped = [&](Array p) {
    return sum(shard_map([=](Array v) { return tanh(matmul(v, p)); }, {.mesh = ring(), .in_specs = P("i"), .out_specs = P("i")})(a) *
               cos(a));
  };
  const auto whole = [&](Array p) { return sum(tanh(matmul(a, p)) * cos(a)); };
  CHECK(tree::all_close(grad(mapped)(w), grad(whole)(w), 1e-4, 1e-5));
  CHECK(tree::all_close(jit(grad(mapped))(w), grad(whole)(w), 1e-4, 1e-5));
  CHECK(tree::all_close(hessian([&](Array p) { return mapped(reshape(p, {2, 2})); })(reshape(w, {4})),
                        hessian([&](Array p) { return whole(reshape(p, {2, 2})); })(reshape(w, {4})), 1e-3, 1e-4));
  CHECK(tree::all_close(vmap(mapped)(stack({w, 2 * w})), stack({whole(w), whole(2 * w)}), 1e-4, 1e-5));
}

TEST_CASE("gradients inside: of a replicated value they are summed over the devices, of a sum they are not") {
  const Array w = rows(1, 3)[0], x = rows(8, 3);
  auto map = [&](auto f, Specs in, Specs out, bool check) {
    return shard_map(f, {.mesh = ring(), .in_specs = in, .out_specs = out, .check_vma = check});
  };
  auto local = [](Array p, Array v) { return grad([=](Array q) { return sum(sin(q * v)); })(p); };
  const Array all = sum(cos(w * x) * x, 0);
  CHECK(tree::all_close(map(local, {P(), P("i")}, P(), true)(w, x), all, 1e-4, 1e-5));
  auto with_row = [&](Array p, Array v) { return expand_dims(local(p, v), 0); };
  CHECK(tree::all_close(map(with_row, {P(), P("i")}, P("i"), false)(w, x), cos(w * x) * x, 1e-4, 1e-5));
  // The loss is summed too: its gradient is that of one sum, where without checks it is that of all devices' equal sums.
  auto summed = [](Array p, Array v) { return grad([=](Array q) { return psum(sum(sin(q * v)), "i"); })(p); };
  CHECK(tree::all_close(map(summed, {P(), P("i")}, P(), true)(w, x), all, 1e-4, 1e-5));
  auto summed_row = [&](Array p, Array v) { return expand_dims(summed(p, v), 0); };
  CHECK(tree::all_close(map(summed_row, {P(), P("i")}, P("i"), false)(w, x), 8 * cos(w * x) * x, 1e-4, 1e-4));
  // The same through jit, vmap, scan, checkpoint, value_and_grad and jvp inside.
  auto through_jit = [&](Array p, Array v) { return jit(local)(p, v); };
  CHECK(tree::all_close(map(through_jit, {P(), P("i")}, P(), true)(w, x), all, 1e-4, 1e-5));
  auto through_vmap = [&](Array p, Array v) { return sum(vmap(local, {.in_axes = {none, 0}})(p, v), 0); };
  CHECK(tree::all_close(map(through_vmap, {P(), P("i")}, P(), true)(w, x), all, 1e-4, 1e-5));
  auto through_checkpoint = [&](Array p, Array v) {
    return grad([=](Array q) { return checkpoint([=](Array r) { return sum(sin(r * v)); })(q); })(p);
  };
  CHECK(tree::all_close(map(through_checkpoint, {P(), P("i")}, P(), true)(w, x), all, 1e-4, 1e-5));
  auto train = [&](Array p, Array v) {
    return scan([&](Array q, None) { return std::pair{q - 0.01f * local(q, v), None()}; }, p, none, {.length = 3}).first;
  };
  Array trained = w;
  for (int i = 0; i < 3; ++i) trained = trained - 0.01f * sum(cos(trained * x) * x, 0);
  CHECK(tree::all_close(map(train, {P(), P("i")}, P(), true)(w, x), trained, 1e-4, 1e-5));
  CHECK(tree::all_close(jit(map(train, {P(), P("i")}, P(), true))(w, x), trained, 1e-4, 1e-5));
}

TEST_CASE("loops and branches keep apart what varies and what doesn't") {
  const Array x = rows(8, 3);
  auto map = [&](auto f) { return shard_map(f, {.mesh = ring(), .in_specs = P("i"), .out_specs = P("i")}); };
  // A carry that starts replicated and becomes varying.
  auto mix = [](Array v) {
    return scan([&](Array c, None) { return std::pair{c * 0.5f + v, None()}; }, zeros({1, 3}), none, {.length = 3}).first;
  };
  auto mix_whole = [](Array v) { return v * 1.75f; };
  check_same(map(mix), mix_whole, x);
  auto count = [](Array v) { return fori_loop(0, 4, [&](Array i, Array c) { return c + convert(i, float32) * psum(v, "i"); }, v); };
  check_same(map(count), [](Array v) { return v + 6 * sum(v, 0, keepdims); }, x);
  auto until = [](Array v) {
    return while_loop([](Array c) { return max(abs(c)) < 4; }, [](Array c) { return c * 2; }, v, {.max_steps = 20});
  };
  const auto each = [&](Array v) { return vmap([&](Array r) { return until(expand_dims(r, 0))[0]; })(v); };
  CHECK(tree::all_close(map(until)(x), each(x), 1e-4, 1e-5));
  CHECK(tree::all_close(grad([&](Array v) { return sum(map(until)(v) * x); })(x), grad([&](Array v) { return sum(each(v) * x); })(x), 1e-4,
                        1e-4));
  auto branch = [](Array v) { return cond(sum(v) > 0, [](Array c) { return c * 3; }, [](Array c) { return zeros_like(c); }, v); };
  CHECK(tree::all_close(map(branch)(x), where(sum(x, 1, keepdims) > 0, 3 * x, zeros({8, 3})), 1e-5, 1e-5));
  auto agreed = [](Array v) { return v + cond(psum(sum(v), "i") > 0, [] { return Array(1.f); }, [] { return Array(2.f); }); };
  CHECK(tree::all_close(map(agreed)(x), x + (sum(x).item<float>() > 0 ? 1 : 2), 1e-5, 1e-5));
  // Functions with derivative rules of their own.
  auto cube = custom_jvp([](Array v, Array w) { return v * v * v * w; },
                         [](std::tuple<Array, Array> p, std::tuple<Array, Array> t) {
                           const auto& [v, w] = p;
                           return std::pair{v * v * v * w, 3 * v * v * w * std::get<0>(t) + v * v * v * std::get<1>(t)};
                         });
  const Array w = rows(1, 3)[0];
  auto rule = [&](Array p, Array v) { return grad([&](Array q) { return sum(cube(v, q)); })(p); };
  CHECK(
      tree::all_close(shard_map(rule, {.mesh = ring(), .in_specs = {P(), P("i")}, .out_specs = P()})(w, x), sum(x * x * x, 0), 1e-4, 1e-5));
}

TEST_CASE("results that may differ between devices must say so") {
  auto map = [&](auto f, Specs in, Specs out) { return shard_map(f, {.mesh = grid(), .in_specs = in, .out_specs = out}); };
  const Array a = rows(4, 8);
  auto same = [](Array v) { return v; };
  std::string message = message_of<ShardingError>([&] { map(same, P("x", "y"), P("x"))(a); });
  for (const char* part : {"shard_map", "out_specs", "`y`", "f32[2,2]", "check_vma", "shard_map.cpp"}) CHECK(has(message, part));
  CHECK(tree::all_close(map([](Array v) { return psum(v, "y"); }, P("x", "y"), P("x"))(a), sum(reshape(a, {4, 4, 2}), 1), 1e-5, 1e-5));
  CHECK(has(message_of<ShardingError>([&] { map([](Array v) { return psum(v, "x"); }, P("x", "y"), P("x"))(a); }), "`y`"));
  CHECK(has(message_of<ShardingError>([&] { map([](Array v) { return pvary(v, "x"); }, P(), P())(a); }), "`x`"));
  CHECK(has(message_of<ShardingError>([&] { map([](Array v) { return v + axis_index("x"); }, P(), P())(a); }), "`x`"));
  CHECK(has(message_of<ShardingError>([&] { map([](Array v) { return all_gather(v, "y"); }, P(none, "y"), P())(a); }), "`y`"));
  // What is the same may be said to be divided: every device gives its copy.
  CHECK(map([](Array v) { return sum(v, 0, keepdims); }, P(), P("x"))(a).shape() == Shape{2, 8});
  // A psum of what is the same counts it once for each device.
  CHECK(near(map([](Array v) { return psum(v, "y"); }, P(), P())(ones(2)), {4, 4}));
  CHECK(near(shard_map(same, {.mesh = grid(), .in_specs = P("x"), .out_specs = P(), .check_vma = false})(arange(4, float32)), {0, 1}));
}

TEST_CASE("maps within maps") {
  const Array a = rows(4, 8);
  {
    const auto scope = use_mesh(grid());
    auto inner = [](Array v) { return v / (2 + psum(sum(v * v), "x")) + psum(v, "y") + pmax(axis_index("y"), "y"); };
    auto columns = smap(inner, {.in_axes = 1, .out_axes = 1, .axis_name = "y"});
    auto both = smap(columns, {.in_axes = 0, .out_axes = 0, .axis_name = "x"});
    auto plain = shard_map([](Array v) { return v / (2 + psum(sum(v * v), "x")) + psum(v, "y") + pmax(axis_index("y"), "y"); },
                           {.mesh = grid(), .in_specs = P("x", "y"), .out_specs = P("x", "y")});
    CHECK(tree::all_close(both(a), plain(a), 1e-4, 1e-5));
    CHECK(tree::all_close(jit(both)(a), plain(a), 1e-4, 1e-5));
    CHECK(tree::all_close(grad([&](Array v) { return sum(both(v) * a); })(a), grad([&](Array v) { return sum(plain(v) * a); })(a), 1e-4,
                          1e-4));
    CHECK(both(a).devices().size() == 8);
    // shard_map without a mesh takes the one in scope.
    CHECK(tree::all_close(
        shard_map([](Array v) { return psum(v, {"x", "y"}); }, {.in_specs = P({"x", "y"}), .out_specs = P()})(arange(8, float32)),
        array({28.f})));
  }
  // A shard_map in another map is over that map's mesh.
  const Mesh two = make_mesh({2}, {"k"});
  auto within = [&](Array v) {
    return shard_map([](Array u) { return u - psum(u, "k"); }, {.mesh = two, .in_specs = P("k"), .out_specs = P("k")})(v) + psum(v, "x");
  };
  for (const auto& message :
       {message_of<ShardingError>([&] { pmap(within, {.in_axes = 1, .out_axes = 1, .axis_name = "x"})(a); }),
        message_of<ShardingError>([&] { jit(pmap(within, {.in_axes = 1, .out_axes = 1, .axis_name = "x"}))(a); }),
        message_of<ShardingError>([&] { pmap(within, {.in_axes = 1, .out_axes = 1, .axis_name = "x", .chunk = true})(rows(4, 19)); }),
        message_of<ShardingError>(
            [&] { shard_map(within, {.mesh = make_mesh({2}, {"x"}), .in_specs = P(none, "x"), .out_specs = P(none, "x")})(a); })}) {
    CAPTURE(message);
    for (const char* part : {"in scope", "Mesh('k': 2"}) CHECK(has(message, part));
  }
}

TEST_CASE("specs follow the trees of arguments and results") {
  struct Pair {
    Array w, b;
  };
  auto f = [](const Pair& p, Array v) { return std::pair{Pair{v * p.b, psum(p.w, "x")}, sum(p.b)}; };
  auto mapped = shard_map(f, {.mesh = grid(), .in_specs = {{P("x"), P()}, P(none, "y")}, .out_specs = {{P(none, "y"), P()}, P()}});
  const auto [p, s] = mapped(Pair{arange(4, float32), array({2.f})}, rows(3, 8));
  CHECK(near(p.w, (2 * rows(3, 8)).to_vector<double>()));
  CHECK(near(p.b, {2, 4}));
  CHECK(near(s, {2}));
  CHECK(mapped.lower(Pair{arange(4, float32), array({2.f})}, rows(3, 8)).as_text("jaxpr").find("psum_invariant") != std::string::npos);
  CHECK(tree::all_close(mapped.lower(p.b.shape() == Shape{2} ? Pair{arange(4, float32), array({2.f})} : p, rows(3, 8))
                            .compile()(Pair{arange(4, float32), array({2.f})}, rows(3, 8))
                            .second,
                        s));
  const auto message = message_of<ShardingError>([&] { mapped(Pair{arange(3, float32), array({2.f})}, rows(3, 8)); });
  for (const char* part : {"in_specs", "args[0].w", "f32[3]", "'x'"}) CHECK(has(message, part));
  CHECK(has(message_of<PytreeError>([&] { shard_map(f, {.mesh = grid(), .in_specs = {P(), P(), P()}, .out_specs = P()})(p, rows(3, 8)); }),
            "in_specs"));
  CHECK(has(message_of<ShardingError>([&] { shard_map([](Array v) { return v; }, {.in_specs = P(), .out_specs = P()})(ones(2)); }),
            "use_mesh"));
  CHECK(has(message_of<ShardingError>(
                [&] { shard_map([](Array v) { return v; }, {.mesh = ring(), .in_specs = P("k"), .out_specs = P()})(ones(8)); }),
            "`k`"));
}
