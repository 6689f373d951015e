"""The process that runs checks, each in a child of its own with limits.

    grader  --- job, a line of JSON --->  server  --- fork --->  child: one_check.run
            <--  result, a line  -------          <-- pipes --   result; printed text

The server imports minigrad, NumPy, pytest and what set.toml names once, and never the student's code, so a check costs a fork and
not an import. A check runs in a session of its own, in a folder of its own that is removed afterwards. The server watches its time,
its text and its processes, and ends all of them. A child that kills the server costs the check its points: `Server` starts another.

Needs `os.fork`: Linux or macOS. Only Linux finds processes that left the session.
docs/teach/hidden-tests.md says what this cannot stop.
"""

import contextlib
import gc
import importlib
import json
import os
import secrets
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

__all__ = ["Server", "ServerError", "failure"]

READY = b"ready\n"
WALL = 3            # wall time for each second of CPU time, on a machine that is not busy: see `crowd`
KEEP = 10_000       # bytes of printed text in a result
SIGNALS = {
    "SIGSEGV": "crashed with a segmentation fault (often a recursion that never ends, after sys.setrecursionlimit)",
    "SIGXCPU": "used more than {seconds} s (an endless loop, or a cost that is not linear?)",
    "SIGKILL": "was killed (memory, or more than {seconds} s of CPU time)",
    "SIGXFSZ": "wrote a file of more than {files_mb} MB",
}


class ServerError(Exception):
    """The grader itself does not work. No submission is to blame."""


class Server:
    """The grader's side: starts the process, sends it checks, and starts it again when a submission has ended it."""

    def __init__(self):
        self.process: subprocess.Popen | None = None
        self.jobs: Any = None
        self.results: Any = None
        self.closed = False

    def start(self):
        """Start the process. Raises `ServerError` if it does not start, or where there is no `os.fork`."""
        if not hasattr(os, "fork"):
            raise ServerError("the grader needs os.fork: use Linux, macOS, or a container such as Gradescope's")
        root = str(Path(__file__).parents[2])
        path = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
        threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "minigrad.grading.server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            start_new_session=True, env={**os.environ, **threads, "PYTHONPATH": path, "PYTHONHASHSEED": "0",
                                         "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""})
        self.jobs, self.results = self.process.stdin, self.process.stdout
        if self.results.readline() != READY:
            self.end()
            raise ServerError("the grader does not start; the error is above. It needs pytest")

    def check(self, job):
        """Run one check. Returns a dict: outcome, reason, kind, output, seconds, score, leaderboard."""
        if self.closed:
            return failure("Stopped", "the grader was stopped")
        if self.process is None or self.process.poll() is not None:
            self.end()
            self.start()
        try:
            self.jobs.write(json.dumps(job).encode() + b"\n")
            self.jobs.flush()
            line = self.results.readline()
        except (OSError, ValueError):   # it has ended; or `close` was called by another thread
            line = b""
        if line:
            return json.loads(line)
        self.end()
        return failure("Killed", "your code ended the process that grades it")

    def close(self):
        """End the process, and start no other."""
        self.closed = True
        self.end()

    def end(self):
        """End the process."""
        if self.process is not None:
            process, self.process = self.process, None
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            with contextlib.suppress(OSError):
                self.jobs.close()
                self.results.close()

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        self.close()


def failure(kind, reason, **more):
    """The result of a check that failed without a report of its own."""
    return {"outcome": "failed", "kind": kind, "reason": reason, "output": "", "seconds": 0.0, "score": None, "leaderboard": None,
            **more}


# ---- the server's side ---------------------------------------------------------------------------------------------------

def descendants(pid):
    """The processes below `pid`, from /proc; none where there is no /proc."""
    parents = {}
    for name in os.listdir("/proc") if os.path.isdir("/proc/self") else ():
        if name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                with open(f"/proc/{name}/stat", "rb") as file:
                    parents[int(name)] = int(file.read().rpartition(b")")[2].split()[1])
    found, grown = {pid}, True
    while grown:
        new = {child for child, parent in parents.items() if parent in found} - found
        found |= new
        grown = bool(new)
    return found - {pid}


def adopt_orphans():
    """Become the parent of processes whose parent has ended, so that `descendants` finds them. Linux only."""
    with contextlib.suppress(OSError, AttributeError):
        import ctypes
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)     # PR_SET_CHILD_SUBREAPER


def kill_all(child):
    """End the check's session and all processes below the server."""
    for _ in range(200):
        with contextlib.suppress(OSError):
            os.killpg(child, signal.SIGKILL)
        left = descendants(os.getpid())
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if not left:
            return


