// Computed indices, segments, running reductions, sorting.
#include "families.h"

using namespace weft;

namespace bench::random_programs {
namespace {

/// Positions in [0, below).
Value places(Writer& w, const Shape& shape, int below) { return w.input(shape, int32, below, .5 * below); }

}  // namespace

Values indexing(Writer& w) {
  const DType t = real_dtype(w);
  const int rows = w.size_near(w.between(5, 15)), columns = w.size_near(w.between(0, 8)),
            n = w.size_near(w.between(5, columns > 64 ? 13 : 18));
  const Value x = w.input({rows, columns}, t);
  switch (w.between(0, 8)) {
    case 0: {
      const Value i = places(w, {n}, rows);
      return {unary(w, w.put(x.array(i.array), "{}[{}]", x, i))};
    }
    case 1: {
      const Value i = places(w, {n}, rows), j = places(w, {n}, columns);
      return {w.put(x.array(i.array, j.array), "{}[{}, {}]", x, i, j)};
    }
    case 2: {
      const Value i = places(w, {rows, std::max(1, columns / 2)}, columns);
      return {w.put(take_along_axis(x.array, i.array, 1), "jnp.take_along_axis({}, {}, 1)", x, i)};
    }
    case 3: {
      const Value i = places(w, {std::min(n, std::max(1, (1 << 23) / rows))}, columns);
      return {w.put(take(x.array, i.array, 1), "jnp.take({}, {}, 1)", x, i)};
    }
    case 4: {
      const Value i = places(w, {n}, rows), u = w.input({n, columns}, t);
      return {w.put(x.array.at(i.array).add(u.array), "{}.at[{}].add({})", x, i, u)};
    }
    case 5: {
      const Value i = places(w, {n}, rows), j = places(w, {n}, columns), u = w.input({n}, t);
      return {w.put(x.array.at(i.array, j.array).add(u.array), "{}.at[{}, {}].add({})", x, i, j, u)};
    }
    case 6: {
      const Value i = places(w, {n}, rows), u = w.input({n, columns}, t);
      return {w.put(x.array.at(i.array).max(u.array), "{}.at[{}].max({})", x, i, u)};
    }
    case 7: {
      const Value i = places(w, {n}, rows), u = w.input({columns, 8}, t);
      return differentiate(w, {x, u}, [&](const Values& p) {
        const Value r = w.put(p[0].array(i.array), "{}[{}]", p[0], i);
        const Value y = w.put(matmul(r.array, p[1].array), "jnp.matmul({}, {})", r, p[1]);
        return w.put(mean(square(y.array)), "jnp.mean(jnp.square({}))", y);
      });
    }
    default: {  // bilinear samples
      const int h = w.size_near(w.between(5, 10)), v = w.size_near(w.between(5, 10));
      const Value image = w.input({h, v}, float32), px = w.input({n}, float32, v - 2, .5 * v), py = w.input({n}, float32, h - 2, .5 * h);
      const Value fx = w.put(floor(px.array), "jnp.floor({})", px), fy = w.put(floor(py.array), "jnp.floor({})", py);
      const Value ax = w.put(px.array - fx.array, "{} - {}", px, fx), ay = w.put(py.array - fy.array, "{} - {}", py, fy);
      const Value j = w.put(clip(astype(fx.array, int32), 0, v - 2), "jnp.clip({}.astype(jnp.int32), 0, {})", fx, v - 2);
      const Value i = w.put(clip(astype(fy.array, int32), 0, h - 2), "jnp.clip({}.astype(jnp.int32), 0, {})", fy, h - 2);
      const Array &m = image.array, &a = ax.array, &b = ay.array;
      return {w.put((1. - b) * ((1. - a) * m(i.array, j.array) + a * m(i.array, j.array + 1)) +
                        b * ((1. - a) * m(i.array + 1, j.array) + a * m(i.array + 1, j.array + 1)),
                    "(1.0 - {4}) * ((1.0 - {3}) * {0}[{1}, {2}] + {3} * {0}[{1}, {2} + 1]) + {4} * ((1.0 - {3}) * {0}[{1} + 1, {2}] + {3} "
                    "* {0}[{1} + 1, {2} + 1])",
                    image, i, j, ax, ay)};
    }
  }
}

Values segments(Writer& w) {
  const DType t = w.chance(.7) ? float32 : w.pick(std::vector<DType>{float64, int32});
  const int n = w.size_near(w.between(8, 19)), k = w.size_near(w.between(1, 13)), columns = w.chance(.5) ? 0 : w.size_near(w.between(0, 5));
  const Value x = columns ? w.input({n / columns + 1, columns}, t, 100) : w.input({n}, t, 100);
  const int rows = static_cast<int>(x.size(0));
  Value s = places(w, {rows}, k);
  if (w.chance(.5)) s = w.put(sort(s.array), "jnp.sort({})", s);
  Shape out = x.shape();
  out[0] = k;
  const Value zero = w.put(zeros(out, t), "jnp.zeros({}, {})", out, t);
  switch (w.between(0, 4)) {
    case 0:
    case 1: return {w.put(zero.array.at(s.array).add(x.array), "{}.at[{}].add({})", zero, s, x)};
    case 2: return {w.put(zero.array.at(s.array).max(x.array), "{}.at[{}].max({})", zero, s, x)};
    case 3: {  // means
      const Value total = w.put(zero.array.at(s.array).add(x.array), "{}.at[{}].add({})", zero, s, x);
      const Value many = w.put(zeros({k}, t).at(s.array).add(1), "jnp.zeros({}, {}).at[{}].add(1)", k, t, s);
      const Value d = w.put(maximum(many.array, 1), "jnp.maximum({}, 1)", many);
      return {columns ? w.put(total.array / expand_dims(d.array, 1), "{} / {}[:, None]", total, d)
                      : w.put(total.array / d.array, "{} / {}", total, d)};
    }
    default: {  // a sparse matrix times a vector
      const Value column = places(w, {rows}, k), v = w.input({k}, t);
      const Value e = columns ? w.put(x.array * expand_dims(v.array(column.array), 1), "{} * {}[{}][:, None]", x, v, column)
                              : w.put(x.array * v.array(column.array), "{} * {}[{}]", x, v, column);
      return {w.put(zero.array.at(s.array).add(e.array), "{}.at[{}].add({})", zero, s, e)};
    }
  }
}

Values running_reductions(Writer& w) {
  const DType t = w.chance(.3) ? int32 : real_dtype(w);
  const Value x = w.input(shape_of(w, w.between(1, 3), w.between(10, 20)), t, t.is_integer() ? 100 : .1);
  const int axis = w.between(0, x.rank() - 1);
  const Array& a = x.array;
  switch (w.between(0, t.is_integer() ? 2 : 4)) {
    case 0: return {w.put(cumsum(a, axis), "jnp.cumsum({}, {}, dtype={})", x, axis, t)};
    case 1: return {w.put(cummax(a, axis), "lax.cummax({}, {})", x, axis)};
    case 2: {
      const Value y = w.put(flip(cumsum(flip(a, axis), axis), axis), "jnp.flip(jnp.cumsum(jnp.flip({}, {}), {}, dtype={}), {})", x, axis,
                            axis, t, axis);
      return {w.put(y.array * 2 + a, "{} * 2 + {}", y, x)};
    }
    case 3: return {w.put(cumprod(a + 1., axis), "jnp.cumprod({} + 1.0, {})", x, axis)};
    default: return {w.put(cumlogsumexp(a, axis), "lax.cumlogsumexp({}, {})", x, axis)};
  }
}

Values sorting(Writer& w) {
  const DType t = w.chance(.3) ? w.pick(std::vector<DType>{int32, uint8, int16}) : real_dtype(w);
  const Shape shape = shape_of(w, w.between(1, 3), w.between(8, 18));
  const Value x = w.input(shape, t, 100, 50);
  const int axis = w.between(0, x.rank() - 1), last = static_cast<int>(shape.back());
  const Array& a = x.array;
  switch (w.between(0, t.is_integer() ? 4 : 6)) {
    case 0: return {w.put(sort(a, axis), "jnp.sort({}, {})", x, axis)};
    case 1: return {w.put(argsort(a, axis), "jnp.argsort({}, {})", x, axis)};
    case 2:
    case 3: {
      const int k = w.between(1, std::min(last, 32));
      const Value y = w.put(top_k(a, k).values, "lax.top_k({}, {})[0]", x, k);
      return {y, w.put(top_k(a, k).indices, "lax.top_k({}, {})[1]", x, k)};
    }
    case 4: {
      const Value line = w.put(sort(ravel(a)), "jnp.sort({}.ravel())", x), v = w.input({w.size_near(w.between(5, 16))}, t, 100, 50);
      return {w.put(searchsorted(line.array, v.array), "jnp.searchsorted({}, {})", line, v)};
    }
    case 5: return {w.put(median(a, axis), "jnp.median({}, {})", x, axis)};
    default: return {w.put(quantile(a, 0.9, axis), "jnp.quantile({}, 0.9, {})", x, axis)};
  }
}

}  // namespace bench::random_programs
