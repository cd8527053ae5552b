// Rules that remove unused parts of cond, while and scan: results, carries, operands, and the equations behind them, such as residuals that
// a derivative doesn't use. Carries that never change become constants of the loop; results that are an operand, or equal to another
// result, are that.
#include <algorithm>
#include <map>

#include "weft/core/ir/loop_liveness.h"
#include "weft/core/ir/prune.h"
#include "weft/core/ir/rewrite.h"
#include "weft/core/ops/control/control.h"

namespace weft::detail {
namespace {

using From = PrunedResult::From;

/// Which input of the program this operand is; nothing for others.
std::optional<std::size_t> input_of(const Jaxpr& j, Atom a) {
  const JaxprData& d = j.data();
  if (a.is_literal() || a.var() < d.first_input() || a.var() >= d.first_result()) return {};
  return a.var() - d.first_input();
}

bool same_program(const Jaxpr& a, const Jaxpr& b) { return &a.data() == &b.data(); }

std::vector<bool> mask(std::size_t n, const std::vector<std::size_t>& some) {
  std::vector<bool> r(n);
  for (std::size_t i : some) r[i] = true;
  return r;
}

template <class T>
void append(std::vector<T>& to, const std::vector<T>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

/// Finds results that are the same in each of some programs.
class EqualResults {
 public:
  /// The result that was added first of those that are the same as this one and have its type: itself if there is none.
  std::size_t first(std::span<const Jaxpr> programs, std::size_t k, std::span<const Aval> types) {
    std::vector<std::uint64_t> key;
    for (const Jaxpr& j : programs) {
      const Atom a = j.data().outputs[k];
      key.push_back(a.is_literal() ? std::uint64_t{a.literal()} << 32 | 1 : std::uint64_t{a.var()} << 32);
    }
    const std::size_t found = first_.emplace(std::move(key), k).first->second;
    return types[found] == types[k] ? found : k;
  }

 private:
  std::map<std::vector<std::uint64_t>, std::size_t> first_;
};

/// Keeps the result k, or has it be the one that it is the same as, which was kept before.
void add_result(PrunedEqn& r, std::size_t k, std::size_t same) {
  if (same != k) {
    r.results[k] = r.results[same];
    return;
  }
  r.results[k] = {From::result, r.outputs.size()};
  r.outputs.push_back(k);
}

std::optional<PrunedEqn> prune_scan(const PruneContext& c) {
  const auto& p = c.get<Scan::Params>();
  const JaxprData& d = p.jaxpr.data();
  const auto consts = static_cast<std::size_t>(p.num_consts), carry = static_cast<std::size_t>(p.num_carry), fixed = consts + carry;
  const auto num_inputs = static_cast<std::size_t>(d.num_inputs);
  const std::vector<bool> live = pruned_live_set_of_loop(p.jaxpr, {consts, carry}, c.live).outputs;

  PrunedEqn r{{}, {}, {}, std::vector<PrunedResult>(d.outputs.size())};
  std::vector<std::size_t> const_inputs, carry_inputs, unchanged, x_inputs;
  for (std::size_t i = 0; i < carry; ++i) {
    if (!live[i]) continue;
    const bool changes = input_of(p.jaxpr, d.outputs[i]) != consts + i;
    if (changes || (c.live[i] && !(c.in[consts + i] == c.out[i]))) {
      r.results[i] = {From::result, r.outputs.size()};
      r.outputs.push_back(i), carry_inputs.push_back(consts + i);
    } else {
      if (c.live[i]) r.results[i] = {From::operand, consts + i};
      unchanged.push_back(consts + i);
    }
  }
  const std::size_t new_carry = r.outputs.size();
  EqualResults equal;
  for (std::size_t k = carry; k < d.outputs.size(); ++k) {
    if (!live[k]) continue;
    const std::optional<std::size_t> input = input_of(p.jaxpr, d.outputs[k]);
    if (input && *input >= fixed && c.in[*input] == c.out[k]) {
      r.results[k] = {From::operand, *input};
      continue;
    }
    add_result(r, k, equal.first({&p.jaxpr, 1}, k, c.out));
  }
  // A carry that the body returns unchanged is not read by it.
  const LiveSet set = pruned_live_set_of(p.jaxpr, mask(d.outputs.size(), r.outputs));
  const auto add_if_read = [&](std::vector<std::size_t>& to, std::size_t i) {
    if (set.input(p.jaxpr, i)) to.push_back(i);
  };
  for (std::size_t i = 0; i < consts; ++i) add_if_read(const_inputs, i);
  for (std::size_t i : unchanged) add_if_read(const_inputs, i);
  for (std::size_t i = fixed; i < num_inputs; ++i) add_if_read(x_inputs, i);

  append(r.inputs, const_inputs), append(r.inputs, carry_inputs), append(r.inputs, x_inputs);
  Scan::Params q = p;
  q.num_consts = static_cast<int>(const_inputs.size()), q.num_carry = static_cast<int>(new_carry);
  if (r.inputs.size() == num_inputs && r.outputs.size() == d.outputs.size() && new_carry == carry) {
    q.jaxpr = dce_program(p.jaxpr);
    if (same_program(q.jaxpr, p.jaxpr)) return {};
  } else {
    q.jaxpr = live_part(p.jaxpr, r.inputs, r.outputs);
  }
  r.params = make_params(std::move(q));
  return r;
}

std::optional<PrunedEqn> prune_while(const PruneContext& c) {
  const auto& p = c.get<While::Params>();
  const JaxprData& body = p.body_jaxpr.data();
  const auto cond_consts = static_cast<std::size_t>(p.cond_nconsts), body_consts = static_cast<std::size_t>(p.body_nconsts);
  const std::size_t first = cond_consts + body_consts, carry = body.outputs.size();
  const LiveSet cond_set = pruned_live_set_of(p.cond_jaxpr);
  std::vector<bool> read_by_cond;
  for (std::size_t i = 0; i < carry; ++i) read_by_cond.push_back(cond_set.input(p.cond_jaxpr, cond_consts + i));
  const std::vector<bool> live = pruned_live_set_of_loop(p.body_jaxpr, {body_consts, carry}, c.live, read_by_cond).outputs;

  PrunedEqn r{{}, {}, {}, std::vector<PrunedResult>(carry)};
  std::vector<std::size_t> changing, unchanged;
  for (std::size_t i = 0; i < carry; ++i) {
    if (!live[i]) continue;
    const bool changes = input_of(p.body_jaxpr, body.outputs[i]) != body_consts + i;
    if (changes || (c.live[i] && !(c.in[first + i] == c.out[i]))) {
      r.results[i] = {From::result, r.outputs.size()};
      r.outputs.push_back(i), changing.push_back(i);
    } else {
      if (c.live[i]) r.results[i] = {From::operand, first + i};
      unchanged.push_back(i);
    }
  }
  const LiveSet set = pruned_live_set_of(p.body_jaxpr, mask(carry, r.outputs));
  // Positions among the inputs of the condition and of the body; operands of the equation are in the same order.
  std::vector<std::size_t> cond_inputs, body_inputs, cond_operands, body_operands, carry_operands;
  const auto add_to_cond = [&](std::size_t input, std::size_t operand) {
    if (cond_set.input(p.cond_jaxpr, input)) cond_inputs.push_back(input), cond_operands.push_back(operand);
  };
  const auto add_to_body = [&](std::size_t input, std::size_t operand) {
    if (set.input(p.body_jaxpr, input)) body_inputs.push_back(input), body_operands.push_back(operand);
  };
  for (std::size_t i = 0; i < cond_consts; ++i) add_to_cond(i, i);
  for (std::size_t i = 0; i < body_consts; ++i) add_to_body(i, cond_consts + i);
  for (std::size_t i : unchanged) add_to_cond(cond_consts + i, first + i), add_to_body(body_consts + i, first + i);
  std::vector<std::size_t> cond_carry, body_carry;
  for (std::size_t i : changing)
    cond_carry.push_back(cond_consts + i), body_carry.push_back(body_consts + i), carry_operands.push_back(first + i);
  r.inputs = cond_operands;
  append(r.inputs, body_operands), append(r.inputs, carry_operands);
  While::Params q = p;
  q.cond_nconsts = static_cast<int>(cond_inputs.size()), q.body_nconsts = static_cast<int>(body_inputs.size());
  if (r.inputs.size() == c.in.size() && r.outputs.size() == carry && cond_inputs.size() == cond_consts) {
    q.body_jaxpr = dce_program(p.body_jaxpr), q.cond_jaxpr = dce_program(p.cond_jaxpr);
    if (same_program(q.body_jaxpr, p.body_jaxpr) && same_program(q.cond_jaxpr, p.cond_jaxpr)) return {};
  } else {
    append(cond_inputs, cond_carry), append(body_inputs, body_carry);
    q.cond_jaxpr = live_part(p.cond_jaxpr, cond_inputs, {0});
    q.body_jaxpr = live_part(p.body_jaxpr, body_inputs, r.outputs);
  }
  r.params = make_params(std::move(q));
  return r;
}

std::optional<PrunedEqn> prune_cond(const PruneContext& c) {
  const auto& branches = c.get<Cond::Params>().branches;
  PrunedEqn r{{}, {}, {}, std::vector<PrunedResult>(c.out.size())};
  EqualResults equal;
  for (std::size_t k = 0; k < c.out.size(); ++k) {
    if (!c.live[k]) continue;
    const std::optional<std::size_t> input = input_of(branches[0], branches[0].data().outputs[k]);
    if (input && c.in[*input + 1] == c.out[k] &&
        std::all_of(branches.begin(), branches.end(), [&](const Jaxpr& j) { return input_of(j, j.data().outputs[k]) == input; })) {
      r.results[k] = {From::operand, *input + 1};
      continue;
    }
    add_result(r, k, equal.first(branches, k, c.out));
  }
  std::vector<LiveSet> sets;
  for (const Jaxpr& j : branches) sets.push_back(pruned_live_set_of(j, mask(c.out.size(), r.outputs)));
  std::vector<std::size_t> inputs;
  r.inputs.push_back(0);
  for (std::size_t i = 0; i + 1 < c.in.size(); ++i) {
    bool read = false;
    for (std::size_t b = 0; b < branches.size(); ++b) read = read || sets[b].input(branches[b], i);
    if (read) inputs.push_back(i), r.inputs.push_back(i + 1);
  }
  Cond::Params q;
  bool changed = r.inputs.size() != c.in.size() || r.outputs.size() != c.out.size();
  for (std::size_t b = 0; b < branches.size(); ++b) {
    q.branches.push_back(changed ? live_part(branches[b], inputs, r.outputs) : dce_program(branches[b]));
    changed = changed || !same_program(q.branches.back(), branches[b]);
  }
  if (!changed) return {};
  r.params = make_params(std::move(q));
  return r;
}

const PruneRule<Cond> cond_prune(prune_cond);
const PruneRule<While> while_prune(prune_while);
const PruneRule<Scan> scan_prune(prune_scan);

}  // namespace
}  // namespace weft::detail
