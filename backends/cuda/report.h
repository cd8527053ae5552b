// A report of the CUDA driver, libraries and devices that are found, for people to read.
#pragma once
#include <string>

namespace weft::detail {

/// A line for each device and library that programs on GPUs use. Throws DeviceError, saying why, where there is no device.
std::string gpu_report();

}  // namespace weft::detail
