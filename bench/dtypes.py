"""The rows of bench/dtypes.cpp in JAX on the CPU: `python dtypes.py [--only a,b] [--seconds S]` prints their times as JSON lines."""
import argparse, json, os, sys, time
ap = argparse.ArgumentParser()
ap.add_argument("--only", default="")
ap.add_argument("--seconds", type=float, default=1.0)
o = ap.parse_args()
os.environ.setdefault("JAX_PLATFORMS", "cpu")
import jax, jax.numpy as jnp, numpy as np
jax.config.update("jax_enable_x64", True)
only = set(filter(None, o.only.split(",")))

def fill(shape, scale=1.0, shift=0.0, seed=0):
    shape = (shape,) if isinstance(shape, int) else shape
    with np.errstate(over="ignore"):
        i = np.arange(np.prod(shape), dtype=np.uint64)
        h = ((i * np.uint64(2654435761) + np.uint64(seed * 40503)) & np.uint64(0xffffffff)).astype(np.uint32)
        h ^= h >> 16
        h *= np.uint32(2246822519)
        h ^= h >> 13
    return ((h >> 8).astype(np.float32) / np.float32(16777216) - np.float32(.5)).reshape(shape) * np.float32(scale) + np.float32(shift)
def whole(shape, dtype, low, seed=0):
    return (np.floor(fill(shape, 256, 128, seed)) - low).astype(dtype)

rows = {}
def row(name, make, f):
    rows[name] = (make, f)
row("matmul_i8_1024", lambda: (whole((1024, 1024), "int8", 128), whole((1024, 1024), "int8", 128, 1)),
    lambda a, b: jax.lax.dot_general(a, b, (((1,), (0,)), ((), ())), preferred_element_type=jnp.int32))
short = {"i32": "int32", "i64": "int64", "f16": "float16", "bf16": jnp.bfloat16, "f64": "float64", "f32": "float32"}
for s in ("i32", "i64", "f16", "bf16", "f64"):
    for n in (64, 256, 512, 1024):
        def make(s=s, n=n):
            if s[0] == "i":
                return whole((n, n), short[s], 128), whole((n, n), short[s], 128, 1)
            return fill((n, n)).astype(short[s]), fill((n, n), 1, 0, 1).astype(short[s])
        row(f"matmul_{s}_{n}", make, lambda a, b: a @ b)
for s in ("f32", "f64", "bf16"):
    for n in (4, 8, 16):
        row(f"skinny_{s}_4096x4096x{n}", lambda s=s, n=n: (fill((4096, 4096)).astype(short[s]), fill((4096, n), 1, 0, 1).astype(short[s])), lambda a, b: a @ b)
row("tall_f32_100000x64x4", lambda: (fill((100000, 64)), fill((64, 4), 1, 0, 1)), lambda a, b: a @ b)
for s in ("f64", "bf16"):
    row(f"batched_{s}_512x16", lambda s=s: (fill((512, 16, 16)).astype(short[s]), fill((512, 16, 16), 1, 0, 1).astype(short[s])), lambda a, b: a @ b)
row("batched_c64_512x16", lambda: (fill((512, 16, 16)) + 1j * fill((512, 16, 16), 1, 0, 2), fill((512, 16, 16), 1, 0, 1) + 1j * fill((512, 16, 16), 1, 0, 3)), lambda a, b: jnp.abs(a @ b))
row("einsum_three", lambda: (fill((64, 32, 48)), fill((48, 256), 1, 0, 1), fill((32, 256), 1, 0, 2)), lambda a, b, c: jnp.einsum("bij,jk,ik->bk", a, b, c))
bf = jnp.bfloat16
row("chain_bf16_1M", lambda: (fill(1 << 20).astype(bf), fill(1 << 20, 1, 0, 1).astype(bf)), lambda x, y: jax.nn.gelu(x * 2 + y) * y - x)
row("chain_exp_div_f32_1M", lambda: (fill(1 << 20), fill(1 << 20, 1, 2, 1)), lambda x, y: jnp.exp(-x * x) / (1 + jnp.exp(-y)) + x / y)
def rms(x, g):
    w = x.astype(jnp.float32)
    return (w * jax.lax.rsqrt(jnp.mean(w * w, -1, keepdims=True) + 1e-6)).astype(x.dtype) * g
