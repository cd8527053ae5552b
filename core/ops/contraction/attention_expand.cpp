#include "weft/core/ops/contraction/attention_expand.h"

#include <algorithm>
#include <limits>

#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/contraction/dot.h"
#include "weft/core/ops/control/control_common.h"
#include "weft/core/ops/movement/dynamic_slice.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/promotion.h"

namespace weft::detail {
namespace {

// Scores of a block, and its columns: of float32, a block of all heads and the operands that belong to it stay in a core's share of caches.
constexpr std::int64_t kBlock = std::int64_t{1} << 21, kColumns = 512;

Array number(const Array& like, double v) { return scalar_like(like, v); }
Array index(std::int64_t v) { return make_literal(Number(v), int32); }

/// `sizes` elements from `starts` on.
Array window(const Array& x, const std::vector<Array>& starts, const Shape& sizes) {
  std::vector<Array> in{x};
  in.insert(in.end(), starts.begin(), starts.end());
  return bind_all<DynamicSlice>({sizes}, in, {})[0];
}
Array with_window(const Array& x, const Array& part, const std::vector<Array>& starts) {
  std::vector<Array> in{x, part};
  in.insert(in.end(), starts.begin(), starts.end());
  return bind_all<DynamicUpdateSlice>({}, in, {})[0];
}
/// x with zeros behind the axis's elements, up to a size.
Array padded(const Array& x, int axis, std::int64_t size) {
  if (x.shape()[axis] == size) return x;
  PaddingConfig config(static_cast<std::size_t>(x.ndim()));
  config[static_cast<std::size_t>(axis)].high = size - x.shape()[axis];
  return pad_with(x, x.dtype().is_bool() ? make_literal(Number(false), bool_) : scalar_like(x, 0), config, {});
}

/// Sizes, and how they are cut into blocks. All operands have the dimensions (batch, heads of k, heads of q for each, rows or columns,
/// ...).
struct Blocks {
  std::int64_t batch, heads, groups, rows, columns;
  std::int64_t batch_block, row_block, column_block;
  std::int64_t batches, row_blocks, column_blocks;

  explicit Blocks(std::span<const Aval> in) {
    const Shape &q = in[0].shape, &k = in[1].shape;
    batch = q[0], heads = k[2], groups = q[2] / k[2], rows = q[1], columns = k[1];
    column_block = std::min(columns, kColumns);
    const std::int64_t of_row = heads * groups * column_block;
    row_block = std::min(rows, std::max<std::int64_t>(kBlock / of_row / 64, 1) * 64);
    batch_block = 1;
    for (std::int64_t b = 2; b <= batch && b * of_row * row_block <= kBlock; ++b)
      if (batch % b == 0) batch_block = b;
    batches = batch / batch_block, row_blocks = (rows + row_block - 1) / row_block,
    column_blocks = (columns + column_block - 1) / column_block;
  }
  std::int64_t padded_rows() const { return row_blocks * row_block; }
  std::int64_t padded_columns() const { return column_blocks * column_block; }
};

/// The operands with their rows and columns in whole blocks, and what belongs to a block.
struct Operands {
  const AttentionForm form;
  const Blocks n;
  Array q, k, v;
  std::optional<Array> bias, mask;
  DType dtype = float32;  ///< of the scores

  Operands(const AttentionForm& f, std::span<const Aval> types, std::span<const Array> in) : form(f), n(types) {
    const AttentionOperands o(in, f);
    q = rows_of(o.q), k = columns_of(o.k), v = columns_of(o.v);
    if (o.bias) bias = beside(*o.bias);
    if (o.mask) mask = beside(*o.mask);
    dtype = wide_dtype(promote_types(promote_types(inexact_dtype(o.q.dtype()), inexact_dtype(o.k.dtype())), inexact_dtype(o.v.dtype())));
  }
  /// (B, T, N, H) as (B, K, N / K, T, H).
  Array rows_of(const Array& x) const {
    const Shape& s = x.shape();
    return padded(permute(reshape_to(x, {s[0], s[1], n.heads, n.groups, s[3]}, {}), {0, 2, 3, 1, 4}, {}), 3, n.padded_rows());
  }
  /// (B, N, T) as (B, K, N / K, T).
  Array sums_of(const Array& x) const { return padded(reshape_to(x, {n.batch, n.heads, n.groups, n.rows}, {}), 3, n.padded_rows()); }
  /// (B, S, K, H) as (B, K, S, H).
  Array columns_of(const Array& x) const { return padded(permute(x, {0, 2, 1, 3}, {}), 2, n.padded_columns()); }
  /// (B, N, T, S) as (B, K, N / K, T, S), each size or 1.
  Array beside(const Array& x) const {
    const Shape& s = x.shape();
    Array y = reshape_to(x, {s[0], s[1] == 1 ? 1 : n.heads, s[1] == 1 ? 1 : n.groups, s[2], s[3]}, {});
    if (s[2] != 1) y = padded(y, 3, n.padded_rows());
    if (s[3] != 1) y = padded(y, 4, n.padded_columns());
    return y;
  }

