// Control flow, calls, transforms of what was read, factorisations and random bits.
#include <cmath>

#include "tests/stablehlo/run.h"
#include "weft/core/io/io.h"

using namespace weft;
using weft::test::passes, weft::test::passes_in_main;

TEST_CASE("stablehlo: loops with values from outside") {
  passes_in_main(R"(
    %i = stablehlo.constant dense<0> : tensor<i32>
    %n = stablehlo.constant dense<5> : tensor<i32>
    %x = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %0:2 = stablehlo.while(%k = %i, %y = %x) : tensor<i32>, tensor<2xf32>
    cond {
      %c = stablehlo.compare LT, %k, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %k, %one : tensor<i32>
      %z = stablehlo.add %y, %x : tensor<2xf32>
      stablehlo.return %next, %z : tensor<i32>, tensor<2xf32>
    }
    check.expect_eq_const %0#0, dense<5> : tensor<i32>
    check.expect_eq_const %0#1, dense<[6.0, 12.0]> : tensor<2xf32>)",
                 2);
}

TEST_CASE("stablehlo: a loop that counts between constants has a reverse") {
  const Jaxpr program = parse_stablehlo(R"(
    func.func @main(%x: tensor<f32>) -> tensor<f32> {
      %i = stablehlo.constant dense<1> : tensor<i32>
      %n = stablehlo.constant dense<6> : tensor<i32>
      %two = stablehlo.constant dense<2> : tensor<i32>
      %0:2 = stablehlo.while(%k = %i, %y = %x) : tensor<i32>, tensor<f32>
      cond {
        %c = stablehlo.compare LT, %k, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      } do {
        %next = stablehlo.add %k, %two : tensor<i32>
        %z = stablehlo.multiply %y, %x : tensor<f32>
        stablehlo.return %next, %z : tensor<i32>, tensor<f32>
      }
      return %0#1 : tensor<f32>
    })");
  auto f = [&](const Array& x) { return program(x)[0]; };
  CHECK(f(2.f).item<float>() == 16);
  CHECK(grad(f)(array(2.f)).item<float>() == 32);
}

TEST_CASE("stablehlo: loops that count up or down, compared from either side, have a reverse") {
  struct Counting {
    const char *from, *to, *condition, *next;
  };
  // Three steps each.
  for (const Counting& c : {Counting{"1", "6", "LT, %k, %n", "add %k, %two"},
                            {"1", "6", "GT, %n, %k", "add %two, %k"},
                            {"1", "5", "LE, %k, %n", "add %k, %two"},
                            {"6", "1", "GT, %k, %n", "subtract %k, %two"},
                            {"6", "1", "LT, %n, %k", "subtract %k, %two"},
                            {"6", "2", "GE, %k, %n", "subtract %k, %two"},
                            {"6", "2", "LE, %n, %k", "add %k, %minus"}}) {
    CAPTURE(c.condition);
    CAPTURE(c.next);
    const Jaxpr program = parse_stablehlo(std::string(R"(
    func.func @main(%x: tensor<f32>) -> tensor<f32> {
      %i = stablehlo.constant dense<)") + c.from +
                                          R"(> : tensor<i32>
      %n = stablehlo.constant dense<)" + c.to +
                                          R"(> : tensor<i32>
      %two = stablehlo.constant dense<2> : tensor<i32>
      %minus = stablehlo.constant dense<-2> : tensor<i32>
      %0:2 = stablehlo.while(%k = %i, %y = %x) : tensor<i32>, tensor<f32>
      cond {
        %c = stablehlo.compare )" + c.condition +
                                          R"(, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      } do {
        %next = stablehlo.)" + c.next + R"( : tensor<i32>
        %z = stablehlo.multiply %y, %x : tensor<f32>
        stablehlo.return %next, %z : tensor<i32>, tensor<f32>
      }
      return %0#1 : tensor<f32>
    })");
    const auto f = [&](const Array& x) { return program(x)[0]; };
    CHECK(f(2.f).item<float>() == 16);
    CHECK(grad(f)(array(2.f)).item<float>() == 32);
  }
}

