#include "weft/backends/codegen/schedule/moved_elements.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <functional>
#include <set>
#include <unordered_map>
#include <utility>

#include "weft/core/array/half.h"

namespace weft::detail {
namespace {

constexpr std::int64_t kWorthCutting = 64 << 10;  // bytes of a result, from which on parts are worth kernels of their own
constexpr std::int64_t kLongRun = 256;            // bytes in a row of the largest part of a loop that is cut
constexpr std::size_t kMostParts = 32;
constexpr std::int64_t kShortRun = 64;  // bytes in a row that whole vectors of single elements move as well

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

bool is_divided(const Node& n) { return n.kind == NodeKind::index_div || n.kind == NodeKind::index_mod; }
/// Whether it is a choice between elements, or part of the condition of one.
bool chooses(const Node& n) { return n.op == ScalarOp::select || (n.op == ScalarOp::bit_and && n.dtype.is_bool()); }

/// Whether each point of the kernel's loops stores elements that it has loaded somewhere, or constants, as conditions on its position tell,
/// or what at most so many operations make of them.
bool moves(const Kernel& k, int operations) {
  if (k.nests.size() != 1 || k.division.loop >= 0 || k.sequential != 0 || k.outer.empty()) return false;
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
        if (!chooses(node) && --operations < 0) return false;
        break;
      default: return false;
    }
  }
  return true;
}

NodeId copied_position(const Dag& from, NodeId position, Dag& to, const std::function<NodeId(int)>& index);
/// The position in another kernel, where `index` gives the index along a loop.
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
        if (!chooses(n)) {
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

std::int64_t written_bytes(const Kernel& k) {
  std::int64_t bytes = 0;
  for (const KernelArg& a : k.args)
    if (a.written) bytes += a.elements * a.dtype.itemsize();
  return bytes;
}

bool is_worth_cutting(const Kernel& k, int operations) { return written_bytes(k) >= kWorthCutting && moves(k, operations); }

/// False: there are too many parts.
bool cut(PlacedKernel whole, std::vector<PlacedKernel>& parts) {
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
      if (!cut(Part(whole, dim, changes[c - 1], changes[c] - changes[c - 1]).run(), parts)) return false;
    return true;
  }
  parts.push_back(std::move(whole));
  return parts.size() <= kMostParts;
}

/// The bits of a constant as an unsigned number.
std::uint64_t bits_of(const Node& n) {
  if (n.dtype == float32) return std::bit_cast<std::uint32_t>(static_cast<float>(n.floating));
  if (n.dtype == float16) return Float16(n.floating).bits;
  if (n.dtype == bfloat16) return BFloat16(n.floating).bits;
  return static_cast<std::uint64_t>(n.integer) & ((std::uint64_t{1} << 8 * n.dtype.itemsize()) - 1);
}

/// The kernel with `times` elements of `bytes` as one.
class Widener {
 public:
  Widener(const Kernel& k, int dim, std::int64_t times, std::int64_t bytes) : k_(k), old_(k.dag), dim_(dim), times_(times), bytes_(bytes) {
    made_.resize(old_.nodes.size());
    const std::int64_t all = times * bytes;
    wide_ = all == 8 ? uint64 : all == 4 ? uint32 : uint16;
  }

  /// Whether all that the kernel moves stays in words: each begins at a multiple of the word's elements.
  bool fits() const {
    if (old_.dims[static_cast<std::size_t>(dim_)] % times_ != 0) return false;
    if (std::any_of(k_.args.begin(), k_.args.end(),
                    [&](const KernelArg& a) { return a.elements % times_ != 0 || a.dtype.itemsize() != bytes_ || a.dtype.is_bool(); }))
      return false;
    const std::vector<char> live = live_nodes(k_);
    for (std::size_t n = 0; n < live.size(); ++n) {
      const Node& node = old_.nodes[n];
      if (!live[n]) continue;
      if (node.kind == NodeKind::load && !in_words(node.operands[0])) return false;
      if (node.kind != NodeKind::load && node.kind != NodeKind::index && (node.dims >> dim_ & 1) &&
          (node.kind != NodeKind::op || node.dtype.is_bool()))
        return false;
    }
    const Nest& t = k_.nests[0];
    return std::all_of(t.stores.begin(), t.stores.end(), [&](const Store& s) { return in_words(s.position); });
  }

  Kernel run() {
    Kernel wide;
    wide.limits = k_.limits, wide.args = k_.args;
    for (std::size_t d = 0; d < old_.dims.size(); ++d) wide.dag.add_dim(static_cast<int>(d) == dim_ ? old_.dims[d] / times_ : old_.dims[d]);
    for (int d : k_.outer)
      if (wide.dag.dims[static_cast<std::size_t>(d)] > 1) wide.outer.push_back(d);
    if (wide.outer.empty()) wide.outer.push_back(dim_);
    for (KernelArg& a : wide.args) a.dtype = wide_, a.elements /= times_;
    dag_ = &wide.dag;
    wide.nests.emplace_back();
    for (const Store& s : k_.nests[0].stores) {
      const KernelValue v = value(s.value);
      wide.nests[0].stores.push_back({s.arg, word_position(s.position), v.id});
    }
    return wide;
  }

