// Which backend serves which platform, and what core needs of the layers above it.
#include <fmt/core.h>

#include "backends/cpu/cpu_backend.h"
#include "backends/eager.h"
#include "backends/interp/interp.h"
#include "core/host.h"
#include "runtime/blocks.h"
#include "runtime/buffer.h"
#include "runtime/device.h"
#include "runtime/mapped_program.h"

namespace weft::detail {
namespace {

class LocalHost final : public Host {
 public:
  std::vector<Array> execute(const Primitive& op, const ParamsRef& params, std::span<const Array> inputs, std::span<const Aval> out_avals,
                             SourceLoc loc) override {
    return execute_eagerly(op, params, inputs, out_avals, loc);
  }
  Ref<Buffer> allocate(std::size_t bytes) override { return Ref<Buffer>(new HostBuffer(bytes, default_device_id())); }
  void wait(const ConcreteArray&) override {}
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
  if (platform == "cpu") return cpu;
  if (platform == "interp") return interp;
  throw DeviceError(fmt::format("there is no backend `{}`; there are `cpu` and `interp`", platform));
}

}  // namespace weft::detail
