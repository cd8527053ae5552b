#include "weft/backends/codegen/schedule/kernel_cost.h"

#include <algorithm>

#include "weft/backends/codegen/schedule/cost.h"
#include "weft/backends/codegen/schedule/target.h"

namespace weft::detail {
namespace {

/// Adds the dimensions of loops whose trip count is not known.
void add_open_dims(const Repeat& r, std::uint64_t& dims) {
  if (r.go_on >= 0) dims |= std::uint64_t{1} << r.dim;
  for (const Repeat& inner : r.inner) add_open_dims(inner, dims);
}

/// The cycles of a load from a computed place, unless enough of the innermost loops' iterations read neighbours; else 0.
double gathered_cycles(const Kernel& k, const std::vector<int>& loops, const Node& load) {
  constexpr double kRow = 8;  // elements that are loaded as a vector
  if (load.kind != NodeKind::load || k.dag[load.operands[0]].kind != NodeKind::index) return 0;
  std::uint64_t computed = 0;
  for (const AffineTerm& t : k.dag.affine(load.operands[0]).terms)
    if (t.atom < 0) computed |= k.dag[~t.atom].dims;
  double neighbours = 1;
  for (std::size_t i = loops.size(); computed != 0 && i-- > 0 && !(computed >> loops[i] & 1);)
    neighbours *= static_cast<double>(k.dag.dims[static_cast<std::size_t>(loops[i])]);
  return computed != 0 && neighbours < kRow ? Target{}.gathered_lane : 0;
}

struct Counts {
  KernelCost cost;
  KernelTraffic traffic;
};

Counts count(const Kernel& k, int vector_bytes) {
  Counts counts;
  KernelCost& cost = counts.cost;
  std::vector<char> counted(k.dag.nodes.size());
  std::vector<double>&read = counts.traffic.read, &written = counts.traffic.written;
  read.resize(k.args.size()), written.resize(k.args.size());
  const double per_vector = 4.0 / vector_bytes * 0.5;
  for (const Nest& t : k.nests) {
    // The number of executions of a value that depends on the given loops: the iterations of all loops down to the innermost of them.
    std::vector<int> loops = k.outer;
    loops.insert(loops.end(), t.parallel.begin(), t.parallel.end());
    loops.insert(loops.end(), t.reduce.begin(), t.reduce.end());
    const std::vector<int> repeats = repeat_dims(t);
    loops.insert(loops.end(), repeats.begin(), repeats.end());
    std::uint64_t open = 0;
    for (const Repeat& r : t.repeats) add_open_dims(r, open);
    const auto trips = [&](std::uint64_t dims, std::uint64_t once) {
      double n = 1, all = 1;
      for (int d : loops) {
        if (!(once >> d & 1)) all *= static_cast<double>(k.dag.dims[static_cast<std::size_t>(d)]);
        if (dims >> d & 1) n = all;
      }
      return n;
    };
    std::vector<NodeId> stack;
    for (const Reduction& r : t.reductions) {
      stack.push_back(r.value);
      const double n = trips(~std::uint64_t{0}, 0);
      if (r.dtype.is_floating()) cost.flops += n;
      cost.cycles += n * per_vector * (r.kind == Reduction::Kind::reduce ? 1 : 4);
    }
    for (const Store& s : t.stores) {
      stack.push_back(s.value), stack.push_back(s.guard);
      const double n = trips(k.dag[s.position].dims, 0);
      written[static_cast<std::size_t>(s.arg)] += n;
      cost.cycles += n * per_vector * 2;
    }
    const auto add_stores = [&](auto&& self, const Repeat& r, std::uint64_t around) -> void {
      around |= std::uint64_t{1} << r.dim;
      for (const Store& s : r.stores) written[static_cast<std::size_t>(s.arg)] += trips(k.dag[s.position].dims | around, open);
      for (const Repeat& inner : r.inner) self(self, inner, around);
    };
    for (const Repeat& r : t.repeats) add_stores(add_stores, r, 0);
    if (!t.repeats.empty()) {
      const std::vector<NodeId> wanted = wanted_nodes(t);
      stack.insert(stack.end(), wanted.begin(), wanted.end());
    }
    while (!stack.empty()) {
      const NodeId n = stack.back();
      stack.pop_back();
      if (n < 0 || counted[static_cast<std::size_t>(n)]) continue;
      counted[static_cast<std::size_t>(n)] = 1;
      const Node& node = k.dag[n];
      cost.flops += trips(node.dims, open) * node_flops(node);
      cost.cycles += trips(node.dims, 0) * std::max(per_vector * node_cost(node), gathered_cycles(k, loops, node));
      if (node.kind == NodeKind::load) read[static_cast<std::size_t>(node.integer)] += trips(node.dims, open);
      for (NodeId o : node.operands) stack.push_back(o);
      if (node.kind == NodeKind::index)
        for (const AffineTerm& a : k.dag.affine(n).terms)
          if (a.atom < 0) stack.push_back(~a.atom);
    }
  }
  for (std::size_t a = 0; a < k.args.size(); ++a) {
    const auto elements = static_cast<double>(k.args[a].elements);
    read[a] = std::min(read[a], elements), written[a] = std::min(written[a], elements);
    if (!k.args[a].scratch) cost.bytes += (read[a] + written[a]) * k.args[a].dtype.itemsize();
  }
  cost.cycles = std::max(cost.cycles, cost.bytes / Target{}.bytes_per_cycle);
  return counts;
}

}  // namespace

KernelCost estimate_cost(const Kernel& k, int vector_bytes) { return count(k, vector_bytes).cost; }
KernelTraffic element_traffic(const Kernel& k) { return count(k, 64).traffic; }

}  // namespace weft::detail
