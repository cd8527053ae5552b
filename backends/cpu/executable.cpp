#include "weft/backends/cpu/executable.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "weft/backends/codegen/planner/simplify.h"
#include "weft/backends/codegen/schedule/program_cost.h"
#include "weft/backends/codegen/schedule/schedule_text.h"
#include "weft/backends/common/code_cache.h"
#include "weft/backends/common/other_targets.h"
#include "weft/backends/cpu/background.h"
#include "weft/backends/cpu/cpu_backend.h"
#include "weft/backends/cpu/expand.h"
#include "weft/backends/cpu/object_export.h"
#include "weft/backends/cpu/stored_program.h"
#include "weft/core/base/float_environment.h"
#include "weft/core/base/nesting.h"
#include "weft/core/errors/error.h"
#include "weft/core/ir/sealed_program.h"
#include "weft/runtime/host/allocator.h"
#include "weft/runtime/host/blocks.h"
#include "weft/runtime/host/buffer.h"
#include "weft/runtime/host/process_end.h"
#include "weft/runtime/host/thread_pool.h"
#include "weft/runtime/host/warm_memory.h"

namespace weft::detail {
namespace {

/// Bits of scratch for small calls without an allocation.
template <class T, std::size_t N>
class SmallArray {
 public:
  explicit SmallArray(std::size_t n) : data_(n <= N ? inline_ : new T[n]) {}
  ~SmallArray() {
    if (data_ != inline_) delete[] data_;
  }
  SmallArray(const SmallArray&) = delete;
  SmallArray& operator=(const SmallArray&) = delete;
  T& operator[](std::size_t i) { return data_[i]; }
  T* data() { return data_; }

