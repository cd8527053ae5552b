// Halo exchange, for windows that reach beyond a block: devices send the elements that others need.
#include <algorithm>

#include "weft/core/array/array_impl.h"
#include "weft/core/array/indexing.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ops/collective/collective.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/trace/trace.h"
#include "weft/runtime/partition/partition_rules.h"

namespace weft::detail {
namespace {

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

/// The block of the device `by` positions further along; zeros if there is none.
Array from_further(const Array& x, const std::vector<std::string>& axes, std::int64_t n, std::int64_t by, SourceLoc loc) {
  if (by == 0) return x;
  std::vector<std::pair<int, int>> perm;
  for (std::int64_t k = std::max<std::int64_t>(0, -by); k < std::min(n, n - by); ++k)
    perm.push_back({static_cast<int>(k + by), static_cast<int>(k)});
  if (perm.empty()) return zeros_of(x.aval(), loc);
  return bind_ppermute(x, {axes, std::move(perm)}, loc);
}

/// The elements that some device needs, in coordinates of its block of `b`: devices further on may need what is further on.
std::pair<std::int64_t, std::int64_t> extent(const BlockWindow& w, std::int64_t b, std::int64_t devices) {
  const std::int64_t last = w.first + (devices - 1) * (w.step - b);
  return {std::min(w.first, last), std::max(w.first, last) + w.size};
}

}  // namespace

bool is_less_than_whole(const BlockWindow& w, std::int64_t whole, std::int64_t devices) {
  if (devices < 2 || whole == 0 || whole % devices != 0 || w.size <= 0) return false;
  constexpr std::int64_t kMost = std::int64_t{1} << 30;  // positions are int32
  if (whole > kMost || w.size > kMost || w.step > kMost || w.first > kMost || w.first < -kMost) return false;
  const std::int64_t b = whole / devices;
  const auto [low, high] = extent(w, b, devices);
  return high - low <= kMost && std::max<std::int64_t>(0, -low) + std::max<std::int64_t>(0, high - b) < whole - b;
}

Array window_of_block(const Partition& p, const Array& block, int dim, const std::vector<std::string>& axes, const BlockWindow& w,
                      const std::optional<Array>& fill, SourceLoc loc) {
  LocScope scope(loc);
  const std::int64_t n = p.parts(axes), b = block.shape()[dim], drift = w.step - b;
  const auto [low, high] = extent(w, b, n);
  std::vector<Array> parts;
  for (std::int64_t by = floor_div(low, b); by * b < high; ++by) {
    const std::int64_t from = std::max(low - by * b, std::int64_t{0}), to = std::min(high - by * b, b);
    parts.push_back(from_further(slice_axis(block, dim, from, to, loc), axes, n, by, loc));
  }
  Array y = parts.size() == 1 ? parts[0] : concatenate_along(parts, dim, loc);
  const auto number = [](std::int64_t v) { return make_literal(v, int32); };
  if (drift != 0) {
    std::vector<Array> start(static_cast<std::size_t>(y.ndim()), number(0));
    start[static_cast<std::size_t>(dim)] = number(w.first - low) + position_along(p, axes, loc) * number(drift);
    y = dynamic_slice(y, start, y.shape().with(dim, w.size));
  }
  if (!fill) return y;
  const Array at = iota_array(int32, y.shape(), dim, loc) + (number(w.first) + position_along(p, axes, loc) * number(w.step));
  return where(logical_and(at >= number(0), at < number(n * b)), y, fill_shape(*fill, y.shape(), loc));
}

}  // namespace weft::detail
