// From a simplified program to kernels, steps and memory: prepares updates in place, forms kernels, plans memory.
#include "weft/backends/codegen/planner/planner.h"
#include "weft/backends/codegen/planner/update_order.h"
#include "weft/backends/codegen/planner/window_updates.h"
#include "weft/core/base/nesting.h"
#include "weft/core/ir/sealed_program.h"

namespace weft::detail {
namespace {

template <class F>
void for_each_kernel_step(KernelProgram& p, const F& f) {
  for (Step& step : p.steps) {
    if (step.kind == Step::Kind::kernel) f(step);
    if (step.kind == Step::Kind::control)
      for (KernelProgram& inner : p.controls[static_cast<std::size_t>(step.number)].programs) for_each_kernel_step(inner, f);
  }
}

/// Removes kernels that no step calls: copies between buffers that share memory.
void keep_called_kernels(KernelProgram& p) {
  std::vector<int> numbers(p.kernels.size(), -1);
  for_each_kernel_step(p, [&](Step& step) { numbers[static_cast<std::size_t>(step.number)] = 0; });
  std::vector<Kernel> called;
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    if (numbers[k] < 0) continue;
    numbers[k] = static_cast<int>(called.size());
    called.push_back(std::move(p.kernels[k]));
    called.back().name = kernel_name(numbers[k]);
  }
  for_each_kernel_step(p, [&](Step& step) { step.number = numbers[static_cast<std::size_t>(step.number)]; });
  p.kernels = std::move(called);
}

}  // namespace

Jaxpr with_updates_in_place(const Jaxpr& simplified, const std::vector<int>& donated) {
  return with_reads_before_updates(with_window_updates(simplified, donated), donated);
}

KernelProgram plan_program(const SimplifiedProgram& simplified, const TargetTraits& target, KernelTable& table,
                           const std::vector<int>& donated) {
  check_nesting("programs inside programs", nesting_depth(simplified.program));
  SimplifiedProgram updating = simplified;
  updating.program = with_updates_in_place(simplified.program, donated);
  // A replacement renumbers the values.
  if (&updating.program.data() != &simplified.program.data()) updating.names.clear();
  KernelProgram p = KernelPlanner(updating, target, table, donated).run();
  p.donated = donated;
  plan_memory(p, table.kernels, donated);
  return p;
}

KernelProgram form_program(const Jaxpr& simplified, const TargetTraits& target, const std::vector<bool>& donated) {
  return form_program(SimplifiedProgram{simplified, {}}, target, donated);
}

KernelProgram form_program(const SimplifiedProgram& simplified, const TargetTraits& target, const std::vector<bool>& donated) {
  KernelTable table;
  std::vector<int> to;
  for (bool d : donated) to.push_back(d ? kDonated : kNotDonated);
  KernelProgram p = plan_program(simplified, target, table, to);
  p.kernels = std::move(table.kernels);
  keep_called_kernels(p);
  p.matmuls = std::move(table.matmuls);
  return p;
}

}  // namespace weft::detail