TEST_CASE("stablehlo: scans, forwards and backwards, along any dimension") {
  for (const auto& [direction, sums] :
       {std::pair("", "[[1, 3, 6], [4, 9, 15]]"), std::pair(" attributes {is_reverse = true}", "[[6, 5, 3], [15, 11, 6]]")})
    passes_in_main(std::string(R"(
    %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
    %i = stablehlo.constant dense<0> : tensor<2xi32>
    %0:2 = chlo.scan(%x) inits(%i) dimension=1)") +
                       direction + R"( {
    ^bb0(%a: tensor<2xi32>, %s: tensor<2xi32>):
      %t = stablehlo.add %a, %s : tensor<2xi32>
      stablehlo.return %t, %t : tensor<2xi32>, tensor<2xi32>
    } : (tensor<2x3xi32>, tensor<2xi32>) -> (tensor<2x3xi32>, tensor<2xi32>)
    check.expect_eq_const %0#0, dense<)" +
                       sums + R"(> : tensor<2x3xi32>
    check.expect_eq_const %0#1, dense<[6, 15]> : tensor<2xi32>)",
                   2);
}

TEST_CASE("stablehlo: an index that names no branch means the last") {
  for (const auto& [index, result] : {std::pair("0", "10"), std::pair("1", "20"), std::pair("2", "20"), std::pair("-1", "20")})
    passes_in_main(std::string("%i = stablehlo.constant dense<") + index + R"(> : tensor<i32>
    %a = stablehlo.constant dense<10> : tensor<i32>
    %0 = "stablehlo.case"(%i) ({
      stablehlo.return %a : tensor<i32>
    }, {
      %b = stablehlo.add %a, %a : tensor<i32>
      stablehlo.return %b : tensor<i32>
    }) : (tensor<i32>) -> tensor<i32>
    check.expect_eq_const %0, dense<)" +
                   result + "> : tensor<i32>");
  for (const auto& [condition, result] : {std::pair("true", "10"), std::pair("false", "20")})
    passes_in_main(std::string("%i = stablehlo.constant dense<") + condition + R"(> : tensor<i1>
    %a = stablehlo.constant dense<10> : tensor<i32>
    %0 = "stablehlo.if"(%i) ({
      stablehlo.return %a : tensor<i32>
    }, {
      %b = stablehlo.add %a, %a : tensor<i32>
      stablehlo.return %b : tensor<i32>
    }) : (tensor<i1>) -> tensor<i32>
    check.expect_eq_const %0, dense<)" +
                   result + "> : tensor<i32>");
}

TEST_CASE("stablehlo: calls and composites; checks of functions that are called") {
  passes(R"(
    #loc = loc("a file":1:2)
    module @m attributes {mhlo.num_partitions = 1 : i32} {
      func.func public @main() -> (tensor<2xf32> {jax.result_info = ""}) {
        %a = call @input() : () -> tensor<2xf32> loc(#loc)
        %b = func.call @twice(%a) : (tensor<2xf32>) -> tensor<2xf32>
        %c = stablehlo.composite "my.twice" %b {composite_attributes = {n = 2 : i64}, decomposition = @twice, version = 1 : i32} : (tensor<2xf32>) -> tensor<2xf32>
        check.expect_eq_const %c, dense<[4.0, 8.0]> : tensor<2xf32>
        return %c : tensor<2xf32>
      } loc(#loc)
      func.func private @input() -> tensor<2xf32> {
        %a = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
        return %a : tensor<2xf32>
      }
      func.func private @twice(%x: tensor<2xf32> loc("x")) -> tensor<2xf32> {
        %y = stablehlo.add %x, %x : tensor<2xf32>
        stablehlo.custom_call @check.expect_eq(%y, %y) {has_side_effect = true} : (tensor<2xf32>, tensor<2xf32>) -> ()
        return %y : tensor<2xf32>
      }
    })",
         3);
}

TEST_CASE("stablehlo: where and in which order values are computed is passed over") {
  passes(R"(
    sdy.mesh @mesh = <["x"=2]>
    func.func @main() {
      %a = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
      %b = sdy.sharding_constraint %a <@mesh, [{"x"}]> : tensor<2xi32>
      %c = stablehlo.custom_call @Sharding(%b) {mhlo.sharding = "{devices=[2]0,1}", backend_config = ""} : (tensor<2xi32>) -> tensor<2xi32>
      sdy.sharding_group %a group_id = 0 : tensor<2xi32>
      sdy.sharding_group %c group_id = 0 : tensor<2xi32>
      %z = stablehlo.constant dense<0> : tensor<i32>
      %end = stablehlo.constant dense<2> : tensor<i32>
      %w:2 = stablehlo.while(%i = %z, %s = %c) : tensor<i32>, tensor<2xi32>
      cond {
        %p = stablehlo.compare LT, %i, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %p : tensor<i1>
      } do {
        sdy.sharding_group %s group_id = 1 : tensor<2xi32>
        sdy.sharding_group %a group_id = 1 : tensor<2xi32>
        %sum = stablehlo.add %s, %a : tensor<2xi32>
        %one = stablehlo.constant dense<1> : tensor<i32>
        %more = stablehlo.add %i, %one : tensor<i32>
        stablehlo.return %more, %sum : tensor<i32>, tensor<2xi32>
      }
      check.expect_eq_const %w#1, dense<[3, 6]> : tensor<2xi32>
      stablehlo.custom_call @control_dep(%a, %c) {has_side_effect = true} : (tensor<2xi32>, tensor<2xi32>) -> ()
      check.expect_eq %c, %a : tensor<2xi32>
      return
    })",
         2);
}

