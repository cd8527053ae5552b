// A compiled program before code is emitted: steps over buffers, with the memory of temporaries planned.
#pragma once
#include <string>
#include <vector>

#include "backends/codegen/kernel.h"
#include "core/jaxpr.h"

namespace weft::detail {

using BufferId = int;

struct BufferInfo {
  enum class Role { input, constant, literal, output, temporary };
  Aval aval;
  Role role = Role::temporary;
  int number = 0;            ///< of the input, constant, literal or output
  std::int64_t offset = -1;  ///< of a temporary: in the arena
  int reuses_input = -1;     ///< of an output: the donated input whose memory it takes; -1: none
};

/// A matrix product by a library: out[b..., m, n] = sum over k of a[b..., m, k] * b[b..., k, n], all positions by strides in elements.
struct ProductStep {
  DType dtype = float32;
  std::int64_t m = 1, n = 1, k = 1;
  struct Batch {
    std::int64_t size = 1, stride_a = 0, stride_b = 0, stride_out = 0;
  };
  std::vector<Batch> batch;
  std::int64_t a_offset = 0, a_row = 0, a_col = 0;  ///< strides along m and k
  std::int64_t b_offset = 0, b_row = 0, b_col = 0;  ///< strides along k and n
  std::int64_t out_row = 0;                         ///< stride along m; 1 along n
};

struct Step {
  enum class Kind {
    kernel,   ///< a generated kernel: `buffers` are its arguments that are no scratch
    product,  ///< a library's matrix product: buffers a, b, out
    opaque,   ///< an equation executed by its reference function: buffers are its operands, then its results
    control,  ///< a loop or a branch: the same buffers; its sub-programs are programs of their own
  };
  Kind kind = Kind::kernel;
  int number = 0;  ///< of the kernel, product, or equation of the program
  std::vector<BufferId> buffers;
};

/// A result of the program.
struct ProgramOutput {
  BufferId buffer = -1;
  int same_as = -1;  ///< the same array as this earlier result
};

struct KernelProgram {
  Jaxpr jaxpr;  ///< simplified
  std::vector<BufferInfo> buffers;
  std::vector<Kernel> kernels;
  std::vector<ProductStep> products;
  std::vector<Step> steps;
  std::vector<ProgramOutput> outputs;
  std::int64_t arena_bytes = 0;
};

/// What kernel formation needs to know of a machine.
struct TargetTraits {
  int vector_bytes = 64;
  bool library_products = true;  ///< large float32 products go to a library
};

/// Cuts a simplified program into kernels and library steps. `donated[i]`: input i's memory may be overwritten.
KernelProgram form_program(const Jaxpr& simplified, const TargetTraits& target, const std::vector<bool>& donated);

/// Places temporaries into one arena by the steps in which they are live, and lets outputs take donated inputs' memory.
void plan_memory(KernelProgram& p, const std::vector<bool>& donated);

/// The steps and kernels, for people and golden files.
std::string to_string(const KernelProgram& p);

}  // namespace weft::detail
