#include "weft/backends/codegen/schedule/wide_moves.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "weft/backends/codegen/schedule/moved_elements.h"
#include "weft/core/array/half.h"

namespace weft::detail {
namespace {

constexpr std::int64_t kShortRun = 64;  // bytes in a row that whole vectors of single elements move as well

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

void widen_moves(Kernel& k) {
  if (!only_moves(k, 0)) return;
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
