#include "weft/transforms/autodiff/separate.h"

#include <algorithm>

#include "weft/core/ir/loop_facts.h"
#include "weft/core/ir/walk.h"
#include "weft/core/ops/collective/map_body.h"
#include "weft/core/ops/control/call.h"
#include "weft/core/ops/control/control.h"
#include "weft/core/ops/control/control_common.h"

namespace weft::detail {
namespace {

using Mask = std::vector<bool>;

bool any_of(const Mask& m) { return std::find(m.begin(), m.end(), true) != m.end(); }
Mask part(const Mask& m, std::size_t from, std::size_t n) {
  return {m.begin() + static_cast<std::ptrdiff_t>(from), m.begin() + static_cast<std::ptrdiff_t>(from + n)};
}
template <class T>
std::vector<T> chosen(std::span<const T> all, const Mask& which, bool wanted) {
  std::vector<T> out;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (which[i] == wanted) out.push_back(all[i]);
  return out;
}

Mask dependent(const Eqn& e, const Mask& in);

/// A function with a reverse rule can't be transposed, whatever its body is.
bool is_inlined(const Primitive& op) { return op.body && !call_traits(op).has_own_transpose; }
/// All results of other operations depend on each operand.
bool may_be_mixed(const Primitive& op) { return is_inlined(op) || find_rule<DependenceTransform>(op); }

/// Which results of an equation depend on linear inputs, given the operands that do.
Mask dependent_or_none(const Eqn& e, const Mask& operands) {
  if (!any_of(operands)) return Mask(e.outputs.size());
  return may_be_mixed(*e.op) ? dependent(e, operands) : Mask(e.outputs.size(), true);
}

/// For every variable of the program, whether it depends on a linear input.
VarMap<bool> dependent_vars(const Jaxpr& j, const Mask& in) {
  const JaxprData& d = j.data();
  VarMap<bool> of(d, in);
  Mask operands;
  for (const Eqn& e : d.eqns) {
    operands.clear();
    for (Atom a : e.inputs) operands.push_back(of[a]);
    const Mask out = dependent_or_none(e, operands);
    for (std::size_t k = 0; k < out.size(); ++k) of[e.outputs[k]] = out[k];
  }
  return of;
}
Mask dependent_results(const Jaxpr& j, const Mask& in) {
  const VarMap<bool> of = dependent_vars(j, in);
  Mask out;
  for (Atom a : j.data().outputs) out.push_back(of[a]);
  return out;
}

struct ScanMasks {
  Mask in, out;  ///< of the body: consts, carry and xs; carry and ys
};

/// Of a loop's body: whether its inputs depend on linear ones in some step, and whether its results do.
LoopFacts<bool> dependent_in_some_step(const Jaxpr& body, const Mask& in, std::size_t first, std::size_t num_carry) {
  return {body, in, first, num_carry, false, dependent_or_none, [](bool& carry, bool next) { return next && !carry && (carry = true); }};
}

ScanMasks masks_of(const Scan::Params& p, const Mask& in) {
  const auto consts = static_cast<std::size_t>(p.num_consts), num_carry = static_cast<std::size_t>(p.num_carry);
  const LoopFacts<bool> facts = dependent_in_some_step(p.jaxpr, in, consts, num_carry);
  ScanMasks m{facts.inputs(), facts.outputs()};
  // A carry that starts as one that depends does so in the end, too.
  std::copy_n(m.in.begin() + static_cast<std::ptrdiff_t>(consts), num_carry, m.out.begin());
  return m;
}

Mask dependent_carry(const While::Params& p, const Mask& in) {
  const auto a = static_cast<std::size_t>(p.cond_nconsts), b = static_cast<std::size_t>(p.body_nconsts), n = in.size() - a - b;
  const Mask carry = part(dependent_in_some_step(p.body_jaxpr, part(in, a, b + n), b, n).inputs(), b, n);
  // If the number of steps depends on linear inputs, all results of the loop do.
  return dependent_results(p.cond_jaxpr, concat(part(in, 0, a), carry))[0] ? Mask(n, true) : carry;
}

/// Which results of an equation depend on the operands that do; at least one does.
Mask dependent(const Eqn& e, const Mask& in) {
  if (is_inlined(*e.op)) return dependent_results(e.op->body(*e.params), in);
  DependenceTransform::Function* const rule = find_rule<DependenceTransform>(*e.op);
  return rule ? rule(*e.params, in, e.outputs.size()) : Mask(e.outputs.size(), true);
}

bool takes_part_in_reverse(const Eqn& e, const Mask& out) {
  if (!any_of(out)) return false;
  ReplacedTransform::Function* const rule = find_rule<ReplacedTransform>(*e.op);
  return rule && rule(*e.params);
}

/// Whether an equation has results of both kinds, or must be replaced.
bool is_mixed(const Jaxpr& j, const Mask& linear) {
  const JaxprData& d = j.data();
  if (std::none_of(d.eqns.begin(), d.eqns.end(), [](const Eqn& e) { return may_be_mixed(*e.op); })) return false;
  VarMap<bool> of = dependent_vars(j, linear);
  return std::any_of(d.eqns.begin(), d.eqns.end(), [&](const Eqn& e) {
    const bool any = may_be_mixed(*e.op) && std::any_of(e.inputs.begin(), e.inputs.end(), [&](Atom a) { return of[a]; });
    if (!any || e.outputs.empty()) return false;
    Mask out;
    for (Var v : e.outputs) out.push_back(of[v]);
    return std::count(out.begin(), out.end(), true) != static_cast<std::ptrdiff_t>(out.size()) || takes_part_in_reverse(e, out);
  });
}

/// The live set of the wanted results. Effects do not count as results. What does not depend on linear inputs is computed without them,
/// also where one equation gives both kinds.
LiveSet needed_for(const JaxprData& d, const Mask& outputs, const VarMap<bool>& linear) {
  LiveSet needed{outputs, Mask(d.eqns.size()), Mask(d.avals.size())};
  const auto use = [&](Atom a) {
    if (!a.is_literal()) needed.vars[a.var()] = true;
  };
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i]) use(d.outputs[i]);
  for (std::size_t i = d.eqns.size(); i-- > 0;) {
    const Eqn& e = d.eqns[i];
    bool linear_needed = false;
    for (Var v : e.outputs) {
      needed.eqns[i] = needed.eqns[i] || needed.vars[v];
      linear_needed |= needed.vars[v] && linear[Atom::var(v)];
    }
    if (!needed.eqns[i]) continue;
    for (Atom a : e.inputs)
      if (linear_needed || !linear[a]) use(a);
  }
  return needed;
}

