#include "weft/backends/cuda/executable.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <exception>

#include "weft/backends/codegen/planner/simplify.h"
#include "weft/backends/codegen/schedule/program_cost.h"
#include "weft/backends/common/code_cache.h"
#include "weft/backends/common/native_step.h"
#include "weft/backends/common/overwritten_inputs.h"
#include "weft/backends/common/reference_call.h"
#include "weft/backends/cuda/cuda_backend.h"
#include "weft/backends/cuda/expand.h"
#include "weft/backends/cuda/graph_memory.h"
#include "weft/backends/cuda/libraries/nvtx.h"
#include "weft/core/base/environment.h"
#include "weft/core/base/float_environment.h"
#include "weft/core/base/nesting.h"
#include "weft/core/errors/error.h"
#include "weft/core/ir/eqn_avals.h"
#include "weft/core/ir/sealed_program.h"
#include "weft/runtime/host/accelerator.h"
#include "weft/runtime/host/blocks.h"
#include "weft/runtime/host/buffer.h"

namespace weft::detail::cuda {
namespace {

constexpr std::int64_t kBlocksPerMultiprocessor = 32;
constexpr int kThreadsPerMultiprocessor = 2048;
constexpr int kWorthCapturing = 3;      // launches
constexpr int kMaxCaptured = 4096;      // launches of one graph
constexpr std::size_t kGraphsKept = 4;  // of a program on a device

bool has_conditions(const KernelProgram& p) {
  return std::any_of(p.controls.begin(), p.controls.end(), [](const ControlStep& c) {
    return c.kind != ControlStep::Kind::scan || std::any_of(c.programs.begin(), c.programs.end(), &has_conditions);
  });
}

/// The number of launches and copies of the program, counting value-dependent loops once; -1: it needs the host.
int launches_of(const KernelProgram& p, const GpuCode& code) {
  check_nesting("programs inside programs", nesting_depth(p.jaxpr));
  int n = static_cast<int>(p.outputs.size());
  for (const Step& s : p.steps) {
    switch (s.kind) {
      case Step::Kind::kernel: n += static_cast<int>(code.kernels[static_cast<std::size_t>(s.number)].size()); break;
      case Step::Kind::matmul: ++n; break;
      case Step::Kind::opaque: {
        const Eqn& e = p.jaxpr.data().eqns[static_cast<std::size_t>(s.number)];
        const int launches = device_launches(e, operand_avals(p.jaxpr.data(), e));
        if (launches < 0) return -1;
        n += launches;
        break;
      }
      case Step::Kind::control: {
        const ControlStep& c = p.controls[static_cast<std::size_t>(s.number)];
        const bool scan = c.kind == ControlStep::Kind::scan;
        if (scan ? c.length > kMaxCaptured : !driver().has_conditions) return -1;
        for (const KernelProgram& part : c.programs) {
          const int body = launches_of(part, code);
          if (body < 0) return -1;
          // A loop evaluates its condition at two places and copies its carry; each branch has a kernel for its condition.
          n += scan ? static_cast<int>(c.length) * body : 2 * (body + 1) + c.num_carry;
        }
      }
    }
    if (n > kMaxCaptured) return -1;
  }
  return n;
}

/// Without a library, matmuls are kernels.
KernelProgram plan(const SimplifiedProgram& simplified, const std::vector<bool>& donated) {
  TargetTraits traits = gpu_traits();
  KernelProgram p = form_program(simplified, traits, donated);
  if (p.matmuls.empty() || has_matmuls()) return p;
  traits.matmuls_by_library = false;
  return form_program(simplified, traits, donated);
}

std::vector<std::byte> bytes_of(const Array& x) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(x.aval().bytes()));
  if (const LiteralArray* l = as_literal(x))
    std::memcpy(bytes.data(), l->bits.data(), bytes.size());
  else
    read_all(*as_concrete(x), bytes.data());
  return bytes;
}

/// The user's line of the first result of the program that the step computes; of its first operation, if it computes none.
SourceLoc line_of(const KernelProgram& p, const Step& s) {
  const JaxprData& data = p.jaxpr.data();
  for (BufferId b : s.buffers) {
    if (b < 0 || p.buffers[static_cast<std::size_t>(b)].role != BufferInfo::Role::output) continue;
    const Atom result = data.outputs[static_cast<std::size_t>(p.buffers[static_cast<std::size_t>(b)].number)];
    for (const Eqn& e : data.eqns)
      if (!result.is_literal() && std::count(e.outputs.begin(), e.outputs.end(), result.var()) > 0 && e.loc) return e.loc;
  }
  for (const Eqn& e : data.eqns)
    if (e.loc) return e.loc;
  return {};
}

