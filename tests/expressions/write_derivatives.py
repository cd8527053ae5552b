#!/usr/bin/env python3
"""Writes derivatives.npz and derivatives.txt: what JAX 0.10.2 gives for further derivatives of the expressions, of the weighted sums whose
gradients in x are in results.txt. `y` and `z`: the gradients in these; `xx` and `yx`: the gradient in x or y of a weighted sum of the
gradient in x; `jvp`: the expression's tangent where that of x is the weights. float32 is left out where float64 is there. With a number,
the derivatives of the expressions before that one are kept."""
import re
import sys

import jax
import jax.numpy as jnp
import jax.scipy.cluster.vq
import jax.scipy.spatial.transform
import numpy as np
from jax import lax

import expressions
from write_results import loss, weights


def weighted(d):
    """A real number that depends on all parts of d."""
    w = jnp.asarray(weights(d.size, d.real.dtype)).reshape(d.shape)
    return jnp.sum(d.real * w) + (jnp.sum(d.imag * w) if jnp.iscomplexobj(d) else 0)


def derivative(f, kind, x, y, z):
    if kind in ("y", "z"):
        return jax.grad(lambda *a: loss(f, *a), argnums="xyz".index(kind))(x, y, z)
    if kind == "jvp":
        tangent = jnp.asarray(weights(x.size, x.real.dtype)).reshape(x.shape).astype(x.dtype)
        return jax.jvp(lambda x: f(x, y, z), (x,), (tangent,))[1]
    first = jax.grad(lambda *a: loss(f, *a))
    if kind == "xx":
        return jax.grad(lambda x: weighted(first(x, y, z)))(x)
    return jax.grad(lambda y: weighted(first(x, y, z)))(y)


def main():
    arrays = np.load(expressions.folder / "arrays.npz")
    lines, values, at = [], [], 0
    first = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    if first:
        lines = [l for l in (expressions.folder / "derivatives.txt").read_text().splitlines() if int(l.split()[0]) < first]
        later = [l for l in (expressions.folder / "derivatives.txt").read_text().splitlines() if int(l.split()[0]) >= first]
        kept = np.load(expressions.folder / "derivatives.npz")["values"]
        at = int(later[0].split()[-1]) if later else kept.size
        values.append(kept[:at])
    for number, cpp, python, used, flags in expressions.table()[first:]:
        if "nograd" in flags:
            continue
        if number % 50 == 0:
            print(number, len(lines), file=sys.stderr, flush=True)
        f = eval(f"lambda x, y, z: {python}", {"jnp": jnp, "jax": jax, "lax": lax})
        used = [n for n in used if n.startswith(("f32", "f64", "c64")) and not (n.startswith("f32") and n.replace("f32", "f64") in used)]
        for wide in (False, True):
            with jax.enable_x64(wide):
                names = [n for n in used if n.startswith("f64") == wide]
                args = {n: [jnp.asarray(arrays[f"{n}.{v}"]) for v in "xyz"] for n in names}
                todo = []
                for n in names:
                    for kind in ("y", "z", "xx", "yx", "jvp"):
                        if not all(re.search(rf"\b{v}\b", python) for v in ("x" if kind == "jvp" else kind)):
                            continue
                        try:
                            if jnp.issubdtype(jax.eval_shape(f, *args[n]).dtype, jnp.inexact):
                                jax.eval_shape(lambda *a: derivative(f, kind, *a), *args[n])
                                todo.append((n, kind))
                        except Exception:
                            continue  # without a shape or a derivative in JAX
                if not todo:
                    continue
                try:
                    results = jax.jit(lambda args: [derivative(f, kind, *args[n]) for n, kind in todo])(args)
                except Exception as e:
                    print(f"{cpp}: {str(e)[:100]}", file=sys.stderr)
                    continue
                for (n, kind), r in zip(todo, map(np.asarray, results)):
                    v = r.ravel()
                    v = np.stack([v.real, v.imag], -1).ravel() if np.iscomplexobj(v) else v
                    values.append(v.astype(np.float64))
                    lines.append(f"{number} {n} {kind} {r.dtype.name} {','.join(map(str, r.shape)) or '-'} {at}")
                    at += v.size
    np.savez_compressed(expressions.folder / "derivatives.npz", values=np.concatenate(values))
    (expressions.folder / "derivatives.txt").write_text("\n".join(lines) + "\n")
    print(len(lines), "derivatives")


main()
