// Callbacks and prints: how often they run, with what, and in which order, under every transform.
#include <map>
#include <stdexcept>

#include "tests/transforms/capture.h"
#include "tests/transforms/checks.h"

using namespace weft;
using namespace weft::test;

namespace {

struct Layer {
  Array w, b;
};

const bool several_devices = [] {
  config.num_cpu_devices = 8;
  return true;
}();

const ShapeDtypeStruct scalar{};

/// f with a count of its calls.
struct Counted {
  int* calls;
  Array operator()(const Array& x) const {
    ++*calls;
    return x * 2;
  }
};

}  // namespace

TEST_CASE("pure_callback is an operation of known shape") {
  auto twice = [](Array v) { return v * 2; };
  auto f = [&](Array v) { return pure_callback(twice, ShapeDtypeStruct{{2}, float32}, v) + 1; };
  const Array x = array({1.f, 2.f});
  CHECK(near(f(x), {3, 5}));
  CHECK(near(jit(f)(x), {3, 5}));
  const Jaxpr j = make_jaxpr(f)(x);
  CHECK(j.eqns()[0].primitive() == "pure_callback");
  for (const char* part : {"callback=<lambda>", "result_avals=(f32[2])", "vmap_method=sequential"}) CHECK(has(j.to_string(), part));
  // Trees in and out, static parameters, several threads of the program's own.
  auto swap = [](Layer l, int times) { return Layer{l.b, l.w * times}; };
  const Layer shapes{ShapeDtypeStruct{{2}, float32}, ShapeDtypeStruct{{1}, int32}};
  const Layer r = jit([&](Layer l) { return pure_callback(swap, shapes, l, 3); })(Layer{array({4}), x});
  CHECK(near(r.w, {1, 2}));
  CHECK(near(r.b, {12}));
  // A number is a scalar of the dtype that was promised.
  CHECK(near(jit([](Array v) { return pure_callback([](Array) { return 7; }, ShapeDtypeStruct{}, v); })(x), {7}));
}

TEST_CASE("pure_callback runs when the program does, and not when nobody wants its result") {
  int calls = 0;
  auto f = jit([&](Array v) { return pure_callback(Counted{&calls}, scalar, v) + 1; });
  f(1.f), f(2.f), f(3.f);
  CHECK(calls == 3);
  jit([&](Array v) {
    pure_callback(Counted{&calls}, scalar, v);
    return v;
  })(1.f);
  CHECK(calls == 3);
}

TEST_CASE("pure_callback under vmap: once a lane, or once for all") {
  int calls = 0;
  auto one = [&](Array v) { return pure_callback(Counted{&calls}, scalar, v); };
  CHECK(near(vmap(one)(array({1.f, 2.f, 3.f})), {2, 4, 6}));
  CHECK(calls == 3);
  CHECK(near(jit(vmap(one))(array({1.f, 2.f, 3.f})), {2, 4, 6}));
  CHECK(near(vmap(jit(one))(array({1.f, 2.f, 3.f})), {2, 4, 6}));
  auto sum_of = [](Array a, Array b) { return a + b; };
  auto two = [&](Array a, Array b) { return pure_callback(sum_of, scalar, a, b); };
  const Array table = vmap(vmap(two, {.in_axes = {0, none}}), {.in_axes = {none, 0}})(array({1.f, 2.f, 3.f}), array({10.f, 20.f}));
  CHECK(table.shape() == Shape{2, 3});
  CHECK(near(table, {11, 12, 13, 21, 22, 23}));
  for (const char* method : {"expand_dims", "broadcast_all"}) {
    calls = 0;
    std::vector<Shape> shapes;
    auto whole = [&](Array a, Array b) {
      ++calls;
      shapes = {a.shape(), b.shape()};
      return a + b;
    };
    auto f = [&](Array a, Array b) { return pure_callback(whole, scalar, {.vmap_method = method}, a, b); };
    CHECK(near(vmap(f, {.in_axes = {0, none}})(array({1.f, 2.f, 3.f}), 10.f), {11, 12, 13}));
    CHECK(calls == 1);
    CHECK(shapes[0] == Shape{3});
    CHECK(shapes[1] == (std::string(method) == "expand_dims" ? Shape{1} : Shape{3}));
  }
  CHECK(refuses<Error>([&] { pure_callback(sum_of, scalar, {.vmap_method = "fast"}, 1.f, 2.f); }, {"vmap_method", "fast", "callback.cpp"}));
}

