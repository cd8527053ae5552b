// Functions that JAX exported with symbolic shapes: their programs are made for the shapes of each call.
#include <weft/stablehlo.h>

#include "tests/messages.h"
#include "tests/stablehlo/run.h"

using namespace weft;
using test::refuses;

namespace {

std::string sample(const std::string& name) {
  const char* const root = std::getenv("WEFT_TEST_DATA");
  return std::string(root ? root : "tests") + "/stablehlo/data/" + name;
}

struct Layer {
  Array w, b;
};
struct Results {
  Array inverse, loss, mean, numbered, pairs, run, sorted, spectrum;
};

}  // namespace

TEST_CASE("exported with symbolic shapes: JAX's results for several numbers of rows, in every transform") {
  const auto f = load_exported<Results(Layer, Array, Array)>(sample("symbolic.exported"));
  const auto all = load_npz(sample("symbolic.npz"));
  for (const int rows : {2, 5, 17}) {
    CAPTURE(rows);
    const auto at = [&](const char* name) { return all.at(name + std::to_string(rows)); };
    const Layer p{at("w"), at("b")};
    const Array x = at("x"), y = at("y");
    for (const Results& r : {f(p, x, y), jit(f)(p, x, y)}) {
      CHECK(allclose(r.inverse, at("inverse"), {.rtol = 1e-4, .atol = 1e-5}));
      CHECK(allclose(r.loss, at("loss"), {.rtol = 1e-4, .atol = 1e-5}));
      CHECK(allclose(r.mean, at("mean"), {.rtol = 1e-5, .atol = 1e-6}));
      CHECK(allclose(r.numbered, at("numbered"), {.rtol = 1e-5, .atol = 1e-6}));
      CHECK(allclose(r.pairs, at("pairs"), {.rtol = 1e-5, .atol = 1e-6}));
      CHECK(allclose(r.run, at("run"), {.rtol = 1e-5, .atol = 1e-6}));
      CHECK(allclose(r.sorted, at("sorted"), {.rtol = 1e-5, .atol = 1e-6}));
      CHECK(allclose(r.spectrum, at("spectrum"), {.rtol = 1e-5, .atol = 1e-6}));
    }
    const auto loss = [&](const Layer& q) { return f(q, x, y).loss; };
    const Layer g = grad(loss)(p);
    CHECK(g.w.shape() == Shape{4, 3});
    constexpr double kStep = 1e-2;
    const Array up = loss({p.w.at(0, 0).add(kStep), p.b}), down = loss({p.w.at(0, 0).add(-kStep), p.b});
    CHECK(g.w(0, 0).item<float>() == doctest::Approx((up - down).item<float>() / (2 * kStep)).epsilon(0.02));
    const Array many = vmap([&](const Array& a) { return f(p, a, y).mean; })(stack({x, x * 2}));
    CHECK(allclose(many(1), f(p, x * 2, y).mean, {.rtol = 1e-5, .atol = 1e-6}));
  }
}

TEST_CASE("exported with symbolic shapes: what the function was not exported for is an error that says so") {
  const auto f = load_exported<Results(Layer, Array, Array)>(sample("symbolic.exported"));
  const Layer p{ones({4, 3}), zeros({3})};
  CHECK(refuses<ShapeError>([&] { return f(p, ones({5, 3}), ones({5})); }, {"args[1] is f32[5,3], the function takes f32[?,4]"}));
  CHECK(refuses<ShapeError>([&] { return f(p, ones({5}), ones({5})); }, {"args[1] is f32[5], the function takes f32[?,4]"}));
  CHECK(refuses<DTypeError>([&] { return f(p, ones({5, 4}, int32), ones({5})); }, {"args[1] is i32[5,4], the function takes f32[?,4]"}));
  // The sizes have one name in both, and are 2 or more.
  CHECK(refuses<Error>([&] { return f(p, ones({5, 4}), ones({6})); },
                       {"dimension size args[2].shape[0] (= 6) and the specification 'b' (= 5)"}));
  CHECK(refuses<Error>([&] { return f(p, ones({1, 4}), ones({1})); }, {"the symbolic shape constraint b >= 2"}));
  CHECK(refuses<Error>([&] { f.program(); }, {"exported with symbolic shapes"}));
  CHECK(f(p, ones({3, 4}), ones({3})).run.shape() == Shape{3, 3});
}

