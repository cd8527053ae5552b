#!/usr/bin/env python3
"""Compiles the golden programs ahead of time, links them without weft, and compares what they give with the reference values.

    check.py BUILD [--levels 1,4 | --aarch64] [NAME...]     closes with `N passed, N failed`

--aarch64: with the archive compiled by aarch64-linux-gnu-g++, run by qemu-aarch64; a few of the programs if none is named.

Each object file holds code for all levels of x86-64; WEFT_AOT_LEVEL has the functions take a lower one than the processor's. Programs of
several devices, and those that call back, are refused with a message that says so.
"""
import concurrent.futures, ctypes, json, os, pathlib, re, shutil, subprocess, sys, tempfile
try:
    import numpy as np
except ImportError:
    print("python3-numpy is missing")
    sys.exit(77)
words = sys.argv[1:]
build = pathlib.Path(words.pop(0)).resolve()
levels = ["1", "4"]
arm = words[:1] == ["--aarch64"]
if arm:
    words = words[1:] or ["activations", "sort_", "fft", "linalg", "cholesky", "svd", "qr", "scan", "while", "conv", "random_gamma", "scatter", "float16", "bfloat16", "matmul"]
    if not (shutil.which("aarch64-linux-gnu-g++") and shutil.which("qemu-aarch64")):
        print("aarch64-linux-gnu-g++ or qemu-aarch64 is missing")
        sys.exit(77)
if words[:1] == ["--levels"]:
    levels = words[1].split(",")
    words = words[2:]
data = pathlib.Path(__file__).resolve().parent.parent / "golden/data/jaxprs/cases"
# Why there are no object files of some programs; of the last one, as its updates are made by a function.
REFUSED = r"several devices|calls the program that made it|scatter of f32\[7\], i32\[5,1\], f32\[5\] has no code without weft"
TARGETS = ["aarch64"] if arm else ["x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"]


def numbered(arrays, prefix):
    found = []
    while name := next((n for n in (f"{prefix}{len(found)}", f"{prefix}{len(found)}.bf16") if n in arrays), None):
        found.append(np.ascontiguousarray(arrays[name]))
    return found


def same(got, want, rtol, atol, bfloat16):
    if bfloat16:
        got, want = ((x.astype(np.uint32) << 16).view(np.float32) for x in (got, want))
    if got.dtype.kind not in "fc":
        return np.array_equal(got, want)
    with np.errstate(all="ignore"):
        if got.dtype.kind == "c":
            limit = atol + rtol * np.abs(want)
            return all(np.all((np.abs(g - w) <= limit) | (g == w) | (np.isnan(g) & np.isnan(w))) for g, w in ((got.real, want.real), (got.imag, want.imag)))
        return bool(np.all((np.abs(got - want) <= atol + rtol * np.abs(want)) | (got == want) | (np.isnan(got) & np.isnan(want))))


def run_all(library, programs):
    """In a process of its own, as the level is found once a process."""
    code = ctypes.CDLL(library)
    for p in programs:
        arrays = np.load(data / f"{p['name']}.npz")
        inputs, want = numbered(arrays, "in"), numbered(arrays, "out")
        got = [np.full_like(w, 1) if w.dtype.kind == "b" else np.frombuffer(bytearray(b"\xab" * w.nbytes), w.dtype).reshape(w.shape) for w in want]
        pointers = lambda list_of: (ctypes.c_void_p * max(1, len(list_of)))(*[a.ctypes.data for a in list_of])
        status = code["f_" + p["name"]](pointers(inputs), pointers(got))
        good = [same(g, w, p["rtol"], p["atol"], t.startswith("bf16")) for g, w, t in zip(got, want, p["types"])]
        print(json.dumps([p["name"], status, good]), flush=True)


if words[:1] == ["--run"]:
    run_all(words[1], json.load(open(words[2])))
    sys.exit()
