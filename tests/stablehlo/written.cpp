// What to_stablehlo says beside the values, which tests/ops/written and tests/golden compare: names, lines, donation, bits, functions.
#include <bit>
#include <fstream>
#include <iterator>
#include <limits>

#include "tests/messages.h"
#include "tests/runtime/devices.h"
#include "tests/stablehlo/run.h"
#include "weft/core/ops/control/composite.h"
#include "weft/frontends/stablehlo/program.h"

using namespace weft;
using test::message_of;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

struct Line {
  Array slope, offset;
};

}  // namespace

TEST_CASE("written: a jitted function is its module, with its leaves' names and what it may take the memory of") {
  const auto step =
      jit([](const Line& line, const Array& x) { return Line{line.slope - x, line.offset * 2}; }, {.donate_argnums = {0}, .name = "step"});
  const Array x = ones({3});
  const std::string text = to_stablehlo(step)(Line{zeros({3}), array(1.f)}, x);
  CAPTURE(text);
  const detail::ImportedProgram p = detail::import_program(text, "step", {});
  CHECK(p.name == "jit_step");
  REQUIRE(p.arguments.size() == 3);
  CHECK(p.arguments[0].name == "args[0].slope");
  CHECK(p.arguments[1].name == "args[0].offset");
  CHECK(p.arguments[2].name == "args[1]");
  CHECK(p.arguments[0].aliased_result == 0);
  CHECK(p.arguments[1].aliased_result == 1);
  CHECK_FALSE(p.arguments[2].aliased_result.has_value());
  CHECK(p.results[0].result_info == "result.slope");
  // Memory of a type that no result has may be taken for anything.
  const auto total = jit([](const Array& y) { return sum(y); }, {.donate_argnums = {0}});
  CHECK(detail::import_program(to_stablehlo(total)(x), "total", {}).arguments[0].is_donated);
}

TEST_CASE("written: operations have the user's lines, and keep them when they are read") {
  const int line = __LINE__ + 1;
  const auto f = [](const Array& x) { return sin(x); };
  const Jaxpr program = make_jaxpr(f)(array(1.f));
  const std::string text = to_stablehlo(program, {.locations = true});
  CHECK_MESSAGE(has(text, "written.cpp\":" + std::to_string(line) + ":1)"), text);
  CHECK_FALSE(has(to_stablehlo(program), "loc("));
  const Jaxpr again = parse_stablehlo(text);
  CHECK(again == program);
  REQUIRE(again.eqns().size() == 1);
  CHECK(again.eqns()[0].where().line() == line);
  CHECK(has(again.eqns()[0].where().file(), "written.cpp"));
  // Names of lines may be told behind the functions, and stand for a call's innermost line.
  const Jaxpr named = parse_stablehlo(R"(func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.sine %x : tensor<f32> loc(#call)
  %1 = stablehlo.cosine %0 : tensor<f32> loc(fused["a.py":3:1, "b.py":4:1])
  return %1 : tensor<f32>
}
#inner = loc("train.py":12:3)
#call = loc(callsite("step"(#inner) at "main.py":1:2)))");
  CHECK(std::string(named.eqns()[0].where().file()) == "train.py");
  CHECK(named.eqns()[0].where().line() == 12);
  CHECK(std::string(named.eqns()[1].where().file()) == "a.py");
}

TEST_CASE("written: constants keep every bit") {
  const auto bits_after = []<class T, class B>(std::vector<T> values, B) {
    const Array x = array(values);
    const Jaxpr program = make_jaxpr([&](const Array& y) { return std::pair(x, y); })(array(1.f));
    const std::vector<Array> out = tools::run_on("interp", "main", parse_stablehlo(to_stablehlo(program)), {array(1.f)});
    const std::vector<T> got = out[0].to_vector<T>();
    REQUIRE(got.size() == values.size());
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(std::bit_cast<B>(got[i]) == std::bit_cast<B>(values[i]));
  };
  const float tiny = std::numeric_limits<float>::denorm_min(), inf = std::numeric_limits<float>::infinity();
  std::vector<float> floats{0.1f,       -0.f,   tiny, inf, -inf, std::bit_cast<float>(0x7fc12345u), std::bit_cast<float>(0xffc00001u),
                            16777216.f, 1e-38f, 3.f};
  bits_after(floats, std::uint32_t{});
  // More than are listed one by one.
  for (int i = 0; i < 100; ++i) floats.push_back(1.f / static_cast<float>(i + 3));
  bits_after(floats, std::uint32_t{});
  bits_after(std::vector<double>{0.1, 1 / 3., -0., 5e-324, 1e300, 0.5}, std::uint64_t{});
  bits_after(std::vector<std::int64_t>{std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max(), -1},
             std::uint64_t{});
}

