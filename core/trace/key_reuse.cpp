#include "weft/core/trace/key_reuse.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <numeric>
#include <set>

#include "weft/core/array/array_impl.h"
#include "weft/core/base/nesting.h"
#include "weft/core/base/process_wide.h"
#include "weft/core/base/thread_object.h"
#include "weft/core/ir/eqn_avals.h"
#include "weft/core/ir/sealed_program.h"
#include "weft/core/ops/control/call.h"
#include "weft/core/trace/trace.h"
#include "weft/core/trace/value_numbers.h"

namespace weft::detail {
namespace {

struct Use {
  std::string user;
  SourceLoc loc;
};

[[noreturn]] void fail(const std::string& user, const Use& first, SourceLoc loc) {
  throw Error(
      fmt::format("{}: the key was used before, by {}{}: the numbers would not be independent; split it (config.debug_key_reuse is on)",
                  user, first.user, first.loc ? fmt::format(" at {}:{}", first.loc.file(), first.loc.line()) : ""),
      loc);
}

/// For each key of an array of keys, whether it is used; in arrays of more than kMostParts, keys are not distinguished.
using Positions = std::vector<bool>;
constexpr std::int64_t kMostParts = 65536;

bool any(const Positions& p) { return std::find(p.begin(), p.end(), true) != p.end(); }
bool all(const Positions& p) { return std::find(p.begin(), p.end(), false) == p.end(); }
void unite(Positions& p, const Positions& more) {
  p.resize(std::max(p.size(), more.size()));
  for (std::size_t i = 0; i < more.size(); ++i) p[i] = p[i] || more[i];
}
Positions all_of(const Aval& keys) { return Positions(static_cast<std::size_t>(keys.size()), true); }

/// For each key of a movement's result, which key of the operand it is; nothing where that is not known from the parameters.
std::vector<std::int64_t> moved_from(const Primitive& op, const ParamsBase& params, const Aval& operand, const Aval& result) {
  if (op.kind != Kind::movement || !op.reference || operand.size() > kMostParts || result.size() > kMostParts) return {};
  std::vector<std::int64_t> from(static_cast<std::size_t>(operand.size())), to(static_cast<std::size_t>(result.size()));
  std::iota(from.begin(), from.end(), 0);
  const HostTensor in[] = {{{operand.shape, int64}, from.data()}}, out[] = {{{result.shape, int64}, to.data()}};
  op.reference({params, in, out});
  return to;
}

std::vector<std::uint64_t> words_of(const Array& keys, const Positions& which, const std::string& user, SourceLoc loc) {
  std::vector<std::uint64_t> words(static_cast<std::size_t>(keys.size())), used;
  if (!words.empty()) read_elements(keys, key_dtype, words.data(), user.c_str(), loc);
  for (std::size_t i = 0; i < words.size(); ++i)
    if (which[i]) used.push_back(words[i]);
  return used;
}

void note_value(const Array& keys, const Positions& which, const std::string& user, SourceLoc loc) {
  static std::mutex mutex;
  static auto& uses = process_wide<std::map<std::uint64_t, Use>>();
  for (const std::uint64_t words : words_of(keys, which, user, loc)) {
    const std::lock_guard lock(mutex);
    const auto [at, is_new] = uses.try_emplace(words, Use{user, loc});
    if (!is_new) fail(user, at->second, loc);
  }
}

using TracedKeys = std::pair<const Trace*, Var>;
/// Uses within one trace. A trace that is over is forgotten at the next use in the thread.
struct TraceUses {
  Ref<Trace> trace;
  /// For keys that were sliced from others: those, and the place in them. For keys that have values: no others, and the words.
  std::map<Var, std::pair<TracedKeys, std::vector<std::int64_t>>> parts;
  std::map<std::pair<TracedKeys, std::int64_t>, Use> traced;
  std::map<std::uint64_t, Use> values;
  ValueNumbers numbers;
};
TraceUses& uses_of(Trace& now) {
  auto& all = of_thread<std::vector<TraceUses>>();
  std::erase_if(all, [](const TraceUses& u) { return !u.trace->live(); });
  const auto uses = std::find_if(all.begin(), all.end(), [&](const TraceUses& u) { return u.trace.get() == &now; });
  return uses != all.end() ? *uses : *all.insert(all.end(), TraceUses{Ref<Trace>(&now), {}, {}, {}, {}});
}

void note_in_trace(Trace& now, const Array& keys, const Positions& which, const std::string& user, SourceLoc loc) {
  TraceUses& uses = uses_of(now);
  if (const TracedArray* t = as_traced(keys)) {
    const Var var = t->trace.get() == &now ? uses.numbers.first(t->var) : t->var;
    TracedKeys whole{t->trace.get(), var};
    std::set<std::int64_t> elements;
    const auto part = t->trace.get() == &now ? uses.parts.find(var) : uses.parts.end();
    for (std::size_t i = 0; i < which.size(); ++i)
      if (which[i])
        elements.insert(part != uses.parts.end() ? part->second.second[i] : which.size() > kMostParts ? 0 : static_cast<std::int64_t>(i));
    if (part != uses.parts.end()) whole = part->second.first;
    for (const std::int64_t element : elements) {
      if (!whole.first) {
        const auto [at, is_new] = uses.values.try_emplace(static_cast<std::uint64_t>(element), Use{user, loc});
        if (!is_new) fail(user, at->second, loc);
        continue;
      }
      const auto [at, is_new] = uses.traced.try_emplace({whole, element}, Use{user, loc});
      if (!is_new) fail(user, at->second, loc);
    }
    return;
  }
  for (const std::uint64_t words : words_of(keys, which, user, loc)) {
    const auto [at, is_new] = uses.values.try_emplace(words, Use{user, loc});
    if (!is_new) fail(user, at->second, loc);
  }
}

void note(const Array& keys, const Positions& which, const std::string& user, SourceLoc loc) {
  if (Trace* now = current_trace())
    note_in_trace(*now, keys, which, user, loc);
  else if (!as_traced(keys))
    note_value(keys, which, user, loc);
}

/// The keys of an operand that are used if a sub-program uses `inner` of its input, which is the operand or, in each step or lane, a slice
/// of it.
Positions of_operand(const Aval& operand, const Positions& inner) {
  const auto n = static_cast<std::size_t>(operand.size());
  if (inner.size() == n) return inner;
  return Positions(n, any(inner) && all(inner));
}

/// Which keys among constants and inputs a program gives to samplers.
std::vector<Positions> used_keys(const Jaxpr& j) {
  check_nesting("programs inside programs", nesting_depth(j));
  const JaxprData& d = j.data();
  std::vector<Positions> used(d.avals.size());
  for (std::size_t v = 0; v < used.size(); ++v)
    if (d.avals[v].dtype.is_key()) used[v].resize(static_cast<std::size_t>(d.avals[v].size()));
  const auto mark = [&](Atom a, const Positions& which) {
    if (!a.is_literal() && d.avals[a.var()].dtype.is_key()) unite(used[a.var()], of_operand(d.avals[a.var()], which));
  };
  const auto mark_call = [&](const Jaxpr& body, std::span<const Atom> operands) {
    const std::vector<Positions> inner = used_keys(body);
    const std::size_t first = static_cast<std::size_t>(body.data().first_input());
    for (std::size_t i = 0; i < operands.size() && first + i < inner.size(); ++i) mark(operands[i], inner[first + i]);
  };
  struct Uses final : KeyUses {
    Uses(const decltype(mark_call)& m, const Eqn& e) : mark(m), operands(e.inputs) {}
    void by_program(const Jaxpr& program, std::size_t first) override { mark(program, operands.subspan(first)); }
    const decltype(mark_call)& mark;
    const std::span<const Atom> operands;
  };
  for (std::size_t i = d.eqns.size(); i-- > 0;) {
    const Eqn& e = d.eqns[i];
    if (std::none_of(e.inputs.begin(), e.inputs.end(), [&](Atom a) { return !a.is_literal() && d.avals[a.var()].dtype.is_key(); }))
      continue;
    const std::span<const Atom> in(e.inputs);
    if (KeyUseTransform::Function* const rule = find_rule<KeyUseTransform>(*e.op)) {
      Uses uses(mark_call, e);
      rule(*e.params, uses);
    } else if (e.op->kind == Kind::call || e.op->kind == Kind::spmd) {
      mark_call(executed_body(*e.op, *e.params, operand_avals(d, e)), in);
    } else if (e.op->kind == Kind::random) {
      for (Atom a : in) mark(a, all_of(d.aval(a)));
    } else if (e.outputs.size() == 1 && any(used[e.outputs[0]])) {
      const Aval &operand = d.aval(in[0]), &result = d.avals[e.outputs[0]];
      const std::vector<std::int64_t> from = in.size() == 1 ? moved_from(*e.op, *e.params, operand, result) : std::vector<std::int64_t>();
      if (!from.empty()) {
        Positions which(static_cast<std::size_t>(operand.size()));
        for (std::size_t k = 0; k < from.size(); ++k)
          if (used[e.outputs[0]][k]) which[static_cast<std::size_t>(from[k])] = true;
        mark(in[0], which);
      } else if (result.size() == operand.size()) {
        mark(in[0], used[e.outputs[0]]);  // the same keys in another form
      }
    }
  }
  used.resize(d.first_result());
  return used;
}

}  // namespace

void note_key_use(const Array& key, const std::string& user, SourceLoc loc) { note(key, all_of(key.aval()), user, loc); }

void note_key_eqn(const Primitive& op, const ParamsRef& params, std::span<const Array> inputs, std::span<const Array> results) {
  const TracedArray* t = results.empty() ? nullptr : as_traced(results[0]);
  if (!t) return;
  Trace& now = *t->trace;
  TraceUses& uses = uses_of(now);
  uses.numbers.note(now, op, params, inputs, results);
  if (inputs.size() != 1 || results.size() != 1 || !inputs[0].dtype().is_key() || !results[0].dtype().is_key()) return;
  const Array& keys = inputs[0];
  std::vector<std::int64_t> from = moved_from(op, *params, keys.aval(), results[0].aval());
  if (from.empty()) return;
  TracedKeys root{};
  if (const TracedArray* whole = as_traced(keys)) {
    const bool here = whole->trace.get() == &now;
    root = {whole->trace.get(), here ? uses.numbers.first(whole->var) : whole->var};
    if (const auto found = uses.parts.find(root.second); here && found != uses.parts.end()) {
      root = found->second.first;
      for (std::int64_t& i : from) i = found->second.second[static_cast<std::size_t>(i)];
    }
  } else {
    const std::vector<std::uint64_t> words = words_of(keys, all_of(keys.aval()), "random", {});
    for (std::int64_t& i : from) i = static_cast<std::int64_t>(words[static_cast<std::size_t>(i)]);
  }
  uses.parts.emplace(t->var, std::pair(root, std::move(from)));
}

void note_key_uses(const Jaxpr& program, std::span<const Array> inputs, const std::string& user, SourceLoc loc) {
  note_key_uses(std::span(&program, 1), inputs, user, loc);
}

void note_key_uses(std::span<const Jaxpr> branches, std::span<const Array> inputs, const std::string& user, SourceLoc loc) {
  // Only one branch runs, so that together they use what any of them uses; a program that is given a key twice uses it twice.
  std::vector<std::pair<Array, Positions>> uses;
  for (const Jaxpr& j : branches) {
    const std::vector<Positions> used = used_keys(j);
    std::vector<Array> all = j.data().consts;
    all.insert(all.end(), inputs.begin(), inputs.end());
    for (std::size_t i = 0; i < std::min(used.size(), all.size()); ++i) {
      if (!any(used[i])) continue;
      const Positions which = of_operand(all[i].aval(), used[i]);
      const auto same = std::find_if(uses.begin(), uses.end(), [&](const auto& u) { return u.first.impl() == all[i].impl(); });
      if (branches.size() == 1 || same == uses.end())
        uses.emplace_back(all[i], which);
      else
        unite(same->second, which);
    }
  }
  for (const auto& [keys, which] : uses) note(keys, which, user, loc);
}

void note_loop_keys(const Jaxpr& body, const LoopInputs& loop, std::span<const Array> inputs, const std::string& user, SourceLoc loc) {
  const JaxprData& d = body.data();
  const std::vector<Positions> used = used_keys(body);
  const auto at = [&](std::size_t i) { return d.first_input() + static_cast<Var>(i); };
  constexpr const char* advice = "; carry a key and split it in each step, or give one key for each step (config.debug_key_reuse is on)";
  for (std::size_t i = 0; i < loop.num_consts; ++i)
    if (any(used[at(i)]))
      throw Error(user + ": the body closes over a key, and uses it in every step: the numbers would be the same" + advice, loc);
  for (std::size_t i = 0; i < loop.num_carry; ++i)
    if (any(used[at(loop.first_carry + i)]) && d.outputs[i] == Atom::var(at(loop.first_carry + i)))
      throw Error(user + ": the body uses a key and passes it on unchanged, so that every step would draw the same numbers" + advice, loc);
  note_key_uses(body, inputs, user, loc);
}

}  // namespace weft::detail
