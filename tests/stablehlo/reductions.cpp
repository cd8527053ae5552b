// Reductions, windows, sorts and products.
#include "tests/stablehlo/run.h"

using weft::test::passes_in_main;

TEST_CASE("stablehlo: reductions start from their value, whatever it is") {
  passes_in_main(R"(
    %a = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
    %z = stablehlo.constant dense<10> : tensor<i32>
    %0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [1] : (tensor<2x3xi32>, tensor<i32>) -> tensor<2xi32>
    %1 = stablehlo.reduce(%a init: %z) applies stablehlo.minimum across dimensions = [1, 0] : (tensor<2x3xi32>, tensor<i32>) -> tensor<i32>
    %2 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [] : (tensor<2x3xi32>, tensor<i32>) -> tensor<2x3xi32>
    %3 = stablehlo.reduce(%a init: %z) applies stablehlo.or across dimensions = [0] : (tensor<2x3xi32>, tensor<i32>) -> tensor<3xi32>
    %4 = stablehlo.reduce(%a init: %z) applies stablehlo.xor across dimensions = [0, 1] : (tensor<2x3xi32>, tensor<i32>) -> tensor<i32>
    check.expect_eq_const %0, dense<[16, 25]> : tensor<2xi32>
    check.expect_eq_const %1, dense<1> : tensor<i32>
    check.expect_eq_const %2, dense<[[11, 12, 13], [14, 15, 16]]> : tensor<2x3xi32>
    check.expect_eq_const %3, dense<[15, 15, 15]> : tensor<3xi32>
    check.expect_eq_const %4, dense<13> : tensor<i32>)",
                 5);
}

TEST_CASE("stablehlo: a region of several values finds the position of the maximum") {
  passes_in_main(R"(
    %a = stablehlo.constant dense<[3.0, 7.0, 1.0, 7.0]> : tensor<4xf32>
    %i = stablehlo.iota dim = 0 : tensor<4xi32>
    %m = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %z = stablehlo.constant dense<0> : tensor<i32>
    %0:2 = stablehlo.reduce(%a init: %m), (%i init: %z) across dimensions = [0] : (tensor<4xf32>, tensor<4xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)
     reducer(%p: tensor<f32>, %q: tensor<f32>) (%r: tensor<i32>, %s: tensor<i32>)  {
      %g = stablehlo.compare GT, %p, %q, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %e = stablehlo.compare EQ, %p, %q, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %l = stablehlo.compare LT, %r, %s, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %b = stablehlo.and %e, %l : tensor<i1>
      %o = stablehlo.or %g, %b : tensor<i1>
      %v = stablehlo.select %g, %p, %q : tensor<i1>, tensor<f32>
      %w = stablehlo.select %o, %r, %s : tensor<i1>, tensor<i32>
      stablehlo.return %v, %w : tensor<f32>, tensor<i32>
    }
    check.expect_eq_const %0#0, dense<7.0> : tensor<f32>
    check.expect_eq_const %0#1, dense<1> : tensor<i32>)",
                 2);
}

namespace {

/// Elements and positions reduced along dimension 1 by the region of JAX's argmax (GT) or argmin (LT).
std::string extremum(const std::string& direction, const std::string& x, const std::string& positions, const std::string& start) {
  return fmt::format(R"(
    %a = stablehlo.constant dense<{}> : tensor<2x4xf32>
    %i = {} : tensor<2x4xi32>
    %m = stablehlo.constant dense<{}> : tensor<f32>
    %z = stablehlo.constant dense<2> : tensor<i32>
    %0:2 = stablehlo.reduce(%a init: %m), (%i init: %z) across dimensions = [1] : (tensor<2x4xf32>, tensor<2x4xi32>, tensor<f32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>)
     reducer(%p: tensor<f32>, %q: tensor<f32>) (%r: tensor<i32>, %s: tensor<i32>)  {{
      %g = stablehlo.compare {}, %p, %q, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %n = stablehlo.compare NE, %p, %p, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %k = stablehlo.or %g, %n : tensor<i1>
      %e = stablehlo.compare EQ, %p, %q, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %l = stablehlo.compare LT, %r, %s, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %b = stablehlo.and %e, %l : tensor<i1>
      %o = stablehlo.or %k, %b : tensor<i1>
      %v = stablehlo.select %k, %p, %q : tensor<i1>, tensor<f32>
      %w = stablehlo.select %o, %r, %s : tensor<i1>, tensor<i32>
      stablehlo.return %v, %w : tensor<f32>, tensor<i32>
    }})",
                     x, positions, start, direction);
}
std::string is(const std::string& values, const std::string& positions) {
  return fmt::format(
      "\n    check.expect_eq_const %0#0, dense<{}> : tensor<2xf32>\n    check.expect_eq_const %0#1, dense<{}> : tensor<2xi32>", values,
      positions);
}

}  // namespace

