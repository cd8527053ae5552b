#include "weft/backends/codegen/planner/simplify.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <utility>

#include "weft/backends/codegen/planner/known_values.h"
#include "weft/backends/codegen/planner/partial_sorts.h"
#include "weft/backends/codegen/schedule/cost.h"
#include "weft/core/array/array_impl.h"
#include "weft/core/base/hash.h"
#include "weft/core/base/nesting.h"
#include "weft/core/ir/effects.h"
#include "weft/core/ir/eqn_avals.h"
#include "weft/core/ir/hoist.h"
#include "weft/core/ir/known_indices.h"
#include "weft/core/ir/low_bits.h"
#include "weft/core/ir/pass_notes.h"
#include "weft/core/ir/primitive.h"
#include "weft/core/ir/prune.h"
#include "weft/core/ir/rewrite.h"
#include "weft/core/ir/same_operation.h"
#include "weft/core/ir/sub_programs.h"
#include "weft/core/ops/contraction/dot_expand.h"
#include "weft/core/ops/control/call.h"
#include "weft/core/ops/control/composite.h"
#include "weft/core/ops/movement/concatenation.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/random/random.h"
#include "weft/core/ops/reduce/cumulative_expand.h"
#include "weft/core/ops/reduce/reduce.h"
#include "weft/core/ops/reduce/window_expand.h"
#include "weft/core/trace/named_scope.h"

namespace weft::detail {
namespace {

constexpr std::size_t kCrowded = 8;  // equations with equal hashes, beyond which their parameters are hashed too

constexpr std::size_t kMaxParts = 64;  // operands that one equation concatenates

/// Whether the program, or one inside of it, has operations that gain by known positions.
bool reads_positions(const Jaxpr& j) {
  return std::any_of(j.eqns().begin(), j.eqns().end(), [](const Eqn& e) {
    return find_rule<KnownIndicesTransform>(*e.op) || any_program(e, [](const Jaxpr& inner) { return reads_positions(inner); });
  });
}

/// Rewrites in one pass from front to back; equations refer to the pass's own numbering (constants and inputs first).
class Simplifier {
 public:
  Simplifier(const JaxprData& j, Expansion expansion) : Simplifier(j, expansion, {}) {}
  /// `known`: what is known of the first inputs; the program is a loop's body then.
  Simplifier(const JaxprData& j, Expansion expansion, std::vector<std::optional<KnownValue>> known)
      : expansion_(expansion), in_loop_(!known.empty()), known_(j, eqns_, avals_, literals_) {
    avals_.reserve(j.avals.size()), eqns_.reserve(j.eqns.size());
    avals_.assign(j.avals.begin(), j.avals.begin() + j.num_consts + j.num_inputs);
    std::vector<Atom> env;
    for (Var v = 0; v < avals_.size(); ++v) env.push_back(Atom::var(v));
    for (std::size_t i = 0; i < known.size(); ++i)
      if (known[i]) known_.set(j.first_input() + static_cast<Var>(i), *std::move(known[i]));
    outputs_ = run(j, std::move(env), {});
  }

  /// Whether known positions changed the program.
  bool used_positions() const { return used_positions_; }

