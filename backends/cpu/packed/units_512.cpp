// Vectors of 64 bytes: AVX512F, DQ, BW and VL.
#include "weft/backends/cpu/instruction_sets.h"
#include "weft/backends/cpu/packed/units.h"

#ifdef __x86_64__

#include <immintrin.h>

WEFT_BEGIN_INSTRUCTIONS(WEFT_AVX512)

namespace weft::detail::packed {
namespace {

#include "weft/backends/cpu/packed/tile_of_unit.h"
#include "weft/backends/cpu/packed/units_512_common.h"

struct Float32 : Floats512 {
  using Operand = __m512;
  static Operand operand(const char* p) { return _mm512_loadu_ps(p); }
  static Operand broadcast(const char* p) { return _mm512_set1_ps(*reinterpret_cast<const float*>(p)); }
  static Vector multiply_add(Operand left, Operand right, Vector sum) { return _mm512_fmadd_ps(left, right, sum); }
};
struct Float64 {
  using Vector = __m512d;
  using Operand = __m512d;
  using Mask = __mmask8;
  static constexpr int kBytes = 64, kWord = 8, kLanes = 8, kVectors = 3;
  static constexpr bool kStarts = false;
  static Mask first(int n) { return static_cast<Mask>((1u << n) - 1); }
  static Vector zero() { return _mm512_setzero_pd(); }
  static Vector load(const char* p) { return _mm512_loadu_pd(p); }
  static Vector load_first(Mask m, const char* p) { return _mm512_maskz_loadu_pd(m, p); }
  static Operand operand(const char* p) { return _mm512_loadu_pd(p); }
  static Operand broadcast(const char* p) { return _mm512_set1_pd(*reinterpret_cast<const double*>(p)); }
  static Vector multiply_add(Operand left, Operand right, Vector sum) { return _mm512_fmadd_pd(left, right, sum); }
  static void store(char* p, Vector v) { _mm512_storeu_pd(p, v); }
  static void store_first(Mask m, char* p, Vector v) { _mm512_mask_storeu_pd(p, m, v); }
};
struct Int32 : Integers512 {
  static Vector multiply_add(Operand left, Operand right, Vector sum) { return _mm512_add_epi32(_mm512_mullo_epi32(left, right), sum); }
};
struct Pairs : Integers512 {
  static Vector multiply_add(Operand left, Operand right, Vector sum) { return _mm512_add_epi32(_mm512_madd_epi16(left, right), sum); }
};
struct Int64 : Integers512 {
  using Mask = __mmask8;
  static constexpr int kWord = 8, kLanes = 8;
  static Mask first(int n) { return static_cast<Mask>((1u << n) - 1); }
  static Vector load_first(Mask m, const char* p) { return _mm512_maskz_loadu_epi64(m, p); }
  static Operand broadcast(const char* p) {
    std::int64_t word;
    __builtin_memcpy(&word, p, sizeof word);
    return _mm512_set1_epi64(word);
  }
  static Vector multiply_add(Operand left, Operand right, Vector sum) { return _mm512_add_epi64(_mm512_mullo_epi64(left, right), sum); }
  static void store_first(Mask m, char* p, Vector v) { _mm512_mask_storeu_epi64(p, m, v); }
};

__mmask16 lanes_at(std::int64_t i, std::int64_t n) { return n - i >= 16 ? 0xffff : static_cast<__mmask16>((1u << (n - i)) - 1); }

__m128i bytes_at(__mmask16 m, const void* p, std::int64_t i) { return _mm_maskz_loadu_epi8(m, static_cast<const std::int8_t*>(p) + i); }
__m256i shorts_at(__mmask16 m, const void* p, std::int64_t i) {
  return _mm256_maskz_loadu_epi16(m, static_cast<const std::uint16_t*>(p) + i);
}

void from_i8(const void* from, void* to, std::int64_t n) {
  for (std::int64_t i = 0; i < n; i += 16) {
    const __mmask16 m = lanes_at(i, n);
    _mm512_mask_storeu_epi32(static_cast<std::int32_t*>(to) + i, m, _mm512_maskz_cvtepi8_epi32(m, bytes_at(m, from, i)));
  }
}
void from_u8(const void* from, void* to, std::int64_t n) {
  for (std::int64_t i = 0; i < n; i += 16) {
    const __mmask16 m = lanes_at(i, n);
    _mm512_mask_storeu_epi32(static_cast<std::int32_t*>(to) + i, m, _mm512_maskz_cvtepu8_epi32(m, bytes_at(m, from, i)));
  }
}
void from_i16(const void* from, void* to, std::int64_t n) {
  for (std::int64_t i = 0; i < n; i += 16) {
    const __mmask16 m = lanes_at(i, n);
    _mm512_mask_storeu_epi32(static_cast<std::int32_t*>(to) + i, m, _mm512_maskz_cvtepi16_epi32(m, shorts_at(m, from, i)));
  }
}
void from_u16(const void* from, void* to, std::int64_t n) {
  for (std::int64_t i = 0; i < n; i += 16) {
    const __mmask16 m = lanes_at(i, n);
    _mm512_mask_storeu_epi32(static_cast<std::int32_t*>(to) + i, m, _mm512_maskz_cvtepu16_epi32(m, shorts_at(m, from, i)));
  }
}
void i8_to_i16(const void* from, void* to, std::int64_t n) {
  for (std::int64_t i = 0; i < n; i += 16) {
    const __mmask16 m = lanes_at(i, n);
    _mm256_mask_storeu_epi16(static_cast<std::int16_t*>(to) + i, m, _mm256_maskz_cvtepi8_epi16(m, bytes_at(m, from, i)));
  }
}
void u8_to_i16(const void* from, void* to, std::int64_t n) {
  for (std::int64_t i = 0; i < n; i += 16) {
    const __mmask16 m = lanes_at(i, n);
    _mm256_mask_storeu_epi16(static_cast<std::int16_t*>(to) + i, m, _mm256_maskz_cvtepu8_epi16(m, bytes_at(m, from, i)));
  }
}
void to_i8(const void* from, void* to, std::int64_t n) {
  for (std::int64_t i = 0; i < n; i += 16) {
    const __mmask16 m = lanes_at(i, n);
    const __m512i v = _mm512_maskz_loadu_epi32(m, static_cast<const std::int32_t*>(from) + i);
    _mm_mask_storeu_epi8(static_cast<std::int8_t*>(to) + i, m, _mm512_maskz_cvtepi32_epi8(m, v));
  }
}
void to_i16(const void* from, void* to, std::int64_t n) {
  for (std::int64_t i = 0; i < n; i += 16) {
    const __mmask16 m = lanes_at(i, n);
    const __m512i v = _mm512_maskz_loadu_epi32(m, static_cast<const std::int32_t*>(from) + i);
    _mm256_mask_storeu_epi16(static_cast<std::int16_t*>(to) + i, m, _mm512_maskz_cvtepi32_epi16(m, v));
  }
}
void from_f16(const void* from, void* to, std::int64_t n) {
  for (std::int64_t i = 0; i < n; i += 16) {
    const __mmask16 m = lanes_at(i, n);
    _mm512_mask_storeu_ps(static_cast<float*>(to) + i, m,
                          _mm512_maskz_cvtph_ps(m, _mm256_maskz_loadu_epi16(m, static_cast<const std::uint16_t*>(from) + i)));
  }
}
void from_bf16(const void* from, void* to, std::int64_t n) {
  for (std::int64_t i = 0; i < n; i += 16) {
    const __mmask16 m = lanes_at(i, n);
    const __m512i wide = _mm512_maskz_cvtepu16_epi32(m, _mm256_maskz_loadu_epi16(m, static_cast<const std::uint16_t*>(from) + i));
    _mm512_mask_storeu_epi32(static_cast<float*>(to) + i, m, _mm512_maskz_slli_epi32(m, wide, 16));
  }
}
void to_f16(const void* from, void* to, std::int64_t n) {
  for (std::int64_t i = 0; i < n; i += 16) {
    const __mmask16 m = lanes_at(i, n);
    const __m512 v = _mm512_maskz_loadu_ps(m, static_cast<const float*>(from) + i);
    _mm256_mask_storeu_epi16(static_cast<std::uint16_t*>(to) + i, m,
                             _mm512_maskz_cvtps_ph(m, v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
}
// The processor's own conversion would flush subnormal numbers.
void to_bf16(const void* from, void* to, std::int64_t n) {
  for (std::int64_t i = 0; i < n; i += 16) {
    const __mmask16 m = lanes_at(i, n);
    const __m512 v = _mm512_maskz_loadu_ps(m, static_cast<const float*>(from) + i);
    const __m512i bits = _mm512_castps_si512(v), odd = _mm512_and_si512(_mm512_maskz_srli_epi32(m, bits, 16), _mm512_set1_epi32(1));
    const __m512i rounded = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
    const __m512i quiet = _mm512_or_si512(bits, _mm512_set1_epi32(0x400000));
    const __m512i chosen = _mm512_mask_blend_epi32(_mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q), rounded, quiet);
    _mm256_mask_storeu_epi16(static_cast<std::uint16_t*>(to) + i, m,
                             _mm512_maskz_cvtepi32_epi16(m, _mm512_maskz_srli_epi32(m, chosen, 16)));
  }
}

}  // namespace
}  // namespace weft::detail::packed

WEFT_END_INSTRUCTIONS
#endif

namespace weft::detail::packed {

Convert conversion_512([[maybe_unused]] DType from, [[maybe_unused]] DType to) {
#ifdef __x86_64__
  if (!uses_avx512()) return nullptr;
  if (to == float32) return from == float16 ? from_f16 : from == bfloat16 ? from_bf16 : nullptr;
  if (from == float32) return to == float16 ? to_f16 : to == bfloat16 ? to_bf16 : nullptr;
  if (to == int32) return from == int8 ? from_i8 : from == uint8 ? from_u8 : from == int16 ? from_i16 : from == uint16 ? from_u16 : nullptr;
  if (from == int32 && to.is_integer()) return to.itemsize() == 1 ? to_i8 : to.itemsize() == 2 ? to_i16 : nullptr;
  if (to == int16) return from == int8 ? i8_to_i16 : from == uint8 ? u8_to_i16 : nullptr;
#endif
  return nullptr;
}

const Unit* unit_512([[maybe_unused]] UnitKind kind) {
#ifdef __x86_64__
  static constexpr Unit f32 = make_unit<Float32>(float32, float32, 1), f64 = make_unit<Float64>(float64, float64, 1),
                        i32 = make_unit<Int32>(int32, int32, 1), i64 = make_unit<Int64>(int64, int64, 1),
                        pairs = make_unit<Pairs>(int16, int32, 2);
  if (!uses_avx512()) return nullptr;
  switch (kind) {
    case UnitKind::f32: return &f32;
    case UnitKind::f64: return &f64;
    case UnitKind::i32: return &i32;
    case UnitKind::i64: return &i64;
    case UnitKind::i16_pairs: return &pairs;
    default: break;
  }
#endif
  return nullptr;
}

}  // namespace weft::detail::packed
