// Functions in double precision, which the errors of float32 are measured against.
#pragma once
#include <cstddef>
#include <string_view>

/// What bench/ulp measures float32 against: functions in double precision over whole arrays, so that the C library's vectors are used
/// where it has them (their error is at most 4 units of float64, 1e-8 of float32).
namespace reference {
using Loop = void (*)(const double* x, double* y, std::size_t n);
/// The loop of a function, or null.
Loop loop(std::string_view function);
}  // namespace reference