 private:
  T inline_[N];
  T* data_;
};

constexpr std::size_t kOwnArena = 1 << 20;    // bytes of temporaries up to which a program keeps them between calls
constexpr std::size_t kOwnArenas = 64 << 20;  // of all programs together
std::atomic<std::size_t> own_arenas{0};

/// A constant or literal.
const void* fixed_memory(const FixedPointer& f) {
  const BufferInfo& info = f.program->buffers[static_cast<std::size_t>(f.number)];
  const JaxprData& data = f.program->jaxpr.data();
  const auto number = static_cast<std::size_t>(info.number);
  return info.role == BufferInfo::Role::constant ? host_data(data.consts[number]) : data.literals[number].bits.data();
}

TargetTraits traits() {
  TargetTraits t;
  t.vector_bytes = native_vector_bytes();
  t.vectors_in_epilogue = t.divided_scatters = true;
  t.prefers_product = &prefers_product;
  t.takes_product = &takes_product;
  t.expansion = &expand_for_cpu;
  return t;
}

}  // namespace

CpuExecutable::CpuExecutable(const Jaxpr& j, const CompileOptions& options, std::string_view schedules)
    : name_(options.name), donated_(options.donated), stated_(schedules) {
  const LibraryUse use;
  const Jaxpr simplified = simplify(j, &expand_for_cpu);
  if (load(simplified)) return;
  plan_ = make_plan(form_program(simplified, traits(), donated_));
  reserve_arena();
  const ProductPreparation preparation;
  products_.resize(plan_.program.products.size());
  parallel_for(static_cast<std::int64_t>(products_.size()), [&](std::int64_t i) { prepare_product(static_cast<std::size_t>(i)); });
  prepare_calls();
  first_code_ = compile_program(plan_.program, plan_.schedules, first_tiers(plan_.program, plan_.schedules),
                                [this](const FixedPointer& f) { return resolve(f); });
  code_ = first_code_.get();
  better_ = improvement(plan_.program, plan_.schedules, first_code_->made);
  tier_budget_.renew(better_.tier_budget);
  if (key_.empty()) first_code_->objects.clear();
  if (better_.excess == 0) store();
  keeps_ = !key_.empty();
}

CpuExecutable::Plan CpuExecutable::make_plan(KernelProgram program) const {
  Plan p{std::move(program), {}};
  for (const Kernel& k : p.program.kernels) p.schedules.push_back(make_schedule(k, native_vector_bytes()));
  if (!stated_.empty()) state_schedules(stated_, p.program.kernels, native_vector_bytes(), p.schedules);
  return p;
}

const CpuExecutable::Plan& CpuExecutable::whole_plan() const {
  if (!is_stored_) return plan_;
  const LibraryUse use;  // a process that is copied in the midst of it would never have the plan
  std::call_once(formed_,
                 [&] { whole_plan_ = std::make_unique<const Plan>(make_plan(form_program(plan_.program.jaxpr, traits(), donated_))); });
  return *whole_plan_;
}

/// Takes all from the cache, if it is there.
bool CpuExecutable::load(const Jaxpr& simplified) {
  CodeCache& cache = CodeCache::of_process();
  const std::string identity = cache.enabled() ? code_identity() : std::string();
  if (identity.empty() || !stated_.empty()) return false;
  const std::optional<std::string> key = program_key(simplified, donated_);
  if (!key) return false;
  const std::optional<std::string> bytes = cache.find({identity, *key});
  std::optional<StoredProgram> stored = bytes ? read_program(*bytes, simplified) : std::nullopt;
  if (!stored || stored->excess > 0) key_ = *key;
  if (!stored || (stored->excess > 0 && lowest_tier() == CodeTier::optimized)) return false;
  plan_ = {std::move(stored->program), std::move(stored->schedules)};
  is_stored_ = true;
  reserve_arena();
  const ProductPreparation preparation;
  // Threads that have oneDNN make code wait for each other most of the time.
  WarmMemory memory;
  plan_memory(memory);
  products_.resize(plan_.program.products.size());
  parallel_for(1 + memory.pieces(), [&](std::int64_t i) {
    if (i > 0) return memory.map(i - 1);
    for (std::size_t k = 0; k < products_.size(); ++k) prepare_product(k);
  });
  prepare_calls();
  for (auto& table : stored->tables)
    for (FixedPointer& f : table)
      if (!f.program) f.program = &plan_.program;
  first_code_ = link_program(plan_.schedules.size(), stored->objects, stored->tables, [this](const FixedPointer& f) { return resolve(f); });
  code_ = first_code_.get();
  if (stored->excess > 0) {
    first_code_->objects = std::move(stored->objects), first_code_->tables = std::move(stored->tables);
    better_.excess = stored->excess;
    tier_budget_.renew(stored->tier_budget);
  }
  return true;
}

/// Soon after the first call, so that the next process has machine code at once, though not the best.
void CpuExecutable::keep() {
  soon_in_background([self = Ref<CpuExecutable>(this)] {
    const SerialScope alone;  // the program runs meanwhile
    const CodeTiers& made = self->code_.load(std::memory_order_relaxed)->made;
    CodeTiers baseline;
    baseline.controls.resize(made.controls.size());
    for (const auto& k : made.kernels)
      baseline.kernels.push_back(k == CodeTier::interpreted ? std::optional(CodeTier::baseline) : std::nullopt);
    if (std::any_of(baseline.kernels.begin(), baseline.kernels.end(), [](const auto& k) { return k.has_value(); }))
      self->make_better(self->plan_, baseline, background_has_ended);
    self->store();
  });
}

/// The cache keeps the program as it is, if it keeps none that is better.
void CpuExecutable::store() {
  if (key_.empty()) return;
  const CodeTiers& made = code_.load(std::memory_order_relaxed)->made;
  if (std::find(made.kernels.begin(), made.kernels.end(), CodeTier::interpreted) != made.kernels.end()) return;
  const Improvement left = improvement(whole_plan().program, whole_plan().schedules, made);
  const std::string identity = code_identity();
  CodeCache& cache = CodeCache::of_process();
  const std::optional<std::string> there = cache.find({identity, key_});
  const std::optional<std::int64_t> excess_there = there ? stored_excess(*there) : std::nullopt;
  std::vector<const ObjectCode*> objects;
  std::vector<std::vector<FixedPointer>> tables(plan_.program.controls.size());
  const auto add = [&](const NativeCode& some) {
    for (const ObjectCode& o : some.objects) {
      objects.push_back(&o);
      for (const int c : o.controls) tables[static_cast<std::size_t>(c)] = some.tables[static_cast<std::size_t>(c)];
    }
  };
  add(*first_code_);
  for (const auto& some : better_code_) add(*some);
  // Not what was replaced as a whole.
  std::vector<char> kernels(plan_.schedules.size()), controls(tables.size());
  const auto is_first = [](std::vector<char>& seen, const std::vector<int>& numbers) {
    bool any = false;
    for (const int n : numbers) any |= !std::exchange(seen[static_cast<std::size_t>(n)], 1);
    return any;
  };
  const auto replaced = std::remove_if(objects.rbegin(), objects.rend(), [&](const ObjectCode* o) {
    const bool of_kernels = is_first(kernels, o->kernels), of_controls = is_first(controls, o->controls);
    return !of_kernels && !of_controls;
  });
  objects.erase(objects.begin(), replaced.base());
  if (!objects.empty() && (!excess_there || *excess_there > left.excess))
    cache.put({identity, key_}, write_program(plan_.program, left.excess, left.tier_budget, plan_.schedules, objects, tables));
  if (left.excess > 0) return;
  first_code_->objects.clear();
  for (const auto& some : better_code_) some->objects.clear();
  key_.clear();
}

/// What a call takes from the allocator.
void CpuExecutable::plan_memory(WarmMemory& memory) const {
  if (!has_arena_ && plan_.program.arena_bytes > 0) memory.add(static_cast<std::size_t>(plan_.program.arena_bytes));
  for (const BufferInfo& b : plan_.program.buffers)
    if (b.role == BufferInfo::Role::output && b.reuses_input < 0) memory.add(static_cast<std::size_t>(b.aval.bytes()));
}

void CpuExecutable::prepare_product(std::size_t number) { products_[number] = make_product(plan_.program.products[number]); }

/// Makes calls of the library, and addresses.
void CpuExecutable::prepare_calls() {
  const KernelProgram& p = plan_.program;
  add_opaque(p);
  fixed_.resize(p.buffers.size());
  for (std::size_t b = 0; b < p.buffers.size(); ++b)
    if (const BufferInfo::Role role = p.buffers[b].role; role == BufferInfo::Role::constant || role == BufferInfo::Role::literal)
      fixed_[b] = resolve({FixedPointer::Kind::memory, &p, static_cast<int>(b)});
}

/// Prepares the calls of the steps that are no code of a program and its sub-programs.
void CpuExecutable::add_opaque(const KernelProgram& p) {
  check_nesting("programs inside programs", nesting_depth(p.jaxpr));
  for (std::size_t i = 0; i < p.steps.size(); ++i) {
    const Step& s = p.steps[i];
    if (s.kind != Step::Kind::opaque) continue;
    const Eqn& e = p.jaxpr.data().eqns[static_cast<std::size_t>(s.number)];
    auto o = std::make_unique<Opaque>();
    o->op = e.op, o->params = e.params, o->num_inputs = e.inputs.size();
    std::vector<Aval> avals;
    for (Atom a : e.inputs) avals.push_back(p.jaxpr.data().aval(a));
    for (Var v : e.outputs) avals.push_back(p.jaxpr.data().avals[v]);
    for (const Aval& a : avals) o->tensors.push_back({a, nullptr});
    o->native = make_native_step(*e.op, *e.params, std::span(avals).first(o->num_inputs), std::span(avals).subspan(o->num_inputs));
    opaque_[{&p, static_cast<int>(i)}] = std::move(o);
  }
  for (const ControlStep& c : p.controls)
    for (const KernelProgram& part : c.programs) add_opaque(part);
}

void* CpuExecutable::resolve(const FixedPointer& given) const {
  FixedPointer f = given;
  if (const auto own = own_part_.find(f.program); own != own_part_.end()) f.program = own->second;
  switch (f.kind) {
    case FixedPointer::Kind::product: return products_[static_cast<std::size_t>(f.number)].get();
    case FixedPointer::Kind::opaque: return static_cast<ReferenceCall*>(opaque_.at({f.program, f.number}).get());
    case FixedPointer::Kind::memory: break;
  }
  return const_cast<void*>(fixed_memory(f));  // the program keeps it, and no step writes to it
}

CpuExecutable::~CpuExecutable() {
  std::free(arena_.load());
  if (has_arena_) own_arenas -= static_cast<std::size_t>(plan_.program.arena_bytes);
}

void CpuExecutable::improve() {
  in_background([self = Ref<CpuExecutable>(this)] {
    if (self->unique()) return;  // nobody will call it again
    const SerialScope alone;     // the program runs meanwhile
    const Plan* plan = self->plan_to_improve();
    if (!plan) return;
    try {
      for (const CodeTiers& stage : self->better_.stages) self->make_better(*plan, stage, background_is_ending);
    } catch (...) {
      // What has become better is kept.
    }
    self->store();
  });
}

/// The plan with its kernels; null: it can't be told to be the one that the program runs by.
const CpuExecutable::Plan* CpuExecutable::plan_to_improve() {
  if (!is_stored_) return &plan_;
  const Plan& whole = whole_plan();
  const auto text = [](const Plan& p) { return write_program(p.program, 0, 0, p.schedules, {}, {}); };
  if (text(whole) != text(plan_)) return nullptr;
  const auto pair = [&](auto& self, const KernelProgram& a, const KernelProgram& b) -> void {
    own_part_.emplace(&a, &b);
    for (std::size_t c = 0; c < a.controls.size(); ++c)
      for (std::size_t i = 0; i < a.controls[c].programs.size(); ++i) self(self, a.controls[c].programs[i], b.controls[c].programs[i]);
  };
  pair(pair, whole.program, plan_.program);
  better_.stages = improvement(whole.program, whole.schedules, code_.load(std::memory_order_relaxed)->made).stages;
  return &whole;
}

/// Makes part of the code anew, and has it take over. On the background thread.
void CpuExecutable::make_better(const Plan& plan, const CodeTiers& wanted, const std::function<bool()>& stop) {
  const LibraryUse use;
  const NativeCode& before = *code_.load(std::memory_order_relaxed);
  auto code = compile_program(plan.program, plan.schedules, wanted, [this](const FixedPointer& f) { return resolve(f); }, stop);
  for (auto& table : code->tables)
    for (FixedPointer& f : table)
      if (const auto own = own_part_.find(f.program); own != own_part_.end()) f.program = own->second;
  for (std::size_t i = 0; i < code->functions.size(); ++i)
    if (!wanted.kernels[i]) code->functions[i] = before.functions[i], code->made.kernels[i] = before.made.kernels[i];
  for (std::size_t i = 0; i < code->controls.size(); ++i)
    if (!wanted.controls[i]) code->controls[i] = before.controls[i], code->made.controls[i] = before.made.controls[i];
  if (key_.empty()) code->objects.clear();
  // Calls that are under way go on with what was before.
  better_code_.push_back(std::move(code));
  code_.store(better_code_.back().get(), std::memory_order_release);
}

/// Whether the program keeps the memory of its temporaries between calls: where that is little, and all programs together keep little.
void CpuExecutable::reserve_arena() {
  const auto bytes = static_cast<std::size_t>(plan_.program.arena_bytes);
  if (bytes == 0 || bytes > kOwnArena) return;
  has_arena_ = own_arenas.fetch_add(bytes) + bytes <= kOwnArenas;
  if (!has_arena_) own_arenas -= bytes;
}

/// Memory for the temporaries of a call: the program's own, or what all share.
char* CpuExecutable::take_arena(int device) {
  const auto bytes = static_cast<std::size_t>(plan_.program.arena_bytes);
  if (bytes == 0) return nullptr;
  if (!has_arena_) return static_cast<char*>(allocate_host(bytes, device));
  if (char* a = arena_.exchange(nullptr, std::memory_order_acquire)) return a;
  auto* a = static_cast<char*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64));
  if (!a) throw DeviceError(fmt::format("{}: no memory for {} bytes of temporaries", name_, bytes));
  return a;
}
void CpuExecutable::give_back(char* arena, int device) {
  const auto bytes = static_cast<std::size_t>(plan_.program.arena_bytes);
  if (!has_arena_) return release_host(arena, bytes, device);
  // What another call gave back meanwhile was written by its thread.
  if (char* other = arena_.exchange(arena, std::memory_order_acq_rel)) std::free(other);
}

