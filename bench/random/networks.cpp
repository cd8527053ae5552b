// Networks forward and backward, attention, recurrences, grids.
#include <cmath>

#include "families.h"

using namespace weft;

namespace bench::random_programs {
namespace {

DType network_dtype(Writer& w) { return w.chance(.7) ? float32 : w.pick(std::vector<DType>{bfloat16, float64}); }

Value activation(Writer& w, const Value& x, int which) {
  const Array& a = x.array;
  switch (which) {
    case 0: return w.put(nn::relu(a), "jax.nn.relu({})", x);
    case 1: return w.put(tanh(a), "jnp.tanh({})", x);
    case 2: return w.put(nn::gelu(a), "jax.nn.gelu({})", x);
    case 3: return w.put(nn::silu(a), "jax.nn.silu({})", x);
    default: return w.put(nn::sigmoid(a), "jax.nn.sigmoid({})", x);
  }
}

Value normalized(Writer& w, const Value& x, const Value& gain) {
  const Value m = w.put(mean(x.array, -1, keepdims), "jnp.mean({}, -1, keepdims=True)", x);
  const Value v = w.put(mean(square(x.array - m.array), -1, keepdims), "jnp.mean(jnp.square({} - {}), -1, keepdims=True)", x, m);
  return w.put((x.array - m.array) * rsqrt(v.array + 1e-3) * gain.array, "({} - {}) * lax.rsqrt({} + 1e-3) * {}", x, m, v, gain);
}

}  // namespace

Values dense_network(Writer& w) {
  const DType t = network_dtype(w);
  const int layers = w.between(1, 4), batch = w.size_near(w.between(0, 9)), kind = w.between(0, 4);
  const bool norm = w.chance(.4), backward = w.chance(.6), classes = w.chance(.5);
  int width = w.size_near(w.between(3, 9));
  const Value x = w.input({batch, width}, t);
  Values parameters;
  for (int l = 0; l < layers; ++l) {
    const int next = w.size_near(w.between(3, 9));
    parameters.push_back(w.input({width, next}, t, 2 / std::sqrt(width)));
    parameters.push_back(w.input({next}, t, norm ? .2 : 1, norm ? 1 : 0));
    width = next;
  }
  const Value labels = w.input({batch}, int32, width, .5 * width);
  const auto forward = [&](const Values& p) {
    Value h = x;
    for (std::size_t l = 0; l < p.size(); l += 2) {
      h = w.put(matmul(h.array, p[l].array), "jnp.matmul({}, {})", h, p[l]);
      h = norm ? normalized(w, h, p[l + 1]) : w.put(h.array + p[l + 1].array, "{} + {}", h, p[l + 1]);
      if (l + 2 < p.size()) h = activation(w, h, kind);
    }
    return h;
  };
  if (!backward) return {forward(parameters)};
  return differentiate(w, parameters, [&](const Values& p) {
    const Value h = forward(p);
    if (!classes) return w.put(mean(square(h.array)), "jnp.mean(jnp.square({}))", h);
    const Value s = w.put(nn::log_softmax(h.array), "jax.nn.log_softmax({})", h);
    return w.put(-mean(take_along_axis(s.array, expand_dims(labels.array, 1), 1)), "-jnp.mean(jnp.take_along_axis({}, {}[:, None], 1))", s,
                 labels);
  });
}

Values convolutional_network(Writer& w) {
  const bool last = w.chance(.6), backward = w.chance(.6);
  const int batch = w.size_near(w.between(0, 4)), size = 4 * w.between(3, 12), kind = w.between(0, 4), classes = w.between(5, 20);
  int channels = w.pick(std::vector<int>{1, 3, 4});
  const Value x = w.input(last ? Shape{batch, size, size, channels} : Shape{batch, channels, size, size}, float32);
  const std::string lhs = last ? "NHWC" : "NCHW", rhs = last ? "HWIO" : "OIHW";
  Values parameters;
  for (int l = 0; l < 2; ++l) {
    const int next = w.size_near(w.between(3, 5));
    parameters.push_back(w.input(last ? Shape{3, 3, channels, next} : Shape{next, channels, 3, 3}, float32, .5));
    channels = next;
  }
  parameters.push_back(w.input({channels, classes}, float32));
  const auto forward = [&](const Values& p) {
    Value h = x;
    for (std::size_t l = 0; l < 2; ++l) {
      h = w.put(conv_general_dilated(h.array, p[l].array, {1, 1}, "SAME", {.dimension_numbers = {lhs, rhs, lhs}}),
                "lax.conv_general_dilated({}, {}, (1, 1), 'SAME', dimension_numbers=('{}', '{}', '{}'))", h, p[l], lhs, rhs, lhs);
      h = activation(w, h, kind);
      const Shape window = last ? Shape{1, 2, 2, 1} : Shape{1, 1, 2, 2};
      h = w.put(reduce_window(
                    h.array, 0.f, [](Array a, Array b) { return a + b; }, window, window, "VALID") *
                    0.25,
                "lax.reduce_window({0}, 0.0, lax.add, {1}, {1}, 'VALID') * 0.25", h, window);
    }
    h = last ? w.put(mean(h.array, Axis{1, 2}), "jnp.mean({}, (1, 2))", h) : w.put(mean(h.array, Axis{2, 3}), "jnp.mean({}, (2, 3))", h);
    return w.put(matmul(h.array, p[2].array), "jnp.matmul({}, {})", h, p[2]);
  };
  if (!backward) return {forward(parameters)};
  return differentiate(w, parameters, [&](const Values& p) {
    const Value h = forward(p);
    return w.put(mean(logsumexp(h.array, -1)), "jnp.mean(jax.nn.logsumexp({}, -1))", h);
  });
}

Values attention(Writer& w) {
  const DType t = network_dtype(w);
  const int batch = w.between(1, 4), length = w.size_near(w.between(4, 9)), keys = w.chance(.7) ? length : w.size_near(w.between(4, 9));
  const int kv = w.between(1, 4), group = w.chance(.7) ? 1 : 2, size = w.pick(std::vector<int>{16, 24, 32, 64, 80});
  const bool causal = w.chance(.4), by_hand = w.chance(.4), backward = w.chance(.5);
  const Value q = w.input({batch, length, kv * group, size}, t), k = w.input({batch, keys, kv, size}, t),
              v = w.input({batch, keys, kv, size}, t);
  const auto forward = [&](const Values& p) {
    if (!by_hand || group > 1)
      return w.put(nn::dot_product_attention(p[0].array, p[1].array, p[2].array, {.is_causal = causal}),
                   "jax.nn.dot_product_attention({}, {}, {}, is_causal={})", p[0], p[1], p[2], causal ? "True" : "False");
    Value s = w.put(einsum("bihd,bjhd->bhij", p[0].array, p[1].array) * (1 / std::sqrt(static_cast<double>(size))),
                    "jnp.einsum('bihd,bjhd->bhij', {}, {}) * {}", p[0], p[1], 1 / std::sqrt(static_cast<double>(size)));
    if (causal)
      s = w.put(where(tril(ones({length, keys}, bool_)), s.array, -1e4), "jnp.where(jnp.tril(jnp.ones(({}, {}), bool)), {}, -1e4)", length,
                keys, s);
    s = w.put(nn::softmax(s.array), "jax.nn.softmax({})", s);
    return w.put(einsum("bhij,bjhd->bihd", s.array, p[2].array), "jnp.einsum('bhij,bjhd->bihd', {}, {})", s, p[2]);
  };
  if (!backward) return {forward({q, k, v})};
  return differentiate(w, {q, k, v}, [&](const Values& p) {
    const Value z = forward(p);
    return w.put(sum(square(z.array)), "jnp.sum(jnp.square({}))", z);
  });
}

Values recurrent_network(Writer& w) {
  const DType t = w.chance(.8) ? float32 : bfloat16;
  const int steps = w.size_near(w.between(2, 8)), batch = w.size_near(w.between(0, 6)), in = w.size_near(w.between(2, 7)),
            n = w.size_near(w.between(2, 8));
  const int kind = w.between(0, 2), gates = kind == 0 ? 1 : kind == 1 ? 3 : 4;
  const Value xs = w.input({steps, batch, in}, t), wx = w.input({in, gates * n}, t, 1 / std::sqrt(in)),
              wh = w.input({n, gates * n}, t, 1 / std::sqrt(n)), b = w.input({gates * n}, t);
  const auto forward = [&](const Values& p) {
    const Value start = w.put(zeros({kind == 2 ? 2 : 1, batch, n}, t), "jnp.zeros(({}, {}, {}), {})", kind == 2 ? 2 : 1, batch, n, t);
    auto f = w.function({"h", "x"});
    const auto out = scan(
        [&](const Array& h, const Array& x) {
          const std::vector<Array> r = f({h, x}, "{}, {}", [&](const Values& a) {
            const Value s = w.put(a[0].array(0), "{}[0]", a[0]);
            const Value u = w.put(matmul(a[1].array, p[0].array) + p[2].array, "jnp.matmul({}, {}) + {}", a[1], p[0], p[2]);
            const Value z = w.put(matmul(s.array, p[1].array), "jnp.matmul({}, {})", s, p[1]);
            const auto gate = [&](const Value& y, int i) {
              return w.put(y.array(slice(), slice(i * n, (i + 1) * n)), "{}[:, {}:{}]", y, i * n, (i + 1) * n);
            };
            if (kind == 0) {
              const Value y = w.put(tanh(u.array + z.array), "jnp.tanh({} + {})", u, z);
              return Values{w.put(expand_dims(y.array, 0), "{}[None]", y), y};
            }
            if (kind == 1) {
              const Value u0 = gate(u, 0), u1 = gate(u, 1), u2 = gate(u, 2), z0 = gate(z, 0), z1 = gate(z, 1), z2 = gate(z, 2);
              const Value r0 = w.put(nn::sigmoid(u0.array + z0.array), "jax.nn.sigmoid({} + {})", u0, z0),
                          r1 = w.put(nn::sigmoid(u1.array + z1.array), "jax.nn.sigmoid({} + {})", u1, z1);
              const Value c = w.put(tanh(u2.array + r0.array * z2.array), "jnp.tanh({} + {} * {})", u2, r0, z2);
              const Value y = w.put((1. - r1.array) * c.array + r1.array * s.array, "(1.0 - {0}) * {1} + {0} * {2}", r1, c, s);
              return Values{w.put(expand_dims(y.array, 0), "{}[None]", y), y};
            }
            const Value g = w.put(u.array + z.array, "{} + {}", u, z), g0 = gate(g, 0), g1 = gate(g, 1), g2 = gate(g, 2), g3 = gate(g, 3),
                        old = w.put(a[0].array(1), "{}[1]", a[0]);
            const Value c = w.put(nn::sigmoid(g1.array) * old.array + nn::sigmoid(g0.array) * tanh(g2.array),
                                  "jax.nn.sigmoid({}) * {} + jax.nn.sigmoid({}) * jnp.tanh({})", g1, old, g0, g2);
            const Value y = w.put(nn::sigmoid(g3.array) * tanh(c.array), "jax.nn.sigmoid({}) * jnp.tanh({})", g3, c);
            return Values{w.put(stack({y.array, c.array}), "jnp.stack([{}, {}])", y, c), y};
          });
          return std::pair{r[0], r[1]};
        },
        start.array, xs.array);
    return w.put(out.second, "lax.scan({}, {}, {})[1]", f.name(), start, xs);
  };
  if (w.chance(.4)) return {forward({wx, wh, b})};
  return differentiate(w, {wx, wh, b}, [&](const Values& p) {
    const Value y = forward(p);
    return w.put(mean(square(y.array)), "jnp.mean(jnp.square({}))", y);
  });
}

Values recurrences(Writer& w) {
  const DType t = w.chance(.6) ? float32 : float64;
  const int steps = w.size_near(w.between(4, 12)), n = w.chance(.3) ? 1 : w.size_near(w.between(1, 10)), kind = w.between(0, 4);
  const Value x = w.input({steps, n}, t, 1, kind == 3 ? 2.5 : 0);
  auto f = w.function({"c", "x"});
  const auto run = [&](const Value& start, auto body) {
    const auto out = scan(
        [&](const Array& c, const Array& a) {
          const std::vector<Array> r = f({c, a}, "{}, {}", body);
          return std::pair{r[0], r[1]};
        },
        start.array, x.array);
    const Value all = w.put(out.first, "lax.scan({}, {}, {})", f.name(), start, x);
    return Values{w.put(out.first, "{}[0]", all), w.put(out.second, "{}[1]", all)};
  };
  const Value zero = w.put(zeros({n}, t), "jnp.zeros({}, {})", n, t);
  switch (kind) {
    case 0:  // a moving average
      return run(zero, [&](const Values& a) {
        const Value y = w.put(a[0].array * 0.9 + a[1].array * 0.1, "{} * 0.9 + {} * 0.1", a[0], a[1]);
        return Values{y, y};
      });
    case 1: {  // a small state
      const int m = w.between(2, 6);
      const Value A = w.input({m, m}, t, .6), start = w.put(zeros({m, n}, t), "jnp.zeros(({}, {}), {})", m, n, t);
      return run(start, [&](const Values& a) {
        const Value s = w.put(matmul(A.array, a[0].array) + a[1].array, "jnp.matmul({}, {}) + {}", A, a[0], a[1]);
        return Values{s, w.put(sum(s.array, 0), "jnp.sum({}, 0)", s)};
      });
    }
    case 2:  // a random mix
      return run(zero, [&](const Values& a) {
        const Value y = mixed(w, {a[1], a[0]}, 5);
        const Value z = w.put(y.array * 0.5 + a[0].array * 0.25, "{} * 0.5 + {} * 0.25", y, a[0]);
        return Values{z, z};
      });
    case 3:  // the forward half of a tridiagonal solution
      return run(zero, [&](const Values& a) {
        const Value y = w.put(1. / (a[1].array - a[0].array * 0.5), "1.0 / ({} - {} * 0.5)", a[1], a[0]);
        return Values{y, w.put(y.array * a[1].array, "{} * {}", y, a[1])};
      });
    default:  // a gradient through it
      return differentiate(w, {x}, [&](const Values& p) {
        auto g = w.function({"c", "x"});
        const auto out = scan(
            [&](const Array& c, const Array& a) {
              const std::vector<Array> r = g({c, a}, "{}, {}", [&](const Values& v) {
                const Value y = w.put(tanh(v[0].array * 0.8 + v[1].array), "jnp.tanh({} * 0.8 + {})", v[0], v[1]);
                return Values{y, y};
              });
              return std::pair{r[0], r[1]};
            },
            zero.array, p[0].array);
        const Value y = w.put(out.second, "lax.scan({}, {}, {})[1]", g.name(), zero, p[0]);
        return w.put(sum(square(y.array)), "jnp.sum(jnp.square({}))", y);
      });
  }
}

Values grids(Writer& w) {
  const DType t = w.chance(.6) ? float32 : float64;
  const int rank = w.between(1, 3), steps = w.between(4, 60);
  Shape shape;
  for (int i = 0; i < rank; ++i)
    shape.push_back(w.size_near(rank == 1 ? w.between(8, 18) : rank == 2 ? w.between(5, 9) : w.between(3, 6)) + 2);
  const Value u = w.input(shape, t);
  const bool periodic = w.chance(.5), nonlinear = w.chance(.4);
  auto f = w.function({"i", "u"});
  const Array result = fori_loop(
      0, steps,
      [&](const Array& i, const Array& v) {
        return f({i, v}, "{1}", [&](const Values& a) {
          const Value& c = a[1];
          Value total = w.put(c.array * (-2. * rank), "{} * {}", c, -2. * rank);
          if (periodic) {
            for (int d = 0; d < rank; ++d)
              total = w.put(total.array + roll(c.array, {1}, d) + roll(c.array, {-1}, d),
                            "{0} + jnp.roll({1}, 1, {2}) + jnp.roll({1}, -1, {2})", total, c, d);
          } else {
            const Value p = w.put(pad(c.array, 1), "jnp.pad({}, 1)", c);
            for (int d = 0; d < rank; ++d)
              for (const int side : {0, 2}) {
                const auto part = [&](int e) { return e == d ? slice(side, shape[e] + side) : slice(1, -1); };
                std::string text;
                for (int e = 0; e < rank; ++e) text += e == d ? fmt::format("{}:{}, ", side, shape[e] + side) : "1:-1, ";
                total = w.put(total.array + (rank == 1   ? p.array(part(0))
                                             : rank == 2 ? p.array(part(0), part(1))
                                                         : p.array(part(0), part(1), part(2))),
                              "{} + {}[{}]", total, p, text);
              }
          }
          Value next = w.put(c.array + total.array * 0.1, "{} + {} * 0.1", c, total);
          if (nonlinear) next = w.put(next.array - next.array * next.array * next.array * 0.05, "{0} - {0} * {0} * {0} * 0.05", next);
          return Values{a[0], next};
        })[1];
      },
      u.array);
  return {w.put(result, "lax.fori_loop(0, {}, {}, {})", steps, f.name(), u)};
}

}  // namespace bench::random_programs
