// Fixed workloads of images: colours, histograms, warps, features, blocks, labels.
#include "rows.h"
#include "written.h"

using namespace weft;

namespace bench::random_programs {
namespace {

const Row kRows[] = {
    {"hsv_from_rgb_f32",
     [](Writer& w) {
       return written(
           w, {{{480, 640, 3}, float32, 1, .5}},
           "r, g, b = a[..., 0], a[..., 1], a[..., 2]\nv = jnp.max(a, -1)\nd = v - jnp.min(a, -1)\ne = jnp.where(d > 0, d, 1.0)\n"
           "h = jnp.where(v == r, (g - b) / e, jnp.where(v == g, 2.0 + (b - r) / e, 4.0 + (r - g) / e)) / 6.0\n"
           "return jnp.stack([h - jnp.floor(h), jnp.where(v > 0, d / v, 0.0), v], -1)",
           [](A a) {
             const Array r = a(ellipsis, 0), g = a(ellipsis, 1), b = a(ellipsis, 2), v = max(a, -1), d = v - min(a, -1),
                         e = where(d > 0., d, 1.);
             const Array h = where(v == r, (g - b) / e, where(v == g, 2. + (b - r) / e, 4. + (r - g) / e)) / 6.;
             return stack({h - floor(h), where(v > 0., d / v, 0.), v}, -1);
           });
     }},
    {"equalize_u8_720p",
     [](Writer& w) {
       return written(w, {{{720, 1280}, uint8, 256, 128}},
                      "c = jnp.cumsum(jnp.zeros(256, jnp.int32).at[a.reshape(-1)].add(1))\n"
                      "t = (255 * (c - c[0]) // (921600 - c[0])).astype(jnp.uint8)\nreturn t[a]",
                      [](A a) {
                        const Array c = cumsum(zeros({256}, int32).at(reshape(a, {-1})).add(1));
                        return f(floor_divide(255 * (c - c(0)), 921600 - c(0)), uint8)(a);
                      });
     }},
    {"rotate_image_f32_500",
     [](Writer& w) {
       return written(
           w, {{{500, 500}}},
           "y, x = jnp.meshgrid(jnp.arange(500.0) - 250, jnp.arange(500.0) - 250, indexing='ij')\n"
           "u, v = 0.8 * x - 0.6 * y + 250, 0.6 * x + 0.8 * y + 250\nok = (u >= 0) & (u < 499) & (v >= 0) & (v < 499)\n"
           "u, v = jnp.clip(u, 0, 498.999), jnp.clip(v, 0, 498.999)\ni, j = v.astype(jnp.int32), u.astype(jnp.int32)\ns, t = v - i, u - j\n"
           "r = (1 - s) * ((1 - t) * a[i, j] + t * a[i, j + 1]) + s * ((1 - t) * a[i + 1, j] + t * a[i + 1, j + 1])\n"
           "return jnp.where(ok, r, 0.0)",
           [](A a) {
             const Array n = f(arange(500), float32) - 250., y = expand_dims(n, 1), x = n;
             Array u = 0.8 * x - 0.6 * y + 250., v = 0.6 * x + 0.8 * y + 250.;
             const Array ok = (u >= 0.) & (u < 499.) & (v >= 0.) & (v < 499.);
             u = clip(u, 0., 498.999), v = clip(v, 0., 498.999);
             const Array i = f(v, int32), j = f(u, int32), s = v - f(i, float32), t = u - f(j, float32);
             const Array r = (1. - s) * ((1. - t) * a(i, j) + t * a(i, j + 1)) + s * ((1. - t) * a(i + 1, j) + t * a(i + 1, j + 1));
             return where(ok, r, 0.);
           });
     }},
    {"edges_thinned_f32_512",
     [](Writer& w) {
       return written(
           w, {{{514, 514}}},
           "gx, gy = a[1:-1, 2:] - a[1:-1, :-2], a[2:, 1:-1] - a[:-2, 1:-1]\nm = jnp.sqrt(gx * gx + gy * gy)\np = jnp.pad(m, 1)\n"
           "h = jnp.abs(gx) > jnp.abs(gy)\nl = jnp.where(h, p[1:-1, :-2], p[:-2, 1:-1])\nr = jnp.where(h, p[1:-1, 2:], p[2:, 1:-1])\n"
           "return jnp.where((m >= l) & (m >= r), m, 0.0)",
           [](A a) {
             const auto s = [](A p, int i, int j) { return p(slice(i, 512 + i), slice(j, 512 + j)); };
             const Array gx = s(a, 1, 2) - s(a, 1, 0), gy = s(a, 2, 1) - s(a, 0, 1), m = sqrt(gx * gx + gy * gy), p = pad(m, 1);
             const Array h = abs(gx) > abs(gy), l = where(h, s(p, 1, 0), s(p, 0, 1)), r = where(h, s(p, 1, 2), s(p, 2, 1));
             return where((m >= l) & (m >= r), m, 0.);
           });
     }},
    {"block_dct_f32_512",
     [](Writer& w) {
       return written(w, {{{64, 8, 64, 8}}, {{8, 8}}}, "return jnp.round(jnp.einsum('iajb,ua,vb->ijuv', a, b, b) * 10.0)",
                      [](A a, A b) { return round(einsum("iajb,ua,vb->ijuv", a, b, b) * 10.); });
     }},
    {"integral_image_u8_720p",
     [](Writer& w) {
       return written(w, {{{720, 1280}, uint8, 256, 128}}, "return jnp.cumsum(jnp.cumsum(a.astype(jnp.int32), 0), 1)",
                      [](A a) { return cumsum(cumsum(f(a, int32), 0), 1); });
     }},
    {"demosaic_f32_512",
     [](Writer& w) {
       return written(w, {{{512, 512}}},
                      "r, g, h, b = a[::2, ::2], a[::2, 1::2], a[1::2, ::2], a[1::2, 1::2]\n"
                      "return jnp.stack([jnp.repeat(jnp.repeat(x, 2, 0), 2, 1) for x in (r, 0.5 * (g + h), b)], -1)",
                      [](A a) {
                        const auto s = [&](int i, int j) { return a(slice(i, none, 2), slice(j, none, 2)); };
                        const auto twice = [](A x) { return repeat(repeat(x, 2, 0), 2, 1); };
                        return stack({twice(s(0, 0)), twice(0.5 * (s(0, 1) + s(1, 0))), twice(s(1, 1))}, -1);
                      });
     }},
    {"error_diffusion_f32_200x300",
     [](Writer& w) {
       return written(w, {{{200, 300}, float32, 1, .5}},
                      "def row(e, x):\n    def pixel(c, v):\n        z = v + c\n        o = jnp.where(z > 0.5, 1.0, 0.0)\n        r = z - "
                      "o\n        return 0.4375 * r, (o, r)\n    o, r = lax.scan(pixel, 0.0, x + e)[1]\n"
                      "    return 0.3 * r + 0.1 * jnp.roll(r, 1), o\nreturn lax.scan(row, jnp.zeros(300), a)[1]",
                      [](A a) {
                        return scan(
                                   [](const Array& e, const Array& x) {
                                     const auto [o, r] = scan(
                                                             [](const Array& c, const Array& v) {
                                                               const Array z = v + c, o = where(z > 0.5, array(1.f), array(0.f)), r = z - o;
                                                               return std::pair{0.4375 * r, std::pair{o, r}};
                                                             },
                                                             array(0.f), x + e)
                                                             .second;
                                     return std::pair{0.3 * r + 0.1 * roll(r, {1}), o};
                                   },
                                   zeros({300}), a)
                            .second;
                      });
     }},
    {"labels_by_propagation_i32_128",
     [](Writer& w) {
       return written(
           w, {{{128, 128}, int32, 3, 1.5}},
           "m = a > 0\nx = jnp.where(m, jnp.arange(16384).reshape(128, 128), 1 << 30)\ndef step(s):\n    x = s[0]\n    p = jnp.pad(x, 1, "
           "constant_values=1 << 30)\n"
           "    y = jnp.minimum(jnp.minimum(jnp.minimum(p[2:, 1:-1], p[:-2, 1:-1]), jnp.minimum(p[1:-1, 2:], p[1:-1, :-2])), x)\n"
           "    y = jnp.where(m, y, x)\n    return y, jnp.any(y != x)\nreturn lax.while_loop(lambda s: s[1], step, (x, True))[0]",
           [](A a) {
             const Array m = a > 0, x = where(m, reshape(arange(16384), {128, 128}), 1 << 30);
             return while_loop([](const std::pair<Array, Array>& s) { return s.second; },
                               [&](const std::pair<Array, Array>& s) {
                                 const Array& x = s.first;
                                 const Array p = pad(x, 1, 1 << 30);
                                 const auto n = [&](int i, int j) { return p(slice(i, 128 + i), slice(j, 128 + j)); };
                                 const Array y = where(m, minimum(minimum(minimum(n(2, 1), n(0, 1)), minimum(n(1, 2), n(1, 0))), x), x);
                                 return std::pair{y, any(y != x)};
                               },
                               std::pair{x, array(true)})
                 .first;
           });
     }},
    {"normalize_u16_to_bf16",
     [](Writer& w) {
       return written(w, {{{4, 256, 256, 3}, uint16, 60000, 30000}, {{3}}, {{3}, float32, 1, 1}},
                      "return ((a.astype(jnp.float32) / 65535.0 - b) / c).astype(jnp.bfloat16)",
                      [](A a, A b, A c) { return f((f(a, float32) / 65535. - b) / c, bfloat16); });
     }},
    {"crops_by_offset_f32",
     [](Writer& w) {
       return written(w, {{{64, 40, 40, 3}}, {{64, 2}, int32, 8, 4}},
                      "return jax.vmap(lambda x, o: lax.dynamic_slice(x, (o[0], o[1], 0), (32, 32, 3)))(a, b)",
                      [](A a, A b) { return vmap([](Array x, Array o) { return dynamic_slice(x, {o(0), o(1), 0}, {32, 32, 3}); })(a, b); });
     }},
};

}  // namespace

std::span<const Row> image_rows() { return kRows; }

}  // namespace bench::random_programs
