// Integers of fewer bits: what is computed of bytes or 16-bit numbers in a wider type, of which only the low bits are stored, is computed
// in the narrower type, as vectors hold more of them. Sums, products and bitwise operations are exact in their low bits; quotients, shifts
// to the right and extrema are computed in a type that holds all values that their operands can have (dag_ranges.cpp).
#include <algorithm>
#include <array>

#include "weft/backends/codegen/planner/dag.h"

namespace weft::detail {
namespace {

constexpr int kArithmeticBytes = 2;  // processors have no products, shifts and quotients of vectors of bytes

bool is_plain_integer(DType t) { return t.is_integer() && !t.is_bool(); }

DType integer_type(int bytes, bool is_signed) {
  if (bytes == 1) return is_signed ? int8 : uint8;
  if (bytes == 2) return is_signed ? int16 : uint16;
  return is_signed ? int32 : uint32;
}

}  // namespace

std::optional<DType> Dag::type_of_values(std::initializer_list<NodeId> values, int bytes) {
  std::int64_t low = 0, high = 0;
  for (NodeId n : values) {
    const std::optional<Range> r = range_of(n);
    if (!r) return {};
    low = std::min(low, r->low), high = std::max(high, r->high);
  }
  for (int b = kArithmeticBytes; b < bytes; b *= 2) {
    const std::int64_t half = std::int64_t{1} << (8 * b - 1);
    if (low < 0 ? low >= -half && high < half : high < 2 * half) return integer_type(b, low < 0);
  }
  return {};
}

std::optional<KernelValue> Dag::low_bits(NodeId id, DType to) {
  const std::uint64_t key = static_cast<std::uint64_t>(id) << 8 | static_cast<std::uint64_t>(to.id());
  if (const auto known = low_bits_.find(key); known != low_bits_.end()) return known->second;
  std::optional<V> value = find_low_bits(id, to);
  low_bits_.emplace(key, value);
  return value;
}

std::optional<KernelValue> Dag::find_low_bits(NodeId id, DType to) {
  const Node n = (*this)[id];
  if (n.kind == NodeKind::constant) return integer(to, n.integer);
  if (n.kind == NodeKind::index_value) {
    // Numbers of positions, as of lanes, are cheap; those that may be too large for the type are left.
    const std::int64_t half = std::int64_t{1} << (8 * to.itemsize() - 1);
    const auto [low, high] = std::pair((*this)[n.operands[0]].low, (*this)[n.operands[0]].high);
    return low >= (to.is_unsigned() ? 0 : -half) && high < (to.is_unsigned() ? 2 * half : half) ? std::optional(value_of(n.operands[0], to))
                                                                                                : std::nullopt;
  }
  if (n.kind != NodeKind::op) return {};
  if (n.op == ScalarOp::convert) {
    const V from = operand(n.operands[0]);
    if (from.dtype == to) return from;
    if (from.dtype.is_bool()) return convert(from, to);
    if (!is_plain_integer(from.dtype)) return {};
    if (from.dtype.itemsize() > to.itemsize()) return low_bits(from.id, to);
    return convert(from, to);
  }
  return low_bits_of_operation(n, to);
}

std::optional<KernelValue> Dag::low_bits_of_operation(const Node& n, DType to) {
  std::array<V, 3> v;
  const auto operands_in = [&](DType t, std::size_t first, std::size_t count) {
    for (std::size_t i = first; i < first + count; ++i) {
      const std::optional<V> narrow = low_bits(n.operands[i], t);
      if (!narrow) return false;
      v[i] = *narrow;
    }
    return true;
  };
  const auto computed_in = [&](DType t, ScalarOp op, std::size_t count) -> std::optional<V> {
    if (t.itemsize() >= n.dtype.itemsize() || !operands_in(t, 0, count)) return {};
    const V value = emit(op, t, std::span<const V>(v.data(), count));
    return t == to ? value : convert(value, to);
  };
  const DType arithmetic = to.itemsize() < kArithmeticBytes ? integer_type(kArithmeticBytes, to.is_signed()) : to;
  switch (n.op) {
    case ScalarOp::add:
    case ScalarOp::sub:
    case ScalarOp::bit_and:
    case ScalarOp::bit_or:
    case ScalarOp::bit_xor: return computed_in(to, n.op, 2);
    case ScalarOp::neg:
    case ScalarOp::bit_not: return computed_in(to, n.op, 1);
    case ScalarOp::mul: return computed_in(arithmetic, n.op, 2);
    case ScalarOp::select: {
      if (!operands_in(to, 1, 2)) return {};
      return select(operand(n.operands[0]), v[1], v[2]);
    }
    case ScalarOp::shl: {
      const Node& count = (*this)[n.operands[1]];
      if (count.kind != NodeKind::constant || count.integer >= 8 * arithmetic.itemsize()) return {};
      return computed_in(arithmetic, n.op, 2);
    }
    case ScalarOp::shr_logical:
    case ScalarOp::shr_arithmetic: {
      const std::optional<DType> t = type_of_values({n.operands[0]}, n.dtype.itemsize());
      const Node& count = (*this)[n.operands[1]];
      if (!t || count.kind != NodeKind::constant || count.integer >= 8 * t->itemsize()) return {};
      if (t->is_signed() && n.op == ScalarOp::shr_logical) return {};
      return computed_in(*t, t->is_signed() ? ScalarOp::shr_arithmetic : ScalarOp::shr_logical, 2);
    }
    case ScalarOp::div:
    case ScalarOp::rem: {
      const Node& divisor = (*this)[n.operands[1]];
      const std::optional<DType> t = type_of_values({n.operands[0], n.operands[1]}, n.dtype.itemsize());
      if (!t || divisor.kind != NodeKind::constant || divisor.integer <= 0) return {};
      return computed_in(*t, n.op, 2);
    }
    case ScalarOp::min:
    case ScalarOp::max: {
      const std::optional<DType> t = type_of_values({n.operands[0], n.operands[1]}, n.dtype.itemsize());
      return t ? computed_in(*t, n.op, 2) : std::nullopt;
    }
    case ScalarOp::abs: {
      const std::optional<Range> r = range_of(n.operands[0]);
      const std::optional<DType> t = type_of_values({n.operands[0]}, n.dtype.itemsize());
      if (!t || !t->is_signed() || r->low == -(std::int64_t{1} << (8 * t->itemsize() - 1))) return {};
      return computed_in(*t, n.op, 1);
    }
    default: return {};
  }
}

}  // namespace weft::detail
