// Programs as object files and headers for them.
#pragma once
#include "weft/runtime/host/executable.h"

namespace weft::detail {

/// Throws CompileError where a program can't be exported, for an unknown processor, and for several that one file can't be for.
Object export_object(const ObjectRequest& request);

/// The text of the header: for C, and for C++ from C++20 on with functions of std::span. `targets`: processors' names in words.
std::string object_header(const ObjectRequest& request, const std::string& targets);

}  // namespace weft::detail
