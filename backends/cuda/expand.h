// Expansions, for GPUs, of operations that have no kernel into operations that have one, so that what they compute stays on the device.
#pragma once
#include <optional>
#include <span>

#include "weft/core/base/function_ref.h"
#include "weft/core/ir/jaxpr.h"
#include "weft/core/ir/rules.h"
#include "weft/core/ops/linalg/fft.h"
#include "weft/core/ops/movement/scatter.h"
#include "weft/core/ops/movement/sort.h"

namespace weft::detail {

/// The rules that expand operations: the program, or nothing where the equation stays as it is.
struct GpuExpansionRules {
  using Function = std::optional<Jaxpr>(const Eqn& e, std::span<const Aval> in);
};
/// The program that computes the equation by `body`.
Jaxpr expansion_of(const Eqn& e, std::span<const Aval> in, FunctionRef<std::vector<Array>(std::span<const Array>)> body);

/// The program of an equation: convolutions, sorting, the largest elements, Fourier transforms, scatters, and linear algebra where there
/// are libraries for it. Nothing for others, for empty arrays, and for transforms of lengths with large prime factors. Its constants are
/// tables.
std::optional<Jaxpr> expand_for_gpu(const Eqn& e, std::span<const Aval> in);

// The families.

/// Sorting, and the largest elements: of long lines by the digits of unsigned codes (RadixOrder), of short ones by rounds.
std::vector<Array> sort_on_gpu(const Sort::Params& p, std::span<const Array> operands);
std::vector<Array> top_k_on_gpu(const TopKLargest::Params& p, const Array& x);
/// Bitonic sorting of any length: O(log(n)^2) rounds in each of which every element meets one other (Batcher 1968; Lang's form for lengths
/// that are no power of two). The order is total, positions decide among equal keys, so that it is stable.
std::vector<Array> sort_by_rounds(const Sort::Params& p, std::span<const Array> operands);
std::vector<Array> top_k_by_rounds(const TopKLargest::Params& p, const Array& x);
/// Keeps only the last of several updates to one position, so that updates can be applied in any order. Not for windows that may overlap
/// partly, nor for few updates.
bool has_scatter_of_last_updates(const Scatter::Params& p, std::span<const Aval> in);
Array scatter_of_last_updates(const Scatter::Params& p, const Array& operand, const Array& indices, const Array& updates);
/// Matmuls of 16-bit floats with rows that begin at any element, as those of rows that begin at whole vectors. Nothing for small ones.
std::optional<Jaxpr> expand_unaligned_matmul(const Eqn& e, std::span<const Aval> in);
/// Whether the lengths have small prime factors only.
bool has_fft_by_matmuls(const FftParams& p);
/// The mixed-radix algorithm, each step a matmul with a small matrix of roots of one (Cooley and Tukey 1965).
Array fft_by_matmuls(const FftParams& p, const Array& x);

}  // namespace weft::detail
