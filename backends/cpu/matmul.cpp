#include "weft/backends/cpu/matmul.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <future>
#include <limits>
#include <mutex>
#include <new>
#include <string_view>
#include <system_error>

#include "weft/backends/cpu/dnnl_tools.h"
#include "weft/backends/cpu/instruction_sets.h"
#include "weft/backends/cpu/packed/packed_matmul.h"
#include "weft/core/base/float_environment.h"
#include "weft/core/errors/error.h"
#include "weft/runtime/host/process_end.h"
#include "weft/runtime/host/thread_pool.h"

namespace weft::detail {
namespace {

/// The process's preparation of oneDNN, once it has started.
struct Preparing {
  std::mutex mutex;
  std::shared_future<void> done;
};
Preparing& preparing() {
  static auto& only = *new Preparing;
  return only;
}

/// oneDNN makes the code of some of its matmuls when the first of them runs, which takes it tens of milliseconds: have it do that while
/// the rest of the program is compiled.
void prepare_matmuls() {
  const std::lock_guard lock(preparing().mutex);
  if (preparing().done.valid()) return;
  const auto prepare = [] {
    const LibraryUse use;
    restore_standard_floats();
    forbid_library_threads();
    try {
      require_library_memory();
    } catch (const std::bad_alloc&) {
      return;  // the first matmul asks again
    }
    constexpr int n = 16;
    const std::array<float, n * n> a{};
    std::array<float, n * n> out{};
    dnnl_sgemm('N', 'N', n, n, n, 1, a.data(), n, a.data(), n, 0, out.data(), n);
  };
  try {
    preparing().done = std::async(std::launch::async, prepare);
  } catch (const std::system_error&) {
    // There is no thread for it: the first matmul takes longer.
  }
}

bool is_gemm(const dnnl::matmul::primitive_desc& d) { return std::string_view(d.impl_info_str()).starts_with("gemm"); }

/// One piece's primitive. A transposed operand that consists of some columns of a wider matrix is packed first: oneDNN would otherwise use
/// an implementation that takes long to prepare and is no faster.
struct Piece {
  dnnl::matmul primitive;
  dnnl::memory::desc a, b, out, scratch;
  std::int64_t packed_rows = 0, packed_columns = 0, packed_stride = 0;  // of a as it is in memory; 0: it is not packed

  explicit Piece(const MatmulStep& p) {
    require_library_memory();
    dnnl::memory::dims da, db, dout, sa, sb, sout;
    for (const MatmulStep::Batch& x : p.batch) {
      da.push_back(x.stride_a == 0 ? 1 : x.size), sa.push_back(std::max<std::int64_t>(x.stride_a, 1));
      db.push_back(x.stride_b == 0 ? 1 : x.size), sb.push_back(std::max<std::int64_t>(x.stride_b, 1));
      dout.push_back(x.size), sout.push_back(x.stride_out);
    }
    const auto append = [](dnnl::memory::dims& dims, dnnl::memory::dims& strides, std::int64_t rows, std::int64_t row, std::int64_t cols,
                           std::int64_t col) {
      dims.insert(dims.end(), {rows, cols});
      strides.insert(strides.end(), {row, col});
    };
    append(da, sa, p.m, p.a_row, p.k, p.a_col), append(db, sb, p.k, p.b_row, p.n, p.b_col), append(dout, sout, p.m, p.out_row, p.n, 1);
    using dnnl::memory;
    a = memory::desc(da, memory::data_type::f32, sa);
    b = memory::desc(db, memory::data_type::f32, sb);
    out = memory::desc(dout, memory::data_type::f32, sout);
    dnnl::matmul::primitive_desc description = describe();
    if (is_gemm(description) && p.batch.empty() && p.a_row == 1 && p.a_col > p.m) {
      const memory::desc as_given = a;
      a = memory::desc(da, memory::data_type::f32, memory::dims{1, p.m});
      description = describe();
      if (is_gemm(description))
        a = as_given, description = describe();
      else
        packed_rows = p.k, packed_columns = p.m, packed_stride = p.a_col;
    }
    scratch = description.scratchpad_desc();
    if (is_gemm(description)) prepare_matmuls();
    primitive = dnnl::matmul(description);
  }

  void run(const float* x, const float* y, float* z) const {
    const LibraryUse use;
    const std::size_t own = (scratch.get_size() + 63) / 64 * 64;
    char* const memory = static_cast<char*>(library_scratch(own + static_cast<std::size_t>(packed_rows * packed_columns) * sizeof(float)));
    if (packed_rows > 0) {
      auto* const packed = reinterpret_cast<float*>(memory + own);
      for (std::int64_t r = 0; r < packed_rows; ++r)
        std::memcpy(packed + r * packed_columns, x + r * packed_stride, static_cast<std::size_t>(packed_columns) * sizeof(float));
      x = packed;
    }
    const dnnl::memory ma(a, library_engine(), const_cast<float*>(x)), mb(b, library_engine(), const_cast<float*>(y)),
        mo(out, library_engine(), z), ms(scratch, library_engine(), memory);
    const std::array<dnnl_exec_arg_t, 4> args{
        {{DNNL_ARG_SRC, ma.get()}, {DNNL_ARG_WEIGHTS, mb.get()}, {DNNL_ARG_DST, mo.get()}, {DNNL_ARG_SCRATCHPAD, ms.get()}}};
    if (dnnl_primitive_execute(primitive.get(), library_stream().get(), 4, args.data()) != dnnl_success)
      throw Error("dot_general: oneDNN could not run the matmul");
  }

