// JAX's calls of LAPACK's routines that the host computes, in a program and mapped over matrices.
#include "tests/stablehlo/run.h"

using namespace weft;
using weft::test::passes_in_main;

TEST_CASE("stablehlo: eigenvalues and eigenvectors of any matrix") {
  // A vector for each pair of eigenvalues: a v = v w for the right ones, v^H a = w v^H for the left ones.
  passes_in_main(R"(
    %a = stablehlo.constant dense<[[[0.0, -2.0], [2.0, 0.0]], [[1.0, 2.0], [0.0, 3.0]]]> : tensor<2x2x2xf64>
    %0:5 = stablehlo.custom_call @lapack_dgeev_ffi(%a) {mhlo.backend_config = {compute_left = 86 : ui8, compute_right = 86 : ui8}} : (tensor<2x2x2xf64>) -> (tensor<2x2xf64>, tensor<2x2xf64>, tensor<2x2x2xcomplex<f64>>, tensor<2x2x2xcomplex<f64>>, tensor<2xi32>)
    check.expect_almost_eq_const %0#0, dense<[[0.0, 0.0], [1.0, 3.0]]> : tensor<2x2xf64>
    check.expect_almost_eq_const %0#1, dense<[[2.0, -2.0], [0.0, 0.0]]> : tensor<2x2xf64>
    check.expect_eq_const %0#4, dense<0> : tensor<2xi32>
    %w = stablehlo.complex %0#0, %0#1 : tensor<2x2xcomplex<f64>>
    %zero = stablehlo.constant dense<0.0> : tensor<2x2x2xf64>
    %c = stablehlo.complex %a, %zero : tensor<2x2x2xcomplex<f64>>
    %columns = stablehlo.broadcast_in_dim %w, dims = [0, 2] : (tensor<2x2xcomplex<f64>>) -> tensor<2x2x2xcomplex<f64>>
    %av = stablehlo.dot_general %c, %0#3, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x2x2xcomplex<f64>>, tensor<2x2x2xcomplex<f64>>) -> tensor<2x2x2xcomplex<f64>>
    %vw = stablehlo.multiply %0#3, %columns : tensor<2x2x2xcomplex<f64>>
    check.expect_almost_eq %av, %vw : tensor<2x2x2xcomplex<f64>>
    %lr = stablehlo.real %0#2 : (tensor<2x2x2xcomplex<f64>>) -> tensor<2x2x2xf64>
    %li = stablehlo.imag %0#2 : (tensor<2x2x2xcomplex<f64>>) -> tensor<2x2x2xf64>
    %ln = stablehlo.negate %li : tensor<2x2x2xf64>
    %l = stablehlo.complex %lr, %ln : tensor<2x2x2xcomplex<f64>>
    %la = stablehlo.dot_general %c, %l, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<2x2x2xcomplex<f64>>, tensor<2x2x2xcomplex<f64>>) -> tensor<2x2x2xcomplex<f64>>
    %lw = stablehlo.multiply %l, %columns : tensor<2x2x2xcomplex<f64>>
    check.expect_almost_eq %la, %lw : tensor<2x2x2xcomplex<f64>>)",
                 5);
}

