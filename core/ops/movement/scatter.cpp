#include "weft/core/ops/movement/scatter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "weft/core/array/array_impl.h"
#include "weft/core/array/host.h"
#include "weft/core/array/storage.h"
#include "weft/core/base/counted.h"
#include "weft/core/base/extrema.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/registry.h"
#include "weft/core/text/text.h"
#include "weft/core/text/text_rules.h"
#include "weft/core/trace/trace.h"

namespace weft::detail {
namespace {

// The operand's type. Throws unless the updates have the shape that a gather with the inverse dimension numbers returns.
Aval scatter_type(const OpContext& c, const ScatterDimensionNumbers& n) {
  const Shape &x = c.in[0].shape, &indices = c.in[1].shape, &updates = c.in[2].shape;
  auto in_range = [&](const std::vector<int>& dims, int ndim, const char* what, bool sorted) {
    for (std::size_t i = 0; i < dims.size(); ++i) {
      if (dims[i] < 0 || dims[i] >= ndim)
        c.fail<ShapeError>(fmt::format("{} {} has a dimension out of range", what, print_param(dims)), fmt::format("there are {}", ndim));
      if (sorted && i > 0 && dims[i] <= dims[i - 1]) c.fail<ShapeError>(fmt::format("{} {} must be increasing", what, print_param(dims)));
      if (std::count(dims.begin(), dims.end(), dims[i]) != 1)
        c.fail<ShapeError>(fmt::format("{} {} names a dimension twice", what, print_param(dims)));
    }
  };
  if (!c.in[1].dtype.is_integer()) c.fail<DTypeError>("the indices must be integers");
  if (c.in[0].dtype != c.in[2].dtype) c.fail<DTypeError>("the operand and the updates have different dtypes", "convert the updates");
  if (indices.empty())
    c.fail<ShapeError>("the indices have no dimension", "the last one holds the starts along scatter_dims_to_operand_dims");
  in_range(n.update_window_dims, updates.size(), "update_window_dims", true);
  in_range(n.inserted_window_dims, x.size(), "inserted_window_dims", true);
  in_range(n.operand_batching_dims, x.size(), "operand_batching_dims", true);
  in_range(n.scatter_indices_batching_dims, indices.size() - 1, "scatter_indices_batching_dims", false);
  in_range(n.scatter_dims_to_operand_dims, x.size(), "scatter_dims_to_operand_dims", false);
  if (indices.back() != static_cast<std::int64_t>(n.scatter_dims_to_operand_dims.size()))
    c.fail<ShapeError>(fmt::format("scatter_dims_to_operand_dims {} needs one start for each of its dimensions",
                                   print_param(n.scatter_dims_to_operand_dims)),
                       fmt::format("the last dimension of the indices must have size {}", n.scatter_dims_to_operand_dims.size()));
  if (n.update_window_dims.size() + n.inserted_window_dims.size() + n.operand_batching_dims.size() != static_cast<std::size_t>(x.size()))
    c.fail<ShapeError>(fmt::format(
        "update_window_dims {}, inserted_window_dims {} and operand_batching_dims {} must together have as many dimensions as the operand",
        print_param(n.update_window_dims), print_param(n.inserted_window_dims), print_param(n.operand_batching_dims)));
  if (n.operand_batching_dims.size() != n.scatter_indices_batching_dims.size())
    c.fail<ShapeError>("operand_batching_dims and scatter_indices_batching_dims must be equally many");
  const auto names = [](const std::vector<int>& dims, int d) { return std::find(dims.begin(), dims.end(), d) != dims.end(); };
  for (const int d : n.operand_batching_dims)
    if (names(n.inserted_window_dims, d) || names(n.scatter_dims_to_operand_dims, d))
      c.fail<ShapeError>(fmt::format("the batching dimension {} is also in inserted_window_dims or scatter_dims_to_operand_dims", d));
  for (std::size_t k = 0; k < n.operand_batching_dims.size(); ++k)
    if (x[n.operand_batching_dims[k]] != indices[n.scatter_indices_batching_dims[k]])
      c.fail<ShapeError>(fmt::format("the batching dimensions {} of the operand and {} of the indices have different sizes",
                                     n.operand_batching_dims[k], n.scatter_indices_batching_dims[k]));
  const int scatter_ndim = updates.size() - static_cast<int>(n.update_window_dims.size());
  if (scatter_ndim != indices.size() - 1)
    c.fail<ShapeError>("the updates must have the dimensions of the indices but the last, and those of update_window_dims",
                       fmt::format("that is {}", counted(indices.size() - 1 + static_cast<int>(n.update_window_dims.size()), "dimension")));
  const IndexedGeometry g = scatter_geometry(n, x.size(), updates);
  for (std::size_t d = 0; d < g.batch_dims.size(); ++d)
    if (updates[g.batch_dims[d]] != indices[static_cast<int>(d)])
      c.fail<ShapeError>(fmt::format("dimension {} of the updates must have the size of dimension {} of the indices", g.batch_dims[d], d));
  for (std::size_t d = 0; d < g.dims.size(); ++d)
    if (g.dims[d].window_dim >= 0 && g.dims[d].window > x[static_cast<int>(d)])
      c.fail<ShapeError>(fmt::format("the updates' windows don't fit into the operand along dimension {}", d));
  return c.in[0];
}

// The gather that reads the positions that a scatter writes.
Array gather_updates(const ScatterParams& p, const Array& from, const Array& indices, const Shape& updates, GatherScatterMode mode,
                     SourceLoc loc) {
  Shape sizes;
  for (const IndexedDim& d : scatter_geometry(p.dimension_numbers, from.ndim(), updates).dims) sizes.push_back(d.window);
  return bind_one<Gather>({inverse(p.dimension_numbers), FillValue::of(0), p.indices_are_sorted, mode, std::move(sizes), p.unique_indices},
                          {from, indices}, loc);
}

template <class P>
BatchResult batch_scatter(const BatchContext& c) {
  P p = c.get<P>();
  ScatterDimensionNumbers& n = p.dimension_numbers;
  const Array x = materialize_batch_dim(c.in[0], c.dims[0], c.axis.size, 0, c.loc);
  const Array updates = materialize_batch_dim(c.in[2], c.dims[2], c.axis.size, 0, c.loc);
  const bool i_mapped = c.dims[1] != kNotMapped;
  const Array indices = i_mapped ? move_batch_dim(c.in[1], c.dims[1], 0, c.loc) : c.in[1];
  n.update_window_dims = behind_mapped_axis(n.update_window_dims, !i_mapped);
  n.inserted_window_dims = behind_mapped_axis(n.inserted_window_dims);
  n.scatter_dims_to_operand_dims = behind_mapped_axis(n.scatter_dims_to_operand_dims);
  n.operand_batching_dims = behind_mapped_axis(n.operand_batching_dims, i_mapped);
  if (i_mapped) {
    n.scatter_indices_batching_dims = behind_mapped_axis(n.scatter_indices_batching_dims, true);
    p.indices_are_sorted = false;
  }
  const Array operands[] = {x, indices, updates};
  return {bind_primitive(c.op, make_params(std::move(p)), operands, c.loc), {0}};
}

template <class F>
void combine_windows(const ReferenceContext& c, const ScatterDimensionNumbers& n, GatherScatterMode mode, F f) {
  const HostTensor &x = c.in[0], &updates = c.in[2], &out = c.out[0];
  std::memcpy(out.data, x.data, static_cast<std::size_t>(x.aval.bytes()));
  for_each_in_windows(scatter_geometry(n, x.aval.ndim(), updates.aval.shape), x.aval.shape, c.in[1], updates.aval.shape,
                      mode == GatherScatterMode::clip, [&](std::int64_t element, std::int64_t in_operand) {
                        if (in_operand >= 0) f(in_operand, element);
                      });
}

// `f` computes in double for floating types, in 64 bits without sign for integers (they wrap around).
template <class F>
void combine(const ReferenceContext& c, F f) {
  const ScatterParams& p = c.get<ScatterParams>();
  with_storage(c.out[0].aval.dtype, [&]<class T>() {
    T* out = c.out[0].as<T>();
    const T* updates = c.in[2].as<T>();
    combine_windows(c, p.dimension_numbers, p.mode, [&](std::int64_t at, std::int64_t element) {
      if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
        out[at] = static_cast<T>(f(static_cast<std::uint64_t>(out[at]), static_cast<std::uint64_t>(updates[element])));
      else if constexpr (std::is_same_v<T, bool>)
        out[at] = static_cast<bool>(f(static_cast<int>(out[at]), static_cast<int>(updates[element])));
      else
        out[at] = store_element<T>(f(load_element(out[at]), load_element(updates[element])));
    });
  });
}

template <bool kMax>
void keep_extremum(const ReferenceContext& c) {
  const ScatterParams& p = c.get<ScatterParams>();
  with_storage(c.out[0].aval.dtype, [&]<class T>() {
    if constexpr (!is_complex_storage<T>) {
      T* out = c.out[0].as<T>();
      const T* updates = c.in[2].as<T>();
      combine_windows(c, p.dimension_numbers, p.mode, [&](std::int64_t at, std::int64_t element) {
        out[at] = store_element<T>(extremum_of<kMax>(load_element(out[at]), load_element(updates[element])));
      });
    }
  });
}

// As in JAX, elements that attain the extremum share the tangent equally.
std::vector<Tangent> jvp_extremum(const JvpContext& c) {
  const ScatterParams& p = c.get<ScatterParams>();
  const Array &x = c.in[0], &indices = c.in[1], &updates = c.in[2], &out = c.out[0];
  const Array zero = zeros_of(x.aval(), c.loc), one = scalar_like(x, 1);
  const Array kept = where(x == out, one, scalar_like(x, 0));
  const Array attained = updates == gather_updates(p, out, indices, updates.shape(), p.mode, c.loc);
  const Array count = bind_one<ScatterAdd>(p, {kept, indices, where(attained, one, scalar_like(x, 0))}, c.loc);
  const Array share = one / where(count > scalar_like(x, 0), count, one);
  const Array update_share = where(attained, gather_updates(p, share, indices, updates.shape(), p.mode, c.loc), scalar_like(x, 0));
  const Array tangent_x = c.tangents[0] ? kept * share * *c.tangents[0] : zero;
  const Array tangent_updates = c.tangents[2] ? update_share * *c.tangents[2] : zeros_of(updates.aval(), c.loc);
  return {bind_one<ScatterAdd>(p, {tangent_x, indices, tangent_updates}, c.loc)};
}

Tangent transposed_updates(const TransposeContext& c, const Array& cotangent) {
  return gather_updates(c.get<ScatterParams>(), cotangent, c.in[1].known(), c.in[2].aval.shape, c.get<ScatterParams>().mode, c.loc);
}

}  // namespace

std::string print_param(const UpdateFunction& v) { return v.jaxpr ? v.jaxpr->to_string() : "None"; }
void read_param(ParamReader& r, UpdateFunction& v) {
  v.jaxpr.reset();
  if (!read_none(r)) v.jaxpr = r.read_jaxpr();
}

ScatterParams scatter_params(const Primitive& op, const ParamsBase& params) {
  if (&op != &primitive_of<Scatter>) return params_as<ScatterParams>(params);
  const Scatter::Params& p = params_as<Scatter::Params>(params);
  return {p.dimension_numbers, p.indices_are_sorted, p.mode, p.unique_indices};
}

Aval ScatterCommon::abstract_eval(const OpContext& c) {
  if (c.in[0].dtype.is_complex() && (c.op.combiner == Combiner::min || c.op.combiner == Combiner::max))
    c.fail<DTypeError>("complex numbers have no order");
  return scatter_type(c, c.get<ScatterParams>().dimension_numbers);
}

// ---- scatter

Aval Scatter::abstract_eval(const OpContext& c) { return scatter_type(c, c.get<Params>().dimension_numbers); }

// Where positions may be repeated, the numbers of the updates are scattered first: they show which update each element keeps.
std::vector<Tangent> Scatter::jvp(const JvpContext& c) {
  const Params& p = c.get<Params>();
  if (p.update_jaxpr.jaxpr) throw TracerError("scatter: not differentiable with an update function", effective_loc(c.loc));
  const Array &x = c.in[0], &indices = c.in[1], &updates = c.in[2];
  const Array tangent_x = instantiate(c.tangents[0], x.aval(), c.loc), tangent_updates = instantiate(c.tangents[2], updates.aval(), c.loc);
  if (p.unique_indices) return {bind_one<Scatter>(p, {tangent_x, indices, tangent_updates}, c.loc)};
  const ScatterParams common{p.dimension_numbers, p.indices_are_sorted, p.mode, p.unique_indices};
  Shape batch_shape = updates.shape();
  for (int d : p.dimension_numbers.update_window_dims) batch_shape[d] = 1;
  const DType number = batch_shape.num_elements() < 0x7fffffff ? uint32 : uint64;
  const Array count = reshape_to(iota_array(number, batch_shape.num_elements(), 0, c.loc), batch_shape, c.loc);
  const Array ids = broadcast_trailing(count + make_literal(Number(1), number), updates.shape(), c.loc);
  const Array written = bind_one<Scatter>(p, {zeros_of({x.shape(), number}, c.loc), indices, ids}, c.loc);
  const Array seen = gather_updates(common, written, indices, updates.shape(), p.mode, c.loc);
  const Array zero = scalar_like(x, 0);
  return {bind_one<ScatterAdd>(
      common, {where(written == make_literal(Number(0), number), tangent_x, zero), indices, where(ids == seen, tangent_updates, zero)},
      c.loc)};
}

std::vector<Tangent> Scatter::transpose(const TransposeContext& c) {
  const Params& p = c.get<Params>();
  if (!c.cotangents[0]) return {std::nullopt, std::nullopt, std::nullopt};
  if (!p.unique_indices || p.update_jaxpr.jaxpr)
    throw TracerError("scatter: can be transposed only where unique_indices is true and there is no update function", effective_loc(c.loc));
  const Array &t = *c.cotangents[0], &indices = c.in[1].known();
  std::vector<Tangent> out(3);
  if (c.in[0].is_linear()) out[0] = bind_one<Scatter>(p, {t, indices, zeros_of(c.in[2].aval, c.loc)}, c.loc);
  if (c.in[2].is_linear())
    out[2] = gather_updates({p.dimension_numbers, p.indices_are_sorted, p.mode, p.unique_indices}, t, indices, c.in[2].aval.shape, p.mode,
                            c.loc);
  return out;
}

BatchResult Scatter::batch(const BatchContext& c) { return batch_scatter<Params>(c); }

void Scatter::reference(const ReferenceContext& c) {
  const Params& p = c.get<Params>();
  const DType dtype = c.out[0].aval.dtype;
  const auto size = static_cast<std::size_t>(dtype.itemsize());
  std::byte* out = c.out[0].as<std::byte>();
  const std::byte* updates = c.in[2].as<std::byte>();
  const Aval scalar{{}, dtype};
  combine_windows(c, p.dimension_numbers, p.mode, [&](std::int64_t at, std::int64_t element) {
    std::byte* to = out + static_cast<std::size_t>(at) * size;
    const std::byte* update = updates + static_cast<std::size_t>(element) * size;
    if (!p.update_jaxpr.jaxpr) {
      std::memcpy(to, update, size);
      return;
    }
    EagerScope eager;
    const Array args[] = {make_concrete(scalar, to), make_concrete(scalar, update)};
    read_elements(eval_jaxpr(*p.update_jaxpr.jaxpr, args)[0], dtype, to, "scatter", {});
  });
}

// ---- scatter-add, scatter-sub

std::vector<Tangent> ScatterAdd::jvp(const JvpContext& c) {
  return {bind_one<ScatterAdd>(
      c.get<Params>(), {instantiate(c.tangents[0], c.in[0].aval(), c.loc), c.in[1], instantiate(c.tangents[2], c.in[2].aval(), c.loc)},
      c.loc)};
}
std::vector<Tangent> ScatterAdd::transpose(const TransposeContext& c) {
  std::vector<Tangent> out(3);
  if (!c.cotangents[0]) return out;
  if (c.in[0].is_linear()) out[0] = c.cotangents[0];
  if (c.in[2].is_linear()) out[2] = transposed_updates(c, *c.cotangents[0]);
  return out;
}
BatchResult ScatterAdd::batch(const BatchContext& c) { return batch_scatter<Params>(c); }
void ScatterAdd::reference(const ReferenceContext& c) {
  combine(c, [](auto a, auto b) { return a + b; });
}

std::vector<Tangent> ScatterSub::jvp(const JvpContext& c) {
  return {bind_one<ScatterSub>(
      c.get<Params>(), {instantiate(c.tangents[0], c.in[0].aval(), c.loc), c.in[1], instantiate(c.tangents[2], c.in[2].aval(), c.loc)},
      c.loc)};
}
std::vector<Tangent> ScatterSub::transpose(const TransposeContext& c) {
  std::vector<Tangent> out(3);
  if (!c.cotangents[0]) return out;
  if (c.in[0].is_linear()) out[0] = c.cotangents[0];
  if (c.in[2].is_linear()) out[2] = -*transposed_updates(c, *c.cotangents[0]);
  return out;
}
BatchResult ScatterSub::batch(const BatchContext& c) { return batch_scatter<Params>(c); }
void ScatterSub::reference(const ReferenceContext& c) {
  combine(c, [](auto a, auto b) { return a - b; });
}

// ---- scatter-mul

std::vector<Tangent> ScatterMul::jvp(const JvpContext& c) {
  const Params& p = c.get<Params>();
  const Array &x = c.in[0], &indices = c.in[1], &updates = c.in[2];
  Tangent out;
  if (c.tangents[0]) out = bind_one<ScatterMul>(p, {*c.tangents[0], indices, updates}, c.loc);
  if (c.tangents[2]) {
    Array tangent = *c.tangents[2];
    if (!p.unique_indices) tangent = tangent * products_of_others(p, x.shape(), indices, updates, c.loc);
    const Array summed = bind_one<ScatterAdd>(p, {zeros_of(x.aval(), c.loc), indices, tangent}, c.loc);
    out = add_tangents(out, x * summed, c.loc);
  }
  return {out};
}
std::vector<Tangent> ScatterMul::transpose(const TransposeContext& c) {
  const Params& p = c.get<Params>();
  std::vector<Tangent> out(3);
  if (!c.cotangents[0]) return out;
  if (c.in[0].is_linear()) {
    out[0] = bind_one<ScatterMul>(p, {*c.cotangents[0], c.in[1].known(), c.in[2].known()}, c.loc);
  } else {
    if (!p.unique_indices)
      throw TracerError("scatter-mul: can be transposed by the updates only where no position is repeated (unique_indices)",
                        effective_loc(c.loc));
    out[2] = transposed_updates(c, *c.cotangents[0] * c.in[0].known());
  }
  return out;
}
BatchResult ScatterMul::batch(const BatchContext& c) { return batch_scatter<Params>(c); }
void ScatterMul::reference(const ReferenceContext& c) {
  combine(c, [](auto a, auto b) { return a * b; });
}

// ---- scatter-min, scatter-max

std::vector<Tangent> ScatterMin::jvp(const JvpContext& c) { return jvp_extremum(c); }
BatchResult ScatterMin::batch(const BatchContext& c) { return batch_scatter<Params>(c); }
void ScatterMin::reference(const ReferenceContext& c) { keep_extremum<false>(c); }
std::vector<Tangent> ScatterMax::jvp(const JvpContext& c) { return jvp_extremum(c); }
BatchResult ScatterMax::batch(const BatchContext& c) { return batch_scatter<Params>(c); }
void ScatterMax::reference(const ReferenceContext& c) { keep_extremum<true>(c); }

namespace {

constexpr ParamValue kAdded[] = {{"update_consts", "()"}}, kScatterAdded[] = {{"update_consts", "()"}, {"update_jaxpr", "None"}};
const TextRule<Scatter> scatter_text([] { return TextTraits{.added = kScatterAdded}; });
const TextRule<ScatterAdd> scatter_add_text([] { return TextTraits{.added = kAdded, .update = "add"}; });
const TextRule<ScatterSub> scatter_sub_text([] { return TextTraits{.added = kAdded, .update = "sub"}; });
const TextRule<ScatterMul> scatter_mul_text([] { return TextTraits{.added = kAdded, .update = "mul"}; });
const TextRule<ScatterMin> scatter_min_text([] { return TextTraits{.added = kAdded, .update = "min"}; });
const TextRule<ScatterMax> scatter_max_text([] { return TextTraits{.added = kAdded, .update = "max"}; });

}  // namespace

PrimitiveList scatter_primitives() {
  static constexpr const Primitive* kList[] = {&primitive_of<Scatter>,    &primitive_of<ScatterAdd>, &primitive_of<ScatterSub>,
                                               &primitive_of<ScatterMul>, &primitive_of<ScatterMin>, &primitive_of<ScatterMax>};
  return kList;
}

}  // namespace weft::detail
