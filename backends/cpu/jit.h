// Native code for kernels, through LLVM's code generator and linker. Declared without LLVM's headers.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/backends/codegen/emit/emit.h"
#include "weft/backends/codegen/planner/program.h"
#include "weft/backends/codegen/schedule/schedule.h"
#include "weft/backends/cpu/interpreter/interpreted_code.h"

namespace weft::detail {

/// `args`: one pointer for each argument that is not scratch; runs the blocks [begin, end) of the kernel's schedule.
using KernelFunction = void (*)(void* const* args, std::int64_t begin, std::int64_t end);

/// Bytes of the widest vectors that code is made for. WEFT_CPU names another processor than the host's to make code for ("haswell",
/// "x86-64"), for tests.
int native_vector_bytes();

/// The tiers: baseline code takes a third of the time to generate and keeps little in registers across loop iterations; interpreted kernels
/// have no machine code at all.
enum class CodeTier { baseline, optimized, interpreted };

/// Runs a control step on its buffers; `table` as emit_control says. 0, or something else if a call of the library threw.
using ControlFunction = std::int32_t (*)(void* const* buffers, void* const* table);

/// The tier of each kernel that the program itself runs, and of each of its control steps; nothing: it is left out.
struct CodeTiers {
  std::vector<std::optional<CodeTier>> kernels, controls;
};

/// An object file, all of one tier: functions `kernel0`, `kernel1`, ... of these kernels, then `control0`, ... of these control steps.
struct ObjectCode {
  std::string file;
  std::vector<int> kernels, controls;
  CodeTier tier = CodeTier::optimized;
};

/// Code in memory, freed with the object.
class NativeCode {
 public:
  virtual ~NativeCode() = default;
  std::vector<KernelFunction> functions;  ///< one for each kernel; null for those that only sub-programs run, or that are interpreted
  std::vector<std::unique_ptr<InterpretedCode>> interpreted;
  struct Control {
    ControlFunction function = nullptr;
    std::vector<void*> table;
  };
  std::vector<Control> controls;  ///< one for each control step of the program itself
  /// A kernel's schedule: how many blocks it has, and how many of them are a task (Schedule::grain).
  struct Blocks {
    std::int64_t number = 1, grain = 0;
  };
  std::vector<Blocks> blocks;
  CodeTiers made;  ///< optimised where such code was in the cache, though baseline code was asked for
  // For the cache of code, where there is one: what is machine code.
  std::vector<ObjectCode> objects;
  std::vector<std::vector<FixedPointer>> tables;  ///< of control steps
};

/// Large programs are compiled by several threads. `resolve` gives the pointers for the tables. Where `stop` says so, it ends with a
/// CompileError soon.
std::unique_ptr<NativeCode> compile_program(const KernelProgram& p, const std::vector<Schedule>& schedules, const CodeTiers& tiers,
                                            const std::function<void*(const FixedPointer&)>& resolve,
                                            const std::function<bool()>& stop = {});

/// Optimised code of one kernel, which is not kept in the cache.
std::unique_ptr<NativeCode> compile_kernel(const Kernel& k, const Schedule& s);

/// Code that compile_program made of these schedules, of which the blocks are read.
std::unique_ptr<NativeCode> link_program(const std::vector<Schedule>& schedules, const std::vector<ObjectCode>& objects,
                                         const std::vector<std::vector<FixedPointer>>& tables,
                                         const std::function<void*(const FixedPointer&)>& resolve);

/// All that code depends on besides the program: the builds of this library and of the code generator, and the processor. Empty if
/// unknown.
std::string code_identity();

/// What compile_program would emit: "llvm" or "asm".
std::string code_as_text(const KernelProgram& p, const std::vector<Schedule>& schedules, bool assembly);

/// The library as loops' code calls it. An exception is kept for the thread, until take_failure throws it on.
struct ReferenceCall {
  virtual ~ReferenceCall() = default;
  virtual void run(void* const* buffers) const = 0;
};
[[noreturn]] void throw_failure();

}  // namespace weft::detail