TEST_CASE("stablehlo: JAX's argmax and argmin, and what only looks like them") {
  const std::string x = "[[3.0, 7.0, 1.0, 7.0], [2.0, 5.0, 9.0, 9.0]]", positions = "stablehlo.iota dim = 1";
  passes_in_main(extremum("GT", x, positions, "0xFF800000") + is("[7.0, 9.0]", "[1, 2]"), 2);
  passes_in_main(extremum("LT", x, positions, "0x7F800000") + is("[1.0, 2.0]", "[2, 0]"), 2);
  const auto program = [&](const std::string& numbers) {
    return weft::parse_stablehlo_checks(weft::test::main_of(extremum("GT", x, numbers, "0.0"))).jaxpr.to_string();
  };
  CHECK(program(positions).find("argmax[") != std::string::npos);
  CHECK(program("stablehlo.iota dim = 0").find("argmax[") == std::string::npos);
  // The start takes part, with its position, which is 2.
  passes_in_main(extremum("GT", x, positions, "7.0") + is("[7.0, 9.0]", "[1, 2]"), 2);
  passes_in_main(extremum("GT", x, positions, "9.0") + is("[9.0, 9.0]", "[2, 2]"), 2);
  passes_in_main(extremum("GT", x, positions, "10.0") + is("[10.0, 10.0]", "[2, 2]"), 2);
  // Other numbers than positions along the dimension.
  passes_in_main(extremum("GT", x, "stablehlo.iota dim = 0", "0xFF800000") + is("[7.0, 9.0]", "[0, 1]"), 2);
  passes_in_main(extremum("GT", x, "stablehlo.constant dense<[[0, 9, 8, 5], [0, 1, 4, 3]]>", "0xFF800000") + is("[7.0, 9.0]", "[5, 3]"), 2);
  passes_in_main(extremum("GT", "[[3.0, 0x7FC00000, 1.0, 0x7FC00000], [2.0, 5.0, 9.0, 9.0]]", positions, "0xFF800000") +
                     "\n    check.expect_eq_const %0#1, dense<[1, 2]> : tensor<2xi32>",
                 1);
}

TEST_CASE("stablehlo: windows, padded and dilated; those that count their start's value twice") {
  passes_in_main(R"(
    %a = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
    %z = stablehlo.constant dense<0> : tensor<i32>
    %o = stablehlo.constant dense<100> : tensor<i32>
    %0 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>, padding = dense<[[1, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%x: tensor<i32>, %y: tensor<i32>):
      %s = stablehlo.add %x, %y : tensor<i32>
      stablehlo.return %s : tensor<i32>
    }) : (tensor<4xi32>, tensor<i32>) -> tensor<3xi32>
    %1 = "stablehlo.reduce_window"(%a, %o) <{window_dimensions = array<i64: 2>, window_dilations = array<i64: 2>, base_dilations = array<i64: 2>}> ({
    ^bb0(%x: tensor<i32>, %y: tensor<i32>):
      %s = stablehlo.add %x, %y : tensor<i32>
      stablehlo.return %s : tensor<i32>
    }) : (tensor<4xi32>, tensor<i32>) -> tensor<5xi32>
    check.expect_eq_const %0, dense<[1, 5, 4]> : tensor<3xi32>
    check.expect_eq_const %1, dense<[103, 300, 105, 300, 107]> : tensor<5xi32>)",
                 2);
}

