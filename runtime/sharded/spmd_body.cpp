#include "weft/runtime/sharded/spmd_body.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>

#include "weft/core/array/array_impl.h"
#include "weft/core/array/array_lists.h"
#include "weft/core/base/environment.h"
#include "weft/core/base/nesting.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ir/effects.h"
#include "weft/core/ir/jaxpr_copy.h"
#include "weft/core/ir/sealed_program.h"
#include "weft/core/ir/sub_programs.h"
#include "weft/core/ir/walk.h"
#include "weft/core/ops/collective/collective.h"
#include "weft/core/ops/control/call.h"
#include "weft/core/trace/trace.h"
#include "weft/runtime/host/accelerator.h"
#include "weft/runtime/host/blocks.h"
#include "weft/runtime/host/buffer.h"
#include "weft/runtime/processes/processes.h"
#include "weft/runtime/sharded/spmd_schedule.h"

namespace weft::detail {
namespace {

bool is_mark(const Eqn& e) { return e.op->kind == Kind::collective && collective_rules(*e.op).exchange == Exchange::none; }
bool is_position(const Eqn& e) { return e.op->kind == Kind::collective && collective_rules(*e.op).exchange == Exchange::position; }

bool eqn_communicates(const Eqn& e) {
  if (is_mark(e)) return false;
  if (e.op->kind == Kind::collective || e.op->kind == Kind::spmd) return true;
  return any_program(e, communicates);
}

/// NCCL has no 16-bit integers: GPUs reduce those in 32 bits, of which the lower half is what 16 would give.
std::vector<Array> bind_join(const Primitive& op, const ParamsRef& params, std::span<const Array> in, SourceLoc loc, bool on_gpus) {
  const auto is_narrow = [](const Array& x) { return x.dtype() == int16 || x.dtype() == uint16; };
  if (!on_gpus || !op.combiner || std::none_of(in.begin(), in.end(), is_narrow)) return bind_primitive(op, params, in, loc);
  std::vector<Array> wide;
  for (const Array& x : in) wide.push_back(is_narrow(x) ? convert(x, int32) : x);
  std::vector<Array> out = bind_primitive(op, params, wide, loc);
  for (std::size_t i = 0; i < out.size(); ++i)
    if (is_narrow(in[i])) out[i] = convert(out[i], in[i].dtype());
  return out;
}

/// A reduction over names and positions as one over positions, then one over names.
std::vector<Array> bind_split_reduction(const Eqn& e, const LocalReduction& first, std::span<const Array> in, bool on_gpus) {
  std::vector<Array> out;
  for (const Array& x : in) {
    Array y = collective_rules(*e.op).local(x, first.dims, e.loc);
    if (first.rest) y = bind_join(*e.op, first.rest, std::span(&y, 1), e.loc, on_gpus)[0];
    out.push_back(y);
  }
  return out;
}

bool has_marks(const Jaxpr& j) {
  check_nesting("programs inside programs", nesting_depth(j));
  const auto& eqns = j.eqns();
  return std::any_of(eqns.begin(), eqns.end(),
                     [](const Eqn& e) { return is_mark(e) || (e.op->kind != Kind::spmd && any_program(e, has_marks)); });
}

Jaxpr without_marks(const Jaxpr& j);

/// Binds the equation with pvary equations removed from its programs; a pvary equation itself becomes its operands.
std::vector<Array> bind_without_marks(const Eqn& e, std::span<const Array> in) {
  if (is_mark(e)) return {in.begin(), in.end()};
  const bool holds_programs = e.op->kind == Kind::call || e.op->kind == Kind::control;
  return bind_primitive(*e.op, holds_programs ? map_programs(e, [](const Jaxpr& j) { return without_marks(j); }) : e.params, in, e.loc);
}

/// The program without pvary equations, which mean nothing to devices.
Jaxpr without_marks(const Jaxpr& j) {
  if (!has_marks(j)) return j;
  const JaxprData& d = j.data();
  return trace_jaxpr({"shard_map", {d.input_avals().begin(), d.input_avals().end()}, {}},
                     [&](std::span<const Array> args) { return walk(j, args, bind_without_marks); });
}

std::vector<Array> eval_flat(const Jaxpr& j, std::span<const Array> args, bool on_gpus) {
  return walk(j, args, [&](const Eqn& e, std::span<const Array> in) {
    if (e.op->kind == Kind::call && eqn_communicates(e)) return eval_flat(executed_body(*e.op, *e.params, avals_of(in)), in, on_gpus);
    if (e.op->kind != Kind::collective || is_mark(e)) return bind_without_marks(e, in);
    const auto first = collective_rules(*e.op).local_reduction(*e.params);
    return first ? bind_split_reduction(e, *first, in, on_gpus) : bind_join(*e.op, e.params, in, e.loc, on_gpus);
  });
}

std::vector<AxisFrame> frames_of(const MeshAxes& mesh) {
  std::vector<AxisFrame> list;
  for (std::size_t i = 0; i < mesh.names.size(); ++i) list.push_back({mesh.names[i], static_cast<int>(mesh.sizes[i])});
  return list;
}

}  // namespace

bool communicates(const Jaxpr& j) {
  check_nesting("programs inside programs", nesting_depth(j));
  return std::any_of(j.eqns().begin(), j.eqns().end(), eqn_communicates);
}

Jaxpr flatten_calls(const Jaxpr& j) {
  const std::vector<Aval> avals(j.data().input_avals().begin(), j.data().input_avals().end());
  return dce_program(trace_jaxpr({"jit", avals, {}, {}}, [&](std::span<const Array> args) { return eval_flat(j, args, false); }));
}

Hoisted flatten_spmd(const Jaxpr& body, const MeshAxes& mesh, const std::vector<std::string>& free_axes) {
  const bool on_gpus = !mesh.device_ids.empty() && is_accelerator(mesh.device_ids[0]);
  const auto flat = [&](const Jaxpr& j) {
    const std::vector<Aval> avals(j.data().input_avals().begin(), j.data().input_avals().end());
    return trace_jaxpr({"shard_map", avals, {}, frames_of(mesh)}, [&](std::span<const Array> args) { return eval_flat(j, args, on_gpus); });
  };
  Jaxpr j = flat(body);
  // Maps in it may hold calls that communicate with these devices, and those maps again.
  while (std::any_of(j.eqns().begin(), j.eqns().end(), [](const Eqn& e) { return device_map(e); }))
    j = flat(unroll_nested_maps(j, mesh, free_axes));
  Hoisted h = hoist_consts(dce_program(j));
  return h;
}

// Each equation gets a level: how many joins come before it. The schedule (spmd_schedule.h) makes steps of them.
struct SpmdBody::Builder {
  SpmdBody& out;
  Backend& backend;
  std::string name;
  const JaxprData& d;
  std::vector<int> slot;  // of each variable, -1: not kept, computed within a segment
  std::map<std::uint32_t, int> literal_slots;
  std::map<std::vector<std::string>, DeviceGroups> known_groups;      // by axes
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> starts;  // of an equation's operand: which step began its collective

