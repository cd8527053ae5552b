"""What numpy.cpp computes."""

import jax, jax.numpy as jnp, numpy as np
import jax.scipy.linalg as sl, jax.scipy.special as sp
from jax import grad, hessian, jacfwd, jacrev, jit, jvp, lax, pmap, vjp, vmap
from jax.sharding import PartitionSpec as P

from inputs import f32, i32, nan, wave

S, sin, A, L, N = jnp.sum, jnp.sin, jnp.array, jnp.linalg, None


def names(a, b, i, j):
    nan = b.at[0].set(jnp.nan)
    inf = b.at[1].set(-jnp.inf)
    fr, wh = jnp.modf(b)
    man, ex = jnp.frexp(b * 100)
    dq, dr = jnp.divmod(i, j)
    return (
        abs(a),
        jnp.fabs(i),
        +a,
        jnp.reciprocal(b),
        jnp.conj(b),
        jnp.rint(b),
        jnp.trunc(b),
        jnp.degrees(b),
        jnp.radians(b),
        jnp.arcsin(a / 3),
        jnp.arccos(a / 3),
        jnp.arctan(a),
        jnp.arcsinh(a),
        jnp.arccosh(a + 3),
        jnp.arctanh(a / 3),
        jnp.arctan2(a, b),
        i**2,
        jnp.power(a + 2, b),
        jnp.float_power(i, 2),
        jnp.float_power(2, b),
        i / j,
        i % j,
        jnp.fmod(i, j),
        jnp.fmod(a, b),
        jnp.fmax(nan, b),
        jnp.fmin(nan, 0),
        i == j,
        i != 5,
        a < b,
        i <= j,
        a > b,
        i >= j,
        i & j,
        i | j,
        i ^ j,
        ~i,
        ~(a > 0),
        i << 2,
        i >> 1,
        jnp.bitwise_count(i),
        jnp.isposinf(-inf),
        jnp.isneginf(inf),
        jnp.isreal(b + 1j * b),
        jnp.iscomplex(b + 0j * b),
        i % 5,
        i & j,
        i | 6,
        i ^ j,
        i << 2,
        i >> 1,
        jnp.round(b * 100, 1),
        jnp.round(a, 2),
        A(np.round(np.asarray(i) * 100, -1)),
        jnp.round(i, 2),
        fr,
        wh,
        man,
        ex,
        dq,
        dr,
        jnp.ldexp(b, i),
        jnp.ldexp(jnp.float32(3), A([2, -3])),
        jnp.gcd(i, j),
        jnp.gcd(i, 6),
        jnp.lcm(i, j),
        jnp.select([a > 1, a > 0], [a, 2 * a], -1.0),
        jnp.select([i > 0], [j]),
    )


def special(a, b):
    return (
        jnp.sinc(a),
        jnp.heaviside(a, 0.5),
        sp.xlogy(b, b),
        sp.xlogy(0.0, a),
        sp.xlog1py(b, b),
        sp.entr(a),
        sp.rel_entr(b, abs(a)),
        sp.kl_div(b, abs(a)),
        sp.logit(b[1:3]),
        sp.expit(a),
        sp.erfinv(b[:3]),
        jnp.logaddexp2(a, b),
        sp.gammaln(b + 1),
        sp.ndtr(a),
        grad(lambda v: S(jnp.sinc(v)))(a),
        grad(grad(jnp.sinc))(0.0),
        grad(grad(grad(grad(jnp.sinc))))(0.0),
        grad(lambda v: S(sp.xlogy(v, b + 1)))(b),
        grad(lambda v: S(sp.xlogy(a, v + 1)))(b),
        grad(lambda v: S(sp.xlog1py(v, b + 1)))(a),
        hessian(lambda v: S(sp.xlogy(v, v)))(b[1:4]),
        grad(lambda v: S(sp.entr(v)))(b[1:4]),
        vmap(grad(sp.logit))(b[1:3]),
        jvp(jnp.sinc, (a,), (b,))[1],
        sp.xlogy(A([1, 0]), A([2, 0])),
    )


