#include "weft/core/ir/sealed_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "weft/core/ir/rules.h"
#include "weft/core/ir/sub_programs.h"
#include "weft/core/trace/trace.h"

namespace weft::detail {
namespace {

constexpr int kReleasedByRecursion = 16;  // levels of programs

struct ProgramData final : JaxprData {
  ~ProgramData() override;
  int depth = 0;
  ProgramEffects effects;
};

// Equations whose programs the outermost release in progress on this thread will release.
constinit thread_local std::vector<std::vector<Eqn>>* waiting = nullptr;

ProgramData::~ProgramData() {
  if (depth <= kReleasedByRecursion) return;
  if (waiting) {
    try {
      waiting->push_back(std::move(eqns));
    } catch (const std::bad_alloc&) {
      // They are released by recursion.
    }
    return;
  }
  std::vector<std::vector<Eqn>> list;
  waiting = &list;
  eqns.clear();
  while (!list.empty()) {
    std::vector<Eqn> next = std::move(list.back());
    list.pop_back();
    next.clear();
  }
  waiting = nullptr;
}

const ProgramData& of(const Jaxpr& j) { return static_cast<const ProgramData&>(j.data()); }

void add(ProgramEffects& to, const ProgramEffects& e) {
  to.any |= e.any, to.calls_back |= e.calls_back, to.performs_io |= e.performs_io, to.may_not_end |= e.may_not_end;
}

}  // namespace

int nesting_depth(const Jaxpr& j) { return of(j).depth; }

int nesting_depth(const Eqn& e) {
  int depth = 0;
  for_each_program(e, [&](const Jaxpr& j) { depth = std::max(depth, 1 + nesting_depth(j)); });
  return depth;
}

const ProgramEffects& effects_of(const Jaxpr& j) { return of(j).effects; }

ProgramEffects effects_of(const Eqn& e) {
  const bool effect = e.op->kind == Kind::effect;
  ProgramEffects effects{.any = e.op->has_effects,
                         .calls_back = effect,
                         .performs_io = effect && find_rule<IoTransform>(*e.op),
                         .may_not_end = e.op->kind == Kind::control && find_rule<UnboundedTransform>(*e.op)};
  for_each_program(e, [&](const Jaxpr& j) { add(effects, effects_of(j)); });
  return effects;
}

Ref<JaxprData> new_program() { return Ref<JaxprData>(new ProgramData); }

Jaxpr seal_program(Ref<JaxprData> data) {
  ProgramData& d = static_cast<ProgramData&>(*data);
  d.depth = 0, d.effects = {};
  for (const Eqn& e : d.eqns) {
    if (e.op->has_effects || e.op->kind == Kind::effect || e.op->params_map_jaxprs) {
      add(d.effects, effects_of(e));
      d.depth = std::max(d.depth, nesting_depth(e));
    }
  }
  if (d.depth > kMaxProgramDepth)
    throw Error(fmt::format("programs (of jit, cond, loops) are nested more than {} deep; nest functions less, or write the nesting as a "
                            "loop (scan, fori_loop)",
                            kMaxProgramDepth),
                effective_loc({}));
  return Jaxpr(Ref<const JaxprData>(std::move(data)));
}

}  // namespace weft::detail