struct Separator {
  /// Runs the program on the arguments and separates its mixed equations. Values that are not `wanted`, and arguments that only those use,
  /// may be empty.
  static std::vector<Array> run(const Jaxpr& j, const Mask& linear, std::span<const Array> args, const Mask* wanted = nullptr) {
    VarMap<bool> of = dependent_vars(j, linear);
    const std::optional<LiveSet> needed = wanted ? std::optional(needed_for(j.data(), *wanted, of)) : std::nullopt;
    const auto run_eqn = [&](const Eqn& e, std::span<const Array> in) {
      LocScope scope(e.loc);
      Mask in_mask, out_mask, wanted_here;
      for (Atom a : e.inputs) in_mask.push_back(of[a]);
      for (Var v : e.outputs) out_mask.push_back(of[v]), wanted_here.push_back(!needed || needed->vars[v]);
      return eqn(e, in, in_mask, out_mask, wanted_here);
    };
    return walk(j, args, run_eqn, needed ? &*needed : nullptr);
  }

  static std::vector<Array> eqn(const Eqn& e, std::span<const Array> in, const Mask& in_mask, const Mask& out_mask, const Mask& wanted) {
    const bool mixed = any_of(in_mask) && !out_mask.empty() &&
                       (std::find(out_mask.begin(), out_mask.end(), false) != out_mask.end() || takes_part_in_reverse(e, out_mask));
    if (!mixed) return bind_primitive(*e.op, e.params, in, e.loc);
    if (is_inlined(*e.op)) return run(e.op->body(*e.params), in_mask, in, &wanted);
    bool any_linear = false;
    for (std::size_t k = 0; k < wanted.size(); ++k) any_linear |= wanted[k] && out_mask[k];
    return find_rule<SeparateTransform>(*e.op)(e, in, in_mask, out_mask, any_linear);
  }

