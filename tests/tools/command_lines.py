#!/usr/bin/env python3
"""Each option of the tools and benchmarks, once and with little to do: command_lines.py BUILD_FOLDER TESTS_FOLDER [weft | fuzz | benchmarks]

Closes with `N passed, N failed`.
"""
import json, math, os, re, struct, subprocess, sys, tempfile, zipfile
build, data = sys.argv[1:3]
only = sys.argv[3:]
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

    for processor in ("no-such-processor", "i386"):
        code, out, err = run("tools/weft", "run", *program, f"{top}/again.npz", WEFT_CPU=processor)
        check(f"WEFT_CPU={processor}", code == 1 and f"WEFT_CPU is `{processor}`" in err and "LLVM ERROR" not in err, code, out, err)

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
    # A program in StableHLO, whose check holds and then doesn't.
    for name, expected, status, says in (("right", 4, 0, "@main: 1 checks passed\n1 passed, 0 failed"), ("wrong", 5, 1, "0 passed, 1 failed")):
        with open(f"{top}/{name}.mlir", "w") as f:
            f.write(f"""func.func @main() -> tensor<i32> {{
  %a = stablehlo.constant dense<2> : tensor<i32>
  %b = stablehlo.multiply %a, %a : tensor<i32>
  check.expect_eq_const %b, dense<{expected}> : tensor<i32>
  return %b : tensor<i32>
}}
""")
        code, out, err = run("tools/weft", "check", f"{top}/{name}.mlir", "--backend", "interp")
        check(f"weft check of a StableHLO program that is {name}", code == status and out.rstrip().endswith(says), code, out, err)
    code, out, err = run("tools/weft", "run", f"{top}/right.mlir")
    check("weft run of a StableHLO program", code == 0 and out == "out0 =\n4\n", code, out, err)
    for form in ("mlp.mlirbc", "mlp.exported"):
        code, out, err = run("tools/weft", "show", f"{data}/stablehlo/data/{form}")
        check(f"weft show of {form}", code == 0 and "f32[5,3]" in out and "tanh" in out, code, out, err)
    # Every form of a program in every command that takes one.
    data_of = f"{data}/stablehlo/data"
    for form in (f"{data_of}/elements.mlir", f"{data_of}/elements.mlirbc", f"{data_of}/mlp.exported", f"{cases}/activations.jaxpr"):
        stem = top + "/" + os.path.basename(form)
        for words in (["show"], ["vmap", "--size", "2"], ["export", "--output", stem + ".mlir"], ["compile", "--output", stem.replace(".", "_")]):
            code, out, err = run("tools/weft", words[0], form, *words[1:])
            check(f"weft {words[0]} of {os.path.basename(form)}", code == 0 and not err, code, out, err)
        code, again, err = run("tools/weft", "vmap", stem + ".mlir", "--size", "2")
        check("weft vmap of what weft export wrote", code == 0 and "{ lambda" in again, code, again, err)
    code, out, err = run("tools/weft", "export", f"{cases}/activations.jaxpr")
    check("weft export prints", code == 0 and out.startswith("module @jit_activations") and "chlo.erf" in out, code, out, err)
    os.symlink(f"{cases}/activations.npz", f"{top}/activations.jaxpr.npz")
    os.rename(f"{top}/activations.jaxpr.mlir", f"{top}/activations.mlir")
    os.rename(f"{top}/activations.jaxpr.npz", f"{top}/activations.npz")
    code, out, err = run("tools/weft", "check", f"{top}/activations.mlir", f"{cases}/activations.jaxpr", "--backend", "interp")
    check("weft check of programs with results beside them", code == 0 and out.endswith("2 passed, 0 failed\n"), code, out, err)
    code, out, err = run("tools/weft", "check", f"{top}/../nothing-there.mlir")
    check("weft check of no file", code == 1 and "nothing-there.mlir" in out, code, out, err)
    with open(f"{top}/cut.mlirbc", "wb") as f:
        f.write(open(f"{data_of}/mlp.mlirbc", "rb").read()[:200])
    for command in ("show", "run", "grad", "compile", "export"):
        refused(f"weft {command} of half a file", 1, "cut.mlirbc:byte ", "tools/weft", command, f"{top}/cut.mlirbc")
    refused("weft check of no folder", 1, "index.json: No such file", "tools/weft", "check", top + "/nothing")
    code, out, err = run("tools/weft", "devices")
    check("weft devices", code == 0 and out.startswith("cpu:0: ") and "there is no CUDA driver" in out, code, out, err)
    refused("weft devices without a driver", 1, "there is no CUDA driver", "tools/weft", "devices", "--platform", "cuda")
    refused("weft with another backend", 2, "unknown value 'gpu' of --backend; did you mean cpu?", "tools/weft", "run", *program, f"{top}/no.npz", "--backend", "gpu")
    for words, says in (([], "usage: weft COMMAND"), (["run", program[0]], "--inputs FILE.npz is required"), (["check"], "check: FOLDER|PROGRAM... is required"),
                        (["mend", "x"], "unknown command 'mend'"), (["shwo", "x"], "unknown command 'shwo'; did you mean show?"), (["devices", "x"], "devices: unexpected argument 'x'"),
                        (["check", cases, "--seconds", "1"], "check: unknown option --seconds"), (["check", cases, "--backend"], "--backend needs a value: NAME"),
                        (["run", program[0], "--input", "x"], "--input; did you mean --inputs?"), (["bench", program[0], "--seconds", "x"], "must be a number"),
                        (["show", "a", "b"], "show: unexpected argument 'b'; it takes one PROGRAM"), (["doctor", "--variables=1"], "--variables does not take a value"), (["jit", "-form", "x"], "did you mean --form?"),
                        (["check", cases, "--backend", "cpu", "--backend", "cpu"], "given twice"), (["devices", "--platform", "rocm"], "unknown value 'rocm' of --platform; available: cpu, cuda"),
                        (["--verson"], "unknown option --verson; did you mean --version?"), (["-x"], "unknown option -x\n"), (["jit", program[0], "--form", "asn"], "did you mean asm?"),
                        (["compile", program[0], "--targets", "native,x86-65"], "unknown value 'x86-65' of --targets; did you mean x86-64?"),
                        (["vmap", program[0], "--size", "1.5"], "must be an integer"), (["grad", program[0], "--wrt", "0,0"], "names input 0 twice"),
                        (["help", "shwo"], "did you mean show?"), (["view", program[0], "-o", "x.html"], "view: unknown option -o; did you mean --output?"),
                        (["view", program[0], "--out=x.html"], "view: unknown option --out; did you mean --output?"), (["export", program[0], "-z"], "export: unknown option -z; available: --"), (["grad", program[0], "--wrt", "9"], "names input 9")):
        refused(f"weft {' '.join(words)}", 2, says, "tools/weft", *words)
    transformed(top)
    told(top)


