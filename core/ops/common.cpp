#include "weft/core/ops/common.h"

#include <fmt/format.h>

#include <numeric>

#include "weft/core/array/array_impl.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/trace/trace.h"

namespace weft::detail {

Shape broadcast_shapes(const OpContext& c) {
  const Shape* widest = nullptr;
  for (const Aval& a : c.in)
    if (a.ndim() > 0) {
      if (widest && widest->size() != a.ndim())
        c.fail<ShapeError>("operands have different numbers of dimensions",
                           "an operand may have rank 0, or the rank of the others; reshape or expand_dims the one of lower rank");
      if (!widest) widest = &a.shape;
    }
  if (!widest) return {};
  Shape out = *widest;
  for (const Aval& a : c.in)
    for (int i = 0; i < a.ndim(); ++i) {
      if (a.shape[i] == out[i] || a.shape[i] == 1) continue;
      if (out[i] != 1)
        c.fail<ShapeError>(fmt::format("sizes {} and {} of dimension {} are not compatible", out[i], a.shape[i], i),
                           "sizes of a dimension must be equal, or 1");
      out[i] = a.shape[i];
    }
  return out;
}

Array move_batch_dim(const Array& x, int from, int to, SourceLoc loc) {
  if (from == to) return x;
  std::vector<int> permutation(static_cast<std::size_t>(x.ndim()));
  std::iota(permutation.begin(), permutation.end(), 0);
  permutation.erase(permutation.begin() + from);
  permutation.insert(permutation.begin() + to, from);
  return transpose(Arg(x, loc), Axis(permutation));
}
Array batch_dim_in_front(const Array& x, int dim, int ndim, SourceLoc loc) {
  if (dim == kNotMapped) return x;
  const Array front = move_batch_dim(x, dim, 0, loc);
  std::vector<int> inserted;
  for (int i = 0; i < ndim + 1 - x.ndim(); ++i) inserted.push_back(i + 1);
  return inserted.empty() ? front : expand_dims(Arg(front, loc), Axis(inserted));
}
Array broadcast_batch_dim(const Array& x, std::int64_t size, int at, SourceLoc loc) {
  const Array aligned = at == 0 ? x : expand_dims(Arg(x, loc), Axis(at));
  return broadcast_to(Arg(aligned, loc), x.shape().inserted(at, size));
}
Array materialize_batch_dim(const Array& x, int dim, std::int64_t size, int to, SourceLoc loc) {
  return dim == kNotMapped ? broadcast_batch_dim(x, size, to, loc) : move_batch_dim(x, dim, to, loc);
}

BatchResult batch_elementwise(const BatchContext& c) {
  int dim = kNotMapped, ndim = 0;
  bool aligned = true;  // all operands but scalars are mapped at one place of one shape
  const Shape* shape = nullptr;
  for (std::size_t i = 0; i < c.in.size(); ++i) {
    ndim = std::max(ndim, c.in[i].ndim() - (c.dims[i] == kNotMapped ? 0 : 1));
    if (c.dims[i] == kNotMapped || shape) continue;
    dim = c.dims[i];
    shape = &c.in[i].shape();
  }
  for (std::size_t i = 0; i < c.in.size(); ++i)
    if (c.in[i].ndim() > 0) aligned = aligned && c.dims[i] == dim && c.in[i].shape() == *shape;
  if (aligned) return {bind_primitive(c.op, c.params, c.in, c.loc), {dim}};
  std::vector<Array> operands;
  for (std::size_t i = 0; i < c.in.size(); ++i) {
    const Array& x = c.in[i];
    if (c.dims[i] != kNotMapped)
      operands.push_back(batch_dim_in_front(x, c.dims[i], ndim, c.loc));
    else
      operands.push_back(x.ndim() == 0 ? x : expand_dims(Arg(x, c.loc), Axis(0)));
  }
  return {bind_primitive(c.op, c.params, operands, c.loc), {0}};
}

Array unbroadcast(const Array& cotangent, const Aval& operand, SourceLoc loc) {
  if (cotangent.shape() == operand.shape) return cotangent;
  std::vector<int> axes;
  for (int i = 0; i < cotangent.ndim(); ++i)
    if (operand.ndim() == 0 || operand.shape[i] != cotangent.shape()[i]) axes.push_back(i);
  const Array summed = reduce_sum(cotangent, axes, loc);
  return operand.ndim() == 0 ? summed : reshape(Arg(summed, loc), operand.shape);
}

Array zeros_of(const Aval& aval, SourceLoc loc) {
  const Array zero = make_literal(Number(0), aval.dtype, aval.weak);
  return aval.ndim() == 0 ? zero : broadcast_to(Arg(zero, loc), aval.shape);
}
Array instantiate(const Tangent& t, const Aval& aval, SourceLoc loc) { return t ? *t : zeros_of(aval, loc); }
Tangent add_tangents(const Tangent& a, const Tangent& b, SourceLoc loc) {
  if (!a) return b;
  if (!b) return a;
  return add_any(*a, *b, loc);
}

Array scalar_like(const Array& x, double value) { return make_literal(Number(value), x.dtype(), x.aval().weak); }

int normalize_axis(int axis, int ndim, const char* operation, const Aval& operand, SourceLoc loc) {
  if (axis < -ndim || axis >= ndim) {
    const std::string type = to_string(operand);
    throw AxisError(ndim == 0 ? fmt::format("{}: axis {} is out of range for {}, which has no axes", operation, axis, type)
                              : fmt::format("{}: axis {} is out of range for {}; it must be at least {} and less than {}", operation, axis,
                                            type, -ndim, ndim),
                    effective_loc(loc));
  }
  return axis < 0 ? axis + ndim : axis;
}

}  // namespace weft::detail
