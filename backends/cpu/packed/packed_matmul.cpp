#include "weft/backends/cpu/packed/packed_matmul.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "weft/backends/cpu/dnnl_tools.h"
#include "weft/backends/cpu/packed/packing.h"
#include "weft/runtime/host/thread_pool.h"

namespace weft::detail {
namespace {

using namespace packed;

constexpr std::int64_t kRegisterRow = 2048;      // bytes of k of a line that registers of whole tiles read
constexpr std::int64_t kRightBytes = 384 << 10;  // of the right operand's panels, which stay in the second cache
constexpr std::int64_t kLeftBytes = 1 << 20;     // of the left operand's panels
constexpr std::int64_t kPage = 4096;
constexpr std::int64_t kMaxRows = 2048, kMaxColumns = 1024;
constexpr double kStepsOfTask = 5e4;    // about 15 microseconds
constexpr std::int64_t kPartFrom = 96;  // rows and columns of parts that are more than threads

/// How two dtypes are multiplied, and what their sums are.
struct Recipe {
  const Unit* unit = nullptr;
  std::uint64_t flip_right = 0;
  bool add = false;  ///< to what is there
  int start = 0;     ///< times the sum of a row of the left operand: what the flip of the right one adds
};

/// Tiles of 16 rows and 16 words of k pay off where they are filled.
bool fills_tiles(std::int64_t m, std::int64_t k_bytes) { return m >= 8 && k_bytes >= 64; }

/// `m` and `k`: of the left operand; as good a unit as there is where they are not known.
Recipe find_recipe(DType a, DType b, DType out, std::int64_t m = 16, std::int64_t k = 64) {
  const auto of = [](const Unit* u) { return Recipe{.unit = u}; };
  const bool tiles = fills_tiles(m, k * a.itemsize());
  const auto is_16_bit = [](DType t) { return t == float16 || t == bfloat16; };
  if (out == float64 && a == float64 && b == float64) return of(find_unit(UnitKind::f64));
  if (out == float32 || is_16_bit(out)) {
    const auto fits = [&](DType t) { return t == float32 || is_16_bit(t); };
    if (!fits(a) || !fits(b)) return {};
    if (a == bfloat16 && b == bfloat16 && tiles)
      if (const Unit* const u = unit_amx(UnitKind::bf16_pairs)) return of(u);
    const Unit* const pairs = a == bfloat16 && b == bfloat16 ? find_unit(UnitKind::bf16_pairs) : nullptr;
    return of(pairs ? pairs : find_unit(UnitKind::f32));
  }
  if (!out.is_integer() || !a.is_integer() || !b.is_integer()) return {};
  if (out.itemsize() == 8) return of(find_unit(UnitKind::i64));
  if (a.itemsize() == 1 && b.itemsize() == 1) {
    const UnitKind kind =
        a == int8 ? (b == int8 ? UnitKind::i8_i8_quads : UnitKind::i8_quads) : (b == int8 ? UnitKind::u8_quads : UnitKind::u8_u8_quads);
    if (const Unit* const u = tiles ? unit_amx(kind) : nullptr) return of(u);
    const Unit* const quads = find_unit(a == int8 ? UnitKind::i8_quads : UnitKind::u8_quads);
    if (quads) return {.unit = quads, .flip_right = a == b ? 0x8080808080808080u : 0, .start = a != b ? 0 : a == int8 ? -128 : 128};
  }
  // The low 16 bits of a sum don't depend on the signedness of its operands.
  const auto is_short = [&](DType t) { return t.itemsize() == 1 || t == int16 || (t == uint16 && out.itemsize() <= 2); };
  if (is_short(a) && is_short(b)) return of(find_unit(UnitKind::i16_pairs));
  return of(find_unit(UnitKind::i32));
}

std::int64_t parts_of(std::int64_t whole, std::int64_t most) { return (whole + most - 1) / std::max<std::int64_t>(most, 1); }
std::int64_t rounded_up(std::int64_t n, std::int64_t unit) { return (n + unit - 1) / unit * unit; }

/// Words of k of a panel. A tile's rows are read for each panel of columns: they stay in the first cache if one such panel fits beside
/// them. Sums go on from what is in memory, so they don't depend on it.
std::int64_t longest_panel(const Unit& u) {
  if (u.left_in_rows) return kRegisterRow / u.word_bytes();
  static const std::int64_t first_cache = std::max<std::int64_t>(sysconf(_SC_LEVEL1_DCACHE_SIZE), 32 << 10);
  return first_cache * 3 / 4 / (u.word_bytes() * (u.heights[0] + u.panel_columns()));
}

/// The multiplication of two matrices, for a range of rows and columns.
class Multiplication {
 public:
  Multiplication(const Recipe& recipe, const MatmulStep& p) : recipe_(recipe), unit_(*recipe.unit), p_(p) {
    left_.dtype = p.dtype, left_.line = p.a_row, left_.k = p.a_col;
    right_.dtype = p.right_dtype, right_.line = p.b_col, right_.k = p.b_row, right_.flip = recipe.flip_right;
    const bool same = p.dtype == unit_.element || (p.dtype.is_integer() && p.dtype.itemsize() == unit_.element.itemsize());
    // Rows whose distance is a multiple of the page size would conflict in the L1 cache.
    const bool collide = p.a_row * p.dtype.itemsize() % kPage == 0 && p.n >= 16 * unit_.lanes;
    in_place_ = same && p.a_col == 1 && p.k % unit_.group == 0 && !collide;
    words_ = (p.k + unit_.group - 1) / unit_.group;
    const std::int64_t word = unit_.word_bytes();
    depth_ = parts_of(words_, parts_of(words_, longest_panel(unit_)));
    const std::int64_t panel = unit_.panel_columns();
    columns_ = std::min(std::max(kRightBytes / (depth_ * word), panel) / panel * panel, rounded_up(p.n, unit_.lanes));
    const std::int64_t height = unit_.heights[0];
    rows_ = std::min(p.m, in_place_ ? kMaxRows : std::max(kLeftBytes / (depth_ * word), height) / height * height);
    converted_ = p.out_dtype != unit_.sum && !(p.out_dtype.is_integer() && p.out_dtype.itemsize() == unit_.sum.itemsize());
    wide_ = converted_ ? std::min(kMaxColumns, rounded_up(p.n, unit_.panel_columns())) : p.n;
    if (converted_) columns_ = std::min(columns_, wide_);
    // Scratch memory: the right panels, the left ones, sums to be converted, what rows begin with, and what packing wants.
    const auto place = [&](std::int64_t bytes) {
      const std::int64_t at = scratch_;
      scratch_ += rounded_up(bytes, 64);
      return at;
    };
    right_at_ = place(columns_ * depth_ * word);
    left_at_ = place(in_place_ ? 0 : rows_ * depth_ * word);
    sums_at_ = place(converted_ ? rows_ * wide_ * unit_.sum.itemsize() : 0);
    start_at_ = place(rows_ * 4);
    panel_at_ = place(in_place_ || !unit_.left_in_rows ? 0 : height * depth_ * word);
    packing_at_ = place(packing_scratch(unit_, std::max<std::int64_t>(unit_.panel_columns(), height), depth_ * unit_.group));
  }
  std::size_t scratch_bytes() const { return static_cast<std::size_t>(scratch_); }

