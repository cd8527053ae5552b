#include "weft/transforms/jit/jit.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <thread>

#include "weft/core/array/array_impl.h"
#include "weft/core/array/array_reads.h"
#include "weft/core/base/cancellation.h"
#include "weft/core/base/environment.h"
#include "weft/core/base/nesting.h"
#include "weft/core/errors/boundary.h"
#include "weft/core/errors/error.h"
#include "weft/core/ops/control/call.h"
#include "weft/core/trace/captures.h"
#include "weft/core/trace/key_reuse.h"
#include "weft/core/trace/varying.h"
#include "weft/core/trees/resolve_prefix.h"
#include "weft/runtime/host/blocks.h"
#include "weft/runtime/host/pinned.h"
#include "weft/runtime/host/recently_used.h"
#include "weft/runtime/profile/timeline.h"
#include "weft/transforms/autodiff/differentiate.h"
#include "weft/transforms/jit/compiled_function.h"
#include "weft/transforms/jit/explain.h"
#include "weft/transforms/jit/jit_counts.h"
#include "weft/transforms/jit/jit_sharded.h"
#include "weft/transforms/maps/map_scope.h"
#include "weft/transforms/numbers.h"

namespace weft {
namespace detail {
namespace {

thread_local bool jit_disabled = false;
constexpr std::chrono::milliseconds kTracedElsewhere{2000};  // that a call waits for another thread to trace the same

/// One program: everything is fixed once it is ready.
struct Entry : RefCounted {
  const void* type_tag = nullptr;
  std::size_t hash = 0;  // of type_tag and avals
  std::vector<Aval> avals;
  std::vector<Aval> inputs;       // of the program, if it takes numbers in a wider dtype
  bool wide_scope = false;        // traced for a program whose numbers have 64 bits
  bool rules_get_values = false;  // traced while RulesGetValues lived
  std::vector<AxisFrame> axes;    // in scope when it was traced: a program may depend on their sizes
  std::vector<Varying> varying;   // of the arguments, in a shard_map that checks it: the program has marks of it
  std::optional<Mesh> mesh;       // in scope: maps in it may be over that one
  bool in_map = false;            // in a map's body: maps in it are of one device's rows
  Ref<const Structure> arguments;
  Skeleton tree{Skeleton::Kind::node};  // of the arguments, for explanations
  std::thread::id tracer;               // who traces it now
  pid_t process = 0;                    // of that thread: a copy of the process has no such thread
  bool ready = false, dropped = false;  // dropped: its tracing failed
  Ref<CompiledFunction> function;
  Ref<const Structure> result;
  ShardedPrograms sharded;                                                    // of the function, on sharded arguments
  std::vector<std::optional<weft::Placement>> in_placements, out_placements;  // empty where nothing is said
  bool plain = false;                                                         // eligible for the fast path
};

std::vector<AxisFrame> axes_now() {
  std::vector<AxisFrame> out;
  if (!current_trace()) return out;
  for (const std::string& name : axes_in_scope()) out.push_back(*find_axis(name));
  return out;
}
bool same_axes(const std::vector<AxisFrame>& a, const std::vector<AxisFrame>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const AxisFrame& x, const AxisFrame& y) { return x.name == y.name && x.size == y.size; });
}

bool in_wide_scope() { return current_trace() && current_trace()->wide_numbers(); }

bool same_scope(const Entry& e) {
  if (e.wide_scope != in_wide_scope() || e.rules_get_values != RulesGetValues::active()) return false;
  const Mesh* const now = mesh_in_scope();
  return e.in_map == inside_map() && (now ? e.mesh && *e.mesh == *now : !e.mesh);
}

bool same_avals(const std::vector<Aval>& avals, std::span<const Array> leaves) {
  if (avals.size() != leaves.size()) return false;
  for (std::size_t i = 0; i < avals.size(); ++i)
    if (!(avals[i] == leaves[i].aval())) return false;
  return true;
}
std::size_t hash_of(const JitCall& c, std::span<const Array> leaves) {
  std::size_t h = std::hash<const void*>()(c.type_tag);
  const auto add = [&](std::int64_t v) { h = (h ^ static_cast<std::size_t>(v)) * 0x9e3779b97f4a7c15u; };
  for (const Array& x : leaves) {
    add(x.dtype().id());
    for (const std::int64_t n : x.shape()) add(n);
  }
  return h ^ h >> 32;
}
bool matches(const Entry& e, const JitCall& c, std::span<const Array> leaves) {
  return e.type_tag == c.type_tag && same_avals(e.avals, leaves) && c.same_arguments(*e.arguments);
}

std::size_t most_programs() {
  static const std::int64_t by_environment = integer_in_environment("WEFT_JIT_CACHE_SIZE").value_or(4096);
  return static_cast<std::size_t>(config.jit_cache_size > 0 ? config.jit_cache_size : by_environment);
}

/// Whether the executable can take them as they are.
bool all_uncommitted(std::span<const Array> leaves) {
  for (const Array& x : leaves) {
    const ArrayImpl::Kind kind = x.impl()->kind;
    if (kind == ArrayImpl::Kind::literal) continue;
    if (kind != ArrayImpl::Kind::concrete) return false;
    const auto& c = static_cast<const ConcreteArray&>(*x.impl());
    if (c.placement || !c.buffer) return false;
  }
  return true;
}

std::vector<std::optional<weft::Placement>> resolve_shardings(const Shardings& prefix, const Skeleton& tree, const char* option,
                                                              SourceLoc loc) {
  std::vector<std::optional<weft::Placement>> out;
  if (!prefix.is_list() && prefix.is_none()) return out;
  resolve_prefix(prefix, tree, {"jit", option, loc},
                 [&](const Shardings& s) { out.push_back(s.is_none() ? std::nullopt : std::optional(s.where())); });
  return out;
}

class Cache final : public JitCache {
 public:
  Cache(JitOptions options, std::string function, Ref<const ProgramMaker> maker) : options_(std::move(options)), maker_(std::move(maker)) {
    name_ = options_.name.empty() ? std::move(function) : options_.name;
    called_ = !maker_ ? "jit of " + name_ : maker_->is_one_map() ? "pmap" : "shard_map";
  }