 private:
  dnnl::matmul::primitive_desc describe() const {
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    return {dnnl::matmul::desc(a, b, out), attributes, library_engine()};
  }
};

class OneDnnMatmul final : public Matmul {
 public:
  explicit OneDnnMatmul(const MatmulStep& p) : a_offset_(p.a_offset), b_offset_(p.b_offset), pieces_(cut_matmul(p)) {
    forbid_library_threads();
    if (pieces_.pieces > 1) main_ = std::make_unique<Piece>(pieces_.piece);
    last_ = std::make_unique<Piece>(pieces_.last);
  }

  void run(const void* left, const void* right, void* result) const override {
    const float *const a = static_cast<const float*>(left) + a_offset_, *const b = static_cast<const float*>(right) + b_offset_;
    auto* const out = static_cast<float*>(result);
    if (pieces_.pieces == 1) {
      forbid_library_threads();
      last_->run(a, b, out);
      return;
    }
    parallel_for(pieces_.pieces, [&](std::int64_t i) {
      forbid_library_threads();
      (i + 1 == pieces_.pieces ? *last_ : *main_).run(a + i * pieces_.step_a, b + i * pieces_.step_b, out + i * pieces_.step_out);
    });
  }

 private:
  const std::int64_t a_offset_, b_offset_;
  const MatmulPieces pieces_;
  std::unique_ptr<Piece> main_, last_;
};

}  // namespace

// Allocated here, where it may fail, since the destructor must not.
MatmulPreparation::MatmulPreparation() { preparing(); }
MatmulPreparation::~MatmulPreparation() {
  std::shared_future<void> done;
  {
    const std::lock_guard lock(preparing().mutex);
    done = preparing().done;
  }
  if (done.valid()) done.wait();
}

MatmulPieces cut_matmul(const MatmulStep& p) {
  const double flops = p.flops();
  // Each piece packs its own operands, so there are few large pieces, but more than one as soon as that pays off.
  const auto wanted = static_cast<std::int64_t>(flops < 5e8 ? std::clamp(flops / 8e6, 1.0, 2.0) : std::clamp(flops / 1e9, 2.0, 64.0));
  MatmulPieces r{p, p};
  if (wanted == 1) return r;
  std::int64_t length = 0;
  const auto cut = [&](std::int64_t whole, std::int64_t unit) {
    length = std::max(unit, (whole + wanted - 1) / wanted / unit * unit);
    r.pieces = (whole + length - 1) / length;
    return whole - (r.pieces - 1) * length;
  };
  if (!p.batch.empty() && (p.batch[0].size >= wanted || p.batch[0].size >= 8)) {
    r.last.batch[0].size = cut(p.batch[0].size, 1), r.piece.batch[0].size = length;
    r.step_a = p.batch[0].stride_a * length, r.step_b = p.batch[0].stride_b * length, r.step_out = p.batch[0].stride_out * length;
  } else if (p.m >= p.n || (wanted == 2 && p.m >= 128 && p.n <= 4 * p.m)) {
    // Rows rather than columns: what is between other columns oneDNN leaves to its older kind of matmul.
    r.last.m = cut(p.m, 64), r.piece.m = length;
    r.step_a = p.a_row * length, r.step_out = p.out_row * length;
  } else {
    r.last.n = cut(p.n, 128), r.piece.n = length;
    r.step_b = p.b_col * length, r.step_out = length;
  }
  return r;
}

namespace {

/// One of the two strides of each matrix is 1, as libraries want it.
bool lies_in_lines(const MatmulStep& p) { return (p.a_row == 1 || p.a_col == 1) && (p.b_row == 1 || p.b_col == 1); }

/// BLAS requires rows (or columns) that do not overlap.
bool suits_blas(const MatmulStep& p) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  const auto apart = [&](std::int64_t row, std::int64_t column, std::int64_t rows, std::int64_t columns) {
    return column == 1 ? row >= columns && row <= most : column >= rows && column <= most;
  };
  return lies_in_lines(p) && apart(p.a_row, p.a_col, p.m, p.k) && apart(p.b_row, p.b_col, p.k, p.n) && p.out_row >= p.n &&
         std::max({p.m, p.n, p.k, p.out_row}) <= most;
}
bool is_blas_matmul(const MatmulStep& p) {
  return p.dtype == p.right_dtype && p.dtype == p.out_dtype && (p.dtype == float64 || p.dtype.is_complex());
}
/// oneDNN's code for large matrices takes a tenth more time than panels, and up to twice as much, where the right operand's rows are pages
/// apart, end within a vector, or are long and no whole number of its blocks, and twice the time for few rows if both operands are
/// transposed.
bool delays_onednn(const MatmulStep& p) {
  constexpr std::int64_t kWhole = 64, kLong = 512, kBlocks = 1024, kPages = 2048, kFewRows = 48;
  if (!uses_avx512() || !p.batch.empty()) return false;
  if (p.m < kFewRows) return p.a_col != 1 && p.b_col != 1;
  if (p.flops() <= 3e8 || p.b_col != 1) return false;
  return p.n % kWhole != 0 || (p.n > kLong && p.n % kBlocks != 0) || p.b_row % kPages == 0;
}
bool is_float32_matmul(const MatmulStep& p) { return p.dtype == float32 && p.right_dtype == float32 && p.out_dtype == float32; }

/// A matrix by so few rows or columns that packing it for tiles takes longer than multiplying it, where kernels read it in order.
bool is_skinny(const MatmulStep& p) {
  constexpr double kCached = 512 << 10, kReuse = 30;
  constexpr std::int64_t kFewColumns = 16, kFewRows = 8;
  const bool columns = p.n <= p.m, in_order = columns ? p.a_col == 1 : p.b_row == 1;
  const auto m = static_cast<double>(p.m), n = static_cast<double>(p.n), k = static_cast<double>(p.k);
  const double bytes = columns ? m * k * p.dtype.itemsize() : n * k * p.right_dtype.itemsize();
  if (converts_packed(p.dtype, p.right_dtype, p.out_dtype)) return (in_order || bytes <= kCached) && m * n < kReuse * (m + n);
  if (p.dtype != p.right_dtype || (p.dtype != float32 && p.dtype != float64)) return false;
  return in_order && bytes > kCached && (columns ? p.n <= kFewColumns : p.m <= kFewRows);
}

}  // namespace

