// A kernel's signature: everything that its code depends on, as numbers. Equal signatures give equal code.
#pragma once
#include <cstdint>
#include <vector>

#include "weft/backends/codegen/schedule/schedule.h"

namespace weft::detail {

/// Everything that a kernel's code depends on except the schedule.
std::vector<std::int64_t> signature(const Kernel& k);
/// Everything that emit_kernel reads of a kernel and its schedule, except names.
std::vector<std::int64_t> code_signature(const Kernel& k, const Schedule& s);

}  // namespace weft::detail
