// Better code, made in the background once it pays, and what the code is by now.
#include <fmt/core.h>

#include <algorithm>

#include "weft/backends/cpu/background.h"
#include "weft/backends/cpu/executable.h"
#include "weft/backends/cpu/stored_program.h"
#include "weft/core/ir/sealed_program.h"
#include "weft/runtime/host/process_end.h"
#include "weft/runtime/host/thread_pool.h"

namespace weft::detail {

void CpuExecutable::improve() {
  in_background([self = Ref<CpuExecutable>(this)] {
    if (self->unique()) return;  // nobody will call it again
    const SerialScope alone;     // the program runs meanwhile
    const Plan* plan = self->plan_to_improve();
    if (!plan) return;
    try {
      for (const CodeTiers& stage : self->better_.stages) self->make_better(*plan, stage, background_is_ending);
    } catch (...) {
      // What has become better is kept.
    }
    self->store();
  });
}

/// The plan with its kernels; null: it can't be told to be the one that the program runs by.
const CpuExecutable::Plan* CpuExecutable::plan_to_improve() {
  if (!is_stored_) return &plan_;
  const Plan& whole = whole_plan();
  const auto text = [](const Plan& p) { return write_program(p.program, 0, 0, p.schedules, {}, {}); };
  if (text(whole) != text(plan_)) return nullptr;
  const auto pair = [&](auto& self, const KernelProgram& a, const KernelProgram& b) -> void {
    own_part_.emplace(&a, &b);
    for (std::size_t c = 0; c < a.controls.size(); ++c)
      for (std::size_t i = 0; i < a.controls[c].programs.size(); ++i) self(self, a.controls[c].programs[i], b.controls[c].programs[i]);
  };
  pair(pair, whole.program, plan_.program);
  better_.stages = improvement(whole.program, whole.schedules, code_.load(std::memory_order_relaxed)->made).stages;
  return &whole;
}

/// Makes part of the code anew, and has it take over. On the background thread.
void CpuExecutable::make_better(const Plan& plan, const CodeTiers& wanted, const std::function<bool()>& stop) {
  const LibraryUse use;
  const NativeCode& before = *code_.load(std::memory_order_relaxed);
  auto code = compile_program(plan.program, plan.schedules, wanted, [this](const FixedPointer& f) { return resolve(f); }, stop);
  for (auto& table : code->tables)
    for (FixedPointer& f : table)
      if (const auto own = own_part_.find(f.program); own != own_part_.end()) f.program = own->second;
  for (std::size_t i = 0; i < code->functions.size(); ++i)
    if (!wanted.kernels[i]) code->functions[i] = before.functions[i], code->made.kernels[i] = before.made.kernels[i];
  for (std::size_t i = 0; i < code->controls.size(); ++i)
    if (!wanted.controls[i]) code->controls[i] = before.controls[i], code->made.controls[i] = before.made.controls[i];
  if (key_.empty()) code->objects.clear();
  // Calls that are under way go on with what was before.
  better_code_.push_back(std::move(code));
  code_.store(better_code_.back().get(), std::memory_order_release);
}

/// A line for each step that is code: what it is by now.
std::string CpuExecutable::tiers_text() const {
  const KernelProgram& p = whole_plan().program;
  const CodeTiers& all = code_.load(std::memory_order_acquire)->made;
  std::string text;
  for (const Step& s : p.steps) {
    if (s.kind != Step::Kind::kernel && s.kind != Step::Kind::control) continue;
    const auto n = static_cast<std::size_t>(s.number);
    const bool is_kernel = s.kind == Step::Kind::kernel;
    const CodeTier made = *(is_kernel ? all.kernels : all.controls)[n];
    text += fmt::format("{}: {}\n", is_kernel ? p.kernels[n].name : fmt::format("loop or branch {}", n),
                        made == CodeTier::optimized  ? "optimized"
                        : made == CodeTier::baseline ? "baseline"
                                                     : "interpreted");
  }
  return text;
}

}  // namespace weft::detail