TEST_CASE("stablehlo: JAX's calls of LAPACK") {
  passes_in_main(R"(
    %a = stablehlo.constant dense<[[[0.0, 2.0], [4.0, 1.0], [0.0, 0.0]], [[3.0, 1.0], [0.0, -2.0], [4.0, 5.0]]]> : tensor<2x3x2xf32>
    %0:2 = stablehlo.custom_call @lapack_sgeqrf_ffi(%a) {mhlo.backend_config = {}} : (tensor<2x3x2xf32>) -> (tensor<2x3x2xf32>, tensor<2x2xf32>)
    %q = stablehlo.custom_call @lapack_sorgqr_ffi(%0#0, %0#1) {mhlo.backend_config = {}} : (tensor<2x3x2xf32>, tensor<2x2xf32>) -> tensor<2x3x2xf32>
    %top = stablehlo.slice %0#0 [0:2, 0:2, 0:2] : (tensor<2x3x2xf32>) -> tensor<2x2x2xf32>
    %i = stablehlo.iota dim = 1 : tensor<2x2x2xi32>
    %j = stablehlo.iota dim = 2 : tensor<2x2x2xi32>
    %upper = stablehlo.compare LE, %i, %j : (tensor<2x2x2xi32>, tensor<2x2x2xi32>) -> tensor<2x2x2xi1>
    %z = stablehlo.constant dense<0.0> : tensor<2x2x2xf32>
    %r = stablehlo.select %upper, %top, %z : tensor<2x2x2xi1>, tensor<2x2x2xf32>
    %qr = stablehlo.dot_general %q, %r, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x3x2xf32>, tensor<2x2x2xf32>) -> tensor<2x3x2xf32>
    %qq = stablehlo.dot_general %q, %q, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<2x3x2xf32>, tensor<2x3x2xf32>) -> tensor<2x2x2xf32>
    check.expect_almost_eq %qr, %a : tensor<2x3x2xf32>
    check.expect_almost_eq_const %qq, dense<[[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]]> : tensor<2x2x2xf32>
    %s = stablehlo.constant dense<[[4.0, 99.0], [2.0, 5.0]]> : tensor<2x2xf32>
    %1:2 = stablehlo.custom_call @lapack_spotrf_ffi(%s) {mhlo.backend_config = {uplo = 76 : ui8}} : (tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<i32>)
    %l = stablehlo.slice %1#0 [1:2, 0:2] : (tensor<2x2xf32>) -> tensor<1x2xf32>
    check.expect_almost_eq_const %l, dense<[[1.0, 2.0]]> : tensor<1x2xf32>
    %b = stablehlo.constant dense<[[1.0, 2.0], [2.0, 2.0]]> : tensor<2x2xf32>
    %2:3 = stablehlo.custom_call @lapack_sgetrf_ffi(%b) {mhlo.backend_config = {}} : (tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2xi32>, tensor<i32>)
    check.expect_almost_eq_const %2#0, dense<[[2.0, 2.0], [0.5, 1.0]]> : tensor<2x2xf32>
    check.expect_eq_const %2#1, dense<[2, 2]> : tensor<2xi32>
    %3:3 = stablehlo.custom_call @lapack_ssyevd_ffi(%b) {mhlo.backend_config = {mode = 86 : ui8, uplo = 76 : ui8}} : (tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2xf32>, tensor<i32>)
    check.expect_almost_eq_const %3#1, dense<[-0.5615528, 3.5615528]> : tensor<2xf32>
    %4:5 = stablehlo.custom_call @lapack_sgesdd_ffi(%b) {mhlo.backend_config = {mode = 78 : ui8}} : (tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<i32>)
    check.expect_almost_eq_const %4#1, dense<[3.5615528, 0.5615528]> : tensor<2xf32>
    %5 = stablehlo.custom_call @lapack_strsm_ffi(%s, %b) {mhlo.backend_config = {diag = 85 : ui8, side = 82 : ui8, trans_x = 84 : ui8, uplo = 76 : ui8}} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    check.expect_almost_eq_const %5, dense<[[1.0, 0.0], [2.0, -2.0]]> : tensor<2x2xf32>)",
                 8);
}