  std::vector<bool> donated;  // of the inputs
  std::vector<Var> root;      // of each variable: itself, or what it is a view of

  std::uint64_t program;
  Builder(SpmdBody& o, Backend& b, SpmdOptions options)
      : out(o),
        backend(b),
        name(std::move(options.name)),
        d(o.body_.data()),
        slot(d.avals.size(), -1),
        donated(std::move(options.donated)),
        program(options.program) {}

  int new_slot() { return out.num_slots_++; }
  int constant(DeviceBuffers buffers) {
    out.constants_.emplace_back(new_slot(), std::move(buffers));
    return out.constants_.back().first;
  }
  int literal_slot(std::uint32_t index) {
    const auto known = literal_slots.find(index);
    if (known != literal_slots.end()) return known->second;
    const Literal& l = d.literals[index];
    const Ref<Buffer> value(
        new HostBuffer(static_cast<std::size_t>(l.aval.bytes()), out.device_ids_[out.local_.empty() ? 0 : out.local_[0]]));
    std::memcpy(value->data(), l.bits.data(), value->bytes());
    DeviceBuffers on_each(out.num_devices_);
    for (std::size_t k : out.local_) on_each[k] = value;
    return literal_slots[index] = constant(std::move(on_each));
  }
  int slot_of(Atom a) { return a.is_literal() ? literal_slot(a.literal()) : slot[a.var()]; }

