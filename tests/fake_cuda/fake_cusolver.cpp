// A cuSOLVER and a cuBLAS for tests: LAPACK on the host's memory, as the fake driver's memory is. Knows what weft asks for, and refuses
// what the real ones refuse: handles and streams of another device than the thread's, matrices that are not in a device's memory or overlap
// its end, workspaces that are too small, sizes and jobs that a routine does not take, streams that are captured.
#include <cblas.h>

#include <complex>
#define lapack_complex_float std::complex<float>
#define lapack_complex_double std::complex<double>
#include <lapacke.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <vector>

#include "calls.h"
#include "control.h"
#include "weft/backends/cuda/libraries/cusolver.h"

using namespace weft::detail::cuda;

namespace {

constexpr int kNotInitialized = 1, kInvalid = 3, kBadWorkspace = 31, kBlasInvalid = 7;
constexpr int kInjected = 7;
int live = 0;
fake_cuda::Calls& calls() {
  static fake_cuda::Calls& c = *[] {
    auto* made = new fake_cuda::Calls;
    made->fail_first("FAKE_CUSOLVER_FAIL", kInjected);
    return made;
  }();
  return c;
}

struct FakeHandle {
  Context context = nullptr;
  Stream stream = nullptr;
};
Context current() {
  static const auto f = fake_cuda::driver_function<decltype(fake_cuda_current)>("fake_cuda_current");
  return static_cast<Context>(f());
}
/// What a handle says to a call.
int may_use(const FakeHandle* h) {
  static const auto usable = fake_cuda::driver_function<decltype(fake_cuda_usable)>("fake_cuda_usable");
  return h && h->context == current() && h->stream && usable(h->stream) ? 0 : kNotInitialized;
}
bool on_device(const void* p, std::size_t bytes) {
  static const auto f = fake_cuda::driver_function<decltype(fake_cuda_has_memory)>("fake_cuda_has_memory");
  return f(p, bytes);
}
int enqueue(const FakeHandle* h, std::function<void()> f) {
  static const auto put = fake_cuda::driver_function<int(Stream, std::function<int()>*)>("fake_cuda_enqueue");
  return put(h->stream, new std::function<int()>([f] { return f(), 0; }));
}

std::size_t size_of(int type) { return type == solver::kComplex128 ? 16 : type == solver::kFloat32 ? 4 : 8; }
template <class F>
void with_type(int type, F&& f) {
  switch (type) {
    case solver::kFloat32: return f.template operator()<float>();
    case solver::kFloat64: return f.template operator()<double>();
    case solver::kComplex64: return f.template operator()<std::complex<float>>();
    default: f.template operator()<std::complex<double>>();
  }
}

template <class T>
struct Lapack;
#define FAKE_LAPACK(T, letter, orthogonal, symmetric)                  \
  template <>                                                          \
  struct Lapack<T> {                                                   \
    static constexpr auto potrf = LAPACKE_##letter##potrf_work;        \
    static constexpr auto getrf = LAPACKE_##letter##getrf_work;        \
    static constexpr auto geqrf = LAPACKE_##letter##geqrf_work;        \
    static constexpr auto orgqr = LAPACKE_##letter##orthogonal##_work; \
    static constexpr auto syevd = LAPACKE_##letter##symmetric;         \
    static constexpr auto gesdd = LAPACKE_##letter##gesdd;             \
    static constexpr auto trsm = cblas_##letter##trsm;                 \
  };
FAKE_LAPACK(float, s, orgqr, syevd)
FAKE_LAPACK(double, d, orgqr, syevd)
FAKE_LAPACK(std::complex<float>, c, ungqr, heevd)
FAKE_LAPACK(std::complex<double>, z, ungqr, heevd)

// Of each kind of routine so much, on the device and on the host.
std::size_t device_bytes(std::int64_t m, std::int64_t n, int type) { return static_cast<std::size_t>(m * n + 64) * size_of(type); }
constexpr std::size_t kHostBytes = 48;

bool is_matrix(const void* a, std::int64_t rows, std::int64_t columns, std::int64_t lda, int type) {
  return rows > 0 && columns > 0 && lda >= rows && on_device(a, static_cast<std::size_t>(lda * (columns - 1) + rows) * size_of(type)) &&
         reinterpret_cast<std::uintptr_t>(a) % size_of(type) == 0;
}
int workspaces(const void* on_device_, std::size_t bytes, std::size_t wanted, const void* host, std::size_t host_bytes) {
  if (bytes < wanted || !on_device(on_device_, bytes)) return kBadWorkspace;
  return host && host_bytes >= kHostBytes ? 0 : kBadWorkspace;
}
FakeHandle* of(solver::Handle h) { return reinterpret_cast<FakeHandle*>(h); }
FakeHandle* of(solver::BlasHandle h) { return reinterpret_cast<FakeHandle*>(h); }
char triangle(int uplo) { return uplo == solver::kUpper ? 'U' : 'L'; }

/// Cholesky's factor of one of several matrices: the other triangle is worked in.
template <class T>
int factor(int uplo, int n, T* a, int lda) {
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i)
      if (uplo == solver::kUpper ? i > j : i < j) a[j * lda + i] = T(1e6);
  return Lapack<T>::potrf(LAPACK_COL_MAJOR, triangle(uplo), n, a, lda);
}

