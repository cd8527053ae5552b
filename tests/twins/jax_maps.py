"""What maps.cpp computes."""

import jax, jax.numpy as jnp, numpy as np
import jax.scipy.linalg as sl, jax.scipy.special as sp
from jax import grad, hessian, jacfwd, jacrev, jit, jvp, lax, pmap, vjp, vmap
from jax.sharding import PartitionSpec as P

from inputs import f32, i32, nan, wave

S, sin, A, L, N = jnp.sum, jnp.sin, jnp.array, jnp.linalg, None


def maps1(x, w):
    f = lambda v, w: (
        lax.psum(v, "i"),
        lax.pmean(v * w, "i"),
        lax.pmax(v, "i"),
        lax.pmin(v, "i"),
        lax.all_gather(v, "i"),
        lax.all_gather(v, "i", tiled=True),
        lax.ppermute(v, "i", [(k, (k + 1) % 8) for k in range(8)]),
        lax.axis_index("i"),
        lax.psum(1, "i"),
    )
    r = vmap(f, in_axes=(0, None), axis_name="i")(x, w)
    return r, r


def maps_grad(x, w):
    loss = lambda w, v: lax.pmean(S(sin(v * w)), "i") + S(lax.psum(v, "i") * w)
    return (
        pmap(grad(loss), in_axes=(None, 0), axis_name="i")(w, x),
        grad(lambda w: S(vmap(loss, in_axes=(None, 0), axis_name="i")(w, x)))(w),
        grad(lambda v: S(vmap(loss, in_axes=(None, 0), axis_name="i")(w, v)))(x),
        pmap(vmap(lambda a: a - lax.psum(a, "i")), axis_name="i")(x),
        pmap(lambda v: lax.psum_scatter(jnp.tile(v[:1], 8) * jnp.arange(8.0), "i"), axis_name="i")(x),
        pmap(lambda v: lax.all_to_all(jnp.tile(v, 8), "i", 0, 0, tiled=True), axis_name="i")(x),
    )


def shmap(p, q):
    m = jax.make_mesh((4, 2), ("a", "b"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
    mm = jax.shard_map(lambda p, q: lax.psum(p @ q, "b"), mesh=m, in_specs=(P("a", "b"), P("b", None)), out_specs=P("a", None))

    def rg(p):
        return lax.scan(lambda c, _: (lambda n: (n, S(n)))(lax.ppermute(c, "a", [(0, 1), (1, 2), (2, 3), (3, 0)])), p, None, length=3)[0]

    ring = jax.shard_map(rg, mesh=m, in_specs=P("a", "b"), out_specs=P("a", "b"))
    ga = jax.shard_map(lambda p: lax.all_gather(p, "a", tiled=True) * 2, mesh=m, in_specs=P("a", "b"), out_specs=P(None, "b"), check_vma=False)
    return (
        mm(p, q),
        ring(p),
        ga(p),
        grad(lambda p: S(sin(mm(p, q))))(p),
        grad(lambda p: S(sin(ring(p)) * p))(p),
        vmap(lambda q: mm(p, q))(jnp.stack([q, q * 2])),
        jax.shard_map(
            lambda p: lax.psum_scatter(p, "a", scatter_dimension=0, tiled=True), mesh=m, in_specs=P(None, "b"), out_specs=P("a", "b"), check_vma=False
        )(p),
    )


inputs = {
    "maps1": [wave((8, 3)), wave((3,), 1)],
    "maps_grad": [wave((8, 3)), wave((3,), 1)],
    "shmap": [wave((8, 4)), wave((4, 6), 1)],
}