bool synchronous() {
  static const bool on = is_switched_on("WEFT_CUDA_SYNC");
  return on;
}

std::int64_t blocks_for(const GpuSchedule& s, const GpuDevice& d) {
  // Each block has scratch memory of its own: no more of them than run at once.
  const std::int64_t each = s.workspace && !s.common_scratch ? std::max(1, kThreadsPerMultiprocessor / s.threads)
                                                             : kBlocksPerMultiprocessor * std::max(1, 256 / s.threads);
  return std::max<std::int64_t>(1, std::min(s.blocks(), d.multiprocessors() * each));
}
std::int64_t workspace_for(const GpuSchedule& s, const GpuDevice& d) {
  if (!s.workspace) return 0;
  if (s.common_scratch) return s.scratch;
  return (s.scratch + 255) / 256 * 256 * (blocks_for(s, d) * s.threads / s.team);
}

}  // namespace

namespace {

/// Machine code, by the driver's assembler.
std::string assemble(const std::string& image, const std::string& what) {
  const Driver& d = driver();
  char log[4096] = {};
  int options[] = {kJitErrorLog, kJitErrorLogBytes};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
  LinkState state = nullptr;
  check(d.cuLinkCreate_v2(2, options, values, &state), "cuLinkCreate", what);
  const char* call = "cuLinkAddData";
  // With the zero at its end.
  Result r = d.cuLinkAddData_v2(state, kInputPtx, const_cast<char*>(image.c_str()), image.size() + 1, "weft", 0, nullptr, nullptr);
  void* code = nullptr;
  std::size_t bytes = 0;
  if (r == kSuccess) call = "cuLinkComplete", r = d.cuLinkComplete(state, &code, &bytes);
  std::string assembled;
  if (r == kSuccess) assembled.assign(static_cast<const char*>(code), bytes);
  d.cuLinkDestroy(state);  // the code is its own
  check(r, call, *log ? what + ": " + log : what);
  return assembled;
}

}  // namespace

LoadedCode::LoadedCode(GpuDevice& device, const GpuCode& code, const std::string& name) : device_(device) {
  if (code.kernels.empty() && code.others.empty()) return;
  device.enter();
  const Driver& d = driver();
  const std::string what = fmt::format("{}: loading the kernels of {}", device.label(), name);
  const std::string assembled = CodeCache::of_process().get(
      {"machine code 1", device.name(), std::to_string(device.target().architecture), std::to_string(d.version), code.image},
      [&] { return assemble(code.image, what); });
  check(d.cuModuleLoadDataEx(&module_, assembled.data(), 0, nullptr, nullptr), "cuModuleLoadDataEx", what);
  try {
    for (const auto& launches : code.kernels) {
      kernels.emplace_back();
      for (const GpuFunction& f : launches) {
        kernels.back().emplace_back();
        check(d.cuModuleGetFunction(&kernels.back().back(), module_, f.name.c_str()), "cuModuleGetFunction",
              fmt::format("{}: {} of {}", device.label(), f.name, name));
      }
    }
    for (const auto& [own, full] : code.others)
      check(d.cuModuleGetFunction(&others[own], module_, full.c_str()), "cuModuleGetFunction",
            fmt::format("{}: {} of {}", device.label(), full, name));
  } catch (...) {
    d.cuModuleUnload(module_);
    throw;
  }
}

LoadedCode::~LoadedCode() {
  if (!module_) return;
  device_.enter_to_destroy();
  const std::lock_guard lock(device_.order());
  driver().cuStreamSynchronize(device_.stream());
  driver().cuModuleUnload(module_);
}

namespace {
void forget(const CapturedGraph& g) {
  if (g.graph) driver().cuGraphExecDestroy(g.graph);
  if (g.source) driver().cuGraphDestroy(g.source);
}
}  // namespace

GpuExecutable::OnDevice::~OnDevice() {
  device->enter_to_destroy();
  const std::lock_guard lock(device->order());
  if (!graphs.empty() || !steps.empty()) driver().cuStreamSynchronize(device->stream());  // libraries may work with the host's memory
  for (const CapturedGraph& g : graphs) forget(g);
  for (const auto& [pointer, bytes] : owned) device->release(pointer, bytes);
}

