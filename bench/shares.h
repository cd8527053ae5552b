// Rates of the workloads as shares of what the machine can do.
#pragma once
#include <map>
#include <string>

/// What share of the bandwidth of the loop most like them ("read", "copy" or "axpy"), and of oneDNN's own rate of square products, weft's
/// workloads reach that are bound by either. One JSON object each: bytes are what the compiled program's kernels read and write, by its
/// cost_analysis(); the time is the least of many calls, as that of the loops is.
void shares(double seconds, const std::map<std::string, double>& bytes_a_second, const std::map<int, double>& flops_a_second);
