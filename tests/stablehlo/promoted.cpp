// Operations that combine elements in a wider type than their operands have, as the specification permits.
#include "tests/messages.h"
#include "tests/stablehlo/run.h"

using namespace weft;
using test::has, test::main_of, test::message_of, test::passes_in_main;

namespace {
std::string combining(const std::string& type) {
  return "({\n^bb0(%p: tensor<" + type + ">, %q: tensor<" + type + ">):\n%s = stablehlo.add %p, %q : tensor<" + type +
         ">\nstablehlo.return %s : tensor<" + type + ">\n})";
}
}  // namespace

TEST_CASE("stablehlo: reductions in the type of their region") {
  // 200 + 100 and 2000 + 2047 are beyond 8 bits and beyond the whole numbers of float16.
  passes_in_main(R"(
    %a = stablehlo.constant dense<[[100, 100], [100, 27]]> : tensor<2x2xi8>
    %z = stablehlo.constant dense<1> : tensor<i8>
    %0 = "stablehlo.reduce"(%a, %z) <{dimensions = array<i64: 0>}> )" +
                     combining("i32") + R"( : (tensor<2x2xi8>, tensor<i8>) -> tensor<2xi32>
    %1 = "stablehlo.reduce"(%a, %z) <{dimensions = array<i64>}> )" +
                     combining("i32") + R"( : (tensor<2x2xi8>, tensor<i8>) -> tensor<2x2xi32>
    %x = stablehlo.constant dense<[2000.0, 2047.0, 1.0]> : tensor<3xf16>
    %y = stablehlo.constant dense<0.0> : tensor<f16>
    %2 = "stablehlo.reduce_window"(%x, %y) <{window_dimensions = array<i64: 2>}> )" +
                     combining("f32") + R"( : (tensor<3xf16>, tensor<f16>) -> tensor<2xf32>
    check.expect_eq_const %0, dense<[201, 128]> : tensor<2xi32>
    check.expect_eq_const %1, dense<[[101, 101], [101, 28]]> : tensor<2x2xi32>
    check.expect_eq_const %2, dense<[4047.0, 2048.0]> : tensor<2xf32>)",
                 3);
}

TEST_CASE("stablehlo: scatters in the type of their region") {
  passes_in_main(R"(
    %a = stablehlo.constant dense<[2000.0, 2.0, 3.0, 1.0]> : tensor<4xf16>
    %i = stablehlo.constant dense<[[0], [0]]> : tensor<2x1xi32>
    %u = stablehlo.constant dense<[2047.0, 1.0]> : tensor<2xf16>
    %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> )" +
                     combining("f64") + R"( : (tensor<4xf16>, tensor<2x1xi32>, tensor<2xf16>) -> tensor<4xf64>
    %z = stablehlo.constant dense<1.0> : tensor<f16>
    %1 = "stablehlo.select_and_scatter"(%a, %u, %z) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
    ^bb0(%p: tensor<f16>, %q: tensor<f16>):
      %g = stablehlo.compare GE, %p, %q : (tensor<f16>, tensor<f16>) -> tensor<i1>
      stablehlo.return %g : tensor<i1>
    }, )" + combining("f32").substr(1) +
                     R"( : (tensor<4xf16>, tensor<2xf16>, tensor<f16>) -> tensor<4xf32>
    check.expect_eq_const %0, dense<[4048.0, 2.0, 3.0, 1.0]> : tensor<4xf64>
    check.expect_eq_const %1, dense<[2048.0, 1.0, 2.0, 1.0]> : tensor<4xf32>)",
                 2);
}

TEST_CASE("stablehlo: sums over devices in the type of their region") {
  const std::string reduce =
      "sdy.mesh @m = <[\"x\"=2]>\nfunc.func @main(%a: tensor<4xf16>) -> tensor<2xf32> {\n"
      "%0 = sdy.manual_computation(%a) in_shardings=[<@m, [{\"x\"}]>] out_shardings=[<@m, [{}]>] manual_axes={\"x\"} (%b: tensor<2xf16>) "
      "{\n"
      "%1 = \"stablehlo.all_reduce\"(%b) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = "
      "#stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> " +
      combining("f32") +
      " : (tensor<2xf16>) -> tensor<2xf32>\nsdy.return %1 : tensor<2xf32>\n} : (tensor<4xf16>) -> tensor<2xf32>\nreturn %0 : "
      "tensor<2xf32>\n}";
  const Array out = tools::run_on("interp", "main", parse_stablehlo(reduce), {array({2000.f, 1.f, 2047.f, 2.f}).astype(float16)})[0];
  CHECK(array_equal(out, array({4047.f, 3.f})));
}

TEST_CASE("stablehlo: a region's type that elements are not promoted to is refused") {
  const std::string text = main_of(R"(
    %a = stablehlo.constant dense<[100, 27]> : tensor<2xi32>
    %z = stablehlo.constant dense<1> : tensor<i32>
    %0 = "stablehlo.reduce"(%a, %z) <{dimensions = array<i64: 0>}> )" +
                                   combining("i8") + " : (tensor<2xi32>, tensor<i32>) -> tensor<i8>");
  CHECK(has(message_of<Error>([&] { parse_stablehlo(text); }),
            {"stablehlo.reduce: its region takes tensor<i8>, which elements of operand 0, int32, are not promoted to"}));
}
