#include "weft/backends/common/overwritten_inputs.h"

#include "weft/core/array/array_impl.h"
#include "weft/core/trace/trace.h"

namespace weft::detail {

void drop_overwritten_inputs(const KernelProgram& program, std::size_t begun, std::span<const Array> inputs) {
  for (std::size_t i = 0; i < begun; ++i)
    for (BufferId b : program.steps[i].buffers) {
      const int input = b < 0 ? -1 : program.buffers[static_cast<std::size_t>(b)].reuses_input;
      if (input < 0) continue;
      const Array& x = inputs[static_cast<std::size_t>(input)];
      if (!as_concrete(x)) continue;
      auto* c = static_cast<ConcreteArray*>(x.impl().get());
      c->shards.clear(), c->buffer = {};
    }
}

}  // namespace weft::detail
