// How operations on the last dimensions of stacks are partitioned: transforms, factorisations, random numbers of many keys.
#include <algorithm>

#include "core/array_impl.h"
#include "core/ops/common.h"
#include "core/ops/fft.h"
#include "core/ops/sort.h"
#include "runtime/partition_value.h"

namespace weft::detail {
namespace {

using Pieces = std::vector<Piece>;

/// The first `n` dimensions of operands (but scalars) and results count problems that are solved on their own.
Pieces each_of_stack(const Partition& p, const Eqn& e, const Pieces& in, std::size_t n, std::span<const Aval> out) {
  Claims claims;
  DimAxes axes(n);
  for (const Piece& x : in)
    for (std::size_t d = 0; d < std::min(n, x.axes.size()); ++d)
      if (axes[d].empty()) axes[d] = claims.claim(x.axes[d]);
  const auto padded = [&](int ndim) {
    DimAxes all = ndim == 0 ? DimAxes() : axes;
    all.resize(static_cast<std::size_t>(ndim));
    return all;
  };
  std::vector<Array> blocks;
  for (const Piece& x : in) blocks.push_back(p.divide(x, padded(x.whole.size()), e.loc).block);
  Pieces results;
  const std::vector<Array> y = bind_primitive(*e.op, e.params, blocks, e.loc);
  for (std::size_t k = 0; k < y.size(); ++k) results.push_back(p.of_block(y[k], padded(out[k].ndim())));
  return results;
}

bool same_leading(const Pieces& in, std::size_t n) {
  return std::all_of(in.begin(), in.end(), [&](const Piece& x) {
    if (x.axes.empty()) return true;
    if (x.axes.size() < n) return false;
    for (std::size_t d = 0; d < n; ++d)
      if (x.whole[static_cast<int>(d)] != in[0].whole[static_cast<int>(d)]) return false;
    return true;
  });
}

}  // namespace

std::optional<std::vector<Piece>> partition_library(const Partition& p, const Eqn& e, const std::vector<Piece>& in,
                                                    std::span<const Aval> out) {
  const std::string_view name = e.op->name;
  const auto ndim = static_cast<std::size_t>(in[0].whole.size());
  std::size_t stack = 0;
  if (name == "fft")
    stack = ndim - params_as<FftParams>(*e.params).fft_lengths.size();
  else if (name == "random_wrap")
    stack = ndim - 1;
  else if (e.op->kind == Kind::random || name == "random_gamma")
    stack = ndim;
  else if (name == "cholesky" || name == "lu" || name == "triangular_solve" || name == "qr" || name == "eigh" || name == "svd")
    stack = ndim - 2;
  else if (e.op == &primitive_of<TopKLargest> && params_as<TopKLargest::Params>(*e.params).axis == static_cast<int>(ndim) - 1)
    stack = ndim - 1;
  else
    return {};
  if (!same_leading(in, stack)) return {};
  return each_of_stack(p, e, in, stack, out);
}

}  // namespace weft::detail
