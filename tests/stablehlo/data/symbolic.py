"""Writes symbolic.exported and symbolic.npz: a function of any number of rows, b, exported by JAX, with its results for some numbers.

    JAX_PLATFORMS=cpu python tests/stablehlo/data/symbolic.py
"""
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
from jax import export, lax

here = pathlib.Path(__file__).resolve().parent


def f(p, x, y):
    h = jax.nn.softmax(x @ p["w"] + p["b"])
    carry, rows = lax.scan(lambda c, r: (c + r, c * r), jnp.zeros(3), h)
    return {
        "mean": h.mean(0) + carry,
        "run": jnp.cumsum(h, axis=0),
        "numbered": h + jnp.arange(x.shape[0])[:, None],
        "pairs": jnp.concatenate([h, rows[::-1]]).reshape(-1, 2, 3),
        "sorted": jnp.sort(h, axis=0),
        "loss": lax.fori_loop(0, x.shape[0], lambda i, c: c + y[i] * h[i, 0], 0.0) / x.shape[0],
        "spectrum": jnp.abs(jnp.fft.rfft(x)),
        "inverse": jnp.linalg.solve(jnp.eye(3) + h[:, :, None] * h[:, None, :], h[..., None])[..., 0],
    }


def inputs(b):
    r = np.random.RandomState(b)
    n = lambda *s: r.standard_normal(s).astype(np.float32)
    return {"w": n(4, 3), "b": n(3)}, n(b, 4), n(b)


sizes = export.symbolic_shape("b, 4", constraints=["b >= 2"])
types = jax.tree.map(lambda a: jax.ShapeDtypeStruct(a.shape, a.dtype), inputs(2)[0])
exported = export.export(jax.jit(f), platforms=["cpu"])(types, jax.ShapeDtypeStruct(sizes, jnp.float32), jax.ShapeDtypeStruct(sizes[:1], jnp.float32))
(here / "symbolic.exported").write_bytes(exported.serialize())
arrays = {}
for b in (2, 5, 17):
    p, x, y = inputs(b)
    arrays |= {f"w{b}": p["w"], f"b{b}": p["b"], f"x{b}": x, f"y{b}": y}
    arrays |= {f"{name}{b}": np.asarray(value) for name, value in jax.jit(f)(p, x, y).items()}
np.savez(here / "symbolic.npz", **arrays)
