"""Workloads that bench/random writes for weft and for JAX, beside JAX on the CPU:
`python random_programs.py --weft BUILD/bench/weft-bench --seed 1 --count 200 [--seconds .1] [--rounds 3] [--threads 1]` random ones,
`python random_programs.py --weft BUILD/bench/weft-bench --rows [--svg FILE]` the fixed ones.

weft-bench writes each program a second time as a JAX function (bench/random); here that is compiled by XLA, and both take turns. Prints a
table with the rows at which weft does worst first, by the least processor time of a call (--by wall: the least time), whether the
checksums agree, and how many rows are behind. --show random_17 prints a program. All processes stay on --threads processors."""
import argparse, json, math, os, subprocess, sys, time
ap = argparse.ArgumentParser()
ap.add_argument("--weft", required=True)
ap.add_argument("--seed", type=int, default=1)
ap.add_argument("--count", type=int, default=100)
ap.add_argument("--seconds", type=float, default=0.1)
ap.add_argument("--rounds", type=int, default=2)
ap.add_argument("--threads", type=int, default=1)
ap.add_argument("--by", choices=["processor", "wall"], default="processor")
ap.add_argument("--only", default="")
ap.add_argument("--rows", action="store_true", help="the fixed workloads of bench/random/rows.cpp instead")
ap.add_argument("--svg", default="", help="draws the ratios to this file")
ap.add_argument("--show", default="")
ap.add_argument("--worst", type=int, default=0, help="prints so many rows only")
ap.add_argument("--json", default="", help="appends each row to this file")
o = ap.parse_args()
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-o.threads:])
os.environ["JAX_PLATFORMS"] = "cpu"
import numpy as np
import jax, jax.numpy as jnp
from jax import lax


def fill(shape, dtype, scale, shift, seed):
    n = int(np.prod(shape))
    with np.errstate(over="ignore"):
        h = ((np.arange(n, dtype=np.uint64) * np.uint64(2654435761) + np.uint64(seed * 40503)) & np.uint64(0xffffffff)).astype(np.uint32)
        h ^= h >> 16
        h *= np.uint32(2246822519)
        h ^= h >> 13
    x = ((h >> 8).astype(np.float32) / np.float32(16777216) - np.float32(.5)).reshape(shape) * np.float32(scale) + np.float32(shift)
    return jnp.asarray((x if jnp.issubdtype(dtype, jnp.floating) else np.floor(x)).astype(dtype))


def weft(names):
    which = ["--rows"] if o.rows else ["--random", str(o.seed), str(o.count)]
    command = [o.weft] + which + ["--seconds", str(o.seconds)] + (["--only", ",".join(names)] if names else [])
    p = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ, WEFT_CODE="optimized"))
    if p.returncode:
        print("weft-bench ended with", p.returncode, p.stderr[-300:], file=sys.stderr)
    return [json.loads(line) for line in p.stdout.splitlines() if line.startswith("{")]


def checksum(leaf):
    x = np.asarray(leaf)
    if np.iscomplexobj(x):
        return float(x.real.astype(np.float64).sum() + x.imag.astype(np.float64).sum()), float(np.abs(x).sum())
    x = x.astype(np.float64)
    return float(x.sum()), float(np.abs(x).sum())


class Peer:
    def __init__(self, row):
        wide = any(i[1] in ("float64", "int64") for i in row["inputs"])
        self.mode = jax.enable_x64(wide)
        source = "def f(" + ", ".join(f"a{k}" for k in range(len(row["inputs"]))) + "):\n" + row["python"]
        scope = {"jax": jax, "jnp": jnp, "lax": lax, "np": np}
        exec(source, scope)
        with jax.enable_x64(wide):
            self.arguments = [fill(tuple(s), d, *rest) for s, d, *rest in row["inputs"]]
            jax.block_until_ready(self.arguments)
            start = time.perf_counter()
            self.call = jax.jit(scope["f"]).lower(*self.arguments).compile()
            self.result = jax.block_until_ready(self.call(*self.arguments))
            self.first = time.perf_counter() - start
        self.wall = self.processor = math.inf

    def measure(self):
        start = time.perf_counter()
        jax.block_until_ready(self.call(*self.arguments))
        inner = max(1, int(2e-4 / max(time.perf_counter() - start, 1e-7)))
        begin, n = time.perf_counter(), 0
        while n < 5 or time.perf_counter() - begin < o.seconds:
            used, start = time.process_time(), time.perf_counter()
            for _ in range(inner):
                r = self.call(*self.arguments)
            jax.block_until_ready(r)
            self.wall = min(self.wall, (time.perf_counter() - start) / inner)
            self.processor = min(self.processor, (time.process_time() - used) / inner)
            n += 1


def agree(ours, leaves, dtypes):
    if len(ours) != len(leaves):
        return False
    for a, leaf in zip(ours, leaves):
        b, size = checksum(leaf)
        if not math.isfinite(b) or not math.isfinite(a):
            if math.isfinite(b) != math.isfinite(a):
                return False
            continue
        loose = 3e-2 if dtypes & {"bfloat16", "float16"} else 2e-3
        if abs(a - b) > loose * (size + 1):
            return False
    return True


