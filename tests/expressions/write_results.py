#!/usr/bin/env python3
"""Writes arrays.npz, what the expressions are applied to, and results.npz with results.txt: what JAX 0.10.2 gives for each, and for the
gradient in x of a weighted sum of it. Arrays of 64 bits are computed with jax_enable_x64, all others without; positions and
counts of 64 bits are written as int32, which they are without it. With a number, write_results.py keeps the results of the
expressions before that one."""
import os
import sys
import warnings

os.environ["XLA_FLAGS"] = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true --xla_allow_excess_precision=false"

import jax
import jax.numpy as jnp
import jax.scipy.cluster.vq
import jax.scipy.spatial.transform
import ml_dtypes
import numpy as np
from jax import lax

import expressions

warnings.filterwarnings("ignore")
dtypes = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64, "c64": np.complex64, "c128": np.complex128,
          "i8": np.int8, "u8": np.uint8, "i32": np.int32, "u32": np.uint32, "b": np.bool_}
inf, nan = np.inf, np.nan
concrete_only = (jax.errors.ConcretizationTypeError, jax.errors.NonConcreteBooleanIndexError)
edges = [0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, inf, -inf, nan, 1e-3, 300, -300, 6]
random = np.random.RandomState(1)


def arrays(name):
    """x, y and z of one set."""
    dtype, kind = dtypes[name[:-1]], name[-1]
    shapes = {"v": [(7,)] * 3, "e": [(16,)] * 3, "m": [(3, 4), (3, 4), (4, 3)], "s": [(3, 3), (3, 2), (3, 3)], "t": [(2, 3, 4)] * 3, "n": [(0, 3)] * 3, "d": [()] * 3}[kind]
    out = []
    for k, shape in enumerate(shapes):
        if kind == "e":
            v = np.array(edges)
            v = v if k == 0 else v[[9, 10, 2, 0, 1, 11, 5, 3, 4, 6, 7, 8, 12, 13, 14, 15]] if k == 1 else np.ones(16)
            if dtype == np.complex64:
                w = np.array(edges)[[0, 0, 2, 1, 9, 10, 4, 3, 0, 6, 9, 0, 8, 2, 5, 0]]
                v = v + 1j * 0
                v = np.array([complex(a.real, b) for a, b in zip(v, w)])
        elif dtype == np.bool_:
            v = random.rand(*shape) > 0.5
        elif np.issubdtype(dtype, np.integer):
            signed = np.issubdtype(dtype, np.signedinteger)
            v = random.randint(-9 if signed else 0, 10, shape) if k == 0 else random.randint(-4 if signed else 0, 5, shape) if k == 1 else random.randint(0, 5, shape)
        else:
            v = random.uniform(-2, 2, shape) if k == 0 else random.uniform(0.2, 3, shape) if k == 1 else random.uniform(0.05, 0.95, shape)
            if np.issubdtype(dtype, np.complexfloating):
                v = v + 1j * random.uniform(-1, 1, shape)
            if kind == "s" and k == 2:
                v = v @ np.conj(v.T) + np.eye(3)
        out.append(np.asarray(v).astype(dtype))
    return out


def weights(n, dtype):
    return (np.cos(np.arange(n)) + 0.5).astype(dtype)


def loss(f, x, y, z):
    r = f(x, y, z)
    flat = jnp.ravel(r)
    if jnp.issubdtype(r.dtype, jnp.complexfloating):
        real = flat.real.dtype
        return jnp.sum(flat.real * weights(flat.size, real)) + jnp.sum(flat.imag * weights(flat.size, real)[::-1])
    return jnp.sum(flat * weights(flat.size, r.dtype))


def main():
    table = expressions.table()
    names = sorted({n for _, _, _, sets, _ in table for n in sets})
    sets = {n: arrays(n) for n in names}
    stored = {}
    for n, xs in sets.items():
        for letter, x in zip("xyz", xs):
            key = f"{n}.{letter}"
            stored[key + ".bf16" if x.dtype == ml_dtypes.bfloat16 else key] = x.view(np.uint16) if x.dtype == ml_dtypes.bfloat16 else x
    np.savez_compressed(expressions.folder / "arrays.npz", **stored)
    lines, values, at, failed = [], [], 0, {}
    first = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    if first:
        lines = [l for l in (expressions.folder / "results.txt").read_text().splitlines() if int(l.split()[0]) < first]
        kept = np.load(expressions.folder / "results.npz")["values"]

        def end_of(dtype, shape, start):
            parts = 2 if dtype.startswith("complex") else 1
            return int(start) + parts * int(np.prod([int(d) for d in shape.split(",")] if shape != "-" else [1]))

        at = max(end_of(*words[k:k + 3]) for words in map(str.split, lines) for k in range(2, len(words), 3))
        values.append(kept[:at])

    def keep(r):
        nonlocal at
        r = np.asarray(r)
        v = r.ravel()
        v = np.stack([v.real, v.imag], -1).ravel() if np.issubdtype(v.dtype, np.complexfloating) else v
        v = v.astype(np.float64)
        values.append(v)
        at += v.size
        return f"{'int32' if r.dtype == np.int64 else r.dtype.name} {','.join(map(str, r.shape)) or '-'} {at - v.size}"

    def applied(f, grads, names):
        """The results, and the gradients of those that have one, as one program: compiling one for each takes too long."""
        def program(args):
            return [(f(*args[n]), jax.grad(lambda x: loss(f, x, *args[n][1:]))(args[n][0]) if n in grads else None) for n in names]

        args = {n: [jnp.asarray(a) for a in sets[n]] for n in names}
        try:
            return jax.jit(program)(args)
        except concrete_only:
            return program(args)

    for number, cpp, python, used, flags in table[first:]:
        if number % 50 == 0:
            print(number, len(lines), file=sys.stderr, flush=True)
        f = eval(f"lambda x, y, z: {python}", {"jnp": jnp, "jax": jax, "lax": lax})
        depends = "x" in python.replace("exp", "").replace("max", "").replace("jax", "")
        for wide in (False, True):
            with jax.enable_x64(wide):
                names, grads = [], set()
                for n in used:
                    if n.startswith(("f64", "c128")) != wide:
                        continue
                    xs = [jnp.asarray(a) for a in sets[n]]
                    try:
                        r = jax.eval_shape(f, *xs)
                    except concrete_only:
                        r = f(*xs)
                    except Exception as e:
                        failed.setdefault(type(e).__name__, []).append((cpp, n, str(e)[:80]))
                        continue
                    names.append(n)
                    if "nograd" in flags or not depends or not (jnp.issubdtype(r.dtype, jnp.inexact) and jnp.issubdtype(xs[0].dtype, jnp.inexact)):
                        continue
                    try:
                        jax.eval_shape(jax.grad(lambda x: loss(f, x, *xs[1:])), xs[0])
                        grads.add(n)
                    except Exception as e:
                        failed.setdefault("grad " + type(e).__name__, []).append((cpp, n, str(e)[:80]))
                for n, (r, g) in zip(names, applied(f, grads, names) if names else []):
                    lines.append(f"{number} {n} {keep(r)}" + (f" {keep(g)}" if g is not None else ""))
    np.savez_compressed(expressions.folder / "results.npz", values=np.concatenate(values))
    (expressions.folder / "results.txt").write_text("\n".join(lines) + "\n")
    for kind, what in failed.items():
        print(kind, len(what))
        for w in what[:400]:
            print("   ", w)
    print(len(lines), "results", sum(len(l.split()) > 5 for l in lines), "gradients")


if __name__ == "__main__":
    main()
