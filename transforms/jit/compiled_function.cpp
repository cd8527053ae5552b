#include "weft/transforms/jit/compiled_function.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/array/array_impl.h"
#include "weft/core/array/array_reads.h"
#include "weft/core/array/host.h"
#include "weft/core/ops/control/call.h"
#include "weft/core/trace/trace.h"
#include "weft/runtime/host/accelerator.h"
#include "weft/runtime/host/blocks.h"
#include "weft/runtime/host/device.h"
#include "weft/runtime/host/process_end.h"
#include "weft/runtime/host/program_cache.h"
#include "weft/runtime/host/stated_schedule.h"
#include "weft/runtime/profile/timeline.h"
#include "weft/runtime/sharded/donation.h"
#include "weft/transforms/autodiff/differentiate.h"
#include "weft/transforms/jit/global_rows.h"
#include "weft/transforms/jit/jit_counts.h"
#include "weft/transforms/jit/schedule.h"
#include "weft/transforms/numbers.h"

namespace weft {
namespace detail {
namespace {

bool is_host_array(const ConcreteArray& c) { return c.buffer && !c.placement; }

/// For messages: what pmap and shard_map make is named as JAX names it, and the caller's function has no name there.
std::string called_of(const std::string& name, bool is_one_map) {
  constexpr std::string_view kOfAMap = "_fun";
  return is_one_map ? "pmap" : name == kOfAMap ? "shard_map" : "jit of " + name;
}

}  // namespace

CompiledFunction::CompiledFunction(std::string name, Jaxpr jaxpr, std::vector<bool> donated, int device, bool is_one_map)
    : name_(std::move(name)),
      called_(called_of(name_, is_one_map)),
      jaxpr_(std::move(jaxpr)),
      donated_(std::move(donated)),
      device_(device),
      is_one_map_(is_one_map) {
  for (const Array& c : jaxpr_.data().consts) {
    captures_tracers_ |= as_traced(c) != nullptr;
    if (const ConcreteArray* array = as_concrete(c)) captures_placed_ |= !is_host_array(*array);
  }
  plain_ = donated_.empty() && device_ < 0 && !captures_placed_ && !captures_tracers_;
}

void CompiledFunction::check_places(std::span<const Array> inputs, FunctionRef<Skeleton()> paths, SourceLoc loc) {
  const auto placed = [](const Array& x) { return as_concrete(x) && as_concrete(x)->placement; };
  if (std::none_of(inputs.begin(), inputs.end(), placed)) return;
  const MapPlaces& places = [&]() -> const MapPlaces& {
    const std::lock_guard lock(mutex_);
    if (!places_) places_.emplace(jaxpr_, is_one_map_);
    return *places_;
  }();
  places.check(inputs, called_, paths, loc);
}

Executable& CompiledFunction::executable() {
  if (Executable* ready = executable_.load(std::memory_order_acquire)) return *ready;
  return executable_on(device_ < 0 ? default_device_id() : device_);
}

Executable& CompiledFunction::executable_on(int device) {
  Executable* first = executable_.load(std::memory_order_acquire);
  if (first && !has_accelerators()) return *first;
  const std::string platform = Device::of_id(device).platform();
  if (first && platform == platform_) return *first;
  const LibraryUse use;  // acquired before the lock, so that a fork never copies the lock while it is held
  const std::lock_guard lock(mutex_);
  Ref<Executable>& wanted = !owner_ || platform == platform_ ? owner_ : others_[platform];
  if (!wanted) {
    EagerScope eager;
    const TimelineRange range(Work::compile, name_, device);
    Ref<Executable> made = cached_executable(platform, jaxpr_, {name_, donated_});
    ++jit_counts().compiles;
    wanted = std::move(made);
  }
  if (&wanted == &owner_ && !executable_.load(std::memory_order_relaxed)) {
    platform_ = platform;
    executable_.store(owner_.get(), std::memory_order_release);
  }
  return *wanted;
}

void CompiledFunction::state_schedules(std::string_view steps) {
  const int device = device_ < 0 ? default_device_id() : device_;
  const std::string platform = Device::of_id(device).platform();
  const LibraryUse use;
  EagerScope eager;
  const TimelineRange range(Work::compile, name_, device);
  Ref<Executable> made = compile_scheduled(platform, jaxpr_, {name_, donated_}, steps);
  ++jit_counts().compiles;
  const std::lock_guard lock(mutex_);
  if (owner_) replaced_.push_back(owner_);
  owner_ = std::move(made);
  platform_ = platform;
  executable_.store(owner_.get(), std::memory_order_release);
}

// With debug_nans on, programs run on the interpreter, which checks every operation's results.
Executable& CompiledFunction::runner(int device) {
  if (!config.debug_nans) return executable_on(device);
  const std::lock_guard lock(mutex_);
  if (!checked_) checked_ = backend("interp").compile(jaxpr_, {name_, donated_});
  return *checked_;
}

std::vector<Array> CompiledFunction::run_uncommitted(std::span<const Array> inputs) {
  const int device = default_device_id();
  Executable& program = runner(device);
  const TimelineRange range(Work::program, name_, device);
  return as_numbers(program.call(inputs, device), numbers_, {});
}

std::vector<Array> CompiledFunction::run(std::span<const Array> inputs, SourceLoc loc) {
  EagerScope eager;
  if (donated_.empty()) {
    const ArrayReads reads(inputs, called_, loc);
    return as_numbers(run_on_devices(inputs, loc), numbers_, loc);
  }
  DonatedArguments own(inputs, donated_, called_, loc);
  std::vector<Array> results;
  {
    const ArrayReads reads(own.arguments(), called_, loc);
    results = run_on_devices(own.arguments(), loc);
  }
  own.keep();
  return as_numbers(std::move(results), numbers_, loc);
}

std::vector<Array> CompiledFunction::run_on_devices(std::span<const Array> inputs, SourceLoc loc) {
  const ConcreteArray* committed = nullptr;
  bool sharded = captures_placed_;
  for (const Array& x : inputs) {
    const ConcreteArray* c = as_concrete(x);
    if (!c) continue;
    if (!c->placement) continue;
    sharded |= !c->buffer || (committed && committed->buffer && committed->buffer->device_id() != c->buffer->device_id());
    committed = c;
  }
  std::optional<DonatingCall> call;
  if (!donated_.empty()) call.emplace(loc);
  const int device = committed && committed->buffer ? committed->buffer->device_id() : device_ >= 0 ? device_ : default_device_id();
  Executable& program = runner(device);
  const TimelineRange range(Work::program, name_, device);
  if (program.takes_placed()) return program.call(inputs, default_device_id());
  // Sharded operands, and ones that are committed to several devices, go step by step: each operation follows its operands, or throws.
  if (sharded) return eval_jaxpr(jaxpr_, inputs);
  const Ref<const Placement> placement = committed ? committed->placement : Ref<const Placement>();
  std::vector<Array> results = donated_.empty() ? runner(device).call(inputs, device) : run_donating(inputs, device, loc);
  if (placement)
    for (Array& x : results)
      if (const ConcreteArray* c = as_concrete(x); c && !c->placement)
        x = placed_as_operand(c->aval, c->buffer, placement, committed->aval.ndim());
  return results;
}

void CompiledFunction::check_given_once(std::span<const Array> inputs, FunctionRef<Skeleton()> paths, SourceLoc loc) const {
  for (std::size_t i = 0; i < donated_.size(); ++i)
    for (std::size_t k = 0; k < inputs.size(); ++k)
      if (donated_[i] && as_concrete(inputs[i]) && k != i && inputs[k].impl() == inputs[i].impl()) {
        const std::vector<std::string> names = leaf_paths(paths());
        throw Error(fmt::format("{}: {} and {} are one array, {}, which is donated and passed twice; donate a copy", called_,
                                names[std::min(i, k)], names[std::max(i, k)], to_string(inputs[i].aval())),
                    loc);
      }
}

/// Whether nothing else refers to the memory of an array that is in one place; a committed one refers to it twice.
static bool has_memory_to_itself(const Array& x) {
  auto* c = static_cast<ConcreteArray*>(x.impl().get());
  const bool twice = c->shards.size() == 1;
  c->shards.clear();
  const bool own = !why_not_taken({&c->buffer, 1})[0];
  if (twice) c->shards = {c->buffer};
  return own;
}

std::vector<Array> CompiledFunction::run_donating(std::span<const Array> inputs, int device, SourceLoc loc) {
  // Memory that is shared with other arrays is copied, not donated.
  std::vector<Array> owned(inputs.begin(), inputs.end());
  for (std::size_t i = 0; i < owned.size(); ++i) {
    const ConcreteArray* c = as_concrete(inputs[i]);
    if (!donated_[i] || !c) continue;
    if (has_memory_to_itself(inputs[i])) continue;
    Ref<Buffer> copy;
    if (const int id = c->buffer->device_id(); is_accelerator(id)) {
      copy = accelerators().copy(c->buffer, id);
    } else {
      copy = host().allocate(static_cast<std::size_t>(c->aval.bytes()));
      host().read(*c, copy->data(), loc);
    }
    owned[i] = Array(Ref<ArrayImpl>(new ConcreteArray(c->aval, std::move(copy))));
  }
  return runner(device).call(owned, device);
}

void check_arguments(std::vector<Array>& given, std::span<const Aval> want, const std::string& what, FunctionRef<Skeleton()> paths,
                     SourceLoc loc) {
  for (std::size_t i = 0; i < given.size(); ++i) {
    given[i] = convert_weak(given[i], want[i]);
    if (given[i].shape() == want[i].shape && given[i].dtype() == want[i].dtype) continue;
    const std::string message =
        fmt::format("{}: {} is {}, but was compiled for {}", what, leaf_paths(paths())[i], to_string(given[i].aval()), to_string(want[i]));
    if (given[i].shape() != want[i].shape) throw ShapeError(message, loc);
    throw DTypeError(message, loc);
  }
}

CompiledFunction& CompiledFunction::that_takes(std::span<const Array> given) {
  const std::span<const Aval> want = jaxpr_.data().input_avals();
  const auto has_all_rows = [&](std::size_t i) {
    return given[i].shape() != want[i].shape && as_concrete(given[i]) && !given[i].is_fully_addressable();
  };
  bool global = false;
  for (std::size_t i = 0; i < given.size(); ++i) global |= has_all_rows(i);
  if (!global) return *this;
  const std::lock_guard lock(mutex_);
  if (!of_global_rows_)
    if (std::optional<Jaxpr> whole = with_global_rows(jaxpr_))
      of_global_rows_ = make_ref<CompiledFunction>(name_, std::move(*whole), donated_, device_, is_one_map_);
  return of_global_rows_ ? *of_global_rows_ : *this;
}

const Jaxpr& jaxpr_of(const Program& p) { return static_cast<const CompiledFunction&>(p).jaxpr(); }
std::string text_of(Program& p, std::string_view form) { return static_cast<CompiledFunction&>(p).executable().as_text(form); }
void compile(Program& p) { static_cast<CompiledFunction&>(p).executable(); }

std::vector<Array> run_program(Program& p, std::vector<Array> args, FunctionRef<Skeleton()> paths, SourceLoc loc) {
  CompiledFunction& f = static_cast<CompiledFunction&>(p).that_takes(args);
  check_arguments(args, f.jaxpr().data().input_avals(), f.name(), paths, loc);
  if (current_trace()) return bind_jit(f.name(), f.jaxpr(), f.donated(), args, loc);
  {
    const ArrayReads reads(args, f.called(), loc);
    f.check_given_once(args, paths, loc);
    f.check_places(args, paths, loc);
  }
  return f.run(args, loc);
}

CostAnalysis CompiledBase::cost_analysis() const { return static_cast<CompiledFunction&>(*program_).executable().cost_analysis(); }
MemoryAnalysis CompiledBase::memory_analysis() const { return static_cast<CompiledFunction&>(*program_).executable().memory_analysis(); }
}  // namespace detail

void schedule(const detail::CompiledBase& compiled, std::string_view steps, SourceLoc loc) try {
  static_cast<detail::CompiledFunction&>(compiled.program()).state_schedules(steps);
} catch (...) {
  detail::rethrow_as_error("schedule", loc);
}
void search_schedules(bool on) { detail::switch_schedule_search(on); }

}  // namespace weft
