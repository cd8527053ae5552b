// Programs in the cache of code: loading them, and storing them with the code that they have so far.
#include <algorithm>
#include <utility>

#include "weft/backends/common/code_cache.h"
#include "weft/backends/cpu/background.h"
#include "weft/backends/cpu/executable.h"
#include "weft/backends/cpu/executable/schedule_search.h"
#include "weft/backends/cpu/stored_program.h"
#include "weft/core/ir/sealed_program.h"
#include "weft/runtime/host/thread_pool.h"
#include "weft/runtime/host/warm_memory.h"

namespace weft::detail {
namespace {

constexpr std::int64_t kCallsToSearch = 16;

}  // namespace

/// Loads the whole program from the cache, if it is there.
bool CpuExecutable::load(const Jaxpr& simplified) {
  CodeCache& cache = CodeCache::of_process();
  const std::string identity = cache.enabled() ? code_identity() : std::string();
  if (identity.empty() || !stated_.empty()) return false;
  std::optional<std::string> key = program_key(simplified, donated_);
  if (!key) return false;
  if (searches_) {
    key->append(" by schedules found by measurement");
    unsearched_ = !is_searched_program(*key);
    calls_to_search_ = calls_waited_ = unsearched_ ? kCallsToSearch : 0;
  }
  const std::optional<std::string> bytes = cache.find({identity, *key});
  std::optional<StoredProgram> stored = bytes ? read_program(*bytes, simplified) : std::nullopt;
  if (!stored || stored->excess > 0 || unsearched_) key_ = *key;
  if (!stored || (stored->excess > 0 && lowest_tier() == CodeTier::optimized)) return false;
  plan_ = {std::move(stored->program), std::move(stored->schedules)};
  is_stored_ = true;
  reserve_arena();
  const MatmulPreparation preparation;
  // Threads that have oneDNN make code wait for each other most of the time.
  WarmMemory memory;
  plan_memory(memory);
  matmuls_.resize(plan_.program.matmuls.size());
  parallel_for(1 + memory.pieces(), [&](std::int64_t i) {
    if (i > 0) return memory.map(i - 1);
    for (std::size_t k = 0; k < matmuls_.size(); ++k) prepare_matmul(k);
  });
  prepare_calls();
  for (auto& table : stored->tables)
    for (FixedPointer& f : table)
      if (!f.program) f.program = &plan_.program;
  first_code_ = link_program(plan_.schedules, stored->objects, stored->tables, [this](const FixedPointer& f) { return resolve(f); });
  code_ = first_code_.get();
  if (!key_.empty()) first_code_->objects = std::move(stored->objects), first_code_->tables = std::move(stored->tables);
  if (stored->excess > 0) tier_runs_.wait_for(stored->due);
  return true;
}

/// Schedules of which the blocks are those of the code as it is by now.
std::vector<Schedule> CpuExecutable::blocks_of_code() const {
  std::vector<Schedule> schedules;
  for (const NativeCode::Blocks& b : code_.load(std::memory_order_relaxed)->blocks) {
    Schedule& s = schedules.emplace_back();
    s.num_blocks = b.number, s.grain = b.grain;
  }
  return schedules;
}

/// Stores the program in the cache with its present code, unless the cache has better code for it; `replace`: also then.
void CpuExecutable::store(bool replace) {
  if (key_.empty()) return;
  const CodeTiers& made = code_.load(std::memory_order_relaxed)->made;
  if (std::find(made.kernels.begin(), made.kernels.end(), CodeTier::interpreted) != made.kernels.end()) return;
  const Improvement left = improvement(whole_plan().program, whole_plan().schedules, made);
  const std::string identity = code_identity();
  CodeCache& cache = CodeCache::of_process();
  const std::optional<std::string> there = cache.find({identity, key_});
  const std::optional<std::int64_t> excess_there = there ? stored_excess(*there) : std::nullopt;
  std::vector<const ObjectCode*> objects;
  std::vector<std::vector<FixedPointer>> tables(plan_.program.controls.size());
  const auto add = [&](const NativeCode& some) {
    for (const ObjectCode& o : some.objects) {
      objects.push_back(&o);
      for (const int c : o.controls) tables[static_cast<std::size_t>(c)] = some.tables[static_cast<std::size_t>(c)];
    }
  };
  add(*first_code_);
  for (const auto& some : better_code_) add(*some);
  // Code that has been replaced completely is not stored.
  std::vector<char> kernels(plan_.schedules.size()), controls(tables.size());
  const auto is_first = [](std::vector<char>& seen, const std::vector<int>& numbers) {
    bool any = false;
    for (const int n : numbers) any |= !std::exchange(seen[static_cast<std::size_t>(n)], 1);
    return any;
  };
  const auto replaced = std::remove_if(objects.rbegin(), objects.rend(), [&](const ObjectCode* o) {
    const bool of_kernels = is_first(kernels, o->kernels), of_controls = is_first(controls, o->controls);
    return !of_kernels && !of_controls;
  });
  objects.erase(objects.begin(), replaced.base());
  if (!objects.empty() && (replace || !excess_there || *excess_there > left.excess))
    cache.put({identity, key_}, write_program(plan_.program, left.excess, left.due(), blocks_of_code(), objects, tables));
  if (left.excess > 0 || unsearched_) return;
  first_code_->objects.clear();
  for (const auto& some : better_code_) some->objects.clear();
  key_.clear();
}

/// Soon after the first call, so that the next process has machine code at once, though not the best.
void CpuExecutable::keep() {
  soon_in_background([self = Ref<CpuExecutable>(this)] {
    const SerialScope alone;  // the program runs meanwhile
    const CodeTiers& made = self->code_.load(std::memory_order_relaxed)->made;
    CodeTiers baseline;
    baseline.controls.resize(made.controls.size());
    for (const auto& k : made.kernels)
      baseline.kernels.push_back(k == CodeTier::interpreted ? std::optional(CodeTier::baseline) : std::nullopt);
    if (std::any_of(baseline.kernels.begin(), baseline.kernels.end(), [](const auto& k) { return k.has_value(); }))
      self->make_better(self->plan_, self->plan_.schedules, baseline, background_has_ended);
    self->store();
  });
}

}  // namespace weft::detail
