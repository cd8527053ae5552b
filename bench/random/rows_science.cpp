// Fixed workloads of the sciences: partial differential equations, particles, filters, random numbers, differential equations, dynamic
// programming, graphs.
#include "rows.h"
#include "written.h"

using namespace weft;

namespace bench::random_programs {
namespace {

const Row kRows[] = {
    {"wave_dirichlet_f32_200",
     [](Writer& w) {
       return written(
           w, {{{2, 202, 202}}},
           "def step(i, u):\n    x = u[0]\n    l = x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2] - 4.0 * x[1:-1, 1:-1]\n"
           "    return jnp.stack([jnp.pad(2.0 * x[1:-1, 1:-1] - u[1][1:-1, 1:-1] + 0.2 * l, 1), x])\n"
           "return lax.fori_loop(0, 30, step, a)",
           [](A a) {
             return times(30, a, [](A u) {
               const Array x = u(0);
               const auto s = [&](int i, int j) { return x(slice(i, 200 + i), slice(j, 200 + j)); };
               const Array l = s(2, 1) + s(0, 1) + s(1, 2) + s(1, 0) - 4. * s(1, 1);
               return stack({pad(2. * s(1, 1) - u(1, slice(1, -1), slice(1, -1)) + 0.2 * l, 1), x});
             });
           });
     }},
    {"burgers_f64_5000",
     [](Writer& w) {
       return written(
           w, {{{5000}, float64}},
           "def step(i, u):\n    r, l = jnp.roll(u, -1), jnp.roll(u, 1)\n    return u - 0.05 * u * (r - l) + 0.1 * (r - 2.0 * u + l)\n"
           "return lax.fori_loop(0, 100, step, a)",
           [](A a) {
             return times(100, a, [](A u) {
               const Array r = roll(u, {-1}), l = roll(u, {1});
               return u - 0.05 * u * (r - l) + 0.1 * (r - 2. * u + l);
             });
           });
     }},
    {"gray_scott_f32_200",
     [](Writer& w) {
       return written(w, {{{200, 200}, float32, .2, .8}, {{200, 200}, float32, .2, .2}},
                      "lap = lambda x: jnp.roll(x, 1, 0) + jnp.roll(x, -1, 0) + jnp.roll(x, 1, 1) + jnp.roll(x, -1, 1) - 4.0 * x\n"
                      "def step(i, s):\n    u, v = s\n    r = u * v * v\n"
                      "    return u + 0.16 * lap(u) - r + 0.035 * (1.0 - u), v + 0.08 * lap(v) + r - 0.1 * v\nreturn lax.fori_loop(0, 40, "
                      "step, (a, b))",
                      [](A a, A b) {
                        const auto lap = [](A x) {
                          return roll(x, {1}, 0) + roll(x, {-1}, 0) + roll(x, {1}, 1) + roll(x, {-1}, 1) - 4. * x;
                        };
                        const auto [u, v] = fori_loop(
                            0, 40,
                            [&](const Array&, const std::pair<Array, Array>& s) {
                              const auto& [u, v] = s;
                              const Array r = u * v * v;
                              return std::pair{u + 0.16 * lap(u) - r + 0.035 * (1. - u), v + 0.08 * lap(v) + r - 0.1 * v};
                            },
                            std::pair{a, b});
                        return Arrays{u, v};
                      });
     }},
    {"heat_3d_f64_40",
     [](Writer& w) {
       return written(w, {{{42, 42, 42}, float64}},
                      "def step(i, u):\n    c = u[1:-1, 1:-1, 1:-1]\n    l = (u[2:, 1:-1, 1:-1] + u[:-2, 1:-1, 1:-1] + u[1:-1, 2:, 1:-1] + "
                      "u[1:-1, :-2, 1:-1] "
                      "+ u[1:-1, 1:-1, 2:] + u[1:-1, 1:-1, :-2] - 6.0 * c)\n    return u.at[1:-1, 1:-1, 1:-1].set(c + 0.1 * l)\n"
                      "return lax.fori_loop(0, 20, step, a)",
                      [](A a) {
                        return times(20, a, [](A u) {
                          const auto s = [&](int i, int j, int k) { return u(slice(i, 40 + i), slice(j, 40 + j), slice(k, 40 + k)); };
                          const Array c = s(1, 1, 1),
                                      l = s(2, 1, 1) + s(0, 1, 1) + s(1, 2, 1) + s(1, 0, 1) + s(1, 1, 2) + s(1, 1, 0) - 6. * c;
                          return u.at(slice(1, -1), slice(1, -1), slice(1, -1)).set(c + 0.1 * l);
                        });
                      });
     }},
    {"maxwell_2d_f32",
     [](Writer& w) {
       return written(w, {{{200, 200}}},
                      "def step(i, s):\n    e, x, y = s\n    x = x.at[:, :-1].add(-0.5 * (e[:, 1:] - e[:, :-1]))\n    y = "
                      "y.at[:-1].add(0.5 * (e[1:] - e[:-1]))\n"
                      "    e = e.at[1:, 1:].add(0.5 * (y[1:, 1:] - y[:-1, 1:] - x[1:, 1:] + x[1:, :-1]))\n    return e, x, y\n"
                      "return lax.fori_loop(0, 40, step, (a, jnp.zeros_like(a), jnp.zeros_like(a)))[0]",
                      [](A a) {
                        const auto at = [](int i, int n) { return slice(i, n); };
                        return fori_loop(
                            0, 40,
                            [&](const Array&, const std::vector<Array>& s) {
                              Array e = s[0], x = s[1], y = s[2];
                              x = x.at(slice(), at(0, 199)).add(-0.5 * (e(slice(), at(1, 200)) - e(slice(), at(0, 199))));
                              y = y.at(at(0, 199)).add(0.5 * (e(at(1, 200)) - e(at(0, 199))));
                              const auto p = at(1, 200), q = at(0, 199);
                              e = e.at(p, p).add(0.5 * (y(p, p) - y(q, p) - x(p, p) + x(p, q)));
                              return std::vector<Array>{e, x, y};
                            },
                            std::vector<Array>{a, zeros_like(a), zeros_like(a)})[0];
                      });
     }},
    {"lattice_boltzmann_f32",
     [](Writer& w) {
       return written(
           w, {{{9, 100, 100}, float32, .02, .12}},
           "cx, cy = [0, 1, 0, -1, 0, 1, -1, -1, 1], [0, 0, 1, 0, -1, 1, 1, -1, -1]\nwt = [4 / 9] + [1 / 9] * 4 + [1 / 36] * 4\n"
           "def step(i, g):\n    g = jnp.stack([jnp.roll(g[k], (cx[k], cy[k]), (0, 1)) for k in range(9)])\n    r = jnp.sum(g, 0)\n"
           "    u = sum(cx[k] * g[k] for k in range(9) if cx[k]) / r\n    v = sum(cy[k] * g[k] for k in range(9) if cy[k]) / r\n    q = "
           "1.5 * (u * u + v * v)\n"
           "    def eq(k):\n        d = 3.0 * (cx[k] * u + cy[k] * v)\n        return wt[k] * r * (1.0 + d + 0.5 * d * d - q)\n"
           "    return g + 0.6 * (jnp.stack([eq(k) for k in range(9)]) - g)\nreturn lax.fori_loop(0, 10, step, a)",
           [](A a) {
             return times(10, a, [](A old) {
               const int cx[] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, cy[] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
               const double wt[] = {4. / 9, 1. / 9, 1. / 9, 1. / 9, 1. / 9, 1. / 36, 1. / 36, 1. / 36, 1. / 36};
               Arrays moved;
               for (int k = 0; k < 9; ++k) moved.push_back(roll(old(k), {cx[k], cy[k]}, Axis{0, 1}));
               const Array g = stack(moved), r = sum(g, 0);
               Array u = zeros({100, 100}), v = u;
               for (int k = 0; k < 9; ++k) {
                 if (cx[k]) u = u + cx[k] * g(k);
                 if (cy[k]) v = v + cy[k] * g(k);
               }
               u = u / r, v = v / r;
               const Array q = 1.5 * (u * u + v * v);
               Arrays eq;
               for (int k = 0; k < 9; ++k) {
                 const Array d = 3. * (cx[k] * u + cy[k] * v);
                 eq.push_back(wt[k] * r * (1. + d + 0.5 * d * d - q));
               }
               return g + 0.6 * (stack(eq) - g);
             });
           });
     }},
    {"jacobi_masked_f64",
     [](Writer& w) {
       return written(w, {{{150, 151}, float64}, {{150, 151}, float64}},
                      "m = b > -0.9\ndef step(i, u):\n    p = jnp.pad(u, 1)\n"
                      "    return jnp.where(m, 0.25 * (p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] + b), u)\nreturn "
                      "lax.fori_loop(0, 40, step, a)",
                      [](A a, A b) {
                        const Array m = b > -0.9;
                        return times(40, a, [&](A u) {
                          const Array p = pad(u, 1);
                          const auto s = [&](int i, int j) { return p(slice(i, 150 + i), slice(j, 151 + j)); };
                          return where(m, 0.25 * (s(2, 1) + s(0, 1) + s(1, 2) + s(1, 0) + b), u);
                        });
                      });
     }},
    {"life_u8_256",
     [](Writer& w) {
       return written(w, {{{256, 256}, uint8, 2, 1}},
                      "def step(i, u):\n    r = lambda i, j: jnp.roll(u, (i, j), (0, 1))\n"
                      "    n = r(1, 0) + r(-1, 0) + r(0, 1) + r(0, -1) + r(1, 1) + r(1, -1) + r(-1, 1) + r(-1, -1)\n"
                      "    return ((n == 3) | ((u == 1) & (n == 2))).astype(jnp.uint8)\nreturn lax.fori_loop(0, 50, step, a)",
                      [](A a) {
                        return times(50, a, [](A u) {
                          const auto r = [&](int i, int j) { return roll(u, {i, j}, Axis{0, 1}); };
                          const Array n = r(1, 0) + r(-1, 0) + r(0, 1) + r(0, -1) + r(1, 1) + r(1, -1) + r(-1, 1) + r(-1, -1);
                          return f((n == 3) | ((u == 1) & (n == 2)), uint8);
                        });
                      });
     }},
    {"tridiagonal_f64_1000x200",
     [](Writer& w) {
       return written(w, {{{200, 1000}, float64, 1, 4}, {{200, 1000}, float64}},
                      "def down(s, x):\n    c, d = s\n    m = 1.0 / (x[0] + c)\n    r = (-m, (x[1] + d) * m)\n    return r, r\n"
                      "z = jnp.zeros_like(a[0])\nc, d = lax.scan(down, (z, z), (a, b))[1]\n"
                      "def up(y, x):\n    y = x[1] - x[0] * y\n    return y, y\nreturn lax.scan(up, z, (c, d), reverse=True)[1]",
                      [](A a, A b) {
                        const Array z = zeros_like(a(0));
                        const auto [end, cd] = scan(
                            [](const std::pair<Array, Array>& s, const std::pair<Array, Array>& x) {
                              const Array m = 1. / (x.first + s.first);
                              const std::pair r{-m, (x.second + s.second) * m};
                              return std::pair{r, r};
                            },
                            std::pair{z, z}, std::pair{a, b});
                        return scan(
                                   [](const Array& y, const std::pair<Array, Array>& x) {
                                     const Array r = x.second - x.first * y;
                                     return std::pair{r, r};
                                   },
                                   z, cd, {.reverse = true})
                            .second;
                      });
     }},
    {"kalman_batch_f32",
     [](Writer& w) {
       return written(w, {{{100, 128, 2}}, {{4, 4}, float32, .4}, {{2, 4}}},
                      "zs, a, b = a, b, c\ndef step(s, z):\n    x, p = s\n    x = x @ a.T\n    p = a @ p @ a.T + 0.1 * jnp.eye(4)\n    q = "
                      "b @ p @ b.T + 0.5 * jnp.eye(2)\n"
                      "    k = jnp.swapaxes(jnp.linalg.solve(q, b @ p), -1, -2)\n    x = x + jnp.einsum('nij,nj->ni', k, z - x @ b.T)\n    "
                      "p = p - k @ (b @ p)\n    return (x, p), x\n"
                      "return lax.scan(step, (jnp.zeros((128, 4)), jnp.broadcast_to(jnp.eye(4), (128, 4, 4))), zs)[1]",
                      [](A z, A a, A b) {
                        const Array at = transpose(a), bt = transpose(b);
                        return scan(
                                   [&](const std::pair<Array, Array>& s, const Array& z) {
                                     Array x = matmul(s.first, at), p = matmul(matmul(a, s.second), at) + 0.1 * eye(4);
                                     const Array q = matmul(matmul(b, p), bt) + 0.5 * eye(2), bp = matmul(b, p);
                                     const Array k = swapaxes(linalg::solve(q, bp), -1, -2);
                                     x = x + einsum("nij,nj->ni", k, z - matmul(x, bt));
                                     return std::pair{std::pair{x, p - matmul(k, bp)}, x};
                                   },
                                   std::pair{zeros({128, 4}), broadcast_to(eye(4), {128, 4, 4})}, z)
                            .second;
                      });
     }},
    {"hmm_forward_f64",
     [](Writer& w) {
       return written(
           w, {{{300, 24}, float64}, {{24, 24}, float64}},
           "t = jax.nn.log_softmax(b, 1)\nreturn lax.scan(lambda c, x: (jax.nn.logsumexp(c[:, None] + t, 0) + x, None), a[0], a[1:])[0]",
           [](A a, A b) {
             const Array t = nn::log_softmax(b, 1);
             return scan([&](const Array& c, const Array& x) { return std::pair{logsumexp(expand_dims(c, 1) + t, 0) + x, none}; }, a(0),
                         a(slice(1, none)))
                 .first;
           });
     }},
    {"viterbi_f32",
     [](Writer& w) {
       return written(
           w, {{{300, 40}}, {{40, 40}}},
           "def step(c, x):\n    s = c[:, None] + b\n    return jnp.max(s, 0) + x, jnp.argmax(s, 0)\nreturn lax.scan(step, a[0], a[1:])[1]",
           [](A a, A b) {
             return scan(
                        [&](const Array& c, const Array& x) {
                          const Array s = expand_dims(c, 1) + b;
                          return std::pair{max(s, 0) + x, argmax(s, 0)};
                        },
                        a(0), a(slice(1, none)))
                 .second;
           });
     }},
    {"asian_option_f32",
     [](Writer& w) {
       return written(w, {{{1}, float32, .1, 1}},
                      "z = jax.random.normal(jax.random.key(7), (20000, 25))\ns = a * jnp.exp(jnp.cumsum(0.04 * z - 0.0008, 1))\n"
                      "return jnp.mean(jnp.maximum(jnp.mean(s, 1) - 1.0, 0.0))",
                      [](A a) {
                        const Array s = a * exp(cumsum(0.04 * random::normal(random::key(7), {20000, 25}) - 0.0008, 1));
                        return mean(maximum(mean(s, 1) - 1., 0.));
                      });
     }},
    {"metropolis_f32_1000",
     [](Writer& w) {
       return written(w, {{{1000}}},
                      "def step(i, x):\n    k, l = jax.random.split(jax.random.fold_in(jax.random.key(1), i))\n    y = x + 0.5 * "
                      "jax.random.normal(k, (1000,))\n"
                      "    return jnp.where(jnp.log(jax.random.uniform(l, (1000,))) < 0.5 * (x * x - y * y), y, x)\nreturn "
                      "lax.fori_loop(0, 50, step, a)",
                      [](A a) {
                        return fori_loop(
                            0, 50,
                            [](const Array& i, const Array& x) {
                              const Array keys = random::split(random::fold_in(random::key(1), i), {2});
                              const Array y = x + 0.5 * random::normal(keys(0), {1000});
                              return where(log(random::uniform(keys(1), {1000})) < 0.5 * (x * x - y * y), y, x);
                            },
                            a);
                      });
     }},
    {"uniform_f64_500k",
     [](Writer& w) {
       return written(w, {{{1}, float64}}, "return a + jax.random.uniform(jax.random.key(5), (500000,), jnp.float64)",
                      [](A a) { return a + random::uniform(random::key(5), {500000}, float64); });
     }},
    {"lorenz_rk4_f32_2000",
     [](Writer& w) {
       return written(w, {{{3, 2000}, float32, 10}},
                      "d = lambda s: jnp.stack([10.0 * (s[1] - s[0]), s[0] * (28.0 - s[2]) - s[1], s[0] * s[1] - 2.667 * s[2]])\n"
                      "def step(i, s):\n    p = d(s)\n    q = d(s + 0.005 * p)\n    r = d(s + 0.005 * q)\n    t = d(s + 0.01 * r)\n"
                      "    return s + (0.01 / 6) * (p + 2.0 * q + 2.0 * r + t)\nreturn lax.fori_loop(0, 50, step, a)",
                      [](A a) {
                        const auto d = [](A s) {
                          return stack({10. * (s(1) - s(0)), s(0) * (28. - s(2)) - s(1), s(0) * s(1) - 2.667 * s(2)});
                        };
                        return times(50, a, [&](A s) {
                          const Array p = d(s), q = d(s + 0.005 * p), r = d(s + 0.005 * q), t = d(s + 0.01 * r);
                          return s + (0.01 / 6) * (p + 2. * q + 2. * r + t);
                        });
                      });
     }},
    {"adaptive_ode_f64",
     [](Writer& w) {
       return written(w, {{{2}, float64, 1, 1}},
                      "d = lambda y: jnp.stack([y[1], 3.0 * (1.0 - y[0] * y[0]) * y[1] - y[0]])\n"
                      "def step(s):\n    t, h, y = s\n    k = d(y)\n    l = d(y + h * k)\n    e = jnp.max(jnp.abs(h * 0.5 * (l - k))) / "
                      "1e-5\n    ok = e < 1.0\n"
                      "    return (jnp.where(ok, t + h, t), h * jnp.clip(0.9 / jnp.sqrt(e + 1e-10), 0.2, 5.0), jnp.where(ok, y + h * 0.5 * "
                      "(k + l), y))\n"
                      "return lax.while_loop(lambda s: s[0] < 10.0, step, (jnp.zeros((), a.dtype), jnp.full((), 0.01, a.dtype), a))[2]",
                      [](A a) {
                        const auto d = [](A y) { return stack({y(1), 3. * (1. - y(0) * y(0)) * y(1) - y(0)}); };
                        return while_loop([](const std::vector<Array>& s) { return s[0] < 10.; },
                                          [&](const std::vector<Array>& s) {
                                            const Array t = s[0], h = s[1], y = s[2], k = d(y), l = d(y + h * k);
                                            const Array e = max(abs(h * 0.5 * (l - k))) / 1e-5, ok = e < 1.;
                                            return std::vector<Array>{where(ok, t + h, t), h * clip(0.9 / sqrt(e + 1e-10), 0.2, 5.),
                                                                      where(ok, y + h * 0.5 * (k + l), y)};
                                          },
                                          std::vector<Array>{zeros({}, float64), full({}, 0.01, float64), a})[2];
                      });
     }},
    {"newton_batch_f64",
     [](Writer& w) {
       return written(w, {{{20000}, float64, 4, 3}},
                      "def solve(c):\n    g = lambda x: x * x * x + x - c\n"
                      "    return lax.while_loop(lambda x: jnp.abs(g(x)) > 1e-9, lambda x: x - g(x) / (3.0 * x * x + 1.0), "
                      "jnp.ones_like(c))\nreturn jax.vmap(solve)(a)",
                      [](A a) {
                        return vmap([](Array c) {
                          const auto g = [c](A x) { return x * x * x + x - c; };
                          return while_loop([&](const Array& x) { return abs(g(x)) > 1e-9; },
                                            [&](const Array& x) { return x - g(x) / (3. * x * x + 1.); }, ones_like(c));
                        })(a);
                      });
     }},
    {"collatz_i32_100k",
     [](Writer& w) {
       return written(
           w, {{{100000}, int32, 20000, 10002}},
           "def steps(n):\n    return lax.while_loop(lambda s: s[0] > 1, lambda s: (jnp.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), "
           "s[1] + 1), (n, 0))[1]\n"
           "return jax.vmap(steps)(a)",
           [](A a) {
             return vmap([](Array n) {
               return while_loop([](const std::pair<Array, Array>& s) { return s.first > 1; },
                                 [](const std::pair<Array, Array>& s) {
                                   return std::pair{where(remainder(s.first, 2) == 0, floor_divide(s.first, 2), 3 * s.first + 1),
                                                    s.second + 1};
                                 },
                                 std::pair{n, Array(0)})
                   .second;
             })(a);
           });
     }},
    {"lennard_jones_f32_600",
     [](Writer& w) {
       return written(w, {{{600, 3}, float32, 10}},
                      "d = a[:, None] - a[None]\nr = jnp.sum(d * d, -1) + jnp.eye(600)\ni = 1.0 / r\ns = i * i * i\n"
                      "g = jnp.where(r < 6.25, (24.0 * s * (2.0 * s - 1.0)) * i, 0.0)\nreturn jnp.sum(g[..., None] * d, 1)",
                      [](A a) {
                        const Array d = expand_dims(a, 1) - expand_dims(a, 0), r = sum(d * d, -1) + eye(600), i = 1. / r, s = i * i * i;
                        return sum(expand_dims(where(r < 6.25, (24. * s * (2. * s - 1.)) * i, 0.), -1) * d, 1);
                      });
     }},
    {"potential_grad_f64_300",
     [](Writer& w) {
       return written(w, {{{300, 3}, float64, 10}},
                      "def u(x):\n    d = x[:, None] - x[None]\n    r = jnp.sqrt(jnp.sum(d * d, -1) + 0.01)\n    return "
                      "jnp.sum(jnp.exp(-r) / r)\nreturn jax.grad(u)(a)",
                      [](A a) {
                        return grad([](Array x) {
                          const Array d = expand_dims(x, 1) - expand_dims(x, 0), r = sqrt(sum(d * d, -1) + 0.01);
                          return sum(exp(-r) / r);
                        })(a);
                      });
     }},
    {"cloud_in_cell_f32",
     [](Writer& w) {
       return written(w, {{{2, 100000}, float32, 60, 31.5}, {{64, 64}}},
                      "l = jnp.floor(a)\nt = a - l\ni = l.astype(jnp.int32)\nr = jnp.zeros((64, 64))\ne = 0.0\n"
                      "for p in range(2):\n    for q in range(2):\n        m = (t[0] if p else 1.0 - t[0]) * (t[1] if q else 1.0 - t[1])\n"
                      "        r = r.at[i[0] + p, i[1] + q].add(m)\n        e = e + m * b[i[0] + p, i[1] + q]\nreturn [r, e]",
                      [](A a, A b) {
                        const Array l = floor(a), t = a - l, i = f(l, int32);
                        Array r = zeros({64, 64}), e = zeros({100000});
                        for (int p = 0; p < 2; ++p)
                          for (int q = 0; q < 2; ++q) {
                            const Array m = (p ? t(0) : 1. - t(0)) * (q ? t(1) : 1. - t(1));
                            r = r.at(i(0) + p, i(1) + q).add(m);
                            e = e + m * b(i(0) + p, i(1) + q);
                          }
                        return Arrays{r, e};
                      });
     }},
    {"kmeans_step_f32",
     [](Writer& w) {
       return written(w, {{{10000, 8}}, {{20, 8}}},
                      "l = jnp.argmin(jnp.sum(jnp.square(a[:, None] - b[None]), -1), 1)\ns = jnp.zeros((20, 8)).at[l].add(a)\nn = "
                      "jnp.zeros(20).at[l].add(1.0)\n"
                      "return s / jnp.maximum(n, 1.0)[:, None]",
                      [](A a, A b) {
                        const Array l = argmin(sum(square(expand_dims(a, 1) - expand_dims(b, 0)), -1), 1), s = zeros({20, 8}).at(l).add(a),
                                    n = zeros({20}).at(l).add(1.);
                        return s / expand_dims(maximum(n, 1.), 1);
                      });
     }},
    {"nearest_five_f32",
     [](Writer& w) {
       return written(w, {{{500, 16}}, {{2000, 16}}},
                      "d = jnp.sum(a * a, 1)[:, None] - 2.0 * a @ b.T + jnp.sum(b * b, 1)\nreturn -lax.top_k(-d, 5)[0]", [](A a, A b) {
                        const Array d = expand_dims(sum(a * a, 1), 1) - matmul(2. * a, transpose(b)) + sum(b * b, 1);
                        return -top_k(-d, 5).values;
                      });
     }},
    {"page_rank_f32",
     [](Writer& w) {
       return written(
           w, {{{50000}, int32, 5000, 2500}, {{50000}, int32, 5000, 2500}},
           "d = jnp.maximum(jnp.zeros(5000).at[a].add(1.0), 1.0)\n"
           "return lax.fori_loop(0, 10, lambda i, p: 0.15 / 5000 + 0.85 * jnp.zeros(5000).at[b].add((p / d)[a]), jnp.full(5000, 1 / 5000))",
           [](A a, A b) {
             const Array d = maximum(zeros({5000}).at(a).add(1.), 1.);
             return times(10, full({5000}, 1. / 5000), [&](A p) { return 0.15 / 5000 + 0.85 * zeros({5000}).at(b).add((p / d)(a)); });
           });
     }},
    {"shortest_paths_f32_150",
     [](Writer& w) {
       return written(w, {{{150, 150}, float32, 1, 1}},
                      "return lax.fori_loop(0, 150, lambda k, d: jnp.minimum(d, d[:, k][:, None] + d[k][None]), a)", [](A a) {
                        return fori_loop(
                            0, 150,
                            [](const Array& k, const Array& d) { return minimum(d, expand_dims(d(slice(), k), 1) + expand_dims(d(k), 0)); },
                            a);
                      });
     }},
    {"edit_distance_i32",
     [](Writer& w) {
       return written(
           w, {{{300}, int32, 4}, {{200}, int32, 4}},
           "n = jnp.arange(201)\ndef row(p, x):\n    q = jnp.minimum(p[:-1] + (b != x), p[1:] + 1)\n"
           "    r = jnp.concatenate([p[:1] + 1, q]) - n\n    r = lax.cummin(r) + n\n    return r, None\nreturn lax.scan(row, n, a)[0]",
           [](A a, A b) {
             const Array n = arange(201);
             return scan(
                        [&](const Array& p, const Array& x) {
                          const Array q = minimum(p(slice(none, -1)) + f(b != x, int32), p(slice(1, none)) + 1);
                          return std::pair{cummin(concatenate({p(slice(0, 1)) + 1, q}) - n) + n, none};
                        },
                        n, a)
                 .first;
           });
     }},
    {"knapsack_i32",
     [](Writer& w) {
       return written(w, {{{100}, int32, 50, 26}, {{100}, int32, 100, 50}},
                      "def item(v, x):\n    s = jnp.arange(2000) - x[0]\n    return jnp.maximum(v, jnp.where(s >= 0, v[jnp.maximum(s, 0)] "
                      "+ x[1], 0)), None\n"
                      "return lax.scan(item, jnp.zeros(2000, jnp.int32), (a, b))[0]",
                      [](A a, A b) {
                        return scan(
                                   [](const Array& v, const std::pair<Array, Array>& x) {
                                     const Array s = arange(2000) - x.first;
                                     return std::pair{maximum(v, where(s >= 0, v(maximum(s, 0)) + x.second, 0)), none};
                                   },
                                   zeros({2000}, int32), std::pair{a, b})
                            .first;
                      });
     }},
    {"biquad_f32_64x2000",
     [](Writer& w) {
       return written(w, {{{2000, 64}}},
                      "def step(s, x):\n    y = 0.2 * x + s[0]\n    return (0.4 * x + 0.5 * y + s[1], 0.2 * x - 0.3 * y), y\n"
                      "z = jnp.zeros(64)\nreturn lax.scan(step, (z, z), a)[1]",
                      [](A a) {
                        const Array z = zeros({64});
                        return scan(
                                   [](const std::pair<Array, Array>& s, const Array& x) {
                                     const Array y = 0.2 * x + s.first;
                                     return std::pair{std::pair{0.4 * x + 0.5 * y + s.second, 0.2 * x - 0.3 * y}, y};
                                   },
                                   std::pair{z, z}, a)
                            .second;
                      });
     }},
    {"shooting_grad_f64",
     [](Writer& w) {
       return written(w, {{{100}, float64}},
                      "def cost(u):\n    def step(s, v):\n        x, y = s\n        y = y + 0.05 * (v - jnp.sin(x))\n        return (x + "
                      "0.05 * y, y), x * x + 0.1 * v * v\n"
                      "    return jnp.sum(lax.scan(step, (jnp.ones((), a.dtype), jnp.zeros((), a.dtype)), u)[1])\nreturn jax.grad(cost)(a)",
                      [](A a) {
                        return grad([](Array u) {
                          return sum(scan(
                                         [](const std::pair<Array, Array>& s, const Array& v) {
                                           const Array y = s.second + 0.05 * (v - sin(s.first));
                                           return std::pair{std::pair{s.first + 0.05 * y, y}, s.first * s.first + 0.1 * v * v};
                                         },
                                         std::pair{ones({}, float64), zeros({}, float64)}, u)
                                         .second);
                        })(a);
                      });
     }},
};

}  // namespace

std::span<const Row> science_rows() { return kRows; }

}  // namespace bench::random_programs
