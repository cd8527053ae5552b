#include "weft/backends/codegen/planner/interleaved_complex.h"

#include <algorithm>
#include <bit>
#include <map>

namespace weft::detail {
namespace {

class Uniter {
 public:
  explicit Uniter(Kernel& k) : k_(k), old_(k.dag) {}

  bool run() {
    if (!pair_all()) return false;
    if (moves_words()) {
      word_ = true;
    } else if (!choose_loops()) {
      return false;
    }
    rewrite();
    return true;
  }

 private:
  /// How the positions of a nest's complex elements become positions of their parts.
  struct Loops {
    int along = -1;  ///< this loop gets twice as many steps
    int part = -1;   ///< or this one is added
  };

  // The operations on imaginary parts.

  /// Pairs all stores, reductions, and the nodes on which they depend.
  bool pair_all() {
    bool any = false;
    for (std::size_t n = 0; n < k_.nests.size(); ++n) {
      const Nest& t = k_.nests[n];
      if (!t.repeats.empty() || t.reductions.size() % 2 != 0 || t.stores.size() % 2 != 0) return false;
      for (std::size_t r = 0; r < t.reductions.size(); r += 2) {
        const Reduction &re = t.reductions[r], &im = t.reductions[r + 1];
        if (re.kind != Reduction::Kind::reduce || im.kind != re.kind || re.combiner != im.combiner || re.dtype != im.dtype ||
            re.running != im.running)
          return false;
        nest_of_local_[re.local] = static_cast<int>(n), local_pair_[re.local] = im.local;
      }
    }
    for (nest_ = 0; nest_ < static_cast<int>(k_.nests.size()); ++nest_) {
      const Nest& t = k_.nests[static_cast<std::size_t>(nest_)];
      for (std::size_t r = 0; r < t.reductions.size(); r += 2)
        if (!pair(t.reductions[r].value, t.reductions[r + 1].value)) return false;
      for (std::size_t s = 0; s < t.stores.size(); s += 2) {
        const Store &re = t.stores[s], &im = t.stores[s + 1];
        if (re.arg != im.arg || re.guard != im.guard || re.in_reduction != im.in_reduction || !beside(re.position, im.position) ||
            !pair(re.value, im.value))
          return false;
        if (re.guard >= 0) share(re.guard);
        accesses_.push_back({nest_, re.arg, re.position});
        any = true;
      }
    }
    return any;
  }

  /// Whether the positions are those of both parts of an element.
  bool beside(NodeId re, NodeId im) const {
    const Affine &a = old_.affine(re), &b = old_.affine(im);
    return b.constant == a.constant + 1 && a.terms == b.terms && a.constant % 2 == 0 &&
           std::all_of(a.terms.begin(), a.terms.end(), [](const AffineTerm& t) { return t.coef % 2 == 0; });
  }

  /// Whether im computes from imaginary parts what re computes from real parts.
  bool pair(NodeId re, NodeId im) {
    if (const auto known = pairs_.find({nest_, re}); known != pairs_.end()) return known->second == im;
    const Node &a = old_[re], &b = old_[im];
    if (a.kind != b.kind || a.dtype != b.dtype) return false;
    bool same = false;
    switch (a.kind) {
      case NodeKind::constant:
        same = re == im || a.dtype == float32;
        if (re != im) ++different_constants_;
        break;
      case NodeKind::load:
        same = a.integer == b.integer && a.operands[1] == b.operands[1] && beside(a.operands[0], b.operands[0]);
        if (!same) break;
        if (a.operands[1] >= 0) share(a.operands[1]);
        share_terms(a.operands[0]);
        accesses_.push_back({nest_, static_cast<int>(a.integer), a.operands[0]});
        break;
      case NodeKind::op:
        if (a.op != b.op || !a.dtype.is_floating()) return false;
        ++operations_;
        if (a.op == ScalarOp::select) {
          same = a.operands[0] == b.operands[0] && pair(a.operands[1], b.operands[1]) && pair(a.operands[2], b.operands[2]);
          --operations_;
          if (same) share(a.operands[0]);
          break;
        }
        same = true;
        for (std::size_t i = 0; i < a.operands.size() && same; ++i) {
          if ((a.operands[i] < 0) != (b.operands[i] < 0)) return false;
          same = a.operands[i] < 0 || pair(a.operands[i], b.operands[i]);
        }
        break;
      case NodeKind::local: {
        const auto found = local_pair_.find(static_cast<int>(a.integer));
        same = found != local_pair_.end() && found->second == b.integer && nest_of_local_[static_cast<int>(a.integer)] == nest_;
        break;
      }
      default: return false;
    }
    if (same) pairs_[{nest_, re}] = im;
    return same;
  }