  SimplifiedProgram finish(const JaxprData& j) && {
    std::vector<int> live(avals_.size());  // how often it is read
    auto mark = [&](Atom a) {
      if (!a.is_literal()) ++live[a.var()];
    };
    for (Atom a : outputs_) mark(a);
    std::vector<char> kept(eqns_.size());
    for (std::size_t i = eqns_.size(); i-- > 0;) {
      const Eqn& e = eqns_[i];
      kept[i] = has_effects(e) || std::any_of(e.outputs.begin(), e.outputs.end(), [&](Var v) { return live[v] != 0; });
      if (kept[i])
        for (Atom a : e.inputs) mark(a);
    }
    transpose_matmuls(kept, live);
    spare_transposes(kept, live);
    narrow_sums(kept, live);
    JaxprBuilder b;
    std::vector<std::optional<Atom>> renamed(avals_.size()), literals(literals_.size());
    for (int i = 0; i < j.num_inputs; ++i)
      renamed[j.first_input() + static_cast<Var>(i)] = b.add_input(avals_[j.first_input() + static_cast<Var>(i)]);
    for (int i = 0; i < j.num_consts; ++i)
      if (live[static_cast<Var>(i)]) renamed[static_cast<Var>(i)] = b.add_const(j.consts[static_cast<std::size_t>(i)]);
    for (const auto& [v, value] : tables_)
      if (live[v]) renamed[v] = b.add_const(value);
    auto rename = [&](Atom a) {
      if (!a.is_literal()) return *renamed[a.var()];
      std::optional<Atom>& l = literals[a.literal()];
      if (!l) l = b.add_literal(literals_[a.literal()]);
      return *l;
    };
    for (std::size_t i = 0; i < eqns_.size(); ++i) {
      if (!kept[i]) continue;
      const Eqn& e = eqns_[i];
      std::vector<Atom> in;
      in.reserve(e.inputs.size());
      for (Atom a : e.inputs) in.push_back(rename(a));
      std::vector<Aval> out;
      for (Var v : e.outputs) out.push_back(avals_[v]);
      const std::vector<Atom> results = b.add_eqn(*e.op, e.params, std::move(in), out, e.loc);
      for (std::size_t k = 0; k < results.size(); ++k) renamed[e.outputs[k]] = results[k];
    }
    std::vector<Atom> out;
    for (Atom a : outputs_) out.push_back(rename(a));
    std::vector<NamedValue> names;
    for (NamedValue& n : names_)
      if (const auto &operand = renamed[n.operand], &result = renamed[n.result];
          operand && result && !operand->is_literal() && !result->is_literal())
        names.push_back({std::move(n.name), operand->var(), result->var()});
    return {std::move(b).finish(std::move(out)), std::move(names)};
  }

 private:
  /// A matmul of which only the transpose is read is computed transposed, where that is the matmul of the operands in the other order.
  void transpose_matmuls(std::vector<char>& kept, const std::vector<int>& times_read) {
    std::unordered_map<Var, std::size_t> matmuls;
    for (std::size_t i = 0; i < eqns_.size(); ++i) {
      Eqn& e = eqns_[i];
      if (!kept[i]) continue;
      if (e.op->kind == Kind::dot) matmuls.emplace(e.outputs[0], i);
      if (e.op->kind != Kind::movement || e.inputs[0].is_literal()) continue;
      const auto found = matmuls.find(e.inputs[0].var());
      if (found == matmuls.end() || times_read[found->first] != 1) continue;
      const std::optional<std::vector<int>> permutation = permutation_of(e);
      if (!permutation) continue;
      const Eqn& dot = eqns_[found->second];
      const Aval avals[] = {aval(dot.inputs[0]), aval(dot.inputs[1])};
      ParamsRef params = swapped_dot(dot, avals, *permutation);
      if (!params) continue;
      kept[found->second] = 0;
      e = Eqn{dot.op, std::move(params), {dot.inputs[1], dot.inputs[0]}, e.outputs, dot.loc};
      matmuls.emplace(e.outputs[0], i);
    }
  }

  /// Removes the transposes around an operation along the last axes, as which front ends write Fourier transforms along other axes.
  void spare_transposes(std::vector<char>& kept, std::vector<int>& times_read) {
    std::unordered_map<Var, std::size_t> made_by;
    const auto maker = [&](Atom a) {
      const auto found = a.is_literal() ? made_by.end() : made_by.find(a.var());
      return found == made_by.end() ? nullptr : &eqns_[found->second];
    };
    for (std::size_t i = 0; i < eqns_.size(); ++i) {
      Eqn& e = eqns_[i];
      if (!kept[i]) continue;
      if (find_rule<BetweenTransposesTransform>(*e.op) || e.op->kind == Kind::movement) made_by.emplace(e.outputs[0], i);
      if (e.op->kind != Kind::movement) continue;
      const Eqn* inner = maker(e.inputs[0]);
      BetweenTransposesTransform::Function* const rule = inner ? find_rule<BetweenTransposesTransform>(*inner->op) : nullptr;
      if (!rule || times_read[inner->outputs[0]] != 1) continue;
      const Eqn* before = maker(inner->inputs[0]);
      if (!before || before->op->kind != Kind::movement) continue;
      const std::optional<std::vector<int>> first = permutation_of(*before), last = permutation_of(e);
      if (!first || !last) continue;
      const auto other = rule(*inner->params, *first, *last);
      if (!other) continue;
      kept[made_by[inner->outputs[0]]] = 0;
      if (--times_read[before->outputs[0]] == 0) kept[made_by[before->outputs[0]]] = 0;
      e = Eqn{other->op, other->params, before->inputs, e.outputs, inner->loc};
      made_by.erase(e.outputs[0]);
    }
  }

