// Vectors of 64 bytes of 32-bit sums, and of float32: to be included like tile_of_unit.h.

/// int32 sums; words of 4 bytes.
struct Integers512 {
  using Vector = __m512i;
  using Operand = __m512i;
  using Mask = __mmask16;
  static constexpr int kBytes = 64, kWord = 4, kLanes = 16, kVectors = 3;
  static constexpr bool kStarts = false;
  static Mask first(int n) { return static_cast<Mask>((1u << n) - 1); }
  static Vector zero() { return _mm512_setzero_si512(); }
  static Vector load(const char* p) { return _mm512_loadu_si512(p); }
  static Vector load_first(Mask m, const char* p) { return _mm512_maskz_loadu_epi32(m, p); }
  static Vector plus(Vector v, std::int32_t x) { return _mm512_add_epi32(v, _mm512_set1_epi32(x)); }
  static Operand operand(const char* p) { return _mm512_loadu_si512(p); }
  static Operand broadcast(const char* p) {
    std::int32_t word;
    __builtin_memcpy(&word, p, sizeof word);
    return _mm512_set1_epi32(word);
  }
  static void store(char* p, Vector v) { _mm512_storeu_si512(p, v); }
  static void store_first(Mask m, char* p, Vector v) { _mm512_mask_storeu_epi32(p, m, v); }
};

/// float32 sums; words of 4 bytes.
struct Floats512 {
  using Vector = __m512;
  using Mask = __mmask16;
  static constexpr int kBytes = 64, kWord = 4, kLanes = 16, kVectors = 3;
  static constexpr bool kStarts = false;
  static Mask first(int n) { return static_cast<Mask>((1u << n) - 1); }
  static Vector zero() { return _mm512_setzero_ps(); }
  static Vector load(const char* p) { return _mm512_loadu_ps(p); }
  static Vector load_first(Mask m, const char* p) { return _mm512_maskz_loadu_ps(m, p); }
  static void store(char* p, Vector v) { _mm512_storeu_ps(p, v); }
  static void store_first(Mask m, char* p, Vector v) { _mm512_mask_storeu_ps(p, m, v); }
};
