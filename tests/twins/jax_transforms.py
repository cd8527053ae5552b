"""What transforms.cpp computes."""

import jax, jax.numpy as jnp, numpy as np
import jax.scipy.linalg as sl, jax.scipy.special as sp
from jax import grad, hessian, jacfwd, jacrev, jit, jvp, lax, pmap, vjp, vmap
from jax.sharding import PartitionSpec as P

from inputs import f32, i32, nan, wave

S, sin, A, L, N = jnp.sum, jnp.sin, jnp.array, jnp.linalg, None


def f3(x):
    return S(sin(x) * jnp.cos(x * x[0]) + x * x * x)


def order3(x):
    return jacfwd(jacrev(grad(f3)))(x), jacrev(hessian(f3))(x), grad(lambda v: S(hessian(f3)(v)))(x)


def order4_scalar(x):
    return (
        grad(grad(grad(grad(lambda v: jnp.exp(sin(v) * v)))))(x),
        jvp(grad(grad(grad(lambda w: jnp.tanh(w) / (1 + w * w)))), (x,), (jnp.ones_like(x),))[1],
    )


def jac_mixed(a, b):
    f = lambda a, b: (a @ sin(b)) * S(a * b)
    r = jacrev(jacfwd(f, 1), (0, 1))(a, b)
    return jacfwd(jacrev(f))(a, b), r[0], r[1]


def vmap_tree_axes(a, b, c):
    def f(s, c):
        return jnp.dot(s[0], s[1][0]) * c, (s[0] * 2, (s[1][1], s[1][0] + c[0]))

    return vmap(f, in_axes=((0, (1, None)), None), out_axes=(1, (0, (None, 1))))((a, (b, c)), c)


def vmap_while_batched_pred(a, b):
    return vmap(lambda a, b: lax.while_loop(lambda c: abs(c[0]) > 1, lambda c: (c[0] * 0.5, c[1] + b), (a, 0.0 * a)))(a, b)


def jvp_of_vmap_while(a, b):
    f = vmap(lambda a: lax.while_loop(lambda c: abs(c[0]) > 1, lambda c: (c[0] * 0.5, c[1] * sin(c[0])), (a, 1.0 + 0.0 * a)))
    y, dy = jvp(f, (a,), (b,))
    return y, dy


def bounded(cond, body, a, n):
    def st(c, _):
        return lax.cond(cond(c), body, lambda c: c, c), None

    return lax.scan(st, a, None, length=n)[0]


def grad_bounded_while(a):
    f = lambda a: bounded(lambda c: S(abs(c)) > 2, lambda c: c * 0.7 + 0.1 * sin(c), a, 40)
    return grad(lambda a: S(f(a) * a))(a), jacrev(f)(a), hessian(lambda a: S(f(a) * a))(a)


def vmap_grad_bounded_while(a):
    f = lambda a: S(bounded(lambda c: S(abs(c)) > 2, lambda c: c * 0.7 + 0.1 * sin(c), a, 40))
    return (vmap(grad(f))(a),) * 2


def vmap_cond_branches_tree(p, v):
    g = lambda p, v: lax.cond(p > 0, lambda a: (sin(a), S(a)), lambda a: (a * a, jnp.max(a)), v)
    u, w = vmap(g)(p, v)

    def h(p, v):
        a, b = g(p, v)
        return S(a) * b

    return u, w, vmap(grad(h, 1))(p, v)


def vmap_switch_grad(i, v):
    g = lambda i, v: lax.switch(i, [sin, lambda a: a * a, jnp.exp], v)
    return vmap(g)(i, v), vmap(grad(g, 1))(i, v), vmap(grad(grad(g, 1), 1))(i, v)


