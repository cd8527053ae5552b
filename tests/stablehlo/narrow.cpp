// Elements of 8 bits and fewer: rounded to their numbers after each operation.
#include <cmath>

#include "tests/messages.h"
#include "tests/stablehlo/run.h"
#include "weft/frontends/stablehlo/module/narrow.h"

using namespace weft;
using weft::test::passes_in_main;

TEST_CASE("stablehlo: small floats are rounded to even, and too large ones become what their format has for them") {
  passes_in_main(R"(
    %x = stablehlo.constant dense<[1.0625, 1.1875, 464.0, 465.0, 0.0009765625, 0.0029296875, -7.0]> : tensor<7xf32>
    %0 = stablehlo.convert %x : (tensor<7xf32>) -> tensor<7xf8E4M3FN>
    %1 = stablehlo.convert %0 : (tensor<7xf8E4M3FN>) -> tensor<7xf32>
    %2 = stablehlo.slice %1 [0:3] : (tensor<7xf32>) -> tensor<3xf32>
    check.expect_eq_const %2, dense<[1.0, 1.25, 448.0]> : tensor<3xf32>
    %3 = stablehlo.slice %1 [4:7] : (tensor<7xf32>) -> tensor<3xf32>
    check.expect_eq_const %3, dense<[0.0, 0.00390625, -7.0]> : tensor<3xf32>
    %4 = stablehlo.slice %1 [3:4] : (tensor<7xf32>) -> tensor<1xf32>
    %5 = stablehlo.is_finite %4 : (tensor<1xf32>) -> tensor<1xi1>
    check.expect_eq_const %5, dense<false> : tensor<1xi1>
    %y = stablehlo.constant dense<[6.0, 5.0, 3.5]> : tensor<3xf8E5M2>
    %6 = stablehlo.add %y, %y : tensor<3xf8E5M2>
    %7 = stablehlo.multiply %6, %y : tensor<3xf8E5M2>
    %8 = stablehlo.convert %7 : (tensor<3xf8E5M2>) -> tensor<3xf32>
    check.expect_eq_const %8, dense<[64.0, 48.0, 24.0]> : tensor<3xf32>)",
                 4);
}

TEST_CASE("stablehlo: floats that are an exponent alone go to the nearest power of 2, and of two to the greater") {
  passes_in_main(R"(
    %x = stablehlo.constant dense<[1.0, 1.49999988, 1.5, 3.0, 5.9, 6.0, 0.7499, 5.87747175E-39, 1.40129846E-45, 8.81620763E-39, 8.8E-39, 1.70141183E+38, 2.5E+38]> : tensor<13xf32>
    %0 = stablehlo.convert %x : (tensor<13xf32>) -> tensor<13xf8E8M0FNU>
    %1 = stablehlo.bitcast_convert %0 : (tensor<13xf8E8M0FNU>) -> tensor<13xui8>
    check.expect_eq_const %1, dense<[127, 127, 128, 129, 129, 130, 126, 0, 0, 1, 0, 254, 254]> : tensor<13xui8>
    %n = stablehlo.constant dense<[0.0, -0.0, -1.0, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00000, 0xFFFFFFFF, 2.6E+38]> : tensor<9xf32>
    %2 = stablehlo.convert %n : (tensor<9xf32>) -> tensor<9xf8E8M0FNU>
    %3 = stablehlo.bitcast_convert %2 : (tensor<9xf8E8M0FNU>) -> tensor<9xui8>
    check.expect_eq_const %3, dense<255> : tensor<9xui8>
    %c = stablehlo.constant dense<[3.0, 5.9, 0.7499]> : tensor<3xf8E8M0FNU>
    %4 = stablehlo.multiply %c, %c : tensor<3xf8E8M0FNU>
    %5 = stablehlo.convert %4 : (tensor<3xf8E8M0FNU>) -> tensor<3xf32>
    check.expect_eq_const %5, dense<[16.0, 16.0, 0.25]> : tensor<3xf32>)",
                 3);
}

