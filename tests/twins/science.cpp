// Programs of physics, robotics and statistics: spectral solvers, sampling, rays, filters, optimal control.
#include "tests/twins/twins.h"
#include "weft/jnp.h"

namespace weft::test {
namespace {

template <class... A>
Arrays all_of(const A&... results) {
  return tree::leaves(std::tuple<A...>{results...});
}

// Korteweg-de Vries, pseudo-spectral with an integrating factor, fourth order in time.
TWIN(kdv, 2e-3) {
  const int n = 32;
  const Array k = 2 * constants::pi / 20 * arange(n / 2 + 1, float32);
  const float dt = 0.01f;
  auto solve = [&](Array u0, Array amp) {
    const Array g = complex(zeros_like(k), dt * k * k * k), e = exp(g / 2), e2 = square(e);
    auto nl = [&](Array v) { return complex(0.f * k, -3 * dt * k) * fft::rfft(square(fft::irfft(v, {.n = n}))); };
    const Array v0 = fft::rfft(amp * u0);
    const Array v = fori_loop(
        0, 12,
        [&](Array, Array v) {
          const Array a = nl(v), b = nl(e * (v + a / 2)), c = nl(e * v + b / 2), d = nl(e2 * v + e * c);
          return e2 * v + (e2 * a + 2 * e * (b + c) + d) / 6;
        },
        v0);
    return fft::irfft(v, {.n = n});
  };
  auto energy = [&](Array u0, Array amp) { return sum(square(solve(u0, amp)) * cos(arange(n, float32))); };
  return all_of(solve(x[0], x[1]), grad<0, 1>(energy)(x[0], x[1]),
                jvp([&](Array a) { return solve(x[0], a); }, std::tuple{x[1]}, std::tuple{1.f}).second);
}

// Ising by checkerboard updates, spins in int8.
struct Chain {
  Array spins, key;
};
TWIN(ising, 1e-5) {
  const int n = 6;
  const auto ij = meshgrid({arange(n), arange(n)}, {.indexing = "ij"});
  const Array mask = (ij[0] + ij[1]) % 2 == 0;
  auto sweep = [&](Array beta) {
    auto step = [&](Chain c, None) {
      const Array keys = random::split(c.key, 3);
      Array s = c.spins;
      for (int color = 0; color < 2; ++color) {
        const Array h = roll(s, 1, 0) + roll(s, -1, 0) + roll(s, 1, 1) + roll(s, -1, 1);
        const Array de = 2 * convert(s * h, float32);
        const Array u = random::uniform(keys[color + 1], {n, n});
        const Array flip = logical_and(u < exp(-beta * de), color ? mask : logical_not(mask));
        s = where(flip, -s, s);
      }
      return std::pair{Chain{s, keys[0]}, std::pair{sum(s), sum(convert(s, int32), {0, 1})}};
    };
    return scan(step, Chain{ones({n, n}, int8), random::key(3)}, none, {.length = 20});
  };
  auto [last, ys] = vmap(sweep)(x[0]);
  return all_of(last.spins, ys.first, ys.second, random::key_data(last.key));
}

// Gravity, leapfrog.
struct Body {
  Array q, p;
};
TWIN(nbody, 2e-3) {
  auto force = [](Array q, Array m) {
    const Array d = q(newaxis) - q(slice(), newaxis);
    const Array r2 = sum(square(d), -1) + 0.05f;
    return sum(d * (m / (r2 * sqrt(r2)))(ellipsis, newaxis), 1);
  };
  auto energy = [](Body b, Array m) {
    const Array d = b.q(newaxis) - b.q(slice(), newaxis);
    const Array r = sqrt(sum(square(d), -1) + 0.05f);
    return 0.5f * sum(m * sum(square(b.p), 1)) - 0.5f * sum(m * m(slice(), newaxis) / r * (1 - eye(m.shape()[0])));
  };
  auto run = [&](Body b, Array m) {
    return scan(
        [&](Body b, None) {
          Body h{b.q, b.p + 0.01f * force(b.q, m)};
          h.q = h.q + 0.02f * h.p;
          h.p = h.p + 0.01f * force(h.q, m);
          return std::pair{h, energy(h, m)};
        },
        b, none, {.length = 15, .unroll = 4});
  };
  const Body b{x[0], x[1]};
  const Array m = abs(x[2]) + 0.1f;
  auto [end, es] = run(b, m);
  const auto [g, gm] = grad<0, 1>([&](Body b, Array m) { return energy(run(b, m).first, m) + sum(run(b, m).second); })(b, m);
  const Array h = hessian([&](Array s) { return run(Body{b.q * s[0], b.p + s[1]}, m).second[-1]; })(ones({2}));
  const Body j = jacfwd([&](Array s) { return run(Body{b.q * s, b.p}, m).first; })(1.f);
  return all_of(end.q, end.p, es, g.q, g.p, gm, h, j.q, j.p);
}

// Rays against spheres: the nearest hit, a picture in uint8, the gradient for the radius.
struct Sphere {
  Array center, radius, color;
};
struct Ray {
  Array o, d;
};
TWIN(rays, 1e-4) {
  const Sphere s{x[0], abs(x[1]) + 0.5f, abs(x[2])};
  auto hit = [](Sphere s, Ray r) {
    const Array oc = r.o - s.center, b = dot(oc, r.d), disc = b * b - (dot(oc, oc) - s.radius * s.radius);
    const Array t = -b - sqrt(where(disc > 0, disc, 1.f));
    return where(logical_and(disc > 0, t > 0), t, constants::inf);
  };
  auto shade = [&](Sphere ss, Ray r) {
    const Array t = vmap(hit, {.in_axes = {0, none}})(ss, r);
    const Array i = argmin(t), found = isfinite(t[i]);
    const Array tt = where(found, t[i], 1.f);
    const Array n = (r.o + tt * r.d - ss.center[i]) / ss.radius[i];
    return where(found, ss.color[i] * maximum(0.1f, -dot(n, r.d)), zeros({3}));
  };
  const Array u = linspace(-1, 1, 7),
              d0 = stack({(u(newaxis) + 0 * u(slice(), newaxis)), u(slice(), newaxis) + 0 * u(newaxis), full({7, 7}, 2.f)}, -1);
  const Array d = d0 / linalg::norm(d0, none, -1, true);
  auto image = [&](Sphere ss) { return vmap(vmap([&](Array dir) { return shade(ss, {array({0.f, 0.f, -3.f}), dir}); }))(d); };
  const Array im = image(s);
  const Sphere g = grad([&](Sphere ss) { return sum(square(image(ss))); })(s);
  return all_of(im, astype(clip(round(im * 255), 0, 255), uint8), g.center, g.radius, g.color);
}

// Extended Kalman filter; likelihood, its gradient and Hessian for the logarithms of the variances.
struct Belief {
  Array m, P;
};
TWIN(ekf, 3e-3) {
  auto f = [](Array s) { return stack({s[0] + 0.1f * s[1], s[1] - 0.1f * sin(s[0])}); };
  auto h = [](Array s) { return atleast_1d(s[0] * s[0] + s[1]); };
  auto ll = [&](Array lv, Array ys) {
    const Array Q = exp(lv[0]) * eye(2), R = exp(lv[1]) * eye(1);
    auto step = [&](Belief b, Array y) {
      const Array F = jacfwd(f)(b.m), m = f(b.m), P = matmul(matmul(F, b.P), transpose(F)) + Q;
      const Array H = jacrev(h)(m), S = matmul(matmul(H, P), transpose(H)) + R;
      const Array L = linalg::cholesky(S), r = y - h(m);
      const Array z = linalg::triangular_solve(L, r(slice(), newaxis), {.left_side = true, .lower = true})(slice(), 0);
      const Array K = transpose(linalg::solve(S, matmul(H, P)));
      return std::pair{Belief{m + matmul(K, r), matmul(eye(2) - matmul(K, H), P)}, -0.5f * dot(z, z) - sum(log(diagonal(L)))};
    };
    return sum(scan(step, Belief{array({1.f, 0.f}), eye(2)}, ys).second);
  };
  return all_of(ll(x[0], x[1]), grad(ll)(x[0], x[1]), hessian(ll)(x[0], x[1]),
                vmap(value_and_grad(ll), {.in_axes = {0, none}})(stack({x[0], x[0] - 1}), x[1]).second);
}

// iLQR of a pendulum.
TWIN(ilqr, 5e-3) {
  auto f = [](Array s, Array u) { return s + 0.1f * stack({s[1], sin(s[0]) + u[0]}); };
  auto cost = [](Array s, Array u) { return sum(square(s)) + 0.1f * sum(square(u)); };
  const int T = 10;
  auto rollout = [&](Array us, Array s0) { return scan([&](Array s, Array u) { return std::pair{f(s, u), s}; }, s0, us); };
  struct V {
    Array vx, vxx;
  };
  auto iterate = [&](Array us, None) {
    auto [sT, ss] = rollout(us, x[0]);
    auto back = [&](V v, std::pair<Array, Array> su) {
      auto [s, u] = su;
      const auto [fx, fu] = jacfwd<0, 1>(f)(s, u);
      const auto [cx, cu] = grad<0, 1>(cost)(s, u);
      const auto hs = hessian<0, 1>(cost)(s, u);
      const auto& [cxx, cxu] = std::get<0>(hs);
      const auto& [cux, cuu] = std::get<1>(hs);
      const Array qx = cx + matmul(transpose(fx), v.vx), qu = cu + matmul(transpose(fu), v.vx);
      const Array qxx = cxx + matmul(transpose(fx), matmul(v.vxx, fx)), quu = cuu + matmul(transpose(fu), matmul(v.vxx, fu)),
                  qux = cux + matmul(transpose(fu), matmul(v.vxx, fx));
      const Array k = -linalg::solve(quu, qu), K = -linalg::solve(quu, qux);
      return std::pair{V{qx + matmul(transpose(K), qu), qxx + matmul(transpose(qux), K)}, std::pair{k, K}};
    };
    auto [v0, kK] = scan(back, V{2 * sT, 2 * eye(2)}, std::pair{ss, us}, {.reverse = true});
    auto fwd = [&](Array s, std::tuple<Array, Array, Array, Array> q) {
      auto [so, uo, k, K] = q;
      const Array u = uo + k + matmul(K, s - so);
      return std::pair{f(s, u), u};
    };
    return std::pair{scan(fwd, x[0], std::tuple{ss, us, kK.first, kK.second}).second, sum(square(sT))};
  };
  auto [us, hist] = scan(iterate, zeros({T, 1}), none, {.length = 4});
  return all_of(us, hist, grad([&](Array s0) { return sum(square(rollout(us, s0).first)); })(x[0]));
}

// Pose graph on SE(2), sparse residuals accumulated by segments.
struct Edge {
  Array i, j, z;
};
TWIN(pose_graph, 2e-3) {
  const Edge e{x[1], x[2], x[3]};
  auto residual = [](Array a, Array b, Array z) {
    const Array d = b - a, c = cos(a[2]), s = sin(a[2]);
    const Array w = d[2] - z[2];
    return stack({c * d[0] + s * d[1] - z[0], -s * d[0] + c * d[1] - z[1], atan2(sin(w), cos(w))});
  };
  auto gn = [&](Array poses) {
    auto r = vmap(residual)(poses(e.i), poses(e.j), e.z);
    auto [Ja, Jb] = vmap(jacfwd<0, 1>(residual))(poses(e.i), poses(e.j), e.z);
    const int n = poses.shape()[0];
    Array H = zeros({n, n, 3, 3}), b = zeros({n, 3});
    H = H.at(e.i, e.i).add(einsum("eki,ekj->eij", Ja, Ja)).at(e.j, e.j).add(einsum("eki,ekj->eij", Jb, Jb));
    H = H.at(e.i, e.j).add(einsum("eki,ekj->eij", Ja, Jb)).at(e.j, e.i).add(einsum("eki,ekj->eij", Jb, Ja));
    b = b.at(e.i).add(einsum("eki,ek->ei", Ja, r)).at(e.j).add(einsum("eki,ek->ei", Jb, r));
    H = H.at(0, 0).add(1e3f * eye(3));
    const Array full = reshape(transpose(H, {0, 2, 1, 3}), {3 * n, 3 * n});
    return poses - reshape(linalg::solve(full, ravel(b)), {n, 3});
  };
  const auto step = [&](Array, Array poses) { return gn(poses); };
  const Array out = fori_loop(0, 5, step, x[0]);
  return all_of(out, grad([&](Array z) { return sum(vmap(residual)(x[0](e.i), x[0](e.j), z)); })(e.z),
                segment_sum(e.z, e.i, {.num_segments = 5}), segment_max(e.z, e.j, {.num_segments = 5}));
}

}  // namespace
}  // namespace weft::test
