// The decompositions for vectors of 32 bytes.
#include "weft/backends/cpu/factors/side_by_side.h"
#include "weft/backends/cpu/instruction_sets.h"

#ifdef __x86_64__
#include <immintrin.h>

WEFT_BEGIN_INSTRUCTIONS(WEFT_AVX2)
#define WEFT_LANES_BYTES 32
#define WEFT_LANES_SPACE lanes_256
#define WEFT_LANES_ROOT_F64 _mm256_sqrt_pd
#define WEFT_LANES_ROOT_F32 _mm256_sqrt_ps
#include "weft/backends/cpu/factors/side_by_side_of_vectors.h"
WEFT_END_INSTRUCTIONS
#endif

namespace weft::detail::lapack {
template <class R>
const SideBySide<R>* side_by_side_256() {
#ifdef __x86_64__
  if (uses_avx2()) return &lanes_256::kSideBySide<R>;
#endif
  return nullptr;
}
template const SideBySide<float>* side_by_side_256();
template const SideBySide<double>* side_by_side_256();
}  // namespace weft::detail::lapack
