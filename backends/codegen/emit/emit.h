// Kernels as LLVM functions for CPUs. Declared without LLVM's headers.
#pragma once
#include <string>
#include <vector>

#include "weft/backends/codegen/planner/program.h"
#include "weft/backends/codegen/schedule/schedule.h"

namespace llvm {
class Function;
class FunctionType;
class Module;
}  // namespace llvm

namespace weft::detail {

struct VectorFeatures;

/// Creates a function whose attributes prefer vectors of the machine's width.
llvm::Function* make_function(llvm::Module& module, const VectorFeatures& features, const std::string& name, llvm::FunctionType* type);

/// Adds `void name(void** args, int64 begin, int64 end)` to the module: runs the blocks [begin, end) of the schedule. `args` holds one
/// pointer for each argument of the kernel that is not scratch.
void emit_kernel(llvm::Module& module, const Kernel& k, const Schedule& s, const VectorFeatures& features, const std::string& name);

/// A pointer that a control step's code finds in its table: to memory of a constant or literal (`number`: the buffer), to a matmul
/// (`number`: of the outermost program's), or to an equation that is run by its reference function (`number`: the step).
struct FixedPointer {
  enum class Kind { memory, matmul, opaque } kind = Kind::memory;
  const KernelProgram* program = nullptr;
  int number = 0;
};

/// Adds `int32 name(void* const* buffers, void* const* table)` to the module: runs the control step, a step of `program`, on the memory of
/// its buffers. The result is 0, or something else if a call of the library failed. Kernels that run on several threads, matmuls and
/// reference functions are calls of
/// - void weft_run_blocks(kernel function, args, blocks, grain)
/// - void weft_run_steps(kernel function, three times args, args each, blocks, radius, tile, iterations): a stepped kernel
///   (stepped_kernel.h)
/// - int32 weft_run_matmul(matmul, a, b, out)
/// - int32 weft_run_opaque(equation, buffers)
///
/// All else is one function; kernels are expanded in it unless they are large. Gives the pointers that the table has to hold.
std::vector<FixedPointer> emit_control(llvm::Module& module, const KernelProgram& root, const std::vector<Schedule>& schedules,
                                       const KernelProgram& program, const Step& step, const VectorFeatures& features,
                                       const std::string& name);

}  // namespace weft::detail
