// custom_linear_solve: the solution of a linear system, given by a program, whose derivatives follow from the system itself.
#pragma once
#include <vector>

#include "weft/core/ir/primitive.h"

namespace weft::detail {

/// How many of the leading operands each program captures.
struct LinearSolveCounts {
  int matvec = 0, vecmat = 0, solve = 0, transpose_solve = 0;
  friend bool operator==(const LinearSolveCounts&, const LinearSolveCounts&) = default;
};
std::string print_param(const LinearSolveCounts& v);
void read_param(ParamReader& r, LinearSolveCounts& v);

/// The programs matvec, vecmat, solve, transpose_solve, each of what it captures and a right-hand side; the second and the fourth are empty
/// where the transpose can't be solved.
struct LinearSolveParams {
  LinearSolveCounts const_lengths;
  std::vector<Jaxpr> jaxprs;
  friend bool operator==(const LinearSolveParams&, const LinearSolveParams&) = default;
};

/// A linear function with what it captured, which is first among its inputs.
struct LinearMap {
  Jaxpr jaxpr;
  std::vector<Array> consts = {};
};
/// The x with matvec(x) = b, computed by solve(b); with the two maps of the transposed system it can be transposed.
std::vector<Array> linear_solve(const LinearMap& matvec, const LinearMap& solve, const LinearMap* vecmat, const LinearMap* transpose_solve,
                                std::span<const Array> b, SourceLoc loc);

}  // namespace weft::detail
