#!/usr/bin/env python3
"""Prints the table of random_bits.cpp: hashes of the bits that JAX 0.10 draws. Needs jax."""
import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)
key = jax.random.key(7)


def hashed(x):
    h = 14695981039346656037
    for b in np.ascontiguousarray(np.asarray(x)).tobytes():
        h = (h ^ b) * 1099511628211 % 2 ** 64
    return h


def row(name, x):
    print(f'    {{"{name}", {hashed(x):#018x}}},')


for name in ("float32", "float64", "float16", "bfloat16"):
    t = getattr(jnp, name)
    row(f"uniform {name}", jax.random.uniform(key, (3000,), t))
    for lo, hi in ((-1e-3, 1e3), (.1, .7), (-3.3, 5.7), (2, 3), (-1, 1)):
        row(f"uniform {name} {lo} {hi}", jax.random.uniform(key, (3000,), t, lo, hi))
    n = (jnp.arange(3000) % 64).astype(t)
    lo, hi = n * .25 - 7, n * .5 + 3
    row(f"uniform {name} arrays", jax.random.uniform(key, (3000,), t, lo, hi))
for name in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"):
    t = getattr(jnp, name)
    if name.startswith("u"):
        row(f"bits {name}", jax.random.bits(key, (3000,), t))
    row(f"randint {name}", jax.random.randint(key, (3000,), 3, 101, t))
row("bernoulli", jax.random.bernoulli(key, jnp.float32(.3), (3000,)))
row("permutation", jax.random.permutation(key, jnp.arange(3000, dtype=jnp.int32)))
# What draws numbers of JAX's default dtypes.
jax.config.update("jax_enable_x64", False)
row("choice", jax.random.choice(key, jnp.arange(100, dtype=jnp.int32), (3000,)))
row("choice without replacement", jax.random.choice(key, jnp.arange(4000, dtype=jnp.int32), (3000,), replace=False))
row("rademacher", jax.random.rademacher(key, (3000,), jnp.int32))
row("split", jax.random.key_data(jax.random.split(key, 100)))
row("fold_in", jax.random.key_data(jax.vmap(lambda i: jax.random.fold_in(key, i))(jnp.arange(100, dtype=jnp.uint32))))
