#include "weft/backends/codegen/schedule/moved_elements.h"

#include <algorithm>

namespace weft::detail {

static bool is_divided(const Node& n) { return n.kind == NodeKind::index_div || n.kind == NodeKind::index_mod; }

bool is_choice(const Node& n) { return n.op == ScalarOp::select || (n.op == ScalarOp::bit_and && n.dtype.is_bool()); }

bool only_moves(const Kernel& k, int operations) {
  if (k.nests.size() != 1 || k.row_partition.loop >= 0 || k.sequential != 0 || k.outer.empty()) return false;
  const Nest& t = k.nests[0];
  if (t.stores.empty()) return false;  // what was copied to where it is
  if (!t.parallel.empty() || !t.reduce.empty() || !t.reductions.empty() || !t.repeats.empty()) return false;
  if (std::any_of(k.limits.begin(), k.limits.end(), [](const LoopLimit& l) { return l.outer >= 0; })) return false;
  if (std::any_of(k.args.begin(), k.args.end(), [](const KernelArg& a) { return a.scratch; })) return false;
  if (std::any_of(t.stores.begin(), t.stores.end(), [](const Store& s) { return s.guard >= 0; })) return false;
  const std::vector<char> live = live_nodes(k);
  for (std::size_t n = 0; n < live.size(); ++n) {
    const Node& node = k.dag.nodes[n];
    if (!live[n]) continue;
    switch (node.kind) {
      case NodeKind::constant:
      case NodeKind::index_div:
      case NodeKind::index_mod:
      case NodeKind::index_below: break;
      case NodeKind::index:
        for (const AffineTerm& a : k.dag.affine(static_cast<NodeId>(n)).terms)
          if (a.atom < 0 && !is_divided(k.dag[~a.atom])) return false;
        break;
      case NodeKind::load:
        if (k.args[static_cast<std::size_t>(node.integer)].written) return false;
        break;
      case NodeKind::op:
        if (!is_choice(node) && --operations < 0) return false;
        break;
      default: return false;
    }
  }
  return true;
}

NodeId copied_position(const Dag& from, const Affine& position, Dag& to, const std::function<NodeId(int)>& index) {
  NodeId sum = to.index(position.constant);
  for (const AffineTerm& t : position.terms) {
    NodeId atom = -1;
    if (t.atom >= 0) {
      atom = index(t.atom);
    } else {
      const Node& n = from[~t.atom];
      const NodeId of = copied_position(from, n.operands[0], to, index);
      atom = n.kind == NodeKind::index_div ? to.divide(of, n.integer) : to.modulo(of, n.integer);
    }
    sum = to.combine(sum, 1, atom, t.coef);
  }
  return sum;
}
NodeId copied_position(const Dag& from, NodeId position, Dag& to, const std::function<NodeId(int)>& index) {
  return copied_position(from, from.affine(position), to, index);
}

}  // namespace weft::detail
