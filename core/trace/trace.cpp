#include "weft/core/trace/trace.h"
#include "weft/core/ir/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "weft/core/array/array_reads.h"
#include "weft/core/array/host.h"
#include "weft/core/base/config.h"
#include "weft/core/base/nesting.h"
#include "weft/core/base/thread_object.h"
#include "weft/core/errors/error_context.h"
#include "weft/core/ir/effects.h"
#include "weft/core/ir/sub_programs.h"
#include "weft/core/trace/captures.h"
#include "weft/core/trace/results.h"
#include "weft/core/trace/varying.h"

namespace weft::detail {
namespace {

// The thread's stack of traces; a null entry means that operations are executed.
struct ThreadState {
  std::vector<Trace*> stack;
  SourceLoc loc;
};
ThreadState& thread_state() { return of_thread<ThreadState>(); }

bool on_this_threads_stack(const Trace* t) {
  const auto& stack = thread_state().stack;
  return std::find(stack.begin(), stack.end(), t) != stack.end();
}

}  // namespace

TracedArray::TracedArray(Aval a, Ref<Trace> t, std::uint32_t v) : ArrayImpl(Kind::traced, std::move(a)), trace(std::move(t)), var(v) {
  if (trace->watches_) trace->count(*this, 1);
}
TracedArray::~TracedArray() {
  if (trace->watches_) trace->count(*this, -1);
}

TraceScope::TraceScope(Ref<Trace> trace) : trace_(std::move(trace)) { thread_state().stack.push_back(trace_.get()); }
TraceScope::~TraceScope() {
  thread_state().stack.pop_back();
  trace_->live_ = false;
  trace_->input_names_ = nullptr;  // it refers to the function that was traced
}

EagerScope::EagerScope() { thread_state().stack.push_back(nullptr); }
EagerScope::~EagerScope() { thread_state().stack.pop_back(); }

LocScope::LocScope(SourceLoc loc) : saved_(thread_state().loc) {
  if (!saved_) thread_state().loc = loc;
}
LocScope::~LocScope() { thread_state().loc = saved_; }
SourceLoc effective_loc(SourceLoc loc) { return thread_state().loc ? thread_state().loc : loc; }

int open_traces() { return static_cast<int>(thread_state().stack.size()); }

std::vector<TransformCall> transforms_in_progress() {
  std::vector<TransformCall> out;
  const auto& stack = thread_state().stack;
  for (auto t = stack.rbegin(); t != stack.rend(); ++t)
    if (*t && (*t)->where()) out.push_back({(*t)->what(), (*t)->where()});
  return out;
}

Trace* current_trace() { return thread_state().stack.empty() ? nullptr : thread_state().stack.back(); }

const AxisFrame* find_axis(const std::string& name) {
  const auto& stack = thread_state().stack;
  for (auto t = stack.rbegin(); t != stack.rend(); ++t)
    if (*t)
      for (const AxisFrame& frame : (*t)->axes)
        if (frame.name == name) return &frame;
  return nullptr;
}

std::vector<std::string> axes_in_scope() {
  std::vector<std::string> names;
  for (Trace* t : thread_state().stack)
    if (t)
      for (const AxisFrame& frame : t->axes) names.push_back(frame.name);
  return names;
}

Trace::Trace(std::string what) : what_(std::move(what)), watches_(config.check_tracer_leaks) {}

void Trace::count(const TracedArray& x, int change) {
  const std::lock_guard lock(mutex_);
  Watched& w = watched_[x.var];
  if (w.alive == 0 && change > 0) w.aval = x.aval, w.origin = origin(x.var);
  w.alive += change;
}

void Trace::check_released() {
  const std::lock_guard lock(mutex_);
  for (const auto& [var, w] : watched_)
    if (w.alive > 0)
      throw LeakedTracerError(
          what_ + ": a value " + to_string(w.aval) + " of it" +
              (w.origin.first.empty() ? ", an input," : ", made by " + w.origin.first + ",") +
              " is still held after the function has returned (config.check_tracer_leaks is on); return it instead of keeping it outside",
          w.origin.second);
}

Ref<Trace> Trace::companion_of(Trace& primal, std::string what) {
  auto t = make_ref<Trace>(std::move(what));
  t->primal_ = &primal;
  return t;
}

Array Trace::add_input(const Aval& aval, const Array& value) {
  const Var v = builder_.add_input(aval).var();
  if (!value.is_empty_handle()) values_[v] = value;
  return Array(Ref<ArrayImpl>(new TracedArray(aval, Ref<Trace>(this), v)));
}

Atom Trace::lift(const Array& x) {
  if (const TracedArray* t = as_traced(x); t && t->trace.get() == this) return Atom::var(t->var);
  if (const LiteralArray* literal = as_literal(x)) return builder_.add_literal({literal->aval, literal->bits});
  if (const auto found = captured_.find(x.impl().get()); found != captured_.end()) return found->second.second;
  const auto remember = [&](Atom a) {
    captured_.emplace(x.impl().get(), std::pair{x, a});
    return a;
  };
  if (const ConcreteArray* c = as_concrete(x);
      c && c->aval.shape.empty() && !c->aval.dtype.is_key() && !c->placement && c->buffer && c->buffer->on_host()) {
    const ArrayReads reads(x, "trace", {});
    host().wait(*c);
    Literal literal{c->aval, {}};
    std::copy_n(static_cast<const std::byte*>(c->buffer->data()), c->aval.dtype.itemsize(), literal.bits.begin());
    return remember(builder_.add_literal(literal));
  }
  // A linear program that needs a value without operands (zeros, an iota) recomputes it instead of keeping it as a residual.
  if (const TracedArray* t = as_traced(x); t && primal_ && t->trace.get() == primal_) {
    const JaxprBuilder& from = primal_->builder_;
    if (const int index = from.defining_eqn(t->var); index >= 0) {
      const Eqn e = from.eqns()[static_cast<std::size_t>(index)];
      const bool nothing = !e.op->has_effects && e.outputs.size() == 1 && (e.op->kind == Kind::movement || e.op->kind == Kind::iota) &&
                           std::all_of(e.inputs.begin(), e.inputs.end(), [](Atom a) { return a.is_literal(); });
      if (nothing) {
        std::vector<Atom> inputs;
        for (Atom a : e.inputs) inputs.push_back(builder_.add_literal(from.literal(a)));
        return remember(builder_.add_eqn(*e.op, e.params, inputs, std::array{x.aval()}, e.loc)[0]);
      }
    }
  }
  if (const ConcreteArray* c = as_concrete(x)) {
    // The program's own array, so that a later donation of the caller's leaves it as it is.
    const ArrayReads reads(x, "trace", {});
    Ref<ArrayImpl> own(c->placement ? new ConcreteArray(c->aval, c->shards, c->placement) : new ConcreteArray(c->aval, c->buffer));
    return remember(builder_.add_const(Array(std::move(own))));
  }
  return remember(builder_.add_const(x));
}

std::vector<Array> Trace::add_eqn(const Primitive& op, ParamsRef params, std::span<const Array> inputs, std::span<const Aval> out_avals,
                                  SourceLoc loc) {
  std::vector<Atom> atoms;
  atoms.reserve(inputs.size());
  for (const Array& x : inputs) atoms.push_back(lift(x));
  const std::vector<Atom> results = builder_.add_eqn(op, std::move(params), std::move(atoms), out_avals, loc);
  std::vector<Array> out;
  out.reserve(results.size());
  for (std::size_t i = 0; i < results.size(); ++i)
    out.push_back(Array(Ref<ArrayImpl>(new TracedArray(out_avals[i], Ref<Trace>(this), results[i].var()))));
  return out;
}

Jaxpr Trace::finish(std::span<const Array> outputs) {
  std::vector<Atom> atoms;
  for (const Array& x : outputs) atoms.push_back(lift(x));
  live_ = false;
  // A number that this program widens may be one of the programs around it.
  if (widened_)
    for (const auto& [impl, captured] : captured_)
      if (const TracedArray* t = as_traced(captured.first); t && is_narrow_number(t->aval)) t->trace->note_widened_number();
  values_.clear();
  captured_.clear();
  return std::move(builder_).finish(std::move(atoms));
}

std::pair<std::string, SourceLoc> Trace::origin(Var v) const {
  const int index = builder_.defining_eqn(v);
  const auto i = static_cast<std::size_t>(index);
  if (index < 0) return {};
  if (i < builder_.eqns().size()) return {builder_.eqns()[i].primitive(), builder_.eqns()[i].loc};
  if (i < origins_.size()) return {std::string(origins_[i].first->name), origins_[i].second};
  return {};
}

void Trace::keep_origins(const Jaxpr& program) {
  for (const Eqn& e : program.data().eqns) origins_.emplace_back(e.op, e.loc);
}

std::string Trace::provenance(Var v) const {
  if (!live() || !on_this_threads_stack(this)) return {};
  const auto line_of = [](SourceLoc loc) { return loc ? fmt::format(" at {}:{}", loc.file(), loc.line()) : std::string(); };
  std::string made;
  for (Var at = v;;) {
    const int index = builder_.defining_eqn(at);
    if (index < 0) {
      if (!input_names_) return made;
      const std::vector<std::string> names = input_names_();
      const std::string name = at < names.size() ? names[at] : std::string();
      if (name.empty()) return made;
      const std::string path = what_.empty() ? name : fmt::format("{} of {}", name, what_);
      return at == v ? "is " + path : fmt::format("{}, from {}", made, path);
    }
    const Eqn& e = builder_.eqns()[static_cast<std::size_t>(index)];
    if (made.empty()) made = fmt::format("was made by {}{}", e.op->name, line_of(e.loc));
    // An argument that was only rearranged or converted is still known by its path.
    const bool rearranged = e.op->kind == Kind::movement || find_rule<ConversionTransform>(*e.op);
    if (!rearranged || e.inputs.empty() || e.inputs[0].is_literal()) return made;
    at = e.inputs[0].var();
  }
}

/// Whether an equation, or one in its sub-programs, communicates over an axis that it does not bind itself, so that its value differs
/// between devices.
static bool depends_on_device(const Eqn& e) {
  if (e.op->kind == Kind::collective) return true;
  if (e.op->kind != Kind::call && e.op->kind != Kind::control) return false;
  return any_program(e, [](const Jaxpr& j) { return std::any_of(j.eqns().begin(), j.eqns().end(), depends_on_device); });
}

Array Trace::value_of(Var wanted) {
  if (const auto known = values_.find(wanted); known != values_.end()) return concrete_or_empty(known->second);
  // Mark what is needed backwards, then run those equations in order.
  std::set<int> needed;
  std::vector<Var> pending{wanted};
  while (!pending.empty()) {
    const Var v = pending.back();
    pending.pop_back();
    if (values_.count(v)) continue;
    const int index = builder_.defining_eqn(v);
    if (index < 0) {
      const auto constant = std::find_if(builder_.consts().begin(), builder_.consts().end(), [&](const auto& c) { return c.first == v; });
      if (constant == builder_.consts().end()) return {};
      const Array value = concrete_or_empty(constant->second);
      if (value.is_empty_handle()) return {};
      values_[v] = value;
    } else if (needed.insert(index).second) {
      if (performs_io(builder_.eqns()[static_cast<std::size_t>(index)])) return {};  // it must not run more often than in the program
      if (depends_on_device(builder_.eqns()[static_cast<std::size_t>(index)])) return {};
      for (Atom a : builder_.eqns()[static_cast<std::size_t>(index)].inputs)
        if (!a.is_literal()) pending.push_back(a.var());
    }
  }
  EagerScope eager;
  for (int index : needed) {
    const Eqn& e = builder_.eqns()[static_cast<std::size_t>(index)];
    std::vector<Array> inputs;
    for (Atom a : e.inputs) {
      if (a.is_literal()) {
        inputs.push_back(make_literal(builder_.literal(a).aval, builder_.literal(a).bits));
        continue;
      }
      const Array value = concrete_or_empty(values_.at(a.var()));
      if (value.is_empty_handle()) return {};
      inputs.push_back(value);
    }
    const std::vector<Array> results = bind_primitive(*e.op, e.params, inputs, e.loc);
    for (std::size_t k = 0; k < results.size(); ++k) values_[e.outputs[k]] = results[k];
  }
  return values_.at(wanted);
}

Array concrete_or_empty(const Array& x) {
  const TracedArray* t = as_traced(x);
  if (!t) return x.impl() && x.impl()->kind != ArrayImpl::Kind::abstract ? x : Array();
  if (!t->trace->live() || t->trace->primal_trace()) return {};
  return t->trace->value_of(t->var);
}

void check_not_leaked(const Array& x, const char* operation, SourceLoc loc) {
  const TracedArray* t = as_traced(x);
  if (!t) return;
  const Trace* owner = t->trace->primal_trace() ? t->trace->primal_trace() : t->trace.get();
  const bool here = on_this_threads_stack(owner);
  if (owner->live() && here) return;
  if (owner->live())
    throw LeakedTracerError(
        fmt::format(
            "{}: an operand {} is being traced by another thread ({}); a traced value belongs to the thread that traces it: compute "
            "with it there, or give the other thread an array with a value",
            operation, to_string(x.aval()), owner->what()),
        effective_loc(loc));
  const auto [maker, line] = t->trace->origin(t->var);
  const std::string made = maker.empty() ? std::string() : fmt::format(", made by {}", maker);
  throw LeakedTracerError(
      fmt::format("{}: an operand {} is a traced value of a program that is over ({}){}{}; return it from that function instead of keeping "
                  "it outside",
                  operation, to_string(x.aval()), t->trace->what(), made, line ? fmt::format(" at {}:{}", line.file(), line.line()) : ""),
      effective_loc(loc));
}

void check_no_result_is_empty(std::span<const Array> results, std::string_view of, SourceLoc loc) {
  for (std::size_t k = 0; k < results.size(); ++k)
    if (results[k].is_empty_handle())
      throw Error(fmt::format("{}: {} is an Array that was default-constructed or moved from and holds nothing; assign a value to it first",
                              of, results.size() == 1 ? "what the function returns" : fmt::format("result {} of the function (from 0)", k)),
                  loc);
}

Jaxpr trace_jaxpr(const TraceRequest& request, const std::function<std::vector<Array>(std::span<const Array>)>& body) {
  return guarded(request.what.empty() ? "trace" : request.what.c_str(), request.where, [&] {
    check_nesting("functions traced inside functions", open_traces());
    Ref<Trace> trace = take_noting_trace(request.what);
    if (!trace) trace = make_ref<Trace>(request.what);
    trace->axes = request.axes;
    trace->where_ = request.where;
    trace->input_names_ = request.input_names;
    trace->wide_numbers_ = request.wide_numbers || (current_trace() && current_trace()->wide_numbers());
    Jaxpr program;
    {
      std::vector<Array> inputs;
      for (std::size_t i = 0; i < request.inputs.size(); ++i)
        inputs.push_back(trace->add_input(request.inputs[i], request.values.empty() ? Array() : request.values[i]));
      TraceScope scope(trace);
      std::vector<Array> outputs = body(inputs);
      check_no_result_is_empty(outputs, request.what.empty() ? "trace" : request.what, request.where);
      for (Array& x : outputs) {
        x = value_in_scope(x);
        check_not_leaked(x, request.what.c_str(), {});
      }
      program = trace->finish(outputs);
    }
    if (!trace->unique()) trace->keep_origins(program);  // somebody holds an array of it
    trace->check_released();
    if (request.numbers) *request.numbers = {trace->widened_, trace->made_numbers_};
    return program;
  });
}

}  // namespace weft::detail