std::vector<Array> CpuExecutable::call(std::span<const Array> inputs, int device) {
  const StandardFloats floats;
  const JaxprData& data = plan_.program.jaxpr.data();
  if (inputs.size() != static_cast<std::size_t>(data.num_inputs))
    throw Error(fmt::format("{}: internal error: called with {} inputs, compiled for {}", name_, inputs.size(), data.num_inputs));
  if (any_beyond_host(inputs)) return call(fetched(inputs, device), device);
  struct Arena {
    CpuExecutable* owner;
    int device;
    char* memory;
    ~Arena() {
      if (memory) owner->give_back(memory, device);
    }
  } arena{this, device, take_arena(device)};

  SmallArray<void*, 64> addresses(plan_.program.buffers.size());
  SmallArray<Ref<Buffer>, 8> results(plan_.program.outputs.size());
  for (std::size_t b = 0; b < plan_.program.buffers.size(); ++b) {
    const BufferInfo& info = plan_.program.buffers[b];
    switch (info.role) {
      case BufferInfo::Role::input: addresses[b] = const_cast<void*>(host_data(inputs[static_cast<std::size_t>(info.number)])); break;
      case BufferInfo::Role::constant:
      case BufferInfo::Role::literal: addresses[b] = fixed_[b]; break;
      case BufferInfo::Role::temporary: addresses[b] = arena.memory + std::max<std::int64_t>(info.offset, 0); break;
      case BufferInfo::Role::output: {
        Ref<Buffer>& r = results[static_cast<std::size_t>(info.number)];
        const ConcreteArray* reused = info.reuses_input >= 0 ? as_concrete(inputs[static_cast<std::size_t>(info.reuses_input)]) : nullptr;
        r = reused ? reused->buffer : Ref<Buffer>(new HostBuffer(static_cast<std::size_t>(info.aval.bytes()), device));
        addresses[b] = r->data();
        break;
      }
    }
  }
  run(addresses.data());
  if (keeps_.load(std::memory_order_relaxed) && keeps_.exchange(false)) keep();
  if (tier_budget_.exhausted_by(better_.excess)) improve();

  std::vector<Array> out;
  out.reserve(plan_.program.outputs.size());
  for (std::size_t k = 0; k < plan_.program.outputs.size(); ++k) {
    const ProgramOutput& o = plan_.program.outputs[k];
    const BufferInfo& info = plan_.program.buffers[static_cast<std::size_t>(o.buffer)];
    const Aval& aval = data.aval(data.outputs[k]);
    if (o.same_as >= 0 && out[static_cast<std::size_t>(o.same_as)].aval() == aval) {
      out.push_back(out[static_cast<std::size_t>(o.same_as)]);
    } else if (info.role == BufferInfo::Role::output) {
      out.push_back(wrap_buffer(aval, results[static_cast<std::size_t>(info.number)]));
    } else {
      const Array* source = info.role == BufferInfo::Role::input      ? &inputs[static_cast<std::size_t>(info.number)]
                            : info.role == BufferInfo::Role::constant ? &data.consts[static_cast<std::size_t>(info.number)]
                                                                      : nullptr;
      const ConcreteArray* c = source ? as_concrete(*source) : nullptr;
      Ref<Buffer> buffer = c ? c->buffer : Ref<Buffer>();
      if (!buffer) {
        buffer = Ref<Buffer>(new HostBuffer(static_cast<std::size_t>(aval.bytes()), device));
        std::memcpy(buffer->data(), addresses[static_cast<std::size_t>(o.buffer)], static_cast<std::size_t>(aval.bytes()));
      }
      out.push_back(wrap_buffer(aval, std::move(buffer)));
    }
  }
  return out;
}