TEST_CASE("pure_callback in loops, branches and maps") {
  auto twice = [](Array v) { return v * 2; };
  auto call = [&](Array v) { return pure_callback(twice, scalar, v); };
  CHECK(near(jit([&](Array v) { return fori_loop(0, 5, [&](Array, Array c) { return call(c); }, v); })(1.f), {32}));
  CHECK(near(fori_loop(0, 5, [&](Array, Array c) { return call(c); }, 1.f), {32}));
  CHECK(near(scan([&](Array c, Array v) { return std::pair{c + call(v), call(c)}; }, 0.f, array({1.f, 2.f})).second, {0, 4}));
  CHECK(near(jit([&](Array v) { return cond(v > 0, call, [](Array a) { return a; }, v); })(3.f), {6}));
  CHECK(near(vmap([&](Array v) { return cond(v > 0, call, [](Array a) { return a; }, v); })(array({3.f, -3.f})), {6, -3}));
  CHECK(near(pmap(call)(array({1.f, 2.f, 3.f})), {2, 4, 6}));
  CHECK(near(jit(pmap([&](Array v) { return psum(call(v), "i"); }, {.axis_name = "i"}))(array({1.f, 2.f})), {6, 6}));
  CHECK(near(vmap(pmap(call))(array({{1.f, 2.f}, {3.f, 4.f}})), {2, 4, 6, 8}));
}

TEST_CASE("a callback has no derivative but by a rule around it") {
  auto sine = [](Array v) { return sin(v); };
  auto call = [&](Array v) { return pure_callback(sine, scalar, v); };
  CHECK(refuses<TracerError>([&] { grad(call)(1.f); }, {"pure_callback", "custom_jvp", "callback.cpp"}));
  CHECK(refuses<TracerError>([&] { jvp(jit(call), std::tuple{1.f}, std::tuple{1.f}); }, {"pure_callback", "custom_jvp", "callback.cpp"}));
  CHECK(refuses<TracerError>([&] { grad([&](Array v) { return io_callback(sine, scalar, v); })(1.f); }, {"io_callback", "custom_jvp"}));
  auto ruled = custom_jvp(call, [&](auto primals, auto tangents) {
    const auto [x] = primals;
    const auto [dx] = tangents;
    return std::pair{call(x), cos(x) * dx};
  });
  CHECK(near(grad(ruled)(0.3f), {std::cos(0.3)}));
  CHECK(near(jit(vmap(grad(ruled)))(array({0.f, 0.3f})), {1, std::cos(0.3)}));
  CHECK(near(grad([&](Array v) { return v * call(stop_gradient(v)); })(0.3f), {std::sin(0.3)}));
}

TEST_CASE("a callback that doesn't keep its promise") {
  auto wide = [](Array v) { return stack({v, v}); };
  CHECK(refuses<ShapeError>([&] { jit([&](Array v) { return pure_callback(wide, scalar, v); })(1.f); },
                            {"pure_callback", "f32[2]", "f32[]", "callback.cpp"}));
  CHECK(refuses<DTypeError>([&] { pure_callback([](Array v) { return convert(v, int32); }, scalar, 1.f); }, {"i32[]", "f32[]"}));
  CHECK(refuses<PytreeError>([&] { pure_callback([](Array v) { return std::vector{v, v}; }, std::vector<ShapeDtypeStruct>{scalar}, 1.f); },
                             {"2", "1"}));
  // What a callback throws comes through, and the program runs again.
  bool fail = true;
  auto moody =
      jit([&](Array v) { return pure_callback([&](Array a) { return fail ? throw std::out_of_range("moody") : a + 1; }, scalar, v * 2); });
  CHECK_THROWS_AS(moody(1.f), std::out_of_range);
  fail = false;
  CHECK(near(moody(1.f), {3}));
}