  void run(const char* a, const char* b, char* out, std::int64_t m, std::int64_t n, char* scratch) const {
    Lines left = left_, right = right_;
    left.data = a, right.data = b;
    const std::int64_t size = p_.out_dtype.itemsize();
    std::array<std::int64_t, 2> packed{-1, -1};  // the block of the right operand that the panels hold
    for (std::int64_t j = 0; j < n; j += wide_)
      for (std::int64_t i = 0; i < m; i += rows_) {
        const std::int64_t rows = std::min(rows_, m - i), columns = std::min(wide_, n - j);
        char* const to = out + (i * p_.out_row + j) * size;
        if (words_ == 0) {
          for (std::int64_t r = 0; r < rows; ++r) std::fill_n(to + r * p_.out_row * size, columns * size, char{0});
          continue;
        }
        char* const sums = converted_ ? scratch + sums_at_ : to;
        const std::int64_t sums_row = converted_ ? wide_ * unit_.sum.itemsize() : p_.out_row * size;
        for (std::int64_t k = 0; k < words_; k += depth_) {
          const std::int64_t words = std::min(depth_, words_ - k), depth = std::min(words * unit_.group, p_.k - k * unit_.group);
          const Lines rows_here = left.at(i, k * unit_.group);
          prepare_left(rows_here, rows, depth, scratch);
          for (std::int64_t c = 0; c < columns; c += columns_) {
            const std::array here{k, j + c};
            const std::int64_t width = std::min(columns_, columns - c);
            if (here != packed) pack_right(right.at(j + c, k * unit_.group), width, depth, scratch);
            packed = here;
            multiply(rows_here, rows, width, words, recipe_.add || k > 0, sums + c * unit_.sum.itemsize(), sums_row, scratch);
          }
        }
        if (converted_)
          for (std::int64_t r = 0; r < rows; ++r)
            convert_run(sums + r * sums_row, unit_.sum, to + r * p_.out_row * size, p_.out_dtype, columns);
      }
  }

