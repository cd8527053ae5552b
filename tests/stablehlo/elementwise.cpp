// Operations on corresponding elements.
#include "tests/stablehlo/run.h"

using weft::test::passes_in_main;

TEST_CASE("stablehlo: sums and products of bools are disjunctions and conjunctions") {
  passes_in_main(R"(
    %a = stablehlo.constant dense<[false, false, true, true]> : tensor<4xi1>
    %b = stablehlo.constant dense<[false, true, false, true]> : tensor<4xi1>
    %0 = stablehlo.add %a, %b : tensor<4xi1>
    %1 = "stablehlo.multiply"(%a, %b) : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
    %2 = stablehlo.maximum %a, %b : tensor<4xi1>
    check.expect_eq_const %0, dense<[false, true, true, true]> : tensor<4xi1>
    check.expect_eq_const %1, dense<[false, false, false, true]> : tensor<4xi1>
    check.expect_eq_const %2, dense<[false, true, true, true]> : tensor<4xi1>)",
                 3);
}

TEST_CASE("stablehlo: shifts by the width and more, and signs that move in") {
  passes_in_main(R"(
    %a = stablehlo.constant dense<[-8, -8, 3, 3]> : tensor<4xi8>
    %n = stablehlo.constant dense<[1, 9, 7, 8]> : tensor<4xi8>
    %0 = stablehlo.shift_left %a, %n : tensor<4xi8>
    %1 = stablehlo.shift_right_arithmetic %a, %n : tensor<4xi8>
    %2 = stablehlo.shift_right_logical %a, %n : tensor<4xi8>
    check.expect_eq_const %0, dense<[-16, 0, -128, 0]> : tensor<4xi8>
    check.expect_eq_const %1, dense<[-4, -1, 0, 0]> : tensor<4xi8>
    check.expect_eq_const %2, dense<[124, 0, 0, 0]> : tensor<4xi8>)",
                 3);
}

TEST_CASE("stablehlo: integers to powers, also negative ones") {
  passes_in_main(R"(
    %a = stablehlo.constant dense<[3, -2, 1, -1, -1, 2, 0]> : tensor<7xi32>
    %n = stablehlo.constant dense<[4, 3, -5, -2, -3, -1, 0]> : tensor<7xi32>
    %0 = stablehlo.power %a, %n : tensor<7xi32>
    check.expect_eq_const %0, dense<[81, -8, 1, 1, -1, 0, 1]> : tensor<7xi32>)");
}

TEST_CASE("stablehlo: comparisons of NaN, in IEEE's order and in the total one") {
  passes_in_main(R"(
    %a = stablehlo.constant dense<[0x7FC00000, -0.0, 1.0, 0xFFC00000]> : tensor<4xf32>
    %b = stablehlo.constant dense<[1.0, 0.0, 1.0, 0xFF800000]> : tensor<4xf32>
    %0 = stablehlo.compare LT, %a, %b, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    %1 = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    %2 = "stablehlo.compare"(%a, %b) {comparison_direction = #stablehlo<comparison_direction NE>, compare_type = #stablehlo<comparison_type TOTALORDER>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    %3 = stablehlo.compare GE, %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    check.expect_eq_const %0, dense<[false, false, false, false]> : tensor<4xi1>
    check.expect_eq_const %1, dense<[false, true, false, true]> : tensor<4xi1>
    check.expect_eq_const %2, dense<[true, true, false, true]> : tensor<4xi1>
    check.expect_eq_const %3, dense<[false, true, true, false]> : tensor<4xi1>)",
                 4);
}

TEST_CASE("stablehlo: complex numbers are compared by real, then imaginary parts") {
  passes_in_main(R"(
    %a = stablehlo.constant dense<[(1.0, 2.0), (1.0, 2.0), (0.0, 9.0)]> : tensor<3xcomplex<f32>>
    %b = stablehlo.constant dense<[(1.0, 3.0), (1.0, 2.0), (1.0, 0.0)]> : tensor<3xcomplex<f32>>
    %0 = stablehlo.compare LT, %a, %b, FLOAT : (tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>) -> tensor<3xi1>
    %1 = stablehlo.compare LE, %a, %b, FLOAT : (tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>) -> tensor<3xi1>
    check.expect_eq_const %0, dense<[true, false, true]> : tensor<3xi1>
    check.expect_eq_const %1, dense<[true, true, true]> : tensor<3xi1>)",
                 2);
}

