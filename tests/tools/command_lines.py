#!/usr/bin/env python3
"""Each option of the tools and benchmarks, once and with little to do: command_lines.py BUILD_FOLDER TESTS_FOLDER

Closes with `N passed, N failed`.
"""
import json, os, re, subprocess, sys, tempfile
build, data = sys.argv[1:3]
cases = data + "/golden/data/jaxprs/cases"
passed, failed = 0, []


def run(*command, **variables):
    """Status, what is written to stdout, and to stderr."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("WEFT_")}
    p = subprocess.run([f"{build}/{command[0]}", *command[1:]], capture_output=True, text=True, errors="replace", timeout=300, env=dict(env, **variables))
    return p.returncode, p.stdout, p.stderr


def check(name, good, *told):
    global passed
    if good:
        passed += 1
    else:
        failed.append(name)
        print(f"{name}:", *told, sep="\n")


def refused(name, status, says, *command):
    code, out, err = run(*command)
    check(name, code == status and says in err, code, out, err)


def lines(name, counts, fields, *command):
    """So many JSON objects, each with these fields; those that are numbers are above 0."""
    code, out, err = run(*command)
    try:
        found = [json.loads(line) for line in out.splitlines()]
        good = code == 0 and len(found) in counts and all(f in o and (isinstance(o[f], (str, list)) or o[f] > 0) for o in found for f in fields)
    except ValueError:
        good = False
    check(name, good, code, out, err)
    return found if good else []


def weft(top):
    program = [f"{cases}/activations.jaxpr", "--inputs", f"{cases}/activations.npz", "--outputs"]
    for backend in ("interp", "cpu"):
        code, out, err = run("tools/weft", "run", *program, f"{top}/{backend}.npz", "--backend", backend)
        check(f"weft run --backend {backend}", code == 0 and not out and os.path.getsize(f"{top}/{backend}.npz") > 100, code, out, err)
    code, out, err = run("tools/weft", "run", *program, f"{top}/again.npz")
    check("weft run takes the CPU", code == 0 and open(f"{top}/again.npz", "rb").read() == open(f"{top}/cpu.npz", "rb").read(), code, out, err)

    # A folder of one program: with JAX's results, and with its inputs in their place.
    for name, array, status, says in (("right", "activations.npz", 0, "1 passed, 0 failed"), ("wrong", "argmax_ties_nan.npz", 1, "0 passed, 1 failed")):
        os.mkdir(f"{top}/{name}")
        listed = [p for p in json.load(open(f"{cases}/index.json"))["programs"] if p["name"] == "activations"]
        with open(f"{top}/{name}/index.json", "w") as f:
            json.dump({"programs": listed}, f)
        os.symlink(f"{cases}/activations.jaxpr", f"{top}/{name}/activations.jaxpr")
        os.symlink(f"{cases}/{array}", f"{top}/{name}/activations.npz")
        code, out, err = run("tools/weft", "check", f"{top}/{name}", "--backend", "interp")
        check(f"weft check of {name} results", code == status and out.rstrip().endswith(says), code, out, err)
    refused("weft check of no folder", 1, "index.json: No such file", "tools/weft", "check", top + "/nothing")
    refused("weft devices without a driver", 1, "there is no CUDA driver", "tools/weft", "devices")
    refused("weft with another backend", 1, "unknown backend 'gpu'", "tools/weft", "run", *program, f"{top}/no.npz", "--backend", "gpu")
    for words in ([], ["run", program[0]], ["check"], ["mend", "x"], ["check", cases, "--seconds", "1"], ["check", cases, "--backend"]):
        refused(f"weft {' '.join(words)}", 2, "usage: weft run", "tools/weft", *words)


def fuzz(top):
    tool = "tools/fuzz/weft-fuzz"
    said = lambda name, pattern, *options: (lambda r: check(name, r[0] == 0 and re.search(pattern, r[1]), *r))(run(tool, *options))
    said("weft-fuzz --seed --count", r"^seed 5\n.*comparisons.*\n4 programs, 0 failed\n$", "--seed", "5", "--count", "4")
    said("weft-fuzz --program", "^nothing is wrong$", "--program", "5000001")
    said("weft-fuzz --texts", "300 texts, [0-9]+ of them read as programs, 0 failed", "--texts", "300", "--seed", "3")
    said("weft-fuzz --calls", "20 calls, 0 failed", "--calls", "20", "--seed", "3")
    said("weft-fuzz --call", "^nothing is wrong$", "--call", "3000001")
    with open(top + "/case", "w") as f:
        f.write("# input f32[2] 1 2\n{ lambda ; a:f32[2]. let b:f32[2] = sin a in (b,) }\n")
    said("weft-fuzz --replay", "^nothing is wrong$", "--replay", top + "/case")
    with open(top + "/faulty", "w") as f:
        f.write("# input f32[2] 1 2\n{ lambda ; a:f32[2]. let b:f32[2] = sin a; c:f32[3] = cos a in (b,) }\n")
    code, out, err = run(tool, "--replay", top + "/faulty")
    check("weft-fuzz --replay of what is no program", code == 2 and "f32[3]" in err, code, out, err)
    for words in (["--count"], ["--seed", "x"], ["--nothing", "1"]):
        refused(f"weft-fuzz {' '.join(words)}", 2, "usage: weft-fuzz", tool, *words)


def benchmarks():
    times = ["peer", "workload", "first_call_s", "median_s", "min_s", "checksum"]
    lines("weft-bench --only --seconds", [2], times, "bench/weft-bench", "--only", "dispatch_add1,matmul_64", "--seconds", "0.01")
    lines("weft-bench --pmap", [1], times, "bench/weft-bench", "--pmap", "2", "--only", "pmap2_psum_16", "--seconds", "0.01")
    code, out, err = run("bench/weft-bench", "--rates", "cpu", "--shrink", "12")
    check("weft-bench --rates --shrink", code == 0 and len(re.findall(r" us +[0-9.]+ [GT]", out)) >= 20 and "launch of one kernel" in out, code, out, err)
    # The first losses of `bench/gpt2.py small` with JAX 0.10.2 on the CPU: each step takes 0.14 off.
    found = lines("weft-bench --gpt2", [1], times, "bench/weft-bench", "--gpt2", "small", "--seconds", "0.01")
    check("GPT-2's losses are JAX's", all(abs(a - b) < 5e-3 for o in found for a, b in zip(o["checksum"], (5.549586, 5.397477, 5.260392), strict=True)), found)
    found = lines("weft-bench --gpt2 --batch --seconds 0", [1], times, "bench/weft-bench", "--gpt2", "small", "--batch", "1", "--seconds", "0")
    check("one step", all(len(o["checksum"]) == 1 and o["workload"].endswith("_b1") for o in found), found)
    code, out, err = run("bench/weft-bench", "--only", "dispatch_add1", "--text", "jaxpr")
    check("weft-bench --text", code == 0 and out.startswith("// program dispatch_add1\n{ lambda ;"), code, out, err)
    refused("weft-bench --gpt2", 1, "the sizes are", "bench/weft-bench", "--gpt2", "large")
    refused("weft-bench --device", 1, "there is no CUDA driver", "bench/weft-bench", "--device", "cuda")
    found = lines("ulp --stride --dtype NAME", [3], ["function", "ulp"], "bench/ulp", "--stride", "100003", "--dtype", "float32", "exp", "erf", "tanh")
    found += lines("ulp --random", [1], ["function", "ulp"], "bench/ulp", "--random", "1000", "--dtype", "float64", "atan2")
    check("errors of a few units", all(o["ulp"] < 2 for o in found), found)
    # The bandwidth of one thread and of all, where there are more.
    found = lines("roofline --seconds", [20, 25], ["peer", "workload", "min_s"], "bench/roofline", "--seconds", "0.01")
    check("shares of what the machine can do", sum("share" in o for o in found) == 10, found)
    for tool in ("weft-bench", "ulp", "roofline"):
        for words in (["--nothing", "1"], ["--seconds" if tool != "ulp" else "--stride"]):
            refused(f"{tool} {' '.join(words)}", 2, "usage: ", f"bench/{tool}", *words)


with tempfile.TemporaryDirectory(prefix="weft-tools-") as top:
    weft(top)
    fuzz(top)
    benchmarks()
if failed:
    print("failed: " + ", ".join(failed))
print(f"{passed} passed, {len(failed)} failed")
sys.exit(1 if failed or not passed else 0)
