#pragma once
#include <map>

/// What share of the best bandwidth, and of oneDNN's own rate of square products, weft's workloads reach that are bound by either. One JSON
/// object each: bytes are what the compiled program's kernels read and write, by its cost_analysis(); the time is the least of many calls,
/// as that of the loops is.
void shares(double seconds, double bytes_a_second, const std::map<int, double>& flops_a_second);