TEST_CASE("stablehlo: integers of 4 and of 2 bits keep their low bits") {
  passes_in_main(R"(
    %x = stablehlo.constant dense<[7, -8, 3]> : tensor<3xi4>
    %0 = stablehlo.add %x, %x : tensor<3xi4>
    %1 = stablehlo.convert %0 : (tensor<3xi4>) -> tensor<3xi32>
    check.expect_eq_const %1, dense<[-2, 0, 6]> : tensor<3xi32>
    %y = stablehlo.constant dense<[3, 2, 1]> : tensor<3xui2>
    %2 = stablehlo.multiply %y, %y : tensor<3xui2>
    %3 = stablehlo.convert %2 : (tensor<3xui2>) -> tensor<3xi32>
    check.expect_eq_const %3, dense<[1, 0, 1]> : tensor<3xi32>)",
                 2);
}

// As integers of 8 bits and more do, and XLA's small ones.
TEST_CASE("stablehlo: operations that see bits see those of integers of 4 and of 2 bits alone") {
  for (const char* type : {"i4", "ui4"}) {
    const std::string t = std::string("tensor<4x") + type + ">";
    const bool is_signed = type[0] == 'i';
    // The bits 1000, 1111, 0000, 0011.
    const std::string x = is_signed ? "[-8, -1, 0, 3]" : "[8, 15, 0, 3]";
    passes_in_main("%x = stablehlo.constant dense<" + x + "> : " + t + "\n%s = stablehlo.constant dense<[1, 2, 1, 1]> : " + t +
                       "\n%0 = stablehlo.popcnt %x : " + t + "\n%1 = stablehlo.count_leading_zeros %x : " + t +
                       "\n%2 = stablehlo.shift_right_logical %x, %s : " + t + "\n%3 = stablehlo.shift_right_arithmetic %x, %s : " + t +
                       "\n%4 = chlo.mulhi %x, %x : " + t + ", " + t + " -> " + t +
                       "\ncheck.expect_eq_const %0, dense<[1, 4, 0, 2]> : " + t + "\ncheck.expect_eq_const %1, dense<[0, 0, 4, 2]> : " + t +
                       "\ncheck.expect_eq_const %2, dense<[4, 3, 0, 1]> : " + t + "\ncheck.expect_eq_const %3, dense<" +
                       (is_signed ? "[-4, -1, 0, 1]" : "[12, 15, 0, 1]") + "> : " + t + "\ncheck.expect_eq_const %4, dense<" +
                       (is_signed ? "[4, 0, 0, 0]" : "[4, 14, 0, 0]") + "> : " + t,
                   5);
  }
  CHECK(test::has(test::message_of<Error>([] {
                    parse_stablehlo(
                        "func.func @main(%x: tensor<2xf8E5M2>) -> tensor<2xf8E5M2> {\n%0 = chlo.next_after %x, %x : "
                        "tensor<2xf8E5M2>, tensor<2xf8E5M2> -> tensor<2xf8E5M2>\nreturn %0 : tensor<2xf8E5M2>\n}");
                  }),
                  {"chlo.next_after: it is read for floats of 16 to 64 bits, not for f8E5M2"}));
}