  /// Records a node that both parts share.
  void share(NodeId n) {
    if (!shared_.insert({{nest_, n}, 0}).second) return;
    const Node& node = old_[n];
    for (NodeId o : node.operands)
      if (o >= 0) share(o);
    if (node.kind == NodeKind::load) shared_loads_.push_back(static_cast<int>(node.integer));
    if (node.kind == NodeKind::local) shares_local_ = true;
    if (node.kind == NodeKind::index) share_terms(n);
  }
  void share_terms(NodeId position) {
    for (const AffineTerm& t : old_.affine(position).terms)
      if (t.atom < 0) share(~t.atom);
  }

  // How both become one operation.

  bool is_united(int arg) const {
    return std::any_of(accesses_.begin(), accesses_.end(), [&](const Access& a) { return a.arg == arg; });
  }

  /// Whether the kernel only moves elements of two words.
  bool moves_words() const {
    if (operations_ > 0 || shares_local_) return false;
    for (const Nest& t : k_.nests)
      if (!t.reductions.empty()) return false;
    for (int a : shared_loads_)
      if (is_united(a)) return false;
    return std::all_of(accesses_.begin(), accesses_.end(),
                       [&](const Access& a) { return k_.args[static_cast<std::size_t>(a.arg)].dtype == float32; });
  }

  bool choose_loops() {
    if (different_constants_ > 0 || shares_local_) return false;
    loops_.assign(k_.nests.size(), {});
    // One loop that all nests share, else one for each nest.
    for (std::size_t i = k_.outer.size(); i-- > 0;) {
      bool all = true;
      for (std::size_t n = 0; n < k_.nests.size(); ++n) all &= doubles(static_cast<int>(n), k_.outer[i]);
      if (!all) continue;
      for (Loops& l : loops_) l.along = k_.outer[i];
      return true;
    }
    bool all = true;
    for (std::size_t n = 0; n < k_.nests.size(); ++n) {
      const std::vector<int>& own = k_.nests[n].parallel;
      const auto found = std::find_if(own.rbegin(), own.rend(), [&](int d) { return doubles(static_cast<int>(n), d); });
      if (found == own.rend())
        all = false;
      else
        loops_[n].along = *found;
    }
    if (all) return true;
    return adds_loop();
  }

  bool is_limited(int d) const {
    if (k_.sequential >> d & 1) return true;
    for (std::size_t i = 0; i < k_.limits.size(); ++i)
      if (k_.limits[i].outer == d || (k_.limits[i].outer >= 0 && static_cast<int>(i) == d)) return true;
    return false;
  }

  /// Whether neighbours along the loop are neighbours in memory, wherever the nest reads or writes complex elements.
  bool doubles(int n, int d) const {
    if (is_limited(d)) return false;
    for (const Access& a : accesses_)
      if (a.nest == n) {
        std::int64_t stride = 0;
        if (!old_.stride(a.position, d, stride) || stride != 2) return false;
      }
    // Apart from constants, only comparisons of the loop's coordinate with borders may depend on the loop.
    for (const auto& [key, unused] : shared_) {
      const Node& node = old_[key.second];
      if (key.first != n || !(node.dims >> d & 1)) continue;
      if (node.kind == NodeKind::op && node.dtype.is_bool()) {
        for (NodeId o : node.operands)
          if (o >= 0 && (old_[o].dims >> d & 1) && !old_[o].dtype.is_bool()) return false;
      } else if (node.kind == NodeKind::index_below) {
        std::int64_t stride = 0;
        if (!old_.stride(node.operands[0], d, stride) || stride != 1) return false;
      } else if (node.kind != NodeKind::index || !only_compared(n, key.second)) {
        return false;
      }
    }
    return true;
  }
  bool only_compared(int n, NodeId index) const {
    for (const auto& [key, unused] : shared_) {
      if (key.first != n) continue;
      const Node& node = old_[key.second];
      if (node.kind == NodeKind::index_below) continue;
      if (std::find(node.operands.begin(), node.operands.end(), index) != node.operands.end()) return false;
    }
    return true;
  }

