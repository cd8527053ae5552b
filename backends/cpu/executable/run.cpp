// Calls of a compiled program: memory for results and temporaries, then the steps.
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "weft/backends/common/overwritten_inputs.h"
#include "weft/backends/common/reference_call.h"
#include "weft/backends/cpu/executable.h"
#include "weft/backends/cpu/executable/step_timing.h"
#include "weft/core/base/float_environment.h"
#include "weft/core/errors/error.h"
#include "weft/core/ir/sealed_program.h"
#include "weft/runtime/host/allocator.h"
#include "weft/runtime/host/blocks.h"
#include "weft/runtime/host/buffer.h"
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

}  // namespace

/// Declares the memory that a call allocates, to be prefaulted.
void CpuExecutable::plan_memory(WarmMemory& memory) const {
  if (!has_arena_ && plan_.program.arena_bytes > 0) memory.add(static_cast<std::size_t>(plan_.program.arena_bytes));
  for (const BufferInfo& b : plan_.program.buffers)
    if (b.role == BufferInfo::Role::output && b.reuses_input < 0) memory.add(static_cast<std::size_t>(b.aval.bytes()));
}

CpuExecutable::~CpuExecutable() {
  std::free(arena_.load());
  if (has_arena_) own_arenas -= static_cast<std::size_t>(plan_.program.arena_bytes);
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
  // Another call has returned an arena in the meantime; this one is freed.
  if (char* other = arena_.exchange(arena, std::memory_order_acq_rel)) std::free(other);
}

std::vector<Array> CpuExecutable::call(std::span<const Array> inputs, int device) {
  const StandardFloats floats(flush_subnormals());
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
  std::size_t begun = 0;
  try {
    run(addresses.data(), begun);
  } catch (...) {
    drop_overwritten_inputs(plan_.program, begun, inputs);
    throw;
  }
  if (keeps_.load(std::memory_order_relaxed) && keeps_.exchange(false)) keep();
  if (tier_runs_.is_due()) improve();
  if (calls_to_search_.load(std::memory_order_relaxed) > 0 && calls_to_search_.fetch_sub(1, std::memory_order_relaxed) == 1) search();

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

void CpuExecutable::run(void* const* addresses, std::size_t& begun) const {
  const NativeCode& code = *code_.load(std::memory_order_acquire);
  if (timeline_is_on.load(std::memory_order_relaxed) || steps_are_timed()) [[unlikely]]
    return run_watched(code, addresses, begun);
  while (begun < plan_.program.steps.size()) run_step(code, begun++, addresses);
}

void CpuExecutable::run_step(const NativeCode& code, std::size_t number, void* const* addresses) const {
  const Step& s = plan_.program.steps[number];
  switch (s.kind) {
    case Step::Kind::kernel: return run_kernel(code, s, addresses);
    case Step::Kind::matmul:
      return matmuls_[static_cast<std::size_t>(s.number)]->run(addresses[s.buffers[0]], addresses[s.buffers[1]], addresses[s.buffers[2]]);
    case Step::Kind::control: return run_control(code, s, addresses);
    case Step::Kind::opaque: {
      SmallArray<void*, 32> buffers(s.buffers.size());
      for (std::size_t k = 0; k < s.buffers.size(); ++k) buffers[k] = addresses[s.buffers[k]];
      return opaque_.at({&plan_.program, static_cast<int>(number)})->run(buffers.data());
    }
  }
}

void CpuExecutable::Opaque::run(void* const* buffers) const {
  if (native) return native->run({buffers, tensors.size()});
  std::vector<HostTensor> all = tensors;
  for (std::size_t k = 0; k < all.size(); ++k) all[k].data = buffers[k];
  call_reference(*op, {*params, std::span(all).first(num_inputs), std::span(all).subspan(num_inputs)});
}

void CpuExecutable::run_control(const NativeCode& code, const Step& s, void* const* addresses) const {
  SmallArray<void*, 32> buffers(s.buffers.size());
  for (std::size_t k = 0; k < s.buffers.size(); ++k) buffers[k] = addresses[s.buffers[k]];
  const NativeCode::Control& c = code.controls[static_cast<std::size_t>(s.number)];
  if (c.function(buffers.data(), c.table.data()) != 0) throw_failure();
}

void CpuExecutable::run_kernel(const NativeCode& code, const Step& s, void* const* addresses) const {
  const auto k = static_cast<std::size_t>(s.number);
  const auto [blocks, grain] = code.blocks[k];
  SmallArray<void*, 32> args(s.buffers.size());
  std::size_t n = 0;
  for (BufferId b : s.buffers)
    if (b >= 0) args[n++] = addresses[b];
  const KernelFunction f = code.functions[k];
  if (!f) return first_code_->interpreted[k]->run(args.data(), 0, blocks);
  if (!is_forked(blocks, grain) || num_threads() == 1 || in_parallel_region()) {
    f(args.data(), 0, blocks);
    return;
  }
  const std::int64_t each = blocks_of_task(blocks, grain, num_threads());
  parallel_for((blocks + each - 1) / each, [&, all = blocks](std::int64_t i) { f(args.data(), i * each, std::min((i + 1) * each, all)); });
}

}  // namespace weft::detail
