// A kernel's signature: all that its code is made from, as numbers. Equal signatures give equal code.
#pragma once
#include <cstdint>
#include <vector>

#include "weft/backends/codegen/schedule/schedule.h"

namespace weft::detail {

/// All that makes up a kernel's code but for the schedule.
std::vector<std::int64_t> signature(const Kernel& k);
/// All that emit_kernel reads of a kernel and its schedule, names aside.
std::vector<std::int64_t> code_signature(const Kernel& k, const Schedule& s);

}  // namespace weft::detail