TEST_CASE("stablehlo: bools and complex numbers between bounds") {
  passes_in_main(R"(
    %lo = stablehlo.constant dense<(0.5, 0.0)> : tensor<complex<f32>>
    %hi = stablehlo.constant dense<(2.0, 2.0)> : tensor<complex<f32>>
    %z = stablehlo.constant dense<[(1.0, 1.0), (2.0, 3.0), (0.5, -1.0), (3.0, 0.0)]> : tensor<4xcomplex<f32>>
    %0 = stablehlo.clamp %lo, %z, %hi : (tensor<complex<f32>>, tensor<4xcomplex<f32>>, tensor<complex<f32>>) -> tensor<4xcomplex<f32>>
    check.expect_eq_const %0, dense<[(1.0, 1.0), (2.0, 2.0), (0.5, 0.0), (2.0, 2.0)]> : tensor<4xcomplex<f32>>
    %a = stablehlo.constant dense<[false, false, true, true]> : tensor<4xi1>
    %b = stablehlo.constant dense<[false, true, false, true]> : tensor<4xi1>
    %true = stablehlo.constant dense<true> : tensor<i1>
    %1 = stablehlo.clamp %a, %b, %true : (tensor<4xi1>, tensor<4xi1>, tensor<i1>) -> tensor<4xi1>
    check.expect_eq_const %1, dense<[false, true, true, true]> : tensor<4xi1>
    %2 = stablehlo.clamp %a, %b, %a : tensor<4xi1>
    check.expect_eq_const %2, dense<[false, false, true, true]> : tensor<4xi1>)",
                 3);
}

TEST_CASE("stablehlo: bits as other types, smaller, larger, complex and bools") {
  passes_in_main(R"(
    %a = stablehlo.constant dense<[0x3F800000, 0xC0000000]> : tensor<2xf32>
    %0 = stablehlo.bitcast_convert %a : (tensor<2xf32>) -> tensor<2x2xui16>
    %1 = stablehlo.bitcast_convert %0 : (tensor<2x2xui16>) -> tensor<2xf32>
    %2 = stablehlo.bitcast_convert %a : (tensor<2xf32>) -> tensor<complex<f32>>
    %c = stablehlo.constant dense<5> : tensor<ui8>
    %3 = stablehlo.bitcast_convert %c : (tensor<ui8>) -> tensor<8xi1>
    %4 = stablehlo.bitcast_convert %3 : (tensor<8xi1>) -> tensor<ui8>
    check.expect_eq_const %0, dense<[[0, 16256], [0, 49152]]> : tensor<2x2xui16>
    check.expect_eq %1, %a : tensor<2xf32>
    check.expect_eq_const %2, dense<(1.0, -2.0)> : tensor<complex<f32>>
    check.expect_eq_const %3, dense<[true, false, true, false, false, false, false, false]> : tensor<8xi1>
    check.expect_eq %4, %c : tensor<ui8>)",
                 5);
}

TEST_CASE("stablehlo: rounding, reduced precision, and the conversion of complex numbers") {
  passes_in_main(R"(
    %a = stablehlo.constant dense<[0.5, 1.5, -2.5]> : tensor<3xf32>
    %0 = stablehlo.round_nearest_afz %a : tensor<3xf32>
    %1 = stablehlo.round_nearest_even %a : tensor<3xf32>
    %b = stablehlo.constant dense<[1.1, 65520.0, 0x7FC00000]> : tensor<3xf32>
    %2 = stablehlo.reduce_precision %b, format = e5m2 : tensor<3xf32>
    %3 = "stablehlo.reduce_precision"(%b) {exponent_bits = 5 : i32, mantissa_bits = 0 : i32} : (tensor<3xf32>) -> tensor<3xf32>
    %c = stablehlo.constant dense<[(0.0, 1.0), (2.5, 1.0)]> : tensor<2xcomplex<f32>>
    %4 = stablehlo.convert %c : (tensor<2xcomplex<f32>>) -> tensor<2xi1>
    check.expect_eq_const %0, dense<[1.0, 2.0, -3.0]> : tensor<3xf32>
    check.expect_eq_const %1, dense<[0.0, 2.0, -2.0]> : tensor<3xf32>
    check.expect_eq_const %2, dense<[1.0, 0x7F800000, 0x7FC00000]> : tensor<3xf32>
    check.expect_eq_const %3, dense<[1.0, 0x7F800000, 0x7F800000]> : tensor<3xf32>
    check.expect_eq_const %4, dense<[false, true]> : tensor<2xi1>)",
                 5);
}