  // The places of blocks, by the first row and the first column.
  std::vector<Array> row_place(const Array& b, const Array& row, int ndim) const {
    std::vector<Array> at{b, index(0), index(0), row};
    if (ndim == 5) at.push_back(index(0));
    return at;
  }
  Array row_part(const Array& x, const Array& b, const Array& row) const {
    Shape s = x.shape().with(0, n.batch_block).with(3, n.row_block);
    return window(x, row_place(b, row, x.ndim()), s);
  }
  Array column_part(const Array& x, const Array& b, const Array& column) const {
    return window(x, {b, index(0), column, index(0)}, x.shape().with(0, n.batch_block).with(2, n.column_block));
  }
  std::vector<Array> beside_place(const Array& x, const Array& b, const Array& row, const Array& column) const {
    const Shape& s = x.shape();
    return {s[0] == 1 ? index(0) : b, index(0), index(0), s[3] == 1 ? index(0) : row, s[4] == 1 ? index(0) : column};
  }
  Shape beside_sizes(const Array& x) const {
    const Shape& s = x.shape();
    return {s[0] == 1 ? 1 : n.batch_block, s[1], s[2], s[3] == 1 ? 1 : n.row_block, s[4] == 1 ? 1 : n.column_block};
  }
  Array beside_part(const Array& x, const Array& b, const Array& row, const Array& column) const {
    return window(x, beside_place(x, b, row, column), beside_sizes(x));
  }

  /// (b, K, G, t, H) times (b, K, s, H): (b, K, G, t, s).
  Array products(const Array& x, const Array& y) const {
    return dot_product(as_dtype(x, dtype), as_dtype(y, dtype), {.contracting = {{{4}, {3}}}, .batch = {{{0, 1}, {0, 1}}}});
  }
  /// (b, K, G, t, s) times (b, K, s, H): (b, K, G, t, H).
  Array over_columns(const Array& x, const Array& y) const {
    return dot_product(x, as_dtype(y, dtype), {.contracting = {{{4}, {2}}}, .batch = {{{0, 1}, {0, 1}}}});
  }
  /// (b, K, G, t, s) times (b, K, G, t, H), summed over G and t: (b, K, s, H).
  Array over_rows(const Array& x, const Array& y) const {
    return dot_product(x, as_dtype(y, dtype), {.contracting = {{{2, 3}, {2, 3}}}, .batch = {{{0, 1}, {0, 1}}}});
  }

