// The scalar expressions of a kernel: a graph of hash-consed nodes over the kernel's loop dimensions. It knows nothing of vectors, threads
// or targets; an emitter walks it once for each vector or thread.
//
// Positions are index nodes: affine forms over loop dimensions and over terms that are not affine (quotients, remainders, computed values).
// They are kept in normal form, so that equal positions are one node, and reshapes that only merge or split dimensions leave no division.
#pragma once
#include <array>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "weft/core/ir/kernel_builder.h"

namespace weft::detail {

using NodeId = int;

/// One term of an affine form: coefficient times loop dimension `atom`, or times node ~atom where atom is negative.
struct AffineTerm {
  int atom = 0;
  std::int64_t coef = 0;
  friend bool operator==(const AffineTerm&, const AffineTerm&) = default;
};
struct Affine {
  std::int64_t constant = 0;
  std::vector<AffineTerm> terms;  ///< sorted by atom, no zeros
  friend bool operator==(const Affine&, const Affine&) = default;
};

/// What a node computes. Operands are earlier nodes.
enum class NodeKind : std::uint8_t {
  constant,
  index,        ///< an affine form; never negative where it is used
  index_div,    ///< index / integer
  index_mod,    ///< index % integer
  index_below,  ///< bool: 0 <= index < integer
  index_value,  ///< an index as a number of the node's dtype
  load,         ///< element operands[0] of argument `integer`; only where operands[1] (if any) holds, else undefined
  op,           ///< ScalarOp
  math,         ///< MathFunction
  local,        ///< result `integer` of a reduction of an earlier nest
};

struct Node {
  NodeKind kind = NodeKind::constant;
  ScalarOp op = ScalarOp::add;
  MathFunction function = MathFunction::exp;
  DType dtype = int64;
  std::array<NodeId, 3> operands{-1, -1, -1};
  std::int64_t integer = 0;        ///< a constant's value; a divisor or bound; an argument's or local's number
  double floating = 0;             ///< a floating constant's value
  int affine = -1;                 ///< of an index: position in Dag::affines
  std::uint64_t dims = 0;          ///< the loop dimensions that the value depends on
  std::int64_t low = 0, high = 0;  ///< bounds of an index, both included
};

/// Makes nodes; equal ones are made once.
class Dag final : public KernelBuilder {
 public:
  std::vector<Node> nodes;
  std::vector<Affine> affines;
  std::vector<std::int64_t> dims;  ///< sizes of the loop dimensions, at most kMaxDims
  bool narrows_integers = false;   ///< integers of which only low bits are wanted are computed in narrower types

  static constexpr int kMaxDims = 64;

  const Node& operator[](NodeId n) const { return nodes[static_cast<std::size_t>(n)]; }
  const Affine& affine(NodeId n) const { return affines[static_cast<std::size_t>((*this)[n].affine)]; }

  /// Adds a loop dimension of a size of at least 1.
  int add_dim(std::int64_t size);

  // Positions.
  NodeId index(std::int64_t constant);
  NodeId index_dim(int dim);
  NodeId add(NodeId a, NodeId b) { return combine(a, 1, b, 1); }
  NodeId combine(NodeId a, std::int64_t ka, NodeId b, std::int64_t kb);
  NodeId offset(NodeId a, std::int64_t constant);
  NodeId scale(NodeId a, std::int64_t k);
  NodeId divide(NodeId a, std::int64_t divisor);
  NodeId modulo(NodeId a, std::int64_t divisor);
  /// A computed integer known to be in [low, high].
  NodeId index_of(V value, std::int64_t low, std::int64_t high);
  V below(NodeId a, std::int64_t limit);
  V value_of(NodeId a, DType dtype);
  /// The loop dimension if the position is just that, else -1.
  int as_dim(NodeId a) const;
  bool as_constant(NodeId a, std::int64_t& out) const;
  /// The change of position from one iteration of the dimension to the next; false if it is not the same everywhere.
  bool stride(NodeId a, int dim, std::int64_t& out) const;

