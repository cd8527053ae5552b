#include "weft/backends/cpu/packed/packing.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "weft/core/array/convert_elements.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace weft::detail::packed {
namespace {

template <class Word>
Word load(const char* p) {
  Word w;
  std::memcpy(&w, p, sizeof w);
  return w;
}
template <class Word>
void store(char* p, Word w) {
  std::memcpy(p, &w, sizeof w);
}

#ifdef __SSE2__
__m128i load_vector(const char* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }
void store_vector(char* p, __m128i v) { _mm_storeu_si128(reinterpret_cast<__m128i*>(p), v); }
__m128i low_words(__m128i a, __m128i b) { return _mm_unpacklo_epi32(a, b); }
#endif

/// Lines of whole words become columns of the panel.
template <class Word>
void transpose(const char* from, std::int64_t line_bytes, std::int64_t lines, std::int64_t words, std::int64_t width, std::uint64_t flip,
               char* to) {
  constexpr std::int64_t size = sizeof(Word);
  const std::int64_t row = width * size;
  std::int64_t j = 0;
#ifdef __SSE2__
  const __m128i flips = _mm_set1_epi64x(static_cast<long long>(flip));
  constexpr std::int64_t step = 16 / size;
  for (; j + step <= lines; j += step) {
    const char* x = from + j * line_bytes;
    char* y = to + j * size;
    std::int64_t k = 0;
    for (; k + step <= words; k += step, x += 16, y += step * row) {
      if constexpr (size == 4) {
        const __m128i a = load_vector(x), b = load_vector(x + line_bytes), c = load_vector(x + 2 * line_bytes),
                      d = load_vector(x + 3 * line_bytes);
        const __m128i ab = low_words(a, b), cd = low_words(c, d), ab_high = _mm_unpackhi_epi32(a, b), cd_high = _mm_unpackhi_epi32(c, d);
        store_vector(y, _mm_xor_si128(_mm_unpacklo_epi64(ab, cd), flips));
        store_vector(y + row, _mm_xor_si128(_mm_unpackhi_epi64(ab, cd), flips));
        store_vector(y + 2 * row, _mm_xor_si128(_mm_unpacklo_epi64(ab_high, cd_high), flips));
        store_vector(y + 3 * row, _mm_xor_si128(_mm_unpackhi_epi64(ab_high, cd_high), flips));
      } else {
        const __m128i a = load_vector(x), b = load_vector(x + line_bytes);
        store_vector(y, _mm_xor_si128(_mm_unpacklo_epi64(a, b), flips));
        store_vector(y + row, _mm_xor_si128(_mm_unpackhi_epi64(a, b), flips));
      }
    }
    for (; k < words; ++k, x += size, y += row)
      for (std::int64_t i = 0; i < step; ++i)
        store(y + i * size, static_cast<Word>(load<Word>(x + i * line_bytes) ^ static_cast<Word>(flip)));
  }
#endif
  for (; j < lines; ++j)
    for (std::int64_t k = 0; k < words; ++k)
      store(to + k * row + j * size, static_cast<Word>(load<Word>(from + j * line_bytes + k * size) ^ static_cast<Word>(flip)));
}

/// Lines that are side by side: `group` elements of k are put next to each other. Fewer than `group` of them: the others are 0.
template <class Element, int group>
void interleave(const char* from, std::int64_t k_bytes, std::int64_t lines, std::int64_t present, std::uint64_t flip, char* to) {
  std::int64_t j = 0;
#ifdef __SSE2__
  constexpr std::int64_t step = 16 / static_cast<std::int64_t>(sizeof(Element));
  if (group > 1 && present == group) {
    const __m128i flips = _mm_set1_epi64x(static_cast<long long>(flip));
    for (; j + step <= lines; j += step, to += 16 * group) {
      const char* const x = from + j * static_cast<std::int64_t>(sizeof(Element));
      const __m128i a = load_vector(x), b = load_vector(x + k_bytes);
      if constexpr (group == 2) {
        store_vector(to, _mm_unpacklo_epi16(a, b));
        store_vector(to + 16, _mm_unpackhi_epi16(a, b));
      } else {
        const __m128i c = load_vector(x + 2 * k_bytes), d = load_vector(x + 3 * k_bytes);
        const __m128i ab = _mm_unpacklo_epi8(a, b), cd = _mm_unpacklo_epi8(c, d), ab_high = _mm_unpackhi_epi8(a, b),
                      cd_high = _mm_unpackhi_epi8(c, d);
        store_vector(to, _mm_xor_si128(_mm_unpacklo_epi16(ab, cd), flips));
        store_vector(to + 16, _mm_xor_si128(_mm_unpackhi_epi16(ab, cd), flips));
        store_vector(to + 32, _mm_xor_si128(_mm_unpacklo_epi16(ab_high, cd_high), flips));
        store_vector(to + 48, _mm_xor_si128(_mm_unpackhi_epi16(ab_high, cd_high), flips));
      }
    }
  }
#endif
#ifdef __SSE2__
  if (group > 1 && present == group) {
    const __m128i flips = _mm_set1_epi64x(static_cast<long long>(flip));
    for (; j + 4 <= lines; j += 4, to += 16) {
      const char* const x = from + j * static_cast<std::int64_t>(sizeof(Element));
      __m128i ab, cd;
      if constexpr (group == 2) {
        ab = _mm_cvtsi64_si128(load<std::int64_t>(x)), cd = _mm_cvtsi64_si128(load<std::int64_t>(x + k_bytes));
        store_vector(to, _mm_unpacklo_epi16(ab, cd));
      } else {
        const auto four = [&](int k) { return _mm_cvtsi32_si128(load<std::int32_t>(x + k * k_bytes)); };
        ab = _mm_unpacklo_epi8(four(0), four(1)), cd = _mm_unpacklo_epi8(four(2), four(3));
        store_vector(to, _mm_xor_si128(_mm_unpacklo_epi16(ab, cd), flips));
      }
    }
  }
#endif
  for (; j < lines; ++j)
    for (int g = 0; g < group; ++g, to += sizeof(Element)) {
      const Element e = g < present ? load<Element>(from + g * k_bytes + j * static_cast<std::int64_t>(sizeof(Element))) : Element{};
      store(to, static_cast<Element>(e ^ static_cast<Element>(flip)));
    }
}

/// Copies words, flipped.
template <class Word>
void copy_words(const char* from, std::int64_t words, std::uint64_t flip, char* to) {
  constexpr std::int64_t size = sizeof(Word);
  std::int64_t i = 0;
#ifdef __SSE2__
  const __m128i flips = _mm_set1_epi64x(static_cast<long long>(flip));
  for (; (i + 16 / size) <= words; i += 16 / size) store_vector(to + i * size, _mm_xor_si128(load_vector(from + i * size), flips));
#endif
  for (; i < words; ++i) store(to + i * size, static_cast<Word>(load<Word>(from + i * size) ^ static_cast<Word>(flip)));
}
void copy_words(std::int64_t word, const char* from, std::int64_t words, std::uint64_t flip, char* to) {
  word == 8 ? copy_words<std::uint64_t>(from, words, flip, to) : copy_words<std::uint32_t>(from, words, flip, to);
}

/// The width of the panel of the first of so many lines.
std::int64_t width_of_next(const Unit& u, std::span<const int> widths, std::int64_t lines) {
  for (const int w : widths)
    if (w > 0 && w <= lines) return w;
  return (lines + u.lanes - 1) / u.lanes * u.lanes;
}

/// Lines that are read at a time: a row of them stays in the first cache while it is converted and cut.
constexpr std::int64_t kLinesTogether = 1024;

/// Clears the columns of the panel that no line fills.
void clear_rest(std::int64_t lines, std::int64_t words, std::int64_t width, std::int64_t word, char* to) {
  if (lines == width) return;
  for (std::int64_t k = 0; k < words; ++k)
    std::memset(to + (k * width + lines) * word, 0, static_cast<std::size_t>((width - lines) * word));
}

/// int8 and uint8 of which only the highest bit differs are what is flipped.
bool is_packed_as_it_is(const Unit& u, DType t) {
  return t == u.element || (t.itemsize() == u.element.itemsize() && u.element.is_integer() && t.is_integer());
}

/// Panels of lines that are neighbours in memory.
void pack_rows(const Unit& u, const Lines& from, std::int64_t lines, std::int64_t depth, std::span<const int> widths, char* to,
               char* scratch) {
  const std::int64_t size = u.element.itemsize(), from_size = from.dtype.itemsize(), word = u.word_bytes();
  const std::int64_t words = (depth + u.group - 1) / u.group;
  const bool same = is_packed_as_it_is(u, from.dtype);
  const std::uint64_t flip = u.group > 1 ? 0 : from.flip;  // of words; elements are flipped when they are joined
  for (std::int64_t first = 0; first < lines;) {
    std::int64_t end = first;
    while (end < lines && end - first < kLinesTogether) end += width_of_next(u, widths, lines - end);
    const std::int64_t present = std::min(end, lines) - first;
    for (std::int64_t w = 0; w < words; ++w) {
      const std::int64_t rows = std::min<std::int64_t>(u.group, depth - w * u.group);
      const char* row = from.data + (first + w * u.group * from.k) * from_size;
      std::int64_t row_bytes = from.k * from_size;
      if (!same) {
        for (std::int64_t r = 0; r < rows; ++r)
          convert_run(row + r * row_bytes, from.dtype, scratch + r * present * size, u.element, present);
        row = scratch, row_bytes = present * size;
      }
      if (u.group > 1) {
        char* const joined = scratch + (kLinesTogether + widths[0]) * word;
        if (u.group == 2)
          interleave<std::uint16_t, 2>(row, row_bytes, present, rows, from.flip, joined);
        else
          interleave<std::uint8_t, 4>(row, row_bytes, present, rows, from.flip, joined);
        row = joined;
      }
      std::int64_t i = 0;
      for (const int width = widths[0]; i + width <= present; i += width)
        copy_words(word, row + i * word, width, flip, to + ((first + i) * words + w * width) * word);
      while (i < present) {
        const std::int64_t width = width_of_next(u, widths, lines - first - i);
        const std::int64_t filled = std::min(width, present - i);
        char* const at = to + ((first + i) * words + w * width) * word;
        copy_words(word, row + i * word, filled, flip, at);
        if (filled < width) std::memset(at + filled * word, 0, static_cast<std::size_t>((width - filled) * word));
        i += width;
      }
    }
    first = end;
  }
}

/// Elements that are `stride` apart.
void gather(const char* from, std::int64_t stride, std::int64_t size, std::int64_t n, char* to) {
  for (std::int64_t i = 0; i < n; ++i) std::memcpy(to + i * size, from + i * stride * size, static_cast<std::size_t>(size));
}

}  // namespace

