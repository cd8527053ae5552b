// bfloat16 two by two, summed in float32: AVX512_BF16. Each product is added by one rounding, to the nearest even; subnormal numbers are 0.
#include "weft/backends/cpu/instruction_sets.h"
#include "weft/backends/cpu/packed/units.h"

#ifdef __x86_64__

#include <immintrin.h>

WEFT_BEGIN_INSTRUCTIONS(WEFT_AVX512 ",avx512bf16")

namespace weft::detail::packed {
namespace {

#include "weft/backends/cpu/packed/tile_of_unit.h"
#include "weft/backends/cpu/packed/units_512_common.h"

struct Pairs : Floats512 {
  using Operand = __m512i;
  static Operand operand(const char* p) { return _mm512_loadu_si512(p); }
  static Operand broadcast(const char* p) {
    std::int32_t word;
    __builtin_memcpy(&word, p, sizeof word);
    return _mm512_set1_epi32(word);
  }
  static Vector multiply_add(Operand left, Operand right, Vector sum) {
    return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(left), reinterpret_cast<__m512bh>(right));
  }
};

}  // namespace
}  // namespace weft::detail::packed

WEFT_END_INSTRUCTIONS
#endif

namespace weft::detail::packed {
const Unit* unit_512_bf16([[maybe_unused]] UnitKind kind) {
#ifdef __x86_64__
  static const bool possible = uses_avx512() && __builtin_cpu_supports("avx512bf16");
  static constexpr Unit pairs = make_unit<Pairs>(bfloat16, float32, 2);
  if (possible && kind == UnitKind::bf16_pairs) return &pairs;
#endif
  return nullptr;
}
}  // namespace weft::detail::packed
