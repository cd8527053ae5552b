// The eigenproblems of complex matrices of side_by_side.h. Included by side_by_side_of_vectors.h, for each kind of vector. No pragma once.
namespace weft::detail::lapack::WEFT_LANES_SPACE {

/// A rotation of columns x and y by real numbers, after y was multiplied by a number of modulus 1.
template <class R>
[[gnu::always_inline]] inline void rotate(const Rotation<R>& by, Double<R> phase, Double<R>& x, Double<R>& y) {
  Double<R> rotated = y.times(phase);
  rotate(by, x.re, rotated.re);
  rotate(by, x.im, rotated.im);
  y = rotated;
}

/// As eigh of real matrices: the phase of an element that is to vanish goes to a column first.
template <class R>
void eigh_hermitian(R* a, R* v, R* eigenvalues, int n, const std::uint8_t* rounds, R* open) {
  using V = Vector<R>;
  using E = Double<R>;
  V* const values = reinterpret_cast<V*>(eigenvalues);
  V scale{};
  for (int i = 0; i < n; ++i)
    for (int j = i; j < n; ++j) {
      const V size = E::at(a, i * n + j).size();
      scale = size > scale ? size : scale;
    }
  for (int i = 0; i < n; ++i) values[i] = E::at(a, i * n + i).re;
  const V negligible = scale * (kEpsilon<R> / 4);
  const int pairs = n * (n - 1) / 2;
  Mask<R> rotated{};
  // Elements of columns p and q in a row: below the diagonal they are conjugates of what is above.
  const auto rotate_elements = [](R* matrix, int at_x, bool below_x, int at_y, bool below_y, const Rotation<R>& by, E phase) {
    E x = E::at(matrix, at_x), y = E::at(matrix, at_y);
    if (below_x) x = x.conjugate();
    if (below_y) y = y.conjugate();
    rotate(by, phase, x, y);
    (below_x ? x.conjugate() : x).put(matrix, at_x);
    (below_y ? y.conjugate() : y).put(matrix, at_y);
  };
  for (int sweep = 0; sweep < kMaxSweeps; ++sweep) {
    rotated = Mask<R>{};
    for (int k = 0; k < pairs; ++k) {
      const int p = rounds[2 * k], q = rounds[2 * k + 1];
      const E pq = E::at(a, p * n + q);
      const V size = root(pq.squares());
      const Mask<R> counts = size > negligible;
      if (!any(counts)) continue;
      rotated |= counts;
      E one{}, nothing{};
      one.re += 1;
      const E phase = E::choose(counts, pq.conjugate().scaled(R(1) / size), one);
      const Rotation<R> by = rotation<R>(counts, values[q] - values[p], size);
      const V change = by.t * size;
      values[p] -= change;
      values[q] += change;
      E::choose(counts, nothing, pq).put(a, p * n + q);
      for (int r = 0; r < p; ++r) rotate_elements(a, r * n + p, false, r * n + q, false, by, phase);
      for (int r = p + 1; r < q; ++r) rotate_elements(a, p * n + r, true, r * n + q, false, by, phase);
      for (int r = q + 1; r < n; ++r) rotate_elements(a, p * n + r, true, q * n + r, true, by, phase);
      if (v)
        for (int r = 0; r < n; ++r) rotate_elements(v, r * n + p, false, r * n + q, false, by, phase);
    }
    if (!any(rotated)) break;
  }
  *reinterpret_cast<V*>(open) = rotated ? V{} + 1 : V{};
  for (int i = 0; i < n; ++i) values[i] += R(0);
  if (v)
    for (int i = 0; i < 2 * n * n; ++i) reinterpret_cast<V*>(v)[i] += R(0);
  for (int end = n - 1; end > 0; --end)
    for (int i = 0; i < end; ++i) {
      const Mask<R> wrong = values[i + 1] < values[i];
      if (!any(wrong)) continue;
      exchange(wrong, values[i], values[i + 1]);
      if (!v) continue;
      for (int r = 0; r < n; ++r) {
        const E x = E::at(v, r * n + i), y = E::at(v, r * n + i + 1);
        E::choose(wrong, y, x).put(v, r * n + i);
        E::choose(wrong, x, y).put(v, r * n + i + 1);
      }
    }
}

}  // namespace weft::detail::lapack::WEFT_LANES_SPACE