  /// A sum of integers that were widened for it, and of which only low bits are read, is computed in the narrower type, which gives the
  /// same bits: the operand is converted, not the result.
  void narrow_sums(const std::vector<char>& kept, const std::vector<int>& times_read) {
    std::unordered_map<Var, std::size_t> made_by;
    const auto maker = [&](Atom a) {
      const auto found = a.is_literal() ? made_by.end() : made_by.find(a.var());
      return found == made_by.end() ? nullptr : &eqns_[found->second];
    };
    for (std::size_t i = 0; i < eqns_.size(); ++i) {
      if (!kept[i]) continue;
      Eqn& e = eqns_[i];
      const bool converts = find_rule<ConversionTransform>(*e.op);
      if (converts || find_rule<LowBitsTransform>(*e.op)) made_by.emplace(e.outputs[0], i);
      Eqn* const sum = converts ? maker(e.inputs[0]) : nullptr;
      if (!sum || !find_rule<LowBitsTransform>(*sum->op) || times_read[sum->outputs[0]] != 1) continue;
      const Eqn* const widening = maker(sum->inputs[0]);
      if (!widening || !find_rule<ConversionTransform>(*widening->op)) continue;
      const DType to = avals_[e.outputs[0]].dtype, from = avals_[sum->outputs[0]].dtype, before = aval(widening->inputs[0]).dtype;
      if (!to.is_integer() || !from.is_integer() || to.itemsize() >= from.itemsize()) continue;
      if (!(before.is_integer() || before.is_bool()) || before.itemsize() > to.itemsize()) continue;
      avals_[sum->outputs[0]] = avals_[widening->outputs[0]].with_dtype(to);
      std::swap(e.op, sum->op), std::swap(e.params, sum->params);
    }
  }

  const Aval& aval(Atom a) const { return a.is_literal() ? literals_[a.literal()].aval : avals_[a.var()]; }

  Atom literal(const Literal& l) {
    std::uint64_t halves[2];
    std::memcpy(halves, l.bits.data(), sizeof halves);
    const std::uint64_t h = mix(mix(static_cast<std::uint64_t>(l.aval.dtype.id()), halves[0]), halves[1]);
    const auto [first, last] = known_literals_.equal_range(h);
    for (auto it = first; it != last; ++it)
      if (literals_[it->second] == l) return Atom::literal(it->second);
    const auto number = static_cast<std::uint32_t>(literals_.size());
    known_literals_.emplace(h, number);
    literals_.push_back(l);
    return Atom::literal(number);
  }

  /// A hash of the parameters' text, for the many equations of one operation on the same operands: slices of one array, say.
  static std::uint64_t hash_of_params(const Eqn& e) {
    std::uint64_t h = 0;
    for (const ParamText& p : e.op->params_list(*e.params)) h = mix(h, std::hash<std::string>()(p.text));
    return h;
  }

  /// Appends the program's equations; `env` gives its constants and inputs. `loc`: of the call, for equations without a line.
  std::vector<Atom> run(const JaxprData& j, std::vector<Atom> env, SourceLoc loc) {
    check_nesting("programs inside programs");
    env.resize(j.avals.size(), Atom::var(0));
    auto resolve = [&](Atom a) { return a.is_literal() ? literal(j.literals[a.literal()]) : env[a.var()]; };
    for (const Eqn& e : j.eqns) {
      std::vector<Atom> in;
      in.reserve(e.inputs.size());
      for (Atom a : e.inputs) in.push_back(resolve(a));
      const std::vector<Atom> results = add(e, std::move(in), result_avals(j, e), e.loc ? joined_name_scope(e.loc, loc) : loc);
      for (std::size_t k = 0; k < results.size(); ++k) env[e.outputs[k]] = results[k];
    }
    std::vector<Atom> out;
    for (Atom a : j.outputs) out.push_back(resolve(a));
    return out;
  }

  std::vector<Aval> types_of(const std::vector<Atom>& in) const {
    std::vector<Aval> types;
    types.reserve(in.size());
    for (Atom a : in) types.push_back(aval(a));
    return types;
  }