TEST_CASE("stablehlo: the upper halves of products") {
  passes_in_main(R"(
    %a = stablehlo.constant dense<[-1, 9223372036854775807, -9223372036854775808]> : tensor<3xi64>
    %b = stablehlo.constant dense<[1, 4, -9223372036854775808]> : tensor<3xi64>
    %0 = chlo.mulhi %a, %b : tensor<3xi64>, tensor<3xi64> -> tensor<3xi64>
    %c = stablehlo.constant dense<[18446744073709551615]> : tensor<1xui64>
    %1 = chlo.mulhi %c, %c : tensor<1xui64>, tensor<1xui64> -> tensor<1xui64>
    check.expect_eq_const %0, dense<[-1, 1, 4611686018427387904]> : tensor<3xi64>
    check.expect_eq_const %1, dense<[18446744073709551614]> : tensor<1xui64>)",
                 2);
}

// I1(x) exp(-|x|) and zeta(x, q), in 20 digits: Abramowitz and Stegun, tables 9.8 and 23.3; zeta(2) = pi^2 / 6.
TEST_CASE("stablehlo: Bessel's and Hurwitz's functions") {
  passes_in_main(R"(
    %x = stablehlo.constant dense<[0.0, 1.0, -1.0, 10.0, 50.0, 0x7FF8000000000000]> : tensor<6xf64>
    %0 = chlo.bessel_i1e %x : tensor<6xf64> -> tensor<6xf64>
    check.expect_almost_eq_const %0, dense<[0.0, 0.20791041534970844888, -0.20791041534970844888, 0.12126268138445551567, 0.05599312389289544, 0x7FF8000000000000]> : tensor<6xf64> {tolerance = 1.0e-15 : f64}
    %a = stablehlo.constant dense<[2.0, 4.0, 3.0, 1.0, 0.5]> : tensor<5xf64>
    %q = stablehlo.constant dense<[1.0, 1.0, -2.0, 3.0, 2.0]> : tensor<5xf64>
    %1 = chlo.zeta %a, %q : tensor<5xf64>, tensor<5xf64> -> tensor<5xf64>
    check.expect_almost_eq_const %1, dense<[1.6449340668482264365, 1.0823232337111381915, 0x7FF0000000000000, 0x7FF0000000000000, 0x7FF8000000000000]> : tensor<5xf64> {tolerance = 1.0e-15 : f64})",
                 2);
}

TEST_CASE("stablehlo: operations of chlo that were written down as calls") {
  passes_in_main(R"(
    %x = stablehlo.constant dense<[0.5, -0.25, 2.0]> : tensor<3xf32>
    %a = stablehlo.custom_call @mhlo.erf(%x) {mhlo.attributes = {}, mhlo.version = 1 : i64} : (tensor<3xf32>) -> tensor<3xf32>
    %b = chlo.erf %x : tensor<3xf32> -> tensor<3xf32>
    check.expect_eq %a, %b : tensor<3xf32>
    %c:2 = stablehlo.custom_call @mhlo.topk(%x) {mhlo.attributes = {k = 2 : i64, largest = true}, mhlo.version = 1 : i64} : (tensor<3xf32>) -> (tensor<2xf32>, tensor<2xi32>)
    check.expect_eq_const %c#0, dense<[2.0, 0.5]> : tensor<2xf32>
    check.expect_eq_const %c#1, dense<[2, 0]> : tensor<2xi32>)",
                 3);
}
