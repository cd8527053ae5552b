#!/usr/bin/env python3
"""Starts a Slurm cluster of this one machine, for the time of the test, and runs programs over several processes with its srun.

    slurm.py WORKER SAMPLES_FOLDER

Closes with `N passed, N failed`; exits with 77 (skipped) where a cluster can't be started, and says why.
"""
import os, re, shutil, signal, socket, subprocess, sys, tempfile, time
from ports import free_port
worker, samples = sys.argv[1:3]
passed, failed = 0, []
os.environ["PATH"] += ":/usr/sbin:/sbin"


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


class Cluster:
    """munged, slurmctld and slurmd, each in the foreground, with all their files in one folder."""

    def __init__(self, top):
        self.daemons, host = [], socket.gethostname().split(".")[0]
        control, node = free_port(), free_port()
        self.config = top + "/slurm.conf"
        for folder in ("munge", "state", "spool"):
            os.makedirs(f"{top}/{folder}")
        with open(top + "/munge/key", "wb") as f:
            f.write(os.urandom(128))
        os.chmod(top + "/munge/key", 0o600)
        os.chmod(top, 0o755)
        with open(self.config, "w") as f:
            f.write(f"""ClusterName=one
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={control}
SlurmdPort={node}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={top}/munge/socket
CredType=cred/munge
StateSaveLocation={top}/state
SlurmdSpoolDir={top}/spool
SlurmctldPidFile={top}/slurmctld.pid
SlurmdPidFile={top}/slurmd.pid
SlurmctldLogFile={top}/slurmctld.log
SlurmdLogFile={top}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
JobAcctGatherType=jobacct_gather/none
NodeName={host} NodeAddr=127.0.0.1 CPUs={os.cpu_count()} State=UNKNOWN
PartitionName=main Nodes={host} Default=YES State=UP OverSubscribe=FORCE:8
""")
        self.start("munged", "--foreground", "--force", f"--key-file={top}/munge/key", f"--socket={top}/munge/socket", f"--pid-file={top}/munge/pid",
                   f"--log-file={top}/munge/log", f"--seed-file={top}/munge/seed")
        self.start("slurmctld", "-D", "-f", self.config)
        self.start("slurmd", "-D", "-f", self.config)
        for _ in range(60):
            state = subprocess.run(["sinfo", "-h", "-o", "%T"], env=dict(os.environ, SLURM_CONF=self.config), capture_output=True, text=True)
            if state.stdout.strip() == "idle":
                return
            time.sleep(0.5)
        logs = "".join(open(f"{top}/{name}.log").read()[-800:] for name in ("slurmctld", "slurmd") if os.path.exists(f"{top}/{name}.log"))
        self.stop()
        skip(f"the cluster did not come up: {state.stdout}{state.stderr}\n{logs}")

    def start(self, *command):
        self.daemons.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True))

    def stop(self):
        for p in reversed(self.daemons):
            p.terminate()
            try:
                p.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(p.pid, signal.SIGKILL)
                p.wait()

    def srun(self, count, mpi, command, devices=1, timeout=240, options=(), **variables):
        """Status and output; -1 if it did not end."""
        env = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM", "OMPI", "PMI", "WEFT"))}
        env.update(SLURM_CONF=self.config, WEFT_NUM_CPU_DEVICES=str(devices), WEFT_NUM_THREADS="1", **variables)
        p = subprocess.Popen(["srun", "--overcommit", f"--mpi={mpi}", "-n", str(count), *options, *command], env=env, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True)
        try:
            return p.communicate(timeout=timeout)[0], p.returncode
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGKILL)
            return p.communicate()[0] + "\nit did not end", -1


def report(name, good, output):
    global passed
    print(f"  {name}: {'ok' if good else 'failed'}", flush=True)
    if good:
        passed += 1
    else:
        failed.append(name)
        print(output[-2000:])


def run(cluster, top):
    out, code = cluster.srun(4, "pmix", [samples + "/distributed_digits"])
    report("digits over 4 processes equal one process's, bit for bit", code == 0 and len(re.findall(r"equals, bit for bit", out)) == 4, out)
    out, code = cluster.srun(4, "pmix", [samples + "/sharded_transformer"])
    report("the sharded transformer over 4 processes", code == 0, out)
    for count, devices in ((2, 2), (3, 1), (4, 2)):
        out, code = cluster.srun(count, "pmix", [worker, "all"], devices)
        report(f"all {count}x{devices}", code == 0, out)
    out, code = cluster.srun(3, "pmix", [worker, "all"], 1, WEFT_COORDINATOR=f"127.0.0.1:{free_port()}")
    report("MPI, and a coordinator's address to listen at", code == 0, out)
    out, code = cluster.srun(3, "none", [worker, "tcp", top + "/checkpoint"], 2, WEFT_COORDINATOR=f"127.0.0.1:{free_port()}", WEFT_TOKEN="secret")
    report("a coordinator and no MPI", code == 0, out)
    out, code = cluster.srun(2, "none", [worker, "topology"])
    report("neither: an error that says what to do", code != 0 and "start them with srun --mpi=pmix" in out.replace("\n", " "), out)
    out, code = cluster.srun(3, "pmix", [worker, "fault", "kill", "1", top + "/run"], options=["--kill-on-bad-exit=0"], WEFT_COLLECTIVE_TIMEOUT="15")
    reports = re.findall(r"REPORT (\d) at .*process 1", out)
    report("a process is killed: the others report it", code != 0 and sorted(reports) == ["0", "2"], out)


for needed in ("srun", "slurmctld", "slurmd", "munged"):
    if not shutil.which(needed):
        skip(f"no {needed}")
if os.geteuid() != 0:
    skip("only root can start a cluster")
with tempfile.TemporaryDirectory(prefix="weft-slurm-") as top:
    cluster = Cluster(top)
    try:
        run(cluster, top)
    finally:
        cluster.stop()
if failed:
    print("failed: " + ", ".join(failed))
print(f"{passed} passed, {len(failed)} failed")
sys.exit(1 if failed or not passed else 0)
