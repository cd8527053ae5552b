// Helper kernels for calls of a linear algebra library. Declared without LLVM's headers.
#pragma once
#include <string>

#include "weft/backends/codegen/gpu/gpu_emit.h"

namespace weft::detail {

struct AlgebraKernels {
  static constexpr int kThreads = 128;
  static std::string places_name() { return "matrix_places"; }
  static std::string pivots_name() { return "pivots_to_permutation"; }
};

/// Adds the kernels to the module; a thread takes a matrix, and all parameters have 64 bits.
/// - places(out, first, bytes, count): out[i] = first + i bytes.
/// - pivots(from one, pivots, permutation, interchanges, rows, count): the pivots, which count from one in 64 bits, as such that count from
///   zero in 32 bits, and what these interchanges make of the rows 0, 1, ...
void emit_algebra_kernels(llvm::Module& module, const GpuTarget& target, const std::string& prefix);

}  // namespace weft::detail