  /// Programs that were replaced while a thread still ran them are released with the function.
  ~Cache() override { drop_retired(); }

  JitResult call(JitCall& c) {
    const auto leaves = c.leaves.span();
    // The fast path: the program of the last call, run without a lock.
    const PinnedObject last(last_);
    if (auto* e = static_cast<Entry*>(last.get());
        e && !config.debug_key_reuse && !current_trace() && matches(*e, c, leaves) && same_scope(*e)) {
      const ArrayReads reads(leaves, ArrayReads::Unchecked());
      CompiledFunction* function = nullptr;
      if (all_uncommitted(leaves))
        function = e->function.get();
      else
        function = e->sharded.same_as_last(leaves, *e->function);
      if (function) {
        jit_counts().hits.fetch_add(1, std::memory_order_relaxed);
        return {e->inputs.empty() ? function->run_uncommitted(leaves) : function->run_uncommitted(as_widened(leaves, e->inputs)),
                e->result};
      }
    }
    const Ref<Entry> e = find_or_trace(c);
    if (config.debug_key_reuse) note_key_uses(e->function->jaxpr(), leaves, called(), c.loc);
    return {run(*e, c), e->result};
  }

  /// For messages. The function that a map makes of the caller's has no name of its own.
  const std::string& called() const { return called_; }

  /// The program that a call would run: of sharded arguments, the partitioned one.
  std::pair<Ref<Program>, Ref<const Structure>> program(JitCall& c) {
    const Ref<Entry> e = find_or_trace(c);
    check_in_shardings(*e, c);
    const std::vector<Array> leaves = inputs_of(*e, c.leaves.span());
    if (!maker_ || (maker_->follows_shardings() && over_one_mesh(leaves)))
      if (const Ref<CompiledFunction> sharded = e->sharded.find(*e->function, leaves, [&] { return c.function().arguments(); }, c.loc))
        return {sharded, e->result};
    return {e->function, e->result};
  }

