"""What arrays.cpp computes."""

import jax, jax.numpy as jnp, numpy as np
import jax.scipy.linalg as sl, jax.scipy.special as sp
from jax import grad, hessian, jacfwd, jacrev, jit, jvp, lax, pmap, vjp, vmap
from jax.sharding import PartitionSpec as P

from inputs import f32, i32, nan, wave

S, sin, A, L, N = jnp.sum, jnp.sin, jnp.array, jnp.linalg, None


def idx_read(a, i):
    return (
        a[1],
        a[-1, 2],
        a[::-1],
        a[3:0:-2, 1:],
        a[10:],
        a[..., -1],
        a[N, 0, ..., N],
        a[i],
        a[:, i],
        a[i, N, i[0:1]],
        a[0, i, 1],
        a[i, :, jnp.array([0, 1, 2, 0])],
        a[jnp.array([[0, 1], [2, 3]]), ::2],
        a[-3:-1],
        a[1, :1:-1, 2],
    )


def idx_update(a, i, v):
    return (
        a.at[i].set(v[N].at[0, 0].set(9.0)[0][:, N]),
        a.at[i].add(v[:, N]),
        a.at[i].multiply(2.0),
        a.at[i].min(0.0),
        a.at[i].max(v[:, N]),
        a.at[::-2, 1].set(7.0),
        a.at[..., 3:0:-1].add(1.0),
        a.at[:, i].set(0.0),
        a.at[i, i].add(v),
        a.at[1].divide(2.0),
        a.at[-1, 1:4:2].multiply(3.0),
    )


def idx_grad(a, i, v):
    return (
        grad(lambda a: jnp.nansum(sin(a[i])))(a),
        grad(lambda v: S(sin(a.at[i, 1].set(v))))(v),
        grad(lambda v: S(sin(a.at[i, 1].add(v))))(v),
        grad(lambda v: S(sin(a.at[i, 1].max(v))))(v),
        grad(lambda a: S(sin(a.at[i, 1].min(v))))(a),
        grad(lambda a: S(a.at[i, 1].multiply(2.0)))(a),
        grad(lambda a: S(a.at[::-1, 2].set(v) * a))(a),
    )


def idx_vmap(a, i, j):
    return (
        vmap(lambda r, i: r[i])(a, i),
        vmap(lambda r, i: r.at[i].add(r[i]))(a, i),
        vmap(lambda j: a[..., j])(j),
        vmap(lambda r, j: lax.dynamic_slice(r, (j,), (2,)))(a, j),
        vmap(lambda r, j: lax.dynamic_update_slice(r, r[:2] * 2, (j,)))(a, j),
        vmap(lambda j: a.at[1, j].set(9.0))(j),
        vmap(lambda r, i: jnp.take_along_axis(r, i, 0))(a, i),
        jnp.take_along_axis(a, i, -1),
        jnp.take_along_axis(a, jnp.array([[0, 2, 1, 0, 1]]), 0),
        vmap(vmap(lambda a, j: a * j, in_axes=(0, N)))(a, j),
    )


def sorts(a, b, c):
    t = lax.top_k(a, 4)
    w = jnp.arange(1.0, 7.0)
    return (
        jnp.sort(a),
        jnp.argsort(a),
        jnp.sort(b, 0),
        jnp.argsort(b, 1),
        jnp.sort(c),
        jnp.argsort(c),
        t[0],
        t[1],
        grad(lambda a: S(jnp.sort(a) * w))(a),
        grad(lambda a: S(lax.top_k(a, 4)[0] * w[:4]))(a),
        jacfwd(jnp.sort)(a),
        grad(lambda a: jnp.max(a) + S(lax.cummax(a)))(a),
        jnp.searchsorted(jnp.sort(a), jnp.array([1.0, 3, 9])),
        jnp.searchsorted(jnp.sort(a), jnp.array([1.0, 3, 9]), side="right"),
        jnp.median(a),
        grad(jnp.median)(a),
        jnp.unique(a, size=6),
        jnp.unique(a, size=2),
        jnp.argmax(a),
        jnp.argmin(a),
        jnp.argmax(c),
        jnp.max(c),
        lax.cummin(a),
        vmap(jnp.argsort)(b),
    )


