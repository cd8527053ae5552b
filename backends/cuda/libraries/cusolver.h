// The functions of cuSOLVER that weft calls, and of cuBLAS for triangular systems, after their public documentation. The libraries are
// looked up when they are needed; their headers are not used.
#pragma once
#include <cstddef>
#include <cstdint>

#include "weft/backends/cuda/driver.h"

namespace weft::detail::cuda::solver {

using Handle = struct SolverHandle*;
using Params = struct SolverParams*;
using BlasHandle = struct BlasHandleOf*;

constexpr int kFloat32 = 0, kFloat64 = 1, kComplex64 = 4, kComplex128 = 5;  // cudaDataType
constexpr int kLower = 0, kUpper = 1;
constexpr int kLeft = 0, kRight = 1;
constexpr int kAsIs = 0, kTransposed = 1, kAdjoint = 2;
constexpr int kNonUnit = 0, kUnit = 1;
constexpr int kValues = 0, kVectors = 1;

}  // namespace weft::detail::cuda::solver

// Name, parameters. All return a status, 0 for success.
#define WEFT_CUSOLVER(F)                                                                                                                  \
  F(cusolverDnCreate, (solver::Handle*))                                                                                                  \
  F(cusolverDnSetStream, (solver::Handle, Stream))                                                                                        \
  F(cusolverDnCreateParams, (solver::Params*))                                                                                            \
  F(cusolverDnXpotrf_bufferSize, (solver::Handle, solver::Params, int uplo, std::int64_t n, int type, const void* a, std::int64_t lda,    \
                                  int compute, std::size_t* on_device, std::size_t* on_host))                                             \
  F(cusolverDnXpotrf, (solver::Handle, solver::Params, int uplo, std::int64_t n, int type, void* a, std::int64_t lda, int compute,        \
                       void* on_device, std::size_t device_bytes, void* on_host, std::size_t host_bytes, int* info))                      \
  F(cusolverDnXgetrf_bufferSize, (solver::Handle, solver::Params, std::int64_t m, std::int64_t n, int type, const void* a,                \
                                  std::int64_t lda, int compute, std::size_t* on_device, std::size_t* on_host))                           \
  F(cusolverDnXgetrf,                                                                                                                     \
    (solver::Handle, solver::Params, std::int64_t m, std::int64_t n, int type, void* a, std::int64_t lda, std::int64_t* pivots,           \
     int compute, void* on_device, std::size_t device_bytes, void* on_host, std::size_t host_bytes, int* info))                           \
  F(cusolverDnXgeqrf_bufferSize,                                                                                                          \
    (solver::Handle, solver::Params, std::int64_t m, std::int64_t n, int type, const void* a, std::int64_t lda, int tau_type,             \
     const void* tau, int compute, std::size_t* on_device, std::size_t* on_host))                                                         \
  F(cusolverDnXgeqrf,                                                                                                                     \
    (solver::Handle, solver::Params, std::int64_t m, std::int64_t n, int type, void* a, std::int64_t lda, int tau_type, void* tau,        \
     int compute, void* on_device, std::size_t device_bytes, void* on_host, std::size_t host_bytes, int* info))                           \
  F(cusolverDnXsyevd_bufferSize,                                                                                                          \
    (solver::Handle, solver::Params, int mode, int uplo, std::int64_t n, int type, const void* a, std::int64_t lda, int value_type,       \
     const void* values, int compute, std::size_t* on_device, std::size_t* on_host))                                                      \
  F(cusolverDnXsyevd,                                                                                                                     \
    (solver::Handle, solver::Params, int mode, int uplo, std::int64_t n, int type, void* a, std::int64_t lda, int value_type,             \
     void* values, int compute, void* on_device, std::size_t device_bytes, void* on_host, std::size_t host_bytes, int* info))             \
  F(cusolverDnXgesvd_bufferSize,                                                                                                          \
    (solver::Handle, solver::Params, signed char u_job, signed char vt_job, std::int64_t m, std::int64_t n, int type, const void* a,      \
     std::int64_t lda, int s_type, const void* s, int u_type, const void* u, std::int64_t ldu, int vt_type, const void* vt,               \
     std::int64_t ldvt, int compute, std::size_t* on_device, std::size_t* on_host))                                                       \
  F(cusolverDnXgesvd,                                                                                                                     \
    (solver::Handle, solver::Params, signed char u_job, signed char vt_job, std::int64_t m, std::int64_t n, int type, void* a,            \
     std::int64_t lda, int s_type, void* s, int u_type, void* u, std::int64_t ldu, int vt_type, void* vt, std::int64_t ldvt, int compute, \
     void* on_device, std::size_t device_bytes, void* on_host, std::size_t host_bytes, int* info))                                        \
  WEFT_CUSOLVER_OF_TYPE(F, S, orgqr)                                                                                                      \
  WEFT_CUSOLVER_OF_TYPE(F, D, orgqr)                                                                                                      \
  WEFT_CUSOLVER_OF_TYPE(F, C, ungqr)                                                                                                      \
  WEFT_CUSOLVER_OF_TYPE(F, Z, ungqr)

// Routines that have one form for each type of elements; pointers to these are declared as such to nothing.
#define WEFT_CUSOLVER_OF_TYPE(F, letter, orgqr)                                                                                            \
  F(cusolverDn##letter##potrfBatched, (solver::Handle, int uplo, int n, void** a, int lda, int* info, int batch))                          \
  F(cusolverDn##letter##orgqr##_bufferSize, (solver::Handle, int m, int n, int k, const void* a, int lda, const void* tau, int* elements)) \
  F(cusolverDn##letter##orgqr,                                                                                                             \
    (solver::Handle, int m, int n, int k, void* a, int lda, const void* tau, void* work, int elements, int* info))

// Since CUDA 12.6.
#define WEFT_CUSOLVER_LATER(F)                                                                                                        \
  F(cusolverDnXsyevBatched_bufferSize,                                                                                                \
    (solver::Handle, solver::Params, int mode, int uplo, std::int64_t n, int type, const void* a, std::int64_t lda, int value_type,   \
     const void* values, int compute, std::size_t* on_device, std::size_t* on_host, std::int64_t batch))                              \
  F(cusolverDnXsyevBatched, (solver::Handle, solver::Params, int mode, int uplo, std::int64_t n, int type, void* a, std::int64_t lda, \
                             int value_type, void* values, int compute, void* on_device, std::size_t device_bytes, void* on_host,     \
                             std::size_t host_bytes, int* info, std::int64_t batch))

#define WEFT_CUBLAS(F)                                \
  F(cublasCreate_v2, (solver::BlasHandle*))           \
  F(cublasSetStream_v2, (solver::BlasHandle, Stream)) \
  WEFT_CUBLAS_OF_TYPE(F, S)                           \
  WEFT_CUBLAS_OF_TYPE(F, D)                           \
  WEFT_CUBLAS_OF_TYPE(F, C)                           \
  WEFT_CUBLAS_OF_TYPE(F, Z)

#define WEFT_CUBLAS_OF_TYPE(F, letter)                                                                                             \
  F(cublas##letter##trsm_v2, (solver::BlasHandle, int side, int uplo, int turn, int diagonal, int m, int n, const void* alpha,     \
                              const void* a, int lda, void* b, int ldb))                                                           \
  F(cublas##letter##trsmBatched, (solver::BlasHandle, int side, int uplo, int turn, int diagonal, int m, int n, const void* alpha, \
                                  const void* const* a, int lda, void* const* b, int ldb, int batch))