TEST_CASE("stablehlo: floats beyond the range of integers of 4 and of 2 bits become the nearest, and NaN zero") {
  for (const char* type : {"f16", "bf16", "f32", "f64"}) {
    std::string text = R"(
    %x32 = stablehlo.constant dense<[1.9, 7.9, 8.0, 16.0, -8.9, -9.0, 254.5, -300.0, 0x7F800000, 0xFF800000, 0x7FC00000, -0.9]> : tensor<12xf32>
    %x = stablehlo.convert %x32 : (tensor<12xf32>) -> tensor<12xTYPE>
    %0 = stablehlo.convert %x : (tensor<12xTYPE>) -> tensor<12xi4>
    %1 = stablehlo.convert %0 : (tensor<12xi4>) -> tensor<12xi32>
    check.expect_eq_const %1, dense<[1, 7, 7, 7, -8, -8, 7, -8, 7, -8, 0, 0]> : tensor<12xi32>
    %2 = stablehlo.convert %x : (tensor<12xTYPE>) -> tensor<12xui4>
    %3 = stablehlo.convert %2 : (tensor<12xui4>) -> tensor<12xi32>
    check.expect_eq_const %3, dense<[1, 7, 8, 15, 0, 0, 15, 0, 15, 0, 0, 0]> : tensor<12xi32>
    %4 = stablehlo.convert %x : (tensor<12xTYPE>) -> tensor<12xi2>
    %5 = stablehlo.convert %4 : (tensor<12xi2>) -> tensor<12xi32>
    check.expect_eq_const %5, dense<[1, 1, 1, 1, -2, -2, 1, -2, 1, -2, 0, 0]> : tensor<12xi32>
    %6 = stablehlo.convert %x : (tensor<12xTYPE>) -> tensor<12xui2>
    %7 = stablehlo.convert %6 : (tensor<12xui2>) -> tensor<12xi32>
    check.expect_eq_const %7, dense<[1, 3, 3, 3, 0, 0, 3, 0, 3, 0, 0, 0]> : tensor<12xi32>)";
    for (std::size_t at; (at = text.find("TYPE")) != std::string::npos;) text.replace(at, 4, type);
    passes_in_main(text, 4);
  }
}

TEST_CASE("stablehlo: bits of small floats, and numbers of bits") {
  passes_in_main(R"(
    %x = stablehlo.constant dense<[1.5, -0.25, 448.0]> : tensor<3xf8E4M3FN>
    %0 = stablehlo.bitcast_convert %x : (tensor<3xf8E4M3FN>) -> tensor<3xui8>
    check.expect_eq_const %0, dense<[60, 168, 126]> : tensor<3xui8>
    %1 = stablehlo.bitcast_convert %0 : (tensor<3xui8>) -> tensor<3xf8E5M2>
    %4 = stablehlo.convert %1 : (tensor<3xf8E5M2>) -> tensor<3xf32>
    %2 = stablehlo.slice %4 [0:2] : (tensor<3xf32>) -> tensor<2xf32>
    check.expect_eq_const %2, dense<[1.0, -0.03125]> : tensor<2xf32>)",
                 2);
}

TEST_CASE("stablehlo: small elements are joined to larger ones, the first one in the lowest bits, and taken apart") {
  passes_in_main(R"(
    %x = stablehlo.constant dense<[[1, -2], [3, 4], [5, -6], [7, -8]]> : tensor<4x2xi4>
    %0 = stablehlo.bitcast_convert %x : (tensor<4x2xi4>) -> tensor<4xi8>
    check.expect_eq_const %0, dense<[-31, 67, -91, -121]> : tensor<4xi8>
    %1 = stablehlo.bitcast_convert %0 : (tensor<4xi8>) -> tensor<4x2xui4>
    %2 = stablehlo.convert %1 : (tensor<4x2xui4>) -> tensor<4x2xi32>
    check.expect_eq_const %2, dense<[[1, 14], [3, 4], [5, 10], [7, 8]]> : tensor<4x2xi32>
    %y = stablehlo.constant dense<305419896> : tensor<i32>
    %3 = stablehlo.bitcast_convert %y : (tensor<i32>) -> tensor<8xi4>
    %4 = stablehlo.convert %3 : (tensor<8xi4>) -> tensor<8xi32>
    check.expect_eq_const %4, dense<[-8, 7, 6, 5, 4, 3, 2, 1]> : tensor<8xi32>
    %5 = stablehlo.bitcast_convert %3 : (tensor<8xi4>) -> tensor<i32>
    check.expect_eq_const %5, dense<305419896> : tensor<i32>
    %z = stablehlo.constant dense<[1, -1]> : tensor<2xi2>
    %6 = stablehlo.bitcast_convert %z : (tensor<2xi2>) -> tensor<i4>
    %7 = stablehlo.convert %6 : (tensor<i4>) -> tensor<i32>
    check.expect_eq_const %7, dense<-3> : tensor<i32>
    %8 = stablehlo.bitcast_convert %6 : (tensor<i4>) -> tensor<2xui2>
    %9 = stablehlo.convert %8 : (tensor<2xui2>) -> tensor<2xi32>
    check.expect_eq_const %9, dense<[1, 3]> : tensor<2xi32>
    %h = stablehlo.constant dense<[-2.5, 1.0]> : tensor<2xf16>
    %10 = stablehlo.bitcast_convert %h : (tensor<2xf16>) -> tensor<2x4xui4>
    %11 = stablehlo.convert %10 : (tensor<2x4xui4>) -> tensor<2x4xi32>
    check.expect_eq_const %11, dense<[[0, 0, 1, 12], [0, 0, 12, 3]]> : tensor<2x4xi32>)",
                 7);
}