def cums(a, b, c):
    L = lax.cumlogsumexp
    return (
        jnp.cumsum(a, 1),
        jnp.cumprod(a, 0),
        L(a, 1),
        jnp.cumsum(b, 0),
        jnp.cumsum(c, 0),
        jnp.cumprod(b, 1),
        grad(lambda a: S(sin(jnp.cumprod(a, 1))))(a),
        grad(lambda a: S(sin(L(a, 0))))(a),
        grad(lambda a: S(sin(jnp.cumsum(a, 0))))(a),
        grad(lambda a: S(jnp.cumprod(a, 0)))(a.at[1, 1].set(0.0)),
        hessian(lambda a: S(jnp.cumprod(a, 0)))(a[:, 0]),
        lax.cummax(b.astype(jnp.int8), 0),
        jax.nn.logsumexp(a, 0),
        jax.nn.logsumexp(a, (0, 1), keepdims=True),
    )


def convs(a, k, c, l, d, e):
    C = lax.conv_general_dilated
    f = lambda a, k: C(a, k, (2, 1), [(1, 2), (0, 1)], rhs_dilation=(2, 1), feature_group_count=2)
    g = lambda a, k: C(a, k, (1, 2), [(1, 1), (0, 1)], lhs_dilation=(2, 1), dimension_numbers=("NHWC", "HWIO", "NHWC"))
    w = ("NCW", "OIW", "NCW")
    return (
        f(a, k),
        g(c, l),
        grad(lambda a, k: S(sin(f(a, k))), (0, 1))(a, k),
        grad(lambda a, k: S(sin(g(a, k))), (0, 1))(c, l),
        C(d, e, (1,), "SAME_LOWER", dimension_numbers=w),
        C(d, e, (2,), [(-1, 3)], dimension_numbers=w),
        C(jnp.concatenate([d, d]), jnp.concatenate([e, e]), (1,), "VALID", dimension_numbers=w, batch_group_count=2),
        vmap(lambda k: C(d, k, (1,), "VALID", dimension_numbers=w))(jnp.stack([e, e * 2])),
        lax.conv_transpose(c, l, (2, 3), "SAME"),
        jnp.convolve(d[0, 0], e[0, 0]),
        jnp.convolve(d[0, 0], e[0, 0], "same"),
        jnp.correlate(d[0, 0], e[0, 0], "full"),
    )


def pools(a):
    def pool(x, init, red, w, s, p):
        if not isinstance(p, str):
            p = ((0, 0),) + tuple(p) + ((0, 0),)
        return lax.reduce_window(x, init, red, (1,) + w + (1,), (1,) + s + (1,), p)

    mp = lambda a: pool(a, -jnp.inf, lax.max, (3, 2), (2, 1), "SAME")
    ap = lambda a, w, s, p: pool(a, 0.0, lax.add, w, s, p) / np.prod(w)
    return (
        mp(a),
        ap(a, (2, 2), (2, 2), "VALID"),
        pool(a, jnp.inf, lax.min, (2, 3), (1, 1), ((1, 0), (0, 2))),
        grad(lambda a: S(sin(mp(a))))(a),
        grad(lambda a: S(ap(a, (3, 3), (2, 2), "SAME") ** 2))(a),
        grad(lambda a: S(mp(a)))(jnp.round(a)),
        hessian(lambda a: S(mp(a) ** 2))(a[:1, :2, :2, :1]),
        lax.reduce_window(a[0, ..., 0], 0.0, lax.add, (2, 2), (1, 2), "VALID", base_dilation=(2, 1), window_dilation=(1, 2)),
    )


def einsums(a, b, c, d):
    E = jnp.einsum
    return (
        E("ij,jk->ki", a, b),
        E("ij,jk", a, b),
        E("bij,jk,ij->bk", c, b, a),
        E("ii->i", d),
        E("ii", d),
        E("...ij,...jk->...ik", c, b),
        E("ij->", a),
        E("ij->j", a),
        E("bij,bij->b", c, c),
        E("i,j->ji", a[0], b[0]),
        E("ij,kl->", a, b),
        E("iij,jk->ik", jnp.stack([d, d + 1, d, d], 1), b),
        E("i...->...", c),
        grad(lambda a: S(sin(E("ij,bij,jj->bj", a, c, d))))(a),
        vmap(lambda m: E("ij,kj->ik", m, a))(c),
        jnp.tensordot(c, a, 2),
        jnp.tensordot(c, a, ((1, 2), (0, 1))),
        jnp.kron(a, b[:2]),
        jnp.outer(a, b[0]),
        jnp.cross(c[0, :, :3], a[:, 1:4]),
        jnp.vdot(a, a),
        jnp.inner(a, d),
    )