  /// The program that computes the known results from the known inputs.
  static Jaxpr known_part(const char* what, const Jaxpr& j, const Mask& in, const Mask& out) {
    Mask wanted = out;
    wanted.flip();
    return make_program(what, chosen<Aval>(j.data().input_avals(), in, false), [&](std::span<const Array> known) {
      std::vector<Array> args;
      for (std::size_t i = 0, next = 0; i < in.size(); ++i) args.push_back(in[i] ? Array() : known[next++]);
      return chosen<Array>(run(j, in, args, &wanted), out, false);
    });
  }
  /// Results of both kinds in their order; those that depend may be left out.
  static std::vector<Array> merged(const Mask& out, std::span<const Array> known, std::span<const Array> linear) {
    std::vector<Array> all;
    std::size_t k = 0, l = 0;
    for (bool is_linear : out) all.push_back(!is_linear ? known[k++] : linear.empty() ? Array() : linear[l++]);
    return all;
  }

  /// Splits a scan into one of the known part, which also stacks its carry, and one of the rest, which takes that carry as xs.
  static std::vector<Array> scan(const Eqn& e, std::span<const Array> in, const Mask& in_mask, const Mask&, bool any_linear) {
    const auto& p = params_as<Scan::Params>(*e.params);
    const ScanMasks m = masks_of(p, in_mask);
    const auto consts = static_cast<std::size_t>(p.num_consts), num_carry = static_cast<std::size_t>(p.num_carry);
    const Mask carry = part(m.out, 0, num_carry), in_consts = part(m.in, 0, consts),
               xs = part(m.in, consts + num_carry, m.in.size() - consts - num_carry);
    const std::span<const Array> given_consts = in.first(consts), start = in.subspan(consts, num_carry),
                                 given_xs = in.subspan(consts + num_carry);
    const auto known_carries = static_cast<std::size_t>(std::count(carry.begin(), carry.end(), false));
    const std::size_t known_consts = static_cast<std::size_t>(std::count(in_consts.begin(), in_consts.end(), false));

    Scan::Params known = p;
    const Jaxpr body = known_part("scan", p.jaxpr, m.in, m.out);
    const auto body_in = body.data().input_avals();
    known.num_consts = static_cast<int>(known_consts), known.num_carry = static_cast<int>(known_carries);
    known.jaxpr = make_program("scan", {body_in.begin(), body_in.end()}, [&](std::span<const Array> args) {
      std::vector<Array> out = eval_jaxpr(body, args);
      append(out, args.subspan(known_consts, known_carries));
      return out;
    });
    std::vector<Array> operands = chosen<Array>(given_consts, in_consts, false);
    append(operands, chosen<Array>(start, carry, false)), append(operands, chosen<Array>(given_xs, xs, false));
    const std::vector<Array> first = bind_scan(known, operands, e.loc);
    const std::size_t num_known = first.size() - known_carries;
    if (!any_linear) return merged(m.out, std::span(first).first(num_known), {});

    Scan::Params rest = p;
    rest.num_carry = static_cast<int>(num_carry - known_carries);
    std::vector<Array> linear_carry = chosen<Array>(start, carry, true);
    operands.assign(given_consts.begin(), given_consts.end());
    append(operands, linear_carry), append(operands, given_xs), append(operands, std::span(first).subspan(num_known));
    const auto all_in = p.jaxpr.data().input_avals();
    std::vector<Aval> inputs(all_in.begin(), all_in.begin() + p.num_consts);
    const std::vector<Aval> both = {all_in.begin() + p.num_consts, all_in.begin() + p.num_consts + p.num_carry};
    for (const Aval& a : chosen<Aval>(both, carry, true)) inputs.push_back(a);
    inputs.insert(inputs.end(), all_in.begin() + p.num_consts + p.num_carry, all_in.end());
    for (const Aval& a : chosen<Aval>(both, carry, false)) inputs.push_back(a);
    rest.jaxpr = make_program("scan", inputs, [&](std::span<const Array> args) {
      const std::size_t num_linear = num_carry - known_carries, x = consts + num_linear;
      std::vector<Array> a(args.begin(), args.begin() + p.num_consts);
      append(a, merged(carry, args.subspan(x + given_xs.size()), args.subspan(consts, num_linear)));
      append(a, args.subspan(x, given_xs.size()));
      return chosen<Array>(eval_jaxpr(p.jaxpr, a), m.out, true);
    });
    const std::vector<Array> second = bind_scan(rest, operands, e.loc);
    return merged(m.out, std::span(first).first(num_known), second);
  }

