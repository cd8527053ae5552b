#!/usr/bin/env python3
"""Losses of small models, exported by JAX with their gradients: losses.py [FOLDER]. NAME.exported is the loss as jax.export writes it, NAME.npz holds
its arguments' leaves in0, in1, ..., its value `loss` and its derivatives by the floating leaves, grad0, grad1, ... (of the leaf of that number).
Made with JAX 0.10.2."""
import functools, pathlib, sys
import jax, numpy
from jax import export, lax, numpy as jnp

jax.config.update("jax_platforms", "cpu")
folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
random = numpy.random.default_rng(0)
normal = lambda *shape: random.standard_normal(shape).astype(numpy.float32)


def mlp(weights, x, y):
    for w, b in weights[:-1]:
        x = jax.nn.gelu(x @ w + b)
    w, b = weights[-1]
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(x @ w + b), y[:, None], 1))


def rnn(weights, xs, want):
    def step(h, x):
        h = jnp.tanh(x @ weights["in"] + h @ weights["own"] + weights["bias"])
        return h, h @ weights["out"]

    _, ys = lax.scan(step, jnp.zeros((xs.shape[1], 5)), xs)
    _, backwards = lax.scan(step, jnp.zeros((xs.shape[1], 5)), xs, reverse=True)
    return jnp.mean((ys + backwards - want) ** 2)


def attention(weights, x):
    q, k, v = (jnp.einsum("tc,chd->htd", x, weights[n]) for n in "qkv")
    scores = jnp.einsum("htd,hsd->hts", q, k) / jnp.sqrt(q.shape[-1])
    scores = jnp.where(jnp.tril(jnp.ones(scores.shape[1:], bool)), scores, -1e9)
    out = x + jnp.einsum("hts,hsd,hdc->tc", jax.nn.softmax(scores), v, weights["o"])
    out = (out - out.mean(-1, keepdims=True)) * lax.rsqrt(out.var(-1, keepdims=True) + 1e-5)
    return jnp.sum(out * jnp.sin(x))


def recurrence(a, x):
    """Each row from the one before: read from and written to one array."""
    def step(i, rows):
        before = lax.dynamic_index_in_dim(rows, i - 1, keepdims=False)
        return lax.dynamic_update_index_in_dim(rows, jnp.sin(a @ before) + x[i], i, 0)

    rows = lax.fori_loop(1, x.shape[0], step, x)
    squares = lax.fori_loop(0, 4, lambda i, t: t.at[3 - i].set(rows[i] ** 2), jnp.zeros((4, 3)))
    return jnp.sum(rows) + jnp.sum(squares * x[:4])


def newton(c):
    """A loop whose steps are not counted has no reverse; a bounded one of fori_loop has."""
    return jnp.sum(lax.fori_loop(0, 20, lambda _, y: y - (y * y - c) / (2 * y), c))


def dropout(w, x, seed):
    """Random numbers within a loop."""
    def step(carry, key):
        kept = jax.random.bernoulli(key, 0.8, x.shape)
        return jnp.tanh(jnp.where(kept, carry @ w, 0)), jnp.sum(carry)

    out, sums = lax.scan(step, x, jax.random.split(jax.random.key(seed), 3))
    return jnp.sum(out ** 2) + jnp.sum(sums)


def tails(x):
    """Functions that JAX writes out as selections among formulas, some of whose derivatives are infinite where they are not taken."""
    return jnp.sum(lax.erfc(x) + 3 * jax.scipy.stats.norm.cdf(x) + jax.nn.gelu(x, approximate=False) + jnp.cos(x) * lax.erf_inv(x / 40))


losses = {
    "loss_mlp": (mlp, [(normal(4, 8), normal(8)), (normal(8, 8), normal(8)), (normal(8, 3), normal(3))], normal(6, 4), numpy.array([0, 2, 1, 1, 0, 2], numpy.int32)),
    "loss_rnn": (rnn, {"in": normal(3, 5), "own": normal(5, 5) / 3, "bias": normal(5), "out": normal(5, 2)}, normal(7, 2, 3), normal(7, 2, 2)),
    "loss_attention": (attention, {"q": normal(6, 2, 3), "k": normal(6, 2, 3), "v": normal(6, 2, 3), "o": normal(2, 3, 6)}, normal(5, 6)),
    "loss_recurrence": (recurrence, normal(3, 3), normal(6, 3)),
    "loss_newton": (newton, numpy.array([2.0, 3.0, 10.0], numpy.float32)),
    "loss_dropout": (dropout, normal(4, 4), normal(3, 4), numpy.uint32(7)),
    "loss_tails": (tails, numpy.array([0, 1e-30, -1e-20, 1e-3, -0.004, 0.3, -0.9, 1, -1, 1.5, 2, -2.5, 6, -9, 30], numpy.float32)),
}
for name, (loss, *arguments) in losses.items():
    leaves, tree = jax.tree.flatten(tuple(arguments))
    floating = tuple(i for i, x in enumerate(leaves) if x.dtype == numpy.float32)
    flat = lambda *all: loss(*jax.tree.unflatten(tree, all))
    value, gradients = jax.value_and_grad(flat, floating)(*leaves)
    arrays = {f"in{i}": x for i, x in enumerate(leaves)} | {"loss": value} | {f"grad{i}": g for i, g in zip(floating, gradients, strict=True)}
    numpy.savez(folder / f"{name}.npz", **{k: numpy.asarray(v) for k, v in arrays.items()})
    (folder / f"{name}.exported").write_bytes(export.export(jax.jit(loss))(*arguments).serialize())