 private:
  /// Calls f(row, height, number of the height) for tiles that cover the rows.
  template <class F>
  void each_height(std::int64_t rows, F&& f) const {
    std::size_t at = 0;
    for (std::int64_t i = 0; i < rows; i += unit_.heights[at]) {
      while (unit_.heights[at] > rows - i) ++at;
      f(i, unit_.heights[at], at);
    }
  }
  /// Packs the panels of the left operand, unless it is read in place, and sums its rows if the recipe needs it.
  void prepare_left(const Lines& from, std::int64_t rows, std::int64_t depth, char* scratch) const {
    auto* const start = reinterpret_cast<std::int32_t*>(scratch + start_at_);
    const std::int64_t words = parts_of(depth, unit_.group);
    if (!in_place_) {
      char* const panels = scratch + left_at_;
      if (!unit_.left_in_rows) pack_panels(unit_, from, rows, depth, unit_.heights, panels, scratch + packing_at_);
      each_height(rows, [&](std::int64_t i, int height, std::size_t) {
        char* const to = panels + i * words * unit_.word_bytes();
        char* const panel = unit_.left_in_rows ? scratch + panel_at_ : to;
        if (unit_.left_in_rows) {
          pack_panel(unit_, from.at(i, 0), height, depth, height, panel, scratch + packing_at_);
          rows_of_panel(panel, height, words, to);
        }
        if (recipe_.start) sum_panel(panel, unit_.element.is_signed(), height, words, start + i);
      });
    } else if (recipe_.start)
      sum_lines(from, rows, depth, start);
    for (std::int64_t i = 0; recipe_.start && i < rows; ++i)
      start[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(start[i]) * static_cast<std::uint32_t>(recipe_.start));
  }
  void pack_right(const Lines& from, std::int64_t columns, std::int64_t depth, char* scratch) const {
    pack_panels(unit_, from, columns, depth, std::array{unit_.panel_columns()}, scratch + right_at_, scratch + packing_at_);
  }
  void multiply(const Lines& from, std::int64_t rows, std::int64_t columns, std::int64_t words, bool add, char* out, std::int64_t out_row,
                const char* scratch) const {
    const std::int64_t panel = unit_.panel_columns(), word = unit_.word_bytes();
    const auto* const start = reinterpret_cast<const std::int32_t*>(scratch + start_at_);
    TileWork w{.left_row = in_place_ ? from.line * from.dtype.itemsize() : words * word, .words = words, .out_row = out_row, .add = add};
    each_height(rows, [&](std::int64_t i, int, std::size_t height) {
      w.left = in_place_ ? from.at(i, 0).data : scratch + left_at_ + i * words * word;
      w.start = recipe_.start ? start + i : nullptr;
      for (std::int64_t c = 0; c < columns; c += panel) {
        const std::int64_t width = std::min(panel, columns - c);
        const auto vectors = parts_of(width, unit_.lanes);
        w.right = scratch + right_at_ + c * words * word;
        w.right_row = vectors * unit_.lanes * word;
        w.out = out + i * out_row + c * unit_.sum.itemsize();
        w.last = static_cast<int>(width - (vectors - 1) * unit_.lanes);
        unit_.tiles[!in_place_][vectors - 1][height](w);
      }
    });
  }