TEST_CASE("stablehlo: sizes that are open are those of the inputs that the options state") {
  const std::string text = R"(func.func @main(%x: tensor<?x3xf32>) -> tensor<?x?xf32> {
    %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x3xf32>) -> tensor<i32>
    %c = stablehlo.constant dense<2> : tensor<i32>
    %m = stablehlo.multiply %n, %c : tensor<i32>
    %m1 = stablehlo.reshape %m : (tensor<i32>) -> tensor<1xi32>
    %k = stablehlo.constant dense<3> : tensor<1xi32>
    %s = stablehlo.concatenate %m1, %k, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %y = func.call @twice(%x) : (tensor<?x3xf32>) -> tensor<?x3xf32>
    %z = stablehlo.dynamic_reshape %y, %s : (tensor<?x3xf32>, tensor<2xi32>) -> tensor<?x?xf32>
    return %z : tensor<?x?xf32>
  }
  func.func private @twice(%x: tensor<?x3xf32>) -> tensor<?x3xf32> {
    %0 = stablehlo.concatenate %x, %x, dim = 0 : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<?x3xf32>
    return %0 : tensor<?x3xf32>
  })";
  for (const int rows : {0, 1, 4}) {
    const Jaxpr f = parse_stablehlo(text, {.inputs = {{{rows, 3}, float32}}});
    CHECK(f(ones({rows, 3}))[0].shape() == Shape{2 * rows, 3});
  }
  CHECK(refuses<Error>([&] { return parse_stablehlo(text); }, {"the sizes of tensor<?x3xf32> are open", "StablehloOptions::inputs"}));
  CHECK(refuses<Error>([&] { return parse_stablehlo(text, {.inputs = {{{2, 4}, float32}}}); },
                       {"@main takes tensor<?x3xf32>, argument 0 is f32[2,4]"}));
  CHECK(refuses<Error>([&] { return parse_stablehlo(text, {.inputs = {{{2, 3}, float32}, {{}, float32}}}); },
                       {"@main takes 1 arguments, 2 are given"}));
  // A size that depends on the values of an argument.
  const std::string by_value = R"(func.func @main(%n: tensor<1xi32>, %x: tensor<?xf32>) -> tensor<?xf32> {
    %0 = stablehlo.dynamic_reshape %x, %n : (tensor<?xf32>, tensor<1xi32>) -> tensor<?xf32>
    return %0 : tensor<?xf32>
  })";
  CHECK(refuses<Error>([&] { return parse_stablehlo(by_value, {.inputs = {{{1}, int32}, {{4}, float32}}}); },
                       {"2:10: stablehlo.dynamic_reshape: operand 1 is known at run time only"}));
  const std::string too_large = R"(func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
    %n = stablehlo.constant dense<-5> : tensor<1xi32>
    %0 = stablehlo.dynamic_reshape %x, %n : (tensor<?xf32>, tensor<1xi32>) -> tensor<?xf32>
    return %0 : tensor<?xf32>
  })";
  CHECK(refuses<Error>([&] { return parse_stablehlo(too_large, {.inputs = {{{4}, float32}}}); }, {"there is no array of (-5)"}));
}

