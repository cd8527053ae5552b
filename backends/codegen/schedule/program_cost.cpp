#include "weft/backends/codegen/schedule/program_cost.h"

#include "weft/core/base/nesting.h"
#include "weft/core/ir/eqn_avals.h"
#include "weft/core/ir/rules.h"
#include "weft/core/ir/sealed_program.h"

namespace weft::detail {
namespace {

CostAnalysis cost_of(const KernelProgram& p, const KernelProgram& root) {
  check_nesting("programs inside programs", nesting_depth(p.jaxpr));
  CostAnalysis cost;
  for (const Step& s : p.steps) {
    const CostAnalysis each = step_cost(s, p, root);
    cost.flops += each.flops, cost.bytes_accessed += each.bytes_accessed;
  }
  return cost;
}

}  // namespace

CostAnalysis step_cost(const Step& s, const KernelProgram& p, const KernelProgram& root) {
  CostAnalysis cost;
  if (s.kind == Step::Kind::control) {
    const ControlStep& c = p.controls[static_cast<std::size_t>(s.number)];
    const double times = c.kind == ControlStep::Kind::scan         ? static_cast<double>(c.length)
                         : c.kind == ControlStep::Kind::while_loop ? 1
                                                                   : 1 / static_cast<double>(c.programs.size());
    for (const KernelProgram& part : c.programs) {
      const CostAnalysis each = cost_of(part, root);
      cost.flops += times * each.flops, cost.bytes_accessed += times * each.bytes_accessed;
    }
    return cost;
  }
  if (s.kind == Step::Kind::kernel) {
    const KernelCost& c = root.kernels[static_cast<std::size_t>(s.number)].cost;
    return {c.flops, c.bytes};
  }
  for (BufferId b : s.buffers)
    if (b >= 0) cost.bytes_accessed += static_cast<double>(p.buffers[static_cast<std::size_t>(b)].aval.bytes());
  if (s.kind == Step::Kind::matmul) cost.flops += root.matmuls[static_cast<std::size_t>(s.number)].flops();
  if (s.kind == Step::Kind::opaque) {
    const Eqn& e = p.jaxpr.data().eqns[static_cast<std::size_t>(s.number)];
    if (FlopsTransform::Function* const flops = find_rule<FlopsTransform>(*e.op))
      cost.flops += flops(*e.params, operand_avals(p.jaxpr.data(), e), p.jaxpr.data().avals[e.outputs[0]]);
  }
  return cost;
}

CostAnalysis program_cost(const KernelProgram& p) { return cost_of(p, p); }

MemoryAnalysis program_memory(const KernelProgram& p) {
  MemoryAnalysis m;
  for (const Aval& a : p.jaxpr.data().input_avals()) m.argument_size_in_bytes += a.bytes();
  for (const Aval& a : p.jaxpr.data().output_avals()) m.output_size_in_bytes += a.bytes();
  m.temp_size_in_bytes = p.arena_bytes;
  for (const BufferInfo& b : p.buffers)
    if (b.role == BufferInfo::Role::output && b.reuses_input >= 0) m.alias_size_in_bytes += b.aval.bytes();
  return m;
}

}  // namespace weft::detail