def row_names():
    seconds, o.seconds = o.seconds, 0
    names = [row["workload"] for row in weft([])]
    o.seconds = seconds
    return names


def draw(rows, path):
    """A bar for each row: JAX's time over weft's, on a logarithmic axis."""
    left, width, height, top = 230, 470, 14, 34
    low = min(0.5, min(r["ratio"] for r in rows))
    x = lambda ratio: left + width * math.log(ratio / low) / math.log(max(2, max(r["ratio"] for r in rows)) * 1.3 / low)
    total = top + height * len(rows) + 12
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + width + 70} {total}" font-family="sans-serif" font-size="11">',
           "<style>text{fill:#222}.grid{stroke:#bbb}.bar{fill:#2b6cb0}.behind{fill:#c05621}"
           "@media(prefers-color-scheme:dark){text{fill:#ddd}.grid{stroke:#555}.bar{fill:#63b3ed}.behind{fill:#ed8936}}</style>",
           f'<text x="{left}" y="14">time of JAX over weft\'s</text>']
    for tick in (0.5, 1, 2, 5, 10, 20, 50, 100, 1000):
        if low <= tick and x(tick) <= left + width:
            out.append(f'<line class="grid" x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{top - 6}" y2="{total - 8}"/>'
                       f'<text x="{x(tick):.1f}" y="{top - 8}" text-anchor="middle">{tick}</text>')
    for i, r in enumerate(rows):
        y, begin, end = top + height * i, min(x(1), x(r["ratio"])), max(x(1), x(r["ratio"]))
        out.append(f'<text x="{left - 6}" y="{y + 10}" text-anchor="end">{r["name"]}</text>'
                   f'<rect class="{"bar" if r["ratio"] >= 1 else "behind"}" x="{begin:.1f}" y="{y + 2}" width="{max(1, end - begin):.1f}" height="{height - 4}"/>'
                   f'<text x="{end + 4:.1f}" y="{y + 10}">{r["ratio"]:.2f}</text>')
    with open(path, "w") as f:
        f.write("\n".join(out) + "\n</svg>\n")


names = list(filter(None, o.only.split(","))) or (row_names() if o.rows else [f"random_{s}" for s in range(o.seed, o.seed + o.count)])
rows, failed = [], []
for at in range(0, len(names), 16):
    best, peers = {}, {}
    for turn in range(o.rounds):
        for row in weft(names[at:at + 16]):
            name = row["workload"]
            if "error" in row:
                if not turn:
                    failed.append((name, row["family"], "weft: " + row["error"][:300]))
                continue
            if name == o.show:
                print(json.dumps(row["inputs"]), row["python"], sep="\n")
            if not turn:
                best[name] = row
                try:
                    peers[name] = Peer(row)
                except Exception as error:
                    failed.append((name, row["family"], "JAX: " + str(error)[:300]))
            for key in ("min_s", "processor_s"):
                best[name][key] = min(best[name][key], row[key])
        for name, peer in peers.items():
            with jax.enable_x64(any(i[1] in ("float64", "int64") for i in best[name]["inputs"])):
                peer.measure()
    for name, peer in peers.items():
        row, ours = best[name], "processor_s" if o.by == "processor" else "min_s"
        theirs = peer.processor if o.by == "processor" else peer.wall
        ok = agree(row["checksum"], jax.tree.leaves(peer.result), {i[1] for i in row["inputs"]})
        rows.append(dict(name=name, family=row["family"], weft=row[ours], jax=theirs, ratio=theirs / row[ours], wall=peer.wall / row["min_s"], agrees=ok,
                         first=peer.first / row["first_call_s"], inputs=" ".join(f"{i[1]}{i[0]}" for i in row["inputs"])[:70],
                         python=row["python"]))
        if o.json:
            with open(o.json, "a") as f:
                f.write(json.dumps(rows[-1]) + "\n")
rows.sort(key=lambda r: r["ratio"])
if o.svg and rows:
    draw(rows, o.svg)
print(f"{'workload':32s}{'family':22s}{'weft us':>11s}{'JAX us':>11s}{'JAX/weft':>9s}{'wall':>7s}{'first':>7s}  inputs")
for r in rows[:o.worst or None]:
    print(f"{r['name']:32s}{r['family']:22s}{r['weft'] * 1e6:11.1f}{r['jax'] * 1e6:11.1f}{r['ratio']:9.2f}{r['wall']:7.2f}{r['first']:7.1f}  {r['inputs']}" + ("" if r["agrees"] else "  DIFFERS"))
for name, family, error in failed:
    print(f"{name:32s}{family:22s}{error}")
if rows:
    mean = math.exp(sum(math.log(r["ratio"]) for r in rows) / len(rows))
    print(f"\n{len(rows)} programs: geometric mean JAX/weft {mean:.2f}; behind on {sum(r['ratio'] < 1 for r in rows)}, "
          f"by half or more on {sum(r['ratio'] < 1 / 1.5 for r in rows)}; checksums differ on {sum(not r['agrees'] for r in rows)}; failed {len(failed)}")