def custom_jvp_in_scan_in_vmap(x):
    @jax.custom_jvp
    def soft(v):
        return jnp.log(1 + jnp.exp(v))

    soft.defjvp(lambda p, t: (jnp.log(1 + jnp.exp(p[0])), jax.nn.sigmoid(p[0]) * t[0] * 2))

    def st(c, v):
        y = soft(c * v) + c
        return y, y * v

    f = lambda xs: lax.scan(st, jnp.float32(0.5), xs)
    c, ys = vmap(f)(x)
    h = lambda v: (lambda r: r[0] + S(r[1]))(f(v))
    return c, ys, vmap(grad(h))(x), grad(lambda v: S(vmap(lambda r: f(r)[0])(v)))(x), jacfwd(lambda v: f(v)[1])(x[0])


def custom_vjp_in_scan_in_vmap(x):
    @jax.custom_vjp
    def cg(v, s):
        return v * s

    cg.defvjp(lambda v, s: (v * s, (v, s)), lambda r, ct: (jnp.clip(ct * r[1], -0.5, 0.5), 3 * ct * r[0]))

    def f(xs):
        def st(c, v):
            y = sin(cg(c, v)) + c
            return y, y * v

        c, ys = lax.scan(st, jnp.float32(0.5), xs)
        return c + S(ys)

    return vmap(f)(x), vmap(grad(f))(x), vmap(grad(f))(x), jacrev(grad(f))(x[1]), grad(lambda v: f(v * v))(x[2])


def closure_over_tracers(x, y):
    def g1(a):
        g = jit(lambda b: S(a * b * b))
        return g(a) + S(grad(g)(y))

    return (
        grad(g1)(x),
        vmap(lambda a: lax.scan(lambda c, b: (c + a * b, grad(lambda q: q * a * c)(b)), a, y)[1])(x),
        vmap(lambda a: vmap(lambda b: grad(lambda q: q * a * b * q)(b))(y))(x),
        grad(lambda a: lax.fori_loop(0, 3, lambda i, c: c + jvp(lambda u: u * a[0] * i.astype(jnp.float32), (c,), (a[1],))[1], a[2]))(x),
    )


def perturbation(x):
    return (
        grad(lambda a: a * grad(lambda b: a * b)(2.0))(x),
        jvp(lambda a: jvp(lambda b: a + b, (1.0,), (a,))[1] * a, (x,), (jnp.float32(1),))[1],
        grad(lambda a: vmap(lambda b: grad(lambda c: a * c * b)(a))(jnp.array([1.0, 2.0]))[1] * a)(x),
    )


def checkpoint_nest(x):
    f0 = lambda v: S(lax.scan(lambda c, s: (jnp.tanh(c * sin(c)) + s, c), v, v)[0])
    return grad(f0)(x), hessian(f0)(x), vmap(grad(lambda s: f0(s * x)))(x), jacfwd(grad(f0))(x)


def linearize_nest(x, z):
    f = lambda v: sin(v) * S(v)
    y, push = jax.linearize(f, x)
    _, pull = vjp(f, x)
    return (
        y,
        push(z),
        vmap(push)(jnp.eye(4)),
        pull(z)[0],
        vmap(pull)(jnp.eye(4))[0],
        jax.linear_transpose(push, x)(z)[0],
        grad(lambda v: (lambda q, p: S(p(z) * q))(*jax.linearize(f, v)))(x),
    )


def has_aux_all(x):
    f = lambda v: (S(v**3), (v[0], sin(v)))
    g, aux = grad(f, has_aux=True)(x)
    y, dy, a3 = jvp(f, (x,), (x,), has_aux=True)
    y4, pull, a4 = vjp(f, x, has_aux=True)
    return g, aux, y, sin(x), g, y, dy, a3[1], y4, pull(jnp.float32(2))[0], a4[1]


def tree_grad(x):
    f = lambda a, k, z, v0, v1, v2: S(a * k) + v0[0] * v2[1] + 0
    g = grad(f, (0, 1, 2, 3, 4, 5))(x, x * 2, x, x, x + 1, x - 1)
    h = vmap(grad(lambda q: q[0] * q[1] * q[0]))((x, x * 2))
    return g, h


