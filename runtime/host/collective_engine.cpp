#include "weft/runtime/host/collective_engine.h"

#include "weft/core/base/process_wide.h"
#include "weft/core/errors/error.h"
#include "weft/runtime/host/accelerator.h"
#include "weft/runtime/processes/process_collectives.h"
#include "weft/runtime/processes/processes.h"

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

/// Joins this process's devices, and devices of any process that exchange data themselves.
class InProcessEngine final : public CollectiveEngine {
 public:
  explicit InProcessEngine(std::string_view name) : name_(name) {}
  std::string_view name() const override { return name_; }
  std::unique_ptr<ReadyCollective> prepare(const CollectivePlan& plan, std::span<const int> device_ids,
                                           std::span<const std::int64_t>) override {
    return std::make_unique<InProcessCollective>(plan, device_ids);
  }

 private:
  std::string_view name_;
};

}  // namespace

std::unique_ptr<StartedCollective> ReadyCollective::start(std::span<const Ref<Buffer>>) {
  throw Error("internal error: an engine that doesn't overlap has started a collective");
}

CollectiveEngine& collective_engine(std::span<const int> device_ids) {
  static auto &in_process = process_wide<InProcessEngine>("in-process"), &nccl = process_wide<InProcessEngine>("nccl");
  if (!device_ids.empty() && is_accelerator(device_ids[0])) return nccl;
  if (all_local({device_ids.begin(), device_ids.end()})) return in_process;
  return process_engine();
}

}  // namespace weft::detail
