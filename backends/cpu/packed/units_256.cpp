// Vectors of 32 bytes: AVX2, FMA and F16C.
#include "weft/backends/cpu/instruction_sets.h"
#include "weft/backends/cpu/packed/units.h"

#ifdef __x86_64__

#include <immintrin.h>

WEFT_BEGIN_INSTRUCTIONS(WEFT_AVX2)

namespace weft::detail::packed {
namespace {

#include "weft/backends/cpu/packed/tile_of_unit.h"

struct Words32 {
  using Mask = __m256i;
  static constexpr int kBytes = 32, kWord = 4, kLanes = 8, kVectors = 2;
  static constexpr bool kStarts = false;
  static Mask first(int n) { return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)); }
};
struct Float32 : Words32 {
  using Vector = __m256;
  using Operand = __m256;
  static Vector zero() { return _mm256_setzero_ps(); }
  static Vector load(const char* p) { return _mm256_loadu_ps(reinterpret_cast<const float*>(p)); }
  static Vector load_first(Mask m, const char* p) { return _mm256_maskload_ps(reinterpret_cast<const float*>(p), m); }
  static Operand operand(const char* p) { return load(p); }
  static Operand broadcast(const char* p) { return _mm256_broadcast_ss(reinterpret_cast<const float*>(p)); }
  static Vector multiply_add(Operand left, Operand right, Vector sum) { return _mm256_fmadd_ps(left, right, sum); }
  static void store(char* p, Vector v) { _mm256_storeu_ps(reinterpret_cast<float*>(p), v); }
  static void store_first(Mask m, char* p, Vector v) { _mm256_maskstore_ps(reinterpret_cast<float*>(p), m, v); }
};
struct Float64 {
  using Vector = __m256d;
  using Operand = __m256d;
  using Mask = __m256i;
  static constexpr int kBytes = 32, kWord = 8, kLanes = 4, kVectors = 2;
  static constexpr bool kStarts = false;
  static Mask first(int n) { return _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3)); }
  static Vector zero() { return _mm256_setzero_pd(); }
  static Vector load(const char* p) { return _mm256_loadu_pd(reinterpret_cast<const double*>(p)); }
  static Vector load_first(Mask m, const char* p) { return _mm256_maskload_pd(reinterpret_cast<const double*>(p), m); }
  static Operand operand(const char* p) { return load(p); }
  static Operand broadcast(const char* p) { return _mm256_broadcast_sd(reinterpret_cast<const double*>(p)); }
  static Vector multiply_add(Operand left, Operand right, Vector sum) { return _mm256_fmadd_pd(left, right, sum); }
  static void store(char* p, Vector v) { _mm256_storeu_pd(reinterpret_cast<double*>(p), v); }
  static void store_first(Mask m, char* p, Vector v) { _mm256_maskstore_pd(reinterpret_cast<double*>(p), m, v); }
};
struct Int32 : Words32 {
  using Vector = __m256i;
  using Operand = __m256i;
  static Vector zero() { return _mm256_setzero_si256(); }
  static Vector load(const char* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
  static Vector load_first(Mask m, const char* p) { return _mm256_maskload_epi32(reinterpret_cast<const int*>(p), m); }
  static Operand operand(const char* p) { return load(p); }
  static Operand broadcast(const char* p) {
    std::int32_t word;
    __builtin_memcpy(&word, p, sizeof word);
    return _mm256_set1_epi32(word);
  }
  static Vector multiply_add(Operand left, Operand right, Vector sum) { return _mm256_add_epi32(_mm256_mullo_epi32(left, right), sum); }
  static void store(char* p, Vector v) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v); }
  static void store_first(Mask m, char* p, Vector v) { _mm256_maskstore_epi32(reinterpret_cast<int*>(p), m, v); }
};
struct Pairs : Int32 {
  static Vector multiply_add(Operand left, Operand right, Vector sum) { return _mm256_add_epi32(_mm256_madd_epi16(left, right), sum); }
};

/// Applies `f` to whole vectors, and to a padded vector for the remainder.
template <class From, class To, class F>
void by_eights(const void* from, void* to, std::int64_t n, F&& f) {
  const auto* const x = static_cast<const From*>(from);
  auto* const y = static_cast<To*>(to);
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8) f(x + i, y + i);
  if (i == n) return;
  From padded[8] = {};
  To result[8];
  __builtin_memcpy(padded, x + i, static_cast<std::size_t>(n - i) * sizeof(From));
  f(padded, result);
  __builtin_memcpy(y + i, result, static_cast<std::size_t>(n - i) * sizeof(To));
}
__m128i half_vector(const void* p) { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }
__m128i quarter_vector(const void* p) { return _mm_loadl_epi64(static_cast<const __m128i*>(p)); }
/// The low halves of eight words.
__m128i low_halves(__m256i v) {
  const __m256i halves = _mm256_and_si256(v, _mm256_set1_epi32(0xffff));
  return _mm_packus_epi32(_mm256_castsi256_si128(halves), _mm256_extracti128_si256(halves, 1));
}

