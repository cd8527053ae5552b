// conv_general_dilated: https://openxla.org/stablehlo/spec#convolution. The rules are those of jax.lax.conv_general_dilated.
#include "weft/core/ops/contraction/conv.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "weft/core/base/counted.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/contraction/terms.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/registry.h"
#include "weft/core/text/text.h"
#include "weft/core/text/text_rules.h"

namespace weft::detail {

std::string print_param(const ConvDimensions& v) { return print_fields("ConvDimensionNumbers", v); }
void read_param(ParamReader& r, ConvDimensions& v) { read_fields(r, "ConvDimensionNumbers", v); }

std::vector<WindowDim> conv_windows(const ConvParams& p, const Shape& lhs, const Shape& rhs) {
  std::vector<WindowDim> dims;
  for (std::size_t i = 0; i < p.window_strides.size(); ++i)
    dims.push_back({.size = lhs[p.dimension_numbers.lhs_spec[i + 2]],
                    .window = rhs[p.dimension_numbers.rhs_spec[i + 2]],
                    .stride = p.window_strides[i],
                    .base_dilation = p.lhs_dilation[i],
                    .window_dilation = p.rhs_dilation[i],
                    .low = p.padding[i].first,
                    .high = p.padding[i].second});
  return dims;
}

namespace {

/// Axis `src` is merged into axis `dst`, numbered without src, as its slower part.
Array merge_axis_into(int src, int dst, const Array& x, SourceLoc loc) {
  const Array moved = move_axis(x, src, dst, loc);
  Shape shape = x.shape().erased(src);
  shape[dst] *= x.shape()[src];
  return reshape_to(moved, shape, loc);
}
/// Axis `src` becomes two, the slower one of the given size.
Array split_axis(int src, std::int64_t size, const Array& x, SourceLoc loc) {
  return reshape_to(x, x.shape().with(src, x.shape()[src] / size).inserted(src, size), loc);
}
std::vector<int> first_two_swapped(std::vector<int> spec) {
  std::swap(spec[0], spec[1]);
  return spec;
}
void check_spec(const OpContext& c, const char* what, const std::vector<int>& spec, int ndim) {
  std::vector<int> sorted = spec, all(static_cast<std::size_t>(ndim));
  std::sort(sorted.begin(), sorted.end());
  std::iota(all.begin(), all.end(), 0);
  if (sorted != all) c.fail<AxisError>(fmt::format("{} doesn't name each of {} dimensions once", what, ndim), "it is a permutation");
}

struct Conv {
  static constexpr int num_operands = 2;
  static constexpr std::string_view name = "conv_general_dilated",
                                    doc = "Products of a sliding window and a kernel, summed over the window and its features.";
  static constexpr Kind kind = Kind::convolution;
  using Params = ConvParams;