index = json.load(open(data / "index.json"))["programs"]
programs = [p for p in index if not words or any(w in p["name"] for w in words)]
passed, failed = 0, []
with tempfile.TemporaryDirectory(prefix="weft-aot-") as folder:

    def compile_one(p):
        command = [build / "tools/weft", "compile", data / f"{p['name']}.jaxpr", "--output", f"{folder}/f_{p['name']}", "--targets", ",".join(TARGETS), "--constants", data / f"{p['name']}.npz"]
        done = subprocess.run(command, capture_output=True, text=True)
        return p, done.returncode, done.stdout + done.stderr

    made = []
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for p, code, out in pool.map(compile_one, programs):
            if code == 0:
                header = open(f"{folder}/f_{p['name']}.h").read()
                p["types"] = ["bf16" if "bfloat16" in line else "" for line in re.findall(r"^ \* outputs\[.*", header, re.M)]
                made.append(p)
            elif re.search(REFUSED, out) or p["devices_needed"] > 1:
                passed += 1
            else:
                failed.append(p["name"])
                print(f"{p['name']}: {out.strip()}", flush=True)
    if arm:
        # A program that is told in one file what to call, with which bytes, and writes the results' bytes.
        calls = "".join(f'  {{"{p["name"]}", f_{p["name"]}}},\n' for p in made)
        source = "".join(f'#include "f_{p["name"]}.h"\n' for p in made) + (pathlib.Path(__file__).parent / "driver.c").read_text().replace("CALLS", calls)
        pathlib.Path(f"{folder}/driver.c").write_text(source)
        root = pathlib.Path(__file__).resolve().parents[2]
        (pathlib.Path(folder) / "include").mkdir()
        for part in ("core", "backends"):
            os.makedirs(f"{folder}/include/weft", exist_ok=True)
            os.symlink(root / part, f"{folder}/include/weft/{part}")
        os.symlink(root / "weft/aot.h", f"{folder}/include/weft/aot.h")
        runtime = [*sorted((root / "backends/aot").glob("*.cc")), root / "core/ops/linalg/fourier_plan.cpp", root / "core/ops/elementwise/special_functions.cpp"]

        def build_one(f):
            subprocess.run(["aarch64-linux-gnu-g++", "-std=c++20", "-O2", "-fno-exceptions", "-fno-rtti", f"-I{folder}/include", "-c", f, "-o", f"{folder}/runtime_{f.stem}.o"], check=True)

        with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            list(pool.map(build_one, runtime))
        subprocess.run(["aarch64-linux-gnu-gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-static", "-o", f"{folder}/driver", f"{folder}/driver.c", *[f"{folder}/f_{p['name']}.o" for p in made],
                        *[f"{folder}/runtime_{f.stem}.o" for f in runtime], "-lm"], check=True)
        for p in made:
            arrays = np.load(data / f"{p['name']}.npz")
            want = numbered(arrays, "out")
            out = pathlib.Path(folder) / "out"
            done = subprocess.run(["qemu-aarch64", f"{folder}/driver", p["name"], str(len(want)), *[str(w.nbytes) for w in want], out], input=b"".join(np.int64(x.nbytes).tobytes() + x.tobytes() for x in numbered(arrays, "in")), capture_output=True)
            contents, at, good = out.read_bytes() if done.returncode == 0 else b"", 0, []
            for w, t in zip(want, p["types"]):
                got = np.frombuffer(contents[at : at + w.nbytes], w.dtype)
                good.append(got.size == w.size and same(got.reshape(w.shape), w, p["rtol"], p["atol"], t.startswith("bf16")))
                at += w.nbytes
            if done.returncode == 0 and all(good):
                passed += 1
            else:
                failed.append(p["name"])
                print(f"{p['name']} on aarch64: status {done.returncode} {done.stderr.decode()[-300:]}, results {good}", flush=True)
        print(f"{passed} passed, {len(failed)} failed")
        sys.exit(1 if failed else 0)
    library = f"{folder}/all.so"
    link = subprocess.run(["cc", "-shared", "-Wl,--no-undefined", "-o", library, *[f"{folder}/f_{p['name']}.o" for p in made], build / "backends/aot/libweft_aot.a", "-lm"], capture_output=True, text=True)
    if link.returncode:
        print(link.stderr[-3000:])
        failed.append("link")
        made = []
    json.dump(made, open(f"{folder}/programs.json", "w"))
    for level in levels if made else []:
        done = subprocess.run([sys.executable, __file__, build, "--run", library, f"{folder}/programs.json"], capture_output=True, text=True, env=dict(os.environ, WEFT_AOT_LEVEL=level))
        results = {r[0]: r[1:] for r in map(json.loads, done.stdout.splitlines())}
        for p in made:
            status, good = results.get(p["name"], ("no result: " + done.stderr[-500:], []))
            if status == 0 and all(good):
                passed += 1
            else:
                failed.append(p["name"])
                print(f"{p['name']} at level {level}: status {status}, results {good}", flush=True)
print(f"{passed} passed, {len(failed)} failed")
sys.exit(1 if failed else 0)
