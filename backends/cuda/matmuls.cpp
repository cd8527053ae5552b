#include "weft/backends/cuda/matmuls.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <mutex>

#include "weft/backends/common/code_cache.h"
#include "weft/backends/cuda/libraries/cublaslt.h"
#include "weft/backends/cuda/libraries/math_library.h"
#include "weft/core/base/environment.h"
#include "weft/core/errors/error.h"
#include "weft/runtime/host/device.h"

namespace weft::detail::cuda {
namespace {

constexpr std::size_t kWorkspaceBytes = std::size_t{32} << 20;
constexpr int kCandidates = 8, kTimedRuns = 3;
constexpr std::int64_t kMaxTimedBytes = std::int64_t{1} << 30;  // of operands that are made to be timed

struct Library {
#define WEFT_DECLARE(name, parameters) int(*name) parameters = nullptr;
  WEFT_CUBLASLT(WEFT_DECLARE)
#undef WEFT_DECLARE
  std::size_t (*cublasLtGetVersion)() = nullptr;  // not needed
  bool there = false;
};

const Library& library() {
  static const Library l = [] {
    Library r;
    void* const file = open_library("WEFT_LIBCUBLASLT", {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"});
    if (!file) return r;
    r.there = true;
#define WEFT_LOOK_UP(name, parameters)                             \
  r.name = reinterpret_cast<decltype(r.name)>(dlsym(file, #name)); \
  r.there = r.there && r.name;
    WEFT_CUBLASLT(WEFT_LOOK_UP)
#undef WEFT_LOOK_UP
    r.cublasLtGetVersion = reinterpret_cast<decltype(r.cublasLtGetVersion)>(dlsym(file, "cublasLtGetVersion"));
    return r;
  }();
  return l;
}

const char* status_name(int status) {
  switch (status) {
    case 1: return "CUBLAS_STATUS_NOT_INITIALIZED";
    case 3: return "CUBLAS_STATUS_ALLOC_FAILED";
    case 7: return "CUBLAS_STATUS_INVALID_VALUE";
    case 8: return "CUBLAS_STATUS_ARCH_MISMATCH";
    case 11: return "CUBLAS_STATUS_MAPPING_ERROR";
    case 13: return "CUBLAS_STATUS_EXECUTION_FAILED";
    case 14: return "CUBLAS_STATUS_INTERNAL_ERROR";
    case 15: return "CUBLAS_STATUS_NOT_SUPPORTED";
    case 16: return "CUBLAS_STATUS_LICENSE_ERROR";
    default: return "an unknown status";
  }
}
void check_cublas(int status, const char* call, const std::string& what, SourceLoc loc = {}) {
  if (status != 0) throw DeviceError(fmt::format("{}: {} gives {} ({})", what, call, status_name(status), status), loc);
}

bool allows_tf32() { return is_switched_on("WEFT_CUDA_TF32"); }

/// Whether algorithms are timed. Several processes would not agree on one.
bool times_algorithms() {
  return is_switched_on("WEFT_CUDA_TUNE", true) && !is_switched_on("WEFT_CUDA_DETERMINISTIC") && process_count() == 1;
}

/// The state of a device that all its matmuls share.
struct Shared {
  lt::Handle handle = nullptr;
  DevicePointer workspace = 0;
};
/// The algorithms that were chosen, by the kind of device and what was asked: equal devices give equal bits.
struct Choices {
  std::mutex mutex;
  std::map<std::string, lt::Algorithm> made;
};
Choices& choices() {
  static Choices& c = *new Choices;
  return c;
}
Shared& shared_of(GpuDevice& device) {
  return kept_by<Shared>(device, [&](Shared& s) {
    if (!s.handle) check_cublas(library().cublasLtCreate(&s.handle), "cublasLtCreate", device.label());
    if (!s.workspace) s.workspace = device.allocate(kWorkspaceBytes, "the matmuls' scratch memory");
  });
}

int data_type(DType t) { return t == float64 ? lt::kFloat64 : t == float16 ? lt::kFloat16 : t == bfloat16 ? lt::kBFloat16 : lt::kFloat32; }

class LtMatmul final : public GpuMatmul {
 public:
  LtMatmul(GpuDevice& device, const MatmulStep& p, const std::string& name) : device_(device), p_(p), shared_(shared_of(device)) {
    what_ = fmt::format("{}: a matmul of {} x {} x {} {} of {}", device.label(), p.m, p.k, p.n, p.dtype.name(), name);
    try {
      describe();
      // Any that is aligned as those of arrays are: the library may look at it when it chooses.
      if (p_.bias)
        check_cublas(library().cublasLtMatmulDescSetAttribute(description_, lt::kBiasPointer, &shared_.workspace, sizeof shared_.workspace),
                     "cublasLtMatmulDescSetAttribute", what_);
      algorithm(kWholeVectors);
    } catch (...) {
      destroy();
      throw;
    }
  }
  ~LtMatmul() override { destroy(); }

  void run(DevicePointer a, DevicePointer b, DevicePointer out, DevicePointer bias, FunctionRef<SourceLoc()> line) override {
    const auto in_bytes = static_cast<DevicePointer>(p_.dtype.itemsize()), out_bytes = static_cast<DevicePointer>(p_.out_dtype.itemsize());
    a += static_cast<DevicePointer>(p_.a_offset) * in_bytes, b += static_cast<DevicePointer>(p_.b_offset) * in_bytes;
    const auto checked = [&](int status, const char* call) {
      if (status != 0) check_cublas(status, call, what_, line());
    };
    if (p_.bias)
      checked(library().cublasLtMatmulDescSetAttribute(description_, lt::kBiasPointer, &bias, sizeof bias),
              "cublasLtMatmulDescSetAttribute");
    // The innermost batch dimension is the library's, the others are a loop.
    const std::size_t loops = p_.batch.empty() ? 0 : p_.batch.size() - 1;
    std::vector<std::int64_t> at(loops, 0);
    for (;;) {
      DevicePointer x = a, y = b, z = out;
      for (std::size_t i = 0; i < loops; ++i) {
        x += static_cast<DevicePointer>(at[i] * p_.batch[i].stride_a) * in_bytes;
        y += static_cast<DevicePointer>(at[i] * p_.batch[i].stride_b) * in_bytes;
        z += static_cast<DevicePointer>(at[i] * p_.batch[i].stride_out) * out_bytes;
      }
      const bool whole = ((x | y | z) % kWholeVectors) == 0;
      const lt::Algorithm& chosen = algorithm(whole ? kWholeVectors : static_cast<std::uint32_t>(std::min(in_bytes, out_bytes)));
      checked(multiply(x, y, z, chosen), "cublasLtMatmul");
      std::size_t i = loops;
      while (i > 0 && ++at[i - 1] == p_.batch[i - 1].size) at[--i] = 0;
      if (i == 0) return;
    }
  }

 private:
  static constexpr std::uint32_t kWholeVectors = 16;  // bytes

  void describe() {
    const Library& l = library();
    const bool wide = p_.dtype == float64;
    const int compute = wide ? lt::kCompute64 : p_.dtype == float32 && allows_tf32() ? lt::kComputeTf32 : lt::kCompute32;
    check_cublas(l.cublasLtMatmulDescCreate(&description_, compute, wide ? lt::kFloat64 : lt::kFloat32), "cublasLtMatmulDescCreate", what_);
    const int transpose_b = p_.b_col == 1 ? lt::kAsIs : lt::kTransposed, transpose_a = p_.a_col == 1 ? lt::kAsIs : lt::kTransposed;
    set(lt::kTransposeA, transpose_b), set(lt::kTransposeB, transpose_a);
    int epilogue = p_.activation == MatmulStep::Activation::relu   ? lt::kRelu
                   : p_.activation == MatmulStep::Activation::gelu ? lt::kGelu
                                                                   : 0;
    if (p_.bias) epilogue |= lt::kBias;
    if (epilogue != 0) set(lt::kEpilogue, epilogue);
    const MatmulStep::Batch batch = p_.batch.empty() ? MatmulStep::Batch{} : p_.batch.back();
    const auto u = [](std::int64_t v) { return static_cast<std::uint64_t>(v); };
    // Column-major, as stored: rows, columns, and the distance of columns.
    transpose_b == lt::kAsIs ? layout(0, p_.dtype, u(p_.n), u(p_.k), p_.b_row, batch.size, batch.stride_b)
                             : layout(0, p_.dtype, u(p_.k), u(p_.n), p_.b_col, batch.size, batch.stride_b);
    transpose_a == lt::kAsIs ? layout(1, p_.dtype, u(p_.k), u(p_.m), p_.a_row, batch.size, batch.stride_a)
                             : layout(1, p_.dtype, u(p_.m), u(p_.k), p_.a_col, batch.size, batch.stride_a);
    layout(2, p_.out_dtype, u(p_.n), u(p_.m), p_.out_row, batch.size, batch.stride_out);
    question_ = fmt::format("{} {} {} {} {} {} {} {} {}", compute, transpose_a, transpose_b, epilogue, p_.dtype.name(), p_.out_dtype.name(),
                            p_.m, p_.n, p_.k) +
                fmt::format(" {} {} {} {} {} {} {} {} {}", p_.a_row, p_.a_col, p_.b_row, p_.b_col, p_.out_row, batch.size, batch.stride_a,
                            batch.stride_b, batch.stride_out);
  }

  void set(int attribute, int value) {
    check_cublas(library().cublasLtMatmulDescSetAttribute(description_, attribute, &value, sizeof value), "cublasLtMatmulDescSetAttribute",
                 what_);
  }

  int multiply(DevicePointer a, DevicePointer b, DevicePointer out, const lt::Algorithm& algorithm) {
    const double one_wide = 1, zero_wide = 0;
    const float one = 1, zero = 0;
    const bool wide = p_.dtype == float64;
    // Row-major, so that the library sees the transposes of all: out^T = b^T a^T.
    return library().cublasLtMatmul(shared_.handle, description_, wide ? static_cast<const void*>(&one_wide) : &one,
                                    reinterpret_cast<const void*>(b), layout_[0], reinterpret_cast<const void*>(a), layout_[1],
                                    wide ? static_cast<const void*>(&zero_wide) : &zero, reinterpret_cast<const void*>(out), layout_[2],
                                    reinterpret_cast<void*>(out), layout_[2], &algorithm, reinterpret_cast<void*>(shared_.workspace),
                                    kWorkspaceBytes, device_.stream());
  }

  /// The algorithm for operands whose addresses are multiples of so many bytes.
  const lt::Algorithm& algorithm(std::uint32_t alignment) {
    const lt::Algorithm*& known = alignment == kWholeVectors ? whole_ : any_;
    if (known) return *known;
    const std::lock_guard order(device_.order());  // first, as those have it who run a matmul
    const std::lock_guard lock(choices().mutex);
    const int count = times_algorithms() && alignment == kWholeVectors ? kCandidates : 1;
    const std::string question = fmt::format("{} {} {} {} {} {}", device_.name(), device_.target().architecture, device_.multiprocessors(),
                                             question_, alignment, count);
    if (const auto made = choices().made.find(question); made != choices().made.end()) return *(known = &made->second);
    const std::vector<lt::Algorithm> proposed = ask(alignment, count);
    const lt::Algorithm& chosen = proposed.size() == 1 ? proposed[0] : fastest(proposed, question);
    return *(known = &choices().made.emplace(question, chosen).first->second);
  }

  /// The algorithms that the library proposes, best first.
  std::vector<lt::Algorithm> ask(std::uint32_t alignment, int count) {
    const Library& l = library();
    lt::Preference preference = nullptr;
    check_cublas(l.cublasLtMatmulPreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate", what_);
    const std::uint64_t bytes = kWorkspaceBytes;
    const char* call = "cublasLtMatmulPreferenceSetAttribute";
    int status = l.cublasLtMatmulPreferenceSetAttribute(preference, lt::kMaxWorkspace, &bytes, sizeof bytes);
    // Parts of the contracting dimension that are summed apart stay float32 until the sum is complete.
    if (status == 0 && p_.out_dtype.itemsize() < 4)
      status =
          l.cublasLtMatmulPreferenceSetAttribute(preference, lt::kReductionSchemes, &lt::kReducedAsComputed, sizeof lt::kReducedAsComputed);
    for (int side = lt::kMinAlignmentA; status == 0 && side < lt::kMinAlignmentA + 4; ++side)
      status = l.cublasLtMatmulPreferenceSetAttribute(preference, side, &alignment, sizeof alignment);
    int found = 0;
    std::vector<lt::Heuristic> answers(static_cast<std::size_t>(count));
    if (status == 0) {
      call = "cublasLtMatmulAlgoGetHeuristic";
      status = l.cublasLtMatmulAlgoGetHeuristic(shared_.handle, description_, layout_[0], layout_[1], layout_[2], layout_[2], preference,
                                                count, answers.data(), &found);
    }
    l.cublasLtMatmulPreferenceDestroy(preference);
    check_cublas(status, call, what_);
    answers.resize(static_cast<std::size_t>(found));
    std::vector<lt::Algorithm> proposed;
    for (const lt::Heuristic& answer : answers)
      if (answer.state == 0) proposed.push_back(answer.algorithm);
    if (proposed.empty()) throw DeviceError(what_ + ": cuBLASLt has no algorithm for it");
    return proposed;
  }

  struct NoMemory {};

  /// The fastest algorithm, as measured by this process or an earlier one; the first one if there is no memory to measure.
  const lt::Algorithm& fastest(const std::vector<lt::Algorithm>& proposed, const std::string& question) {
    const auto bytes_of = [](const lt::Algorithm& a) { return std::string(reinterpret_cast<const char*>(&a), sizeof a); };
    std::string best;
    try {
      best = CodeCache::of_process().get({"cublaslt algorithm 2", std::to_string(driver().version), matmuls_version(), question},
                                         [&] { return bytes_of(proposed[timed(proposed)]); });
    } catch (const NoMemory&) {
    }
    for (const lt::Algorithm& a : proposed)
      if (bytes_of(a) == best) return a;
    return proposed[0];
  }

  /// The number of the fastest, with operands of these shapes that hold anything.
  std::size_t timed(const std::vector<lt::Algorithm>& proposed) {
    struct Tools {
      GpuDevice& device;
      std::size_t bytes;
      DevicePointer memory = 0;
      Event begin = nullptr, end = nullptr;
      ~Tools() {
        if (begin) driver().cuEventDestroy_v2(begin);
        if (end) driver().cuEventDestroy_v2(end);
        if (memory) device.release(memory, bytes);
      }
    };
    const auto whole = [](std::int64_t elements, DType t) { return (elements * t.itemsize() + 255) / 256 * 256; };
    const MatmulStep::Batch batch = p_.batch.empty() ? MatmulStep::Batch{} : p_.batch.back();
    const std::int64_t last = batch.size - 1,
                       a = whole((p_.m - 1) * p_.a_row + (p_.k - 1) * p_.a_col + last * batch.stride_a + 1, p_.dtype),
                       b = whole((p_.k - 1) * p_.b_row + (p_.n - 1) * p_.b_col + last * batch.stride_b + 1, p_.dtype),
                       out = whole((p_.m - 1) * p_.out_row + p_.n + last * batch.stride_out, p_.out_dtype);
    if (a + b + out > kMaxTimedBytes) throw NoMemory();
    Tools tools{device_, static_cast<std::size_t>(a + b + out)};
    try {
      tools.memory = device_.allocate(tools.bytes, "operands to time " + what_);
    } catch (const DeviceError&) {
      throw NoMemory();
    }
    const Driver& d = driver();
    check(d.cuEventCreate(&tools.begin, 0), "cuEventCreate", what_);
    check(d.cuEventCreate(&tools.end, 0), "cuEventCreate", what_);
    std::size_t best = 0;
    float least = std::numeric_limits<float>::infinity();
    for (std::size_t k = 0; k < proposed.size(); ++k) {
      const auto run = [&] {
        const DevicePointer x = tools.memory, y = x + static_cast<DevicePointer>(a);
        return multiply(x, y, y + static_cast<DevicePointer>(b), proposed[k]);
      };
      if (run() != 0) continue;  // if none can, the first one says so when it is needed
      check(d.cuEventRecord(tools.begin, device_.stream()), "cuEventRecord", what_);
      int status = 0;
      for (int i = 0; status == 0 && i < kTimedRuns; ++i) status = run();
      check(d.cuEventRecord(tools.end, device_.stream()), "cuEventRecord", what_);
      check(d.cuEventSynchronize(tools.end), "cuEventSynchronize", what_);
      float milliseconds = 0;
      check(d.cuEventElapsedTime(&milliseconds, tools.begin, tools.end), "cuEventElapsedTime", what_);
      if (status == 0 && milliseconds < least) least = milliseconds, best = k;
    }
    return best;
  }

  void layout(std::size_t which, DType t, std::uint64_t rows, std::uint64_t columns, std::int64_t distance, std::int64_t batch,
              std::int64_t stride) {
    const Library& l = library();
    check_cublas(l.cublasLtMatrixLayoutCreate(&layout_[which], data_type(t), rows, columns, distance), "cublasLtMatrixLayoutCreate", what_);
    if (batch == 1) return;
    const auto count = static_cast<std::int32_t>(batch);
    check_cublas(l.cublasLtMatrixLayoutSetAttribute(layout_[which], lt::kBatchCount, &count, sizeof count),
                 "cublasLtMatrixLayoutSetAttribute", what_);
    check_cublas(l.cublasLtMatrixLayoutSetAttribute(layout_[which], lt::kBatchStride, &stride, sizeof stride),
                 "cublasLtMatrixLayoutSetAttribute", what_);
  }

  void destroy() {
    for (lt::Layout l : layout_)
      if (l) library().cublasLtMatrixLayoutDestroy(l);
    if (description_) library().cublasLtMatmulDescDestroy(description_);
  }

  GpuDevice& device_;
  const MatmulStep p_;
  Shared& shared_;
  std::string what_, question_;
  lt::Description description_ = nullptr;
  lt::Layout layout_[3] = {nullptr, nullptr, nullptr};
  const lt::Algorithm *whole_ = nullptr, *any_ = nullptr;
};

}  // namespace

bool has_matmuls() { return library().there; }

std::string matmuls_version() {
  if (!has_matmuls()) return "none";
  return library().cublasLtGetVersion ? std::to_string(library().cublasLtGetVersion()) : "of a version that it does not tell";
}

std::unique_ptr<GpuMatmul> make_matmul(GpuDevice& device, const MatmulStep& p, const std::string& name) {
  return std::make_unique<LtMatmul>(device, p, name);
}

}  // namespace weft::detail::cuda
