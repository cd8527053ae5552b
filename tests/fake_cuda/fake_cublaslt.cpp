// A cuBLASLt for tests: products by plain loops on the host's memory, as the fake driver's memory is. Knows what weft asks for.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>

#include "calls.h"
#include "control.h"
#include "weft/backends/cuda/libraries/cublaslt.h"
#include "weft/core/array/half.h"

using namespace weft::detail::cuda;

namespace {
struct FakeDescription {
  int compute = 0, scale = 0, turn[2] = {lt::kAsIs, lt::kAsIs}, epilogue = 1;
  const void* bias = nullptr;
};
struct FakeLayout {
  int type = 0;
  std::uint64_t rows = 0, columns = 0;
  std::int64_t distance = 0, stride = 0;
  std::int32_t batch = 1;
};
struct FakePreference {
  std::uint64_t workspace = 0;
  std::uint32_t reductions = 7;                       // all schemes
  std::uint32_t alignment[4] = {256, 256, 256, 256};  // of a, b, c and d
};
int live = 0, last_compute = 0, last_epilogue = 0, last_candidate = 0;
int fastest = 0, failing = -1;
int candidates = std::getenv("FAKE_CUBLASLT_CANDIDATES") ? std::atoi(std::getenv("FAKE_CUBLASLT_CANDIDATES")) : 1;
fake_cuda::Calls& calls() {
  static fake_cuda::Calls& c = *[] {
    auto* made = new fake_cuda::Calls;
    made->fail_first("FAKE_CUBLASLT_FAIL", 14);
    return made;
  }();
  return c;
}

FakeLayout& of(lt::Layout l) { return *reinterpret_cast<FakeLayout*>(l); }
double read(const void* p, int type, std::int64_t at) {
  switch (type) {
    case lt::kFloat64: return static_cast<const double*>(p)[at];
    case lt::kFloat16: return static_cast<float>(static_cast<const weft::detail::Float16*>(p)[at]);
    case lt::kBFloat16: return static_cast<float>(static_cast<const weft::detail::BFloat16*>(p)[at]);
    default: return static_cast<const float*>(p)[at];
  }
}
void write(void* p, int type, std::int64_t at, double v) {
  switch (type) {
    case lt::kFloat64: static_cast<double*>(p)[at] = v; return;
    case lt::kFloat16: static_cast<weft::detail::Float16*>(p)[at] = weft::detail::Float16(static_cast<float>(v)); return;
    case lt::kBFloat16: static_cast<weft::detail::BFloat16*>(p)[at] = weft::detail::BFloat16(static_cast<float>(v)); return;
    default: static_cast<float*>(p)[at] = static_cast<float>(v);
  }
}
std::size_t size_of(int type) { return type == lt::kFloat64 ? 8 : type == lt::kFloat32 ? 4 : 2; }
/// Whether all elements lie in a device's memory.
bool is_there(const void* p, const FakeLayout& l) {
  static const auto has = fake_cuda::driver_function<decltype(fake_cuda_has_memory)>("fake_cuda_has_memory");
  const std::int64_t last =
      static_cast<std::int64_t>(l.rows) - 1 + (static_cast<std::int64_t>(l.columns) - 1) * l.distance + (l.batch - 1) * l.stride;
  return has(p, static_cast<std::size_t>(last + 1) * size_of(l.type));
}
}  // namespace

