// Which backend serves which platform, and what core needs of the layers above it.
#include <fmt/core.h>

#include "backends/eager.h"
#include "backends/interp/interp.h"
#include "core/host.h"
#include "runtime/blocks.h"
#include "runtime/buffer.h"
#include "runtime/device.h"

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

}  // namespace

Host& host() {
  static LocalHost host;
  return host;
}

Backend& backend(std::string_view platform) {
  static InterpBackend interp;
  if (platform == "interp" || platform == "cpu") return interp;
  throw DeviceError(fmt::format("there is no backend `{}`; there are `cpu` and `interp`", platform));
}

}  // namespace weft::detail