namespace {
std::string select_and_scatter(const std::string& direction, const std::string& type, const std::string& combine) {
  return R"("stablehlo.select_and_scatter"(%a, %s, %z) <{window_dimensions = array<i64: 2, 2>}> ({
    ^bb0(%x: tensor<)" +
         type + R"(>, %y: tensor<)" + type + R"(>):
      %c = stablehlo.compare )" +
         direction + ", %x, %y : (tensor<" + type + ">, tensor<" + type + R"(>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    }, {
    ^bb0(%x: tensor<)" +
         type + R"(>, %y: tensor<)" + type + R"(>):
      %c = stablehlo.)" +
         combine + " %x, %y : tensor<" + type + R"(>
      stablehlo.return %c : tensor<)" +
         type + R"(>
    }) : (tensor<2x3x)" +
         type + ">, tensor<1x2x" + type + ">, tensor<" + type + ">) -> tensor<2x3x" + type + ">";
}
}  // namespace

TEST_CASE("stablehlo: of equal elements of a window, the region chooses the first or the last") {
  const std::string operands = R"(
    %a = stablehlo.constant dense<[[5, 7, 7], [7, 5, 1]]> : tensor<2x3xi32>
    %s = stablehlo.constant dense<[[10, 20]]> : tensor<1x2xi32>
    %z = stablehlo.constant dense<1> : tensor<i32>
    %0 = )";
  passes_in_main(operands + select_and_scatter("GE", "i32", "add") +
                 "\ncheck.expect_eq_const %0, dense<[[1, 31, 1], [1, 1, 1]]> : tensor<2x3xi32>");
  passes_in_main(operands + select_and_scatter("GT", "i32", "add") +
                 "\ncheck.expect_eq_const %0, dense<[[1, 1, 21], [11, 1, 1]]> : tensor<2x3xi32>");
  passes_in_main(operands + select_and_scatter("GE", "i32", "multiply") +
                 "\ncheck.expect_eq_const %0, dense<[[1, 200, 1], [1, 1, 1]]> : tensor<2x3xi32>");
  passes_in_main(R"(
    %a = stablehlo.constant dense<[[5.0, 7.0, 7.0], [7.0, 5.0, 1.0]]> : tensor<2x3xf32>
    %s = stablehlo.constant dense<[[10.0, 20.0]]> : tensor<1x2xf32>
    %z = stablehlo.constant dense<1.0> : tensor<f32>
    %0 = )" + select_and_scatter("GE", "f32", "add") +
                 "\ncheck.expect_eq_const %0, dense<[[1.0, 31.0, 1.0], [1.0, 1.0, 1.0]]> : tensor<2x3xf32>");
}

namespace {
/// A sort of (%k, %v), of five, by a region on %a, %b (of %k) and %c, %d (of %v).
std::string sorted(const std::string& type, const std::string& keys, const std::string& region) {
  return "%k = stablehlo.constant dense<" + keys + "> : tensor<5x" + type + R"(>
    %v = stablehlo.iota dim = 0 : tensor<5xi32>
    %0:2 = "stablehlo.sort"(%k, %v) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%a: tensor<)" +
         type + ">, %b: tensor<" + type + R"(>, %c: tensor<i32>, %d: tensor<i32>):
      )" +
         region + R"(
      stablehlo.return %r : tensor<i1>
    }) : (tensor<5x)" +
         type + ">, tensor<5xi32>) -> (tensor<5x" + type + ">, tensor<5xi32>)\n";
}
std::string compared(const std::string& name, const std::string& how, const std::string& x, const std::string& y, const std::string& type,
                     const std::string& order = "FLOAT") {
  return "%" + name + " = stablehlo.compare " + how + ", %" + x + ", %" + y + ", " + order + " : (tensor<" + type + ">, tensor<" + type +
         ">) -> tensor<i1>\n";
}
std::string canonical(const std::string& x) {
  return "%z" + x + " = stablehlo.constant dense<0.0> : tensor<f32>\n" + compared("e" + x, "EQ", x, "z" + x, "f32") + "%f" + x +
         " = stablehlo.select %e" + x + ", %z" + x + ", %" + x + " : tensor<i1>, tensor<f32>\n" + compared("n" + x, "NE", x, x, "f32") +
         "%m" + x + " = stablehlo.constant dense<0x7FC00000> : tensor<f32>\n" + "%g" + x + " = stablehlo.select %n" + x + ", %m" + x +
         ", %f" + x + " : tensor<i1>, tensor<f32>\n";
}
}  // namespace

