// Kernels of small work: each point of a batch (or a single one) computes all elements of small arrays one by one, in registers, through
// loops too. Reductions, products and factorisations of a few elements are written out.
#pragma once
#include <optional>
#include <vector>

#include "backends/codegen/kernel.h"
#include "core/jaxpr.h"

namespace weft::detail {

struct LaneKernel {
  Kernel kernel;
  std::vector<Var> buffers;  ///< of each argument: an operand or a result of the equation
};

/// A kernel for a loop, or for a factorisation or triangular system, if its arrays are small enough and every point can be computed on its
/// own; else nothing.
std::optional<LaneKernel> form_lane_kernel(const JaxprData& j, const Eqn& e);

/// One kernel for the whole program, if all its results have the same leading dimension and each point of it can be computed on its own
/// from small arrays; else nothing. `buffers` are inputs, constants and results.
std::optional<LaneKernel> form_lane_program(const JaxprData& j);

/// Factors and solutions of small real matrices, written out in scalar operations. Matrices are row-major.
using Elements = std::vector<KernelValue>;
struct LuElements {
  Elements lu, pivots, permutation;
};
LuElements lu_elements(Dag& dag, Elements a, std::size_t rows, std::size_t columns);
Elements cholesky_elements(Dag& dag, const Elements& a, std::size_t n);
/// op(a) x = b, or x op(a) = b where `left` is false; `lower` tells which triangle of a is read.
Elements triangular_elements(Dag& dag, const Elements& a, Elements b, std::size_t rows, std::size_t columns, bool left, bool lower,
                             bool transpose, bool unit_diagonal);

}  // namespace weft::detail