def transformed(top):
    """Programs that are made of programs are programs, with the values that they should have."""
    with open(top + "/loss.jaxpr", "w") as f:
        f.write("{ lambda ; a:f32[3] b:f32[3]. let c:f32[3] = mul a b; d:f32[3] = sin c; e:f32[] = reduce_sum[axes=(0,) out_sharding=None] d in (e,) }\n")
    numpy = {"in0": [0.5, 1.0, -2.0], "in1": [3.0, 0.25, 1.5]}
    write_npz(top + "/in.npz", numpy)
    cos = [math.cos(a * b) for a, b in zip(*numpy.values(), strict=True)]

    def made(name, *command):
        code, out, err = run("tools/weft", *command)
        check("weft " + command[0], code == 0 and out.startswith("{ lambda"), code, out, err)
        with open(f"{top}/{name}.jaxpr", "w") as f:
            f.write(out)

    def values(name):
        code, out, err = run("tools/weft", "run", f"{top}/{name}.jaxpr", "--inputs", top + "/in.npz")
        check("weft run prints", code == 0 and out.startswith("out0 =\n"), code, out, err)
        return [[float(v) for v in re.findall(r"-?[0-9.]+(?:e-?[0-9]+)?", part)] for part in re.split(r"out[0-9]+ =", out)[1:]]

    def close(name, got, want):
        check(name, len(got) == len(want) and all(len(g) == len(w) and all(abs(x - y) < 1e-5 for x, y in zip(g, w, strict=True)) for g, w in zip(got, want, strict=True)), got, want)

    made("same", "show", top + "/loss.jaxpr")
    close("weft show", values("same"), values("loss"))
    made("gradient", "grad", top + "/loss.jaxpr")
    close("weft grad", values("gradient"), [[c * b for c, b in zip(cos, numpy["in1"], strict=True)], [c * a for c, a in zip(cos, numpy["in0"], strict=True)]])
    made("one", "grad", top + "/loss.jaxpr", "--wrt", "1")
    close("weft grad --wrt", values("one"), [[c * a for c, a in zip(cos, numpy["in0"], strict=True)]])
    # A program of constants, which the written gradient and batch hold.
    with open(top + "/scaled.jaxpr", "w") as f:
        f.write("{ lambda a:f32[3] ; b:f32[3]. let c:f32[3] = mul a b; d:f32[3] = mul c b; e:f32[] = reduce_sum[axes=(0,) out_sharding=None] d in (e,) }\n")
    write_npz(top + "/scales.npz", {"const0": [2.0, 4.0, 8.0]})
    write_npz(top + "/at.npz", {"in0": [1.0, 2.0, 3.0]})
    write_npz(top + "/two.npz", {"in0": [[1.0, 2.0, 3.0]] * 2})
    for name, at, want, *command in (("grad", "at", [[4.0, 16.0, 48.0]], "grad"), ("vmap", "two", [[90.0, 90.0]], "vmap", "--size", "2")):
        code, out, err = run("tools/weft", command[0], top + "/scaled.jaxpr", *command[1:], "--constants", top + "/scales.npz", "--output", f"{top}/{name}.mlir")
        check(f"weft {name} --output", code == 0 and not out, code, out, err)
        code, out, err = run("tools/weft", "run", f"{top}/{name}.mlir", "--inputs", f"{top}/{at}.npz")
        close(f"weft {name} --output", [[float(v) for v in re.findall(r"-?[0-9.]+", out.split("=")[-1])]], want)
    made("simple", "jit", top + "/loss.jaxpr")
    close("weft jit", values("simple"), values("loss"))
    loss = values("loss")
    made("batch", "vmap", top + "/loss.jaxpr", "--size", "2")
    write_npz(top + "/in.npz", {k: [v, v] for k, v in numpy.items()})
    close("weft vmap", values("batch"), [loss[0] * 2])
    for form, says in (("kernels", "sin"), ("llvm", "define "), ("asm", ".text")):
        code, out, err = run("tools/weft", "jit", top + "/loss.jaxpr", "--form", form)
        check("weft jit --form " + form, code == 0 and says in out, code, out, err)
    refused("weft jit --form of no name", 2, "unknown value 'nothing' of --form; available: jaxpr, kernels,", "tools/weft", "jit", top + "/loss.jaxpr", "--form", "nothing")
    refused("weft grad of several results", 1, "12 results, but must have one", "tools/weft", "grad", f"{cases}/activations.jaxpr")
    full = subprocess.run([f"{build}/tools/weft", "show", top + "/loss.jaxpr"], stdout=open("/dev/full", "w"), stderr=subprocess.PIPE, text=True)
    check("weft with nowhere to print", full.returncode == 1 and "standard output: No space left on device" in full.stderr, full.returncode, full.stderr)
    with open(top + "/wrong.jaxpr", "w") as f:
        f.write("{ lambda ; a:f32[3]. let b:f32[4] = sin a in (b,) }\n")
    code, out, err = run("tools/weft", "show", top + "/wrong.jaxpr")
    check("an error tells of the program, not of the tool", code == 1 and "f32[4]" in err and "wrong.jaxpr" in err and "tools/" not in err, code, out, err)
    code, out, err = run("tools/weft", "bench", top + "/loss.jaxpr", "--seconds", "0.01")
    check("weft bench", code == 0 and re.search(r"^median [0-9.]+ [mun]?s, minimum .* calls$", out, re.M), code, out, err)
    code, out, err = run("tools/weft", "compile", top + "/loss.jaxpr", "--output", top + "/loss")
    check("weft compile", code == 0 and os.path.getsize(top + "/loss.o") > 100 and "int loss(" in open(top + "/loss.h").read(), code, out, err)
    code, out, err = run("tools/weft", "view", top + "/loss.jaxpr", "--output", top + "/loss.html")
    page = open(top + "/loss.html").read() if code == 0 else ""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    shown = json.loads(found[1]) if found else {"programs": [{"eqns": []}], "steps": []}
    check("weft view", code == 0 and out == top + "/loss.html\n" and "http" not in re.sub(r"http://www.w3.org/[^\"\\]*", "", page)
          and [e["p"] for e in shown["programs"][0]["eqns"]] == ["mul", "sin", "reduce_sum"] and all(s["time"] > 0 for s in shown["steps"]), code, out, err)
    code, out, err = run("tools/weft", "view", top + "/loss.jaxpr", "--output", top + "/loss.html", "--unmeasured", "--inputs", top + "/in.npz")
    check("weft view --unmeasured", code == 1 and "in0" in err, code, out, err)


