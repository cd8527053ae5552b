// Vectors of 64 bytes.
#include "weft/backends/cpu/factors/side_by_side.h"
#include "weft/backends/cpu/jit.h"

#ifdef __x86_64__

#include <immintrin.h>

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")
#endif

#define WEFT_LANES_BYTES 64
#define WEFT_LANES_SPACE lanes_512
// Their forms without a mask warn of a variable of the compiler's own header.
#define WEFT_LANES_ROOT_F64(x) _mm512_mask_sqrt_pd(x, 0xff, x)
#define WEFT_LANES_ROOT_F32(x) _mm512_mask_sqrt_ps(x, 0xffff, x)
#include "weft/backends/cpu/factors/side_by_side_of_vectors.h"

#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

namespace weft::detail::lapack {
template <class R>
const SideBySide<R>* side_by_side_512() {
  static const bool possible = native_vector_bytes() >= 64 && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
                               __builtin_cpu_supports("avx512vl");
  return possible ? &lanes_512::kSideBySide<R> : nullptr;
}
}  // namespace weft::detail::lapack

#else

namespace weft::detail::lapack {
template <class R>
const SideBySide<R>* side_by_side_512() {
  return nullptr;
}
}  // namespace weft::detail::lapack

#endif

namespace weft::detail::lapack {
template const SideBySide<float>* side_by_side_512();
template const SideBySide<double>* side_by_side_512();
}  // namespace weft::detail::lapack
