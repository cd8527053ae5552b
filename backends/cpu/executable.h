// A compiled program on the host's processors.
#pragma once
#include <atomic>
#include <memory>
#include <vector>

#include "backends/codegen/program.h"
#include "backends/cpu/jit.h"
#include "backends/cpu/product.h"
#include "core/primitive.h"
#include "runtime/executable.h"

namespace weft::detail {

class CpuExecutable final : public Executable {
 public:
  CpuExecutable(const Jaxpr& j, const CompileOptions& options);
  ~CpuExecutable() override;
  std::vector<Array> call(std::span<const Array> inputs, int device) override;
  std::string as_text(std::string_view form) const override;
  CostAnalysis cost_analysis() const override;
  MemoryAnalysis memory_analysis() const override;
  Object export_object(const std::string& name) const override;

 private:
  struct Opaque {
    const Primitive* op;
    ParamsRef params;
    std::size_t num_inputs;
    std::vector<HostTensor> tensors;  ///< without addresses
  };
  /// A loop or a branch, and its sub-programs' executables.
  struct Control {
    const Primitive* op;
    ParamsRef params;
    std::size_t num_inputs;
    std::vector<Aval> avals;  ///< of operands, then results
    std::vector<std::pair<const JaxprData*, Ref<Executable>>> programs;
  };
  void run(void* const* addresses, int device) const;
  void run_kernel(const NativeCode& code, const Step& s, void* const* addresses) const;
  void run_control_step(const Control& c, const Step& s, void* const* addresses, int device) const;
  void improve();
  char* take_arena();
  void give_back(char* arena);

  const std::string name_;
  KernelProgram program_;
  std::vector<Schedule> schedules_;
  // Code is made quickly at first; once better code would have paid for its making, it is made in the background and takes over.
  std::atomic<const NativeCode*> code_{nullptr};
  std::unique_ptr<NativeCode> first_code_, better_code_;
  std::atomic<std::int64_t> patience_{0};  ///< cycles that quick code may still waste
  std::int64_t waste_ = 0;                 ///< of a call
  std::vector<std::unique_ptr<Product>> products_;
  std::vector<Opaque> opaque_;  // in the order of the steps that run them
  std::vector<Control> control_;
  std::vector<int> number_in_kind_;  // of each step: its place among the opaque ones, or among those of control flow
  std::vector<void*> fixed_;         // addresses of constants and literals, by buffer
  std::vector<Literal> literals_;
  std::atomic<char*> arena_{nullptr};
};

}  // namespace weft::detail
