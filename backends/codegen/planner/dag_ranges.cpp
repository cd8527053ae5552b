// Range analysis of integers in expressions: the least and the greatest number that a value can be. Indices made by iota, clip, remainders
// or masks need neither be wrapped nor moved inside an array.
#include <algorithm>
#include <bit>

#include "weft/backends/codegen/planner/dag.h"

namespace weft::detail {
namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 40;  // sums of a few such numbers don't overflow

bool fits(std::int64_t low, std::int64_t high, DType t) {
  const int bits = 8 * t.itemsize();
  if (low < -kMost || high > kMost) return false;
  if (t.is_unsigned()) return low >= 0 && (bits == 64 || high < std::int64_t{1} << bits);
  return bits == 64 || (low >= -(std::int64_t{1} << (bits - 1)) && high < std::int64_t{1} << (bits - 1));
}

/// The constant n of select(x < 0, x + n, x).
std::optional<std::int64_t> added_if_negative(const Dag& dag, const Node& select) {
  const Node &condition = dag[select.operands[0]], &sum = dag[select.operands[1]];
  const NodeId x = select.operands[2];
  if (condition.kind != NodeKind::op || condition.op != ScalarOp::lt || condition.operands[0] != x) return {};
  if (const Node& zero = dag[condition.operands[1]]; zero.kind != NodeKind::constant || zero.integer != 0) return {};
  if (sum.kind == NodeKind::index_value && dag[x].kind == NodeKind::index_value) {
    const Affine &from = dag.affine(dag[x].operands[0]), &to = dag.affine(sum.operands[0]);
    return from.terms == to.terms ? std::optional(to.constant - from.constant) : std::nullopt;
  }
  if (sum.kind != NodeKind::op || sum.op != ScalarOp::add || sum.operands[0] != x) return {};
  const Node& n = dag[sum.operands[1]];
  return n.kind == NodeKind::constant ? std::optional(n.integer) : std::nullopt;
}

}  // namespace

std::optional<Dag::Range> Dag::range_of(NodeId n) {
  if (!(*this)[n].dtype.is_integer()) return {};
  if (const auto known = ranges_.find(n); known != ranges_.end()) return known->second;
  std::optional<Range> range = find_range(n);
  if (range && !fits(range->low, range->high, (*this)[n].dtype)) range.reset();
  if (const DType t = (*this)[n].dtype; !range && t.itemsize() <= 4) {
    const std::int64_t values = std::int64_t{1} << 8 * t.itemsize();
    range = t.is_unsigned() ? Range{0, values - 1} : Range{-values / 2, values / 2 - 1};
  }
  ranges_.emplace(n, range);
  return range;
}

