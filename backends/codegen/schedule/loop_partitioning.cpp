#include "weft/backends/codegen/schedule/loop_partitioning.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <unordered_map>
#include <utility>

#include "weft/backends/codegen/schedule/moved_elements.h"

namespace weft::detail {
namespace {

// Of a result, from which on parts are worth kernels of their own: bytes, or elements, each of which costs its conditions.
constexpr std::int64_t kLeastBytes = 64 << 10, kLeastElements = 16 << 10;
constexpr std::int64_t kLongRun = 256;  // bytes in a row of the largest part of a loop that is partitioned
constexpr std::size_t kMostParts = 32;

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

/// The kernel for a part of its points: along one loop those from `low` on.
class Part {
 public:
  Part(const PlacedKernel& whole, int dim, std::int64_t low, std::int64_t size)
      : whole_(whole), old_(whole.kernel.dag), dim_(dim), low_(low), made_(old_.nodes.size()), args_(whole.kernel.args.size(), -1) {
    for (std::size_t d = 0; d < old_.dims.size(); ++d) part_.kernel.dag.add_dim(static_cast<int>(d) == dim ? size : old_.dims[d]);
  }

  PlacedKernel run() {
    Kernel& k = part_.kernel;
    k.limits = whole_.kernel.limits;
    for (int d : whole_.kernel.outer)
      if (k.dag.dims[static_cast<std::size_t>(d)] > 1) k.outer.push_back(d);
    if (k.outer.empty()) k.outer.push_back(dim_);
    k.nests.emplace_back();
    for (const Store& s : whole_.kernel.nests[0].stores) {
      const KernelValue v = value(s.value);
      const int arg = argument(s.arg);
      k.args[static_cast<std::size_t>(arg)].written = true;
      k.nests[0].stores.push_back({arg, position(s.position), v.id});
    }
    return std::move(part_);
  }

 private:
  int argument(std::int64_t old) {
    int& arg = args_[static_cast<std::size_t>(old)];
    if (arg >= 0) return arg;
    arg = static_cast<int>(part_.kernel.args.size());
    part_.kernel.args.push_back(whole_.kernel.args[static_cast<std::size_t>(old)]);
    part_.buffers.push_back(whole_.buffers[static_cast<std::size_t>(old)]);
    return arg;
  }

  NodeId position(NodeId old) {
    Dag& dag = part_.kernel.dag;
    return copied_position(old_, old, dag,
                           [&](int dim) { return dim == dim_ ? dag.offset(dag.index_dim(dim), low_) : dag.index_dim(dim); });
  }

  /// A selection by a known condition is what it selects: the rest is not made.
  KernelValue value(NodeId old) {
    KernelValue& known = made_[static_cast<std::size_t>(old)];
    if (known.id < 0) known = make(old_[old]);
    return known;
  }
  KernelValue make(const Node& n) {
    Dag& dag = part_.kernel.dag;
    switch (n.kind) {
      case NodeKind::constant: return n.dtype.is_floating() ? dag.constant(n.dtype, n.floating) : dag.integer(n.dtype, n.integer);
      case NodeKind::index_below: return dag.below(position(n.operands[0]), n.integer);
      case NodeKind::load: {
        const KernelValue guard = n.operands[1] >= 0 ? value(n.operands[1]) : dag.boolean(true);
        if (dag.is_false(guard)) return dag.constant(n.dtype, 0);  // nobody looks at it
        return dag.load(argument(n.integer), n.dtype, position(n.operands[0]), dag.is_true(guard) ? -1 : guard.id);
      }
      default: {
        const KernelValue first = value(n.operands[0]);
        if (!is_choice(n)) {
          std::vector<KernelValue> operands{first};
          for (std::size_t i = 1; i < n.operands.size() && n.operands[i] >= 0; ++i) operands.push_back(value(n.operands[i]));
          return dag.same(n, operands);
        }
        if (n.op == ScalarOp::bit_and) return dag.is_false(first) ? first : dag.both(first, value(n.operands[1]));
        if (dag.is_true(first)) return value(n.operands[1]);
        if (dag.is_false(first)) return value(n.operands[2]);
        const KernelValue yes = value(n.operands[1]);
        return dag.select(first, yes, value(n.operands[2]));
      }
    }
  }