  const Recipe recipe_;
  const Unit& unit_;
  const MatmulStep p_;
  Lines left_, right_;
  bool in_place_ = false, converted_ = false;
  std::int64_t words_ = 0, depth_ = 1, columns_ = 0, rows_ = 0, wide_ = 0;  // of k; of a block
  std::int64_t scratch_ = 0, right_at_ = 0, left_at_ = 0, sums_at_ = 0, start_at_ = 0, panel_at_ = 0, packing_at_ = 0;
};

/// How the work is divided into tasks: some matrices of the batch, or parts of one. Sums are not divided, so results don't depend on it.
struct Division {
  std::int64_t matrices = 1, matrices_a_task = 1, rows = 1, columns = 1, row_parts = 1, column_parts = 1;
};
Division divide(const MatmulStep& p, const Unit& u) {
  Division d{.rows = p.m, .columns = p.n};
  for (const MatmulStep::Batch& b : p.batch) d.matrices *= b.size;
  const auto threads = static_cast<double>(num_threads());
  const double tasks = std::clamp(packed_matmul_steps(p) / kStepsOfTask, 1.0, 4 * threads);
  if (tasks < 2) {
    d.matrices_a_task = d.matrices;
    return d;
  }
  if (static_cast<double>(d.matrices) >= threads) {
    d.matrices_a_task = std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(d.matrices) / tasks));
    return d;
  }
  // Each part packs its rows and columns of both operands. There is one part for each thread, as square as possible, or more if packing is
  // a small share of the work, since threads are not equally fast.
  const std::int64_t height = u.heights[0], width = u.panel_columns();
  for (double wanted = std::min(tasks, threads); wanted <= std::min(tasks, 4 * threads); wanted *= 2) {
    const auto parts = static_cast<std::int64_t>(wanted);
    double least = std::numeric_limits<double>::infinity();
    Division best = d;
    for (std::int64_t r = 1; r <= parts; ++r) {
      const std::int64_t rows = rounded_up(parts_of(p.m, r), height), columns = rounded_up(parts_of(p.n, parts / r), width);
      // The work of a part: multiplication and packing.
      const double cost = static_cast<double>(rows * columns) + 16 * static_cast<double>(rows + 2 * columns);
      if (cost < least) least = cost, best.rows = std::min(rows, p.m), best.columns = std::min(columns, p.n);
    }
    if (wanted > threads && std::min(best.rows, best.columns) < kPartFrom) break;
    d = best;
  }
  d.row_parts = parts_of(p.m, d.rows), d.column_parts = parts_of(p.n, d.columns);
  return d;
}
/// The matmul of one part, or of the whole if there is one part.
MatmulStep part_of(MatmulStep p, const Division& d) {
  p.m = d.rows, p.n = d.columns;
  return p;
}

class PackedMatmul final : public Matmul {
 public:
  PackedMatmul(const Recipe& recipe, const MatmulStep& p)
      : p_(p), division_(divide(p, *recipe.unit)), part_(recipe, part_of(p, division_)) {}