  /// Adds a loop over the two parts, for maps whose elements are not contiguous.
  bool adds_loop() {
    if (k_.nests.size() != 1 || old_.dims.size() >= Dag::kMaxDims || operations_ > kMaxScattered) return false;
    const Nest& t = k_.nests[0];
    if (!t.reduce.empty() || !t.reductions.empty()) return false;
    std::vector<int> dims = k_.outer;
    dims.insert(dims.end(), t.parallel.begin(), t.parallel.end());
    for (int d : dims) {
      if (is_limited(d)) continue;
      bool regular = true;
      for (const Access& a : accesses_) {
        std::int64_t stride = 0;
        regular &= old_.stride(a.position, d, stride) && (stride == 0 || stride == 2 || stride == -2);
      }
      if (regular) return false;
    }
    const int part = k_.dag.add_dim(2);
    k_.limits.emplace_back();
    (t.parallel.empty() ? k_.outer : k_.nests[0].parallel).push_back(part);
    loops_[0].part = part;
    return true;
  }

  // The new kernel.

  void rewrite() {
    fresh_.dims = k_.dag.dims;
    for (const Loops& l : loops_)
      if (l.along >= 0 && fresh_.dims[static_cast<std::size_t>(l.along)] == old_.dims[static_cast<std::size_t>(l.along)])
        fresh_.dims[static_cast<std::size_t>(l.along)] *= 2;
    std::vector<Nest> nests = k_.nests;
    for (nest_ = 0; nest_ < static_cast<int>(nests.size()); ++nest_) {
      Nest& t = nests[static_cast<std::size_t>(nest_)];
      std::vector<Reduction> reductions;
      std::vector<Store> stores;
      for (std::size_t r = 0; r < t.reductions.size(); r += 2) {
        reductions.push_back(t.reductions[r]);
        reductions.back().value = united(reductions.back().value);
      }
      for (std::size_t s = 0; s < t.stores.size(); s += 2) {
        Store store = t.stores[s];
        store.position = united_position(store.position);
        store.value = united(store.value);
        if (store.guard >= 0) store.guard = common(store.guard);
        stores.push_back(store);
      }
      t.reductions = std::move(reductions), t.stores = std::move(stores);
    }
    nest_ = 0;
    if (k_.row_partition.row >= 0) k_.row_partition.row = common(k_.row_partition.row);
    k_.nests = std::move(nests);
    if (word_)
      for (std::size_t a = 0; a < k_.args.size(); ++a)
        if (is_united(static_cast<int>(a))) k_.args[a].dtype = int64, k_.args[a].elements /= 2;
    k_.dag = std::move(fresh_);
  }

  NodeId push(Node n) {
    fresh_.nodes.push_back(n);
    return static_cast<NodeId>(fresh_.nodes.size()) - 1;
  }
  NodeId push_index(Affine a) {
    std::sort(a.terms.begin(), a.terms.end(), [](const AffineTerm& x, const AffineTerm& y) { return x.atom < y.atom; });
    std::vector<std::int64_t> key{a.constant};
    for (const AffineTerm& t : a.terms) key.push_back(t.atom), key.push_back(t.coef);
    const auto [found, is_new] = indices_.emplace(std::move(key), -1);
    if (!is_new) return found->second;
    Node n;
    n.kind = NodeKind::index;
    n.low = n.high = a.constant;
    for (const AffineTerm& t : a.terms) {
      const std::int64_t low = t.atom >= 0 ? 0 : fresh_[~t.atom].low,
                         high = t.atom >= 0 ? fresh_.dims[static_cast<std::size_t>(t.atom)] - 1 : fresh_[~t.atom].high;
      n.low += t.coef * (t.coef > 0 ? low : high), n.high += t.coef * (t.coef > 0 ? high : low);
      n.dims |= t.atom >= 0 ? std::uint64_t{1} << t.atom : fresh_[~t.atom].dims;
    }
    n.affine = static_cast<int>(fresh_.affines.size());
    fresh_.affines.push_back(std::move(a));
    return found->second = push(n);
  }

