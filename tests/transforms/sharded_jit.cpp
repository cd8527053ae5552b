// jit of divided arrays: the program runs as they are divided, with collectives where it must.
#include "tests/runtime/devices.h"

#include <algorithm>

#include "weft/core/array/array_impl.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/runtime/host/blocks.h"
#include "weft/runtime/host/collectives.h"

using namespace weft;
using weft::sharding::P;
using namespace weft::test;

namespace {

Array rows(int n, int m) { return sin(reshape(arange(n * m, float32), {n, m})); }
Mesh grid() { return make_mesh({2, 4}, {"x", "y"}); }

/// What jit of f gives on divided arguments is what it gives on whole ones; and its program has these collectives, and no others.
template <class F, class... A>
void check_sharded(F f, const std::vector<std::string>& collectives, const A&... args) {
  const auto wanted = f(device_get(args)...);
  CHECK(tree::all_close(device_get(jit(f)(args...)), wanted, 1e-4, 1e-5));
  const std::string text = jit(f).lower(args...).as_text("jaxpr");
  CHECK(has(text, "shard_map"));
  for (const char* name : {"psum", "pmax", "pmin", "all_gather", "all_to_all", "reduce_scatter", "ppermute"}) {
    const bool is_there = text.find(std::string("= ") + name + "[") != std::string::npos;
    const bool should = std::find(collectives.begin(), collectives.end(), name) != collectives.end();
    CHECK_MESSAGE(is_there == should, name << " in " << text);
  }
}

}  // namespace

TEST_CASE("elementwise operations need no communication") {
  const Mesh mesh = grid();
  const Array a = device_put(rows(4, 8), NamedSharding{mesh, P("x", "y")});
  check_sharded([](Array v) { return tanh(v) * 2 + v; }, {}, a);
  CHECK(jit([](Array v) { return tanh(v) * 2; })(a).sharding() == NamedSharding(mesh, P("x", "y")));
  const Array row = device_put(rows(1, 8)[0], NamedSharding{mesh, P("y")});
  check_sharded([](Array v, Array r) { return where(v > 0, v, r) / (1 + exp(r)); }, {}, a, row);
  check_sharded([](Array v) { return transpose(v); }, {}, a);
  CHECK(jit([](Array v) { return transpose(v); })(a).sharding() == NamedSharding(mesh, P("y", "x")));
  check_sharded([](Array v) { return reshape(v, {4, 4, 2}) + ones({4, 4, 2}); }, {}, a);
  check_sharded([](Array v) { return expand_dims(v, 1) * ones({4, 3, 8}); }, {}, a);
  check_sharded([](Array v) { return v + arange(8, float32); }, {}, a);
  // An argument that nobody placed is cut.
  CHECK(tree::all_close(jit([](Array v, Array w) { return v * w; })(a, rows(4, 8)), rows(4, 8) * rows(4, 8)));
}

TEST_CASE("a later argument that lies otherwise than at the last call is seen") {
  const Mesh mesh = grid();
  const Array whole = rows(8, 8);
  const auto f = jit([](Array v, Array w) { return v * 2 + w; });
  const auto at = [&](const PartitionSpec& spec) { return device_put(whole, NamedSharding{mesh, spec}); };
  const Array a = at(P("x", "y"));
  // Each call twice: the second one takes the quick path of the first.
  for (const PartitionSpec& spec : {P("x", "y"), P("y", "x"), P(), P(none, "x"), P("x", "y")})
    for (int again = 0; again < 2; ++again) {
      const Array w = at(spec), y = f(a, w);
      CHECK(tree::all_close(device_get(y), whole * 2 + whole));
      CHECK(f(w, a).shape() == Shape{8, 8});
    }
  const Array elsewhere = device_put(whole, NamedSharding{Mesh({devices()[0], devices()[1]}, {2}, {"x"}), P("x")});
  CHECK_THROWS_AS(f(a, elsewhere), Error);
  CHECK(tree::all_close(device_get(f(a, a)), whole * 3));
}

