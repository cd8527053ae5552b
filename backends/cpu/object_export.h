// Compiled programs as object files that need no weft.
#pragma once
#include <string>
#include <vector>

#include "weft/backends/cpu/jit.h"

namespace weft::detail {

/// What an exported function does, one after the other.
struct ObjectCall {
  const Step* step = nullptr;  ///< a kernel or a control step of the program; null: a copy of args[1] to args[0]
  struct Pointer {
    enum class Kind { input, output, arena, constant } kind = Kind::input;
    std::int64_t index = 0;  ///< of the input, output or constant; an offset into the arena
  };
  std::vector<Pointer> args;
  std::int64_t bytes = 0;  ///< of a copy
};

/// Contents of constants, by number.
struct ObjectConstants {
  std::vector<std::string> contents;
  int add(const void* data, std::int64_t bytes);
};

/// An object file with a function `void name(const void* const* inputs, void* const* outputs)`. `address`: of constants and literals that
/// control steps read. Throws CompileError if the code needs what only weft has.
std::string object_file(const std::string& name, const KernelProgram& p, const std::vector<Schedule>& schedules,
                        const std::vector<ObjectCall>& calls, ObjectConstants constants,
                        const std::function<const void*(const FixedPointer&)>& address);

}  // namespace weft::detail
