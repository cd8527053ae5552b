#include "core/key_reuse.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <set>

#include "core/array_impl.h"
#include "core/ops/call.h"
#include "core/ops/control.h"
#include "core/trace.h"

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

std::vector<std::uint64_t> words_of(const Array& keys, const std::string& user, SourceLoc loc) {
  std::vector<std::uint64_t> words(static_cast<std::size_t>(keys.size()));
  if (!words.empty()) read_elements(keys, key_dtype, words.data(), user.c_str(), loc);
  return words;
}

void note_value(const Array& keys, const std::string& user, SourceLoc loc) {
  static std::mutex mutex;
  static std::map<std::uint64_t, Use> uses;
  for (const std::uint64_t words : words_of(keys, user, loc)) {
    const std::lock_guard lock(mutex);
    const auto [at, is_new] = uses.try_emplace(words, Use{user, loc});
    if (!is_new) fail(user, at->second, loc);
  }
}

/// Uses within one trace. A trace that is over is forgotten at the next use in the thread.
struct TraceUses {
  Ref<Trace> trace;
  std::map<std::pair<const Trace*, Var>, Use> traced;
  std::map<std::uint64_t, Use> values;
};

void note_in_trace(Trace& now, const Array& keys, const std::string& user, SourceLoc loc) {
  thread_local std::vector<TraceUses> all;
  std::erase_if(all, [](const TraceUses& u) { return !u.trace->live(); });
  auto uses = std::find_if(all.begin(), all.end(), [&](const TraceUses& u) { return u.trace.get() == &now; });
  if (uses == all.end()) uses = all.insert(all.end(), TraceUses{Ref<Trace>(&now), {}, {}});
  if (const TracedArray* t = as_traced(keys)) {
    const auto [at, is_new] = uses->traced.try_emplace({t->trace.get(), t->var}, Use{user, loc});
    if (!is_new) fail(user, at->second, loc);
    return;
  }
  for (const std::uint64_t words : words_of(keys, user, loc)) {
    const auto [at, is_new] = uses->values.try_emplace(words, Use{user, loc});
    if (!is_new) fail(user, at->second, loc);
  }
}

/// Which constants and inputs a program gives to samplers.
std::vector<bool> used_keys(const Jaxpr& j) {
  const JaxprData& d = j.data();
  std::vector<bool> used(d.avals.size());
  const auto mark = [&](Atom a) {
    if (!a.is_literal() && d.avals[a.var()].dtype.is_key()) used[a.var()] = true;
  };
  const auto mark_call = [&](const Jaxpr& body, std::span<const Atom> operands) {
    const std::vector<bool> inner = used_keys(body);
    for (std::size_t i = 0; i < operands.size() && i < inner.size(); ++i)
      if (inner[i]) mark(operands[i]);
  };
  for (std::size_t i = d.eqns.size(); i-- > 0;) {
    const Eqn& e = d.eqns[i];
    if (std::none_of(e.inputs.begin(), e.inputs.end(), [&](Atom a) { return !a.is_literal() && d.avals[a.var()].dtype.is_key(); }))
      continue;
    const std::span<const Atom> in(e.inputs);
    if (e.op == &primitive_of<Cond>) {
      for (const Jaxpr& b : params_as<Cond::Params>(*e.params).branches) mark_call(b, in.subspan(1));
    } else if (e.op == &primitive_of<While>) {
      const auto& p = params_as<While::Params>(*e.params);
      mark_call(p.body_jaxpr, in.subspan(static_cast<std::size_t>(p.cond_nconsts)));
    } else if (e.op == &primitive_of<Scan>) {
      mark_call(params_as<Scan::Params>(*e.params).jaxpr, in);
    } else if (e.op->kind == Kind::call || e.op->kind == Kind::spmd) {
      std::vector<Aval> avals;
      for (Atom a : e.inputs) avals.push_back(d.aval(a));
      mark_call(executed_body(*e.op, *e.params, avals), in);
    } else if (e.op->kind == Kind::random) {
      if (e.primitive() != "random_fold_in" && e.primitive() != "random_unwrap") std::for_each(in.begin(), in.end(), mark);
    } else if (e.outputs.size() == 1 && used[e.outputs[0]] && d.avals[e.outputs[0]].size() == d.aval(e.inputs[0]).size()) {
      mark(e.inputs[0]);  // the same keys in another form
    }
  }
  used.resize(d.first_result());
  return used;
}

}  // namespace

void note_key_use(const Array& key, const std::string& user, SourceLoc loc) {
  if (Trace* now = current_trace())
    note_in_trace(*now, key, user, loc);
  else if (!as_traced(key))
    note_value(key, user, loc);
}

void note_key_uses(const Jaxpr& program, std::span<const Array> inputs, const std::string& user, SourceLoc loc) {
  note_key_uses(std::span(&program, 1), inputs, user, loc);
}

void note_key_uses(std::span<const Jaxpr> branches, std::span<const Array> inputs, const std::string& user, SourceLoc loc) {
  std::set<const ArrayImpl*> seen;
  for (const Jaxpr& j : branches) {
    const std::vector<bool> used = used_keys(j);
    std::vector<Array> all = j.data().consts;
    all.insert(all.end(), inputs.begin(), inputs.end());
    for (std::size_t i = 0; i < std::min(used.size(), all.size()); ++i)
      if (used[i] && (branches.size() == 1 || seen.insert(all[i].impl().get()).second)) note_key_use(all[i], user, loc);
  }
}

void note_loop_keys(const Jaxpr& body, const LoopInputs& loop, std::span<const Array> inputs, const std::string& user, SourceLoc loc) {
  const JaxprData& d = body.data();
  const std::vector<bool> used = used_keys(body);
  const auto at = [&](std::size_t i) { return d.first_input() + static_cast<Var>(i); };
  constexpr const char* advice = "; carry a key and split it in each step, or give one key for each step (config.debug_key_reuse is on)";
  for (std::size_t i = 0; i < loop.num_consts; ++i)
    if (used[at(i)])
      throw Error(user + ": the body closes over a key, and uses it in every step: the numbers would be the same" + advice, loc);
  for (std::size_t i = 0; i < loop.num_carry; ++i)
    if (used[at(loop.first_carry + i)] && d.outputs[i] == Atom::var(at(loop.first_carry + i)))
      throw Error(user + ": the body uses a key and hands it on unchanged, so that the numbers would be the same in every step" + advice,
                  loc);
  note_key_uses(body, inputs, user, loc);
}

}  // namespace weft::detail
