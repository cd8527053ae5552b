"""Ends programs in every way that there is while weft is at work, with a cold and a warm cache of code:

    run.py EXITS HOST PLUGIN [RUNS [WAY...]]

Each must end with the status that is its own, have said what it had to say, not have written to stderr, and not take long to end."""
import os, shutil, signal, subprocess, sys, tempfile, time
exits, host, plugin, *rest = sys.argv[1:]
runs, wanted = int(rest[0]) if rest else 1, rest[1:]
# Way: status, lines. Those that leave without exit() keep nothing; whoever aborts says so on stderr.
ways = {
    "threads": (0, ["done"]), "exit_in_main": (3, ["done"]), "exit_in_thread": (4, ["done"]), "exit_in_callback": (5, ["done"]),
    "exit_on_device": (6, ["done"]), "handler_before_use": (0, ["done", "handler"]), "handler_only": (0, ["handler"]),
    "handler_after_use": (0, ["done", "handler"]), "static_object": (0, ["done", "static object"]), "static_object_only": (0, ["static object"]),
    "static_future": (0, ["done", "future"]), "detached_compiling": (0, ["done"]), "detached_first": (0, ["done"]),
    "detached_computing": (0, ["done"]), "detached_and_static": (0, ["done", "static object"]), "running_threads": (0, ["done"]),
    "mapped_threads": (0, ["done"]), "thread_objects": (0, ["object of a thread", "done", "object of the main thread"]),
    "quick": (7, ["done", "handler"]), "at_once": (8, ["done"]), "uncaught": (-signal.SIGABRT, ["done"]),
    "terminate_handler": (-signal.SIGABRT, ["done", "handler"]), "terminated": (-signal.SIGTERM, ["done"]), "main_thread_leaves": (0, ["done"]),
    "long_queue": (0, ["done"]), "fork_and_exit": (0, ["child ended well"]), "fork_beside_threads": (0, ["done"]),
    "fork_in_progress": (0, ["done"]), "fork_while_traced": (0, ["child ended well"]),
    "stays_open": (0, ["done"]), "closed": (0, ["done"]), "closed_beside_threads": (0, ["done"])}
of_host = {"stays_open", "closed", "closed_beside_threads"}
says_why = {"uncaught", "terminate_handler"}
stores = {"exit_in_main", "handler_after_use", "static_object"}  # one program or two, that nothing keeps from being stored


def end(way, folder, environment):
    """Runs one program. Returns what is wrong, or nothing."""
    command = [host, plugin, way] if way in of_host else [exits, way]
    p = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ, WEFT_CACHE_DIR=folder, **environment))
    try:
        out, err = p.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        p.kill()
        out, err = p.communicate()
        return f"it did not end; it said {out.split()}"
    status, lines = ways[way]
    if p.returncode != status:
        return f"it ended with {p.returncode} and not {status}; {out!r} {err[-2000:]!r}"
    if out.split("\n")[:-1] != lines:
        return f"it said {out!r}, not {lines}"
    if err and way not in says_why:
        return f"it wrote {err[-2000:]!r}"
    return None


failed, total, slowest = 0, 0, {}
for way in wanted or ways:
    for run in range(runs):
        folder = tempfile.mkdtemp(prefix="weft-exits-")
        cache = os.path.join(folder, "cache")
        try:
            for kind in "cold", "warm":
                start = time.time()
                # Every third one without the cache: then nothing is stored, and what is made better is all that the background does.
                problem = end(way, cache, {"WEFT_CACHE": "0"} if run % 3 == 2 and kind == "warm" else {})
                slowest[way] = max(slowest.get(way, 0), time.time() - start)
                if not problem and kind == "cold" and way in stores and not any(files for _, _, files in os.walk(cache)):
                    problem = "its program was not stored"
                total += 1
                if problem:
                    failed += 1
                    print(f"{way}, {kind} cache, run {run + 1}: {problem}", flush=True)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
print(f"{len(slowest)} ways to end, {total} programs; the longest took {max(slowest.values()):.1f} s ({max(slowest, key=slowest.get)})")
print(f"{total - failed} passed, {failed} failed")
sys.exit(1 if failed else 0)