TEST_CASE("reductions and products communicate over the axes that they sum over") {
  const Mesh mesh = grid();
  const Array a = device_put(rows(4, 8), NamedSharding{mesh, P("x", "y")}), b = device_put(rows(8, 4), NamedSharding{mesh, P("y", none)});
  check_sharded([](Array v) { return sum(v, 1); }, {"psum"}, a);
  CHECK(jit([](Array v) { return sum(v, 1); })(a).sharding() == NamedSharding(mesh, P("x")));
  check_sharded([](Array v) { return sum(v); }, {"psum"}, a);
  check_sharded([](Array v) { return max(v, 0) - min(v, 0); }, {"pmax", "pmin"}, a);
  check_sharded([](Array v) { return any(v > 0, 0); }, {"pmax"}, a);
  check_sharded([](Array v) { return nn::softmax(v); }, {"pmax", "psum"}, a);
  check_sharded([](Array v, Array w) { return matmul(v, w); }, {"psum"}, a, b);
  CHECK(jit(weft::matmul)(a, b).sharding() == NamedSharding(mesh, P("x", none)));
  const Array columns = device_put(rows(8, 8), NamedSharding{mesh, P(none, "y")}),
              tall = device_put(rows(4, 8), NamedSharding{mesh, P("x", none)});
  check_sharded([](Array v, Array w) { return matmul(v, w); }, {}, tall, columns);
  check_sharded([](Array v, Array w) { return matmul(v, w); }, {"all_gather"}, a, columns);
  check_sharded([](Array v) { return argmax(v, 1); }, {"all_gather"}, a);
  check_sharded([](Array v) { return cumsum(v, 0); }, {"all_to_all"}, a);
  check_sharded([](Array v) { return cumsum(v, 0); }, {}, columns);
}

