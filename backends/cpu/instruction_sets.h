// Sets of vector instructions for which parts of the library are compiled beside the processor's baseline: how a source says that what
// follows is compiled for a set, and whether this processor runs it.
#pragma once

namespace weft::detail {

/// Whether vectors of 32 bytes are used, and the processor has WEFT_AVX2's instructions. False on other processors than x86, and if
/// WEFT_CPU names one with shorter vectors.
bool uses_avx2();
/// The same for vectors of 64 bytes and WEFT_AVX512.
bool uses_avx512();

}  // namespace weft::detail

#define WEFT_AVX2 "avx2,fma,f16c"
#define WEFT_AVX512 "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma,f16c"

/// Functions between the two are compiled with the instructions of `set`, on x86. Templates and inline functions of other headers must not
/// be instantiated there: the linker keeps one copy of each, which then needs these instructions everywhere.
#define WEFT_PRAGMA(text) _Pragma(#text)
#ifndef __x86_64__
#define WEFT_BEGIN_INSTRUCTIONS(set)
#define WEFT_END_INSTRUCTIONS
#elif defined(__clang__)
#define WEFT_BEGIN_INSTRUCTIONS(set) WEFT_PRAGMA(clang attribute push(__attribute__((target(set))), apply_to = function))
#define WEFT_END_INSTRUCTIONS WEFT_PRAGMA(clang attribute pop)
#else
#define WEFT_BEGIN_INSTRUCTIONS(set) WEFT_PRAGMA(GCC push_options) WEFT_PRAGMA(GCC target(set))
#define WEFT_END_INSTRUCTIONS WEFT_PRAGMA(GCC pop_options)
#endif