TEST_CASE("stablehlo: Schur and Hessenberg forms, tridiagonal forms, QR with pivots") {
  passes_in_main(R"(
    %a = stablehlo.constant dense<[[4.0, 1.0, 2.0], [1.0, 3.0, 0.5], [2.0, 0.5, 1.0]]> : tensor<3x3xf32>
    %0:6 = stablehlo.custom_call @lapack_sgees_ffi(%a) {mhlo.backend_config = {mode = 86 : ui8, sort = 78 : ui8}} : (tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<3x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<i32>, tensor<i32>)
    %qt = stablehlo.dot_general %0#1, %0#0, contracting_dims = [1] x [0] : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
    %qtq = stablehlo.dot_general %qt, %0#1, contracting_dims = [1] x [1] : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
    check.expect_almost_eq %qtq, %a : tensor<3x3xf32>
    %1:3 = stablehlo.custom_call @lapack_sgehrd_ffi(%a) {mhlo.backend_config = {high = 3 : i32, low = 1 : i32}} : (tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<2xf32>, tensor<i32>)
    %corner = stablehlo.slice %1#0 [1:2, 0:1] : (tensor<3x3xf32>) -> tensor<1x1xf32>
    check.expect_almost_eq_const %corner, dense<-2.236068> : tensor<1x1xf32>
    %2:5 = stablehlo.custom_call @lapack_ssytrd_ffi(%a) {mhlo.backend_config = {uplo = 76 : ui8}} : (tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<3xf32>, tensor<2xf32>, tensor<2xf32>, tensor<i32>)
    %first = stablehlo.slice %2#1 [0:1] : (tensor<3xf32>) -> tensor<1xf32>
    check.expect_almost_eq_const %first, dense<4.0> : tensor<1xf32>
    %off = stablehlo.slice %2#2 [0:1] : (tensor<2xf32>) -> tensor<1xf32>
    check.expect_almost_eq_const %off, dense<-2.236068> : tensor<1xf32>
    %b = stablehlo.constant dense<[[1.0, 0.0, 3.0], [0.0, 2.0, 0.0]]> : tensor<2x3xf32>
    %p = stablehlo.constant dense<0> : tensor<3xi32>
    %3:3 = stablehlo.custom_call @lapack_sgeqp3_ffi(%b, %p) {mhlo.backend_config = {}} : (tensor<2x3xf32>, tensor<3xi32>) -> (tensor<2x3xf32>, tensor<3xi32>, tensor<2xf32>)
    check.expect_eq_const %3#1, dense<[3, 2, 1]> : tensor<3xi32>)",
                 5);
}

