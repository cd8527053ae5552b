// A compiled program before code is emitted: steps over buffers, with the memory of temporaries planned.
#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include "weft/backends/codegen/planner/kernel.h"
#include "weft/backends/codegen/planner/simplify.h"
#include "weft/core/ir/jaxpr.h"

namespace weft::detail {

using BufferId = int;

struct BufferInfo {
  enum class Role { input, constant, literal, output, temporary };
  Aval aval;
  Role role = Role::temporary;
  int number = 0;                ///< of the input, constant, literal or output
  std::int64_t offset = -1;      ///< of a temporary: in the arena
  int reuses_input = -1;         ///< of an output: the donated input whose memory it takes; -1: none
  bool begins_as_input = false;  ///< of such an output: the steps count on that input's values in its memory
};

/// A matmul by a library: out[b..., m, n] = sum over k of a[b..., m, k] * b[b..., k, n], all positions by strides in elements.
/// `dtype` is the left operand's.
struct MatmulStep {
  enum class Activation { none, relu, gelu };  ///< gelu: by tanh
  DType dtype = float32, right_dtype = float32, out_dtype = float32;
  std::int64_t m = 1, n = 1, k = 1;
  struct Batch {
    std::int64_t size = 1, stride_a = 0, stride_b = 0, stride_out = 0;
  };
  std::vector<Batch> batch;
  std::int64_t a_offset = 0, a_row = 0, a_col = 0;  ///< strides along m and k
  std::int64_t b_offset = 0, b_row = 0, b_col = 0;  ///< strides along k and n
  std::int64_t out_row = 0;                         ///< stride along m; 1 along n
  bool bias = false;                                ///< n elements of the result's dtype are added to each row
  Activation activation = Activation::none;         ///< of what is then stored
  /// Counted in operations on real numbers: a complex multiply-add is eight of them.
  double flops() const {
    double count = (dtype.is_complex() ? 8.0 : 2.0) * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
    for (const Batch& b : batch) count *= static_cast<double>(b.size);
    return count;
  }
};

struct Step {
  enum class Kind {
    kernel,   ///< a generated kernel: `buffers` are its arguments that are not scratch
    matmul,   ///< a library's matmul: buffers a, b, out, and the bias if there is one
    opaque,   ///< an equation executed by its reference function: buffers are its operands, then its results
    control,  ///< a loop or a branch: the same buffers, then memory for its sub-programs if they need any
  };
  Kind kind = Kind::kernel;
  int number = 0;  ///< of the kernel, matmul, equation of the program, or control step of the program
  std::vector<BufferId> buffers;
  std::vector<int> eqns = {};  ///< of the program: what the step computes, in order; an equation may be computed by several steps
};

/// A result of the program.
struct ProgramOutput {
  BufferId buffer = -1;
  int same_as = -1;  ///< the same array as this earlier result
};

struct ControlStep;

/// Sub-programs of loops and branches are programs too; their kernels and matmuls are in the tables of the outermost one.
struct KernelProgram {
  Jaxpr jaxpr;               ///< simplified, with updates in place
  std::vector<int> donated;  ///< of its inputs, as plan_memory takes them
  std::vector<BufferInfo> buffers;
  std::vector<Kernel> kernels;
  std::vector<MatmulStep> matmuls;
  std::vector<Step> steps;
  std::vector<ControlStep> controls;
  std::vector<ProgramOutput> outputs;
  std::int64_t arena_bytes = 0;
};

/// A loop or a branch. Its sub-programs: a scan's body; a while loop's condition, then its body; the branches. They work in place on the
/// memory of the step's operands and results; what else they need is one piece of scratch memory.
struct ControlStep {
  enum class Kind { scan, while_loop, cond };
  Kind kind = Kind::scan;
  int eqn = -1;  ///< of the program
  std::vector<KernelProgram> programs;
  int num_inputs = 0;  ///< operands of the equation
  int cond_consts = 0, num_consts = 0, num_carry = 0;
  std::int64_t length = 0;  ///< of a scan
  bool reverse = false;
  /// Where a carried value is from one iteration to the next.
  struct Carry {
    enum class Place {
      kept,      ///< it never changes: where the operand is
      in_place,  ///< in the result's memory, overwritten by each iteration
      swapped,   ///< by turns in the result's memory and in scratch memory at `spare`
    };
    Place place = Place::swapped;
    std::int64_t spare = 0;
  };
  std::vector<Carry> carry;
  /// Of a branch, for each result: the operand of the equation whose memory it may have, -1 if none. Each of the programs works on one as
  /// on the other.
  std::vector<int> takes;
  std::int64_t predicate = 0;                 ///< of a while loop: where in scratch memory its condition's result goes
  std::int64_t arena = 0, scratch_bytes = 0;  ///< where the sub-programs' temporaries begin in scratch memory, and its size
};

/// Whether the program's result must begin with the values of the input whose memory it takes.
inline bool begins_as_input(const KernelProgram& p, std::size_t result) {
  const BufferInfo& out = p.buffers[static_cast<std::size_t>(p.outputs[result].buffer)];
  return out.begins_as_input && out.number == static_cast<int>(result);
}

/// Where each buffer is while the program runs: inputs and outputs as given, `temporary(offset)` in the arena, `fixed(buffer)` of constants
/// and literals.
template <class Address, class Temporary, class Fixed>
std::vector<Address> buffer_addresses(const KernelProgram& p, const std::vector<Address>& inputs, const std::vector<Address>& outputs,
                                      Temporary&& temporary, Fixed&& fixed) {
  std::vector<Address> at(p.buffers.size());
  for (std::size_t b = 0; b < p.buffers.size(); ++b) {
    const BufferInfo& info = p.buffers[b];
    const auto number = static_cast<std::size_t>(info.number);
    switch (info.role) {
      case BufferInfo::Role::input: at[b] = inputs[number]; break;
      case BufferInfo::Role::output: at[b] = outputs[number]; break;
      case BufferInfo::Role::temporary: at[b] = temporary(std::max<std::int64_t>(info.offset, 0)); break;
      case BufferInfo::Role::constant:
      case BufferInfo::Role::literal: at[b] = fixed(static_cast<BufferId>(b)); break;
    }
  }
  return at;
}

/// What kernel formation needs to know of a machine.
struct TargetTraits {
  int vector_bytes = 64;
  bool matmuls_by_library = true;  ///< large matmuls of floating dtypes go to a library
  /// Instead: whether a library, or code of the target's own, takes a matmul of these dtypes and sizes rather than a kernel, as if both
  /// operands are in rows; and whether it can take one with these strides.
  bool (*prefers_matmul)(const MatmulStep&) = nullptr;
  bool (*takes_matmul)(const MatmulStep&) = nullptr;
  bool matmul_epilogues = false;  ///< matmuls take a bias, and what follows
  bool gelu_epilogues = false, relu_epilogues = false;
  bool unordered_scatters = false;        ///< those of which it is promised that no index comes twice are made in any order
  bool partitions_scatters = false;       ///< those of many windows are partitioned among threads by where the windows go
  bool row_blocks = false;                ///< kernels with matmuls compute several rows at each outer point
  bool partitions_loops = false;          ///< loops of kernels that only move elements are partitioned, and elements widened
  bool keeps_rows_whole = false;          ///< short axes behind one along which neighbours are read are no outer loops
  bool narrows_integers = false;          ///< integers of which only low bits are stored are computed in narrower types
  bool vectors_in_epilogue = false;       ///< what follows reductions along vectors runs by vectors of its own
  std::int64_t many_rows = 0;             ///< from so many on rows are reduced whole, as they are work for all threads; 0: never
  std::int64_t transposed_for_lanes = 0;  ///< bytes, up to which what lanes would gather in a loop is transposed before it; 0: never
  Expansion expansion = nullptr;
  const char* platform = "cpu";  ///< for messages
};

/// Cuts a simplified program into kernels, library steps, loops and branches. `donated[i]`: input i's memory may be overwritten.
KernelProgram form_program(const Jaxpr& simplified, const TargetTraits& target, const std::vector<bool>& donated);
/// The same, of a program whose names the target has epilogues for.
KernelProgram form_program(const SimplifiedProgram& simplified, const TargetTraits& target, const std::vector<bool>& donated);
/// The simplified program as it is planned: updates of donated inputs write windows, after what reads the rest of them.
Jaxpr with_updates_in_place(const Jaxpr& simplified, const std::vector<int>& donated);

/// Which output may take the memory of an input: none, any, or the one with the number.
constexpr int kNotDonated = -2, kDonated = -1;
/// Places temporaries into one arena by the steps in which they are live, and lets outputs take donated inputs' memory. `kernels`: those of
/// the outermost program.
void plan_memory(KernelProgram& p, const std::vector<Kernel>& kernels, const std::vector<int>& donated);

/// The steps and kernels, for people and golden files.
std::string to_string(const KernelProgram& p);

}  // namespace weft::detail