TEST_CASE("stablehlo: calls whose results' sizes are their last operands") {
  const std::string text = R"(func.func @less(%a: tensor<f32>, %b: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<i1> {
    %0 = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    return %0 : tensor<i1>
  }
  func.func public @main(%x: tensor<?x3xf32>) -> (tensor<?x2xf32>, tensor<?x2xi32>, tensor<?x3xf32>, tensor<?x3xi32>) {
    %none = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %nowhere = stablehlo.constant dense<-1> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %two = stablehlo.constant dense<2> : tensor<1xi32>
    %three = stablehlo.constant dense<3> : tensor<1xi32>
    %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x3xf32>) -> tensor<i32>
    %n1 = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
    %k = stablehlo.subtract %n, %one : tensor<i32>
    %k1 = stablehlo.reshape %k : (tensor<i32>) -> tensor<1xi32>
    %all = stablehlo.concatenate %n1, %three, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %wide = stablehlo.concatenate %n1, %two, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %high = stablehlo.concatenate %k1, %three, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %i = stablehlo.dynamic_iota %all, dim = 1 : (tensor<2xi32>) -> tensor<?x3xi32>
    %j = stablehlo.dynamic_iota %all, dim = 0 : (tensor<2xi32>) -> tensor<?x3xi32>
    %0:2 = stablehlo.custom_call @ApproxTopK(%x, %i, %none, %nowhere, %wide, %wide) {called_computations = [@less], indices_of_shape_operands = dense<[4, 5]> : tensor<2xi64>, mhlo.backend_config = {reduction_dim = 1 : i64}} : (tensor<?x3xf32>, tensor<?x3xi32>, tensor<f32>, tensor<i32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<?x2xf32>, tensor<?x2xi32>)
    %1:2 = stablehlo.custom_call @stablehlo.dynamic_approx_top_k(%x, %j, %none, %nowhere, %k, %high, %high) {called_computations = [@less], indices_of_shape_operands = dense<[5, 6]> : tensor<2xi64>, mhlo.backend_config = {reduction_dim = 0 : i64}} : (tensor<?x3xf32>, tensor<?x3xi32>, tensor<f32>, tensor<i32>, tensor<i32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<?x3xf32>, tensor<?x3xi32>)
    return %0#0, %0#1, %1#0, %1#1 : tensor<?x2xf32>, tensor<?x2xi32>, tensor<?x3xf32>, tensor<?x3xi32>
  })";
  for (const int rows : {1, 2, 5}) {
    CAPTURE(rows);
    const Array x = sin(7.f * reshape(arange(3.f * static_cast<float>(rows)), {rows, 3}));
    const std::vector<Array> found = parse_stablehlo(text, {.inputs = {{{rows, 3}, float32}}})(x);
    const TopK wide = top_k(x, 2), high = top_k(transpose(x), rows - 1);
    CHECK(array_equal(found[0], wide.values));
    CHECK(array_equal(found[1], wide.indices));
    CHECK(array_equal(found[2], transpose(high.values)));
    CHECK(array_equal(found[3], transpose(high.indices)));
  }
  std::string wrong = text;
  wrong.replace(wrong.find("dense<[4, 5]>"), 13, "dense<[3, 4]>");
  CHECK(refuses<Error>([&] { return parse_stablehlo(wrong, {.inputs = {{{2, 3}, float32}}}); },
                       {"stablehlo.custom_call: the shapes of results are not the last operands"}));
  wrong.replace(wrong.find("dense<[3, 4]> : tensor<2xi64>"), 29, "dense<[5]> : tensor<1xi64>");
  CHECK(refuses<Error>([&] { return parse_stablehlo(wrong, {.inputs = {{{2, 3}, float32}}}); },
                       {"indices_of_shape_operands names 1 operands, there are 2 results"}));
}

TEST_CASE("stablehlo: random bits of a size that follows from an argument's") {
  const auto program = [](const std::string& call, const std::string& type) {
    return "func.func @main(%x: tensor<?xf32>, %s: tensor<2xui64>) -> (tensor<2xui64>, " + type + R"() {
      %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
      %n1 = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
      %three = stablehlo.constant dense<3> : tensor<1xi32>
      %size = stablehlo.concatenate %n1, %three, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
      %0:2 = )" +
           call + type + R"()
      return %0#0, %0#1 : tensor<2xui64>, )" +
           type + "\n}";
  };
  const StablehloOptions options{.inputs = {{{4}, float32}, {{2}, uint64}}};
  const Array state = array({17, 99}, uint64);
  for (const std::string algorithm : {"DEFAULT", "THREE_FRY", "PHILOX"}) {
    CAPTURE(algorithm);
    const std::string open =
        program("stablehlo.custom_call @stablehlo.dynamic_rng_bit_generator(%s, %size) {rng_algorithm = #stablehlo<rng_algorithm " +
                    algorithm + ">} : (tensor<2xui64>, tensor<2xi32>) -> (tensor<2xui64>, ",
                "tensor<?x3xui16>");
    const std::string stated = program(
        "stablehlo.rng_bit_generator %s, algorithm = " + algorithm + " : (tensor<2xui64>) -> (tensor<2xui64>, ", "tensor<4x3xui16>");
    const std::vector<Array> a = parse_stablehlo(open, options)(zeros({4}), state), b = parse_stablehlo(stated, options)(zeros({4}), state);
    CHECK(array_equal(a[0], b[0]));
    CHECK(array_equal(a[1], b[1]));
  }
}
