// Which matmuls go to a library, and with what strides: transposes of operands are absorbed.
#include <algorithm>
#include <utility>

#include "weft/backends/codegen/planner/movement_reader.h"
#include "weft/backends/codegen/planner/planner.h"
#include "weft/core/ops/contraction/dot.h"
#include "weft/core/ops/contraction/dot_expand.h"

namespace weft::detail {
namespace {

constexpr double kLibraryAbove = 160. * 160 * 160;  // multiplications
constexpr double kFirstCache = 32 << 10;            // bytes
constexpr std::int64_t kManyRows = 8;

/// A matmul's loops of one kind, each with its strides in the operands and the result.
struct Loops {
  std::vector<std::int64_t> size, stride_a, stride_b, stride_out;
  void add(std::int64_t s, std::int64_t a, std::int64_t b, std::int64_t out) {
    if (s == 1) return;
    // Nested loops that are contiguous in all operands are merged.
    if (!size.empty() && stride_a.back() == a * s && stride_b.back() == b * s && stride_out.back() == out * s) {
      size.back() *= s, stride_a.back() = a, stride_b.back() = b, stride_out.back() = out;
      return;
    }
    size.push_back(s), stride_a.push_back(a), stride_b.push_back(b), stride_out.push_back(out);
  }
};

/// The loops of a contraction, one for each dimension that has more than one element, and the operands' coordinates over them.
struct ContractionLoops {
  Dag dag;
  std::vector<int> batch, free[2], contracted;
  std::array<std::vector<NodeId>, 2> at;

  ContractionLoops(const DotDimensions& dims, const Aval& a, const Aval& b) {
    at[0].assign(static_cast<std::size_t>(a.ndim()), dag.index(0)), at[1].assign(static_cast<std::size_t>(b.ndim()), dag.index(0));
    for (std::size_t i = 0; i < dims.batch[0].size(); ++i) add(a.shape[dims.batch[0][i]], batch, dims.batch[0][i], dims.batch[1][i]);
    for (int d : dot_free_dims(dims, 0, a.ndim())) add(a.shape[d], free[0], d, -1);
    for (int d : dot_free_dims(dims, 1, b.ndim())) add(b.shape[d], free[1], -1, d);
    for (std::size_t i = 0; i < dims.contracting[0].size(); ++i)
      add(a.shape[dims.contracting[0][i]], contracted, dims.contracting[0][i], dims.contracting[1][i]);
  }
  std::int64_t size(int loop) const { return dag.dims[static_cast<std::size_t>(loop)]; }
  /// The stride of each loop in the result, which is row-major in the order batch, free ones of a, free ones of b.
  std::vector<std::int64_t> strides_in_result() const {
    std::vector<std::int64_t> strides(dag.dims.size(), 0);
    std::int64_t total = 1;
    for (const std::vector<int>* list : {&free[1], &free[0], &batch})
      for (std::size_t i = list->size(); i-- > 0;) strides[static_cast<std::size_t>((*list)[i])] = total, total *= size((*list)[i]);
    return strides;
  }

 private:
  void add(std::int64_t size, std::vector<int>& list, int a, int b) {
    if (size == 1) return;
    const int loop = dag.add_dim(size);
    list.push_back(loop);
    if (a >= 0) at[0][static_cast<std::size_t>(a)] = dag.index_dim(loop);
    if (b >= 0) at[1][static_cast<std::size_t>(b)] = dag.index_dim(loop);
  }
};

}  // namespace

bool KernelPlanner::matmul_is_kernel(const Eqn& e) const {
  const Aval &a = j_.aval(e.inputs[0]), &b = j_.aval(e.inputs[1]), &out = j_.avals[e.outputs[0]];
  if (!target_.matmuls_by_library || e.inputs[0].is_literal() || e.inputs[1].is_literal() || out.size() == 0) return true;
  const DotDimensions& dims = params_as<DotParams>(*e.params).dimension_numbers;
  std::int64_t batch = 1;
  MatmulStep p;
  p.dtype = a.dtype, p.right_dtype = b.dtype, p.out_dtype = out.dtype;
  for (int d : dims.batch[0]) batch *= a.shape[d];
  for (int d : dims.contracting[0]) p.k *= a.shape[d];
  const std::int64_t each = std::max<std::int64_t>(1, batch * p.k);
  p.m = a.size() / each, p.n = b.size() / each;
  p.a_row = p.k, p.a_col = 1, p.b_row = p.out_row = p.n, p.b_col = 1;
  if (batch > 1) p.batch.push_back({batch, p.m * p.k, p.k * p.n, p.m * p.n});
  if (target_.prefers_matmul) {
    if (target_.prefers_matmul(p)) return false;
    // Fused with the matmul that computes its left operand, each row would read the whole right operand again.
    const bool is_wide = static_cast<double>(p.k) * static_cast<double>(p.n) * b.dtype.itemsize() >= kFirstCache;
    return !(a.dtype.is_floating() && p.m >= kManyRows && is_wide && comes_from_matmul(e.inputs[0].var()));
  }
  if (a.dtype != b.dtype || !a.dtype.is_floating() || (out.dtype != a.dtype && (a.dtype.itemsize() > 2 || out.dtype != float32)))
    return true;
  // Matmuls with vectors are bound by memory; those that fit in the cache run as fast in a kernel, which can fuse the surrounding
  // operations.
  return p.m < 4 || p.n < 4 || p.k < 4 || static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k) <= kLibraryAbove;
}