TEST_CASE("stablehlo: what is not finite has no decomposition, and no end of searching for it") {
  passes_in_main(R"(
    %a = stablehlo.constant dense<[[0x7F800000, 1.0], [0.0, 1.0]]> : tensor<2x2xf32>
    %0:5 = stablehlo.custom_call @lapack_sgeev_ffi(%a) {mhlo.backend_config = {compute_left = 78 : ui8, compute_right = 78 : ui8}} : (tensor<2x2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2x2xcomplex<f32>>, tensor<2x2xcomplex<f32>>, tensor<i32>)
    check.expect_eq_const %0#4, dense<1> : tensor<i32>)");
  CHECK_THROWS_WITH_AS(parse_stablehlo(R"(
    func.func @main(%a: tensor<2x3xf32>) -> tensor<2x3xf32> {
      %0:3 = stablehlo.custom_call @lapack_sgehrd_ffi(%a) {mhlo.backend_config = {high = 3 : i32, low = 1 : i32}} : (tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2xf32>, tensor<i32>)
      return %0#0 : tensor<2x3xf32>
    })"),
                       doctest::Contains("its operand is a square matrix"), Error);
}

TEST_CASE("stablehlo: QR by reflections and as one call") {
  // Of a matrix whose second column needs no reflection after the first: its factor is 0.
  passes_in_main(R"(
    %a = stablehlo.constant dense<[[3.0, 6.0, 1.0], [0.0, 0.0, 2.0], [4.0, 8.0, -1.0], [0.0, 0.0, 5.0]]> : tensor<4x3xf32>
    %0:2 = stablehlo.custom_call @lapack_sgeqrf_ffi(%a) {mhlo.backend_config = {}} : (tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>)
    %1 = stablehlo.custom_call @lapack_sorgqr_ffi(%0#0, %0#1) {mhlo.backend_config = {}} : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
    %2:2 = stablehlo.custom_call @weft.qr(%a) {mhlo.backend_config = {full_matrices = false}} : (tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<3x3xf32>)
    check.expect_almost_eq %1, %2#0 : tensor<4x3xf32>
    %qr = stablehlo.dot %2#0, %2#1 : (tensor<4x3xf32>, tensor<3x3xf32>) -> tensor<4x3xf32>
    check.expect_almost_eq %qr, %a : tensor<4x3xf32>
    %qq = stablehlo.dot_general %1, %1, contracting_dims = [0] x [0] : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<3x3xf32>
    check.expect_almost_eq_const %qq, dense<[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]> : tensor<3x3xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %wide = stablehlo.pad %0#0, %zero, low = [0, 0], high = [0, 1], interior = [0, 0] : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x4xf32>
    %3 = stablehlo.custom_call @lapack_sorgqr_ffi(%wide, %0#1) {mhlo.backend_config = {}} : (tensor<4x4xf32>, tensor<3xf32>) -> tensor<4x4xf32>
    %4:2 = stablehlo.custom_call @weft.qr(%a) {mhlo.backend_config = {full_matrices = true}} : (tensor<4x3xf32>) -> (tensor<4x4xf32>, tensor<4x3xf32>)
    check.expect_almost_eq %3, %4#0 : tensor<4x4xf32>)",
                 4);
  ;
}

TEST_CASE("stablehlo: tridiagonal systems, the solution among what LAPACK overwrites") {
  passes_in_main(R"(
    %l = stablehlo.constant dense<[[0.0, 1.0, -2.0], [0.0, 3.0, 0.5]]> : tensor<2x3xf64>
    %d = stablehlo.constant dense<[[4.0, 5.0, 6.0], [0.0, 1.0, 2.0]]> : tensor<2x3xf64>
    %u = stablehlo.constant dense<[[1.0, 2.0, 0.0], [1.0, -1.0, 0.0]]> : tensor<2x3xf64>
    %b = stablehlo.constant dense<[[[6.0], [17.0], [14.0]], [[2.0], [2.0], [7.0]]]> : tensor<2x3x1xf64>
    %0:5 = stablehlo.custom_call @lapack_dgtsv_ffi(%l, %d, %u, %b) {mhlo.backend_config = {}} : (tensor<2x3xf64>, tensor<2x3xf64>, tensor<2x3xf64>, tensor<2x3x1xf64>) -> (tensor<2x3xf64>, tensor<2x3xf64>, tensor<2x3xf64>, tensor<2x3x1xf64>, tensor<2xi32>)
    check.expect_almost_eq_const %0#3, dense<[[[1.0], [2.0], [3.0]], [[1.0], [2.0], [3.0]]]> : tensor<2x3x1xf64>
    check.expect_eq_const %0#4, dense<0> : tensor<2xi32>
    %x = stablehlo.custom_call @xla.sdy.FuncResultSharding(%0#3) {has_side_effect = true, mhlo.frontend_attributes = {xla.sdy.sharding = "#sdy.sharding<@m, [{}]>"}} : (tensor<2x3x1xf64>) -> tensor<2x3x1xf64>
    check.expect_eq %x, %0#3 : tensor<2x3x1xf64>)",
                 3);
}

TEST_CASE("stablehlo: LAPACK's routines with sizes and choices as operands, as JAX wrote them until 0.4") {
  // Each beside the call with attributes.
  passes_in_main(R"(
    %a = stablehlo.constant dense<[[[4.0, 1.0, 2.0], [1.0, 3.0, 0.5], [2.0, 0.5, 5.0]], [[6.0, 1.0, 0.0], [1.0, 3.0, 0.5], [0.0, 0.5, 1.0]]]> : tensor<2x3x3xf64>
    %b = stablehlo.constant dense<[[[1.0, 2.0], [3.0, -1.0], [0.5, 4.0]], [[1.0, 0.0], [0.0, 2.0], [7.0, 1.0]]]> : tensor<2x3x2xf64>
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %two = stablehlo.constant dense<2> : tensor<i32>
    %three = stablehlo.constant dense<3> : tensor<i32>
    %work = stablehlo.constant dense<64> : tensor<i32>
    %V = stablehlo.constant dense<86> : tensor<ui8>
    %N = stablehlo.constant dense<78> : tensor<ui8>
    %scale = stablehlo.constant dense<2.0> : tensor<f64>
    %0:2 = stablehlo.custom_call @lapack_dpotrf(%one, %two, %three, %a) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<2x3x3xf64>) -> (tensor<2x3x3xf64>, tensor<2xi32>)
    %1:2 = stablehlo.custom_call @lapack_dpotrf_ffi(%a) {mhlo.backend_config = {uplo = 76 : ui8}} : (tensor<2x3x3xf64>) -> (tensor<2x3x3xf64>, tensor<2xi32>)
    check.expect_eq %0#0, %1#0 : tensor<2x3x3xf64>
    %2 = stablehlo.custom_call @blas_dtrsm(%one, %zero, %one, %zero, %three, %two, %two, %scale, %a, %b) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<f64>, tensor<2x3x3xf64>, tensor<2x3x2xf64>) -> tensor<2x3x2xf64>
    %b2 = stablehlo.add %b, %b : tensor<2x3x2xf64>
    %3 = stablehlo.custom_call @lapack_dtrsm_ffi(%a, %b2) {mhlo.backend_config = {side = 76 : ui8, uplo = 85 : ui8, trans_x = 84 : ui8, diag = 78 : ui8}} : (tensor<2x3x3xf64>, tensor<2x3x2xf64>) -> tensor<2x3x2xf64>
    check.expect_almost_eq %2, %3 : tensor<2x3x2xf64>
    %4:3 = stablehlo.custom_call @lapack_dgetrf(%two, %three, %three, %a) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<2x3x3xf64>) -> (tensor<2x3x3xf64>, tensor<2x3xi32>, tensor<2xi32>)
    %5:3 = stablehlo.custom_call @lapack_dgetrf_ffi(%a) {mhlo.backend_config = {}} : (tensor<2x3x3xf64>) -> (tensor<2x3x3xf64>, tensor<2x3xi32>, tensor<2xi32>)
    check.expect_eq %4#0, %5#0 : tensor<2x3x3xf64>
    check.expect_eq %4#1, %5#1 : tensor<2x3xi32>
    %6:4 = stablehlo.custom_call @lapack_dgeqrf(%two, %three, %two, %work, %b) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<2x3x2xf64>) -> (tensor<2x3x2xf64>, tensor<2x2xf64>, tensor<2xi32>, tensor<64xf64>)
    %7:2 = stablehlo.custom_call @lapack_dgeqrf_ffi(%b) {mhlo.backend_config = {}} : (tensor<2x3x2xf64>) -> (tensor<2x3x2xf64>, tensor<2x2xf64>)
    check.expect_eq %6#0, %7#0 : tensor<2x3x2xf64>
    %8:3 = stablehlo.custom_call @lapack_dorgqr(%two, %three, %two, %two, %work, %6#0, %6#1) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<2x3x2xf64>, tensor<2x2xf64>) -> (tensor<2x3x2xf64>, tensor<2xi32>, tensor<64xf64>)
    %9 = stablehlo.custom_call @lapack_dorgqr_ffi(%7#0, %7#1) {mhlo.backend_config = {}} : (tensor<2x3x2xf64>, tensor<2x2xf64>) -> tensor<2x3x2xf64>
    check.expect_eq %8#0, %9 : tensor<2x3x2xf64>
    %10:5 = stablehlo.custom_call @lapack_dsyevd(%zero, %two, %three, %a) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<2x3x3xf64>) -> (tensor<2x3x3xf64>, tensor<2x3xf64>, tensor<2xi32>, tensor<64xf64>, tensor<64xi32>)
    %11:3 = stablehlo.custom_call @lapack_dsyevd_ffi(%a) {mhlo.backend_config = {mode = 86 : ui8, uplo = 85 : ui8}} : (tensor<2x3x3xf64>) -> (tensor<2x3x3xf64>, tensor<2x3xf64>, tensor<2xi32>)
    check.expect_eq %10#1, %11#1 : tensor<2x3xf64>
    %12:7 = stablehlo.custom_call @lapack_dgesdd(%zero, %one, %two, %three, %two, %work, %b) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<2x3x2xf64>) -> (tensor<2x3x2xf64>, tensor<2x2xf64>, tensor<2x3x2xf64>, tensor<2x2x2xf64>, tensor<2xi32>, tensor<64xi32>, tensor<64xf64>)
    %13:5 = stablehlo.custom_call @lapack_dgesdd_ffi(%b) {mhlo.backend_config = {mode = 83 : ui8}} : (tensor<2x3x2xf64>) -> (tensor<2x3x2xf64>, tensor<2x2xf64>, tensor<2x3x2xf64>, tensor<2x2x2xf64>, tensor<2xi32>)
    check.expect_eq %12#1, %13#1 : tensor<2x2xf64>
    check.expect_eq %12#2, %13#2 : tensor<2x3x2xf64>
    %14:8 = stablehlo.custom_call @lapack_dgeev(%two, %three, %N, %V, %a) : (tensor<i32>, tensor<i32>, tensor<ui8>, tensor<ui8>, tensor<2x3x3xf64>) -> (tensor<3x3xf64>, tensor<3x3xf64>, tensor<3x3xf64>, tensor<2x3xf64>, tensor<2x3xf64>, tensor<2x3x3xcomplex<f64>>, tensor<2x3x3xcomplex<f64>>, tensor<2xi32>)
    %15:5 = stablehlo.custom_call @lapack_dgeev_ffi(%a) {mhlo.backend_config = {compute_left = 78 : ui8, compute_right = 86 : ui8}} : (tensor<2x3x3xf64>) -> (tensor<2x3xf64>, tensor<2x3xf64>, tensor<2x3x3xcomplex<f64>>, tensor<2x3x3xcomplex<f64>>, tensor<2xi32>)
    check.expect_eq %14#3, %15#0 : tensor<2x3xf64>
    check.expect_eq %14#6, %15#3 : tensor<2x3x3xcomplex<f64>>
    %16:6 = stablehlo.custom_call @lapack_dgees(%two, %three, %V, %N, %a) : (tensor<i32>, tensor<i32>, tensor<ui8>, tensor<ui8>, tensor<2x3x3xf64>) -> (tensor<2x3x3xf64>, tensor<2x3xf64>, tensor<2x3xf64>, tensor<2x3x3xf64>, tensor<2xi32>, tensor<2xi32>)
    %17:6 = stablehlo.custom_call @lapack_dgees_ffi(%a) {mhlo.backend_config = {mode = 86 : ui8, sort = 78 : ui8}} : (tensor<2x3x3xf64>) -> (tensor<2x3x3xf64>, tensor<2x3x3xf64>, tensor<2x3xf64>, tensor<2x3xf64>, tensor<2xi32>, tensor<2xi32>)
    check.expect_eq %16#0, %17#0 : tensor<2x3x3xf64>
    check.expect_eq %16#3, %17#1 : tensor<2x3x3xf64>
    %18:4 = stablehlo.custom_call @lapack_dgehrd(%three, %one, %three, %three, %two, %work, %a) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<2x3x3xf64>) -> (tensor<2x3x3xf64>, tensor<2x2xf64>, tensor<2xi32>, tensor<64xf64>)
    %19:3 = stablehlo.custom_call @lapack_dgehrd_ffi(%a) {mhlo.backend_config = {high = 3 : i32, low = 1 : i32}} : (tensor<2x3x3xf64>) -> (tensor<2x3x3xf64>, tensor<2x2xf64>, tensor<2xi32>)
    check.expect_eq %18#0, %19#0 : tensor<2x3x3xf64>
    %20:6 = stablehlo.custom_call @lapack_dsytrd(%three, %one, %three, %two, %work, %a) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<2x3x3xf64>) -> (tensor<2x3x3xf64>, tensor<2x3xf64>, tensor<2x2xf64>, tensor<2x2xf64>, tensor<2xi32>, tensor<64xf64>)
    %21:5 = stablehlo.custom_call @lapack_dsytrd_ffi(%a) {mhlo.backend_config = {uplo = 76 : ui8}} : (tensor<2x3x3xf64>) -> (tensor<2x3x3xf64>, tensor<2x3xf64>, tensor<2x2xf64>, tensor<2x2xf64>, tensor<2xi32>)
    check.expect_eq %20#2, %21#2 : tensor<2x2xf64>)",
                 15);
  CHECK_THROWS_WITH_AS(parse_stablehlo(R"(
    func.func @main(%n: tensor<i32>, %a: tensor<3x3xf32>) -> tensor<3x3xf32> {
      %0:2 = stablehlo.custom_call @lapack_spotrf(%n, %n, %n, %a) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<i32>)
      return %0#0 : tensor<3x3xf32>
    })"),
                       doctest::Contains("operand 0 is not a constant integer"), Error);
}
