#include "weft/backends/codegen/emit/reduction_epilogue.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "weft/backends/codegen/schedule/cost.h"
#include "weft/backends/codegen/schedule/schedule.h"

namespace weft::detail {
namespace {

class Splitter {
 public:
  Splitter(Kernel& k, int vector_bytes) : k_(k), old_(k.dag), target_{.vector_bytes = vector_bytes} {}

  bool run() {
    if (!has_form() || !pays()) return false;
    dim_ = k_.outer.back();
    const std::int64_t n = size(dim_);
    const std::int64_t block = choose_block();
    if (block == 0) return false;
    fresh_.dims = old_.dims;
    chunks_ = n / block;
    block_ = block;
    fresh_.dims[static_cast<std::size_t>(dim_)] = chunks_;
    if (chunks_ == 1) k_.outer.pop_back();
    for (int& along : along_) along = fresh_.add_dim(block), k_.limits.emplace_back();
    rewrite();
    return true;
  }

 private:
  std::int64_t size(int dim) const { return old_.dims[static_cast<std::size_t>(dim)]; }

  bool has_form() const {
    if (k_.nests.size() != 1 || k_.outer.empty() || k_.sequential != 0 || old_.dims.size() + 2 > Dag::kMaxDims) return false;
    const Nest& t = k_.nests[0];
    const auto plain = [](const Reduction& r) { return r.kind == Reduction::Kind::reduce && !r.running && !r.dtype.is_bool(); };
    return t.parallel.empty() && !t.reduce.empty() && t.repeats.empty() && std::all_of(t.reductions.begin(), t.reductions.end(), plain) &&
           std::none_of(t.stores.begin(), t.stores.end(), [](const Store& s) { return s.in_reduction; }) &&
           std::all_of(k_.limits.begin(), k_.limits.end(), [](const LoopLimit& l) { return l.outer < 0; });
  }

  double cost_of(const std::vector<NodeId>& roots, std::uint64_t within) const {
    double cost = 0;
    std::vector<char> seen(old_.nodes.size());
    std::vector<NodeId> stack = roots;
    while (!stack.empty()) {
      const NodeId n = stack.back();
      stack.pop_back();
      if (n < 0 || std::exchange(seen[static_cast<std::size_t>(n)], 1)) continue;
      const Node& node = old_[n];
      if (within == 0 || (node.dims & within)) cost += node_cost(node);
      for (NodeId o : node.operands) stack.push_back(o);
      if (node.kind == NodeKind::index)
        for (const AffineTerm& a : old_.affine(n).terms)
          if (a.atom < 0) stack.push_back(~a.atom);
    }
    return cost;
  }

  bool pays() const {
    const Nest& t = k_.nests[0];
    std::vector<NodeId> after, within;
    for (const Store& s : t.stores) after.push_back(s.value), after.push_back(s.guard);
    for (const Reduction& r : t.reductions) within.push_back(r.value);
    const double expensive = cost_of(after, 0);
    if (expensive < target_.expensive_epilogue) return false;
    std::uint64_t reduce = 0;
    double steps = 1;
    for (int d : t.reduce) reduce |= std::uint64_t{1} << d, steps *= static_cast<double>(size(d));
    const double lanes = target_.vector_bytes / 8;
    const double reduction = steps * (cost_of(within, reduce) + static_cast<double>(t.reductions.size())) / lanes;
    return expensive * (1 - 1 / lanes) >= target_.epilogue_share * (expensive + reduction) &&
           static_cast<double>(size(k_.outer.back())) >= lanes;
  }

  /// The block size: all points of the loop if one thread runs them, else a divisor of it; 0 if there is none.
  std::int64_t choose_block() const {
    const std::int64_t n = size(dim_);
    double others = 1;
    for (int d : k_.outer) others *= d == dim_ ? 1 : static_cast<double>(size(d));
    if (n <= target_.epilogue_points &&
        (others >= static_cast<double>(target_.epilogue_block) || estimate_cost(k_, target_.vector_bytes).cycles < target_.fork_cycles))
      return n;
    const std::int64_t lanes = target_.vector_bytes / 8;
    for (const std::int64_t unit : {2 * lanes, lanes, std::int64_t{1}})
      for (std::int64_t block = target_.epilogue_block / unit * unit; block >= lanes; block -= unit)
        if (n % block == 0) return block;
    return 0;
  }