  /// The same bytes under another type: no work where the operand is in memory anyway.
  bool is_view(const Eqn& e) const {
    if (e.op->kind != detail::Kind::collective)
      return e.inputs.size() == 1 && e.outputs.size() == 1 &&
             weft::detail::is_view(*e.op, *e.params, d.aval(e.inputs[0]), d.avals[e.outputs[0]]);
    if (!is_position(e))
      return out.mesh_.size_of(collective_axes(*e.op, *e.params)) == 1 && d.avals[e.outputs[0]].size() == d.aval(e.inputs[0]).size();
    return false;
  }

  DeviceGroups groups_of(const Eqn& e) {
    const std::vector<std::string> axes = collective_axes(*e.op, *e.params);
    const IndexGroups* within = collective_groups(*e.op, *e.params);
    const auto known = known_groups.find(axes);
    if (known != known_groups.end() && !within) return known->second;
    std::vector<std::string> others;
    for (const std::string& a : axes)
      if (out.mesh_.find(a) < 0)
        throw AxisError(fmt::format("{}: the axis name `{}` is not one of the mesh's, {}", e.op->name, a, print_param(out.mesh_)), e.loc);
    for (const std::string& a : out.mesh_.names)
      if (!std::count(axes.begin(), axes.end(), a)) others.push_back(a);
    std::vector<std::vector<int>> groups(static_cast<std::size_t>(out.mesh_.size_of(others)),
                                         std::vector<int>(static_cast<std::size_t>(out.mesh_.size_of(axes))));
    for (std::size_t k = 0; k < out.num_devices_; ++k)
      groups[static_cast<std::size_t>(out.mesh_.coordinate(static_cast<std::int64_t>(k), others))]
            [static_cast<std::size_t>(out.mesh_.coordinate(static_cast<std::int64_t>(k), axes))] = static_cast<int>(k);
    if (!within) return known_groups[axes] = device_groups(std::move(groups));
    std::vector<std::vector<int>> parts;
    for (const std::vector<int>& g : groups)
      for (const std::vector<int>& indices : **within) {
        parts.emplace_back();
        for (int i : indices) parts.back().push_back(g.at(static_cast<std::size_t>(i)));
      }
    return device_groups(std::move(parts));
  }

  void add_join(const ScheduledStep& what) {
    static const bool wanted = is_switched_on("WEFT_OVERLAP", true);
    const bool overlaps = wanted && collective_engine(out.device_ids_).overlaps();
    const std::size_t i = what.eqns[0], k = what.operand;
    const Eqn& e = d.eqns[i];
    if (what.kind == ScheduledStep::Kind::wait) {
      if (!overlaps) return;
      const Step& begun = out.steps_[starts.at({i, k})];
      Step s;
      s.kind = Step::Kind::wait;
      s.plan = begun.plan, s.eqn = e, s.flight = begun.flight;
      s.inputs = begun.inputs, s.outputs = {slot[e.outputs[k]]};
      out.steps_.push_back(std::move(s));
      return;
    }
    slot[e.outputs[k]] = new_slot();
    Step s;
    s.plan = plan_collective(*e.op, *e.params, d.aval(e.inputs[k]), d.avals[e.outputs[k]], groups_of(e), e.loc);
    s.plan.program = program;
    s.join = collective_engine(out.device_ids_).prepare(s.plan, out.device_ids_, out.mesh_.sizes);
    s.inputs = {slot_of(e.inputs[k])};
    s.eqn = e;
    if (what.kind == ScheduledStep::Kind::start && overlaps) {
      s.kind = Step::Kind::start, s.flight = out.num_flights_++;
      starts[{i, k}] = out.steps_.size();
    } else {
      s.kind = Step::Kind::collective, s.outputs = {slot[e.outputs[k]]};
    }
    out.steps_.push_back(std::move(s));
  }

  void add_control(const Eqn& e) {
    for (Var v : e.outputs) slot[v] = new_slot();
    Step s;
    s.eqn = e;
    for (Atom a : e.inputs) s.inputs.push_back(slot_of(a));
    for (Var v : e.outputs) s.outputs.push_back(slot[v]);
    const auto sub = [&](const Jaxpr& j) {
      const Hoisted h = flatten_spmd(j, out.mesh_, out.free_axes_);
      if (!h.consts.empty())
        throw Error(fmt::format("{}: internal error: the body of a loop that communicates has constants", e.op->name), e.loc);
      s.bodies.push_back(std::make_shared<SpmdBody>(h.jaxpr, out.mesh_, out.free_axes_, backend, SpmdOptions{name, {}, program}));
    };
    SpmdStepTransform::Function* const rule = find_rule<SpmdStepTransform>(*e.op);
    if (!rule) throw Error(fmt::format("{}: a collective inside of it can't be run", e.op->name), e.loc);
    const SpmdStep step = rule(*e.params);
    s.kind = step.kind;
    for (const Jaxpr& j : step.programs) sub(j);
    out.steps_.push_back(std::move(s));
  }