/// Whether a value is computed from a matmul by operations that are fused into its readers.
bool KernelPlanner::comes_from_matmul(Var v) const {
  std::vector<Var> open{v};
  std::vector<char> seen(avals_.size(), 0);
  while (!open.empty()) {
    const Var next = open.back();
    open.pop_back();
    if (defined_by_[next] < 0 || std::exchange(seen[next], 1)) continue;
    const auto by = static_cast<std::size_t>(defined_by_[next]);
    const Eqn& e = j_.eqns[by];
    if (e.op->kind == Kind::dot) return true;
    if (!injective_[by]) continue;
    for (const Atom& a : e.inputs)
      if (!a.is_literal()) open.push_back(a.var());
  }
  return false;
}

/// Whether neighbours along the last dimension, along which matmuls are vectorised, are apart in the memory that the data movement reads.
bool KernelPlanner::is_transposed(Var v, std::int64_t least_bytes) const {
  const Aval& a = j_.avals[v];
  if (a.ndim() == 0 || a.dtype.is_complex() || a.shape.back() * a.dtype.itemsize() < least_bytes) return false;
  Dag dag;
  std::vector<NodeId> at;
  for (const std::int64_t size : a.shape) at.push_back(dag.index_dim(dag.add_dim(size)));
  MovementReader reader(j_, defined_by_, is_root_, dag);
  Expressions(j_, defined_by_, dag, reader, 1000).at(Atom::var(v), at);
  std::int64_t stride = 0;
  return reader.reads == 1 && reader.plain && (!dag.stride(reader.position, a.ndim() - 1, stride) || stride != 1);
}

/// Where a library reads an operand: the array that data movements read, if it has a stride along each loop, else the operand as it is.
KernelPlanner::OperandPlace KernelPlanner::library_operand(Atom operand, std::span<const NodeId> at, Dag& dag) const {
  MovementReader reader(j_, defined_by_, is_root_, dag);
  Expressions(j_, defined_by_, dag, reader, 1000).at(operand, at);
  const auto is_stride = [](const AffineTerm& t) { return t.atom >= 0 && t.coef > 0; };
  if (reader.reads > 0 && reader.plain) {
    const std::vector<AffineTerm>& terms = dag.affine(reader.position).terms;
    if (std::all_of(terms.begin(), terms.end(), is_stride)) return {reader.source, reader.position};
  }
  return {operand.var(), row_major_position(dag, j_.aval(operand).shape, at)};
}

bool KernelPlanner::try_library_matmul(const Eqn& e) {
  if (has_too_many_loops(e)) return false;
  ContractionLoops loops(params_as<DotParams>(*e.params).dimension_numbers, j_.aval(e.inputs[0]), j_.aval(e.inputs[1]));
  const OperandPlace operands[] = {library_operand(e.inputs[0], loops.at[0], loops.dag),
                                   library_operand(e.inputs[1], loops.at[1], loops.dag)};
  const auto stride = [&](std::size_t k, int loop) {
    std::int64_t s = 0;
    loops.dag.stride(operands[k].position, loop, s);
    return s;
  };
  const std::vector<std::int64_t> out_stride = loops.strides_in_result();
  const auto collected = [&](const std::vector<int>& list) {
    Loops l;
    for (int d : list) l.add(loops.size(d), stride(0, d), stride(1, d), out_stride[static_cast<std::size_t>(d)]);
    return l;
  };
  const Loops batch = collected(loops.batch), rows = collected(loops.free[0]), columns = collected(loops.free[1]),
              contracted = collected(loops.contracted);
  // A transpose that was made to have the free dimensions side by side (join_free_dims) is stored, not looked through.
  for (std::size_t k = 0; k < 2; ++k) {
    const Loops& free = k == 0 ? rows : columns;
    const Var operand = e.inputs[k].var();
    if (free.size.size() < 2 || free.size.back() >= kFreeRow || is_root_[operand] || operands[k].source == operand) continue;
    is_root_[operand] = 1;
    return try_library_matmul(e);
  }
  if (contracted.size.size() != 1 || rows.size.empty() || columns.size.empty() || columns.stride_out.back() != 1) return false;

  LibraryMatmul matmul;
  matmul.a = operands[0].source, matmul.b = operands[1].source;
  MatmulStep& p = matmul.step;
  p.dtype = j_.aval(e.inputs[0]).dtype, p.right_dtype = j_.aval(e.inputs[1]).dtype, p.out_dtype = j_.avals[e.outputs[0]].dtype;
  p.k = contracted.size[0], p.a_col = contracted.stride_a[0], p.b_row = contracted.stride_b[0];
  p.m = rows.size.back(), p.a_row = rows.stride_a.back(), p.out_row = rows.stride_out.back();
  p.n = columns.size.back(), p.b_col = columns.stride_b.back();
  p.a_offset = loops.dag.affine(operands[0].position).constant, p.b_offset = loops.dag.affine(operands[1].position).constant;
  if (target_.takes_matmul) {
    if (!target_.takes_matmul(p)) return false;
  } else if ((p.a_row != 1 && p.a_col != 1) || (p.b_row != 1 && p.b_col != 1)) {
    return false;  // one of the two strides of each matrix must be 1
  }
  // All loops that the library's own three are not.
  const auto add_batch = [&](const Loops& l, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) p.batch.push_back({l.size[i], l.stride_a[i], l.stride_b[i], l.stride_out[i]});
  };
  add_batch(batch, batch.size.size()), add_batch(rows, rows.size.size() - 1), add_batch(columns, columns.size.size() - 1);
  if (p.batch.size() > 8) return false;
  library_[static_cast<std::size_t>(&e - j_.eqns.data())] = matmul;
  return true;
}

}  // namespace weft::detail