#define ENTER(name) \
  if (const int r = calls().enter(#name)) return r;
#define ENTER_TO_DESTROY(name) const int injected = calls().enter(#name);

extern "C" {

void fake_cublaslt_fail(const char* call, int n, int code) { calls().fail(call, n, code); }
int fake_cublaslt_calls(const char* call) { return calls().count(call); }
void fake_cublaslt_reset_calls() { calls().reset(); }
int fake_cublaslt_live() { return live; }
void fake_cublaslt_candidates(int count, int best, int bad) { candidates = count, fastest = best, failing = bad; }
int fake_cublaslt_last_candidate() { return last_candidate; }
int fake_cublaslt_last_compute() { return last_compute; }
int fake_cublaslt_last_epilogue() { return last_epilogue; }
const char* fake_cublaslt_name(int k) {
  static const char* const names[] = {
#define NAME(name, parameters) #name,
      WEFT_CUBLASLT(NAME)
#undef NAME
          nullptr};
  return names[k];
}

int cublasLtCreate(lt::Handle* h) {
  ENTER(cublasLtCreate);
  return *h = reinterpret_cast<lt::Handle>(&live), 0;
}
int cublasLtMatmulDescCreate(lt::Description* d, int compute, int scale) {
  ENTER(cublasLtMatmulDescCreate)
  const bool wide = compute == lt::kCompute64;
  if (scale != (wide ? lt::kFloat64 : lt::kFloat32)) return 7;
  *d = reinterpret_cast<lt::Description>(new FakeDescription{compute, scale, {}});
  return ++live, 0;
}
int cublasLtMatmulDescSetAttribute(lt::Description d, int what, const void* v, std::size_t n) {
  ENTER(cublasLtMatmulDescSetAttribute)
  FakeDescription& f = *reinterpret_cast<FakeDescription*>(d);
  if (what == lt::kBiasPointer && n == sizeof(void*)) return std::memcpy(&f.bias, v, n), 0;
  if (what == lt::kEpilogue && n == sizeof(int)) return std::memcpy(&f.epilogue, v, n), 0;
  if ((what != lt::kTransposeA && what != lt::kTransposeB) || n != sizeof(int)) return 7;
  std::memcpy(&f.turn[what - lt::kTransposeA], v, n);
  return 0;
}
int cublasLtMatmulDescDestroy(lt::Description d) {
  ENTER_TO_DESTROY(cublasLtMatmulDescDestroy)
  delete reinterpret_cast<FakeDescription*>(d);
  return --live, injected;
}
int cublasLtMatrixLayoutCreate(lt::Layout* l, int type, std::uint64_t rows, std::uint64_t columns, std::int64_t distance) {
  ENTER(cublasLtMatrixLayoutCreate)
  if (distance < static_cast<std::int64_t>(rows)) return 7;
  auto* made = new FakeLayout;
  made->type = type, made->rows = rows, made->columns = columns, made->distance = distance;
  *l = reinterpret_cast<lt::Layout>(made);
  return ++live, 0;
}
int cublasLtMatrixLayoutSetAttribute(lt::Layout l, int what, const void* v, std::size_t n) {
  ENTER(cublasLtMatrixLayoutSetAttribute)
  if (what == lt::kBatchCount && n == sizeof(std::int32_t)) return std::memcpy(&of(l).batch, v, n), 0;
  if (what == lt::kBatchStride && n == sizeof(std::int64_t)) return std::memcpy(&of(l).stride, v, n), 0;
  return 7;
}
int cublasLtMatrixLayoutDestroy(lt::Layout l) {
  ENTER_TO_DESTROY(cublasLtMatrixLayoutDestroy)
  delete &of(l);
  return --live, injected;
}
int cublasLtMatmulPreferenceCreate(lt::Preference* p) {
  ENTER(cublasLtMatmulPreferenceCreate)
  return *p = reinterpret_cast<lt::Preference>(new FakePreference), ++live, 0;
}
int cublasLtMatmulPreferenceSetAttribute(lt::Preference p, int what, const void* v, std::size_t n) {
  ENTER(cublasLtMatmulPreferenceSetAttribute)
  FakePreference& f = *reinterpret_cast<FakePreference*>(p);
  if (what == lt::kMaxWorkspace && n == sizeof f.workspace) return std::memcpy(&f.workspace, v, n), 0;
  if (what == lt::kReductionSchemes && n == sizeof(std::uint32_t)) return std::memcpy(&f.reductions, v, n), 0;
  if (what < lt::kMinAlignmentA || what >= lt::kMinAlignmentA + 4 || n != sizeof(std::uint32_t)) return 7;
  return std::memcpy(&f.alignment[what - lt::kMinAlignmentA], v, n), 0;
}
int cublasLtMatmulPreferenceDestroy(lt::Preference p) {
  ENTER_TO_DESTROY(cublasLtMatmulPreferenceDestroy)
  delete reinterpret_cast<FakePreference*>(p);
  return --live, injected;
}
int cublasLtMatmulAlgoGetHeuristic(lt::Handle, lt::Description, lt::Layout, lt::Layout, lt::Layout, lt::Layout, lt::Preference p,
                                   int wanted, lt::Heuristic* h, int* found) {
  ENTER(cublasLtMatmulAlgoGetHeuristic)
  const FakePreference& preference = *reinterpret_cast<FakePreference*>(p);
  if (wanted < 1) return 7;
  *found = std::min(wanted, candidates);
  for (int k = 0; k < *found; ++k) {
    // The algorithm holds for what was asked.
    h[k] = {};
    for (int i = 0; i < 4; ++i) h[k].algorithm.data[i] = preference.alignment[i];
    h[k].workspace = h[k].algorithm.data[4] = preference.workspace;
    h[k].algorithm.data[5] = static_cast<std::uint64_t>(k);
  }
  return 0;
}
int cublasLtMatmul(lt::Handle, lt::Description d, const void* alpha, const void* a, lt::Layout la, const void* b, lt::Layout lb,
                   const void* beta, const void* c, lt::Layout, void* out, lt::Layout lout, const lt::Algorithm* algorithm, void* workspace,
                   std::size_t workspace_bytes, Stream stream) {
  ENTER(cublasLtMatmul)
  const FakeDescription description = *reinterpret_cast<FakeDescription*>(d);
  last_compute = description.compute, last_epilogue = description.epilogue;
  last_candidate = static_cast<int>(algorithm->data[5]);
  if (last_candidate == failing) return 15;
  static const auto advance = fake_cuda::driver_function<decltype(fake_cuda_advance)>("fake_cuda_advance");
  advance(last_candidate == fastest ? 1 : 2);
  if (description.epilogue & lt::kBias && !description.bias) return 7;
  const double scale = read(alpha, description.scale, 0);
  if (read(beta, description.scale, 0) != 0) return 7;
  const void* const operands[] = {a, b, c, out};
  for (int i = 0; i < 4; ++i)
    if (reinterpret_cast<std::uintptr_t>(operands[i]) % algorithm->data[i] != 0) return 15;
  if (!workspace || reinterpret_cast<std::uintptr_t>(workspace) % 256 != 0 || workspace_bytes < algorithm->data[4]) return 7;
  const FakeLayout A = of(la), B = of(lb), C = of(lout);
  const bool transpose_a = description.turn[0] == lt::kTransposed, transpose_b = description.turn[1] == lt::kTransposed;
  const std::uint64_t m = transpose_a ? A.columns : A.rows, k = transpose_a ? A.rows : A.columns, n = transpose_b ? B.rows : B.columns;
  if (C.rows != m || C.columns != n || (transpose_b ? B.columns : B.rows) != k || A.batch != C.batch || B.batch != C.batch) return 7;
  if (!is_there(a, A) || !is_there(b, B) || !is_there(out, C)) return 7;
  static const auto enqueue = fake_cuda::driver_function<int(Stream, std::function<int()>*)>("fake_cuda_enqueue");
  return enqueue(
      stream, new std::function<int()>([=] {
        for (std::int32_t batch = 0; batch < C.batch; ++batch)
          for (std::uint64_t j = 0; j < n; ++j)
            for (std::uint64_t i = 0; i < m; ++i) {
              double sum = 0;
              for (std::uint64_t t = 0; t < k; ++t) {
                const auto ai = static_cast<std::int64_t>(transpose_a ? t : i), aj = static_cast<std::int64_t>(transpose_a ? i : t);
                const auto bi = static_cast<std::int64_t>(transpose_b ? j : t), bj = static_cast<std::int64_t>(transpose_b ? t : j);
                sum += read(a, A.type, batch * A.stride + ai + aj * A.distance) * read(b, B.type, batch * B.stride + bi + bj * B.distance);
              }
              sum *= scale;
              if (description.epilogue & lt::kBias) sum += read(description.bias, C.type, static_cast<std::int64_t>(i));
              if (description.epilogue & lt::kRelu) sum = sum > 0 ? sum : 0;
              if (description.epilogue & lt::kGelu)
                sum = 0.5 * sum * (1 + std::tanh(0.7978845608028654 * (sum + 0.044715 * sum * sum * sum)));
              write(out, C.type, batch * C.stride + static_cast<std::int64_t>(i) + static_cast<std::int64_t>(j) * C.distance, sum);
            }
        return 0;
      }));
}

}  // extern "C"
