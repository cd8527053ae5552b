#include "weft/backends/codegen/planner/signature.h"

#include <bit>

namespace weft::detail {

std::vector<std::int64_t> signature(const Kernel& k) {
  std::vector<std::int64_t> s;
  const auto list = [&](const std::vector<int>& v) {
    s.push_back(static_cast<std::int64_t>(v.size()));
    s.insert(s.end(), v.begin(), v.end());
  };
  s.insert(s.end(), k.dag.dims.begin(), k.dag.dims.end());
  list(k.outer);
  s.push_back(static_cast<std::int64_t>(k.sequential));
  s.insert(s.end(), {k.row_partition.loop, k.row_partition.row, k.row_partition.rows});
  for (const LoopLimit& l : k.limits) s.push_back(l.outer), s.push_back(l.total);
  for (const KernelArg& a : k.args) s.insert(s.end(), {a.dtype.id(), a.elements, a.scratch, a.written});
  const std::vector<char> live = live_nodes(k);
  for (std::size_t i = 0; i < k.dag.nodes.size(); ++i) {
    if (!live[i]) continue;
    const Node& n = k.dag.nodes[i];
    s.insert(s.end(), {static_cast<std::int64_t>(i), static_cast<std::int64_t>(n.kind), n.dtype.id(),
                       n.kind == NodeKind::op     ? static_cast<std::int64_t>(n.op)
                       : n.kind == NodeKind::math ? static_cast<std::int64_t>(n.function)
                                                  : 0,
                       n.operands[0], n.operands[1], n.operands[2], n.integer, std::bit_cast<std::int64_t>(n.floating)});
    if (n.kind == NodeKind::index) {
      const Affine& a = k.dag.affines[static_cast<std::size_t>(n.affine)];
      s.push_back(a.constant);
      for (const AffineTerm& t : a.terms) s.push_back(t.atom), s.push_back(t.coef);
    }
  }
  for (const Nest& t : k.nests) {
    list(t.parallel), list(t.reduce);
    for (const Reduction& r : t.reductions)
      s.insert(s.end(), {static_cast<std::int64_t>(r.kind), static_cast<std::int64_t>(r.combiner), r.dtype.id(), r.value, r.local,
                         r.position, r.running});
    for (const Store& w : t.stores) s.insert(s.end(), {w.arg, w.position, w.value, w.guard, w.in_reduction});
    const auto repeat = [&](auto&& self, const Repeat& r) -> void {
      s.insert(s.end(), {r.dim, r.go_on, static_cast<std::int64_t>(r.carried.size()), static_cast<std::int64_t>(r.inner.size()),
                         static_cast<std::int64_t>(r.stores.size())});
      for (const Repeat::Carried& c : r.carried) s.insert(s.end(), {c.local, c.result, c.start, c.next});
      for (const Store& w : r.stores) s.insert(s.end(), {w.arg, w.position, w.value, w.guard});
      for (const Repeat& inner : r.inner) self(self, inner);
    };
    s.push_back(static_cast<std::int64_t>(t.repeats.size()));
    for (const Repeat& r : t.repeats) repeat(repeat, r);
  }
  return s;
}

std::vector<std::int64_t> code_signature(const Kernel& k, const Schedule& s) {
  std::vector<std::int64_t> v = signature(k);
  const auto size = [&](std::size_t n) { v.push_back(static_cast<std::int64_t>(n)); };
  // Properties that the signature omits, as no two kernels of one program differ in them alone.
  size(k.dag.dims.size()), size(k.limits.size()), size(k.args.size()), size(k.nests.size());
  for (const Nest& t : k.nests) size(t.reductions.size()), size(t.stores.size());
  size(k.dag.nodes.size());
  for (const Node& n : k.dag.nodes)
    v.insert(v.end(), {static_cast<std::int64_t>(n.kind), static_cast<std::int64_t>(n.op), static_cast<std::int64_t>(n.function),
                       n.dtype.id(), n.operands[0], n.operands[1], n.operands[2], n.integer, std::bit_cast<std::int64_t>(n.floating),
                       n.affine, static_cast<std::int64_t>(n.dims), n.low, n.high});
  size(k.dag.affines.size());
  for (const Affine& a : k.dag.affines) {
    size(a.terms.size());
    v.push_back(a.constant);
    for (const AffineTerm& t : a.terms) v.push_back(t.atom), v.push_back(t.coef);
  }
  size(k.locals.size());
  for (const DType t : k.locals) v.push_back(t.id());
  const auto plans = [&](const std::vector<LoopPlan>& loops) {
    size(loops.size());
    for (const LoopPlan& l : loops) v.insert(v.end(), {l.dim, l.unroll, l.vector, l.peeled});
  };
  v.insert(v.end(), {s.lanes, s.vector_dim, s.task_loops, s.num_blocks, s.grain, s.row_bits, s.rows_ahead, s.row_bytes, s.shuffled_record,
                     s.at_once, s.gathered_ahead, s.stored_ahead, s.steps_ahead});
  plans(s.outer);
  size(s.nests.size());
  for (const NestSchedule& n : s.nests) plans(n.parallel), plans(n.reduce), v.push_back(n.by_rows);
  for (const std::vector<std::int64_t>* list : {&s.block, &s.blocks}) {
    size(list->size());
    v.insert(v.end(), list->begin(), list->end());
  }
  for (const std::vector<int>* list : {&s.streamed, &s.transposed, &s.records, &s.by_inverse, &s.gathered, &s.prepared}) {
    size(list->size());
    v.insert(v.end(), list->begin(), list->end());
  }
  size(s.called.size());
  for (const MathFunction f : s.called) v.push_back(static_cast<std::int64_t>(f));
  return v;
}

}  // namespace weft::detail