TEST_CASE("stacks, windows, gathers and scatters stay divided where they don't mix elements") {
  const Mesh mesh = make_mesh({4, 2}, {"b", "m"});
  const auto put = [&](const Array& x, const PartitionSpec& spec) { return device_put(x, NamedSharding{mesh, spec}); };
  const auto data = [](const Shape& s) { return sin(reshape(arange(static_cast<int>(s.num_elements()), float32), s)); };
  const Array images = put(data({8, 3, 6, 6}), P("b")), filters = data({4, 3, 3, 3}), v = put(data({8, 16}), P("b"));
  const Array classes = put(arange(8) * 3 % 10, P("b")), table = data({10, 6}), matrices = put(data({8, 4, 4}), P("b"));
  const NamedSharding by_batch{mesh, P("b")};

  auto convolve = [](Array x, Array k) { return conv_general_dilated(x, k, {1, 1}, "SAME"); };
  check_sharded(convolve, {}, images, filters);
  CHECK(jit(convolve)(images, filters).sharding() == by_batch);
  check_sharded([&](Array x, Array k) { return grad([&](Array w) { return sum(square(convolve(x, w))); })(k); }, {"psum"}, images, filters);
  check_sharded([&](Array x, Array k) { return grad([&](Array w) { return sum(square(convolve(w, k))); })(x); }, {}, images, filters);
  // Filters that are divided: over what they give, and over what they sum.
  check_sharded(convolve, {}, images, put(filters, P("m")));
  check_sharded(convolve, {"psum"}, put(data({8, 2, 6, 6}), P("b", "m")), put(data({4, 2, 3, 3}), P(none, "m")));
  check_sharded([](Array x) { return conv_general_dilated(x, ones({4, 1, 3, 3}), {1, 1}, "SAME", {.feature_group_count = 4}); }, {},
                put(data({8, 4, 6, 6}), P("b")));
  const Array rows_last = put(data({8, 6, 6, 3}), P("b"));
  check_sharded([](Array x) { return max_pool(x, {2, 2}) + avg_pool(x, {2, 2}); }, {}, rows_last);
  check_sharded([](Array x) { return grad([](Array w) { return sum(sin(max_pool(w, {2, 2}))); })(x); }, {}, rows_last);

  check_sharded([](Array x) { return take(x, array({0, 3, 5}), 1); }, {}, v);
  check_sharded([](Array t, Array i) { return t(i); }, {}, table, classes);
  CHECK(jit([](Array t, Array i) { return t(i); })(table, classes).sharding() == by_batch);
  check_sharded([](Array t, Array i) { return t(i); }, {}, put(table, P(none, "m")), classes);
  check_sharded([](Array t, Array i) { return t(i); }, {"psum"}, put(table, P("m")), classes);
  check_sharded([](Array x, Array i) { return take_along_axis(x, expand_dims(i, 1), 1); }, {}, v, classes);
  auto cross_entropy = [](Array x, Array y) { return mean(logsumexp(x, -1) - take_along_axis(x, expand_dims(y, 1), 1)(slice(), 0)); };
  check_sharded(cross_entropy, {"psum"}, v, classes);
  check_sharded(grad(cross_entropy), {}, v, classes);
  check_sharded([](Array t, Array i) { return grad([&](Array w) { return sum(sin(w(i))); })(t); }, {"psum"}, table, classes);
  check_sharded([](Array x, Array i) { return x.at(i).add(array({1.f, 2.f, 3.f, 4.f, 5.f, 6.f, 7.f, 8.f})); }, {"psum"},
                arange(10, float32), classes);
  check_sharded([](Array x, Array i) { return x.at(i).max(array({1.f, 2.f, 3.f, 4.f, 5.f, 6.f, 7.f, 8.f})); }, {"pmax"},
                arange(10, float32), classes);
  check_sharded([](Array x, Array i) { return x.at(i).multiply(2); }, {"all_gather"}, arange(10, float32), classes);
  check_sharded([](Array x) { return x.at(slice(), 2).set(1.f); }, {}, v);
  check_sharded([](Array x, Array i) { return dynamic_slice(x, {0, i}, {8, 2}); }, {}, v, array(3));
  check_sharded([](Array x, Array i) { return dynamic_update_slice(x, ones({8, 2}), {0, i}); }, {}, v, array(3));
  check_sharded([](Array x) { return split(x, 4, 1)[2]; }, {}, v);

  check_sharded([](Array x) { return abs(fft::fft(x)); }, {}, v);
  check_sharded([](Array x) { return abs(fft::fft(x)); }, {"all_to_all"}, put(data({8, 16}), P("b", "m")));
  check_sharded([](Array x) { return linalg::cholesky(matmul(x, swapaxes(x, -1, -2)) + 5 * eye(4)); }, {}, matrices);
  check_sharded([](Array x) { return linalg::inv(x + 5 * eye(4)); }, {}, matrices);
  check_sharded([](Array x, Array y) { return linalg::solve(x + 5 * eye(4), y); }, {}, matrices, put(data({8, 4, 2}), P("b")));
  check_sharded([](Array x) { return linalg::eigh(x + swapaxes(x, -1, -2)).eigenvalues; }, {}, matrices);
  check_sharded([](Array x) { return linalg::det(x); }, {}, matrices);
  check_sharded([](Array x) { return top_k(x, 3).values; }, {}, v);
  check_sharded([](Array x) { return top_k(x, 3).indices; }, {"all_to_all"}, put(data({8, 16}), P("b", "m")));
  check_sharded([](Array x) { return prod(x, 0); }, {"all_gather"}, v);
  check_sharded([](Array k) { return vmap([](Array a) { return random::normal(random::fold_in(a, 3), 16); })(k); }, {},
                put(random::split(random::key(0), 8), P("b")));
  check_sharded([](Array x) { return where(random::bernoulli(random::key(1), .5f, x.shape()), x, 0); }, {}, v);
}

