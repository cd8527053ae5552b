// Which backend serves which platform, and what core needs of the layers above it.
#include <fmt/core.h>

#include "weft/backends/common/other_targets.h"
#include "weft/backends/cpu/cpu_backend.h"
#include "weft/backends/cuda/cuda_backend.h"
#include "weft/backends/cuda/ptx.h"
#include "weft/backends/eager.h"
#include "weft/backends/interp/interp.h"
#include "weft/core/array/host.h"
#include "weft/core/base/float_environment.h"
#include "weft/core/base/nesting.h"
#include "weft/core/base/process_wide.h"
#include "weft/runtime/host/accelerator.h"
#include "weft/runtime/host/blocks.h"
#include "weft/runtime/host/buffer.h"
#include "weft/runtime/host/device.h"
#include "weft/runtime/host/stated_schedule.h"
#include "weft/runtime/processes/processes.h"
#include "weft/runtime/sharded/mapped_program.h"

namespace weft::detail {
namespace {

class LocalHost final : public Host {
 public:
  std::vector<Array> execute(const Primitive& op, const ParamsRef& params, std::span<const Array> inputs, std::span<const Aval> out_avals,
                             SourceLoc loc) override {
    const StandardFloats floats(flush_subnormals());
    return execute_eagerly(op, params, inputs, out_avals, loc);
  }
  std::optional<std::vector<Array>> execute_program(const Jaxpr& j, std::span<const Array> inputs) override {
    const StandardFloats floats(flush_subnormals());
    return execute_program_eagerly(j, inputs);
  }
  Ref<Buffer> allocate(std::size_t bytes) override {
    const int id = default_device_id();
    return Ref<Buffer>(new HostBuffer(bytes, is_accelerator(id) ? processes().first_local() : id));
  }
  void wait(const ConcreteArray& x) override {
    if (x.buffer && !x.buffer->on_host()) accelerators().wait(x.buffer);
    if (!x.buffer)
      for (const Ref<Buffer>& b : x.shards)
        if (b && !b->on_host()) accelerators().wait(b);  // null where another process holds it
  }
  void read(const ConcreteArray& x, void* out, SourceLoc) override { read_all(x, out); }
};

/// The host's programs, of which PTX is kept on demand too.
class HostBackend final : public Backend {
 public:
  std::string_view platform() const override { return inner_.platform(); }
  Ref<Executable> compile(const Jaxpr& j, const CompileOptions& options) override {
    keep_ptx(j, options.donated, options.name);
    return inner_.compile(j, options);
  }

 private:
  CpuBackend inner_;
};

/// The host's programs, by schedules that are stated for the kernels of one program.
class ScheduledBackend final : public Backend {
 public:
  explicit ScheduledBackend(std::string_view schedules) : schedules_(schedules) {}
  std::string_view platform() const override { return inner_.platform(); }
  Ref<Executable> compile(const Jaxpr& j, const CompileOptions& options) override {
    if (std::exchange(is_used_, true))
      throw CompileError(
          fmt::format("schedule: {} runs on several devices, as several programs whose kernels have the same names; state the "
                      "schedules of the function that each device runs, compiled on its own",
                      options.name));
    return inner_.compile(j, options, schedules_);
  }

 private:
  CpuBackend inner_;
  const std::string_view schedules_;
  bool is_used_ = false;
};

/// A backend that also takes programs with shard_map in them.
template <class B>
class WithMaps final : public Backend {
 public:
  std::string_view platform() const override { return inner_.platform(); }
  Ref<Executable> compile(const Jaxpr& j, const CompileOptions& options) override {
    Ref<Executable> made;
    with_stack(kCompilerStack, [&] {
      const StandardFloats floats;  // constants are folded
      made = compile_with_maps(inner_, j, options);
    });
    return made;
  }

 private:
  B inner_;
};

/// The backends by their platforms: a new one is a row here.
struct NamedBackend {
  std::string_view platform;
  Backend& (*get)();
};
template <class B>
Backend& the_backend() {
  static auto& one = process_wide<WithMaps<B>>();
  return one;
}
constexpr NamedBackend backends[] = {
    {"cpu", the_backend<HostBackend>}, {"cuda", the_backend<cuda::CudaBackend>}, {"interp", the_backend<InterpBackend>}};

}  // namespace

Host& host() {
  static auto& host = process_wide<LocalHost>();
  return host;
}

Backend& backend(std::string_view platform) {
  for (const NamedBackend& b : backends)
    if (b.platform == platform) return b.get();
  std::string names;
  for (const NamedBackend& b : backends) names += fmt::format("{}'{}'", names.empty() ? "" : ", ", b.platform);
  throw DeviceError(fmt::format("unknown backend '{}'; available: {}", platform, names));
}

Ref<Executable> compile_scheduled(std::string_view platform, const Jaxpr& j, const CompileOptions& options, std::string_view schedules) {
  ScheduledBackend scheduled(schedules);
  if (platform != scheduled.platform())
    throw CompileError(fmt::format("schedule: {} is compiled for '{}'; schedules are stated for programs of '{}'", options.name, platform,
                                   scheduled.platform()));
  Ref<Executable> made;
  with_stack(kCompilerStack, [&] {
    const StandardFloats floats;
    made = compile_with_maps(scheduled, j, options);
  });
  return made;
}

std::span<const TargetText> other_target_texts() {
  static constexpr TargetText texts[] = {
      {"ptx", [](const Jaxpr& program, const std::vector<bool>& donated) { return ptx_text(program, donated, default_gpu_target(), ""); }}};
  return texts;
}

}  // namespace weft::detail
