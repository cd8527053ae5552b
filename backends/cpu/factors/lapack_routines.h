// The routines of LAPACK and BLAS that weft calls, by element type, with std::complex for their complex numbers. Included by sources only.
#pragma once
#include <cblas.h>

#include <complex>

#define lapack_complex_float std::complex<float>
#define lapack_complex_double std::complex<double>
#include <lapacke.h>

#include <type_traits>

#include "weft/core/base/lapack.h"

namespace weft::detail::lapack {

template <class T>
constexpr bool is_complex = !std::is_same_v<T, Real<T>>;

/// Names ending in `_work` take their workspace from the caller and don't check for NaN. For complex elements, orgqr is ungqr, syevd heevd
/// and trd hetrd.
template <class T>
struct Routines;
template <>
struct Routines<float> {
  static constexpr auto potrf = LAPACKE_spotrf;
  static constexpr auto potrf_work = LAPACKE_spotrf_work;
  static constexpr auto getrf_work = LAPACKE_sgetrf_work;
  static constexpr auto geqrf_work = LAPACKE_sgeqrf_work;
  static constexpr auto orgqr_work = LAPACKE_sorgqr_work;
  static constexpr auto syevd_work = LAPACKE_ssyevd_work;
  static constexpr auto gesdd_work = LAPACKE_sgesdd_work;
  static constexpr auto geev = LAPACKE_sgeev;
  static constexpr auto gees = LAPACKE_sgees;
  static constexpr auto gehrd = LAPACKE_sgehrd;
  static constexpr auto trd = LAPACKE_ssytrd;
  static constexpr auto geqp3 = LAPACKE_sgeqp3;
  static constexpr auto trsm = cblas_strsm;
};
template <>
struct Routines<double> {
  static constexpr auto potrf = LAPACKE_dpotrf;
  static constexpr auto potrf_work = LAPACKE_dpotrf_work;
  static constexpr auto getrf_work = LAPACKE_dgetrf_work;
  static constexpr auto geqrf_work = LAPACKE_dgeqrf_work;
  static constexpr auto orgqr_work = LAPACKE_dorgqr_work;
  static constexpr auto syevd_work = LAPACKE_dsyevd_work;
  static constexpr auto gesdd_work = LAPACKE_dgesdd_work;
  static constexpr auto geev = LAPACKE_dgeev;
  static constexpr auto gees = LAPACKE_dgees;
  static constexpr auto gehrd = LAPACKE_dgehrd;
  static constexpr auto trd = LAPACKE_dsytrd;
  static constexpr auto geqp3 = LAPACKE_dgeqp3;
  static constexpr auto trsm = cblas_dtrsm;
};
template <>
struct Routines<std::complex<float>> {
  static constexpr auto potrf = LAPACKE_cpotrf;
  static constexpr auto potrf_work = LAPACKE_cpotrf_work;
  static constexpr auto getrf_work = LAPACKE_cgetrf_work;
  static constexpr auto geqrf_work = LAPACKE_cgeqrf_work;
  static constexpr auto orgqr_work = LAPACKE_cungqr_work;
  static constexpr auto syevd_work = LAPACKE_cheevd_work;
  static constexpr auto gesdd_work = LAPACKE_cgesdd_work;
  static constexpr auto geev = LAPACKE_cgeev;
  static constexpr auto gees = LAPACKE_cgees;
  static constexpr auto gehrd = LAPACKE_cgehrd;
  static constexpr auto trd = LAPACKE_chetrd;
  static constexpr auto geqp3 = LAPACKE_cgeqp3;
  static constexpr auto trsm = cblas_ctrsm;
  static constexpr auto gemm = cblas_cgemm;
};
template <>
struct Routines<std::complex<double>> {
  static constexpr auto potrf = LAPACKE_zpotrf;
  static constexpr auto potrf_work = LAPACKE_zpotrf_work;
  static constexpr auto getrf_work = LAPACKE_zgetrf_work;
  static constexpr auto geqrf_work = LAPACKE_zgeqrf_work;
  static constexpr auto orgqr_work = LAPACKE_zungqr_work;
  static constexpr auto syevd_work = LAPACKE_zheevd_work;
  static constexpr auto gesdd_work = LAPACKE_zgesdd_work;
  static constexpr auto geev = LAPACKE_zgeev;
  static constexpr auto gees = LAPACKE_zgees;
  static constexpr auto gehrd = LAPACKE_zgehrd;
  static constexpr auto trd = LAPACKE_zhetrd;
  static constexpr auto geqp3 = LAPACKE_zgeqp3;
  static constexpr auto trsm = cblas_ztrsm;
  static constexpr auto gemm = cblas_zgemm;
};

}  // namespace weft::detail::lapack
