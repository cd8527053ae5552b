// The values of a program at one point of a kernel whose lanes are points: small arrays element by element, in registers.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <tuple>

#include "weft/backends/codegen/planner/expressions.h"
#include "weft/backends/codegen/planner/lanes/lanes.h"

namespace weft::detail {

constexpr std::size_t kMaxLaneNodes = 3000;    // of a kernel
constexpr std::int64_t kMaxLaneElements = 64;  // of one array at one point

/// Thrown if an equation can't be computed point by point.
struct NotLanes {};

/// Whether the equation is a factorisation or solve that is small enough to be written out element by element.
bool is_small_algebra(const Eqn& e);

/// The kernel that is being formed, and the current point in it.
struct LanePoint {
  Kernel kernel;
  Shape batch_shape;           ///< of the points
  NodeId lane_condition = -1;  ///< of a loop that each lane leaves on its own: true in the open iteration
};

/// Facts about a program's equations that do not depend on the point; computed once for all kernels that are formed from it.
struct Definitions {
  explicit Definitions(const JaxprData& j);
  std::vector<int> defined_by;  ///< of each variable: its equation, -1: none
  std::vector<char> injective;  ///< of each equation: an element of its result depends on few of its operands'
};

/// The values of a program's variables at a point.
class LaneScope final : public LeafReader {
 public:
  /// A function that returns the element at the position.
  using Source = std::function<KernelValue(std::span<const NodeId> at, NodeId guard)>;

  /// `memory`: of the program around the loop, whose values are in memory but for those that are only moved; gives nothing for what is
  /// computed here.
  LaneScope(LanePoint& point, const JaxprData& j, std::shared_ptr<const Definitions> known, std::function<Source(Var)> memory = {});
  bool is_leaf(Var v) override;
  KernelValue read(Var v, std::span<const NodeId> at, NodeId guard) override;
  KernelValue at(Atom a, std::span<const NodeId> coords) { return expressions_.at(a, coords); }
  /// Defined only where the condition (if any) holds.
  KernelValue at(Atom a, std::span<const NodeId> coords, NodeId guard) {
    return guard < 0 ? at(a, coords) : expressions_.guarded(point_.kernel.dag.operand(guard), a, coords);
  }
  void set(Var v, Source s) { sources_[v] = std::move(s); }
  const JaxprData& jaxpr() const { return j_; }
  const Eqn* definition(Atom a) const {
    const int by = a.is_literal() ? -1 : known_->defined_by[a.var()];
    return by < 0 ? nullptr : &j_.eqns[static_cast<std::size_t>(by)];
  }

 private:
  KernelValue compute(Var v, std::span<const NodeId> at, NodeId guard);
  KernelValue reduce(const Eqn& e, std::span<const NodeId> at);
  KernelValue dot(const Eqn& e, std::span<const NodeId> at);
  KernelValue cumulative(const Eqn& e, std::span<const NodeId> at, NodeId guard);
  KernelValue matrix(const Eqn& e, Var v, std::span<const NodeId> at, NodeId guard);
  Elements matrix_of(Atom a, std::vector<NodeId> batch);

  LanePoint& point_;
  const JaxprData& j_;
  const std::shared_ptr<const Definitions> known_;
  Expressions expressions_;
  std::map<Var, Source> sources_;
  std::function<Source(Var)> memory_;
  // The condition is part of the key, since a value computed under it is undefined elsewhere.
  std::map<std::tuple<Var, NodeId, std::vector<NodeId>>, KernelValue> memo_;
  std::map<std::tuple<const Eqn*, NodeId, std::vector<NodeId>>, std::vector<Elements>> matrices_;
};

}  // namespace weft::detail
