// Fixed workloads of networks: norms, losses, recurrent and convolutional layers in several layouts, forward and backward, optimiser steps,
// derivatives of higher order.
#include <cmath>
#include <limits>

#include "rows.h"
#include "written.h"

using namespace weft;

namespace bench::random_programs {
namespace {

Array conv2d(A x, A k, const char* layout, const char* kernel, Shape strides = {1, 1}, int groups = 1) {
  return conv_general_dilated(x, k, strides, "SAME", {.dimension_numbers = {layout, kernel, layout}, .feature_group_count = groups});
}

Array lstm_loss(A wx, A wh, A b, A xs) {
  const auto n = wh.shape()[0];
  const Array start = zeros({xs.shape()[1], n}, xs.dtype());
  const auto [last, ys] = scan(
      [&](const std::pair<Array, Array>& hc, const Array& x) {
        const Array g = matmul(x, wx) + matmul(hc.first, wh) + b;
        const std::vector<Array> p = split(g, 4, 1);
        const Array c = nn::sigmoid(p[1]) * hc.second + nn::sigmoid(p[0]) * tanh(p[2]), h = nn::sigmoid(p[3]) * tanh(c);
        return std::pair{std::pair{h, c}, h};
      },
      std::pair{start, start}, xs);
  return sum(square(ys));
}
const char* const kLstm =
    "def loss(wx, wh, b, xs):\n"
    "    def cell(hc, x):\n"
    "        p = jnp.split(x @ wx + hc[0] @ wh + b, 4, 1)\n"
    "        c = jax.nn.sigmoid(p[1]) * hc[1] + jax.nn.sigmoid(p[0]) * jnp.tanh(p[2])\n"
    "        h = jax.nn.sigmoid(p[3]) * jnp.tanh(c)\n"
    "        return (h, c), h\n"
    "    s = jnp.zeros((xs.shape[1], wh.shape[0]), xs.dtype)\n"
    "    return jnp.sum(jnp.square(lax.scan(cell, (s, s), xs)[1]))\n";

Array mlp_loss(const Arrays& p, A x, A y) {
  Array h = x;
  for (std::size_t i = 0; i + 2 < p.size(); i += 2) h = tanh(matmul(h, p[i]) + p[i + 1]);
  return mean(square(matmul(h, p[p.size() - 2]) + p.back() - y));
}
const char* const kMlp =
    "def loss(p, x, y):\n"
    "    h = x\n"
    "    for i in range(0, len(p) - 2, 2): h = jnp.tanh(h @ p[i] + p[i + 1])\n"
    "    return jnp.mean(jnp.square(h @ p[-2] + p[-1] - y))\n";

const Row kRows[] = {
    {"layer_norm_f16_1000x512",
     [](Writer& w) {
       return written(w, {{{1000, 512}, float16}, {{512}, float16, 1, 1}, {{512}, float16}},
                      "x = a.astype(jnp.float32)\nm = jnp.mean(x, -1, keepdims=True)\nv = jnp.mean(jnp.square(x - m), -1, keepdims=True)\n"
                      "return ((x - m) * lax.rsqrt(v + 1e-5)).astype(jnp.float16) * b + c",
                      [](A a, A b, A c) {
                        const Array x = f(a, float32), m = mean(x, -1, keepdims), v = mean(square(x - m), -1, keepdims);
                        return f((x - m) * rsqrt(v + 1e-5), float16) * b + c;
                      });
     }},
    {"rms_norm_grad_bf16",
     [](Writer& w) {
       return written(w, {{{1000, 768}, bfloat16}, {{768}, bfloat16, 1, 1}},
                      "def loss(a, b):\n    x = a.astype(jnp.float32)\n"
                      "    y = (x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5)).astype(jnp.bfloat16) * b\n"
                      "    return jnp.sum(jnp.square(y.astype(jnp.float32)))\n"
                      "return jax.grad(loss, (0, 1))(a, b)",
                      [](A a, A b) {
                        return gradients(
                            [](const Arrays& p) {
                              const Array x = f(p[0], float32);
                              const Array y = f(x * rsqrt(mean(x * x, -1, keepdims) + 1e-5), bfloat16) * p[1];
                              return sum(square(f(y, float32)));
                            },
                            {a, b});
                      });
     }},
    {"batch_norm_grad_nhwc",
     [](Writer& w) {
       return written(w, {{{16, 28, 28, 32}}, {{32}, float32, 1, 1}, {{32}}},
                      "def loss(a, b, c):\n    m = jnp.mean(a, (0, 1, 2))\n    v = jnp.var(a, (0, 1, 2))\n"
                      "    return jnp.sum(jnp.tanh((a - m) * lax.rsqrt(v + 1e-5) * b + c))\nreturn jax.grad(loss, (0, 1, 2))(a, b, c)",
                      [](A a, A b, A c) {
                        return gradients(
                            [](const Arrays& p) {
                              const Array m = mean(p[0], Axis{0, 1, 2}), v = var(p[0], Axis{0, 1, 2});
                              return sum(tanh((p[0] - m) * rsqrt(v + 1e-5) * p[1] + p[2]));
                            },
                            {a, b, c});
                      });
     }},
    {"batch_norm_nchw",
     [](Writer& w) {
       return written(w, {{{16, 32, 28, 28}}, {{32, 1, 1}, float32, 1, 1}, {{32, 1, 1}}},
                      "m = jnp.mean(a, (0, 2, 3), keepdims=True)\nv = jnp.var(a, (0, 2, 3), keepdims=True)\n"
                      "return jax.nn.relu((a - m) * lax.rsqrt(v + 1e-5) * b + c)",
                      [](A a, A b, A c) {
                        const Array m = mean(a, Axis{0, 2, 3}, keepdims), v = var(a, Axis{0, 2, 3}, keepdims);
                        return nn::relu((a - m) * rsqrt(v + 1e-5) * b + c);
                      });
     }},
    {"group_norm_grad_nchw",
     [](Writer& w) {
       return written(w, {{{8, 32, 28, 28}}},
                      "def loss(a):\n    x = a.reshape(8, 8, 4, 28, 28)\n    m = jnp.mean(x, (2, 3, 4), keepdims=True)\n"
                      "    v = jnp.var(x, (2, 3, 4), keepdims=True)\n    return jnp.sum(jnp.sin((x - m) * lax.rsqrt(v + 1e-5)))\n"
                      "return jax.grad(loss)(a)",
                      [](A a) {
                        return grad([](Array a) {
                          const Array x = reshape(a, {8, 8, 4, 28, 28}), m = mean(x, Axis{2, 3, 4}, keepdims),
                                      v = var(x, Axis{2, 3, 4}, keepdims);
                          return sum(sin((x - m) * rsqrt(v + 1e-5)));
                        })(a);
                      });
     }},
    {"cross_entropy_grad_f32",
     [](Writer& w) {
       return written(w, {{{300, 5003}, float32, 8}, {{300}, int32, 5000, 2500}},
                      "return jax.grad(lambda a: -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(a), b[:, None], 1)))(a)", [](A a, A b) {
                        return grad([&](Array a) { return -mean(take_along_axis(nn::log_softmax(a), expand_dims(b, 1), 1)); })(a);
                      });
     }},
    {"cross_entropy_bf16",
     [](Writer& w) {
       return written(w, {{{400, 5003}, bfloat16, 8}, {{400}, int32, 5000, 2500}},
                      "return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(a.astype(jnp.float32)), b[:, None], 1))",
                      [](A a, A b) { return -mean(take_along_axis(nn::log_softmax(f(a, float32)), expand_dims(b, 1), 1)); });
     }},
    {"label_smoothing_grad_f32",
     [](Writer& w) {
       return written(
           w, {{{2000, 101}, float32, 8}, {{2000}, int32, 101, 50}},
           "t = jax.nn.one_hot(b, 101) * 0.9 + 0.1 / 101\nreturn jax.grad(lambda a: -jnp.mean(jnp.sum(t * jax.nn.log_softmax(a), 1)))(a)",
           [](A a, A b) {
             const Array t = nn::one_hot(b, 101) * 0.9 + 0.1 / 101;
             return grad([&](Array a) { return -mean(sum(t * nn::log_softmax(a), 1)); })(a);
           });
     }},
    {"contrastive_grad_f32",
     [](Writer& w) {
       return written(
           w, {{{256, 128}}, {{256, 128}}},
           "def loss(a, b):\n    a = a / jnp.linalg.norm(a, axis=1, keepdims=True)\n    b = b / jnp.linalg.norm(b, axis=1, keepdims=True)\n"
           "    s = a @ b.T * 10.0\n    return -jnp.mean(jnp.diagonal(jax.nn.log_softmax(s, 1)))\nreturn jax.grad(loss, (0, 1))(a, b)",
           [](A a, A b) {
             return gradients(
                 [](const Arrays& p) {
                   const Array a = p[0] / linalg::norm(p[0], none, 1, true), b = p[1] / linalg::norm(p[1], none, 1, true);
                   return -mean(diagonal(nn::log_softmax(matmul(a, transpose(b)) * 10., 1)));
                 },
                 {a, b});
           });
     }},
    {"lstm_grad_f32_t40",
     [](Writer& w) {
       static const std::string text = std::string(kLstm) + "return jax.grad(loss, (0, 1, 2))(a, b, c, d)";
       return written(
           w, {{{48, 400}, float32, .2}, {{100, 400}, float32, .2}, {{400}}, {{40, 16, 48}}}, text.c_str(),
           [](A a, A b, A c, A d) { return gradients([&](const Arrays& p) { return lstm_loss(p[0], p[1], p[2], d); }, {a, b, c}); });
     }},
    {"lstm_bf16_t30",
     [](Writer& w) {
       static const std::string text = std::string(kLstm) + "return loss(a, b, c, d)";
       return written(w, {{{64, 512}, bfloat16, .2}, {{128, 512}, bfloat16, .2}, {{512}, bfloat16}, {{30, 32, 64}, bfloat16}}, text.c_str(),
                      [](A a, A b, A c, A d) { return lstm_loss(a, b, c, d); });
     }},
    {"rnn_b1_f32_t500",
     [](Writer& w) {
       return written(w, {{{32, 32}, float32, .3}, {{500, 32}}},
                      "return lax.scan(lambda h, x: (jnp.tanh(h @ a + x),) * 2, jnp.zeros(32), b)[1]", [](A a, A b) {
                        return scan(
                                   [&](const Array& h, const Array& x) {
                                     const Array y = tanh(matmul(h, a) + x);
                                     return std::pair{y, y};
                                   },
                                   zeros({32}), b)
                            .second;
                      });
     }},
    {"conv_grad_nchw_stride2",
     [](Writer& w) {
       return written(
           w, {{{8, 16, 32, 32}}, {{32, 16, 3, 3}, float32, .5}},
           "def loss(a, b): return jnp.sum(jnp.square(jax.nn.relu(lax.conv_general_dilated(a, b, (2, 2), 'SAME'))))\nreturn jax.grad(loss, "
           "(0, 1))(a, b)",
           [](A a, A b) {
             return gradients([](const Arrays& p) { return sum(square(nn::relu(conv2d(p[0], p[1], "NCHW", "OIHW", {2, 2})))); }, {a, b});
           });
     }},
    {"depthwise_grad_nhwc",
     [](Writer& w) {
       return written(
           w, {{{8, 32, 32, 32}}, {{3, 3, 1, 32}, float32, .5}},
           "def loss(a, b): return jnp.sum(jnp.square(lax.conv_general_dilated(a, b, (1, 1), 'SAME', dimension_numbers=('NHWC', 'HWIO', "
           "'NHWC'), "
           "feature_group_count=32)))\nreturn jax.grad(loss, (0, 1))(a, b)",
           [](A a, A b) {
             return gradients([](const Arrays& p) { return sum(square(conv2d(p[0], p[1], "NHWC", "HWIO", {1, 1}, 32))); }, {a, b});
           });
     }},
    {"depthwise_nchw_5x5",
     [](Writer& w) {
       return written(w, {{{4, 48, 40, 40}}, {{48, 1, 5, 5}, float32, .5}},
                      "return lax.conv_general_dilated(a, b, (1, 1), 'SAME', feature_group_count=48)",
                      [](A a, A b) { return conv2d(a, b, "NCHW", "OIHW", {1, 1}, 48); });
     }},
    {"pointwise_conv_bf16",
     [](Writer& w) {
       return written(w, {{{8, 28, 28, 64}, bfloat16}, {{1, 1, 64, 96}, bfloat16, .3}},
                      "return jax.nn.relu(lax.conv_general_dilated(a, b, (1, 1), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC')))",
                      [](A a, A b) { return nn::relu(conv2d(a, b, "NHWC", "HWIO")); });
     }},
    {"conv_f64_nhwc",
     [](Writer& w) {
       return written(w, {{{2, 30, 30, 16}, float64}, {{3, 3, 16, 24}, float64, .3}},
                      "return lax.conv_general_dilated(a, b, (1, 1), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC'))",
                      [](A a, A b) { return conv2d(a, b, "NHWC", "HWIO"); });
     }},
    {"causal_dilated_conv_1d",
     [](Writer& w) {
       return written(
           w, {{{8, 1000, 32}}, {{3, 32, 32}, float32, .3}},
           "return jnp.tanh(lax.conv_general_dilated(a, b, (1,), [(8, 0)], rhs_dilation=(4,), dimension_numbers=('NWC', 'WIO', 'NWC')))",
           [](A a, A b) {
             return tanh(conv_general_dilated(a, b, {1}, {{8, 0}}, {.rhs_dilation = {4}, .dimension_numbers = {"NWC", "WIO", "NWC"}}));
           });
     }},
    {"conv_3d_f32",
     [](Writer& w) {
       return written(
           w, {{{2, 16, 16, 16, 8}}, {{3, 3, 3, 8, 16}, float32, .3}},
           "return lax.conv_general_dilated(a, b, (1, 1, 1), 'SAME', dimension_numbers=('NDHWC', 'DHWIO', 'NDHWC'))",
           [](A a, A b) { return conv_general_dilated(a, b, {1, 1, 1}, "SAME", {.dimension_numbers = {"NDHWC", "DHWIO", "NDHWC"}}); });
     }},
    {"max_pool_grad_nhwc",
     [](Writer& w) {
       return written(
           w, {{{16, 28, 28, 24}}},
           "return jax.grad(lambda a: jnp.sum(jnp.square(lax.reduce_window(a, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), 'SAME'))))(a)",
           [](A a) { return grad([](Array a) { return sum(square(max_pool(a, {3, 3}, {.strides = {2, 2}, .padding = "SAME"}))); })(a); });
     }},
    {"average_pool_grad_nhwc",
     [](Writer& w) {
       return written(
           w, {{{16, 28, 28, 24}}},
           "return jax.grad(lambda a: jnp.sum(jnp.sin(lax.reduce_window(a, 0.0, lax.add, (1, 2, 2, 1), (1, 2, 2, 1), 'VALID') * 0.25)))(a)",
           [](A a) { return grad([](Array a) { return sum(sin(avg_pool(a, {2, 2}, {.strides = {2, 2}}))); })(a); });
     }},
    {"max_pool_nchw",
     [](Writer& w) {
       return written(w, {{{16, 24, 56, 56}}}, "return lax.reduce_window(a, -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), 'VALID')",
                      [](A a) {
                        return reduce_window(
                            a, -std::numeric_limits<float>::infinity(), [](Array x, Array y) { return maximum(x, y); }, {1, 1, 2, 2},
                            {1, 1, 2, 2}, "VALID");
                      });
     }},
    {"residual_block_grad_nhwc",
     [](Writer& w) {
       return written(
           w, {{{8, 16, 16, 32}}, {{3, 3, 32, 32}, float32, .2}, {{3, 3, 32, 32}, float32, .2}},
           "k = lambda x, y: lax.conv_general_dilated(x, y, (1, 1), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC'))\n"
           "def loss(b, c): return jnp.mean(jnp.square(jax.nn.relu(a + k(jax.nn.relu(k(a, b)), c))))\nreturn jax.grad(loss, (0, 1))(b, c)",
           [](A a, A b, A c) {
             return gradients(
                 [&](const Arrays& p) {
                   return mean(square(nn::relu(a + conv2d(nn::relu(conv2d(a, p[0], "NHWC", "HWIO")), p[1], "NHWC", "HWIO"))));
                 },
                 {b, c});
           });
     }},
    {"adam_step_f32_1M",
     [](Writer& w) {
       return written(
           w, {{{1 << 20}}, {{1 << 20}}, {{1 << 20}, float32, .1}, {{1 << 20}, float32, .1, .06}},
           "m = 0.9 * c + 0.1 * b\nv = 0.999 * d + 0.001 * b * b\nreturn [a - 1e-3 * (m / 0.1) / (jnp.sqrt(v / 0.001) + 1e-8), m, v]",
           [](A a, A b, A c, A d) {
             const Array m = 0.9 * c + 0.1 * b, v = 0.999 * d + 0.001 * b * b;
             return Arrays{a - 1e-3 * (m / 0.1) / (sqrt(v / 0.001) + 1e-8), m, v};
           });
     }},
    {"clipped_gradients_f32",
     [](Writer& w) {
       return written(
           w, {{{500, 400}}, {{400}}, {{400, 300}}},
           "n = jnp.sqrt(jnp.sum(a * a) + jnp.sum(b * b) + jnp.sum(c * c))\ns = jnp.minimum(1.0, 5.0 / n)\nreturn [a * s, b * s, c * s]",
           [](A a, A b, A c) {
             const Array s = minimum(1., 5. / sqrt(sum(a * a) + sum(b * b) + sum(c * c)));
             return Arrays{a * s, b * s, c * s};
           });
     }},
    {"per_example_norms_f32",
     [](Writer& w) {
       static const std::string text =
           std::string(kMlp) +
           "def one(x, y):\n    g = jax.grad(loss)([a, b, c, d], x, y)\n    return sum(jnp.sum(z * z) for z in g)\n"
           "return jax.vmap(one)(e[:, :20], e[:, 20:])";
       return written(w, {{{20, 50}, float32, .5}, {{50}}, {{50, 5}, float32, .5}, {{5}}, {{500, 25}}}, text.c_str(),
                      [](A a, A b, A c, A d, A e) {
                        return vmap([&](Array x, Array y) {
                          const Arrays g = gradients([&](const Arrays& p) { return mlp_loss(p, x, y); }, {a, b, c, d});
                          return sum(g[0] * g[0]) + sum(g[1] * g[1]) + sum(g[2] * g[2]) + sum(g[3] * g[3]);
                        })(e(everything, slice(0, 20)), e(everything, slice(20, none)));
                      });
     }},
    {"hessian_vector_mlp_f32",
     [](Writer& w) {
       static const std::string text =
           std::string(kMlp) + "g = jax.grad(lambda p: loss(p, e[:, :20], e[:, 20:]))\np = [a, b, c, d]\nreturn jax.jvp(g, (p,), (p,))[1]";
       return written(
           w, {{{20, 60}, float32, .5}, {{60}}, {{60, 5}, float32, .5}, {{5}}, {{128, 25}}}, text.c_str(), [](A a, A b, A c, A d, A e) {
             const Arrays p{a, b, c, d};
             const auto g = grad([&](const Arrays& p) { return mlp_loss(p, e(everything, slice(0, 20)), e(everything, slice(20, none))); });
             return jvp(g, std::tuple{p}, std::tuple{p}).second;
           });
     }},
    {"jacobian_mlp_batch_f64",
     [](Writer& w) {
       return written(w, {{{6, 32}, float64}, {{32, 4}, float64}, {{300, 6}, float64}},
                      "return jax.vmap(jax.jacrev(lambda x: jnp.tanh(jnp.sin(x @ a) @ b)))(c)",
                      [](A a, A b, A c) { return vmap(jacrev([&](Array x) { return tanh(matmul(sin(matmul(x, a)), b)); }))(c); });
     }},
    {"laplacian_mlp_f32",
     [](Writer& w) {
       return written(w, {{{3, 32}}, {{32, 1}}, {{400, 3}}},
                      "u = lambda x: jnp.sum(jnp.tanh(x @ a) @ b)\nreturn jax.vmap(lambda x: jnp.trace(jax.hessian(u)(x)))(c)",
                      [](A a, A b, A c) {
                        const auto u = [&](Array x) { return sum(matmul(tanh(matmul(x, a)), b)); };
                        return vmap([&](Array x) { return trace(hessian(u)(x)); })(c);
                      });
     }},
    {"mixture_of_experts_f32",
     [](Writer& w) {
       return written(w, {{{512, 64}}, {{64, 8}}, {{8, 64, 64}, float32, .3}},
                      "v, i = lax.top_k(a @ b, 2)\ng = jnp.sum(jax.nn.one_hot(i, 8) * jax.nn.softmax(v)[..., None], 1)\n"
                      "return jnp.einsum('te,ted->td', g, jax.nn.relu(jnp.einsum('ti,eid->ted', a, c)))",
                      [](A a, A b, A c) {
                        const auto top = top_k(matmul(a, b), 2);
                        const Array g = sum(nn::one_hot(top.indices, 8) * expand_dims(nn::softmax(top.values), -1), 1);
                        return einsum("te,ted->td", g, nn::relu(einsum("ti,eid->ted", a, c)));
                      });
     }},
    {"rotary_bf16",
     [](Writer& w) {
       return written(
           w, {{{2, 256, 8, 64}, bfloat16}, {{256, 32}, float32, 6}},
           "x, y = a[..., :32].astype(jnp.float32), a[..., 32:].astype(jnp.float32)\nc, s = jnp.cos(b)[:, None], jnp.sin(b)[:, None]\n"
           "return jnp.concatenate([x * c - y * s, x * s + y * c], -1).astype(jnp.bfloat16)",
           [](A a, A b) {
             const Array x = f(a(ellipsis, slice(0, 32)), float32), y = f(a(ellipsis, slice(32, none)), float32),
                         c = expand_dims(cos(b), 1), s = expand_dims(sin(b), 1);
             return f(concatenate({x * c - y * s, x * s + y * c}, -1), bfloat16);
           });
     }},
    {"decode_attention_f32",
     [](Writer& w) {
       return written(w, {{{8, 64}}, {{8, 1000, 64}}, {{8, 1000, 64}}},
                      "p = jax.nn.softmax(jnp.einsum('hd,hkd->hk', a, b) * 0.125)\nreturn jnp.einsum('hk,hkd->hd', p, c)",
                      [](A a, A b, A c) { return einsum("hk,hkd->hd", nn::softmax(einsum("hd,hkd->hk", a, b) * 0.125), c); });
     }},
    {"dropout_grad_f32",
     [](Writer& w) {
       return written(w, {{{500, 1000}}, {{500, 1000}}},
                      "m = jax.random.bernoulli(jax.random.key(3), 0.8, (500, 1000))\nreturn jax.grad(lambda a: jnp.sum(jnp.where(m, a / "
                      "0.8, 0.0) * b))(a)",
                      [](A a, A b) {
                        const Array m = random::bernoulli(random::key(3), 0.8, Shape{500, 1000});
                        return grad([&](Array a) { return sum(where(m, a / 0.8, 0.) * b); })(a);
                      });
     }},
    {"autoencoder_step_f32",
     [](Writer& w) {
       static const std::string text =
           std::string(kMlp) + "g = jax.grad(loss)([a, b, c, d], e, e)\nreturn [p - 0.1 * q for p, q in zip([a, b, c, d], g)]";
       return written(w, {{{196, 32}, float32, .2}, {{32}}, {{32, 196}, float32, .2}, {{196}}, {{64, 196}}}, text.c_str(),
                      [](A a, A b, A c, A d, A e) {
                        const Arrays p{a, b, c, d};
                        const Arrays g = gradients([&](const Arrays& q) { return mlp_loss(q, e, e); }, p);
                        return Arrays{p[0] - 0.1 * g[0], p[1] - 0.1 * g[1], p[2] - 0.1 * g[2], p[3] - 0.1 * g[3]};
                      });
     }},
};

}  // namespace

std::span<const Row> network_rows() { return kRows; }

}  // namespace bench::random_programs
