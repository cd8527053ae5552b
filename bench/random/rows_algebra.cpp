// Fixed workloads of linear algebra on many small matrices, spectra, solvers, geometry.
#include "rows.h"
#include "written.h"

using namespace weft;

namespace bench::random_programs {
namespace {

const Row kRows[] = {
    {"fir_f32_50000",
     [](Writer& w) {
       return written(w, {{{50000}}, {{63}}}, "return jnp.convolve(a, b, mode='same')", [](A a, A b) { return convolve(a, b, "same"); });
     }},
    {"fft_convolution_f32",
     [](Writer& w) {
       return written(w, {{{8, 256, 256}}, {{256, 256}}}, "return jnp.fft.irfft2(jnp.fft.rfft2(a) * jnp.fft.rfft2(b), (256, 256))",
                      [](A a, A b) { return fft::irfft2(fft::rfft2(a) * fft::rfft2(b)); });
     }},
    {"stft_f32",
     [](Writer& w) {
       return written(w, {{{65536}}, {{512}}},
                      "i = jnp.arange(0, 65024, 128)[:, None] + jnp.arange(512)\nreturn jnp.abs(jnp.fft.rfft(a[i] * b))",
                      [](A a, A b) { return abs(fft::rfft(a(expand_dims(arange(508) * 128, 1) + arange(512)) * b)); });
     }},
    {"spectral_derivative_c128",
     [](Writer& w) {
       return written(w, {{{64, 1000}, float64}},
                      "k = 1j * jnp.fft.fftfreq(1000, 0.001)\nreturn jnp.real(jnp.fft.ifft(jnp.fft.fft(a) * k))", [](A a) {
                        const Array k = fft::fftfreq(1000, 0.001, float64);
                        return real(fft::ifft(fft::fft(a) * complex(zeros_like(k), k)));
                      });
     }},
    {"fft_prime_rows_f32",
     [](Writer& w) { return written(w, {{{50, 1009}}}, "return jnp.abs(jnp.fft.rfft(a))", [](A a) { return abs(fft::rfft(a)); }); }},
    {"qr_f32_500x12x8",
     [](Writer& w) {
       return written(w, {{{500, 12, 8}}}, "return jnp.abs(jnp.linalg.qr(a)[0])", [](A a) { return abs(linalg::qr(a).q); });
     }},
    {"svd_f32_2000x3x3",
     [](Writer& w) {
       return written(w, {{{2000, 3, 3}}}, "u, s, v = jnp.linalg.svd(a)\nreturn [jnp.abs(u), s]", [](A a) {
         const auto d = linalg::svd(a);
         return Arrays{abs(d.u), d.s};
       });
     }},
    {"principal_axes_f64_500x20x6",
     [](Writer& w) {
       return written(
           w, {{{500, 20, 6}, float64}},
           "c = a - a.mean(1, keepdims=True)\nw, v = jnp.linalg.eigh(jnp.einsum('nij,nik->njk', c, c) / 19)\nreturn [w, jnp.abs(v)]",
           [](A a) {
             const Array c = a - mean(a, 1, {.keepdims = true});
             const auto [w, v] = linalg::eigh(einsum("nij,nik->njk", c, c) / 19.);
             return Arrays{w, abs(v)};
           });
     }},
    {"rigid_fit_f32_1000x30x3",
     [](Writer& w) {
       return written(w, {{{1000, 30, 3}}, {{1000, 30, 3}}},
                      "u, s, v = jnp.linalg.svd(jnp.einsum('nij,nik->njk', a + b, b))\nreturn jnp.matmul(u * jnp.sign(s)[:, None], v)",
                      [](A a, A b) {
                        const auto d = linalg::svd(einsum("nij,nik->njk", a + b, b), {.full_matrices = true});
                        return matmul(d.u * expand_dims(sign(d.s), 1), d.vh);
                      });
     }},
    {"eigh_f64_1000x4x4",
     [](Writer& w) {
       return written(w, {{{1000, 4, 4}, float64}}, "return jnp.linalg.eigvalsh(a + jnp.swapaxes(a, 1, 2))",
                      [](A a) { return linalg::eigvalsh(a + swapaxes(a, 1, 2)); });
     }},
    {"inverse_f64_10000x3x3",
     [](Writer& w) {
       return written(w, {{{10000, 3, 3}, float64}}, "return jnp.linalg.inv(a + 3.0 * jnp.eye(3))",
                      [](A a) { return linalg::inv(a + 3. * eye(3, float64)); });
     }},
    {"det_f32_5000x5x5",
     [](Writer& w) { return written(w, {{{5000, 5, 5}}}, "return jnp.linalg.det(a)", [](A a) { return linalg::det(a); }); }},
    {"cholesky_f64_64x20x20",
     [](Writer& w) {
       return written(w, {{{64, 20, 20}, float64}}, "return jnp.linalg.cholesky(a @ jnp.swapaxes(a, 1, 2) + 20.0 * jnp.eye(20))",
                      [](A a) { return linalg::cholesky(matmul(a, swapaxes(a, 1, 2)) + 20. * eye(20, float64)); });
     }},
    {"expm_f64_50x6x6",
     [](Writer& w) {
       return written(w, {{{50, 6, 6}, float64}}, "return jax.vmap(jax.scipy.linalg.expm)(a)",
                      [](A a) { return vmap([](Array x) { return linalg::expm(x); })(a); });
     }},
    {"least_squares_f64_300x20",
     [](Writer& w) {
       return written(w, {{{300, 20}, float64}, {{300}, float64}}, "return jnp.linalg.solve(a.T @ a + 0.1 * jnp.eye(20), a.T @ b)",
                      [](A a, A b) { return linalg::solve(matmul(transpose(a), a) + 0.1 * eye(20, float64), matmul(transpose(a), b)); });
     }},
    {"gaussian_process_grad_f64",
     [](Writer& w) {
       return written(
           w, {{{150, 3}, float64}, {{150}, float64}, {{2}, float64, .2, 1}},
           "def nll(p):\n    d = jnp.sum(jnp.square(a[:, None] - a[None]), -1)\n    k = p[0] * jnp.exp(-d * p[1]) + 0.1 * jnp.eye(150)\n"
           "    l = jnp.linalg.cholesky(k)\n    z = lax.linalg.triangular_solve(l, b[:, None], left_side=True, lower=True)\n"
           "    return 0.5 * jnp.sum(z * z) + jnp.sum(jnp.log(jnp.diagonal(l)))\nreturn jax.grad(nll)(c)",
           [](A a, A b, A c) {
             return grad([&](Array p) {
               const Array d = sum(square(expand_dims(a, 1) - expand_dims(a, 0)), -1);
               const Array l = linalg::cholesky(p(0) * exp(-d * p(1)) + 0.1 * eye(150, float64));
               const Array z = linalg::triangular_solve(l, expand_dims(b, 1), {.lower = true});
               return 0.5 * sum(z * z) + sum(log(diagonal(l)));
             })(c);
           });
     }},
    {"logistic_newton_f64",
     [](Writer& w) {
       return written(w, {{{1000, 15}, float64}, {{1000}, float64, 2, 1}, {{15}, float64}},
                      "u = lambda v: jnp.mean(jax.nn.softplus(a @ v) - b * (a @ v)) + 0.01 * jnp.sum(v * v)\nreturn c - "
                      "jnp.linalg.solve(jax.hessian(u)(c), jax.grad(u)(c))",
                      [](A a, A b, A c) {
                        const auto u = [&](Array v) { return mean(nn::softplus(matmul(a, v)) - b * matmul(a, v)) + 0.01 * sum(v * v); };
                        return c - linalg::solve(hessian(u)(c), grad(u)(c));
                      });
     }},
    {"conjugate_gradients_f64",
     [](Writer& w) {
       return written(w, {{{120, 120}, float64}},
                      "def op(x):\n    p = jnp.pad(x, 1)\n    return 4.1 * x - p[2:, 1:-1] - p[:-2, 1:-1] - p[1:-1, 2:] - p[1:-1, :-2]\n"
                      "def step(i, s):\n    x, r, p, q = s\n    z = op(p)\n    t = q / jnp.sum(p * z)\n    x, r = x + t * p, r - t * z\n   "
                      " n = jnp.sum(r * r)\n    return x, r, r + (n / q) * p, n\n"
                      "return lax.fori_loop(0, 30, step, (jnp.zeros_like(a), a, a, jnp.sum(a * a)))[0]",
                      [](A a) {
                        const auto op = [](A x) {
                          const Array p = pad(x, 1);
                          const auto s = [&](int i, int j) { return p(slice(i, 120 + i), slice(j, 120 + j)); };
                          return 4.1 * x - s(2, 1) - s(0, 1) - s(1, 2) - s(1, 0);
                        };
                        return fori_loop(
                            0, 30,
                            [&](const Array&, const Arrays& s) {
                              const Array z = op(s[2]), t = s[3] / sum(s[2] * z), x = s[0] + t * s[2], r = s[1] - t * z, n = sum(r * r);
                              return Arrays{x, r, r + (n / s[3]) * s[2], n};
                            },
                            Arrays{zeros_like(a), a, a, sum(a * a)})[0];
                      });
     }},
    {"quaternions_f32_100k",
     [](Writer& w) {
       return written(w, {{{100000, 4}}, {{100000, 4}}},
                      "w, x, y, z = a.T\np, q, r, s = b.T\nreturn jnp.stack([w * p - x * q - y * r - z * s, w * q + x * p + y * s - z * r, "
                      "w * r - x * s + y * p + z * q, w * s + x * r - y * q + z * p], -1)",
                      [](A a, A b) {
                        const auto c = [](A u, int k) { return u(everything, k); };
                        const Array w = c(a, 0), x = c(a, 1), y = c(a, 2), z = c(a, 3), p = c(b, 0), q = c(b, 1), r = c(b, 2), s = c(b, 3);
                        return stack({w * p - x * q - y * r - z * s, w * q + x * p + y * s - z * r, w * r - x * s + y * p + z * q,
                                      w * s + x * r - y * q + z * p},
                                     -1);
                      });
     }},
    {"rotations_f32_50k",
     [](Writer& w) {
       return written(w, {{{50000, 3}}, {{50000, 3}}},
                      "t = jnp.sqrt(jnp.sum(a * a, 1, keepdims=True) + 1e-8)\nk = a / t\n"
                      "return b * jnp.cos(t) + jnp.cross(k, b) * jnp.sin(t) + k * jnp.sum(k * b, 1, keepdims=True) * (1.0 - jnp.cos(t))",
                      [](A a, A b) {
                        const Array t = sqrt(sum(a * a, 1, keepdims) + 1e-8), k = a / t;
                        return b * cos(t) + cross(k, b) * sin(t) + k * sum(k * b, 1, keepdims) * (1. - cos(t));
                      });
     }},
    {"transform_points_f32",
     [](Writer& w) {
       return written(w, {{{200000, 3}}, {{4, 4}}},
                      "h = jnp.concatenate([a, jnp.ones((200000, 1))], 1) @ b\nreturn h[:, :3] / (jnp.abs(h[:, 3:]) + 0.5)", [](A a, A b) {
                        const Array h = matmul(concatenate({a, ones({200000, 1})}, 1), b);
                        return h(everything, slice(0, 3)) / (abs(h(everything, slice(3, none))) + 0.5);
                      });
     }},
    {"mesh_normals_f32",
     [](Writer& w) {
       return written(w, {{{20000, 3}}, {{40000, 3}, int32, 20000, 10000}},
                      "p = a[b]\nn = jnp.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0])\nv = jnp.zeros((20000, 3)).at[b].add(n[:, None])\n"
                      "return v / jnp.sqrt(jnp.sum(v * v, 1, keepdims=True) + 1e-6)",
                      [](A a, A b) {
                        const Array p = a(b), o = p(everything, 0), n = cross(p(everything, 1) - o, p(everything, 2) - o);
                        const Array v = zeros({20000, 3}).at(b).add(broadcast_to(expand_dims(n, 1), {40000, 3, 3}));
                        return v / sqrt(sum(v * v, 1, keepdims) + 1e-6);
                      });
     }},
    {"ray_spheres_f32",
     [](Writer& w) {
       return written(w, {{{5000, 3}}, {{100, 3}, float32, 10}},
                      "u = a / jnp.sqrt(jnp.sum(a * a, 1, keepdims=True))\nq = u @ b.T\nd = q * q - jnp.sum(b * b, 1) + 4.0\n"
                      "return jnp.min(jnp.where(d > 0, q - jnp.sqrt(jnp.maximum(d, 0.0)), 1e9), 1)",
                      [](A a, A b) {
                        const Array u = a / sqrt(sum(a * a, 1, keepdims)), q = matmul(u, transpose(b)), d = q * q - sum(b * b, 1) + 4.;
                        return min(where(d > 0, q - sqrt(maximum(d, 0.)), 1e9), 1);
                      });
     }},
};

}  // namespace

std::span<const Row> algebra_rows() { return kRows; }

}  // namespace bench::random_programs
