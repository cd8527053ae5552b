// Loops that update an array in order, each iteration where its index is inside (scatters). Takes a chunk of iterations at a time: vectors
// compare all of its indices with the bounds, and where all are inside no iteration asks again, or brings its index into the bounds.
#include <utility>

#include "weft/backends/codegen/emit/emit_kernel.h"

namespace weft::detail {

using llvm::Value;

namespace {

constexpr std::int64_t kChunk = 64;    // iterations
constexpr std::size_t kFewNodes = 32;  // more that a condition depends on are computed once only

/// The pairs of integers that are equal where the condition holds; false if it says anything else.
bool equal_integers(const Dag& dag, NodeId condition, std::vector<std::pair<NodeId, NodeId>>& pairs) {
  const Node& n = dag[condition];
  if (n.kind != NodeKind::op) return false;
  if (n.op == ScalarOp::bit_and) return equal_integers(dag, n.operands[0], pairs) && equal_integers(dag, n.operands[1], pairs);
  if (n.op != ScalarOp::eq || dag[n.operands[0]].dtype.is_inexact()) return false;
  pairs.emplace_back(n.operands[0], n.operands[1]);
  return true;
}

/// Whether a value is made of few others, none of which is of memory that the kernel writes.
bool is_simple(const std::vector<char>& pinned, const Kernel& k, NodeId of) {
  if (pinned[static_cast<std::size_t>(of)]) return false;
  std::vector<NodeId> seen, left{of};
  while (!left.empty()) {
    const NodeId n = left.back();
    left.pop_back();
    if (n < 0 || contains(seen, n)) continue;
    seen.push_back(n);
    if (seen.size() > kFewNodes) return false;
    for (NodeId o : k.dag[n].operands) left.push_back(o);
    if (k.dag[n].kind == NodeKind::index)
      for (const AffineTerm& t : k.dag.affine(n).terms)
        if (t.atom < 0) left.push_back(~t.atom);
  }
  return true;
}

}  // namespace

bool KernelEmitter::updates_in_chunks(std::size_t number) const {
  const Nest& t = k_.nests[number];
  const std::vector<LoopPlan>& loops = s_.nests[number].parallel;
  if (lanes_ > 1 || features_.vector_bytes < 16 || loops.empty() || t.stores.size() != 1 || t.stores[0].guard < 0) return false;
  if (!t.reduce.empty() || !t.reductions.empty() || !t.repeats.empty()) return false;
  const auto dim = static_cast<std::size_t>(loops[0].dim);
  const NodeId guard = t.stores[0].guard;
  if (!(k_.sequential >> dim & 1) || loops[0].vector || loops[0].unroll > 1 || loops[0].peeled || k_.limits[dim].outer >= 0 ||
      ranges_[dim].first || k_.dag.dims[dim] < kChunk || !(k_.dag[guard].dims >> dim & 1))
    return false;
  for (std::size_t i = 1; i < loops.size(); ++i)
    if (k_.dag[guard].dims >> loops[i].dim & 1) return false;
  std::vector<std::pair<NodeId, NodeId>> pairs;
  return equal_integers(k_.dag, guard, pairs) && is_simple(pinned_, k_, guard);
}

void KernelEmitter::update_in_chunks(std::size_t number) {
  const std::span<const LoopPlan> loops(s_.nests[number].parallel);
  const int dim = loops[0].dim, lanes = features_.vector_bytes / 4;
  const std::int64_t n = k_.dag.dims[static_cast<std::size_t>(dim)], whole = n / kChunk * kChunk;
  const NodeId guard = k_.nests[number].stores[0].guard;
  std::vector<std::pair<NodeId, NodeId>> equal;
  equal_integers(k_.dag, guard, equal);
  const Body update = [&](Values v) {
    return run_loops(loops.subspan(1), std::move(v), [&](Values w) {
      store_all(number, false);
      return w;
    });
  };
  const Body update_inside = [&](Values v) {
    const Copy copy(frames_.size(), 0);
    for (const auto& [inside, index] : equal)
      if (level_of(k_.dag[inside].dims, pinned_[static_cast<std::size_t>(inside)]) + 1 == static_cast<int>(frames_.size())) {
        Value* value = get(index, copy);
        frames_.back().memo.emplace(key(inside, copy), value);
      }
    const NodeId held = std::exchange(holds_, guard);
    v = update(std::move(v));
    holds_ = held;
    return v;
  };
  loop(-1, i64(0), i64(whole), kChunk, 1, 0, {}, [&](Values none) {
    Value *first = frames_.back().iteration, *last = ir_.CreateAdd(first, i64(kChunk));
    const int saved_dim = std::exchange(vector_dim_, dim);
    lanes_ = lanes;
    const Values all = loop(dim, first, last, lanes, 1, lanes, {ir_.getTrue()}, [&](Values v) {
      Value* inside = builder_.splat(get(guard, Copy(frames_.size(), 0)), lanes);
      return Values{ir_.CreateAnd(v[0], ir_.CreateAndReduce(inside))};
    });
    lanes_ = 1, vector_dim_ = saved_dim;
    loop(dim, first, ir_.CreateSelect(all[0], last, first), 1, 1, 1, {}, update_inside);
    loop(dim, ir_.CreateSelect(all[0], last, first), last, 1, 1, 1, {}, update);
    return none;
  });
  loop(dim, i64(whole), i64(n), 1, 1, 1, {}, update);
}

}  // namespace weft::detail
