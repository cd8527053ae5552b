// Values of a program's variables at an index, as scalar expressions: operations that compute or move single elements are fused into
// their readers.
#pragma once
#include <optional>
#include <unordered_map>
#include <vector>

#include "weft/backends/codegen/planner/dag.h"
#include "weft/core/base/hash.h"
#include "weft/core/ir/jaxpr.h"
#include "weft/core/ir/primitive.h"
#include "weft/core/ops/movement/gather.h"

namespace weft::detail {

/// Whether an element of the equation's result is an expression of a few elements of its operands; reductions of a few elements are.
bool is_injective(const JaxprData& j, const Eqn& e);
/// The number of elements of the operand that a reduction combines into one.
std::int64_t reduced_elements(const JaxprData& j, const Eqn& e);
/// One step of a reduction; false if no expression can do it.
bool combine(Dag& dag, Combiner c, KernelValue a, KernelValue b, KernelValue& out);
/// The first of several values that are combined: a sum begins with zero, so that negative zeros add up to zero.
KernelValue begin_combining(Dag& dag, Combiner c, KernelValue first);

/// The position, in a row-major array, of the element at the coordinates.
NodeId row_major_position(Dag& dag, const Shape& shape, std::span<const NodeId> coords);

/// Where expressions end: variables that are read from memory, or computed elsewhere in the kernel.
class LeafReader {
 public:
  virtual ~LeafReader() = default;
  virtual bool is_leaf(Var v) = 0;
  virtual KernelValue read(Var v, std::span<const NodeId> at, NodeId guard) = 0;
};

/// Thrown when an expression has too many operations for one kernel.
struct ExpressionTooLarge {};

class Expressions {
 public:
  static constexpr int kMaxDepth = 600;

  /// `max_nodes`: the largest size of the graph, above which ExpressionTooLarge is thrown.
  Expressions(const JaxprData& j, const std::vector<int>& defining_eqn, Dag& dag, LeafReader& leaves, std::size_t max_nodes)
      : j_(j), defined_by_(defining_eqn), dag_(dag), leaves_(leaves), max_nodes_(max_nodes) {}

  /// The operand's element at the position.
  KernelValue at(Atom a, std::span<const NodeId> coords);
  /// The same where the condition holds; elsewhere it is undefined and nothing is read.
  KernelValue guarded(KernelValue condition, Atom a, std::span<const NodeId> coords);
  /// An element of a variable computed by its equation, even if the variable is a leaf.
  KernelValue compute(Var v, std::span<const NodeId> coords);

  /// The target of an element of a scatter's updates: coordinates in the operand, valid where `inside` holds.
  struct Place {
    std::vector<NodeId> coords;
    KernelValue inside;
  };
  Place scatter_place(const Eqn& e, std::span<const NodeId> coords);

  /// The number of different elements of each variable that were computed for one point.
  const std::unordered_map<Var, int>& evaluations() const { return evaluations_; }

  /// The nodes that one element of a variable added to the graph, with all that it is computed from.
  struct Extent {
    Var var;
    std::size_t begin = 0, end = 0;  ///< end is 0 while the element is being computed, and after ExpressionTooLarge
  };
  /// The elements that were computed, in the order in which their computation began; the nodes of one are between its begin and its end.
  const std::vector<Extent>& extents() const { return extents_; }

 private:
  using Coords = std::vector<NodeId>;
  KernelValue literal(const Literal& l);
  KernelValue elementwise(const Eqn& e, std::span<const NodeId> coords);
  KernelValue movement(const Eqn& e, std::span<const NodeId> coords, int which);
  KernelValue concatenate(const Eqn& e, std::span<const NodeId> coords);
  /// Of a concatenation of single elements that differ by an even step only; nothing for others.
  std::optional<KernelValue> stacked(const Eqn& e, std::span<const NodeId> coords);
  bool are_alike(Atom a, Atom b, int depth) const;
  KernelValue gather(const Eqn& e, std::span<const NodeId> coords);
  KernelValue reduction(const Eqn& e, std::span<const NodeId> coords);
  KernelValue dynamic_slice(const Eqn& e, std::span<const NodeId> coords);
  KernelValue dynamic_update_slice(const Eqn& e, std::span<const NodeId> coords);
  /// The element where the condition holds; what it reads is read only there.
  Place locate(const IndexedGeometry& g, const Shape& operand, Atom indices, std::span<const NodeId> coords, bool check);
  NodeId clamped_start(KernelValue start, std::int64_t limit);
  NodeId linear(const Shape& shape, std::span<const NodeId> coords);

  struct Key {
    Var var;
    NodeId guard;
    Coords coords;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& k) const {
      std::size_t h = k.var * 0x9e3779b97f4a7c15ull + static_cast<std::size_t>(k.guard + 1);
      for (NodeId n : k.coords) h = fnv_with(h, static_cast<std::uint64_t>(n));
      return h;
    }
  };
  const JaxprData& j_;
  const std::vector<int>& defined_by_;
  Dag& dag_;
  LeafReader& leaves_;
  NodeId guard_ = -1;
  int depth_ = 0;
  std::size_t max_nodes_;
  std::unordered_map<Key, KernelValue, KeyHash> memo_;
  std::unordered_map<Var, int> evaluations_;
  std::vector<Extent> extents_;
};

}  // namespace weft::detail