TEST_CASE("io_callback runs once for each time that the program comes to it") {
  std::vector<float> seen;
  auto note = [&](Array v) {
    seen.push_back(v.item<float>());
    return v * 10;
  };
  auto f = [&](Array v) { return io_callback(note, scalar, {.ordered = true}, v) + 1; };
  CHECK(near(f(1.f), {11}));
  CHECK(near(jit(f)(2.f), {21}));
  effects_barrier();
  CHECK(seen == std::vector<float>{1, 2});
  seen.clear();
  // Also where nobody wants its result, in the order of the program, between callbacks of other kinds.
  auto several = [&](Array v) {
    io_callback(note, scalar, v);
    debug::callback(note, v + 1);
    Array w = v * v;
    io_callback(note, scalar, w);
    return v;
  };
  jit(several)(3.f);
  CHECK(seen == std::vector<float>{3, 4, 9});
  seen.clear();
  jit([&](Array v) { return jit(several)(jit(several)(v)); })(3.f);
  CHECK(seen == std::vector<float>{3, 4, 9, 3, 4, 9});
  seen.clear();
  jit([&](Array xs) {
    return scan(
               [&](Array c, Array x) {
                 io_callback(note, scalar, x);
                 return std::pair{c, none};
               },
               0.f, xs)
        .first;
  })(array({1.f, 2.f, 3.f}));
  CHECK(seen == std::vector<float>{1, 2, 3});
  seen.clear();
  eval_shape(several, 1.f);
  make_jaxpr(several)(1.f);
  CHECK(seen.empty());
}

TEST_CASE("io_callback under vmap, grad and checkpoint") {
  std::vector<float> seen;
  auto note = [&](Array v) {
    seen.push_back(v.item<float>());
    return v * 10;
  };
  auto unordered = [&](Array v) { return io_callback(note, scalar, v); };
  CHECK(near(vmap(unordered)(array({1.f, 2.f})), {10, 20}));
  CHECK(seen == std::vector<float>{1, 2});
  CHECK(refuses<TracerError>([&] { vmap([&](Array v) { return io_callback(note, scalar, {.ordered = true}, v); })(ones(2)); },
                             {"io_callback", "ordered", "callback.cpp"}));
  auto branch = [&](Array v) { return cond(v > 0, unordered, [](Array a) { return a; }, v); };
  CHECK(refuses<TracerError>([&] { vmap(branch)(ones(2)); }, {"cond", "io_callback"}));
  auto loop = [&](Array v) { return while_loop([](Array a) { return a < 50; }, unordered, v); };
  CHECK(refuses<TracerError>([&] { vmap(loop)(ones(2)); }, {"while_loop", "io_callback"}));
  seen.clear();
  auto weighed = [&](Array v) { return v * v * unordered(stop_gradient(v)); };
  CHECK(near(grad(weighed)(3.f), {180}));
  CHECK(seen == std::vector<float>{3});
  seen.clear();
  CHECK(near(jit(grad(checkpoint(weighed)))(3.f), {180}));
  CHECK(seen == std::vector<float>{3});
  seen.clear();
  CHECK(near(grad(grad(weighed))(3.f), {60}));
  CHECK(seen == std::vector<float>{3});
}

