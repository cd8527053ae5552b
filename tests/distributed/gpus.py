#!/usr/bin/env python3
"""Runs the parts of tests/distributed/worker.cpp that are about GPUs in several real processes, on the fake libraries of the tests; closes with `N passed, N failed`.

    gpus.py WORKER LIBCUDA LIBCUBLASLT LIBNCCL LIBCUSOLVER [NAME...]

LIBCUSOLVER is cuBLAS too. Only the tests whose name contains a word.
"""
import os, re, shutil, signal, subprocess, sys, tempfile, time
from ports import free_port
worker, libcuda, libcublaslt, libnccl, libcusolver = sys.argv[1:6]
words = sys.argv[6:]
PATIENCE = 240  # seconds for what takes a few on a machine that does nothing else
TIMEOUT = 15  # seconds of a collective that faults end; on a busy machine the others take long too
LIMIT = TIMEOUT + 60  # seconds from a fault to its report
passed, failed = 0, []


def environment(top, **more):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("WEFT_", "NCCL_", "FAKE_", "SLURM_", "OMPI_"))}
    env.update(WEFT_LIBCUDA=libcuda, WEFT_LIBCUBLASLT=libcublaslt, WEFT_LIBNCCL=libnccl, WEFT_LIBCUSOLVER=libcusolver, WEFT_LIBCUBLAS=libcusolver, FAKE_CUBLASLT_CANDIDATES="4", WEFT_NUM_CPU_DEVICES="2", WEFT_NUM_THREADS="1", WEFT_CACHE_DIR=top + "/cache",
               TMPDIR=top, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    env.update(more)
    return env


def started(processes, args, each, top, common, stopped=None):
    """Their statuses and outputs; none is left. `stopped`: one that does not end by itself."""
    port = free_port()
    procs = []
    for r in range(processes):
        env = environment(top, WEFT_COORDINATOR=f"127.0.0.1:{port}", WEFT_NUM_PROCESSES=str(processes), WEFT_PROCESS_ID=str(r), WEFT_TOKEN="of the test", **common)
        env.update(each(r))
        out = tempfile.TemporaryFile("w+", errors="replace")
        procs.append((subprocess.Popen([worker, *(a.replace("TOP", top) for a in args)], env=env, stdout=out, stderr=subprocess.STDOUT), out))
    until = time.time() + PATIENCE
    result = []
    for r, (p, out) in enumerate(procs):
        try:
            p.wait(max(0.1, until - time.time()) if r != stopped else 0)
        except subprocess.TimeoutExpired:
            pass
    for p, out in sorted(procs, key=lambda one: stopped is not None and one is procs[stopped]):
        late = p.poll() is None
        if late:
            p.send_signal(signal.SIGKILL)
            p.wait()
        out.seek(0)
        result.append((None if late else p.returncode, out.read()))
    if stopped is not None:
        result.insert(stopped, result.pop())
    return result


def wanted(name):
    return not words or any(w in name for w in words)


def report(name, problem, outs):
    global passed
    print(f"  {name}: {problem or 'ok'}", flush=True)
    if problem:
        failed.append(name)
        for r, out in enumerate(outs):
            print(f"--- process {r}\n{out[-3000:]}")
    else:
        passed += 1


def check(name, processes, args, each=lambda r: {}, expected=None, exact=True, **common):
    """All processes end well, or each with its expected message: of a list, one for each."""
    if not wanted(name):
        return
    begin = time.time()
    with tempfile.TemporaryDirectory() as top:
        result = started(processes, args, each, top, common)
    problem = ""
    for r, (code, out) in enumerate(result):
        want = expected[r] if isinstance(expected, list) else expected
        if code is None:
            problem = f"process {r} did not end"
        elif want is None and code != 0:
            problem = f"status {code} of process {r}"
        elif want is not None and (code == 0 or want not in out.replace("\n", " ")):
            problem = f"no `{want}` of process {r}, status {code}"
    report(f"{name} ({time.time() - begin:.1f} s)", problem, [out for _, out in result])


def by_mpi(name, processes, args, **common):
    if not wanted(name):
        return
    with tempfile.TemporaryDirectory() as top:
        env = environment(top, **common)
        p = subprocess.Popen(["mpirun", "--oversubscribe", "--tag-output", "-n", str(processes), worker, *(a.replace("TOP", top) for a in args)], env=env,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
        try:
            out = p.communicate(timeout=PATIENCE)[0]
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGKILL)
            out = p.communicate()[0] + "\nit did not end"
    report(name, "" if p.returncode == 0 else f"status {p.returncode}", [out])


def fault(how, processes, who, **common):
    """One process fails; each other one that lives must report it in time, naming the operation, the axis, who is missing, and its line."""
    name = f"fault: {how} of process {who} of {processes}"
    if not wanted(name):
        return
    with tempfile.TemporaryDirectory() as top:
        result = started(processes, ["fault", how, str(who), "TOP/run"], lambda r: dict(WEFT_LOCAL_DEVICE_IDS=str(r)), top, dict(common, FAKE_CUDA_DEVICES=str(processes), WEFT_COLLECTIVE_TIMEOUT=str(TIMEOUT)), who if how == "stop" else None)
    outs = [out for _, out in result]
    began = re.search(r"FAULT at ([0-9.]+)", outs[who])
    problem = "" if began else "no fault"
    took = 0.0
    for r, (code, out) in enumerate(result):
        if code is None and not (r == who and how == "stop"):
            problem = f"process {r} did not end"
        if r == who:
            continue
        m = re.search(rf"REPORT {r} at ([0-9.]+): (.*)", out)
        if not m:
            problem = f"no report of process {r}"
            continue
        took = max(took, float(m[1]) - float(began[1])) if began else 0
        # A step that is replayed is named as the mapped program that it is.
        for part in (f"process {who}",):
            if part not in m[2]:
                problem = f"no `{part}` in the report of process {r}"
        if not ("psum over `i` of" in m[2] and "worker.cpp:" in m[2]) and "a mapped program over" not in m[2]:
            problem = f"process {r} does not name what it was in"
    if took > LIMIT:
        problem = f"the report took {took:.1f} s"
    report(f"{name} ({took:.1f} s)", problem, outs)


def ids(local):
    return lambda r: dict(WEFT_LOCAL_DEVICE_IDS=",".join(str(r * local + i) for i in range(local)))


# Each process its own GPUs of one machine; met by a coordinator, where all data goes by NCCL; by MPI, which carries what is the hosts'.
check("gpus 2x2", 2, ["gpus", "TOP/run"], ids(2), FAKE_CUDA_DEVICES="4")
check("gpus 3x1", 3, ["gpus", "TOP/run"], ids(1), FAKE_CUDA_DEVICES="3")
if shutil.which("mpirun"):
    by_mpi("gpus by mpirun, one each", 2, ["gpus", "TOP/run"], FAKE_CUDA_DEVICES="2")
# Ranks that share a GPU: refused, unless they look like different machines or NCCL is told that they may.
check("one gpu for two", 2, ["gpus", "TOP/run"], lambda r: dict(NCCL_HOSTID=f"rank{r}"), FAKE_CUDA_DEVICES="1")
check("one gpu for two, since 2.30", 2, ["collectives"], FAKE_CUDA_DEVICES="1", FAKE_NCCL_VERSION="23007", NCCL_MULTI_RANK_GPU_ENABLE="1")
check("one gpu for two: duplicate", 2, ["collectives"], FAKE_CUDA_DEVICES="1", expected="ncclGroupEnd gives ncclInvalidUsage (5)")
check("one gpu for two: 2.28 takes no variable", 2, ["collectives"], FAKE_CUDA_DEVICES="1", NCCL_MULTI_RANK_GPU_ENABLE="1", expected="ncclGroupEnd gives ncclInvalidUsage (5)")
# Failures that all survive, at each entry point.
check("failures 2x2", 2, ["gpu failures"], ids(2), FAKE_CUDA_DEVICES="4", WEFT_COLLECTIVE_TIMEOUT="120")
check("failures 3x1", 3, ["gpu failures"], ids(1), FAKE_CUDA_DEVICES="3", WEFT_COLLECTIVE_TIMEOUT="120")
# Each single call of a collective.
check("each call fails 2x2", 2, ["gpu collective failures"], ids(2), FAKE_CUDA_DEVICES="4", WEFT_COLLECTIVE_TIMEOUT="120")
check("each call fails 3x1", 3, ["gpu collective failures"], ids(1), FAKE_CUDA_DEVICES="3", WEFT_COLLECTIVE_TIMEOUT="120")
# And those that nobody does.
for how in ("kill", "stop", "loop", "exit", "throw"):
    fault(how, 3, 1)
# What a process takes.
check("ids: no such", 2, ["topology"], lambda r: dict(WEFT_LOCAL_DEVICE_IDS="7" if r == 1 else "0"), FAKE_CUDA_DEVICES="2",
      expected=["process 1 can't take its devices: WEFT_LOCAL_DEVICE_IDS is `7`", "WEFT_LOCAL_DEVICE_IDS is `7`; it must list different numbers of GPUs of this machine, which are 0 to 1"])
check("ids: twice the same", 2, ["topology"], lambda r: dict(WEFT_LOCAL_DEVICE_IDS="1,1"), FAKE_CUDA_DEVICES="2", expected="WEFT_LOCAL_DEVICE_IDS is `1,1`")
for one in range(2):
    check(f"ids: a driver that fails, of process {one}", 2, ["topology"], lambda r: dict(FAKE_CUDA_FAIL="cuDeviceGetCount") if r == one else dict(WORKER_LATE="1"),
          expected=["cuDeviceGetCount gives CUDA_ERROR_LAUNCH_FAILED" if r == one else f"process {one} can't take its devices: cuda: cuDeviceGetCount gives" for r in range(2)])
check("ids: by Slurm's number on the machine", 2, ["gpus", "TOP/run"],
      lambda r: dict(SLURM_PROCID=str(r), SLURM_LOCALID=str(r), SLURM_STEP_NUM_TASKS="2", WEFT_NUM_PROCESSES="", WEFT_PROCESS_ID=""), FAKE_CUDA_DEVICES="2")
# Whoever comes last must still learn why, also from the process that keeps the store and has failed before.
for last in range(4):
    check(f"ids: more processes than GPUs, {last} comes last", 4, ["topology"],
          lambda r: dict(SLURM_PROCID=str(r), SLURM_LOCALID=str(r), SLURM_STEP_NUM_TASKS="4", WEFT_NUM_PROCESSES="", WEFT_PROCESS_ID="", WORKER_LATE="1" if r == last else "0"),
          FAKE_CUDA_DEVICES="2", expected="Start no more processes than GPUs")
check("platform: one keeps to the host", 2, ["topology"], lambda r: dict(WEFT_PLATFORM="cpu") if r == 1 else {}, FAKE_CUDA_DEVICES="2")
check("platform: one insists", 2, ["topology"], lambda r: dict(WEFT_PLATFORM="cpu" if r == 1 else "cuda"), FAKE_CUDA_DEVICES="2",
      expected=["WEFT_PLATFORM is `cuda`, but of 2 processes 1 has no such device", None])
if failed:
    print("failed: " + ", ".join(failed))
print(f"{passed} passed, {len(failed)} failed")
sys.exit(1 if failed or not passed else 0)
