// A cuBLASLt for tests: products by plain loops on the host's memory, as the fake driver's memory is. Knows what weft asks for.
#include <cstring>
#include <map>

#include "backends/cuda/cublaslt.h"
#include "core/half.h"

using namespace weft::detail::cuda;

namespace {
struct FakeDescription {
  int compute = 0, scale = 0, turn[2] = {lt::kAsIs, lt::kAsIs};
};
struct FakeLayout {
  int type = 0;
  std::uint64_t rows = 0, columns = 0;
  std::int64_t distance = 0, stride = 0;
  std::int32_t batch = 1;
};
int live = 0;

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
}  // namespace

extern "C" {

int fake_cublaslt_live() { return live; }

int cublasLtCreate(lt::Handle* h) { return *h = reinterpret_cast<lt::Handle>(&live), 0; }
int cublasLtMatmulDescCreate(lt::Description* d, int compute, int scale) {
  *d = reinterpret_cast<lt::Description>(new FakeDescription{compute, scale, {}});
  return ++live, 0;
}
int cublasLtMatmulDescSetAttribute(lt::Description d, int what, const void* v, std::size_t n) {
  if ((what != lt::kTurnA && what != lt::kTurnB) || n != sizeof(int)) return 7;
  std::memcpy(&reinterpret_cast<FakeDescription*>(d)->turn[what - lt::kTurnA], v, n);
  return 0;
}
int cublasLtMatmulDescDestroy(lt::Description d) {
  delete reinterpret_cast<FakeDescription*>(d);
  return --live, 0;
}
int cublasLtMatrixLayoutCreate(lt::Layout* l, int type, std::uint64_t rows, std::uint64_t columns, std::int64_t distance) {
  if (distance < static_cast<std::int64_t>(rows)) return 7;
  auto* made = new FakeLayout;
  made->type = type, made->rows = rows, made->columns = columns, made->distance = distance;
  *l = reinterpret_cast<lt::Layout>(made);
  return ++live, 0;
}
int cublasLtMatrixLayoutSetAttribute(lt::Layout l, int what, const void* v, std::size_t n) {
  if (what == lt::kBatchCount && n == sizeof(std::int32_t)) return std::memcpy(&of(l).batch, v, n), 0;
  if (what == lt::kBatchStride && n == sizeof(std::int64_t)) return std::memcpy(&of(l).stride, v, n), 0;
  return 7;
}
int cublasLtMatrixLayoutDestroy(lt::Layout l) {
  delete &of(l);
  return --live, 0;
}
int cublasLtMatmulPreferenceCreate(lt::Preference* p) { return *p = reinterpret_cast<lt::Preference>(new char), ++live, 0; }
int cublasLtMatmulPreferenceSetAttribute(lt::Preference, int, const void*, std::size_t) { return 0; }
int cublasLtMatmulPreferenceDestroy(lt::Preference p) {
  delete reinterpret_cast<char*>(p);
  return --live, 0;
}
int cublasLtMatmulAlgoGetHeuristic(lt::Handle, lt::Description, lt::Layout, lt::Layout, lt::Layout, lt::Layout, lt::Preference, int, lt::Heuristic* h,
                                   int* found) {
  return *h = {}, *found = 1, 0;
}
int cublasLtMatmul(lt::Handle, lt::Description d, const void* alpha, const void* a, lt::Layout la, const void* b, lt::Layout lb, const void* beta,
                   const void*, lt::Layout, void* out, lt::Layout lout, const lt::Algorithm*, void*, std::size_t, Stream) {
  const FakeDescription& description = *reinterpret_cast<FakeDescription*>(d);
  const double scale = read(alpha, description.scale, 0);
  if (read(beta, description.scale, 0) != 0) return 7;
  const FakeLayout &A = of(la), &B = of(lb), &C = of(lout);
  const bool turn_a = description.turn[0] == lt::kTransposed, turn_b = description.turn[1] == lt::kTransposed;
  const std::uint64_t m = turn_a ? A.columns : A.rows, k = turn_a ? A.rows : A.columns, n = turn_b ? B.rows : B.columns;
  if (C.rows != m || C.columns != n || (turn_b ? B.columns : B.rows) != k) return 7;
  for (std::int32_t batch = 0; batch < C.batch; ++batch)
    for (std::uint64_t j = 0; j < n; ++j)
      for (std::uint64_t i = 0; i < m; ++i) {
        double sum = 0;
        for (std::uint64_t t = 0; t < k; ++t) {
          const auto ai = static_cast<std::int64_t>(turn_a ? t : i), aj = static_cast<std::int64_t>(turn_a ? i : t);
          const auto bi = static_cast<std::int64_t>(turn_b ? j : t), bj = static_cast<std::int64_t>(turn_b ? t : j);
          sum += read(a, A.type, batch * A.stride + ai + aj * A.distance) * read(b, B.type, batch * B.stride + bi + bj * B.distance);
        }
        write(out, C.type, batch * C.stride + static_cast<std::int64_t>(i) + static_cast<std::int64_t>(j) * C.distance, scale * sum);
      }
  return 0;
}

}  // extern "C"
