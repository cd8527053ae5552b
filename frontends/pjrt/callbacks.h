// Functions of the host's program, of Python, by their numbers.
#pragma once
#include <cstdint>

#include "weft/frontends/stablehlo/import/importer.h"

namespace weft::pjrt {

/// The number of the function that a custom call's backend_config names. Throws Error where it is one of another process.
std::int64_t host_function_of(const detail::mlir::OpCall& c);

/// Calls a function with the addresses of its operands' elements, and of memory for its results'. Throws Failure with what it says of its
/// own failure.
void call_host(std::int64_t function, const void* const* operands, void* const* results);

}  // namespace weft::pjrt