  const Loops& loops() const { return loops_[static_cast<std::size_t>(nest_)]; }

  /// For real parts: a position of either part, or of whole elements.
  NodeId united_position(NodeId position) {
    Affine a = old_.affine(position);
    for (AffineTerm& t : a.terms) {
      if (t.atom < 0) t.atom = ~common(~t.atom);
      if (word_ || (t.atom >= 0 && t.atom == loops().along)) t.coef /= 2;
    }
    if (word_) a.constant /= 2;
    if (!word_ && loops().part >= 0) a.terms.push_back({loops().part, 1});
    return push_index(std::move(a));
  }

  NodeId united(NodeId re) {
    const auto [found, is_new] = united_.emplace(std::pair{nest_, re}, -1);
    if (!is_new) return found->second;
    const NodeId im = pairs_.at({nest_, re});
    Node n = old_[re];
    if (word_) {
      n.dtype = int64;
      if (n.kind == NodeKind::constant) {
        const auto bits = [&](NodeId part) { return std::uint64_t{std::bit_cast<std::uint32_t>(static_cast<float>(old_[part].floating))}; };
        n.integer = static_cast<std::int64_t>(bits(im) << 32 | bits(re));
        n.floating = 0;
      }
    }
    if (n.kind == NodeKind::load) {
      n.operands[0] = united_position(n.operands[0]);
      if (n.operands[1] >= 0) n.operands[1] = common(n.operands[1]);
    } else if (n.kind == NodeKind::op) {
      for (std::size_t i = 0; i < n.operands.size(); ++i)
        if (n.operands[i] >= 0) n.operands[i] = n.op == ScalarOp::select && i == 0 ? common(n.operands[i]) : united(n.operands[i]);
    }
    for (NodeId o : n.operands)
      if (o >= 0) n.dims |= fresh_[o].dims;
    return united_.at({nest_, re}) = push(n);
  }

  NodeId common(NodeId id) {
    const auto [found, is_new] = common_.emplace(std::pair{nest_, id}, -1);
    if (!is_new) return found->second;
    Node n = old_[id];
    NodeId made = -1;
    if (n.kind == NodeKind::index) {
      Affine a = old_.affine(id);
      for (AffineTerm& t : a.terms)
        if (t.atom < 0) t.atom = ~common(~t.atom);
      made = push_index(std::move(a));
    } else if (n.kind == NodeKind::index_below && !word_ && loops().along >= 0 && (n.dims >> loops().along & 1)) {
      // 0 <= a + d < n is 0 <= 2 a + (2 d + part) < 2 n.
      Affine a = old_.affine(n.operands[0]);
      a.constant *= 2;
      for (AffineTerm& t : a.terms) {
        if (t.atom != loops().along) t.coef *= 2;
        if (t.atom < 0) t.atom = ~common(~t.atom);
      }
      n.operands[0] = push_index(std::move(a));
      n.integer *= 2;
      made = push(n);
    } else {
      for (NodeId& o : n.operands)
        if (o >= 0) o = common(o);
      made = push(n);
    }
    return common_.at({nest_, id}) = made;
  }

  static constexpr int kMaxScattered = 8;  // operations of a kernel that takes parts one by one
  struct Access {
    int nest, arg;
    NodeId position;
  };
  Kernel& k_;
  const Dag old_;
  Dag fresh_;
  int nest_ = 0;
  std::map<int, int> nest_of_local_, local_pair_;
  std::map<std::pair<int, NodeId>, NodeId> pairs_;
  std::map<std::pair<int, NodeId>, char> shared_;
  std::vector<int> shared_loads_;
  std::vector<Access> accesses_;
  int operations_ = 0, different_constants_ = 0;
  bool shares_local_ = false, word_ = false;
  std::vector<Loops> loops_;
  std::map<std::pair<int, NodeId>, NodeId> united_, common_;
  std::map<std::vector<std::int64_t>, NodeId> indices_;
};

}  // namespace

void interleave_complex(Kernel& k) {
  // Complex elements have an even number of parts; most kernels have none.
  bool pairs = false;
  for (const Nest& t : k.nests) pairs |= t.stores.size() >= 2;
  if (pairs) Uniter(k).run();
}

}  // namespace weft::detail
