#!/usr/bin/env python3
"""Runs tests/distributed/worker.cpp in several real processes, and injects faults; closes with `N passed, N failed`.

    run.py WORKER TESTS_FOLDER [--faults N] [NAME...]     N faults instead of the short selection; only the tests whose name contains a word
"""
import os, re, signal, socket, subprocess, sys, tempfile, time
worker, folder = sys.argv[1:3]
rest = sys.argv[3:]
faults = None
if "--faults" in rest:
    at = rest.index("--faults")
    faults = int(rest[at + 1])
    del rest[at:at + 2]
LIMIT = 10  # seconds within which a fault must be reported
passed, failed = 0, []


def environment(devices, **more):
    env = dict(os.environ, WEFT_NUM_CPU_DEVICES=str(devices), WEFT_NUM_THREADS="1", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    env.update(more)
    return env


def mpirun(processes, *args, recovery=False):
    return ["mpirun", "--oversubscribe", "--tag-output"] + (["--enable-recovery"] if recovery else []) + ["-n", str(processes), worker, *args]


def start(command, env, timeout):
    """The command's status, output and duration; all that it started is gone afterwards."""
    begin = time.time()
    with tempfile.TemporaryFile("w+", errors="replace") as out:
        p = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=env, start_new_session=True)
        try:
            code = p.wait(timeout)
        except subprocess.TimeoutExpired:
            code = -1
        seconds = time.time() - begin
        try:
            os.killpg(p.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        p.wait()
        out.seek(0)
        return code, out.read(), seconds


def report(name, problem, output=""):
    global passed
    print(f"  {name}: {'ok' if not problem else problem}", flush=True)
    if problem:
        failed.append(name)
        print(output[-3000:])
    else:
        passed += 1


def wanted(name):
    return not rest or any(w in name for w in rest)


def same_values(processes, devices, what, *more, timeout=200):
    name = f"{what} {processes}x{devices}"
    if not wanted(name):
        return ""
    code, out, seconds = start(mpirun(processes, what, *more), environment(devices), timeout)
    report(f"{name} ({seconds:.1f} s)", f"status {code}" if code != 0 else "", out)
    return out


def over_tcp(processes, token_of=lambda r: "secret", expect=0):
    """Without MPI: the bootstrap alone."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    procs = []
    for r in range(processes):
        env = environment(2, WEFT_COORDINATOR=f"127.0.0.1:{port}", WEFT_NUM_PROCESSES=str(processes), WEFT_PROCESS_ID=str(r), WEFT_TOKEN=token_of(r))
        procs.append(subprocess.Popen([worker, "topology"], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
    return procs


def living_workers(mark):
    """Processes with the mark in their environment."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as f:
                if mark.encode() not in f.read():
                    continue
            with open(f"/proc/{pid}/stat") as f:
                if f.read().rsplit(")", 1)[1].split()[0] != "Z":
                    found.append(int(pid))
        except OSError:
            pass
    return found


def fault(how, processes, devices, who, check, number):
    """One process fails; each other one that lives must report it in time, naming the operation, the axis, who is missing, and its line."""
    name = f"fault {number}: {how} of process {who} of {processes}x{devices}{' with checks' if check else ''}"
    if not wanted(name):
        return
    mark = f"WEFT_TEST_MARK=fault-{os.getpid()}-{number}"
    env = environment(devices, WEFT_COLLECTIVE_TIMEOUT="4", WEFT_CHECK_COLLECTIVES="1" if check else "0")
    env[mark.split("=")[0]] = mark.split("=")[1]
    code, out, seconds = start(mpirun(processes, "fault", how, str(who), recovery=True), env, LIMIT + 20)
    reports = {int(m[1]): m[2] for m in re.finditer(r"REPORT (\d+) (.*)", out)}
    problem = ""
    for r in range(processes):
        if r == who:
            continue
        text = reports.get(r)
        if text is None:
            problem = f"no report of process {r}"
        elif "psum over `i` of" not in text and "sync_global_devices" not in text:
            problem = f"process {r} does not name the operation and the axis"
        elif "worker.cpp:" not in text:
            problem = f"process {r} does not name the line"
        elif how in ("kill", "segv", "stop", "loop", "exit", "throw") and f"process {who}" not in text:
            problem = f"process {r} does not name the one that is missing"
    if seconds > LIMIT + 10 or code == -1:
        problem = problem or f"it took {seconds:.0f} s"
    for _ in range(50):
        if not living_workers(mark):
            break
        time.sleep(0.1)
    else:
        problem = problem or "processes are left over"
    report(f"{name} ({seconds:.1f} s)", problem, out)


def checkpoints():
    """Written by some processes, read by others; cut short at any moment; damaged."""
    with tempfile.TemporaryDirectory() as top:
        at = top + "/run"
        for (p, d), (q, e) in (((2, 2), (4, 1)), ((4, 1), (1, 6)), ((1, 2), (3, 2))):
            code, out, _ = start(mpirun(p, "save", at, "3"), environment(d), 60)
            code2, out2, seconds = start(mpirun(q, "load", at, "3"), environment(e), 60)
            report(f"checkpoint of {p}x{d} on {q}x{e} ({seconds:.1f} s)", "" if code == code2 == 0 else f"status {code}, {code2}", out + out2)
        for number in range(6):
            command = mpirun(2, "save", at, "100000") if number < 2 else [worker, "save", at, "100000"]
            p = subprocess.Popen(command, env=environment(2), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
            time.sleep(1.2 + 0.137 * number if number < 2 else 0.3 + 0.0371 * number)
            os.killpg(p.pid, signal.SIGKILL)
            p.wait()
            if number < 2:
                time.sleep(1)
            code, out, _ = start([worker, "load", at, "0"], environment(3), 60)
            report(f"checkpoint after a kill, {number}", "" if code == 0 else f"status {code}", out)
        folder = at + "/" + open(at + "/current").read().strip()
        with open(folder + "/data-0", "r+b") as f:
            f.seek(11)
            f.write(b"\xff")
        code, out, _ = start([worker, "load", at, "0"], environment(3), 60)
        report("checkpoint with a wrong byte", "" if code != 0 and "checksum is wrong" in out else "it was read", out)


KINDS = ["kill", "stop", "loop", "order", "shape", "exit", "segv", "throw", "other", "skip"]
if faults is None:
    for processes, devices in ((2, 4), (3, 2), (4, 1)):
        same_values(processes, devices, "all")
    same_values(4, 2, "golden", folder)
    same_values(2, 2, "golden", folder)
    # The same bits from any number of processes.
    seen = set()
    for processes, devices in ((1, 4), (2, 2), (4, 1)):
        out = same_values(processes, devices, "bits")
        seen |= set(re.findall(r"bits( .*)", out))
    if wanted("bits"):
        report("equal bits in 1x4, 2x2 and 4x1", "" if len(seen) == 1 else f"they differ: {seen}")
    if wanted("tcp"):
        procs = over_tcp(3)
        outs = [p.communicate(timeout=60)[0] for p in procs]
        report("tcp: three processes without MPI", "" if all(p.returncode == 0 for p in procs) else "a process failed", "".join(outs))
        procs = over_tcp(2, lambda r: f"secret{r}")
        out = procs[1].communicate(timeout=60)[0]
        procs[0].kill()
        procs[0].communicate()
        report("tcp: another token", "" if procs[1].returncode != 0 and "the token is not the coordinator's" in out else "it was let in", out)
    if wanted("checkpoint"):
        checkpoints()
    for number, (how, check) in enumerate((("kill", False), ("stop", False), ("order", False), ("shape", True))):
        fault(how, 3 if how == "kill" else 2, 2 if how == "kill" else 1, 1, check, number)
else:
    for number in range(faults):
        processes = 2 + number % 3
        fault(KINDS[number % len(KINDS)], processes, 1 + number % 2, number * 7 % processes, number % 5 == 4, number)
if failed:
    print("failed: " + ", ".join(failed))
print(f"{passed} passed, {len(failed)} failed")
sys.exit(1 if failed or not passed else 0)