  std::vector<Atom> add(const Eqn& e, std::vector<Atom> in, const std::vector<Aval>& out_avals, SourceLoc loc) {
    if (e.op->call_body) {
      const Jaxpr body = e.op->call_body(*e.params, types_of(in));
      return run(body.data(), std::move(in), loc);
    }
    // A call for whose name this backend has a rule.
    if (e.op->body && expansion_)
      if (const std::optional<Jaxpr> expansion = expansion_(e, types_of(in)))
        return run(expansion->data(), with_tables(expansion->data(), std::move(in)), loc);
    if (const auto apart = e.op->body ? call_traits(*e.op).stays_apart : nullptr; apart && apart(*e.params)) {
      auto outside = std::exchange(seen_, {});
      std::vector<Atom> results = run(e.op->body(*e.params).data(), std::move(in), loc);
      seen_ = std::move(outside);
      return results;
    }
    if (e.op->body) {
      const Atom operand = in.size() == 1 ? in[0] : Atom::literal(0);
      std::vector<Atom> results = run(e.op->body(*e.params).data(), std::move(in), loc);
      if (const CompositeParams* p = as_composite(e); p && !operand.is_literal() && results.size() == 1 && !results[0].is_literal())
        names_.push_back({p->name, operand.var(), results[0].var()});
      return results;
    }
    if (e.op->kind == Kind::concatenate && in.size() > kMaxParts) return concatenate_by_parts(e, std::move(in), out_avals, loc);
    if (e.op->kind == Kind::random) {
      const Jaxpr expansion = expand_random(e, types_of(in));
      return run(expansion.data(), std::move(in), loc);
    }
    if (e.op->kind == Kind::dot) {
      const Aval avals[] = {aval(in[0]), aval(in[1])};
      std::optional<Jaxpr> expansion = expand_dot(e, avals);
      if (!expansion) {
        const Eqn dot = before_transposes(e, in);
        const Aval before[] = {aval(dot.inputs[0]), aval(dot.inputs[1])};
        expansion = reduce_dot(dot, before);
        if (expansion) in = dot.inputs;
      }
      if (!expansion) expansion = transpose_dot(e, avals);
      if (!expansion) expansion = join_free_dims(e, avals);
      if (expansion) return run(expansion->data(), std::move(in), loc);
    }
    if (e.op->kind == Kind::cumulative) {
      if (aval(in[0]).shape[params_as<CumulativeParams>(*e.params).axis] == 1) return in;
      const Aval avals[] = {aval(in[0])};
      if (const std::optional<Jaxpr> expansion = expand_cumulative(e, avals)) return run(expansion->data(), std::move(in), loc);
    }
    if (e.op->kind == Kind::reduce_window || e.op->kind == Kind::library) {
      if (const std::optional<Jaxpr> expansion = expand_window(e, types_of(in))) return run(expansion->data(), std::move(in), loc);
    }
    if (std::optional<HoistedEqn> hoisted = hoist_invariants(e, equation_cost)) {
      std::vector<Atom> taken;
      for (std::size_t i : hoisted->before_inputs) taken.push_back(in[i]);
      const std::vector<Atom> values = run(hoisted->before.data(), std::move(taken), loc);
      in.insert(in.begin() + static_cast<std::ptrdiff_t>(hoisted->insert_at), values.begin(), values.end());
      return add({e.op, std::move(hoisted->params), {}, {}, loc}, std::move(in), out_avals, loc);
    }
    if (const std::optional<Jaxpr> expansion = at_known_positions(e, in)) return run(expansion->data(), std::move(in), loc);
    if (ParamsRef params = with_known_constants(e, in)) return add({e.op, std::move(params), {}, {}, loc}, std::move(in), out_avals, loc);
    if (expansion_)
      if (const std::optional<Jaxpr> expansion = expansion_(e, types_of(in)))
        return run(expansion->data(), with_tables(expansion->data(), std::move(in)), loc);
    if (std::optional<Atom> folded = fold(e, in, out_avals)) return {*folded};
    std::uint64_t h = reinterpret_cast<std::uintptr_t>(e.op);
    for (Atom a : in) h = mix(h, a.is_literal() ? ~std::uint64_t{a.literal()} : a.var());
    if (!has_effects(e)) {
      const Eqn* same = find_same(h, e, in, out_avals);
      if (!same && seen_.count(h) >= kCrowded) {
        h = mix(h, hash_of_params(e));
        same = find_same(h, e, in, out_avals);
      }
      if (same) return as_atoms(same->outputs);
    }
    seen_.emplace(h, eqns_.size());
    Eqn copy{e.op, e.params, std::move(in), {}, loc};
    for (const Aval& a : out_avals) {
      copy.outputs.push_back(static_cast<Var>(avals_.size()));
      avals_.push_back(a);
    }
    if (permutation_of(copy)) transposes_.emplace(copy.outputs[0], eqns_.size());
    eqns_.push_back(std::move(copy));
    return as_atoms(eqns_.back().outputs);
  }