GpuExecutable::GpuExecutable(const Jaxpr& j, const CompileOptions& options, const GpuTarget& target)
    : name_(options.name),
      program_(plan(simplify_with_names(j, &expand_for_gpu), options.donated)),
      code_(compile_for_gpu(program_, target, "")),
      has_conditions_(has_conditions(program_)),
      launches_(launches_of(program_, code_)) {
  capturable_ = launches_ >= kWorthCapturing && !synchronous();
}

GpuExecutable::~GpuExecutable() = default;

GpuExecutable::OnDevice& GpuExecutable::on(GpuDevice& device) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<OnDevice>& d = on_[device.id()];
  if (d) return *d;
  auto made = std::make_unique<OnDevice>();
  made->device = &device;
  made->code = std::make_unique<LoadedCode>(device, code_, name_);
  const auto take = [&](std::int64_t bytes, const char* what) -> DevicePointer {
    if (bytes <= 0) return 0;
    const DevicePointer p = device.allocate(static_cast<std::size_t>(bytes), fmt::format("{} of {}", what, name_));
    made->owned.emplace_back(p, bytes);
    return p;
  };
  for (const MatmulStep& p : program_.matmuls) made->matmuls.push_back(make_matmul(device, p, name_));
  made->arena = take(program_.arena_bytes, "temporaries");
  std::int64_t workspace = 0;
  for (const auto& kernel : code_.kernels)
    for (const GpuFunction& f : kernel) workspace = std::max(workspace, workspace_for(f.schedule, device));
  add_steps(*made, program_);
  for (const auto& [place, step] : made->steps) workspace = std::max(workspace, step->workspace_bytes());
  made->workspace = take(workspace, "scratch memory");
  add_fixed(*made, program_);
  d = std::move(made);
  return *d;
}

void GpuExecutable::add_fixed(OnDevice& d, const KernelProgram& p) {
  check_nesting("programs inside programs", nesting_depth(p.jaxpr));
  const JaxprData& data = p.jaxpr.data();
  for (std::size_t b = 0; b < p.buffers.size(); ++b) {
    const BufferInfo& info = p.buffers[b];
    if (info.role != BufferInfo::Role::constant && info.role != BufferInfo::Role::literal) continue;
    const auto bytes = static_cast<std::size_t>(info.aval.bytes());
    const auto number = static_cast<std::size_t>(info.number);
    const DevicePointer at = d.device->allocate(bytes, fmt::format("constants of {}", name_));
    d.owned.emplace_back(at, bytes);
    std::vector<std::byte> host(bytes);
    if (info.role == BufferInfo::Role::literal)
      std::memcpy(host.data(), data.literals[number].bits.data(), bytes);
    else
      host = bytes_of(data.consts[number]);
    d.device->upload(at, host.data(), bytes);
    d.fixed[{&p, static_cast<BufferId>(b)}] = at;
  }
  for (const ControlStep& c : p.controls)
    for (const KernelProgram& part : c.programs) add_fixed(d, part);
}

void GpuExecutable::add_steps(OnDevice& d, const KernelProgram& p) {
  check_nesting("programs inside programs", nesting_depth(p.jaxpr));
  for (const Step& s : p.steps) {
    if (s.kind != Step::Kind::opaque) continue;
    const JaxprData& data = p.jaxpr.data();
    const Eqn& e = data.eqns[static_cast<std::size_t>(s.number)];
    if (auto step = make_device_step(*d.device, d.code->others, e, operand_avals(data, e), result_avals(data, e), name_))
      d.steps[{&p, s.number}] = std::move(step);
  }
  for (const ControlStep& c : p.controls)
    for (const KernelProgram& part : c.programs) add_steps(d, part);
}

