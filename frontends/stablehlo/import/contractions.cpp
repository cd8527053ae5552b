// Sums of products: matrices, general contractions, convolutions.
#include <algorithm>
#include <array>

#include "weft/core/functions/contractions.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ops/contraction/conv.h"
#include "weft/core/ops/contraction/dot.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/reduce/reduce.h"
#include "weft/frontends/stablehlo/import/functions.h"
#include "weft/frontends/stablehlo/import/importer.h"

namespace weft::detail::mlir {
namespace {

std::vector<int> dims_of(const OpCall& c, const Attribute* a, int ndim) {
  std::vector<int> out;
  if (!a) return out;
  for (std::int64_t d : integers_of(*a, c)) {
    if (d < 0 || d >= ndim) c.fail("a dimension number is out of range");
    out.push_back(static_cast<int>(d));
  }
  return out;
}

/// The product in the result's dtype. Operands of different ones are first given one that holds both.
Array product(const OpCall& c, const Array& a, const Array& b, const DotDimensions& dims) {
  const DType as = c.result_dtype();
  if (a.dtype() == b.dtype()) return dot_product(a, b, dims, as == a.dtype() ? std::optional<DType>() : as, c.loc);
  const DType common = promote_types(promote_types(a.dtype(), b.dtype()), as);
  auto in = [&](const Array& x, DType dtype) { return x.dtype() == dtype ? x : convert(Arg(x, c.loc), dtype); };
  return in(dot_product(in(a, common), in(b, common), dims, {}, c.loc), as);
}

/// Where a free dimension of the first operand is in the product.
int row_dimension(const DotDimensions& dims, int free, int ndim) {
  const std::vector<int> all = dot_free_dims(dims, 0, ndim);
  return static_cast<int>(dims.batch[0].size()) + static_cast<int>(std::find(all.begin(), all.end(), free) - all.begin());
}

const Import dot_general_import("stablehlo.dot_general", [](OpCall& c) -> Values {
  const Array &a = c.in(0), &b = c.in(1);
  DotDimensions dims;
  if (const Attribute* numbers = c.find("dot_dimension_numbers")) {
    dims.contracting = {dims_of(c, numbers->find("lhs_contracting_dimensions"), a.ndim()),
                        dims_of(c, numbers->find("rhs_contracting_dimensions"), b.ndim())};
    dims.batch = {dims_of(c, numbers->find("lhs_batching_dimensions"), a.ndim()),
                  dims_of(c, numbers->find("rhs_batching_dimensions"), b.ndim())};
  } else {
    for (const bool batch : {false, true}) {
      const Attribute* both = c.find(batch ? "batching_dims" : "contracting_dims");
      if (!both) continue;
      if (both->items.size() != 2) c.fail("dimension numbers must be written `[...] x [...]`");
      (batch ? dims.batch : dims.contracting) = {dims_of(c, &both->items[0], a.ndim()), dims_of(c, &both->items[1], b.ndim())};
    }
  }
  return {product(c, a, b, dims)};
});

const Import dot_import("stablehlo.dot", [](OpCall& c) -> Values {
  const Array &a = c.in(0), &b = c.in(1);
  if (a.ndim() == 0 || b.ndim() == 0) c.fail("its operands are matrices or vectors");
  return {product(c, a, b, {{{{a.ndim() - 1}, {0}}}, {}})};
});

/// Each row of the first operand, along its ragged dimension, times the second one's matrix of the row's group. Groups are runs of rows;
/// those behind the last group give zeros.
const Import ragged_dot_import("chlo.ragged_dot", [](OpCall& c) -> Values {
  const Array &a = c.in(0), &b = c.in(1), &sizes = c.in(2);
  const Attribute& numbers = c.need("ragged_dot_dimension_numbers");
  auto dims = [&](const char* name, int ndim) { return dims_of(c, numbers.find(name), ndim); };
  const std::vector<int> ragged = dims("lhs_ragged_dimensions", a.ndim()), group = dims("rhs_group_dimensions", b.ndim());
  DotDimensions d{{dims("lhs_contracting_dimensions", a.ndim()), dims("rhs_contracting_dimensions", b.ndim())},
                  {dims("lhs_batching_dimensions", a.ndim()), dims("rhs_batching_dimensions", b.ndim())}};
  auto has = [](const std::vector<int>& v, int x) { return std::find(v.begin(), v.end(), x) != v.end(); };
  if (ragged.size() != 1 || group.size() != 1 || has(d.contracting[0], ragged[0]) || has(d.batch[0], ragged[0]) || sizes.ndim() != 1 ||
      sizes.shape()[0] != b.shape()[group[0]] || has(d.contracting[1], group[0]) || has(d.batch[1], group[0]))
    c.fail("it is read for one ragged dimension of rows, and one of groups");
  for (std::vector<int>* list : {&d.contracting[1], &d.batch[1]})
    for (int& x : *list) x -= x > group[0];
  const Array end = cumulative_sum(convert(Arg(sizes, c.loc), int64), 0, false, c.loc);
  const Array row = iota_array(int64, a.shape(), ragged[0], c.loc);
  auto of_group = [&](const Array& x, std::int64_t g) { return reshape_to(slice_axis(x, 0, g, g + 1, c.loc), {}, c.loc); };
  Array sum = fill_shape(make_literal(Number(0), c.result().dtype), c.result().shape, c.loc);
  for (std::int64_t g = 0; g < sizes.shape()[0]; ++g) {
    Array inside = row < of_group(end, g);
    if (g > 0) inside = inside & (row >= of_group(end, g - 1));
    const Array rows = where(inside, a, scalar(a, 0));
    const Array matrix = squeeze_axes(slice_axis(b, group[0], g, g + 1, c.loc), {group[0]}, c.loc);
    const Array part = product(c, rows, matrix, d);
    // Rows of other groups stay as they are, also where this group's matrix holds NaN.
    const Array mine = iota_array(int64, sum.shape(), row_dimension(d, ragged[0], a.ndim()), c.loc);
    Array own = mine < of_group(end, g);
    if (g > 0) own = own & (mine >= of_group(end, g - 1));
    sum = where(own, part, sum);
  }
  return {sum};
});

const Import einsum_import("stablehlo.einsum", [](OpCall& c) -> Values {
  const TextArg equation(c.need("einsum_config", "config").text, c.loc);
  const Array &a = c.in(0), &b = c.in(1);
  const DType as = c.result_dtype();
  if (a.dtype() == as && b.dtype() == as) return {einsum(equation, a, b)};
  const DType common = promote_types(promote_types(a.dtype(), b.dtype()), as);
  return {convert(einsum(equation, convert(Arg(a, c.loc), common), convert(Arg(b, c.loc), common)), as)};
});
const Import unary_einsum_import("stablehlo.unary_einsum", [](OpCall& c) -> Values {
  return {einsum(TextArg(c.need("einsum_config", "config").text, c.loc), c.in(0))};
});

/// The places of the dimensions of one operand of a convolution: the two that are named, then the spatial ones in order.
std::vector<int> layout_of(const OpCall& c, const Attribute& letters, const char* first, const char* second) {
  const auto rank = static_cast<int>(letters.items.size());
  std::vector<int> out(letters.items.size(), -1);
  for (int d = 0; d < rank; ++d) {
    const Attribute& a = letters.items[static_cast<std::size_t>(d)];
    std::int64_t at = -1;
    if (a.kind == Attribute::Kind::word)
      at = a.text == first ? 0 : a.text == second ? 1 : -1;
    else if (a.kind == Attribute::Kind::integer && a.integer >= 0)
      at = a.integer + 2;
    if (at < 0 || at >= rank || out[static_cast<std::size_t>(at)] >= 0) c.fail("dim_numbers don't name each dimension once");
    out[static_cast<std::size_t>(at)] = d;
  }
  return out;
}
std::vector<int> layout_of(const OpCall& c, const Attribute& numbers, std::string_view first, std::string_view second,
                           std::string_view spatial) {
  std::vector<int> out;
  for (const std::string_view name : {first, second}) {
    const Attribute* a = numbers.find(name);
    out.push_back(a ? static_cast<int>(a->integer) : 0);
  }
  if (const Attribute* a = numbers.find(spatial))
    for (std::int64_t d : integers_of(*a, c)) out.push_back(static_cast<int>(d));
  std::vector<bool> seen(out.size(), false);
  for (int d : out) {
    if (d < 0 || static_cast<std::size_t>(d) >= out.size() || seen[static_cast<std::size_t>(d)])
      c.fail("dimension_numbers don't name each dimension once");
    seen[static_cast<std::size_t>(d)] = true;
  }
  return out;
}

/// An entry of the window: by its attribute, or in the pretty form's `window = {...}`.
std::vector<std::int64_t> window_entry(const OpCall& c, std::string_view name, std::string_view pretty, std::size_t count,
                                       std::int64_t otherwise) {
  const Attribute* a = c.find(name);
  if (const Attribute* window = c.find("window"); !a && window) a = window->find(pretty);
  if (!a) return std::vector<std::int64_t>(count, otherwise);
  std::vector<std::int64_t> out = integers_of(*a, c);
  if (out.size() != count) c.fail(std::string(name) + " must have one entry for each spatial dimension");
  return out;
}

const Import convolution_import("stablehlo.convolution", [](OpCall& c) -> Values {
  Array x = c.in(0), kernel = c.in(1);
  ConvParams p;
  const Attribute& numbers = c.need("dimension_numbers", "dim_numbers");
  if (numbers.kind == Attribute::Kind::dictionary) {
    p.dimension_numbers = {
        layout_of(c, numbers, "input_batch_dimension", "input_feature_dimension", "input_spatial_dimensions"),
        layout_of(c, numbers, "kernel_output_feature_dimension", "kernel_input_feature_dimension", "kernel_spatial_dimensions"),
        layout_of(c, numbers, "output_batch_dimension", "output_feature_dimension", "output_spatial_dimensions")};
  } else {
    if (numbers.items.size() != 3) c.fail("dim_numbers must be written `[...]x[...]->[...]`");
    p.dimension_numbers = {layout_of(c, numbers.items[0], "b", "f"), layout_of(c, numbers.items[1], "o", "i"),
                           layout_of(c, numbers.items[2], "b", "f")};
  }
  const auto rank = static_cast<std::size_t>(x.ndim());
  if (rank < 2 || kernel.ndim() != x.ndim() || p.dimension_numbers.lhs_spec.size() != rank || p.dimension_numbers.rhs_spec.size() != rank ||
      p.dimension_numbers.out_spec.size() != rank)
    c.fail("dimension numbers don't fit the operands");
  const std::size_t spatial = rank - 2;
  p.window_strides = window_entry(c, "window_strides", "stride", spatial, 1);
  p.lhs_dilation = window_entry(c, "lhs_dilation", "lhs_dilate", spatial, 1);
  p.rhs_dilation = window_entry(c, "rhs_dilation", "rhs_dilate", spatial, 1);
  const std::vector<std::int64_t> reverses = window_entry(c, "window_reversal", "reverse", spatial, 0);
  p.padding.assign(spatial, {0, 0});
  const Attribute* window = c.find("window");
  if (const Attribute* pad = window ? window->find("pad") : nullptr) {
    if (pad->items.size() != spatial) c.fail("pad must have one pair for each spatial dimension");
    for (std::size_t i = 0; i < spatial; ++i) {
      const std::vector<std::int64_t> pair = integers_of(pad->items[i], c);
      if (pair.size() != 2 || std::abs(pair[0]) > (1 << 30) || std::abs(pair[1]) > (1 << 30)) c.fail("pad has an entry that is not a pair");
      p.padding[i] = {pair[0], pair[1]};
    }
  } else {
    p.padding = c.pairs("padding", spatial);
  }
  auto count = [&](const char* name) {
    const std::int64_t n = c.integer_or(name, 1);
    if (n < 1 || n > (1 << 30)) c.fail(std::string(name) + " is out of range");
    return static_cast<int>(n);
  };
  p.feature_group_count = count("feature_group_count"), p.batch_group_count = count("batch_group_count");
  std::vector<int> reversed;
  for (std::size_t i = 0; i < spatial; ++i)
    if (reverses[i]) reversed.push_back(p.dimension_numbers.rhs_spec[i + 2]);
  if (!reversed.empty()) kernel = reverse(kernel, reversed, c.loc);
  const DType as = c.result_dtype();
  if (x.dtype() != kernel.dtype()) x = convert(Arg(x, c.loc), as), kernel = convert(Arg(kernel, c.loc), as);
  if (as.is_bool()) {  // whether any of the products is true
    x = convert(Arg(x, c.loc), int32), kernel = convert(Arg(kernel, c.loc), int32);
    return {convolve_of(x, kernel, std::move(p), c.loc) != make_literal(Number(0), int32)};
  }
  if (x.dtype() != as) p.preferred_element_type = as;
  return {convolve_of(x, kernel, std::move(p), c.loc)};
});

}  // namespace
}  // namespace weft::detail::mlir