TEST_CASE("stablehlo: operations may follow a constant in its line") {
  passes_in_main(
      "%a = stablehlo.constant dense<[1, 2]> : tensor<2xi32> %b = stablehlo.add %a, %a : tensor<2xi32> "
      "%c = stablehlo.constant {note = 1 : i32} dense<[2, 4]> : tensor<2xi32> check.expect_eq %b, %c : tensor<2xi32>");
}

TEST_CASE("stablehlo: the generic form of modules, functions and names for types") {
  passes(R"(
    !t = tensor<2xi32>
    "builtin.module"() <{sym_name = "m"}> ({
      "func.func"() <{function_type = () -> !t, sym_name = "main"}> ({
        %0 = "stablehlo.constant"() <{value = dense<[1, 2]> : !t}> : () -> !t
        %1 = "stablehlo.add"(%0, %0) : (!t, !t) -> !t
        "check.expect_eq_const"(%1) <{value = dense<[2, 4]> : tensor<2xi32>}> : (!t) -> ()
        "func.return"(%1) : (!t) -> ()
      }) : () -> ()
    }) : () -> ())",
         1);
}

namespace {
constexpr const char* kCube = R"(
  func.func @main(%x: tensor<3xf32>, %s: tensor<f32>) -> (tensor<f32>, tensor<3xf32>) {
    %b = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %y = call @cube(%x) : (tensor<3xf32>) -> tensor<3xf32>
    %p = stablehlo.multiply %y, %b : tensor<3xf32>
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %r = stablehlo.reduce(%p init: %z) applies stablehlo.add across dimensions = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
    return %r, %p : tensor<f32>, tensor<3xf32>
  }
  func.func private @cube(%x: tensor<3xf32>) -> tensor<3xf32> {
    %0 = stablehlo.multiply %x, %x : tensor<3xf32>
    %1 = stablehlo.multiply %0, %x : tensor<3xf32>
    return %1 : tensor<3xf32>
  })";
}  // namespace

TEST_CASE("stablehlo: what was read can be called, differentiated, mapped and jitted") {
  const Jaxpr program = parse_stablehlo(kCube);
  CHECK(program.in_avals() == std::vector<ShapeDtypeStruct>{{{3}, float32}, {{}, float32}});
  const Array x = array({1, 2, 3}, float32);
  CHECK(program(x, 2.f)[0].item<float>() == 72);
  auto f = [&](const Array& a) { return program(a, Array(2.f))[0]; };
  CHECK(grad(f)(x).to_vector<float>() == std::vector<float>{6, 24, 54});
  CHECK(jit(grad(f))(x).to_vector<float>() == std::vector<float>{6, 24, 54});
  CHECK(vmap(f)(stack({x, x})).to_vector<float>() == std::vector<float>{72, 72});
  // A sum from 0 is weft's own, and the function that is called is a call.
  CHECK(program.to_string().find("reduce_sum") != std::string::npos);
  CHECK(program.to_string().find("name=cube") != std::string::npos);
}