TEST_CASE("stablehlo: every element of a small format comes back from its bits") {
  for (const char* name : {"f8E5M2", "f8E4M3", "f8E3M4", "f8E4M3FN", "f8E4M3FNUZ", "f8E5M2FNUZ", "f8E4M3B11FNUZ", "f4E2M1FN", "f8E8M0FNU",
                           "i4", "ui4", "i2", "ui2"}) {
    CAPTURE(name);
    const detail::mlir::NarrowFormat* f = detail::mlir::find_narrow(name);
    REQUIRE(f);
    std::vector<std::uint8_t> all;
    for (int i = 0; i < 1 << f->bits; ++i)
      if (!std::isnan(detail::mlir::narrow_value(*f, static_cast<std::uint8_t>(i)))) all.push_back(static_cast<std::uint8_t>(i));
    const Array values = detail::mlir::from_bits(*f, array(all));
    CHECK(detail::mlir::to_bits(*f, detail::mlir::rounded_to(*f, values)).to_vector<std::uint8_t>() == all);
  }
  CHECK(!detail::mlir::find_narrow("f6E2M3FN"));
}

TEST_CASE("stablehlo: small floats are sorted as JAX does") {
  // Numbers of a region's constants are rounded as it is read.
  const auto canonical = [](const std::string& x) {
    return "%z" + x + " = stablehlo.constant dense<0.0> : tensor<f8E4M3FN>\n%e" + x + " = stablehlo.compare EQ, %" + x + ", %z" + x +
           ", FLOAT : (tensor<f8E4M3FN>, tensor<f8E4M3FN>) -> tensor<i1>\n%f" + x + " = stablehlo.select %e" + x + ", %z" + x + ", %" + x +
           " : tensor<i1>, tensor<f8E4M3FN>\n%n" + x + " = stablehlo.compare NE, %" + x + ", %" + x +
           ", FLOAT : (tensor<f8E4M3FN>, tensor<f8E4M3FN>) -> tensor<i1>\n%m" + x +
           " = stablehlo.constant dense<0x7F> : tensor<f8E4M3FN>\n%g" + x + " = stablehlo.select %n" + x + ", %m" + x + ", %f" + x +
           " : tensor<i1>, tensor<f8E4M3FN>\n";
  };
  passes_in_main(R"(
    %k = stablehlo.constant dense<[0x7F, 0.0, -1.0, -0.0, 448.0]> : tensor<5xf8E4M3FN>
    %v = stablehlo.iota dim = 0 : tensor<5xi32>
    %0:2 = "stablehlo.sort"(%k, %v) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%a: tensor<f8E4M3FN>, %b: tensor<f8E4M3FN>, %c: tensor<i32>, %d: tensor<i32>):
      )" + canonical("a") +
                 canonical("b") + R"(
      %r = stablehlo.compare LT, %ga, %gb, TOTALORDER : (tensor<f8E4M3FN>, tensor<f8E4M3FN>) -> tensor<i1>
      stablehlo.return %r : tensor<i1>
    }) : (tensor<5xf8E4M3FN>, tensor<5xi32>) -> (tensor<5xf8E4M3FN>, tensor<5xi32>)
    check.expect_eq_const %0#1, dense<[2, 1, 3, 4, 0]> : tensor<5xi32>)");
}