  /// A loop that is linear in some of its operands is its own derivative in those, at every point.
  static std::vector<Array> checkpointed(const Eqn& e, std::span<const Array> in, const Mask& in_mask, const Mask& out_mask) {
    std::vector<Array> at(in.begin(), in.end());
    std::vector<Tangent> tangents(in.size());
    for (std::size_t i = 0; i < in.size(); ++i)
      if (in_mask[i]) tangents[i] = in[i], at[i] = zeros_of(in[i].aval(), e.loc);
    JvpResult r = e.op->linearize_call({*e.op, e.params, at, {}, tangents, e.loc});
    for (std::size_t k = 0; k < r.out.size(); ++k)
      if (out_mask[k]) r.out[k] = instantiate(r.tangents[k], r.out[k].aval(), e.loc);
    return r.out;
  }

  /// The known part of the carry, by a loop of its own. The rest of a bounded loop is the equivalent scan.
  static std::vector<Array> while_loop(const Eqn& e, std::span<const Array> in, const Mask& in_mask, const Mask& out_mask,
                                       bool any_linear) {
    const auto& p = params_as<While::Params>(*e.params);
    if (any_linear && p.checkpoints != 0) return checkpointed(e, in, in_mask, out_mask);
    if (any_linear && p.max_steps > 0) return run(bounded_while(p, in, e.loc), in_mask, in);
    const auto a = static_cast<std::size_t>(p.cond_nconsts), b = static_cast<std::size_t>(p.body_nconsts);
    const Mask of_cond = concat(part(in_mask, 0, a), out_mask), of_body = concat(part(in_mask, a, b), out_mask);
    While::Params known = p;
    known.cond_jaxpr = known_part("while", p.cond_jaxpr, of_cond, {false});
    known.body_jaxpr = known_part("while", p.body_jaxpr, of_body, out_mask);
    std::vector<Array> operands = chosen<Array>(in.first(a), part(in_mask, 0, a), false);
    known.cond_nconsts = static_cast<int>(operands.size());
    append(operands, chosen<Array>(in.subspan(a, b), part(in_mask, a, b), false));
    known.body_nconsts = static_cast<int>(operands.size()) - known.cond_nconsts;
    append(operands, chosen<Array>(in.subspan(a + b), out_mask, false));
    const std::vector<Array> first = bind_while(known, operands, e.loc);
    if (!any_linear) return merged(out_mask, first, {});
    return merged(out_mask, first, chosen<Array>(bind_primitive(*e.op, e.params, in, e.loc), out_mask, true));
  }