TEST_CASE("stablehlo: another function than @main, and a program's checks left out") {
  const Jaxpr cube = parse_stablehlo(kCube, {.function = "cube"});
  CHECK(cube(array({1, 2, 3}, float32))[0].to_vector<float>() == std::vector<float>{1, 8, 27});
  const std::string checked =
      "func.func @main() -> tensor<f32> {\n%a = stablehlo.constant dense<1.0> : tensor<f32>\n%b = stablehlo.sine %a "
      ": tensor<f32>\ncheck.expect_eq %a, %b : tensor<f32>\nreturn %a : tensor<f32>\n}";
  const Jaxpr program = parse_stablehlo(checked);
  CHECK(program.out_avals().size() == 1);
  CHECK(program.eqns().empty());
  const StablehloProgram with_checks = parse_stablehlo_checks(checked);
  CHECK(failed_stablehlo_check(with_checks, tools::run_on("interp", "main", with_checks.jaxpr, {})) ==
        "line 4: 1 of 1 elements of f32[] are wrong; the first, 0, is 1 and 0.8414709568023682 is expected");
}

TEST_CASE("stablehlo: checks count representable numbers, and tell zeros and NaN") {
  auto problem = [](const std::string& type, const std::string& a, const std::string& b, const std::string& check) {
    const StablehloProgram p =
        parse_stablehlo_checks(test::main_of("%a = stablehlo.constant dense<" + a + "> : tensor<" + type +
                                             ">\n%b = stablehlo.constant dense<" + b + "> : tensor<" + type + ">\n" + check));
    return !failed_stablehlo_check(p, tools::run_on("interp", "main", p.jaxpr, {})).empty();
  };
  const std::string close = "check.expect_close %a, %b, max_ulp_difference = 2 : tensor<f32>, tensor<f32>";
  CHECK_FALSE(problem("f32", "1.0", "0x3F800002", close));
  CHECK(problem("f32", "1.0", "0x3F800003", close));
  CHECK_FALSE(problem("f32", "0x00000001", "0x80000001", close));
  CHECK(problem("f32", "0x7F7FFFFF", "0x7F800000", close));
  CHECK_FALSE(problem("f32", "0x7FC00000", "0xFFC00001", close));
  const std::string equal = "check.expect_eq %a, %b : tensor<f32>";
  CHECK_FALSE(problem("f32", "0.0", "-0.0", equal));
  CHECK_FALSE(problem("f32", "0x7FC00000", "0x7FC00000", equal));
  CHECK(problem("f32", "1.0", "0x3F800001", equal));
}