TEST_CASE("shifts along a divided dimension send what crosses the borders of blocks") {
  const Mesh mesh = make_mesh({4, 2}, {"b", "m"});
  const auto put = [&](const Array& x, const PartitionSpec& spec) { return device_put(x, NamedSharding{mesh, spec}); };
  const auto moved = [](auto f, const Array& x) {
    f(x);
    const std::int64_t before = detail::collective_counters().bytes_moved;
    f(x);
    return detail::collective_counters().bytes_moved - before;
  };
  const auto stays = [&](auto f, const Array& x) {
    check_sharded(f, {"ppermute"}, x);
    CHECK(jit(f)(x).sharding() == x.sharding());
  };
  for (const PartitionSpec& spec : {P("b"), P({"b", "m"}), P({"m", "b"}, none), P("m", "b")}) {
    const Array x = put(rows(16, 8), spec);
    for (const int by : {1, -1, 2, 3, 7, 8, 11, 15, -18}) stays([=](Array v) { return roll(v, by, 0) * 2; }, x);
    stays([](Array v) { return flip(v, 0); }, x);
    stays([](Array v) { return pad(v(slice(1, none)), {{0, 1}, {0, 0}}, 1.5f); }, x);
    stays([](Array v) { return pad(v(slice(0, 13)), {{3, 0}, {0, 0}}); }, x);
    stays([](Array v) { return pad(v(slice(5, none)), {{2, 3}, {0, 0}}, 2.f); }, x);
    stays([](Array v) { return concatenate({v(slice(1, none)), zeros({1, 8})}); }, x);
    stays([](Array v) { return concatenate({ones({2, 8}), v(slice(3, 12)), full({5, 8}, -1.f, float32)}); }, x);
    stays([](Array v) { return concatenate({v(slice(13, none)), v(slice(0, 13))}) - v; }, x);
    stays([](Array v) { return concatenate({v(slice(2, none))(slice(1, none)), v(slice(0, 3))}); }, x);
    // An edge that is repeated: two shifts.
    stays([](Array v) { return concatenate({v(slice(0, 1)), v(slice(0, 15))}); }, x);
    // Derivatives, and a loop that is compiled as one program.
    stays([](Array v) { return grad([](Array w) { return sum(sin(roll(w, 1, 0) - w)); })(v); }, x);
    stays([](Array v) { return fori_loop(0, 5, [](Array, Array u) { return u + .1f * (roll(u, 1, 0) - 2 * u + roll(u, -1, 0)); }, v); }, x);
  }
  // Whole blocks that change places, in both dimensions; what isn't divided is not sent.
  const Array both = put(rows(16, 8), P("b", "m"));
  stays([](Array v) { return roll(roll(v, 4, 0), 4, 1); }, both);
  stays([](Array v) { return flip(flip(v, 0), 1); }, both);
  check_sharded([](Array v) { return roll(v, 3, 1); }, {}, put(rows(16, 8), P("b")));
  const Array tall = put(rows(4096, 8), P("b"));
  const auto heat = jit([](Array u) { return u + .1f * (roll(u, 1, 0) - 2 * u + roll(u, -1, 0)); });
  // A row of 8 numbers from each of 8 devices, two ways.
  CHECK(moved(heat, tall) == 2 * 8 * 8 * 4);
  // What is not the same length as the divided value is gathered.
  check_sharded([](Array v) { return v(slice(1, none)) - v(slice(0, 15)); }, {"all_gather"}, put(rows(16, 8), P("b")));
  check_sharded([](Array v) { return concatenate({v, v}); }, {"all_gather"}, put(rows(16, 8), P("b")));
  // What looks like a shift and is none: parts of two values, every second row, rows set apart.
  const Array plain = put(rows(16, 8), P("b"));
  check_sharded([](Array v) { return concatenate({v(slice(1, none)), (v * 2)(slice(0, 1))}); }, {"all_gather", "psum"}, plain);
  check_sharded([](Array v) { return concatenate({v(slice(0, none, 2)), v(slice(1, none, 2))}); }, {"all_gather"}, plain);
  const auto padded = [](Array v, const detail::PaddingConfig& config) {
    return detail::pad_with(v, detail::make_literal(7, v.dtype()), config, {});
  };
  check_sharded([&](Array v) { return padded(v(slice(0, 8)), {{4, 4, 1}, {0, 0, 0}}); }, {"psum"}, plain);
  // Padding that takes rows away.
  stays([&](Array v) { return padded(v, {{-3, 3, 0}, {0, 0, 0}}); }, plain);
  stays([&](Array v) { return padded(v(slice(2, none)), {{-1, 3, 0}, {0, 0, 0}}); }, plain);
  // Numbers of other types.
  for (DType t : {bool_, int8, bfloat16, complex64}) {
    const Array x = put(convert(rows(16, 8) * 5, t), P("b"));
    check_sharded([](Array v) { return roll(v, 5, 0); }, {"ppermute"}, x);
    check_sharded([](Array v) { return concatenate({v(slice(1, none)), zeros_like(v(slice(0, 1)))}); }, {"ppermute"}, x);
  }
}

