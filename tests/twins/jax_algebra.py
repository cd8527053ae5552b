"""What algebra.cpp computes."""

import jax, jax.numpy as jnp, numpy as np
import jax.scipy.linalg as sl, jax.scipy.special as sp
from jax import grad, hessian, jacfwd, jacrev, jit, jvp, lax, pmap, vjp, vmap
from jax.sharding import PartitionSpec as P

from inputs import f32, i32, nan, wave

S, sin, A, L, N = jnp.sum, jnp.sin, jnp.array, jnp.linalg, None


def spd(a):
    return a @ jnp.swapaxes(a, -1, -2) + 2 * jnp.eye(a.shape[-1])


def chol(a, v):
    return (
        L.cholesky(spd(a)),
        grad(lambda a: S(sin(L.cholesky(spd(a)))))(a),
        hessian(lambda v: S(jnp.log(jnp.diag(L.cholesky(spd(jnp.outer(v, v)))))))(v),
        vmap(jacfwd(lambda a: L.cholesky(spd(a))))(a[:, :2, :2]),
        L.cholesky(spd(a), upper=True),
    )


def eighs(a, v):
    w, u = L.eigh(spd(a))
    return (
        w,
        abs(u),
        grad(lambda a: S(sin(L.eigh(spd(a))[0])))(a),
        grad(lambda a: S((L.eigh(spd(a))[1] ** 2) * jnp.arange(9.0).reshape(3, 3)))(a[0][None]),
        L.eigvalsh(spd(a)),
        hessian(lambda v: L.eigvalsh(spd(jnp.outer(v, v)) + jnp.diag(jnp.array([1.0, 2, 4])))[2])(v),
        grad(lambda a: L.eigvalsh(a)[0])(jnp.eye(2) * 3),
    )


def svds(a, b):
    svd = lambda a: L.svd(a, full_matrices=False)
    sv = lambda a: L.svd(a, compute_uv=False)
    u, s, vt = svd(a)
    return (
        abs(u),
        s,
        abs(vt),
        a,
        grad(lambda a: S(sin(sv(a))))(a),
        grad(lambda a: (lambda p, q, r: S(sin(p @ r)))(*svd(a)))(a),
        grad(lambda a: L.norm(a, "nuc"))(a),
        hessian(lambda v: sv(jnp.outer(v, v) + jnp.diag(jnp.array([1.0, 2, 4])))[0])(b[:, 0]),
        L.pinv(a),
        L.matrix_rank(a),
        L.cond(a),
        grad(lambda a: S(sin(L.pinv(a))))(a),
        L.norm(a, 2),
        L.norm(a, 1, (0, 1)),
        L.norm(a, jnp.inf, 0),
        L.norm(a, 3, 1),
        L.norm(a, axis=1, keepdims=True),
    )


def solves(A, v, B):
    a = spd(A)
    return (
        L.solve(a, B),
        L.solve(a[0], v),
        L.inv(a),
        L.det(a),
        L.slogdet(-a)[0],
        L.slogdet(a)[1],
        grad(lambda m: S(sin(L.solve(spd(m), B))))(A),
        grad(lambda m: S(L.inv(spd(m))))(A),
        grad(lambda m: S(L.det(m)))(A),
        hessian(lambda v: L.slogdet(spd(jnp.outer(v, v)))[1])(v),
        sl.expm(A * 0.5),
        grad(lambda m: S(sin(sl.expm(m))))(A[0] * 0.3),
        L.matrix_power(A, 3),
        L.matrix_power(a, -2),
        vmap(L.solve, in_axes=(0, None))(a, v),
        vmap(lambda l, b: sl.solve_triangular(l, b, lower=True))(L.cholesky(a), B),
        A[0] @ A[1] @ B[0],
        grad(lambda b: S(L.lstsq(B[0], b)[0] * jnp.array([1.0, 2])))(v),
        grad(lambda m: S(L.lstsq(m, v)[0]))(B[0]),
        abs(L.qr(B)[0]),
        abs(L.qr(B)[1]),
        grad(lambda m: S(sin(L.qr(m)[1])))(B),
        vmap(sl.lu)(A)[1],
        vmap(sl.lu)(A)[0],
        grad(lambda m: S(sin(vmap(sl.lu)(m)[2])))(A),
        jacfwd(L.inv)(a[0]),
    )