  void run(const void* left, const void* right, void* result) const override {
    const std::int64_t a_size = p_.dtype.itemsize(), b_size = p_.right_dtype.itemsize(), out_size = p_.out_dtype.itemsize();
    const char* const a = static_cast<const char*>(left) + p_.a_offset * a_size;
    const char* const b = static_cast<const char*>(right) + p_.b_offset * b_size;
    char* const out = static_cast<char*>(result);
    const Division& d = division_;
    const std::int64_t parts = d.row_parts * d.column_parts, groups = parts_of(d.matrices, d.matrices_a_task);
    parallel_for(groups * parts, [&](std::int64_t task) {
      auto* const scratch = static_cast<char*>(library_scratch(part_.scratch_bytes()));
      const std::int64_t row = task % parts / d.column_parts * d.rows, column = task % d.column_parts * d.columns;
      const std::int64_t first = task / parts * d.matrices_a_task, end = std::min(d.matrices, first + d.matrices_a_task);
      for (std::int64_t i = first; i < end; ++i) {
        std::int64_t rest = i, a_at = row * p_.a_row, b_at = column * p_.b_col, out_at = row * p_.out_row + column;
        for (std::size_t l = p_.batch.size(); l-- > 0;) {
          const MatmulStep::Batch& loop = p_.batch[l];
          const std::int64_t at = rest % loop.size;
          rest /= loop.size;
          a_at += at * loop.stride_a, b_at += at * loop.stride_b, out_at += at * loop.stride_out;
        }
        part_.run(a + a_at * a_size, b + b_at * b_size, out + out_at * out_size, std::min(d.rows, p_.m - row),
                  std::min(d.columns, p_.n - column), scratch);
      }
    });
  }

 private:
  const MatmulStep p_;
  const Division division_;
  const Multiplication part_;
};

}  // namespace

bool has_packed_matmul(DType a, DType b, DType out) { return find_recipe(a, b, out).unit != nullptr; }

bool converts_packed(DType a, DType b, DType out) {
  const Unit* const u = find_recipe(a, b, out).unit;
  return u && u->element.is_floating() && (u->element != a || u->element != b);
}

double packed_matmul_steps(const MatmulStep& p) {
  const Recipe recipe = find_recipe(p.dtype, p.right_dtype, p.out_dtype, p.m, p.k);
  if (!recipe.unit) return std::numeric_limits<double>::infinity();
  const auto number = [](std::int64_t n) { return static_cast<double>(n); };
  const double words = std::ceil(number(p.k) / recipe.unit->group), vectors = std::ceil(number(p.n) / recipe.unit->lanes);
  // A tile takes its steps and some at its ends; an element is packed in about one step for four words.
  double steps = number(p.m) * vectors * (words + 8) / recipe.unit->rate + (number(p.m) + vectors * recipe.unit->lanes) * words / 3 + 100;
  for (const MatmulStep::Batch& b : p.batch) steps *= number(b.size);
  return steps;
}

template <class T>
bool subtract_matmul(const MatmulOperand<T>& a, const MatmulOperand<T>& b, T* out, std::int64_t out_row) {
  MatmulStep p;
  p.dtype = p.right_dtype = p.out_dtype = sizeof(T) == 8 ? float64 : float32;
  p.m = a.rows, p.n = b.columns, p.k = a.columns, p.out_row = out_row;
  p.a_row = a.row_stride, p.a_col = a.column_stride, p.b_row = b.row_stride, p.b_col = b.column_stride;
  Recipe recipe = find_recipe(p.dtype, p.dtype, p.dtype);
  if (!recipe.unit) return false;
  recipe.add = true, recipe.flip_right = sizeof(T) == 8 ? 0x8000000000000000u : 0x8000000080000000u;
  if (p.m == 0 || p.n == 0 || p.k == 0) return true;
  const Multiplication whole(recipe, p);
  auto* const scratch = static_cast<char*>(library_scratch(whole.scratch_bytes()));
  whole.run(reinterpret_cast<const char*>(a.data), reinterpret_cast<const char*>(b.data), reinterpret_cast<char*>(out), p.m, p.n, scratch);
  return true;
}
template bool subtract_matmul(const MatmulOperand<float>&, const MatmulOperand<float>&, float*, std::int64_t);
template bool subtract_matmul(const MatmulOperand<double>&, const MatmulOperand<double>&, double*, std::int64_t);

std::unique_ptr<Matmul> make_packed_matmul(const MatmulStep& p) {
  const Recipe recipe = find_recipe(p.dtype, p.right_dtype, p.out_dtype, p.m, p.k);
  return recipe.unit ? std::make_unique<PackedMatmul>(recipe, p) : nullptr;
}

}  // namespace weft::detail
