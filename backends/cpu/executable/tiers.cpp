// Tier-up: optimised code, made in the background once it pays, and the report of which code a program has.
#include <fmt/core.h>

#include <algorithm>

#include "weft/backends/codegen/schedule/proposals.h"
#include "weft/backends/cpu/background.h"
#include "weft/backends/cpu/executable.h"
#include "weft/backends/cpu/executable/schedule_search.h"
#include "weft/backends/cpu/stored_program.h"
#include "weft/core/ir/sealed_program.h"
#include "weft/runtime/host/process_end.h"
#include "weft/runtime/host/thread_pool.h"

namespace weft::detail {

void CpuExecutable::improve() {
  in_background([self = Ref<CpuExecutable>(this)] {
    if (self->unique()) return;  // nobody will call it again
    const SerialScope alone;     // the program runs meanwhile
    const BackgroundWork work;
    const Plan* plan = self->plan_to_improve();
    if (!plan) return;
    std::vector<Improvement::Stage>& stages = self->better_.stages;
    try {
      for (; !stages.empty() && stages[0].runs <= self->tier_runs_.count(); stages.erase(stages.begin()))
        self->make_better(*plan, plan->schedules, stages[0].tiers, background_is_ending);
    } catch (...) {
      stages.clear();  // improvements made before an error are kept
    }
    self->store();
    self->tier_runs_.wait_for(self->better_.due());
  });
}

/// The plan with its kernels; null if it can't be verified to be the one by which the program runs.
const CpuExecutable::Plan* CpuExecutable::plan_to_improve() {
  if (!is_stored_) return &plan_;
  const Plan& whole = whole_plan();
  // Blocks belong to the code, and a search may have chosen others.
  const auto text = [](const Plan& p) { return write_program(p.program, 0, 0, std::vector<Schedule>(p.schedules.size()), {}, {}); };
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

/// Recompiles part of the code, which replaces the present code. Runs on the background thread.
void CpuExecutable::make_better(const Plan& plan, const std::vector<Schedule>& schedules, const CodeTiers& wanted,
                                const std::function<bool()>& stop) {
  const LibraryUse use;
  const NativeCode& before = *code_.load(std::memory_order_relaxed);
  auto code = compile_program(plan.program, schedules, wanted, [this](const FixedPointer& f) { return resolve(f); }, stop);
  for (auto& table : code->tables)
    for (FixedPointer& f : table)
      if (const auto own = own_part_.find(f.program); own != own_part_.end()) f.program = own->second;
  for (std::size_t i = 0; i < code->functions.size(); ++i)
    if (!wanted.kernels[i])
      code->functions[i] = before.functions[i], code->blocks[i] = before.blocks[i], code->made.kernels[i] = before.made.kernels[i];
  for (std::size_t i = 0; i < code->controls.size(); ++i)
    if (!wanted.controls[i]) code->controls[i] = before.controls[i], code->made.controls[i] = before.made.controls[i];
  if (key_.empty()) code->objects.clear();
  // Calls in progress continue with the old code.
  better_code_.push_back(std::move(code));
  code_.store(better_code_.back().get(), std::memory_order_release);
}

/// Searches schedules in the background, or waits for four times as many calls if it is too early.
void CpuExecutable::search() {
  constexpr std::int64_t kMostCalls = std::int64_t{1} << 32;
  in_background([self = Ref<CpuExecutable>(this)] {
    if (self->unique()) return;  // nobody will call it again
    const SerialScope alone;
    // After an error (no memory for the arrays) the code that is there goes on being used, and is not searched again.
    if (self->search_schedules() || self->calls_waited_ > kMostCalls) return;
    self->calls_waited_ *= 4;
    self->calls_to_search_ = self->calls_waited_ / 4 * 3;
  });
}

/// Measures schedules of the kernels that take longest, and installs code with those that are faster. Runs on the background thread.
/// Returns false if some are left because the program has not run for long enough, its code is not optimised yet, or there is no processor
/// or time for it.
bool CpuExecutable::search_schedules() {
  constexpr double kLeastCycles = 1e9;  // of the kernels that are searched, over all calls so far
  const Plan* plan = plan_to_improve();
  if (!plan) return true;
  const KernelProgram& p = plan->program;
  if (improvement(p, plan->schedules, code_.load(std::memory_order_relaxed)->made).excess > 0) return false;
  std::vector<Schedule> usual;
  for (const Kernel& k : p.kernels) usual.push_back(make_schedule(k, native_vector_bytes()));
  std::vector<std::size_t> order;
  double cycles = 0;
  for (const Step& s : p.steps) {
    const auto n = static_cast<std::size_t>(s.number);
    if (s.kind != Step::Kind::kernel || !is_worth_searching(p.kernels[n], usual[n])) continue;
    cycles += p.kernels[n].cost.cycles;
    if (!contains(order, n)) order.push_back(n);
  }
  if (!order.empty() && cycles * static_cast<double>(calls_waited_) < kLeastCycles) return false;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return p.kernels[a].cost.cycles > p.kernels[b].cost.cycles; });
  const double begun = thread_seconds(), seconds = search_seconds_left();
  struct Spent {
    double begun;
    ~Spent() { spend_search_seconds(thread_seconds() - begun); }
  } spent{begun};
  const auto stop = [&] { return background_is_ending() || unique() || thread_seconds() - begun > seconds; };
  // Stored code has the usual schedules, as far as can be told.
  std::vector<Schedule> schedules = !found_.empty() ? found_ : is_stored_ ? usual : plan->schedules;
  CodeTiers changed;
  changed.kernels.resize(schedules.size()), changed.controls.resize(p.controls.size());
  bool any = false, all = true;
  for (const std::size_t n : order) {
    const Kernel& k = p.kernels[n];
    std::optional<Schedule> found = found_schedule(k, usual[n]);
    if (!found) {
      std::optional<SearchResult> r = search_schedule(k, usual[n], proposed_schedules(k, usual[n], native_vector_bytes()), stop);
      all = r.has_value();
      if (!all) break;
      keep_schedule(k, *r);
      found = std::move(r->schedule);
    }
    if (*found == schedules[n]) continue;
    schedules[n] = std::move(*found), changed.kernels[n] = CodeTier::optimized, any = true;
  }
  if (any) {
    make_better(*plan, schedules, changed, background_is_ending);
    found_ = std::move(schedules);
  }
  if (!all) return false;
  const std::string key = key_;
  unsearched_ = false;
  store(!found_.empty());
  note_searched_program(key);
  return true;
}

/// A line for each step that is code, with its current tier.
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
