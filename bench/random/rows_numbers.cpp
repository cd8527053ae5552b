// Fixed workloads of complex numbers, grids, solvers and statistics.
#include <numbers>

#include <weft/jnp.h>

#include "rows.h"
#include "written.h"

using namespace weft;

namespace bench::random_programs {
namespace {

const Row kRows[] = {
    {"poisson_fft_f64_256",
     [](Writer& w) {
       return written(w, {{{256, 256}, float64}},
                      "k = 2.0 - 2.0 * jnp.cos(2.0 * np.pi * jnp.arange(256) / 256)\nl = k[:, None] + k[None, :129]\nh = jnp.fft.rfft2(a)\n"
                      "return jnp.fft.irfft2(jnp.where(l > 0, h / jnp.where(l > 0, l, 1.0), 0.0))",
                      [](A a) {
                        const Array k = 2. - 2. * cos(2. * std::numbers::pi * f(arange(256), float64) / 256.);
                        const Array l = expand_dims(k, 1) + k(slice(0, 129)), h = fft::rfft2(a),
                                    s = where(l > 0., 1. / where(l > 0., l, 1.), 0.);
                        return fft::irfft2(h * s);
                      });
     }},
    {"vorticity_step_f32_256",
     [](Writer& w) {
       return written(w, {{{256, 256}}},
                      "k = jnp.fft.fftfreq(256, 1 / 256.0)[:, None].astype(jnp.float32)\nl = jnp.arange(129.0)[None]\nq = jnp.where(k * k "
                      "+ l * l > 0, "
                      "k * k + l * l, 1.0)\nh = jnp.fft.rfft2(a)\np = h / q\nb = lambda x: jnp.fft.irfft2(x)\n"
                      "u, v, x, y = b(1j * l * p), b(-1j * k * p), b(1j * k * h), b(1j * l * h)\n"
                      "return b((h - 0.01 * jnp.fft.rfft2(u * x + v * y)) / (1.0 + 1e-4 * q))",
                      [](A a) {
                        const Array k = expand_dims(fft::fftfreq(256, 1 / 256.0), 1), l = expand_dims(f(arange(129), float32), 0),
                                    s = k * k + l * l, q = where(s > 0., s, 1.), h = fft::rfft2(a), p = h / f(q, complex64),
                                    i = complex(array(0.f), array(1.f));
                        const auto b = [](A x) { return fft::irfft2(x); };
                        const Array u = b(i * l * p), v = b(-i * k * p), x = b(i * k * h), y = b(i * l * h);
                        return b((h - 0.01 * fft::rfft2(u * x + v * y)) / f(1. + 1e-4 * q, complex64));
                      });
     }},
    {"split_step_c64_4096",
     [](Writer& w) {
       return written(w, {{{4096}}, {{4096}}, {{4096}}},
                      "e, g = jnp.exp(-0.01j * b), jnp.exp(-0.005j * c * c)\nreturn jnp.abs(lax.fori_loop(0, 50, lambda i, z: "
                      "jnp.fft.ifft(jnp.fft.fft(z * e) * g), a.astype(jnp.complex64)))",
                      [](A a, A b, A c) {
                        const auto phase = [](A x) { return complex(cos(x), sin(x)); };
                        const Array e = phase(-0.01 * b), g = phase(-0.005 * c * c);
                        return abs(times(50, f(a, complex64), [&](A z) { return fft::ifft(fft::fft(z * e) * g); }));
                      });
     }},
    {"rfft_f64_1000x512",
     [](Writer& w) {
       return written(w, {{{1000, 512}, float64}}, "return jnp.abs(jnp.fft.rfft(a))", [](A a) { return abs(fft::rfft(a)); });
     }},
    {"fft_c64_axis_0_1000x300",
     [](Writer& w) {
       return written(w, {{{1000, 300}}}, "return jnp.abs(jnp.fft.fft(a, axis=0))", [](A a) { return abs(fft::fft(a, none, 0)); });
     }},
    {"adi_middle_axis_f64",
     [](Writer& w) {
       return written(
           w, {{{40, 100, 50}, float64}},
           "def down(s, x):\n    c, d = s\n    m = 1.0 / (4.0 - c)\n    r = (m, (x + d) * m)\n    return r, r\n"
           "x = jnp.swapaxes(a, 0, 1)\nz = jnp.zeros_like(x[0])\nc, d = lax.scan(down, (z, z), x)[1]\n"
           "def up(y, t):\n    y = t[1] + t[0] * y\n    return y, y\nreturn jnp.swapaxes(lax.scan(up, z, (c, d), reverse=True)[1], 0, 1)",
           [](A a) {
             const Array x = swapaxes(a, 0, 1), z = zeros_like(x(0));
             const auto cd = scan(
                                 [](const std::pair<Array, Array>& s, const Array& x) {
                                   const Array m = 1. / (4. - s.first);
                                   const std::pair r{m, (x + s.second) * m};
                                   return std::pair{r, r};
                                 },
                                 std::pair{z, z}, x)
                                 .second;
             return swapaxes(scan(
                                 [](const Array& y, const std::pair<Array, Array>& t) {
                                   const Array r = t.second + t.first * y;
                                   return std::pair{r, r};
                                 },
                                 z, cd, {.reverse = true})
                                 .second,
                             0, 1);
           });
     }},
    {"multigrid_cycle_f64_257",
     [](Writer& w) {
       return written(w, {{{257, 257}, float64}},
                      "def smooth(u, r):\n    for _ in range(2):\n        p = jnp.pad(u[1:-1, 1:-1], 1)\n        u = u + 0.2 * (r + "
                      "jnp.pad(p[2:, 1:-1] "
                      "+ p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4.0 * p[1:-1, 1:-1], 1))\n    return u\n"
                      "def cycle(u, r, n):\n    u = smooth(u, r)\n    if n > 2:\n        p = jnp.pad(u[1:-1, 1:-1], 1)\n"
                      "        d = r + jnp.pad(p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4.0 * p[1:-1, 1:-1], 1)\n"
                      "        e = cycle(jnp.zeros_like(d[::2, ::2]), 4.0 * d[::2, ::2], n - 1)\n"
                      "        g = jnp.repeat(jnp.repeat(e, 2, 0), 2, 1)[:-1, :-1]\n        u = smooth(u + g, r)\n    return u\n"
                      "return cycle(jnp.zeros_like(a), a, 6)",
                      [](A a) {
                        const auto laplacian = [](A u) {
                          const auto n = u.shape()[0];
                          const auto s = [&](int i, int j) { return u(slice(i, n - 2 + i), slice(j, n - 2 + j)); };
                          return pad(s(2, 1) + s(0, 1) + s(1, 2) + s(1, 0) - 4. * s(1, 1), 1);
                        };
                        const auto inner = [](A u) { return pad(u(slice(1, -1), slice(1, -1)), 1); };
                        const auto smooth = [&](Array u, A r) {
                          for (int k = 0; k < 2; ++k) u = u + 0.2 * (r + laplacian(inner(u)));
                          return u;
                        };
                        const auto cycle = [&](const auto& self, Array u, A r, int n) -> Array {
                          u = smooth(u, r);
                          if (n > 2) {
                            const Array d = (r + laplacian(inner(u)))(slice(none, none, 2), slice(none, none, 2));
                            const Array e = self(self, zeros_like(d), 4. * d, n - 1);
                            u = smooth(u + repeat(repeat(e, 2, 0), 2, 1)(slice(none, -1), slice(none, -1)), r);
                          }
                          return u;
                        };
                        return cycle(cycle, zeros_like(a), a, 6);
                      });
     }},
    {"finite_elements_f64_10000",
     [](Writer& w) {
       return written(
           w, {{{5000, 2}, float64}, {{10000, 3}, int32, 5000, 2500}, {{5000}, float64}},
           "p, u = a[b], c[b]\ne, g = p[:, 1] - p[:, 0], p[:, 2] - p[:, 0]\nd = jnp.abs(e[:, 0] * g[:, 1] - e[:, 1] * g[:, 0]) + 0.1\n"
           "q = (u[:, 1:] - u[:, :1]) / d[:, None]\nreturn jnp.zeros(5000, a.dtype).at[b].add(jnp.concatenate([-jnp.sum(q, 1, "
           "keepdims=True), q], 1))",
           [](A a, A b, A c) {
             const Array p = a(b), u = c(b), o = p(everything, 0), e = p(everything, 1) - o, g = p(everything, 2) - o;
             const Array d = abs(e(everything, 0) * g(everything, 1) - e(everything, 1) * g(everything, 0)) + 0.1;
             const Array q = (u(everything, slice(1, none)) - u(everything, slice(0, 1))) / expand_dims(d, 1);
             return zeros({5000}, float64).at(b).add(concatenate({-sum(q, 1, keepdims), q}, 1));
           });
     }},
    {"sparse_gradients_loop_f64",
     [](Writer& w) {
       return written(
           w, {{{40000}, float64}, {{40000}, int32, 4000, 2000}, {{40000}, int32, 4000, 2000}},
           "return lax.fori_loop(0, 20, lambda i, x: 0.9 * x + 0.01 * jnp.zeros(4000, a.dtype).at[b].add(a * x[c]), jnp.ones(4000, "
           "a.dtype))",
           [](A a, A b, A c) {
             return times(20, ones({4000}, float64), [&](A x) { return 0.9 * x + 0.01 * zeros({4000}, float64).at(b).add(a * x(c)); });
           });
     }},
    {"ising_checkerboard_f32_256",
     [](Writer& w) {
       return written(
           w, {{{256, 256}}},
           "i = jnp.arange(256)\nm = (i[:, None] + i[None]) % 2\ndef step(k, s):\n    n = jnp.roll(s, 1, 0) + jnp.roll(s, -1, 0) + "
           "jnp.roll(s, 1, 1) + jnp.roll(s, -1, 1)\n"
           "    u = jax.random.uniform(jax.random.fold_in(jax.random.key(1), k), (256, 256))\n"
           "    return jnp.where((m == k % 2) & (u < jnp.exp(-0.8 * s * n)), -s, s)\nreturn lax.fori_loop(0, 20, step, jnp.where(a > 0, "
           "1.0, "
           "-1.0))",
           [](A a) {
             const Array i = arange(256), m = remainder(expand_dims(i, 1) + i, 2);
             return fori_loop(
                 0, 20,
                 [&](const Array& k, const Array& s) {
                   const Array n = roll(s, {1}, 0) + roll(s, {-1}, 0) + roll(s, {1}, 1) + roll(s, {-1}, 1);
                   const Array u = random::uniform(random::fold_in(random::key(1), k), {256, 256});
                   return where((m == remainder(k, 2)) & (u < exp(-0.8 * s * n)), -s, s);
                 },
                 where(a > 0., array(1.f), array(-1.f)));
           });
     }},
    {"hamiltonian_monte_carlo_f32",
     [](Writer& w) {
       return written(
           w, {{{200, 10}}, {{200}, float32, 2, 1}, {{10}, float32, .1}},
           "u = lambda x: jnp.sum(jax.nn.softplus(a @ x)) - jnp.sum(jnp.floor(b) * (a @ x)) + 0.5 * jnp.sum(x * x)\ng = jax.grad(u)\n"
           "def step(i, x):\n    p = jax.random.normal(jax.random.fold_in(jax.random.key(3), i), (10,))\n"
           "    y, q = lax.fori_loop(0, 8, lambda j, s: (s[0] + 0.05 * (s[1] - 0.025 * g(s[0])), s[1] - 0.05 * g(s[0])), (x, p))\n"
           "    return jnp.where(u(y) + 0.5 * jnp.sum(q * q) < u(x) + 0.5 * jnp.sum(p * p) + 1.0, y, x)\nreturn lax.fori_loop(0, 50, step, "
           "c)",
           [](A a, A b, A c) {
             const auto u = [&](Array x) {
               const Array z = matmul(a, x);
               return sum(nn::softplus(z)) - sum(floor(b) * z) + 0.5 * sum(x * x);
             };
             const auto g = grad(u);
             return fori_loop(
                 0, 50,
                 [&](const Array& i, const Array& x) {
                   const Array p = random::normal(random::fold_in(random::key(3), i), {10});
                   const auto [y, q] = fori_loop(
                       0, 8,
                       [&](const Array&, const std::pair<Array, Array>& s) {
                         const Array d = g(s.first);
                         return std::pair{s.first + 0.05 * (s.second - 0.025 * d), s.second - 0.05 * d};
                       },
                       std::pair{x, p});
                   return where(u(y) + 0.5 * sum(q * q) < u(x) + 0.5 * sum(p * p) + 1., y, x);
                 },
                 c);
           });
     }},
    {"mixture_em_step_f64",
     [](Writer& w) {
       return written(
           w, {{{3000, 5}, float64}, {{8, 5}, float64}},
           "l = -0.5 * jnp.sum(jnp.square(a[:, None] - b[None]), -1)\nr = jax.nn.softmax(l, 1)\nn = jnp.sum(r, 0)\n"
           "m = r.T @ a / n[:, None]\nd = a[:, None] - m[None]\nreturn [m, jnp.einsum('nk,nki,nkj->kij', r, d, d) / n[:, None, None]]",
           [](A a, A b) {
             const Array l = -0.5 * sum(square(expand_dims(a, 1) - expand_dims(b, 0)), -1), r = nn::softmax(l, 1), n = sum(r, 0);
             const Array m = matmul(transpose(r), a) / expand_dims(n, 1), d = expand_dims(a, 1) - expand_dims(m, 0);
             return Arrays{m, einsum("nk,nki,nkj->kij", r, d, d) / reshape(n, {8, 1, 1})};
           });
     }},
    {"log_determinant_grad_f64_200",
     [](Writer& w) {
       return written(w, {{{200, 200}, float64}},
                      "return jax.grad(lambda a: jnp.sum(jnp.log(jnp.diagonal(jnp.linalg.cholesky(a @ a.T + 200.0 * jnp.eye(200))))))(a)",
                      [](A a) {
                        return grad([](Array a) {
                          return sum(log(diagonal(linalg::cholesky(matmul(a, transpose(a)) + 200. * eye(200, float64)))));
                        })(a);
                      });
     }},
    {"lanczos_f64_500x30",
     [](Writer& w) {
       return written(w, {{{500, 500}, float64}, {{500}, float64}},
                      "m = a + a.T\ndef step(s, _):\n    u, v, b = s\n    x = m @ v - b * u\n    c = x @ v\n    x = x - c * v\n    n = "
                      "jnp.sqrt(x @ x)\n    return (v, x / n, n), (c, n)\n"
                      "return lax.scan(step, (jnp.zeros_like(b), b / jnp.sqrt(b @ b), jnp.zeros((), b.dtype)), None, 30)[1]",
                      [](A a, A b) {
                        const Array m = a + transpose(a);
                        const auto [c, n] = scan(
                                                [&](const Arrays& s, const None&) {
                                                  Array x = matmul(m, s[1]) - s[2] * s[0];
                                                  const Array c = dot(x, s[1]);
                                                  x = x - c * s[1];
                                                  const Array n = sqrt(dot(x, x));
                                                  return std::pair{Arrays{s[1], x / n, n}, std::pair{c, n}};
                                                },
                                                Arrays{zeros_like(b), b / sqrt(dot(b, b)), zeros({}, float64)}, none, {.length = 30})
                                                .second;
                        return Arrays{c, n};
                      });
     }},
    {"qr_f64_3000x20",
     [](Writer& w) {
       return written(w, {{{3000, 20}, float64}}, "return jnp.abs(jnp.linalg.qr(a)[0])", [](A a) { return abs(linalg::qr(a).q); });
     }},
    {"svd_f32_2000x30",
     [](Writer& w) {
       return written(w, {{{2000, 30}}}, "u, s, v = jnp.linalg.svd(a, full_matrices=False)\nreturn [s, jnp.abs(v)]", [](A a) {
         const auto d = linalg::svd(a, {.full_matrices = false});
         return Arrays{d.s, abs(d.vh)};
       });
     }},
    {"svd_f64_400x10",
     [](Writer& w) {
       return written(w, {{{20, 400, 10}, float64}}, "u, s, v = jnp.linalg.svd(a, full_matrices=False)\nreturn [jnp.abs(u), s]", [](A a) {
         const auto d = linalg::svd(a, {.full_matrices = false});
         return Arrays{abs(d.u), d.s};
       });
     }},
    {"lstsq_f32_1000x12",
     [](Writer& w) {
       return written(w, {{{1000, 12}}, {{1000}}}, "return jnp.linalg.lstsq(a, b)[0]", [](A a, A b) { return linalg::lstsq(a, b).x; });
     }},
    {"pinv_f64_100x8x5",
     [](Writer& w) { return written(w, {{{100, 8, 5}, float64}}, "return jnp.linalg.pinv(a)", [](A a) { return linalg::pinv(a); }); }},
    {"eigh_f32_30x40x40",
     [](Writer& w) {
       return written(w, {{{30, 40, 40}}}, "v, u = jnp.linalg.eigh(a + jnp.swapaxes(a, 1, 2))\nreturn [v, jnp.abs(u)]", [](A a) {
         const auto d = linalg::eigh(a + swapaxes(a, 1, 2));
         return Arrays{d.eigenvalues, abs(d.eigenvectors)};
       });
     }},
    {"triangular_solve_f32_2000x12",
     [](Writer& w) {
       return written(w, {{{2000, 12, 12}}, {{2000, 12, 3}}},
                      "return lax.linalg.triangular_solve(a + 12.0 * jnp.eye(12), b, left_side=True, lower=True)",
                      [](A a, A b) { return linalg::triangular_solve(a + 12. * eye(12), b, {.lower = true}); });
     }},
    {"cholesky_f64_500x32x32",
     [](Writer& w) {
       return written(w, {{{500, 32, 32}, float64}}, "return jnp.linalg.cholesky(a + jnp.swapaxes(a, 1, 2) + 64.0 * jnp.eye(32))",
                      [](A a) { return linalg::cholesky(a + swapaxes(a, 1, 2) + 64. * eye(32, float64)); });
     }},
    {"solve_c64_500x6x6",
     [](Writer& w) {
       return written(
           w, {{{500, 6, 6}}, {{500, 6, 6}}, {{500, 6}}},
           "return jnp.abs(jnp.linalg.solve(lax.complex(a, b) + 6.0 * jnp.eye(6), c.astype(jnp.complex64)[..., None]))",
           [](A a, A b, A c) { return abs(linalg::solve(complex(a, b) + f(6. * eye(6), complex64), f(expand_dims(c, -1), complex64))); });
     }},
    {"matmul_c64_200",
     [](Writer& w) {
       return written(w, {{{200, 200}}, {{200, 200}}}, "z = lax.complex(a, b)\nreturn jnp.abs(z @ z)", [](A a, A b) {
         const Array z = complex(a, b);
         return abs(matmul(z, z));
       });
     }},
    {"complex_functions_c128_100k",
     [](Writer& w) {
       return written(w, {{{100000}, float64}, {{100000}, float64}},
                      "z = lax.complex(a, b)\nreturn jnp.abs(jnp.exp(z) + jnp.sqrt(z) * jnp.log(z + 3.0) / (z * z + 5.0))", [](A a, A b) {
                        const Array z = complex(a, b);
                        return abs(exp(z) + sqrt(z) * log(z + 3.) / (z * z + 5.));
                      });
     }},
    {"legendre_f64_100k",
     [](Writer& w) {
       return written(w, {{{100000}, float64}},
                      "p, q = jnp.ones_like(a), a\nfor n in range(1, 12): p, q = q, ((2 * n + 1) * a * q - n * p) / (n + 1)\nreturn q",
                      [](A a) {
                        Array p = ones_like(a), q = a;
                        for (int n = 1; n < 12; ++n) {
                          const Array r = ((2. * n + 1) * a * q - 1. * n * p) / (n + 1.);
                          p = q, q = r;
                        }
                        return q;
                      });
     }},
    {"ray_march_f32_160x120",
     [](Writer& w) {
       return written(
           w, {{{19200, 3}, float32, 1}},
           "d = a.at[:, 2].add(2.0)\nd = d / jnp.sqrt(jnp.sum(d * d, 1, keepdims=True))\n"
           "def sdf(p):\n    s = jnp.sqrt(jnp.sum(jnp.square(p - jnp.array([0.0, 0.0, 4.0])), 1)) - 1.0\n    return jnp.minimum(s, p[:, 1] "
           "+ "
           "1.0)\nt = lax.fori_loop(0, 40, lambda i, t: t + sdf(d * t[:, None]), jnp.zeros(19200))\nreturn jnp.minimum(t, 100.0)",
           [](A a) {
             const Array e = a.at(everything, 2).add(2.), d = e / sqrt(sum(e * e, 1, keepdims));
             const auto sdf = [](A p) { return minimum(sqrt(sum(square(p - array({0.f, 0.f, 4.f})), 1)) - 1., p(everything, 1) + 1.); };
             return minimum(times(40, zeros({19200}), [&](A t) { return t + sdf(d * expand_dims(t, 1)); }), 100.);
           });
     }},
    {"adjoint_of_ode_f64_500",
     [](Writer& w) {
       return written(w, {{{8, 8}, float64}, {{32, 8}, float64}},
                      "def loss(a):\n    g = lambda x: jnp.tanh(x @ a)\n    def step(x, _):\n        k = g(x)\n        l = g(x + 0.005 * "
                      "k)\n        return "
                      "x + 0.01 * l, None\n    return jnp.mean(jnp.square(lax.scan(step, b, None, 500)[0]))\nreturn jax.grad(loss)(a)",
                      [](A a, A b) {
                        return grad([&](Array a) {
                          const auto g = [&](A x) { return tanh(matmul(x, a)); };
                          return mean(square(scan(
                                                 [&](const Array& x, const None&) {
                                                   const Array k = g(x);
                                                   return std::pair{x + 0.01 * g(x + 0.005 * k), none};
                                                 },
                                                 b, none, {.length = 500})
                                                 .first));
                        })(a);
                      });
     }},
    {"parameter_sweep_f64_2000",
     [](Writer& w) {
       return written(
           w, {{{2000, 4}, float64, .5, 1}},
           "def run(p):\n    d = lambda x, y: (p[0] * x - p[1] * x * y, p[2] * x * y - p[3] * y)\n    def step(i, s):\n        x, y = s\n"
           "        k, l = d(x, y)\n        m, n = d(x + 0.01 * k, y + 0.01 * l)\n        return x + 0.02 * m, y + 0.02 * n\n"
           "    return lax.fori_loop(0, 200, step, (jnp.ones((), a.dtype), jnp.ones((), a.dtype)))[0]\nreturn jax.vmap(run)(a)",
           [](A a) {
             return vmap([](Array p) {
               const auto d = [&](A x, A y) { return std::pair{p(0) * x - p(1) * x * y, p(2) * x * y - p(3) * y}; };
               return fori_loop(
                          0, 200,
                          [&](const Array&, const std::pair<Array, Array>& s) {
                            const auto [k, l] = d(s.first, s.second);
                            const auto [m, n] = d(s.first + 0.01 * k, s.second + 0.01 * l);
                            return std::pair{s.first + 0.02 * m, s.second + 0.02 * n};
                          },
                          std::pair{ones({}, float64), ones({}, float64)})
                   .first;
             })(a);
           });
     }},
    {"weighted_histogram_f64_1M",
     [](Writer& w) {
       return written(w, {{{1 << 20}, float64, 2, 1}, {{1 << 20}, float64, 1, .5}},
                      "return jnp.zeros(100, a.dtype).at[jnp.clip((a * 50.0).astype(jnp.int32), 0, 99)].add(b)",
                      [](A a, A b) { return zeros({100}, float64).at(clip(f(a * 50., int32), 0, 99)).add(b); });
     }},
    {"bootstrap_means_f32",
     [](Writer& w) {
       return written(w, {{{2000}}, {{500, 2000}, int32, 2000, 1000}}, "m = jnp.mean(a[b], 1)\nreturn jnp.sort(m)[12:488]",
                      [](A a, A b) { return sort(mean(a(b), 1))(slice(12, 488)); });
     }},
    {"quantiles_f64_100x3000",
     [](Writer& w) {
       return written(w, {{{100, 3000}, float64}}, "return jnp.quantile(a, jnp.array([0.05, 0.5, 0.95]), axis=1)",
                      [](A a) { return quantile(a, array({0.05, 0.5, 0.95}, float64), 1); });
     }},
    {"kernel_density_f32_1000x3000",
     [](Writer& w) {
       return written(w, {{{1000}, float32, 6}, {{3000}, float32, 6}},
                      "return jnp.mean(jnp.exp(-0.5 * jnp.square((a[:, None] - b[None]) / 0.3)), 1)",
                      [](A a, A b) { return mean(exp(-0.5 * square((expand_dims(a, 1) - b) / 0.3)), 1); });
     }},
    {"top_10_indices_f64_500x2000",
     [](Writer& w) {
       return written(w, {{{500, 2000}, float64}}, "return lax.top_k(a, 10)[1]", [](A a) { return top_k(a, 10).indices; });
     }},
    {"lexsort_i32_100k",
     [](Writer& w) {
       return written(w, {{{100000}, int32, 100}, {{100000}, int32, 1e6}}, "return jnp.lexsort((b, a))",
                      [](A a, A b) { return lexsort({b, a}); });
     }},
    {"cumsum_axis_0_f32_3000x400",
     [](Writer& w) { return written(w, {{{3000, 400}}}, "return jnp.cumsum(a, 0)", [](A a) { return cumsum(a, 0); }); }},
    {"cumsum_middle_f64_20x500x33",
     [](Writer& w) { return written(w, {{{20, 500, 33}, float64}}, "return jnp.cumsum(a, 1)", [](A a) { return cumsum(a, 1); }); }},
    {"cumlogsumexp_f32_500x1000",
     [](Writer& w) {
       return written(w, {{{500, 1000}, float32, 4}}, "return lax.cumlogsumexp(a, 1)", [](A a) { return cumlogsumexp(a, 1); });
     }},
    {"masked_sums_f64_1M",
     [](Writer& w) {
       return written(w, {{{1 << 20}, float64}, {{1 << 20}, float64}},
                      "m = (a > 0.2) & (b < 0.5)\nreturn [jnp.sum(jnp.where(m, a * b, 0.0)), jnp.sum(m.astype(jnp.int32))]", [](A a, A b) {
                        const Array m = (a > 0.2) & (b < 0.5);
                        return Arrays{sum(where(m, a * b, 0.)), sum(f(m, int32))};
                      });
     }},
};

}  // namespace

std::span<const Row> number_rows() { return kRows; }

}  // namespace bench::random_programs