TEST_CASE("derivatives of jitted functions stay compiled and divided; what jit donates is taken") {
  const Mesh mesh = grid();
  const Array w = device_put(rows(8, 4), NamedSharding{mesh, P(none, "y")}), x = device_put(rows(16, 8), NamedSharding{mesh, P("x", none)});
  const auto loss = jit([](Array p, Array v) { return sum(square(tanh(matmul(v, p)))); });
  const auto [value, gradient] = value_and_grad(loss)(w, x);
  CHECK(gradient.sharding() == w.sharding());
  const auto [want, want_gradient] = value_and_grad(loss)(device_get(w), device_get(x));
  CHECK(tree::all_close(device_get(gradient), want_gradient, 1e-5, 1e-5));
  CHECK(near(value, {want.item<double>()}));
  const auto step = jit([&](Array p, Array v) { return p - .1f * grad(loss)(p, v); }, {.donate_argnums = {0}});
  Array p = w + 0;
  const auto address = [](const Array& a) { return a.addressable_shards()[5].data.data<float>().data(); };
  const float* const before = address(p);
  const Array q = step(p, x);
  CHECK(q.sharding() == w.sharding());
  CHECK(has(message_of<Error>([&] { p + 1; }), "donated"));
  CHECK(tree::all_close(device_get(q), device_get(w) - .1f * want_gradient, 1e-5, 1e-5));
  CHECK(address(q) == before);
  // Arguments that lie otherwise find another program, and find the first again.
  const auto doubled = jit([](Array v) { return v * 2; });
  const Array other = device_put(rows(8, 4), NamedSharding{mesh, P("x", none)}), alone = device_put(rows(8, 4), devices()[3]);
  for (int k = 0; k < 3; ++k) {
    CHECK(doubled(w).sharding() == w.sharding());
    CHECK(doubled(other).sharding() == other.sharding());
    CHECK(doubled(alone).devices() == std::vector{devices()[3]});
    CHECK(doubled(rows(8, 4)).devices() == std::vector{devices()[0]});
    CHECK(grad([&](Array v) { return sum(doubled(v) * v); })(alone).devices() == std::vector{devices()[3]});
  }
}

