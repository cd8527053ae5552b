// The calls on executables: compiling, what is known of one, running, keeping it as bytes.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "weft/frontends/pjrt/compiled.h"
#include "weft/frontends/pjrt/entries.h"
#include "weft/frontends/pjrt/outline.h"

namespace weft::pjrt {

struct ExecuteContext {};

namespace {

NamedValue cost(const char* name, double value) {
  NamedValue v{};
  v.head.struct_size = sizeof v;
  v.name = name, v.name_size = std::strlen(name), v.type = NamedValue::Type::real;
  v.real = static_cast<float>(value), v.value_size = 1;
  return v;
}

// Bytes of an executable: a mark, weft's version, and what it was compiled from. Loading compiles again; what takes time, the machine code,
// weft keeps on disk by itself.
constexpr std::string_view kMark = "weft executable 1\n";

void put(std::string& out, std::string_view part) {
  const std::uint64_t n = part.size();
  for (int i = 0; i < 8; ++i) out.push_back(static_cast<char>(n >> (8 * i) & 255u));
  out += part;
}
std::string_view get(std::string_view& rest) {
  std::uint64_t n = 0;
  if (rest.size() < 8) invalid("a serialised executable is cut short");
  for (int i = 0; i < 8; ++i) n |= std::uint64_t{static_cast<unsigned char>(rest[static_cast<std::size_t>(i)])} << (8 * i);
  rest.remove_prefix(8);
  if (n > rest.size()) invalid("a serialised executable is cut short");
  const std::string_view part = rest.substr(0, static_cast<std::size_t>(n));
  rest.remove_prefix(static_cast<std::size_t>(n));
  return part;
}

template <class T>
void give_bytes(BytesArgs<T>& a, std::string bytes) {
  auto owned = std::make_unique<std::string>(std::move(bytes));
  a.bytes = owned->data(), a.size = owned->size();
  a.owner = owned.release();
  a.release = [](void* owner) { delete static_cast<std::string*>(owner); };
}

Executable::Shardings shardings_of(const std::vector<Port>& ports) {
  Executable::Shardings out;
  for (const Port& p : ports) out.messages.push_back(sharding_message(p));
  for (const std::string& m : out.messages) out.pointers.push_back(m.data()), out.sizes.push_back(m.size());
  return out;
}
void give_shardings(ShardingsArgs& a, const Executable::Shardings& s, std::size_t count) {
  a.size = count;
  a.first = s.messages.empty() ? nullptr : s.pointers.data(), a.second = s.messages.empty() ? nullptr : s.sizes.data();
}

std::string_view view(const char* data, std::size_t size) { return size ? std::string_view(data, size) : std::string_view(); }

}  // namespace

Executable::Executable(std::shared_ptr<const Compiled> c) : compiled(std::move(c)) {
  const auto add_layout = [&](const Port& p) {
    layouts.push_back(std::make_unique<MemoryLayout>(MemoryLayout{layout_text(p.order, p.dims.size())}));
    return layouts.back().get();
  };
  for (const Port& p : compiled->results) {
    types.push_back(p.type);
    dims.insert(dims.end(), p.dims.begin(), p.dims.end());
    dim_counts.push_back(p.dims.size());
    kinds.push_back(p.memory_kind), kind_sizes.push_back(std::strlen(p.memory_kind));
    layout_pointers.push_back(add_layout(p));
  }
  for (const Port& p : compiled->arguments) argument_layout_pointers.push_back(add_layout(p));
  const auto is_ordered = [](const Port& p) { return !p.order.is_default(); };
  const bool has_layouts = std::any_of(compiled->arguments.begin(), compiled->arguments.end(), is_ordered) ||
                           std::any_of(compiled->results.begin(), compiled->results.end(), is_ordered);
  const bool is_sharded = compiled->num_devices > 1 && compiled->num_replicas() == 1;
  program = is_sharded || has_layouts ? outline_of(*compiled) : compiled->code;
  if (is_sharded) argument_shardings = shardings_of(compiled->arguments), result_shardings = shardings_of(compiled->results);
}

const std::vector<NamedValue>& Executable::costs() {
  std::call_once(costs_asked_, [&] {
    const CostAnalysis c = compiled->executable().cost_analysis();
    costs_ = {cost("flops", c.flops), cost("bytes accessed", c.bytes_accessed)};
  });
  return costs_;
}

LoadedExecutable::LoadedExecutable(Client& c, std::shared_ptr<const Compiled> program) : client(c), compiled(std::move(program)) {
  for (int id : compiled->devices) {
    devices.push_back(&client.device(id));
    if (devices.back()->is_addressable) addressable.push_back(devices.back());
  }
}

namespace calls {

void Client_Compile(CompileArgs& a) {
  auto compiled = std::make_shared<const Compiled>(*a.client, view(a.program->code, a.program->code_size),
                                                   view(a.program->format, a.program->format_size), view(a.options, a.options_size));
  a.executable = new LoadedExecutable(*a.client, std::move(compiled));
}
void Compile(CompileForTopologyArgs& a) {
  if (!a.client) not_supported("compiling without a client");
  a.executable =
      new Executable(std::make_shared<const Compiled>(*a.client, view(a.program->code, a.program->code_size),
                                                      view(a.program->format, a.program->format_size), view(a.options, a.options_size)));
}

void Executable_Destroy(ObjectArgs<Executable>& a) { delete a.object; }
void Executable_Name(TextArgs<Executable>& a) { a.text = a.object->compiled->name.c_str(), a.size = a.object->compiled->name.size(); }
void Executable_NumReplicas(ValueArgs<Executable, std::size_t>& a) {
  a.value = static_cast<std::size_t>(a.object->compiled->num_replicas());
}
void Executable_NumPartitions(ValueArgs<Executable, std::size_t>& a) {
  a.value = static_cast<std::size_t>(a.object->compiled->num_devices / a.object->compiled->num_replicas());
}
void Executable_NumOutputs(ValueArgs<Executable, std::size_t>& a) { a.value = a.object->types.size(); }
// Code is compiled, and recompiled with optimisation, while a program runs.
void Executable_SizeOfGeneratedCodeInBytes(ValueArgs<Executable, std::int64_t>& a) { a.value = 0; }
void Executable_GetCostAnalysis(CountedArgs<Executable, const NamedValue>& a) {
  const std::vector<NamedValue>& costs = a.object->costs();
  a.list = costs.data(), a.size = costs.size();
}
void Executable_OutputMemoryKinds(TwoListsArgs<Executable, const char* const, const std::size_t>& a) {
  a.size = a.object->kinds.size(), a.first = a.object->kinds.data(), a.second = a.object->kind_sizes.data();
}
void Executable_OutputElementTypes(ListArgs<Executable, ElementType>& a) {
  a.list = a.object->types.data(), a.size = a.object->types.size();
}
void Executable_OutputDimensions(TwoListsArgs<Executable, const std::int64_t, const std::size_t>& a) {
  a.size = a.object->dim_counts.size(), a.first = a.object->dims.data(), a.second = a.object->dim_counts.data();
}

// The program as it was given: no other tool reads weft's own form. For several devices or orders of memory, as seen from outside.
void Executable_OptimizedProgram(ValueArgs<Executable, ProgramText*>& a) {
  const Executable& e = *a.object;
  a.value->format = e.compiled->format.c_str(), a.value->format_size = e.compiled->format.size();
  if (a.value->code) {
    if (a.value->code_size < e.program.size()) invalid("the memory for a program is too small");
    std::memcpy(a.value->code, e.program.data(), e.program.size());
  }
  a.value->code_size = e.program.size();
}

void Executable_Fingerprint(TextArgs<Executable>& a) {
  a.text = a.object->compiled->fingerprint.c_str(), a.size = a.object->compiled->fingerprint.size();
}
void LoadedExecutable_Fingerprint(TextArgs<LoadedExecutable>& a) {
  a.text = a.object->compiled->fingerprint.c_str(), a.size = a.object->compiled->fingerprint.size();
}

void Executable_GetCompiledMemoryStats(CompiledMemoryArgs& a) {
  const MemoryAnalysis m = a.executable->compiled->executable().memory_analysis();
  a.device = {0, m.argument_size_in_bytes, m.output_size_in_bytes, m.alias_size_in_bytes, m.temp_size_in_bytes};
  a.host = {0, 0, 0, 0, 0};
  a.total = m.argument_size_in_bytes + m.output_size_in_bytes - m.alias_size_in_bytes + m.temp_size_in_bytes;
  a.peak = a.total;
}

void Executable_GetCompileOptions(BytesArgs<Executable>& a) { give_bytes(a, a.object->compiled->options_bytes); }

void Executable_Serialize(BytesArgs<const Executable>& a) {
  const Compiled& c = *a.object->compiled;
  std::string bytes(kMark);
  put(bytes, platform_version());
  put(bytes, c.format), put(bytes, c.options_bytes), put(bytes, c.code);
  give_bytes(a, std::move(bytes));
}

void Executable_DeserializeAndLoad(DeserializeArgs& a) {
  std::string_view rest = view(a.bytes, a.size);
  if (rest.substr(0, kMark.size()) != kMark) invalid("these bytes are no executable of weft's");
  rest.remove_prefix(kMark.size());
  const std::string_view version = get(rest), format = get(rest), options = get(rest), code = get(rest);
  if (version != platform_version()) invalid(fmt::format("an executable of {}, this is {}", version, platform_version()));
  auto compiled = std::make_shared<const Compiled>(*a.client, code, format, a.options ? view(a.options, a.options_size) : options);
  a.executable = new LoadedExecutable(*a.client, std::move(compiled));
}

void LoadedExecutable_Destroy(ObjectArgs<LoadedExecutable>& a) { delete a.object; }
void LoadedExecutable_GetExecutable(ValueArgs<LoadedExecutable, Executable*>& a) { a.value = new Executable(a.object->compiled); }
void LoadedExecutable_AddressableDevices(ListArgs<LoadedExecutable, Device* const>& a) {
  a.list = a.object->addressable.data(), a.size = a.object->addressable.size();
}
void LoadedExecutable_GetDeviceAssignment(BytesArgs<LoadedExecutable>& a) {
  const Compiled& c = *a.object->compiled;
  give_bytes(a, device_assignment_bytes(c.devices, c.num_replicas(), c.num_devices / c.num_replicas()));
}
void LoadedExecutable_Delete(ObjectArgs<LoadedExecutable>& a) { a.object->is_deleted = true; }
void LoadedExecutable_IsDeleted(ValueArgs<LoadedExecutable, bool>& a) { a.value = a.object->is_deleted; }

void LoadedExecutable_Execute(ExecuteArgs& a) {
  LoadedExecutable& e = *a.executable;
  if (e.is_deleted) invalid(fmt::format("{}: the executable was deleted", e.compiled->name));
  if (a.options && (a.options->num_sends > 0 || a.options->num_recvs > 0)) not_supported("send and recv to the host");
  std::vector<std::int64_t> not_donated;
  if (a.options && a.options->num_not_donated > 0)
    not_donated.assign(a.options->not_donated, a.options->not_donated + a.options->num_not_donated);
  Device* const one[] = {a.device};
  const std::span<Device* const> on = a.device ? std::span<Device* const>(one) : std::span<Device* const>(e.addressable);
  if (on.size() != a.num_devices)
    invalid(fmt::format("{}: arguments for {} devices are given, it runs on {}", e.compiled->name, a.num_devices, on.size()));
  if (a.device && e.compiled->num_devices != 1) not_supported("running a program of several devices on one of them");
  const std::shared_ptr<Progress> done = e.compiled->execute(on, a.arguments, a.num_args, a.outputs, not_donated, e.client.queue);
  if (a.complete)
    for (std::size_t d = 0; d < a.num_devices; ++d) a.complete[d] = new Event{done};
}

void ExecuteContext_Create(MadeArgs<ExecuteContext>& a) { a.made = new ExecuteContext; }
void ExecuteContext_Destroy(ObjectArgs<ExecuteContext>& a) { delete a.object; }

// Layouts: orders of dimensions.
void MemoryLayout_Destroy(ObjectArgs<MemoryLayout>& a) { delete a.object; }
void MemoryLayout_Serialize(BytesArgs<MemoryLayout>& a) { give_bytes(a, a.object->text); }
void Client_GetDefaultLayout(DefaultLayoutArgs<Client>& a) { a.layout = new MemoryLayout{layout_text({}, a.num_dims)}; }
void Topology_GetDefaultLayout(DefaultLayoutArgs<Topology>& a) { a.layout = new MemoryLayout{layout_text({}, a.num_dims)}; }
void Buffer_MemoryLayout(ValueArgs<Buffer, MemoryLayout*>& a) {
  a.value = new MemoryLayout{layout_text(a.object->order, a.object->dims.size())};
}
void Executable_GetOutputLayouts(CountedArgs<Executable, MemoryLayout*>& a) {
  a.list = a.object->layout_pointers.data(), a.size = a.object->layout_pointers.size();
}
void Executable_GetParameterLayouts(CountedArgs<Executable, MemoryLayout*>& a) {
  a.list = a.object->argument_layout_pointers.data(), a.size = a.object->argument_layout_pointers.size();
}
void Executable_ParameterShardings(ShardingsArgs& a) {
  give_shardings(a, a.object->argument_shardings, a.object->compiled->arguments.size());
}
void Executable_OutputShardings(ShardingsArgs& a) { give_shardings(a, a.object->result_shardings, a.object->compiled->results.size()); }

}  // namespace calls
}  // namespace weft::pjrt