/// What a step is called in a profile.
Work CpuExecutable::work_of(const Step& s) {
  return s.kind == Step::Kind::kernel ? Work::kernel : s.kind == Step::Kind::control ? Work::control : Work::routine;
}
std::string CpuExecutable::name_of(const Step& s) const {
  const KernelProgram& p = whole_plan().program;
  switch (s.kind) {
    case Step::Kind::kernel: return p.kernels[static_cast<std::size_t>(s.number)].name;
    case Step::Kind::product: return "matrix product";
    case Step::Kind::control: return fmt::format("loop or branch {}", s.number);
    case Step::Kind::opaque: return std::string(p.jaxpr.data().eqns[static_cast<std::size_t>(s.number)].op->name);
  }
  return {};
}

void CpuExecutable::run(void* const* addresses) const {
  const NativeCode& code = *code_.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < plan_.program.steps.size(); ++i) {
    const Step& s = plan_.program.steps[i];
    std::optional<TimelineRange> range;
    if (timeline_is_on.load(std::memory_order_relaxed)) [[unlikely]]
      range.emplace(work_of(s), name_of(s));
    switch (s.kind) {
      case Step::Kind::kernel: run_kernel(code, s, addresses); break;
      case Step::Kind::product:
        products_[static_cast<std::size_t>(s.number)]->run(addresses[s.buffers[0]], addresses[s.buffers[1]], addresses[s.buffers[2]]);
        break;
      case Step::Kind::control: run_control(code, s, addresses); break;
      case Step::Kind::opaque: {
        SmallArray<void*, 32> buffers(s.buffers.size());
        for (std::size_t k = 0; k < s.buffers.size(); ++k) buffers[k] = addresses[s.buffers[k]];
        opaque_.at({&plan_.program, static_cast<int>(i)})->run(buffers.data());
        break;
      }
    }
  }
}

