// Fixed workloads of arrays: chains in each dtype, broadcasting, views, reductions along each axis, sorting, indices, images.
#include "rows.h"
#include "written.h"

using namespace weft;

namespace bench::random_programs {
namespace {

const Row kRows[] = {
    {"black_scholes_f64_300k",
     [](Writer& w) {
       return written(w, {{{300000}, float64, 40, 100}, {{300000}, float64, 40, 100}, {{300000}, float64, 1, 1}},
                      "n = lambda x: 0.5 * (1.0 + jax.scipy.special.erf(x * 0.7071067811865476))\n"
                      "s = 0.3 * jnp.sqrt(c)\n"
                      "d = (jnp.log(a / b) + 0.065 * c) / s\n"
                      "return a * n(d) - b * jnp.exp(-0.02 * c) * n(d - s)",
                      [](A a, A b, A c) {
                        const auto n = [](A x) { return 0.5 * (1. + erf(x * 0.7071067811865476)); };
                        const Array s = 0.3 * sqrt(c), d = (log(a / b) + 0.065 * c) / s;
                        return a * n(d) - b * exp(-0.02 * c) * n(d - s);
                      });
     }},
    {"residual_gelu_bf16_1000x1024",
     [](Writer& w) {
       return written(w, {{{1000, 1024}, bfloat16}, {{1000, 1024}, bfloat16}, {{1024}, bfloat16}, {{1024}, bfloat16}},
                      "return a + jax.nn.gelu(b * c + d)", [](A a, A b, A c, A d) { return a + nn::gelu(b * c + d); });
     }},
    {"swiglu_f16_777x2048",
     [](Writer& w) {
       return written(w, {{{777, 2048}, float16, 6}, {{777, 2048}, float16}}, "return jax.nn.silu(a) * b",
                      [](A a, A b) { return nn::silu(a) * b; });
     }},
    {"axpby_bf16_1M",
     [](Writer& w) {
       return written(w, {{{1 << 20}, bfloat16}, {{1 << 20}, bfloat16}}, "return a * 0.9 + b * 0.1",
                      [](A a, A b) { return a * 0.9 + b * 0.1; });
     }},
    {"branches_f32_prime",
     [](Writer& w) {
       return written(w, {{{1000003}}}, "return jnp.where(a > 0, jnp.sqrt(jnp.log1p(jnp.abs(a))), jnp.exp(a) * jnp.sin(a))",
                      [](A a) { return where(a > 0, sqrt(log1p(abs(a))), exp(a) * sin(a)); });
     }},
    {"power_seven_f32_1M",
     [](Writer& w) {
       return written(w, {{{1 << 20}}}, "return a ** 7 - 3.0 * a ** -2", [](A a) { return integer_pow(a, 7) - 3. * integer_pow(a, -2); });
     }},
    {"pow_arrays_f64_300k",
     [](Writer& w) {
       return written(w, {{{300000}, float64, 2, 2}, {{300000}, float64, 6}}, "return jnp.power(a, b)", [](A a, A b) { return pow(a, b); });
     }},
    {"horner_f64_1M",
     [](Writer& w) {
       return written(w, {{{1 << 20}, float64}}, "y = jnp.full_like(a, 0.3)\nfor k in range(12): y = y * a + (0.1 * k - 0.5)\nreturn y",
                      [](A a) {
                        Array y = full(a.shape(), 0.3, float64);
                        for (int k = 0; k < 12; ++k) y = y * a + (0.1 * k - 0.5);
                        return y;
                      });
     }},
    {"log1p_expm1_f64_500k",
     [](Writer& w) {
       return written(w, {{{500009}, float64}}, "return jnp.log1p(jnp.square(a)) + jnp.expm1(a)",
                      [](A a) { return log1p(square(a)) + expm1(a); });
     }},
    {"trig_f64_300k",
     [](Writer& w) {
       return written(w, {{{300000}, float64, 200}}, "return jnp.sin(a) * jnp.cos(a) + jnp.arctan(a)",
                      [](A a) { return sin(a) * cos(a) + atan(a); });
     }},
    {"lgamma_f32_500k",
     [](Writer& w) {
       return written(w, {{{500000}, float32, 20, 10.5}}, "return jax.scipy.special.gammaln(a)", [](A a) { return lgamma(a); });
     }},
    {"modular_i64_500k",
     [](Writer& w) {
       return written(w, {{{500000}, int64, 1e6, 6e5}}, "x = a\nfor _ in range(4): x = (x * x + 7) % 1000003\nreturn x", [](A a) {
         Array x = a;
         for (int k = 0; k < 4; ++k) x = remainder(x * x + 7, 1000003);
         return x;
       });
     }},
    {"divide_i32_by_array_1M",
     [](Writer& w) {
       return written(w, {{{1 << 20}, int32, 1e6}, {{1 << 20}, int32, 1000, 501}}, "return a // b + a % b",
                      [](A a, A b) { return floor_divide(a, b) + remainder(a, b); });
     }},
    {"hamming_u32_600x600x8",
     [](Writer& w) {
       return written(w, {{{600, 8}, uint32, 1e6, 6e5}, {{600, 8}, uint32, 1e6, 6e5}},
                      "return jnp.sum(lax.population_count(a[:, None] ^ b[None]).astype(jnp.int32), -1)",
                      [](A a, A b) { return sum(f(population_count(expand_dims(a, 1) ^ expand_dims(b, 0)), int32), -1); });
     }},
    {"xorshift_u64_500k",
     [](Writer& w) {
       return written(w, {{{500000}, int64, 1e6, 6e5}},
                      "x = a.astype(jnp.uint64)\nfor _ in range(4):\n    x = x ^ (x << 13)\n    x = x ^ (x >> 7)\n    x = x ^ (x << "
                      "17)\nreturn x >> 40",
                      [](A a) {
                        Array x = f(a, uint64);
                        for (int k = 0; k < 4; ++k) x = x ^ (x << 13), x = x ^ (x >> 7), x = x ^ (x << 17);
                        return x >> 40;
                      });
     }},
    {"julia_c64_200k",
     [](Writer& w) {
       return written(w, {{{200000}, float32}, {{200000}, float32}},
                      "z = lax.complex(a, b)\nfor _ in range(8): z = z * z * 0.5 + (0.2 - 0.3j)\nreturn jnp.abs(z)", [](A a, A b) {
                        Array z = complex(a, b);
                        const Array c = complex(array(0.2f), array(-0.3f));
                        for (int k = 0; k < 8; ++k) z = z * z * 0.5 + c;
                        return abs(z);
                      });
     }},
    {"phase_rotation_c64_300k",
     [](Writer& w) {
       return written(w, {{{300000}, float32}, {{300000}, float32}, {{300000}, float32, 6}},
                      "z = lax.complex(a, b) * jnp.exp(lax.complex(jnp.zeros_like(c), c))\nreturn [jnp.real(z), jnp.angle(z)]",
                      [](A a, A b, A c) {
                        const Array z = complex(a, b) * exp(complex(zeros_like(c), c));
                        return Arrays{real(z), angle(z)};
                      });
     }},
    {"three_way_broadcast_f32",
     [](Writer& w) {
       return written(w, {{{101, 1, 97}}, {{1, 103, 1}}, {{97}}}, "return jnp.tanh(a * b + c) * b",
                      [](A a, A b, A c) { return tanh(a * b + c) * b; });
     }},
    {"seven_columns_f32",
     [](Writer& w) {
       return written(w, {{{150000, 7}}, {{7}, float32, 1, 1}, {{7}}}, "return (a - c) / b * jnp.exp(-a)",
                      [](A a, A b, A c) { return (a - c) / b * exp(-a); });
     }},
    {"scale_rows_i8_to_f32",
     [](Writer& w) {
       return written(w, {{{1000, 1025}, int8, 250}, {{1000, 1}, float32, 1, 1}}, "return a.astype(jnp.float32) * b",
                      [](A a, A b) { return f(a, float32) * b; });
     }},
    {"dequantize_i8_bf16",
     [](Writer& w) {
       return written(w, {{{1024, 1024}, int8, 250}, {{1024}, bfloat16, 1, 1}}, "return a.astype(jnp.bfloat16) * b",
                      [](A a, A b) { return f(a, bfloat16) * b; });
     }},
    {"quantize_rows_i8",
     [](Writer& w) {
       return written(
           w, {{{1000, 1024}}},
           "s = jnp.max(jnp.abs(a), 1, keepdims=True) / 127.0\nreturn [jnp.clip(jnp.round(a / s), -127, 127).astype(jnp.int8), s]",
           [](A a) {
             const Array s = max(abs(a), 1, keepdims) / 127.;
             return Arrays{f(clip(round(a / s), -127, 127), int8), s};
           });
     }},
    {"saturating_add_u8_4M",
     [](Writer& w) {
       return written(w, {{{1 << 22}, uint8, 256, 128}, {{1 << 22}, uint8, 256, 128}},
                      "return jnp.minimum(a.astype(jnp.uint16) + b, 255).astype(jnp.uint8)",
                      [](A a, A b) { return f(minimum(f(a, uint16) + b, 255), uint8); });
     }},
    {"absolute_difference_u8_4M",
     [](Writer& w) {
       return written(w, {{{1 << 22}, uint8, 256, 128}, {{1 << 22}, uint8, 256, 128}}, "return jnp.maximum(a, b) - jnp.minimum(a, b)",
                      [](A a, A b) { return maximum(a, b) - minimum(a, b); });
     }},
    {"blend_u8_3_channels",
     [](Writer& w) {
       return written(w, {{{720, 1280, 3}, uint8, 256, 128}, {{720, 1280, 3}, uint8, 256, 128}, {{720, 1280, 1}, uint8, 256, 128}},
                      "m = c.astype(jnp.uint16)\nreturn ((a * m + b * (255 - m) + 127) // 255).astype(jnp.uint8)", [](A a, A b, A c) {
                        const Array m = f(c, uint16);
                        return f(floor_divide(a * m + b * (255 - m) + 127, 255), uint8);
                      });
     }},
    {"yuv_from_rgb_u8",
     [](Writer& w) {
       return written(w, {{{720, 1280, 3}, uint8, 256, 128}},
                      "x = a.astype(jnp.float32)\nr, g, b = x[..., 0], x[..., 1], x[..., 2]\ny = 0.299 * r + 0.587 * g + 0.114 * b\n"
                      "return jnp.stack([y, (b - y) * 0.564 + 128.0, (r - y) * 0.713 + 128.0], -1).astype(jnp.uint8)",
                      [](A a) {
                        const Array x = f(a, float32), r = x(ellipsis, 0), g = x(ellipsis, 1), b = x(ellipsis, 2),
                                    y = 0.299 * r + 0.587 * g + 0.114 * b;
                        return f(stack({y, (b - y) * 0.564 + 128., (r - y) * 0.713 + 128.}, -1), uint8);
                      });
     }},
    {"color_matrix_f32",
     [](Writer& w) {
       return written(w, {{{500, 800, 3}}, {{3, 3}}}, "return jnp.einsum('hwc,dc->hwd', a, b)",
                      [](A a, A b) { return einsum("hwc,dc->hwd", a, b); });
     }},
    {"value_saturation_f32",
     [](Writer& w) {
       return written(w, {{{700, 900, 3}, float32, 1, .5}},
                      "m, n = jnp.max(a, -1), jnp.min(a, -1)\nreturn [m, jnp.where(m > 0, (m - n) / m, 0.0)]", [](A a) {
                        const Array m = max(a, -1), n = min(a, -1);
                        return Arrays{m, where(m > 0, (m - n) / m, 0.)};
                      });
     }},
    {"table_u8_2M",
     [](Writer& w) {
       return written(w, {{{256}, uint8, 256, 128}, {{1 << 21}, uint8, 256, 128}}, "return a[b]", [](A a, A b) { return a(b); });
     }},
    {"sobel_u8_1000x1000",
     [](Writer& w) {
       return written(
           w, {{{1002, 1002}, uint8, 256, 128}},
           "x = a.astype(jnp.int16)\ngx = x[:-2, 2:] + 2 * x[1:-1, 2:] + x[2:, 2:] - x[:-2, :-2] - 2 * x[1:-1, :-2] - x[2:, :-2]\n"
           "gy = x[2:, :-2] + 2 * x[2:, 1:-1] + x[2:, 2:] - x[:-2, :-2] - 2 * x[:-2, 1:-1] - x[:-2, 2:]\n"
           "return jnp.minimum(jnp.abs(gx) + jnp.abs(gy), 255).astype(jnp.uint8)",
           [](A a) {
             const Array x = f(a, int16);
             const auto s = [&](int i, int j) { return x(slice(i, 1000 + i), slice(j, 1000 + j)); };
             const Array gx = s(0, 2) + 2 * s(1, 2) + s(2, 2) - s(0, 0) - 2 * s(1, 0) - s(2, 0);
             const Array gy = s(2, 0) + 2 * s(2, 1) + s(2, 2) - s(0, 0) - 2 * s(0, 1) - s(0, 2);
             return f(minimum(abs(gx) + abs(gy), 255), uint8);
           });
     }},
    {"erode_u8_5x5",
     [](Writer& w) {
       return written(
           w, {{{800, 1000}, uint8, 256, 128}}, "return lax.reduce_window(a, jnp.uint8(255), lax.min, (5, 5), (1, 1), 'SAME')", [](A a) {
             return reduce_window(a, f(array(255), uint8), [](Array x, Array y) { return minimum(x, y); }, {5, 5}, {1, 1}, "SAME");
           });
     }},
    {"gaussian_blur_f32_7",
     [](Writer& w) {
       return written(w, {{{1006, 1006}}},
                      "k = [0.03, 0.11, 0.22, 0.28, 0.22, 0.11, 0.03]\ny = sum(a[i:i + 1000] * k[i] for i in range(7))\n"
                      "return sum(y[:, i:i + 1000] * k[i] for i in range(7))",
                      [](A a) {
                        const double k[] = {0.03, 0.11, 0.22, 0.28, 0.22, 0.11, 0.03};
                        Array y = a(slice(0, 1000)) * k[0];
                        for (int i = 1; i < 7; ++i) y = y + a(slice(i, i + 1000)) * k[i];
                        Array z = y(everything, slice(0, 1000)) * k[0];
                        for (int i = 1; i < 7; ++i) z = z + y(everything, slice(i, i + 1000)) * k[i];
                        return z;
                      });
     }},
    {"median_filter_f32_3x3",
     [](Writer& w) {
       return written(w, {{{302, 302}}},
                      "return jnp.sort(jnp.stack([a[i:i + 300, j:j + 300] for i in range(3) for j in range(3)], -1), -1)[..., 4]", [](A a) {
                        Arrays parts;
                        for (int i = 0; i < 3; ++i)
                          for (int j = 0; j < 3; ++j) parts.push_back(a(slice(i, i + 300), slice(j, j + 300)));
                        return sort(stack(parts, -1), -1)(ellipsis, 4);
                      });
     }},
    {"nearest_upscale_u8",
     [](Writer& w) {
       return written(w, {{{360, 640, 3}, uint8, 256, 128}}, "return jnp.repeat(jnp.repeat(a, 2, 0), 2, 1)",
                      [](A a) { return repeat(repeat(a, 2, 0), 2, 1); });
     }},
    {"resize_linear_f32",
     [](Writer& w) {
       return written(w, {{{4, 128, 128, 3}}, {{200, 128}}, {{200, 128}}}, "return jnp.einsum('bhwc,ih,jw->bijc', a, b, c)",
                      [](A a, A b, A c) { return einsum("bhwc,ih,jw->bijc", a, b, c); });
     }},
    {"mean_and_std_u8_channels",
     [](Writer& w) {
       return written(w, {{{720, 1280, 3}, uint8, 256, 128}}, "x = a.astype(jnp.float32)\nreturn [jnp.mean(x, (0, 1)), jnp.std(x, (0, 1))]",
                      [](A a) {
                        const Array x = f(a, float32);
                        return Arrays{mean(x, Axis{0, 1}), std_(x, Axis{0, 1})};
                      });
     }},
    {"split_heads_bf16",
     [](Writer& w) {
       return written(w, {{{4, 256, 3, 8, 32}, bfloat16}}, "return jnp.transpose(a, (2, 0, 3, 1, 4)) * 0.5",
                      [](A a) { return transpose(a, {2, 0, 3, 1, 4}) * 0.5; });
     }},
    {"space_to_depth_f32",
     [](Writer& w) {
       return written(w, {{{8, 128, 128, 12}}}, "return a.reshape(8, 64, 2, 64, 2, 12).transpose(0, 1, 3, 2, 4, 5).reshape(8, 64, 64, 48)",
                      [](A a) { return reshape(transpose(reshape(a, {8, 64, 2, 64, 2, 12}), {0, 1, 3, 2, 4, 5}), {8, 64, 64, 48}); });
     }},
    {"pixel_shuffle_f32",
     [](Writer& w) {
       return written(w, {{{4, 48, 64, 64}}}, "return a.reshape(4, 12, 2, 2, 64, 64).transpose(0, 1, 4, 2, 5, 3).reshape(4, 12, 128, 128)",
                      [](A a) { return reshape(transpose(reshape(a, {4, 12, 2, 2, 64, 64}), {0, 1, 4, 2, 5, 3}), {4, 12, 128, 128}); });
     }},
    {"interleave_f32_1M",
     [](Writer& w) {
       return written(w, {{{1 << 19}}, {{1 << 19}}}, "return jnp.stack([a, b], -1).reshape(-1)",
                      [](A a, A b) { return reshape(stack({a, b}, -1), {-1}); });
     }},
    {"pairs_to_complex_f32",
     [](Writer& w) {
       return written(w, {{{400000, 2}}}, "z = lax.complex(a[:, 0], a[:, 1])\nreturn jnp.real(z * jnp.conj(z))", [](A a) {
         const Array z = complex(a(everything, 0), a(everything, 1));
         return real(z * conj(z));
       });
     }},
    {"strided_f64",
     [](Writer& w) {
       return written(w, {{{300, 200, 30}, float64}}, "return a[::2, 1::3, ::-1] * 2.0",
                      [](A a) { return a(slice(none, none, 2), slice(1, none, 3), slice(none, none, -1)) * 2.; });
     }},
    {"triangles_f64_1001",
     [](Writer& w) {
       return written(w, {{{1001, 1001}, float64}, {{1001, 1001}, float64}}, "return jnp.triu(a) + jnp.tril(b).T",
                      [](A a, A b) { return triu(a) + transpose(tril(b)); });
     }},
    {"roll_3d_f32",
     [](Writer& w) {
       return written(w, {{{101, 99, 97}}}, "return jnp.roll(a, (1, 2, 3), (0, 1, 2)) - a",
                      [](A a) { return roll(a, {1, 2, 3}, Axis{0, 1, 2}) - a; });
     }},
    {"edge_pad_stencil_f32",
     [](Writer& w) {
       return written(w, {{{900, 901}}}, "p = jnp.concatenate([a[:1], a, a[-1:]], 0)\nreturn p[2:] - 2.0 * p[1:-1] + p[:-2]", [](A a) {
         const Array p = concatenate({a(slice(0, 1)), a, a(slice(-1, none))}, 0);
         return p(slice(2, none)) - 2. * p(slice(1, -1)) + p(slice(none, -2));
       });
     }},
    {"concatenate_columns_f64",
     [](Writer& w) {
       return written(w, {{{50000, 3}, float64}, {{50000, 4}, float64}, {{50000, 1}, float64}},
                      "return jnp.concatenate([a, b * 2.0, jnp.exp(c)], 1)",
                      [](A a, A b, A c) { return concatenate({a, b * 2., exp(c)}, 1); });
     }},
    {"cumsum_middle_f32",
     [](Writer& w) { return written(w, {{{37, 501, 41}}}, "return jnp.cumsum(a, 1)", [](A a) { return cumsum(a, 1); }); }},
    {"cumsum_rows_i32",
     [](Writer& w) { return written(w, {{{3000, 333}, int32, 100}}, "return jnp.cumsum(a, 1)", [](A a) { return cumsum(a, 1); }); }},
    {"cumprod_f64_columns",
     [](Writer& w) { return written(w, {{{2000, 300}, float64, .01, 1}}, "return jnp.cumprod(a, 0)", [](A a) { return cumprod(a, 0); }); }},
    {"drawdown_f64",
     [](Writer& w) {
       return written(w, {{{500, 2000}, float64, .02}}, "x = jnp.exp(jnp.cumsum(a, 1))\nreturn jnp.min(x / lax.cummax(x, 1) - 1.0, 1)",
                      [](A a) {
                        const Array x = exp(cumsum(a, 1));
                        return min(x / cummax(x, 1) - 1., 1);
                      });
     }},
    {"moving_average_f32",
     [](Writer& w) {
       return written(w, {{{200, 5000}}}, "c = jnp.cumsum(jnp.pad(a, ((0, 0), (1, 0))), 1)\nreturn (c[:, 50:] - c[:, :-50]) / 50.0",
                      [](A a) {
                        const Array c = cumsum(pad(a, {{0, 0}, {1, 0}}), 1);
                        return (c(everything, slice(50, none)) - c(everything, slice(none, -50))) / 50.;
                      });
     }},
    {"logsumexp_columns_f32",
     [](Writer& w) {
       return written(w, {{{5000, 71}, float32, 20}}, "return jax.nn.logsumexp(a, 0)", [](A a) { return logsumexp(a, 0); });
     }},
    {"logsumexp_middle_f32",
     [](Writer& w) {
       return written(w, {{{50, 151, 61}, float32, 20}}, "return jax.nn.logsumexp(a, 1)", [](A a) { return logsumexp(a, 1); });
     }},
    {"argmax_middle_f32",
     [](Writer& w) { return written(w, {{{50, 300, 61}}}, "return jnp.argmax(a, 1)", [](A a) { return argmax(a, 1); }); }},
    {"argmin_columns_i32",
     [](Writer& w) { return written(w, {{{3000, 301}, int32, 1e6}}, "return jnp.argmin(a, 0)", [](A a) { return argmin(a, 0); }); }},
    {"argmax_bf16_rows",
     [](Writer& w) { return written(w, {{{3000, 333}, bfloat16}}, "return jnp.argmax(a, 1)", [](A a) { return argmax(a, 1); }); }},
    {"any_rows_f32",
     [](Writer& w) { return written(w, {{{3001, 301}}}, "return jnp.any(a > 0.999, 1)", [](A a) { return any(a > 0.999, 1); }); }},
    {"all_columns_u8",
     [](Writer& w) {
       return written(w, {{{3000, 1001}, uint8, 256, 128}}, "return jnp.all(a < 255, 0)", [](A a) { return weft::all(a < 255, 0); });
     }},
    {"prod_of_seven_f32",
     [](Writer& w) { return written(w, {{{150000, 7}, float32, 1, 1}}, "return jnp.prod(a, 1)", [](A a) { return prod(a, 1); }); }},
    {"count_i8_3d",
     [](Writer& w) {
       return written(w, {{{60, 200, 90}, int8, 200}}, "return jnp.sum(a.astype(jnp.int32), (0, 2))",
                      [](A a) { return sum(f(a, int32), Axis{0, 2}); });
     }},
    {"sum_f16_all_1M",
     [](Writer& w) {
       return written(w, {{{1 << 20}, float16}}, "return jnp.sum(a, dtype=jnp.float32)", [](A a) { return sum(f(a, float32)); });
     }},
    {"max_abs_columns_f64",
     [](Writer& w) { return written(w, {{{2003, 401}, float64}}, "return jnp.max(jnp.abs(a), 0)", [](A a) { return max(abs(a), 0); }); }},
    {"var_three_columns_f64",
     [](Writer& w) { return written(w, {{{200000, 3}, float64}}, "return jnp.var(a, 0)", [](A a) { return var(a, 0); }); }},
    {"norms_middle_f32",
     [](Writer& w) {
       return written(w, {{{301, 203, 5}}}, "return jnp.sqrt(jnp.sum(a * a, 1))", [](A a) { return sqrt(sum(a * a, 1)); });
     }},
    {"one_hot_bf16",
     [](Writer& w) {
       return written(w, {{{3001}, int32, 100, 50}}, "return jax.nn.one_hot(a, 100, dtype=jnp.bfloat16)",
                      [](A a) { return nn::one_hot(a, 100, bfloat16); });
     }},
    {"unit_rows_bf16",
     [](Writer& w) {
       return written(w, {{{3000, 301}, bfloat16}}, "return a / jnp.sqrt(jnp.sum(a * a, 1, keepdims=True) + 1e-3)",
                      [](A a) { return a / sqrt(sum(a * a, 1, keepdims) + 1e-3); });
     }},
    {"standardize_columns_f32",
     [](Writer& w) {
       return written(w, {{{5000, 200}}}, "return (a - jnp.mean(a, 0)) / jnp.std(a, 0)", [](A a) { return (a - mean(a, 0)) / std_(a, 0); });
     }},
    {"weighted_mean_f64",
     [](Writer& w) {
       return written(w, {{{3000, 300}, float64}, {{3000, 300}, float64, 1, .6}}, "return jnp.sum(a * b, 1) / jnp.sum(b, 1)",
                      [](A a, A b) { return sum(a * b, 1) / sum(b, 1); });
     }},
    {"correlation_f32", [](Writer& w) { return written(w, {{{100, 3000}}}, "return jnp.corrcoef(a)", [](A a) { return corrcoef(a); }); }},
    {"sort_bf16_rows",
     [](Writer& w) { return written(w, {{{2000, 333}, bfloat16}}, "return jnp.sort(a, 1)", [](A a) { return sort(a, 1); }); }},
    {"sort_columns_f64",
     [](Writer& w) { return written(w, {{{1000, 301}, float64}}, "return jnp.sort(a, 0)", [](A a) { return sort(a, 0); }); }},
    {"sort_short_rows_i32",
     [](Writer& w) { return written(w, {{{30000, 17}, int32, 1e6}}, "return jnp.sort(a, 1)", [](A a) { return sort(a, 1); }); }},
    {"argsort_rows_f32",
     [](Writer& w) { return written(w, {{{3000, 100}}}, "return jnp.argsort(a, 1)", [](A a) { return argsort(a, 1); }); }},
    {"sort_i64_500k", [](Writer& w) { return written(w, {{{500000}, int64, 1e9}}, "return jnp.sort(a)", [](A a) { return sort(a); }); }},
    {"top_5_bf16_rows",
     [](Writer& w) { return written(w, {{{2000, 1000}, bfloat16}}, "return lax.top_k(a, 5)[0]", [](A a) { return top_k(a, 5).values; }); }},
    {"ranks_by_argsort_f32",
     [](Writer& w) { return written(w, {{{100000}}}, "return jnp.argsort(jnp.argsort(a))", [](A a) { return argsort(argsort(a)); }); }},
    {"searchsorted_f64",
     [](Writer& w) {
       return written(w, {{{5000}, float64, .01, 1}, {{200000}, float64, 5000, 2500}}, "return jnp.searchsorted(jnp.cumsum(a), b)",
                      [](A a, A b) { return searchsorted(cumsum(a), b); });
     }},
    {"interp_f32_200k",
     [](Writer& w) {
       return written(w, {{{200000}, float32, 990, 500}, {{1000}, float32, .1, 1}, {{1000}}}, "return jnp.interp(a, jnp.cumsum(b), c)",
                      [](A a, A b, A c) { return interp(a, cumsum(b), c); });
     }},
    {"histogram_2d_f32",
     [](Writer& w) {
       return written(w, {{{500000}, float32, 64, 32}, {{500000}, float32, 64, 32}},
                      "return jnp.zeros((64, 64)).at[a.astype(jnp.int32), b.astype(jnp.int32)].add(1.0)",
                      [](A a, A b) { return zeros({64, 64}).at(f(a, int32), f(b, int32)).add(1.); });
     }},
    {"histogram_u8_2M",
     [](Writer& w) {
       return written(w, {{{1 << 21}, uint8, 256, 128}}, "return jnp.zeros(256, jnp.int32).at[a].add(1)",
                      [](A a) { return zeros({256}, int32).at(a).add(1); });
     }},
    {"embedding_grad_bf16",
     [](Writer& w) {
       return written(w, {{{8000, 64}, bfloat16}, {{16384}, int32, 8000, 4000}, {{16384, 64}, bfloat16}},
                      "return jax.grad(lambda t: jnp.sum((t[b] * c).astype(jnp.float32)))(a)",
                      [](A a, A b, A c) { return grad([&](Array t) { return sum(f(t(b) * c, float32)); })(a); });
     }},
    {"sparse_rows_f32_16",
     [](Writer& w) {
       return written(w, {{{200000}}, {{200000}, int32, 10000, 5000}, {{200000}, int32, 10000, 5000}, {{10000, 16}}},
                      "return jnp.zeros((10000, 16)).at[jnp.sort(b)].add(a[:, None] * d[c])",
                      [](A a, A b, A c, A d) { return zeros({10000, 16}).at(sort(b)).add(expand_dims(a, 1) * d(c)); });
     }},
    {"trilinear_f32_100k",
     [](Writer& w) {
       return written(w, {{{48, 48, 48}}, {{3, 100000}, float32, 46, 23.5}},
                      "l = jnp.floor(b)\nt = b - l\ni = jnp.clip(l.astype(jnp.int32), 0, 46)\nr = 0.0\n"
                      "for p in range(2):\n    for q in range(2):\n        for s in range(2):\n"
                      "            r = r + (t[0] if p else 1.0 - t[0]) * (t[1] if q else 1.0 - t[1]) * (t[2] if s else 1.0 - t[2]) * "
                      "a[i[0] + p, i[1] + q, i[2] + s]\n"
                      "return r",
                      [](A a, A b) {
                        const Array l = floor(b), t = b - l, i = clip(f(l, int32), 0, 46);
                        Array r = zeros({100000});
                        const auto side = [&](int d, int on) { return on ? t(d) : 1. - t(d); };
                        for (int p = 0; p < 2; ++p)
                          for (int q = 0; q < 2; ++q)
                            for (int s = 0; s < 2; ++s) r = r + side(0, p) * side(1, q) * side(2, s) * a(i(0) + p, i(1) + q, i(2) + s);
                        return r;
                      });
     }},
    {"scatter_max_f32",
     [](Writer& w) {
       return written(w, {{{300000}}, {{300000}, int32, 5000, 2500}}, "return jnp.zeros(5000).at[b].max(a)",
                      [](A a, A b) { return zeros({5000}).at(b).max(a); });
     }},
    {"gather_last_axis_f64",
     [](Writer& w) {
       return written(w, {{{2000, 300}, float64}, {{200}, int32, 300, 150}}, "return a[:, b] * 2.0",
                      [](A a, A b) { return a(everything, b) * 2.; });
     }},
};

}  // namespace

std::span<const Row> array_rows() { return kRows; }

}  // namespace bench::random_programs
