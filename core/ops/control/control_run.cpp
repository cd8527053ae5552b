#include "weft/core/ops/control/control_run.h"

#include "weft/core/array/array_impl.h"
#include "weft/core/array/host.h"
#include "weft/core/errors/error.h"

namespace weft::detail {

const std::byte* bytes_of(const Array& x, std::vector<std::byte>& storage) {
  if (const LiteralArray* literal = as_literal(x)) return literal->bits.data();
  const ConcreteArray& c = *as_concrete(x);
  host().wait(c);
  if (c.buffer && c.buffer->on_host()) return static_cast<const std::byte*>(c.buffer->data());
  storage.resize(static_cast<std::size_t>(c.aval.bytes()));
  host().read(c, storage.data(), {});
  return storage.data();
}

std::vector<Array> run_control(const Primitive& op, const ParamsBase& params, std::span<const Array> in, const ProgramRunner& run) {
  RunTransform::Function* const rule = find_rule<RunTransform>(op);
  if (!rule) throw Error(std::string(op.name) + ": not a control-flow operation that can be executed");
  return rule(params, in, run);
}

}  // namespace weft::detail