  /// For each variable that has memory of its own, the last step that reads it, or a view of it.
  std::vector<std::size_t> last_reads(const std::vector<ScheduledStep>& steps) const {
    std::vector<std::size_t> last(d.avals.size(), 0);
    for (std::size_t t = 0; t < steps.size(); ++t)
      for (std::size_t i : steps[t].eqns)
        for (Atom a : d.eqns[i].inputs)
          if (!a.is_literal()) last[root[a.var()]] = t;
    for (Atom a : d.outputs)
      if (!a.is_literal()) last[root[a.var()]] = steps.size();
    return last;
  }

  /// `dies`: whether nothing reads a variable, or what it is a view of, afterwards.
  template <class Dies>
  void add_segment(const std::vector<std::size_t>& eqns, const std::vector<bool>& kept, const Dies& dies) {
    Step step;
    Segment* const s = &step.segment;
    JaxprCopy copy(out.body_);
    std::vector<Var> inputs;
    std::vector<bool> known(d.avals.size());
    for (std::size_t i : eqns) {
      const Eqn& e = d.eqns[i];
      s->has_effects |= has_effects(e);
      for (Atom a : e.inputs)
        if (!a.is_literal() && !known[a.var()]) {
          known[a.var()] = true;
          copy.add_input(a.var());
          inputs.push_back(a.var());
          s->inputs.push_back(slot[a.var()]);
          s->in_avals.push_back(d.avals[a.var()]);
        }
      for (Var v : e.outputs) known[v] = true;
    }
    // If a view and its owner are both operands, their memory is not donated.
    std::vector<bool> given(s->inputs.size());
    bool any_given = false;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Var v = inputs[i];
      if (donated.empty() || root[v] - d.first_input() >= donated.size() || !donated[root[v] - d.first_input()] || !dies(v)) continue;
      if (std::count(s->inputs.begin(), s->inputs.end(), slot[v]) != 1) continue;
      given[i] = any_given = true;
      out.taken_.resize(donated.size());
      out.taken_[root[v] - d.first_input()] = true;
    }
    if (!any_given) given.clear();
    for (std::size_t i = 0; i < given.size(); ++i)
      if (given[i]) s->given.push_back(s->inputs[i]);
    std::vector<Atom> outputs;
    for (std::size_t i : eqns) {
      copy.add(d.eqns[i]);
      for (Var v : d.eqns[i].outputs)
        if (kept[v]) {
          slot[v] = new_slot();
          s->outputs.push_back(slot[v]);
          outputs.push_back(Atom::var(v));
        }
    }
    s->jaxpr = std::move(copy).finish(outputs);
    s->executable = backend.compile(s->jaxpr, {name, given});
    const CostAnalysis cost = s->executable->cost_analysis();
    s->cost = cost.flops + cost.bytes_accessed;
    out.steps_.push_back(std::move(step));
  }

  /// Effects keep their order among each other.
  std::vector<EqnRole> roles_of_eqns() const {
    std::vector<EqnRole> roles(d.eqns.size());
    std::vector<int> level(d.avals.size(), 0);  // of each variable
    std::vector<bool> in_memory(d.avals.size());
    for (int i = 0; i < d.num_inputs; ++i) in_memory[d.first_input() + static_cast<Var>(i)] = true;
    int effects = 0;
    for (std::size_t i = 0; i < d.eqns.size(); ++i) {
      const Eqn& e = d.eqns[i];
      int l = 0;
      bool inputs_in_memory = true;
      for (Atom a : e.inputs)
        if (!a.is_literal()) l = std::max(l, level[a.var()]), inputs_in_memory &= in_memory[a.var()];
      const bool joins = eqn_communicates(e);
      if (has_effects(e)) l = std::max(l, effects), effects = joins ? l + 1 : l;
      using Role = EqnRole::Kind;
      const Role kind = is_position(e)                                    ? Role::position
                        : is_view(e) && inputs_in_memory                  ? Role::view
                        : joins && e.op->kind == detail::Kind::collective ? Role::join
                        : joins                                           ? Role::control
                                                                          : Role::segment;
      roles[i] = {kind, l};
      const bool barrier = kind == Role::join || kind == Role::control;
      for (Var v : e.outputs) level[v] = barrier ? l + 1 : l, in_memory[v] = kind != Role::segment;
    }
    return roles;
  }

