#include "weft/core/ops/linalg/linalg_common.h"

#include "weft/core/array/constructors.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/movement/gather.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/reduce/reduce.h"

namespace weft::detail {

void check_matrix(const OpContext& c, std::size_t i) {
  const Aval& a = c.in[i];
  if (a.ndim() < 2) c.fail<ShapeError>("operand " + std::to_string(i) + " is not a matrix", "it needs two dimensions or more");
  if (!a.dtype.is_inexact() || a.dtype == float16 || a.dtype == bfloat16)
    c.fail<DTypeError>("not defined for " + std::string(a.dtype.name()), "convert to float32 or float64 first");
}
void check_square_matrix(const OpContext& c, std::size_t i) {
  check_matrix(c, i);
  const Shape& s = c.in[i].shape;
  if (s.back() != s[s.size() - 2]) c.fail<ShapeError>("the matrix is not square", "its last two dimensions must be equal");
}

Shape matrix_shape(const Shape& like, std::initializer_list<std::int64_t> last) {
  Shape shape(like.begin(), like.end() - 2);
  for (std::int64_t n : last) shape.push_back(n);
  return shape;
}

BatchResult batch_matrices(const BatchContext& c) {
  std::vector<Array> in;
  for (std::size_t i = 0; i < c.in.size(); ++i) in.push_back(materialize_batch_dim(c.in[i], c.dims[i], c.axis.size, 0, c.loc));
  BatchResult r{bind_primitive(c.op, c.params, in, c.loc), {}};
  r.dims.assign(r.out.size(), 0);
  return r;
}

Array transposed(const Array& x) { return move_axis(x, x.ndim() - 1, x.ndim() - 2, {}); }
Array conjugate(const Array& x) { return x.dtype().is_complex() ? conj(x) : x; }
Array adjoint(const Array& x) { return conjugate(transposed(x)); }
Array identity_like(const Array& x, std::int64_t n) { return eye(n, {}, 0, x.dtype()); }

// The diagonal: in row-major order its elements are one row and one element apart.
Array diagonal_of(const Array& x, SourceLoc loc) {
  const std::int64_t n = x.shape().back(), k = std::min(x.shape()[x.ndim() - 2], n);
  const Array rows = slice_axis(x, x.ndim() - 2, 0, k, loc);
  const Array flat = reshape_to(rows, matrix_shape(x.shape(), {k * n}), loc);
  std::vector<std::int64_t> start(static_cast<std::size_t>(flat.ndim())), limit(flat.shape().begin(), flat.shape().end()),
      strides(start.size(), 1);
  strides.back() = n + 1;
  return slice_range(flat, start, limit, strides, loc);
}
Array trace_of(const Array& x, SourceLoc loc) {
  const Array d = diagonal_of(x, loc);
  return reduce_sum(d, {d.ndim() - 1}, loc);
}

Array permute_rows(const Array& x, const Array& permutation, SourceLoc loc) {
  const int n = permutation.ndim();  // the dimension of the rows is n - 1
  Gather::Params p;
  p.mode = GatherScatterMode::promise_in_bounds;
  p.unique_indices = true;
  for (int i = 0; i + 1 < n; ++i) {
    p.dimension_numbers.operand_batching_dims.push_back(i);
    p.dimension_numbers.start_indices_batching_dims.push_back(i);
    p.slice_sizes.push_back(1);
  }
  p.dimension_numbers.start_index_map = p.dimension_numbers.collapsed_slice_dims = {n - 1};
  p.slice_sizes.push_back(1);
  p.dimension_numbers.offset_dims = {n};
  p.slice_sizes.push_back(x.shape().back());
  return bind_one<Gather>(std::move(p), {x, insert_axes(permutation, {n}, loc)}, loc);
}

}  // namespace weft::detail