  Ref<Entry> find_or_trace(JitCall& c) {
    const CancellationHeld held;
    const auto leaves = c.leaves.span();
    const std::vector<AxisFrame> axes = axes_now();
    const std::vector<Varying> varying = notes_varying() ? varying_of(leaves) : std::vector<Varying>();
    for (std::size_t i = 0; i < leaves.size(); ++i)
      if (leaves[i].is_empty_handle())
        throw Error(
            fmt::format("{}: {} is an Array that was default-constructed or moved from and holds nothing; assign a value to it first",
                        called_, leaf_paths(c.function().arguments())[i]),
            c.loc);
    std::unique_lock lock(mutex_);
    const std::size_t hash = hash_of(c, leaves);
    // The fast path has used it until now.
    if (auto* last = static_cast<Entry*>(last_.load(std::memory_order_relaxed)))
      programs_.find(last->hash, [&](const Entry& known) { return &known == last; });
    const auto find = [&](auto&& also) {
      return programs_.find(hash, [&](const Entry& known) {
        return (known.ready || known.process == getpid()) && also(known) && same_axes(known.axes, axes) && known.varying == varying &&
               same_scope(known) && matches(known, c, leaves);
      });
    };
    const auto traced_here = [](const Entry& known) { return !known.ready && known.tracer == std::this_thread::get_id(); };
    if (find(traced_here))
      throw TracerError(
          fmt::format("{}: the function calls itself with arguments of the same types while it is being traced; this recursion never ends",
                      called_),
          c.loc);
    for (;;) {
      const Ref<Entry> e = find([](const Entry&) { return true; });
      if (!e) break;
      if (e->ready) {
        jit_counts().hits.fetch_add(1, std::memory_order_relaxed);
        if (e->plain && e->axes.empty()) last_.store(e.get(), std::memory_order_release);
        return e;
      }
      // Another thread traces it, which may in turn wait for this one: by a lock or a join in the caller's function.
      if (!traced_.wait_for(lock, kTracedElsewhere, [&] { return e->ready || e->dropped; })) break;
    }
    const auto e = make_ref<Entry>();
    e->type_tag = c.type_tag;
    e->hash = hash;
    for (const Array& x : leaves) e->avals.push_back(x.aval());
    e->axes = axes;
    e->varying = varying;
    if (const Mesh* const mesh = mesh_in_scope()) e->mesh = *mesh;
    e->in_map = inside_map();
    e->wide_scope = in_wide_scope();
    e->rules_get_values = RulesGetValues::active();
    e->arguments = c.keep_arguments();
    e->tracer = std::this_thread::get_id();
    e->process = getpid();
    std::string again = config.explain_recompiles ? explain(*e, c) : std::string();
    again += warn(*e, c);
    const std::size_t most = most_programs();
    programs_.add(hash, e);
    lock.unlock();
    if (!again.empty()) std::fputs(again.c_str(), stderr);
    try {
      trace(*e, c);
    } catch (...) {
      lock.lock();
      drop(e);
      throw;
    }
    lock.lock();
    e->ready = true;
    // A program that captured values of a trace that is still open is not valid outside of it.
    if (e->function->captures_tracers()) drop(e);
    std::vector<Ref<Entry>> gone;
    while (Ref<Entry> old = programs_.take_oldest(most, [&](const Entry& some) { return some.ready && &some != last_.load(); }))
      gone.push_back(std::move(old));
    traced_.notify_all();
    lock.unlock();
    for (Ref<Entry>& old : gone) retire(std::move(old));
    return e;
  }

 private:
  /// The arguments as the program takes them.
  static std::vector<Array> inputs_of(const Entry& e, std::span<const Array> leaves) {
    return e.inputs.empty() ? std::vector<Array>(leaves.begin(), leaves.end()) : as_widened(leaves, e.inputs);
  }
  /// Explains why none of the traced programs matches the call; empty if there are none.
  std::string explain(const Entry& e, JitCall& c) {
    const Signature now{c.function().arguments(), e.avals, axes_of(e)};
    std::vector<Signature> before;
    programs_.each([&](const Entry& other) {
      if (other.ready) before.push_back({other.tree, other.avals, axes_of(other)});
    });
    std::reverse(before.begin(), before.end());
    return before.empty() ? std::string() : explain_retracing(called(), before, now, c.loc);
  }
  /// The warning, given once for the function, that it is traced for each value of a static argument. Empty otherwise.
  std::string warn(const Entry& e, JitCall& c) {
    const int most = recompiles_before_warning();
    if (warned_ || most < 0 || programs_.size() < static_cast<std::size_t>(most)) return {};
    const Signature now{c.function().arguments(), e.avals, axes_of(e)};
    int same = 1;
    std::string changed;
    programs_.each([&](const Entry& other) {
      if (!other.ready || other.type_tag != e.type_tag || other.avals != e.avals) return;
      if (std::string text = changed_static_value({other.tree, other.avals, axes_of(other)}, now); !text.empty()) {
        ++same;
        if (changed.empty()) changed = std::move(text);  // the latest
      }
    });
    if (same <= most) return {};
    warned_ = true;
    return warn_of_static_values(called(), same, changed, c.loc);
  }
  static std::vector<std::pair<std::string, int>> axes_of(const Entry& e) {
    std::vector<std::pair<std::string, int>> out;
    for (const AxisFrame& frame : e.axes) out.emplace_back(frame.name, frame.size);
    return out;
  }

