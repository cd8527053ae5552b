// The decompositions for vectors of 64 bytes.
#include "weft/backends/cpu/factors/side_by_side.h"
#include "weft/backends/cpu/instruction_sets.h"

#ifdef __x86_64__
#include <immintrin.h>

WEFT_BEGIN_INSTRUCTIONS(WEFT_AVX512)
#define WEFT_LANES_BYTES 64
#define WEFT_LANES_SPACE lanes_512
// Their forms without a mask warn of a variable of the compiler's own header.
#define WEFT_LANES_ROOT_F64(x) _mm512_mask_sqrt_pd(x, 0xff, x)
#define WEFT_LANES_ROOT_F32(x) _mm512_mask_sqrt_ps(x, 0xffff, x)
#include "weft/backends/cpu/factors/side_by_side_of_vectors.h"
WEFT_END_INSTRUCTIONS
#endif

namespace weft::detail::lapack {
template <class R>
const SideBySide<R>* side_by_side_512() {
#ifdef __x86_64__
  if (uses_avx512()) return &lanes_512::kSideBySide<R>;
#endif
  return nullptr;
}
template const SideBySide<float>* side_by_side_512();
template const SideBySide<double>* side_by_side_512();
}  // namespace weft::detail::lapack
