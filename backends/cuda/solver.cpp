#include "weft/backends/cuda/solver.h"

#include <fmt/core.h>

#include <algorithm>
#include <complex>

#include "weft/backends/codegen/gpu/gpu_algebra.h"
#include "weft/backends/cuda/graph_memory.h"
#include "weft/backends/cuda/libraries/cusolver.h"
#include "weft/backends/cuda/libraries/math_library.h"
#include "weft/core/base/environment.h"
#include "weft/core/errors/error.h"

namespace weft::detail {

std::vector<Aval> SolverCall::abstract_eval(const OpContext& c) {
  const Params& p = c.get<Params>();
  const Aval& a = c.in[0];
  const std::int64_t count = a.shape[0], columns = a.shape[1], rows = a.shape[2], least = std::min(rows, columns);
  const Aval info{{count}, int32};
  if (p.routine == "potrf") return {a, info};
  if (p.routine == "getrf") return {a, {{count, least}, int32}, {{count, rows}, int32}, info};
  if (p.routine == "geqrf") return {a, {{count, least}, a.dtype}, info};
  if (p.routine == "orgqr") return {a, info};
  if (p.routine == "syevd") return {a, {{count, columns}, a.dtype.real_part()}, info};
  if (p.routine == "trsm") return {c.in[1]};
  if (p.routine != "gesvd" || rows < columns) c.fail<ShapeError>("there is no routine " + p.routine);
  const Aval values{{count, columns}, a.dtype.real_part()};
  if (!p.vectors) return {values, info};
  return {values, {{count, p.full ? rows : columns, rows}, a.dtype}, {{count, columns, columns}, a.dtype}, info};
}

BatchResult SolverCall::batch(const BatchContext&) { throw Error("internal error: solver_call is not mapped over"); }

void SolverCall::reference(const ReferenceContext& c) {
  throw Error("internal error: " + c.get<Params>().routine + " is computed by a device's library alone");
}

namespace cuda {
namespace {

constexpr std::int64_t kSmallFactors = 256;  // rows of matrices that are factored side by side

struct Library {
#define WEFT_DECLARE(name, parameters) int(*name) parameters = nullptr;
  WEFT_CUSOLVER(WEFT_DECLARE)
  WEFT_CUSOLVER_LATER(WEFT_DECLARE)
  WEFT_CUBLAS(WEFT_DECLARE)
#undef WEFT_DECLARE
  int (*cusolverGetVersion)(int*) = nullptr;  // not needed
  bool there = false, has_later = false;
};

const Library& library() {
  static const Library l = [] {
    Library r;
    void* const blas = open_library("WEFT_LIBCUBLAS", {"libcublas.so.13", "libcublas.so.12", "libcublas.so"});
    void* const own = blas ? open_library("WEFT_LIBCUSOLVER", {"libcusolver.so.12", "libcusolver.so.11", "libcusolver.so"}) : nullptr;
    if (!own) return r;
    bool found = true;
    void* file = own;
#define WEFT_LOOK_UP(name, parameters)                             \
  r.name = reinterpret_cast<decltype(r.name)>(dlsym(file, #name)); \
  found &= r.name != nullptr;
    WEFT_CUSOLVER_LATER(WEFT_LOOK_UP)
    r.has_later = std::exchange(found, true);
    WEFT_CUSOLVER(WEFT_LOOK_UP)
    file = blas;
    WEFT_CUBLAS(WEFT_LOOK_UP)
    r.there = found;
#undef WEFT_LOOK_UP
    r.cusolverGetVersion = reinterpret_cast<decltype(r.cusolverGetVersion)>(dlsym(own, "cusolverGetVersion"));
    return r;
  }();
  return l;
}

const char* status_name(bool blas, int status) {
  switch (status) {
    case 1: return "NOT_INITIALIZED";
    case 2: return "ALLOC_FAILED";  // cuSOLVER's
    case 3: return blas ? "ALLOC_FAILED" : "INVALID_VALUE";
    case 4: return "ARCH_MISMATCH";
    case 6: return "EXECUTION_FAILED";
    case 7: return blas ? "INVALID_VALUE" : "INTERNAL_ERROR";
    case 8: return blas ? "ARCH_MISMATCH" : "MATRIX_TYPE_NOT_SUPPORTED";
    case 9: return "NOT_SUPPORTED";
    case 13: return "EXECUTION_FAILED";  // cuBLAS's from here
    case 14: return "INTERNAL_ERROR";
    case 15: return "NOT_SUPPORTED";
    default: return "unknown";
  }
}
void check_call(int status, const std::string& call, const std::string& what, SourceLoc loc = {}) {
  if (status == 0) return;
  const bool blas = call.starts_with("cublas");
  throw DeviceError(
      fmt::format("{}: {} gives {}_STATUS_{} ({})", what, call, blas ? "CUBLAS" : "CUSOLVER", status_name(blas, status), status), loc);
}

/// What a device keeps for all calls.
struct Shared {
  solver::Handle handle = nullptr;
  solver::Params params = nullptr;
  solver::BlasHandle blas = nullptr;
};
Shared& shared_of(GpuDevice& device) {
  return kept_by<Shared>(device, [&](Shared& s) {
    if (!s.handle) check_call(library().cusolverDnCreate(&s.handle), "cusolverDnCreate", device.label());
    if (!s.params) check_call(library().cusolverDnCreateParams(&s.params), "cusolverDnCreateParams", device.label());
    if (!s.blas) check_call(library().cublasCreate_v2(&s.blas), "cublasCreate_v2", device.label());
  });
}

int data_type(DType t) {
  return t == float64 ? solver::kFloat64 : t == complex64 ? solver::kComplex64 : t == complex128 ? solver::kComplex128 : solver::kFloat32;
}

template <class T>
T* pointer(DevicePointer p) {
  return reinterpret_cast<T*>(p);
}

class SolverStep final : public DeviceStep {
 public:
  SolverStep(GpuDevice& device, const NamedKernels& kernels, const SolverCall::Params& p, std::span<const Aval> in,
             std::span<const Aval> out, const std::string& name)
      : device_(device),
        p_(p),
        in_(in.begin(), in.end()),
        out_(out.begin(), out.end()),
        shared_(shared_of(device)),
        count_(in[0].shape[0]),
        columns_(in[0].shape[1]),
        rows_(in[0].shape[2]),
        least_(std::min(rows_, columns_)),
        type_(data_type(in[0].dtype)),
        real_type_(data_type(in[0].dtype.real_part())),
        triangle_(p.upper ? solver::kUpper : solver::kLower),
        job_(!p.vectors ? 'N'
             : p.full   ? 'A'
                        : 'S'),
        places_(kernels.at(AlgebraKernels::places_name())),
        pivots_(kernels.at(AlgebraKernels::pivots_name())) {
    what_ = fmt::format("{}: {} of {} matrices of {} x {} {} of {}", device.label(), p.routine, count_, rows_, columns_, in[0].dtype.name(),
                        name);
    ask();
    on_host_.resize(host_bytes_ + 1);
    take(work_, static_cast<std::int64_t>(device_bytes_));
    // Memory in addition to the routine's own workspace.
    if (p_.routine == "gesvd") take(copy_, in[0].bytes());
    if (p_.routine == "getrf") take(from_one_, count_ * least_ * 8);
    if (by_places()) take(places_of_a_, count_ * 8), take(places_of_b_, count_ * 8);
  }

  std::int64_t workspace_bytes() const override { return bytes_; }

  void run(std::span<const DevicePointer> at, DevicePointer workspace, FunctionRef<SourceLoc()> line) override {
    // These routines may synchronise with the stream, so they can't be part of a graph.
    if (GraphMemory* supply = device_.supply()) supply->needs_host();
    line_ = &line;
    call(library().cusolverDnSetStream(shared_.handle, device_.stream()), "cusolverDnSetStream");
    call(library().cublasSetStream_v2(shared_.blas, device_.stream()), "cublasSetStream_v2");
    const std::span<const DevicePointer> results = at.subspan(in_.size());
    const auto in_workspace = [&](std::int64_t offset) { return workspace + static_cast<DevicePointer>(offset); };
    void* work = pointer<void>(in_workspace(work_));
    if (p_.routine == "trsm") {
      solve(at[0], at[1], results[0], in_workspace(places_of_a_), in_workspace(places_of_b_));
    } else if (p_.routine == "gesvd") {
      singular_values(at[0], in_workspace(copy_), results, work);
    } else {
      copy(results[0], at[0], in_[0].bytes());
      if (p_.routine == "potrf") cholesky(results[0], results[1], in_workspace(places_of_a_), work);
      if (p_.routine == "getrf") lu(results, in_workspace(from_one_), work);
      if (p_.routine == "geqrf") qr(results, work);
      if (p_.routine == "orgqr")
        each([&](std::int64_t i) { orthogonal(matrix(results[0], i), part(at[1], in_[1], i), info(results[1], i), work); });
      if (p_.routine == "syevd") eigen(results, work);
    }
    if (is_switched_on("WEFT_CUDA_SYNC")) check(driver().cuStreamSynchronize(device_.stream()), "cuStreamSynchronize", what_, line());
  }

 private:
  void take(std::int64_t& place, std::int64_t bytes) {
    place = bytes_;
    bytes_ += (bytes + 255) / 256 * 256;
  }
  bool by_places() const { return count_ > 1 && (p_.routine == "trsm" || (p_.routine == "potrf" && rows_ <= kSmallFactors)); }
  /// Whether all matrices are passed to one call as a contiguous batch.
  bool together() const { return count_ > 1 && p_.routine == "syevd" && library().has_later; }

  /// How much memory the routine wants.
  void ask() {
    const Library& l = library();
    const solver::Handle h = shared_.handle;
    const solver::Params params = shared_.params;
    const auto asked = [&](int status, const char* name) { check_call(status, full_name(name), what_); };
    if (p_.routine == "potrf" && !by_places())
      asked(l.cusolverDnXpotrf_bufferSize(h, params, triangle_, rows_, type_, nullptr, rows_, type_, &device_bytes_, &host_bytes_),
            "cusolverDnXpotrf_bufferSize");
    if (p_.routine == "getrf")
      asked(l.cusolverDnXgetrf_bufferSize(h, params, rows_, columns_, type_, nullptr, rows_, type_, &device_bytes_, &host_bytes_),
            "cusolverDnXgetrf_bufferSize");
    if (p_.routine == "geqrf")
      asked(l.cusolverDnXgeqrf_bufferSize(h, params, rows_, columns_, type_, nullptr, rows_, type_, nullptr, type_, &device_bytes_,
                                          &host_bytes_),
            "cusolverDnXgeqrf_bufferSize");
    if (p_.routine == "orgqr") {
      const auto f = of_type(l.cusolverDnSorgqr_bufferSize, l.cusolverDnDorgqr_bufferSize, l.cusolverDnCungqr_bufferSize,
                             l.cusolverDnZungqr_bufferSize);
      const auto m = static_cast<int>(rows_);
      asked(f(h, m, static_cast<int>(columns_), reflectors(), nullptr, m, nullptr, &work_elements_),
            in_[0].dtype.is_complex() ? "cusolverDn?ungqr_bufferSize" : "cusolverDn?orgqr_bufferSize");
      device_bytes_ = static_cast<std::size_t>(work_elements_) * static_cast<std::size_t>(in_[0].dtype.itemsize());
    }
    if (p_.routine == "syevd" && together())
      asked(l.cusolverDnXsyevBatched_bufferSize(h, params, solver::kVectors, triangle_, rows_, type_, nullptr, rows_, real_type_, nullptr,
                                                type_, &device_bytes_, &host_bytes_, count_),
            "cusolverDnXsyevBatched_bufferSize");
    else if (p_.routine == "syevd")
      asked(l.cusolverDnXsyevd_bufferSize(h, params, solver::kVectors, triangle_, rows_, type_, nullptr, rows_, real_type_, nullptr, type_,
                                          &device_bytes_, &host_bytes_),
            "cusolverDnXsyevd_bufferSize");
    if (p_.routine == "gesvd")
      asked(l.cusolverDnXgesvd_bufferSize(h, params, job_, job_, rows_, columns_, type_, nullptr, rows_, real_type_, nullptr, type_,
                                          nullptr, rows_, type_, nullptr, columns_, type_, &device_bytes_, &host_bytes_),
            "cusolverDnXgesvd_bufferSize");
  }

  /// The form of a routine, among those for the four types, that takes the elements' type.
  template <class F>
  F of_type(F s, F d, F c, F z) const {
    return type_ == solver::kFloat32 ? s : type_ == solver::kFloat64 ? d : type_ == solver::kComplex64 ? c : z;
  }
  /// With the type's letter in place of `?`.
  std::string full_name(std::string name) const {
    if (const std::size_t place = name.find('?'); place != std::string::npos) name[place] = of_type('S', 'D', 'C', 'Z');
    return name;
  }
  int reflectors() const { return static_cast<int>(in_[1].shape.back()); }

  void call(int status, const char* name) {
    if (status != 0) check_call(status, full_name(name), what_, (*line_)());
  }
  template <class F>
  void each(F f) {
    for (std::int64_t i = 0; i < count_; ++i) f(i);
  }
  static DevicePointer part(DevicePointer all, const Aval& a, std::int64_t i) {
    return all + static_cast<DevicePointer>(i * (a.bytes() / a.shape[0]));
  }
  DevicePointer matrix(DevicePointer all, std::int64_t i) const { return part(all, in_[0], i); }
  static int* info(DevicePointer all, std::int64_t i) { return pointer<int>(all) + i; }
  void copy(DevicePointer to, DevicePointer from, std::int64_t bytes) {
    const Result r = driver().cuMemcpyDtoDAsync_v2(to, from, static_cast<std::size_t>(bytes), device_.stream());
    if (r != kSuccess) check(r, "cuMemcpyDtoDAsync", what_, (*line_)());
  }
  void launch(Function f, std::vector<DevicePointer> values) {
    std::vector<void*> parameters;
    for (DevicePointer& v : values) parameters.push_back(&v);
    parameters.push_back(nullptr);  // as a mark, as for all kernels
    const auto blocks = static_cast<unsigned>((count_ + AlgebraKernels::kThreads - 1) / AlgebraKernels::kThreads);
    const Result r =
        driver().cuLaunchKernel(f, blocks, 1, 1, AlgebraKernels::kThreads, 1, 1, 0, device_.stream(), parameters.data(), nullptr);
    if (r != kSuccess) check(r, "cuLaunchKernel", what_, (*line_)());
  }
  void fill_places(DevicePointer out, DevicePointer first, const Aval& a) {
    launch(places_, {out, first, static_cast<DevicePointer>(a.bytes() / count_), static_cast<DevicePointer>(count_)});
  }

  void cholesky(DevicePointer a, DevicePointer infos, DevicePointer places, void* work) {
    const Library& l = library();
    if (!by_places())
      return each([&](std::int64_t i) {
        call(l.cusolverDnXpotrf(shared_.handle, shared_.params, triangle_, rows_, type_, pointer<void>(matrix(a, i)), rows_, type_, work,
                                device_bytes_, on_host_.data(), host_bytes_, info(infos, i)),
             "cusolverDnXpotrf");
      });
    fill_places(places, a, in_[0]);
    const auto f = of_type(l.cusolverDnSpotrfBatched, l.cusolverDnDpotrfBatched, l.cusolverDnCpotrfBatched, l.cusolverDnZpotrfBatched);
    const auto n = static_cast<int>(rows_);
    call(f(shared_.handle, triangle_, n, pointer<void*>(places), n, info(infos, 0), static_cast<int>(count_)), "cusolverDn?potrfBatched");
  }

  void lu(std::span<const DevicePointer> results, DevicePointer from_one, void* work) {
    each([&](std::int64_t i) {
      call(library().cusolverDnXgetrf(shared_.handle, shared_.params, rows_, columns_, type_, pointer<void>(matrix(results[0], i)), rows_,
                                      pointer<std::int64_t>(from_one) + i * least_, type_, work, device_bytes_, on_host_.data(),
                                      host_bytes_, info(results[3], i)),
           "cusolverDnXgetrf");
    });
    launch(pivots_, {from_one, results[1], results[2], static_cast<DevicePointer>(least_), static_cast<DevicePointer>(rows_),
                     static_cast<DevicePointer>(count_)});
  }

  void qr(std::span<const DevicePointer> results, void* work) {
    each([&](std::int64_t i) {
      call(library().cusolverDnXgeqrf(shared_.handle, shared_.params, rows_, columns_, type_, pointer<void>(matrix(results[0], i)), rows_,
                                      type_, pointer<void>(part(results[1], out_[1], i)), type_, work, device_bytes_, on_host_.data(),
                                      host_bytes_, info(results[2], i)),
           "cusolverDnXgeqrf");
    });
  }

  void orthogonal(DevicePointer a, DevicePointer tau, int* state, void* work) {
    const Library& l = library();
    const auto f = of_type(l.cusolverDnSorgqr, l.cusolverDnDorgqr, l.cusolverDnCungqr, l.cusolverDnZungqr);
    const auto m = static_cast<int>(rows_);
    call(f(shared_.handle, m, static_cast<int>(columns_), reflectors(), pointer<void>(a), m, pointer<void>(tau), work, work_elements_,
           state),
         in_[0].dtype.is_complex() ? "cusolverDn?ungqr" : "cusolverDn?orgqr");
  }

  void eigen(std::span<const DevicePointer> results, void* work) {
    const Library& l = library();
    if (together())
      return call(l.cusolverDnXsyevBatched(shared_.handle, shared_.params, solver::kVectors, triangle_, rows_, type_,
                                           pointer<void>(results[0]), rows_, real_type_, pointer<void>(results[1]), type_, work,
                                           device_bytes_, on_host_.data(), host_bytes_, info(results[2], 0), count_),
                  "cusolverDnXsyevBatched");
    each([&](std::int64_t i) {
      call(l.cusolverDnXsyevd(shared_.handle, shared_.params, solver::kVectors, triangle_, rows_, type_,
                              pointer<void>(matrix(results[0], i)), rows_, real_type_, pointer<void>(part(results[1], out_[1], i)), type_,
                              work, device_bytes_, on_host_.data(), host_bytes_, info(results[2], i)),
           "cusolverDnXsyevd");
    });
  }

  void singular_values(DevicePointer a, DevicePointer copied, std::span<const DevicePointer> results, void* work) {
    copy(copied, a, in_[0].bytes());
    each([&](std::int64_t i) {
      const DevicePointer u = p_.vectors ? part(results[1], out_[1], i) : 0, vt = p_.vectors ? part(results[2], out_[2], i) : 0;
      call(library().cusolverDnXgesvd(shared_.handle, shared_.params, job_, job_, rows_, columns_, type_, pointer<void>(matrix(copied, i)),
                                      rows_, real_type_, pointer<void>(part(results[0], out_[0], i)), type_, pointer<void>(u), rows_, type_,
                                      pointer<void>(vt), columns_, type_, work, device_bytes_, on_host_.data(), host_bytes_,
                                      info(results.back(), i)),
           "cusolverDnXgesvd");
    });
  }

  void solve(DevicePointer a, DevicePointer b, DevicePointer x, DevicePointer places_of_a, DevicePointer places_of_b) {
    const Library& l = library();
    copy(x, b, in_[1].bytes());
    const int side = p_.right ? solver::kRight : solver::kLeft, diagonal = p_.unit_diagonal ? solver::kUnit : solver::kNonUnit,
              size = static_cast<int>(rows_), m = static_cast<int>(in_[1].shape[2]), n = static_cast<int>(in_[1].shape[1]);
    const std::complex<float> one = 1;
    const std::complex<double> wide_one = 1;  // the real part is what real forms read
    const void* scale = of_type<const void*>(&one, &wide_one, &one, &wide_one);
    if (by_places()) {
      fill_places(places_of_a, a, in_[0]), fill_places(places_of_b, x, in_[1]);
      const auto f = of_type(l.cublasStrsmBatched, l.cublasDtrsmBatched, l.cublasCtrsmBatched, l.cublasZtrsmBatched);
      return call(f(shared_.blas, side, triangle_, p_.turn, diagonal, m, n, scale, pointer<void*>(places_of_a), size,
                    pointer<void*>(places_of_b), m, static_cast<int>(count_)),
                  "cublas?trsmBatched");
    }
    const auto f = of_type(l.cublasStrsm_v2, l.cublasDtrsm_v2, l.cublasCtrsm_v2, l.cublasZtrsm_v2);
    call(f(shared_.blas, side, triangle_, p_.turn, diagonal, m, n, scale, pointer<void>(a), size, pointer<void>(x), m), "cublas?trsm_v2");
  }

  GpuDevice& device_;
  const SolverCall::Params p_;
  const std::vector<Aval> in_, out_;
  Shared& shared_;
  const std::int64_t count_, columns_, rows_, least_;
  const int type_, real_type_, triangle_;
  const signed char job_;  // of gesvd
  const Function places_, pivots_;
  std::string what_;
  std::size_t device_bytes_ = 0, host_bytes_ = 0;
  int work_elements_ = 0;
  std::vector<std::byte> on_host_;
  std::int64_t bytes_ = 0, work_ = 0, copy_ = 0, from_one_ = 0, places_of_a_ = 0, places_of_b_ = 0;
  FunctionRef<SourceLoc()>* line_ = nullptr;  // while it runs
};

}  // namespace

bool has_solver() { return library().there; }

std::string solver_version() {
  int v = 0;
  if (!has_solver()) return "none";
  if (!library().cusolverGetVersion || library().cusolverGetVersion(&v) != 0) return "of a version that it does not tell";
  return std::to_string(v);
}

std::unique_ptr<DeviceStep> make_solver_step(GpuDevice& device, const NamedKernels& kernels, const SolverCall::Params& p,
                                             std::span<const Aval> in, std::span<const Aval> out, const std::string& name) {
  return std::make_unique<SolverStep>(device, kernels, p, in, out, name);
}

}  // namespace cuda
}  // namespace weft::detail