def complexla(z):
    h = z @ z.conj().T + jnp.eye(3)
    return (
        L.eigvalsh(h),
        L.cholesky(h),
        L.inv(z),
        L.det(z),
        L.slogdet(z)[0],
        L.slogdet(z)[1],
        L.svd(z, compute_uv=False),
        L.norm(z),
        sl.expm(z * 0.2),
        grad(lambda m: S(L.eigvalsh(m @ m.conj().T)))(z),
        grad(lambda m: L.slogdet(m)[1])(z),
        grad(lambda m: S(L.inv(m)).real)(z),
        grad(lambda m: S(L.svd(m, compute_uv=False)))(z),
    )


def dtypes_misc(x, i):
    b = x.astype(jnp.bfloat16)
    h = x.astype(jnp.float16)
    i8 = i.astype(jnp.int8)
    u8 = i.astype(jnp.uint8)
    bo = x > 0
    return (
        b + h,
        b * 2.5,
        h + i8,
        i8 + u8,
        u8 + 1,
        i8 * 1.5,
        bo + bo,
        bo * 2,
        bo + 1.0,
        S(b),
        S(h),
        jnp.mean(b),
        jnp.mean(i8),
        S(bo),
        jnp.prod(i8),
        i8 / u8,
        i8 / 2,
        i / 2,
        i % 3,
        i / x,
        i8**2,
        2 ** (i % 4),
        -u8,
        ~u8,
        i8 << 1,
        u8 >> 1,
        (x * 100.0).astype(jnp.int8),
        (x * 100.0).astype(jnp.uint8),
        x.astype(bool),
        b @ b,
        i8 @ i8,
        jnp.dot(h, b),
        jnp.cumsum(b),
        jnp.sort(h),
        jnp.max(b),
        jnp.var(h),
        jnp.std(b),
        jnp.exp(b),
        sin(h),
        jax.nn.softmax(b),
        jnp.where(bo, b, 1),
        jnp.where(bo, i8, 1.5),
        jnp.maximum(i8, 2),
        jnp.maximum(b, h),
        jnp.clip(i8, -1, 1),
        jnp.clip(u8, 0, 255),
        jnp.linspace(0, 1, 5, dtype=jnp.bfloat16),
        jnp.arange(0, 5, 1, jnp.float16),
        jnp.mean(bo),
        jnp.any(b > 0),
        lax.bitcast_convert_type(h, jnp.uint16),
        abs(i8),
        jnp.sign(i8),
        jnp.square(i8),
        jnp.sqrt(i + 3),
        jnp.floor(i),
        jnp.round(h * 3),
        jnp.isnan(i),
        jnp.logical_not(i),
        i // 2,
        (-i) % 3,
        i == 1.0,
        i > 0.5,
        jnp.argmax(b),
        lax.top_k(h, 2)[0],
        jnp.quantile(x, 0.3),
        jnp.mean(i, dtype=jnp.bfloat16),
        S(i8, dtype=jnp.int8),
        S(x, dtype=jnp.bfloat16),
    )


inputs = {
    "chol": [wave((2, 3, 3)), wave((3,))],
    "eighs": [wave((2, 3, 3)), wave((3,))],
    "svds": [wave((4, 3)), wave((3, 4), 1)],
    "solves": [wave((2, 3, 3)), wave((3,)), wave((2, 3, 2))],
    "complexla": [wave((3, 3)) + 1j * wave((3, 3), 1)],
    "dtypes_misc": [wave((4,)), i32([1, -2, 3, 7])],
}
