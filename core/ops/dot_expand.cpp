#include "core/ops/dot_expand.h"

#include <array>
#include <numeric>

#include "core/array_impl.h"
#include "core/elementwise.h"
#include "core/ops/common.h"
#include "core/ops/dot.h"
#include "core/ops/movement.h"
#include "core/trace.h"

namespace weft::detail {
namespace {

/// Batch dimensions, then free ones, those of the other operand left out.
Array batch_and_free(const Array& x, const DotDimensions& dims, std::size_t k) {
  std::vector<int> order = dims.batch[k];
  const std::vector<int> free = dot_free_dims(dims, static_cast<int>(k), x.ndim());
  order.insert(order.end(), free.begin(), free.end());
  const int kept = static_cast<int>(order.size());
  order.insert(order.end(), dims.contracting[k].begin(), dims.contracting[k].end());
  std::vector<int> ones(dims.contracting[k].size());
  std::iota(ones.begin(), ones.end(), kept);
  return squeeze_axes(permute(x, order, {}), ones, {});
}

}  // namespace

std::optional<Jaxpr> expand_dot(const Eqn& eqn, std::span<const Aval> in) {
  const auto& [dims, preferred] = params_as<DotParams>(*eqn.params);
  for (int d : dims.contracting[0])
    if (in[0].shape[d] != 1) return {};
  const DType common = promote_types(in[0].weak_dtype(), in[1].weak_dtype()).dtype, dtype = preferred.value_or(common);
  if (dtype.is_bool()) return {};
  const LocScope scope(eqn.loc);
  return trace_jaxpr({std::string(eqn.op->name), {in.begin(), in.end()}, {}}, [&](std::span<const Array> x) {
    std::array<Array, 2> operands;
    for (std::size_t k = 0; k < 2; ++k) operands[k] = batch_and_free(convert(x[k], dtype), dims, k);
    const int num_batch = static_cast<int>(dims.batch[0].size());
    Shape shape = operands[0].shape();
    std::vector<int> first(static_cast<std::size_t>(shape.size())), second(static_cast<std::size_t>(num_batch));
    std::iota(first.begin(), first.end(), 0), std::iota(second.begin(), second.end(), 0);
    for (int d = num_batch; d < operands[1].ndim(); ++d) second.push_back(shape.size()), shape.push_back(operands[1].shape()[d]);
    return std::vector<Array>{broadcast_in_dim(operands[0], shape, first, {}) * broadcast_in_dim(operands[1], shape, second, {})};
  });
}

ParamsRef swapped_dot(const Eqn& dot, std::span<const Aval> in, const std::vector<int>& permutation) {
  const auto& [dims, preferred] = params_as<DotParams>(*dot.params);
  const std::size_t batch = dims.batch[0].size();
  const std::size_t free[] = {dot_free_dims(dims, 0, in[0].ndim()).size(), dot_free_dims(dims, 1, in[1].ndim()).size()};
  std::vector<int> wanted(permutation.size());
  std::iota(wanted.begin(), wanted.begin() + static_cast<std::ptrdiff_t>(batch), 0);
  const auto begin = wanted.begin() + static_cast<std::ptrdiff_t>(batch), middle = begin + static_cast<std::ptrdiff_t>(free[1]);
  std::iota(begin, middle, static_cast<int>(batch + free[0])), std::iota(middle, wanted.end(), static_cast<int>(batch));
  if (permutation != wanted) return {};
  return make_params(
      DotParams{{.contracting = {dims.contracting[1], dims.contracting[0]}, .batch = {dims.batch[1], dims.batch[0]}}, preferred});
}

}  // namespace weft::detail
