// Operations with all that their parameters allow: windows of any dimensions, several arrays at once, solutions and decompositions.
#include <fmt/format.h>
#include <weft/weft.h>

#include <algorithm>

#include "tools/fuzz/generator.h"

namespace weft::fuzz {

using namespace detail;

namespace {

std::string tuple_text(const std::vector<int>& v) {
  std::string s = "(";
  for (const int x : v) s += fmt::format("{},", x);
  return s + ")";
}

/// What a gather reads, and a scatter writes: a window of the operand for each position.
struct Windows {
  std::vector<int> offset_dims, collapsed, mapped, operand_batching, indices_batching;
  Shape sizes;    ///< of a window, in the operand's dimensions
  Shape indices;  ///< with the coordinates last
  Shape all;      ///< of all windows
};

}  // namespace

void Generator::general() {
  switch (random_.below(options_.heavy ? 6 : 5)) {
    case 0:
    case 1: return any_windows();
    case 2: return several_at_once();
    case 3: return solved();
    case 4: return ruled_by_several();
    default: return decomposed();
  }
}

/// A gather or a scatter of any dimension numbers.
void Generator::any_windows() {
  Array x = pick_positive_size();
  while (x.ndim() > 4) x = x(0);
  if (x.aval().weak) x = convert(x, x.dtype());
  Windows w;
  std::vector<int> kept;
  std::vector<std::pair<std::int64_t, int>> batch;  // sizes of the positions' own dimensions, and which of the operand's each goes with
  for (int d = 0; d < x.ndim(); ++d) {
    const std::int64_t n = x.shape()[d];
    const int kind = random_.below(5);
    w.sizes.push_back(kind < 2 ? 1 : random_.between(1, static_cast<int>(n)));
    if (kind == 0 && n <= 9) {
      w.operand_batching.push_back(d), batch.push_back({n, d});
      continue;
    }
    (kind == 1 ? w.collapsed : kept).push_back(d);
    if (kind == 1 || random_.coin()) w.mapped.push_back(d);
  }
  for (int k = random_.below(3); k > 0; --k) batch.push_back({random_.between(1, 4), -1});
  const auto shuffle = [&](auto& list) {
    auto other = list;
    const std::vector<int> order = random_.permutation(static_cast<int>(list.size()));
    for (std::size_t i = 0; i < list.size(); ++i) list[i] = other[static_cast<std::size_t>(order[i])];
  };
  shuffle(batch), shuffle(w.mapped);
  for (const int d : w.operand_batching)
    w.indices_batching.push_back(
        static_cast<int>(std::find_if(batch.begin(), batch.end(), [&](const auto& b) { return b.second == d; }) - batch.begin()));
  for (const auto& b : batch) w.indices.push_back(b.first);
  // Which dimensions of all windows are a window's own.
  const int rank = static_cast<int>(batch.size() + kept.size());
  w.offset_dims = random_.permutation(rank);
  w.offset_dims.resize(kept.size());
  std::sort(w.offset_dims.begin(), w.offset_dims.end());
  std::size_t next_kept = 0, next_batch = 0;
  for (int d = 0; d < rank; ++d)
    w.all.push_back(std::find(w.offset_dims.begin(), w.offset_dims.end(), d) != w.offset_dims.end() ? w.sizes[kept[next_kept++]]
                                                                                                    : batch[next_batch++].first);
  w.indices.push_back(static_cast<std::int64_t>(w.mapped.size()));
  if (w.all.num_elements() > 2 * options_.largest) return keep(x);
  const DType index = random_.pick({int32, int32, int64, int8, uint8, uint32});
  const Array at = as(fitted(pick_integer(), {w.indices, int32}) % Array(random_.between(1, 6)), index);
  const DType t = x.dtype();
  const std::string mode = random_.pick({"CLIP", "FILL_OR_DROP"}), operand = to_string(Aval{x.shape(), t});
  if (random_.coin()) {
    const Jaxpr j = parse(fmt::format(
        "{{ lambda ; a:{} b:{}. let c:{} = gather[dimension_numbers=GatherDimensionNumbers(offset_dims={}, collapsed_slice_dims={}, "
        "start_index_map={}, operand_batching_dims={}, start_indices_batching_dims={}) fill_value={} indices_are_sorted=False "
        "mode=GatherScatterMode.{} slice_sizes={} unique_indices=False] a b in (c,) }}",
        operand, to_string(at.aval()), to_string(Aval{w.all, t}), tuple_text(w.offset_dims), tuple_text(w.collapsed), tuple_text(w.mapped),
        tuple_text(w.operand_batching), tuple_text(w.indices_batching), t.is_bool() ? "None" : "0", mode,
        tuple_text(std::vector<int>(w.sizes.begin(), w.sizes.end()))));
    return keep(j(x, at)[0]);
  }
  const std::string name = t.is_bool() || t.is_complex() || options_.differentiable
                               ? "scatter-add"
                               : random_.pick({"scatter-add", "scatter-sub", "scatter-min", "scatter-max", "scatter-mul"});
  if (t.is_bool()) x = as(x, int32);
  const Array updates = fitted(pick(), {w.all, x.dtype()});
  const Jaxpr j = parse(fmt::format(
      "{{ lambda ; a:{} b:{} c:{}. let d:{} = {}[dimension_numbers=ScatterDimensionNumbers(update_window_dims={}, inserted_window_dims={}, "
      "scatter_dims_to_operand_dims={}, operand_batching_dims={}, scatter_indices_batching_dims={}) indices_are_sorted=False "
      "mode=GatherScatterMode.{} unique_indices=False] a b c in (d,) }}",
      to_string(Aval{x.shape(), x.dtype()}), to_string(at.aval()), to_string(Aval{w.all, x.dtype()}), to_string(Aval{x.shape(), x.dtype()}),
      name, tuple_text(w.offset_dims), tuple_text(w.collapsed), tuple_text(w.mapped), tuple_text(w.operand_batching),
      tuple_text(w.indices_batching), mode));
  const Array y = j(x, at, updates)[0];
  keep(y.dtype().is_inexact() ? tame(y) : y);
}

/// Several arrays at once: a reduction to the largest and its position, a sort by several keys, a scan of a pair.
void Generator::several_at_once() {
  Array x = pick_positive_size();
  if (x.dtype().is_complex()) x = real(x);
  if (x.dtype().is_bool()) x = as(x, int32);
  if (x.aval().weak) x = convert(x, x.dtype());
  const int axis = axis_of(x);
  const Array at = iota(int32, x.shape(), axis), y = as(partner(x, true), x.dtype());
  if (options_.differentiable || options_.special || random_.coin()) {
    const std::string type = to_string(Aval{x.shape(), x.dtype()}), places = to_string(Aval{x.shape(), int32});
    const Jaxpr j = parse(fmt::format(
        "{{ lambda ; a:{0} b:{1} c:{0}. let d:{0} e:{1} f:{0} = sort[dimension={2} is_stable=True num_keys={3}] a b c in (d, e, f) }}",
        type, places, axis, random_.between(1, 3)));
    for (const Array& r : j(x, random_.coin() ? at : at % Array(2), y)) keep(r);
    return;
  }
  const DType t = x.dtype();
  const auto better = [](const std::vector<Array>& a, const std::vector<Array>& b) {
    const Array first = (a[0] > b[0]) | ((a[0] == b[0]) & (a[1] < b[1]));
    return std::vector<Array>{where(first, a[0], b[0]), where(first, a[1], b[1])};
  };
  const Array lowest = t.is_floating() ? as(Array(-1e4), t) : t.is_signed() ? as(Array(-128), t) : as(Array(0), t);
  for (const Array& r : reduce({x, at}, {lowest, Array(1 << 30)}, better, axis)) keep(r);
}

/// An equation solved by a function of the user's, by a few steps or in closed form, with the derivatives of the equation.
void Generator::solved() {
  Array b = pick_floating();
  if (b.aval().weak) b = as(b, b.dtype());
  const Array scale = Array(1.5) + as(within(fitted(pick(), {b.shape(), b.dtype()}), -0.25, 0.25), b.dtype());
  const auto times = [=](const Array& x) { return scale * x; };
  const auto divided = [=](const auto&, const Array& y) { return y / scale; };
  if (random_.coin()) return keep(custom_linear_solve(times, tame(b), divided, divided));
  keep(custom_linear_solve(times, tame(b), divided, {.symmetric = true}));
}

/// What does not depend on which of a matrix's decompositions was found.
void Generator::decomposed() {
  const int n = random_.between(1, 6);
  const DType t = random_.pick({float32, float64});
  const Array& from = pick();
  Array x = fitted(from, {Shape{random_.between(1, 2), n, n}, t});
  if (options_.special) x = where(isfinite(x), x, Array(0));
  // Eigenvalues and singular values that are well apart.
  const Array a = as(Array(1) + arange(n), t) * eye(n, n, 0, t) + Array(0.05) * (x + swapaxes(x, -1, -2));
  if (random_.coin()) {
    const auto [values, vectors] = linalg::eigh(a);
    keep(values);
    return keep(matmul(vectors * expand_dims(cos(values), -2), swapaxes(vectors, -1, -2)));
  }
  const auto [u, s, vh] = linalg::svd(a, {.full_matrices = random_.coin()});
  keep(s);
  keep(matmul(u * expand_dims(cos(s), -2), vh));
}

/// A rule for several arguments and results.
void Generator::ruled_by_several() {
  const Array x = pick_floating(), y = as(fitted(pick(), {x.shape(), x.dtype()}), x.dtype());
  const double factor = random_.pick({0.5, -1., 3.});
  const auto f = [](const Array& a, const Array& b) { return std::tuple(sin(a) * b, a + cos(b)); };
  std::tuple<Array, Array> results{x, y};
  if (random_.coin() || options_.differentiable) {
    const auto rule = [=](const std::tuple<Array, Array>& at, const std::tuple<Array, Array>& along) {
      const auto& [a, b] = at;
      const auto& [da, db] = along;
      return std::pair(f(a, b), std::tuple(Array(factor) * cos(a) * b * da + sin(a) * db, da - sin(b) * db));
    };
    results = custom_jvp(f, rule)(x, y);
  } else {
    const auto fwd = [=](const Array& a, const Array& b) { return std::pair(f(a, b), std::tuple(a, b)); };
    const auto bwd = [=](const std::tuple<Array, Array>& kept, const std::tuple<Array, Array>& ct) {
      const auto& [a, b] = kept;
      const auto& [first, second] = ct;
      return std::tuple(Array(factor) * cos(a) * b * first + second, sin(a) * first - sin(b) * second);
    };
    results = custom_vjp(f, fwd, bwd)(x, y);
  }
  keep(std::get<0>(results));
  keep(std::get<1>(results));
}

}  // namespace weft::fuzz
