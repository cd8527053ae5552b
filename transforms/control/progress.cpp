#include "weft/transforms/control/progress.h"

#include <map>
#include <mutex>

#include "weft/core/ops/control/callback.h"
#include "weft/core/trace/trace.h"
#include "weft/transforms/control/callback.h"

namespace weft::detail {
namespace {

struct Steps final : LoopProgress {
  std::string name;
  std::optional<std::int64_t> total;
  std::mutex mutex;
  struct Counted {
    Ref<ProgressBar> bar;
    std::int64_t done = 0;
  };
  std::map<std::string, Counted> bars;  // by device

  /// A loop of so many steps that begins again is another bar.
  void step(std::int64_t steps) {
    const std::string device = callback_label();
    const std::lock_guard lock(mutex);
    Counted& c = bars[device];
    if (!c.bar) c.bar = begin_progress(device.empty() ? name : name + " " + device, steps);
    if (!c.bar) return;
    advance_progress(*c.bar);
    if (++c.done != steps) return;
    end_progress(*c.bar, true);
    bars.erase(device);
  }
  ~Steps() override {
    for (auto& [device, c] : bars)
      if (c.bar) end_progress(*c.bar, total.has_value() ? c.done == *total : true);
  }
};

}  // namespace

Ref<LoopProgress> LoopProgress::make(const std::string& name, const ProgressOptions& options) {
  Ref<Steps> made = make_ref<Steps>();
  made->name = name;
  if (options.total) made->total = *options.total;
  return Ref<LoopProgress>(made.get());
}

void LoopProgress::trace_step(SourceLoc loc) {
  if (!progress_is_on()) return;
  const Ref<Steps> steps(static_cast<Steps*>(this));
  const std::int64_t total = steps->total ? *steps->total : LoopSteps::current();
  const auto count = [steps, total] { steps->step(total); };
  debug::callback.call(loc, count);
}

}  // namespace weft::detail
