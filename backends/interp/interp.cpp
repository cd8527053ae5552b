#include "weft/backends/interp/interp.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "weft/backends/common/reference_call.h"
#include "weft/core/array/array_lists.h"
#include "weft/core/base/float_environment.h"
#include "weft/core/base/nesting.h"
#include "weft/core/base/process_wide.h"
#include "weft/core/ir/sealed_program.h"
#include "weft/core/ir/walk.h"
#include "weft/core/ops/control/call.h"
#include "weft/core/ops/control/control_run.h"
#include "weft/core/trace/trace.h"
#include "weft/runtime/host/accelerator.h"
#include "weft/runtime/host/blocks.h"
#include "weft/runtime/host/buffer.h"
#include "weft/runtime/host/device.h"
#include "weft/runtime/host/nan_check.h"
#include "weft/runtime/processes/process_local.h"
#include "weft/runtime/processes/processes.h"
#include "weft/runtime/sharded/spmd.h"

namespace weft::detail {
namespace {

/// The elements as reference() reads them. Literals are in the array object itself, which the caller keeps.
HostTensor tensor_of(const Array& x) { return {x.aval(), const_cast<void*>(host_data(x))}; }

/// What was computed on the host goes to the device.
std::vector<Array> sent(std::vector<Array> results, int device) {
  for (Array& r : results)
    if (const ConcreteArray* c = as_concrete(r); c && c->buffer && c->buffer->on_host())
      r = wrap_buffer(r.aval(), moved(c->buffer, device));
  return results;
}

std::vector<Array> run_reference(const Primitive& op, const ParamsRef& params, std::span<const Array> inputs,
                                 std::span<const Aval> out_avals, int device, SourceLoc loc) {
  if (is_accelerator(device)) {
    const int host = processes().first_local();
    return sent(run_reference(op, params, fetched(inputs, host), out_avals, host, loc), device);
  }
  if (any_beyond_host(inputs)) return run_reference(op, params, fetched(inputs, device), out_avals, device, loc);
  std::vector<HostTensor> in, out;
  for (const Array& x : inputs) in.push_back(tensor_of(x));
  std::vector<Array> results;
  for (const Aval& aval : out_avals) {
    Ref<Buffer> buffer(new HostBuffer(static_cast<std::size_t>(aval.bytes()), device));
    out.push_back({aval, buffer->data()});
    results.push_back(wrap_buffer(aval, std::move(buffer)));
  }
  call_reference(op, {*params, in, out});
  if (config.debug_nans) check_made_finite(op, in, out, loc);
  return results;
}

class InterpExecutable final : public Executable {
 public:
  explicit InterpExecutable(const Jaxpr& j) : jaxpr_(j) {}
  std::vector<Array> call(std::span<const Array> inputs, int device) override {
    const StandardFloats floats(flush_subnormals());
    return interpret(jaxpr_, inputs, device);
  }
  std::string as_text(std::string_view form) const override {
    if (form == "jaxpr") return jaxpr_.to_string();
    throw CompileError(fmt::format("as_text: the interpreter has no form `{}`; it has `jaxpr`", form));
  }
  CostAnalysis cost_analysis() const override {
    CostAnalysis cost;
    const JaxprData& d = jaxpr_.data();
    for (const Eqn& e : d.eqns) {
      for (Atom a : e.inputs) cost.bytes_accessed += static_cast<double>(d.aval(a).bytes());
      for (Var v : e.outputs) {
        cost.bytes_accessed += static_cast<double>(d.avals[v].bytes());
        if (d.avals[v].dtype.is_inexact() && e.op->kind == Kind::elementwise) cost.flops += static_cast<double>(d.avals[v].size());
      }
    }
    return cost;
  }
  MemoryAnalysis memory_analysis() const override {
    MemoryAnalysis m;
    for (const Aval& a : jaxpr_.data().input_avals()) m.argument_size_in_bytes += a.bytes();
    for (const Aval& a : jaxpr_.data().output_avals()) m.output_size_in_bytes += a.bytes();
    return m;
  }
  Object export_object(const ObjectRequest& request) const override {
    throw CompileError("export_object: " + request.name +
                       " was compiled by the interpreter, which makes no machine code; compile it for `cpu`");
  }

 private:
  Jaxpr jaxpr_;
};

}  // namespace

std::vector<Array> interpret_eqn(const Primitive& op, const ParamsRef& params, std::span<const Array> inputs,
                                 std::span<const Aval> out_avals, int device, SourceLoc loc) {
  if (op.reference) return run_reference(op, params, inputs, out_avals, device, loc);
  switch (op.kind) {
    case Kind::call: return interpret(executed_body(op, *params, avals_of(inputs)), inputs, device, loc);
    case Kind::control:
      return run_control(op, *params, inputs, [&](const Jaxpr& j, std::span<const Array> args) { return interpret(j, args, device, loc); });
    case Kind::spmd: {
      if (process_move(op)) return {run_process_local(op, *params, inputs[0], loc)};
      static auto& segments = process_wide<InterpBackend>();
      std::vector<Array> results = spmd_program(params, segments)->run(inputs, loc);
      for (Array& x : results)
        if (x.is_fully_addressable()) x = wrap_buffer(x.aval(), whole_of(x, device));
      return results;
    }
    default: throw Error(fmt::format("{}: has no reference implementation that the interpreter could run", op.name), loc);
  }
}

std::vector<Array> interpret(const Jaxpr& j, std::span<const Array> inputs, int device, SourceLoc caller) {
  if (is_accelerator(device)) {
    const int host = processes().first_local();
    return sent(interpret(j, fetched(inputs, host), host, caller), device);
  }
  std::vector<Aval> out_avals;
  return walk(j, inputs, [&](const Eqn& e, std::span<const Array> in) {
    out_avals.clear();
    for (Var v : e.outputs) out_avals.push_back(j.data().avals[v]);
    return interpret_eqn(*e.op, e.params, in, out_avals, device, e.loc ? e.loc : caller);
  });
}

Ref<Executable> InterpBackend::compile(const Jaxpr& j, const CompileOptions&) { return Ref<Executable>(new InterpExecutable(j)); }

}  // namespace weft::detail