TEST_CASE("stablehlo: factorisations, transforms, normalisation") {
  passes_in_main(R"(
    %a = stablehlo.constant dense<[[4.0, 99.0], [2.0, 5.0]]> : tensor<2x2xf32>
    %0 = stablehlo.cholesky %a, lower = true : tensor<2x2xf32>
    %b = stablehlo.constant dense<[[4.0], [6.0]]> : tensor<2x1xf32>
    %1 = "stablehlo.triangular_solve"(%0, %b) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose TRANSPOSE>, unit_diagonal = false}> : (tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x1xf32>
    %c = stablehlo.constant dense<[1.0, 0.0, 0.0, 0.0]> : tensor<4xf32>
    %2 = stablehlo.fft %c, type = RFFT, length = [4] : (tensor<4xf32>) -> tensor<3xcomplex<f32>>
    check.expect_almost_eq_const %0, dense<[[2.0, 0.0], [1.0, 2.0]]> : tensor<2x2xf32>
    check.expect_almost_eq_const %1, dense<[[0.5], [3.0]]> : tensor<2x1xf32>
    check.expect_almost_eq_const %2, dense<(1.0, 0.0)> : tensor<3xcomplex<f32>>
    %x = stablehlo.constant dense<[[1.0, 2.0], [3.0, 6.0]]> : tensor<2x2xf32>
    %s = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %o = stablehlo.constant dense<[0.0, 1.0]> : tensor<2xf32>
    %3:3 = "stablehlo.batch_norm_training"(%x, %s, %o) <{epsilon = 0.0 : f32, feature_index = 1 : i64}> : (tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>)
    %4 = "stablehlo.batch_norm_inference"(%x, %s, %o, %3#1, %3#2) <{epsilon = 0.0 : f32, feature_index = 1 : i64}> : (tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
    check.expect_almost_eq_const %3#0, dense<[[-1.0, -1.0], [1.0, 3.0]]> : tensor<2x2xf32>
    check.expect_almost_eq_const %3#1, dense<[2.0, 4.0]> : tensor<2xf32>
    check.expect_almost_eq_const %3#2, dense<[1.0, 4.0]> : tensor<2xf32>
    check.expect_almost_eq %4, %3#0, tolerance = 0.0001 : tensor<2x2xf32>)",
                 7);
}

TEST_CASE("stablehlo: the gradient of normalisation is that of the training form") {
  const char* const kText = R"(
    func.func @forward(%x: tensor<3x2xf32>, %s: tensor<2xf32>, %o: tensor<2xf32>) -> (tensor<3x2xf32>, tensor<2xf32>, tensor<2xf32>) {
      %0:3 = "stablehlo.batch_norm_training"(%x, %s, %o) <{epsilon = 0.01 : f32, feature_index = 1 : i64}> : (tensor<3x2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<3x2xf32>, tensor<2xf32>, tensor<2xf32>)
      return %0#0, %0#1, %0#2 : tensor<3x2xf32>, tensor<2xf32>, tensor<2xf32>
    }
    func.func @backward(%x: tensor<3x2xf32>, %s: tensor<2xf32>, %m: tensor<2xf32>, %v: tensor<2xf32>, %g: tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<2xf32>, tensor<2xf32>) {
      %0:3 = "stablehlo.batch_norm_grad"(%x, %s, %m, %v, %g) <{epsilon = 0.01 : f32, feature_index = 1 : i64}> : (tensor<3x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<2xf32>, tensor<2xf32>)
      return %0#0, %0#1, %0#2 : tensor<3x2xf32>, tensor<2xf32>, tensor<2xf32>
    })";
  const Jaxpr forward = parse_stablehlo(kText, {.function = "forward"}), backward = parse_stablehlo(kText, {.function = "backward"});
  const Array x = array({{1, 5}, {2, 4}, {4, -1}}, float32), s = array({2, 3}, float32), o = array({0, 1}, float32),
              g = array({{1, 0}, {-1, 2}, {3, 1}}, float32);
  const std::vector<Array> out = forward(x, s, o);
  auto loss = [&](const Array& a, const Array& b, const Array& c) { return sum(forward(a, b, c)[0] * g); };
  const auto [gx, gs, go] = grad<0, 1, 2>(loss)(x, s, o);
  const std::vector<Array> got = backward(x, s, out[1], out[2], g);
  CHECK(max(abs(got[0] - gx)).item<float>() < 1e-5);
  CHECK(max(abs(got[1] - gs)).item<float>() < 1e-5);
  CHECK(max(abs(got[2] - go)).item<float>() < 1e-5);
}

// Threefry-2x32 of the key (1, 0) and the counters (2, 0), (3, 0): Random123's cipher, as the specification's own example has it.
TEST_CASE("stablehlo: random bits are blocks of a counter, which goes on") {
  passes_in_main(R"(
    %s = stablehlo.constant dense<[1, 2]> : tensor<2xui64>
    %0, %1 = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<2x2xui64>)
    check.expect_eq_const %0, dense<[1, 6]> : tensor<2xui64>
    check.expect_eq_const %1, dense<[[9236835810183407956, 16087790271692313299], [18212823393184779219, 2658481902456610144]]> : tensor<2x2xui64>
    %2, %3 = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3xui32>)
    check.expect_eq_const %2, dense<[1, 4]> : tensor<2xui64>)",
                 3);
}