def joining(a, b, n, c):
    P = jnp.pad
    r = [
        jnp.atleast_1d(a[0, 0]),
        jnp.atleast_2d(b),
        jnp.atleast_3d(b),
        jnp.atleast_3d(a),
        a.T,
        jnp.matrix_transpose(c),
        jnp.rollaxis(c, 2),
        jnp.rollaxis(c, 0, 2),
        lax.broadcast_in_dim(b, (2, 3, 2), (1,)),
        jnp.append(a, b),
        jnp.append(a, a, 1),
        jnp.dstack([a, a * 2]),
        jnp.column_stack([b, a.T, b]),
        jnp.block([[a, a], [a * 2, a * 3]]),
        jnp.fliplr(a),
        jnp.flipud(a),
        jnp.rot90(a),
        jnp.rot90(a, 2),
        jnp.rot90(a, -1),
        jnp.rot90(c, 1, (1, 2)),
        jnp.roll(b, n[0]),
        jnp.roll(a, n[2], 1),
        jnp.roll(a, -n[0]),
        jnp.repeat(b, n, 0, total_repeat_length=5),
        jnp.repeat(a, n, 1, total_repeat_length=7),
        P(a, 2, "edge"),
        P(a, ((1, 0), (2, 4)), "wrap"),
        P(a, ((3, 1), (2, 5)), "reflect"),
        P(a, ((3, 1), (2, 5)), "symmetric"),
        P(a, 1, "maximum"),
        P(a, 1, "minimum"),
        P(a, 1, "mean"),
        P(a, (1, 2), constant_values=7),
        lax.pad(a, jnp.float32(1.5), ((1, -1, 1), (-1, 0, 2))),
        grad(lambda v: S(sin(P(v, 2, "reflect"))))(b),
        vmap(lambda v: P(v, (1, 2), "symmetric"))(a),
        vmap(jnp.roll)(a, n[:2]),
        vmap(lambda v, k: jnp.repeat(v, k, total_repeat_length=4))(a, A([[1, 0, 2], [0, 1, 1]])),
    ]
    return (
        r
        + list(jnp.broadcast_arrays(a, b, jnp.float32(1)))
        + [c[:, :, 0], c[:, :, 1]]
        + list(jnp.array_split(b, 2))
        + list(jnp.hsplit(c, 2))
        + list(jnp.vsplit(c, [1, 2]))
    )


def positions(a, ids, v, m):
    so = jax.ops
    d = lax
    r = [
        jnp.argwhere(a, size=4, fill_value=-1),
        jnp.flatnonzero(a, size=2),
        jnp.put_along_axis(m, A([[0], [2], [1], [0]]), 9.0, 1, inplace=False),
        jnp.put_along_axis(m, A([[3, 0, 3]]), A([[1.0, 2, 3]]), 0, inplace=False),
        jnp.fill_diagonal(m, 5, inplace=False),
        jnp.fill_diagonal(m, A([1.0, 2, 3]), inplace=False),
        jnp.choose(A([0, 1, 2]), [m[0], m[1], m[2]]),
        d.dynamic_slice_in_dim(m, ids[0], 2),
        d.dynamic_slice_in_dim(m, 2, 2, 1),
        d.dynamic_index_in_dim(m, ids[0]),
        d.dynamic_index_in_dim(m, ids[4], 1, False),
        d.dynamic_update_slice_in_dim(m, 2 * m[:2], ids[0], 0),
        d.dynamic_update_index_in_dim(m, m[0], ids[0], 0),
        d.slice_in_dim(m, 1, 4, 2),
        d.slice_in_dim(m, None, -1, 1, 1),
        d.index_in_dim(m, 1),
        d.index_in_dim(m, -1, 1, False),
        so.segment_sum(v, ids, 5),
        so.segment_sum(v, A([0, 0, 1, 1, 2]), 2),
        so.segment_prod(v, ids, 3),
        so.segment_max(v, ids, 3),
        so.segment_min(v, ids, 3),
        so.segment_max(ids, ids, 3),
        grad(lambda q: S(so.segment_sum(q, ids, 3) ** 2))(v),
        vmap(lambda q: so.segment_sum(q, ids, 3), in_axes=1)(v),
        jnp.indices((2, 3)),
        jnp.ravel_multi_index((A([1, 0, 9]), A([2, 1, -1])), (2, 3), mode="clip"),
    ]
    return (
        r
        + list(jnp.nonzero(a, size=4, fill_value=7))
        + list(jnp.where(a > 0, size=1))
        + list(jnp.tril_indices(3))
        + list(jnp.triu_indices(3, 1, 4))
        + list(jnp.diag_indices(3))
        + list(jnp.ix_(A([0, 2]), A([1])))
        + list(jnp.unravel_index(A([0, 5, -1, 9]), (2, 3)))
    )


