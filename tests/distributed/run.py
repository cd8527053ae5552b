#!/usr/bin/env python3
"""Runs tests/distributed/worker.cpp in several real processes, and injects faults; closes with `N passed, N failed`.

    run.py WORKER TESTS_FOLDER [--faults N] [--kills N] [NAME...]

Only the tests whose name contains a word; with --faults or --kills that many processes that fail, or are killed while they save, instead of the short selection.
"""
import os, random, re, signal, socket, subprocess, sys, tempfile, threading, time
from ports import free_port
worker, folder = sys.argv[1:3]
rest = sys.argv[3:]


def option(name):
    if name not in rest:
        return None
    at = rest.index(name)
    value = int(rest[at + 1])
    del rest[at:at + 2]
    return value


faults, kills = option("--faults"), option("--kills")
TIMEOUT = 15  # seconds of a collective that faults end; on a busy machine the others take long too
LIMIT = TIMEOUT + 60  # seconds from a fault to its report
PATIENCE = 240  # seconds for what takes a few on a machine that does nothing else
passed, failed = 0, []


def environment(devices, **more):
    env = dict(os.environ, WEFT_NUM_CPU_DEVICES=str(devices), WEFT_NUM_THREADS="1", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    env.update(more)
    return env


def mpirun(processes, *args, recovery=False, variables=()):
    given = [word for v in variables for word in ("-x", v)]
    return ["mpirun", "--oversubscribe", "--tag-output"] + (["--enable-recovery"] if recovery else []) + given + ["-n", str(processes), worker, *args]


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


def same_values(processes, devices, what, *more, timeout=PATIENCE):
    name = f"{what} {processes}x{devices}"
    if not wanted(name):
        return ""
    code, out, seconds = start(mpirun(processes, what, *more), environment(devices), timeout)
    report(f"{name} ({seconds:.1f} s)", f"status {code}" if code != 0 else "", out)
    return out


def started(processes, what, variables):
    """Processes without mpirun; `variables(rank)`: how each is to find the others."""
    return [subprocess.Popen([worker, *(what(r) if callable(what) else what)], env=environment(2, **variables(r)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for r in range(processes)]


def outputs(procs):
    """What they print; none is left."""
    outs = []
    for p in procs:
        try:
            outs.append(p.communicate(timeout=PATIENCE)[0])
        except subprocess.TimeoutExpired:
            p.kill()
            outs.append(p.communicate()[0] + "\nit did not end")
    return outs


def annoy(port, stop):
    """Strangers at the coordinator's port: nonsense, too much, nothing at all."""
    chance, kept = random.Random(3), []
    while not stop.is_set():
        try:
            s = socket.create_connection(("127.0.0.1", port), 0.2)
            kind = chance.randrange(4)
            if kind == 0:
                s.sendall(chance.randbytes(chance.randrange(1, 5000)))
            elif kind == 1:
                s.sendall(b"\x40\0\0\0" + b"x" * 100000)
            elif kind == 2:
                s.sendall(b"GET / HTTP/1.1\r\n\r\n")
            kept = kept[-300:] + [s]
        except OSError:
            time.sleep(0.01)


def without_mpi():
    """The bootstrap by environment variables and a coordinator, Slurm's variables, and what is wrong with them."""
    def check(name, procs, expected=None, which=0):
        outs = outputs(procs)
        if expected is None:
            problem = "" if all(p.returncode == 0 for p in procs) else "a process failed"
        else:
            problem = "" if procs[which].returncode != 0 and expected in outs[which].replace("\n", " ") else f"no `{expected}`"
        report(name, problem, "".join(outs))

    with tempfile.TemporaryDirectory() as top:
        def meet(port, count, token="secret"):
            return lambda r: dict(WEFT_COORDINATOR=f"127.0.0.1:{port}", WEFT_NUM_PROCESSES=str(count), WEFT_PROCESS_ID=str(r), WEFT_TOKEN=token if isinstance(token, str) else token(r))
        check("tcp: three processes without MPI", started(3, ["tcp", top + "/a"], meet(free_port(), 3)))
        address = f"127.0.0.1:{free_port()}"
        check("tcp: the same by arguments", started(3, lambda r: ["arguments", top + "/e", address, "3", str(r)], lambda r: {}))
        port, stop = free_port(), threading.Event()
        crowd = threading.Thread(target=annoy, args=(port, stop))
        crowd.start()
        check("tcp: the same among strangers", started(3, ["tcp", top + "/b"], meet(port, 3)))
        stop.set()
        crowd.join()
        procs = started(2, ["tcp", top + "/c"], meet(free_port(), 2, lambda r: f"secret{r}"))
        out = outputs(procs[1:])[0]
        procs[0].kill()
        procs[0].communicate()
        report("tcp: another token", "" if procs[1].returncode != 0 and "the token is not the coordinator's" in out else "it was let in", out)
        port = free_port()
        check("srun: a coordinator and Slurm's variables",
              started(2, ["tcp", top + "/d"], lambda r: dict(WEFT_COORDINATOR=f"127.0.0.1:{port}", SLURM_PROCID=str(r), SLURM_STEP_NUM_TASKS="2", WEFT_TOKEN="x")))
        check("srun: without MPI's help", started(1, ["topology"], lambda r: dict(SLURM_PROCID="0", SLURM_STEP_NUM_TASKS="2")), "srun --mpi=pmix")
        check("srun: a batch script is one process", started(1, ["topology"], lambda r: dict(SLURM_PROCID="0", SLURM_NTASKS="4")))
        for name, message, variables in (
                ("no number", "WEFT_NUM_PROCESSES is `two`, which is not a number", dict(WEFT_NUM_PROCESSES="two", WEFT_PROCESS_ID="0")),
                ("no coordinator", "no coordinator address to meet at", dict(WEFT_NUM_PROCESSES="2", WEFT_PROCESS_ID="0")),
                ("no process id", "but not the number of processes", dict(WEFT_COORDINATOR="127.0.0.1:1")),
                ("no such process", "there is no process 2 of 2", dict(WEFT_COORDINATOR="127.0.0.1:1", WEFT_NUM_PROCESSES="2", WEFT_PROCESS_ID="2")),
                ("more processes than any job has", "it may be 1048576 at most",
                 dict(WEFT_COORDINATOR="127.0.0.1:1", WEFT_NUM_PROCESSES="2147483647", WEFT_PROCESS_ID="0", WEFT_TOKEN="x")),
                ("no token", "give all processes one secret", dict(WEFT_COORDINATOR="192.0.2.1:1", WEFT_NUM_PROCESSES="2", WEFT_PROCESS_ID="0")),
                ("no token on one machine", "give all processes one secret", dict(WEFT_COORDINATOR="127.0.0.1:1", WEFT_NUM_PROCESSES="2", WEFT_PROCESS_ID="0")),
                ("no address", "is not of the form host:port", dict(WEFT_COORDINATOR="nowhere", WEFT_NUM_PROCESSES="2", WEFT_PROCESS_ID="0")),
                ("no plugin", "its plugin can't be opened", dict(OMPI_COMM_WORLD_SIZE="2", WEFT_MPI_PLUGIN="/nowhere.so")),
                ("a dry run of nothing", "write processes x devices", dict(WEFT_DRY_RUN="many"))):
            check("environment: " + name, started(1, ["topology"], lambda r: variables), message)


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


def fault(how, processes, devices, who, check, number, by_default=False):
    """One process fails; each other one that lives must report it in time, naming the operation, the axis, who is missing, and its line.

    by_default: with the time-outs that a user has who sets none: some 10 s, but half of the time-out of a collective on a busy machine."""
    name = f"fault {number}: {how} of process {who} of {processes}x{devices}{' with checks' if check else ''}{' by default' if by_default else ''}"
    if not wanted(name):
        return
    mark = f"WEFT_TEST_MARK=fault-{os.getpid()}-{number}"
    env = environment(devices, WEFT_CHECK_COLLECTIVES="1" if check else "0", **({} if by_default else dict(WEFT_COLLECTIVE_TIMEOUT=str(TIMEOUT))))
    env[mark.split("=")[0]] = mark.split("=")[1]
    variables = []
    if how.endswith("a communicator"):
        variables = ["LD_PRELOAD=" + os.path.join(os.path.dirname(worker), "distributed_stall.so"), f"WEFT_TEST_STALL={how.split()[0]}", f"WEFT_TEST_STALL_RANK={who}"]
    with tempfile.TemporaryDirectory() as top:
        code, out, seconds = start(mpirun(processes, "fault", how, str(who), top + "/run", recovery=True, variables=variables), env, PATIENCE)
    reports = {int(m[1]): m[3] for m in re.finditer(r"REPORT (\d+) at ([0-9.]+): (.*)", out)}
    began = re.search(r"FAULT at ([0-9.]+)", out)
    took = max((float(m[1]) for m in re.finditer(r"REPORT \d+ at ([0-9.]+)", out)), default=0) - float(began[1]) if began else 0
    problem = ""
    for r in range(processes):
        if r == who:
            continue
        text = reports.get(r)
        if text is None:
            problem = f"no report of process {r}"
        elif not any(name in text for name in (" over `i` of", "sync_global_devices", "save_checkpoint")):
            problem = f"process {r} does not name the operation and the axis"
        elif "worker.cpp:" not in text and "overlap.cpp:" not in text:
            problem = f"process {r} does not name the line"
        elif how.split()[0] in ("kill", "segv", "stop", "loop", "exit", "throw") and how != "loop in a communicator" and f"process {who}" not in text:
            problem = f"process {r} does not name the one that is missing"
    if code == -1 or not began or took > (30 if by_default else LIMIT):
        problem = problem or (f"the report took {took:.1f} s" if began and code != -1 else "it did not end" if began else "no fault")
    for _ in range(600):
        if not living_workers(mark):
            break
        time.sleep(0.1)
    else:
        problem = problem or "processes are left over"
    report(f"{name} ({took:.1f} s, all of it {seconds:.1f} s)", problem, out)


def killed_while_saving(at, number):
    """One that saves again and again is killed at some moment, by itself or with the others: one save, whole, is there."""
    mark = f"save-{os.getpid()}-{number}"
    several = number % 3 != 0
    command = mpirun(2, "save", at, "100000") if several else [worker, "save", at, "100000"]
    p = subprocess.Popen(command, env=environment(2, WEFT_TEST_MARK=mark), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    before = open(at + "/current").read()
    while p.poll() is None and open(at + "/current").read() == before:  # it has come to saving
        time.sleep(0.001)
    time.sleep(random.Random(number).uniform(0, 0.1))
    workers = [w for w in living_workers(mark) if w != p.pid]
    if several and number % 2:
        os.kill(workers[number // 2 % len(workers)], signal.SIGKILL)
    else:
        os.killpg(p.pid, signal.SIGKILL)
    try:
        p.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        os.killpg(p.pid, signal.SIGKILL)
        p.wait()
    for _ in range(600):
        if not living_workers(mark):
            break
        time.sleep(0.1)
    else:
        report(f"checkpoint after a kill, {number}", "processes are left over")
    code, out, _ = start([worker, "load", at, "0"], environment(3), PATIENCE)
    report(f"checkpoint after a kill, {number}", "" if code == 0 else f"status {code}", out)


def checkpoints():
    """Written by some processes, read by others; cut short at any moment; damaged."""
    with tempfile.TemporaryDirectory() as top:
        at = top + "/run"
        for (p, d), (q, e) in (((2, 2), (4, 1)), ((4, 1), (1, 6)), ((1, 2), (3, 2))):
            code, out, _ = start(mpirun(p, "save", at, "3"), environment(d), PATIENCE)
            code2, out2, seconds = start(mpirun(q, "load", at, "3"), environment(e), PATIENCE)
            report(f"checkpoint of {p}x{d} on {q}x{e} ({seconds:.1f} s)", "" if code == code2 == 0 else f"status {code}, {code2}", out + out2)
        for number in range(6):
            killed_while_saving(at, number)
        folder = at + "/" + open(at + "/current").read().strip()
        with open(folder + "/data-0", "r+b") as f:
            f.seek(11)
            f.write(b"\xff")
        code, out, _ = start([worker, "load", at, "0"], environment(3), PATIENCE)
        report("checkpoint with a wrong byte", "" if code != 0 and "checksum is wrong" in out else "it was read", out)


def dry_runs():
    """Programs for machines that aren't there: counted as a real run counts them, and as they must be."""
    def dry(mesh, *what):
        code, out, _ = start([worker, *what], environment(1, WEFT_DRY_RUN=mesh), PATIENCE)
        return out if code == 0 else f"status {code}\n{out}"
    for mesh in ("2x2", "4x2", "3x1"):
        code, out, _ = start(mpirun(*mesh.split("x")[:1], "counted"), environment(mesh.split("x")[1]), PATIENCE)
        real, thought = re.search(r"moved .*", out), re.search(r"moved .*", dry(mesh, "counted"))
        report(f"dry run: {mesh} counts what a real one does", "" if code == 0 and real and thought and real[0] == thought[0] else f"{real} {thought}", out)
    out = dry("64x4,latency=1e-6,bandwidth=1e9", "counted")
    for text in ("dry run as process 0 of 64 with 4 devices each:",
                 "psum over `i` of f32[256] at worker.cpp:",                       # 6 steps of all of 1 KB
                 "1 call, among 64 processes; each time 6 messages, 6.14 KB sent, 12.1 us",
                 "1 call, among 64 processes; each time 14 messages, 516 KB sent, 530 us",    # 2 (1 - 1/64) of 262,144 bytes; those of 4 KB go as two
                 "1 call, among 64 processes; each time 63 messages, 16.1 KB sent, 79.1 us",  # 4 parts to each of 63 others, together
                 "1 call, among 64 processes; each time 1 messages, 64 B sent, 1.06 us",
                 "psum over `x` of f32[2,3] at worker.cpp:", "in all 7 calls, 555 KB sent, 708 us"):
        report(f"dry run of 64x4: {text}", "" if text in out.replace("../tests/distributed/", "") else "not there", out)
    few, many = dry("32x1", "many"), dry("4096x1", "many")
    each = [int(m[1]) if (m := re.search(r"(\d+) bytes for each", text)) else 0 for text in (few, many)]
    report(f"dry run: a collective takes {each[0]} bytes among 32 processes, {each[1]} among 4096", "" if 0 < each[1] < each[0] + 8192 else "too many", few + many)


KINDS = ["kill", "stop", "loop", "order", "shape", "exit", "segv", "throw", "other", "skip", "stop before a save", "no save",
         "kill in a communicator", "stop in a communicator", "loop in a communicator", "kill in overlap", "stop in overlap", "kill in halo", "stop in halo",
         "kill in rounds", "stop in rounds"]
if faults is None and kills is None:
    for processes in (2, 3, 4):
        for devices in (1, 2, 4):
            same_values(processes, devices, "all")
    same_values(8, 1, "all")
    for processes in (2, 3, 4):
        for devices in (1, 2, 4):
            out = same_values(processes, devices, "golden", folder)
            for line in re.findall(r"golden: (.*)", out):
                print(f"    {line}")
    # The same bits from any number of processes.
    seen = set()
    for processes, devices in ((1, 4), (2, 2), (4, 1)):
        out = same_values(processes, devices, "bits")
        seen |= set(re.findall(r"bits( .*)", out))
    if wanted("bits"):
        report("equal bits in 1x4, 2x2 and 4x1", "" if len(seen) == 1 else f"they differ: {seen}")
    if wanted("tcp"):
        without_mpi()
    if wanted("dry"):
        dry_runs()
    if wanted("checkpoint"):
        checkpoints()
    for number, (how, check) in enumerate((("kill", False), ("stop", False), ("order", False), ("shape", True), ("stop before a save", False),
                                            ("kill in a communicator", False), ("stop in a communicator", False), ("loop in a communicator", False))):
        fault(how, 3 if how.startswith("kill") else 2, 2 if how == "kill" else 1, 1, check, number)
    for number, how in enumerate(("kill in overlap", "stop in overlap", "kill in halo", "stop in halo", "kill in rounds", "stop in rounds")):
        fault(how, 2 + number % 2, 2, number % 2, False, 8 + number)
    fault("row", 2, 1, 1, False, 17)
    fault("number", 2, 2, 1, False, 18)
    fault("stop", 3, 1, 1, False, 14, by_default=True)
    fault("stop", 3, 1, 0, False, 15, by_default=True)  # the process that keeps the store
    fault("kill", 3, 1, 1, False, 16, by_default=True)
if kills is not None:
    with tempfile.TemporaryDirectory() as top:
        start([worker, "save", top + "/run", "1"], environment(2), PATIENCE)
        for number in range(kills):
            killed_while_saving(top + "/run", number)
for number in range(faults or 0):
    processes = 2 + number % 3
    fault(KINDS[number % len(KINDS)], processes, 1 + number % 2, number * 7 % processes, number % 5 == 4, number)
if failed:
    print("failed: " + ", ".join(failed))
print(f"{passed} passed, {len(failed)} failed")
sys.exit(1 if failed or not passed else 0)