  void build() {
    check_nesting("programs inside programs", nesting_depth(out.body_));
    for (int i = 0; i < d.num_inputs; ++i) {
      const Var v = d.first_input() + static_cast<Var>(i);
      slot[v] = new_slot();
      out.input_slots_.push_back(slot[v]);
    }
    const std::vector<EqnRole> roles = roles_of_eqns();
    for (std::size_t v = 0; v < d.avals.size(); ++v) root.push_back(static_cast<Var>(v));
    for (std::size_t i = 0; i < d.eqns.size(); ++i)
      for (std::size_t k = 0; roles[i].kind == EqnRole::Kind::view && k < d.eqns[i].outputs.size(); ++k)
        if (const Atom a = d.eqns[i].inputs[k]; !a.is_literal()) root[d.eqns[i].outputs[k]] = root[a.var()];
    const std::vector<ScheduledStep> steps = schedule_steps(d, roles, out.num_devices_ > 1 && !is_accelerator(out.device_ids_[0]));
    // The values that segments must return because another step reads them.
    constexpr std::size_t kNone = static_cast<std::size_t>(-1);
    std::vector<std::size_t> segment(d.eqns.size(), kNone), made_in(d.avals.size(), kNone);
    for (std::size_t t = 0; t < steps.size(); ++t)
      if (steps[t].kind == ScheduledStep::Kind::segment)
        for (std::size_t i : steps[t].eqns) {
          segment[i] = t;
          for (Var v : d.eqns[i].outputs) made_in[v] = t;
        }
    std::vector<bool> kept(d.avals.size());
    for (std::size_t i = 0; i < d.eqns.size(); ++i)
      for (Atom a : d.eqns[i].inputs)
        if (!a.is_literal() && segment[i] != made_in[a.var()]) kept[a.var()] = true;
    for (Atom a : d.outputs)
      if (!a.is_literal()) kept[a.var()] = true;
    // Views and positions have slots before a step of their level reads them.
    std::vector<std::size_t> in_place;
    for (std::size_t i = 0; i < d.eqns.size(); ++i)
      if (roles[i].kind == EqnRole::Kind::view || roles[i].kind == EqnRole::Kind::position) in_place.push_back(i);
    std::stable_sort(in_place.begin(), in_place.end(), [&](std::size_t a, std::size_t b) { return roles[a].level < roles[b].level; });
    std::size_t placed = 0;
    const auto place_up_to = [&](int level) {
      for (; placed < in_place.size() && roles[in_place[placed]].level <= level; ++placed) {
        const Eqn& e = d.eqns[in_place[placed]];
        if (roles[in_place[placed]].kind == EqnRole::Kind::position)
          slot[e.outputs[0]] = constant(positions(collective_axes(*e.op, *e.params)[0], e.loc));
        else
          for (std::size_t k = 0; k < e.outputs.size(); ++k) slot[e.outputs[k]] = slot_of(e.inputs[k]);
      }
    };
    const std::vector<std::size_t> last = donated.empty() ? std::vector<std::size_t>() : last_reads(steps);
    for (std::size_t t = 0; t < steps.size(); ++t) {
      const ScheduledStep& s = steps[t];
      place_up_to(roles[s.eqns[0]].level);
      switch (s.kind) {
        case ScheduledStep::Kind::segment: add_segment(s.eqns, kept, [&](Var v) { return last[root[v]] <= t; }); break;
        case ScheduledStep::Kind::control: add_control(d.eqns[s.eqns[0]]); break;
        default: add_join(s);
      }
    }
    place_up_to(std::numeric_limits<int>::max());
    for (Atom a : d.outputs) out.output_slots_.push_back(slot_of(a));
    find_deaths();
    reuse_slots();
  }