def positions_known(a, n):
    h = jnp.histogram(a, 4)
    return [
        jnp.argwhere(a),
        jnp.flatnonzero(a),
        jnp.extract(a > 0, a),
        jnp.compress(A([True, False]), a, 0),
        jnp.compress(A([False, True, True]), a, 1),
        jnp.repeat(a, n, 1),
        jnp.repeat(a[0], n),
        jax.ops.segment_sum(a[0], n),
        jnp.unique(a),
        h[0],
        h[1],
    ] + list(jnp.nonzero(a))


def modes_of_at(a, i, v, j):
    return (
        a.at[i].get(mode="fill", fill_value=5),
        a.at[i].get(mode="clip"),
        a.at[i].get(mode="fill"),
        a.at[i, 0].set(v, mode="clip"),
        a.at[i, 0].add(v, mode="drop"),
        a.at[i, 0].add(v, mode="clip"),
        a.at[i, 1].mul(v),
        a.at[i, 1].subtract(v),
        a.at[i, 1].power(2),
        a.at[:2].subtract(1),
        a.at[0, 1].power(3),
        jnp.take(a, i, 0, mode="clip"),
        jnp.take(a, i, 0, mode="wrap"),
        jnp.take(a, i, 0, mode="fill", fill_value=-1),
        jnp.take(a, i, mode="wrap"),
        jnp.take_along_axis(a, j, 0, mode="clip"),
        jnp.take_along_axis(a, j, 0, mode="fill", fill_value=2),
        i.at[i].get(mode="fill", fill_value=-3),
        grad(lambda q: S(sin(q.at[i].get(mode="fill", fill_value=0))))(a),
        grad(lambda q: S(sin(a.at[i, 0].set(q, mode="clip"))))(v[0] * jnp.ones(4)),
        vmap(lambda q, k: q.at[k].get(mode="clip"))(a, i),
        grad(lambda q: S(sin(jnp.take(q, i, 0, mode="wrap"))))(a),
    )


def initials(a, k, e):
    return (
        S(a, 0, initial=2.0),
        jnp.prod(a, initial=3),
        jnp.max(a, 1, initial=1.2),
        jnp.min(a, initial=-5.0),
        jnp.max(a, 0, where=a > 0, initial=0.0),
        jnp.max(e, 0, initial=4.0),
        jnp.min(k, 1, keepdims=True, initial=3),
        S(k, initial=10),
        lax.cumsum(a, 1, reverse=True),
        lax.cumprod(a, 0, reverse=True),
        lax.cummax(a, 1, reverse=True),
        lax.cummin(a, 0, reverse=True),
        lax.cumlogsumexp(a, 1, reverse=True),
        jnp.cumsum(k, 0, dtype=jnp.float32),
        jnp.sort(a, 1, descending=True),
        jnp.argsort(A([2, 1, 2, 3, 1]), descending=True),
        jnp.sort(a, 0, descending=True),
        grad(lambda v: S(jnp.max(v, 0, initial=0.5)))(a),
        grad(lambda v: S(sin(lax.cumsum(v, 1, reverse=True))))(a),
        grad(lambda v: S(jnp.sort(v, 1, descending=True) * jnp.arange(4.0)))(a),
        vmap(lambda v: jnp.argsort(v, descending=True))(a),
    )