TEST_CASE("debug::print writes a line when the program runs") {
  auto f = jit([](Array x) {
    debug::print("x = {}", x);
    return x * 2;
  });
  CHECK(printed([&] { f(3.f), f(4.f); }) == "x = 3.0\nx = 4.0\n");
  CHECK(printed([] { debug::print("{} and {:.2f}, {{}} {:>5}", array({1, 2}), 1.f / 3, 7); }) == "[1 2] and 0.33, {}     7\n");
  CHECK(printed([] { debug::print("{1} {0} {1}", 1, true); }) == "True 1 True\n");
  CHECK(printed([] { debug::print("nothing"); }) == "nothing\n");
  const Layer layer{array({1.f, 2.f}), 3};
  CHECK(printed([&] { debug::print("{}: {}", "layer", layer); }) == "layer: (w=[1. 2.], b=3)\n");
  CHECK(printed([&] { debug::print("{}", std::vector<Layer>{layer}); }) == "[(w=[1. 2.], b=3)]\n");
  CHECK(printed([&] { debug::print("{}", std::map<std::string, Array>{{"k", 1}}); }) == "{\"k\": 1}\n");
  CHECK(has(make_jaxpr([](Array x) {
              debug::print("x = {}", x);
              return x;
            })(1.f)
                .to_string(),
            "debug_print[fmt='x = {}'] a"));
  CHECK(refuses<Error>([] { debug::print("{} {}", 1); }, {"debug::print", "field 1", "callback.cpp"}));
  CHECK(refuses<Error>([] { debug::print("{}", 1, 2); }, {"debug::print", "argument 1"}));
  CHECK(refuses<Error>([] { debug::print("{", 1); }, {"debug::print"}));
  CHECK(refuses<Error>([] { debug::print("}", 1); }, {"debug::print"}));
  CHECK(refuses<Error>([] { debug::print("{x}", 1); }, {"debug::print", "{x}"}));
  CHECK(refuses<Error>([] { debug::print("{:.2f}", ones(2)); }, {"debug::print", "f32[2]", "callback.cpp"}));
  CHECK(refuses<Error>([] { debug::print("{:q}", 1.f); }, {"debug::print", "callback.cpp"}));
}

TEST_CASE("debug::print under vmap: a line for each lane, with its label") {
  auto f = [](Array x, Array y) {
    debug::print("{} {}", x, y);
    return x + y;
  };
  const Array xs = array({1.f, 2.f});
  CHECK(printed([&] { vmap(f, {.in_axes = {0, none}})(xs, 5); }) == "[lane 0] 1.0 5\n[lane 1] 2.0 5\n");
  CHECK(printed([&] { jit(vmap(f, {.in_axes = {0, none}, .axis_name = "i"}))(xs, 5); }) == "[i=0] 1.0 5\n[i=1] 2.0 5\n");
  CHECK(printed([&] { vmap(vmap(f, {.in_axes = {0, none}}), {.in_axes = {none, 0}, .axis_name = "row"})(xs, array({7, 8})); }) ==
        "[row=0, lane 0] 1.0 7\n[row=0, lane 1] 2.0 7\n[row=1, lane 0] 1.0 8\n[row=1, lane 1] 2.0 8\n");
  // What is the same for all lanes is printed once.
  CHECK(printed([&] {
          vmap([](Array x) {
            debug::print("once");
            return x;
          })(xs);
        }) == "once\n");
  CHECK(printed([&] {
          vmap([](Array x) {
            return scan(
                       [](Array c, Array k) {
                         debug::print("{}", c + k);
                         return std::pair{c, none};
                       },
                       x, array({10.f, 20.f}))
                .first;
          })(xs);
        }) == "[lane 0] 11.0\n[lane 1] 12.0\n[lane 0] 21.0\n[lane 1] 22.0\n");
}

