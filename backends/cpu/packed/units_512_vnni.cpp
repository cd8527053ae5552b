// int8 four by four and int16 two by two, summed in int32: AVX512_VNNI.
#include "weft/backends/cpu/instruction_sets.h"
#include "weft/backends/cpu/packed/units.h"

#ifdef __x86_64__

#include <immintrin.h>

WEFT_BEGIN_INSTRUCTIONS(WEFT_AVX512 ",avx512vnni")

namespace weft::detail::packed {
namespace {

#include "weft/backends/cpu/packed/tile_of_unit.h"
#include "weft/backends/cpu/packed/units_512_common.h"

struct SignedLeft : Integers512 {
  static constexpr bool kStarts = true;
  static Vector multiply_add(Operand left, Operand right, Vector sum) { return _mm512_dpbusd_epi32(sum, right, left); }
};
struct UnsignedLeft : Integers512 {
  static constexpr bool kStarts = true;
  static Vector multiply_add(Operand left, Operand right, Vector sum) { return _mm512_dpbusd_epi32(sum, left, right); }
};
struct Pairs : Integers512 {
  static Vector multiply_add(Operand left, Operand right, Vector sum) { return _mm512_dpwssd_epi32(sum, left, right); }
};

}  // namespace
}  // namespace weft::detail::packed

WEFT_END_INSTRUCTIONS
#endif

namespace weft::detail::packed {
const Unit* unit_512_vnni([[maybe_unused]] UnitKind kind) {
#ifdef __x86_64__
  static const bool possible = uses_avx512() && __builtin_cpu_supports("avx512vnni");
  static constexpr Unit signed_left = make_unit<SignedLeft>(int8, int32, 4), unsigned_left = make_unit<UnsignedLeft>(uint8, int32, 4),
                        pairs = make_unit<Pairs>(int16, int32, 2);
  if (!possible) return nullptr;
  switch (kind) {
    case UnitKind::i8_quads: return &signed_left;
    case UnitKind::u8_quads: return &unsigned_left;
    case UnitKind::i16_pairs: return &pairs;
    default: break;
  }
#endif
  return nullptr;
}
}  // namespace weft::detail::packed
