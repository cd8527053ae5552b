// Which code of an object file runs: the processor's level, and what functions say in words.
#include <cstdlib>

#include "weft/aot.h"

#ifdef __x86_64__
#include <cpuid.h>

namespace {

bool has(unsigned value, unsigned bits) { return (value & bits) == bits; }

/// https://gitlab.com/x86-psABIs/x86-64-ABI: each level has all of those below, and the operating system keeps its registers.
int processor_level() {
  unsigned a = 0, b = 0, c = 0, d = 0, extended_c = 0, b7 = 0;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return 1;
  const unsigned c1 = c;
  if (__get_cpuid(0x80000001, &a, &b, &c, &d)) extended_c = c;
  if (!has(c1, bit_SSE3 | bit_SSSE3 | bit_SSE4_1 | bit_SSE4_2 | bit_POPCNT | bit_CMPXCHG16B) || !has(extended_c, bit_LAHF_LM)) return 1;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) b7 = b;
  unsigned kept = 0;
  if (has(c1, bit_OSXSAVE)) {
    unsigned high = 0;
    __asm__("xgetbv" : "=a"(kept), "=d"(high) : "c"(0));
  }
  if (!has(kept, 0x6) || !has(c1, bit_AVX | bit_F16C | bit_FMA | bit_MOVBE) || !has(b7, bit_AVX2 | bit_BMI | bit_BMI2) ||
      !has(extended_c, bit_ABM))
    return 2;
  return has(kept, 0xe6) && has(b7, bit_AVX512F | bit_AVX512BW | bit_AVX512CD | bit_AVX512DQ | bit_AVX512VL) ? 4 : 3;
}

}  // namespace
#else
namespace {
int processor_level() { return 0; }
}  // namespace
#endif

extern "C" int weft_aot_level(void) {
  // Threads that ask at a time find the same.
  static int level = -1;
  int known = __atomic_load_n(&level, __ATOMIC_RELAXED);
  if (known >= 0) return known;
  known = processor_level();
  if (const char* wanted = std::getenv("WEFT_AOT_LEVEL"))
    if (const int n = std::atoi(wanted); n >= 1 && n < known) known = n;
  __atomic_store_n(&level, known, __ATOMIC_RELAXED);
  return known;
}

extern "C" const char* weft_aot_message(int status) {
  switch (status) {
    case WEFT_AOT_OK: return "the results are there";
    case WEFT_AOT_NO_MEMORY: return "there is no memory for temporaries";
    case WEFT_AOT_BAD_POINTER: return "an array is null, or not aligned to its elements";
    default: return "not a status of an exported function";
  }
}