  void rewrite() {
    const std::vector<char> live = live_nodes(k_);
    Nest before = k_.nests[0], after;
    after.stores = before.stores;
    before.stores.clear();
    before.parallel = {along_[0]}, after.parallel = {along_[1]};
    for (Reduction& r : before.reductions) r.value = copy(r.value, 0);
    for (NodeId id = 0; id < static_cast<NodeId>(old_.nodes.size()); ++id) {
      const Node& n = old_[id];
      if (n.kind != NodeKind::local || !live[static_cast<std::size_t>(id)]) continue;
      const int arg = static_cast<int>(k_.args.size());
      k_.args.push_back({n.dtype, block_, true, true});
      Node local = n;
      local.dims = renamed(n.dims, 0);
      before.stores.push_back({arg, position(0), push(local)});
      Node load;
      load.kind = NodeKind::load;
      load.dtype = n.dtype, load.integer = arg;
      load.operands = {position(1), -1, -1};
      load.dims = renamed(n.dims, 1);
      copies_[{1, id}] = push(load);
    }
    for (Store& s : after.stores) s.position = copy(s.position, 1), s.value = copy(s.value, 1), s.guard = copy(s.guard, 1);
    k_.nests = {std::move(before), std::move(after)};
    k_.dag = std::move(fresh_);
  }

  NodeId push(Node n) {
    fresh_.nodes.push_back(n);
    return static_cast<NodeId>(fresh_.nodes.size()) - 1;
  }

  /// The place of a point in its block.
  NodeId position(int nest) {
    const auto at = static_cast<std::size_t>(nest);
    if (positions_[at] >= 0) return positions_[at];
    Node n;
    n.kind = NodeKind::index;
    n.high = block_ - 1;
    n.dims = std::uint64_t{1} << along_[at];
    n.affine = static_cast<int>(fresh_.affines.size());
    fresh_.affines.push_back({0, {{along_[at], 1}}});
    return positions_[at] = push(n);
  }

  std::uint64_t renamed(std::uint64_t dims, int nest) const {
    const std::uint64_t bit = std::uint64_t{1} << dim_;
    if (!(dims & bit)) return dims;
    return (chunks_ > 1 ? dims : dims & ~bit) | std::uint64_t{1} << along_[static_cast<std::size_t>(nest)];
  }

  NodeId copy(NodeId id, int nest) {
    if (id < 0) return id;
    const std::pair<int, NodeId> key{old_[id].dims >> dim_ & 1 ? nest : -1, id};
    if (const auto found = copies_.find(key); found != copies_.end()) return found->second;
    Node n = old_[id];
    n.dims = renamed(n.dims, nest);
    if (n.kind == NodeKind::index) {
      Affine a = old_.affine(id), b;
      b.constant = a.constant;
      for (const AffineTerm& t : a.terms)
        if (t.atom < 0) {
          b.terms.push_back({~copy(~t.atom, nest), t.coef});
        } else if (t.atom != dim_) {
          b.terms.push_back(t);
        } else {
          if (chunks_ > 1) b.terms.push_back({dim_, t.coef * block_});
          b.terms.push_back({along_[static_cast<std::size_t>(nest)], t.coef});
        }
      std::sort(b.terms.begin(), b.terms.end(), [](const AffineTerm& x, const AffineTerm& y) { return x.atom < y.atom; });
      n.affine = static_cast<int>(fresh_.affines.size());
      fresh_.affines.push_back(std::move(b));
    } else {
      for (NodeId& o : n.operands) o = copy(o, nest);
    }
    return copies_[key] = push(n);
  }

  Kernel& k_;
  const Dag old_;
  Dag fresh_;
  const Target target_;
  int dim_ = -1;  ///< the loop that becomes one over blocks
  std::int64_t chunks_ = 1, block_ = 0;
  int along_[2] = {-1, -1};  ///< the loop within a block, of each nest
  std::array<NodeId, 2> positions_{-1, -1};
  std::map<std::pair<int, NodeId>, NodeId> copies_;
};

}  // namespace

bool split_reduction_epilogue(Kernel& k, int vector_bytes) {
  const bool reduces = k.nests.size() == 1 && !k.nests[0].reductions.empty();
  if (!reduces) return false;
  Kernel cut = k;
  if (!Splitter(cut, vector_bytes).run()) return false;
  const Schedule s = make_schedule(cut, vector_bytes);
  if (s.vector_dim >= 0 || s.nests[0].by_rows || !s.nests[0].reduce.back().vector || !s.nests[1].parallel.back().vector) return false;
  k = std::move(cut);
  return true;
}

}  // namespace weft::detail