  void drop(const Ref<Entry>& e) {
    e->dropped = true;
    programs_.remove(e);
    traced_.notify_all();
  }

  void trace(Entry& e, JitCall& c) {
    ++jit_counts().traces;
    const TimelineRange range(Work::trace, name_);
    FlatFunction& f = c.function();
    e.tree = f.arguments();
    TraceRequest request = request_for(f, "jit", e.avals);
    request.what = fmt::format("jit of {}", name_);
    std::vector<bool> numbers;
    const auto traced = [&] {
      const InputsVary varying(f.args);
      return trace_with_numbers(f, request, [&](std::span<const Array> leaves) { return f.run(leaves); }, &numbers);
    };
    const Jaxpr j = maker_ ? maker_->make(f) : traced();
    std::vector<bool> donated;
    for (const int n : options_.donate_argnums) {
      if (n < 0 || n + 1 >= static_cast<int>(f.offsets.size()))
        throw AxisError(fmt::format("{}: donate_argnums names argument {}, and the function has {}; arguments count from 0", called(), n,
                                    f.offsets.size() - 1),
                        c.loc);
      donated.resize(e.avals.size(), false);
      for (std::size_t i = f.offsets[static_cast<std::size_t>(n)]; i < f.offsets[static_cast<std::size_t>(n) + 1]; ++i) donated[i] = true;
    }
    e.in_placements = resolve_shardings(options_.in_shardings, f.arguments(), "in_shardings", c.loc);
    e.out_placements = resolve_shardings(options_.out_shardings, f.result(), "out_shardings", c.loc);
    if (options_.device && e.in_placements.empty()) e.in_placements.assign(e.avals.size(), weft::Placement(*options_.device));
    if (options_.device && e.out_placements.empty()) e.out_placements.assign(j.data().outputs.size(), weft::Placement(*options_.device));
    e.function = make_ref<CompiledFunction>(name_, with_constraints(j, e.in_placements, e.out_placements, c.loc), std::move(donated),
                                            options_.device ? options_.device->id() : -1, maker_ && maker_->is_one_map());
    e.function->set_numbers(std::move(numbers));
    e.result = c.keep_result();
    const auto inputs = j.data().input_avals();
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i].dtype != e.avals[i].dtype) e.inputs.assign(inputs.begin(), inputs.end());
    e.plain = e.function->is_plain() && e.in_placements.empty() && e.out_placements.empty();
  }

  /// What is committed elsewhere than in_shardings say is moved by the user, or not at all.
  void check_in_shardings(const Entry& e, JitCall& c) const {
    if (options_.device || reshards_implicitly()) return;
    const auto leaves = c.leaves.span();
    for (std::size_t i = 0; i < e.in_placements.size(); ++i) {
      const ConcreteArray* x = as_concrete(leaves[i]);
      if (!e.in_placements[i] || !x || !x->placement) continue;
      const Sharding &now = sharding_of(*x), &wanted = e.in_placements[i]->sharding();
      if (fits_in_shardings(now, wanted, x->aval.shape)) continue;
      const auto on = [](const Sharding& s) {
        return s.is_single_device() ? std::string() : " on " + device_list(s.named().mesh().axes().device_ids);
      };
      throw ShardingError(fmt::format("{}: {}, {}, is committed to {}{}, and in_shardings say {}{}; move it with reshard or device_put "
                                      "(config.implicit_reshard or WEFT_IMPLICIT_RESHARD=1 has jit do that itself)",
                                      called_, leaf_paths(c.function().arguments())[i], to_string(x->aval), described(now), on(now),
                                      described(wanted), on(wanted)),
                          c.loc);
    }
  }

  // A function runs on one device, or on all that its arguments are sharded over.
  static void check_devices(JitCall& c, std::span<const Array> inputs) {
    std::optional<std::size_t> first;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const ConcreteArray* x = as_concrete(inputs[i]);
      if (!x || !x->placement || !x->buffer) continue;
      if (!first) first = i;
      const ConcreteArray& one = *as_concrete(inputs[*first]);
      if (one.buffer->device_id() == x->buffer->device_id()) continue;
      const std::vector<std::string> paths = leaf_paths(c.function().arguments());
      throw DeviceError(fmt::format("jit: {}, {}, is committed to {}, and {}, {}, to {}; move one with device_put", paths[*first],
                                    to_string(one.aval), one.placement->describe(), paths[i], to_string(x->aval), x->placement->describe()),
                        c.loc);
    }
  }

  /// Whether all arrays that have a placement are sharded over one mesh.
  static bool over_one_mesh(std::span<const Array> inputs) {
    const ConcreteArray* first = nullptr;
    for (const Array& x : inputs) {
      const ConcreteArray* c = as_concrete(x);
      if (!c || !c->placement) continue;
      if (c->buffer) return false;
      if (first && !(sharding_of(*first).named().mesh() == sharding_of(*c).named().mesh())) return false;
      first = c;
    }
    return true;
  }

  std::vector<Array> run(Entry& e, JitCall& c) {
    const auto leaves = c.leaves.span();
    const SourceLoc loc = c.loc;
    for (const Array& x : leaves) check_not_leaked(x, called_.c_str(), loc);
    if (current_trace()) return bind_jit(name_, e.function->jaxpr(), e.function->donated(), inputs_of(e, leaves), loc);
    for (const Array& x : leaves)
      if (x.impl()->kind == ArrayImpl::Kind::abstract || x.impl()->kind == ArrayImpl::Kind::traced)
        throw TracerError(fmt::format("{}: an argument {} has no value; use lower, eval_shape or make_jaxpr", called_, to_string(x.aval())),
                          loc);
    std::optional<ArrayReads> reads(std::in_place, leaves, called_, loc);
    check_in_shardings(e, c);
    std::vector<Array> inputs = inputs_of(e, leaves);
    for (std::size_t i = 0; i < e.in_placements.size(); ++i)
      if (e.in_placements[i]) inputs[i] = device_put_array(inputs[i], *e.in_placements[i], loc);
    Ref<CompiledFunction> function = e.function;
    function->check_places(inputs, [&] { return c.function().arguments(); }, loc);
    if (maker_ && maker_->follows_shardings() && over_one_mesh(inputs)) {
      if (const Ref<CompiledFunction> sharded = e.sharded.find(*e.function, inputs, [&] { return c.function().arguments(); }, loc))
        function = sharded;
    } else if (maker_) {
      if (!reshards_implicitly() && function->donated().empty()) e.sharded.remember(inputs);
    } else {
      if (const Ref<CompiledFunction> sharded = e.sharded.find(*e.function, inputs, [&] { return c.function().arguments(); }, loc))
        function = sharded;
      else
        check_devices(c, inputs);
    }
    function->check_given_once(inputs, [&] { return c.function().arguments(); }, loc);
    reads.reset();
    std::vector<Array> results = function->run(inputs, loc);
    for (std::size_t i = 0; i < e.out_placements.size(); ++i)
      if (e.out_placements[i]) results[i] = device_put_array(results[i], *e.out_placements[i], loc);
    return results;
  }

  JitOptions options_;
  Ref<const ProgramMaker> maker_;
  std::string name_, called_;
  std::mutex mutex_;
  std::condition_variable traced_;
  RecentlyUsed<Entry> programs_;
  bool warned_ = false;
  std::atomic<RefCounted*> last_{nullptr};  // one of programs_, which stays there as long
};

}  // namespace

Ref<JitCache> JitCache::make(JitOptions options, std::string function, Ref<const ProgramMaker> maker) {
  return Ref<JitCache>(new Cache(std::move(options), std::move(function), std::move(maker)));
}
JitResult JitCache::call(JitCall& c) {
  auto* cache = static_cast<Cache*>(this);
  try {
    return cache->call(c);
  } catch (...) {
    rethrow_as_error(cache->called().c_str(), c.loc);
  }
}
std::pair<Ref<Program>, Ref<const Structure>> JitCache::program(JitCall& c) { return static_cast<Cache*>(this)->program(c); }

bool jit_is_disabled() {
  if (jit_disabled) check_nesting("functions inside functions");
  return jit_disabled;
}

JitCounters jit_counters() { return {jit_counts().traces, jit_counts().compiles, jit_counts().hits}; }

}  // namespace detail

Scope disable_jit() {
  const bool before = detail::jit_disabled;
  detail::jit_disabled = true;
  return Scope::make([](std::intptr_t saved) { detail::jit_disabled = saved != 0; }, before);
}

}  // namespace weft
