// Linear algebra by cuSOLVER and cuBLAS, opened when a program needs them for the first time.
#pragma once
#include "weft/backends/cuda/device_step.h"
#include "weft/core/ir/primitive.h"

namespace weft::detail {

/// The primitive to which factorisations and solves on GPUs expand: one library routine for `count` matrices (count, columns, rows), which
/// are column-major to the library. Routines overwrite matrices: the results begin as copies of operands. `info` (int32), a number for each
/// matrix, is not 0 where the algorithm failed.
///
///     routine  operands            results
///     potrf    a                   the factor in the triangle that is read, info
///     getrf    a                   factors, pivots (int32, from 0), permutation (int32), info
///     geqrf    a                   factors, taus, info
///     orgqr    factors, taus       q, info
///     syevd    a                   vectors, values, info
///     gesvd    a, rows >= columns  values, info; or values, u, vt, info
///     trsm     a, b                x
struct SolverCall {
  static constexpr std::string_view name = "solver_call", doc = "A routine of cuSOLVER or cuBLAS.";
  static constexpr Kind kind = Kind::library;
  static constexpr bool not_linear = true;
  static constexpr std::string_view not_differentiable = "it is made when derivatives have been taken";
  struct Params {
    std::string routine;
    bool upper = false;   ///< the triangle that is read
    bool vectors = true;  ///< of gesvd
    bool full = false;    ///< and all of them
    bool right = false;   ///< of trsm: x op(a) = b
    int turn = 0;         ///< of trsm: op as it is, transposed, adjoint
    bool unit_diagonal = false;
    friend bool operator==(const Params&, const Params&) = default;
  };
  static std::vector<Aval> abstract_eval(const OpContext& c);
  static BatchResult batch(const BatchContext& c);
  static void reference(const ReferenceContext& c);
};

namespace cuda {

/// Whether the libraries can be opened (WEFT_LIBCUSOLVER, WEFT_LIBCUBLAS name other files).
bool has_solver();
/// cuSOLVER's version, or that there is none.
std::string solver_version();
std::unique_ptr<DeviceStep> make_solver_step(GpuDevice& device, const NamedKernels& kernels, const SolverCall::Params& p,
                                             std::span<const Aval> in, std::span<const Aval> out, const std::string& name);

}  // namespace cuda
}  // namespace weft::detail