def empty_things(x, e):
    return (
        S(e),
        S(e, 0),
        jnp.prod(e, 0),
        jnp.concatenate([e, x[None]]),
        vmap(lambda v: sin(v) * 2)(e),
        grad(lambda v: S(e @ v))(x),
        e @ x,
        e.T @ e,
        lax.scan(lambda c, r: (c + r, r), x, e)[0],
        jnp.sort(e, 0),
        jnp.cumsum(e, 0),
        jnp.any(e > 0),
        jnp.all(e > 0),
        jnp.mean(jnp.zeros((3, 0)), 0),
    )


def scan_reverse_unroll_tree(x, q):
    def body(c, e):
        a, v = c
        r, s = e
        return (a * 0.9 + r, [v[1], v[0] + s]), (a * s, v[0])

    run = lambda p, q: lax.scan(body, (jnp.zeros(2), [q[0], 2 * q[0]]), (p, q), reverse=True)
    c, y = run(x, q)

    def h(p, q):
        c2, y2 = run(p, q)
        return S(c2[0]) * c2[1][0] + S(sin(y2[0])) + S(y2[1])

    return c, y, grad(h, (0, 1))(x, q)


def scan_length_none(x):
    c, y = lax.scan(lambda c, _: (c * 1.1, S(c)), x, None, length=5)
    return c, y, lax.scan(lambda c, v: (c * v, None), jnp.float32(1), x)[0]


def associative_scans(x, v):
    lin = lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1])
    A = lax.associative_scan
    return (
        A(jnp.add, x, axis=1),
        A(jnp.maximum, x, reverse=True, axis=1),
        A(lin, (v, v * 2)),
        grad(lambda v: S(A(lin, (v, sin(v)), reverse=True)[1]))(v),
        vmap(lambda v: A(lin, (v, v))[1])(x),
        A(jnp.matmul, x[:, :4].reshape(3, 2, 2)),
    )


def map_batch(x):
    return vmap(lambda r: S(r) * r)(x), grad(lambda m: S(jnp.square(vmap(lambda r: sin(r) * r[0])(m))))(x), x * x


def jacobians_with_aux(x):
    f = lambda v: (sin(v) * v[0], (S(v), {"k": v * 2}))
    g = lambda v: (S(jnp.cos(v) * v[1]), v - 1)
    return jacfwd(f, has_aux=True)(x), jacrev(f, has_aux=True)(x), hessian(g, has_aux=True)(x), vmap(lambda s: jacrev(f, has_aux=True)(s * x))(x)


inputs = {
    "order3": [wave((3,))],
    "order4_scalar": [np.float32(0.7)],
    "jac_mixed": [wave((2, 3)), wave((3,), 1)],
    "vmap_tree_axes": [wave((4, 3)), wave((3, 4), 1), wave((2,), 2)],
    "vmap_while_batched_pred": [wave((5,)) * 10, wave((5,), 1)],
    "jvp_of_vmap_while": [wave((5,)) * 10, wave((5,), 1)],
    "grad_bounded_while": [wave((4,)) * 8],
    "vmap_grad_bounded_while": [wave((6, 2)) * 8],
    "vmap_cond_branches_tree": [wave((6,)), wave((6, 2), 2)],
    "vmap_switch_grad": [i32([0, 1, 2, 5, -3]), wave((5,), 2)],
    "custom_jvp_in_scan_in_vmap": [wave((3, 4))],
    "custom_vjp_in_scan_in_vmap": [wave((3, 4))],
    "closure_over_tracers": [wave((3,)), wave((3,), 1)],
    "perturbation": [wave(())],
    "checkpoint_nest": [wave((4,))],
    "linearize_nest": [wave((4,)), wave((4,), 1)],
    "has_aux_all": [wave((3,))],
    "tree_grad": [wave((3,))],
    "empty_things": [wave((3,)), np.zeros((0, 3), np.float32)],
    "scan_reverse_unroll_tree": [wave((7, 2)), wave((7,), 1)],
    "scan_length_none": [wave((2,))],
    "associative_scans": [wave((3, 6)), wave((6,), 1)],
    "map_batch": [wave((7, 2))],
    "jacobians_with_aux": [wave((3,))],
}