  static Aval abstract_eval(const OpContext& c) {
    const Params& p = c.get<Params>();
    const Aval &lhs = c.in[0], &rhs = c.in[1];
    const int ndim = lhs.ndim();
    if (ndim < 2 || rhs.ndim() != ndim)
      c.fail<ShapeError>("the operands' numbers of dimensions don't fit",
                         "both have batch or output features, features, and the spatial ones");
    const auto spatial = static_cast<std::size_t>(ndim - 2);
    check_spec(c, "lhs_spec", p.dimension_numbers.lhs_spec, ndim);
    check_spec(c, "rhs_spec", p.dimension_numbers.rhs_spec, ndim);
    check_spec(c, "out_spec", p.dimension_numbers.out_spec, ndim);
    auto positive = [](const std::vector<std::int64_t>& v) {
      return std::all_of(v.begin(), v.end(), [](std::int64_t n) { return n > 0; });
    };
    if (p.window_strides.size() != spatial || p.lhs_dilation.size() != spatial || p.rhs_dilation.size() != spatial ||
        p.padding.size() != spatial)
      c.fail<ShapeError>(fmt::format("strides, dilations and padding must have an entry for each of the {} spatial dimensions", spatial));
    if (!positive(p.window_strides) || !positive(p.lhs_dilation) || !positive(p.rhs_dilation) || p.feature_group_count < 1 ||
        p.batch_group_count < 1)
      c.fail<ShapeError>("strides, dilations and numbers of groups must be positive");
    if (p.feature_group_count > 1 && p.batch_group_count > 1)
      c.fail<ShapeError>("there are groups of features and of the batch", "choose one");
    if (lhs.dtype != rhs.dtype) c.fail<DTypeError>("the operands differ in dtype", "convert one of them");
    if (lhs.dtype == bool_) c.fail<DTypeError>("not defined for bool", "convert to a number type first");

    const auto& [l, r, o] = p.dimension_numbers;
    const std::int64_t batch = lhs.shape[l[0]], features = lhs.shape[l[1]], outputs = rhs.shape[r[0]], inputs = rhs.shape[r[1]];
    if (features != inputs * p.feature_group_count)
      c.fail<ShapeError>(fmt::format("{} of the first operand in {}, and a kernel of {}", counted(features, "feature"),
                                     counted(p.feature_group_count, "group"), counted(inputs, "feature")),
                         "each group must have as many features as the kernel; dimension_numbers says which dimension holds them");
    if (outputs % p.feature_group_count != 0 || outputs % p.batch_group_count != 0 || batch % p.batch_group_count != 0)
      c.fail<ShapeError>(fmt::format("{} output features and a batch of {} can't be divided into {} groups", outputs, batch,
                                     std::max(p.feature_group_count, p.batch_group_count)),
                         "the groups must be equal");
    Shape out = lhs.shape;
    out[o[0]] = batch / p.batch_group_count;
    out[o[1]] = outputs;
    const std::vector<WindowDim> windows = conv_windows(p, lhs.shape, rhs.shape);
    for (std::size_t i = 0; i < spatial; ++i) {
      if (!windows[i].is_countable()) c.fail<ShapeError>("a dilated size or a padding is 2^61 or more", "no array can be that large");
      out[o[i + 2]] = windows[i].positions();
    }
    const DType dtype = p.preferred_element_type.value_or(lhs.dtype);
    auto rank = [](DType d) { return d.is_complex() ? 2 : d.is_floating() ? 1 : 0; };
    if (rank(dtype) < rank(lhs.dtype) || dtype == bool_)
      c.fail<DTypeError>(fmt::format("preferred_element_type {} can't hold products of {}", dtype.name(), lhs.dtype.name()),
                         "choose one of the operands' kind");
    return {out, dtype, lhs.weak && rhs.weak};
  }

  static std::vector<Tangent> jvp(const JvpContext& c) {
    Tangent sum;
    for (std::size_t k = 0; k < 2; ++k)
      if (c.tangents[k]) {
        const Array a = k == 0 ? *c.tangents[0] : c.in[0], b = k == 1 ? *c.tangents[1] : c.in[1];
        sum = add_tangents(sum, bind_one<Conv>(c.get<Params>(), {a, b}, c.loc), c.loc);
      }
    return {sum};
  }

  static std::vector<Tangent> transpose(const TransposeContext& c) {
    std::vector<Tangent> out(2);
    if (!c.cotangents[0]) return out;
    const std::size_t k = c.in[0].is_linear() ? 0 : 1;
    const Array& known = c.in[1 - k].known();
    const Array ct = cotangent_like(*c.cotangents[0], known);
    const Array result = k == 0 ? transpose_lhs(c, ct, known) : transpose_rhs(c, ct, known);
    out[k] = cotangent_like(result, c.in[k].aval);
    return out;
  }

  static BatchResult batch(const BatchContext& c) {
    Params p = c.get<Params>();
    const Array &lhs = c.in[0], &rhs = c.in[1];
    const auto [l, r, o] = p.dimension_numbers;
    const int i = c.dims[0], j = c.dims[1];
    const std::int64_t size = c.axis.size;
    auto conv = [&](const Array& x, const Array& y) { return convolve_of(x, y, p, c.loc); };
    if (i != kNotMapped && j != kNotMapped) {  // a group for each
      const bool by_batch = p.batch_group_count > 1;
      (by_batch ? p.batch_group_count : p.feature_group_count) *= size;
      const Array out = conv(merge_axis_into(i, by_batch ? l[0] : l[1], lhs, c.loc), merge_axis_into(j, r[0], rhs, c.loc));
      return {{split_axis(o[1], size, out, c.loc)}, {o[1]}};
    }
    // Groups stay the slowest part of the axis that the mapped one goes into.
    auto merge_behind_groups = [&](const Array& x, int mapped, int axis, std::int64_t groups) {
      if (groups == 1) return merge_axis_into(mapped, axis, x, c.loc);
      const Array divided = split_axis(axis + (mapped <= axis), groups, x, c.loc);
      return merge_axis_into(axis, axis, merge_axis_into(mapped + (axis < mapped), axis + 1, divided, c.loc), c.loc);
    };
    if (i != kNotMapped) {
      const Array out = conv(merge_behind_groups(lhs, i, l[0], p.batch_group_count), rhs);
      return {{split_axis(o[0], size, out, c.loc)}, {o[0]}};
    }
    const std::int64_t groups = std::max(p.feature_group_count, p.batch_group_count);
    Array out = conv(lhs, merge_behind_groups(rhs, j, r[0], groups));
    if (groups == 1) return {{split_axis(o[1], size, out, c.loc)}, {o[1]}};
    out = split_axis(o[1] + 1, size, split_axis(o[1], groups, out, c.loc), c.loc);
    return {{merge_axis_into(o[1], o[1] + 1, out, c.loc)}, {o[1]}};
  }