TEST_CASE("stablehlo: sorts by a comparison of one key, upwards and downwards") {
  passes_in_main(sorted("i32", "[3, 1, 2, 1, 3]", compared("r", "LT", "a", "b", "i32", "SIGNED")) +
                 "check.expect_eq_const %0#1, dense<[1, 3, 2, 0, 4]> : tensor<5xi32>");
  passes_in_main(sorted("i32", "[3, 1, 2, 1, -2147483648]", compared("r", "GT", "a", "b", "i32", "SIGNED")) +
                 "check.expect_eq_const %0#1, dense<[0, 2, 1, 3, 4]> : tensor<5xi32>");
  // The sides in the other order.
  passes_in_main(sorted("i32", "[3, 1, 2, 1, 3]", compared("r", "LT", "b", "a", "i32", "SIGNED")) +
                 "check.expect_eq_const %0#1, dense<[0, 4, 2, 1, 3]> : tensor<5xi32>");
  // By the second operand.
  passes_in_main(sorted("i32", "[3, 1, 2, 1, 3]", compared("r", "GT", "c", "d", "i32", "SIGNED")) +
                 "check.expect_eq_const %0#0, dense<[3, 1, 2, 1, 3]> : tensor<5xi32>");
}

TEST_CASE("stablehlo: floats are sorted in the total order, and as JAX does") {
  const std::string keys = "[0x7FC00000, 0.0, -1.0, -0.0, 0xFFC00000]";
  passes_in_main(sorted("f32", keys, compared("r", "LT", "a", "b", "f32", "TOTALORDER")) +
                 "check.expect_eq_const %0#1, dense<[4, 2, 3, 1, 0]> : tensor<5xi32>");
  passes_in_main(sorted("f32", keys, compared("r", "GT", "a", "b", "f32", "TOTALORDER")) +
                 "check.expect_eq_const %0#1, dense<[0, 1, 3, 2, 4]> : tensor<5xi32>");
  const std::string both = canonical("a") + canonical("b");
  passes_in_main(sorted("f32", keys, both + compared("r", "LT", "ga", "gb", "f32", "TOTALORDER")) +
                 "check.expect_eq_const %0#1, dense<[2, 1, 3, 0, 4]> : tensor<5xi32>");
  passes_in_main(sorted("f32", keys, both + compared("r", "GT", "ga", "gb", "f32", "TOTALORDER")) +
                 "check.expect_eq_const %0#1, dense<[0, 4, 1, 3, 2]> : tensor<5xi32>");
}

TEST_CASE("stablehlo: of several keys the later ones decide between equal ones; NaN equals nothing") {
  const std::string both = canonical("a") + canonical("b") + compared("p", "LT", "ga", "gb", "f32", "TOTALORDER") +
                           compared("q", "EQ", "ga", "gb", "f32") + compared("s", "GT", "c", "d", "i32", "SIGNED") +
                           "%t = stablehlo.and %q, %s : tensor<i1>\n%r = stablehlo.or %p, %t : tensor<i1>\n";
  passes_in_main(sorted("f32", "[0x7FC00000, 2.0, 1.0, 2.0, 0x7FC00000]", both) +
                 "check.expect_eq_const %0#1, dense<[2, 3, 1, 0, 4]> : tensor<5xi32>");
}

TEST_CASE("stablehlo: any other comparison sorts by a network") {
  // By distance from 2.
  const std::string region = R"(%w = stablehlo.constant dense<2> : tensor<i32>
      %p = stablehlo.subtract %a, %w : tensor<i32>
      %q = stablehlo.subtract %b, %w : tensor<i32>
      %pp = stablehlo.multiply %p, %p : tensor<i32>
      %qq = stablehlo.multiply %q, %q : tensor<i32>
      %s = stablehlo.subtract %pp, %qq : tensor<i32>
      %z = stablehlo.constant dense<0> : tensor<i32>
)";
  passes_in_main(sorted("i32", "[9, 1, 2, 3, -9]", region + compared("r", "LT", "s", "z", "i32", "SIGNED")) +
                     "check.expect_eq_const %0#0, dense<[2, 1, 3, 9, -9]> : tensor<5xi32>\n"
                     "check.expect_eq_const %0#1, dense<[2, 1, 3, 0, 4]> : tensor<5xi32>",
                 2);
}