  const PlacedKernel& whole_;
  const Dag& old_;
  const int dim_;
  const std::int64_t low_;
  PlacedKernel part_;
  std::vector<KernelValue> made_;
  std::vector<int> args_;
};

/// Where a condition on one loop's coordinate changes: the loop's beginning, the first points of its further parts, its end. Nothing where
/// the condition depends on several loops, or on none.
std::vector<std::int64_t> changes_of(const Kernel& k, const Node& condition, int& dim) {
  const Affine& a = k.dag.affine(condition.operands[0]);
  if (a.terms.size() != 1 || a.terms[0].atom < 0) return {};
  dim = a.terms[0].atom;
  const std::int64_t size = k.dag.dims[static_cast<std::size_t>(dim)], step = a.terms[0].coef;
  std::set<std::int64_t> at{0, size};
  // Where step * i + constant reaches 0 and the bound, on its way up or down.
  for (const std::int64_t bound : {-a.constant, condition.integer - a.constant}) {
    const std::int64_t first = step > 0 ? -floor_div(-bound, step) : floor_div(bound, step) + 1;
    if (first > 0 && first < size) at.insert(first);
  }
  return {at.begin(), at.end()};
}

/// How many bytes lie side by side in the result along the loop's longest part and the loops inside of it.
std::int64_t longest_run(const Kernel& k, int dim, const std::vector<std::int64_t>& changes) {
  std::int64_t longest = 0, run = 0;
  for (std::size_t i = 1; i < changes.size(); ++i) longest = std::max(longest, changes[i] - changes[i - 1]);
  for (const Store& s : k.nests[0].stores) {
    std::int64_t step = 0;
    if (!k.dag.stride(s.position, dim, step)) return 0;
    run = std::max(run, std::abs(step) * longest * k.args[static_cast<std::size_t>(s.arg)].dtype.itemsize());
  }
  return run;
}

bool writes_much(const Kernel& k) {
  std::int64_t bytes = 0, elements = 0;
  for (const KernelArg& a : k.args)
    if (a.written) bytes += a.elements * a.dtype.itemsize(), elements += a.elements;
  return bytes >= kLeastBytes || elements >= kLeastElements;
}

/// False: there are too many parts.
bool partition(PlacedKernel whole, std::vector<PlacedKernel>& parts) {
  const Kernel& k = whole.kernel;
  // From what is stored towards what is loaded, as conditions further on may be on parts only.
  std::vector<NodeId> reached;
  std::vector<char> seen(k.dag.nodes.size());
  const auto reach = [&](NodeId n) {
    if (n >= 0 && !std::exchange(seen[static_cast<std::size_t>(n)], 1)) reached.push_back(n);
  };
  for (const Store& s : k.nests[0].stores) reach(s.value);
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const Node& n = k.dag[reached[i]];
    for (NodeId o : n.operands) reach(o);
    if (n.kind != NodeKind::index_below) continue;
    int dim = -1;
    const std::vector<std::int64_t> changes = changes_of(k, n, dim);
    if (changes.size() <= 2 || longest_run(k, dim, changes) < kLongRun) continue;
    for (std::size_t c = 1; c < changes.size(); ++c)
      if (!partition(Part(whole, dim, changes[c - 1], changes[c] - changes[c - 1]).run(), parts)) return false;
    return true;
  }
  parts.push_back(std::move(whole));
  return parts.size() <= kMostParts;
}

/// False: partitioning is not worth it, or a part has more operations than that.
bool partition_if_worth_it(const PlacedKernel& whole, int operations, std::vector<PlacedKernel>& parts) {
  if (!writes_much(whole.kernel) || !only_moves(whole.kernel, operations * static_cast<int>(kMostParts))) return false;
  return partition(whole, parts) &&
         std::all_of(parts.begin(), parts.end(), [&](const PlacedKernel& part) { return only_moves(part.kernel, operations); });
}

}  // namespace

std::vector<PlacedKernel> partition_loops(Kernel k, std::vector<BufferId> buffers, int operations) {
  std::vector<PlacedKernel> parts;
  PlacedKernel whole{std::move(k), std::move(buffers)};
  if (partition_if_worth_it(whole, operations, parts)) return parts;
  parts.clear();
  parts.push_back(std::move(whole));
  return parts;
}

bool partitions_without_conditions(Kernel k) {
  k.limits.assign(k.dag.dims.size(), {});
  std::unordered_map<std::int64_t, int> numbers;
  for (Node& n : k.dag.nodes) {
    if (n.kind != NodeKind::load) continue;
    const auto [found, is_new] = numbers.emplace(n.integer, static_cast<int>(k.args.size()));
    if (is_new) k.args.push_back({n.dtype, 0});
    n.integer = found->second;
  }
  std::vector<PlacedKernel> parts;
  const std::size_t args = k.args.size();
  if (!partition_if_worth_it({std::move(k), std::vector<BufferId>(args)}, kPartitionedOperations, parts)) return false;
  return std::none_of(parts.begin(), parts.end(), [](const PlacedKernel& part) {
    const std::vector<char> live = live_nodes(part.kernel);
    for (std::size_t n = 0; n < live.size(); ++n)
      if (live[n] && part.kernel.dag.nodes[n].kind == NodeKind::index_below) return true;
    return false;
  });
}

}  // namespace weft::detail