void convert_run(const void* from, DType from_dtype, void* to, DType to_dtype, std::int64_t n) {
  if (from_dtype == to_dtype)
    std::memcpy(to, from, static_cast<std::size_t>(n * from_dtype.itemsize()));
  else if (const Convert fast = conversion_512(from_dtype, to_dtype))
    fast(from, to, n);
  else if (const Convert halves = conversion_256(from_dtype, to_dtype))
    halves(from, to, n);
  else
    convert_elements(from, from_dtype, to, to_dtype, n);
}

std::int64_t packing_scratch(const Unit& u, std::int64_t width, std::int64_t depth) {
  return std::max((width * u.element.itemsize() + 8) * (depth + 16), 2 * (kLinesTogether + width) * u.word_bytes());
}

void pack_panel(const Unit& u, const Lines& from, std::int64_t lines, std::int64_t depth, std::int64_t width, char* to, char* scratch) {
  if (from.line == 1 && from.k != 1) return pack_rows(u, from, lines, depth, std::array{static_cast<int>(width)}, to, scratch);
  const std::int64_t size = u.element.itemsize(), word = u.word_bytes(), whole = depth / u.group, words = (depth + u.group - 1) / u.group;
  const std::int64_t from_size = from.dtype.itemsize();
  Lines x = from;
  const bool same = is_packed_as_it_is(u, from.dtype);
  if (!same || x.k != 1) {
    // Copied element by element, so that a line's are neighbours.
    char* const converted = scratch + 8 * (depth + 16);
    for (std::int64_t i = 0; i < lines; ++i) {
      const char* at = x.data + i * x.line * from_size;
      if (x.k != 1) {
        gather(at, x.k, from_size, depth, scratch);
        at = scratch;
      }
      if (same)
        std::memcpy(converted + i * depth * size, at, static_cast<std::size_t>(depth * size));
      else
        convert_run(at, from.dtype, converted + i * depth * size, u.element, depth);
    }
    x.data = converted, x.dtype = u.element, x.line = depth;
  }
  const std::uint64_t flip = from.flip;
  if (lines < width) clear_rest(lines, words, width, word, to);
  if (word == 8)
    transpose<std::uint64_t>(x.data, x.line * size, lines, whole, width, flip, to);
  else
    transpose<std::uint32_t>(x.data, x.line * size, lines, whole, width, flip, to);
  if (whole < words)
    for (std::int64_t j = 0; j < lines; ++j) {
      std::uint32_t last = 0;
      std::memcpy(&last, x.data + (j * x.line + whole * u.group) * size, static_cast<std::size_t>((depth - whole * u.group) * size));
      store(to + (whole * width + j) * word, last ^ static_cast<std::uint32_t>(flip));
    }
}