TEST_CASE("stablehlo: convolutions of bools say whether any product is true") {
  passes_in_main(R"(
    %x = stablehlo.constant dense<[[[true, false, false, true]]]> : tensor<1x1x4xi1>
    %k = stablehlo.constant dense<[[[true, true]]]> : tensor<1x1x2xi1>
    %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x1x4xi1>, tensor<1x1x2xi1>) -> tensor<1x1x3xi1>
    %1 = stablehlo.convert %0 : (tensor<1x1x3xi1>) -> tensor<1x1x3xi32>
    check.expect_eq_const %1, dense<[[[1, 0, 1]]]> : tensor<1x1x3xi32>)",
                 1);
}

TEST_CASE("stablehlo: products of matrices, contractions, convolutions") {
  passes_in_main(R"(
    %a = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8>
    %0 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0] : (tensor<2x2xi8>, tensor<2x2xi8>) -> tensor<2x2xi32>
    %1 = "stablehlo.dot_general"(%a, %a) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [1], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x2xi8>, tensor<2x2xi8>) -> tensor<2xi8>
    %x = stablehlo.constant dense<[[[1.0, 2.0, 3.0, 4.0]]]> : tensor<1x1x4xf32>
    %k = stablehlo.constant dense<[[[1.0, 10.0]]]> : tensor<1x1x2xf32>
    %2 = stablehlo.convolution(%x, %k) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {stride = [2], pad = [[1, 0]], rhs_dilate = [2], reverse = [true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x1x4xf32>, tensor<1x1x2xf32>) -> tensor<1x1x2xf32>
    check.expect_eq_const %0, dense<[[7, 10], [15, 22]]> : tensor<2x2xi32>
    check.expect_eq_const %1, dense<[7, 22]> : tensor<2xi8>
    check.expect_eq_const %2, dense<[[[2.0, 24.0]]]> : tensor<1x1x2xf32>)",
                 3);
}

TEST_CASE("stablehlo: rows in groups, each with its own matrix; rows of no group") {
  passes_in_main(R"(
    %a = stablehlo.constant dense<[[1.0], [2.0], [3.0], [4.0]]> : tensor<4x1xf32>
    %b = stablehlo.constant dense<[[[10.0, 1.0]], [[0x7FC00000, 0x7FC00000]], [[100.0, 2.0]]]> : tensor<3x1x2xf32>
    %g = stablehlo.constant dense<[2, 0, 1]> : tensor<3xi32>
    %0 = "chlo.ragged_dot"(%a, %b, %g) {ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>} : (tensor<4x1xf32>, tensor<3x1x2xf32>, tensor<3xi32>) -> tensor<4x2xf32>
    check.expect_eq_const %0, dense<[[10.0, 1.0], [20.0, 2.0], [300.0, 6.0], [0.0, 0.0]]> : tensor<4x2xf32>)");
}

TEST_CASE("stablehlo: functions mapped over elements, with values from outside") {
  passes_in_main(R"(
    %a = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
    %t = stablehlo.constant dense<10> : tensor<i32>
    %0 = "stablehlo.map"(%a, %a) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%x: tensor<i32>, %y: tensor<i32>):
      %s = stablehlo.multiply %x, %y : tensor<i32>
      %r = stablehlo.add %s, %t : tensor<i32>
      stablehlo.return %r : tensor<i32>
    }) : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
    check.expect_eq_const %0, dense<[[11, 14], [19, 26]]> : tensor<2x2xi32>)");
}

TEST_CASE("stablehlo: windows that choose the largest or smallest element are one operation") {
  for (const auto& [direction, is_known] : {std::pair{"GE", true}, {"LE", true}, {"GT", false}, {"LT", false}}) {
    CAPTURE(direction);
    const std::string text = "func.func @main(%a: tensor<2x3xf32>, %s: tensor<1x2xf32>, %z: tensor<f32>) -> tensor<2x3xf32> {\n%0 = " +
                             select_and_scatter(direction, "f32", "add") + "\nreturn %0 : tensor<2x3xf32>\n}";
    CHECK((weft::parse_stablehlo(text).to_string().find("select_and_scatter_add") != std::string::npos) == is_known);
  }
}