TEST_CASE("debug::print under derivatives: the primal values, once") {
  auto f = [](Array x) {
    const Array y = sin(x);
    debug::print("y = {:.3f}", y);
    return y * y;
  };
  const std::string once = "y = 0.841\n";
  CHECK(printed([&] { grad(f)(1.f); }) == once);
  CHECK(printed([&] { jit(value_and_grad(f))(1.f); }) == once);
  CHECK(printed([&] { grad(jit(f))(1.f); }) == once);
  CHECK(printed([&] { grad(grad(f))(1.f); }) == once);
  CHECK(printed([&] { jvp(f, std::tuple{1.f}, std::tuple{1.f}); }) == once);
  CHECK(printed([&] { grad(checkpoint(f))(1.f); }) == once);
  CHECK(printed([&] { vmap(grad(f))(array({1.f, 0.f})); }) == "[lane 0] y = 0.841\n[lane 1] y = 0.000\n");
  CHECK(printed([&] {
          auto [y, pull] = vjp(f, 1.f);
          pull(1.f), pull(2.f);
        }) == once);
  CHECK(printed([&] {
          auto [y, push] = linearize(f, 1.f);
          push(1.f), push(2.f);
        }) == once);
  CHECK(printed([&] { grad([&](Array x) { return fori_loop(0, 2, [&](Array, Array c) { return f(c); }, x); })(1.f); }) ==
        "y = 0.841\ny = 0.650\n");
  // A tangent has a value going forward only.
  auto ruled = custom_jvp([](Array x) { return x; },
                          [](auto primals, auto tangents) {
                            debug::print("dx = {}", std::get<0>(tangents));
                            return std::pair{std::get<0>(primals), std::get<0>(tangents)};
                          });
  CHECK(printed([&] { jvp(ruled, std::tuple{1.f}, std::tuple{5.f}); }) == "dx = 5.0\n");
  CHECK(refuses<TracerError>([&] { grad(ruled)(1.f); }, {"debug_print", "reverse", "callback.cpp"}));
}

TEST_CASE("debug::print under pmap: labelled with the device") {
  auto f = [](Array x) {
    debug::print("{}", x);
    const Array y = psum(x, "i");
    debug::print("sum {}", y);
    return y;
  };
  const std::string text = printed([&] { pmap(f, {.axis_name = "i"})(array({1.f, 2.f})); });
  CHECK(text == "[cpu:0] 1.0\n[cpu:1] 2.0\n[cpu:0] sum 3.0\n[cpu:1] sum 3.0\n");
  CHECK(printed([&] {
          pmap(vmap([](Array x) {
            debug::print("{}", x);
            return x;
          }))(array({{1.f, 2.f}, {3.f, 4.f}}));
        }) == "[cpu:0, lane 0] 1.0\n[cpu:0, lane 1] 2.0\n[cpu:1, lane 0] 3.0\n[cpu:1, lane 1] 4.0\n");
}

TEST_CASE("debug::print in branches and loops") {
  auto f = [](Array x) {
    return cond(
        x > 0,
        [&] {
          debug::print("positive");
          return x;
        },
        [&] {
          debug::print("negative");
          return -x;
        });
  };
  CHECK(printed([&] { jit(f)(1.f), jit(f)(-1.f); }) == "positive\nnegative\n");
  CHECK(printed([&] { f(1.f), f(-1.f); }) == "positive\nnegative\n");
  auto count = [](Array n) {
    return while_loop([](Array k) { return k < 3; },
                      [](Array k) {
                        debug::print("k = {}", k);
                        return k + 1;
                      },
                      n);
  };
  CHECK(printed([&] { jit(count)(0), count(2); }) == "k = 0\nk = 1\nk = 2\nk = 2\n");
}

TEST_CASE("debug::callback knows its lane") {
  std::vector<std::string> labels;
  float total = 0;
  auto f = [&](Array x) {
    debug::callback([&](Array v, int scale) { labels.push_back(debug::label()), total += v.item<float>() * static_cast<float>(scale); }, x,
                    2);
    return x;
  };
  jit(vmap(f))(array({1.f, 2.f}));
  CHECK(labels == std::vector<std::string>{"lane 0", "lane 1"});
  CHECK(total == 6);
  labels.clear();
  grad(f)(1.f);
  pmap(f)(array({1.f, 2.f}));
  CHECK(labels == std::vector<std::string>{"", "cpu:0", "cpu:1"});
  CHECK(debug::label().empty());
  // Operations inside run at once, also jitted ones.
  Array inside;
  jit([&](Array x) {
    debug::callback([&](Array v) { inside = jit([](Array a) { return a + 1; })(v); }, x);
    return x;
  })(4.f);
  CHECK(near(inside, {5}));
}
