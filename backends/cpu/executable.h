// A compiled program on the host's processors. executable.cpp makes it; its calls, better code for it, the cache, and object files stand in
// the folder executable.
#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "weft/backends/codegen/planner/program.h"
#include "weft/backends/common/native_step.h"
#include "weft/backends/cpu/code_tiers.h"
#include "weft/backends/cpu/jit.h"
#include "weft/backends/cpu/matmul.h"
#include "weft/backends/cpu/tier_runs.h"
#include "weft/core/ir/primitive.h"
#include "weft/runtime/host/executable.h"
#include "weft/runtime/profile/step_report.h"
#include "weft/runtime/profile/timeline.h"

namespace weft::detail {

class WarmMemory;

class CpuExecutable final : public Executable, public StepReporter {
 public:
  /// `schedules`: as CpuBackend::compile has it.
  CpuExecutable(const Jaxpr& j, const CompileOptions& options, std::string_view schedules);
  ~CpuExecutable() override;
  std::vector<Array> call(std::span<const Array> inputs, int device) override;
  std::string as_text(std::string_view form) const override;
  CostAnalysis cost_analysis() const override;
  MemoryAnalysis memory_analysis() const override;
  Object export_object(const ObjectRequest& request) const override;
  // executable/reports.cpp
  const Jaxpr& program_of_steps() const override { return plan_.program.jaxpr; }
  std::vector<StepReport> step_reports() const override;
  std::vector<double> time_steps(std::span<const Array> inputs, int device) override;

 private:
  /// An equation that a routine of the backend or its reference function runs.
  struct Opaque final : ReferenceCall {
    const Primitive* op = nullptr;
    ParamsRef params;
    std::size_t num_inputs = 0;
    std::vector<HostTensor> tensors;  ///< without addresses
    std::unique_ptr<NativeStep> native;
    void run(void* const* buffers) const override;
  };
  /// The input of code generation.
  struct Plan {
    KernelProgram program;
    std::vector<Schedule> schedules;
  };
  Plan make_plan(KernelProgram program) const;
  const Plan& whole_plan() const;
  bool load(const Jaxpr& simplified);
  void keep();
  void store(bool replace = false);
  std::vector<Schedule> blocks_of_code() const;
  void plan_memory(WarmMemory& memory) const;
  void reserve_arena();
  void prepare_matmul(std::size_t number);
  void prepare_calls();
  /// `begun` counts the steps that have begun, also where one throws.
  void run(void* const* addresses, std::size_t& begun) const;
  void run_step(const NativeCode& code, std::size_t number, void* const* addresses) const;
  void run_watched(const NativeCode& code, void* const* addresses, std::size_t& begun) const;
  const std::vector<const WorkLabel*>& labels() const;
  void run_kernel(const NativeCode& code, const Step& s, void* const* addresses) const;
  void run_control(const NativeCode& code, const Step& s, void* const* addresses) const;
  void add_opaque(const KernelProgram& p);
  void* resolve(const FixedPointer& f) const;
  /// A constant or literal.
  static const void* fixed_memory(const FixedPointer& f);
  void improve();
  void make_better(const Plan& plan, const std::vector<Schedule>& schedules, const CodeTiers& wanted, const std::function<bool()>& stop);
  void search();
  bool search_schedules();
  const Plan* plan_to_improve();
  std::string tiers_text() const;
  char* take_arena(int device);
  void give_back(char* arena, int device);

  const std::string name_;
  const std::vector<bool> donated_;
  const std::string stated_;  ///< schedules
  Plan plan_;
  bool is_stored_ = false;  ///< the plan comes from the cache, and lacks the kernels
  mutable std::once_flag formed_;
  mutable std::unique_ptr<const Plan> whole_plan_;
  mutable std::once_flag labelled_;
  mutable std::vector<const WorkLabel*> labels_;  ///< of each step, once somebody watches
  std::string key_;                 ///< under which the cache is to keep the program; empty: it isn't, or has it with all code optimised
  std::atomic<bool> keeps_{false};  ///< once it was called: as it is, for the next process
  // Baseline code comes first; once optimised code would have paid off, it is generated in the background and replaces it.
  std::atomic<const NativeCode*> code_{nullptr};
  std::unique_ptr<NativeCode> first_code_;
  std::vector<std::unique_ptr<NativeCode>> better_code_;  ///< the last one is run; of those before it there may be calls under way
  Improvement better_;
  const bool searches_;                           ///< kernels have the schedules that were found by measurement
  bool unsearched_ = false;                       ///< some of them are still to be measured; of the background thread
  std::atomic<std::int64_t> calls_to_search_{0};  ///< after so many more calls; 0: not at all
  std::int64_t calls_waited_ = 0;                 ///< for that, in all
  std::vector<Schedule> found_;  ///< what code was made by once a search had found something; empty: by the plan's schedules
  TierRuns tier_runs_;
  std::vector<std::unique_ptr<Matmul>> matmuls_;
  std::map<std::pair<const KernelProgram*, int>, std::unique_ptr<Opaque>> opaque_;  // by program and step
  std::map<const KernelProgram*, const KernelProgram*> own_part_;                   // for each part of whole_plan_, once that is improved
  std::vector<void*> fixed_;                                                        // addresses of constants and literals, by buffer
  bool has_arena_ = false;                                                          ///< of its own
  std::atomic<char*> arena_{nullptr};
};

}  // namespace weft::detail
