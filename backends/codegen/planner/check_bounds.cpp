// The proof that a kernel's accesses are within its arguments.
#include <fmt/format.h>

#include <algorithm>

#include "weft/backends/codegen/planner/kernel.h"
#include "weft/core/errors/error.h"

namespace weft::detail {
namespace {

/// The least and greatest position, with the true limits of chunks, of which the last may be shorter.
std::pair<std::int64_t, std::int64_t> extent(const Kernel& k, NodeId position) {
  const Node& n = k.dag[position];
  if (n.kind != NodeKind::index) return {n.low, n.high};
  const Affine& a = k.dag.affine(position);
  std::int64_t low = n.low, high = n.high;
  for (const AffineTerm& t : a.terms) {
    if (t.atom < 0) continue;
    const auto d = static_cast<std::size_t>(t.atom);
    const LoopLimit& limit = k.limits[d];
    const auto chunk = std::find_if(a.terms.begin(), a.terms.end(), [&](const AffineTerm& o) { return o.atom == limit.outer; });
    if (limit.outer < 0 || chunk == a.terms.end() || chunk->coef != t.coef * k.dag.dims[d]) continue;
    const std::int64_t absent = k.dag.dims[d] * k.dag.dims[static_cast<std::size_t>(limit.outer)] - limit.total;
    (t.coef > 0 ? high : low) -= t.coef * absent;
  }
  return {low, high};
}

/// Whether the position has quotients or remainders of loops with a limit, so that its bounds include steps that are not executed.
bool sees_limits(const Kernel& k, NodeId position) {
  for (const AffineTerm& t : k.dag.affine(position).terms)
    if (t.atom < 0)
      for (std::size_t d = 0; d < k.limits.size(); ++d)
        if (k.limits[d].outer >= 0 && (k.dag[~t.atom].dims >> d & 1)) return true;
  return false;
}

void check(const Kernel& k, std::string_view what, int arg, NodeId position) {
  if (k.dag[position].kind == NodeKind::index && sees_limits(k, position)) return;
  const auto [low, high] = extent(k, position);
  const KernelArg& a = k.args[static_cast<std::size_t>(arg)];
  if (low >= 0 && high < a.elements) return;
  throw CompileError(fmt::format("codegen: internal error: {} {} argument {} from {} to {}, which has {} elements\n{}", k.name, what, arg,
                                 low, high, a.elements, to_string(k)));
}

}  // namespace

void check_bounds(const Kernel& k) {
  const std::vector<char> live = live_nodes(k);
  for (std::size_t i = 0; i < k.dag.nodes.size(); ++i) {
    const Node& n = k.dag.nodes[i];
    if (live[i] && n.kind == NodeKind::load && n.operands[1] < 0) check(k, "reads", static_cast<int>(n.integer), n.operands[0]);
  }
  const auto stores = [&](const std::vector<Store>& list) {
    for (const Store& s : list)
      if (s.guard < 0) check(k, "writes", s.arg, s.position);
  };
  const auto repeats = [&](auto&& self, const std::vector<Repeat>& list) -> void {
    for (const Repeat& r : list) stores(r.stores), self(self, r.inner);
  };
  for (const Nest& t : k.nests) stores(t.stores), repeats(repeats, t.repeats);
}

}  // namespace weft::detail