bool prefers_matmul(const MatmulStep& p) {
  // Matmuls with vectors are bound by memory.
  if (p.m < 4 || p.n < 4 || p.k < 4) return false;
  const double multiplications = static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
  // Kernels are as fast while a matrix stays in the cache, and can fuse the surrounding operations. But they are slow for 8- and 16-bit
  // numbers, which they widen vector by vector.
  const bool packed = has_packed_matmul(p.dtype, p.right_dtype, p.out_dtype);
  const double size = std::cbrt(multiplications);
  if (packed && p.dtype.itemsize() == 1 && p.right_dtype.itemsize() == 1) return size > 32;
  if (packed && p.dtype == bfloat16 && p.right_dtype == bfloat16) return size > 48;
  if (packed && p.dtype == float16) return size > 112;
  // With 16 registers of 32 bytes, kernels load operands more often, and from the same places of the cache where rows are powers of two
  // apart.
  constexpr std::int64_t kShort = 32;  // of shorter sides kernels keep whole rows in registers
  const bool few_registers = uses_avx2() && !uses_avx512() && std::min({p.m, p.n, p.k}) >= kShort;
  if (packed && p.dtype == float64) return size > (few_registers ? 112 : 300);
  if (p.dtype.is_complex() && is_blas_matmul(p)) return size > (few_registers ? 40 : 160);
  if (packed || is_float32_matmul(p)) return size > (few_registers ? 112 : 160);
  return is_blas_matmul(p) && size > 600;
}

bool takes_matmul(const MatmulStep& p) {
  if (is_skinny(p)) return false;
  if (has_packed_matmul(p.dtype, p.right_dtype, p.out_dtype)) return true;
  if (p.dtype == p.right_dtype && p.dtype == p.out_dtype && has_complex_matmul(p.dtype)) return true;
  return is_float32_matmul(p) ? lies_in_lines(p) : is_blas_matmul(p) && suits_blas(p);
}

std::unique_ptr<Matmul> make_matmul(const MatmulStep& p) {
  if (!is_float32_matmul(p) || !lies_in_lines(p)) {
    auto packed = p.dtype.is_complex() ? make_complex_matmul(p) : make_packed_matmul(p);
    return packed ? std::move(packed) : make_blas_matmul(p);
  }
  if (auto tiled = make_tiled_matmul(p)) return tiled;
  // For AVX2 oneDNN has its older code only, which lies in static objects that are constructed at its first use: a thread that runs it
  // while the process ends runs code that is gone. Nor does it copy smaller operands, and takes up to twice the time where rows are powers
  // of two apart.
  if (delays_onednn(p) || (uses_avx2() && !uses_avx512()))
    if (auto packed = make_packed_matmul(p)) return packed;
  try {
    return std::make_unique<OneDnnMatmul>(p);
  } catch (const dnnl::error& e) {
    throw CompileError(std::string("dot_general: oneDNN has no such matmul: ") + e.what());
  }
}

}  // namespace weft::detail