void CpuExecutable::Opaque::run(void* const* buffers) const {
  if (native) return native->run({buffers, tensors.size()});
  std::vector<HostTensor> all = tensors;
  for (std::size_t k = 0; k < all.size(); ++k) all[k].data = buffers[k];
  op->reference({*params, std::span(all).first(num_inputs), std::span(all).subspan(num_inputs)});
}

void CpuExecutable::run_control(const NativeCode& code, const Step& s, void* const* addresses) const {
  SmallArray<void*, 32> buffers(s.buffers.size());
  for (std::size_t k = 0; k < s.buffers.size(); ++k) buffers[k] = addresses[s.buffers[k]];
  const NativeCode::Control& c = code.controls[static_cast<std::size_t>(s.number)];
  if (c.function(buffers.data(), c.table.data()) != 0) throw_failure();
}

void CpuExecutable::run_kernel(const NativeCode& code, const Step& s, void* const* addresses) const {
  const auto k = static_cast<std::size_t>(s.number);
  const Schedule& schedule = plan_.schedules[k];
  SmallArray<void*, 32> args(s.buffers.size());
  std::size_t n = 0;
  for (BufferId b : s.buffers)
    if (b >= 0) args[n++] = addresses[b];
  const KernelFunction f = code.functions[k];
  if (!f) return first_code_->interpreted[k]->run(args.data(), 0, schedule.num_blocks);
  if (!is_forked(schedule.num_blocks, schedule.grain) || num_threads() == 1 || in_parallel_region()) {
    f(args.data(), 0, schedule.num_blocks);
    return;
  }
  const std::int64_t blocks = schedule.num_blocks, each = blocks_of_task(blocks, schedule.grain, num_threads());
  parallel_for((blocks + each - 1) / each, [&](std::int64_t i) { f(args.data(), i * each, std::min((i + 1) * each, blocks)); });
}