def write_npz(path, arrays):
    """Arrays of float32, of one or two dimensions, as NumPy's savez writes them."""
    with zipfile.ZipFile(path, "w") as z:
        for name, rows in arrays.items():
            flat = [v for r in rows for v in r] if isinstance(rows[0], list) else rows
            shape = f"({len(rows)}, {len(rows[0])})" if isinstance(rows[0], list) else f"({len(rows)},)"
            header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"
            header += " " * (-(len(header) + 11) % 64) + "\n"
            z.writestr(name + ".npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{len(flat)}f", *flat))


def told(top):
    """What the tool says of itself and of the machine; the manual and the completion know all commands, options and variables."""
    root = os.path.dirname(data)
    version = re.search(r"^project\(.*version: '([0-9.]+)'", open(root + "/meson.build").read(), re.M)[1]
    code, out, err = run("tools/weft", "--version")
    check("weft --version", code == 0 and out == f"weft {version}\n", code, out, err)
    code, out, err = run("tools/weft", "--help")
    commands = re.findall(r"^  (\w+)  +[A-Z]", out, re.M)
    check("weft --help", code == 0 and len(commands) == 12, code, out, err)
    manual, completion = open(root + "/docs/weft.1").read().replace("\\-", "-"), open(root + "/tools/weft.bash").read()
    check("the manual's version", f'"weft {version}"' in manual, manual.split("\n")[0])
    for command in commands:
        code, out, err = run("tools/weft", command, "--help")
        options = re.findall(r"^  (--\w+)", out, re.M)
        check(f"weft {command} --help", code == 0 and out.startswith(f"usage: weft {command}"), code, out, err)
        part = re.search(rf"^\.BI? \"?{command}\b.*?(?=^\.TP|^\.PP)", manual, re.S | re.M)
        missing = [o for o in options if o != "--constants" and o not in (part[0] if part else "")]
        check(f"the manual on {command}", part and not missing, missing)
        known = re.search(rf'^    {command}\) options="(.*)"', completion, re.M)
        check(f"completion of {command}", known and known[1].split() == options, options)
        code, again, err = run("tools/weft", "help", command)
        check(f"weft help {command}", code == 0 and again == out, code, again, err)
    # Variables: those that the sources read.
    code, out, err = run("tools/weft", "doctor", "--variables")
    read, bare = set(), []
    for layer in ("core", "runtime", "transforms", "backends", "library", "frontends"):
        for folder, _, names in os.walk(f"{root}/{layer}"):
            for name in names:
                if name.endswith((".cpp", ".h", ".cc")):
                    source = open(f"{folder}/{name}").read()
                    read |= set(re.findall(r'(?:getenv|is_switched_on|in_environment|variable|number_in<\w+>|open_library)\(\s*"(WEFT_\w+)"', source))
                    # What is compiled into other programs has the C library only.
                    if 'getenv("WEFT_' in source and not folder.endswith("backends/aot"):
                        bare.append(f"{folder}/{name}")
    check("variables are read by core/base/environment.h, to which an empty one is not set", not bare, bare)
    check("weft doctor --variables", code == 0 and set(out.split()) == read, sorted(read ^ set(out.split())))
    cache = top + "/cache"
    code, out, err = run("tools/weft", "doctor", WEFT_CACHE_DIR=cache, WEFT_NUM_THREADS="2")
    check("weft doctor", code == 0 and out.endswith("\nNo problems found.\n") and cache in out and "LLVM" in out and "there is no CUDA driver" in out and "WEFT_NUM_THREADS" in out,
          code, out, err)
    code, out, err = run("tools/weft", "doctor", WEFT_CACHE_DIR=cache, WEFT_NUM_THREAD="2", WEFT_NOTHING_LIKE_IT="1", WEFT_MPI_PLUGIN=top + "/none.so")
    check("weft doctor names what is wrong", code == 1 and "did you mean WEFT_NUM_THREADS?" in out and "WEFT_NOTHING_LIKE_IT" in out and "none.so does not exist" in out
          and out.endswith("\n3 problems found.\n"), code, out, err)
    wrong = {"WEFT_CACHE": "maybe", "WEFT_CODE": "best", "WEFT_NUM_THREADS": "many", "WEFT_OVERLAP": "2", "WEFT_COLLECTIVE_TIMEOUT": "-1", "WEFT_TRACEBACK": "2"}
    code, out, err = run("tools/weft", "doctor", **wrong)
    check("weft doctor names wrong values", code == 1 and all(f"WRONG: {k} is `{v}`; it m" in out for k, v in wrong.items()), code, out, err)
    program = os.path.join(top, "sine.jaxpr")
    with open(program, "w") as f:
        f.write("{ lambda ; a:f32[3]. let b:f32[3] = sin a in (b,) }")
    for name, value, allowed in ("WEFT_CACHE", "maybe", "it may be 0 or off, 1 or on"), ("WEFT_CODE", "best", "it may be baseline, optimized"), \
            ("WEFT_NUM_THREADS", "0", "it must be a number from 1 to 1024"), ("WEFT_TRACEBACK", "some", "it may be 0, 1, full"):
        code, out, err = run("tools/weft", "jit", program, **{name: value}) if name != "WEFT_TRACEBACK" else run("tools/weft", "jit", program + "x", **{name: value})
        check(f"{name}={value}", code == 1 and f"{name} is `{value}`; {allowed}" in err, code, out, err)
    for name in sorted(read):
        code, out, err = run("tools/weft", "jit", program, **{name: ""})
        check(f"{name} is empty", code == 0 and err == "", code, out, err)
    os.chmod(cache, 0o777)
    code, out, err = run("tools/weft", "doctor", WEFT_CACHE_DIR=cache)
    check("weft doctor on a cache that others can write", code == 1 and "can't be used" in out, code, out, err)
    code, out, err = run("tools/weft", "doctor", WEFT_CACHE="0")
    check("weft doctor without a cache", code == 0 and "WEFT_CACHE is 0" in out, code, out, err)


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
    if not only or "weft" in only:
        weft(top)
    if not only or "fuzz" in only:
        fuzz(top)
    if not only or "benchmarks" in only:
        benchmarks()
if failed:
    print("failed: " + ", ".join(failed))
print(f"{passed} passed, {len(failed)} failed")
sys.exit(1 if failed or not passed else 0)
