// A program as an object file with a function for C.
#include <fmt/core.h>

#include <algorithm>

#include "weft/backends/cpu/executable.h"
#include "weft/backends/cpu/object_export.h"
#include "weft/core/errors/error.h"
#include "weft/core/ir/sealed_program.h"
#include "weft/runtime/host/process_end.h"

namespace weft::detail {

Executable::Object CpuExecutable::export_object(const std::string& name) const {
  const LibraryUse use;
  // A program without products by a library and without donated inputs.
  const Plan plan = make_plan(form_program(plan_.program.jaxpr, {.vector_bytes = native_vector_bytes(), .external_products = false}, {}));
  const KernelProgram& p = plan.program;
  const JaxprData& data = p.jaxpr.data();
  using Pointer = ObjectCall::Pointer;
  ObjectConstants constants;
  std::vector<int> constant_of(p.buffers.size(), -1);
  const auto pointer = [&](BufferId b) -> Pointer {
    const BufferInfo& info = p.buffers[static_cast<std::size_t>(b)];
    switch (info.role) {
      case BufferInfo::Role::input: return {Pointer::Kind::input, info.number};
      case BufferInfo::Role::output: return {Pointer::Kind::output, info.number};
      case BufferInfo::Role::temporary: return {Pointer::Kind::arena, std::max<std::int64_t>(info.offset, 0)};
      default: break;
    }
    int& number = constant_of[static_cast<std::size_t>(b)];
    if (number < 0) number = constants.add(fixed_memory({FixedPointer::Kind::memory, &p, b}), info.aval.bytes());
    return {Pointer::Kind::constant, number};
  };
  std::vector<ObjectCall> calls;
  for (const Step& s : p.steps) {
    if (s.kind == Step::Kind::opaque)
      throw CompileError(fmt::format("export_object: {} holds a call of the library's {}, which no object file can hold", name,
                                     data.eqns[static_cast<std::size_t>(s.number)].op->name));
    if (s.kind == Step::Kind::product)
      throw CompileError("export_object: " + name + " holds a matrix product by a library, which no object file can hold");
    ObjectCall c;
    c.step = &s;
    for (BufferId b : s.buffers)
      if (b >= 0) c.args.push_back(pointer(b));
    calls.push_back(std::move(c));
  }
  // Results that are inputs, constants or other results.
  for (std::size_t k = 0; k < p.outputs.size(); ++k) {
    const ProgramOutput& o = p.outputs[k];
    const BufferInfo& info = p.buffers[static_cast<std::size_t>(o.buffer)];
    if (o.same_as < 0 && info.role == BufferInfo::Role::output && info.number == static_cast<int>(k)) continue;
    ObjectCall copy;
    copy.bytes = data.aval(data.outputs[k]).bytes();
    copy.args = {{Pointer::Kind::output, static_cast<std::int64_t>(k)}, pointer(o.buffer)};
    calls.push_back(std::move(copy));
  }
  Object object;
  object.object = object_file(name, p, plan.schedules, calls, std::move(constants), [](const FixedPointer& f) { return fixed_memory(f); });
  object.header = "#ifdef __cplusplus\nextern \"C\"\n#endif\n/* inputs: ";
  for (const Aval& a : data.input_avals()) object.header += to_string(a) + " ";
  object.header += "; outputs: ";
  for (const Aval& a : data.output_avals()) object.header += to_string(a) + " ";
  object.header += fmt::format("*/\nvoid {}(const void* const* inputs, void* const* outputs);\n", name);
  return object;
}

}  // namespace weft::detail
