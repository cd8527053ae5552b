// Vectors of 32 bytes.
#include "weft/backends/cpu/factors/side_by_side.h"
#include "weft/backends/cpu/jit.h"

#ifdef __x86_64__

#include <immintrin.h>

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif

#define WEFT_LANES_BYTES 32
#define WEFT_LANES_SPACE lanes_256
#define WEFT_LANES_ROOT_F64 _mm256_sqrt_pd
#define WEFT_LANES_ROOT_F32 _mm256_sqrt_ps
#include "weft/backends/cpu/factors/side_by_side_of_vectors.h"

#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

namespace weft::detail::lapack {
template <class R>
const SideBySide<R>* side_by_side_256() {
  static const bool possible = native_vector_bytes() >= 32 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return possible ? &lanes_256::kSideBySide<R> : nullptr;
}
}  // namespace weft::detail::lapack

#else

namespace weft::detail::lapack {
template <class R>
const SideBySide<R>* side_by_side_256() {
  return nullptr;
}
}  // namespace weft::detail::lapack

#endif

namespace weft::detail::lapack {
template const SideBySide<float>* side_by_side_256();
template const SideBySide<double>* side_by_side_256();
}  // namespace weft::detail::lapack
