// What must hold of any program: the backends agree, derivatives are the limits of differences and each other's transposes, vmap is a loop.
// Failures are doctest's.
#pragma once
#include <string>
#include <vector>

#include "weft/core/ir/rewrite.h"

namespace weft::test {

struct Sample;

/// The distance from 1 to the next number of the dtype; 0 of integers and bool.
double epsilon(DType dtype);
/// What is wrong with an array, or an empty text; floats may differ by `tolerance`, relative to the larger of 1 and the wanted one.
std::string wrong_in(const Array& got, const Array& want, double tolerance);

/// Runs a program on the interpreter and checks that the results have the program's types, and that the CPU backend gives the same.
std::vector<Array> run_everywhere(const Jaxpr& program, const std::vector<Array>& inputs);
std::vector<Array> run_on_interpreter(const Jaxpr& program, const std::vector<Array>& inputs);
/// The sample in float64 or complex128, on the same values.
std::vector<Array> run_in_wide(const Sample& s, const std::vector<Array>& inputs);

/// Which inputs can be differentiated by.
std::vector<bool> inexact_inputs(const Jaxpr& program);
/// (inputs, cotangents of the inexact outputs) -> cotangents of the inputs where `wrt`.
Jaxpr gradient_program(const Jaxpr& program, const std::vector<bool>& wrt);
/// In float64 or complex128: the derivative by the inputs where `wrt`, forward and reverse, and theirs down to `order`.
void check_derivatives(const Jaxpr& program, const std::vector<Array>& inputs, const std::vector<bool>& wrt, int order);
/// The reverse derivative is the transpose of the forward one, which is not itself checked.
void check_transposes(const Jaxpr& program, const std::vector<Array>& inputs, const std::vector<bool>& wrt);
/// `lanes`: arguments for each lane. Each subset of inputs is mapped, along the first axis and along the last.
void check_vmap(const Jaxpr& program, const std::vector<std::vector<Array>>& lanes);

}  // namespace weft::test