std::string CpuExecutable::as_text(std::string_view form) const {
  if (form == "jaxpr") return plan_.program.jaxpr.to_string();
  if (form == "kernels") return to_string(whole_plan().program);
  if (form == "schedule") return schedules_text(whole_plan().program.kernels, whole_plan().schedules);
  if (form == "llvm" || form == "asm") return code_as_text(whole_plan().program, whole_plan().schedules, form == "asm");
  for (const TargetText& other : other_target_texts())
    if (form == other.form) return other.text(plan_.program.jaxpr, donated_);
  if (form == "tiers") return tiers_text();
  throw CompileError(
      fmt::format("as_text: unknown form `{}`; available: `jaxpr`, `kernels`, `schedule`, `llvm`, `asm`, `ptx`, `tiers`", form));
}

/// A line for each step that is code: what it is by now.
std::string CpuExecutable::tiers_text() const {
  const KernelProgram& p = whole_plan().program;
  const CodeTiers& all = code_.load(std::memory_order_acquire)->made;
  std::string text;
  for (const Step& s : p.steps) {
    if (s.kind != Step::Kind::kernel && s.kind != Step::Kind::control) continue;
    const auto n = static_cast<std::size_t>(s.number);
    const bool is_kernel = s.kind == Step::Kind::kernel;
    const CodeTier made = *(is_kernel ? all.kernels : all.controls)[n];
    text += fmt::format("{}: {}\n", is_kernel ? p.kernels[n].name : fmt::format("loop or branch {}", n),
                        made == CodeTier::optimized  ? "optimized"
                        : made == CodeTier::baseline ? "baseline"
                                                     : "interpreted");
  }
  return text;
}