def serve(job, before):
    """Run a check in a child, and watch it. Returns the result. `before` is a snapshot: see ``integrity.py``."""
    job["key"] = secrets.token_hex(16)
    folder = tempfile.mkdtemp(prefix="minigrad-check-")
    (report, report_in), (text, text_in) = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setsid()
            os.chdir(folder)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(text_in, 1)
            os.dup2(text_in, 2)
            pipe = os.dup2(report_in, 3)
            os.closerange(4, 1024)
            from minigrad.grading.one_check import run
            run(job, pipe, before)
        finally:
            os._exit(1)
    os.close(report_in)
    os.close(text_in)
    try:
        return watch(job, child, report, text)
    finally:
        kill_all(child)
        os.close(report)
        os.close(text)
        shutil.rmtree(folder, ignore_errors=True)


def watch(job, child, report, text):
    """Wait until the child ends or exceeds a limit. Returns the result."""
    limits, start = job["limits"], time.monotonic()
    os.set_blocking(report, False)
    os.set_blocking(text, False)
    written, printed, size, status, stopped = b"", b"", 0, None, None
    next_count = start + 0.05
    while status is None and stopped is None:
        ready, _, _ = select.select([report, text], [], [], 0.02)
        for pipe in ready:
            with contextlib.suppress(BlockingIOError):
                data = os.read(pipe, 1 << 16)
                if pipe == report:
                    written += data[:1 << 20]
                else:
                    size += len(data)
                    printed = (printed + data)[:KEEP]
                if not data:
                    time.sleep(0.005)
        now = time.monotonic()
        if size > limits["output_kb"] << 10:
            stopped = "Output", f"it printed more than {limits['output_kb']} kB"
        elif now - start > WALL * limits["seconds"] and now - start > WALL * limits["seconds"] * crowd():
            stopped = "Time", f"it took more than {WALL * limits['seconds']} s (an endless loop, or does it wait for something?)"
        elif now > next_count:
            next_count = now + 0.1
            if len(descendants(os.getpid())) - 1 > limits["processes"]:
                stopped = "Processes", f"it started more than {limits['processes']} processes"
        pid, code = os.waitpid(child, os.WNOHANG)
        status = code if pid else None
    seconds = round(time.monotonic() - start, 3)
    for pipe in (report, text):
        with contextlib.suppress(BlockingIOError):
            data = os.read(pipe, 1 << 20)
            written, printed = (written + data, printed) if pipe == report else (written, (printed + data)[:KEEP])
    result = None
    with contextlib.suppress(ValueError):
        result = json.loads(written)
    common = {"output": printed.decode("utf-8", "replace"), "seconds": seconds}
    if stopped is not None:
        return failure(*stopped, **common)
    if isinstance(result, dict) and result.pop("key", None) == job["key"]:
        return {**failure("", ""), **result, **common}
    assert status is not None
    if os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
        return failure(name, "the process " + SIGNALS.get(name, f"was ended by {name}").format_map(limits), **common)
    code = os.WEXITSTATUS(status)
    return failure("Exit", f"your code ended the process, with exit status {code}, before the check was over", **common)


def crowd():
    """How many processes want each processor, at least 1. A check waits for its turn, and a busy machine costs nobody points."""
    try:
        return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
    except OSError:
        return 1.0


def warm_up():
    """Let pytest run an empty check, so that its plugins are imported."""
    from minigrad.grading.one_check import pytest_main
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "test_nothing.py").write_text("def test_nothing():\n    assert True\n")
        pytest_main(folder, "test_nothing.py", "test_nothing", None)


def prepare(job):
    """Import what a set needs beside minigrad, with the environment that it needs for that. What is missing, a check reports."""
    os.environ.update(job["environment"])
    for name in job["imports"]:
        if name not in sys.modules:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)


def main():
    """Read jobs from standard input, and write a result for each to standard output."""
    jobs, results = os.fdopen(os.dup(0), "rb"), os.dup(1)
    os.dup2(2, 1)       # what a library prints is no result
    import minigrad as mg
    from minigrad import nn, optim, testing, utils, viz
    from minigrad.grading import checks, integrity, one_check, oracles, submission, swap
    del mg, nn, optim, testing, utils, viz, checks, one_check, oracles, submission, swap    # imported once
    warm_up()
    adopt_orphans()
    before = integrity.snapshot()
    gc.collect()
    gc.freeze()     # the children share this memory
    os.write(results, READY)
    for line in jobs:
        job = json.loads(line)
        prepare(job)
        result = json.dumps(serve(job, before)).encode() + b"\n"
        while result:
            result = result[os.write(results, result):]


if __name__ == "__main__":
    main()
