// Which backend serves which platform, and what core needs of the layers above it.
#include <fmt/core.h>

#include "backends/cpu/cpu_backend.h"
#include "backends/cuda/cuda_backend.h"
#include "backends/eager.h"
#include "backends/interp/interp.h"
#include "core/host.h"
#include "runtime/accelerator.h"
#include "runtime/blocks.h"
#include "runtime/buffer.h"
#include "runtime/device.h"
#include "runtime/mapped_program.h"
#include "runtime/processes.h"

namespace weft::detail {
namespace {

class LocalHost final : public Host {
 public:
  std::vector<Array> execute(const Primitive& op, const ParamsRef& params, std::span<const Array> inputs, std::span<const Aval> out_avals,
                             SourceLoc loc) override {
    return execute_eagerly(op, params, inputs, out_avals, loc);
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

/// A backend that also takes programs with shard_map in them.
template <class B>
class WithMaps final : public Backend {
 public:
  std::string_view platform() const override { return inner_.platform(); }
  Ref<Executable> compile(const Jaxpr& j, const CompileOptions& options) override { return compile_with_maps(inner_, j, options); }

 private:
  B inner_;
};

}  // namespace

Host& host() {
  static LocalHost host;
  return host;
}

Backend& backend(std::string_view platform) {
  static WithMaps<InterpBackend> interp;
  static WithMaps<CpuBackend> cpu;
  static WithMaps<cuda::CudaBackend> cuda;
  if (platform == "cpu") return cpu;
  if (platform == "interp") return interp;
  if (platform == "cuda") return cuda;
  throw DeviceError(fmt::format("there is no backend `{}`; there are `cpu`, `cuda` and `interp`", platform));
}

}  // namespace weft::detail
