// Fixed workloads that are written for weft and for JAX at once: dtypes, odd sizes, middle axes, strides, images, networks, solvers.
// `weft-bench --rows` runs them; random_programs.py --rows times them beside JAX.
#include <cmath>

#include "families.h"
#include "rows.h"

using namespace weft;

namespace bench::random_programs {
namespace {

Value sum_of_squares(Writer& w, const Value& x) { return w.put(sum(square(x.array)), "jnp.sum(jnp.square({}))", x); }

Values one_matmul(Writer& w, const Shape& a, const Shape& b, DType t) {
  const Value x = w.input(a, t), y = w.input(b, t);
  return {w.put(matmul(x.array, y.array), "jnp.matmul({}, {})", x, y)};
}

/// A convolution of float32 with "SAME" padding, or the gradients of the sum of its squares.
Values convolved(Writer& w, const Shape& image, const Shape& kernel, const char* layout, const char* window, int groups, bool gradients) {
  const auto layer = [&](const Value& x, const Value& k) {
    const Shape steps = image.size() == 3 ? Shape{1} : Shape{1, 1};
    return w.put(conv_general_dilated(x.array, k.array, steps, "SAME",
                                      {.dimension_numbers = {layout, window, layout}, .feature_group_count = groups}),
                 "lax.conv_general_dilated({}, {}, {}, 'SAME', dimension_numbers=('{}', '{}', '{}'), feature_group_count={})", x, k, steps,
                 layout, window, layout, groups);
  };
  const Value x = w.input(image, float32), k = w.input(kernel, float32, .5);
  if (!gradients) return {layer(x, k)};
  return differentiate(w, {x, k}, [&](const Values& p) { return sum_of_squares(w, layer(p[0], p[1])); });
}

Values attended(Writer& w, int batch, int length, int heads, int size, bool causal, bool gradients, DType t = float32) {
  const Shape shape{batch, length, heads, size};
  const Value q = w.input(shape, t), k = w.input(shape, t), v = w.input(shape, t);
  const auto layer = [&](const Values& p) {
    return w.put(nn::dot_product_attention(p[0].array, p[1].array, p[2].array, {.is_causal = causal}),
                 "jax.nn.dot_product_attention({}, {}, {}, is_causal={})", p[0], p[1], p[2], causal ? "True" : "False");
  };
  if (!gradients) return {layer({q, k, v})};
  return differentiate(w, {q, k, v}, [&](const Values& p) { return sum_of_squares(w, layer(p)); });
}

/// Positive definite matrices.
Value definite(Writer& w, const Shape& shape, DType t) {
  const Value a = w.input(shape, t);
  const auto n = shape.back();
  return w.put(matmul(a.array, swapaxes(a.array, -1, -2)) + eye(n, t) * static_cast<double>(n),
               "jnp.matmul({0}, jnp.swapaxes({0}, -1, -2)) + jnp.eye({1}, dtype={2}) * {1}", a, n, t);
}

Values scanned(Writer& w, const Shape& shape, DType t, const char* text, Array (*step)(const Array& carry, const Array& x)) {
  const Value xs = w.input(shape, t, 1, 2.5), start = w.put(zeros(shape.erased(0), t), "jnp.zeros({}, {})", shape.erased(0), t);
  auto f = w.function({"c", "x"});
  const auto out = scan(
      [&](const Array& c, const Array& x) {
        const std::vector<Array> r = f({c, x}, "{}, {}", [&](const Values& a) {
          const Value y = w.put(step(a[0].array, a[1].array), text, a[0], a[1]);
          return Values{y, y};
        });
        return std::pair{r[0], r[1]};
      },
      start.array, xs.array);
  return {w.put(out.second, "lax.scan({}, {}, {})[1]", f.name(), start, xs)};
}

Values repeated(Writer& w, const Value& start, int steps, const char* text, Array (*step)(const Array& u)) {
  auto f = w.function({"i", "u"});
  const Array end = fori_loop(
      0, steps,
      [&](const Array& i, const Array& u) {
        return f({i, u}, "{1}", [&](const Values& a) { return Values{a[0], w.put(step(a[1].array), text, a[1])}; })[1];
      },
      start.array);
  return {w.put(end, "lax.fori_loop(0, {}, {}, {})", steps, f.name(), start)};
}

Values perceptron(Writer& w, const std::vector<int>& sizes, int batch, DType t, bool gradients) {
  const Value x = w.input({batch, sizes[0]}, t);
  Values p;
  for (std::size_t k = 0; k + 1 < sizes.size(); ++k) {
    p.push_back(w.input({sizes[k], sizes[k + 1]}, t, 2 / std::sqrt(sizes[k])));
    p.push_back(w.input({sizes[k + 1]}, t));
  }
  const auto forward = [&](const Values& q) {
    Value h = x;
    for (std::size_t k = 0; k < q.size(); k += 2)
      h = w.put(nn::gelu(matmul(h.array, q[k].array) + q[k + 1].array), "jax.nn.gelu(jnp.matmul({}, {}) + {})", h, q[k], q[k + 1]);
    return h;
  };
  if (!gradients) return {forward(p)};
  return differentiate(w, p, [&](const Values& q) { return sum_of_squares(w, forward(q)); });
}

Values normed(Writer& w, bool gradients) {
  const Value x = w.input({2000, 768}, float32), g = w.input({768}, float32, 1, 1);
  const auto layer = [&](const Values& p) {
    const Value m = w.put(mean(p[0].array, -1, keepdims), "jnp.mean({}, -1, keepdims=True)", p[0]);
    const Value d = w.put(p[0].array - m.array, "{} - {}", p[0], m);
    return w.put(d.array * rsqrt(mean(d.array * d.array, -1, keepdims) + 1e-5) * p[1].array,
                 "{0} * lax.rsqrt(jnp.mean({0} * {0}, -1, keepdims=True) + 1e-5) * {1}", d, p[1]);
  };
  if (!gradients) return {layer({x, g})};
  return differentiate(w, {x, g}, [&](const Values& p) {
    const Value y = layer(p);
    return w.put(sum(sin(y.array)), "jnp.sum(jnp.sin({}))", y);
  });
}

template <class F>
Values one(Writer& w, const Shape& shape, DType t, const char* text, F f, double scale = 2, double shift = 0) {
  const Value x = w.input(shape, t, scale, shift);
  return {w.put(f(x.array), text, x)};
}
template <class F>
Values two(Writer& w, const Shape& a, const Shape& b, DType t, const char* text, F f, double scale = 2, double shift = 0) {
  const Value x = w.input(a, t, scale, shift), y = w.input(b, t, scale, shift);
  return {w.put(f(x.array, y.array), text, x, y)};
}
template <class F>
Values indexed(Writer& w, const Shape& shape, DType t, const Shape& places, int below, const char* text, F f) {
  const Value x = w.input(shape, t), i = w.input(places, int32, below, .5 * below);
  return {w.put(f(x.array, i.array), text, x, i)};
}

using A = const Array&;

const Row kRows[] = {
    {"axpy_f64_2M", [](Writer& w) { return two(w, {1 << 21}, {1 << 21}, float64, "{} * 2.5 + {}", [](A x, A y) { return x * 2.5 + y; }); }},
    {"sigmoid_f16_1M", [](Writer& w) { return one(w, {1 << 20}, float16, "jax.nn.sigmoid({})", [](A x) { return nn::sigmoid(x); }, 8); }},
    {"tanh_bf16_1M", [](Writer& w) { return one(w, {1 << 20}, bfloat16, "jnp.tanh({})", [](A x) { return tanh(x); }, 8); }},
    {"silu_f32_1009x1013", [](Writer& w) { return one(w, {1009, 1013}, float32, "jax.nn.silu({})", [](A x) { return nn::silu(x); }, 60); }},
    {"softplus_f32_1M",
     [](Writer& w) { return one(w, {1 << 20}, float32, "jax.nn.softplus({})", [](A x) { return nn::softplus(x); }, 150); }},
    {"exp_f64_1M_masked",
     [](Writer& w) {
       return one(w, {1 << 20}, float64, "jnp.exp(jnp.where({0} > 0, {0}, -1e9))", [](A x) { return exp(where(x > 0, x, -1e9)); });
     }},
    {"pow_f32_1M", [](Writer& w) { return one(w, {1 << 20}, float32, "jnp.power({}, 0.7)", [](A x) { return pow(x, 0.7); }, 4, 3); }},
    {"atan2_f64_500k",
     [](Writer& w) { return two(w, {500000}, {500000}, float64, "jnp.arctan2({}, {})", [](A x, A y) { return atan2(x, y); }); }},
    {"row_and_column_f32",
     [](Writer& w) {
       return two(w, {1500, 1}, {1, 1001}, float32, "jnp.exp(-jnp.square({} - {}))", [](A x, A y) { return exp(-square(x - y)); });
     }},
    {"middle_axis_sum_f32", [](Writer& w) { return one(w, {64, 513, 77}, float32, "jnp.sum({}, 1)", [](A x) { return sum(x, 1); }); }},
    {"middle_axis_softmax_f32",
     [](Writer& w) { return one(w, {64, 129, 77}, float32, "jax.nn.softmax({}, 1)", [](A x) { return nn::softmax(x, 1); }, 10); }},
    {"outer_axes_mean_f64",
     [](Writer& w) { return one(w, {61, 257, 63}, float64, "jnp.mean({}, (0, 2))", [](A x) { return mean(x, Axis{0, 2}); }); }},
    {"strided_slice_f32",
     [](Writer& w) {
       return one(w, {1000, 3000}, float32, "{0}[:, ::3] + {0}[:, 1::3] * {0}[:, 2::3]",
                  [](A x) { return x(slice(), slice(none, none, 3)) + x(slice(), slice(1, none, 3)) * x(slice(), slice(2, none, 3)); });
     }},
    {"even_rows_bf16",
     [](Writer& w) {
       return one(w, {2000, 1000}, bfloat16, "{}[::2, 1::2] * 2", [](A x) { return x(slice(none, none, 2), slice(1, none, 2)) * 2; });
     }},
    {"flip_roll_f32",
     [](Writer& w) {
       return one(w, {1001, 999}, float32, "jnp.flip({0}, 1) + jnp.roll({0}, 3, 0)", [](A x) { return flip(x, 1) + roll(x, {3}, 0); });
     }},
    {"transposed_add_f32",
     [](Writer& w) { return two(w, {1000, 1500}, {1500, 1000}, float32, "{} + {}.T", [](A x, A y) { return x + transpose(y); }); }},
    {"pixels_to_planes_u8_f32",
     [](Writer& w) {
       return one(
           w, {720, 1280, 3}, uint8, "jnp.transpose({}, (2, 0, 1)).astype(jnp.float32) / 255.0",
           [](A x) { return astype(transpose(x, {2, 0, 1}), float32) / 255.; }, 256, 128);
     }},
    {"planes_to_pixels_f32",
     [](Writer& w) {
       return one(w, {3, 720, 1280}, float32, "jnp.transpose({}, (1, 2, 0)) * 2.0", [](A x) { return transpose(x, {1, 2, 0}) * 2.; });
     }},
    {"per_channel_f32", [](Writer& w) { return two(w, {1000, 1000, 3}, {3}, float32, "{} * {}", [](A x, A y) { return x * y; }); }},
    {"swap_channels_u8",
     [](Writer& w) { return one(w, {720, 1280, 3}, uint8, "{}[:, :, ::-1]", [](A x) { return flip(x, 2); }, 256, 128); }},
    {"concatenate_f32",
     [](Writer& w) {
       return two(w, {700, 500}, {700, 501}, float32, "jnp.tanh(jnp.concatenate([{}, {}], 1))",
                  [](A x, A y) { return tanh(concatenate({x, y}, 1)); });
     }},
    {"pad_f64", [](Writer& w) { return one(w, {800, 801}, float64, "jnp.pad({}, 3) + 1.0", [](A x) { return pad(x, 3) + 1.; }); }},
    {"hash_u32_2M",
     [](Writer& w) {
       return one(
           w, {1 << 21}, uint32, "({0} ^ ({0} >> 16)) * jnp.uint32(40503) + 7",
           [](A x) { return (x ^ (x >> 16)) * astype(array(40503), uint32) + 7; }, 1e6, 5e5);
     }},
    {"gray_u8_1080p",
     [](Writer& w) {
       return one(
           w, {1080, 1920, 3}, uint8,
           "(({0}[:, :, 0].astype(jnp.uint16) * 77 + {0}[:, :, 1].astype(jnp.uint16) * 150 + {0}[:, :, 2].astype(jnp.uint16) * 29) >> "
           "8).astype(jnp.uint8)",
           [](A x) {
             const auto c = [&](int k) { return astype(x(ellipsis, k), uint16); };
             return astype((c(0) * 77 + c(1) * 150 + c(2) * 29) >> 8, uint8);
           },
           256, 128);
     }},
    {"half_size_u8_1080p",
     [](Writer& w) {
       return one(
           w, {1080, 1920, 3}, uint8,
           "(({0}[::2, ::2].astype(jnp.uint16) + {0}[1::2, ::2] + {0}[::2, 1::2] + {0}[1::2, 1::2] + 2) >> 2).astype(jnp.uint8)",
           [](A x) {
             const auto c = [&](int i, int j) { return astype(x(slice(i, none, 2), slice(j, none, 2)), uint16); };
             return astype((c(0, 0) + c(1, 0) + c(0, 1) + c(1, 1) + 2) >> 2, uint8);
           },
           256, 128);
     }},
    {"contrast_u8_1080p",
     [](Writer& w) {
       return one(
           w, {1080, 1920, 3}, uint8, "jnp.clip({}.astype(jnp.float32) * 1.2 - 20.0, 0.0, 255.0).astype(jnp.uint8)",
           [](A x) { return astype(clip(astype(x, float32) * 1.2 - 20., 0., 255.), uint8); }, 256, 128);
     }},
    {"threshold_u8_8M",
     [](Writer& w) {
       return one(
           w, {1 << 23}, uint8, "jnp.where({0} > 100, {0}, 0).astype(jnp.uint8)", [](A x) { return astype(where(x > 100, x, 0), uint8); },
           256, 128);
     }},
    {"var_columns_f32", [](Writer& w) { return one(w, {4000, 300}, float32, "jnp.var({}, 0)", [](A x) { return var(x, 0); }); }},
    {"logsumexp_f64",
     [](Writer& w) { return one(w, {1000, 777}, float64, "jax.nn.logsumexp({}, 1)", [](A x) { return logsumexp(x, 1); }, 20); }},
    {"argmax_rows_f32", [](Writer& w) { return one(w, {5000, 200}, float32, "jnp.argmax({}, 1)", [](A x) { return argmax(x, 1); }); }},
    {"norms_bf16",
     [](Writer& w) { return one(w, {4000, 256}, bfloat16, "jnp.sqrt(jnp.sum({0} * {0}, 1))", [](A x) { return sqrt(sum(x * x, 1)); }); }},
    {"cumsum_columns_f64", [](Writer& w) { return one(w, {1000, 500}, float64, "jnp.cumsum({}, 0)", [](A x) { return cumsum(x, 0); }); }},
    {"cummax_i32_1M", [](Writer& w) { return one(w, {1 << 20}, int32, "lax.cummax({}, 0)", [](A x) { return cummax(x, 0); }, 1e6); }},
    {"sort_rows_f32_1000x1000", [](Writer& w) { return one(w, {1000, 1000}, float32, "jnp.sort({}, 1)", [](A x) { return sort(x, 1); }); }},
    {"argsort_i32_200k", [](Writer& w) { return one(w, {200000}, int32, "jnp.argsort({})", [](A x) { return argsort(x); }, 1e6); }},
    {"top_8_of_rows_f32",
     [](Writer& w) { return one(w, {1024, 1000}, float32, "lax.top_k({}, 8)[1]", [](A x) { return top_k(x, 8).indices; }); }},
    {"nearest_10_by_argsort_f32",
     [](Writer& w) {
       return one(w, {50, 20000}, float32, "jnp.argsort({}, 1)[:, :10]", [](A x) { return argsort(x, 1)(slice(), slice(none, 10)); });
     }},
    {"top_50_f32_500k",
     [](Writer& w) { return one(w, {500000}, float32, "lax.top_k({}, 50)[0]", [](A x) { return top_k(x, 50).values; }); }},
    {"median_rows_f32", [](Writer& w) { return one(w, {500, 301}, float32, "jnp.median({}, 1)", [](A x) { return median(x, 1); }); }},
    {"searchsorted_f32_100k",
     [](Writer& w) {
       return two(w, {10000}, {100000}, float32, "jnp.searchsorted(jnp.sort({}), {})", [](A x, A y) { return searchsorted(sort(x), y); });
     }},
    {"rows_by_index_bf16",
     [](Writer& w) { return indexed(w, {20000, 96}, bfloat16, {50000}, 20000, "{}[{}]", [](A x, A i) { return x(i); }); }},
    {"add_rows_by_index_f64",
     [](Writer& w) {
       return indexed(w, {1000, 33}, float64, {20000}, 1000, "{0}.at[{1}].add(1.5)", [](A x, A i) { return x.at(i).add(1.5); });
     }},
    {"pairs_by_index_i32",
     [](Writer& w) {
       return indexed(w, {1000, 1000}, int32, {300000}, 1000, "{0}[{1}, {1}[::-1]]", [](A x, A i) { return x(i, flip(i, 0)); });
     }},
    {"matmul_f32_333x777x555", [](Writer& w) { return one_matmul(w, {333, 777}, {777, 555}, float32); }},
    {"matmul_f64_400", [](Writer& w) { return one_matmul(w, {400, 400}, {400, 400}, float64); }},
    {"batched_matmul_f64_300x24", [](Writer& w) { return one_matmul(w, {300, 24, 24}, {300, 24, 24}, float64); }},
    {"gram_f64_50000x8",
     [](Writer& w) { return one(w, {50000, 8}, float64, "jnp.matmul({0}.T, {0})", [](A x) { return matmul(transpose(x), x); }); }},
    {"distances_f32_1000x1000x16",
     [](Writer& w) {
       return two(w, {1000, 16}, {1000, 16}, float32, "jnp.sum(jnp.square({}[:, None] - {}[None]), -1)",
                  [](A x, A y) { return sum(square(expand_dims(x, 1) - expand_dims(y, 0)), -1); });
     }},
    {"conv_nhwc_3x3", [](Writer& w) { return convolved(w, {8, 56, 56, 32}, {3, 3, 32, 64}, "NHWC", "HWIO", 1, false); }},
    {"conv_nchw_3x3", [](Writer& w) { return convolved(w, {8, 32, 56, 56}, {64, 32, 3, 3}, "NCHW", "OIHW", 1, false); }},
    {"conv_depthwise_nhwc", [](Writer& w) { return convolved(w, {8, 56, 56, 64}, {3, 3, 1, 64}, "NHWC", "HWIO", 64, false); }},
    {"conv_1d", [](Writer& w) { return convolved(w, {16, 1000, 24}, {7, 24, 48}, "NWC", "WIO", 1, false); }},
    {"conv_grad_nhwc_3x3", [](Writer& w) { return convolved(w, {8, 28, 28, 24}, {3, 3, 24, 32}, "NHWC", "HWIO", 1, true); }},
    {"mlp_f64_3x256_b128", [](Writer& w) { return perceptron(w, {128, 256, 256, 64}, 128, float64, false); }},
    {"mlp_grad_f32_b32", [](Writer& w) { return perceptron(w, {100, 200, 50, 10}, 32, float32, true); }},
    {"mlp_grad_bf16_b256", [](Writer& w) { return perceptron(w, {256, 512, 256}, 256, bfloat16, true); }},
    {"layer_norm_grad_2000x768", [](Writer& w) { return normed(w, true); }},
    {"attention_256", [](Writer& w) { return attended(w, 2, 256, 8, 64, false, false); }},
    {"attention_causal_grad_256", [](Writer& w) { return attended(w, 2, 256, 4, 64, true, true); }},
    {"attention_f64_causal_200", [](Writer& w) { return attended(w, 2, 200, 4, 32, true, false, float64); }},
    {"average_scan_f32_10000x64",
     [](Writer& w) { return scanned(w, {10000, 64}, float32, "{} * 0.9 + {} * 0.1", [](A c, A x) { return c * 0.9 + x * 0.1; }); }},
    {"tridiagonal_scan_f64_1000x100",
     [](Writer& w) { return scanned(w, {1000, 100}, float64, "1.0 / ({1} - {0} * 0.5)", [](A c, A x) { return 1. / (x - c * 0.5); }); }},
    {"wave_periodic_f64_512",
     [](Writer& w) {
       return repeated(w, w.input({512, 512}, float64), 20,
                       "{0} + 0.1 * (jnp.roll({0}, 1, 0) + jnp.roll({0}, -1, 0) + jnp.roll({0}, 1, 1) + jnp.roll({0}, -1, 1) - 4.0 * {0})",
                       [](A u) { return u + 0.1 * (roll(u, {1}, 0) + roll(u, {-1}, 0) + roll(u, {1}, 1) + roll(u, {-1}, 1) - 4. * u); });
     }},
    {"power_iteration_f32_500",
     [](Writer& w) {
       return repeated(w, w.input({64, 64}, float32, .2), 30, "jnp.tanh(jnp.matmul({0}, {0}))", [](A u) { return tanh(matmul(u, u)); });
     }},
    {"fft_rows_f32_300x4096",
     [](Writer& w) { return one(w, {300, 4096}, float32, "jnp.abs(jnp.fft.fft({}))", [](A x) { return abs(fft::fft(x)); }); }},
    {"filter_rfft_f64_100x3000",
     [](Writer& w) {
       return one(w, {100, 3000}, float64, "jnp.fft.irfft(jnp.fft.rfft({}) * 0.5, 3000)",
                  [](A x) { return fft::irfft(fft::rfft(x) * 0.5, 3000); });
     }},
    {"complex_division_c64_500k",
     [](Writer& w) {
       return two(w, {500000}, {500000}, float32, "jnp.abs(lax.complex({0}, {1}) / lax.complex({1} + 2.0, {0}))",
                  [](A x, A y) { return abs(complex(x, y) / complex(y + 2., x)); });
     }},
    {"cholesky_f32_2000x8x8",
     [](Writer& w) {
       const Value a = definite(w, {2000, 8, 8}, float32);
       return Values{w.put(linalg::cholesky(a.array), "jnp.linalg.cholesky({})", a)};
     }},
    {"solve_f64_2000x6x6",
     [](Writer& w) {
       const Value a = definite(w, {2000, 6, 6}, float64), b = w.input({2000, 6, 1}, float64);
       return Values{w.put(linalg::solve(a.array, b.array), "jnp.linalg.solve({}, {})", a, b)};
     }},
    {"eigvalsh_f64_500x6x6",
     [](Writer& w) {
       const Value a = definite(w, {500, 6, 6}, float64);
       return Values{w.put(linalg::eigvalsh(a.array), "jnp.linalg.eigvalsh({})", a)};
     }},
    {"slogdet_grad_f64_200",
     [](Writer& w) {
       const Value a = definite(w, {200, 200}, float64);
       return differentiate(
           w, {a}, [&](const Values& p) { return w.put(linalg::slogdet(p[0].array).logabsdet, "jnp.linalg.slogdet({})[1]", p[0]); });
     }},
};

}  // namespace

std::span<const Row> rows() { return kRows; }

}  // namespace bench::random_programs