def ffts(a, z, c):
    F = jnp.fft
    q = jnp.array([1.0, 2, 3, 4])
    gi = grad(lambda z: S(F.irfft(z) ** 2))(z)
    return (
        F.fft(a),
        F.ifft(z, axis=0),
        F.rfft(a),
        F.irfft(z),
        F.irfft(z, n=7),
        F.fft(a, n=4, norm="ortho"),
        F.rfftn(c),
        F.irfftn(z),
        F.fft2(c, norm="forward"),
        F.hfft(z),
        F.ihfft(a),
        F.fftshift(a),
        grad(lambda a: S(jnp.abs(F.rfft(a) * q) ** 2))(a),
        grad(lambda a: S(sin(F.irfft(F.rfft(a) * (1 + 2j)))))(a),
        gi.real,
        gi.imag,
        vmap(lambda r: F.fft(r, axis=0), in_axes=1, out_axes=1)(a),
        hessian(lambda a: S(jnp.abs(F.rfft(a)) ** 2) * a[0])(a[0]),
        jvp(lambda a: F.rfft(a, n=8, axis=0), (a,), (a,))[1],
        F.fftfreq(7, 0.5),
        F.rfftfreq(7),
    )


def complexes(z, a):
    return (
        grad(lambda z: z * z * z, holomorphic=True)(z[0]),
        grad(lambda z: S(jnp.abs(z) ** 2 * z.real))(z),
        jacfwd(lambda a: jnp.exp(a * 1j))(a),
        grad(lambda a: S((jnp.exp(a * 1j) * a).real))(a),
        jnp.sqrt(z),
        jnp.log(z),
        z**z,
        z**3,
        abs(z),
        jnp.angle(z),
        z.conj(),
        jnp.sinh(z),
        jnp.tan(z),
        jnp.arccos(z),
        jnp.arctanh(z),
        jnp.sign(z),
        z / z.conj(),
        S(z),
        jnp.prod(z),
        jnp.mean(z),
        jnp.var(z),
        jnp.std(z),
        z == z.conj(),
        jnp.isfinite(z),
        z * z.conj(),
        vjp(lambda z: sin(z) * abs(z), z)[1](z)[0],
        grad(lambda z: jnp.linalg.norm(z))(z),
        jnp.cumsum(z),
        jnp.cumprod(z),
        jnp.exp(z) + 1,
        2.5 * z,
        z + a,
        a - z,
        jnp.where(a > 0, z, a),
        jax.nn.sigmoid(z),
        jnp.square(z),
        jnp.log1p(z),
        jnp.expm1(z),
        jax.nn.logsumexp(z),
        jnp.dot(z, z),
        jnp.vdot(z, z),
        jnp.sort(z),
    )


inputs = {
    "idx_read": [wave((4, 5, 3)), i32([2, -1, 7, -9])],
    "idx_update": [wave((4, 5)), i32([2, -1, 7, 2]), wave((4,), 2)],
    "idx_grad": [wave((4, 5)), i32([2, -1, 7, 2]), wave((4,), 2)],
    "idx_vmap": [wave((3, 5)), i32([[0, 1], [4, -1], [2, 2]]), i32([1, 3, -5])],
    "sorts": [f32(3, 1, 3, -2, 1, 0), i32([[2, 1, 2], [0, 0, -1]]), f32(1, nan, -1, -0.0, 0)],
    "cums": [wave((3, 4)), i32([[1, 2, 3], [4, 5, 6]]), np.array([True, True, False])],
    "convs": [wave((2, 4, 6, 7)), wave((6, 2, 3, 2), 1), wave((2, 7, 6, 4)), wave((3, 2, 4, 5), 2), wave((2, 3, 9)), wave((5, 3, 3), 1)],
    "pools": [wave((2, 7, 6, 3))],
    "einsums": [wave((3, 4)), wave((4, 5), 1), wave((2, 3, 4), 2), wave((4, 4), 0.5)],
    "ffts": [wave((3, 6)), wave((2, 5)) + 1j * wave((2, 5), 1), wave((4, 3, 5))],
    "complexes": [wave((4,)) + 1j * wave((4,), 1), wave((4,))],
}
