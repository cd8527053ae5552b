// Matmuls of 16-bit floats whose rows do not begin at whole vectors of 16 bytes: the library would compute them by single elements, at a
// fraction of the rate. Operands are padded with zeros and the result is cut, which fuses into what computes and reads them.
#include <algorithm>

#include "weft/backends/cuda/expand.h"
#include "weft/core/array/constructors.h"
#include "weft/core/ops/contraction/dot.h"
#include "weft/core/ops/movement/movement.h"

namespace weft::detail {
namespace {

constexpr std::int64_t kVector = 8;           // elements of 16 bytes
constexpr std::int64_t kWorthPadding = 128;   // sizes from which the products take longer than the copies
constexpr double kMostMultiplications = 1e8;  // below, a launch more costs as much as it saves

std::int64_t padded(std::int64_t n) { return (n + kVector - 1) / kVector * kVector; }

Array padded_along(const Array& x, std::span<const int> dims) {
  PaddingConfig config(static_cast<std::size_t>(x.ndim()));
  bool any = false;
  for (int d : dims) {
    const std::int64_t more = padded(x.shape()[d]) - x.shape()[d];
    config[static_cast<std::size_t>(d)].high = more;
    any |= more > 0;
  }
  return any ? pad_with(x, full({}, 0, x.dtype()), config, {}) : x;
}

}  // namespace

std::optional<Jaxpr> expand_unaligned_matmul(const Eqn& e, std::span<const Aval> in) {
  const auto& p = params_as<DotParams>(*e.params);
  const DotDimensions& dims = p.dimension_numbers;
  if (in[0].dtype != in[1].dtype || !in[0].dtype.is_floating() || in[0].dtype.itemsize() != 2) return {};
  std::int64_t k = 1, batch = 1;
  for (int d : dims.contracting[0]) k *= in[0].shape[d];
  for (int d : dims.batch[0]) batch *= in[0].shape[d];
  const std::int64_t m = in[0].size() / std::max<std::int64_t>(1, batch * k), n = in[1].size() / std::max<std::int64_t>(1, batch * k);
  if (std::min({m, n, k}) < kWorthPadding) return {};
  if (static_cast<double>(batch) * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) < kMostMultiplications)
    return {};

  // The dimensions along which memory is contiguous: the operands' last ones, and the result's, which is the last free one of the second.
  std::array<std::vector<int>, 2> uneven;
  const auto add = [&](std::size_t operand, int d) {
    if (in[operand].shape[d] % kVector == 0) return;
    uneven[operand].push_back(d);
    for (std::size_t i = 0; i < dims.contracting[0].size(); ++i)
      if (dims.contracting[operand][i] == d) uneven[1 - operand].push_back(dims.contracting[1 - operand][i]);
  };
  std::array<std::vector<int>, 2> free;
  for (std::size_t operand = 0; operand < 2; ++operand) {
    const int last = in[operand].ndim() - 1;
    const std::vector<int>& batches = dims.batch[operand];
    if (std::find(batches.begin(), batches.end(), last) != batches.end()) return {};
    free[operand] = dot_free_dims(dims, static_cast<int>(operand), in[operand].ndim());
    add(operand, last);
  }
  add(1, free[1].back());
  if (uneven[0].empty() && uneven[1].empty()) return {};
  return expansion_of(e, in, [&](std::span<const Array> xs) -> std::vector<Array> {
    const Array wide = dot_product(padded_along(xs[0], uneven[0]), padded_along(xs[1], uneven[1]), dims, p.preferred_element_type);
    std::vector<std::int64_t> limit;
    for (int d : dims.batch[0]) limit.push_back(in[0].shape[d]);
    for (std::size_t operand = 0; operand < 2; ++operand)
      for (int d : free[operand]) limit.push_back(in[operand].shape[d]);
    if (std::equal(limit.begin(), limit.end(), wide.shape().begin())) return {wide};
    return {slice_range(wide, std::vector<std::int64_t>(limit.size(), 0), limit, std::vector<std::int64_t>(limit.size(), 1), {})};
  });
}

}  // namespace weft::detail
