// The decompositions of side_by_side.h for vectors of WEFT_LANES_BYTES, in namespace WEFT_LANES_SPACE. Each file that includes this one
// compiles it for other instructions, so nothing of it may be shared between them, and no library's template is used. No pragma once.
#include "weft/backends/cpu/factors/side_by_side.h"

#ifdef __clang__
#define WEFT_UNROLLED _Pragma("unroll")
#else
#define WEFT_UNROLLED _Pragma("GCC unroll 16")
#endif

namespace weft::detail::lapack::WEFT_LANES_SPACE {

template <class R>
struct VectorOf {
  typedef R Type __attribute__((vector_size(WEFT_LANES_BYTES)));
  typedef R Unaligned __attribute__((vector_size(WEFT_LANES_BYTES), aligned(alignof(R)), may_alias));
};
template <class R>
using Vector = typename VectorOf<R>::Type;
template <class R>
using Unaligned = typename VectorOf<R>::Unaligned;
template <int... I>
struct Indices {};
template <class R>
using Mask = decltype(Vector<R>{} < Vector<R>{});
template <class R>
constexpr int kLanes = static_cast<int>(WEFT_LANES_BYTES / sizeof(R));
template <class R>
constexpr R kEpsilon = sizeof(R) == 8 ? R(0x1p-52) : R(0x1p-23);
constexpr int kMaxSweeps = 40;

[[gnu::always_inline]] inline Vector<double> root(Vector<double> x) { return WEFT_LANES_ROOT_F64(x); }
[[gnu::always_inline]] inline Vector<float> root(Vector<float> x) { return WEFT_LANES_ROOT_F32(x); }
template <class V>
[[gnu::always_inline]] inline V magnitude(V x) {
  return x < 0 ? -x : x;
}
/// Whether it holds in any lane.
template <class M>
[[gnu::always_inline]] inline bool any(M mask) {
  long long words[sizeof(M) / sizeof(long long)], all = 0;
  __builtin_memcpy(words, &mask, sizeof(M));
  for (long long w : words) all |= w;
  return all != 0;
}

/// Exchanges what is off the diagonal in blocks of 2 x 2 pieces of `Half` lanes; by halves of halves this transposes a square.
template <int Half, class R, int... Lane>
[[gnu::always_inline]] inline void transpose_pieces(Vector<R>* rows, Indices<Lane...>) {
  constexpr int lanes = sizeof...(Lane);
  WEFT_UNROLLED
  for (int i = 0; i < lanes; ++i) {
    if (i & Half) continue;
    const Vector<R> a = rows[i], b = rows[i + Half];
    rows[i] = __builtin_shufflevector(a, b, (Lane & Half ? lanes + Lane - Half : Lane)...);
    rows[i + Half] = __builtin_shufflevector(a, b, (Lane & Half ? lanes + Lane : Lane + Half)...);
  }
  if constexpr (Half > 1) transpose_pieces<Half / 2, R>(rows, Indices<Lane...>());
}
template <class R>
[[gnu::always_inline]] inline void transpose_square(Vector<R>* rows) {
  if constexpr (kLanes<R> == 16)
    transpose_pieces<8, R>(rows, Indices<0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15>());
  else if constexpr (kLanes<R> == 8)
    transpose_pieces<4, R>(rows, Indices<0, 1, 2, 3, 4, 5, 6, 7>());
  else if constexpr (kLanes<R> == 4)
    transpose_pieces<2, R>(rows, Indices<0, 1, 2, 3>());
  else
    transpose_pieces<1, R>(rows, Indices<0, 1>());
}

template <class R>
void bring(const R* a, std::int64_t size, R* to) {
  constexpr int lanes = kLanes<R>;
  std::int64_t e = 0;
  for (; e + lanes <= size; e += lanes) {
    Vector<R> rows[lanes];
    WEFT_UNROLLED
    for (int l = 0; l < lanes; ++l) rows[l] = *reinterpret_cast<const Unaligned<R>*>(a + l * size + e);
    transpose_square<R>(rows);
    WEFT_UNROLLED
    for (int l = 0; l < lanes; ++l) reinterpret_cast<Vector<R>*>(to)[e + l] = rows[l];
  }
  for (; e < size; ++e)
    for (int l = 0; l < lanes; ++l) to[e * lanes + l] = a[l * size + e];
}

template <class R>
void take_back(const R* from, std::int64_t size, R* a) {
  constexpr int lanes = kLanes<R>;
  std::int64_t e = 0;
  for (; e + lanes <= size; e += lanes) {
    Vector<R> rows[lanes];
    WEFT_UNROLLED
    for (int l = 0; l < lanes; ++l) rows[l] = reinterpret_cast<const Vector<R>*>(from)[e + l];
    transpose_square<R>(rows);
    WEFT_UNROLLED
    for (int l = 0; l < lanes; ++l) *reinterpret_cast<Unaligned<R>*>(a + l * size + e) = rows[l];
  }
  for (; e < size; ++e)
    for (int l = 0; l < lanes; ++l) a[l * size + e] = from[e * lanes + l];
}

template <class R>
void extent(const R* a, std::int64_t size, R* largest, R* finite) {
  using V = Vector<R>;
  V most{}, zero{};
  for (std::int64_t e = 0; e < size; ++e) {
    const V x = reinterpret_cast<const V*>(a)[e], absolute = magnitude(x);
    most = absolute > most ? absolute : most;
    zero += x * R(0);
  }
  *reinterpret_cast<V*>(largest) = most;
  *reinterpret_cast<V*>(finite) = zero == 0 ? V{} + 1 : V{};
}

template <class R>
struct Rotation {
  Vector<R> t, c, s;  // the tangent of an angle of at most 45 degrees, its cosine and sine
};
/// What makes the matrix (p, r; r, q) diagonal, of which `difference` is q - p; of lanes that don't count, what changes nothing but the
/// sign of a zero.
template <class R>
[[gnu::always_inline]] inline Rotation<R> rotation(Mask<R> counts, Vector<R> difference, Vector<R> r) {
  using V = Vector<R>;
  const V twice = r + r, length = root(difference * difference + twice * twice), sum = magnitude(difference) + length;
  const V t = counts ? (difference < 0 ? -twice : twice) / sum : V{};
  const V c = R(1) / root(t * t + R(1));
  return {t, c, t * c};
}
/// x and y become c x - s y and s x + c y.
template <class R>
[[gnu::always_inline]] inline void rotate(const Rotation<R>& by, Vector<R>& x, Vector<R>& y) {
  const Vector<R> a = x, b = y;
  x = by.c * a - by.s * b;
  y = by.s * a + by.c * b;
}
/// x and y change places in the lanes of the mask.
template <class V, class M>
[[gnu::always_inline]] inline void exchange(M mask, V& x, V& y) {
  const V a = x, b = y;
  x = mask ? b : a;
  y = mask ? a : b;
}

/// Jacobi's rotations from both sides, as long as one of an off-diagonal element that isn't negligible beside the largest one is found.
template <class R>
void eigh(R* matrix, R* vectors, R* eigenvalues, int n, const std::uint8_t* rounds, R* open) {
  using V = Vector<R>;
  V* const a = reinterpret_cast<V*>(matrix);
  V* const v = reinterpret_cast<V*>(vectors);
  V* const values = reinterpret_cast<V*>(eigenvalues);
  V scale{};
  for (int i = 0; i < n; ++i)
    for (int j = i; j < n; ++j) {
      const V size = magnitude(a[i * n + j]);
      scale = size > scale ? size : scale;
    }
  const V negligible = scale * (kEpsilon<R> / 4);
  const int pairs = n * (n - 1) / 2;
  Mask<R> rotated{};
  for (int sweep = 0; sweep < kMaxSweeps; ++sweep) {
    rotated = Mask<R>{};
    for (int k = 0; k < pairs; ++k) {
      const int p = rounds[2 * k], q = rounds[2 * k + 1];
      V &pp = a[p * n + p], &qq = a[q * n + q], &pq = a[p * n + q];
      const Mask<R> counts = magnitude(pq) > negligible;
      if (!any(counts)) continue;
      rotated |= counts;
      const Rotation<R> by = rotation<R>(counts, qq - pp, pq);
      const V change = by.t * pq;
      pp -= change;
      qq += change;
      pq = counts ? V{} : pq;
      for (int r = 0; r < p; ++r) rotate(by, a[r * n + p], a[r * n + q]);
      for (int r = p + 1; r < q; ++r) rotate(by, a[p * n + r], a[r * n + q]);
      for (int r = q + 1; r < n; ++r) rotate(by, a[p * n + r], a[q * n + r]);
      if (v)
        for (int r = 0; r < n; ++r) rotate(by, v[r * n + p], v[r * n + q]);
    }
    if (!any(rotated)) break;
  }
  *reinterpret_cast<V*>(open) = rotated ? V{} + 1 : V{};
  // Zeros lose their signs, which depend on what was done for other lanes.
  for (int i = 0; i < n; ++i) values[i] = a[i * n + i] + R(0);
  if (v)
    for (int i = 0; i < n * n; ++i) v[i] += R(0);
  for (int end = n - 1; end > 0; --end)
    for (int i = 0; i < end; ++i) {
      const Mask<R> wrong = values[i + 1] < values[i];
      if (!any(wrong)) continue;
      exchange(wrong, values[i], values[i + 1]);
      if (v)
        for (int r = 0; r < n; ++r) exchange(wrong, v[r * n + i], v[r * n + i + 1]);
    }
}

/// Jacobi's rotations from one side, which make the columns orthogonal: J. Demmel and K. Veselic, "Jacobi's method is more accurate than
/// QR" (1992).
template <class R>
void svd(R* columns, R* vectors, R* singular_values, int m, int n, const std::uint8_t* rounds, R* open) {
  using V = Vector<R>;
  V* const g = reinterpret_cast<V*>(columns);
  V* const v = reinterpret_cast<V*>(vectors);
  V* const values = reinterpret_cast<V*>(singular_values);
  const int pairs = n * (n - 1) / 2;
  const R negligible = kEpsilon<R> * R(m < 4 ? 1 : m < 16 ? 2 : 4);
  // Columns that are short beside the others are rounding errors: they stay as they are.
  V squares{};
  for (int i = 0; i < m * n; ++i) squares += g[i] * g[i];
  const V least = squares * (kEpsilon<R> * kEpsilon<R> * R(kLostColumn * kLostColumn / 16));
  Mask<R> rotated{};
  for (int sweep = 0; sweep < kMaxSweeps; ++sweep) {
    rotated = Mask<R>{};
    for (int k = 0; k < pairs; ++k) {
      V *const x = g + rounds[2 * k] * m, *const y = g + rounds[2 * k + 1] * m;
      V xx{}, yy{}, xy{};
      for (int i = 0; i < m; ++i) {
        xx += x[i] * x[i];
        yy += y[i] * y[i];
        xy += x[i] * y[i];
      }
      const Mask<R> counts = (magnitude(xy) > negligible * root(xx * yy)) & (xx > least) & (yy > least);
      if (!any(counts)) continue;
      rotated |= counts;
      const Rotation<R> by = rotation<R>(counts, yy - xx, xy);
      for (int i = 0; i < m; ++i) rotate(by, x[i], y[i]);
      if (v) {
        V *const vx = v + rounds[2 * k] * n, *const vy = v + rounds[2 * k + 1] * n;
        for (int i = 0; i < n; ++i) rotate(by, vx[i], vy[i]);
      }
    }
    if (!any(rotated)) break;
  }
  *reinterpret_cast<V*>(open) = rotated ? V{} + 1 : V{};
  for (int j = 0; j < n; ++j) {
    V sum{};
    for (int i = 0; i < m; ++i) sum += g[j * m + i] * g[j * m + i];
    values[j] = root(sum);
  }
  for (int end = n - 1; end > 0; --end)
    for (int j = 0; j < end; ++j) {
      const Mask<R> wrong = values[j + 1] > values[j];
      if (!any(wrong)) continue;
      exchange(wrong, values[j], values[j + 1]);
      if (!v) continue;
      for (int i = 0; i < m; ++i) exchange(wrong, g[j * m + i], g[(j + 1) * m + i]);
      for (int i = 0; i < n; ++i) exchange(wrong, v[j * n + i], v[(j + 1) * n + i]);
    }
  if (!v) return;
  for (int j = 0; j < n; ++j) {
    const V inverse = R(1) / values[j];
    for (int i = 0; i < m; ++i) g[j * m + i] = g[j * m + i] * inverse + R(0);
    for (int i = 0; i < n; ++i) v[j * n + i] += R(0);
  }
}

}  // namespace weft::detail::lapack::WEFT_LANES_SPACE

#include "weft/backends/cpu/factors/side_by_side_eliminations.h"
#include "weft/backends/cpu/factors/side_by_side_hermitian.h"

namespace weft::detail::lapack::WEFT_LANES_SPACE {

template <class E, class R>
constexpr Eliminations<R> kEliminations{cholesky<E, R>, lu<E, R>, substitute<E, R>, qr<E, R>};
template <class R>
constexpr SideBySide<R> kSideBySide{kLanes<R>,
                                    bring<R>,
                                    take_back<R>,
                                    extent<R>,
                                    eigh<R>,
                                    eigh_hermitian<R>,
                                    svd<R>,
                                    kEliminations<Single<R>, R>,
                                    kEliminations<Double<R>, R>};

}  // namespace weft::detail::lapack::WEFT_LANES_SPACE
