"""gpt2.py 124m|small [--batch N] [--seconds S]: the training step of bench/gpt2.cpp in JAX, on its default device; the same JSON line."""
import argparse
import functools
import json
import math
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np

SIZES = {"124m": (12, 768, 12, 50257, 1024, 8), "small": (2, 64, 2, 257, 32, 2)}  # layers, width, heads, words, context, batch


def fill(shape, scale, seed):
    """Of each index a hash, scaled to [-scale / 2, scale / 2): as bench/main.cpp has it."""
    h = (np.arange(int(np.prod(shape)), dtype=np.uint64) * np.uint64(2654435761) + np.uint64(seed * 40503)) & np.uint64(0xFFFFFFFF)
    h ^= h >> np.uint64(16)
    h = (h * np.uint64(2246822519)) & np.uint64(0xFFFFFFFF)
    h ^= h >> np.uint64(13)
    return (((h >> np.uint64(8)).astype(np.float32) / np.float32(2**24) - np.float32(0.5)) * np.float32(scale)).reshape(shape)


def parameters(layers, d, words, context, seed=7):
    s = 1 / math.sqrt(d)
    zeros, ones = (lambda n: np.zeros(n, np.float32)), (lambda n: np.ones(n, np.float32))
    p = {"wte": fill((words, d), s, seed), "wpe": fill((context, d), s, seed + 1), "lnf_g": ones(d), "lnf_b": zeros(d), "blocks": []}
    for layer in range(layers):
        q = seed + 10 + 10 * layer
        p["blocks"].append({"ln1_g": ones(d), "ln1_b": zeros(d), "qkv": fill((d, 3 * d), s, q), "proj": fill((d, d), s, q + 1),
                            "ln2_g": ones(d), "ln2_b": zeros(d), "fc": fill((d, 4 * d), s, q + 2), "fc_b": zeros(4 * d),
                            "out": fill((4 * d, d), s / 2, q + 3), "out_b": zeros(d)})
    return p


def norm(x, g, b):
    x = x.astype(jnp.float32)
    m = jnp.mean(x, -1, keepdims=True)
    v = jnp.mean(jnp.square(x - m), -1, keepdims=True)
    return ((x - m) * jax.lax.rsqrt(v + 1e-5) * g + b).astype(jnp.bfloat16)


def loss_of(p, text, heads):
    low = lambda a: a.astype(jnp.bfloat16)
    batch, t = text.shape
    d = p["wte"].shape[1]
    x = low(p["wte"])[text] + low(p["wpe"][:t])
    mask = jnp.tril(jnp.ones((t, t), bool))
    for b in p["blocks"]:
        h = norm(x, b["ln1_g"], b["ln1_b"]) @ low(b["qkv"])
        q, k, v = (a.reshape(batch, t, heads, d // heads).transpose(0, 2, 1, 3) for a in jnp.split(h, 3, -1))
        s = jnp.where(mask, (q @ k.transpose(0, 1, 3, 2)).astype(jnp.float32) / math.sqrt(d // heads), -1e9)
        a = (low(jax.nn.softmax(s, -1)) @ v).transpose(0, 2, 1, 3).reshape(batch, t, d)
        x = x + a @ low(b["proj"])
        h = norm(x, b["ln2_g"], b["ln2_b"])
        x = x + jax.nn.gelu(h @ low(b["fc"]) + low(b["fc_b"]), approximate=True) @ low(b["out"]) + low(b["out_b"])
    scores = (norm(x, p["lnf_g"], p["lnf_b"]) @ low(p["wte"]).T).astype(jnp.float32)
    scores, following = scores[:, :-1].reshape(-1, scores.shape[-1]), text[:, 1:].reshape(-1)
    return jnp.mean(jax.nn.logsumexp(scores, axis=-1) - jnp.take_along_axis(scores, following[:, None], 1)[:, 0])


def step_of(state, text, heads):
    p, first, second, step = state
    value, gradient = jax.value_and_grad(loss_of)(p, text, heads)
    step = step + 1
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradient)
    second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, second, gradient)
    share, second_share = 1 / (1 - 0.9**step), 1 / (1 - 0.999**step)
    p = jax.tree.map(lambda a, m, v: a - 3e-4 * (m * share) / (jnp.sqrt(v * second_share) + 1e-8), p, first, second)
    return (p, first, second, step), value


def main():
    options = argparse.ArgumentParser()
    options.add_argument("size", choices=SIZES)
    options.add_argument("--batch", type=int, default=0)
    options.add_argument("--seconds", type=float, default=1)
    o = options.parse_args()
    layers, d, heads, words, context, batch = SIZES[o.size]
    batch = o.batch or batch
    p = parameters(layers, d, words, context)
    zeros = lambda: jax.tree.map(np.zeros_like, p)
    state = jax.device_put((p, zeros(), zeros(), np.float32(0)))
    text = jax.device_put((np.arange(batch * context, dtype=np.int64) * 31 % words).astype(np.int32).reshape(batch, context))
    step = jax.jit(functools.partial(step_of, heads=heads), donate_argnums=0)
    losses, times = [], []

    def run():
        nonlocal state
        start = time.perf_counter()
        state, loss = step(state, text)
        losses.append(float(loss))
        return time.perf_counter() - start

    first = run()
    run(), run()
    begin = time.perf_counter()
    while len(times) < 5 or time.perf_counter() - begin <= o.seconds:
        times.append(run())
    times.sort()
    median, count = times[len(times) // 2], sum(a.size for a in jax.tree.leaves(p))
    flops = batch * context * (6 * count + 12 * layers * d * context)
    print(f"{o.size}, batch of {batch}: {count} parameters, {1e3 * median:.2f} ms a step, {batch * context / median:.0f} words/s, "
          f"{flops / median / 1e12:.2f} TFLOP/s, loss {losses[0]:.4f} to {losses[-1]:.4f}", file=sys.stderr)
    print(json.dumps({"peer": "jax", "workload": f"gpt2_{o.size}_bf16_b{batch}", "first_call_s": first, "median_s": median,
                      "min_s": times[0], "checksum": losses[:3]}))


main()
