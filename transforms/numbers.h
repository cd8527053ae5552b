// C++ numbers among the arguments of a function that is traced. A number is float32 by itself and yields to an array's dtype; where it
// meets a float64 array, the value that counts is the one that was written, not the float32 nearest to it.
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "weft/core/trace/trace.h"
#include "weft/transforms/flat.h"

namespace weft::detail {

/// Makes float32 and complex64 numbers (weakly typed scalars) float64 and complex128, still weakly typed. Returns whether there were any.
bool widen_numbers(std::span<Aval> types);

/// The arrays in the dtypes of an input each, if they are numbers that were widened; the others as they are.
std::vector<Array> as_widened(std::span<const Array> args, std::span<const Aval> inputs);

/// Traces a function of the user's, whose arguments are f.args and whose inputs the request lists. If the function converts one of its
/// numbers to 64 bits, it is traced again with numbers of 64 bits: the program's inputs and f.args have that dtype then. Results that are
/// numbers themselves keep the dtype of the first program where no other trace is open. If `numbers` is given, the program gives them in
/// 64 bits, and it tells which they are: as_numbers is for the caller to apply.
Jaxpr trace_with_numbers(FlatFunction& f, TraceRequest& request, const std::function<std::vector<Array>(std::span<const Array>)>& body,
                         std::vector<bool>* numbers = nullptr);

/// Results of a program as numbers, where they are such: float32 scalars that keep their value in 64 bits.
std::vector<Array> as_numbers(std::vector<Array> results, const std::vector<bool>& numbers, SourceLoc loc);

}  // namespace weft::detail
