"""What science.cpp computes."""
import jax, jax.numpy as jnp, numpy as np
import jax.scipy.linalg as sl
from jax import grad, hessian, jacfwd, jacrev, jvp, lax, vmap
from inputs import f32, i32, wave
S, sin, A, L = (jnp.sum, jnp.sin, jnp.array, jnp.linalg)


def kdv(u0, amp):
    n = 32
    k = 2 * np.pi / 20 * jnp.arange(n // 2 + 1, dtype=jnp.float32)
    dt = 0.01

    def solve(u0, amp):
        g = 1j * dt * k ** 3
        e = jnp.exp(g / 2)
        e2 = e * e
        nl = lambda v: -3j * dt * k * jnp.fft.rfft(jnp.fft.irfft(v, n) ** 2)

        def st(i, v):
            a = nl(v)
            b = nl(e * (v + a / 2))
            c = nl(e * v + b / 2)
            d = nl(e2 * v + e * c)
            return e2 * v + (e2 * a + 2 * e * (b + c) + d) / 6
        return jnp.fft.irfft(lax.fori_loop(0, 12, st, jnp.fft.rfft(amp * u0)), n)
    en = lambda u, a: S(solve(u, a) ** 2 * jnp.cos(jnp.arange(n, dtype=jnp.float32)))
    return (solve(u0, amp), grad(en, (0, 1))(u0, amp), jvp(lambda a: solve(u0, a), (amp,), (jnp.float32(1),))[1])


def ising(betas):
    n = 6
    I, J = jnp.meshgrid(jnp.arange(n), jnp.arange(n), indexing='ij')
    mask = (I + J) % 2 == 0

    def sweep(beta):

        def step(c, _):
            s, key = c
            ks = jax.random.split(key, 3)
            for col in range(2):
                h = sum((jnp.roll(s, d, a) for d, a in ((1, 0), (-1, 0), (1, 1), (-1, 1))))
                de = 2 * (s * h).astype(jnp.float32)
                u = jax.random.uniform(ks[col + 1], (n, n))
                s = jnp.where((u < jnp.exp(-beta * de)) & (mask if col else ~mask), -s, s)
            return ((s, ks[0]), (jnp.sum(s), jnp.sum(s.astype(jnp.int32))))
        return lax.scan(step, (jnp.ones((n, n), jnp.int8), jax.random.key(3)), None, 20)
    (s, k), ys = vmap(sweep)(betas)
    return (s, ys[0], ys[1], jax.random.key_data(k))


def nbody(q, p, m):
    m = jnp.abs(m) + 0.1

    def force(q, m):
        d = q[None] - q[:, None]
        r2 = S(d ** 2, -1) + 0.05
        return S(d * (m / (r2 * jnp.sqrt(r2)))[..., None], 1)

    def energy(b, m):
        q, p = b
        d = q[None] - q[:, None]
        r = jnp.sqrt(S(d ** 2, -1) + 0.05)
        return 0.5 * S(m * S(p ** 2, 1)) - 0.5 * S(m * m[:, None] / r * (1 - jnp.eye(m.shape[0])))

    def run(b, m):

        def st(b, _):
            q, p = b
            p = p + 0.01 * force(q, m)
            q = q + 0.02 * p
            p = p + 0.01 * force(q, m)
            return ((q, p), energy((q, p), m))
        return lax.scan(st, b, None, 15, unroll=4)
    end, es = run((q, p), m)
    g, gm = grad(lambda b, m: energy(run(b, m)[0], m) + S(run(b, m)[1]), (0, 1))((q, p), m)
    h = hessian(lambda s: run((q * s[0], p + s[1]), m)[1][-1])(jnp.ones(2))
    j = jacfwd(lambda s: run((q * s, p), m)[0])(1.0)
    return (end, es, g, gm, h, j)


def rays(c, r, col):
    s = (c, jnp.abs(r) + 0.5, jnp.abs(col))

    def hit(s, o, d):
        oc = o - s[0]
        b = jnp.dot(oc, d)
        disc = b * b - (jnp.dot(oc, oc) - s[1] ** 2)
        t = -b - jnp.sqrt(jnp.where(disc > 0, disc, 1.0))
        return jnp.where((disc > 0) & (t > 0), t, jnp.inf)

    def shade(ss, o, d):
        t = vmap(hit, in_axes=(0, None, None))(ss, o, d)
        i = jnp.argmin(t)
        f = jnp.isfinite(t[i])
        tt = jnp.where(f, t[i], 1.0)
        n = (o + tt * d - ss[0][i]) / ss[1][i]
        return jnp.where(f, ss[2][i] * jnp.maximum(0.1, -jnp.dot(n, d)), jnp.zeros(3))
    u = jnp.linspace(-1, 1, 7)
    d0 = jnp.stack([u[None] + 0 * u[:, None], u[:, None] + 0 * u[None], jnp.full((7, 7), 2.0)], -1)
    d = d0 / L.norm(d0, axis=-1, keepdims=True)
    image = lambda ss: vmap(vmap(lambda dd: shade(ss, A([0.0, 0.0, -3.0]), dd)))(d)
    im = image(s)
    return (im, jnp.clip(jnp.round(im * 255), 0, 255).astype(jnp.uint8), grad(lambda ss: S(image(ss) ** 2))(s))


def ekf(lv, ys):
    f = lambda s: jnp.stack([s[0] + 0.1 * s[1], s[1] - 0.1 * sin(s[0])])
    h = lambda s: jnp.atleast_1d(s[0] * s[0] + s[1])

    def ll(lv, ys):
        Q = jnp.exp(lv[0]) * jnp.eye(2)
        R = jnp.exp(lv[1]) * jnp.eye(1)

        def st(b, y):
            m, P = b
            F = jacfwd(f)(m)
            m = f(m)
            P = F @ P @ F.T + Q
            H = jacrev(h)(m)
            SS = H @ P @ H.T + R
            C = L.cholesky(SS)
            r = y - h(m)
            z = sl.solve_triangular(C, r, lower=True)
            K = L.solve(SS, H @ P).T
            return ((m + K @ r, (jnp.eye(2) - K @ H) @ P), -0.5 * z @ z - S(jnp.log(jnp.diagonal(C))))
        return S(lax.scan(st, (A([1.0, 0.0]), jnp.eye(2)), ys)[1])
    return (ll(lv, ys), grad(ll)(lv, ys), hessian(ll)(lv, ys), vmap(grad(ll), (0, None))(jnp.stack([lv, lv - 1]), ys))


def ilqr(s0):
    f = lambda s, u: s + 0.1 * jnp.stack([s[1], sin(s[0]) + u[0]])
    cost = lambda s, u: S(s ** 2) + 0.1 * S(u ** 2)
    roll = lambda us, s0: lax.scan(lambda s, u: (f(s, u), s), s0, us)

    def it(us, _):
        sT, ss = roll(us, s0)

        def back(v, su):
            vx, vxx = v
            s, u = su
            fx, fu = jacfwd(f, (0, 1))(s, u)
            cx, cu = grad(cost, (0, 1))(s, u)
            (cxx, cxu), (cux, cuu) = hessian(cost, (0, 1))(s, u)
            qx = cx + fx.T @ vx
            qu = cu + fu.T @ vx
            qxx = cxx + fx.T @ vxx @ fx
            quu = cuu + fu.T @ vxx @ fu
            qux = cux + fu.T @ vxx @ fx
            k = -L.solve(quu, qu)
            K = -L.solve(quu, qux)
            return ((qx + K.T @ qu, qxx + qux.T @ K), (k, K))
        _, (k, K) = lax.scan(back, (2 * sT, 2 * jnp.eye(2)), (ss, us), reverse=True)

        def fw(s, q):
            so, uo, k, K = q
            u = uo + k + K @ (s - so)
            return (f(s, u), u)
        return (lax.scan(fw, s0, (ss, us, k, K))[1], S(sT ** 2))
    us, h = lax.scan(it, jnp.zeros((10, 1)), None, 4)
    return (us, h, grad(lambda s0: S(roll(us, s0)[0] ** 2))(s0))


def pose_graph(x, i, j, z):

    def res(a, b, z):
        d = b - a
        c = jnp.cos(a[2])
        s = sin(a[2])
        w = d[2] - z[2]
        return jnp.stack([c * d[0] + s * d[1] - z[0], -s * d[0] + c * d[1] - z[1], jnp.arctan2(sin(w), jnp.cos(w))])

    def gn(_, x):
        r = vmap(res)(x[i], x[j], z)
        Ja, Jb = vmap(jacfwd(res, (0, 1)))(x[i], x[j], z)
        n = x.shape[0]
        e = jnp.einsum
        H = jnp.zeros((n, n, 3, 3)).at[i, i].add(e('eki,ekj->eij', Ja, Ja)).at[j, j].add(e('eki,ekj->eij', Jb, Jb)).at[i, j].add(e('eki,ekj->eij', Ja, Jb)).at[j, i].add(e('eki,ekj->eij', Jb, Ja))
        b = jnp.zeros((n, 3)).at[i].add(e('eki,ek->ei', Ja, r)).at[j].add(e('eki,ek->ei', Jb, r))
        H = H.at[0, 0].add(1000.0 * jnp.eye(3))
        return x - L.solve(H.transpose(0, 2, 1, 3).reshape(3 * n, 3 * n), b.ravel()).reshape(n, 3)
    return (lax.fori_loop(0, 5, gn, x), grad(lambda z: S(vmap(res)(x[i], x[j], z)))(z), jax.ops.segment_sum(z, i, 5), jax.ops.segment_max(z, j, 5))


inputs = {'kdv': [wave((32,)), f32(0.8).reshape(())], 'ising': [f32(0.1, 0.4, 0.8)], 'nbody': [wave((4, 3)), wave((4, 3), 1), wave((4,), 2)], 'rays': [wave((4, 3)), wave((4,), 1), wave((4, 3), 2)], 'ekf': [f32(-2, -1), wave((8, 1))], 'ilqr': [f32(1.0, -0.5)], 'pose_graph': [wave((5, 3)), i32([0, 1, 2, 3, 0, 4]), i32([1, 2, 3, 4, 3, 1]), wave((6, 3), 2)]}
