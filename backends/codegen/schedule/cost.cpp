#include "weft/backends/codegen/schedule/cost.h"

#include "weft/backends/codegen/math/rules.h"
#include "weft/core/ir/primitive.h"

namespace weft::detail {

double node_cost(const Node& n) {
  const double wide = n.dtype.itemsize() == 8 ? 2 : 1;
  switch (n.kind) {
    case NodeKind::load: return wide;
    case NodeKind::index_div:
    case NodeKind::index_mod: return 8;
    case NodeKind::index_below: return 2;
    case NodeKind::math: return math_rule(n.function).cost * wide;
    case NodeKind::op:
      switch (n.op) {
        case ScalarOp::div: return 10 * wide * (n.dtype.is_floating() ? 1 : 6);
        case ScalarOp::rem: return (n.dtype.is_floating() ? 24 : 60) * wide;
        case ScalarOp::sqrt: return 12 * wide;
        case ScalarOp::min:
        case ScalarOp::max: return n.dtype.is_floating() ? 3 * wide : wide;
        case ScalarOp::convert: return 2 * wide;
        case ScalarOp::bitcast: return 0;
        default: return wide;
      }
    default: return 0;
  }
}

double node_flops(const Node& n) {
  if (!n.dtype.is_floating()) return 0;
  if (n.kind == NodeKind::math) return 1;
  if (n.kind != NodeKind::op) return 0;
  if (n.op == ScalarOp::fma) return 2;
  return n.op <= ScalarOp::copysign ? 1 : 0;
}

double equation_cost(const JaxprData& j, const Eqn& e) {
  switch (e.op->kind) {
    case Kind::elementwise: {
      Dag dag;
      std::vector<KernelValue> operands;
      for (Atom a : e.inputs) {
        const DType t = j.aval(a).dtype;
        const int k = static_cast<int>(operands.size());
        const NodeId at = dag.index(k);
        operands.push_back(t.is_complex() ? dag.complex(dag.load(2 * k, t.real_part(), at), dag.load(2 * k + 1, t.real_part(), at))
                                          : dag.load(2 * k, t, at));
      }
      e.op->lower(dag, *e.params, operands);
      double cost = 0;
      for (const Node& n : dag.nodes)
        if (n.kind != NodeKind::load) cost += node_cost(n);
      return cost;
    }
    case Kind::movement:
    case Kind::reduce: return 0.5;
    case Kind::concatenate: return 3 * static_cast<double>(e.inputs.size());
    case Kind::iota: return 1;
    case Kind::gather: return 16;
    case Kind::dynamic_slice: return 1;
    default: return 4;
  }
}

}  // namespace weft::detail
