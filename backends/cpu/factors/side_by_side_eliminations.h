// Cholesky's and Doolittle's factorisations, substitution and Householder's reflections of side_by_side.h. Included by
// side_by_side_of_vectors.h, for each kind of vector. No pragma once.
namespace weft::detail::lapack::WEFT_LANES_SPACE {

/// Real numbers in lanes.
template <class R>
struct Single {
  using V = Vector<R>;
  V re;

  static Single at(const R* p, int element) { return {reinterpret_cast<const V*>(p)[element]}; }
  void put(R* p, int element) const { reinterpret_cast<V*>(p)[element] = re; }
  Single conjugate() const { return *this; }
  Single scaled(V by) const { return {re * by}; }
  Single times(Single b) const { return {re * b.re}; }
  Single minus(Single b) const { return {re - b.re}; }
  Single minus_product(Single a, Single b) const { return {re - a.re * b.re}; }
  Single plus_product(Single a, Single b) const { return {re + a.re * b.re}; }
  V size() const { return magnitude(re); }
  V squares() const { return re * re; }
  V squares_of_imaginary() const { return V{}; }
  Single inverse() const { return {R(1) / re}; }
  template <class M>
  static Single choose(M mask, Single a, Single b) {
    return {mask ? a.re : b.re};
  }
};
/// Complex numbers in lanes, their real parts in one vector and their imaginary parts in the next.
template <class R>
struct Double {
  using V = Vector<R>;
  V re, im;