TEST_CASE("constraints move data") {
  const Mesh mesh = grid();
  const NamedSharding blocks{mesh, P("x", "y")}, by_rows{mesh, P({"x", "y"}, none)}, by_columns{mesh, P(none, {"x", "y"})};
  const Array a = device_put(rows(8, 8), by_rows);
  check_sharded([&](Array v) { return with_sharding_constraint(v * 2, by_columns) + 1; }, {"all_gather"}, a);
  check_sharded([&](Array v) { return with_sharding_constraint(v * 2, NamedSharding{mesh, P("x", none)}); }, {"all_gather"},
                device_put(rows(8, 8), blocks));
  check_sharded([&](Array v) { return with_sharding_constraint(v * 2, blocks); }, {"all_to_all"}, a);
  check_sharded([&](Array v) { return with_sharding_constraint(v * 2, NamedSharding{mesh, P()}); }, {"all_gather"}, a);
  // Of an array that lies in one place, too.
  const Array whole = rows(8, 8);
  CHECK(jit([&](Array v) { return with_sharding_constraint(v * v, blocks); })(whole).sharding() == blocks);
  CHECK(jit([](Array v) { return v + 1; }, {.in_shardings = blocks, .out_shardings = by_rows})(whole).sharding() == by_rows);
  CHECK(tree::all_close(jit([](Array v) { return v + 1; }, {.in_shardings = blocks, .out_shardings = by_rows})(whole), whole + 1));
  const std::string text =
      jit([](Array v) { return v + 1; }, {.in_shardings = blocks, .out_shardings = by_rows}).lower(whole).as_text("jaxpr");
  CHECK(has(text, "shard_map"));
  // With other transforms, and eagerly.
  auto f = [&](Array v) { return sum(sin(with_sharding_constraint(v, blocks))); };
  CHECK(tree::all_close(jit(grad(f))(a), cos(whole)));
  CHECK(tree::all_close(jit(vmap(f))(stack({whole, whole})), stack({sum(sin(whole)), sum(sin(whole))})));
  CHECK(with_sharding_constraint(whole, blocks).sharding() == blocks);
  CHECK(reshard(a, blocks).sharding() == blocks);
  // Over the mesh in scope.
  CHECK(refuses<ShardingError>([&] { reshard(a, P("x")); }, {"reshard", "no mesh in scope", "use_mesh"}));
  const Scope scope = use_mesh(mesh);
  CHECK(reshard(a, P("x", "y")).sharding() == blocks);
  CHECK(jit([](Array v) { return with_sharding_constraint(v * v, P("x", "y")); })(whole).sharding() == blocks);
}

TEST_CASE("whole training steps, loops and branches run as one program") {
  const Mesh mesh = grid();
  const Array w = device_put(rows(8, 4), NamedSharding{mesh, P(none, "y")}), x = device_put(rows(16, 8), NamedSharding{mesh, P("x", none)});
  auto loss = [](Array p, Array v) { return mean(square(tanh(matmul(v, p)))); };
  check_sharded([&](Array p, Array v) { return p - 0.1f * grad(loss)(p, v); }, {"psum"}, w, x);
  CHECK(jit([&](Array p, Array v) { return p - 0.1f * grad(loss)(p, v); })(w, x).sharding() == NamedSharding(mesh, P(none, "y")));
  auto steps = [&](Array p, Array v) {
    return scan([&](Array c, None) { return std::pair{c - 0.1f * grad(loss)(c, v), loss(c, v)}; }, p, none, {.length = 3});
  };
  CHECK(tree::all_close(device_get(jit(steps)(w, x)), steps(device_get(w), device_get(x)), 1e-4, 1e-5));
  auto halved = [](Array v) { return while_loop([](Array c) { return max(c) > 0.1f; }, [](Array c) { return c / 2; }, v); };
  CHECK(tree::all_close(jit(halved)(x), halved(device_get(x))));
  auto either = [](Array v) {
    return cond(sum(v) > 0, [](Array c) { return c * 2; }, [](Array c) { return transpose(transpose(c)) - 1; }, v);
  };
  CHECK(tree::all_close(jit(either)(x), either(device_get(x))));
  // What has no rule of its own runs on whole operands.
  CHECK(tree::all_close(jit([](Array v) { return sort(v, 0) + flip(v) + v(slice(1, 3), slice())(0); })(x), [&] {
    const Array v = device_get(x);
    return sort(v, 0) + flip(v) + v(slice(1, 3), slice())(0);
  }()));
  CHECK(tree::all_close(jit([](Array v) { return concatenate({v, v * 2}, 1) + pad(v, {{0, 0}, {0, 8}}); })(x), [&] {
    const Array v = device_get(x);
    return concatenate({v, v * 2}, 1) + pad(v, {{0, 0}, {0, 8}});
  }()));
  // A shard_map inside, on the same mesh, takes blocks as they are.
  auto halves = shard_map([](Array v) { return psum(v, "y"); }, {.mesh = mesh, .in_specs = P("x", "y"), .out_specs = P("x", none)});
  const Array blocks = device_put(rows(4, 8), NamedSharding{mesh, P("x", "y")});
  CHECK(tree::all_close(jit([&](Array v) { return halves(v * 2) + 1; })(blocks), halves(2 * rows(4, 8)) + 1));
}

