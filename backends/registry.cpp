// Which backend serves which platform, and the execution of single primitives for operations outside of any trace.
#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "backends/interp/interp.h"
#include "core/host.h"
#include "core/primitive.h"
#include "core/trace.h"
#include "runtime/buffer.h"
#include "runtime/device.h"

namespace weft::detail {
namespace {

InterpBackend& interp_backend() {
  static InterpBackend backend;
  return backend;
}

/// Where an operation runs: on the device that its committed operands are on, or the thread's default.
struct Target {
  int device = default_device_id();
  Ref<const Placement> placement;  ///< null: uncommitted
};
Target target_of(const Primitive& op, std::span<const Array> inputs, SourceLoc loc) {
  Target target;
  for (const Array& x : inputs) {
    const ConcreteArray* c = as_concrete(x);
    if (!c || !c->placement) continue;
    const int device = c->buffer->device_id();
    if (target.placement && target.device != device)
      throw DeviceError(fmt::format("{}: operands are committed to different devices, {} and {}; move one with device_put", op.name,
                                    Device::of_id(target.device), Device::of_id(device)),
                        loc);
    target = {device, c->placement};
  }
  return target;
}

class LocalHost final : public Host {
 public:
  std::vector<Array> execute(const Primitive& op, const ParamsRef& params, std::span<const Array> inputs, std::span<const Aval> out_avals,
                             SourceLoc loc) override {
    if (op.kind == Kind::call) {
      EagerScope eager;
      const std::vector<ParamText> list = op.params_list(*params);
      const auto body = std::find_if(list.begin(), list.end(), [](const ParamText& p) { return p.jaxpr != nullptr; });
      if (body != list.end()) return eval_jaxpr(*body->jaxpr, inputs);
    }
    const Target target = target_of(op, inputs, loc);
    std::vector<Array> results = interpret_eqn(op, params, inputs, out_avals, target.device, loc);
    if (target.placement)
      for (Array& x : results)
        x = Array(Ref<ArrayImpl>(new ConcreteArray(x.aval(), std::vector<Ref<Buffer>>{as_concrete(x)->buffer}, target.placement)));
    return results;
  }
  Ref<Buffer> allocate(std::size_t bytes) override { return Ref<Buffer>(new HostBuffer(bytes, default_device_id())); }
  void wait(const ConcreteArray&) override {}
  void read(const ConcreteArray& x, void* out, SourceLoc loc) override {
    if (!x.buffer) throw DeviceError("the array " + to_string(x.aval) + " doesn't lie in one place on the host", loc);
    std::memcpy(out, x.buffer->data(), static_cast<std::size_t>(x.aval.bytes()));
  }
};

}  // namespace

Host& host() {
  static LocalHost host;
  return host;
}

Backend& backend(std::string_view platform) {
  if (platform == "interp" || platform == "cpu") return interp_backend();
  throw DeviceError(fmt::format("there is no backend `{}`; there are `cpu` and `interp`", platform));
}

}  // namespace weft::detail