std::vector<Array> GpuExecutable::call(std::span<const Array> inputs, int device) {
  const StandardFloats floats;
  const ProfilerRange range(name_.c_str());
  const JaxprData& data = program_.jaxpr.data();
  if (inputs.size() != static_cast<std::size_t>(data.num_inputs))
    throw Error(fmt::format("{}: internal error: called with {} inputs, compiled for {}", name_, inputs.size(), data.num_inputs));
  GpuDevice& gpu = device_of(device);
  OnDevice& d = on(gpu);
  // The inputs, copied to this device if they are elsewhere.
  std::vector<Ref<Buffer>> here(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) here[i] = buffer_on(inputs[i], device);
  std::vector<Ref<Buffer>> results(program_.outputs.size());
  Addresses at(program_.buffers.size());
  const auto address = [](const Ref<Buffer>& b) { return static_cast<GpuBuffer&>(*b).pointer(); };
  for (std::size_t b = 0; b < program_.buffers.size(); ++b) {
    const BufferInfo& info = program_.buffers[b];
    const auto number = static_cast<std::size_t>(info.number);
    switch (info.role) {
      case BufferInfo::Role::input: at[b] = address(here[number]); break;
      case BufferInfo::Role::constant:
      case BufferInfo::Role::literal: at[b] = d.fixed.at({&program_, static_cast<BufferId>(b)}); break;
      case BufferInfo::Role::temporary: at[b] = d.arena + static_cast<DevicePointer>(std::max<std::int64_t>(info.offset, 0)); break;
      case BufferInfo::Role::output: {
        Ref<Buffer>& r = results[number];
        r = info.reuses_input >= 0 ? here[static_cast<std::size_t>(info.reuses_input)]
                                   : Ref<Buffer>(new GpuBuffer(gpu, static_cast<std::size_t>(info.aval.bytes())));
        at[b] = address(r);
        break;
      }
    }
  }
  try {
    const std::lock_guard lock(gpu.order());
    gpu.enter();                             // inputs may have come from other devices
    if (GraphMemory* supply = gpu.supply())  // whoever supplies captures
      run_supplied(d, at, *supply);
    else if (capturable_)
      run_captured(d, at);
    else
      run_steps(d, program_, at);
  } catch (...) {
    drop_overwritten_inputs(program_, program_.steps.size(), inputs);
    throw;
  }
  std::vector<Array> out;
  for (std::size_t k = 0; k < program_.outputs.size(); ++k) {
    const ProgramOutput& o = program_.outputs[k];
    const BufferInfo& info = program_.buffers[static_cast<std::size_t>(o.buffer)];
    const Aval& aval = data.aval(data.outputs[k]);
    if (o.same_as >= 0 && out[static_cast<std::size_t>(o.same_as)].aval() == aval) {
      out.push_back(out[static_cast<std::size_t>(o.same_as)]);
    } else if (info.role == BufferInfo::Role::output) {
      out.push_back(wrap_buffer(aval, results[static_cast<std::size_t>(info.number)]));
    } else if (info.role == BufferInfo::Role::input) {
      out.push_back(wrap_buffer(aval, here[static_cast<std::size_t>(info.number)]));
    } else {
      Ref<Buffer> copied(new GpuBuffer(gpu, static_cast<std::size_t>(aval.bytes())));
      const std::lock_guard lock(gpu.order());
      copy(d, address(copied), at[static_cast<std::size_t>(o.buffer)], aval.bytes());
      out.push_back(wrap_buffer(aval, std::move(copied)));
    }
  }
  return out;
}

/// As a part of a mapped program.
void GpuExecutable::run_supplied(OnDevice& d, const Addresses& at, GraphMemory& supply) {
  if (launches_ < 0)
    supply.needs_host();
  else
    supply.launched(launches_);
  d.capturing = supply.mode() == GraphMemory::Mode::capturing;
  if (has_conditions_ && launches_ >= 0 && !d.capturing) {
    supply.uses_conditions();
    d.device->condition_kernels();  // modules are not loaded while a stream is captured
  }
  try {
    run_steps(d, program_, at);
  } catch (...) {
    d.capturing = false;
    throw;
  }
  d.capturing = false;
}

/// A call whose arrays have the addresses of an earlier call replays its graph. The pool reuses memory, so training loops repeat their
/// addresses after a step or two.
void GpuExecutable::run_captured(OnDevice& d, const Addresses& at) {
  const Driver& cu = driver();
  const Stream stream = d.device->stream();
  const auto known = std::find_if(d.graphs.begin(), d.graphs.end(), [&](const CapturedGraph& g) { return g.addresses == at; });
  if (known == d.graphs.end()) {
    if (d.graphs.size() == kGraphsKept) {
      if (d.graphs.back().graph) {
        check(cu.cuStreamSynchronize(stream), "cuStreamSynchronize", name_);
        forget(d.graphs.back());
      }
      d.graphs.pop_back();
    }
    d.graphs.insert(d.graphs.begin(), {at, nullptr});
    run_steps(d, program_, at);
    return;
  }
  std::rotate(d.graphs.begin(), known, known + 1);
  CapturedGraph& g = d.graphs.front();
  if (!g.graph && !capture(d, at, g)) {
    run_steps(d, program_, at);
    return;
  }
  check(cu.cuGraphLaunch(g.graph, stream), "cuGraphLaunch", name_);
}