void pack_panels(const Unit& u, const Lines& from, std::int64_t lines, std::int64_t depth, std::span<const int> widths, char* to,
                 char* scratch) {
  if (from.line == 1 && from.k != 1) return pack_rows(u, from, lines, depth, widths, to, scratch);
  const std::int64_t words = (depth + u.group - 1) / u.group;
  for (std::int64_t i = 0; i < lines;) {
    const std::int64_t width = width_of_next(u, widths, lines - i);
    pack_panel(u, from.at(i, 0), std::min(width, lines - i), depth, width, to + i * words * u.word_bytes(), scratch);
    i += width;
  }
}

void rows_of_panel(const char* panel, std::int64_t width, std::int64_t words, char* to) {
  transpose<std::uint32_t>(panel, width * 4, words, width, words, 0, to);
}

void sum_lines(const Lines& from, std::int64_t lines, std::int64_t depth, std::int32_t* sums) {
  const bool are_signed = from.dtype.is_signed();
  for (std::int64_t j = 0; j < lines; ++j) {
    const char* const x = from.data + j * from.line;
    std::int64_t k = 0, sum = 0;
#ifdef __SSE2__
    const __m128i flips = _mm_set1_epi8(are_signed ? static_cast<char>(0x80) : 0);
    __m128i both = _mm_setzero_si128();
    for (; k + 16 <= depth; k += 16)
      both = _mm_add_epi64(both, _mm_sad_epu8(_mm_xor_si128(load_vector(x + k), flips), _mm_setzero_si128()));
    sum = _mm_cvtsi128_si64(_mm_add_epi64(both, _mm_unpackhi_epi64(both, both))) - (are_signed ? 128 * k : 0);
#endif
    for (; k < depth; ++k) sum += are_signed ? static_cast<signed char>(x[k]) : static_cast<unsigned char>(x[k]);
    sums[j] = static_cast<std::int32_t>(sum);
  }
}