std::optional<Dag::Range> Dag::find_range(NodeId id) {
  const Node n = (*this)[id];
  if (n.kind == NodeKind::constant) return n.dtype == uint64 && n.integer < 0 ? std::nullopt : std::optional(Range{n.integer, n.integer});
  if (n.kind == NodeKind::index_value) return Range{(*this)[n.operands[0]].low, (*this)[n.operands[0]].high};
  if (n.kind != NodeKind::op) return {};
  if (n.op == ScalarOp::convert && (*this)[n.operands[0]].dtype.is_bool()) return Range{0, 1};
  const std::size_t first = n.op == ScalarOp::select ? 1 : 0;
  bool known[2] = {};
  Range range[2];
  for (std::size_t i = 0; i < 2; ++i)
    if (const NodeId o = n.operands[first + i]; o >= 0)
      if (const std::optional<Range> r = range_of(o)) range[i] = *r, known[i] = true;
  const Range &a = range[0], &b = range[1];
  const bool both = known[0] && known[1], by_constant = known[1] && b.low == b.high;
  switch (n.op) {
    case ScalarOp::convert:
      if (!known[0] || !(*this)[n.operands[0]].dtype.is_integer()) return {};
      return a;
    case ScalarOp::select:
      if (!both) return {};
      // An index of which negative ones count from the end: select(x < 0, x + n, x).
      if (const std::optional<std::int64_t> added = added_if_negative(*this, n); added && b.low < 0 && b.high >= 0)
        return Range{std::min<std::int64_t>(0, b.low + *added), std::max(b.high, *added - 1)};
      return Range{std::min(a.low, b.low), std::max(a.high, b.high)};
    case ScalarOp::min:
      if (!both) return {};
      return Range{std::min(a.low, b.low), std::min(a.high, b.high)};
    case ScalarOp::max:
      if (!both) return {};
      return Range{std::max(a.low, b.low), std::max(a.high, b.high)};
    case ScalarOp::add:
      if (!both) return {};
      return Range{a.low + b.low, a.high + b.high};
    case ScalarOp::sub:
      if (!both) return {};
      return Range{a.low - b.high, a.high - b.low};
    case ScalarOp::mul: {
      if (!both || std::max({-a.low, a.high, -b.low, b.high}) > 1 << 20) return {};
      const auto [least, greatest] = std::minmax({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
      return Range{least, greatest};
    }
    case ScalarOp::rem: {
      if (!by_constant || b.low <= 0) return {};
      const std::int64_t most = b.low - 1;
      if (n.dtype.is_unsigned() || (known[0] && a.low >= 0)) return Range{0, known[0] ? std::min(a.high, most) : most};
      return Range{-most, most};
    }
    case ScalarOp::bit_and:
      if (by_constant && b.low >= 0) return Range{0, b.low};
      if (known[0] && a.low == a.high && a.low >= 0) return Range{0, a.low};
      return {};
    case ScalarOp::neg:
      if (!known[0]) return {};
      return Range{-a.high, -a.low};
    case ScalarOp::abs:
      if (!known[0]) return {};
      return Range{std::max<std::int64_t>({a.low, -a.high, 0}), std::max(-a.low, a.high)};
    case ScalarOp::div:
      if (!known[0] || !by_constant || b.low <= 0) return {};
      return Range{a.low / b.low, a.high / b.low};
    case ScalarOp::shr_logical:
    case ScalarOp::shr_arithmetic:
      if (!known[0] || !by_constant || b.low < 0 || b.low >= 8 * n.dtype.itemsize() || (a.low < 0 && n.op == ScalarOp::shr_logical))
        return {};
      return Range{a.low >> b.low, a.high >> b.low};
    case ScalarOp::bit_or:
    case ScalarOp::bit_xor: {
      if (!both || a.low < 0 || b.low < 0) return {};
      const auto bits = std::bit_width(static_cast<std::uint64_t>(a.high | b.high));
      return Range{n.op == ScalarOp::bit_or ? std::max(a.low, b.low) : 0, (std::int64_t{1} << bits) - 1};
    }
    default: return {};
  }
}

std::optional<KernelValue> Dag::emit_of_ranges(ScalarOp op, std::span<const V> v) {
  const bool compares = op >= ScalarOp::eq && op <= ScalarOp::ge;
  if ((!compares && op != ScalarOp::min && op != ScalarOp::max) || !v[0].dtype.is_integer()) return {};
  const std::optional<Range> a = range_of(v[0].id), b = range_of(v[1].id);
  if (!a || !b) return {};
  const auto known = [&](bool yes, bool no) -> std::optional<V> {
    return yes ? std::optional(boolean(true)) : no ? std::optional(boolean(false)) : std::nullopt;
  };
  const auto chosen = [&](bool first, bool second) -> std::optional<V> {
    return first ? std::optional(v[0]) : second ? std::optional(v[1]) : std::nullopt;
  };
  const bool apart = a->high < b->low || b->high < a->low, equal = a->low == a->high && b->low == b->high && a->low == b->low;
  switch (op) {
    case ScalarOp::eq: return known(equal, apart);
    case ScalarOp::ne: return known(apart, equal);
    case ScalarOp::lt: return known(a->high < b->low, a->low >= b->high);
    case ScalarOp::le: return known(a->high <= b->low, a->low > b->high);
    case ScalarOp::gt: return known(a->low > b->high, a->high <= b->low);
    case ScalarOp::ge: return known(a->low >= b->high, a->high < b->low);
    case ScalarOp::min: return chosen(a->high <= b->low, b->high <= a->low);
    default: return chosen(a->low >= b->high, b->low >= a->high);
  }
}

}  // namespace weft::detail
