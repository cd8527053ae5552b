// Kernels of small work: each point of a batch (or a single one) computes all elements of small arrays one by one, in registers, through
// loops too. Reductions, matmuls and factorisations of a few elements are written out.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "weft/backends/codegen/planner/kernel.h"
#include "weft/core/ir/jaxpr.h"
#include "weft/core/ir/rules.h"

namespace weft::detail {

struct LaneKernel {
  Kernel kernel;
  std::vector<Var> buffers;  ///< of each argument: an operand or a result of the equation
};

struct Definitions;

/// A kernel for a loop, or for a factorisation or triangular system, if its arrays are small enough and every point can be computed on its
/// own; else nothing. `known`: of the program, made for the first equation that asks for it. `stores`: whether an array of which each
/// iteration reads one element a lane is better stored than seen through the movements that make it.
std::optional<LaneKernel> form_lane_kernel(const JaxprData& j, const Eqn& e, std::shared_ptr<const Definitions>& known,
                                           const std::function<bool(Var)>& stores);

/// One kernel for the whole program, if all its results have the same leading dimension and each point of it can be computed on its own
/// from small arrays; else nothing. `buffers` are inputs, constants and results.
std::optional<LaneKernel> form_lane_program(const JaxprData& j);

/// The elements of a small array, row-major.
using Elements = std::vector<KernelValue>;
struct MatrixElements {
  Elements elements;
  std::size_t rows = 0, columns = 0;
};
/// Rules of operations on matrices that are written out in scalar operations: the elements of each result, from those of the operands.
struct MatrixElementRules {
  using Function = std::vector<Elements>(Dag& dag, const ParamsBase& params, std::span<const MatrixElements> operands);
};

}  // namespace weft::detail