void from_i8(const void* from, void* to, std::int64_t n) {
  by_eights<std::int8_t, std::int32_t>(from, to, n, [](const std::int8_t* x, std::int32_t* y) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), _mm256_cvtepi8_epi32(quarter_vector(x)));
  });
}
void from_u8(const void* from, void* to, std::int64_t n) {
  by_eights<std::uint8_t, std::int32_t>(from, to, n, [](const std::uint8_t* x, std::int32_t* y) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), _mm256_cvtepu8_epi32(quarter_vector(x)));
  });
}
void from_i16(const void* from, void* to, std::int64_t n) {
  by_eights<std::int16_t, std::int32_t>(from, to, n, [](const std::int16_t* x, std::int32_t* y) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), _mm256_cvtepi16_epi32(half_vector(x)));
  });
}
void from_u16(const void* from, void* to, std::int64_t n) {
  by_eights<std::uint16_t, std::int32_t>(from, to, n, [](const std::uint16_t* x, std::int32_t* y) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), _mm256_cvtepu16_epi32(half_vector(x)));
  });
}
void to_i16(const void* from, void* to, std::int64_t n) {
  by_eights<std::int32_t, std::int16_t>(from, to, n, [](const std::int32_t* x, std::int16_t* y) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y), low_halves(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(x))));
  });
}
void to_i8(const void* from, void* to, std::int64_t n) {
  by_eights<std::int32_t, std::int8_t>(from, to, n, [](const std::int32_t* x, std::int8_t* y) {
    const __m128i halves = low_halves(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(x)));
    const __m128i bytes = _mm_and_si128(halves, _mm_set1_epi16(0xff));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(y), _mm_packus_epi16(bytes, bytes));
  });
}
void i8_to_i16(const void* from, void* to, std::int64_t n) {
  by_eights<std::int8_t, std::int16_t>(from, to, n, [](const std::int8_t* x, std::int16_t* y) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y), _mm_cvtepi8_epi16(quarter_vector(x)));
  });
}
void u8_to_i16(const void* from, void* to, std::int64_t n) {
  by_eights<std::uint8_t, std::int16_t>(from, to, n, [](const std::uint8_t* x, std::int16_t* y) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y), _mm_cvtepu8_epi16(quarter_vector(x)));
  });
}
void from_f16(const void* from, void* to, std::int64_t n) {
  by_eights<std::uint16_t, float>(from, to, n,
                                  [](const std::uint16_t* x, float* y) { _mm256_storeu_ps(y, _mm256_cvtph_ps(half_vector(x))); });
}
void from_bf16(const void* from, void* to, std::int64_t n) {
  by_eights<std::uint16_t, float>(from, to, n, [](const std::uint16_t* x, float* y) {
    const __m256i wide = _mm256_slli_epi32(_mm256_cvtepu16_epi32(half_vector(x)), 16);
    _mm256_storeu_ps(y, _mm256_castsi256_ps(wide));
  });
}
void to_f16(const void* from, void* to, std::int64_t n) {
  by_eights<float, std::uint16_t>(from, to, n, [](const float* x, std::uint16_t* y) {
    const __m128i r = _mm256_cvtps_ph(_mm256_loadu_ps(x), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y), r);
  });
}
void to_bf16(const void* from, void* to, std::int64_t n) {
  by_eights<float, std::uint16_t>(from, to, n, [](const float* x, std::uint16_t* y) {
    const __m256 v = _mm256_loadu_ps(x);
    const __m256i bits = _mm256_castps_si256(v), odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i rounded = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
    const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
    const __m256i chosen = _mm256_blendv_epi8(rounded, quiet, _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q)));
    const __m256i high = _mm256_srli_epi32(chosen, 16);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y), _mm_packus_epi32(_mm256_castsi256_si128(high), _mm256_extracti128_si256(high, 1)));
  });
}

}  // namespace
}  // namespace weft::detail::packed

WEFT_END_INSTRUCTIONS
#endif

namespace weft::detail::packed {

Convert conversion_256([[maybe_unused]] DType from, [[maybe_unused]] DType to) {
#ifdef __x86_64__
  if (!uses_avx2()) return nullptr;
  if (to == float32) return from == float16 ? from_f16 : from == bfloat16 ? from_bf16 : nullptr;
  if (from == float32) return to == float16 ? to_f16 : to == bfloat16 ? to_bf16 : nullptr;
  if (to == int32) return from == int8 ? from_i8 : from == uint8 ? from_u8 : from == int16 ? from_i16 : from == uint16 ? from_u16 : nullptr;
  if (from == int32 && to.is_integer()) return to.itemsize() == 1 ? to_i8 : to.itemsize() == 2 ? to_i16 : nullptr;
  if (to == int16) return from == int8 ? i8_to_i16 : from == uint8 ? u8_to_i16 : nullptr;
#endif
  return nullptr;
}

const Unit* unit_256([[maybe_unused]] UnitKind kind) {
#ifdef __x86_64__
  static constexpr Unit f32 = make_unit<Float32>(float32, float32, 1), f64 = make_unit<Float64>(float64, float64, 1),
                        i32 = make_unit<Int32>(int32, int32, 1), pairs = make_unit<Pairs>(int16, int32, 2);
  if (!uses_avx2()) return nullptr;
  switch (kind) {
    case UnitKind::f32: return &f32;
    case UnitKind::f64: return &f64;
    case UnitKind::i32: return &i32;
    case UnitKind::i16_pairs: return &pairs;
    default: break;
  }
#endif
  return nullptr;
}

}  // namespace weft::detail::packed
