#include "core/ops/dot_expand.h"

#include <algorithm>
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

constexpr std::int64_t kFewElements = 8;
constexpr std::int64_t kShortSum = 256;  // bytes; longer sums are as fast along vectors, which are added up at their end

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

bool worth_turning(const Eqn& dot, std::span<const Aval> in) {
  const DotDimensions& dims = params_as<DotParams>(*dot.params).dimension_numbers;
  const auto elements = [&](std::size_t k, const std::vector<int>& list) {
    std::int64_t n = 1;
    for (int d : list) n *= in[k].shape[d];
    return n;
  };
  if (in[1].dtype.is_complex() || in[1].dtype.is_bool()) return false;
  for (std::size_t k = 0; k < 2; ++k)
    if (elements(k, dot_free_dims(dims, static_cast<int>(k), in[k].ndim())) < kFewElements) return false;
  return elements(1, dims.contracting[1]) * in[1].dtype.itemsize() <= kShortSum;
}

std::optional<Jaxpr> turn_dot(const Eqn& eqn, std::span<const Aval> in) {
  const auto& [dims, preferred] = params_as<DotParams>(*eqn.params);
  const int ndim = in[1].ndim();
  const std::vector<int>& summed = dims.contracting[1];
  if (std::find(summed.begin(), summed.end(), ndim - 1) == summed.end() || !worth_turning(eqn, in)) return {};
  std::vector<int> permutation = dims.batch[1];
  permutation.insert(permutation.end(), summed.begin(), summed.end());
  for (int d : dot_free_dims(dims, 1, ndim)) permutation.push_back(d);
  DotParams turned{dims, preferred};
  std::iota(turned.dimension_numbers.batch[1].begin(), turned.dimension_numbers.batch[1].end(), 0);
  std::iota(turned.dimension_numbers.contracting[1].begin(), turned.dimension_numbers.contracting[1].end(),
            static_cast<int>(dims.batch[1].size()));
  return trace_jaxpr({"dot_general", {in.begin(), in.end()}, {}}, [&](std::span<const Array> x) {
    const Array operands[] = {x[0], permute(x[1], permutation, eqn.loc)};
    return bind_primitive(*eqn.op, make_params(turned), operands, eqn.loc);
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