TEST_CASE("one program takes arrays over several meshes of the same devices") {
  const Mesh line = make_mesh({8}, {"i"}), wide = make_mesh({2, 4}, {"x", "y"}), tall = make_mesh({4, 2}, {"x", "y"}),
             cube = make_mesh({2, 2, 2}, {"a", "b", "c"}), padded = make_mesh({1, 8, 1}, {"p", "q", "r"});
  const Array x = rows(8, 8), y = rows(8, 8) - 20;
  auto both = [](Array a, Array b) { return std::pair{a * 2 - b, matmul(a, b)}; };
  const auto want = both(x, y);
  const std::vector<NamedSharding> places{
      {line, P("i")},        {line, P(none, "i")},       {wide, P("x", "y")}, {wide, P(none, {"y", "x"})}, {tall, P("x", "y")},
      {tall, P({"x", "y"})}, {cube, P({"a", "c"}, "b")}, {cube, P()},         {padded, P("q", "p")}};
  for (const NamedSharding& one : places)
    for (const NamedSharding& other : places) {
      CAPTURE(detail::described(one) + " " + detail::described(other));
      const Array a = device_put(x, one), b = device_put(y, other);
      CHECK(tree::all_close(device_get(jit(both)(a, b)), want));
      CHECK(tree::all_close(device_get(a * 2 - b), want.first));
      CHECK(tree::all_close(device_get(matmul(a, b)), want.second));
      auto loss = [&](Array p, Array v) { return sum(square(jit(both)(p, v).second)); };
      CHECK(tree::all_close(device_get(grad(loss)(a, b)), grad(loss)(x, y), 1e-4));
    }
  // Shardings are stated over the first array's mesh where it has axes for them.
  const NamedSharding by_line(line, P("i"));
  const Array a = device_put(x, by_line), b = device_put(y, NamedSharding(wide, P({"x", "y"})));
  auto plus = [](Array p, Array q) { return p + q; };
  CHECK(jit(plus)(a, b).sharding() == by_line);
  CHECK(jit(plus)(b, a).sharding() == b.sharding());
  CHECK((a + b).sharding() == by_line);
  check_sharded(plus, {}, a, b);
  // A constraint's result is over the constraint's mesh, and the program goes on with either.
  const NamedSharding columns(wide, P("y", "x"));
  CHECK(jit([&](Array v) { return with_sharding_constraint(v * 2, columns); })(a).sharding() == columns);
  const Array again = jit([&](Array v) {
    return scan([&](Array c, None) { return std::pair{with_sharding_constraint(c * 2, columns) + v, none}; }, v, none, {.length = 2}).first;
  })(a);
  CHECK(tree::all_close(device_get(again), x * 7));
  // Meshes that divide the devices differently: over pieces of their axes, which later programs take like any other.
  const Array c = device_put(x, NamedSharding(wide, P("x", "y"))), d = device_put(y, NamedSharding(tall, P("x", "y")));
  const Array sum_of_both = jit(plus)(c, d);
  CHECK(tree::all_close(device_get(jit(plus)(sum_of_both, d) - a), y * 2));
  // Donation goes through the restatement.
  const Array given = device_put(rows(8, 16), by_line);
  const auto address = [](const Array& v) { return v.addressable_shards()[5].data.data<float>().data(); };
  const float* const before = address(given);
  const Array result =
      jit([&](Array v) { return with_sharding_constraint(v * 2, NamedSharding(wide, P({"x", "y"}))); }, {.donate_argnums = {0}})(given);
  CHECK(address(result) == before);
  CHECK(tree::all_close(device_get(result), rows(8, 16) * 2));
}

