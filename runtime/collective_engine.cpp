#include "runtime/collective_engine.h"

#include "runtime/process_collectives.h"
#include "runtime/processes.h"

namespace weft::detail {
namespace {

class InProcessCollective final : public ReadyCollective {
 public:
  InProcessCollective(CollectivePlan plan, std::span<const int> device_ids)
      : plan_(std::move(plan)), device_ids_(device_ids.begin(), device_ids.end()) {}
  void run(std::span<const Ref<Buffer>> in, std::span<Ref<Buffer>> out) override { run_collective(plan_, in, out, device_ids_); }

 private:
  CollectivePlan plan_;
  std::vector<int> device_ids_;
};

class InProcessEngine final : public CollectiveEngine {
 public:
  std::string_view name() const override { return "in-process"; }
  std::unique_ptr<ReadyCollective> prepare(const CollectivePlan& plan, std::span<const int> device_ids,
                                           std::span<const std::int64_t>) override {
    return std::make_unique<InProcessCollective>(plan, device_ids);
  }
};

}  // namespace

CollectiveEngine& collective_engine(std::span<const int> device_ids) {
  static InProcessEngine in_process;
  if (all_local({device_ids.begin(), device_ids.end()})) return in_process;
  return process_engine();
}

}  // namespace weft::detail
