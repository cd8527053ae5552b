// The loops for vectors of WEFT_FFT_BYTES, in namespace WEFT_FFT_SPACE. Each file that includes this one compiles it for other
// instructions, so nothing of it may be shared between them, and no library's template is used.
#include "weft/backends/cpu/fft/loops.h"

#ifdef __clang__
#define WEFT_UNROLLED _Pragma("unroll")
#else
#define WEFT_UNROLLED _Pragma("GCC unroll 64")
#endif

namespace weft::detail::WEFT_FFT_SPACE {

template <class T>
struct VectorOf {
  typedef T Type __attribute__((vector_size(WEFT_FFT_BYTES)));
  typedef T Unaligned __attribute__((vector_size(WEFT_FFT_BYTES), aligned(alignof(T)), may_alias));
};
template <class T>
using Vector = typename VectorOf<T>::Type;
template <class T>
constexpr int kLanes = static_cast<int>(WEFT_FFT_BYTES / sizeof(T));

template <class T>
[[gnu::always_inline]] inline Vector<T> aligned_at(const T* p) {
  return *reinterpret_cast<const Vector<T>*>(p);
}
template <class T>
[[gnu::always_inline]] inline void put_aligned(T* p, Vector<T> v) {
  *reinterpret_cast<Vector<T>*>(p) = v;
}
template <class T>
[[gnu::always_inline]] inline Vector<T> vector_at(const T* p) {
  return *reinterpret_cast<const typename VectorOf<T>::Unaligned*>(p);
}
template <class T>
[[gnu::always_inline]] inline void put_vector(T* p, Vector<T> v) {
  *reinterpret_cast<typename VectorOf<T>::Unaligned*>(p) = v;
}

/// Complex numbers in lanes.
template <class T>
struct Pair {
  Vector<T> re, im;
};
template <class T>
[[gnu::always_inline]] inline Pair<T> operator+(Pair<T> a, Pair<T> b) {
  return {a.re + b.re, a.im + b.im};
}
template <class T>
[[gnu::always_inline]] inline Pair<T> operator-(Pair<T> a, Pair<T> b) {
  return {a.re - b.re, a.im - b.im};
}
/// By a complex number that all lanes share, at w.
template <class T>
[[gnu::always_inline]] inline Pair<T> times(Pair<T> a, const T* w) {
  return {a.re * w[0] - a.im * w[1], a.re * w[1] + a.im * w[0]};
}
template <class T>
[[gnu::always_inline]] inline Pair<T> times(Pair<T> a, Pair<T> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
/// By -i.
template <class T>
[[gnu::always_inline]] inline Pair<T> rotated_by_2_of_8(Pair<T> a) {
  return {a.im, -a.re};
}
template <class T>
[[gnu::always_inline]] inline Pair<T> conjugate(Pair<T> a) {
  return {a.re, -a.im};
}
template <class T>
[[gnu::always_inline]] inline Pair<T> pair_at(const T* block, std::int64_t j) {
  return {aligned_at(block + 2 * kLanes<T> * j), aligned_at(block + 2 * kLanes<T> * j + kLanes<T>)};
}
template <class T>
[[gnu::always_inline]] inline void put_pair(T* block, std::int64_t j, Pair<T> v) {
  put_aligned(block + 2 * kLanes<T> * j, v.re);
  put_aligned(block + 2 * kLanes<T> * j + kLanes<T>, v.im);
}

// Indices of shuffles, by constant arithmetic.
template <int... I>
struct Indices {};
template <int N, int... I>
struct IndicesTo : IndicesTo<N - 1, N - 1, I...> {};
template <int... I>
struct IndicesTo<0, I...> {
  using Type = Indices<I...>;
};
template <class T>
using LaneIndices = typename IndicesTo<kLanes<T>>::Type;

/// Exchanges the off-diagonal halves of squares of 2 S x 2 S elements in the two rows.
template <class T, int S, int... I>
[[gnu::always_inline]] inline void exchange(Vector<T>& a, Vector<T>& b, Indices<I...>) {
  const Vector<T> x = a, y = b;
  a = __builtin_shufflevector(x, y, (I & S ? kLanes<T> + I - S : I)...);
  b = __builtin_shufflevector(x, y, (I & S ? kLanes<T> + I : I + S)...);
}
template <class T, int S = kLanes<T> / 2>
[[gnu::always_inline]] inline void transpose_square(Vector<T>* v) {
  WEFT_UNROLLED for (int i = 0; i < kLanes<T>; ++i) {
    if ((i & S) == 0) exchange<T, S>(v[i], v[i + S], LaneIndices<T>());
  }
  if constexpr (S > 1) transpose_square<T, S / 2>(v);
}
/// Two vectors of pairs into real and imaginary parts, and back.
template <class T, int... I>
[[gnu::always_inline]] inline Pair<T> parts_of(Vector<T> x, Vector<T> y, Indices<I...>) {
  return {__builtin_shufflevector(x, y, (2 * I)...), __builtin_shufflevector(x, y, (2 * I + 1)...)};
}
template <class T, int... I>
[[gnu::always_inline]] inline void interleave(Pair<T> p, Vector<T>& x, Vector<T>& y, Indices<I...>) {
  constexpr int half = kLanes<T> / 2;
  x = __builtin_shufflevector(p.re, p.im, (I / 2 + (I % 2) * kLanes<T>)...);
  y = __builtin_shufflevector(p.re, p.im, (half + I / 2 + (I % 2) * kLanes<T>)...);
}

// Pairs, as users have them.
template <class T>
[[gnu::always_inline]] inline Pair<T> pairs_from(const T* p) {
  return parts_of<T>(vector_at(p), vector_at(p + kLanes<T>), LaneIndices<T>());
}
template <class T>
[[gnu::always_inline]] inline void put_pairs(T* p, Pair<T> v) {
  Vector<T> x, y;
  interleave<T>(v, x, y, LaneIndices<T>());
  put_vector(p, x), put_vector(p + kLanes<T>, y);
}

template <class T>
void load_lines(T* block, const T* from, std::int64_t n, std::int64_t stride, int count, bool swapped) {
  constexpr int L = kLanes<T>, pairs = L / 2;
  const T* rows[L];
  for (int r = 0; r < L; ++r) rows[r] = from + (r < count ? r : count - 1) * stride;
  const int first = swapped ? L : 0, second = L - first;
  std::int64_t j = 0;
  for (; j + pairs <= n; j += pairs) {
    Vector<T> v[L];
    WEFT_UNROLLED for (int r = 0; r < L; ++r) v[r] = vector_at(rows[r] + 2 * j);
    transpose_square<T>(v);
    WEFT_UNROLLED for (int c = 0; c < pairs; ++c) {
      put_aligned(block + 2 * L * (j + c) + first, v[2 * c]);
      put_aligned(block + 2 * L * (j + c) + second, v[2 * c + 1]);
    }
  }
  for (; j < n; ++j)
    for (int r = 0; r < L; ++r) block[2 * L * j + first + r] = rows[r][2 * j], block[2 * L * j + second + r] = rows[r][2 * j + 1];
}

template <class T>
void store_lines(const T* block, T* to, std::int64_t n, std::int64_t stride, int count, bool swapped, T scale) {
  constexpr int L = kLanes<T>, pairs = L / 2;
  const int first = swapped ? L : 0, second = L - first;
  std::int64_t j = 0;
  for (; j + pairs <= n; j += pairs) {
    Vector<T> v[L];
    WEFT_UNROLLED for (int c = 0; c < pairs; ++c) {
      v[2 * c] = aligned_at(block + 2 * L * (j + c) + first) * scale;
      v[2 * c + 1] = aligned_at(block + 2 * L * (j + c) + second) * scale;
    }
    transpose_square<T>(v);
    T* p = to + 2 * j;
    if (count == L) {
      WEFT_UNROLLED for (int r = 0; r < L; ++r, p += stride) put_vector(p, v[r]);
    } else {
      WEFT_UNROLLED for (int r = 0; r < L; ++r, p += stride) {
        if (r < count) put_vector(p, v[r]);
      }
    }
  }
  for (; j < n; ++j)
    for (int r = 0; r < count; ++r) {
      to[r * stride + 2 * j] = block[2 * L * j + first + r] * scale;
      to[r * stride + 2 * j + 1] = block[2 * L * j + second + r] * scale;
    }
}

template <class T>
void load_real_lines(T* block, const T* from, std::int64_t n, std::int64_t stride, int count) {
  constexpr int L = kLanes<T>;
  const T* rows[L];
  for (int r = 0; r < L; ++r) rows[r] = from + (r < count ? r : count - 1) * stride;
  const Vector<T> zero = {};
  std::int64_t j = 0;
  for (; j + L <= n; j += L) {
    Vector<T> v[L];
    WEFT_UNROLLED for (int r = 0; r < L; ++r) v[r] = vector_at(rows[r] + j);
    transpose_square<T>(v);
    WEFT_UNROLLED for (int c = 0; c < L; ++c) put_pair<T>(block, j + c, {v[c], zero});
  }
  for (; j < n; ++j)
    for (int r = 0; r < L; ++r) block[2 * L * j + r] = rows[r][j], block[2 * L * j + L + r] = T(0);
}

template <class T>
void store_swapped_real_lines(const T* block, T* to, std::int64_t n, std::int64_t stride, int count, T scale) {
  constexpr int L = kLanes<T>;
  std::int64_t j = 0;
  for (; j + L <= n; j += L) {
    Vector<T> v[L];
    WEFT_UNROLLED for (int c = 0; c < L; ++c) v[c] = pair_at(block, j + c).im * scale;
    transpose_square<T>(v);
    WEFT_UNROLLED for (int r = 0; r < L; ++r) {
      if (r < count) put_vector(to + r * stride + j, v[r]);
    }
  }
  for (; j < n; ++j)
    for (int r = 0; r < count; ++r) to[r * stride + j] = block[2 * L * j + L + r] * scale;
}

template <class T>
void complete_swapped(T* block, std::int64_t n) {
  const Vector<T> zero = {};
  put_pair<T>(block, 0, {zero, pair_at(block, std::int64_t{0}).im});
  for (std::int64_t k = 1; k <= n / 2; ++k) {
    const Pair<T> p = pair_at(block, k);
    put_pair<T>(block, n - k, {-p.re, p.im});
  }
}

template <class T>
void load_columns(T* block, const T* from, std::int64_t n, std::int64_t stride, int count, bool swapped) {
  constexpr int L = kLanes<T>;
  const int first = swapped ? L : 0, second = L - first;
  if (count == L) {
    for (std::int64_t j = 0; j < n; ++j, block += 2 * L, from += stride) {
      const Pair<T> p = pairs_from(from);
      put_aligned(block + first, p.re), put_aligned(block + second, p.im);
    }
    return;
  }
  for (std::int64_t j = 0; j < n; ++j, block += 2 * L, from += stride)
    for (int r = 0; r < L; ++r) {
      block[first + r] = r < count ? from[2 * r] : T(0);
      block[second + r] = r < count ? from[2 * r + 1] : T(0);
    }
}

template <class T>
void store_columns(const T* block, T* to, std::int64_t n, std::int64_t stride, int count, bool swapped, T scale) {
  constexpr int L = kLanes<T>;
  const int first = swapped ? L : 0, second = L - first;
  if (count == L) {
    for (std::int64_t j = 0; j < n; ++j, block += 2 * L, to += stride) {
      put_pairs<T>(to, {aligned_at(block + first) * scale, aligned_at(block + second) * scale});
    }
    return;
  }
  for (std::int64_t j = 0; j < n; ++j, block += 2 * L, to += stride)
    for (int r = 0; r < count; ++r) to[2 * r] = block[first + r] * scale, to[2 * r + 1] = block[second + r] * scale;
}

// Butterflies: t[q] becomes the sum of t[j] exp(-2 pi i j q / R).
template <class T>
[[gnu::always_inline]] inline void butterfly_2(Pair<T>& a, Pair<T>& b) {
  const Pair<T> x = a, y = b;
  a = x + y, b = x - y;
}
template <class T>
[[gnu::always_inline]] inline void butterfly_4(Pair<T>& t0, Pair<T>& t1, Pair<T>& t2, Pair<T>& t3) {
  const Pair<T> a = t0 + t2, b = t0 - t2, c = t1 + t3, d = rotated_by_2_of_8(t1 - t3);
  t0 = a + c, t1 = b + d, t2 = a - c, t3 = b - d;
}
/// By exp(-pi i / 4) and exp(-3 pi i / 4).
template <class T>
[[gnu::always_inline]] inline Pair<T> rotated_by_1_of_8(Pair<T> a) {
  constexpr T h = T(0.70710678118654752440L);
  return {(a.re + a.im) * h, (a.im - a.re) * h};
}
template <class T>
[[gnu::always_inline]] inline Pair<T> rotated_by_3_of_8(Pair<T> a) {
  constexpr T h = T(0.70710678118654752440L);
  return {(a.im - a.re) * h, (a.re + a.im) * -h};
}

template <class T, int R>
struct Butterfly;
template <class T>
struct Butterfly<T, 2> {
  [[gnu::always_inline]] static void run(Pair<T>* t) { butterfly_2(t[0], t[1]); }
};
template <class T>
struct Butterfly<T, 4> {
  [[gnu::always_inline]] static void run(Pair<T>* t) { butterfly_4(t[0], t[1], t[2], t[3]); }
};
template <class T>
struct Butterfly<T, 8> {
  [[gnu::always_inline]] static void run(Pair<T>* t) {
    butterfly_4(t[0], t[2], t[4], t[6]);
    butterfly_4(t[1], t[3], t[5], t[7]);
    const Pair<T> a = t[1], b = rotated_by_1_of_8(t[3]), c = rotated_by_2_of_8(t[5]), d = rotated_by_3_of_8(t[7]);
    const Pair<T> e = t[0], f = t[2], g = t[4], h = t[6];
    t[0] = e + a, t[4] = e - a, t[1] = f + b, t[5] = f - b, t[2] = g + c, t[6] = g - c, t[3] = h + d, t[7] = h - d;
  }
};
template <class T>
struct Butterfly<T, 16> {
  [[gnu::always_inline]] static void run(Pair<T>* t) {
    constexpr T c = T(0.92387953251128675613L), s = T(0.38268343236508977173L);
    WEFT_UNROLLED for (int i = 0; i < 4; ++i) butterfly_4(t[i], t[i + 4], t[i + 8], t[i + 12]);
    // Now t[i + 4 q], to be rotated by i q of 16.
    constexpr T w1[] = {c, -s}, w3[] = {s, -c}, w9[] = {-c, s};
    t[5] = times(t[5], w1), t[9] = rotated_by_1_of_8(t[9]), t[13] = times(t[13], w3);
    t[6] = rotated_by_1_of_8(t[6]), t[10] = rotated_by_2_of_8(t[10]), t[14] = rotated_by_3_of_8(t[14]);
    t[7] = times(t[7], w3), t[11] = rotated_by_3_of_8(t[11]), t[15] = times(t[15], w9);
    WEFT_UNROLLED for (int q = 0; q < 4; ++q) butterfly_4(t[4 * q], t[4 * q + 1], t[4 * q + 2], t[4 * q + 3]);
    // Result q + 4 r is t[4 q + r].
    WEFT_UNROLLED for (int q = 0; q < 4; ++q) {
      WEFT_UNROLLED for (int r = 0; r < 4; ++r) {
        if (q < r) {
          const Pair<T> x = t[4 * q + r];
          t[4 * q + r] = t[4 * r + q], t[4 * r + q] = x;
        }
      }
    }
  }
};
template <class T>
struct Butterfly<T, 3> {
  [[gnu::always_inline]] static void run(Pair<T>* t) {
    constexpr T s = T(0.86602540378443864676L);
    const Pair<T> a = t[1] + t[2], d = t[1] - t[2];
    const Pair<T> m = {t[0].re - a.re * T(0.5), t[0].im - a.im * T(0.5)};
    const Pair<T> q = {d.im * s, d.re * -s};
    t[0] = t[0] + a, t[1] = m + q, t[2] = m - q;
  }
};
template <class T>
struct Butterfly<T, 5> {
  [[gnu::always_inline]] static void run(Pair<T>* t) {
    constexpr T c1 = T(0.30901699437494742410L), c2 = T(-0.80901699437494742410L);
    constexpr T s1 = T(0.95105651629515357212L), s2 = T(0.58778525229247312917L);
    const Pair<T> a = t[1] + t[4], b = t[2] + t[3], d = t[1] - t[4], e = t[2] - t[3], x = t[0];
    const Pair<T> m = {x.re + a.re * c1 + b.re * c2, x.im + a.im * c1 + b.im * c2};
    const Pair<T> n = {x.re + a.re * c2 + b.re * c1, x.im + a.im * c2 + b.im * c1};
    const Pair<T> p = {d.im * s1 + e.im * s2, -(d.re * s1 + e.re * s2)};
    const Pair<T> q = {d.im * s2 - e.im * s1, e.re * s1 - d.re * s2};
    t[0] = x + a + b, t[1] = m + p, t[4] = m - p, t[2] = n + q, t[3] = n - q;
  }
};
template <class T, int R, bool twiddled>
[[gnu::always_inline]] inline void run_row(std::int64_t left, std::int64_t distance, const T* __restrict from, T* __restrict to,
                                           const T* twiddles) {
  for (std::int64_t s = 0; s < left; ++s) {
    Pair<T> t[R];
    WEFT_UNROLLED for (int j = 0; j < R; ++j) {
      t[j] = pair_at(from, j * left + s);
      if (twiddled && j > 0) t[j] = times(t[j], twiddles + 2 * (j - 1));
    }
    Butterfly<T, R>::run(t);
    WEFT_UNROLLED for (int j = 0; j < R; ++j) put_pair(to, j * distance + s, t[j]);
  }
}
/// Any odd radix up to kLargestOddRadix, by sums and differences of what is opposite (Singleton 1969).
template <class T, bool twiddled>
void run_odd_row(int radix, std::int64_t left, std::int64_t distance, const T* __restrict from, T* __restrict to, const T* twiddles,
                 const T* roots) {
  Pair<T> sums[kLargestOddRadix / 2 + 1], differences[kLargestOddRadix / 2 + 1];
  const int half = radix / 2;
  for (std::int64_t s = 0; s < left; ++s) {
    const Pair<T> start = pair_at(from, s);
    Pair<T> total = start;
    for (int j = 1; j <= half; ++j) {
      Pair<T> a = pair_at(from, j * left + s), b = pair_at(from, (radix - j) * left + s);
      if (twiddled) a = times(a, twiddles + 2 * (j - 1)), b = times(b, twiddles + 2 * (radix - j - 1));
      sums[j] = a + b, differences[j] = a - b, total = total + sums[j];
    }
    put_pair(to, s, total);
    for (int k = 1; k <= half; ++k) {
      Pair<T> p = start, q = {};
      for (int j = 1, at = k; j <= half; ++j, at += at + k < radix ? k : k - radix) {
        p.re += sums[j].re * roots[2 * at], p.im += sums[j].im * roots[2 * at];
        q.re += differences[j].re * roots[2 * at + 1], q.im += differences[j].im * roots[2 * at + 1];
      }
      // The roots' imaginary parts are negative sines.
      put_pair<T>(to, k * distance + s, {p.re - q.im, p.im + q.re});
      put_pair<T>(to, (radix - k) * distance + s, {p.re + q.im, p.im - q.re});
    }
  }
}
/// Radix 0: any odd one.
template <class T, int R>
void run_pass_of(const FftPass& p, const T* from, T* to, const T* twiddles, const T* roots) {
  const std::int64_t distance = p.done * p.left, block = 2 * kLanes<T> * p.left;
  for (std::int64_t k = 0; k < p.done; ++k, from += block * p.radix, to += block, twiddles += 2 * (p.radix - 1)) {
    if constexpr (R == 0) {
      const auto run = k == 0 ? run_odd_row<T, false> : run_odd_row<T, true>;
      run(static_cast<int>(p.radix), p.left, distance, from, to, twiddles, roots);
    } else if (k == 0) {
      run_row<T, R, false>(p.left, distance, from, to, twiddles);
    } else {
      run_row<T, R, true>(p.left, distance, from, to, twiddles);
    }
  }
}
template <class T>
void run_pass(const FftPass& p, const T* from, T* to, const T* twiddles, const T* roots) {
  switch (p.radix) {
    case 2: return run_pass_of<T, 2>(p, from, to, twiddles, roots);
    case 3: return run_pass_of<T, 3>(p, from, to, twiddles, roots);
    case 4: return run_pass_of<T, 4>(p, from, to, twiddles, roots);
    case 5: return run_pass_of<T, 5>(p, from, to, twiddles, roots);
    case 8: return run_pass_of<T, 8>(p, from, to, twiddles, roots);
    case 16: return run_pass_of<T, 16>(p, from, to, twiddles, roots);
    default: return run_pass_of<T, 0>(p, from, to, twiddles, roots);
  }
}

template <class T>
void multiply(T* block, const T* table, std::int64_t n, bool swapped) {
  for (std::int64_t j = 0; j < n; ++j) {
    const Pair<T> p = pair_at(block, j);
    put_pair(block, j, times(swapped ? Pair<T>{p.im, p.re} : p, table + 2 * j));
  }
}

// With z of the pairs, E[k] = (z[k] + conj z[h - k]) / 2 is the spectrum of what is at even places and O[k] = (z[k] - conj z[h - k]) /
// 2i that of the others; the whole one is E[k] + w^k O[k].
template <class T>
void split_real(T* block, std::int64_t half, const T* roots) {
  const Pair<T> z = pair_at(block, std::int64_t{0});
  const Vector<T> zero = {};
  put_pair<T>(block, 0, {z.re + z.im, zero});
  put_pair<T>(block, half, {z.re - z.im, zero});
  for (std::int64_t k = 1; k <= half / 2; ++k) {
    const Pair<T> a = pair_at(block, k), b = conjugate(pair_at(block, half - k)), sum = a + b;
    const Pair<T> turn = times(rotated_by_2_of_8(a - b), roots + 2 * k);
    const Pair<T> x = sum + turn, y = conjugate(sum - turn);
    put_pair<T>(block, k, {x.re * T(0.5), x.im * T(0.5)});
    put_pair<T>(block, half - k, {y.re * T(0.5), y.im * T(0.5)});
  }
}
template <class T>
void join_real(T* block, std::int64_t half, const T* roots) {
  const Vector<T> first = pair_at(block, std::int64_t{0}).re, last = pair_at(block, half).re;
  put_pair<T>(block, 0, {first - last, first + last});
  for (std::int64_t k = 1; k <= half / 2; ++k) {
    const Pair<T> a = pair_at(block, k), b = conjugate(pair_at(block, half - k));
    const T back[] = {roots[2 * k], -roots[2 * k + 1]};
    const Pair<T> even = a + b, odd = times(a - b, back);
    // even + i odd, and of the conjugates.
    put_pair<T>(block, k, {even.im + odd.re, even.re - odd.im});
    put_pair<T>(block, half - k, {odd.re - even.im, even.re + odd.im});
  }
}

template <class T>
void transpose(T* block, const T* blocks, std::int64_t n, std::int64_t distance, const T* turns, const T* steps,
               std::int64_t step_distance) {
  constexpr int L = kLanes<T>;
  for (std::int64_t j = 0; j < n; j += L, blocks += distance, steps += step_distance) {
    Vector<T> re[L], im[L];
    WEFT_UNROLLED for (int r = 0; r < L; ++r) {
      const Pair<T> p = times(pair_at(blocks, r), times(pair_at(turns, r), steps + 2 * r));
      re[r] = p.re, im[r] = p.im;
    }
    transpose_square<T>(re);
    transpose_square<T>(im);
    const auto there = static_cast<int>(n - j < L ? n - j : L);
    if (there == L) {
      WEFT_UNROLLED for (int r = 0; r < L; ++r) put_pair<T>(block, j + r, {re[r], im[r]});
    } else {
      WEFT_UNROLLED for (int r = 0; r < L; ++r) {
        if (r < there) put_pair<T>(block, j + r, {re[r], im[r]});
      }
    }
  }
}

template <class T, int... I>
[[gnu::always_inline]] inline Pair<T> reversed(Pair<T> p, Indices<I...>) {
  constexpr int last = kLanes<T> - 1;
  return {__builtin_shufflevector(p.re, p.re, (last - I)...), __builtin_shufflevector(p.im, p.im, (last - I)...)};
}

template <class T>
void multiply_line(T* to, const T* a, const T* b, std::int64_t n, bool swapped, T scale) {
  constexpr int L = kLanes<T>;
  std::int64_t j = 0;
  for (; j + L <= n; j += L) {
    const Pair<T> x = pairs_from(a + 2 * j);
    const Pair<T> p = times(swapped ? Pair<T>{x.im, x.re} : x, pairs_from(b + 2 * j));
    put_pairs<T>(to + 2 * j, {p.re * scale, p.im * scale});
  }
  for (; j < n; ++j) {
    const T x = a[2 * j + (swapped ? 1 : 0)], y = a[2 * j + (swapped ? 0 : 1)], re = b[2 * j], im = b[2 * j + 1];
    to[2 * j] = (x * re - y * im) * scale, to[2 * j + 1] = (x * im + y * re) * scale;
  }
}

template <class T>
void split_real_line(T* line, std::int64_t half, const T* roots, std::int64_t begin, std::int64_t end) {
  constexpr int L = kLanes<T>;
  std::int64_t k = begin;
  for (; k + L <= end && k + L <= half - k - L + 1; k += L) {
    T *low = line + 2 * k, *high = line + 2 * (half - k - L + 1);
    const Pair<T> a = pairs_from(low), b = conjugate(reversed<T>(pairs_from(high), LaneIndices<T>())), sum = a + b;
    const Pair<T> turn = times(rotated_by_2_of_8(a - b), pairs_from(roots + 2 * k)), x = sum + turn, y = conjugate(sum - turn);
    put_pairs<T>(low, {x.re * T(0.5), x.im * T(0.5)});
    put_pairs<T>(high, reversed<T>({y.re * T(0.5), y.im * T(0.5)}, LaneIndices<T>()));
  }
  for (; k < end; ++k) {
    T *low = line + 2 * k, *high = line + 2 * (half - k);
    const T re = low[0] + high[0], im = low[1] - high[1], x = low[1] + high[1], y = high[0] - low[0];
    const T turn_re = x * roots[2 * k] - y * roots[2 * k + 1], turn_im = x * roots[2 * k + 1] + y * roots[2 * k];
    low[0] = (re + turn_re) * T(0.5), low[1] = (im + turn_im) * T(0.5);
    high[0] = (re - turn_re) * T(0.5), high[1] = (turn_im - im) * T(0.5);
  }
}
template <class T>
void join_real_line(T* to, const T* from, std::int64_t half, const T* roots, std::int64_t begin, std::int64_t end) {
  constexpr int L = kLanes<T>;
  std::int64_t k = begin;
  for (; k + L <= end && k + L <= half - k - L + 1; k += L) {
    const std::int64_t opposite = half - k - L + 1;
    const Pair<T> a = pairs_from(from + 2 * k), b = conjugate(reversed<T>(pairs_from(from + 2 * opposite), LaneIndices<T>()));
    const Pair<T> even = a + b, odd = times(a - b, conjugate(pairs_from(roots + 2 * k)));
    put_pairs<T>(to + 2 * k, {even.re - odd.im, even.im + odd.re});
    put_pairs<T>(to + 2 * opposite, reversed<T>({even.re + odd.im, odd.re - even.im}, LaneIndices<T>()));
  }
  for (; k < end; ++k) {
    const T *low = from + 2 * k, *high = from + 2 * (half - k);
    const T re = low[0] + high[0], im = low[1] - high[1], x = low[0] - high[0], y = low[1] + high[1];
    const T odd_re = x * roots[2 * k] + y * roots[2 * k + 1], odd_im = y * roots[2 * k] - x * roots[2 * k + 1];
    to[2 * k] = re - odd_im, to[2 * k + 1] = im + odd_re;
    to[2 * (half - k)] = re + odd_im, to[2 * (half - k) + 1] = odd_re - im;
  }
}

template <class T>
constexpr FftLoops<T> kLoops = {kLanes<T>,          load_lines<T>,      store_lines<T>,    load_columns<T>,    store_columns<T>,
                                run_pass<T>,        multiply<T>,        split_real<T>,     join_real<T>,       transpose<T>,
                                multiply_line<T>,   split_real_line<T>, join_real_line<T>, load_real_lines<T>, store_swapped_real_lines<T>,
                                complete_swapped<T>};

}  // namespace weft::detail::WEFT_FFT_SPACE