  static std::vector<Array> cond(const Eqn& e, std::span<const Array> in, const Mask& in_mask, const Mask& out_mask, bool any_linear) {
    const auto& p = params_as<Cond::Params>(*e.params);
    const Mask of_branch = part(in_mask, 1, in.size() - 1);
    Cond::Params known, rest;
    for (const Jaxpr& b : p.branches) {
      known.branches.push_back(known_part("cond", b, of_branch, out_mask));
      if (!any_linear) continue;
      const auto avals = b.data().input_avals();
      rest.branches.push_back(make_program("cond", {avals.begin(), avals.end()}, [&](std::span<const Array> args) {
        return chosen<Array>(eval_jaxpr(b, args), out_mask, true);
      }));
    }
    const std::vector<Array> first = bind_cond(known, chosen<Array>(in, in_mask, false), e.loc);
    if (!any_linear) return merged(out_mask, first, {});
    return merged(out_mask, first, bind_cond(rest, in, e.loc));
  }

  static std::vector<Array> shard_map(const Eqn& e, std::span<const Array> in, const Mask& in_mask, const Mask& out_mask, bool any_linear) {
    const auto& p = params_as<ShardMapParams>(*e.params);
    ShardMapParams known = p, rest = p;
    known.in_specs.specs = chosen<PartitionSpec>(p.in_specs.specs, in_mask, false);
    known.out_specs.specs = chosen<PartitionSpec>(p.out_specs.specs, out_mask, false);
    known.jaxpr = rewritten_body(p, [&] { return known_part("shard_map", p.jaxpr, in_mask, out_mask); });
    const std::vector<Array> first = bind_shard_map(std::move(known), chosen<Array>(in, in_mask, false), e.loc);
    if (!any_linear) return merged(out_mask, first, {});
    rest.out_specs.specs = chosen<PartitionSpec>(p.out_specs.specs, out_mask, true);
    const auto avals = p.jaxpr.data().input_avals();
    rest.jaxpr = rewritten_body(p, [&] {
      return make_program("shard_map", {avals.begin(), avals.end()},
                          [&](std::span<const Array> args) { return chosen<Array>(eval_jaxpr(p.jaxpr, args), out_mask, true); });
    });
    return merged(out_mask, first, bind_shard_map(std::move(rest), in, e.loc));
  }
};

const RuleOf<DependenceTransform> shard_map_dependence(shard_map_primitive(), [](const ParamsBase& p, const Mask& in, std::size_t) {
  return dependent_results(params_as<ShardMapParams>(p).jaxpr, in);
});
const RuleOf<SeparateTransform> separate_shard_map(shard_map_primitive(), Separator::shard_map);
const DependenceRule<Scan> scan_dependence([](const ParamsBase& p, const Mask& in, std::size_t) {
  return masks_of(params_as<Scan::Params>(p), in).out;
});
const DependenceRule<While> while_dependence([](const ParamsBase& p, const Mask& in, std::size_t) {
  return dependent_carry(params_as<While::Params>(p), in);
});
const DependenceRule<Cond> cond_dependence([](const ParamsBase& p, const Mask& in, std::size_t num_out) {
  if (in[0]) return Mask(num_out, true);
  Mask out(num_out);
  for (const Jaxpr& b : params_as<Cond::Params>(p).branches) {
    const Mask one = dependent_results(b, part(in, 1, in.size() - 1));
    for (std::size_t k = 0; k < num_out; ++k) out[k] = out[k] || one[k];
  }
  return out;
});
const ReplacedRule<While> while_replaced([](const ParamsBase& p) {
  const auto& q = params_as<While::Params>(p);
  return q.max_steps > 0 || q.checkpoints != 0;
});
const SeparateRule<Scan> separate_scan(Separator::scan);
const SeparateRule<While> separate_while(Separator::while_loop);
const SeparateRule<Cond> separate_cond(Separator::cond);

}  // namespace

Jaxpr separated(const Jaxpr& j, const std::vector<bool>& linear) {
  if (!is_mixed(j, linear)) return j;
  const auto avals = j.data().input_avals();
  return make_program("transpose", {avals.begin(), avals.end()},
                      [&](std::span<const Array> args) { return Separator::run(j, linear, args); });
}

}  // namespace weft::detail
