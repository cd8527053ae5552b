// Values that differ from one to the next by the same step: windows that are shifted by one element each, channels, bits. Where such
// values are stacked, the value at a place is one expression of the place, not a choice among all of them.
#include <algorithm>
#include <vector>

#include "weft/backends/codegen/planner/dag.h"

namespace weft::detail {
namespace {

constexpr int kMaxDepth = 200;

/// The step of numbers that grow evenly.
std::optional<std::int64_t> step_of(std::span<const std::int64_t> numbers) {
  const std::int64_t step = numbers[1] - numbers[0];
  for (std::size_t i = 1; i < numbers.size(); ++i)
    if (numbers[i] - numbers[i - 1] != step) return {};
  return step;
}

}  // namespace

std::optional<KernelValue> Dag::member_of(std::span<const V> values, NodeId place) {
  if ((*this)[place].low < 0 || (*this)[place].high >= static_cast<std::int64_t>(values.size()) || values.size() < 2) return {};
  std::vector<NodeId> real, imaginary;
  for (const V& v : values) {
    if (v.dtype != values[0].dtype || (v.imag < 0) != (values[0].imag < 0)) return {};
    real.push_back(v.id), imaginary.push_back(v.imag);
  }
  members_.clear();
  const std::optional<NodeId> re = member_of(real, place, 0);
  if (!re || values[0].imag < 0) return re ? std::optional(operand(*re)) : std::nullopt;
  const std::optional<NodeId> im = member_of(imaginary, place, 0);
  return im ? std::optional(complex(operand(*re), operand(*im))) : std::nullopt;
}

std::optional<NodeId> Dag::member_of(const std::vector<NodeId>& members, NodeId place, int depth) {
  if (std::all_of(members.begin(), members.end(), [&](NodeId n) { return n == members[0]; })) return members[0];
  const Node first = members[0] >= 0 ? (*this)[members[0]] : Node();
  for (NodeId n : members)
    if (n < 0 || (*this)[n].kind != first.kind || (*this)[n].dtype != first.dtype) return {};
  if (const auto known = members_.find(members); known != members_.end()) return known->second;
  const std::optional<NodeId> member = depth > kMaxDepth ? std::nullopt : find_member(first, members, place, depth);
  members_.emplace(members, member);
  return member;
}

std::optional<NodeId> Dag::find_member(const Node& first, const std::vector<NodeId>& members, NodeId place, int depth) {
  const auto operands_at = [&](std::size_t k) {
    std::vector<NodeId> all;
    for (NodeId n : members) all.push_back((*this)[n].operands[k]);
    return member_of(all, place, depth + 1);
  };
  switch (first.kind) {
    case NodeKind::constant: {
      std::vector<std::int64_t> numbers;
      for (NodeId n : members) numbers.push_back((*this)[n].integer);
      const std::optional<std::int64_t> step = first.dtype.is_integer() ? step_of(numbers) : std::nullopt;
      if (!step || std::min(numbers.front(), numbers.back()) < 0) return {};
      return value_of(combine(index(numbers[0]), 1, place, *step), first.dtype).id;
    }
    case NodeKind::index: {
      std::vector<std::int64_t> constants;
      for (NodeId n : members) {
        if (affine(n).terms != affine(members[0]).terms) return {};
        constants.push_back(affine(n).constant);
      }
      const std::optional<std::int64_t> step = step_of(constants);
      return step ? std::optional(combine(members[0], 1, place, *step)) : std::nullopt;
    }
    case NodeKind::index_value: {
      const std::optional<NodeId> position = operands_at(0);
      return position ? std::optional(value_of(*position, first.dtype).id) : std::nullopt;
    }
    case NodeKind::load: {
      for (NodeId n : members)
        if ((*this)[n].integer != first.integer || (*this)[n].operands[1] != first.operands[1]) return {};
      const std::optional<NodeId> position = operands_at(0);
      if (!position) return {};
      const NodeId loaded = load(static_cast<int>(first.integer), first.dtype, *position, first.operands[1]).id;
      // Scratch is of each outer point, whatever its positions depend on.
      const std::uint64_t outer = (*this)[members[0]].dims & ~(*this)[first.operands[0]].dims;
      nodes[static_cast<std::size_t>(loaded)].dims |= outer;
      return loaded;
    }
    case NodeKind::op:
    case NodeKind::math: {
      std::vector<V> operands;
      for (NodeId n : members)
        if ((*this)[n].op != first.op || (*this)[n].function != first.function) return {};
      for (std::size_t k = 0; k < first.operands.size() && first.operands[k] >= 0; ++k) {
        const std::optional<NodeId> o = operands_at(k);
        if (!o) return {};
        operands.push_back(operand(*o));
      }
      const V value = first.kind == NodeKind::math ? emit_math(first.function, operands) : emit(first.op, first.dtype, operands);
      return value.imag < 0 ? std::optional(value.id) : std::nullopt;
    }
    default: return {};
  }
}

}  // namespace weft::detail