  /// What an equation that reads at positions is, where those are known.
  std::optional<Jaxpr> at_known_positions(const Eqn& e, const std::vector<Atom>& in) {
    KnownIndicesTransform::Function* const rule = find_rule<KnownIndicesTransform>(*e.op);
    KnownValue* const indices = rule ? known_.find(in[1]) : nullptr;
    if (!indices || !indices->from_array) return {};
    std::optional<Jaxpr> expansion = rule({e, types_of(in), indices->tensor(), in_loop_});
    used_positions_ = used_positions_ || expansion;
    return expansion;
  }

  /// The parameters of a loop whose body reads at positions that are among its constants; null for other equations.
  ParamsRef with_known_constants(const Eqn& e, const std::vector<Atom>& in) {
    KnownConstantsTransform::Function* const rule = find_rule<KnownConstantsTransform>(*e.op);
    if (!rule) return {};
    ParamsRef params = rule(*e.params, [&](const Jaxpr& body, std::size_t first, std::size_t count) -> std::optional<Jaxpr> {
      std::vector<std::optional<KnownValue>> known(count);
      bool any = false;
      for (std::size_t i = 0; i < count; ++i)
        if (const KnownValue* const value = known_.find(in[first + i])) known[i] = *value, any = any || value->from_array;
      if (!any || !reads_positions(body)) return {};
      Simplifier inner(body.data(), nullptr, std::move(known));
      return inner.used_positions() ? std::optional(std::move(inner).finish(body.data()).program) : std::nullopt;
    });
    used_positions_ = used_positions_ || params;
    return params;
  }

  /// A concatenation of many operands becomes a tree, since each element would otherwise be compared with every operand's range. The parts
  /// are joined as the operands are; a part has the axis along which it lies in the result, so that the parts are concatenated along it.
  std::vector<Atom> concatenate_by_parts(const Eqn& e, std::vector<Atom> in, const std::vector<Aval>& out_avals, SourceLoc loc) {
    const auto movement_of = [&](std::span<const Aval> operands, int which) {
      return e.op->movement(*e.params, operands, out_avals[0], which);
    };
    std::vector<Atom> parts;
    int along = 0;
    for (std::size_t i = 0; i < in.size(); i += kMaxParts) {
      const std::vector<Atom> some(in.begin() + static_cast<std::ptrdiff_t>(i),
                                   in.begin() + static_cast<std::ptrdiff_t>(std::min(i + kMaxParts, in.size())));
      const std::vector<Aval> operands = types_of(some);
      const Movement last = movement_of(operands, static_cast<int>(some.size()) - 1);
      along = last.part_dim;
      Aval part = out_avals[0];
      part.shape[along] = last.part_end;
      parts.push_back(add(e, some, {part}, loc)[0]);
    }
    Concatenation join = concatenation_along(along);
    return add({join.op, std::move(join.params), {}, {}, loc}, std::move(parts), out_avals, loc);
  }

  /// An equation of the hash that computes the same; null if there is none.
  const Eqn* find_same(std::uint64_t h, const Eqn& e, const std::vector<Atom>& in, const std::vector<Aval>& out_avals) const {
    const auto [first, last] = seen_.equal_range(h);
    for (auto it = first; it != last; ++it) {
      const Eqn& other = eqns_[it->second];
      if (other.inputs == in && same_types(other, out_avals) && same_operation(other, e)) return &other;
    }
    return nullptr;
  }

  /// The same contraction on the operands of the transposes that computed its operands, where this does not permute the result.
  Eqn before_transposes(const Eqn& transposed, const std::vector<Atom>& in) const {
    Eqn dot{transposed.op, transposed.params, in, {}, transposed.loc};
    for (int k = 0; k < 2;) {
      Atom& operand = dot.inputs[static_cast<std::size_t>(k)];
      const auto found = operand.is_literal() ? transposes_.end() : transposes_.find(operand.var());
      ParamsRef params;
      if (found != transposes_.end()) params = dot_before_transpose(dot, k, *permutation_of(eqns_[found->second]));
      if (params) {
        dot.params = std::move(params);
        operand = eqns_[found->second].inputs[0];
      } else {
        ++k;
      }
    }
    return dot;
  }