/// Returns false if the driver can't capture part of the program, which is then launched step by step from now on.
bool GpuExecutable::capture(OnDevice& d, const Addresses& at, CapturedGraph& g) {
  const Driver& cu = driver();
  const Stream stream = d.device->stream();
  if (has_conditions_) d.device->condition_kernels();  // modules are not loaded while a stream is captured
  check(cu.cuStreamBeginCapture_v2(stream, kCaptureThreadLocal), "cuStreamBeginCapture", name_);
  Graph graph = nullptr;
  std::exception_ptr problem;
  d.capturing = true;
  try {
    run_steps(d, program_, at);
  } catch (...) {
    problem = std::current_exception();
  }
  d.capturing = false;
  const auto give_up = [&](const char* call, Result r) {
    const char* why = nullptr;
    cu.cuGetErrorName(r, &why);
    fmt::print(stderr, "weft: warning: {}: {} is not replayed as a CUDA graph: {} gives {}\n", d.device->label(), name_, call,
               why ? why : "an unknown code");
    capturable_ = false;
    return false;
  };
  const Result ended = cu.cuStreamEndCapture(stream, &graph);
  if (ended >= kCaptureUnsupported && ended <= kCaptureLast) return give_up("cuStreamEndCapture", ended);
  if (problem) {
    if (graph) cu.cuGraphDestroy(graph);
    std::rethrow_exception(problem);
  }
  check(ended, "cuStreamEndCapture", name_);
  const Result r = cu.cuGraphInstantiateWithFlags(&g.graph, graph, 0);
  if (r == kSuccess && has_conditions_)
    g.source = graph;
  else
    cu.cuGraphDestroy(graph);
  if (r != kSuccess) g.graph = nullptr;
  if (r == kNotSupported && has_conditions_) return give_up("cuGraphInstantiate", r);
  check(r, "cuGraphInstantiateWithFlags", name_);
  return true;
}

void GpuExecutable::run_steps(OnDevice& d, const KernelProgram& p, const Addresses& at) {
  for (const Step& s : p.steps) {
    switch (s.kind) {
      case Step::Kind::kernel: launch(d, p, s, at); break;
      case Step::Kind::matmul: matmul(d, p, s, at); break;
      case Step::Kind::opaque: opaque(d, p, s, at); break;
      case Step::Kind::control: control(d, p, s, at); break;
    }
  }
}

void GpuExecutable::launch(OnDevice& d, const KernelProgram& p, const Step& s, const Addresses& at) {
  std::vector<DevicePointer> args;
  for (BufferId b : s.buffers)
    if (b >= 0) args.push_back(at[static_cast<std::size_t>(b)]);
  args.push_back(d.workspace);
  std::vector<void*> parameters;
  for (DevicePointer& a : args) parameters.push_back(&a);
  parameters.push_back(nullptr);  // as a mark: the driver knows how many there are
  const auto k = static_cast<std::size_t>(s.number);
  for (std::size_t i = 0; i < code_.kernels[k].size(); ++i) {
    const GpuFunction& f = code_.kernels[k][i];
    const auto what = [&] { return fmt::format("{}: {} of {}", d.device->label(), f.name, name_); };
    const Result r =
        driver().cuLaunchKernel(d.code->kernels[k][i], static_cast<unsigned>(blocks_for(f.schedule, *d.device)), 1, 1,
                                static_cast<unsigned>(f.schedule.threads), 1, 1, 0, d.device->stream(), parameters.data(), nullptr);
    if (r != kSuccess) check(r, "cuLaunchKernel", what(), line_of(p, s));
    if (synchronous()) check(driver().cuStreamSynchronize(d.device->stream()), "cuStreamSynchronize", what(), line_of(p, s));
  }
}

void GpuExecutable::copy(OnDevice& d, DevicePointer to, DevicePointer from, std::int64_t bytes) {
  if (to == from || bytes <= 0) return;
  check(driver().cuMemcpyDtoDAsync_v2(to, from, static_cast<std::size_t>(bytes), d.device->stream()), "cuMemcpyDtoDAsync",
        fmt::format("{}: {}", d.device->label(), name_));
}

