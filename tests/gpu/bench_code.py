#!/usr/bin/env python3
"""The kernels of all benchmarks become PTX that LLVM's verifier accepts and ptxas assembles, where the CUDA toolkit is installed: bench_code.py WEFT_BENCH

Closes with `N passed, N failed`.
"""
import os, re, subprocess, sys
bench = sys.argv[1]
ptxas = os.environ.get("WEFT_PTXAS", "/usr/local/cuda/bin/ptxas")
if not os.path.exists(ptxas):
    print("there is no ptxas: the code is verified, but not assembled")
    ptxas = None
env = {k: v for k, v in os.environ.items() if not k.startswith("WEFT_")}
passed, failed = 0, []


def check(name, good, told=""):
    global passed
    if good:
        passed += 1
    else:
        failed.append(name)
        print(f"{name}: {told[:2000]}")


# Programs and kernels that there are at least: products alone have none.
for words, programs, kernels in (([], 40, 160), (["--pmap", "2"], 3, 15), (["--rates", "cpu"], 30, 40), (["--gpt2", "124m"], 1, 50)):
    for arch in ("sm_80", "sm_90"):
        run = subprocess.run([bench, *words, "--text", "ptx"], capture_output=True, text=True, timeout=300, env=dict(env, WEFT_CUDA_ARCH=arch))
        name, text = " ".join(["weft-bench", *words, arch]), run.stdout
        check(name, run.returncode == 0, run.stderr)
        check(f"{name}: programs", text.count("// program ") >= programs, str(text.count("// program ")))
        check(f"{name}: kernels", text.count(".entry ") >= kernels, str(text.count(".entry ")))
        for program in text.split("// program ")[1:]:
            title, code = program.split("\n", 1)
            # A mapped program is one of several parts.
            for part in re.split(r"^(?=\.version )", code, flags=re.M)[1:]:
                check(f"{name}: {title}: the architecture", f".target {arch}" in part, part)
                if ptxas:
                    p = subprocess.run([ptxas, f"-arch={arch}", "-O1", "-o", "/dev/null", "-"], input=part, capture_output=True, text=True)
                    check(f"{name}: {title} assembles", p.returncode == 0, p.stderr)
if failed:
    print("failed: " + ", ".join(failed))
print(f"{passed} passed, {len(failed)} failed")
sys.exit(1 if failed or not passed else 0)