def statistics(a, w, n, k):
    h = jnp.histogram(a, 5)
    h2 = jnp.histogram(a, 3, range=(-1, 1), weights=a * a, density=True)
    return (
        jnp.average(a),
        jnp.average(a, 1),
        jnp.average(a, 0, weights=w),
        jnp.average(a, weights=abs(a)),
        jnp.average(a, 0, weights=w, keepdims=True),
        jnp.ptp(a),
        jnp.ptp(a, 0),
        jnp.count_nonzero(a > 0),
        jnp.count_nonzero(k - 1, 0),
        jnp.nanmax(n),
        jnp.nanmax(n, 1),
        jnp.nanmin(n, 1),
        jnp.nanprod(n, 1),
        jnp.nanvar(n, 1),
        jnp.nanstd(n, 0),
        jnp.nanargmax(n, 1),
        jnp.nanargmin(n, 1),
        jnp.nansum(n, 0),
        jnp.quantile(a, A([0.25, 0.5]), 0),
        jnp.percentile(a, A([10.0, 90])),
        jnp.digitize(a, jnp.sort(w)),
        jnp.digitize(w, w, right=True),
        h[0],
        h[1],
        h2[0],
        h2[1],
        jnp.isin(k, A([1, 2])),
        jnp.isin(k, 3, invert=True),
        jnp.lexsort([k, A([1, 1, 0, 0, 1])]),
        jnp.gradient(a[0]),
        jnp.gradient(a, 2.0, axis=1),
        jnp.ediff1d(a),
        jnp.unwrap(A([0.0, 3, 6.5, -3, 0])),
        jnp.vander(w),
        jnp.vander(w, 2, True),
        jnp.vecdot(a, a),
        jnp.matvec(a, a[0]),
        jnp.vecmat(w, a),
        jnp.linspace(0, 1, 4, endpoint=False),
        jnp.linspace(1.0, a[0], 3, endpoint=False),
        jnp.logspace(0, 2, 5),
        jnp.geomspace(1, 1000, 4),
        jnp.arange(1, 4, dtype=jnp.float32),
        jnp.hanning(6),
        jnp.hamming(5),
        jnp.blackman(7),
        jnp.bartlett(5),
        jnp.polyfit(A([0.0, 1, 2, 3]), A([1.0, 3, 2, 5]), 2),
        grad(jnp.nanstd)(n[0]),
        grad(lambda v: S(jnp.gradient(v) ** 2))(w),
        vmap(lambda v: jnp.average(v, weights=abs(v)))(a),
    )


inputs = {
    "names": [wave((2, 3)), wave((3,), 1) * 2, i32([-7, 5, 12]), i32([3, -2, 8])],
    "special": [f32(0, 0.3, -1.2, 2, 1), f32(0, 0.7, 0.2, 3, 1)],
    "joining": [wave((2, 3)), wave((3,), 1), i32([2, 0, 3]), wave((3, 4, 2))],
    "positions": [np.array([[0, 2, 0], [3, 0, -1]], np.float32), i32([1, 0, 1, 4, -1]), wave((5, 2)), wave((4, 3))],
    "positions_known": [np.array([[0, 2, 0], [3, 0, -1]], np.float32), i32([2, 0, 3])],
    "modes_of_at": [wave((4, 3)), i32([1, 7, -9, 0]), wave((4,), 2), i32([[0, 9, 1], [2, -8, 3]])],
    "initials": [wave((3, 4)), i32([[1, 2], [3, 4]]), np.zeros((0, 3), np.float32)],
    "statistics": [wave((3, 4)), f32(0.5, 1, 2), np.array([[1, nan, 3], [nan, nan, nan]], np.float32), i32([3, 1, 2, 1, 3])],
}