for s in ("bf16", "f16"):
    row(f"rms_norm_{s}_2048x1024", lambda s=s: (fill((2048, 1024)).astype(short[s]), fill(1024, 1, 1, 1).astype(short[s])), rms)
def lstm(x, h, c, w, b):
    i, f, g, o = jnp.split(jnp.concatenate([x, h], 1) @ w + b, 4, axis=1)
    cell = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
    return jax.nn.sigmoid(o) * jnp.tanh(cell), cell
for s in ("f32", "bf16"):
    row(f"lstm_step_{s}_128x256", lambda s=s: tuple(v.astype(short[s]) for v in (fill((128, 256)), fill((128, 256), 1, 0, 1), fill((128, 256), 1, 0, 2), fill((512, 1024), .1, 0, 3), fill(1024, 1, 0, 4))), lstm)
def words():
    return fill(4 << 20, 65536, 32768).astype(np.uint32) * np.uint32(40503) + fill(4 << 20, 65536, 32768, 1).astype(np.uint32)
row("mod_u32_constant_4M", lambda: (words(),), lambda x: jnp.remainder(x, np.uint32(10007)) + x // np.uint32(1000))
row("mod_u32_4M", lambda: (words(), fill(4 << 20, 65536, 32768, 2).astype(np.uint32) + np.uint32(1)), lambda x, y: jnp.remainder(x, y))
row("mod_i32_constant_4M", lambda: (words().astype(np.int32),), lambda x: jnp.remainder(x, 10007) + x // 1000)
def blend(a, b, alpha):
    w = alpha.astype(jnp.uint16)
    return ((a.astype(jnp.uint16) * w + b.astype(jnp.uint16) * (255 - w) + 128) >> 8).astype(jnp.uint8)
row("blend_u8_1080p", lambda: (whole((1080, 1920, 3), "uint8", 0), whole((1080, 1920, 3), "uint8", 0, 1), whole((1080, 1920, 1), "uint8", 0, 2)), blend)
row("saturating_add_u8_8M", lambda: (whole(8 << 20, "uint8", 0), whole(8 << 20, "uint8", 0, 1)), lambda a, b: jnp.minimum(a.astype(jnp.int32) + b.astype(jnp.int32), 255).astype(jnp.uint8))
def definite(n):
    a = fill((n, n)).astype(np.float64)
    return a @ a.T + n * np.eye(n)
row("cholesky_f64_512", lambda: (definite(512),), jnp.linalg.cholesky)
row("svd_f64_256", lambda: (fill((256, 256)).astype("float64"),), lambda a: jnp.linalg.svd(a, compute_uv=False))
def svd(a):
    d = jnp.linalg.svd(a)
    return jnp.abs(d[0]), d[1]
row("svd_vectors_f64_256", lambda: (fill((256, 256)).astype("float64"),), svd)
row("slogdet_f64_512", lambda: (fill((512, 512)).astype("float64"),), lambda a: jnp.linalg.slogdet(a)[1])
row("solve_f64_512", lambda: (fill((512, 512)).astype("float64"), fill((512, 512), 1, 0, 1).astype("float64")), jnp.linalg.solve)
row("qr_f64_512", lambda: (fill((512, 512)).astype("float64"),), lambda a: jnp.abs(jnp.linalg.qr(a)[1]))

jax.jit(lambda x: x * 3)(np.float32(1)).block_until_ready()
for name, (make, f) in rows.items():
    if only and name not in only:
        continue
    args = [jnp.asarray(x) for x in make()]
    g = jax.jit(f)
    start = time.perf_counter()
    r = jax.block_until_ready(g(*args))
    first = time.perf_counter() - start
    times, begin = [], time.perf_counter()
    while len(times) < 5 or time.perf_counter() - begin < o.seconds:
        start = time.perf_counter()
        jax.block_until_ready(g(*args))
        times.append(time.perf_counter() - start)
    times.sort()
    print(json.dumps({"peer": "jax " + jax.__version__, "workload": name, "first_call_s": first, "median_s": times[len(times) // 2], "min_s": times[0],
                      "checksum": [float(np.asarray(x, np.float64).sum()) for x in jax.tree.leaves(r)]}), flush=True)