  /// The value of this number among values that differ by an even step only, as one expression; nothing if they don't, or if the place may
  /// be none of theirs.
  std::optional<V> member_of(std::span<const V> values, NodeId place);

  V load(int argument, DType dtype, NodeId position, NodeId guard = -1);
  V local(int number, DType dtype, std::uint64_t dims);
  V boolean(bool v) { return integer(bool_, v); }
  V operand(NodeId n) const { return {n, -1, (*this)[n].dtype}; }
  bool is_true(V v) const { return (*this)[v.id].kind == NodeKind::constant && (*this)[v.id].integer != 0; }
  bool is_false(V v) const { return (*this)[v.id].kind == NodeKind::constant && (*this)[v.id].integer == 0; }
  V both(V a, V b);
  /// An operation or function of another graph, of these operands.
  V same(const Node& n, std::span<const V> operands) {
    return n.kind == NodeKind::math ? emit_math(n.function, operands) : emit(n.op, n.dtype, operands);
  }

  using KernelBuilder::add;

 protected:
  V emit(ScalarOp op, DType result, std::span<const V> operands) override;
  V emit_constant(DType dtype, double floating, std::int64_t integer) override;
  V emit_math(MathFunction f, std::span<const V> operands) override;
  V call_where(V condition, MathFunction f, std::span<const V> operands, V fast) override;

 private:
  static std::uint64_t hash(const Node& n);
  NodeId find(const Node& n) const;  ///< -1: there is none
  NodeId intern(const Node& n);
  NodeId intern(Affine a);
  struct Range {
    std::int64_t low = 0, high = 0;  ///< both included
  };
  /// Between which numbers the value of an integer is; nothing: it may be any of 64 bits.
  std::optional<Range> range_of(NodeId n);
  std::optional<Range> find_range(NodeId n);
  /// The value of an operation on integers of which enough is known: a comparison's, or the operand that is the extremum.
  std::optional<V> emit_of_ranges(ScalarOp op, std::span<const V> operands);
  std::optional<NodeId> member_of(const std::vector<NodeId>& members, NodeId place, int depth);
  std::optional<NodeId> find_member(const Node& first, const std::vector<NodeId>& members, NodeId place, int depth);
  /// The low bits of an integer, as one of the narrower type, if narrower integers are enough to compute them; none of it is loaded or
  /// reduced in a wider type.
  std::optional<V> low_bits(NodeId n, DType to);
  std::optional<V> find_low_bits(NodeId n, DType to);
  std::optional<V> low_bits_of_operation(const Node& n, DType to);
  /// An integer type of fewer bytes that holds all values that these nodes may have.
  std::optional<DType> type_of_values(std::initializer_list<NodeId> values, int bytes);
  /// The position that an integer is the value of, if it is one.
  std::optional<NodeId> position_of(V value);
  /// The value of an integer operation on positions, as one of a position or a constant, where its bounds tell that it does not overflow.
  std::optional<V> emit_of_positions(ScalarOp op, DType result, std::span<const V> operands);
  void bound(const Affine& a, std::int64_t& low, std::int64_t& high) const;
  /// a = divisor * quotient + rest with 0 <= rest < divisor, as far as that needs no division. False if some is needed.
  bool split(NodeId a, std::int64_t divisor, NodeId& quotient, NodeId& rest);
  bool split_off(NodeId a, std::int64_t divisor, NodeId& quotient, NodeId& rest);
  std::int64_t atom_low(int atom) const { return atom >= 0 ? 0 : (*this)[~atom].low; }
  std::int64_t atom_high(int atom) const { return atom >= 0 ? dims[static_cast<std::size_t>(atom)] - 1 : (*this)[~atom].high; }
  std::unordered_multimap<std::uint64_t, NodeId> table_;
  std::unordered_map<NodeId, std::optional<Range>> ranges_;
  std::unordered_map<std::uint64_t, std::optional<V>> low_bits_;  ///< by node and type
  std::map<std::vector<NodeId>, std::optional<NodeId>> members_;
};

std::string_view name_of(ScalarOp op);
std::string_view name_of(MathFunction f);

}  // namespace weft::detail
