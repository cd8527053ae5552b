// Compiled programs as the code cache stores them: the steps, the memory plan and the machine code, so that another process that compiles
// the same program neither forms kernels nor emits code.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/backends/codegen/planner/program.h"
#include "weft/backends/codegen/schedule/schedule.h"
#include "weft/backends/cpu/jit.h"

namespace weft::detail {

/// All that a program's plan is made from, as bytes: operations, parameters, types, literals, which inputs are donated. Not the values of
/// constants, which no plan depends on, nor source lines. nullopt: an operation isn't one of the library's own.
std::optional<std::string> program_key(const Jaxpr& simplified, const std::vector<bool>& donated);

struct StoredProgram {
  // While not all code is optimised: the excess of each call in cycles, and after how many calls the next part is.
  std::int64_t excess = 0, due = 0;
  KernelProgram program;                          ///< without kernels; of loops and branches their programs only
  std::vector<Schedule> schedules;                ///< one for each kernel that there was: its blocks only
  std::vector<ObjectCode> objects;                ///< where several hold a kernel the last one counts
  std::vector<std::vector<FixedPointer>> tables;  ///< of the program's control steps; no program: the outermost one
};

std::string write_program(const KernelProgram& p, std::int64_t excess, std::int64_t due, const std::vector<Schedule>& schedules,
                          const std::vector<const ObjectCode*>& objects, const std::vector<std::vector<FixedPointer>>& tables);
/// The excess of what write_program wrote; nullopt if it can't be read.
std::optional<std::int64_t> stored_excess(std::string_view bytes);
/// What write_program wrote of the same program; nullopt if that can't be.
std::optional<StoredProgram> read_program(std::string_view bytes, const Jaxpr& simplified);

}  // namespace weft::detail