TEST_CASE("written: calls are functions, one for each program; composites keep name and attributes") {
  const auto inner = jit([](const Array& x) { return sin(x) * 2; }, {.name = "inner"});
  const auto f = [&](const Array& x) { return inner(inner(x)) + inner(x)[0]; };
  const std::string text = to_stablehlo(f)(ones({3}));
  CAPTURE(text);
  std::size_t definitions = 0, calls = 0;
  for (std::size_t at = text.find("@inner"); at != std::string::npos; at = text.find("@inner", at + 1))
    ++(text.compare(at - 8, 8, "private ") == 0 ? definitions : calls);
  CHECK(definitions == 1);
  CHECK(calls == 3);
  const auto gelu = composite([](const Array& x) { return x * tanh(1.702f * x); }, "my.gelu",
                              {{"exact", false}, {"scale", 1.702}, {"kind", "fast \"one\""}});
  const Jaxpr program = make_jaxpr(gelu)(ones({3})), again = parse_stablehlo(to_stablehlo(program));
  REQUIRE(again.eqns().size() == 1);
  const detail::CompositeParams *const want = detail::as_composite(program.eqns()[0]), *const got = detail::as_composite(again.eqns()[0]);
  REQUIRE(want);
  REQUIRE(got);
  CHECK(got->name == want->name);
  CHECK(got->attributes == want->attributes);
}

TEST_CASE("written: keys of random numbers are their two words outside") {
  const auto f = [](const Array& key, const Array& seed) {
    return std::tuple{random::uniform(key, {4}), random::split(key)[1], random::fold_in(random::key(seed), 3)};
  };
  const Array key = random::key(5), seed = array(std::int32_t{7});
  const std::string text = to_stablehlo(f)(key, seed);
  const detail::ImportedProgram p = detail::import_program(text, "f", {});
  CHECK(p.arguments[0].type.dtype == uint32);
  CHECK(p.arguments[0].type.shape == Shape{2});
  const std::vector<Array> out = tools::run_on("interp", "f", p.jaxpr, {random::key_data(key), seed});
  const auto [u, k, l] = f(key, seed);
  CHECK(out[0].to_vector<float>() == u.to_vector<float>());
  CHECK(out[1].to_vector<std::uint32_t>() == random::key_data(k).to_vector<std::uint32_t>());
  CHECK(out[2].to_vector<std::uint32_t>() == random::key_data(l).to_vector<std::uint32_t>());
}

TEST_CASE("written: a scan is one again when it is read, and has the same derivative") {
  const auto f = [](const Array& c, const Array& xs) {
    const auto [last, ys] = scan([](Array carry, Array x) { return std::pair(sin(carry) * x, carry + x); }, c, xs, {.reverse = true});
    return sum(last) + sum(ys * ys);
  };
  const Array c = array({0.5f, 1.f}), xs = reshape(linspace(0, 1, 10), {5, 2});
  const Jaxpr program = parse_stablehlo(to_stablehlo(f)(c, xs));
  int scans = 0;
  for (const Eqn& e : program.eqns()) scans += e.primitive() == "scan" ? 1 : 0;
  CHECK(scans == 1);
  const auto g = [&](const Array& a, const Array& b) { return program(a, b)[0]; };
  const auto [wc, wx] = grad<0, 1>(f)(c, xs);
  const auto [gc, gx] = grad<0, 1>(g)(c, xs);
  CHECK(allclose(gc, wc));
  CHECK(allclose(gx, wx));
}

TEST_CASE("written: the devices of a program are numbered from 0, whichever of the machine's they are") {
  const std::vector<Device> all = devices("cpu");
  const auto gathered = [](const Mesh& mesh) {
    const auto f = [](Array v) { return all_gather(v * convert(axis_index("i") + 1, float32), "i", {.tiled = true}); };
    return shard_map(f, {.mesh = mesh, .in_specs = sharding::P("i"), .out_specs = sharding::P("i")});
  };
  const Array x = reshape(arange(6, float32), {2, 3});
  for (const std::vector<Device>& of : {std::vector{all[5], all[6]}, {all[6], all[5]}, {all[0], all[1]}, {all[1], all[0]}}) {
    const Jaxpr program = make_jaxpr(gathered(Mesh(of, {2}, {"i"})))(x);
    const std::string text = to_stablehlo(program);
    CAPTURE(text);
    CHECK(has(text, "mhlo.num_partitions = 2 "));
    CHECK(has(text, "<[\"i\"=2]>\n"));
    CHECK(has(text, "dense<[[0, 1]]>"));
    CHECK(allclose(device_get(parse_stablehlo(text)(x)[0]), device_get(program(x)[0])));
  }
  // Meshes of the same devices in another order tell their places.
  const Mesh one({all[5], all[6]}, {2}, {"i"}), other({all[6], all[5]}, {2}, {"i"});
  const std::string text = to_stablehlo(make_jaxpr([&](Array v) { return gathered(one)(v) + gathered(other)(v); })(x));
  CHECK(has(text, "mhlo.num_partitions = 2 "));
  CHECK(has(text, "<[\"i\"=2], device_ids=[1, 0]>"));
}

TEST_CASE("written: a file holds the text") {
  const std::string path = std::string(std::getenv("TMPDIR") ? std::getenv("TMPDIR") : "/tmp") + "/weft-written.mlir";
  const Jaxpr program = make_jaxpr([](const Array& x) { return exp(x); })(ones({2}));
  save_stablehlo(path, program);
  CHECK(load_stablehlo(path) == program);
  std::remove(path.c_str());
  CHECK(has(message_of<IoError>([&] { save_stablehlo("/nowhere/at/all.mlir", program); }), "/nowhere/at/all.mlir"));
}