CostAnalysis CpuExecutable::cost_analysis() const { return program_cost(whole_plan().program); }

MemoryAnalysis CpuExecutable::memory_analysis() const { return program_memory(plan_.program); }

Executable::Object CpuExecutable::export_object(const std::string& name) const {
  const LibraryUse use;
  // A program without products by a library and without donated inputs.
  const Plan plan = make_plan(form_program(plan_.program.jaxpr, {.vector_bytes = native_vector_bytes(), .external_products = false}, {}));
  const KernelProgram& p = plan.program;
  const JaxprData& data = p.jaxpr.data();
  using Pointer = ObjectCall::Pointer;
  ObjectConstants constants;
  std::vector<int> constant_of(p.buffers.size(), -1);
  const auto pointer = [&](BufferId b) -> Pointer {
    const BufferInfo& info = p.buffers[static_cast<std::size_t>(b)];
    switch (info.role) {
      case BufferInfo::Role::input: return {Pointer::Kind::input, info.number};
      case BufferInfo::Role::output: return {Pointer::Kind::output, info.number};
      case BufferInfo::Role::temporary: return {Pointer::Kind::arena, std::max<std::int64_t>(info.offset, 0)};
      default: break;
    }
    int& number = constant_of[static_cast<std::size_t>(b)];
    if (number < 0) number = constants.add(fixed_memory({FixedPointer::Kind::memory, &p, b}), info.aval.bytes());
    return {Pointer::Kind::constant, number};
  };
  std::vector<ObjectCall> calls;
  for (const Step& s : p.steps) {
    if (s.kind == Step::Kind::opaque)
      throw CompileError(fmt::format("export_object: {} holds a call of the library's {}, which no object file can hold", name,
                                     data.eqns[static_cast<std::size_t>(s.number)].op->name));
    if (s.kind == Step::Kind::product)
      throw CompileError("export_object: " + name + " holds a matrix product by a library, which no object file can hold");
    ObjectCall c;
    c.step = &s;
    for (BufferId b : s.buffers)
      if (b >= 0) c.args.push_back(pointer(b));
    calls.push_back(std::move(c));
  }
  // Results that are inputs, constants or other results.
  for (std::size_t k = 0; k < p.outputs.size(); ++k) {
    const ProgramOutput& o = p.outputs[k];
    const BufferInfo& info = p.buffers[static_cast<std::size_t>(o.buffer)];
    if (o.same_as < 0 && info.role == BufferInfo::Role::output && info.number == static_cast<int>(k)) continue;
    ObjectCall copy;
    copy.bytes = data.aval(data.outputs[k]).bytes();
    copy.args = {{Pointer::Kind::output, static_cast<std::int64_t>(k)}, pointer(o.buffer)};
    calls.push_back(std::move(copy));
  }
  Object object;
  object.object = object_file(name, p, plan.schedules, calls, std::move(constants), [](const FixedPointer& f) { return fixed_memory(f); });
  object.header = "#ifdef __cplusplus\nextern \"C\"\n#endif\n/* inputs: ";
  for (const Aval& a : data.input_avals()) object.header += to_string(a) + " ";
  object.header += "; outputs: ";
  for (const Aval& a : data.output_avals()) object.header += to_string(a) + " ";
  object.header += fmt::format("*/\nvoid {}(const void* const* inputs, void* const* outputs);\n", name);
  return object;
}

Ref<Executable> CpuBackend::compile(const Jaxpr& j, const CompileOptions& options, std::string_view schedules) {
  return Ref<Executable>(new CpuExecutable(j, options, schedules));
}

}  // namespace weft::detail
