// Matrix products by OpenBLAS.
#include <cblas.h>

#include <array>
#include <complex>

#include "weft/backends/cpu/matmul.h"
#include "weft/backends/cpu/openblas.h"
#include "weft/core/errors/error.h"
#include "weft/runtime/host/process_end.h"
#include "weft/runtime/host/thread_pool.h"

namespace weft::detail {
namespace {

/// A row-major matrix as it is passed to BLAS: as it is in memory, or as its transpose.
struct Matrix {
  CBLAS_TRANSPOSE transposed;
  blasint stride;
  Matrix(std::int64_t row, std::int64_t column)
      : transposed(column == 1 ? CblasNoTrans : CblasTrans), stride(static_cast<blasint>(column == 1 ? row : column)) {}
};

template <class T>
void multiply(const MatmulStep& p, const T* a, const T* b, T* out) {
  const Matrix left(p.a_row, p.a_col), right(p.b_row, p.b_col);
  const auto m = static_cast<blasint>(p.m), n = static_cast<blasint>(p.n), k = static_cast<blasint>(p.k),
             row = static_cast<blasint>(p.out_row);
  const T one(1), zero(0);
  if constexpr (std::is_same_v<T, double>)
    cblas_dgemm(CblasRowMajor, left.transposed, right.transposed, m, n, k, one, a, left.stride, b, right.stride, zero, out, row);
  else if constexpr (std::is_same_v<T, std::complex<float>>)
    cblas_cgemm(CblasRowMajor, left.transposed, right.transposed, m, n, k, &one, a, left.stride, b, right.stride, &zero, out, row);
  else
    cblas_zgemm(CblasRowMajor, left.transposed, right.transposed, m, n, k, &one, a, left.stride, b, right.stride, &zero, out, row);
}

template <class T>
void multiply_all(const MatmulStep& p, std::size_t batch, const T* a, const T* b, T* out) {
  if (batch == p.batch.size()) return multiply(p, a, b, out);
  const MatmulStep::Batch& loop = p.batch[batch];
  for (std::int64_t i = 0; i < loop.size; ++i)
    multiply_all(p, batch + 1, a + i * loop.stride_a, b + i * loop.stride_b, out + i * loop.stride_out);
}

template <class T>
class BlasMatmul final : public Matmul {
 public:
  explicit BlasMatmul(const MatmulStep& p) : a_offset_(p.a_offset), b_offset_(p.b_offset), pieces_(cut_matmul(p)) { use_one_blas_thread(); }

  void run(const void* left, const void* right, void* result) const override {
    const T *const a = static_cast<const T*>(left) + a_offset_, *const b = static_cast<const T*>(right) + b_offset_;
    auto* const out = static_cast<T*>(result);
    const MatmulPieces& c = pieces_;
    parallel_for(c.pieces, [&](std::int64_t i) {
      const LibraryUse use;
      multiply_all(i + 1 == c.pieces ? c.last : c.piece, 0, a + i * c.step_a, b + i * c.step_b, out + i * c.step_out);
    });
  }

 private:
  const std::int64_t a_offset_, b_offset_;
  const MatmulPieces pieces_;
};

}  // namespace

std::unique_ptr<Matmul> make_blas_matmul(const MatmulStep& p) {
  if (p.dtype == float64) return std::make_unique<BlasMatmul<double>>(p);
  if (p.dtype == complex64) return std::make_unique<BlasMatmul<std::complex<float>>>(p);
  if (p.dtype == complex128) return std::make_unique<BlasMatmul<std::complex<double>>>(p);
  throw CompileError("dot_general: OpenBLAS has no matmul of " + std::string(p.dtype.name()));
}

}  // namespace weft::detail
