"""Writes jax.tsv: how JAX divides the results of single operations on a divided array. README.md says what the columns are."""
import os
import pathlib

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()).reshape(2, 4), ("x", "y"))
shardings = [
    P(), P("x"), P("y"), P(None, "x"), P(None, None, "y"), P("x", "y"), P("y", "x"), P("x", None, "y"), P(None, "x", "y"), P(("x", "y")),
    P(None, ("y", "x")), P(None, None, ("x", "y")),
]
w = jnp.ones((8, 4))
indices = jnp.array([3, 0, 5])
operations = {
    "multiply by a number": lambda v: v * 2,
    "add to itself": lambda v: v + v,
    "exp": jnp.exp,
    "convert": lambda v: v.astype(jnp.int32),
    "where": lambda v: jnp.where(v > 0, v, 0),
    "transpose": jnp.transpose,
    "swapaxes 0 1": lambda v: jnp.swapaxes(v, 0, 1),
    "sum 0": lambda v: jnp.sum(v, 0),
    "sum 1": lambda v: jnp.sum(v, 1),
    "sum 2": lambda v: jnp.sum(v, 2),
    "sum": jnp.sum,
    "max 1": lambda v: jnp.max(v, 1),
    "min 0": lambda v: jnp.min(v, 0),
    "argmax 2": lambda v: jnp.argmax(v, 2),
    "x[0]": lambda v: v[0],
    "x[:, 0]": lambda v: v[:, 0],
    "x[:, :, 0]": lambda v: v[:, :, 0],
    "x[1:3]": lambda v: v[1:3],
    "x[:, 2:6]": lambda v: v[:, 2:6],
    "x[:, :, 1:3]": lambda v: v[:, :, 1:3],
    "x[:, ::2]": lambda v: v[:, ::2],
    "take along 1": lambda v: jnp.take(v, indices, axis=1),
    "x[indices]": lambda v: v[indices],
    "expand_dims 0": lambda v: jnp.expand_dims(v, 0),
    "reshape to [8,128]": lambda v: jnp.reshape(v, (8, 128)),
    "reshape to [8,16,2,4]": lambda v: jnp.reshape(v, (8, 16, 2, 4)),
    "broadcast to [3,8,16,8]": lambda v: jnp.broadcast_to(v, (3, 8, 16, 8)),
    "sort 2": lambda v: jnp.sort(v, 2),
    "sort 0": lambda v: jnp.sort(v, 0),
    "cumsum 1": lambda v: jnp.cumsum(v, 1),
    "matmul by w": lambda v: jnp.matmul(v, w),
    "einsum ijk,ijk->ij": lambda v: jnp.einsum("ijk,ijk->ij", v, v),
    "concatenate along 2": lambda v: jnp.concatenate([v, v], 2),
    "concatenate along 0": lambda v: jnp.concatenate([v, v], 0),
    "stack": lambda v: jnp.stack([v, v]),
    "pad 1": lambda v: jnp.pad(v, ((0, 0), (0, 4), (0, 0))),
    "flip 0": lambda v: jnp.flip(v, 0),
    "flip 2": lambda v: jnp.flip(v, 2),
    "roll 1": lambda v: jnp.roll(v, 1, 1),
}


def text(x):
    spec = list(x.sharding.spec) if isinstance(x.sharding, NamedSharding) else None
    if spec is None:
        return type(x.sharding).__name__
    names = ["-" if d is None or d == () else "+".join(d) if isinstance(d, tuple) else d for d in spec]
    while names and names[-1] == "-":
        names.pop()
    return " ".join(names) or "replicated"


lines = []
for name, f in operations.items():
    for spec in shardings:
        v = jax.device_put(jnp.arange(1024, dtype=jnp.float32).reshape(8, 16, 8), NamedSharding(mesh, spec))
        lines.append("\t".join([name, text(v), text(f(v)), text(jax.jit(f)(v))]))
pathlib.Path(__file__).with_name("jax.tsv").write_text("\n".join(lines) + "\n")
