#include "weft/core/ops/contraction/dot_expand.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>

#include "weft/core/array/array_impl.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/contraction/dot.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/trace/trace.h"

namespace weft::detail {
namespace {

constexpr std::int64_t kFewElements = 8;
constexpr std::int64_t kShortSum = 256;  // bytes: along vectors that are added up at their end such sums take longer
// Up to so many bytes of accumulators the additions at the end take longer than a transpose that many sums share.
constexpr std::int64_t kSharedSum = 896;
constexpr std::int64_t kSumsEach = 4;          // a transposed element must be in at least a fourth as many sums as there are in a sum
constexpr std::int64_t kVectorBytes = 64;      // of accumulators side by side
constexpr std::int64_t kLargeBytes = 2 << 20;  // of operands: more than caches keep
constexpr std::int64_t kFewResults = 512;
constexpr double kLargeProduct = 4 << 20;  // multiplications

std::int64_t elements(const Aval& a, const std::vector<int>& dims) {
  std::int64_t n = 1;
  for (int d : dims) n *= a.shape[d];
  return n;
}

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

std::optional<Jaxpr> reduce_dot(const Eqn& eqn, std::span<const Aval> in) {
  const auto& [dims, preferred] = params_as<DotParams>(*eqn.params);
  const DType common = promote_types(in[0].weak_dtype(), in[1].weak_dtype()).dtype, dtype = preferred.value_or(common);
  if (dtype.is_complex() || dtype.is_bool() || in[0].bytes() + in[1].bytes() < kLargeBytes) return {};
  const DType held = dtype == float16 || dtype == bfloat16 ? float32 : dtype;
  for (std::size_t k = 0; k < 2; ++k) {
    const Aval &matrix = in[k], &vector = in[1 - k];
    const std::vector<int>&summed = dims.contracting[k], ones = dot_free_dims(dims, static_cast<int>(1 - k), vector.ndim());
    const bool down_columns = std::find(summed.begin(), summed.end(), matrix.ndim() - 1) == summed.end();
    if (elements(vector, ones) != 1 || (!down_columns && matrix.size() / elements(matrix, summed) > kFewResults)) continue;
    std::map<int, int> shared;  // from the matrix's dimensions to the vector's
    for (const auto* pairs : {&dims.batch, &dims.contracting})
      for (std::size_t i = 0; i < (*pairs)[k].size(); ++i) shared.emplace((*pairs)[k][i], (*pairs)[1 - k][i]);
    const LocScope scope(eqn.loc);
    return trace_jaxpr({std::string(eqn.op->name), {in.begin(), in.end()}, {}}, [&](std::span<const Array> x) {
      std::vector<int> at, order, wanted = dims.batch[k], result;
      for (const auto& [to, from] : shared) at.push_back(to), order.push_back(from);
      std::vector<int> last(ones.size());
      std::iota(last.begin(), last.end(), static_cast<int>(order.size()));
      order.insert(order.end(), ones.begin(), ones.end());
      const Array row = squeeze_axes(permute(convert(x[1 - k], held), order, {}), last, {});
      const Array sums = reduce_sum(convert(x[k], held) * broadcast_in_dim(row, matrix.shape, at, {}), summed, {});
      const std::vector<int> free = dot_free_dims(dims, static_cast<int>(k), matrix.ndim());
      wanted.insert(wanted.end(), free.begin(), free.end());
      for (int d : wanted)
        result.push_back(d - static_cast<int>(std::count_if(summed.begin(), summed.end(), [&](int s) { return s < d; })));
      Shape shape;
      for (int d : dims.batch[k]) shape.push_back(matrix.shape[d]);
      for (std::size_t operand : {0u, 1u})
        for (int d : dot_free_dims(dims, static_cast<int>(operand), in[operand].ndim())) shape.push_back(in[operand].shape[d]);
      return std::vector<Array>{convert(reshape_to(permute(sums, result, {}), shape, {}), dtype)};
    });
  }
  return {};
}

ParamsRef dot_before_transpose(const Eqn& dot, int operand, const std::vector<int>& permutation) {
  DotParams p = params_as<DotParams>(*dot.params);
  const auto before = [&](std::vector<int> list) {
    for (int& d : list) d = permutation[static_cast<std::size_t>(d)];
    return list;
  };
  const std::vector<int> free = before(dot_free_dims(p.dimension_numbers, operand, static_cast<int>(permutation.size())));
  if (!std::is_sorted(free.begin(), free.end())) return {};
  for (auto* pairs : {&p.dimension_numbers.batch, &p.dimension_numbers.contracting}) {
    std::vector<int>& list = (*pairs)[static_cast<std::size_t>(operand)];
    list = before(std::move(list));
  }
  return make_params(std::move(p));
}

bool worth_transposing(const Eqn& dot, std::span<const Aval> in) {
  const DotDimensions& dims = params_as<DotParams>(*dot.params).dimension_numbers;
  if (in[1].dtype.is_complex() || in[1].dtype.is_bool()) return false;
  std::int64_t free[2];
  for (std::size_t k = 0; k < 2; ++k) free[k] = elements(in[k], dot_free_dims(dims, static_cast<int>(k), in[k].ndim()));
  if (std::min(free[0], free[1]) < kFewElements) return false;
  const std::int64_t summed = elements(in[1], dims.contracting[1]), bytes = in[1].dtype.itemsize();
  if (summed * bytes <= kShortSum) return true;
  const std::int64_t accumulator = std::max<std::int64_t>(bytes, float32.itemsize()), row = free[1] * accumulator;
  const std::int64_t in_vectors = (row + kVectorBytes - 1) / kVectorBytes * kVectorBytes;
  // Of the last vector of a row, lanes without a result are computed, too.
  return summed * accumulator <= kSharedSum && free[0] * kSumsEach >= summed && 3 * in_vectors <= 4 * row;
}

std::optional<Jaxpr> transpose_dot(const Eqn& eqn, std::span<const Aval> in) {
  const auto& [dims, preferred] = params_as<DotParams>(*eqn.params);
  const int ndim = in[1].ndim();
  const std::vector<int>& summed = dims.contracting[1];
  if (std::find(summed.begin(), summed.end(), ndim - 1) == summed.end() || !worth_transposing(eqn, in)) return {};
  std::vector<int> permutation = dims.batch[1];
  permutation.insert(permutation.end(), summed.begin(), summed.end());
  for (int d : dot_free_dims(dims, 1, ndim)) permutation.push_back(d);
  DotParams transposed{dims, preferred};
  std::iota(transposed.dimension_numbers.batch[1].begin(), transposed.dimension_numbers.batch[1].end(), 0);
  std::iota(transposed.dimension_numbers.contracting[1].begin(), transposed.dimension_numbers.contracting[1].end(),
            static_cast<int>(dims.batch[1].size()));
  return trace_jaxpr({"dot_general", {in.begin(), in.end()}, {}}, [&](std::span<const Array> x) {
    const Array operands[] = {x[0], permute(x[1], permutation, eqn.loc)};
    return bind_primitive(*eqn.op, make_params(transposed), operands, eqn.loc);
  });
}

std::optional<Jaxpr> join_free_dims(const Eqn& eqn, std::span<const Aval> in) {
  const auto& [dims, preferred] = params_as<DotParams>(*eqn.params);
  if (!dims.batch[0].empty() || in[0].dtype.is_bool() || in[1].dtype.is_bool()) return {};
  const std::int64_t summed = std::max<std::int64_t>(1, elements(in[0], dims.contracting[0]));
  if (static_cast<double>(in[0].size()) * static_cast<double>(in[1].size()) / static_cast<double>(summed) < kLargeProduct) return {};
  for (int k = 0; k < 2; ++k) {
    const Aval& operand = in[static_cast<std::size_t>(k)];
    const std::vector<int>& contracting = dims.contracting[static_cast<std::size_t>(k)];
    const std::vector<int> free = dot_free_dims(dims, k, operand.ndim());
    const int last_summed = *std::max_element(contracting.begin(), contracting.end());
    std::vector<int> behind;
    for (int d : free)
      if (d > last_summed) behind.push_back(d);
    const std::int64_t row = elements(operand, behind), all = elements(operand, free);
    if (row == 1 || row >= kFreeRow || row == all || in[static_cast<std::size_t>(1 - k)].size() / summed < kFreeRow) continue;
    // The first operand's free dimensions go before what is summed, the second's behind it.
    std::vector<int> permutation = k == 0 ? free : contracting;
    permutation.insert(permutation.end(), k == 0 ? contracting.begin() : free.begin(), k == 0 ? contracting.end() : free.end());
    DotParams joined{dims, preferred};
    std::vector<int>& sums = joined.dimension_numbers.contracting[static_cast<std::size_t>(k)];
    std::iota(sums.begin(), sums.end(), k == 0 ? static_cast<int>(free.size()) : 0);
    return trace_jaxpr({"dot_general", {in.begin(), in.end()}, {}}, [&](std::span<const Array> x) {
      std::array<Array, 2> operands{x[0], x[1]};
      Array& moved = operands[static_cast<std::size_t>(k)];
      moved = permute(moved, permutation, eqn.loc);
      return bind_primitive(*eqn.op, make_params(joined), operands, eqn.loc);
    });
  }
  return {};
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
