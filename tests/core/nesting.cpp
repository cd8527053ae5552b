// What nests too deeply is an Error, on the stack of whichever thread it runs, and never the end of the process.
#include "weft/core/base/nesting.h"

#include <doctest/doctest.h>
#include <pthread.h>
#include <weft/weft.h>

#include <cmath>
#include <functional>
#include <map>

#include "tests/messages.h"
#include "weft/core/array/rank.h"
#include "weft/core/ir/primitive.h"
#include "weft/core/ir/sealed_program.h"
#include "weft/core/ops/control/call.h"
#include "weft/core/text/text.h"

using namespace weft;
using namespace weft::detail;
using test::has, test::message_of;

namespace {

/// Runs f on a thread with a stack of this size.
void on_stack_of(std::size_t bytes, const std::function<void()>& f) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  REQUIRE(pthread_attr_setstacksize(&attributes, bytes) == 0);
  pthread_t thread;
  const auto run = [](void* f) -> void* {
    (*static_cast<const std::function<void()>*>(f))();
    return nullptr;
  };
  REQUIRE(pthread_create(&thread, &attributes, run, const_cast<std::function<void()>*>(&f)) == 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

constexpr std::size_t kSmall = 512 << 10;

using Level = std::function<Array(Array, int)>;

/// A function of the user's that goes through a transform once for each level, down to sin.
std::map<std::string, std::function<Array(Array, int)>> nestings() {
  std::map<std::string, std::function<Array(Array, int)>> all;
  const auto add = [&](const std::string& name, std::function<Array(const Level&, Array, int)> level) {
    all[name] = [level](Array x, int depth) {
      Level rec;
      rec = [&](Array y, int d) { return d == 0 ? sin(y) : level(rec, y, d - 1); };
      return rec(x, depth);
    };
  };
  add("jit", [](const Level& rec, Array x, int d) { return jit([&rec, d](Array y) { return rec(y, d) + 1; })(x); });
  add("cond", [](const Level& rec, Array x, int d) {
    return cond(x > -1e6f, [&rec, d](Array y) { return rec(y, d) + 1; }, [](Array y) { return y; }, x);
  });
  add("fori_loop",
      [](const Level& rec, Array x, int d) { return fori_loop(0, 1, [&rec, d](Array, Array y) { return rec(y, d) + 1; }, x); });
  add("scan", [](const Level& rec, Array x, int d) {
    return scan([&rec, d](Array c, None) { return std::pair{rec(c, d) + 1, none}; }, x, none, {.length = 1}).first;
  });
  add("while_loop", [](const Level& rec, Array x, int d) {
    return while_loop([](Array y) { return y < -1e6f; }, [&rec, d](Array y) { return rec(y, d); }, x) + 1;
  });
  add("while_loop's condition", [](const Level& rec, Array x, int d) {
    return while_loop([&rec, d](Array y) { return rec(y, d) < -1e6f; }, [](Array y) { return y; }, x) + 1;
  });
  add("vmap", [](const Level& rec, Array x, int d) {
    return vmap([&rec, d](Array y) { return rec(y, d) + 1; }, {.in_axes = {none}, .out_axes = none, .axis_size = 1})(x);
  });
  add("grad", [](const Level& rec, Array x, int d) { return grad([&rec, d](Array y) { return rec(y, d); })(x); });
  add("checkpoint", [](const Level& rec, Array x, int d) { return checkpoint([&rec, d](Array y) { return rec(y, d) + 1; })(x); });
  add("custom_jvp", [](const Level& rec, Array x, int d) {
    auto f = custom_jvp([&rec, d](Array y) { return rec(y, d) + 1; },
                        [](auto primals, auto tangents) { return std::pair{std::get<0>(primals), std::get<0>(tangents)}; });
    return f(x);
  });
  return all;
}

/// sin within `depth` levels of calls.
Jaxpr nested_calls(int depth) {
  Jaxpr j = make_jaxpr([](Array x) { return sin(x); })(1.f);
  for (int d = 0; d < depth; ++d) {
    JaxprBuilder b;
    const Aval scalar{{}, float32};
    const Atom in = b.add_input(scalar);
    const std::vector<Atom> out = b.add_eqn(*find_primitive("closed_call"), make_params(ClosedCallParams{j}), {in}, std::array{scalar}, {});
    j = std::move(b).finish({out[0]});
  }
  return j;
}

}  // namespace

TEST_CASE("a function that goes through a transform without end is an Error that says what nests and how deep") {
  for (const auto& [name, f] : nestings()) {
    CAPTURE(name);
    const auto refused = [&, &f = f] {
      const std::string m = message_of<Error>([&] { f(0.5f, 1 << 20); });
      CHECK(has(m, "nested too deeply"));
      CHECK(has(m, "larger stack"));
      CHECK(f(0.5f, 3).ndim() == 0);  // all is usable after
    };
    refused();
    on_stack_of(kSmall, refused);
  }
}

TEST_CASE("what nests less than that works, on small stacks too") {
  for (const auto& [name, f] : nestings()) {
    CAPTURE(name);
    const auto works = [&, &f = f] {
      const float got = f(0.5f, 20).item<float>();
      const bool adds = name != "grad" && name.find("while") == std::string::npos;
      if (adds) CHECK(got == doctest::Approx(std::sin(0.5) + 20));
      CHECK(jit([&](Array x) { return f(x, 20); })(0.5f).item<float>() == doctest::Approx(got));
    };
    works();
    on_stack_of(kSmall, works);
  }
}

TEST_CASE("loops within loops are no internal error, however many") {
  const auto nested = nestings();
  for (const int depth : {65, 100, 200})
    for (const char* name : {"fori_loop", "scan"}) {
      const auto& f = nested.at(name);
      CHECK(f(0.5f, depth).item<float>() == doctest::Approx(std::sin(0.5) + depth));
      CHECK(jit([&](Array x) { return f(x, depth); })(0.5f).item<float>() == doctest::Approx(std::sin(0.5) + depth));
    }
}

TEST_CASE("programs inside programs have a limit, up to which each pass over them works or is an Error") {
  CHECK(nesting_depth(nested_calls(7)) == 7);
  CHECK(has(message_of<Error>([] { nested_calls(kMaxProgramDepth + 1); }), "nested more than 1000 deep"));
  const Jaxpr deep = nested_calls(kMaxProgramDepth), other = nested_calls(kMaxProgramDepth);
  const auto attempt = [](const std::function<void()>& f) {
    try {
      f();
      return true;
    } catch (const Error& e) {
      return has(e.what(), "nested too deeply");
    }
  };
  const auto passes = [&] {
    // A CHECK of doctest's would keep the exception for itself.
    bool equal = true, same_hash = true;
    std::size_t size = 10000;
    float value = std::sin(0.5f);
    CHECK(attempt([&] { equal = deep == other; }));
    CHECK(attempt([&] { deep.check(); }));
    CHECK(attempt([&] { size = deep.to_string().size(); }));
    CHECK(attempt([&] { same_hash = structural_hash(deep) == structural_hash(other); }));
    CHECK(attempt([&] { value = deep(0.5f)[0].item<float>(); }));
    CHECK(equal);
    CHECK(same_hash);
    CHECK(size >= 10000);
    CHECK(value == doctest::Approx(std::sin(0.5)));
    CHECK(attempt([&] { jit([&](Array x) { return deep(x)[0]; })(0.5f); }));
    CHECK(attempt([&] { vmap([&](Array x) { return deep(x)[0]; })(ones(3)); }));
    CHECK(attempt([&] { grad([&](Array x) { return deep(x)[0]; })(0.5f); }));
    CHECK(attempt([&] { jit(grad([&](Array x) { return deep(x)[0]; }))(0.5f); }));
    CHECK(attempt([&] { make_jaxpr([&](Array x) { return deep(x)[0]; })(0.5f).to_string(); }));
  };
  passes();
  on_stack_of(kSmall, passes);
}

TEST_CASE("deep programs are released without recursion") {
  Jaxpr j = nested_calls(kMaxProgramDepth);
  on_stack_of(128 << 10, [&] { j = Jaxpr(); });
  CHECK(j.eqns().empty());
}

TEST_CASE("a text of programs inside programs is read, or refused with its place") {
  const auto text = [](int depth) {
    std::string s = "{ lambda ; a:f32[]. let b:f32[] = sin a in (b,) }";
    for (int i = 0; i < depth; ++i) s = "{ lambda ; a:f32[]. let b:f32[] = closed_call[call_jaxpr=" + s + "] a in (b,) }";
    return s;
  };
  CHECK(nesting_depth(parse(text(400))) == 400);
  CHECK(has(message_of<Error>([&] { parse(text(3000)); }), "nested too deeply"));
  on_stack_of(kSmall, [&] { CHECK(has(message_of<Error>([&] { parse(text(3000)); }), "nested too deeply")); });
}

TEST_CASE("arrays have at most 64 dimensions, wherever a shape comes from") {
  const std::vector<std::int64_t> most(kMaxRank, 1), more(kMaxRank + 1, 1);
  const Array x = zeros(Shape(most));
  CHECK(x.ndim() == kMaxRank);
  CHECK((x + 1.f).ndim() == kMaxRank);
  CHECK(sum(x).item<float>() == 0);
  CHECK(jit([](Array a) { return sum(sin(a) * 2, 3); })(x).ndim() == kMaxRank - 1);
  // Reductions along more dimensions than a kernel has loops.
  std::vector<std::int64_t> eight = most;
  eight[0] = 8;
  const Array y = reshape(arange(8.f), Shape(eight));
  CHECK(jit([](Array a) { return sum(a * 2); })(y).item<float>() == 56);
  CHECK(jit([](Array a) { return tensordot(a, a + 0.f, 64); })(y).item<float>() == 140);
  CHECK(jit([](Array a) { return max(a); })(y).item<float>() == 7);
  for (const std::function<void()>& f : std::vector<std::function<void()>>{
           [&] { zeros(Shape(more)); },
           [&] { reshape(ones(1), Shape(more)); },
           [&] { broadcast_to(ones(1), Shape(more)); },
           [&] { expand_dims(x, 0); },
           [&] { stack({x, x}); },
           [&] { vmap([](Array a) { return a; }, {.in_axes = {none}, .axis_size = 2})(x); },
           [&] { tensordot(x, x, 0); },
           [&] { Array(ShapeDtypeStruct{Shape(more), float32}); },
       })
    CHECK(has(message_of<Error>(f), "at most 64"));
  std::string dims = "1";
  for (int i = 0; i < 100000; ++i) dims += ",1";
  CHECK(has(message_of<Error>([&] { parse("{ lambda ; a:f32[" + dims + "]. let in (a,) }"); }), "at most 64 dimensions"));
  CHECK(has(message_of<Error>(
                [&] { parse("{ lambda ; a:f32[1]. let b:f32[1] = reshape[new_sizes=(" + dims + ") dimensions=None] a in (b,) }"); }),
            "at most 64 dimensions"));
  // Each of these adds a dimension.
  Level rec;
  rec = [&](Array y, int d) {
    return d == 0 ? sin(y) : vmap([&rec, d](Array z) { return rec(z, d - 1); }, {.in_axes = {none}, .axis_size = 1})(y);
  };
  CHECK(rec(0.5f, 64).ndim() == 64);
  CHECK(has(message_of<Error>([&] { rec(0.5f, 500); }), "at most 64"));
}

TEST_CASE("work that needs more stack than there is gets a thread of its own") {
  on_stack_of(kSmall, [] {
    std::size_t inside = 0;
    with_stack(4 << 20, [&] { inside = stack_left(); });
    CHECK(inside >= std::size_t{4} << 20);
    CHECK(stack_left() < kSmall);
    CHECK(has(message_of<Error>([] { with_stack(4 << 20, [] { throw ShapeError("from within"); }); }), "from within"));
  });
}

TEST_CASE("a shape's dimensions are numbered from both ends, and no others are read") {
  const Shape shape = zeros({2, 3, 4}).shape(), none = zeros({}).shape();
  CHECK(shape[0] == 2);
  CHECK(shape[-1] == 4);
  CHECK(shape[-3] == 2);
  CHECK(shape[std::size_t{2}] == 4);
  CHECK(shape.with(-1, 5) == Shape{2, 3, 5});
  CHECK(shape.erased(-2) == Shape{2, 4});
  CHECK(shape.inserted(3, 5) == Shape{2, 3, 4, 5});
  CHECK(has(message_of<ShapeError>([&] { (void)shape[3]; }), "(2, 3, 4) has no dimension 3"));
  CHECK(has(message_of<ShapeError>([&] { (void)shape[-4]; }), "from the end -1 to -3"));
  CHECK(has(message_of<ShapeError>([&] { (void)none[0]; }), "() has no dimension 0"));
  CHECK(has(message_of<ShapeError>([&] { (void)none.back(); }), "has no dimension -1"));
  CHECK_THROWS_AS((void)shape[std::size_t(-1)], Error);
  CHECK_THROWS_AS(shape.with(3, 1), ShapeError);
  CHECK_THROWS_AS(shape.erased(-4), ShapeError);
  CHECK_THROWS_AS(shape.inserted(4, 1), ShapeError);
}
