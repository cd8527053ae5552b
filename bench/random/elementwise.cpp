// Elementwise chains, integers, movements, reductions, images.
#include <algorithm>

#include "families.h"

using namespace weft;

namespace bench::random_programs {

DType real_dtype(Writer& w) {
  if (w.chance(.5)) return float32;
  return w.pick(std::vector<DType>{float64, bfloat16, float16, float64, bfloat16});
}

Shape shape_of(Writer& w, int rank, double log2) {
  Shape shape;
  for (int i = 0; i < rank; ++i) {
    const double part = i + 1 == rank ? log2 : log2 * (0.15 + 0.007 * w.between(0, 100)) / (rank - i) * 1.6;
    shape.push_back(w.size_near(std::max(1., std::min(part, log2))));
    log2 -= std::min(part, log2);
  }
  return shape;
}

Value unary(Writer& w, const Value& x) {
  const Array& a = x.array;
  switch (w.between(0, 23)) {
    case 0: return w.put(tanh(a), "jnp.tanh({})", x);
    case 1: return w.put(exp(-abs(a)), "jnp.exp(-jnp.abs({}))", x);
    case 2: return w.put(sin(a), "jnp.sin({})", x);
    case 3: return w.put(cos(a), "jnp.cos({})", x);
    case 4: return w.put(sqrt(abs(a) + 0.5), "jnp.sqrt(jnp.abs({}) + 0.5)", x);
    case 5: return w.put(nn::sigmoid(a), "jax.nn.sigmoid({})", x);
    case 6: return w.put(log1p(abs(a)), "jnp.log1p(jnp.abs({}))", x);
    case 7: return w.put(abs(a), "jnp.abs({})", x);
    case 8: return w.put(-a, "-{}", x);
    case 9: return w.put(a - floor(a), "{0} - jnp.floor({0})", x);
    case 10: return w.put(1.0 / (1.0 + a * a), "1.0 / (1.0 + {0} * {0})", x);
    case 11: return w.put(nn::gelu(a), "jax.nn.gelu({})", x);
    case 12: return w.put(nn::silu(a), "jax.nn.silu({})", x);
    case 13: return w.put(nn::softplus(a), "jax.nn.softplus({})", x);
    case 14: return w.put(erf(a), "jax.scipy.special.erf({})", x);
    case 15: return w.put(clip(a, -1., 1.), "jnp.clip({}, -1.0, 1.0)", x);
    case 16: return w.put(where(a > 0, a, 0.1 * a), "jnp.where({0} > 0, {0}, 0.1 * {0})", x);
    case 17: return w.put(atan(a), "jnp.arctan({})", x);
    case 18: return w.put(rsqrt(a * a + 1.), "lax.rsqrt({0} * {0} + 1.0)", x);
    case 19: return w.put(log(abs(a) + 1.25), "jnp.log(jnp.abs({}) + 1.25)", x);
    case 20: return w.put(expm1(clip(a, -2., 2.)), "jnp.expm1(jnp.clip({}, -2.0, 2.0))", x);
    case 21: return w.put(pow(abs(a) + 0.5, 0.75), "jnp.power(jnp.abs({}) + 0.5, 0.75)", x);
    default: {
      const double s = w.number(-1.5, 1.5), t = w.number(-1, 1);
      return w.put(a * s + t, "{} * {} + {}", x, s, t);
    }
  }
}

Value binary(Writer& w, const Value& x, const Value& y) {
  const Array &a = x.array, &b = y.array;
  switch (w.between(0, 7)) {
    case 0: return w.put(a + b, "{} + {}", x, y);
    case 1: return w.put(a - b, "{} - {}", x, y);
    case 2: return w.put(a * b, "{} * {}", x, y);
    case 3: return w.put(a / (abs(b) + 1.), "{} / (jnp.abs({}) + 1.0)", x, y);
    case 4: return w.put(maximum(a, b), "jnp.maximum({}, {})", x, y);
    case 5: return w.put(minimum(a, b), "jnp.minimum({}, {})", x, y);
    case 6: return w.put(where(a < b, a, b * 0.5), "jnp.where({0} < {1}, {0}, {1} * 0.5)", x, y);
    default: return w.put(a * 0.75 + b * 0.25, "{} * 0.75 + {} * 0.25", x, y);
  }
}

Value mixed(Writer& w, Values values, int length) {
  for (int i = 0; i < length; ++i) {
    const Value& x = values.back();
    if (values.size() > 1 && w.chance(.4))
      values.push_back(binary(w, x, values[static_cast<std::size_t>(w.between(0, static_cast<int>(values.size()) - 2))]));
    else
      values.push_back(unary(w, x));
  }
  return values.back();
}

Value moved(Writer& w, const Value& x) {
  const int r = x.rank(), axis = w.between(0, r - 1);
  switch (w.between(0, 7)) {
    case 0: {
      std::vector<int> permutation;
      for (int i = 0; i < r; ++i) permutation.insert(permutation.begin() + w.between(0, i), i);
      return w.put(transpose(x.array, permutation), "jnp.transpose({}, {})", x, permutation);
    }
    case 1: return w.put(flip(x.array, axis), "jnp.flip({}, {})", x, axis);
    case 2: {
      const int by = w.between(1, 7);
      return w.put(roll(x.array, {by}, axis), "jnp.roll({}, {}, {})", x, by, axis);
    }
    case 3: return w.put(concatenate({x.array, x.array * 0.5}, axis), "jnp.concatenate([{0}, {0} * 0.5], {1})", x, axis);
    case 4: {
      std::vector<std::pair<int, int>> pairs(static_cast<std::size_t>(r), {0, 0});
      pairs[static_cast<std::size_t>(axis)] = {1, 2};
      std::string text;
      for (const auto& [before, after] : pairs) text += fmt::format("({}, {}), ", before, after);
      return w.put(pad(x.array, pairs), "jnp.pad({}, ({}))", x, text);
    }
    case 5:
      if (x.size(axis) >= 4) {
        const int step = w.between(2, 3), start = w.between(0, 1);
        std::vector<Index> all;
        std::string text;
        for (int i = 0; i < axis; ++i) text += ":, ";
        text += fmt::format("{}::{}", start, step);
        // Axis by axis: the index's number of entries is the axis' place.
        const Slice s = slice(start, none, step);
        const Array y = axis == 0   ? x.array(s)
                        : axis == 1 ? x.array(slice(), s)
                        : axis == 2 ? x.array(slice(), slice(), s)
                                    : x.array(slice(), slice(), slice(), s);
        return w.put(y, "{}[{}]", x, text);
      }
      [[fallthrough]];
    case 6: return w.put(reshape(x.array, {-1, x.shape().back()}), "{}.reshape(-1, {})", x, x.shape().back());
    default: return w.put(swapaxes(x.array, 0, r - 1), "jnp.swapaxes({}, 0, {})", x, r - 1);
  }
}

Values elementwise_chain(Writer& w) {
  const DType t = real_dtype(w);
  const int rank = w.between(1, 3);
  const Shape shape = shape_of(w, rank, w.between(11, 21));
  Values v;
  const int n = w.between(1, 3);
  for (int i = 0; i < n; ++i) {
    Shape s = shape;
    if (i && w.chance(.4)) s[w.between(0, rank - 1)] = 1;
    v.push_back(w.input(s, t));
  }
  std::swap(v.front(), v.back());
  if (v.back().shape() != shape) std::swap(v.front(), v.back());
  Values results{mixed(w, v, w.between(2, 14))};
  if (w.chance(.25)) results.push_back(mixed(w, {v.front(), results[0]}, 3));
  if (w.chance(.2)) results.push_back(w.put(astype(results[0].array * 100., int32), "({} * 100.0).astype(jnp.int32)", results[0]));
  return results;
}

Values integer_chain(Writer& w) {
  const DType t = w.pick(std::vector<DType>{int8, uint8, int16, uint16, int32, uint32, int32, uint8});
  const Shape shape = shape_of(w, w.between(1, 3), w.between(12, 22));
  const bool sign = t.is_signed();
  Value x = w.input(shape, t, 120, sign ? 0 : 60), y = w.input(shape, t, 120, sign ? 0 : 60);
  const Values given{x, y};
  const int length = w.between(2, 9);
  for (int i = 0; i < length; ++i) {
    const Value& o = given[static_cast<std::size_t>(w.between(0, 1))];
    const Array &a = x.array, &b = o.array;
    const int c = w.between(2, 60), s = w.between(1, 4);
    switch (w.between(0, 14)) {
      case 0: x = w.put(a + b, "{} + {}", x, o); break;
      case 1: x = w.put(a - b, "{} - {}", x, o); break;
      case 2: x = w.put(a * b, "{} * {}", x, o); break;
      case 3: x = w.put(a & b, "{} & {}", x, o); break;
      case 4: x = w.put(a ^ b, "{} ^ {}", x, o); break;
      case 5: x = w.put(a | c, "{} | {}", x, c); break;
      case 6: x = w.put(a >> s, "{} >> {}", x, s); break;
      case 7: x = w.put(a << s, "{} << {}", x, s); break;
      case 8: x = w.put(minimum(a, b), "jnp.minimum({}, {})", x, o); break;
      case 9: x = w.put(maximum(a, c), "jnp.maximum({}, {})", x, c); break;
      case 10: x = w.put(floor_divide(a, c), "{} // {}", x, c); break;
      case 11: x = w.put(remainder(a, c), "{} % {}", x, c); break;
      case 12: x = w.put(where(a > b, a, b), "jnp.where({0} > {1}, {0}, {1})", x, o); break;
      case 13: x = w.put(abs(a), "jnp.abs({})", x); break;
      default: x = w.put(a * c + 1, "{} * {} + 1", x, c);
    }
  }
  if (w.chance(.2)) {
    const int c = w.between(1, 9);
    x = w.put(remainder(x.array, (given[1].array & 15) + c), "{} % (({} & 15) + {})", x, given[1], c);
  }
  if (w.chance(.25)) return {w.put(sum(astype(x.array, int32), -1), "jnp.sum({}.astype(jnp.int32), -1)", x)};
  return {x};
}

Values movements(Writer& w) {
  const DType t = w.chance(.3) ? w.pick(std::vector<DType>{uint8, int32}) : real_dtype(w);
  Value x = w.input(shape_of(w, w.between(2, 4), w.between(12, 21)), t, 100, 50);
  const int length = w.between(1, 4);
  for (int i = 0; i < length; ++i) x = moved(w, x);
  if (t.is_floating())
    x = unary(w, x);
  else
    x = w.put(x.array + 1, "{} + 1", x);
  return {x};
}

Values reductions(Writer& w) {
  const DType t = real_dtype(w);
  const int rank = w.between(1, 4);
  Value x = w.input(shape_of(w, rank, w.between(12, 22)), t);
  const Value given = x;
  if (w.chance(.3) && rank > 1) x = moved(w, x);
  x = mixed(w, {x}, w.between(0, 4));
  const int axis = w.between(0, x.rank() - 1);
  const bool two = x.rank() > 2 && w.chance(.3);
  std::vector<int> axes{axis};
  if (two) axes = {0, x.rank() - 1};
  const Axis over(axes);
  const Array& a = x.array;
  switch (w.between(0, 12)) {
    case 0: return {w.put(sum(a, over), "jnp.sum({}, {})", x, axes)};
    case 1: return {w.put(max(a, over), "jnp.max({}, {})", x, axes)};
    case 2: return {w.put(mean(a, over), "jnp.mean({}, {})", x, axes)};
    case 3: return {w.put(var(a, over), "jnp.var({}, {})", x, axes)};
    case 4: return {w.put(nn::softmax(a, axis), "jax.nn.softmax({}, {})", x, axis)};
    case 5: return {w.put(logsumexp(a, over), "jax.nn.logsumexp({}, {})", x, axes)};
    case 6: return {w.put(argmax(a, axis), "jnp.argmax({}, {})", x, axis)};
    case 7: return {w.put(sum(a), "jnp.sum({})", x), w.put(max(a), "jnp.max({})", x)};
    case 8: return {w.put(a / (1. + sum(abs(a), over, keepdims)), "{0} / (1.0 + jnp.sum(jnp.abs({0}), {1}, keepdims=True))", x, axes), x};
    case 9: {
      const Value m = w.put(mean(a, over, keepdims), "jnp.mean({}, {}, keepdims=True)", x, axes);
      const Value v = w.put(mean(square(a - m.array), over, keepdims), "jnp.mean(jnp.square({} - {}), {}, keepdims=True)", x, m, axes);
      return {w.put((a - m.array) * rsqrt(v.array + 1e-3), "({} - {}) * lax.rsqrt({} + 1e-3)", x, m, v)};
    }
    case 10: return {w.put(sqrt(sum(a * a, over)), "jnp.sqrt(jnp.sum({0} * {0}, {1}))", x, axes), x};
    case 11: return {w.put(any(a > 0.9, over), "jnp.any({} > 0.9, {})", x, axes), w.put(min(a, over), "jnp.min({}, {})", x, axes)};
    default: {
      const Value y = w.put(sum(a, over, keepdims), "jnp.sum({}, {}, keepdims=True)", x, axes);
      return {w.put(sum(a * y.array), "jnp.sum({} * {})", x, y), w.put(nn::log_softmax(a, axis), "jax.nn.log_softmax({}, {})", x, axis)};
    }
  }
}

Values images(Writer& w) {
  const int channels = w.pick(std::vector<int>{1, 3, 3, 3, 4}), height = w.size_near(w.between(6, 10)),
            width = w.size_near(w.between(6, 10));
  const bool first = w.chance(.2);
  const Shape shape = first ? Shape{channels, height, width} : Shape{height, width, channels};
  const int c = first ? 0 : 2, y = first ? 1 : 0;
  const Value a = w.input(shape, uint8, 256, 128);
  const auto wide = [&](const Value& v, DType t) { return w.put(astype(v.array, t), "{}.astype({})", v, t); };
  switch (w.between(0, 8)) {
    case 0: {  // a blend of two
      Shape s = shape;
      s[c] = w.chance(.5) ? 1 : channels;
      const Value b = wide(w.input(shape, uint8, 256, 128), uint16), alpha = wide(w.input(s, uint8, 256, 128), uint16), p = wide(a, uint16);
      return {w.put(astype((p.array * alpha.array + b.array * (255 - alpha.array) + 128) >> 8, uint8),
                    "(({0} * {1} + {2} * (255 - {1}) + 128) >> 8).astype(jnp.uint8)", p, alpha, b)};
    }
    case 1: {  // luminance
      const Value p = wide(a, float32), weights = w.input({channels}, float32, .5, .5);
      if (first) return {w.put(einsum("chw,c->hw", p.array, weights.array), "jnp.einsum('chw,c->hw', {}, {})", p, weights)};
      return {w.put(astype(sum(p.array * weights.array, -1), uint8), "jnp.sum({} * {}, -1).astype(jnp.uint8)", p, weights)};
    }
    case 2: {  // brightness and contrast
      const Value p = wide(a, float32);
      const double s = w.number(.5, 1.5), t = w.number(-20, 20);
      return {w.put(astype(clip(p.array * s + t, 0., 255.), uint8), "jnp.clip({} * {} + {}, 0.0, 255.0).astype(jnp.uint8)", p, s, t)};
    }
    case 3: {  // a saturating difference
      const Value b = w.input(shape, uint8, 256, 128), p = wide(a, int16), q = wide(b, int16);
      return {w.put(astype(clip(p.array - q.array + 128, 0, 255), uint8), "jnp.clip({} - {} + 128, 0, 255).astype(jnp.uint8)", p, q)};
    }
    case 4: {  // a box filter along both dimensions
      const Value p = wide(a, w.chance(.5) ? uint16 : float32);
      const int k = w.between(2, 5);
      const auto windows = [&](const Value& v, int axis) {
        Array total;
        std::string text;
        for (int i = 0; i < k; ++i) {
          const Slice s = slice(i, v.size(axis) - k + 1 + i);
          const Array part = axis == 0 ? v.array(s) : axis == 1 ? v.array(slice(), s) : v.array(slice(), slice(), s);
          total = i ? total + part : part;
          text += fmt::format("{}{}[{}{}:{}]", i ? " + " : "", v.name,
                              axis == 0   ? ""
                              : axis == 1 ? ":, "
                                          : ":, :, ",
                              i, v.size(axis) - k + 1 + i);
        }
        return w.put(total, "{}", text);
      };
      const Value rows = windows(p, y), both = windows(rows, y + 1);
      if (p.dtype() == float32) return {w.put(both.array / (1. * k * k), "{} / {}", both, 1. * k * k)};
      return {w.put(astype(floor_divide(both.array, k * k), uint8), "({} // {}).astype(jnp.uint8)", both, k * k)};
    }
    case 5: {  // half the size
      const Value p = wide(a, uint16);
      const auto cut = [&](int i, int j) {
        const Slice r = slice(i, height / 2 * 2, 2), s = slice(j, width / 2 * 2, 2);
        return w.put(first ? p.array(slice(), r, s) : p.array(r, s), first ? "{}[:, {}:{}:2, {}:{}:2]" : "{}[{}:{}:2, {}:{}:2]", p, i,
                     height / 2 * 2, j, width / 2 * 2);
      };
      const Value p00 = cut(0, 0), p01 = cut(0, 1), p10 = cut(1, 0), p11 = cut(1, 1);
      return {w.put(astype((p00.array + p01.array + p10.array + p11.array + 2) >> 2, uint8),
                    "(({} + {} + {} + {} + 2) >> 2).astype(jnp.uint8)", p00, p01, p10, p11)};
    }
    case 6: {  // an image as a network's input
      const Value p = wide(a, float32), m = w.input({channels}, float32, 20, 120), s = w.input({channels}, float32, 10, 50);
      if (first)
        return {w.put((p.array - reshape(m.array, {-1, 1, 1})) / reshape(s.array, {-1, 1, 1}),
                      "({} - {}.reshape(-1, 1, 1)) / {}.reshape(-1, 1, 1)", p, m, s)};
      return {w.put(transpose((p.array - m.array) / s.array, {2, 0, 1}), "jnp.transpose(({} - {}) / {}, (2, 0, 1))", p, m, s)};
    }
    case 7: {  // the size of its gradient
      const Value p = wide(a, int32);
      const auto part = [&](int i, int j) {
        const Slice r = slice(i, height - 1 + i), s = slice(j, width - 1 + j);
        return w.put(first ? p.array(slice(), r, s) : p.array(r, s), first ? "{}[:, {}:{}, {}:{}]" : "{}[{}:{}, {}:{}]", p, i,
                     height - 1 + i, j, width - 1 + j);
      };
      const Value o = part(0, 0), right = part(0, 1), below = part(1, 0);
      return {w.put(astype(minimum(abs(right.array - o.array) + abs(below.array - o.array), 255), uint8),
                    "jnp.minimum(jnp.abs({1} - {0}) + jnp.abs({2} - {0}), 255).astype(jnp.uint8)", o, right, below)};
    }
    default: {  // a threshold by a table, and how often each value occurs
      const Value table = w.input({256}, uint8, 256, 128), i = wide(a, int32);
      return {w.put(table.array(i.array), "{}[{}]", table, i),
              w.put(bincount(ravel(i.array), {.length = 256}), "jnp.bincount({}.ravel(), length=256)", i)};
    }
  }
}

}  // namespace bench::random_programs