void sum_panel(const char* panel, bool are_signed, std::int64_t width, std::int64_t words, std::int32_t* sums) {
  std::fill_n(sums, width, 0);
  for (std::int64_t k = 0; k < words; ++k) {
    std::int64_t j = 0;
#ifdef __SSE2__
    const __m128i low = _mm_set1_epi16(0xff), ones = _mm_set1_epi16(1);
    const __m128i flips = _mm_set1_epi8(are_signed ? static_cast<char>(0x80) : 0), more = _mm_set1_epi32(are_signed ? 512 : 0);
    for (; j + 4 <= width; j += 4, panel += 16) {
      const __m128i x = _mm_xor_si128(load_vector(panel), flips);
      const __m128i pairs = _mm_add_epi16(_mm_and_si128(x, low), _mm_srli_epi16(x, 8));
      char* const to = reinterpret_cast<char*>(sums + j);
      store_vector(to, _mm_add_epi32(load_vector(to), _mm_sub_epi32(_mm_madd_epi16(pairs, ones), more)));
    }
#endif
    for (; j < width; ++j, panel += 4) {
      const std::uint32_t x = load<std::uint32_t>(panel) ^ (are_signed ? 0x80808080u : 0);
      const std::uint32_t pairs = (x & 0xff00ff) + (x >> 8 & 0xff00ff);
      sums[j] += static_cast<std::int32_t>((pairs & 0xffff) + (pairs >> 16)) - (are_signed ? 512 : 0);
    }
  }
}

}  // namespace weft::detail::packed