TEST_CASE("the text of a sharded program's kernels says what its collectives move") {
  const Mesh mesh = make_mesh({4}, {"i"});
  const Array x = device_put(reshape(arange(32, float32), {8, 4}), NamedSharding(mesh, sharding::P("i")));
  const std::string sums = jit([](Array v) { return sum(v * v, 0); }).lower(x).as_text();
  CHECK(sums.find("psum over i of f32[4] on each of 4 devices to f32[4]; 96 bytes moved\n") != std::string::npos);
  // An element of another device's block: what it takes is read before it runs.
  const std::string row = jit([](Array v) { return v(3); }).lower(x).as_text();
  CHECK(row.find("psum over i of u32[1,4] on each of 4 devices to u32[1,4]; 96 bytes moved\n") != std::string::npos);
  const std::string whole =
      jit([](Array v) { return v; }, {.out_shardings = NamedSharding(mesh, sharding::P())}).lower(x).compile().as_text("kernels");
  CHECK(whole.find("all_gather over i of f32[2,4] on each of 4 devices to f32[8,4]; 384 bytes moved\n") != std::string::npos);
  const auto before = detail::collective_counters();
  jit([](Array v) { return sum(v * v, 0); })(x).block_until_ready();
  CHECK(detail::collective_counters().bytes_moved - before.bytes_moved == 96);
  CHECK(jit([](Array v) { return sum(v * v); }).lower(ones(8)).as_text().find("moved") == std::string::npos);
}

TEST_CASE("arguments that don't fit together are refused by name") {
  const std::vector<Device> all = devices();
  const Mesh mesh = grid(), small = make_mesh({2}, {"x"}), other({all.rbegin(), all.rend()}, {4, 2}, {"x", "y"});
  auto plus = [](Array a, Array b) { return a + b; };
  const Array a = device_put(rows(4, 8), NamedSharding{mesh, P("x", "y")}), b = device_put(rows(4, 8), NamedSharding{other, P("x", "y")});
  std::string message = message_of<ShardingError>([&] { jit(plus)(a, b); });
  for (const char* part : {"jit", "args[0]", "args[1]", "f32[4,8]", "'x': 2", "'x': 4", "sharded_jit.cpp"}) CHECK(has(message, part));
  message = message_of<DeviceError>([&] { jit(plus)(a, device_put(rows(4, 8), devices()[3])); });
  for (const char* part : {"args[0]", "args[1]", "cpu:3"}) CHECK(has(message, part));
  CHECK(has(message_of<ShardingError>([&] { jit(plus)(a, device_put(rows(4, 8), NamedSharding{small, P("x")})); }),
            {"args[0]", "args[1]", "Mesh('x': 2, 'y': 4,", "Mesh('x': 2, axis_types"}));
  CHECK(has(message_of<ShardingError>([&] { jit([&](Array v) { return with_sharding_constraint(v, NamedSharding{other, P("x")}); })(a); }),
            {"sharding_constraint", "same devices in the same order", "cpu:7, cpu:6", "reshard"}));
  // 2 x 3 and 3 x 2 devices have no common refinement.
  const std::vector<Device> six(all.begin(), all.begin() + 6);
  const NamedSharding flat(Mesh(six, {2, 3}, {"x", "y"}), P("x")), tall(Mesh(six, {3, 2}, {"x", "y"}), P("x"));
  CHECK(has(message_of<ShardingError>([&] { jit(plus)(device_put(rows(6, 6), flat), device_put(rows(6, 6), tall)); }),
            {"args[0]", "args[1]", "'x': 3"}));
  CHECK(
      has(message_of<ShardingError>([&] { with_sharding_constraint(ones(3), NamedSharding{mesh, P("x")}); }), "with_sharding_constraint"));
}