  /// The inputs of a program: its constants, which become constants of the whole program, then `in`.
  std::vector<Atom> with_tables(const JaxprData& j, std::vector<Atom> in) {
    std::vector<Atom> env;
    for (const Array& c : j.consts) {
      tables_.emplace_back(static_cast<Var>(avals_.size()), c);
      env.push_back(Atom::var(static_cast<Var>(avals_.size())));
      avals_.push_back(c.aval());
    }
    env.insert(env.end(), in.begin(), in.end());
    return env;
  }

  /// The permutation of a movement that is a transpose.
  std::optional<std::vector<int>> permutation_of(const Eqn& e) const {
    if (e.op->kind != Kind::movement || e.inputs.size() != 1 || e.outputs.size() != 1) return {};
    return weft::detail::permutation_of(*e.op, *e.params, aval(e.inputs[0]), avals_[e.outputs[0]]);
  }

  bool same_types(const Eqn& e, const std::vector<Aval>& out_avals) const {
    if (e.outputs.size() != out_avals.size()) return false;
    for (std::size_t k = 0; k < out_avals.size(); ++k)
      if (!(avals_[e.outputs[k]] == out_avals[k])) return false;
    return true;
  }
  static std::vector<Atom> as_atoms(const std::vector<Var>& vars) {
    std::vector<Atom> atoms;
    for (Var v : vars) atoms.push_back(Atom::var(v));
    return atoms;
  }

  /// A scalar computed from literals, as a literal.
  std::optional<Atom> fold(const Eqn& e, const std::vector<Atom>& in, const std::vector<Aval>& out_avals) {
    if (e.op->kind != Kind::elementwise && e.op->kind != Kind::movement) return {};
    if (out_avals.size() != 1 || out_avals[0].ndim() != 0 || e.op->has_effects || !e.op->reference) return {};
    if (!std::all_of(in.begin(), in.end(), [](Atom a) { return a.is_literal(); })) return {};
    std::vector<Literal> operands;
    for (Atom a : in) operands.push_back(literals_[a.literal()]);
    std::vector<HostTensor> tensors;
    for (Literal& l : operands) tensors.push_back({l.aval, l.bits.data()});
    Literal result{out_avals[0]};
    const HostTensor out{result.aval, result.bits.data()};
    e.op->reference({*e.params, tensors, std::span(&out, 1)});
    return literal(result);
  }

  const Expansion expansion_;
  const bool in_loop_;
  bool used_positions_ = false;
  std::vector<Aval> avals_;
  std::vector<Eqn> eqns_;
  std::vector<Literal> literals_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> known_literals_;  // by hash
  std::vector<Atom> outputs_;
  std::vector<std::pair<Var, Array>> tables_;  // constants of expansions
  std::vector<NamedValue> names_;
  std::unordered_multimap<std::uint64_t, std::size_t> seen_;
  std::unordered_map<Var, std::size_t> transposes_;
  KnownValues known_;
};

}  // namespace

SimplifiedProgram simplify_with_names(const Jaxpr& j, Expansion expansion) {
  SimplifiedProgram whole;
  {
    const NotedPass noted("simplify", j);
    whole = Simplifier(j.data(), expansion).finish(j.data());
    noted.made(whole.program);
  }
  if (const Jaxpr partial = with_partial_sorts(whole.program, expansion); &partial.data() != &whole.program.data())
    return simplify_with_names(partial, expansion);
  const auto& eqns = whole.program.eqns();
  if (std::none_of(eqns.begin(), eqns.end(), [](const Eqn& e) { return find_rule<PruneTransform>(*e.op); })) return whole;
  const Jaxpr pruned = dce_program(whole.program);
  // Pruning renumbers values, unless it finds nothing to prune.
  if (pruned.data().avals.size() != whole.program.data().avals.size()) whole.names.clear();
  return {pruned, std::move(whole.names)};
}

Jaxpr simplify(const Jaxpr& j, Expansion expansion) { return simplify_with_names(j, expansion).program; }

}  // namespace weft::detail
