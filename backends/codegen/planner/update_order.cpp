// The order of equations around updates in place. A scatter writes into its operand's memory if nothing reads the operand afterwards, so
// each equation that reads it, and doesn't depend on the scatter, is moved in front of the scatter, along with what that equation needs.
// Takes and gives a program; without such equations it gives the same one.
#include "weft/backends/codegen/planner/update_order.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "weft/backends/codegen/planner/program.h"
#include "weft/core/ir/effects.h"
#include "weft/core/ir/jaxpr_copy.h"

namespace weft::detail {
namespace {

constexpr std::size_t kVisits = 64;  // of each equation, at most: programs that need more keep their order

/// Moves equations within an order of evaluation.
class Reordering {
 public:
  Reordering(const JaxprData& d, const std::vector<int>& updates)
      : d_(d), updates_(updates), order_(d.eqns.size()), place_(d.eqns.size()), defined_by_(d.avals.size(), -1), readers_(d.avals.size()) {
    std::iota(order_.begin(), order_.end(), 0);
    std::iota(place_.begin(), place_.end(), 0);
    for (std::size_t i = 0; i < d.eqns.size(); ++i) {
      for (Var v : d.eqns[i].outputs) defined_by_[v] = static_cast<int>(i);
      for (Atom a : d.eqns[i].inputs)
        if (!a.is_literal() && updates[a.var()] >= 0) readers_[a.var()].push_back(static_cast<int>(i));
    }
  }

  /// Whether anything was moved.
  bool run() {
    for (Var v = 0; v < updates_.size(); ++v)
      if (updates_[v] >= 0 && !move_readers(v)) break;
    return moved_;
  }
  const std::vector<int>& order() const { return order_; }

 private:
  const Eqn& eqn(int number) const { return d_.eqns[static_cast<std::size_t>(number)]; }
  int& place(int number) { return place_[static_cast<std::size_t>(number)]; }

  /// Moves the readers of the variable in front of its update, unless they depend on the update; false if too many equations were visited.
  bool move_readers(Var v) {
    const int update = updates_[v], from = place(update);
    int last = from;
    for (int r : readers_[v]) last = std::max(last, place(r));
    if (last == from) return true;
    const auto count = static_cast<std::size_t>(last - from) + 1;
    visits_ += count;
    if (visits_ > kVisits * order_.size()) return false;
    // For each equation from the update to the last reader: whether it depends on the update, and whether it is moved.
    std::vector<char> depends(count), wanted(count);
    const auto index = [&](int number) { return static_cast<std::size_t>(place(number) - from); };
    const auto within = [&](Atom a) {
      const int by = a.is_literal() ? -1 : defined_by_[a.var()];
      return by >= 0 && place(by) >= from ? by : -1;
    };
    depends[0] = 1;
    for (std::size_t i = 1; i < count; ++i)
      for (Atom a : eqn(order_[static_cast<std::size_t>(from) + i]).inputs)
        if (const int by = within(a); by >= 0 && depends[index(by)]) depends[i] = 1;
    for (int r : readers_[v])
      if (place(r) > from) wanted[index(r)] = 1;
    for (std::size_t i = count; i-- > 1;) {
      if (!wanted[i]) continue;
      const Eqn& e = eqn(order_[static_cast<std::size_t>(from) + i]);
      if (depends[i] || has_effects(e)) return true;  // the value is needed afterwards, and copied
      for (Atom a : e.inputs)
        if (const int by = within(a); by >= 0) wanted[index(by)] = 1;
    }
    const auto begin = order_.begin() + from;
    std::vector<int> before, after;
    for (std::size_t i = 0; i < count; ++i) (wanted[i] ? before : after).push_back(begin[static_cast<std::ptrdiff_t>(i)]);
    std::copy(after.begin(), after.end(), std::copy(before.begin(), before.end(), begin));
    for (int i = from; i <= last; ++i) place(order_[static_cast<std::size_t>(i)]) = i;
    moved_ = true;
    return true;
  }

  const JaxprData& d_;
  const std::vector<int>& updates_;
  std::vector<int> order_, place_;
  std::vector<int> defined_by_;
  std::vector<std::vector<int>> readers_;  // of each variable that is updated
  std::size_t visits_ = 0;
  bool moved_ = false;
};

}  // namespace

std::vector<int> scatters_in_place(const JaxprData& d, const std::vector<int>& donated) {
  std::vector<char> owned(d.avals.size());  // the memory may be overwritten
  std::vector<int> updates(d.avals.size(), -1);
  for (std::size_t i = 0; i < donated.size(); ++i)
    if (donated[i] != kNotDonated) owned[d.first_input() + i] = 1;
  for (std::size_t i = 0; i < d.eqns.size(); ++i) {
    const Eqn& e = d.eqns[i];
    if (e.op->kind != Kind::scatter || e.inputs[0].is_literal()) continue;
    const Var v = e.inputs[0].var();
    if (!owned[v] || std::count(e.inputs.begin(), e.inputs.end(), e.inputs[0]) > 1) continue;
    updates[v] = static_cast<int>(i);
    owned[e.outputs[0]] = 1;
  }
  for (Atom a : d.outputs)
    if (!a.is_literal()) updates[a.var()] = -1;
  return updates;
}

Jaxpr with_reads_before_updates(const Jaxpr& j, const std::vector<int>& donated) {
  const JaxprData& d = j.data();
  const std::vector<int> updates = scatters_in_place(d, donated);
  if (std::all_of(updates.begin(), updates.end(), [](int u) { return u < 0; })) return j;
  Reordering reordering(d, updates);
  if (!reordering.run()) return j;
  JaxprCopy copy(j);
  copy.add_inputs();
  for (int i : reordering.order()) copy.add(d.eqns[static_cast<std::size_t>(i)]);
  return std::move(copy).finish(d.outputs);
}

}  // namespace weft::detail