 private:
  bool in_words(NodeId position) const {
    const Affine& a = old_.affine(position);
    return a.constant % times_ == 0 && std::any_of(a.terms.begin(), a.terms.end(), [&](const AffineTerm& t) { return t.atom == dim_; }) &&
           std::all_of(a.terms.begin(), a.terms.end(),
                       [&](const AffineTerm& t) { return t.atom == dim_ ? t.coef == 1 : t.coef % times_ == 0; });
  }
  NodeId position(NodeId old) {
    return copied_position(old_, old, *dag_, [&](int dim) { return dag_->index_dim(dim); });
  }
  /// A position of elements as one of words.
  NodeId word_position(NodeId old) {
    Affine words = old_.affine(old);
    words.constant /= times_;
    for (AffineTerm& t : words.terms) t.coef = t.atom == dim_ ? 1 : t.coef / times_;
    return copied_position(old_, words, *dag_, [&](int dim) { return dag_->index_dim(dim); });
  }
  KernelValue value(NodeId id) {
    KernelValue& known = made_[static_cast<std::size_t>(id)];
    if (known.id < 0) known = make(old_[id]);
    return known;
  }
  KernelValue make(const Node& n) {
    switch (n.kind) {
      case NodeKind::constant: {
        if (n.dtype.is_bool()) return dag_->boolean(n.integer != 0);
        std::uint64_t word = 0;
        for (std::int64_t i = 0; i < times_; ++i) word |= bits_of(n) << 8 * bytes_ * i;
        return dag_->integer(wide_, static_cast<std::int64_t>(word));
      }
      case NodeKind::index_below: return dag_->below(position(n.operands[0]), n.integer);
      case NodeKind::load:
        return dag_->load(static_cast<int>(n.integer), wide_, word_position(n.operands[0]),
                          n.operands[1] >= 0 ? value(n.operands[1]).id : -1);
      default: {
        const KernelValue first = value(n.operands[0]), second = value(n.operands[1]);
        return n.op == ScalarOp::bit_and ? dag_->both(first, second) : dag_->select(first, second, value(n.operands[2]));
      }
    }
  }

  const Kernel& k_;
  const Dag& old_;
  const int dim_;
  const std::int64_t times_, bytes_;
  DType wide_ = uint64;
  std::vector<KernelValue> made_;
  Dag* dag_ = nullptr;
};

}  // namespace

std::vector<PlacedKernel> cut_moves(Kernel k, std::vector<BufferId> buffers, int operations) {
  std::vector<PlacedKernel> parts;
  PlacedKernel whole{std::move(k), std::move(buffers)};
  if (is_worth_cutting(whole.kernel, operations) && cut(whole, parts)) return parts;
  parts.clear();
  parts.push_back(std::move(whole));
  return parts;
}

bool come_apart(Kernel k) {
  k.limits.assign(k.dag.dims.size(), {});
  std::unordered_map<std::int64_t, int> numbers;
  for (Node& n : k.dag.nodes) {
    if (n.kind != NodeKind::load) continue;
    const auto [found, is_new] = numbers.emplace(n.integer, static_cast<int>(k.args.size()));
    if (is_new) k.args.push_back({n.dtype, 0});
    n.integer = found->second;
  }
  if (!is_worth_cutting(k, kOperationsOfParts)) return false;
  std::vector<PlacedKernel> parts;
  const std::size_t args = k.args.size();
  if (!cut({std::move(k), std::vector<BufferId>(args)}, parts)) return false;
  return std::none_of(parts.begin(), parts.end(), [](const PlacedKernel& part) {
    const std::vector<char> live = live_nodes(part.kernel);
    for (std::size_t n = 0; n < live.size(); ++n)
      if (live[n] && part.kernel.dag.nodes[n].kind == NodeKind::index_below) return true;
    return false;
  });
}

void widen_moves(Kernel& k) {
  if (!moves(k, 0)) return;
  const std::int64_t bytes = k.args[static_cast<std::size_t>(k.nests[0].stores[0].arg)].dtype.itemsize();
  for (int d : k.outer) {
    if (k.dag.dims[static_cast<std::size_t>(d)] * bytes >= kShortRun) continue;
    for (std::int64_t times = 8 / bytes; times > 1; times /= 2)
      if (Widener wide(k, d, times, bytes); wide.fits()) {
        k = wide.run();
        return;
      }
  }
}

}  // namespace weft::detail
