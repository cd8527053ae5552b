// Operands that a library reads in place: a value in memory, seen through movements of its elements.
#pragma once
#include "weft/backends/codegen/planner/expressions.h"

namespace weft::detail {

/// Follows movements down to values in memory, and records which are read at which positions.
class MovementReader final : public LeafReader {
 public:
  MovementReader(const JaxprData& j, const std::vector<int>& defined_by, const std::vector<char>& is_root, Dag& dag)
      : j_(j), defined_by_(defined_by), is_root_(is_root), dag_(dag) {}
  bool is_leaf(Var v) override {
    const int by = defined_by_[v];
    return is_root_[v] || by < 0 || j_.eqns[static_cast<std::size_t>(by)].op->kind != Kind::movement;
  }
  KernelValue read(Var v, std::span<const NodeId> at, NodeId guard) override {
    plain &= guard < 0 && (reads == 0 || v == source);
    ++reads, source = v;
    position = row_major_position(dag_, j_.avals[v].shape, at);
    return dag_.load(0, j_.avals[v].dtype, position);
  }

  int reads = 0;
  bool plain = true;  ///< one variable, everywhere
  Var source = 0;     ///< what was read last, and where
  NodeId position = -1;

 private:
  const JaxprData& j_;
  const std::vector<int>& defined_by_;
  const std::vector<char>& is_root_;
  Dag& dag_;
};

}  // namespace weft::detail
