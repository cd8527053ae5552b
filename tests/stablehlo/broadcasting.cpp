// Operations of chlo that broadcast their operands, and what programs state of shapes that is checked.
#include "tests/messages.h"
#include "tests/stablehlo/run.h"

using namespace weft;
using test::has, test::main_of, test::message_of, test::passes_in_main;

TEST_CASE("stablehlo: operands that are broadcast") {
  passes_in_main(R"(
    %a = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
    %r = stablehlo.constant dense<[10, 20, 30]> : tensor<3xi32>
    %k = stablehlo.constant dense<[[2], [3]]> : tensor<2x1xi32>
    %v = stablehlo.constant dense<[5, 7]> : tensor<2xi32>
    %s = stablehlo.constant dense<true> : tensor<i1>
    %0 = chlo.broadcast_add %a, %r : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
    %1 = "chlo.broadcast_multiply"(%r, %k) : (tensor<3xi32>, tensor<2x1xi32>) -> tensor<2x3xi32>
    %2 = chlo.broadcast_subtract %v, %a {broadcast_dimensions = array<i64: 0>} : (tensor<2xi32>, tensor<2x3xi32>) -> tensor<2x3xi32>
    %3 = chlo.broadcast_select %s, %k, %r : (tensor<i1>, tensor<2x1xi32>, tensor<3xi32>) -> tensor<2x3xi32>
    %4 = chlo.broadcast_compare %a, %k {comparison_direction = #chlo<comparison_direction LT>} : (tensor<2x3xi32>, tensor<2x1xi32>) -> tensor<2x3xi1>
    %5 = stablehlo.convert %4 : (tensor<2x3xi1>) -> tensor<2x3xi32>
    %6 = "chlo.constant_like"(%k) {value = 1.5 : f32} : (tensor<2x1xi32>) -> tensor<2x1xf32>
    %7 = chlo.conj %6 : tensor<2x1xf32> -> tensor<2x1xf32>
    check.expect_eq_const %0, dense<[[11, 22, 33], [14, 25, 36]]> : tensor<2x3xi32>
    check.expect_eq_const %1, dense<[[20, 40, 60], [30, 60, 90]]> : tensor<2x3xi32>
    check.expect_eq_const %2, dense<[[4, 3, 2], [3, 2, 1]]> : tensor<2x3xi32>
    check.expect_eq_const %3, dense<[[2, 2, 2], [3, 3, 3]]> : tensor<2x3xi32>
    check.expect_eq_const %5, dense<[[1, 0, 0], [0, 0, 0]]> : tensor<2x3xi32>
    check.expect_eq_const %7, dense<[[1.5], [1.5]]> : tensor<2x1xf32>)",
                 6);
}

TEST_CASE("stablehlo: Einstein's sums, pretty, in a wider type, and of one operand") {
  passes_in_main(R"(
    %a = stablehlo.constant dense<[[100, 100]]> : tensor<1x2xi8>
    %0 = stablehlo.einsum %a, %a, config = "ij,kj->ik" : (tensor<1x2xi8>, tensor<1x2xi8>) -> tensor<1x1xi16>
    %1 = "stablehlo.unary_einsum"(%a) <{einsum_config = "ij->ji"}> : (tensor<1x2xi8>) -> tensor<2x1xi8>
    check.expect_eq_const %0, dense<20000> : tensor<1x1xi16>
    check.expect_eq_const %1, dense<[[100], [100]]> : tensor<2x1xi8>)",
                 2);
}

TEST_CASE("stablehlo: what a program states twice must agree") {
  const std::string x = "%x = stablehlo.constant dense<1.0> : tensor<4x2xf32>\n%z = stablehlo.constant dense<0.0> : tensor<f32>\n";
  const std::string add =
      "({\n^bb0(%p: tensor<f32>, %q: tensor<f32>):\n%s = stablehlo.add %p, %q : tensor<f32>\nstablehlo.return %s : tensor<f32>\n})";
  const std::string no = "({\n^bb0(%p: tensor<f32>, %q: tensor<f32>):\nstablehlo.return\n})";
  const std::string ge =
      "({\n^bb0(%p: tensor<f32>, %q: tensor<f32>):\n%s = stablehlo.compare GE, %p, %q : (tensor<f32>, tensor<f32>) -> "
      "tensor<i1>\nstablehlo.return %s : tensor<i1>\n}, ";
  const std::pair<std::string, std::string> cases[] = {
      {"%0 = stablehlo.broadcast %z, sizes = [2] : (tensor<f32>) -> tensor<3xf32>",
       "stablehlo.broadcast: result 0 is f32[2], the text says tensor<3xf32>"},
      {"%n = stablehlo.constant dense<[2, 2]> : tensor<2xi64>\n"
       "%0 = stablehlo.dynamic_reshape %x, %n : (tensor<4x2xf32>, tensor<2xi64>) -> tensor<1x8xf32>",
       "stablehlo.dynamic_reshape: operand 1 states the sizes (2, 2), the text says tensor<1x8xf32>"},
      {"%n = stablehlo.constant dense<[2]> : tensor<1xi64>\n%0 = stablehlo.dynamic_iota %n, dim = 0 : (tensor<1xi64>) -> tensor<3xi32>",
       "stablehlo.dynamic_iota: operand 0 states the sizes (2), the text says tensor<3xi32>"},
      {"%0 = \"stablehlo.map\"(%x, %x) <{dimensions = array<i64: 1, 0>}> " + add +
           " : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>",
       "stablehlo.map: dimensions must be all dimensions of the operands in order"},
      {"%0 = \"stablehlo.reduce_window\"(%x, %z) <{window_dimensions = array<i64: 2, 1>, padding = dense<0> : tensor<4x1xi64>}> " + add +
           " : (tensor<4x2xf32>, tensor<f32>) -> tensor<3x2xf32>",
       "stablehlo.reduce_window: padding is tensor<4x1xi64>, it must have two numbers for each dimension"},
      {"%0 = \"stablehlo.select_and_scatter\"(%x, %x, %z) <{window_dimensions = array<i64: 1, 1>}> " + ge + no.substr(1) +
           " : (tensor<4x2xf32>, tensor<4x2xf32>, tensor<f32>) -> tensor<4x2xf32>",
       "stablehlo.select_and_scatter: its second region returns nothing, it must return f32[]"},
      {"%i = stablehlo.constant dense<0> : tensor<1x2xi32>\n%u = stablehlo.constant dense<0.0> : tensor<1xf32>\n"
       "%0 = \"stablehlo.scatter\"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], "
       "scatter_dims_to_operand_dims = [0, 0], index_vector_dim = 1>}> " +
           add + " : (tensor<4x2xf32>, tensor<1x2xi32>, tensor<1xf32>) -> tensor<4x2xf32>",
       "stablehlo.scatter: scatter: scatter_dims_to_operand_dims (0, 0) names a dimension twice"},
      {"%0 = chlo.broadcast_add %x, %n : (tensor<4x2xf32>, tensor<3xf32>) -> tensor<4x2xf32>", "sizes 2 and 3 of its operands don't fit"},
  };
  for (const auto& [text, message] : cases) {
    CAPTURE(text);
    const std::string more = text.find("broadcast_add") != std::string::npos ? "%n = stablehlo.constant dense<0.0> : tensor<3xf32>\n" : "";
    CHECK(has(message_of<Error>([&] { parse_stablehlo(main_of(x + more + text)); }), {message}));
  }
}
