// A compiled program on a CUDA device.
#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "weft/backends/codegen/planner/program.h"
#include "weft/backends/cuda/device.h"
#include "weft/backends/cuda/device_step.h"
#include "weft/backends/cuda/matmuls.h"
#include "weft/backends/cuda/ptx.h"
#include "weft/core/ir/primitive.h"
#include "weft/runtime/host/executable.h"

namespace weft::detail::cuda {

/// The code of a program on one device.
class LoadedCode {
 public:
  LoadedCode(GpuDevice& device, const GpuCode& code, const std::string& name);
  ~LoadedCode();
  LoadedCode(const LoadedCode&) = delete;
  LoadedCode& operator=(const LoadedCode&) = delete;
  std::vector<std::vector<Function>> kernels;  ///< of each kernel, its launches
  NamedKernels others;

 private:
  GpuDevice& device_;
  Module module_ = nullptr;
};

/// The captured launches of one call, for arrays that are where they were then.
struct CapturedGraph {
  std::vector<DevicePointer> addresses;
  GraphExec graph = nullptr;  ///< null: seen once, not captured yet
  Graph source = nullptr;     ///< kept where it holds conditions
};

class GpuExecutable final : public Executable {
 public:
  GpuExecutable(const Jaxpr& j, const CompileOptions& options, const GpuTarget& target);
  ~GpuExecutable() override;
  std::vector<Array> call(std::span<const Array> inputs, int device) override;
  std::string as_text(std::string_view form) const override;
  CostAnalysis cost_analysis() const override;
  MemoryAnalysis memory_analysis() const override;
  Object export_object(const ObjectRequest& request) const override;

 private:
  /// What a device holds for the program.
  struct OnDevice {
    GpuDevice* device = nullptr;
    std::unique_ptr<LoadedCode> code;
    std::map<std::pair<const KernelProgram*, BufferId>, DevicePointer> fixed;  ///< constants and literals
    std::vector<std::unique_ptr<GpuMatmul>> matmuls;
    std::map<std::pair<const KernelProgram*, int>, std::unique_ptr<DeviceStep>> steps;  ///< of equations without kernels
    DevicePointer arena = 0, workspace = 0;
    std::vector<CapturedGraph> graphs;  ///< the most recently used first
    bool capturing = false;
    std::vector<std::pair<DevicePointer, std::size_t>> owned;  ///< memory
    ~OnDevice();
  };
  using Addresses = std::vector<DevicePointer>;

  OnDevice& on(GpuDevice& device);
  void add_fixed(OnDevice& d, const KernelProgram& p);
  void add_steps(OnDevice& d, const KernelProgram& p);
  void run_steps(OnDevice& d, const KernelProgram& p, const Addresses& at);
  void launch(OnDevice& d, const KernelProgram& p, const Step& s, const Addresses& at);
  void matmul(OnDevice& d, const KernelProgram& p, const Step& s, const Addresses& at);
  void opaque(OnDevice& d, const KernelProgram& p, const Step& s, const Addresses& at);
  void control(OnDevice& d, const KernelProgram& p, const Step& s, const Addresses& at);
  void scan(OnDevice& d, const ControlStep& c, const Addresses& operands, const Addresses& results, DevicePointer scratch);
  void while_loop(OnDevice& d, const ControlStep& c, const Addresses& operands, const Addresses& results, DevicePointer scratch);
  void while_loop_in_graph(OnDevice& d, const ControlStep& c, const Addresses& operands, const Addresses& results, DevicePointer scratch);
  void branch(OnDevice& d, const ControlStep& c, const Addresses& operands, const Addresses& results, DevicePointer scratch);
  void program(OnDevice& d, const KernelProgram& p, const Addresses& inputs, const Addresses& outputs, DevicePointer arena);
  void copy(OnDevice& d, DevicePointer to, DevicePointer from, std::int64_t bytes);
  void run_supplied(OnDevice& d, const Addresses& at, GraphMemory& supply);
  void run_captured(OnDevice& d, const Addresses& at);
  bool capture(OnDevice& d, const Addresses& at, CapturedGraph& g);

  const std::string name_;
  KernelProgram program_;
  GpuCode code_;
  std::atomic<bool> capturable_{false};
  const bool has_conditions_;
  const int launches_;  ///< -1: it needs the host
  std::mutex mutex_;
  std::map<int, std::unique_ptr<OnDevice>> on_;
};

}  // namespace weft::detail::cuda
