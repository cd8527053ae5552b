// Transforms of transforms, control flow and rules.
#include <complex>
#include <map>
#include <optional>

#include "tests/twins/twins.h"

namespace weft::test {
namespace {

struct Nested {
  Array a;
  std::map<std::string, Array> m;
  std::vector<std::pair<Array, std::optional<Array>>> v;
};
Array f3(const Array& x) { return sum(sin(x) * cos(x * x(0)) + x * x * x); }
using T2 = std::tuple<Array, Array>;

TWIN(order3, 0.0002) {
  return {jacfwd(jacrev(grad(f3)))(x[0]), jacrev(hessian(f3))(x[0]), grad([](Array v) { return sum(hessian(f3)(v)); })(x[0])};
}

TWIN(order4_scalar, 0.0002) {
  return {grad(grad(grad(grad([](Array v) { return exp(sin(v) * v); }))))(x[0]),
          jvp([](Array v) { return grad(grad(grad([](Array w) { return tanh(w) / (1 + w * w); })))(v); }, std::tuple{x[0]},
              std::tuple{ones_like(x[0])})
              .second};
}

TWIN(jac_mixed, 3e-05) {
  return {jacfwd(jacrev([](Array a, Array b) { return matmul(a, sin(b)) * sum(a * b); }))(x[0], x[1]),
          std::get<0>(jacrev<0, 1>(jacfwd<1>([](Array a, Array b) { return matmul(a, sin(b)) * sum(a * b); }))(x[0], x[1])),
          std::get<1>(jacrev<0, 1>(jacfwd<1>([](Array a, Array b) { return matmul(a, sin(b)) * sum(a * b); }))(x[0], x[1]))};
}

TWIN(vmap_tree_axes, 3e-05) {
  struct S {
    Array a;
    std::pair<Array, Array> p;
  };
  auto f = [](S s, Array c) { return std::tuple{dot(s.a, s.p.first) * c, S{s.a * 2, {s.p.second, s.p.first + c(0)}}}; };
  auto [r, s] = vmap(f, {.in_axes = {{0, {1, none}}, none}, .out_axes = {1, {0, {none, 1}}}})(S{x[0], {x[1], x[2]}}, x[2]);
  return {r, s.a, s.p.first, s.p.second};
}

TWIN(vmap_while_batched_pred, 3e-05) {
  auto [u, n] = vmap([](Array a, Array b) {
    return while_loop([](T2 c) { return abs(std::get<0>(c)) > 1; },
                      [&](T2 c) {
                        auto [p, q] = c;
                        return T2{p * 0.5f, q + b};
                      },
                      T2{a, 0.f * a});
  })(x[0], x[1]);
  return {u, n};
}

TWIN(jvp_of_vmap_while, 3e-05) {
  auto f = vmap([](Array a) {
    return while_loop([](T2 c) { return abs(std::get<0>(c)) > 1; },
                      [](T2 c) {
                        auto [p, q] = c;
                        return T2{p * 0.5f, q * sin(p)};
                      },
                      T2{a, 1.f + 0.f * a});
  });
  auto [y, dy] = jvp(f, std::tuple{x[0]}, std::tuple{x[1]});
  return {std::get<0>(y), std::get<1>(y), std::get<0>(dy), std::get<1>(dy)};
}

TWIN(grad_bounded_while, 3e-05) {
  auto f = [](Array a) {
    return while_loop([](Array c) { return sum(abs(c)) > 2; }, [](Array c) { return c * 0.7f + 0.1f * sin(c); }, a, {.max_steps = 40});
  };
  return {grad([&](Array a) { return sum(f(a) * a); })(x[0]), jacrev(f)(x[0]), hessian([&](Array a) { return sum(f(a) * a); })(x[0])};
}

TWIN(vmap_grad_bounded_while, 3e-05) {
  auto f = [](Array a) {
    return sum(while_loop([](Array c) { return sum(abs(c)) > 2; }, [](Array c) { return c * 0.7f + 0.1f * sin(c); }, a,
                          {.max_steps = 40, .checkpoints = 3}));
  };
  return {vmap(grad(f))(x[0]), jit(vmap(grad(f)))(x[0])};
}

TWIN(vmap_cond_branches_tree, 3e-05) {
  auto g = [](Array p, Array v) {
    return cond(p > 0, [](Array a) { return std::pair{sin(a), sum(a)}; }, [](Array a) { return std::pair{a * a, max(a)}; }, v);
  };
  auto [u, w] = vmap(g)(x[0], x[1]);
  auto d = vmap(grad<1>([&](Array p, Array v) {
    auto [a, b] = g(p, v);
    return sum(a) * b;
  }))(x[0], x[1]);
  return {u, w, d};
}

TWIN(vmap_switch_grad, 3e-05) {
  auto g = [](Array i, Array v) {
    return switch_(i, std::tuple{[](Array a) { return sin(a); }, [](Array a) { return a * a; }, [](Array a) { return exp(a); }}, v);
  };
  return {vmap(g)(x[0], x[1]), vmap(grad<1>(g))(x[0], x[1]), vmap(grad<1>(grad<1>(g)))(x[0], x[1])};
}

TWIN(custom_jvp_in_scan_in_vmap, 3e-05) {
  auto soft = custom_jvp([](Array v) { return log(1 + exp(v)); },
                         [](std::tuple<Array> p, std::tuple<Array> t) {
                           auto v = std::get<0>(p);
                           return std::pair{log(1 + exp(v)), sigmoid(v) * std::get<0>(t) * 2};
                         });
  auto f = [&](Array xs) {
    return scan(
        [&](Array c, Array v) {
          auto y = soft(c * v) + c;
          return std::pair{y, y * v};
        },
        0.5f, xs);
  };
  auto [c, ys] = vmap(f)(x[0]);
  return {c, ys, vmap(grad([&](Array v) {
            auto [a, b] = f(v);
            return a + sum(b);
          }))(x[0]),
          grad([&](Array v) { return sum(vmap([&](Array r) { return f(r).first; })(v)); })(x[0]),
          jacfwd([&](Array v) { return f(v).second; })(x[0](0))};
}

TWIN(custom_vjp_in_scan_in_vmap, 3e-05) {
  auto clipg = custom_vjp([](Array v, Array s) { return v * s; }, [](Array v, Array s) { return std::pair{v * s, std::tuple{v, s}}; },
                          [](std::tuple<Array, Array> r, Array ct) {
                            auto [v, s] = r;
                            return std::tuple{clip(ct * s, -.5, .5), 3 * ct * v};
                          });
  auto f = [&](Array xs) {
    auto [c, ys] = scan(
        [&](Array c, Array v) {
          auto y = sin(clipg(c, v)) + c;
          return std::pair{y, y * v};
        },
        0.5f, xs);
    return c + sum(ys);
  };
  return {vmap(f)(x[0]), vmap(grad(f))(x[0]), jit(vmap(value_and_grad(f)))(x[0]).second, jacrev(grad(f))(x[0](1)),
          grad([&](Array v) { return f(v * v); })(x[0](2))};
}

TWIN(closure_over_tracers, 3e-05) {
  return {
      grad([&](Array a) {
        auto g = jit([&](Array b) { return sum(a * b * b); });
        return g(a) + sum(grad(g)(x[1]));
      })(x[0]),
      vmap([&](Array a) {
        return scan([&](Array c, Array b) { return std::pair{c + a * b, grad([&](Array q) { return q * a * c; })(b)}; }, a, x[1]).second;
      })(x[0]),
      vmap([&](Array a) { return vmap([&](Array b) { return grad([&](Array q) { return q * a * b * q; })(b); })(x[1]); })(x[0]),
      grad([&](Array a) {
        return fori_loop(
            0, 3,
            [&](Array i, Array c) {
              return c + jvp([&](Array u) { return u * a(0) * convert(i, float32); }, std::tuple{c}, std::tuple{a(1)}).second;
            },
            a(2));
      })(x[0])};
}

TWIN(perturbation, 3e-05) {
  return {grad([](Array a) { return a * grad([&](Array b) { return a * b; })(2.f); })(x[0]),
          jvp([](Array a) { return jvp([&](Array b) { return a + b; }, std::tuple{1.f}, std::tuple{a}).second * a; }, std::tuple{x[0]},
              std::tuple{1.f})
              .second,
          grad([](Array a) {
            return vmap([&](Array b) { return grad([&](Array c) { return a * c * b; })(a); })(array({1.f, 2.f}))(1) * a;
          })(x[0])};
}

TWIN(checkpoint_nest, 3e-05) {
  auto blk = checkpoint([](Array c) { return tanh(c * sin(c)); }, {.policy = policies::dots_saveable});
  auto f = [&](Array v) { return sum(scan([&](Array c, Array s) { return std::pair{checkpoint(blk)(c) + s, c}; }, v, v).first); };
  return {grad(f)(x[0]), hessian(f)(x[0]), vmap(grad([&](Array s) { return f(s * x[0]); }))(x[0]), jacfwd(checkpoint(grad(f)))(x[0])};
}

TWIN(linearize_nest, 3e-05) {
  auto f = [](Array v) { return sin(v) * sum(v); };
  auto [y, push] = linearize(f, x[0]);
  auto [y2, pull] = vjp(f, x[0]);
  return {y,
          push(x[1]),
          vmap(push)(eye(4)),
          std::get<0>(pull(x[1])),
          std::get<0>(vmap(pull)(eye(4))),
          std::get<0>(linear_transpose(push, x[0])(x[1])),
          grad([&](Array v) {
            auto [q, p] = linearize(f, v);
            return sum(p(x[1]) * q);
          })(x[0])};
}

TWIN(has_aux_all, 3e-05) {
  auto f = [](Array v) { return std::pair{sum(v * v * v), std::tuple{v(0), sin(v)}}; };
  auto [g, aux] = grad(f, has_aux)(x[0]);
  auto [va, g2] = value_and_grad(f, has_aux)(x[0]);
  auto [y, dy, aux3] = jvp(f, has_aux, std::tuple{x[0]}, std::tuple{x[0]});
  auto [y4, pull, aux4] = vjp(f, has_aux, x[0]);
  return {g,  std::get<0>(aux),       std::get<1>(aux), va.first, std::get<1>(va.second), g2, y, dy, std::get<1>(aux3),
          y4, std::get<0>(pull(2.f)), std::get<1>(aux4)};
}

TWIN(jacobians_with_aux, 3e-05) {
  auto f = [](Array v) { return std::pair{sin(v) * v(0), std::tuple{sum(v), std::map<std::string, Array>{{"k", v * 2}}}}; };
  auto g = [](Array v) { return std::pair{sum(cos(v) * v(1)), v - 1}; };
  const auto [forward, aux] = jacfwd(f, has_aux)(x[0]);
  const auto [reverse, aux2] = jacrev(f, has_aux)(x[0]);
  const auto [h, aux3] = hessian(g, has_aux)(x[0]);
  const auto [mapped, aux4] = vmap([&](Array s) { return jacrev(f, has_aux)(s * x[0]); })(x[0]);
  return {forward, std::get<0>(aux),  std::get<1>(aux).at("k"), reverse, std::get<0>(aux2), std::get<1>(aux2).at("k"), h, aux3,
          mapped,  std::get<0>(aux4), std::get<1>(aux4).at("k")};
}

TWIN(tree_grad, 3e-05) {
  auto f = [](Nested p) { return sum(p.a * p.m.at("k")) + p.v[0].first(0) * (*p.v[1].second)(1) + (p.v[0].second ? 1 : 0); };
  Nested p{x[0], {{"k", x[0] * 2}, {"z", x[0]}}, {{x[0], std::nullopt}, {x[0] + 1, x[0] - 1}}};
  auto g = grad(f)(p);
  auto h = vmap(grad([](Nested q) { return q.a * q.m.at("k") * q.a; }))(Nested{x[0], {{"k", x[0] * 2}, {"z", x[0]}}, {}});
  return {g.a, g.m.at("k"), g.m.at("z"), g.v[0].first, g.v[1].first, *g.v[1].second, h.a, h.m.at("k")};
}

TWIN(empty_things, 3e-05) {
  return {sum(x[1]),
          sum(x[1], 0),
          prod(x[1], 0),
          concatenate({x[1], x[0](newaxis)}),
          vmap([](Array v) { return sin(v) * 2; })(x[1]),
          grad([&](Array v) { return sum(matmul(x[1], v)); })(x[0]),
          matmul(x[1], x[0]),
          matmul(transpose(x[1]), x[1]),
          scan([](Array c, Array r) { return std::pair{c + r, r}; }, x[0], x[1]).first,
          sort(x[1], 0),
          cumsum(x[1], 0),
          any(x[1] > 0),
          all(x[1] > 0),
          mean(zeros({3, 0}), 0)};
}

TWIN(scan_reverse_unroll_tree, 3e-05) {
  auto body = [](std::tuple<Array, std::vector<Array>> c, std::pair<Array, Array> e) {
    auto [a, v] = c;
    auto [r, s] = e;
    return std::pair{std::tuple{a * 0.9f + r, std::vector<Array>{v[1], v[0] + s}}, std::pair{a * s, v[0]}};
  };
  auto run = [&](Array p, Array q, ScanOptions o) {
    return scan(body, std::tuple{zeros({2}), std::vector<Array>{Array(1.f) * q(0), Array(2.f) * q(0)}}, std::pair{p, q}, o);
  };
  auto [c, y] = run(x[0], x[1], {.reverse = true, .unroll = 3});
  auto g = grad<0, 1>([&](Array p, Array q) {
    auto [c2, y2] = run(p, q, {.reverse = true, .unroll = 2});
    return sum(std::get<0>(c2)) * std::get<1>(c2)[0] + sum(sin(y2.first)) + sum(y2.second);
  })(x[0], x[1]);
  return {std::get<0>(c), std::get<1>(c)[0], std::get<1>(c)[1], y.first, y.second, std::get<0>(g), std::get<1>(g)};
}

TWIN(scan_length_none, 3e-05) {
  auto [c, y] = scan([](Array c, None) { return std::pair{c * 1.1f, sum(c)}; }, x[0], none, {.length = 5});
  auto [c2, y2] = scan([](Array c, Array v) { return std::pair{c * v, none}; }, 1.f, x[0]);
  static_cast<void>(y2);
  return {c, y, c2};
}

TWIN(associative_scans, 3e-05) {
  auto lin = [](T2 p, T2 q) { return T2{std::get<0>(p) * std::get<0>(q), std::get<1>(p) * std::get<0>(q) + std::get<1>(q)}; };
  auto [a, b] = associative_scan(lin, T2{x[1], x[1] * 2});
  return {associative_scan(weft::add, x[0], {.axis = 1}),
          associative_scan(weft::maximum, x[0], {.reverse = true, .axis = 1}),
          a,
          b,
          grad([&](Array v) { return sum(std::get<1>(associative_scan(lin, T2{v, sin(v)}, {.reverse = true}))); })(x[1]),
          vmap([&](Array v) { return std::get<1>(associative_scan(lin, T2{v, v})); })(x[0]),
          associative_scan(weft::matmul, reshape(x[0](slice(), slice(0, 4)), {3, 2, 2}))};
}

TWIN(map_batch, 3e-05) {
  return {weft::map([](Array r) { return sum(r) * r; }, x[0], {.batch_size = 3}),
          grad([&](Array m) { return sum(square(weft::map([](Array r) { return sin(r) * r(0); }, m, {.batch_size = 2}))); })(x[0]),
          vmap([](Array r) { return weft::map([](Array e) { return e * e; }, r); })(x[0])};
}

}  // namespace
}  // namespace weft::test