  /// A slot dies at the last step that reads it, unless it is a result.
  void find_deaths() {
    std::vector<int> last(static_cast<std::size_t>(out.num_slots_), -1);
    for (std::size_t i = 0; i < out.steps_.size(); ++i) {
      const Step& s = out.steps_[i];
      for (const std::vector<int>* list : {&s.segment.inputs, &s.segment.outputs, &s.inputs, &s.outputs})
        for (int k : *list) last[static_cast<std::size_t>(k)] = static_cast<int>(i);
    }
    for (int k : out.output_slots_) last[static_cast<std::size_t>(k)] = -1;
    for (std::size_t k = 0; k < last.size(); ++k)
      if (last[k] >= 0) out.steps_[static_cast<std::size_t>(last[k])].dies.push_back(static_cast<int>(k));
  }

  /// Values that are not needed at the same time share a slot, since each call has room for all devices in every slot.
  void reuse_slots() {
    std::vector<int> place(static_cast<std::size_t>(out.num_slots_), -1), unused;
    std::vector<bool> lasts(place.size());  // it has its slot during all of the call
    const auto last = [&](int k) { lasts[static_cast<std::size_t>(k)] = true; };
    for (int k : out.input_slots_) last(k);
    for (int k : out.output_slots_) last(k);
    for (const auto& [k, value] : out.constants_) last(k);
    int count = 0;
    for (std::size_t k = 0; k < place.size(); ++k)
      if (lasts[k]) place[k] = count++;
    std::vector<int> lands(static_cast<std::size_t>(out.num_flights_), -1);
    for (const Step& s : out.steps_)
      if (s.kind == Step::Kind::wait) lands[static_cast<std::size_t>(s.flight)] = s.outputs[0];
    const auto take = [&](int k) {
      int& to = place[static_cast<std::size_t>(k)];
      if (to >= 0) return;
      to = unused.empty() ? count++ : unused.back();
      if (!unused.empty()) unused.pop_back();
    };
    for (const Step& s : out.steps_) {
      if (s.kind == Step::Kind::start && lands[static_cast<std::size_t>(s.flight)] >= 0) take(lands[static_cast<std::size_t>(s.flight)]);
      for (int k : s.segment.outputs) take(k);
      for (int k : s.outputs) take(k);
      for (int k : s.dies)
        if (!lasts[static_cast<std::size_t>(k)]) unused.push_back(place[static_cast<std::size_t>(k)]);
    }
    const auto renumber = [&](std::vector<int>& list) {
      for (int& k : list) k = place[static_cast<std::size_t>(k)];
    };
    for (Step& s : out.steps_)
      for (std::vector<int>* list : {&s.segment.inputs, &s.segment.outputs, &s.segment.given, &s.inputs, &s.outputs, &s.dies})
        renumber(*list);
    renumber(out.input_slots_), renumber(out.output_slots_);
    for (auto& [k, value] : out.constants_) k = place[static_cast<std::size_t>(k)];
    out.num_slots_ = count;
  }

  DeviceBuffers positions(const std::string& axis, SourceLoc loc) {
    if (out.mesh_.find(axis) < 0)
      throw AxisError(fmt::format("axis_index: the axis name `{}` is not one of the mesh's, {}", axis, print_param(out.mesh_)), loc);
    DeviceBuffers values;
    values.resize(out.num_devices_);
    for (std::size_t k : out.local_) {
      const auto index = static_cast<std::int32_t>(out.mesh_.coordinate(static_cast<std::int64_t>(k), {axis}));
      values[k] = Ref<Buffer>(new HostBuffer(sizeof index, out.device_ids_[k]));
      std::memcpy(values[k]->data(), &index, sizeof index);
    }
    return values;
  }
};

SpmdBody::SpmdBody(const Jaxpr& body, const MeshAxes& mesh, std::vector<std::string> free_axes, Backend& backend, SpmdOptions options)
    : body_(body),
      mesh_(mesh),
      free_axes_(std::move(free_axes)),
      device_ids_(mesh.device_ids),
      num_devices_(device_ids_.size()),
      local_(local_positions(device_ids_)) {
  Builder(*this, backend, std::move(options)).build();
  // Devices beyond the host's read what never changes from their own memory.
  for (auto& [slot, value] : constants_)
    for (std::size_t k : local_)
      if (is_accelerator(device_ids_[k])) value[k] = moved(value[k], device_ids_[k]);
}

}  // namespace weft::detail