  /// Where the score is q's and k's product; columns behind the last one are seen by none.
  std::optional<Array> seen_in(const Array& b, const Array& row, const Array& column) const {
    std::optional<Array> seen;
    if (mask) seen = beside_part(*mask, b, row, column);
    if (form.causal) {
      const Array below = column_numbers(column) <= row + iota_array(int32, {1, 1, 1, n.row_block, 1}, 3, {});
      seen = seen ? *seen & below : below;
    }
    return seen;
  }
  Array column_numbers(const Array& column) const { return column + iota_array(int32, {1, 1, 1, 1, n.column_block}, 4, {}); }
  /// The block's scores for rows `x` of q and columns `y` of k.
  Array scores(const Array& x, const Array& y, const Array& b, const Array& row, const Array& column) const {
    Array s = products(x, y) * form.scale;
    if (bias) s = s + as_dtype(beside_part(*bias, b, row, column), dtype);
    if (const auto seen = seen_in(b, row, column)) s = where(*seen, s, number(s, masked_score(dtype)));
    if (n.padded_columns() != n.columns)
      s = where(column_numbers(column) < index(n.columns), s, number(s, -std::numeric_limits<double>::infinity()));
    return s;
  }
};

/// Calls `body(carry)`, which gives the carry anew, while the first of them, a counter, is below `end`; the counter is added to here.
template <class F>
std::vector<Array> count_up(const std::vector<Array>& carry, const Array& end, F&& body) {
  std::vector<Aval> types = avals_of(carry);
  While::Params p;
  p.body_jaxpr = make_program("attention", types, [&](std::span<const Array> c) {
    std::vector<Array> next = body(c);
    next.insert(next.begin(), c[0] + index(1));
    return next;
  });
  types.insert(types.begin(), end.aval());
  p.cond_jaxpr = make_program("attention", types, [&](std::span<const Array> c) { return std::vector<Array>{c[1] < c[0]}; });
  p.cond_nconsts = 1;
  std::vector<Array> in{end};
  append(in, carry);
  return bind_while(std::move(p), in, {});
}
/// Calls `body(number, carry)`, which gives the carry and a result to be stacked for each number below `length`.
template <class F>
std::vector<Array> stack_over(std::int64_t length, const std::vector<Array>& carry, F&& body) {
  const Array numbers = iota_array(int32, {length}, 0, {});
  std::vector<Aval> types = avals_of(carry);
  types.push_back({{}, int32, false});
  const Jaxpr step = make_program("attention", types, [&](std::span<const Array> c) { return body(c.back(), c.first(carry.size())); });
  std::vector<Array> in = carry;
  in.push_back(numbers);
  return bind_scan({step, length, static_cast<int>(carry.size()), 0, false, 1}, in, {});
}

/// (blocks, batches' size, K, G, block, ...) as (B, K, G, T, ...), or without G: the blocks are numbered batch by batch.
Array unblocked(const Array& x, const Blocks& n, std::int64_t blocks, int along, std::int64_t size) {
  const Shape& s = x.shape();
  Shape split{n.batches, blocks};
  for (int d = 1; d < s.size(); ++d) split.push_back(s[d]);
  std::vector<int> order{0};
  for (int d = 2; d < split.size(); ++d) {
    if (d == along + 2) order.push_back(1);
    order.push_back(d);
  }
  Shape whole = s.erased(0).with(0, n.batch).with(along, blocks * s[along + 1]);
  return slice_axis(reshape_to(permute(reshape_to(x, split, {}), order, {}), whole, {}), along, 0, size, {});
}

/// Nothing if the composite's body is as good.
std::optional<AttentionForm> form_of(const CompositeParams& p, std::span<const Aval> in) {
  const std::optional<AttentionForm> form = attention_form(p, in);
  return form && score_bytes(in) >= kLongAttention ? form : std::nullopt;
}
Jaxpr program_of(std::span<const Aval> in, const std::function<std::vector<Array>(std::span<const Array>)>& f) {
  return make_program("attention in blocks", {in.begin(), in.end()}, f);
}

}  // namespace

std::optional<Jaxpr> expand_attention(const CompositeParams& p, std::span<const Aval> in) {
  const std::optional<AttentionForm> form = form_of(p, in);
  if (!form) return {};
  return program_of(in, [&](std::span<const Array> args) {
    const Operands o(*form, in, args);
    const Blocks& n = o.n;
    const std::int64_t width = o.v.shape()[3];
    std::vector<Array> out = stack_over(n.batches * n.row_blocks, {}, [&](const Array& block, std::span<const Array>) {
      const Array b = div(block, index(n.row_blocks)) * index(n.batch_block), row = rem(block, index(n.row_blocks)) * index(n.row_block);
      const Array rows = o.row_part(o.q, b, row);
      Shape sums{n.batch_block, n.heads, n.groups, n.row_block, 1};
      const Array zero = make_literal(Number(0.), o.dtype),
                  lowest = make_literal(Number(-std::numeric_limits<double>::infinity()), o.dtype);
      Array end = index(n.column_blocks);
      // With a mask a row may see nothing; then it is the mean of all columns, also of those behind it.
      if (o.form.causal && !o.mask) end = minimum(end, div(row + index(n.row_block - 1), index(n.column_block)) + index(1));
      const std::vector<Array> done =
          count_up({index(0), fill_shape(lowest, sums, {}), fill_shape(zero, sums, {}), fill_shape(zero, sums.with(4, width), {})}, end,
                   [&](std::span<const Array> c) {
                     const Array column = c[0] * index(n.column_block);
                     const Array s = o.scores(rows, o.column_part(o.k, b, column), b, row, column);
                     const Array highest = maximum(c[1], max(s, 4, keepdims));
                     // If all scores are -inf so far, subtracting the maximum would give NaN.
                     const Array base = where(highest == lowest, zero, highest), weights = exp(s - base), factor = exp(c[1] - base);
                     return std::vector<Array>{highest, c[2] * factor + sum(weights, 4, keepdims),
                                               c[3] * factor + o.over_columns(weights, o.column_part(o.v, b, column))};
                   });
      return std::vector<Array>{done[3] / done[2], squeeze_axes(done[1], {4}, {}), squeeze_axes(done[2], {4}, {})};
    });
    const Array mixed = permute(unblocked(out[0], n, n.row_blocks, 3, n.rows), {0, 3, 1, 2, 4}, {});
    const auto of_rows = [&](const Array& x) {
      return reshape_to(unblocked(x, n, n.row_blocks, 3, n.rows), {n.batch, n.heads * n.groups, n.rows}, {});
    };
    return std::vector<Array>{as_dtype(reshape_to(mixed, {n.batch, n.rows, n.heads * n.groups, width}, {}), inexact_dtype(in[0].dtype)),
                              of_rows(out[1]), of_rows(out[2])};
  });
}

std::optional<Jaxpr> expand_attention_gradient(const CompositeParams& p, std::span<const Aval> in) {
  const std::optional<AttentionForm> form = form_of(p, in);
  if (!form) return {};
  return program_of(in, [&](std::span<const Array> args) {
    const Operands o(*form, in, args);
    const Blocks& n = o.n;
    const auto rest = args.subspan(3u + o.form.bias + o.form.mask);
    const Array highest = o.sums_of(rest[0]), total = o.sums_of(rest[1]), sums = o.sums_of(rest[2]), cotangent = o.rows_of(rest[3]);
    const Array zero = make_literal(Number(0.), o.dtype);
    std::vector<Array> carry{fill_shape(zero, o.q.shape(), {})};
    if (o.bias) carry.push_back(fill_shape(zero, o.bias->shape(), {}));
    const std::size_t kept = carry.size();
    std::vector<Array> out = stack_over(n.batches * n.column_blocks, carry, [&](const Array& block, std::span<const Array> all) {
      const Array b = div(block, index(n.column_blocks)) * index(n.batch_block);
      const Array column = rem(block, index(n.column_blocks)) * index(n.column_block);
      const Array k = o.column_part(o.k, b, column), v = o.column_part(o.v, b, column);
      const Array first = o.form.causal && !o.mask ? div(column, index(n.row_block)) : index(0);
      std::vector<Array> state{first};
      append(state, all);
      state.push_back(fill_shape(zero, k.shape(), {})), state.push_back(fill_shape(zero, v.shape(), {}));
      std::vector<Array> done = count_up(state, index(n.row_blocks), [&](std::span<const Array> c) {
        const Array row = c[0] * index(n.row_block);
        const Array q = o.row_part(o.q, b, row), ct = o.row_part(cotangent, b, row);
        const Array s = o.scores(q, k, b, row, column);
        const auto beside = [&](const Array& x) { return insert_axes(o.row_part(x, b, row), {4}, {}); };
        Array weights = exp(s - beside(highest)) * (number(s, 1) / beside(total));
        // Padding rows must not contribute.
        if (n.padded_rows() != n.rows)
          weights = where(row + iota_array(int32, {1, 1, 1, n.row_block, 1}, 3, {}) < index(n.rows), weights, zero);
        Array d_scores = weights * (o.products(ct, v) - beside(sums));
        if (const auto seen = o.seen_in(b, row, column)) d_scores = where(*seen, d_scores, zero);
        const std::vector<Array> place = o.row_place(b, row, 5);
        const Array d_q = o.over_columns(d_scores, k) * o.form.scale;
        std::vector<Array> next{with_window(c[1], window(c[1], place, d_q.shape()) + d_q, place)};
        if (o.bias) {
          const std::vector<Array> at = o.beside_place(*o.bias, b, row, column);
          const Shape sizes = o.beside_sizes(*o.bias);
          next.push_back(with_window(c[2], window(c[2], at, sizes) + unbroadcast(d_scores, {sizes, o.dtype, false}, {}), at));
        }
        next.push_back(c[kept + 1] + o.over_rows(d_scores, q) * o.form.scale);
        next.push_back(c[kept + 2] + o.over_rows(weights, ct));
        return next;
      });
      done.erase(done.begin());
      return done;
    });
    const auto of_rows = [&](const Array& x, const Aval& type) {
      return as_dtype(reshape_to(permute(slice_axis(x, 3, 0, n.rows, {}), {0, 3, 1, 2, 4}, {}), type.shape, {}), type.dtype);
    };
    const auto of_columns = [&](const Array& x, const Aval& type) {
      return as_dtype(permute(unblocked(x, n, n.column_blocks, 2, n.columns), {0, 2, 1, 3}, {}), type.dtype);
    };
    std::vector<Array> result{of_rows(out[0], in[0]), of_columns(out[kept], in[1]), of_columns(out[kept + 1], in[2])};
    if (o.bias) {
      Array d = out[1];
      if (in[3].shape[2] != 1) d = slice_axis(d, 3, 0, n.rows, {});
      if (in[3].shape[3] != 1) d = slice_axis(d, 4, 0, n.columns, {});
      result.push_back(as_dtype(reshape_to(d, in[3].shape, {}), in[3].dtype));
    }
    return result;
  });
}

}  // namespace weft::detail