template <class T>
void solve(int side, int uplo, int turn, int diagonal, int m, int n, T alpha, const void* a, int lda, void* b, int ldb) {
  const auto run = [&](auto scale) {
    Lapack<T>::trsm(CblasColMajor, side == solver::kLeft ? CblasLeft : CblasRight, uplo == solver::kUpper ? CblasUpper : CblasLower,
                    turn == solver::kAsIs         ? CblasNoTrans
                    : turn == solver::kTransposed ? CblasTrans
                                                  : CblasConjTrans,
                    diagonal == solver::kUnit ? CblasUnit : CblasNonUnit, m, n, scale, static_cast<const T*>(a), lda, static_cast<T*>(b),
                    ldb);
  };
  if constexpr (std::is_floating_point_v<T>)
    run(alpha);
  else
    run(static_cast<const void*>(&alpha));
}

}  // namespace

#define ENTER(name) \
  if (const int r = calls().enter(#name)) return r;
#define NEEDS(condition, status) \
  if (!(condition)) return status;

extern "C" {

void fake_cusolver_fail(const char* call, int n, int code) { calls().fail(call, n, code); }
int fake_cusolver_calls(const char* call) { return calls().count(call); }
void fake_cusolver_reset_calls() { calls().reset(); }
int fake_cusolver_live() { return live; }
const char* fake_cusolver_name(int k) {
  static const char* const names[] = {
#define NAME(name, parameters) #name,
      WEFT_CUSOLVER(NAME) WEFT_CUSOLVER_LATER(NAME) WEFT_CUBLAS(NAME)
#undef NAME
          nullptr};
  return names[k];
}

int cusolverDnCreate(solver::Handle* h) {
  ENTER(cusolverDnCreate)
  NEEDS(current(), kNotInitialized)
  *h = reinterpret_cast<solver::Handle>(new FakeHandle{current(), nullptr});
  return ++live, 0;
}
int cusolverDnSetStream(solver::Handle h, Stream s) {
  ENTER(cusolverDnSetStream)
  NEEDS(h, kNotInitialized)
  return of(h)->stream = s, 0;
}
int cusolverDnCreateParams(solver::Params* p) {
  ENTER(cusolverDnCreateParams)
  static int any = 0;
  *p = reinterpret_cast<solver::Params>(&any);
  return ++live, 0;
}
int cusolverDnXpotrf_bufferSize(solver::Handle h, solver::Params, int, std::int64_t n, int type, const void*, std::int64_t lda, int compute,
                                std::size_t* on_device, std::size_t* on_host) {
  ENTER(cusolverDnXpotrf_bufferSize)
  NEEDS(h && lda >= n && compute == type, kInvalid)
  return *on_device = device_bytes(n, 1, type), *on_host = kHostBytes, 0;
}
int cusolverDnXpotrf(solver::Handle h, solver::Params, int uplo, std::int64_t n, int type, void* a, std::int64_t lda, int, void* work,
                     std::size_t bytes, void* host, std::size_t host_bytes, int* info) {
  ENTER(cusolverDnXpotrf)
  NEEDS(may_use(of(h)) == 0, kNotInitialized)
  NEEDS(is_matrix(a, n, n, lda, type) && on_device(info, sizeof *info), kInvalid)
  if (const int r = workspaces(work, bytes, device_bytes(n, 1, type), host, host_bytes)) return r;
  return enqueue(of(h), [=] {
    with_type(type, [&]<class T>() {
      *info = Lapack<T>::potrf(LAPACK_COL_MAJOR, triangle(uplo), static_cast<int>(n), static_cast<T*>(a), static_cast<int>(lda));
    });
  });
}
int cusolverDnXgetrf_bufferSize(solver::Handle h, solver::Params, std::int64_t m, std::int64_t n, int type, const void*, std::int64_t lda,
                                int compute, std::size_t* on_device, std::size_t* on_host) {
  ENTER(cusolverDnXgetrf_bufferSize)
  NEEDS(h && lda >= m && compute == type, kInvalid)
  return *on_device = device_bytes(m, n, type), *on_host = kHostBytes, 0;
}
int cusolverDnXgetrf(solver::Handle h, solver::Params, std::int64_t m, std::int64_t n, int type, void* a, std::int64_t lda,
                     std::int64_t* pivots, int, void* work, std::size_t bytes, void* host, std::size_t host_bytes, int* info) {
  ENTER(cusolverDnXgetrf)
  NEEDS(may_use(of(h)) == 0, kNotInitialized)
  const auto k = std::min(m, n);
  NEEDS(is_matrix(a, m, n, lda, type) && on_device(info, sizeof *info) && on_device(pivots, static_cast<std::size_t>(k) * 8), kInvalid)
  if (const int r = workspaces(work, bytes, device_bytes(m, n, type), host, host_bytes)) return r;
  return enqueue(of(h), [=] {
    std::vector<lapack_int> found(static_cast<std::size_t>(k));
    with_type(type, [&]<class T>() {
      *info = Lapack<T>::getrf(LAPACK_COL_MAJOR, static_cast<int>(m), static_cast<int>(n), static_cast<T*>(a), static_cast<int>(lda),
                               found.data());
    });
    std::copy(found.begin(), found.end(), pivots);
  });
}
int cusolverDnXgeqrf_bufferSize(solver::Handle h, solver::Params, std::int64_t m, std::int64_t n, int type, const void*, std::int64_t lda,
                                int tau_type, const void*, int compute, std::size_t* on_device, std::size_t* on_host) {
  ENTER(cusolverDnXgeqrf_bufferSize)
  NEEDS(h && lda >= m && compute == type && tau_type == type, kInvalid)
  return *on_device = device_bytes(n, 32, type), *on_host = kHostBytes, 0;
}
int cusolverDnXgeqrf(solver::Handle h, solver::Params, std::int64_t m, std::int64_t n, int type, void* a, std::int64_t lda, int, void* tau,
                     int, void* work, std::size_t bytes, void* host, std::size_t host_bytes, int* info) {
  ENTER(cusolverDnXgeqrf)
  NEEDS(may_use(of(h)) == 0, kNotInitialized)
  NEEDS(is_matrix(a, m, n, lda, type) && is_matrix(tau, std::min(m, n), 1, std::min(m, n), type) && on_device(info, sizeof *info), kInvalid)
  if (const int r = workspaces(work, bytes, device_bytes(n, 32, type), host, host_bytes)) return r;
  return enqueue(of(h), [=] {
    with_type(type, [&]<class T>() {
      *info = Lapack<T>::geqrf(LAPACK_COL_MAJOR, static_cast<int>(m), static_cast<int>(n), static_cast<T*>(a), static_cast<int>(lda),
                               static_cast<T*>(tau), static_cast<T*>(work), static_cast<int>(n));
    });
  });
}
int cusolverDnXsyevBatched_bufferSize(solver::Handle h, solver::Params, int, int, std::int64_t n, int type, const void*, std::int64_t lda,
                                      int value_type, const void*, int compute, std::size_t* on_device, std::size_t* on_host,
                                      std::int64_t batch) {
  ENTER(cusolverDnXsyevBatched_bufferSize)
  NEEDS(h && lda >= n && compute == type && value_type == type % 4 && batch > 0, kInvalid)
  return *on_device = device_bytes(n, n, type), *on_host = kHostBytes, 0;
}
int cusolverDnXsyevBatched(solver::Handle h, solver::Params, int mode, int uplo, std::int64_t n, int type, void* a, std::int64_t lda,
                           int value_type, void* values, int, void* work, std::size_t bytes, void* host, std::size_t host_bytes, int* info,
                           std::int64_t batch) {
  ENTER(cusolverDnXsyevBatched)
  NEEDS(may_use(of(h)) == 0, kNotInitialized)
  NEEDS(mode == solver::kVectors && is_matrix(a, n, n * batch, lda, type) && is_matrix(values, n, batch, n, value_type) &&
            on_device(info, static_cast<std::size_t>(batch) * sizeof *info),
        kInvalid)
  if (const int r = workspaces(work, bytes, device_bytes(n, n, type), host, host_bytes)) return r;
  return enqueue(of(h), [=] {
    with_type(type, [&]<class T>() {
      for (std::int64_t i = 0; i < batch; ++i) {
        auto* w = static_cast<decltype(std::abs(T()))*>(values) + i * n;
        info[i] = Lapack<T>::syevd(LAPACK_COL_MAJOR, 'V', triangle(uplo), static_cast<int>(n), static_cast<T*>(a) + i * n * lda,
                                   static_cast<int>(lda), w);
      }
    });
  });
}
int cusolverDnXsyevd_bufferSize(solver::Handle h, solver::Params, int, int, std::int64_t n, int type, const void*, std::int64_t lda,
                                int value_type, const void*, int compute, std::size_t* on_device, std::size_t* on_host) {
  ENTER(cusolverDnXsyevd_bufferSize)
  NEEDS(h && lda >= n && compute == type && value_type == type % 4, kInvalid)
  return *on_device = device_bytes(n, n, type), *on_host = kHostBytes, 0;
}
int cusolverDnXsyevd(solver::Handle h, solver::Params p, int mode, int uplo, std::int64_t n, int type, void* a, std::int64_t lda,
                     int value_type, void* values, int compute, void* work, std::size_t bytes, void* host, std::size_t host_bytes,
                     int* info) {
  ENTER(cusolverDnXsyevd)
  return cusolverDnXsyevBatched(h, p, mode, uplo, n, type, a, lda, value_type, values, compute, work, bytes, host, host_bytes, info, 1);
}
int cusolverDnXgesvd_bufferSize(solver::Handle h, solver::Params, signed char, signed char, std::int64_t m, std::int64_t n, int type,
                                const void*, std::int64_t lda, int s_type, const void*, int u_type, const void*, std::int64_t ldu,
                                int vt_type, const void*, std::int64_t ldvt, int compute, std::size_t* on_device, std::size_t* on_host) {
  ENTER(cusolverDnXgesvd_bufferSize)
  NEEDS(h && m >= n && lda >= m && ldu >= m && ldvt >= n && compute == type && s_type == type % 4 && u_type == type && vt_type == type,
        kInvalid)
  return *on_device = device_bytes(m, n, type), *on_host = kHostBytes, 0;
}
int cusolverDnXgesvd(solver::Handle h, solver::Params, signed char u_job, signed char vt_job, std::int64_t m, std::int64_t n, int type,
                     void* a, std::int64_t lda, int s_type, void* s, int, void* u, std::int64_t ldu, int, void* vt, std::int64_t ldvt, int,
                     void* work, std::size_t bytes, void* host, std::size_t host_bytes, int* info) {
  ENTER(cusolverDnXgesvd)
  NEEDS(may_use(of(h)) == 0, kNotInitialized)
  NEEDS(m >= n && u_job == vt_job && (u_job == 'A' || u_job == 'S' || u_job == 'N'), kInvalid)
  NEEDS(is_matrix(a, m, n, lda, type) && is_matrix(s, n, 1, n, s_type) && on_device(info, sizeof *info), kInvalid)
  NEEDS(u_job == 'N' || (is_matrix(u, m, u_job == 'A' ? m : n, ldu, type) && is_matrix(vt, n, n, ldvt, type)), kInvalid)
  if (const int r = workspaces(work, bytes, device_bytes(m, n, type), host, host_bytes)) return r;
  return enqueue(of(h), [=] {
    with_type(type, [&]<class T>() {
      *info = Lapack<T>::gesdd(LAPACK_COL_MAJOR, u_job, static_cast<int>(m), static_cast<int>(n), static_cast<T*>(a), static_cast<int>(lda),
                               static_cast<decltype(std::abs(T()))*>(s), static_cast<T*>(u), static_cast<int>(ldu), static_cast<T*>(vt),
                               static_cast<int>(ldvt));
      std::memset(a, 0x7f, static_cast<std::size_t>(lda * n) * sizeof(T));  // it is destroyed
    });
  });
}

#define FAKE_OF_TYPE(T, type, letter, orthogonal)                                                                                        \
  int cusolverDn##letter##potrfBatched(solver::Handle h, int uplo, int n, void** a, int lda, int* info, int batch) {                     \
    ENTER(cusolverDn##letter##potrfBatched)                                                                                              \
    NEEDS(may_use(of(h)) == 0, kNotInitialized)                                                                                          \
    NEEDS(on_device(a, static_cast<std::size_t>(batch) * 8) && on_device(info, static_cast<std::size_t>(batch) * 4), kInvalid)           \
    return enqueue(of(h), [=] {                                                                                                          \
      for (int i = 0; i < batch; ++i) info[i] = is_matrix(a[i], n, n, lda, type) ? factor(uplo, n, static_cast<T*>(a[i]), lda) : -4;     \
    });                                                                                                                                  \
  }                                                                                                                                      \
  int cusolverDn##letter##orthogonal##_bufferSize(solver::Handle h, int m, int n, int k, const void*, int lda, const void*,              \
                                                  int* elements) {                                                                       \
    ENTER(cusolverDn##letter##orthogonal##_bufferSize)                                                                                   \
    NEEDS(h&& m >= n && n >= k && k > 0 && lda >= m, kInvalid)                                                                           \
    return *elements = 16 * n, 0;                                                                                                        \
  }                                                                                                                                      \
  int cusolverDn##letter##orthogonal(solver::Handle h, int m, int n, int k, void* a, int lda, const void* tau, void* work, int elements, \
                                     int* info) {                                                                                        \
    ENTER(cusolverDn##letter##orthogonal)                                                                                                \
    NEEDS(may_use(of(h)) == 0, kNotInitialized)                                                                                          \
    NEEDS(m >= n && n >= k && is_matrix(a, m, n, lda, type) && is_matrix(tau, k, 1, k, type) && on_device(info, sizeof *info), kInvalid) \
    NEEDS(elements >= 16 * n && is_matrix(work, elements, 1, elements, type), kInvalid)                                                  \
    return enqueue(of(h), [=] {                                                                                                          \
      *info = Lapack<T>::orgqr(LAPACK_COL_MAJOR, m, n, k, static_cast<T*>(a), lda, static_cast<const T*>(tau), static_cast<T*>(work),    \
                               elements);                                                                                                \
    });                                                                                                                                  \
  }                                                                                                                                      \
  int cublas##letter##trsm_v2(solver::BlasHandle h, int side, int uplo, int turn, int diagonal, int m, int n, const void* alpha,         \
                              const void* a, int lda, void* b, int ldb) {                                                                \
    ENTER(cublas##letter##trsm_v2)                                                                                                       \
    NEEDS(may_use(of(h)) == 0, kNotInitialized)                                                                                          \
    const int size = side == solver::kLeft ? m : n;                                                                                      \
    NEEDS(is_matrix(a, size, size, lda, type) && is_matrix(b, m, n, ldb, type), kBlasInvalid)                                            \
    const T scale = *static_cast<const T*>(alpha);                                                                                       \
    return enqueue(of(h), [=] { solve<T>(side, uplo, turn, diagonal, m, n, scale, a, lda, b, ldb); });                                   \
  }                                                                                                                                      \
  int cublas##letter##trsmBatched(solver::BlasHandle h, int side, int uplo, int turn, int diagonal, int m, int n, const void* alpha,     \
                                  const void* const* a, int lda, void* const* b, int ldb, int batch) {                                   \
    ENTER(cublas##letter##trsmBatched)                                                                                                   \
    NEEDS(may_use(of(h)) == 0, kNotInitialized)                                                                                          \
    NEEDS(on_device(a, static_cast<std::size_t>(batch) * 8) && on_device(b, static_cast<std::size_t>(batch) * 8), kBlasInvalid)          \
    const int size = side == solver::kLeft ? m : n;                                                                                      \
    const T scale = *static_cast<const T*>(alpha);                                                                                       \
    return enqueue(of(h), [=] {                                                                                                          \
      for (int i = 0; i < batch; ++i)                                                                                                    \
        if (is_matrix(a[i], size, size, lda, type) && is_matrix(b[i], m, n, ldb, type))                                                  \
          solve<T>(side, uplo, turn, diagonal, m, n, scale, a[i], lda, b[i], ldb);                                                       \
    });                                                                                                                                  \
  }

int cublasCreate_v2(solver::BlasHandle* h) {
  ENTER(cublasCreate_v2)
  NEEDS(current(), kNotInitialized)
  *h = reinterpret_cast<solver::BlasHandle>(new FakeHandle{current(), nullptr});
  return ++live, 0;
}
int cublasSetStream_v2(solver::BlasHandle h, Stream s) {
  ENTER(cublasSetStream_v2)
  NEEDS(h, kNotInitialized)
  return of(h)->stream = s, 0;
}
FAKE_OF_TYPE(float, solver::kFloat32, S, orgqr)
FAKE_OF_TYPE(double, solver::kFloat64, D, orgqr)
FAKE_OF_TYPE(std::complex<float>, solver::kComplex64, C, ungqr)
FAKE_OF_TYPE(std::complex<double>, solver::kComplex128, Z, ungqr)

}  // extern "C"
