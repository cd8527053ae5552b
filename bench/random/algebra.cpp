// Matmuls, contractions, convolutions, factorisations, spectra, complex numbers.
#include "families.h"

using namespace weft;

namespace bench::random_programs {

Values matmuls(Writer& w) {
  const DType t = w.chance(.15) ? int8 : real_dtype(w);
  const bool batched = w.chance(.3);
  // Log sizes whose sum bounds the work.
  double m = w.between(0, 11), k = w.between(2, 11), n = w.between(0, 11);
  while (m + k + n > 27) (m >= k && m >= n ? m : k >= n ? k : n) -= 1;
  while (batched && m + k + n > 18) (m >= k && m >= n ? m : k >= n ? k : n) -= 1;
  const int b = batched ? w.size_near(std::min(9., 25 - m - k - n)) : 0, M = w.size_near(m), K = w.size_near(k), N = w.size_near(n);
  const bool at = w.chance(.3), bt = w.chance(.3);
  const auto shape = [&](int r, int c, bool flipped) {
    Shape s = flipped ? Shape{c, r} : Shape{r, c};
    return batched ? s.inserted(0, b) : s;
  };
  Value x = w.input(shape(M, K, at), t, t == int8 ? 200 : 2), y = w.input(shape(K, N, bt), t, t == int8 ? 200 : 2);
  if (w.chance(.15) && t != int8) x = unary(w, x);
  if (at) x = w.put(swapaxes(x.array, -1, -2), "jnp.swapaxes({}, -1, -2)", x);
  if (bt) y = w.put(swapaxes(y.array, -1, -2), "jnp.swapaxes({}, -1, -2)", y);
  if (t == int8) {
    const std::vector<int> batch = batched ? std::vector<int>{0} : std::vector<int>{};
    const int r = batched ? 2 : 1;
    return {w.put(
        dot_general(x.array, y.array, {.contracting = {{{r}, {r - 1}}}, .batch = {{batch, batch}}}, {.preferred_element_type = int32}),
        batched ? "lax.dot_general({}, {}, (((2,), (1,)), ((0,), (0,))), preferred_element_type=jnp.int32)"
                : "lax.dot_general({}, {}, (((1,), (0,)), ((), ())), preferred_element_type=jnp.int32)",
        x, y)};
  }
  Value z = w.put(matmul(x.array, y.array), "jnp.matmul({}, {})", x, y);
  if (w.chance(.4)) {
    const Value bias = w.input({N}, t);
    z = w.put(z.array * 0.1 + bias.array, "{} * 0.1 + {}", z, bias);
    z = unary(w, z);
  }
  if (w.chance(.15)) z = w.put(sum(z.array, -1), "jnp.sum({}, -1)", z);
  return {z};
}

Values contractions(Writer& w) {
  const DType t = w.chance(.7) ? float32 : float64;
  struct Form {
    const char* text;
    std::vector<std::string> operands;
  };
  static const std::vector<Form> forms{{"bij,jk->bik", {"bij", "jk"}},
                                       {"bij,jk,ik->bk", {"bij", "jk", "ik"}},
                                       {"bhid,bhjd->bhij", {"bhid", "bhjd"}},
                                       {"bihd,bjhd->bhij", {"bihd", "bjhd"}},
                                       {"ij,kj->ik", {"ij", "kj"}},
                                       {"ijk,jkl->il", {"ijk", "jkl"}},
                                       {"ij,ij->i", {"ij", "ij"}},
                                       {"bi,bj->bij", {"bi", "bj"}},
                                       {"i,ij,j->", {"i", "ij", "j"}},
                                       {"ij,jk,kl->il", {"ij", "jk", "kl"}},
                                       {"bij,bij->bj", {"bij", "bij"}},
                                       {"bi,ijk,bk->bj", {"bi", "ijk", "bk"}}};
  const Form& form = w.pick(forms);
  std::vector<std::pair<char, int>> sizes;
  const auto size = [&](char c) {
    for (const auto& [letter, n] : sizes)
      if (letter == c) return n;
    sizes.emplace_back(c, w.size_near(w.between(2, form.operands.size() == 3 || std::string(form.text).size() > 12 ? 6 : 8)));
    return sizes.back().second;
  };
  Values v;
  for (const std::string& letters : form.operands) {
    Shape s;
    for (const char c : letters) s.push_back(size(c));
    v.push_back(w.input(s, t));
  }
  const Array z = v.size() == 2 ? einsum(std::string(form.text), v[0].array, v[1].array)
                                : einsum(std::string(form.text), v[0].array, v[1].array, v[2].array);
  return {w.put(z, "jnp.einsum('{}', *{})", form.text, v)};
}

Values convolutions(Writer& w) {
  const DType t = w.chance(.75) ? float32 : w.pick(std::vector<DType>{bfloat16, float64});
  const bool last = w.chance(.5), one = w.chance(.2), gradients = w.chance(.35), by_channel = w.chance(.2);
  const int batch = w.size_near(w.between(0, 4)), channels = w.chance(.2) ? 3 : w.size_near(w.between(2, 6));
  const int outputs = by_channel ? channels : w.size_near(w.between(2, 6)), k = w.pick(std::vector<int>{1, 3, 3, 5, 7}),
            step = w.chance(.3) ? 2 : 1;
  const int size = one ? w.size_near(w.between(6, 11)) : w.size_near(w.between(4, 6));
  const int inner = by_channel ? 1 : channels;
  const Shape spatial = one ? Shape{size} : Shape{size, size}, window = one ? Shape{k} : Shape{k, k};
  Shape image = spatial, kernel = window;
  if (last)
    image.push_back(channels), kernel.push_back(inner), kernel.push_back(outputs);
  else
    image = image.inserted(0, channels), kernel = kernel.inserted(0, inner).inserted(0, outputs);
  image = image.inserted(0, batch);
  const std::string lhs = one    ? (last ? "NWC" : "NCW")
                          : last ? "NHWC"
                                 : "NCHW",
                    rhs = one    ? (last ? "WIO" : "OIW")
                          : last ? "HWIO"
                                 : "OIHW";
  const Value x = w.input(image, t), y = w.input(kernel, t, .5);
  const Shape steps = one ? Shape{step} : Shape{step, step};
  const std::string padding = w.chance(.7) ? "SAME" : "VALID";
  const int groups = by_channel ? channels : 1;
  const bool pooled = !one && last && t == float32 && w.chance(.4);
  const auto layer = [&](const Value& a, const Value& b) {
    const Array z =
        conv_general_dilated(a.array, b.array, steps, padding, {.dimension_numbers = {lhs, rhs, lhs}, .feature_group_count = groups});
    Value out = w.put(z, "lax.conv_general_dilated({}, {}, {}, '{}', dimension_numbers=('{}', '{}', '{}'), feature_group_count={})", a, b,
                      steps, padding, lhs, rhs, lhs, groups);
    out = w.put(maximum(out.array, 0.), "jnp.maximum({}, 0.0)", out);
    if (pooled)
      out = w.put(max_pool(out.array, {2, 2}, {.strides = {2, 2}}),
                  "lax.reduce_window({0}, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), 'VALID')", out);
    return out;
  };
  if (!gradients) return {layer(x, y)};
  return differentiate(w, {x, y}, [&](const Values& p) {
    const Value z = layer(p[0], p[1]);
    return w.put(mean(square(z.array)), "jnp.mean(jnp.square({}))", z);
  });
}

namespace {

DType solver_dtype(Writer& w) { return w.chance(.5) ? float64 : float32; }

Value spd(Writer& w, const Value& a, int n) {
  return w.put(matmul(a.array, swapaxes(a.array, -1, -2)) + eye(n, a.dtype()) * (1. * n),
               "jnp.matmul({0}, jnp.swapaxes({0}, -1, -2)) + jnp.eye({1}, dtype={2}) * {3}", a, n, a.dtype(), 1. * n);
}

Values factors(Writer& w, const Value& a, int n, int columns) {
  Shape right = a.shape();
  right[right.size() - 1] = columns;
  const auto dominant = [&] {
    return w.put(a.array + eye(n, a.dtype()) * (0.6 * n), "{} + jnp.eye({}, dtype={}) * {}", a, n, a.dtype(), 0.6 * n);
  };
  switch (w.between(0, 10)) {
    case 0: {
      const Value m = spd(w, a, n);
      return {w.put(linalg::cholesky(m.array), "jnp.linalg.cholesky({})", m)};
    }
    case 1:
    case 2: {
      const Value m = dominant(), b = w.input(right, a.dtype());
      return {w.put(linalg::solve(m.array, b.array), "jnp.linalg.solve({}, {})", m, b)};
    }
    case 3: {
      const Value m = dominant();
      return {w.put(linalg::inv(m.array), "jnp.linalg.inv({})", m)};
    }
    case 4: {
      const Value m = dominant();
      return {w.put(linalg::slogdet(m.array).logabsdet, "jnp.linalg.slogdet({})[1]", m)};
    }
    case 5: {
      const Value m = spd(w, a, n);
      return {w.put(linalg::eigvalsh(m.array), "jnp.linalg.eigvalsh({})", m)};
    }
    case 6: return {w.put(linalg::svdvals(a.array), "jnp.linalg.svd({}, compute_uv=False)", a)};
    case 7: return {w.put(abs(linalg::qr(a.array).r), "jnp.abs(jnp.linalg.qr({})[1])", a)};
    case 8: {
      const Value m = spd(w, a, n), b = w.input(right, a.dtype());
      const Value l = w.put(linalg::cholesky(m.array), "jnp.linalg.cholesky({})", m);
      return {w.put(linalg::triangular_solve(l.array, b.array, {.lower = true}),
                    "lax.linalg.triangular_solve({}, {}, left_side=True, lower=True)", l, b)};
    }
    case 9: {
      const Value m = spd(w, a, n);
      return differentiate(w, {m}, [&](const Values& p) {
        return w.put(sum(linalg::slogdet(p[0].array).logabsdet), "jnp.sum(jnp.linalg.slogdet({})[1])", p[0]);
      });
    }
    default: {
      const Value m = spd(w, a, n);
      return {w.put(abs(linalg::eigh(m.array).eigenvectors), "jnp.abs(jnp.linalg.eigh({})[1])", m)};
    }
  }
}

}  // namespace

Values large_matrices(Writer& w) {
  const int n = w.size_near(.5 * w.between(11, 17));
  const DType t = solver_dtype(w);
  const int columns = w.chance(.5) ? 1 : w.size_near(w.between(2, 8));
  return factors(w, w.input({n, n}, t), n, columns);
}

Values small_matrices(Writer& w) {
  const int n = w.between(2, 16), batch = w.size_near(w.between(6, 13));
  const DType t = solver_dtype(w);
  const int columns = w.between(1, 4);
  return factors(w, w.input({batch, n, n}, t), n, columns);
}

Values spectra(Writer& w) {
  const DType t = solver_dtype(w);
  const bool flat = w.chance(.6);
  const int rows = w.size_near(w.between(0, 8)), columns = w.chance(.6) ? 1 << w.between(6, 12) : w.size_near(w.between(6, 12));
  const Value x = w.input({rows, columns}, t);
  switch (w.between(0, 4)) {
    case 0: {
      const Value y = w.put(flat ? fft::fft(x.array) : fft::fft2(x.array), flat ? "jnp.fft.fft({})" : "jnp.fft.fft2({})", x);
      return {w.put(abs(y.array), "jnp.abs({})", y)};
    }
    case 1: {
      const Value y = w.put(fft::rfft(x.array), "jnp.fft.rfft({})", x);
      return {w.put(square(real(y.array)) + square(imag(y.array)), "jnp.square(jnp.real({0})) + jnp.square(jnp.imag({0}))", y)};
    }
    case 2: {  // a filter
      const Value y = w.put(fft::rfft(x.array), "jnp.fft.rfft({})", x), s = w.input({columns / 2 + 1}, t);
      return {w.put(fft::irfft(y.array * s.array, columns), "jnp.fft.irfft({} * {}, {})", y, s, columns)};
    }
    case 3: {
      const Value y = w.put(fft::fft(x.array, none, 0), "jnp.fft.fft({}, axis=0)", x);
      return {w.put(real(y.array), "jnp.real({})", y)};
    }
    default: {  // Poisson's equation
      const Value y = w.put(fft::fft2(x.array), "jnp.fft.fft2({})", x), k = w.input({rows, columns}, t, 1, 2);
      return {w.put(real(fft::ifft2(y.array / k.array)), "jnp.real(jnp.fft.ifft2({} / {}))", y, k)};
    }
  }
}

Values complex_numbers(Writer& w) {
  const DType t = w.chance(.7) ? float32 : float64;
  const Shape shape = shape_of(w, w.between(1, 3), w.between(10, 20));
  const auto number = [&] {
    const Value re = w.input(shape, t), im = w.input(shape, t);
    return w.put(complex(re.array, im.array), "lax.complex({}, {})", re, im);
  };
  Value z = number();
  const Value y = number();
  const int length = w.between(1, 6);
  for (int i = 0; i < length; ++i) {
    const Array &a = z.array, &b = y.array;
    switch (w.between(0, 6)) {
      case 0: z = w.put(a * b, "{} * {}", z, y); break;
      case 1: z = w.put(a + b, "{} + {}", z, y); break;
      case 2: z = w.put(a / (b + 2.), "{} / ({} + 2.0)", z, y); break;
      case 3: z = w.put(conj(a) * b, "jnp.conj({}) * {}", z, y); break;
      case 4: z = w.put(exp(a * 0.2), "jnp.exp({} * 0.2)", z); break;
      case 5: z = w.put(a * a - b, "{0} * {0} - {1}", z, y); break;
      default: z = w.put(a / (1. + abs(a)), "{0} / (1.0 + jnp.abs({0}))", z);
    }
  }
  switch (w.between(0, 4)) {
    case 0: return {z};
    case 1: return {w.put(abs(z.array), "jnp.abs({})", z)};
    case 2: return {w.put(sum(z.array, -1), "jnp.sum({}, -1)", z)};
    case 3: return {w.put(real(z.array), "jnp.real({})", z), w.put(imag(z.array), "jnp.imag({})", z)};
    default: return {w.put(angle(z.array), "jnp.angle({})", z)};
  }
}

}  // namespace bench::random_programs
