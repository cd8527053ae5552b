// Which of the instruction sets that the library is compiled for this processor runs.
#include "weft/backends/cpu/instruction_sets.h"

#include "weft/backends/cpu/jit.h"

#ifdef __x86_64__

#include <cpuid.h>

namespace weft::detail {
namespace {
// __builtin_cpu_supports of g++ 12 has no name for it.
bool has_f16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C) != 0;
}
}  // namespace

bool uses_avx2() {
  static const bool uses = native_vector_bytes() >= 32 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
  return uses;
}
bool uses_avx512() {
  static const bool uses = native_vector_bytes() >= 64 && uses_avx2() && __builtin_cpu_supports("avx512f") &&
                           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  return uses;
}
}  // namespace weft::detail

#else

namespace weft::detail {
bool uses_avx2() { return false; }
bool uses_avx512() { return false; }
}  // namespace weft::detail

#endif