void GpuExecutable::matmul(OnDevice& d, const KernelProgram& p, const Step& s, const Addresses& at) {
  const auto address = [&](std::size_t i) { return at[static_cast<std::size_t>(s.buffers[i])]; };
  d.matmuls[static_cast<std::size_t>(s.number)]->run(address(0), address(1), address(2), s.buffers.size() > 3 ? address(3) : 0,
                                                     [&] { return line_of(p, s); });
}

/// An equation without an implementation on the device runs on the host: operands and results are copied.
void GpuExecutable::opaque(OnDevice& d, const KernelProgram& p, const Step& s, const Addresses& at) {
  if (const auto own = d.steps.find({&p, s.number}); own != d.steps.end()) {
    Addresses places;
    for (BufferId b : s.buffers) places.push_back(at[static_cast<std::size_t>(b)]);
    return own->second->run(places, d.workspace, [&] {
      const SourceLoc own_line = p.jaxpr.data().eqns[static_cast<std::size_t>(s.number)].loc;
      return own_line ? own_line : line_of(p, s);
    });
  }
  const Eqn& e = p.jaxpr.data().eqns[static_cast<std::size_t>(s.number)];
  std::vector<std::vector<std::byte>> memory;
  std::vector<HostTensor> tensors;
  std::vector<Aval> avals;
  for (std::size_t i = 0; i < s.buffers.size(); ++i) {
    const auto b = static_cast<std::size_t>(s.buffers[i]);
    // A buffer that a result shares in another shape has the shape of the equation that computes it.
    avals.push_back(i < e.inputs.size() ? p.jaxpr.data().aval(e.inputs[i]) : p.jaxpr.data().avals[e.outputs[i - e.inputs.size()]]);
    const auto bytes = static_cast<std::size_t>(avals.back().bytes());
    memory.emplace_back(bytes + 64);
    auto* data = reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(memory.back().data()) + 63) / 64 * 64);
    if (i < e.inputs.size()) d.device->download(data, at[b], bytes);
    tensors.push_back({avals.back(), data});
  }
  const auto operands = std::span(tensors).first(e.inputs.size()), results = std::span(tensors).subspan(e.inputs.size());
  if (const auto native =
          make_native_step(*e.op, *e.params, std::span(avals).first(e.inputs.size()), std::span(avals).subspan(e.inputs.size()))) {
    std::vector<void*> addresses;
    for (const HostTensor& t : tensors) addresses.push_back(t.data);
    native->run(addresses);
  } else {
    call_reference(*e.op, {*e.params, operands, results});
  }
  for (std::size_t i = e.inputs.size(); i < s.buffers.size(); ++i)
    d.device->upload(at[static_cast<std::size_t>(s.buffers[i])], tensors[i].data, static_cast<std::size_t>(avals[i].bytes()));
}

std::string GpuExecutable::as_text(std::string_view form) const {
  if (form == "jaxpr") return program_.jaxpr.to_string();
  if (form == "kernels") return to_string(program_);
  if (form == "ptx") return code_.image;
  if (form == "llvm") return gpu_llvm_text(program_, on_.empty() ? default_gpu_target() : on_.begin()->second->device->target());
  throw CompileError(fmt::format("as_text: unknown form `{}`; available: `jaxpr`, `kernels`, `llvm`, `ptx`", form));
}

CostAnalysis GpuExecutable::cost_analysis() const { return program_cost(program_); }

MemoryAnalysis GpuExecutable::memory_analysis() const { return program_memory(program_); }

Object GpuExecutable::export_object(const ObjectRequest& request) const {
  throw CompileError("export_object: " + request.name + " was compiled for a GPU, whose code no object file holds; compile it for `cpu`");
}

Ref<Executable> CudaBackend::compile(const Jaxpr& j, const CompileOptions& options) {
  const std::vector<GpuDevice*>& all = devices();
  if (all.empty()) throw DeviceError("cuda: " + accelerators().why_none());
  // Code that all devices run.
  const GpuDevice& oldest = **std::min_element(
      all.begin(), all.end(), [](const GpuDevice* a, const GpuDevice* b) { return a->target().architecture < b->target().architecture; });
  return Ref<Executable>(new GpuExecutable(j, options, oldest.target()));
}

}  // namespace weft::detail::cuda
