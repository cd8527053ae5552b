// Matmuls of complex numbers as ones of real numbers. A row of a complex matrix is a row of twice as many real numbers, real and imaginary
// parts in turn, and so is a row of the product: it is the left operand's row times the real matrix in which each element x + iy of the
// right operand is the square (x y; -y x).
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "weft/backends/cpu/packed/packed_matmul.h"
#include "weft/backends/cpu/scratch.h"
#include "weft/runtime/host/thread_pool.h"

namespace weft::detail {
namespace {

constexpr std::int64_t kPieceBytes = 16 << 20;   // of the right operand's real form
constexpr std::int64_t kTaskElements = 1 << 14;  // of those that are written as squares

template <class R>
class ComplexMatmul final : public Matmul {
 public:
  explicit ComplexMatmul(const MatmulStep& p) : p_(p), reads_rows_(p.a_col == 1) {
    const std::int64_t column_bytes = 4 * p.k * static_cast<std::int64_t>(sizeof(R));
    width_ = std::clamp<std::int64_t>(kPieceBytes / std::max<std::int64_t>(column_bytes, 1) / 64 * 64, 64, std::max<std::int64_t>(p.n, 64));
    width_ = std::min(width_, p.n);
    piece_ = make_packed_matmul(real_step(width_));
    if (p.n % width_ != 0) last_ = make_packed_matmul(real_step(p.n % width_));
  }

  void run(const void* left, const void* right, void* result) const override {
    const R* const a = static_cast<const R*>(left) + 2 * p_.a_offset;
    const R* const b = static_cast<const R*>(right) + 2 * p_.b_offset;
    const Scratch<R> squares(4 * p_.k * width_), rows(reads_rows_ ? 0 : 2 * p_.m * p_.k);
    const R *squared = nullptr, *copied = nullptr;  // the matrices that both hold
    const std::vector<Place> matrices = places();
    for (std::int64_t column = 0; column < p_.n; column += width_)
      for (const Place& at : matrices) {
        const std::int64_t width = std::min(width_, p_.n - column);
        const R *const x = a + 2 * at.a, *const y = b + 2 * (at.b + column * p_.b_col);
        if (squared != y) write_squares(y, width, squares.get());
        squared = y;
        if (!reads_rows_ && copied != x) copy_rows(x, rows.get());
        copied = x;
        (width == width_ ? *piece_ : *last_)
            .run(reads_rows_ ? x : rows.get(), squares.get(), static_cast<R*>(result) + 2 * (at.out + column));
      }
  }

 private:
  struct Place {
    std::int64_t a = 0, b = 0, out = 0;
  };
  /// Where each matrix of the batch begins.
  std::vector<Place> places() const {
    std::vector<Place> all(1);
    for (const MatmulStep::Batch& loop : p_.batch) {
      std::vector<Place> next;
      for (const Place& at : all)
        for (std::int64_t i = 0; i < loop.size; ++i)
          next.push_back({at.a + i * loop.stride_a, at.b + i * loop.stride_b, at.out + i * loop.stride_out});
      all = std::move(next);
    }
    return all;
  }
  MatmulStep real_step(std::int64_t width) const {
    MatmulStep r;
    r.dtype = r.right_dtype = r.out_dtype = sizeof(R) == 8 ? float64 : float32;
    r.m = p_.m, r.n = 2 * width, r.k = 2 * p_.k;
    r.a_row = reads_rows_ ? 2 * p_.a_row : r.k, r.a_col = 1;
    r.b_row = r.n, r.b_col = 1, r.out_row = 2 * p_.out_row;
    return r;
  }
  void write_squares(const R* y, std::int64_t width, R* to) const {
    const std::int64_t rows = std::max<std::int64_t>(1, kTaskElements / width), tasks = (p_.k + rows - 1) / rows;
    parallel_for(tasks, [&](std::int64_t task) {
      for (std::int64_t l = task * rows; l < std::min(p_.k, (task + 1) * rows); ++l) {
        R *const upper = to + 4 * l * width, *const lower = upper + 2 * width;
        const R* const from = y + 2 * l * p_.b_row;
        for (std::int64_t j = 0; j < width; ++j) {
          const R re = from[2 * j * p_.b_col], im = from[2 * j * p_.b_col + 1];
          upper[2 * j] = re, upper[2 * j + 1] = im, lower[2 * j] = -im, lower[2 * j + 1] = re;
        }
      }
    });
  }
  void copy_rows(const R* x, R* to) const {
    const std::int64_t rows = std::max<std::int64_t>(8, kTaskElements / std::max<std::int64_t>(p_.k, 1) / 8 * 8);
    parallel_for((p_.m + rows - 1) / rows, [&](std::int64_t task) {
      // Several rows at a time, as their elements lie beside each other where columns are in memory.
      for (std::int64_t top = task * rows; top < std::min(p_.m, (task + 1) * rows); top += 8)
        for (std::int64_t l = 0; l < p_.k; ++l)
          for (std::int64_t i = top; i < std::min(p_.m, top + 8); ++i) {
            const R* const from = x + 2 * (i * p_.a_row + l * p_.a_col);
            R* const at = to + 2 * (i * p_.k + l);
            at[0] = from[0], at[1] = from[1];
          }
    });
  }

  const MatmulStep p_;
  const bool reads_rows_;
  std::int64_t width_ = 0;  // columns that are multiplied at a time
  std::unique_ptr<Matmul> piece_, last_;
};

}  // namespace

bool has_complex_matmul(DType t) { return t.is_complex() && has_packed_matmul(t.real_part(), t.real_part(), t.real_part()); }

std::unique_ptr<Matmul> make_complex_matmul(const MatmulStep& p) {
  if (p.dtype != p.right_dtype || p.dtype != p.out_dtype || !has_complex_matmul(p.dtype)) return nullptr;
  if (p.dtype == complex64) return std::make_unique<ComplexMatmul<float>>(p);
  return std::make_unique<ComplexMatmul<double>>(p);
}

}  // namespace weft::detail