TEST_CASE("stablehlo: Threefry's words of 32 bits are paired along an even dimension, or else the longest, as in XLA") {
  passes_in_main(R"(
    %s = stablehlo.constant dense<[1, 2]> : tensor<2xui64>
    %0, %1 = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<2x2xui32>)
    check.expect_eq_const %0, dense<[1, 4]> : tensor<2xui64>
    check.expect_eq_const %1, dense<[[43444564, 3979645651], [2150618427, 3745730563]]> : tensor<2x2xui32>
    %2, %3 = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x3xui32>)
    check.expect_eq_const %2, dense<[1, 8]> : tensor<2xui64>
    check.expect_eq_const %3, dense<[[43444564, 3979645651, 1672743891], [2150618427, 3745730563, 4240503393], [2109414752, 2534981805, 2868795927]]> : tensor<3x3xui32>
    %4, %5 = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x4xui32>)
    check.expect_eq_const %5, dense<[[43444564, 2150618427, 3979645651, 3745730563], [1672743891, 4240503393, 2109414752, 618976052], [2534981805, 3824176357, 2868795927, 3753859121]]> : tensor<3x4xui32>
    %6, %7 = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<ui32>)
    check.expect_eq_const %6, dense<[1, 3]> : tensor<2xui64>
    check.expect_eq_const %7, dense<43444564> : tensor<ui32>)",
                 7);
}

// Philox-4x32 of the key 0 and the counter 0 is among Random123's known answers; the others are XLA's on the CPU.
TEST_CASE("stablehlo: Philox's bits are those of XLA, whose default it is") {
  passes_in_main(R"(
    %0 = stablehlo.constant dense<0> : tensor<2xui64>
    %1, %2 = stablehlo.rng_bit_generator %0, algorithm = PHILOX : (tensor<2xui64>) -> (tensor<2xui64>, tensor<5xui32>)
    check.expect_eq_const %1, dense<[0, 2]> : tensor<2xui64>
    check.expect_eq_const %2, dense<[0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8, 0xf8e4cca4]> : tensor<5xui32>
    %3 = stablehlo.constant dense<[0x123456789abcdef, 0xfedcba9876543210]> : tensor<2xui64>
    %4, %5 = stablehlo.rng_bit_generator %3, algorithm = DEFAULT : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x1xui64>)
    check.expect_eq_const %4, dense<[0x123456789abcdef, 0xfedcba9876543212]> : tensor<2xui64>
    check.expect_eq_const %5, dense<[[0xcfa390b51ec53d42], [0xe71ff917f2235702], [0xd682777acb472319]]> : tensor<3x1xui64>
    %6, %7 = stablehlo.rng_bit_generator %3, algorithm = DEFAULT : (tensor<2xui64>) -> (tensor<2xui64>, tensor<6xui8>)
    check.expect_eq_const %7, dense<[0x42, 0xb5, 0x02, 0x17, 0x19, 0x7a]> : tensor<6xui8>
    %8 = stablehlo.constant dense<[7, 8, 9]> : tensor<3xui64>
    %9, %10 = stablehlo.rng_bit_generator %8, algorithm = PHILOX : (tensor<3xui64>) -> (tensor<3xui64>, tensor<2xui32>)
    check.expect_eq_const %9, dense<[7, 9, 9]> : tensor<3xui64>
    check.expect_eq_const %10, dense<[0x93872c9d, 0xdf954315]> : tensor<2xui32>
    %11 = stablehlo.constant dense<[7, 0xffffffffffffffff, 8]> : tensor<3xui64>
    %12, %13 = stablehlo.rng_bit_generator %11, algorithm = PHILOX : (tensor<3xui64>) -> (tensor<3xui64>, tensor<8xui32>)
    check.expect_eq_const %12, dense<[7, 1, 9]> : tensor<3xui64>)",
                 8);
}

TEST_CASE("stablehlo: of branches by a constant only the chosen one is read") {
  weft::test::passes_in_main(R"(
    %i = stablehlo.constant dense<1> : tensor<i32>
    %0 = "stablehlo.case"(%i) ({
      %a = stablehlo.custom_call @of_another_platform() : () -> tensor<f32>
      stablehlo.return %a : tensor<f32>
    }, {
      %b = stablehlo.constant dense<2.0> : tensor<f32>
      stablehlo.return %b : tensor<f32>
    }) : (tensor<i32>) -> tensor<f32>
    check.expect_eq_const %0, dense<2.0> : tensor<f32>)");
}
