// Fixed workloads of robotics, finance and networks.
#include <cmath>
#include <limits>

#include <weft/jnp.h>

#include "rows.h"
#include "written.h"

using namespace weft;

namespace bench::random_programs {
namespace {

const Row kRows[] = {
    {"ekf_range_bearing_f64",
     [](Writer& w) {
       return written(w, {{{500, 2}, float64, .2, 2}},
                      "F = jnp.eye(4).at[0, 2].set(0.1).at[1, 3].set(0.1)\nI = jnp.eye(4)\n"
                      "h = lambda x: jnp.stack([jnp.sqrt(x[0] * x[0] + x[1] * x[1] + 1e-6), jnp.arctan2(x[1], x[0])])\n"
                      "def step(s, z):\n    x, p = s\n    x = F @ x\n    p = F @ p @ F.T + 0.01 * I\n    H = jax.jacfwd(h)(x)\n"
                      "    q = H @ p @ H.T + 0.1 * jnp.eye(2)\n    k = jnp.linalg.solve(q, H @ p).T\n    x = x + k @ (z - h(x))\n"
                      "    p = (I - k @ H) @ p\n    return (x, p), x\n"
                      "return lax.scan(step, (jnp.ones(4, a.dtype), jnp.eye(4, dtype=a.dtype)), a)[1]",
                      [](A a) {
                        const Array F = eye(4, float64).at(0, 2).set(0.1).at(1, 3).set(0.1), I = eye(4, float64), Ft = transpose(F);
                        const auto h = [](Array x) { return stack({sqrt(x(0) * x(0) + x(1) * x(1) + 1e-6), atan2(x(1), x(0))}); };
                        return scan(
                                   [&](const std::pair<Array, Array>& s, const Array& z) {
                                     Array x = matmul(F, s.first), p = matmul(matmul(F, s.second), Ft) + 0.01 * I;
                                     const Array H = jacfwd(h)(x), q = matmul(matmul(H, p), transpose(H)) + 0.1 * eye(2, float64);
                                     const Array k = transpose(linalg::solve(q, matmul(H, p)));
                                     x = x + matmul(k, z - h(x));
                                     p = matmul(I - matmul(k, H), p);
                                     return std::pair{std::pair{x, p}, x};
                                   },
                                   std::pair{ones({4}, float64), eye(4, float64)}, a)
                            .second;
                      });
     }},
    {"riccati_f64_12x4",
     [](Writer& w) {
       return written(w, {{{12, 12}, float64, .5}, {{12, 4}, float64}},
                      "def step(p, _):\n    q = b.T @ p\n    k = jnp.linalg.solve(jnp.eye(4) + q @ b, q @ a)\n    return jnp.eye(12) + a.T "
                      "@ p @ (a - b @ k), k\nreturn lax.scan(step, jnp.eye(12, dtype=a.dtype), None, 200)",
                      [](A a, A b) {
                        const auto [p, k] = scan(
                            [&](const Array& p, const None&) {
                              const Array q = matmul(transpose(b), p), k = linalg::solve(eye(4, float64) + matmul(q, b), matmul(q, a));
                              return std::pair{eye(12, float64) + matmul(matmul(transpose(a), p), a - matmul(b, k)), k};
                            },
                            eye(12, float64), none, {.length = 200});
                        return Arrays{p, k};
                      });
     }},
    {"cartpole_rollouts_grad_f32",
     [](Writer& w) {
       return written(
           w, {{{4, 16}}, {{16}}, {{256, 4}, float32, .2}},
           "def step(s, p, v):\n    x, dx, t, dt = s\n    u = jnp.tanh(jnp.stack([x, dx, t, dt], -1) @ p) @ v\n"
           "    st, ct = jnp.sin(t), jnp.cos(t)\n    m = (u + 0.05 * dt * dt * st) / 1.1\n"
           "    ddt = (9.8 * st - ct * m) / (0.5 * (1.3333 - 0.1 * ct * ct / 1.1))\n    ddx = m - 0.05 * ddt * ct / 1.1\n"
           "    return x + 0.02 * dx, dx + 0.02 * ddx, t + 0.02 * dt, dt + 0.02 * ddt\n"
           "def loss(p, v):\n    def body(s, _):\n        s = step(s, p, v)\n        return s, jnp.mean(s[0] * s[0] + s[2] * s[2])\n"
           "    return jnp.sum(lax.scan(body, (c[:, 0], c[:, 1], c[:, 2], c[:, 3]), None, 100)[1])\nreturn jax.grad(loss, (0, 1))(a, b)",
           [](A a, A b, A c) {
             return gradients(
                 [&](const Arrays& p) {
                   return sum(scan(
                                  [&](const Arrays& s, const None&) {
                                    const Array u = matmul(tanh(matmul(stack(s, -1), p[0])), p[1]), st = sin(s[2]), ct = cos(s[2]);
                                    const Array m = (u + 0.05 * s[3] * s[3] * st) / 1.1;
                                    const Array ddt = (9.8 * st - ct * m) / (0.5 * (1.3333 - 0.1 * ct * ct / 1.1));
                                    const Array ddx = m - 0.05 * ddt * ct / 1.1;
                                    const Arrays n{s[0] + 0.02 * s[1], s[1] + 0.02 * ddx, s[2] + 0.02 * s[3], s[3] + 0.02 * ddt};
                                    return std::pair{n, mean(n[0] * n[0] + n[2] * n[2])};
                                  },
                                  Arrays{c(everything, 0), c(everything, 1), c(everything, 2), c(everything, 3)}, none, {.length = 100})
                                  .second);
                 },
                 {a, b});
           });
     }},
    {"seven_joints_jacobian_f32",
     [](Writer& w) {
       return written(w, {{{5000, 7}, float32, 3}},
                      "def link(t, al, d):\n    c, s, ca, sa = jnp.cos(t), jnp.sin(t), np.float32(np.cos(al)), np.float32(np.sin(al))\n"
                      "    return jnp.array([[c, -s * ca, s * sa, 0.1 * c], [s, c * ca, -c * sa, 0.1 * s], [0, sa, ca, d], [0, 0, 0, 1]])\n"
                      "def hand(q):\n    m = jnp.eye(4)\n    for i in range(7): m = m @ link(q[i], 0.3 * i - 1.0, 0.2 + 0.05 * i)\n"
                      "    return m[:3, 3]\nreturn jax.vmap(jax.jacfwd(hand))(a)",
                      [](A a) {
                        const auto hand = [](Array q) {
                          Array m = eye(4);
                          for (int i = 0; i < 7; ++i) {
                            const Array c = cos(q(i)), s = sin(q(i)), z = zeros({}), one = ones({});
                            const float ca = std::cos(0.3 * i - 1.0), sa = std::sin(0.3 * i - 1.0), d = 0.2 + 0.05 * i;
                            m = matmul(m, stack({stack({c, -s * ca, s * sa, 0.1 * c}), stack({s, c * ca, -c * sa, 0.1 * s}),
                                                 stack({z, one * sa, one * ca, one * d}), stack({z, z, z, one})}));
                          }
                          return m(slice(0, 3), 3);
                        };
                        return vmap(jacfwd(hand))(a);
                      });
     }},
    {"rigid_bodies_f32_1000",
     [](Writer& w) {
       return written(w, {{{1000, 4}}, {{1000, 3}}},
                      "I = jnp.array([1.0, 2.0, 3.0])\ndef step(i, s):\n    q, v = s\n    v = v + 0.01 * jnp.cross(I * v, v) / I\n"
                      "    u, r = q[:, :1], q[:, 1:]\n    q = q + 0.005 * jnp.concatenate([-jnp.sum(r * v, 1, keepdims=True), u * v + "
                      "jnp.cross(r, v)], 1)\n    return q / jnp.sqrt(jnp.sum(q * q, 1, keepdims=True)), v\n"
                      "return lax.fori_loop(0, 200, step, (a, b))",
                      [](A a, A b) {
                        const Array I = array({1.f, 2.f, 3.f});
                        const auto [q, v] = fori_loop(
                            0, 200,
                            [&](const Array&, const std::pair<Array, Array>& s) {
                              const Array v = s.second + 0.01 * cross(I * s.second, s.second) / I;
                              const Array u = s.first(everything, slice(0, 1)), r = s.first(everything, slice(1, none));
                              const Array q = s.first + 0.005 * concatenate({-sum(r * v, 1, keepdims), u * v + cross(r, v)}, 1);
                              return std::pair{q / sqrt(sum(q * q, 1, keepdims)), v};
                            },
                            std::pair{a, b});
                        return Arrays{q, v};
                      });
     }},
    {"icp_step_f32_1000",
     [](Writer& w) {
       return written(
           w, {{{1000, 3}}, {{1000, 3}}},
           "d = jnp.sum(a * a, 1)[:, None] + jnp.sum(b * b, 1) - 2.0 * a @ b.T\nq = b[jnp.argmin(d, 1)]\nx, y = a - jnp.mean(a, 0), q - "
           "jnp.mean(q, 0)\nu, s, v = jnp.linalg.svd(x.T @ y)\nr = (u @ v).T\nreturn a @ r.T + jnp.mean(q, 0) - r @ jnp.mean(a, 0)",
           [](A a, A b) {
             const Array d = expand_dims(sum(a * a, 1), 1) + sum(b * b, 1) - matmul(2. * a, transpose(b)), q = b(argmin(d, 1));
             const auto s = linalg::svd(matmul(transpose(a - mean(a, 0)), q - mean(q, 0)));
             const Array r = transpose(matmul(s.u, s.vh));
             return matmul(a, transpose(r)) + mean(q, 0) - matmul(r, mean(a, 0));
           });
     }},
    {"heston_f64_20000x50",
     [](Writer& w) {
       return written(w, {{{50, 20000}, float64, 3}, {{50, 20000}, float64, 3}},
                      "def step(s, z):\n    x, v = s\n    q = jnp.maximum(v, 0.0)\n    r = jnp.sqrt(q * 0.02)\n"
                      "    return (x - 0.01 * q + r * z[0], v + 0.04 * (0.04 - q) + 0.3 * r * (0.8 * z[1] - 0.6 * z[0])), None\n"
                      "x = lax.scan(step, (jnp.zeros(20000, a.dtype), jnp.full(20000, 0.04, a.dtype)), (a, b))[0][0]\n"
                      "return jnp.mean(jnp.maximum(jnp.exp(x) - 1.0, 0.0))",
                      [](A a, A b) {
                        const auto end =
                            scan(
                                [](const std::pair<Array, Array>& s, const std::pair<Array, Array>& z) {
                                  const Array q = maximum(s.second, 0.), r = sqrt(q * 0.02);
                                  return std::pair{std::pair{s.first - 0.01 * q + r * z.first,
                                                             s.second + 0.04 * (0.04 - q) + 0.3 * r * (0.8 * z.second - 0.6 * z.first)},
                                                   none};
                                },
                                std::pair{zeros({20000}, float64), full({20000}, 0.04, float64)}, std::pair{a, b})
                                .first;
                        return mean(maximum(exp(end.first) - 1., 0.));
                      });
     }},
    {"binomial_tree_f64_500",
     [](Writer& w) {
       return written(w, {{{64}, float64, 20, 100}},
                      "j = jnp.arange(501)\ndef price(s):\n    v = jnp.maximum(100.0 - s * jnp.exp(0.02 * (2.0 * j - 500)), 0.0)\n"
                      "    def back(i, v):\n        x = s * jnp.exp(0.02 * (2.0 * j - (499 - i)))\n"
                      "        return jnp.maximum(0.9999 * (0.51 * jnp.concatenate([v[1:], v[-1:]]) + 0.49 * v), 100.0 - x)\n"
                      "    return lax.fori_loop(0, 500, back, v)[0]\nreturn jax.vmap(price)(a)",
                      [](A a) {
                        return vmap([](Array s) {
                          const Array j = f(arange(501), float64);
                          const Array v = maximum(100. - s * exp(0.02 * (2. * j - 500.)), 0.);
                          return fori_loop(
                              0, 500,
                              [&](const Array& i, const Array& v) {
                                const Array x = s * exp(0.02 * (2. * j - f(499 - i, float64)));
                                return maximum(0.9999 * (0.51 * concatenate({v(slice(1, none)), v(slice(-1, none))}) + 0.49 * v), 100. - x);
                              },
                              v)(0);
                        })(a);
                      });
     }},
    {"garch_grad_f64_3000",
     [](Writer& w) {
       return written(
           w, {{{3}, float64, .1, .3}, {{3000}, float64}},
           "def nll(p):\n    def step(h, x):\n        h = p[0] + p[1] * x * x + p[2] * h\n        return h, jnp.log(h) + x * x / "
           "h\n    return jnp.sum(lax.scan(step, jnp.ones((), b.dtype), b)[1])\nreturn jax.value_and_grad(nll)(a)",
           [](A a, A b) {
             const auto [v, g] = value_and_grad([&](Array p) {
               return sum(scan(
                              [&](const Array& c, const Array& x) {
                                const Array h = p(0) + p(1) * x * x + p(2) * c;
                                return std::pair{h, log(h) + x * x / h};
                              },
                              ones({}, float64), b)
                              .second);
             })(a);
             return Arrays{v, g};
           });
     }},
    {"ewma_columns_f32_1000x500",
     [](Writer& w) {
       return written(w, {{{1000, 500}}},
                      "def op(x, y): return x[0] * y[0], y[0] * x[1] + y[1]\n"
                      "return lax.associative_scan(op, (jnp.full_like(a, 0.94), 0.06 * a))[1]",
                      [](A a) {
                        return associative_scan(
                                   [](const std::pair<Array, Array>& x, const std::pair<Array, Array>& y) {
                                     return std::pair{x.first * y.first, y.first * x.second + y.second};
                                   },
                                   std::pair{full(a.shape(), 0.94f), 0.06 * a})
                            .second;
                      });
     }},
    {"rolling_maximum_f32_100x5000",
     [](Writer& w) {
       return written(w, {{{100, 5000}}}, "return lax.reduce_window(a, -jnp.inf, lax.max, (1, 60), (1, 1), 'VALID')", [](A a) {
         return reduce_window(
             a, -std::numeric_limits<float>::infinity(), [](Array x, Array y) { return maximum(x, y); }, {1, 60}, {1, 1}, "VALID");
       });
     }},
    {"cross_section_ranks_f32",
     [](Writer& w) {
       return written(w, {{{400, 500}}, {{400, 500}}},
                      "r = jnp.argsort(jnp.argsort(a, 1), 1) / 499.0 - 0.5\nreturn jnp.sum(r * b, 1) / jnp.sum(jnp.abs(r), 1)",
                      [](A a, A b) {
                        const Array r = f(argsort(argsort(a, 1), 1), float32) / 499. - 0.5;
                        return sum(r * b, 1) / sum(abs(r), 1);
                      });
     }},
    {"projected_portfolio_f64_200",
     [](Writer& w) {
       return written(
           w, {{{300, 200}, float64, .1}, {{200}, float64, .02}},
           "S = a.T @ a / 300\ndef step(i, x):\n    x = jnp.maximum(x - 0.5 * (S @ x - 0.1 * b), 0.0)\n    return x / jnp.sum(x)\n"
           "return lax.fori_loop(0, 200, step, jnp.full(200, 1 / 200, a.dtype))",
           [](A a, A b) {
             const Array S = matmul(transpose(a), a) / 300.;
             return times(200, full({200}, 1. / 200, float64), [&](A u) {
               const Array x = maximum(u - 0.5 * (matmul(S, u) - 0.1 * b), 0.);
               return x / sum(x);
             });
           });
     }},
    {"implied_volatility_f64_20000",
     [](Writer& w) {
       return written(
           w, {{{20000}, float64, 10, 15}},
           "n = lambda x: 0.5 * (1.0 + jax.scipy.special.erf(x * 0.7071067811865476))\n"
           "def price(v):\n    d = (0.05 + 0.5 * v * v) / v\n    return 100.0 * n(d) - 95.0 * n(d - v)\n"
           "def step(i, v):\n    p, g = jax.jvp(price, (v,), (jnp.ones_like(v),))\n    return jnp.clip(v - (p - a) / g, 0.01, 3.0)\n"
           "return lax.fori_loop(0, 8, step, jnp.full_like(a, 0.3))",
           [](A a) {
             const auto n = [](A x) { return 0.5 * (1. + erf(x * 0.7071067811865476)); };
             const auto price = [&](Array v) {
               const Array d = (0.05 + 0.5 * v * v) / v;
               return 100. * n(d) - 95. * n(d - v);
             };
             return times(8, full(a.shape(), 0.3, float64), [&](A v) {
               const auto [p, g] = jvp(price, std::tuple{v}, std::tuple{ones_like(v)});
               return clip(v - (p - a) / g, 0.01, 3.);
             });
           });
     }},
    {"least_squares_monte_carlo_f64",
     [](Writer& w) {
       return written(w, {{{20, 10000}, float64, .3, 1}},
                      "def step(v, s):\n    x = jnp.stack([jnp.ones_like(s), s, s * s])\n    c = jnp.linalg.solve(x @ x.T + 1e-6 * "
                      "jnp.eye(3), x @ v)\n"
                      "    e = jnp.maximum(1.0 - s, 0.0)\n    return 0.99 * jnp.where(e > c @ x, e, v), None\n"
                      "return jnp.mean(lax.scan(step, jnp.maximum(1.0 - a[-1], 0.0), a[:-1], reverse=True)[0])",
                      [](A a) {
                        return mean(scan(
                                        [](const Array& v, const Array& s) {
                                          const Array x = stack({ones_like(s), s, s * s});
                                          const Array c = linalg::solve(matmul(x, transpose(x)) + 1e-6 * eye(3, float64), matmul(x, v));
                                          const Array e = maximum(1. - s, 0.);
                                          return std::pair{0.99 * where(e > matmul(c, x), e, v), none};
                                        },
                                        maximum(1. - a(-1), 0.), a(slice(none, -1)), {.reverse = true})
                                        .first);
                      });
     }},
    {"gru_grad_f32_t32",
     [](Writer& w) {
       return written(w, {{{64, 384}, float32, .2}, {{128, 384}, float32, .2}, {{32, 32, 64}}},
                      "def loss(a, b):\n    def cell(h, x):\n        p, q = jnp.split(x @ a, 3, 1), jnp.split(h @ b, 3, 1)\n"
                      "        r, z = jax.nn.sigmoid(p[0] + q[0]), jax.nn.sigmoid(p[1] + q[1])\n        n = jnp.tanh(p[2] + r * q[2])\n"
                      "        h = (1.0 - z) * n + z * h\n        return h, h\n"
                      "    return jnp.mean(jnp.square(lax.scan(cell, jnp.zeros((32, 128)), c)[1]))\nreturn jax.grad(loss, (0, 1))(a, b)",
                      [](A a, A b, A c) {
                        return gradients(
                            [&](const Arrays& w) {
                              return mean(square(scan(
                                                     [&](const Array& h, const Array& x) {
                                                       const Arrays p = split(matmul(x, w[0]), 3, 1), q = split(matmul(h, w[1]), 3, 1);
                                                       const Array r = nn::sigmoid(p[0] + q[0]), z = nn::sigmoid(p[1] + q[1]),
                                                                   n = tanh(p[2] + r * q[2]), y = (1. - z) * n + z * h;
                                                       return std::pair{y, y};
                                                     },
                                                     zeros({32, 128}), c)
                                                     .second));
                            },
                            {a, b});
                      });
     }},
    {"transformer_block_grad_f32",
     [](Writer& w) {
       return written(
           w, {{{2, 100, 192}}, {{192, 576}, float32, .2}, {{192, 192}, float32, .2}, {{192, 768}, float32, .2}, {{768, 192}, float32, .2}},
           "def ln(x):\n    m = jnp.mean(x, -1, keepdims=True)\n    return (x - m) * lax.rsqrt(jnp.var(x, -1, keepdims=True) + 1e-5)\n"
           "def loss(b, c, d, e):\n    q, k, v = jnp.split((ln(a) @ b).reshape(2, 100, 6, 96), 3, -1)\n"
           "    x = a + jax.nn.dot_product_attention(q, k, v, is_causal=True).reshape(2, 100, 192) @ c\n"
           "    x = x + jax.nn.gelu(ln(x) @ d) @ e\n    return jnp.mean(x * x)\nreturn jax.grad(loss, (0, 1, 2, 3))(b, c, d, e)",
           [](A a, A b, A c, A d, A e) {
             const auto ln = [](A x) { return (x - mean(x, -1, keepdims)) * rsqrt(var(x, -1, keepdims) + 1e-5); };
             return gradients(
                 [&](const Arrays& p) {
                   const Arrays q = split(reshape(matmul(ln(a), p[0]), {2, 100, 6, 96}), 3, -1);
                   Array x = a + matmul(reshape(nn::dot_product_attention(q[0], q[1], q[2], {.is_causal = true}), {2, 100, 192}), p[1]);
                   x = x + matmul(nn::gelu(matmul(ln(x), p[2])), p[3]);
                   return mean(x * x);
                 },
                 {b, c, d, e});
           });
     }},
    {"alibi_attention_f32_300",
     [](Writer& w) {
       return written(w, {{{8, 300, 32}}, {{8, 300, 32}}, {{8, 300, 32}}},
                      "i = jnp.arange(300)\nm = (i[None] - i[:, None]) * (2.0 ** -(1.0 + jnp.arange(8)))[:, None, None]\n"
                      "s = jnp.einsum('hqd,hkd->hqk', a, b) / np.sqrt(32.0) + m\ns = jnp.where(i[None] <= i[:, None], s, -jnp.inf)\n"
                      "return jnp.einsum('hqk,hkd->hqd', jax.nn.softmax(s, -1), c)",
                      [](A a, A b, A c) {
                        const Array i = arange(300), row = expand_dims(i, 1);
                        const Array m = f(i - row, float32) * reshape(exp2(-(1. + f(arange(8), float32))), {8, 1, 1});
                        const Array s = einsum("hqd,hkd->hqk", a, b) / std::sqrt(32.0) + m;
                        return einsum("hqk,hkd->hqd", nn::softmax(where(i <= row, s, -std::numeric_limits<double>::infinity()), -1), c);
                      });
     }},
    {"cross_attention_f32_64x500",
     [](Writer& w) {
       return written(w, {{{2, 64, 4, 32}}, {{2, 500, 4, 32}}, {{2, 500, 4, 32}}}, "return jax.nn.dot_product_attention(a, b, c)",
                      [](A a, A b, A c) { return nn::dot_product_attention(a, b, c); });
     }},
    {"mlp_grad_f16_b128",
     [](Writer& w) {
       return written(w, {{{128, 256}, float16}, {{256, 512}, float16, .2}, {{512, 128}, float16, .2}},
                      "return jax.grad(lambda b, c: jnp.mean(jnp.square((jax.nn.gelu(a @ b) @ c).astype(jnp.float32))), (0, 1))(b, c)",
                      [](A a, A b, A c) {
                        return gradients([&](const Arrays& p) { return mean(square(f(matmul(nn::gelu(matmul(a, p[0])), p[1]), float32))); },
                                         {b, c});
                      });
     }},
    {"conv_5x5_stride2_grad_nhwc",
     [](Writer& w) {
       return written(
           w, {{{8, 31, 31, 12}}, {{5, 5, 12, 20}, float32, .3}},
           "k = lambda a, b: lax.conv_general_dilated(a, b, (2, 2), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC'))\n"
           "return jax.grad(lambda a, b: jnp.sum(jnp.sin(k(a, b))), (0, 1))(a, b)",
           [](A a, A b) {
             return gradients(
                 [](const Arrays& p) {
                   return sum(sin(conv_general_dilated(p[0], p[1], {2, 2}, "SAME", {.dimension_numbers = {"NHWC", "HWIO", "NHWC"}})));
                 },
                 {a, b});
           });
     }},
    {"conv_transpose_nhwc",
     [](Writer& w) {
       return written(w, {{{4, 24, 24, 32}}, {{4, 4, 32, 16}, float32, .3}},
                      "return lax.conv_transpose(a, b, (2, 2), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC'))",
                      [](A a, A b) { return conv_transpose(a, b, {2, 2}, "SAME", {.dimension_numbers = {"NHWC", "HWIO", "NHWC"}}); });
     }},
    {"conv_1d_grad_f32",
     [](Writer& w) {
       return written(w, {{{16, 500, 16}}, {{9, 16, 24}, float32, .3}},
                      "k = lambda a, b: lax.conv_general_dilated(a, b, (1,), 'SAME', dimension_numbers=('NWC', 'WIO', 'NWC'))\n"
                      "return jax.grad(lambda a, b: jnp.sum(jnp.square(jax.nn.relu(k(a, b)))), (0, 1))(a, b)",
                      [](A a, A b) {
                        return gradients(
                            [](const Arrays& p) {
                              return sum(square(
                                  nn::relu(conv_general_dilated(p[0], p[1], {1}, "SAME", {.dimension_numbers = {"NWC", "WIO", "NWC"}}))));
                            },
                            {a, b});
                      });
     }},
    {"graph_layer_grad_f32",
     [](Writer& w) {
       return written(w, {{{2000, 32}}, {{32, 32}, float32, .4}, {{16000}, int32, 2000, 1000}, {{16000}, int32, 2000, 1000}},
                      "def loss(a, b):\n    m = jax.nn.relu(a @ b)[c]\n    return jnp.mean(jnp.square(jax.ops.segment_sum(m, d, 2000)))\n"
                      "return jax.grad(loss, (0, 1))(a, b)",
                      [](A a, A b, A c, A d) {
                        return gradients(
                            [&](const Arrays& p) { return mean(square(segment_sum(nn::relu(matmul(p[0], p[1]))(c), d, 2000))); }, {a, b});
                      });
     }},
    {"edge_softmax_f32",
     [](Writer& w) {
       return written(w, {{{40000}, float32, 6}, {{40000}, int32, 3000, 1500}},
                      "m = jax.ops.segment_max(a, b, 3000)\ne = jnp.exp(a - m[b])\nreturn e / jax.ops.segment_sum(e, b, 3000)[b]",
                      [](A a, A b) {
                        const Array m = segment_max(a, b, 3000), e = exp(a - m(b));
                        return e / segment_sum(e, b, 3000)(b);
                      });
     }},
    {"embedding_bag_grad_f32",
     [](Writer& w) {
       return written(w, {{{5000, 48}}, {{1000, 20}, int32, 5000, 2500}},
                      "return jax.grad(lambda a: jnp.sum(jnp.tanh(jnp.mean(a[b], 1))))(a)",
                      [](A a, A b) { return grad([&](Array a) { return sum(tanh(mean(a(b), 1))); })(a); });
     }},
    {"vocabulary_loss_grad_bf16",
     [](Writer& w) {
       return written(w, {{{64, 128}, bfloat16}, {{128, 8000}, bfloat16, .3}, {{64}, int32, 8000, 4000}},
                      "def loss(a, b):\n    z = (a @ b).astype(jnp.float32)\n    return jnp.mean(jax.nn.logsumexp(z, 1) - "
                      "jnp.take_along_axis(z, c[:, None], 1)[:, 0])\nreturn jax.grad(loss, (0, 1))(a, b)",
                      [](A a, A b, A c) {
                        return gradients(
                            [&](const Arrays& p) {
                              const Array z = f(matmul(p[0], p[1]), float32);
                              return mean(logsumexp(z, 1) - take_along_axis(z, expand_dims(c, 1), 1)(everything, 0));
                            },
                            {a, b});
                      });
     }},
    {"sample_top_40_of_32000",
     [](Writer& w) {
       return written(
           w, {{{8, 32000}, float32, 20}},
           "v, i = lax.top_k(a, 40)\nj = jax.random.categorical(jax.random.key(1), v)\nreturn jnp.take_along_axis(i, j[:, None], "
           "1)",
           [](A a) {
             const auto top = top_k(a, 40);
             return take_along_axis(top.indices, expand_dims(random::categorical(random::key(1), top.values), 1), 1);
           });
     }},
    {"bilinear_form_f32",
     [](Writer& w) {
       return written(w, {{{500, 24}}, {{24, 20, 16}}, {{500, 16}}}, "return jnp.einsum('bi,ijk,bk->bj', a, b, c)",
                      [](A a, A b, A c) { return einsum("bi,ijk,bk->bj", a, b, c); });
     }},
    {"lora_f32",
     [](Writer& w) {
       return written(w, {{{200, 256}}, {{256, 256}}, {{256, 8}}, {{8, 256}}}, "return a @ b + (a @ c) @ d * 0.5",
                      [](A a, A b, A c, A d) { return matmul(a, b) + matmul(matmul(a, c), d) * 0.5; });
     }},
    {"tensor_chain_f64",
     [](Writer& w) {
       return written(w, {{{20, 30, 40}, float64}, {{40, 25}, float64}, {{30, 25, 15}, float64}},
                      "return jnp.einsum('abc,cd,bde->ae', a, b, c)", [](A a, A b, A c) { return einsum("abc,cd,bde->ae", a, b, c); });
     }},
    {"quantized_matmul_i8_dequantized",
     [](Writer& w) {
       return written(w, {{{100, 300}, int8, 200}, {{300, 200}, int8, 200}, {{200}, float32, .1}},
                      "return lax.dot_general(a, b, (((1,), (0,)), ((), ())), preferred_element_type=jnp.int32).astype(jnp.float32) * c",
                      [](A a, A b, A c) {
                        return f(dot_general(a, b, {.contracting = {{{1}, {0}}}}, {.preferred_element_type = int32}), float32) * c;
                      });
     }},
    {"variational_autoencoder_grad_f32",
     [](Writer& w) {
       return written(
           w, {{{64, 196}}, {{196, 32}, float32, .2}, {{16, 196}, float32, .2}},
           "e = jax.random.normal(jax.random.key(2), (64, 16))\ndef loss(b, c):\n    h = a @ b\n    m, s = h[:, :16], h[:, 16:]\n"
           "    y = jax.nn.sigmoid((m + jnp.exp(0.5 * s) * e) @ c)\n"
           "    return jnp.mean(jnp.sum(jnp.square(y - a), 1)) - 0.5 * jnp.mean(jnp.sum(1.0 + s - m * m - jnp.exp(s), 1))\n"
           "return jax.grad(loss, (0, 1))(b, c)",
           [](A a, A b, A c) {
             const Array e = random::normal(random::key(2), {64, 16});
             return gradients(
                 [&](const Arrays& p) {
                   const Array h = matmul(a, p[0]), m = h(everything, slice(0, 16)), s = h(everything, slice(16, none));
                   const Array y = nn::sigmoid(matmul(m + exp(0.5 * s) * e, p[1]));
                   return mean(sum(square(y - a), 1)) - 0.5 * mean(sum(1. + s - m * m - exp(s), 1));
                 },
                 {b, c});
           });
     }},
    {"ctc_forward_f32",
     [](Writer& w) {
       return written(w, {{{100, 16, 41}, float32, 4}},
                      "def step(c, x):\n    s = jnp.pad(c[:, :-1], ((0, 0), (1, 0)), constant_values=-1e9)\n"
                      "    t = jnp.pad(c[:, :-2], ((0, 0), (2, 0)), constant_values=-1e9)\n"
                      "    m = jnp.maximum(jnp.maximum(c, s), t)\n"
                      "    return m + jnp.log(jnp.exp(c - m) + jnp.exp(s - m) + jnp.exp(t - m)) + x, None\n"
                      "return lax.scan(step, a[0], a[1:])[0]",
                      [](A a) {
                        return scan(
                                   [](const Array& c, const Array& x) {
                                     const Array s = pad(c(everything, slice(none, -1)), {{0, 0}, {1, 0}}, -1e9),
                                                 t = pad(c(everything, slice(none, -2)), {{0, 0}, {2, 0}}, -1e9);
                                     const Array m = maximum(maximum(c, s), t);
                                     return std::pair{m + log(exp(c - m) + exp(s - m) + exp(t - m)) + x, none};
                                   },
                                   a(0), a(slice(1, none)))
                            .first;
                      });
     }},
};

}  // namespace

std::span<const Row> model_rows() { return kRows; }

}  // namespace bench::random_programs