  static Double at(const R* p, int element) {
    const V* const v = reinterpret_cast<const V*>(p) + 2 * element;
    return {v[0], v[1]};
  }
  void put(R* p, int element) const {
    V* const v = reinterpret_cast<V*>(p) + 2 * element;
    v[0] = re;
    v[1] = im;
  }
  Double conjugate() const { return {re, -im}; }
  Double scaled(V by) const { return {re * by, im * by}; }
  Double times(Double b) const { return {re * b.re - im * b.im, re * b.im + im * b.re}; }
  Double minus(Double b) const { return {re - b.re, im - b.im}; }
  Double minus_product(Double a, Double b) const { return {re - a.re * b.re + a.im * b.im, im - a.re * b.im - a.im * b.re}; }
  Double plus_product(Double a, Double b) const { return {re + a.re * b.re - a.im * b.im, im + a.re * b.im + a.im * b.re}; }
  V size() const { return magnitude(re) + magnitude(im); }
  V squares() const { return re * re + im * im; }
  V squares_of_imaginary() const { return im * im; }
  Double inverse() const {
    const V x = magnitude(re), y = magnitude(im), larger = R(1) / (x > y ? x : y), a = re * larger, b = im * larger;
    const V rest = larger / (a * a + b * b);
    return {a * rest, -b * rest};
  }
  template <class M>
  static Double choose(M mask, Double a, Double b) {
    return {mask ? a.re : b.re, mask ? a.im : b.im};
  }
};

template <class E, class R>
void cholesky(R* a, int n, R* good) {
  using V = Vector<R>;
  const auto at = [&](int i, int k) { return E::at(a, i * n + k); };
  Mask<R> positive = V{} == V{};
  for (int k = 0; k < n; ++k) {
    V d = at(k, k).re;
    for (int c = 0; c < k; ++c) d -= at(k, c).squares();
    positive &= d > 0;
    d = root(d);
    E diagonal{};
    diagonal.re = d;
    diagonal.put(a, k * n + k);
    const V inverse = R(1) / d;
    int i = k + 1;
    for (; i + 4 <= n; i += 4) {
      E x[4] = {at(i, k), at(i + 1, k), at(i + 2, k), at(i + 3, k)};
      for (int c = 0; c < k; ++c) {
        const E b = at(k, c).conjugate();
        x[0] = x[0].minus_product(at(i, c), b);
        x[1] = x[1].minus_product(at(i + 1, c), b);
        x[2] = x[2].minus_product(at(i + 2, c), b);
        x[3] = x[3].minus_product(at(i + 3, c), b);
      }
      WEFT_UNROLLED
      for (int r = 0; r < 4; ++r) x[r].scaled(inverse).put(a, (i + r) * n + k);
    }
    for (; i < n; ++i) {
      E x = at(i, k);
      for (int c = 0; c < k; ++c) x = x.minus_product(at(i, c), at(k, c).conjugate());
      x.scaled(inverse).put(a, i * n + k);
    }
  }
  *reinterpret_cast<V*>(good) = positive ? V{} + 1 : V{};
}

template <class E, class R>
void lu(R* a, int m, int n, R* pivots) {
  using V = Vector<R>;
  constexpr int lanes = kLanes<R>, parts = static_cast<int>(sizeof(E) / sizeof(V));
  for (int k = 0; k < m && k < n; ++k) {
    // The row with the largest element in the column; the first of equals.
    V best = E::at(a, k * n + k).size(), pivot = V{} + static_cast<R>(k);
    for (int i = k + 1; i < m; ++i) {
      const V size = E::at(a, i * n + k).size();
      const Mask<R> larger = size > best;
      best = larger ? size : best;
      pivot = larger ? V{} + static_cast<R>(i) : pivot;
    }
    reinterpret_cast<V*>(pivots)[k] = pivot;
    for (int l = 0; l < lanes; ++l) {
      const int other = static_cast<int>(pivot[l]);
      if (other == k) continue;
      R *x = a + k * n * parts * lanes + l, *y = a + other * n * parts * lanes + l;
      for (int c = 0; c < n * parts; ++c, x += lanes, y += lanes) {
        const R old = *x;
        *x = *y;
        *y = old;
      }
    }
    const E diagonal = E::at(a, k * n + k), inverse = diagonal.inverse();
    const Mask<R> regular = diagonal.size() != 0;
    for (int i = k + 1; i < m; ++i) {
      const E old = E::at(a, i * n + k), factor = E::choose(regular, old.times(inverse), old);
      factor.put(a, i * n + k);
      for (int c = k + 1; c < n; ++c) E::at(a, i * n + c).minus_product(factor, E::at(a, k * n + c)).put(a, i * n + c);
    }
  }
}

template <class E, class R>
void substitute(const R* a, R* b, int n, int others, bool forward, bool unit_diagonal) {
  const auto step = [&](int s) { return forward ? s : n - 1 - s; };
  for (int s = 0; s < n; ++s) {
    const int i = step(s);
    const E inverse = E::at(a, i * n + i).inverse();
    int c = 0;
    for (; c + 4 <= others; c += 4) {
      E x[4] = {E::at(b, i * others + c), E::at(b, i * others + c + 1), E::at(b, i * others + c + 2), E::at(b, i * others + c + 3)};
      for (int before = 0; before < s; ++before) {
        const int k = step(before);
        const E factor = E::at(a, i * n + k);
        WEFT_UNROLLED
        for (int r = 0; r < 4; ++r) x[r] = x[r].minus_product(factor, E::at(b, k * others + c + r));
      }
      WEFT_UNROLLED
      for (int r = 0; r < 4; ++r) (unit_diagonal ? x[r] : x[r].times(inverse)).put(b, i * others + c + r);
    }
    for (; c < others; ++c) {
      E x = E::at(b, i * others + c);
      for (int before = 0; before < s; ++before) {
        const int k = step(before);
        x = x.minus_product(E::at(a, i * n + k), E::at(b, k * others + c));
      }
      (unit_diagonal ? x : x.times(inverse)).put(b, i * others + c);
    }
  }
}

/// Column c of x (m columns of `columns`, from row k on) minus factor (v^H x) v, where v is 1 and then what lies below row k in column k of
/// a.
template <class E, class R>
[[gnu::always_inline]] inline void reflect(const R* a, int m, int n, int k, E factor, R* x, int columns, int c) {
  E inner = E::at(x, k * columns + c);
  for (int i = k + 1; i < m; ++i) inner = inner.plus_product(E::at(a, i * n + k).conjugate(), E::at(x, i * columns + c));
  const E step = inner.times(factor);
  E::at(x, k * columns + c).minus(step).put(x, k * columns + c);
  for (int i = k + 1; i < m; ++i) E::at(x, i * columns + c).minus_product(step, E::at(a, i * n + k)).put(x, i * columns + c);
}

template <class E, class R>
void qr(R* a, R* q, int m, int n, int columns, R* taus, R* open) {
  using V = Vector<R>;
  const R tiny = sizeof(R) == 8 ? R(0x1p-800) : R(0x1p-90);
  Mask<R> lost{};
  const int count = m < n ? m : n;
  for (int k = 0; k < count; ++k) {
    const E alpha = E::at(a, k * n + k);
    V below{};
    for (int i = k + 1; i < m; ++i) below += E::at(a, i * n + k).squares();
    // Squares of a column much shorter than others have lost digits.
    if (const Mask<R> small = below + alpha.squares() < tiny; any(small)) {
      V largest{};
      for (int i = k; i < m; ++i) {
        const V size = E::at(a, i * n + k).size();
        largest = size > largest ? size : largest;
      }
      lost |= small & (largest > 0);
    }
    // What is real already is not reflected.
    const Mask<R> reflects = (below + alpha.squares_of_imaginary()) > 0;
    const V norm = root(alpha.squares() + below), beta = alpha.re < 0 ? norm : -norm, safe = reflects ? beta : V{} + 1;
    E difference = alpha, nothing{};
    difference.re -= safe;
    const E tau = E::choose(reflects, difference.scaled(R(-1) / safe), nothing), scale = difference.inverse();
    tau.put(taus, k);
    E diagonal = alpha;
    diagonal.re = reflects ? beta : alpha.re;
    E real{};
    real.re = diagonal.re;
    real.put(a, k * n + k);
    for (int i = k + 1; i < m; ++i) E::choose(reflects, E::at(a, i * n + k).times(scale), nothing).put(a, i * n + k);
    const E factor = tau.conjugate();
    for (int c = k + 1; c < n; ++c) reflect<E>(a, m, n, k, factor, a, n, c);
  }
  *reinterpret_cast<V*>(open) = lost ? V{} + 1 : V{};
  if (!q) return;
  for (int i = 0; i < m; ++i)
    for (int c = 0; c < columns; ++c) {
      E one{};
      if (i == c) one.re += 1;
      one.put(q, i * columns + c);
    }
  for (int k = count - 1; k >= 0; --k) {
    const E factor = E::at(taus, k);
    for (int c = k; c < columns; ++c) reflect<E>(a, m, n, k, factor, q, columns, c);
  }
}

}  // namespace weft::detail::lapack::WEFT_LANES_SPACE