TEST_CASE("stablehlo: numbers of small formats in a text are rounded as they are read") {
  passes_in_main(R"(
    %x = stablehlo.constant dense<[1.0625, 1.1875, 464.0, -0.0009765625, 0x7E, 0xC0]> : tensor<6xf8E4M3FN>
    %0 = stablehlo.convert %x : (tensor<6xf8E4M3FN>) -> tensor<6xf32>
    check.expect_eq_const %0, dense<[1.0, 1.25, 448.0, -0.0, 448.0, -2.0]> : tensor<6xf32>
    %y = stablehlo.constant dense<[465.0, 0x7F]> : tensor<2xf8E4M3FN>
    %1 = stablehlo.compare NE, %y, %y, FLOAT : (tensor<2xf8E4M3FN>, tensor<2xf8E4M3FN>) -> tensor<2xi1>
    check.expect_eq_const %1, dense<true> : tensor<2xi1>
    %z = stablehlo.constant dense<[1.25, -100.0, 0.24]> : tensor<3xf4E2M1FN>
    %2 = stablehlo.convert %z : (tensor<3xf4E2M1FN>) -> tensor<3xf32>
    check.expect_eq_const %2, dense<[1.0, -6.0, 0.0]> : tensor<3xf32>
    %nan = stablehlo.constant dense<[0x7FC00000, 0xFFC00000, 0x7F800000]> : tensor<3xf32>
    %3 = stablehlo.convert %nan : (tensor<3xf32>) -> tensor<3xf4E2M1FN>
    %4 = stablehlo.convert %3 : (tensor<3xf4E2M1FN>) -> tensor<3xf32>
    %5 = stablehlo.bitcast_convert %4 : (tensor<3xf32>) -> tensor<3xui32>
    check.expect_eq_const %5, dense<[0x80000000, 0x80000000, 0x40C00000]> : tensor<3xui32>)",
                 4);
  CHECK_THROWS_WITH_AS(parse_stablehlo("func.func @main() {\n  %x = stablehlo.constant dense<0x1F> : tensor<f4E2M1FN>\n  return\n}"),
                       doctest::Contains("0x1F has more bits than f4E2M1FN"), Error);
}

TEST_CASE("stablehlo: a region uses constants of small formats from outside") {
  passes_in_main(R"(
    %k = stablehlo.constant dense<[3.0, 1.0, 2.0]> : tensor<3xf8E5M2>
    %one = stablehlo.constant dense<1.0> : tensor<f8E5M2>
    %0 = "stablehlo.sort"(%k) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%a: tensor<f8E5M2>, %b: tensor<f8E5M2>):
      %x = stablehlo.maximum %a, %one : tensor<f8E5M2>
      %y = stablehlo.maximum %b, %one : tensor<f8E5M2>
      %r = stablehlo.compare LT, %x, %y, FLOAT : (tensor<f8E5M2>, tensor<f8E5M2>) -> tensor<i1>
      stablehlo.return %r : tensor<i1>
    }) : (tensor<3xf8E5M2>) -> tensor<3xf8E5M2>
    %1 = stablehlo.convert %0 : (tensor<3xf8E5M2>) -> tensor<3xf32>
    check.expect_eq_const %1, dense<[1.0, 2.0, 3.0]> : tensor<3xf32>)");
}

TEST_CASE("stablehlo: what only moves or chooses elements rounds nothing") {
  const Jaxpr j = parse_stablehlo(R"(func.func @main(%x: tensor<2x3xf8E5M2>) -> tensor<3x2xf8E5M2> {
    %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf8E5M2>) -> tensor<3x2xf8E5M2>
    %1 = stablehlo.maximum %0, %0 : tensor<3x2xf8E5M2>
    return %1 : tensor<3x2xf8E5M2>
  })");
  CHECK(j.eqns().size() == 2);
}