  static void reference(const ReferenceContext& c) { conv_reference(c); }

 private:
  static Array cotangent_like(const Array& x, const Aval& want) { return x.dtype() == want.dtype ? x : convert(x, want.dtype); }
  static Array cotangent_like(const Array& x, const Array& other) { return cotangent_like(x, other.aval()); }

  /// The cotangent under the reversed kernel, features and outputs in each other's place.
  static Array transpose_lhs(const TransposeContext& c, const Array& ct, Array rhs) {
    const Params& p = c.get<Params>();
    const auto& [l, r, o] = p.dimension_numbers;
    const std::int64_t groups = std::max(p.feature_group_count, p.batch_group_count);
    if (groups > 1) rhs = merge_axis_into(r[0], r[1], split_axis(r[0], groups, rhs, c.loc), c.loc);
    Params q = p;
    q.batch_group_count = 1, q.feature_group_count = groups;
    q.dimension_numbers = {o, first_two_swapped(r), l};
    q.lhs_dilation = p.window_strides, q.window_strides = p.lhs_dilation;
    q.padding.clear();
    for (const WindowDim& d : conv_windows(p, c.in[0].aval.shape, c.in[1].aval.shape)) q.padding.push_back(padding_back(d));
    const Array flipped = reverse(rhs, {r.begin() + 2, r.end()}, c.loc);
    const Array out = convolve_of(ct, flipped, q, c.loc);
    if (p.batch_group_count == 1) return out;
    return merge_axis_into(l[1], l[0], split_axis(l[1], p.batch_group_count, out, c.loc), c.loc);
  }
  /// The operand under the cotangent as a kernel, the batch as features.
  static Array transpose_rhs(const TransposeContext& c, const Array& ct, const Array& lhs) {
    const Params& p = c.get<Params>();
    const auto& [l, r, o] = p.dimension_numbers;
    Params q = p;
    q.feature_group_count = p.batch_group_count, q.batch_group_count = p.feature_group_count;
    q.dimension_numbers = {first_two_swapped(l), first_two_swapped(o), first_two_swapped(r)};
    q.rhs_dilation = p.window_strides, q.window_strides = p.rhs_dilation;
    const std::vector<WindowDim> windows = conv_windows(p, lhs.shape(), c.in[1].aval.shape);
    for (std::size_t i = 0; i < windows.size(); ++i) {
      const WindowDim& d = windows[i];
      const std::int64_t from_lhs = dilated(d.positions(), d.stride) - dilated(d.size, d.base_dilation);
      q.padding[i].second = from_lhs + dilated(d.window, d.window_dilation) - d.low - 1;
    }
    return convolve_of(lhs, ct, q, c.loc);
  }
};

constexpr ParamValue kConvAdded[] = {{"out_sharding", "None"}, {"precision", "None"}};
const Rule<TermsTransform, Conv> conv_terms([](const ParamsBase& p, std::span<const Aval> in, const Aval& out) {
  const std::int64_t outputs = in[1].shape[params_as<ConvParams>(p).dimension_numbers.rhs_spec[0]];
  return outputs == 0 ? 0 : static_cast<double>(out.size()) * static_cast<double>(in[1].size() / outputs);
});
const TextRule<Conv> conv_text([] { return TextTraits{.added = kConvAdded}; });

}  // namespace

const Primitive& convolution_primitive() { return primitive_of<Conv>; }

Array convolve_of(const Array& lhs, const Array& rhs, ConvParams params, SourceLoc loc) {
  return bind_one<Conv>(std::move(params), {lhs, rhs}, loc);
}

PrimitiveList conv_primitives() {
  static constexpr const Primitive* list[] = {&primitive_of<Conv>};
  return list;
}

}  // namespace weft::detail
